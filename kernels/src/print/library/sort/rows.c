/* An item sorts a row in registers. What fills up the row comes after equal keys. */
#define LOAD(at) \
    K k##at = at < n ? key_of(source[ELEMENT(at < n ? at : 0)]) : ~(K)0; \
    u32 p##at = at;
#define EXCHANGE(a, b) { \
    const int after = k##a > k##b || (k##a == k##b && p##a > p##b); \
    const K k = after ? k##b : k##a; \
    const u32 p = after ? p##b : p##a; \
    k##b = after ? k##a : k##b; \
    p##b = after ? p##a : p##b; \
    k##a = k; \
    p##a = p; \
}
#define PUT(at) if (at < n) { STORE(at, source[ELEMENT(p##at)], p##at) }

KERNEL void $name($parameters)
{
    const u64 row = (u64)GID_0 * $group + (u64)LID_0;
    if (row >= rows) return;
    LINE
    $loads
    $exchanges
    $puts
}
