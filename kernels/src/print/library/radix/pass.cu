/* A group sorts a tile by digit `pass`. `totals` has how many elements have each digit, then the numbers of
   tiles. A pass uses one array of look-back words, and clears the other. */
KERNEL void $name($parameters)
{
    LOCAL_MEM Counts counts;
    LOCAL_MEM u32 sums[8], bases[DIGITS], numbered;
    LOCAL_MEM $moved memory[TILE];
    const u32 item = LID_0, shift = pass * $digit;
#if $skips
    /* Loaded while the tile's number is. */
    const u32 disordered = totals[disorder];
#endif
    if (item == 0) numbered = atomicAdd(&totals[counter], 1u);
    local_barrier();
#if $skips
    if (disordered == 0) return;
#endif
    const u32 number = numbered, tile = number % tiles;
    const u64 row = number / tiles;
    LINE
    const u32 start = tile * TILE, here = n - start < TILE ? n - start : TILE;
    if (item < DIGITS) next_said[(u64)number * DIGITS + item] = 0;
    K own[ITEMS];
    u32 position[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = start + first_of(item) + i * 32;
        own[i] = at < n ? $load : (K)0;
        position[i] = at < n ? $position : 0;
    }
    u32 digit[ITEMS], place[ITEMS], total;
    digits_of(own, digit, item, here, shift);
    rank(digit, place, item, counts);
    const u32 begins = settle(item, counts, sums, total);
    move(own, digit, place, item, counts, (K*)memory);
    const u32 before = item < DIGITS ? look_back(&said[(u64)number * DIGITS + item], tile, total) : 0;
    const u32 count = item < DIGITS ? totals[(row * $passes + pass) * DIGITS + item] : 0;
    const u32 base = sum_before(count, item, sums);
    if (item < DIGITS) bases[item] = base + before - begins;
    local_barrier();
#if $positions
    K xs[ITEMS];
    u32 to[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item;
        xs[i] = ((K*)memory)[j];
        to[i] = bases[j < here ? digit_of(xs[i], shift) : 0] + j;
    }
    local_barrier();
    move(position, digit, place, item, counts, (u32*)memory);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item, at = to[i];
        const K x = xs[i];
        const u32 p = ((u32*)memory)[j];
        if (j < here) { $store }
    }
#else
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item;
        if (j < here) {
            const K x = ((K*)memory)[j];
            const u32 at = bases[digit_of(x, shift)] + j;
            $store
        }
    }
#endif
}
