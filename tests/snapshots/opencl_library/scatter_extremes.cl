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
#define GDIM_0 get_num_groups(0)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define ATOMIC_MAX(at, x) atomic_max((at), (x))
#define ATOMIC_MIN(at, x) atomic_min((at), (x))
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
/* Folds x into an element of the table, or of a group's. Most values change nothing. */
DEVICE_FN void join_into_memory(GLOBAL_MEM A *at, A x)
{
    /* Floats of one sign are ordered as integers, those below zero the other way around; the NaN that is
       stored is beyond all. What is there may be a NaN with either sign, which stays. Of zeros the integers
       decide, so that their order does not. */
    const A old = *(volatile GLOBAL_MEM A*)at;
    if (old != old || x < old || (x == old && x != 0)) return;
    const i32 bits = x != x ? (i32)(~(u32)0 >> 1) : as_int(x);
    if (bits >= 0) ATOMIC_MAX((GLOBAL_MEM i32*)at, bits);
    else ATOMIC_MIN((GLOBAL_MEM u32*)at, (u32)bits);
}
/* Folds x into an element of the table, or of a group's. Most values change nothing. */
DEVICE_FN void join_into_table(LOCAL_MEM_ARG A *at, A x)
{
    /* Floats of one sign are ordered as integers, those below zero the other way around; the NaN that is
       stored is beyond all. What is there may be a NaN with either sign, which stays. Of zeros the integers
       decide, so that their order does not. */
    const A old = *(volatile LOCAL_MEM_ARG A*)at;
    if (old != old || x < old || (x == old && x != 0)) return;
    const i32 bits = x != x ? (i32)(~(u32)0 >> 1) : as_int(x);
    if (bits >= 0) ATOMIC_MAX((LOCAL_MEM_ARG i32*)at, bits);
    else ATOMIC_MIN((LOCAL_MEM_ARG u32*)at, (u32)bits);
}

/* Each group folds its points into a table of its own, and that into the whole one. */
__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void tables0(__global const u32* positions, const u64 positions_byte, __global const f32* x, const u64 x_byte, __global f32* table, const u64 table_byte, const u32 points, const u32 last, const u32 width, const u32 items)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const f32*)((__global const u8*)x + x_byte);
    table = (__global f32*)((__global u8*)table + table_byte);
    LOCAL_MEM A own[8192];
    const u32 item = (u32)LID_0, entries = (last + 1) * width;
    for (u32 i = item; i < entries; i += 1024) own[i] = NONE;
    local_barrier();
    for (u32 id = (u32)GID_0 * 1024 + item; id < items; id += (u32)GDIM_0 * 1024) {
    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const u32 from = id / width * 4, column = id % width;
    const u32 to = from + 4 < points ? from + 4 : points;
    u32 keys[4];
    A xs[4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const u32 place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = x[BROUGHT(place)];
    }
    u32 key = keys[0];
    A all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = join(all, xs[j]);
            continue;
        }
        join_into_table(&own[(u32)(ROW(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    join_into_table(&own[(u32)(ROW(key)) * width + column], all);

    }
    local_barrier();
    for (u32 i = item; i < entries; i += 1024) {
        const A x = own[i];
        if (x != NONE) join_into_memory(&table[i], x);
    }
}
