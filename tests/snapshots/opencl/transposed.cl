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
void k0_add(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 7000u) {
        const i32 a1 = (i32)(p % 100u);
        const i32 a0 = (i32)(p / 100u);
        const f32 v0 = b0[a0 + a1 * 70];
        const f32 v2 = v0 + 1.0f;
        b1[a0 * 100 + a1] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_multiply(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 3500u) {
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        const f32 v0 = b0[a0 * -140 + a1 + 6930];
        const f32 v2 = v0 * 2.0f;
        b1[a0 * 70 + a1] = v2;
    }
}
