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

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k0_sqr_subtract_cast_logical_not_less_lo(__global i32* b0, const u64 byte0, __global const i32* b1, const u64 byte1, __global u8* b2, const u64 byte2) {
    b0 = (__global i32*)((__global u8*)b0 + byte0);
    b1 = (__global const i32*)((__global const u8*)b1 + byte1);
    b2 = (__global u8*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 100u) {
        const i32 a1 = (i32)p;
        const i32 v1 = b1[a1];
        const i32 v2 = (i32)((u32)v1 * (u32)v1);
        const i32 v3 = (i32)((u32)3 - (u32)v2);
        const bool v5 = v1 < 0;
        const bool v6 = v1 != 0;
        const bool v7 = !v6;
        const bool v8 = v5 && v7;
        b0[a1] = v3;
        b2[a1] = v8;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_add(__global const u64* b0, const u64 byte0, __global u64* b1, const u64 byte1) {
    b0 = (__global const u64*)((__global const u8*)b0 + byte0);
    b1 = (__global u64*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 100u) {
        const i32 a0 = (i32)p;
        const u64 v0 = b0[a0];
        const u64 v2 = v0 + 1UL;
        b1[a0] = v2;
    }
}
