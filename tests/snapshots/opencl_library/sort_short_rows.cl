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
if (k == 2147483648u) k = 0;
k = (k & 2147483647u) > 2139095040u ? 4294967295u : k ^ ((k & 2147483648u) ? 4294967295u : 2147483648u);
return k;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void tiles0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global i64* b2, const u64 byte2)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global i64*)((__global u8*)b2 + byte2);
__local K keys[128];
__local u32 positions[128];
const u64 number = (u64)get_group_id(0);
const u32 item = (u32)((u64)get_local_id(0));
const u64 row = number / 1u, first = number % 1u * 128u;
for (u32 i = item; i < 128u; i += 64u) {
const int inside = first + i < 100u;
keys[i] = inside ? key_of(b0[inside ? row / 1u * 100u + (u64)(first + i) * 1u + row % 1u : 0]) : ~(K)0;
positions[i] = inside ? (u32)(first + i) : 0xffffffffu;
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2; size <= 128u; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < 128u / 2; i += 64u) {
const u32 a = i / step * 2 * step + i % step, b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
for (u32 i = item; i < 128u; i += 64u) {
const u64 at = first + i;
if (at < 100u) { const K k = keys[i]; const u32 p = positions[i]; (void)k; if (at < 100u) { b1[row / 1u * 100u + (u64)(at) * 1u + row % 1u] = b0[row / 1u * 100u + (u64)(p) * 1u + row % 1u];b2[row / 1u * 100u + (u64)(at) * 1u + row % 1u] = (i64)p; } }
}
}
