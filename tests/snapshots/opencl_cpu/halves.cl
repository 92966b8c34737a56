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
static inline f32 round_f16(f32 x) {
    ushort h;
    vstore_half_rte(x, 0, (half*)&h);
    return vload_half(0, (const half*)&h);
}
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
static inline f32 bf16_to_f32(u16 h) {
    return as_float((u32)h << 16);
}
static inline u16 f32_to_bf16(f32 x) {
    const u32 u = as_uint(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
static inline f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_sigmoid_multiply_cast_add_sum(__global half* b0, const u64 byte0, __global const half* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const u16* b3, const u64 byte3, __global u16* b4, const u64 byte4) {
    b0 = (__global half*)((__global u8*)b0 + byte0);
    b1 = (__global const half*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const u16*)((__global const u8*)b3 + byte3);
    b4 = (__global u16*)((__global u8*)b4 + byte4);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32], s0_0b[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
                s0_0b[l] = 0.0f;
            }
            u32 n0 = 0u;
            for (i32 c0 = 0; c0 < 4096; c0 += 32) {
                f32 w14[32];
                f32 w17[32];
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a0 = c0 + l;
                    const f32 v0 = vload_half(a0, b1);
                    const f32 v1 = v0;
                    const f32 v3 = -v1;
                    const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                    const f32 v5 = -v4;
                    const f32 v6 = exp(v5);
                    const bool v8 = v1 < 0.0f;
                    const f32 v9 = v8 ? v6 : 1.0f;
                    const f32 v10 = 1.0f + v6;
                    const f32 v11 = v9 / v10;
                    const f32 v12 = round_f16(v11);
                    const f32 v14 = v12 * 0.5f;
                    const f32 v15 = bf16_to_f32(b3[a0]);
                    const f32 v16 = v15;
                    const f32 v17 = v1 + v16;
                    s0_0b[l] = s0_0b[l] + v16;
                    w14[l] = v14;
                    w17[l] = v17;
                }
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a0 = c0 + l;
                    vstore_half_rte(w14[l], a0, b0);
                    b2[a0] = w17[l];
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 32; ++l) {
                        s0_0[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                }
            }
            {
                const i32 c0 = 4096;
                f32 w14[32];
                f32 w17[32];
                for (i32 l = 0; l < 3; ++l) {
                    const i32 a0 = c0 + l;
                    const f32 v0 = vload_half(a0, b1);
                    const f32 v1 = v0;
                    const f32 v3 = -v1;
                    const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                    const f32 v5 = -v4;
                    const f32 v6 = exp(v5);
                    const bool v8 = v1 < 0.0f;
                    const f32 v9 = v8 ? v6 : 1.0f;
                    const f32 v10 = 1.0f + v6;
                    const f32 v11 = v9 / v10;
                    const f32 v12 = round_f16(v11);
                    const f32 v14 = v12 * 0.5f;
                    const f32 v15 = bf16_to_f32(b3[a0]);
                    const f32 v16 = v15;
                    const f32 v17 = v1 + v16;
                    s0_0b[l] = s0_0b[l] + v16;
                    w14[l] = v14;
                    w17[l] = v17;
                }
                for (i32 l = 0; l < 3; ++l) {
                    const i32 a0 = c0 + l;
                    vstore_half_rte(w14[l], a0, b0);
                    b2[a0] = w17[l];
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 32; ++l) {
                        s0_0[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] += s0_0b[l];
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            const f32 v1 = round_bf16(f0_0);
            b4[0] = f32_to_bf16(v1);
        }
    }
}
