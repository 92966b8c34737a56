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
static inline u64 philox_u64(u64 key, u64 counter, u64 lane) {
    u32 w[4];
    philox_block(key, counter, 0u, 0u, w);
    return (lane & 1u) ? ((u64)w[2] | (u64)w[3] << 32) : ((u64)w[0] | (u64)w[1] << 32);
}
static inline u64 right_shift_u64(u64 a, u64 b) {
    return b < 64 ? (u64)(a >> b) : (u64)0;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_arange_cast_add_philox_right_shift_ca(__global f32* b0, const u64 byte0, __global const u64* b1, const u64 byte1) {
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
            f32 w15[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const i64 v4 = (i64)((u64)(i64)a0 * (u64)1L);
                const i64 v5 = (i64)((u64)0L + (u64)v4);
                const u64 v6 = (u64)v5;
                const u64 v8 = v6 + v7;
                const u64 v10 = philox_u64(v0, v8, 0UL);
                const u64 v12 = right_shift_u64(v10, 40UL);
                const f32 v13 = (f32)v12;
                const f32 v15 = v13 * 0x1.0p-24f;
                w15[l] = v15;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b0[a0] = w15[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_add(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global u64* b2, const u64 byte2) {
    b0 = (__global const u64*)((__global const u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global u64*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 100u ? first + 2u : 100u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        const u64 v0 = b0[a0];
        const u64 v1 = b1[1];
        const u64 v2 = v0 + v1;
        b2[a0] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_philox_right_shift_cast_multiply_nega(__global f64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u64* b2, const u64 byte2) {
    b0 = (__global f64*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global const u64*)((__global const u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 100u ? first + 2u : 100u;
    for (u32 p = first; p < last; ++p) {
        const i32 a1 = (i32)p;
        const u64 v0 = b1[0];
        const u64 v1 = b2[a1];
        const u64 v3 = philox_u64(v0, v1, 0UL);
        const u64 v5 = right_shift_u64(v3, 11UL);
        const f64 v6 = (f64)v5;
        const f64 v8 = v6 * 0x1.0p-53;
        const f64 v9 = -v8;
        const f64 v10 = log1p(v9);
        const f64 v12 = v10 * (-2.0);
        const f64 v13 = sqrt(v12);
        const u64 v15 = philox_u64(v0, v1, 1UL);
        const u64 v16 = right_shift_u64(v15, 11UL);
        const f64 v17 = (f64)v16;
        const f64 v19 = v17 * 0x1.921fb54442d18p-51;
        const f64 v20 = cos(v19);
        const f64 v21 = v13 * v20;
        b0[a1] = v21;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_inc_part(__global u64* b0, const u64 byte0) {
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
void k4_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 100UL;
        b0[1] = v2;
    }
}
