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
typedef struct __attribute__((aligned(16))) { f32 e[4]; } f32x4;

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_add_multiply(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
    if (p < 262144u) {
        const i32 a1 = (i32)(p % 256u) * 4;
        const i32 a0 = (i32)(p / 256u);
        const i64 v3 = (i64)((u64)(i64)a0 + (u64)(-1L));
        const bool v5 = (i64)a0 >= 1L;
        const i64 v6 = v5 ? v3 : 1023L;
        const i64 v8 = (i64)((u64)(i64)a0 + (u64)1L);
        const bool v10 = (i64)a0 >= 1023L;
        const i64 v11 = v10 ? 0L : v8;
        const f32x4 x7 = *(__global const f32x4*)(b1 + a1 + (i32)v6 * 1024);
        const f32x4 x12 = *(__global const f32x4*)(b1 + a1 + (i32)v11 * 1024);
        f32x4 y0;
        #pragma unroll
        for (i32 l = 0; l < 4; ++l) {
            const f32 v7 = x7.e[l];
            const f32 v12 = x12.e[l];
            const f32 v13 = v7 + v12;
            const i64 v15 = (i64)((u64)(i64)(a1 + l) + (u64)(-1L));
            const bool v16 = (i64)(a1 + l) >= 1L;
            const i64 v17 = v16 ? v15 : 1023L;
            const f32 v18 = b1[a0 * 1024 + (i32)v17];
            const f32 v19 = v13 + v18;
            const i64 v20 = (i64)((u64)(i64)(a1 + l) + (u64)1L);
            const bool v21 = (i64)(a1 + l) >= 1023L;
            const i64 v22 = v21 ? 0L : v20;
            const f32 v23 = b1[a0 * 1024 + (i32)v22];
            const f32 v24 = v19 + v23;
            const f32 v26 = v24 * 0.25f;
            y0.e[l] = v26;
        }
        *(__global f32x4*)(b0 + a0 * 1024 + a1) = y0;
    }
}
