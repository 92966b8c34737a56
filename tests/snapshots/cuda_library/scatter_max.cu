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
#define DEVICE_FN static __device__ __forceinline__
static __device__ __forceinline__ u32 add_some(u32* at, u32 n) { return atomicAdd(at, n); }
static __device__ __forceinline__ u32 add_one(u32* at) { return atomicAdd(at, 1u); }
static __device__ __forceinline__ u32 add_own(u32* at, u32 n) { return atomicAdd(at, n); }
static __device__ __forceinline__ u32 exchange_if(u32* at, u32 old, u32 next) { return atomicCAS(at, old, next); }
static __device__ __forceinline__ void mark(u32* marks, u32 place) { atomicOr(&marks[place / 32u], 1u << (place % 32u)); }
static __device__ __forceinline__ u32 lowest(u32 x) { return 31u - (u32)__clz((int)(x & (0u - x))); }
typedef f32 A;
#define NONE ((A)(__uint_as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)

extern "C" __global__ __launch_bounds__(256)
void clear0(u32* b0, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
BEGIN
const u32 item = (u32)threadIdx.x, id = (u32)blockIdx.x * 256u + item;
if (id < slots + 2u) b0[id] = 0u;
}

extern "C" __global__ __launch_bounds__(256)
void arrive1(const u32* b0, u32* b1, u32* b2, u32* b3, u32* b4, u32* b5, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
BEGIN
__shared__ u32 further, first;
const u32 item = (u32)threadIdx.x, id = (u32)blockIdx.x * 256u + item;
if (item == 0u) further = 0u;
__syncthreads();
u32 slot = 0u, number = 0u, own = 0u;
if (id < points) {
const u32 key = b0[id] < last ? b0[id] : last;
slot = key;
number = add_one(&b1[slot]);
b3[id] = number == 0u ? slot | 0x80000000u : slot;
if (number < 8u) b2[slot * 8u + number] = id;
else own = add_own(&further, 1u);
if (number == 8u) b4[add_one(&b1[slots])] = slot;
}
__syncthreads();
if (item == 0u && further > 0u) first = add_some(&b1[slots + 1u], further);
__syncthreads();
if (id < points && number >= 8u) {
b5[2u * (first + own)] = slot;
b5[2u * (first + own) + 1u] = id;
}
}

