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

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k0_arange_gather_sum_true_divide(__global i64* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const i64* b3, const u64 byte3, __global const i64* b4, const u64 byte4, __global const f32* b5, const u64 byte5, __global f32* b6, const u64 byte6) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const i64*)((__global const u8*)b3 + byte3);
    b4 = (__global const i64*)((__global const u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    b6 = (__global f32*)((__global u8*)b6 + byte6);
    __local f32 l_f32_0[128];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        for (u32 q = y; q < 128u; q += 128u) {
            const i32 a0 = (i32)q;
            const i64 v0 = b3[0];
            const i64 v1 = b4[0];
            const i64 v3 = (i64)((u64)(i64)a0 * (u64)v1);
            const i64 v4 = (i64)((u64)v0 + (u64)v3);
            const bool v7 = v4 < 0L;
            const i64 v8 = (i64)((u64)v4 + (u64)128L);
            const i64 v9 = v7 ? v8 : v4;
            const bool v10 = v9 < 0L;
            const bool v11 = v9 >= 128L;
            const bool v12 = v10 || v11;
            const i64 v15 = (v9 > 0L || v9 != v9) ? v9 : 0L;
            const i64 v16 = (v15 < 127L || v15 != v15) ? v15 : 127L;
            const i64 v17 = b1[a0];
            const bool v19 = v17 < 0L;
            const i64 v20 = (i64)((u64)v17 + (u64)10L);
            const i64 v21 = v19 ? v20 : v17;
            const bool v22 = v21 < 0L;
            const bool v23 = v21 >= 10L;
            const bool v24 = v22 || v23;
            const i64 v26 = (v21 > 0L || v21 != v21) ? v21 : 0L;
            const i64 v27 = (v26 < 9L || v26 != v26) ? v26 : 9L;
            const f32 v28 = b2[(i32)v16 * 10 + (i32)v27];
            f0_0 = f0_0 + v28;
            if (v12) b0[0] = 3L;
            if (v24) b0[0] = 3L;
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (u32 s = 64u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
                l_f32_0[t] = f0_0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        f0_0 = l_f32_0[t - y];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (y == 0u) {
            const f32 v1 = b5[0];
            const f32 v2 = f0_0 / v1;
            b6[0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k1_gather(__global const i64* b0, const u64 byte0, __global i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global i64*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    const u32 p = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
    if (p < 2048u) {
        const i32 a1 = (i32)(p % 16u);
        const i32 a0 = (i32)(p / 16u);
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0L;
        const i64 v4 = (i64)((u64)v0 + (u64)1000L);
        const i64 v5 = v3 ? v4 : v0;
        const bool v6 = v5 < 0L;
        const bool v7 = v5 >= 1000L;
        const bool v8 = v6 || v7;
        const i64 v11 = (v5 > 0L || v5 != v5) ? v5 : 0L;
        const i64 v12 = (v11 < 999L || v11 != v11) ? v11 : 999L;
        const f32 v13 = b2[a1 + (i32)v12 * 16];
        if (v8) b1[0] = 9L;
        b3[a0 * 16 + a1] = v13;
    }
}
