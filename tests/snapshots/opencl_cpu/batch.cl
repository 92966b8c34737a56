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
void k0_multiply_start_true_divide(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const i64* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const i64*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 4u;
    const u32 last = first + 4u < 200u ? first + 4u : 200u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            const i64 v0 = b2[0];
            const i64 v2 = (i64)((u64)v0 * (u64)100L);
            const bool v5 = v2 < 0L;
            const i64 v6 = (i64)((u64)v2 + (u64)1797L);
            const i64 v7 = v5 ? v6 : v2;
            const i64 v9 = (v7 > 0L || v7 != v7) ? v7 : 0L;
            const i64 v10 = (v9 < 1796L || v9 != v9) ? v9 : 1796L;
            const i64 v12 = (v10 < 1697L || v10 != v10) ? v10 : 1697L;
            f32 w15[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v13 = b0[a1 + (i32)v12 * 64];
                const f32 v15 = v13 / 16.0f;
                w15[l] = v15;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w15[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_start_copy(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const i64* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const i64*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 64u ? first + 1u : 64u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        const i64 v0 = b2[0];
        const bool v3 = v0 < 0L;
        const i64 v4 = (i64)((u64)v0 + (u64)1797L);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
        const i64 v8 = (v7 < 1796L || v7 != v7) ? v7 : 1796L;
        const f32 v9 = b0[a0 + (i32)v8 * 64];
        b1[a0] = v9;
    }
}
