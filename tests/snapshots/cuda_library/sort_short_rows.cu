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

extern "C" __global__ __launch_bounds__(128)
void tiles0(const u32* b0, u32* b1, i64* b2, const u32 n, const u32 kept, const u32 length, const u32 tiles)
{
BEGIN
__shared__ K keys[256];
__shared__ u32 positions[256];
const u32 number = (u32)blockIdx.x, item = (u32)threadIdx.x;
const u64 row = number / tiles;
const u32 first = number % tiles * length;
const u64 line = row * n, results = row * kept;
for (u32 i = item; i < length; i += 128u) {
const int inside = first + i < n;
keys[i] = inside ? key_of(b0[inside ? line + (first + i) : 0]) : ~(K)0;
positions[i] = inside ? first + i : 0xffffffffu;
}
__syncthreads();
for (u32 size = 2; size <= length; size *= 2) {
for (u32 step = size / 2; step > 0; step /= 2) {
for (u32 i = item; i < length / 2; i += 128u) {
const u32 a = 2 * i - (i & (step - 1)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
__syncthreads();
}
}
for (u32 i = item; i < length; i += 128u) {
const u32 at = first + i;
if (at < n) { const K k = keys[i]; const u32 p = positions[i]; (void)k; if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } }
}
}
