/* Folds the points of each slot. The first groups take the large slots, the items of others a slot each. */
KERNEL void $name($parameters)
{
    LOCAL_MEM u32 marks[$words];
    LOCAL_MEM A parts[$group * EACH];
    const u32 item = LID_0, number = GID_0;
    if (number < large) {
$large
        return;
    }
    const u32 id = (number - large) * $group + item;
    const u32 point = id / lanes, column = id % lanes * EACH;
    if (point >= points) return;
    const u32 mine = slots_of[point], slot = mine & 0x7fffffffu;
    if (mine == slot) return;
    const u32 key = positions[point], count = counts[slot];
    A all[EACH], old[EACH], xs[$members][EACH];
    READ(old, table, IN_TABLE(key))
    READ(all, x, BROUGHT(point))
    if (count > $members) return;
    if (count > 1) {
        $places
        $exchanges
        $reads
        FOR_EACH all[v] = xs[0][v];
#pragma unroll
        for (u32 j = 1; j < $members; j++) if (j < count) { FOR_EACH all[v] = join(all[v], xs[j][v]); }
    }
    PUT_BACK(table, IN_TABLE(key))
}
