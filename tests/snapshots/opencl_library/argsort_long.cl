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
typedef u64 K;
static inline K key_of(u64 x) {
K k = x;
if (k == 9223372036854775808UL) k = 0;
k = (k & 9223372036854775807UL) > 9218868437227405312UL ? 18446744073709551615UL : k ^ ((k & 9223372036854775808UL) ? 18446744073709551615UL : 9223372036854775808UL);
return k;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u64* b0, const u64 byte0, __global u64* b1, const u64 byte1, __global u32* b2, const u64 byte2)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global u64*)((__global u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
__local K keys[1024];
__local u32 positions[1024];
const u64 number = (u64)get_group_id(0);
const u32 item = (u32)((u64)get_local_id(0));
const u64 row = number / 1024u, first = number % 1024u * 1024u;
for (u32 i = item; i < 1024u; i += 256u) {
const int inside = first + i < 1048576u;
keys[i] = inside ? key_of(b0[inside ? row / 1u * 1048576u + (u64)(first + i) * 1u + row % 1u : 0]) : ~(K)0;
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
if (at < 1048576u) { const K k = keys[i]; const u32 p = positions[i]; (void)k; b1[row * 1048576u + at] = k; b2[row * 1048576u + at] = p; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge1(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 2048u * 2048u);
const u32 middle = base + 1024u < 1048576u ? base + 1024u : 1048576u;
const u32 end = 1048576u - base < 2048u ? 1048576u : base + (u32)2048u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge2(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 4096u * 4096u);
const u32 middle = base + 2048u < 1048576u ? base + 2048u : 1048576u;
const u32 end = 1048576u - base < 4096u ? 1048576u : base + (u32)4096u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge3(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 8192u * 8192u);
const u32 middle = base + 4096u < 1048576u ? base + 4096u : 1048576u;
const u32 end = 1048576u - base < 8192u ? 1048576u : base + (u32)8192u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge4(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 16384u * 16384u);
const u32 middle = base + 8192u < 1048576u ? base + 8192u : 1048576u;
const u32 end = 1048576u - base < 16384u ? 1048576u : base + (u32)16384u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge5(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 32768u * 32768u);
const u32 middle = base + 16384u < 1048576u ? base + 16384u : 1048576u;
const u32 end = 1048576u - base < 32768u ? 1048576u : base + (u32)32768u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge6(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 65536u * 65536u);
const u32 middle = base + 32768u < 1048576u ? base + 32768u : 1048576u;
const u32 end = 1048576u - base < 65536u ? 1048576u : base + (u32)65536u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge7(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 131072u * 131072u);
const u32 middle = base + 65536u < 1048576u ? base + 65536u : 1048576u;
const u32 end = 1048576u - base < 131072u ? 1048576u : base + (u32)131072u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge8(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 262144u * 262144u);
const u32 middle = base + 131072u < 1048576u ? base + 131072u : 1048576u;
const u32 end = 1048576u - base < 262144u ? 1048576u : base + (u32)262144u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge9(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u64* b3, const u64 byte3, __global u32* b4, const u64 byte4)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u64*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 524288u * 524288u);
const u32 middle = base + 262144u < 1048576u ? base + 262144u : 1048576u;
const u32 end = 1048576u - base < 524288u ? 1048576u : base + (u32)524288u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * 1048576u + at] = k; b4[row * 1048576u + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge10(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global i64* b3, const u64 byte3)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u64*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global i64*)((__global u8*)b3 + byte3);
const u64 number = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (number >= 393216u) return;
const u64 row = number / 131072u;
const u32 start = (u32)(number % 131072u) * 8u;
const u32 base = (u32)(start / 1048576u * 1048576u);
const u32 middle = base + 524288u < 1048576u ? base + 524288u : 1048576u;
const u32 end = 1048576u - base < 1048576u ? 1048576u : base + (u32)1048576u;
const u64 here = row * 1048576u;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = 1048576u - start < 8u ? 1048576u : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
if (at < 1048576u) { b3[row / 1u * 1048576u + (u64)(at) * 1u + row % 1u] = (i64)p; }
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}
