#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
static inline i64 add_to_i64(__global i64* at, i64 x) {
    return atom_add((volatile __global i64*)at, x);
}
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
#define atomic_add_i64(pointer, value) add_to_i64((pointer), (value))
#define f16 half
#define bf16 u16
#define type_y half
#define work_y f32
#define load_y(pointer, index) (vload_half((index), (pointer)))
#define store_y(pointer, index, value) vstore_half_rte((f32)(value), (index), (pointer))
__constant float table[2] = {0x1.99999ap-4f, (-3.0f)};
__constant long limits[2] = {(-9223372036854775807L - 1), 7L};
#line 1 "kernels"
// A comment, and a kernel: KERNEL void no() {}

DEVICE_FN f32 twice(f32 x) { return x + x; }

KERNEL void first(GLOBAL_MEM const f32 *x, const ulong byte_x, __global type_y *y, const ulong byte_y /* no space */, const u64 n, // a comment
                  LOCAL_MEM_ARG f32 *part, LOCAL_MEM_ARG u32 *seen)
{ x = (GLOBAL_MEM const f32 *)((__global const char*)x + byte_x); y = (__global type_y *)((__global char*)y + byte_y);
    LOCAL_MEM f32 fixed[16];
    u64 i = GID_0 * LDIM_0 + LID_0;
    if (i < n) store_y(y, i, twice(x[i]) + part[0] + fixed[0] + seen[0]);
    local_barrier();
}

KERNEL void second(GLOBAL_MEM i64 *total, const ulong byte_total) { total = (GLOBAL_MEM i64 *)((__global char*)total + byte_total); atomic_add_i64(total, 1); }

