/* The last point of each row stores its elements. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    if (id >= items) return;
    const $index place = id / width, column = id % width;
    const u32 key = positions[place];
    if (winners[ROW(key)] != (u32)place + 1) return;
    table[IN_TABLE(key)] = x[BROUGHT(place)];
}
