typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif
typedef u32 K;
static __device__ __forceinline__ K key_of(u32 x) {
K k = x;
if (k == 2147483648u) k = 0;
k = (k & 2147483647u) > 2139095040u ? 4294967295u : k ^ ((k & 2147483648u) ? 4294967295u : 2147483648u);
return k;
}

extern "C" __global__ __launch_bounds__(64)
void tiles0(const u32* b0, u32* b1, i64* b2)
{
BEGIN
__shared__ K keys[128];
__shared__ u32 positions[128];
const u64 number = (u64)blockIdx.x;
const u32 item = (u32)((u64)threadIdx.x);
const u64 row = number / 1u, first = number % 1u * 128u;
for (u32 i = item; i < 128u; i += 64u) {
const int inside = first + i < 100u;
keys[i] = inside ? key_of(b0[inside ? row / 1u * 100u + (u64)(first + i) * 1u + row % 1u : 0]) : ~(K)0;
positions[i] = inside ? (u32)(first + i) : 0xffffffffu;
}
__syncthreads();
for (u32 size = 2; size <= 128u; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < 128u / 2; i += 64u) {
const u32 a = i / step * 2 * step + i % step, b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
__syncthreads();
}
}
for (u32 i = item; i < 128u; i += 64u) {
const u64 at = first + i;
if (at < 100u) { const K k = keys[i]; const u32 p = positions[i]; (void)k; if (at < 100u) { b1[row / 1u * 100u + (u64)(at) * 1u + row % 1u] = b0[row / 1u * 100u + (u64)(p) * 1u + row % 1u];b2[row / 1u * 100u + (u64)(at) * 1u + row % 1u] = (i64)p; } }
}
}
