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
#define NONE ((A)(-0.0f))
static inline A join(A a, A b) { return ((a) + (b)); }

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global u32* b2, const u64 byte2)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
__local K keys[1024];
__local u32 positions[1024];
const u64 number = (u64)get_group_id(0);
const u32 item = (u32)((u64)get_local_id(0));
const u64 row = number / 98u, first = number % 98u * 1024u;
for (u32 i = item; i < 1024u; i += 256u) {
const int inside = first + i < 100000u;
keys[i] = inside ? key_of(b0[inside ? row / 1u * 100000u + (u64)(first + i) * 1u + row % 1u : 0]) : ~(K)0;
positions[i] = inside ? (u32)(first + i) : 0xffffffffu;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2; size <= 1024u; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < 1024u / 2; i += 256u) {
const u32 a = i / step * 2 * step + i % step, b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
for (u32 i = item; i < 1024u; i += 256u) {
const u64 at = first + i;
if (at < 100000u) { const K k = keys[i]; const u32 p = positions[i]; (void)k; b1[row * 100000u + at] = k; b2[row * 100000u + at] = p; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge1(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 2048u * 2048u);
const u32 middle = base + 1024u < 100000u ? base + 1024u : 100000u;
const u32 end = 100000u - base < 2048u ? 100000u : base + (u32)2048u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge2(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 4096u * 4096u);
const u32 middle = base + 2048u < 100000u ? base + 2048u : 100000u;
const u32 end = 100000u - base < 4096u ? 100000u : base + (u32)4096u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge3(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 8192u * 8192u);
const u32 middle = base + 4096u < 100000u ? base + 4096u : 100000u;
const u32 end = 100000u - base < 8192u ? 100000u : base + (u32)8192u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge4(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 16384u * 16384u);
const u32 middle = base + 8192u < 100000u ? base + 8192u : 100000u;
const u32 end = 100000u - base < 16384u ? 100000u : base + (u32)16384u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge5(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 32768u * 32768u);
const u32 middle = base + 16384u < 100000u ? base + 16384u : 100000u;
const u32 end = 100000u - base < 32768u ? 100000u : base + (u32)32768u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge6(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 65536u * 65536u);
const u32 middle = base + 32768u < 100000u ? base + 32768u : 100000u;
const u32 end = 100000u - base < 65536u ? 100000u : base + (u32)65536u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 100000u + at] = k; b4[row * 100000u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge7(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global i64* b4, const u64 byte4)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global i64*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 12500u) return;
const u64 row = number / 12500u;
const u32 start = (u32)(number % 12500u) * 8u;
const u32 base = (u32)(start / 131072u * 131072u);
const u32 middle = base + 65536u < 100000u ? base + 65536u : 100000u;
const u32 end = 100000u - base < 131072u ? 100000u : base + (u32)131072u;
const u64 here = row * 100000u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 100000u - start < 8u ? 100000u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
if (at < 100000u) { b3[row / 1u * 100000u + (u64)(at) * 1u + row % 1u] = b0[row / 1u * 100000u + (u64)(p) * 1u + row % 1u];b4[row / 1u * 100000u + (u64)(at) * 1u + row % 1u] = (i64)p; }
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void chunks8(__global const u32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global f32* b5, const u64 byte5)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const i64*)((__global const u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
b3 = (__global f32*)((__global u8*)b3 + byte3);
b4 = (__global f32*)((__global u8*)b4 + byte4);
b5 = (__global f32*)((__global u8*)b5 + byte5);
const u32 id = (u32)((u64)get_group_id(0) * 256u + (u64)get_local_id(0));
const u32 chunk = id / 16u, column = id % 16u;
if (chunk >= 3125u) return;
const u32 from = chunk * 32u;
const u32 to = from + 32u < 100000u ? from + 32u : 100000u;
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
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(b2[0]);
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
if (j == 0 || keys[j] != keys[j - 1]) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) olds[j][v] = (A)(b3[(u32)(keys[j] < 999u ? keys[j] : 999u) * 16u + column]);
}
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
if (some + j >= to) break;
if (keys[j] != key) {
if (begun) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b4[chunk * 16u + column + v] = all[v];
} else {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b3[(u32)(key < 999u ? key : 999u) * 16u + column] = join(old[v], all[v]);
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
for (u32 v = 0; v < 1u; v++) b4[chunk * 16u + column + v] = all[v];
} else if (to < 100000u && b0[to] == key) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b5[chunk * 16u + column + v] = all[v];
} else {
#pragma unroll
for (u32 v = 0; v < 1u; v++) b3[(u32)(key < 999u ? key : 999u) * 16u + column] = join(old[v], all[v]);
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void runs9(__global const u32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global f32*)((__global u8*)b1 + byte1);
b2 = (__global const f32*)((__global const u8*)b2 + byte2);
b3 = (__global const f32*)((__global const u8*)b3 + byte3);
const u32 id = (u32)((u64)get_group_id(0) * 256u + (u64)get_local_id(0));
const u32 chunk = id / 16u, column = id % 16u;
if (chunk >= 3125u) return;
const u32 from = chunk * 32u, to = from + 32u;
if (to >= 100000u) return;
const u32 key = b0[to - 1];
if (b0[to] != key) return;
if (b0[from] == key && from > 0 && b0[from - 1] == key) return;
u32 low = chunk + 1, high = low;
for (u32 step = 1; high * 32u < 100000u && b0[high * 32u] == key; step *= 2) {
low = high;
high += step;
}
while (high - low > 1) {
const u32 middle = low + (high - low) / 2;
if (middle * 32u < 100000u && b0[middle * 32u] == key) low = middle; else high = middle;
}
A all = b3[id], lost = 0;
#pragma unroll 8
for (u32 next = chunk + 1; next < high; next++) {
const A x = b2[next * 16u + column];
{ const A next = all + x; const A back = next - all; lost += (all - (next - back)) + (x - back); all = next; }
}
(void)lost;
all = lost < 0 || lost > 0 ? all + lost : all;
b1[(u32)(key < 999u ? key : 999u) * 16u + column] = join((A)(b1[(u32)(key < 999u ? key : 999u) * 16u + column]), all);
}
