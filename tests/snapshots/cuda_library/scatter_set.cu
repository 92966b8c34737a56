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
static __device__ __forceinline__ u32 later(u32 a, u32 b) { return a > b ? a : b; }
static __device__ __forceinline__ void later_into_memory(u32* at, u32 x) {
if (x > *(volatile u32*)at) atomicMax(at, x);
}

extern "C" __global__ __launch_bounds__(256)
void clear0(u32* b0, const u32 rows)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id < rows) b0[id] = 0u;
}

extern "C" __global__ __launch_bounds__(256)
void winners1(const u32* b0, u32* b1, const u32 points, const u32 last, const u32 width, const u32 items)
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
xs[j] = (u32)place + 1u;
}
u32 key = keys[0];
u32 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = later(all, xs[j]); continue; }
later_into_memory(&b1[(u32)(key < last ? key : last) * width + column], all);
key = keys[j];
all = xs[j];
}
later_into_memory(&b1[(u32)(key < last ? key : last) * width + column], all);
}

extern "C" __global__ __launch_bounds__(256)
void put2(const u32* b0, const u64* b1, u64* b2, const u32* b3, const u32 items, const u32 last, const u32 width)
{
BEGIN
const u32 id = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
if (id >= items) return;
const u32 place = id / width, column = id % width;
const u32 row = b0[place] < last ? b0[place] : last;
if (b3[row] != (u32)place + 1u) return;
b2[(u32)row * width + column] = b1[place * width + column];
}
