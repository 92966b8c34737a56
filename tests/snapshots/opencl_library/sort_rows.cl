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
#define LOCAL_MEM __local
typedef u32 K;
static inline K key_of(u32 x) {
K k = x;
if (k == 2147483648u) k = 0;
k = (k & 2147483647u) > 2139095040u ? 4294967295u : k ^ ((k & 2147483648u) ? 4294967295u : 2147483648u);
return k;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global u32* b2, const u64 byte2, const u32 n, const u32 kept, const u32 length, const u32 tiles)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
__local K keys[1024];
__local u32 positions[1024];
const u32 number = (u32)get_group_id(0), item = (u32)get_local_id(0);
const u64 row = number / tiles;
const u32 first = number % tiles * length;
const u64 line = row * n, results = row * kept;
for (u32 i = item; i < length; i += 256u) {
const int inside = first + i < n;
keys[i] = inside ? key_of(b0[inside ? line + (first + i) : 0]) : ~(K)0;
positions[i] = inside ? first + i : 0xffffffffu;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2; size <= length; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < length / 2; i += 256u) {
const u32 a = 2 * i - (i & (step - 1)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
for (u32 i = item; i < length; i += 256u) {
const u32 at = first + i;
if (at < n) { const K k = keys[i]; const u32 p = positions[i]; (void)k; b1[row * n + at] = k; b2[row * n + at] = p; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge1(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4, const u32 n, const u32 kept, const u32 items, const u32 each, const u32 run)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
const u32 number = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
if (number >= items) return;
const u64 row = number / each;
const u32 start = (u32)(number % each) * 8u;
const u64 line = row * n, results = row * kept;
const u32 base = start & ~(2 * run - 1);
const u32 middle = base + run < n ? base + run : n;
const u32 end = n - base < 2 * run ? n : base + 2 * run;
const u64 here = row * n;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = n - start < 8u ? n : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
b3[row * n + at] = k; b4[row * n + at] = p;
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void merge2(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, const u32 n, const u32 kept, const u32 items, const u32 each, const u32 run)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
const u32 number = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
if (number >= items) return;
const u64 row = number / each;
const u32 start = (u32)(number % each) * 8u;
const u64 line = row * n, results = row * kept;
const u32 base = start & ~(2 * run - 1);
const u32 middle = base + run < n ? base + run : n;
const u32 end = n - base < 2 * run ? n : base + 2 * run;
const u64 here = row * n;
const u32 left = middle - base, right = end - middle, skip = start - base;
u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;
while (low < high) {
const u32 mid = (low + high) / 2;
if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;
}
u32 a = base + low, b = middle + (skip - low);
const u32 stop = n - start < 8u ? n : start + 8u;
K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;
for (u32 at = start; at < stop; at++) {
const int first = a < middle && (b >= end || ka <= kb);
const K k = first ? ka : kb;
const u32 p = b2[here + (first ? a : b)];
(void)k;
if (at < kept) { b3[results + at] = b0[line + (p)]; }
if (first) { a++; ka = a < middle ? b1[here + a] : 0; } else { b++; kb = b < end ? b1[here + b] : 0; }
}
}
