/* Running folds of columns, or of parts of them of `length` elements; or only the fold of each part. */
KERNEL void $name($parameters)
{
    const $index number = ($index)GID_0 * $group + ($index)LID_0;
    if (number >= columns * parts) return;
    const $index column = number % columns, part = number / columns;
    const $index first = column / inner * n * inner + column % inner;
    const $index to = (part + 1) * length < n ? (part + 1) * length : n;
    A all = $before, lost = 0;
    (void)lost;
    for ($index at = part * length; at < to; at++) {
        ADD(all, lost, (A)load_$x(x, first + ($at) * inner));
#if !$total
        store_$y(y, first + ($at) * inner, WHOLE(all, lost));
#endif
    }
#if $total
    totals[part * columns + column] = WHOLE(all, lost);
#endif
}
