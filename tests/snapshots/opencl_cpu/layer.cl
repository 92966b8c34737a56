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
void k0_dot_add_tanh(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    __local f32 left0[2560] __attribute__((aligned(64)));
    __local f32 right0[8192] __attribute__((aligned(64)));
    __local f32 sums0[1280] __attribute__((aligned(64)));
    const u32 tile = (u32)get_group_id(0);
    const i32 row0 = (i32)(tile / 8u) * 20;
    const i32 rows = min(20 - row0, (i32)20);
    const i32 column0 = (i32)(tile % 8u) * 64;
    const i32 columns = min(500 - column0, (i32)64);
    const i32 blocks = (rows + 4) / 5;
    const i32 panels = (columns + 15) / 16;
    for (i32 e = 0; e < blocks * 5 * 64; ++e) {
        sums0[e] = 0;
    }
    for (i32 k0 = 0; k0 < 784; k0 += 128) {
        const i32 depth = min(784 - k0, (i32)128);
        for (i32 y = 0; y < blocks * 5; ++y) {
            for (i32 d = 0; d < depth; ++d) {
                const i32 i = row0 + min(y, rows - 1), k = k0 + d;
                const i32 a0 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v0 = b0[a0 * 784 + a2];
                left0[y * 128 + d] = v0;
            }
        }
        for (i32 panel = 0; panel < panels; ++panel) {
            const i32 first = column0 + panel * 16;
            const i32 n = min(columns - panel * 16, (i32)16);
            if (n == 16) {
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = 0; l < 16; ++l) {
                        const i32 i = first + l, k = k0 + d;
                        const i32 a1 = (i32)i;
                        const i32 a2 = (i32)k;
                        const f32 v1 = b1[a1 + a2 * 500];
                        right0[(panel * 128 + d) * 16 + l] = v1;
                    }
                }
            }
            else {
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = 0; l < n; ++l) {
                        const i32 i = first + l, k = k0 + d;
                        const i32 a1 = (i32)i;
                        const i32 a2 = (i32)k;
                        const f32 v1 = b1[a1 + a2 * 500];
                        right0[(panel * 128 + d) * 16 + l] = v1;
                    }
                }
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = n; l < 16; ++l) {
                        right0[(panel * 128 + d) * 16 + l] = 0;
                    }
                }
            }
        }
        for (i32 panel = 0; panel < panels; ++panel) {
            for (i32 y = 0; y < blocks * 5; y += 5) {
                {
                    float16 s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;
                    for (i32 d = 0; d < depth; ++d) {
                        const float16 w = *(const __local float16*)&right0[(panel * 128 + d) * 16];
                        s0 = fma_f32((float16)left0[(y + 0) * 128 + d], w, s0);
                        s1 = fma_f32((float16)left0[(y + 1) * 128 + d], w, s1);
                        s2 = fma_f32((float16)left0[(y + 2) * 128 + d], w, s2);
                        s3 = fma_f32((float16)left0[(y + 3) * 128 + d], w, s3);
                        s4 = fma_f32((float16)left0[(y + 4) * 128 + d], w, s4);
                    }
                    *(__local float16*)&sums0[(y + 0) * 64 + panel * 16] += s0;
                    *(__local float16*)&sums0[(y + 1) * 64 + panel * 16] += s1;
                    *(__local float16*)&sums0[(y + 2) * 64 + panel * 16] += s2;
                    *(__local float16*)&sums0[(y + 3) * 64 + panel * 16] += s3;
                    *(__local float16*)&sums0[(y + 4) * 64 + panel * 16] += s4;
                }
            }
        }
    }
    for (i32 y = 0; y < rows; ++y) {
        const i32 i = row0 + y;
        const i32 a0 = (i32)i;
        for (i32 x = 0; x < columns; ++x) {
            const i32 j = column0 + x;
            const i32 a1 = (i32)j;
            const f32 f0_0 = (f32)sums0[y * 64 + x];
            {
                const f32 v1 = b2[a1];
                const f32 v2 = f0_0 + v1;
                const f32 v3 = tanh(v2);
                b3[a0 * 500 + a1] = v3;
            }
        }
    }
}
