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
void k0_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 64u ? first + 1u : 64u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        const f32 v0 = b0[a0 + 4032];
        const f32 v1 = b0[a0 * 64];
        b1[a0] = v0;
        b2[a0 * 64 + 63] = v1;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 126u ? first + 2u : 126u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w0[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                w0[l] = v0;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1 + 64] = w0[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 64u ? first + 1u : 64u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 63; ++a1) {
            const f32 v0 = b0[a0 * 64 + a1 + 1];
            b1[a0 * 64 + a1] = v0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 62u ? first + 1u : 62u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 62; ++a1) {
            const f32 v0 = b0[a0 * 64 + a1];
            const f32 v1 = b0[a0 * 64 + a1 + 1];
            const f32 v2 = b0[a0 * 64 + a1 + 2];
            const f32 v3 = b0[a0 * 64 + a1 + 64];
            const f32 v4 = b0[a0 * 64 + a1 + 65];
            const f32 v5 = b0[a0 * 64 + a1 + 66];
            const f32 v6 = b0[a0 * 64 + a1 + 128];
            const f32 v7 = b0[a0 * 64 + a1 + 129];
            const f32 v8 = b0[a0 * 64 + a1 + 130];
            b1[a0 * 62 + a1] = v0;
            b1[a0 * 62 + a1 + 3844] = v1;
            b1[a0 * 62 + a1 + 7688] = v2;
            b1[a0 * 62 + a1 + 11532] = v3;
            b1[a0 * 62 + a1 + 15376] = v4;
            b1[a0 * 62 + a1 + 19220] = v5;
            b1[a0 * 62 + a1 + 23064] = v6;
            b1[a0 * 62 + a1 + 26908] = v7;
            b1[a0 * 62 + a1 + 30752] = v8;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k4_copy(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 128u ? first + 2u : 128u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w0[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                w0[l] = v0;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w0[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k5_set_part(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 8u ? first + 1u : 8u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w0[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1 + 128];
                w0[l] = v0;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1 + 64] = w0[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k6_add_multiply_add_tanh_add(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 128u ? first + 2u : 128u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w6[32];
            f32 w9[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v1 = b2[a1];
                const f32 v2 = b3[a1];
                const f32 v3 = v1 + v2;
                const f32 v5 = v3 * 0.5f;
                const f32 v6 = v0 + v5;
                const f32 v7 = b5[a1];
                const f32 v8 = tanh(v7);
                const f32 v9 = v0 + v8;
                w6[l] = v6;
                w9[l] = v9;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1] = w6[l];
                b4[a1] = w9[l];
            }
        }
    }
}
