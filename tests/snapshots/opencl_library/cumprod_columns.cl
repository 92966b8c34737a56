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
typedef i32 A;
#define NONE ((A)(1))
static inline A join(A a, A b) { return (A)((u64)(a) * (u64)(b)); }

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void columns0(__global const i32* b0, const u64 byte0, __global i32* b1, const u64 byte1)
{
b0 = (__global const i32*)((__global const u8*)b0 + byte0);
b1 = (__global i32*)((__global u8*)b1 + byte1);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 524288u * 1u) return;
const u64 column = number % 524288u, part = number / 524288u;
const u64 first = column / 8u * 100u * 8u + column % 8u;
const u64 to = (part + 1) * 100u < 100u ? (part + 1) * 100u : 100u;
A all = NONE, lost = 0;
for (u64 step = part * 100u; step < to; step++) {
const A x = (A)(b0[first + (u64)step * 8u]);
all = join(all, x);
b1[first + (u64)step * 8u] = all;
}
}
