/* Replaces the fold of each part of a column by that of the parts before it. */
KERNEL void $name($parameters)
{
    const $index number = ($index)GID_0 * $group + ($index)LID_0;
    if (number >= columns) return;
    A all = NONE;
    for ($index part = 0; part < parts; part++) {
        const A x = totals[part * columns + number];
        totals[part * columns + number] = all;
        all = join(all, x);
    }
}
