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
typedef u32 K;
static inline K key_of(u32 x) {
K k = x;
return k;
}
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
static inline A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global i64* b2, const u64 byte2)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global i64*)((__global u8*)b2 + byte2);
__local K keys[512];
__local u32 positions[512];
const u64 number = (u64)get_group_id(0);
const u32 item = (u32)((u64)get_local_id(0));
const u64 row = number / 1u, first = number % 1u * 512u;
for (u32 i = item; i < 512u; i += 256u) {
const int inside = first + i < 300u;
keys[i] = inside ? key_of(b0[inside ? row / 1u * 300u + (u64)(first + i) * 1u + row % 1u : 0]) : ~(K)0;
positions[i] = inside ? (u32)(first + i) : 0xffffffffu;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2; size <= 512u; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < 512u / 2; i += 256u) {
const u32 a = i / step * 2 * step + i % step, b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
for (u32 i = item; i < 512u; i += 256u) {
const u64 at = first + i;
if (at < 300u) { const K k = keys[i]; const u32 p = positions[i]; (void)k; if (at < 300u) { b1[row / 1u * 300u + (u64)(at) * 1u + row % 1u] = b0[row / 1u * 300u + (u64)(p) * 1u + row % 1u];b2[row / 1u * 300u + (u64)(at) * 1u + row % 1u] = (i64)p; } }
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void chunks1(__global const u32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const half* b2, const u64 byte2, __global half* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global f32* b5, const u64 byte5)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const i64*)((__global const u8*)b1 + byte1);
b2 = (__global const half*)((__global const u8*)b2 + byte2);
b3 = (__global half*)((__global u8*)b3 + byte3);
b4 = (__global f32*)((__global u8*)b4 + byte4);
b5 = (__global f32*)((__global u8*)b5 + byte5);
const u32 id = (u32)((u64)get_group_id(0) * 256u + (u64)get_local_id(0));
const u32 chunk = id / 7u, column = id % 7u;
if (chunk >= 10u) return;
const u32 from = chunk * 32u;
const u32 to = from + 32u < 300u ? from + 32u : 300u;
u32 key = b0[from];
int begun = from > 0 && b0[from - 1] == key;
A all[1], old[1];
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = NONE;
for (u32 some = from; some < to; some += 8u) {
u32 keys[8];
u32 places[8];
A xs[8][1], olds[8][1];
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
const u32 at = some + j < to ? some + j : to - 1;
keys[j] = b0[at];
places[j] = (u32)b1[at];
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(places[j] * 7u + column, b2));
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
if (j == 0 || keys[j] != keys[j - 1]) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) olds[j][v] = (A)(vload_half((u32)(keys[j] < 9u ? keys[j] : 9u) * 7u + column, b3));
}
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
if (some + j >= to) break;
if (keys[j] != key) {
if (begun) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b4[chunk * 7u + column + v] = all[v];
} else {
#pragma unroll
for (u32 v = 0; v < 1u; v++) vstore_half_rte(join(old[v], all[v]), (u32)(key < 9u ? key : 9u) * 7u + column, b3);
}
key = keys[j];
begun = 0;
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = NONE;
}
if (j == 0 || keys[j] != keys[j - 1]) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) old[v] = olds[j][v];
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
}
if (begun) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b4[chunk * 7u + column + v] = all[v];
} else if (to < 300u && b0[to] == key) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b5[chunk * 7u + column + v] = all[v];
} else {
#pragma unroll
for (u32 v = 0; v < 1u; v++) vstore_half_rte(join(old[v], all[v]), (u32)(key < 9u ? key : 9u) * 7u + column, b3);
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void runs2(__global const u32* b0, const u64 byte0, __global half* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global half*)((__global u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
b3 = (__global const f32*)((__global const u8*)b3 + byte3);
const u32 id = (u32)((u64)get_group_id(0) * 256u + (u64)get_local_id(0));
const u32 chunk = id / 7u, column = id % 7u;
if (chunk >= 10u) return;
const u32 from = chunk * 32u, to = from + 32u;
if (to >= 300u) return;
const u32 key = b0[to - 1];
if (b0[to] != key) return;
if (b0[from] == key && from > 0 && b0[from - 1] == key) return;
u32 low = chunk + 1, high = low;
for (u32 step = 1; high * 32u < 300u && b0[high * 32u] == key; step *= 2) {
low = high;
high += step;
}
while (high - low > 1) {
const u32 middle = low + (high - low) / 2;
if (middle * 32u < 300u && b0[middle * 32u] == key) low = middle; else high = middle;
}
A all = b3[id], lost = 0;
#pragma unroll 8
for (u32 next = chunk + 1; next < high; next++) {
const A x = b2[next * 7u + column];
all = join(all, x);
}
(void)lost;
vstore_half_rte(join((A)(vload_half((u32)(key < 9u ? key : 9u) * 7u + column, b1)), all), (u32)(key < 9u ? key : 9u) * 7u + column, b1);
}
