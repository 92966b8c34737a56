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
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define ATOMIC_MAX(at, x) atomic_max((at), (x))
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
/* The later of two points, here and in memory. Most points of a row come before one that is there already. */
DEVICE_FN u32 later(u32 a, u32 b) { return a > b ? a : b; }

DEVICE_FN void later_into_memory(GLOBAL_MEM u32 *at, u32 x)
{
    if (x > *(volatile GLOBAL_MEM u32*)at) ATOMIC_MAX(at, x);
}

/* Sets words of memory before others count in them. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* winners, const u64 winners_byte, const u32 rows)
{
    winners = (__global u32*)((__global u8*)winners + winners_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id < rows) winners[id] = 0;
}

/* Each item folds its points into the table. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void winners1(__global const u32* positions, const u64 positions_byte, __global u32* winners, const u64 winners_byte, const u32 points, const u32 last, const u32 width, const u32 items)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    winners = (__global u32*)((__global u8*)winners + winners_byte);
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
        xs[j] = (u32)place + 1;
    }
    u32 key = keys[0];
    u32 all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = later(all, xs[j]);
            continue;
        }
        later_into_memory(&winners[(u32)(ROW(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    later_into_memory(&winners[(u32)(ROW(key)) * width + column], all);

}

/* The last point of each row stores its elements. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void put2(__global const u32* positions, const u64 positions_byte, __global const u64* x, const u64 x_byte, __global u64* table, const u64 table_byte, __global const u32* winners, const u64 winners_byte, const u32 items, const u32 last, const u32 width)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const u64*)((__global const u8*)x + x_byte);
    table = (__global u64*)((__global u8*)table + table_byte);
    winners = (__global const u32*)((__global const u8*)winners + winners_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    const u32 place = id / width, column = id % width;
    const u32 key = positions[place];
    if (winners[ROW(key)] != (u32)place + 1) return;
    table[IN_TABLE(key)] = x[BROUGHT(place)];
}
