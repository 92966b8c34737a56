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
void totals0(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 1024u * 64u) return;
const u64 column = number % 1024u, part = number / 1024u;
const u64 first = column / 1024u * 4096u * 1024u + column % 1024u;
const u64 to = (part + 1) * 64u < 4096u ? (part + 1) * 64u : 4096u;
A all = NONE, lost = 0;
for (u64 step = part * 64u; step < to; step++) {
const A x = (A)(b0[first + (u64)step * 1024u]);
all = join(all, x);

}
b1[part * 1024u + column] = all;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void carry1(__global f32* b0, const u64 byte0)
{
b0 = (__global f32*)((__global u8*)b0 + byte0);
const u64 column = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (column >= 1024u) return;
A all = NONE;
for (u32 part = 0; part < 64u; part++) {
const A x = b0[part * (u64)1024u + column];
b0[part * (u64)1024u + column] = all;
all = join(all, x);
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void columns2(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 1024u * 64u) return;
const u64 column = number % 1024u, part = number / 1024u;
const u64 first = column / 1024u * 4096u * 1024u + column % 1024u;
const u64 to = (part + 1) * 64u < 4096u ? (part + 1) * 64u : 4096u;
A all = b2[part * 1024u + column], lost = 0;
for (u64 step = part * 64u; step < to; step++) {
const A x = (A)(b0[first + (u64)step * 1024u]);
all = join(all, x);
b1[first + (u64)step * 1024u] = all;
}
}
