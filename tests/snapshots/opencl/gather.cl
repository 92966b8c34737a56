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
void k0_arange_gather_sum_true_divide(__global f32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    __local f32 l_f32_0[64];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 64u + y;
                const i32 a0 = (i32)q;
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
                f0_0 = f0_0 + v20;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 8u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
            }
        }
        if (y == 0u) {
            const f32 v2 = f0_0 / 128.0f;
            b0[0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_gather(__global const i64* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 2048u) {
        const i32 a1 = (i32)(p % 16u);
        const i32 a0 = (i32)(p / 16u);
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
