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

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k0_scatter(__global const i64* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 32u + (u32)get_local_id(0);
    if (p < 16u) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 300; ++a1) {
            const i64 v0 = b0[a1];
            const bool v3 = v0 < 0L;
            const i64 v4 = (i64)((u64)v0 + (u64)1000L);
            const i64 v5 = v3 ? v4 : v0;
            const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
            const i64 v8 = (v7 < 999L || v7 != v7) ? v7 : 999L;
            const f32 v9 = b1[a0 + a1 * 16];
            const f32 v10 = b2[a0 + (i32)v8 * 16];
            const f32 v11 = v10 + v9;
            b2[a0 + (i32)v8 * 16] = v11;
        }
    }
}
