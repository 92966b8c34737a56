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
static __device__ __forceinline__ f32 f16_to_f32(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
static __device__ __forceinline__ u16 f32_to_f16(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
static __device__ __forceinline__ u32 magnitude(f32 x) { return __float_as_uint(x) & 0x7fffffffu; }
static __device__ __forceinline__ u32 felt(f32 x) { return __float_as_uint(x) == 0u ? 1u : magnitude(x); }
static __device__ __forceinline__ u32 first(u32 a, u32 b) { return a < b ? a : b; }
static __device__ __forceinline__ u32 most(u32 a, u32 b) { return a > b ? a : b; }
static __device__ __forceinline__ u64 total(u64 a, u64 b) { return a + b; }
/* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are
counted, those below zero in the upper half. */
static __device__ __forceinline__ u64 fixed(f32 x, u32 most, u32 spare) {
const u32 size = magnitude(x), below = __float_as_uint(x) >> 31;
if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);
const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;
u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);
const int shift = (int)spare - (int)(top - own);
whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;
return below ? (u64)0 - whole : whole;
}
static __device__ __forceinline__ f32 sum_of(u64 all, u32 most, u32 spare) {
if (most >= 0x7f800000u) {
const int above = (u32)all != 0u, below = (u32)(all >> 32) != 0u;
return __uint_as_float(most > 0x7f800000u || (above && below) ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);
}
const int top = most >> 23 ? most >> 23 : 1;
return ldexpf((f32)(i64)all, top - 150 - (int)spare);
}
static __device__ __forceinline__ void first_into_memory(u32* at, u32 x) { atomicMin((u32*)at, x); }
static __device__ __forceinline__ void most_into_memory(u32* at, u32 x) {
if (x > *(volatile u32*)at) atomicMax((u32*)at, x);
}
static __device__ __forceinline__ void total_into_memory(u64* at, u64 x) {
atomicAdd((unsigned long long*)at, (unsigned long long)x);
}
static __device__ __forceinline__ void first_into_table(u32* at, u32 x) { atomicMin((u32*)at, x); }
static __device__ __forceinline__ void most_into_table(u32* at, u32 x) {
if (x > *(volatile u32*)at) atomicMax((u32*)at, x);
}
static __device__ __forceinline__ void total_into_table(u64* at, u64 x) {
u32* word = (u32*)at;
const u32 low = (u32)x;
u32 high = (u32)((u64)x >> 32);
if (low != 0u) high += atomicAdd(word, low) > 0xffffffffu - low ? 1u : 0u;
if (high != 0u) atomicAdd(word + 1, high);
}

extern "C" __global__ __launch_bounds__(256)
void clear0(u32* b0, const u32 words, const u32 rows)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id < words) b0[id] = 0u;
}

extern "C" __global__ __launch_bounds__(256)
void magnitudes1(const u32* b0, const u16* b1, u32* b2, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id >= items) return;
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
u32 xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = felt(f16_to_f32(b1[place * width + column]));
}
u32 key = keys[0];
u32 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = most(all, xs[j]); continue; }
most_into_memory(&b2[(u32)((key < last ? key : last)) * width + column], all);
key = keys[j];
all = xs[j];
}
most_into_memory(&b2[(u32)((key < last ? key : last)) * width + column], all);
}

extern "C" __global__ __launch_bounds__(256)
void sums2(const u32* b0, const u16* b1, u64* b2, const u32* b3, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id >= items) return;
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
u64 xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = fixed(f16_to_f32(b1[place * width + column]), b3[(u32)((keys[j] < last ? keys[j] : last)) * width + column], spare);
}
u32 key = keys[0];
u64 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = total(all, xs[j]); continue; }
total_into_memory(&b2[(u32)((key < last ? key : last)) * width + column], all);
key = keys[j];
all = xs[j];
}
total_into_memory(&b2[(u32)((key < last ? key : last)) * width + column], all);
}

extern "C" __global__ __launch_bounds__(256)
void put3(const u64* b0, const u32* b1, u16* b2, const u32 items, const u32 last, const u32 width, const u32 spare)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id >= items) return;
const u32 most = b1[id];
if (most == 0u) return;
const u32 to = id;
b2[to] = f32_to_f16(f16_to_f32(b2[to]) + sum_of(b0[id], most, spare));
}
