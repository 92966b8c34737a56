#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define fma_f32(a, b, c) fma(a, b, c)
#else
#define fma_f32(a, b, c) mad(a, b, c)
#endif
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define fma_f64(a, b, c) fma(a, b, c)
#else
#define fma_f64(a, b, c) mad(a, b, c)
#endif
static inline f32 __attribute__((overloadable)) wide_log_reduced(f32 f, f32 e) {
    const f32 z = f * f;
    const f32 p = fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(fma_f32(6.9725186e-2f, f, -1.1481212e-1f), f, 1.1685785e-1f), f, -1.2425523e-1f), f, 1.4249007e-1f), f, -1.6667807e-1f), f, 2.0000717e-1f), f, -2.4999997e-1f), f, 3.333333e-1f);
    const f32 low = fma_f32(z * f, p, e * -1.9046542e-9f);
    return fma_f32(e, 6.931472e-1f, fma_f32(z, -0.5f, low) + f);
}
static inline f64 __attribute__((overloadable)) wide_log_reduced(f64 f, f64 e) {
    const f64 half_square = 0.5 * f * f;
    const f64 s = f / (2.0 + f);
    const f64 z = s * s;
    const f64 r = z * fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(1.4617498693915612e-1, z, 1.533163669954134e-1), z, 1.8182891680439894e-1), z, 2.2222211099711292e-1), z, 2.8571428626190487e-1), z, 3.9999999999899033e-1), z, 6.66666666666667e-1);
    const f64 low = fma_f64(s, half_square + r, e * 2.3190468138462996e-17);
    return fma_f64(e, 6.931471805599453e-1, f - (half_square - low));
}
static inline f32 __attribute__((overloadable)) wide_exp_tail(f32 r) {
    return r * r * fma_f32(fma_f32(fma_f32(fma_f32(1.3926254e-3f, r, 8.363196e-3f), r, 4.1666552e-2f), r, 1.6666576e-1f), r, 5e-1f);
}
static inline f64 __attribute__((overloadable)) wide_exp_tail(f64 r) {
    return r * r * fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(fma_f64(2.5100517067561994e-8, r, 2.762012357888969e-7), r, 2.7557268151821757e-6), r, 2.48015212220707e-5), r, 1.9841269863288475e-4), r, 1.388888891726128e-3), r, 8.333333333329997e-3), r, 4.166666666662403e-2), r, 1.6666666666666669e-1), r, 5e-1);
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
static inline f64 __attribute__((overloadable)) wide_log(f64 x) {
    const bool tiny = x < 0x1p-1022;
    const f64 y = tiny ? x * 18014398509481984.0 : x;
    const u64 bits = as_ulong(y) + 2638147582215219UL;
    const f64 m = as_double((bits & 0x000fffffffffffffUL) + 4604544271217802189UL);
    const f64 k = as_double((bits >> 52) | 0x4330000000000000UL) - (4503599627370496.0 + 1023.0);
    const f64 usual = wide_log_reduced(m - 1.0, k - (tiny ? 54.0 : 0.0));
    const f64 special = x == 0.0 ? -(f64)INFINITY : (x > 0.0 ? x : (f64)NAN);
    return (x > 0.0) & (x < (f64)INFINITY) ? usual : special;
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define log wide_log
#endif
static inline f32 __attribute__((overloadable)) wide_log1p(f32 x) {
    const f32 sum = 1.0f + x;
    const f32 rest = x - (sum - 1.0f);
    const u32 bits = as_uint(sum) - 1060439283u;
    const f32 m = as_float((bits & 0x007fffffu) + 1060439283u);
    const i32 k = (i32)bits >> 23;
    const i32 near = k < 120 ? k : 120;
    const f32 f = fma_f32(rest, as_float((u32)(127 - near) << 23), m - 1.0f);
    const f32 usual = wide_log_reduced(f, (f32)k);
    const f32 special = x == -1.0f ? -INFINITY : (x > -1.0f ? x : NAN);
    return (x > -1.0f) & (x < INFINITY) & (x != 0.0f) ? usual : special;
}
static inline f64 __attribute__((overloadable)) wide_log1p(f64 x) {
    const f64 sum = 1.0 + x;
    const f64 rest = x - (sum - 1.0);
    const u64 bits = as_ulong(sum) + 2638147582215219UL;
    const f64 m = as_double((bits & 0x000fffffffffffffUL) + 4604544271217802189UL);
    const f64 k = as_double((bits >> 52) | 0x4330000000000000UL) - (4503599627370496.0 + 1023.0);
    const f64 near = k < 1000.0 ? k : 1000.0;
    const f64 f = fma_f64(rest, as_double((u64)(1023 - (i32)near) << 52), m - 1.0);
    const f64 usual = wide_log_reduced(f, k);
    const f64 special = x == -1.0 ? -(f64)INFINITY : (x > -1.0 ? x : (f64)NAN);
    return (x > -1.0) & (x < (f64)INFINITY) & (x != 0.0) ? usual : special;
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define log1p wide_log1p
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
static inline f64 __attribute__((overloadable)) wide_exp(f64 a) {
    const f64 b = a > 710.0 ? 710.0 : a;
    const f64 x = b < -746.0 ? -746.0 : b;
    const f64 rounded = fma_f64(x, 1.4426950408889634e0, 6.755399441055744e15);
    const f64 n = rounded - 6.755399441055744e15;
    const f64 r = fma_f64(n, -2.3190468138462996e-17, fma_f64(n, -6.931471805599453e-1, x));
    const f64 p = (wide_exp_tail(r) + r) + 1.0;
    const i64 k = (i64)(as_ulong(rounded) - as_ulong(6.755399441055744e15));
    const i64 half_k = (i64)((u64)(k + 2048) >> 1) - 1024;
    return p * as_double((u64)(half_k + 1023) << 52) * as_double((u64)(k - half_k + 1023) << 52);
}
#if defined(FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define exp wide_exp
#endif
static inline i64 f64_to_i64(f64 x) {
    if (!(x > -9.223372036854776e18)) return x == x ? (i64)((0xffffffffffffffffuL >> 1) + 1u) : (i64)0;
    return x < 9.223372036854776e18 ? (i64)x : (i64)(0xffffffffffffffffuL >> 1);
}
static inline void philox_block(u64 key, u64 counter, u32 third, u32 fourth, u32* w) {
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = third, c3 = fourth;
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const u32 h0 = mul_hi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        const u32 h1 = mul_hi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
}
static inline f64 draw_wide(u32 low, u32 high) {
    return ((f64)(((u64)low | (u64)high << 32) >> 12) + 0.5) * 0x1p-52;
}
static inline f64 draw_narrow(u32 word) {
    return ((f64)word + 0.5) * 0x1p-32;
}
static inline f64 stirling_tail(f64 k) {
    const f64 n = k + 1.0;
    if (k < 10.0) {
        f64 factorial = 1.0;
        for (f64 i = 2.0; i <= k; i += 1.0) factorial *= i;
        return log(factorial) - (k + 0.5) * log(n) + n - 0.9189385332046727;
    }
    const f64 s = 1.0 / (n * n);
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - s / 1680.0) * s) * s) / n;
}
static inline f64 draw_log_gamma_f64(u64 key, u64 counter, f64 shape) {
    if (!(shape > 0.0) || isinf(shape)) return log(shape);
    const f64 d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const f64 c = 1.0 / (3.0 * sqrt(d));
    f64 result = log(d);
    u32 w[4];
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 x = sqrt(-2.0 * log(draw_wide(w[0], w[1]))) * cos(6.283185307179586 * draw_narrow(w[2]));
        const f64 root = 1.0 + c * x;
        if (root <= 0.0) continue;
        const f64 log_v = 3.0 * log(root);
        if (log(draw_narrow(w[3])) < 0.5 * x * x + d - d * root * root * root + d * log_v) {
            result += log_v;
            break;
        }
    }
    if (shape < 1.0) {
        philox_block(key, counter, 0u, 1u, w);
        result += log(draw_wide(w[0], w[1])) / shape;
    }
    return result;
}
static inline f64 draw_poisson_f64(u64 key, u64 counter, f64 mean) {
    if (!(mean >= 0.0)) return log(-1.0);
    u32 w[4];
    if (mean < 10.0) {
        philox_block(key, counter, 0u, 1u, w);
        const f64 u = draw_wide(w[0], w[1]);
        f64 k = 0.0, p = exp(-mean), below = p;
        while (u > below) {
            k += 1.0;
            p *= mean / k;
            if (below + p == below) break;
            below += p;
        }
        return k;
    }
    if (isinf(mean)) return mean;
    const f64 b = 0.931 + 2.53 * sqrt(mean);
    const f64 a = -0.059 + 0.02483 * b;
    const f64 inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const f64 sure = 0.9277 - 3.6224 / (b - 2.0);
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 u = draw_wide(w[0], w[1]) - 0.5, v = draw_narrow(w[2]);
        const f64 edge = 0.5 - fabs(u);
        const f64 k = floor((2.0 * a / edge + b) * u + mean + 0.43);
        if (edge >= 0.07 && v <= sure) return k;
        if (k < 0.0 || (edge < 0.013 && v > edge)) continue;
        const f64 n = k + 1.0;
        const f64 density = k * log(mean / n) - 0.5 * log(6.283185307179586 * n) + (n - mean) - stirling_tail(k);
        if (log(v * inverse_alpha / (a / (edge * edge) + b)) <= density) return k;
    }
    return floor(mean);
}
static inline f64 draw_rarer(u64 key, u64 counter, f64 n, f64 p) {
    const f64 odds = p / (1.0 - p);
    u32 w[4];
    if (n * p < 10.0) {
        philox_block(key, counter, 0u, 1u, w);
        const f64 u = draw_wide(w[0], w[1]);
        f64 k = 0.0, f = exp(n * log1p(-p)), below = f;
        while (u > below && k < n) {
            f *= odds * (n - k) / (k + 1.0);
            k += 1.0;
            if (below + f == below) break;
            below += f;
        }
        return k;
    }
    const f64 deviation = sqrt(n * p * (1.0 - p));
    const f64 b = 1.15 + 2.53 * deviation;
    const f64 a = -0.0873 + 0.0248 * b + 0.01 * p;
    const f64 sure = 0.92 - 4.2 / b;
    const f64 alpha = (2.83 + 5.1 / b) * deviation;
    const f64 mode = floor((n + 1.0) * p);
    const f64 at_mode = (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)))
        + stirling_tail(mode) + stirling_tail(n - mode);
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 u = draw_wide(w[0], w[1]) - 0.5, v = draw_narrow(w[2]);
        const f64 edge = 0.5 - fabs(u);
        const f64 k = floor((2.0 * a / edge + b) * u + n * p + 0.5);
        if (k < 0.0 || k > n) continue;
        if (edge >= 0.07 && v <= sure) return k;
        const f64 rest = n - k + 1.0;
        const f64 density = at_mode + (n + 1.0) * log((n - mode + 1.0) / rest)
            + (k + 0.5) * log(odds * rest / (k + 1.0)) - stirling_tail(k) - stirling_tail(n - k);
        if (log(v * alpha / (a / (edge * edge) + b)) <= density) return k;
    }
    return mode;
}
static inline f64 draw_binomial_f64(u64 key, u64 counter, f64 n, f64 p) {
    if (!(n >= 0.0) || !(p >= 0.0 && p <= 1.0)) return log(-1.0);
    const f64 k = draw_rarer(key, counter, n, p > 0.5 ? 1.0 - p : p);
    return p > 0.5 ? n - k : k;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_arange_cast_add_draw_log_gamma_exp_mu(__global f32* b0, const u64 byte0, __global const u64* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 32u ? first + 1u : 32u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 32;
        const i32 n = 1000 - c0 < 32 ? 1000 - c0 : 32;
        {
            const u64 v0 = b1[0];
            const u64 v7 = b1[1];
            f32 w14[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const i64 v4 = (i64)((u64)(i64)a0 * (u64)1L);
                const i64 v5 = (i64)((u64)0L + (u64)v4);
                const u64 v6 = (u64)v5;
                const u64 v8 = v6 + v7;
                const f64 v10 = draw_log_gamma_f64(v0, v8, 0.5);
                const f64 v11 = exp(v10);
                const f64 v13 = v11 * 2.0;
                const f32 v14 = (f32)v13;
                w14[l] = v14;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b0[a0] = w14[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_add_draw_poisson_cast_add_draw_binomi(__global i64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u64* b2, const u64 byte2, __global i64* b3, const u64 byte3, __global const u64* b4, const u64 byte4) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global const u64*)((__global const u8*)b2 + byte2);
    b3 = (__global i64*)((__global u8*)b3 + byte3);
    b4 = (__global const u64*)((__global const u8*)b4 + byte4);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 100u ? first + 2u : 100u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        const u64 v0 = b1[0];
        const u64 v1 = b2[a0];
        const u64 v2 = b1[1];
        const u64 v3 = v1 + v2;
        const f64 v5 = draw_poisson_f64(v0, v3, 40.0);
        const i64 v6 = f64_to_i64(v5);
        const u64 v7 = b4[0];
        const u64 v8 = b4[1];
        const u64 v9 = v1 + v8;
        const f64 v12 = draw_binomial_f64(v7, v9, 50.0, 0x1.999999999999ap-2);
        const i64 v13 = f64_to_i64(v12);
        b0[a0] = v6;
        b3[a0] = v13;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 1000UL;
        b0[1] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 100UL;
        b0[1] = v2;
    }
}