extern "C" __global__ __launch_bounds__(512)
void fold2(const u32* b0, const u32* b1, const u32* b2, const u32* b3, const u32* b4, const u32* b5, const u16* b6, u16* b7, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
BEGIN
__shared__ u32 marks[1024];
__shared__ A parts[512 * 1];
const u32 item = (u32)threadIdx.x, number = (u32)blockIdx.x;
if (number < large) {
const u32 used = (points + 31u) / 32u, further = b0[slots + 1u];
const u32 across = lanes < 512u ? lanes : 512u, teams = 512u / across, team = item / across;
for (u32 at = number; at < b0[slots]; at += large) {
const u32 slot = b3[at], key = slot;
for (u32 w = item; w < used; w += 512u) marks[w] = 0u;
__syncthreads();
if (item < 8u) mark(marks, b1[slot * 8u + item]);
for (u32 i = item; i < further; i += 512u * 8u) {
u32 of[8], place[8];
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
const u32 k = i + j * 512u;
of[j] = k < further ? b4[2u * k] : 0xffffffffu;
place[j] = k < further ? b4[2u * k + 1u] : 0u;
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (of[j] == slot) mark(marks, place[j]);
}
__syncthreads();
for (u32 block = 0; block < lanes; block += across) {
const u32 lane = block + item % across, column = lane * 1u;
A all[1], lost[1], old[1], xs[8][1];
#pragma unroll
for (u32 v = 0; v < 1u; v++) { all[v] = NONE; lost[v] = 0; }
if (team < teams && lane < lanes) {
u32 places[8], some = 0u;
for (u32 w = team * used / teams; w < (team + 1u) * used / teams; w++) {
u32 left = marks[w];
while (left != 0u) {
places[some++] = w * 32u + lowest(left);
left &= left - 1u;
if (some == 8u) {
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) { const u32 place = places[j];
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
some = 0u;
}
}
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) { const u32 place = places[j];
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
some = 0u;
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) parts[item * 1u + v] = all[v];
__syncthreads();
if (team == 0u && lane < lanes) {
for (u32 t = 1u; t < teams; t++) {
const u32 from = (t * across + item) * 1u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], parts[from + v]);
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) old[v] = (A)(f16_to_f32(b7[(u32)(key < last ? key : last) * width + column]));
#pragma unroll
for (u32 v = 0; v < 1u; v++) b7[(u32)(key < last ? key : last) * width + column] = f32_to_f16(join(old[v], all[v]));
}
__syncthreads();
}
}
return;
}
const u32 id = (number - large) * 512u + item;
const u32 point = id / lanes, column = id % lanes * 1u;
if (point >= points) return;
const u32 mine = b2[point], slot = mine & 0x7fffffffu;
if (mine == slot) return;
const u32 key = b5[point], count = b0[slot];
A all[1], old[1], xs[8][1];
#pragma unroll
for (u32 v = 0; v < 1u; v++) old[v] = (A)(f16_to_f32(b7[(u32)(key < last ? key : last) * width + column]));
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = (A)(f16_to_f32(b6[point * width + column]));
if (count > 8u) return;
if (count > 1u) {
u32 k0 = 0u < count ? b1[slot * 8u + 0u] : 0xffffffffu;
u32 k1 = 1u < count ? b1[slot * 8u + 1u] : 0xffffffffu;
u32 k2 = 2u < count ? b1[slot * 8u + 2u] : 0xffffffffu;
u32 k3 = 3u < count ? b1[slot * 8u + 3u] : 0xffffffffu;
u32 k4 = 4u < count ? b1[slot * 8u + 4u] : 0xffffffffu;
u32 k5 = 5u < count ? b1[slot * 8u + 5u] : 0xffffffffu;
u32 k6 = 6u < count ? b1[slot * 8u + 6u] : 0xffffffffu;
u32 k7 = 7u < count ? b1[slot * 8u + 7u] : 0xffffffffu;
{ const u32 k = k0 < k1 ? k0 : k1;
k1 = k0 < k1 ? k1 : k0;
k0 = k; }
{ const u32 k = k2 < k3 ? k2 : k3;
k3 = k2 < k3 ? k3 : k2;
k2 = k; }
{ const u32 k = k4 < k5 ? k4 : k5;
k5 = k4 < k5 ? k5 : k4;
k4 = k; }
{ const u32 k = k6 < k7 ? k6 : k7;
k7 = k6 < k7 ? k7 : k6;
k6 = k; }
{ const u32 k = k0 < k2 ? k0 : k2;
k2 = k0 < k2 ? k2 : k0;
k0 = k; }
{ const u32 k = k1 < k3 ? k1 : k3;
k3 = k1 < k3 ? k3 : k1;
k1 = k; }
{ const u32 k = k4 < k6 ? k4 : k6;
k6 = k4 < k6 ? k6 : k4;
k4 = k; }
{ const u32 k = k5 < k7 ? k5 : k7;
k7 = k5 < k7 ? k7 : k5;
k5 = k; }
{ const u32 k = k1 < k2 ? k1 : k2;
k2 = k1 < k2 ? k2 : k1;
k1 = k; }
{ const u32 k = k5 < k6 ? k5 : k6;
k6 = k5 < k6 ? k6 : k5;
k5 = k; }
{ const u32 k = k0 < k4 ? k0 : k4;
k4 = k0 < k4 ? k4 : k0;
k0 = k; }
{ const u32 k = k1 < k5 ? k1 : k5;
k5 = k1 < k5 ? k5 : k1;
k1 = k; }
{ const u32 k = k2 < k6 ? k2 : k6;
k6 = k2 < k6 ? k6 : k2;
k2 = k; }
{ const u32 k = k3 < k7 ? k3 : k7;
k7 = k3 < k7 ? k7 : k3;
k3 = k; }
{ const u32 k = k2 < k4 ? k2 : k4;
k4 = k2 < k4 ? k4 : k2;
k2 = k; }
{ const u32 k = k3 < k5 ? k3 : k5;
k5 = k3 < k5 ? k5 : k3;
k3 = k; }
{ const u32 k = k1 < k2 ? k1 : k2;
k2 = k1 < k2 ? k2 : k1;
k1 = k; }
{ const u32 k = k3 < k4 ? k3 : k4;
k4 = k3 < k4 ? k4 : k3;
k3 = k; }
{ const u32 k = k5 < k6 ? k5 : k6;
k6 = k5 < k6 ? k6 : k5;
k5 = k; }
if (0u < count) { const u32 place = k0; const u32 j = 0u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (1u < count) { const u32 place = k1; const u32 j = 1u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (2u < count) { const u32 place = k2; const u32 j = 2u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (3u < count) { const u32 place = k3; const u32 j = 3u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (4u < count) { const u32 place = k4; const u32 j = 4u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (5u < count) { const u32 place = k5; const u32 j = 5u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (6u < count) { const u32 place = k6; const u32 j = 6u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
if (7u < count) { const u32 place = k7; const u32 j = 7u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(f16_to_f32(b6[place * width + column]));
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = xs[0][v];
#pragma unroll
for (u32 j = 1; j < 8u; j++) if (j < count) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) b7[(u32)(key < last ? key : last) * width + column] = f32_to_f16(join(old[v], all[v]));
}
