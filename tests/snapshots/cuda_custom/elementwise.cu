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
#define KERNEL extern "C" __global__
#define LAUNCH_BOUNDS(items, groups) __launch_bounds__((items), (groups))
#define DEVICE_FN static __device__ __forceinline__
#define GLOBAL_MEM 
#define LOCAL_MEM __shared__
#define LOCAL_MEM_ARG 
#define CONSTANT_MEM __constant__
#define RESTRICT __restrict__
#define LID_0 threadIdx.x
#define LID_1 threadIdx.y
#define LID_2 threadIdx.z
#define LDIM_0 blockDim.x
#define LDIM_1 blockDim.y
#define LDIM_2 blockDim.z
#define GID_0 blockIdx.x
#define GID_1 blockIdx.y
#define GID_2 blockIdx.z
#define GDIM_0 gridDim.x
#define GDIM_1 gridDim.y
#define GDIM_2 gridDim.z
#define local_barrier() __syncthreads()
#define global_barrier() __syncthreads()
#define shuffle_down(value, lanes) __shfl_down_sync(0xffffffffu, (value), (lanes))
#define shuffle_up(value, lanes) __shfl_up_sync(0xffffffffu, (value), (lanes))
#define shuffle_xor(value, lanes) __shfl_xor_sync(0xffffffffu, (value), (lanes))
#define HAS_SHUFFLE 1
#define WARP_SIZE 32
#define f16 u16
#define bf16 u16
extern __shared__ __align__(16) unsigned char workalike_local[];
#line 1 "kernels"
KERNEL void double_it(const f32 *x, f32 *y, const u64 n)
{
    const u64 step_ = (u64)GDIM_0 * LDIM_0;
    for (u64 i = (u64)GID_0 * LDIM_0 + LID_0; i < n; i += step_) {
        y[i] = 2 * x[i];
    }
}

KERNEL void double_it_apart(const f32 * RESTRICT x, f32 * RESTRICT y, const u64 n)
{
    const u64 first_ = (u64)GID_0 * LDIM_0 * 4 + LID_0;
    if (first_ + (4 - 1) * (u64)LDIM_0 < n) {
        #pragma unroll
        for (u32 k_ = 0; k_ < 4; k_++) {
            const u64 i = first_ + k_ * (u64)LDIM_0;
            y[i] = 2 * x[i];
        }
    } else {
        for (u64 i = first_; i < n; i += LDIM_0) {
            y[i] = 2 * x[i];
        }
    }
}

