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
#define GLOBAL_MEM __global
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define ATOMIC_ADD(at, x) atomic_add((at), (x))
#define ATOMIC_MAX(at, x) atomic_max((at), (x))
#define ATOMIC_MIN(at, x) atomic_min((at), (x))
#define FLOAT_BITS(x) as_uint(x)
#define BITS_FLOAT(x) as_float(x)
#define LDEXP(x, n) ldexp((x), (n))
#define load_f16(pointer, index) (vload_half((index), (pointer)))
#define store_f16(pointer, index, value) vstore_half_rte((f32)(value), (index), (pointer))
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
#define SLOT(key) (ROW(key))
/* Magnitudes are the bits of floats without the sign, which are in the order of the floats, NaN above all. A
   positive zero is felt as the smallest number, since it makes a negative zero of the table positive; a
   negative one changes nothing. */
DEVICE_FN u32 magnitude(f32 x) { return FLOAT_BITS(x) & 0x7fffffffu; }
DEVICE_FN u32 felt(f32 x) { return FLOAT_BITS(x) == 0 ? 1 : magnitude(x); }
DEVICE_FN u32 first(u32 a, u32 b) { return a < b ? a : b; }
DEVICE_FN u32 most(u32 a, u32 b) { return a > b ? a : b; }
DEVICE_FN u64 total(u64 a, u64 b) { return a + b; }

/* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are
   counted, those below zero in the upper half. */
DEVICE_FN u64 fixed(f32 x, u32 most, u32 spare)
{
    const u32 size = magnitude(x), below = FLOAT_BITS(x) >> 31;
    if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);
    const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;
    u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);
    const int shift = (int)spare - (int)(top - own);
    whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;
    return below ? (u64)0 - whole : whole;
}

DEVICE_FN f32 sum_of(u64 all, u32 most, u32 spare)
{
    if (most >= 0x7f800000u) {
        const int above = (u32)all != 0, below = (u32)(all >> 32) != 0;
        const int is_nan = most > 0x7f800000u || (above && below);
        return BITS_FLOAT(is_nan ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);
    }
    const int top = most >> 23 ? most >> 23 : 1;
    return LDEXP((f32)(i64)all, top - 150 - (int)spare);
}
/* Adds to a 64-bit integer. Such additions are native to CUDA's memory; elsewhere they are two of 32 bits,
   the lower one with a carry. */
DEVICE_FN void total_into_memory(GLOBAL_MEM u64 *at, u64 x)
{
    GLOBAL_MEM u32 *word = (GLOBAL_MEM u32*)at;
    const u32 low = (u32)x;
    u32 high = (u32)(x >> 32);
    if (low != 0) high += ATOMIC_ADD(word, low) > 0xffffffffu - low ? 1u : 0u;
    if (high != 0) ATOMIC_ADD(word + 1, high);
}
/* Adds to a 64-bit integer. Such additions are native to CUDA's memory; elsewhere they are two of 32 bits,
   the lower one with a carry. */
DEVICE_FN void total_into_table(LOCAL_MEM_ARG u64 *at, u64 x)
{
    LOCAL_MEM_ARG u32 *word = (LOCAL_MEM_ARG u32*)at;
    const u32 low = (u32)x;
    u32 high = (u32)(x >> 32);
    if (low != 0) high += ATOMIC_ADD(word, low) > 0xffffffffu - low ? 1u : 0u;
    if (high != 0) ATOMIC_ADD(word + 1, high);
}
/* Folds into an element of memory, or of a group's table. */
DEVICE_FN void first_into_memory(GLOBAL_MEM u32 *at, u32 x) { ATOMIC_MIN(at, x); }

DEVICE_FN void most_into_memory(GLOBAL_MEM u32 *at, u32 x)
{
    if (x > *(volatile GLOBAL_MEM u32*)at) ATOMIC_MAX(at, x);
}
/* Folds into an element of memory, or of a group's table. */
DEVICE_FN void first_into_table(LOCAL_MEM_ARG u32 *at, u32 x) { ATOMIC_MIN(at, x); }

DEVICE_FN void most_into_table(LOCAL_MEM_ARG u32 *at, u32 x)
{
    if (x > *(volatile LOCAL_MEM_ARG u32*)at) ATOMIC_MAX(at, x);
}

/* Sets words of memory before others count in them. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* zeros, const u64 zeros_byte, const u32 words, const u32 rows)
{
    zeros = (__global u32*)((__global u8*)zeros + zeros_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id < words) zeros[id] = 0;
}

/* Each item folds its points into the table. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void magnitudes1(__global const u32* positions, const u64 positions_byte, __global const half* x, const u64 x_byte, __global u32* magnitudes, const u64 magnitudes_byte, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const half*)((__global const u8*)x + x_byte);
    magnitudes = (__global u32*)((__global u8*)magnitudes + magnitudes_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const u32 from = id / width * 4, column = id % width;
    const u32 to = from + 4 < points ? from + 4 : points;
    u32 keys[4];
    u32 xs[4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const u32 place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = felt(load_f16(x, BROUGHT(place)));
    }
    u32 key = keys[0];
    u32 all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = most(all, xs[j]);
            continue;
        }
        most_into_memory(&magnitudes[(u32)(SLOT(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    most_into_memory(&magnitudes[(u32)(SLOT(key)) * width + column], all);

}

/* Each item folds its points into the table. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void sums2(__global const u32* positions, const u64 positions_byte, __global const half* x, const u64 x_byte, __global u64* sums, const u64 sums_byte, __global const u32* magnitudes, const u64 magnitudes_byte, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const half*)((__global const u8*)x + x_byte);
    sums = (__global u64*)((__global u8*)sums + sums_byte);
    magnitudes = (__global const u32*)((__global const u8*)magnitudes + magnitudes_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const u32 from = id / width * 4, column = id % width;
    const u32 to = from + 4 < points ? from + 4 : points;
    u32 keys[4];
    u64 xs[4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const u32 place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = fixed(load_f16(x, BROUGHT(place)), magnitudes[(u32)SLOT(keys[j]) * width + column], spare);
    }
    u32 key = keys[0];
    u64 all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = total(all, xs[j]);
            continue;
        }
        total_into_memory(&sums[(u32)(SLOT(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    total_into_memory(&sums[(u32)(SLOT(key)) * width + column], all);

}

/* Adds the sums to the table. An accumulator of a point that is not the first one of its row holds nothing.
   */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void put3(__global const u64* sums, const u64 sums_byte, __global const u32* magnitudes, const u64 magnitudes_byte, __global half* table, const u64 table_byte, const u32 items, const u32 last, const u32 width, const u32 spare)
{
    sums = (__global const u64*)((__global const u8*)sums + sums_byte);
    magnitudes = (__global const u32*)((__global const u8*)magnitudes + magnitudes_byte);
    table = (__global half*)((__global u8*)table + table_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    const u32 to = id;
    const u32 most = magnitudes[id];
    if (most == 0) return;
    store_f16(table, to, load_f16(table, to) + sum_of(sums[id], most, spare));
}
