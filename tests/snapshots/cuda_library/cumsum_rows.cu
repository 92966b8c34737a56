typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif
typedef f64 A;
#define NONE ((A)(-0.0f))
static __device__ __forceinline__ A join(A a, A b) { return ((a) + (b)); }

extern "C" __global__ __launch_bounds__(256)
void rows0(const f64* b0, f64* b1, const u64 n, const u32 parts, const u64 along)
{
BEGIN
enum { G = 256, ITEMS = 16 };
__shared__ A sums[G];
const u32 group = (u32)blockIdx.x;
const u32 item = (u32)threadIdx.x;
const u64 row = group / parts, from = group % parts * along;
const u64 to = from + along < n ? from + along : n;
__shared__ A tile[G * ITEMS + G];
A carry = NONE, lost = 0;
(void)lost;
for (u64 first = from; first < to; first += G * ITEMS) {
for (u32 k = 0; k < ITEMS; k++) {
const u64 at = first + k * G + item;
tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)(b0[row * n + at]) : NONE;
}
__syncthreads();
A own[ITEMS];
A sum = tile[item * (ITEMS + 1)];
own[0] = sum;
for (u32 k = 1; k < ITEMS; k++) { sum = join(sum, tile[item * (ITEMS + 1) + k]); own[k] = sum; }
sums[item] = sum;
__syncthreads();
for (u32 step = 1; step < G; step *= 2) {
const A other = item >= step ? sums[item - step] : NONE;
__syncthreads();
if (item >= step) sums[item] = join(other, sums[item]);
__syncthreads();
}
const A all = (lost < 0 || lost > 0 ? carry + lost : carry);
const A before = item > 0 ? join(all, sums[item - 1]) : all;
{ const A x = sums[G - 1], next = carry + x, back = next - carry; lost += (carry - (next - back)) + (x - back); carry = next; }
for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = join(before, own[k]);
__syncthreads();
for (u32 k = 0; k < ITEMS; k++) {
const u64 at = first + k * G + item;
if (at < to) { b1[row * n + at] = tile[k * G + item + (k * G + item) / ITEMS]; }
}
__syncthreads();
}
}
