/* A group sorts a row. */
KERNEL void $name($parameters)
{
    LOCAL_MEM Counts counts;
    LOCAL_MEM u32 sums[8];
    LOCAL_MEM $moved memory[TILE];
    const u64 row = GID_0;
    const u32 item = LID_0;
    LINE
    K own[ITEMS];
    u32 position[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = first_of(item) + i * 32;
        own[i] = at < n ? source[ELEMENT(at)] : (K)0;
        position[i] = at;
    }
#pragma unroll 1
    for (u32 shift = 0; shift < $top; shift += $digit) {
        u32 digit[ITEMS], place[ITEMS], total;
        digits_of(own, digit, item, n, shift);
        rank(digit, place, item, counts);
        settle(item, counts, sums, total);
        move(own, digit, place, item, counts, (K*)memory);
        fetch(own, item, (K*)memory);
#if $positions
        move(position, digit, place, item, counts, (u32*)memory);
        fetch(position, item, (u32*)memory);
#endif
    }
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = first_of(item) + i * 32;
        if (at < n) { STORE(at, own[i], position[i]) }
    }
}
