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
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define fma_f32(a, b, c) fma(a, b, c)
#else
#define fma_f32(a, b, c) mad(a, b, c)
#endif
static inline f32 __attribute__((overloadable)) wide_tanh(f32 a) {
    const f32 b = a > 9.1f ? 9.1f : a;
    const f32 x = b < -9.1f ? -9.1f : b;
    const f32 z = x * x;
    const f32 y = (x * fma_f32(fma_f32(fma_f32(fma_f32(1.3177469e-8f, z, 2.0481142e-5f), z, 3.4878082e-3f), z, 1.3374473e-1f), z, 1e0f)) / fma_f32(fma_f32(fma_f32(fma_f32(7.7040227e-7f, z, 3.2729155e-4f), z, 2.5847377e-2f), z, 4.6707785e-1f), z, 1e0f);
    const f32 low = y > 1.0f ? 1.0f : y;
    return low < -1.0f ? -1.0f : low;
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define tanh wide_tanh
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_cast(__global const i32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const i32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 784u;
    const u32 last = first + 784u < 50176u ? first + 784u : 50176u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w1[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const i32 v0 = b0[a1];
                const f32 v1 = (f32)v0;
                w1[l] = v1;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w1[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_add_tanh(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 512u;
    const u32 last = first + 512u < 32768u ? first + 512u : 32768u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)(p / 16u);
        const i32 c1 = (i32)(p % 16u) * 32;
        const i32 n = 500 - c1 < 32 ? 500 - c1 : 32;
        {
            f32 w3[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b1[a0 * 500 + a1];
                const f32 v1 = b2[a1];
                const f32 v2 = v0 + v1;
                const f32 v3 = tanh(v2);
                w3[l] = v3;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                b0[a0 * 500 + a1] = w3[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 192u;
    const u32 last = first + 192u < 12250u ? first + 192u : 12250u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w4[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v2 = b2[a1];
                const f32 v3 = 0x1.99999ap-4f * v2;
                const f32 v4 = v0 - v3;
                w4[l] = v4;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w4[l];
            }
        }
    }
}
