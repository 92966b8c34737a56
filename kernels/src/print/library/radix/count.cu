/* Counts the elements of each row that have each digit, in `blocks` groups for each row. Neighbours often
   have the same digit: $parts counters for each reduce contention. */
KERNEL void $name($parameters)
{
    LOCAL_MEM u32 bins[$passes][DIGITS][$parts];
    const u32 item = LID_0;
    const u64 row = GID_0 / blocks;
    LINE
    for (u32 i = item; i < $passes * DIGITS * $parts; i += GROUP) (&bins[0][0][0])[i] = 0;
    local_barrier();
#if $skips
    int falls = 0;
#endif
#pragma unroll 8
    for (u32 at = GID_0 % blocks * GROUP + item; at < n; at += blocks * GROUP) {
        const K x = source[ELEMENT(at)];
#pragma unroll
        for (u32 pass = 0; pass < $passes; pass++)
            atomicAdd(&bins[pass][digit_of(x, pass * $digit)][item % $parts], 1u);
#if $skips
        if (!falls) falls |= key_of(x) > key_of(source[ELEMENT(at + 1 < n ? at + 1 : at)]);
#endif
    }
#if $skips
    if (__syncthreads_or(falls) && item == 0) totals[disorder] = 1;
#endif
    local_barrier();
    for (u32 i = item; i < $passes * DIGITS; i += GROUP) {
        u32 sum = 0;
        for (u32 part = 0; part < $parts; part++) sum += bins[i / DIGITS][i % DIGITS][part];
        if (sum > 0) atomicAdd(&totals[row * ($passes * DIGITS) + i], sum);
    }
}
