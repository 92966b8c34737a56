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
void k0_arange_gather_sum_true_divide(__global f32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
            }
            for (i32 c0 = 0; c0 < 128; c0 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a0 = c0 + l;
                    const i64 v3 = (i64)((u64)(i64)a0 * (u64)1L);
                    const i64 v4 = (i64)((u64)0L + (u64)v3);
                    const bool v6 = v4 < 0L;
                    const i64 v7 = (i64)((u64)v4 + (u64)128L);
                    const i64 v8 = v6 ? v7 : v4;
                    const i64 v10 = (v8 > 0L || v8 != v8) ? v8 : 0L;
                    const i64 v11 = (v10 < 127L || v10 != v10) ? v10 : 127L;
                    const i64 v12 = b1[a0];
                    const bool v14 = v12 < 0L;
                    const i64 v15 = (i64)((u64)v12 + (u64)10L);
                    const i64 v16 = v14 ? v15 : v12;
                    const i64 v18 = (v16 > 0L || v16 != v16) ? v16 : 0L;
                    const i64 v19 = (v18 < 9L || v18 != v18) ? v18 : 9L;
                    const f32 v20 = b2[(i32)v11 * 10 + (i32)v19];
                    s0_0[l] = s0_0[l] + v20;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            const f32 v2 = f0_0 / 128.0f;
            b0[0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_gather(__global const i64* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 128u ? first + 2u : 128u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 16; ++a1) {
            const i64 v0 = b0[a0];
            const bool v3 = v0 < 0L;
            const i64 v4 = (i64)((u64)v0 + (u64)1000L);
            const i64 v5 = v3 ? v4 : v0;
            const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
            const i64 v8 = (v7 < 999L || v7 != v7) ? v7 : 999L;
            const f32 v9 = b1[a1 + (i32)v8 * 16];
            b2[a0 * 16 + a1] = v9;
        }
    }
}
