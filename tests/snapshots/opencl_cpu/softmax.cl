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
void k0_multiply_softmax(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 4u;
    const u32 last = first + 4u < 200u ? first + 4u : 200u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = as_float(0xff800000u);
            }
            for (i32 c1 = 0; c1 < 992; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            {
                const i32 c1 = 992;
                for (i32 l = 0; l < 8; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
            }
        }
        f32 f1_0 = 0.0f;
        {
            f32 s1_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s1_0[l] = 0.0f;
            }
            for (i32 c1 = 0; c1 < 992; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    const f32 v4 = v2 - f0_0;
                    const f32 v5 = exp(v4);
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            {
                const i32 c1 = 992;
                for (i32 l = 0; l < 8; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    const f32 v4 = v2 - f0_0;
                    const f32 v5 = exp(v4);
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f1_0 = f1_0 + s1_0[l];
            }
        }
        for (i32 a1 = 0; a1 < 1000; ++a1) {
            const f32 v0 = b1[a0 * 1000 + a1];
            const f32 v2 = v0 * 0.5f;
            const f32 v4 = v2 - f0_0;
            const f32 v6 = exp(v4);
            const f32 v7 = v6 / f1_0;
            b0[a0 * 1000 + a1] = v7;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_log_softmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 16u ? first + 1u : 16u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 64;
        const i32 n = 1000 - c0 < 64 ? 1000 - c0 : 64;
        f32 f0_0[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = as_float(0xff800000u);
        }
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0[l] = (f0_0[l] > v0 || f0_0[l] != f0_0[l]) ? f0_0[l] : v0;
            }
        }
        f32 f1_0[64], f1_0b[64];
        for (i32 l = 0; l < 64; ++l) {
            f1_0[l] = 0.0f;
            f1_0b[l] = 0.0f;
        }
        u32 n1 = 0u;
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0[l];
                const f32 v3 = exp(v2);
                f1_0b[l] = f1_0b[l] + v3;
            }
            if ((++n1 & 127u) == 0u) {
                for (i32 l = 0; l < 64; ++l) {
                    f1_0[l] += f1_0b[l];
                    f1_0b[l] = 0;
                }
            }
        }
        for (i32 l = 0; l < 64; ++l) {
            f1_0[l] += f1_0b[l];
        }
        for (i32 a1 = 0; a1 < 200; ++a1) {
            f32 w5[64];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0[l];
                const f32 v4 = log(f1_0[l]);
                const f32 v5 = v2 - v4;
                w5[l] = v5;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b1[a0 + a1 * 1000] = w5[l];
            }
        }
    }
}
