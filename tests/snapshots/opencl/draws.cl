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

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k0_arange_cast_add_draw_log_gamma_exp_mu(__global f32* b0, const u64 byte0, __global const u64* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1000u) {
        const i32 a0 = (i32)p;
        const u64 v0 = b1[0];
        const i64 v4 = (i64)((u64)(i64)a0 * (u64)1L);
        const i64 v5 = (i64)((u64)0L + (u64)v4);
        const u64 v6 = (u64)v5;
        const u64 v7 = b1[1];
        const u64 v8 = v6 + v7;
        const f64 v10 = draw_log_gamma_f64(v0, v8, 0.5);
        const f64 v11 = exp(v10);
        const f64 v13 = v11 * 2.0;
        const f32 v14 = (f32)v13;
        b0[a0] = v14;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_add_draw_poisson_cast_add_draw_binomi(__global i64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u64* b2, const u64 byte2, __global i64* b3, const u64 byte3, __global const u64* b4, const u64 byte4) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global const u64*)((__global const u8*)b2 + byte2);
    b3 = (__global i64*)((__global u8*)b3 + byte3);
    b4 = (__global const u64*)((__global const u8*)b4 + byte4);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 100u) {
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

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k2_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 p = (u32)get_group_id(0) * 32u + (u32)get_local_id(0);
    if (p < 1u) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 1000UL;
        b0[1] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k3_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 p = (u32)get_group_id(0) * 32u + (u32)get_local_id(0);
    if (p < 1u) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 100UL;
        b0[1] = v2;
    }
}
