/* The fold of each part of a row: `parts` parts of `along` elements. */
KERNEL void $name($parameters)
{
    enum { G = $group };
    LOCAL_MEM A sums[G];
    const u32 group = GID_0, item = LID_0;
    const u64 row = group / parts, from = group % parts * along;
    const u64 to = from + along < n ? from + along : n;
    A sum = NONE;
    for (u64 at = from + item; at < to; at += G) sum = join(sum, (A)load_$x(x, row * n + ($at)));
    sums[item] = sum;
    local_barrier();
    for (u32 half_ = G / 2; half_ > 0; half_ /= 2) {
        if (item < half_) sums[item] = join(sums[item], sums[item + half_]);
        local_barrier();
    }
    if (item == 0) totals[group] = sums[0];
}
