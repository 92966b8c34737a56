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
#define NONE ((A)(-0.0f))
static inline A join(A a, A b) { return ((a) + (b)); }

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void totals0(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u64 n, const u32 parts, const u64 along)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
enum { G = 256, ITEMS = 16 };
__local A sums[G];
const u32 group = (u32)get_group_id(0);
const u32 item = (u32)get_local_id(0);
const u64 row = group / parts, from = group % parts * along;
const u64 to = from + along < n ? from + along : n;
A sum = NONE;
for (u64 at = from + item; at < to; at += G) sum = join(sum, (A)(b0[row * n + at]));
sums[item] = sum;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 half_ = G / 2; half_ > 0; half_ /= 2) {
if (item < half_) sums[item] = join(sums[item], sums[item + half_]);
barrier(CLK_LOCAL_MEM_FENCE);
}
if (item == 0) b1[group] = sums[0];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void carry1(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u64 n, const u32 parts, const u64 along)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
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
for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = k == 0 ? before : join(before, own[k - 1]);
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 k = 0; k < ITEMS; k++) {
const u64 at = first + k * G + item;
if (at < to) { b1[row * n + at] = tile[k * G + item + (k * G + item) / ITEMS]; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void rows2(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, const u64 n, const u32 parts, const u64 along)
{
b0 = (__global const f32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
enum { G = 256, ITEMS = 16 };
__local A sums[G];
const u32 group = (u32)get_group_id(0);
const u32 item = (u32)get_local_id(0);
const u64 row = group / parts, from = group % parts * along;
const u64 to = from + along < n ? from + along : n;
__local A tile[G * ITEMS + G];
A carry = b2[group], lost = 0;
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
