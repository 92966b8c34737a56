#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
#define KERNEL __kernel
#define LAUNCH_BOUNDS(items, groups) 
#define DEVICE_FN static inline __attribute__((always_inline))
#define GLOBAL_MEM __global
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define CONSTANT_MEM __constant
#define RESTRICT restrict
#define LID_0 get_local_id(0)
#define LID_1 get_local_id(1)
#define LID_2 get_local_id(2)
#define LDIM_0 get_local_size(0)
#define LDIM_1 get_local_size(1)
#define LDIM_2 get_local_size(2)
#define GID_0 get_group_id(0)
#define GID_1 get_group_id(1)
#define GID_2 get_group_id(2)
#define GDIM_0 get_num_groups(0)
#define GDIM_1 get_num_groups(1)
#define GDIM_2 get_num_groups(2)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define global_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define f16 half
#define bf16 u16
#line 1 "kernels"
KERNEL void double_it(__global const f32 *x, const ulong byte_x, __global f32 *y, const ulong byte_y, const u64 n)
{ x = (__global const f32 *)((__global const char*)x + byte_x); y = (__global f32 *)((__global char*)y + byte_y);
    const u64 step_ = (u64)GDIM_0 * LDIM_0;
    for (u64 i = (u64)GID_0 * LDIM_0 + LID_0; i < n; i += step_) {
        y[i] = 2 * x[i];
    }
}

KERNEL void double_it_apart(__global const f32 * RESTRICT x, const ulong byte_x, __global f32 * RESTRICT y, const ulong byte_y, const u64 n)
{ x = (__global const f32 * RESTRICT)((__global const char*)x + byte_x); y = (__global f32 * RESTRICT)((__global char*)y + byte_y);
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

