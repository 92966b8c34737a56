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
#define type_out i32
#define work_out i32
#define load_out(pointer, index) ((pointer)[(index)])
#define store_out(pointer, index, value) (pointer)[(index)] = (value)
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

KERNEL void least_part(__global const i32 *x, const ulong byte_x, const u64 n, GLOBAL_MEM work_out *parts_, const ulong byte_parts_)
{ x = (__global const i32 *)((__global const char*)x + byte_x); parts_ = (GLOBAL_MEM work_out *)((__global char*)parts_ + byte_parts_);
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

KERNEL void least_rest(GLOBAL_MEM const work_out *parts_, const ulong byte_parts_, const u32 count_, GLOBAL_MEM type_out *out_, const ulong byte_out_)
{ parts_ = (GLOBAL_MEM const work_out *)((__global const char*)parts_ + byte_parts_); out_ = (GLOBAL_MEM type_out *)((__global char*)out_ + byte_out_);
    LOCAL_MEM work_out shared_[256];
    work_out r_ = ((7));
    for (u32 at_ = LID_0; at_ < count_; at_ += 256) r_ = REDUCE_((r_), (parts_[at_]));
    r_ = reduced_(r_, shared_);
    if (LID_0 == 0) store_out(out_, 0, r_);
}

