/* Adds the sums to the table. An accumulator of a point that is not the first one of its row holds nothing.
   */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    if (id >= items) return;
#if $by_points
    const $index slot = id / width, column = id % width;
    const u32 key = positions[slot];
    if (firsts[ROW(key)] != slot) return;
    const $index to = IN_TABLE(key);
#else
    const $index to = id;
#endif
    const u32 most = magnitudes[id];
    if (most == 0) return;
    store_$stored(table, to, load_$stored(table, to) + sum_of(sums[id], most, spare));
}
