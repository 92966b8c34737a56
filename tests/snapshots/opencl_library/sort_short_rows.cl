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

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void tiles0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global i64* b2, const u64 byte2, const u32 n, const u32 kept, const u32 length, const u32 tiles)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global i64*)((__global u8*)b2 + byte2);
__local K keys[256];
__local u32 positions[256];
const u32 number = (u32)get_group_id(0), item = (u32)get_local_id(0);
const u64 row = number / tiles;
const u32 first = number % tiles * length;
const u64 line = row * n, results = row * kept;
for (u32 i = item; i < length; i += 128u) {
const int inside = first + i < n;
keys[i] = inside ? key_of(b0[inside ? line + (first + i) : 0]) : ~(K)0;
positions[i] = inside ? first + i : 0xffffffffu;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2; size <= length; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < length / 2; i += 128u) {
const u32 a = 2 * i - (i & (step - 1)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
for (u32 i = item; i < length; i += 128u) {
const u32 at = first + i;
if (at < n) { const K k = keys[i]; const u32 p = positions[i]; (void)k; if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } }
}
}
