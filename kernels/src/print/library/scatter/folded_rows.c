/* An item folds EACH neighbouring elements of a row, which it reads and stores at once. */
enum { EACH = $each };
#if $single
#define FOR_EACH for (u32 v = 0; v < EACH; v++)
#define READ(to, from, at) (to)[0] = (A)load_$stored(from, at);
#define PUT_BACK(to, at) store_$stored(to, at, join(old[0], all[0]));
#else
#define FOR_EACH _Pragma("unroll") for (u32 v = 0; v < EACH; v++)
struct __align__($align) Some { $type e[EACH]; };
#define READ(to, from, at) { \
    const Some some_ = *(const Some*)((from) + (at)); \
    FOR_EACH (to)[v] = (A)load_$stored(some_.e, v); \
}
#define PUT_BACK(to, at) { \
    Some some_; \
    FOR_EACH store_$stored(some_.e, v, join(old[v], all[v])); \
    *(Some*)((to) + (at)) = some_; \
}
#endif
