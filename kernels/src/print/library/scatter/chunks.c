/* Folds the points of each run in a chunk. A run that is longer than the chunk has a part in it, at its start
   or at its end, which goes to memory for the next launch. Rows are read ahead. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    const $index chunk = id / (width / EACH), column = id % (width / EACH) * EACH;
    if (chunk >= rows) return;
    SORTED
    const $index from = chunk * $chunk;
    const $index to = from + $chunk < points ? from + $chunk : points;
    u32 key = sorted[from];
    int begun = from > 0 && sorted[from - 1] == key;
    A all[EACH], old[EACH];
    FOR_EACH all[v] = NONE;
    for ($index some = from; some < to; some += $ahead) {
        u32 keys[$ahead];
        $index places[$ahead];
        A xs[$ahead][EACH], olds[$ahead][EACH];
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) {
            const $index at = some + j < to ? some + j : to - 1;
            keys[j] = sorted[at];
            places[j] = PLACE(at);
        }
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) { READ(xs[j], x, BROUGHT(places[j])) }
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) {
            if (j == 0 || keys[j] != keys[j - 1]) { READ(olds[j], table, IN_TABLE(keys[j])) }
        }
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) {
            if (some + j >= to) break;
            if (keys[j] != key) {
                if (begun) { FOR_EACH firsts[chunk * width + column + v] = all[v]; }
                else { PUT_BACK(table, IN_TABLE(key)) }
                key = keys[j];
                begun = 0;
                FOR_EACH all[v] = NONE;
            }
            if (j == 0 || keys[j] != keys[j - 1]) { FOR_EACH old[v] = olds[j][v]; }
            FOR_EACH all[v] = join(all[v], xs[j][v]);
        }
    }
    if (begun) { FOR_EACH firsts[chunk * width + column + v] = all[v]; }
    else if (to < points && sorted[to] == key) { FOR_EACH lasts[chunk * width + column + v] = all[v]; }
    else { PUT_BACK(table, IN_TABLE(key)) }
}
