/* Sorts the `taken` elements in the memory of a group. */
DEVICE_FN void sort_taken(LOCAL_MEM_ARG K *keys, LOCAL_MEM_ARG u32 *positions, u32 taken, u32 item)
{
    u32 filled = 2;
    while (filled < taken) filled *= 2;
    for (u32 i = taken + item; i < filled; i += $group) {
        keys[i] = ~(K)0;
        positions[i] = 0xffffffffu;
    }
    local_barrier();
    sort_group(keys, positions, filled, item, $group);
}

/* Finds the bin in which the wanted place lies, if `before` elements come before all bins: `found` is the
   bin, how many elements lie in the bins before it, and in it. */
DEVICE_FN void find_bin(
    LOCAL_MEM_ARG const u32 *bins, LOCAL_MEM_ARG u32 *sums, LOCAL_MEM_ARG u32 *found,
    u32 wanted, u32 before, u32 item)
{
    enum { EACH = $bins / $group };
    u32 own_sum = 0;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) own_sum += bins[item * EACH + j];
    u32 until = own_sum;
    for (u32 step = 1; step < $group; step *= 2) {
        sums[item] = until;
        local_barrier();
        const u32 other = item >= step ? sums[item - step] : 0;
        local_barrier();
        until += other;
    }
    u32 here = before + until - own_sum;
    if (wanted >= here && wanted - here < own_sum) {
        for (u32 j = 0; j < EACH; j++) {
            const u32 count = bins[item * EACH + j];
            if (wanted - here < count) {
                found[0] = item * EACH + j;
                found[1] = here - before;
                found[2] = count;
                break;
            }
            here += count;
        }
    }
    local_barrier();
}
