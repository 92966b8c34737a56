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
void k0_sqr_check(__global i64* b0, const u64 byte0, __global const i64* b1, const u64 byte1) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 10u ? first + 1u : 10u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 32;
        const i32 n = 300 - c0 < 32 ? 300 - c0 : 32;
        {
            bool w9[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const i64 v0 = b1[a0];
                const i64 v1 = (i64)((u64)v0 * (u64)v0);
                const bool v4 = v1 < 0L;
                const i64 v5 = (i64)((u64)v1 + (u64)1000L);
                const i64 v6 = v4 ? v5 : v1;
                const bool v7 = v6 < 0L;
                const bool v8 = v6 >= 1000L;
                const bool v9 = v7 || v8;
                w9[l] = v9;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                if (w9[l]) b0[0] = 2L;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_sqr_scatter(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const i64* b2, const u64 byte2, __global const i64* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const i64*)((__global const u8*)b2 + byte2);
    b3 = (__global const i64*)((__global const u8*)b3 + byte3);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 16;
        for (i32 a1 = 0; a1 < 300; ++a1) {
            const i64 v0 = b2[a1];
            const i64 v1 = (i64)((u64)v0 * (u64)v0);
            const bool v4 = v1 < 0L;
            const i64 v5 = (i64)((u64)v1 + (u64)1000L);
            const i64 v6 = v4 ? v5 : v1;
            const i64 v8 = (v6 > 0L || v6 != v6) ? v6 : 0L;
            const i64 v9 = (v8 < 999L || v8 != v8) ? v8 : 999L;
            const i64 v13 = b3[0];
            const bool v14 = v13 == 0L;
            for (i32 l = 0; l < 16; ++l) {
                const i32 a0 = c0 + l;
                const f32 v10 = b0[a0 + a1 * 16];
                const f32 v11 = b1[a0 + (i32)v9 * 16];
                const f32 v12 = v11 + v10;
                if (v14) b1[a0 + (i32)v9 * 16] = v12;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_multiply(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const i64* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const i64*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 20u ? first + 1u : 20u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            const i64 v3 = b2[0];
            const bool v5 = v3 == 0L;
            f32 w2[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v2 = v0 * 0.5f;
                w2[l] = v2;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                if (v5) b1[a1] = w2[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_count_calls(__global i64* b0, const u64 byte0) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const i64 v0 = b0[0];
        const bool v2 = v0 == 0L;
        const i64 v3 = b0[2];
        const bool v5 = v3 == 0L;
        const i64 v6 = b0[1];
        const i64 v8 = (i64)((u64)v6 + (u64)1L);
        if (v2) b0[1] = v8;
        if (v5) b0[2] = v0;
    }
}
