/* Running folds of rows, in `parts` parts of `along` elements. A group goes along its part in tiles: each
   item folds neighbours, the group scans what its items have. */
KERNEL void $name($parameters)
{
    enum { G = $group, ITEMS = $items };
    LOCAL_MEM A sums[G];
    const u32 group = GID_0, item = LID_0;
    const u64 row = group / parts, from = group % parts * along;
    const u64 to = from + along < n ? from + along : n;
    LOCAL_MEM A tile[G * ITEMS + G];
    A carry = $before, lost = 0;
    (void)lost;
    for (u64 first = from; first < to; first += G * ITEMS) {
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)load_$x(x, row * n + ($at)) : NONE;
        }
        local_barrier();
        A own[ITEMS];
        A sum = tile[item * (ITEMS + 1)];
        own[0] = sum;
        for (u32 k = 1; k < ITEMS; k++) {
            sum = join(sum, tile[item * (ITEMS + 1) + k]);
            own[k] = sum;
        }
        sums[item] = sum;
        local_barrier();
        for (u32 step = 1; step < G; step *= 2) {
            const A other = item >= step ? sums[item - step] : NONE;
            local_barrier();
            if (item >= step) sums[item] = join(other, sums[item]);
            local_barrier();
        }
        const A all = WHOLE(carry, lost);
        const A before = item > 0 ? join(all, sums[item - 1]) : all;
        ADD(carry, lost, sums[G - 1]);
        for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = $result;
        local_barrier();
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            if (at < to) store_$y(y, row * n + ($at), tile[k * G + item + (k * G + item) / ITEMS]);
        }
        local_barrier();
    }
}
