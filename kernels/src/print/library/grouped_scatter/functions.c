/* Marks a point in a bitmap, and finds the lowest one that is marked in a word. */
DEVICE_FN void mark(LOCAL_MEM_ARG u32 *marks, u32 place)
{
    ATOMIC_OR(&marks[place / 32], 1u << (place % 32));
}

DEVICE_FN u32 lowest(u32 x) { return 31 - (u32)LEADING_ZEROS(x & (0u - x)); }

/* A network of these sorts the places of members. */
#define EXCHANGE(a, b) { \
    const u32 k = k##a < k##b ? k##a : k##b; \
    k##b = k##a < k##b ? k##b : k##a; \
    k##a = k; \
}
#define PLACE(j) u32 k##j = j < count ? members[slot * $members + j] : 0xffffffffu;
#define READ_MEMBER(j) if (j < count) { READ(xs[j], x, BROUGHT(k##j)) }
