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
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
static inline A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void totals0(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
const u32 number = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
if (number >= columns * parts) return;
const u32 column = number % columns, part = number / columns;
const u32 first = column / inner * n * inner + column % inner;
const u32 to = (part + 1) * length < n ? (part + 1) * length : n;
A all = NONE, lost = 0;
(void)lost;
for (u32 step = part * length; step < to; step++) {
const A x = (A)(b0[first + step * inner]);
all = join(all, x);

}
b1[part * columns + column] = all;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void carry1(__global f32* b0, const u64 byte0, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
b0 = (__global f32*)((__global u8*)b0 + byte0);
const u32 number = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
if (number >= columns) return;
A all = NONE;
for (u32 part = 0; part < parts; part++) {
const A x = b0[part * columns + number];
b0[part * columns + number] = all;
all = join(all, x);
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void columns2(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
const u32 number = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
if (number >= columns * parts) return;
const u32 column = number % columns, part = number / columns;
const u32 first = column / inner * n * inner + column % inner;
const u32 to = (part + 1) * length < n ? (part + 1) * length : n;
A all = b2[part * columns + column], lost = 0;
(void)lost;
for (u32 step = part * length; step < to; step++) {
const A x = (A)(b0[first + step * inner]);
all = join(all, x);
b1[first + step * inner] = all;
}
}
