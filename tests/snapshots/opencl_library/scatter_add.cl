#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define DEVICE_FN static inline __attribute__((always_inline))
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define load_f32(pointer, index) ((pointer)[(index)])
#define store_f32(pointer, index, value) (pointer)[(index)] = (value)
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u32 K;
DEVICE_FN u32 key_of(u32 x)
{
    u32 k = x;
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#define LINE const u64 line = row * n, results = row * kept;
#define ELEMENT(at) (line + (at))
#define RESULT(at) (results + (at))
#define STORE(at, element, p) if (at < kept) { values[RESULT(at)] = element; indices[RESULT(at)] = (i64)(p);  }
/* Sorts `length` elements, a power of two, in the memory of a group of `group` items: by keys, and by
   positions if keys are equal. */
DEVICE_FN void sort_group(
    LOCAL_MEM_ARG K *keys, LOCAL_MEM_ARG u32 *positions, u32 length, u32 item, u32 group)
{
    for (u32 size = 2; size <= length; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            for (u32 i = item; i < length / 2; i += group) {
                const u32 a = 2 * i - (i & (step - 1)), b = a + step;
                const K ka = keys[a], kb = keys[b];
                const u32 pa = positions[a], pb = positions[b];
                const int after = ka > kb || (ka == kb && pa > pb);
                if (after == ((a & size) == 0)) {
                    keys[a] = kb;
                    keys[b] = ka;
                    positions[a] = pb;
                    positions[b] = pa;
                }
            }
            local_barrier();
        }
    }
}
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
/* The sorted positions, and where each was among those given. Positions that are in order already were not
   moved. */
