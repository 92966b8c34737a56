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
static inline f32 __attribute__((overloadable)) wide_exp_tail(f32 r) {
    return r * r * fma_f32(fma_f32(fma_f32(fma_f32(1.3926254e-3f, r, 8.363196e-3f), r, 4.1666552e-2f), r, 1.6666576e-1f), r, 5e-1f);
}
static inline f32 __attribute__((overloadable)) wide_tanh(f32 a) {
    const f32 magnitude = fabs(a);
    const f32 z = a * a;
    const f32 near = fma_f32(a * z, fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(1.8956673e-3f, z, -7.88331e-3f), z, 2.157106e-2f), z, -5.3920954e-2f), z, 1.3332984e-1f), z, -3.3333325e-1f), a);
    const f32 twice = 2.0f * magnitude;
    const f32 x = twice > 20.0f ? 20.0f : twice;
    const f32 rounded = fma_f32(x, 1.442695e0f, 1.2582912e7f);
    const f32 n = rounded - 1.2582912e7f;
    const f32 r = fma_f32(n, 1.9046542e-9f, fma_f32(n, -6.931472e-1f, x));
    const f32 e = ((wide_exp_tail(r) + r) + 1.0f) * as_float((as_uint(rounded) - as_uint(1.2582912e7f) + 127u) << 23);
    const f32 far = 1.0f - 2.0f / (e + 1.0f);
    return copysign(magnitude < 7e-1f ? near : far, a);
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
