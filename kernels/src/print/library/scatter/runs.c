/* The item with the first part of a divided run folds all its parts. Most runs end in the next chunk, so the
   end of a run is searched in steps that double. */
KERNEL void $name($parameters)
{
    const $index id = ($index)GID_0 * $group + ($index)LID_0;
    const $index chunk = id / width, column = id % width;
    if (chunk >= rows) return;
    SORTED
    const $index from = chunk * $chunk, to = from + $chunk;
    if (to >= points) return;
    const u32 key = sorted[to - 1];
    if (sorted[to] != key) return;
    if (sorted[from] == key && from > 0 && sorted[from - 1] == key) return;
    $index low = chunk + 1, high = low;
    for ($index step = 1; high * $chunk < points && sorted[high * $chunk] == key; step *= 2) {
        low = high;
        high += step;
    }
    while (high - low > 1) {
        const $index middle = low + (high - low) / 2;
        if (middle * $chunk < points && sorted[middle * $chunk] == key) low = middle;
        else high = middle;
    }
    A all = lasts[id], lost = 0;
#pragma unroll 8
    for ($index at = chunk + 1; at < high; at++) ADD(all, lost, firsts[at * width + column]);
    (void)lost;
    all = WHOLE(all, lost);
    store_$stored(table, IN_TABLE(key), join((A)load_$stored(table, IN_TABLE(key)), all));
}
