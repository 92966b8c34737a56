/* A group sorts a tile of `length` elements. */
KERNEL void $name($parameters)
{
    LOCAL_MEM K keys[$capacity];
    LOCAL_MEM u32 positions[$capacity];
    const u32 number = GID_0, item = LID_0;
    const u64 row = number / tiles;
    const u32 first = number % tiles * length;
    LINE
    for (u32 i = item; i < length; i += $group) {
        const int inside = first + i < n;
        keys[i] = inside ? key_of(source[inside ? ELEMENT(first + i) : 0]) : ~(K)0;
        positions[i] = inside ? first + i : 0xffffffffu;
    }
    local_barrier();
    sort_group(keys, positions, length, item, $group);
    for (u32 i = item; i < length; i += $group) {
        const u32 at = first + i;
        if (at < n) {
            const K k = keys[i];
            const u32 p = positions[i];
            (void)k;
            $put
        }
    }
}