#define SORTED
#define PLACE(at) ((u32)order[at])
typedef f32 A;
#define NONE ((A)(-0.0f))
DEVICE_FN A join(A a, A b) { return ((a) + (b)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) { \
    const A x_ = x, next = (all) + x_, back = next - (all); \
    lost += ((all) - (next - back)) + (x_ - back); \
    all = next; \
}
#define WHOLE(all, lost) ((lost) < 0 || (lost) > 0 ? (all) + (lost) : (all))
/* An item folds EACH neighbouring elements of a row, which it reads and stores at once. */
enum { EACH = 1 };
#define FOR_EACH for (u32 v = 0; v < EACH; v++)
#define READ(to, from, at) (to)[0] = (A)load_f32(from, at);
#define PUT_BACK(to, at) store_f32(to, at, join(old[0], all[0]));

/* A group sorts a tile of `length` elements. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u32* source, const u64 source_byte, __global u32* to_keys, const u64 to_keys_byte, __global u32* to_positions, const u64 to_positions_byte, const u32 n, const u32 kept, const u32 length, const u32 tiles)
{
    source = (__global const u32*)((__global const u8*)source + source_byte);
    to_keys = (__global u32*)((__global u8*)to_keys + to_keys_byte);
    to_positions = (__global u32*)((__global u8*)to_positions + to_positions_byte);
    LOCAL_MEM K keys[1024];
    LOCAL_MEM u32 positions[1024];
    const u32 number = GID_0, item = LID_0;
    const u64 row = number / tiles;
    const u32 first = number % tiles * length;
    LINE
    for (u32 i = item; i < length; i += 256) {
        const int inside = first + i < n;
        keys[i] = inside ? key_of(source[inside ? ELEMENT(first + i) : 0]) : ~(K)0;
        positions[i] = inside ? first + i : 0xffffffffu;
    }
    local_barrier();
    sort_group(keys, positions, length, item, 256);
    for (u32 i = item; i < length; i += 256) {
        const u32 at = first + i;
        if (at < n) {
            const K k = keys[i];
            const u32 p = positions[i];
            (void)k;
            to_keys[row * n + at] = k; to_positions[row * n + at] = p;
        }
    }
}

/* Merges runs of `run` elements, a power of two: each item finds where its results start in both runs, and
   merges from there. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge1(__global const u32* source, const u64 source_byte, __global const u32* from_keys, const u64 from_keys_byte, __global const u32* from_positions, const u64 from_positions_byte, __global u32* to_keys, const u64 to_keys_byte, __global u32* to_positions, const u64 to_positions_byte, const u32 n, const u32 kept, const u32 items, const u32 each, const u32 run)
{
    source = (__global const u32*)((__global const u8*)source + source_byte);
    from_keys = (__global const u32*)((__global const u8*)from_keys + from_keys_byte);
    from_positions = (__global const u32*)((__global const u8*)from_positions + from_positions_byte);
    to_keys = (__global u32*)((__global u8*)to_keys + to_keys_byte);
    to_positions = (__global u32*)((__global u8*)to_positions + to_positions_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= items) return;
    const u64 row = number / each;
    const u32 start = (u32)(number % each) * 8;
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
    const u32 stop = n - start < 8 ? n : start + 8;
    K ka = a < middle ? from_keys[here + a] : 0, kb = b < end ? from_keys[here + b] : 0;
    for (u32 at = start; at < stop; at++) {
        const int first = a < middle && (b >= end || ka <= kb);
        const K k = first ? ka : kb;
        const u32 p = from_positions[here + (first ? a : b)];
        (void)k;
        to_keys[row * n + at] = k; to_positions[row * n + at] = p;
        if (first) {
            a++;
            ka = a < middle ? from_keys[here + a] : 0;
        } else {
            b++;
            kb = b < end ? from_keys[here + b] : 0;
        }
    }
}

/* Merges runs of `run` elements, a power of two: each item finds where its results start in both runs, and
   merges from there. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge2(__global const u32* source, const u64 source_byte, __global const u32* from_keys, const u64 from_keys_byte, __global const u32* from_positions, const u64 from_positions_byte, __global u32* values, const u64 values_byte, __global i64* indices, const u64 indices_byte, const u32 n, const u32 kept, const u32 items, const u32 each, const u32 run)
{
    source = (__global const u32*)((__global const u8*)source + source_byte);
    from_keys = (__global const u32*)((__global const u8*)from_keys + from_keys_byte);
    from_positions = (__global const u32*)((__global const u8*)from_positions + from_positions_byte);
    values = (__global u32*)((__global u8*)values + values_byte);
    indices = (__global i64*)((__global u8*)indices + indices_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= items) return;
    const u64 row = number / each;
    const u32 start = (u32)(number % each) * 8;
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
    const u32 stop = n - start < 8 ? n : start + 8;
    K ka = a < middle ? from_keys[here + a] : 0, kb = b < end ? from_keys[here + b] : 0;
    for (u32 at = start; at < stop; at++) {
        const int first = a < middle && (b >= end || ka <= kb);
        const K k = first ? ka : kb;
        const u32 p = from_positions[here + (first ? a : b)];
        (void)k;
        STORE(at, source[ELEMENT(p)], p)
        if (first) {
            a++;
            ka = a < middle ? from_keys[here + a] : 0;
        } else {
            b++;
            kb = b < end ? from_keys[here + b] : 0;
        }
    }
}

/* Folds the points of each run in a chunk. A run that is longer than the chunk has a part in it, at its start
   or at its end, which goes to memory for the next launch. Rows are read ahead. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void chunks3(__global const u32* sorted, const u64 sorted_byte, __global const i64* order, const u64 order_byte, __global const f32* x, const u64 x_byte, __global f32* table, const u64 table_byte, __global f32* firsts, const u64 firsts_byte, __global f32* lasts, const u64 lasts_byte, const u32 points, const u32 last, const u32 width, const u32 rows)
{
    sorted = (__global const u32*)((__global const u8*)sorted + sorted_byte);
    order = (__global const i64*)((__global const u8*)order + order_byte);
    x = (__global const f32*)((__global const u8*)x + x_byte);
    table = (__global f32*)((__global u8*)table + table_byte);
    firsts = (__global f32*)((__global u8*)firsts + firsts_byte);
    lasts = (__global f32*)((__global u8*)lasts + lasts_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    const u32 chunk = id / (width / EACH), column = id % (width / EACH) * EACH;
    if (chunk >= rows) return;
    SORTED
    const u32 from = chunk * 32;
    const u32 to = from + 32 < points ? from + 32 : points;
    u32 key = sorted[from];
    int begun = from > 0 && sorted[from - 1] == key;
    A all[EACH], old[EACH];
    FOR_EACH all[v] = NONE;
    for (u32 some = from; some < to; some += 8) {
        u32 keys[8];
        u32 places[8];
        A xs[8][EACH], olds[8][EACH];
#pragma unroll
        for (u32 j = 0; j < 8; j++) {
            const u32 at = some + j < to ? some + j : to - 1;
            keys[j] = sorted[at];
            places[j] = PLACE(at);
        }
#pragma unroll
        for (u32 j = 0; j < 8; j++) { READ(xs[j], x, BROUGHT(places[j])) }
#pragma unroll
        for (u32 j = 0; j < 8; j++) {
            if (j == 0 || keys[j] != keys[j - 1]) { READ(olds[j], table, IN_TABLE(keys[j])) }
        }
#pragma unroll
        for (u32 j = 0; j < 8; j++) {
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

/* The item with the first part of a divided run folds all its parts. Most runs end in the next chunk, so the
   end of a run is searched in steps that double. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void runs4(__global const u32* sorted, const u64 sorted_byte, __global f32* table, const u64 table_byte, __global const f32* firsts, const u64 firsts_byte, __global const f32* lasts, const u64 lasts_byte, const u32 points, const u32 last, const u32 width, const u32 rows)
{
    sorted = (__global const u32*)((__global const u8*)sorted + sorted_byte);
    table = (__global f32*)((__global u8*)table + table_byte);
    firsts = (__global const f32*)((__global const u8*)firsts + firsts_byte);
    lasts = (__global const f32*)((__global const u8*)lasts + lasts_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    const u32 chunk = id / width, column = id % width;
    if (chunk >= rows) return;
    SORTED
    const u32 from = chunk * 32, to = from + 32;
    if (to >= points) return;
    const u32 key = sorted[to - 1];
    if (sorted[to] != key) return;
    if (sorted[from] == key && from > 0 && sorted[from - 1] == key) return;
    u32 low = chunk + 1, high = low;
    for (u32 step = 1; high * 32 < points && sorted[high * 32] == key; step *= 2) {
        low = high;
        high += step;
    }
    while (high - low > 1) {
        const u32 middle = low + (high - low) / 2;
        if (middle * 32 < points && sorted[middle * 32] == key) low = middle;
        else high = middle;
    }
    A all = lasts[id], lost = 0;
#pragma unroll 8
    for (u32 at = chunk + 1; at < high; at++) ADD(all, lost, firsts[at * width + column]);
    (void)lost;
    all = WHOLE(all, lost);
    store_f32(table, IN_TABLE(key), join((A)load_f32(table, IN_TABLE(key)), all));
}
