/* Merges runs of `run` elements, a power of two: each item finds where its results start in both runs, and
   merges from there. */
KERNEL void $name($parameters)
{
    const $index number = ($index)GID_0 * $group + ($index)LID_0;
    if (number >= items) return;
    const u64 row = number / each;
    const u32 start = (u32)(number % each) * $merged;
    LINE
    const u32 base = start & ~(2 * run - 1);
    const u32 middle = base + run < n ? base + run : n;
    const u32 end = n - base < 2 * run ? n : base + 2 * run;
    const u64 here = row * n;
    const u32 left = middle - base, right = end - middle, skip = start - base;
    u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
    while (low < high) {
        const u32 mid = (low + high) / 2;
        if (from_keys[here + base + mid] <= from_keys[here + middle + (skip - 1 - mid)]) low = mid + 1;
        else high = mid;
    }
    u32 a = base + low, b = middle + (skip - low);
    const u32 stop = n - start < $merged ? n : start + $merged;
    K ka = a < middle ? from_keys[here + a] : 0, kb = b < end ? from_keys[here + b] : 0;
    for (u32 at = start; at < stop; at++) {
        const int first = a < middle && (b >= end || ka <= kb);
        const K k = first ? ka : kb;
        const u32 p = from_positions[here + (first ? a : b)];
        (void)k;
        $put
        if (first) {
            a++;
            ka = a < middle ? from_keys[here + a] : 0;
        } else {
            b++;
            kb = b < end ? from_keys[here + b] : 0;
        }
    }
}
