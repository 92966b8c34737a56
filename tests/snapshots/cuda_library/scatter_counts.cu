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
#define DEVICE_FN static __device__ __forceinline__
typedef i32 A;
#define NONE ((A)(0))
DEVICE_FN A join(A a, A b) { return (A)((u64)(a) + (u64)(b)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)
static __device__ __forceinline__ void fold_into_memory(A* at, A x) {
atomicAdd((unsigned int*)at, (unsigned int)x);
}
static __device__ __forceinline__ void fold_into_table(A* at, A x) {
atomicAdd((unsigned int*)at, (unsigned int)x);
}

extern "C" __global__ __launch_bounds__(1024)
void tables0(const u32* b0, const i32* b1, i32* b2, const u32 points, const u32 last, const u32 width, const u32 items)
{
BEGIN
__shared__ A own[1024];
const u32 item = (u32)threadIdx.x, entries = (last + 1) * width;
for (u32 i = item; i < entries; i += 1024u) own[i] = NONE;
__syncthreads();
for (u32 id = (u32)blockIdx.x * 1024u + item; id < items; id += (u32)gridDim.x * 1024u) {
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
A xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = b1[place * width + column];
}
u32 key = keys[0];
A all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = join(all, xs[j]); continue; }
fold_into_table(&own[(u32)(key < last ? key : last) * width + column], all);
key = keys[j];
all = xs[j];
}
fold_into_table(&own[(u32)(key < last ? key : last) * width + column], all);
}
__syncthreads();
for (u32 i = item; i < entries; i += 1024u) {
const A x = own[i];
if (x != NONE) fold_into_memory(&b2[i], x);
}
}
