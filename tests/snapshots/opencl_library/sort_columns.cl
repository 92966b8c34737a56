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
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u32 K;
DEVICE_FN u32 key_of(u16 x)
{
    u32 k = x;
    k ^= 32768u;
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#define LINE \
    const u64 outer = (u32)row / inner * (u64)inner, column = (u32)row % inner; \
    const u64 line = outer * n + column, results = outer * kept + column;
#define ELEMENT(at) (line + (u64)(at) * inner)
#define RESULT(at) (results + (u64)(at) * inner)
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

/* A group sorts a tile of `length` elements. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u16* source, const u64 source_byte, __global u32* to_keys, const u64 to_keys_byte, __global u32* to_positions, const u64 to_positions_byte, const u32 n, const u32 kept, const u32 inner, const u32 length, const u32 tiles)
{
    source = (__global const u16*)((__global const u8*)source + source_byte);
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
void merge1(__global const u16* source, const u64 source_byte, __global const u32* from_keys, const u64 from_keys_byte, __global const u32* from_positions, const u64 from_positions_byte, __global u32* to_keys, const u64 to_keys_byte, __global u32* to_positions, const u64 to_positions_byte, const u32 n, const u32 kept, const u32 inner, const u32 items, const u32 each, const u32 run)
{
    source = (__global const u16*)((__global const u8*)source + source_byte);
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
void merge2(__global const u16* source, const u64 source_byte, __global const u32* from_keys, const u64 from_keys_byte, __global const u32* from_positions, const u64 from_positions_byte, __global u16* values, const u64 values_byte, __global i64* indices, const u64 indices_byte, const u32 n, const u32 kept, const u32 inner, const u32 items, const u32 each, const u32 run)
{
    source = (__global const u16*)((__global const u8*)source + source_byte);
    from_keys = (__global const u32*)((__global const u8*)from_keys + from_keys_byte);
    from_positions = (__global const u32*)((__global const u8*)from_positions + from_positions_byte);
    values = (__global u16*)((__global u8*)values + values_byte);
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
