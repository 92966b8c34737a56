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
static inline f32 __attribute__((overloadable)) wide_log_reduced(f32 f, f32 e) {
    const f32 z = f * f;
    const f32 p = fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(6.9725186e-2f, f, -1.1481212e-1f), f, 1.1685785e-1f), f, -1.2425523e-1f), f, 1.4249007e-1f), f, -1.6667807e-1f), f, 2.0000717e-1f), f, -2.4999997e-1f), f, 3.333333e-1f);
    const f32 low = fma_f32(z * f, p, e * -1.9046542e-9f);
    return fma_f32(e, 6.931472e-1f, fma_f32(z, -0.5f, low) + f);
}
static inline f32 __attribute__((overloadable)) wide_exp_tail(f32 r) {
    return r * r * fma_f32(fma_f32(fma_f32(fma_f32(1.3926254e-3f, r, 8.363196e-3f), r, 4.1666552e-2f), r, 1.6666576e-1f), r, 5e-1f);
}
static inline f32 __attribute__((overloadable)) wide_log(f32 x) {
    const bool tiny = x < 0x1p-126f;
    const f32 y = tiny ? x * 8388608.0f : x;
    const u32 bits = as_uint(y) - 1060439283u;
    const f32 m = as_float((bits & 0x007fffffu) + 1060439283u);
    const i32 k = (i32)bits >> 23;
    const f32 usual = wide_log_reduced(m - 1.0f, (f32)k - (tiny ? 23.0f : 0.0f));
    const f32 special = x == 0.0f ? -INFINITY : (x > 0.0f ? x : NAN);
    return (x > 0.0f) & (x < INFINITY) ? usual : special;
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define log wide_log
#endif
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_add_log_softmax_exp_negative_scatter(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3, __global const i64* b4, const u64 byte4) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    b4 = (__global const i64*)((__global const u8*)b4 + byte4);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 128u ? first + 2u : 128u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        f32 f0_1 = 0.0f;
        for (i32 a1 = 0; a1 < 10; ++a1) {
            const f32 v0 = b1[a0 * 10 + a1];
            const f32 v1 = b2[a1];
            const f32 v2 = v0 + v1;
            const i64 v3 = b4[a0];
            const bool v6 = v3 < 0L;
            const i64 v7 = (i64)((u64)v3 + (u64)10L);
            const i64 v8 = v6 ? v7 : v3;
            const i64 v10 = (v8 > 0L || v8 != v8) ? v8 : 0L;
            const i64 v11 = (v10 < 9L || v10 != v10) ? v10 : 9L;
            const bool v13 = (i64)a1 == v11;
            const f32 v15 = -0x1.0p-7f;
            const f32 v17 = 0.0f + v15;
            const f32 v18 = v13 ? v17 : 0.0f;
            f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            f0_1 = f0_1 + v18;
        }
        f32 f1_0 = 0.0f;
        for (i32 a1 = 0; a1 < 10; ++a1) {
            const f32 v0 = b1[a0 * 10 + a1];
            const f32 v1 = b2[a1];
            const f32 v2 = v0 + v1;
            const f32 v4 = v2 - f0_0;
            const f32 v5 = exp(v4);
            f1_0 = f1_0 + v5;
        }
        for (i32 a1 = 0; a1 < 10; ++a1) {
            const f32 v0 = b1[a0 * 10 + a1];
            const f32 v1 = b2[a1];
            const f32 v2 = v0 + v1;
            const f32 v4 = v2 - f0_0;
            const f32 v6 = log(f1_0);
            const f32 v7 = v4 - v6;
            const f32 v8 = exp(v7);
            const f32 v10 = v8 * f0_1;
            const i64 v11 = b4[a0];
            const bool v14 = v11 < 0L;
            const i64 v15 = (i64)((u64)v11 + (u64)10L);
            const i64 v16 = v14 ? v15 : v11;
            const i64 v18 = (v16 > 0L || v16 != v16) ? v16 : 0L;
            const i64 v19 = (v18 < 9L || v18 != v18) ? v18 : 9L;
            const bool v21 = (i64)a1 == v19;
            const f32 v23 = -0x1.0p-7f;
            const f32 v25 = 0.0f + v23;
            const f32 v26 = v21 ? v25 : 0.0f;
            const f32 v27 = v26 - v10;
            b0[a0 * 10 + a1] = v7;
            b3[a0 * 10 + a1] = v27;
        }
        {
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_arange_gather_sum_subtract_true_divid(__global f32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
            }
            for (i32 c0 = 0; c0 < 128; c0 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a0 = c0 + l;
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
                    s0_0[l] = s0_0[l] + v20;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            const f32 v2 = 0.0f - f0_0;
            const f32 v4 = v2 / 128.0f;
            b0[0] = v4;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 20u ? first + 1u : 20u;
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_sum_multiply_subtract(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 10;
        f32 f0_0[10];
        for (i32 l = 0; l < 10; ++l) {
            f0_0[l] = 0.0f;
        }
        for (i32 a1 = 0; a1 < 128; ++a1) {
            for (i32 l = 0; l < 10; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 10];
                f0_0[l] = f0_0[l] + v0;
            }
        }
        {
            f32 w4[10];
            for (i32 l = 0; l < 10; ++l) {
                const i32 a0 = c0 + l;
                const f32 v2 = 0x1.99999ap-4f * f0_0[l];
                const f32 v3 = b1[a0];
                const f32 v4 = v3 - v2;
                w4[l] = v4;
            }
            for (i32 l = 0; l < 10; ++l) {
                const i32 a0 = c0 + l;
                b2[a0] = w4[l];
            }
        }
    }
}
