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
typedef struct __attribute__((aligned(16))) { i32 e[4]; } i32x4;
typedef struct __attribute__((aligned(16))) { f32 e[4]; } f32x4;

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_cast(__global const i32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const i32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
    if (p < 401408u) {
        const i32 a1 = (i32)p * 4;
        const i32x4 x0 = *(__global const i32x4*)(b0 + a1);
        f32x4 y0;
        #pragma unroll
        for (i32 l = 0; l < 4; ++l) {
            const i32 v0 = x0.e[l];
            const f32 v1 = (f32)v0;
            y0.e[l] = v1;
        }
        *(__global f32x4*)(b1 + a1) = y0;
    }
}
