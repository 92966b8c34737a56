#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef f64 A;
#define NONE ((A)(-0.0f))
static inline A join(A a, A b) { return ((a) + (b)); }

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void rows0(__global const f64* b0, const u64 byte0, __global f64* b1, const u64 byte1, const u64 n, const u32 parts, const u64 along)
{
b0 = (__global const f64*)((__global const u8*)b0 + byte0);
b1 = (__global f64*)((__global u8*)b1 + byte1);
enum { G = 256, ITEMS = 16 };
__local A sums[G];
const u32 group = (u32)get_group_id(0);
const u32 item = (u32)get_local_id(0);
const u64 row = group / parts, from = group % parts * along;
const u64 to = from + along < n ? from + along : n;
__local A tile[G * ITEMS + G];
A carry = NONE, lost = 0;
(void)lost;
for (u64 first = from; first < to; first += G * ITEMS) {
for (u32 k = 0; k < ITEMS; k++) {
const u64 at = first + k * G + item;
tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)(b0[row * n + at]) : NONE;
}
barrier(CLK_LOCAL_MEM_FENCE);
A own[ITEMS];
A sum = tile[item * (ITEMS + 1)];
own[0] = sum;
for (u32 k = 1; k < ITEMS; k++) { sum = join(sum, tile[item * (ITEMS + 1) + k]); own[k] = sum; }
sums[item] = sum;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 step = 1; step < G; step *= 2) {
const A other = item >= step ? sums[item - step] : NONE;
barrier(CLK_LOCAL_MEM_FENCE);
if (item >= step) sums[item] = join(other, sums[item]);
barrier(CLK_LOCAL_MEM_FENCE);
}
const A all = (lost < 0 || lost > 0 ? carry + lost : carry);
const A before = item > 0 ? join(all, sums[item - 1]) : all;
{ const A x = sums[G - 1], next = carry + x, back = next - carry; lost += (carry - (next - back)) + (x - back); carry = next; }
for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = join(before, own[k]);
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 k = 0; k < ITEMS; k++) {
const u64 at = first + k * G + item;
if (at < to) { b1[row * n + at] = tile[k * G + item + (k * G + item) / ITEMS]; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
