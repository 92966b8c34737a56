/* Without a fold the last point of each run goes to the table. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    const $index at = id / width, column = id % width;
    if (at >= rows) return;
    SORTED
    const u32 key = sorted[at];
    if (at + 1 < points && sorted[at + 1] == key) return;
    table[IN_TABLE(key)] = x[BROUGHT(PLACE(at))];
}
