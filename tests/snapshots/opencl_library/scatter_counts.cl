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
#define ATOMIC_ADD(at, x) atomic_add((at), (x))
typedef i32 A;
#define NONE ((A)(0))
DEVICE_FN A join(A a, A b) { return (A)((u64)(a) + (u64)(b)); }
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
    ATOMIC_ADD((GLOBAL_MEM u32*)at, (u32)x);
}
/* Folds x into an element of the table, or of a group's. Most values change nothing. */
DEVICE_FN void join_into_table(LOCAL_MEM_ARG A *at, A x)
{
    ATOMIC_ADD((LOCAL_MEM_ARG u32*)at, (u32)x);
}

/* Each group folds its points into a table of its own, and that into the whole one. */
__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void tables0(__global const u32* positions, const u64 positions_byte, __global const i32* x, const u64 x_byte, __global i32* table, const u64 table_byte, const u32 points, const u32 last, const u32 width, const u32 items)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const i32*)((__global const u8*)x + x_byte);
    table = (__global i32*)((__global u8*)table + table_byte);
    LOCAL_MEM A own[1024];
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
