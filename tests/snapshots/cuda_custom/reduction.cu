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
#define type_out i32
#define work_out i32
#define load_out(pointer, index) ((pointer)[(index)])
#define store_out(pointer, index, value) (pointer)[(index)] = (value)
extern __shared__ __align__(16) unsigned char workalike_local[];
#line 1 "kernels"
#define MAP_(i) (x[i])
#define REDUCE_(a, b) (min(a, b))

DEVICE_FN work_out reduced_(work_out value_, LOCAL_MEM_ARG work_out *shared_)
{
    shared_[LID_0] = value_;
    local_barrier();
    for (u32 half_ = 256 / 2; half_ > 0; half_ /= 2) {
        if (LID_0 < half_) shared_[LID_0] = REDUCE_((shared_[LID_0]), (shared_[LID_0 + half_]));
        local_barrier();
    }
    return shared_[0];
}

KERNEL void least_part(const i32 *x, const u64 n, GLOBAL_MEM work_out *parts_)
{
    LOCAL_MEM work_out shared_[256];
    const u64 step_ = (u64)GDIM_0 * 256;
    u64 at_ = (u64)GID_0 * 256 + LID_0;
    work_out r0_ = ((7)), r1_ = ((7)), r2_ = ((7)), r3_ = ((7));
    for (; at_ + 3 * step_ < n; at_ += 4 * step_) {
        const work_out v0_ = MAP_((at_)), v1_ = MAP_((at_ + step_));
        const work_out v2_ = MAP_((at_ + 2 * step_)), v3_ = MAP_((at_ + 3 * step_));
        r0_ = REDUCE_((r0_), (v0_));
        r1_ = REDUCE_((r1_), (v1_));
        r2_ = REDUCE_((r2_), (v2_));
        r3_ = REDUCE_((r3_), (v3_));
    }
    for (; at_ < n; at_ += step_) {
        const work_out v_ = MAP_((at_));
        r0_ = REDUCE_((r0_), (v_));
    }
    r0_ = REDUCE_((r0_), (r1_));
    r2_ = REDUCE_((r2_), (r3_));
    r0_ = reduced_(REDUCE_((r0_), (r2_)), shared_);
    if (LID_0 == 0) parts_[GID_0] = r0_;
}

KERNEL void least_rest(GLOBAL_MEM const work_out *parts_, const u32 count_, GLOBAL_MEM type_out *out_)
{
    LOCAL_MEM work_out shared_[256];
    work_out r_ = ((7));
    for (u32 at_ = LID_0; at_ < count_; at_ += 256) r_ = REDUCE_((r_), (parts_[at_]));
    r_ = reduced_(r_, shared_);
    if (LID_0 == 0) store_out(out_, 0, r_);
}

