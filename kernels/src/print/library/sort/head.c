/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef $sorted K;
DEVICE_FN $key key_of($element x)
{
    $key k = x;
#if $float
    if (k == $top) k = 0;
    k = (k & $rest) > $infinity ? $all : k ^ ((k & $top) ? $all : $top);
#elif $signed
    k ^= $top;
#endif
#if $descending
    k ^= $all;
#endif
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#if $strided
#define LINE \
    const u64 outer = (u32)row / inner * (u64)inner, column = (u32)row % inner; \
    const u64 line = outer * n + column, results = outer * kept + column;
#define ELEMENT(at) (line + (u64)(at) * inner)
#define RESULT(at) (results + (u64)(at) * inner)
#else
#define LINE const u64 line = row * n, results = row * kept;
#define ELEMENT(at) (line + (at))
#define RESULT(at) (results + (at))
#endif
#define STORE(at, element, p) if (at < kept) { $stores }
