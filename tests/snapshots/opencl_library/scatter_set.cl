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
static inline u32 later(u32 a, u32 b) { return a > b ? a : b; }
static inline void later_into_memory(__global u32* at, u32 x) {
if (x > *(volatile __global u32*)at) atomic_max(at, x);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* b0, const u64 byte0, const u32 rows)
{
b0 = (__global u32*)((__global u8*)b0 + byte0);
const u32 id = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
if (id < rows) b0[id] = 0u;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void winners1(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, const u32 points, const u32 last, const u32 width, const u32 items)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
const u32 id = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
if (id >= items) return;
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
u32 xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = (u32)place + 1u;
}
u32 key = keys[0];
u32 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = later(all, xs[j]); continue; }
later_into_memory(&b1[(u32)(key < last ? key : last) * width + column], all);
key = keys[j];
all = xs[j];
}
later_into_memory(&b1[(u32)(key < last ? key : last) * width + column], all);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void put2(__global const u32* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global u64* b2, const u64 byte2, __global const u32* b3, const u64 byte3, const u32 items, const u32 last, const u32 width)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global u64*)((__global u8*)b2 + byte2);
b3 = (__global const u32*)((__global const u8*)b3 + byte3);
const u32 id = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
if (id >= items) return;
const u32 place = id / width, column = id % width;
const u32 row = b0[place] < last ? b0[place] : last;
if (b3[row] != (u32)place + 1u) return;
b2[(u32)row * width + column] = b1[place * width + column];
}
