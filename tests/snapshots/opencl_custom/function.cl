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
static inline f32 user_softplus_9a0493cb066f95d0(f32 x, f32 beta)
{
    f32 y;
    bool kept;
#line 1 "soft plus"
f32 t = beta * x;
y = log1p(exp(t)) / beta; kept = t > 0;
    return y;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k0_softplus(__global const half* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global half* b2, const u64 byte2) {
    b0 = (__global const half*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global half*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1000u) {
        const i32 a0 = (i32)p;
        const f32 v0 = vload_half(a0, b0);
        const f32 v1 = b1[0];
        const f32 v2 = user_softplus_9a0493cb066f95d0(v0, v1);
        vstore_half_rte(v2, a0, b2);
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_softplus(__global const half* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global half* b2, const u64 byte2) {
    b0 = (__global const half*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global half*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1000u) {
        const i32 a0 = (i32)p;
        const f32 v0 = vload_half(a0, b0);
        const f32 v1 = b1[0];
        const f32 v2 = user_softplus_9a0493cb066f95d0(v0, v1);
        vstore_half_rte(v2, a0, b2);
    }
}
