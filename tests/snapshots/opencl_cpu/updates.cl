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

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_sum(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
            }
            for (i32 c0 = 0; c0 < 480; c0 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a0 = c0 + l;
                    const f32 v0 = b0[a0];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            {
                const i32 c0 = 480;
                for (i32 l = 0; l < 20; ++l) {
                    const i32 a0 = c0 + l;
                    const f32 v0 = b0[a0];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            b1[0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_multiply_add_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 16u ? first + 1u : 16u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 32;
        const i32 n = 500 - c0 < 32 ? 500 - c0 : 32;
        {
            f32 w7[32];
            f32 w13[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0];
                const f32 v2 = b2[a0];
                const f32 v4 = 0x1.47ae14p-7f * v0;
                const f32 v5 = v2 + v4;
                const f32 v6 = 0x1.99999ap-4f * v5;
                const f32 v7 = v0 - v6;
                const f32 v8 = b3[a0];
                const f32 v9 = b5[a0];
                const f32 v10 = 0x1.47ae14p-7f * v8;
                const f32 v11 = v9 + v10;
                const f32 v12 = 0x1.99999ap-4f * v11;
                const f32 v13 = v8 - v12;
                w7[l] = v7;
                w13[l] = v13;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b1[a0] = w7[l];
                b4[a0] = w13[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_multiply_add_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 16u ? first + 1u : 16u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        const i32 n = 500 - c1 < 32 ? 500 - c1 : 32;
        {
            f32 w7[32];
            f32 w13[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v2 = b2[a1];
                const f32 v4 = 0x1.47ae14p-7f * v0;
                const f32 v5 = v2 + v4;
                const f32 v6 = 0x1.99999ap-4f * v5;
                const f32 v7 = v0 - v6;
                const f32 v8 = b3[a1];
                const f32 v9 = b5[a1];
                const f32 v10 = 0x1.47ae14p-7f * v8;
                const f32 v11 = v9 + v10;
                const f32 v12 = 0x1.99999ap-4f * v11;
                const f32 v13 = v8 - v12;
                w7[l] = v7;
                w13[l] = v13;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w7[l];
                b4[a1] = w13[l];
            }
        }
    }
}
