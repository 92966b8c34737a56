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
static inline f32 __attribute__((overloadable)) wide_exp(f32 a) {
    const f32 b = a > 89.0f ? 89.0f : a;
    const f32 x = b < -104.0f ? -104.0f : b;
    const f32 rounded = fma_f32(x, 1.442695e0f, 1.2582912e7f);
    const f32 n = rounded - 1.2582912e7f;
    const f32 r = fma_f32(n, 1.9046542e-9f, fma_f32(n, -6.931472e-1f, x));
    const f32 p = (wide_exp_tail(r) + r) + 1.0f;
    const i32 k = (i32)(as_uint(rounded) - as_uint(1.2582912e7f));
    const i32 half_k = k >> 1;
    return p * as_float((u32)(half_k + 127) << 23) * as_float((u32)(k - half_k + 127) << 23);
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define exp wide_exp
#endif
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
void k0_exp_sin_sqrt_multiply_add_tanh_true_d(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 3u;
    const u32 last = first + 3u < 150u ? first + 3u : 150u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w9[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b1[a1];
                const f32 v2 = v0 * 2.0f;
                const f32 v4 = v2 + 1.0f;
                const f32 v5 = tanh(v4);
                const f32 v6 = exp(v0);
                const f32 v7 = sin(v6);
                const f32 v8 = sqrt(v7);
                const f32 v9 = v5 / v8;
                w9[l] = v9;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b0[a1] = w9[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_sqr_scatter(__global const i64* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 16;
        for (i32 a1 = 0; a1 < 300; ++a1) {
            const i64 v0 = b0[a1];
            const bool v3 = v0 < 0L;
            const i64 v4 = (i64)((u64)v0 + (u64)1000L);
            const i64 v5 = v3 ? v4 : v0;
            const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
            const i64 v8 = (v7 < 999L || v7 != v7) ? v7 : 999L;
            for (i32 l = 0; l < 16; ++l) {
                const i32 a0 = c0 + l;
                const f32 v9 = b2[a0 + a1 * 16];
                const f32 v10 = v9 * v9;
                const f32 v11 = b1[a0 + (i32)v8 * 16];
                const f32 v12 = v11 + v10;
                b1[a0 + (i32)v8 * 16] = v12;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_scatter(__global const i64* b0, const u64 byte0, __global u64* b1, const u64 byte1) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global u64*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        for (i32 a0 = 0; a0 < 300; ++a0) {
            const i64 v0 = b0[a0];
            const bool v3 = v0 < 0L;
            const i64 v4 = (i64)((u64)v0 + (u64)100L);
            const i64 v5 = v3 ? v4 : v0;
            const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
            const i64 v8 = (v7 < 99L || v7 != v7) ? v7 : 99L;
            const u64 v10 = b1[(i32)v8];
            const u64 v11 = v10 + 1UL;
            b1[(i32)v8] = v11;
        }
    }
}
