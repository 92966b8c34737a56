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
void k0_dot(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, const u32 size0, const i32 size1, const i32 size2, const i32 size3, const i32 size4, const i32 size5, const i32 size6) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    __local f32 left0[1536] __attribute__((aligned(64)));
    __local f32 right0[4096] __attribute__((aligned(64)));
    __local f32 sums0[1536] __attribute__((aligned(64)));
    const u32 tile = (u32)get_group_id(0);
    const i32 row0 = (i32)(tile / size0) * 24;
    const i32 rows = min(size1 - row0, (i32)24);
    const i32 column0 = (i32)(tile % size0) * 64;
    const i32 columns = min(size2 - column0, (i32)64);
    const i32 blocks = (rows + 3) / 4;
    const i32 panels = (columns + 15) / 16;
    for (i32 e = 0; e < blocks * 4 * 64; ++e) {
        sums0[e] = 0;
    }
    for (i32 k0 = 0; k0 < size3; k0 += 64) {
        const i32 depth = min(size3 - k0, (i32)64);
        for (i32 y = 0; y < blocks * 4; ++y) {
            for (i32 d = 0; d < depth; ++d) {
                const i32 i = row0 + min(y, rows - 1), k = k0 + d;
                const i32 a0 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v0 = b0[a0 * size4 + a2];
                left0[y * 64 + d] = v0;
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
                        const f32 v1 = b1[a1 + a2 * size5];
                        right0[(panel * 64 + d) * 16 + l] = v1;
                    }
                }
            }
            else {
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = 0; l < n; ++l) {
                        const i32 i = first + l, k = k0 + d;
                        const i32 a1 = (i32)i;
                        const i32 a2 = (i32)k;
                        const f32 v1 = b1[a1 + a2 * size5];
                        right0[(panel * 64 + d) * 16 + l] = v1;
                    }
                }
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = n; l < 16; ++l) {
                        right0[(panel * 64 + d) * 16 + l] = 0;
                    }
                }
            }
        }
        for (i32 panel = 0; panel < panels; ++panel) {
            for (i32 y = 0; y < blocks * 4; y += 4) {
                {
                    float16 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
                    for (i32 d = 0; d < depth; ++d) {
                        const float16 w = *(const __local float16*)&right0[(panel * 64 + d) * 16];
                        s0 = fma_f32((float16)left0[(y + 0) * 64 + d], w, s0);
                        s1 = fma_f32((float16)left0[(y + 1) * 64 + d], w, s1);
                        s2 = fma_f32((float16)left0[(y + 2) * 64 + d], w, s2);
                        s3 = fma_f32((float16)left0[(y + 3) * 64 + d], w, s3);
                    }
                    *(__local float16*)&sums0[(y + 0) * 64 + panel * 16] += s0;
                    *(__local float16*)&sums0[(y + 1) * 64 + panel * 16] += s1;
                    *(__local float16*)&sums0[(y + 2) * 64 + panel * 16] += s2;
                    *(__local float16*)&sums0[(y + 3) * 64 + panel * 16] += s3;
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
                b2[a0 * size6 + a1] = f0_0;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_softmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u32 size0, const u32 size1, const i32 size2, const i32 size3, const i32 size4) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * size0;
    const u32 last = first + size0 < size1 ? first + size0 : size1;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
        }
        f32 f1_0 = 0.0f, f1_0b = 0.0f, f1_0c = 0.0f;
        u32 n1 = 0u;
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            const f32 v2 = v0 - f0_0;
            const f32 v3 = exp(v2);
            f1_0b = f1_0b + v3;
            if ((++n1 & 127u) == 0u) {
                f1_0c += f1_0b;
                f1_0b = 0;
                if ((n1 & 16383u) == 0u) {
                    f1_0 += f1_0c;
                    f1_0c = 0;
                }
            }
        }
        f1_0 += f1_0c + f1_0b;
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            const f32 v2 = v0 - f0_0;
            const f32 v4 = exp(v2);
            const f32 v5 = v4 / f1_0;
            b1[a0 * size4 + a1] = v5;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_sum_true_divide_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u32 size0, const u32 size1, const i32 size2, const i32 size3, const i32 size4, const f32 size5, const i32 size6) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * size0;
    const u32 last = first + size0 < size1 ? first + size0 : size1;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[8], s0_0b[8], s0_0c[8];
            for (i32 l = 0; l < 8; ++l) {
                s0_0[l] = 0.0f;
                s0_0b[l] = 0.0f;
                s0_0c[l] = 0.0f;
            }
            u32 n0 = 0u;
            for (i32 c1 = 0; c1 < size2; c1 += 8) {
                for (i32 l = 0; l < 8; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * size3 + a1];
                    s0_0b[l] = s0_0b[l] + v0;
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 8; ++l) {
                        s0_0c[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                    if ((n0 & 16383u) == 0u) {
                        for (i32 l = 0; l < 8; ++l) {
                            s0_0[l] += s0_0c[l];
                            s0_0c[l] = 0;
                        }
                    }
                }
            }
            for (i32 c1 = size2; c1 < size4; ++c1) {
                for (i32 l = 0; l < 1; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * size3 + a1];
                    s0_0b[l] = s0_0b[l] + v0;
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 8; ++l) {
                        s0_0c[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                    if ((n0 & 16383u) == 0u) {
                        for (i32 l = 0; l < 8; ++l) {
                            s0_0[l] += s0_0c[l];
                            s0_0c[l] = 0;
                        }
                    }
                }
            }
            for (i32 l = 0; l < 8; ++l) {
                s0_0[l] += s0_0c[l] + s0_0b[l];
            }
            for (i32 l = 0; l < 8; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
        }
        for (i32 a1 = 0; a1 < size4; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            const f32 v3 = f0_0 / size5;
            const f32 v4 = v0 - v3;
            b1[a0 * size6 + a1] = v4;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_sum(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, const u32 size0, const u32 size1, const i32 size2, const i32 size3, const i32 size4) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * size0;
    const u32 last = first + size0 < size1 ? first + size0 : size1;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 16;
        const i32 n = size2 - c0 < 16 ? size2 - c0 : 16;
        f32 f0_0[16], f0_0b[16], f0_0c[16];
        for (i32 l = 0; l < 16; ++l) {
            f0_0[l] = 0.0f;
            f0_0b[l] = 0.0f;
            f0_0c[l] = 0.0f;
        }
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < size3; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * size4];
                f0_0b[l] = f0_0b[l] + v0;
            }
            if ((++n0 & 127u) == 0u) {
                for (i32 l = 0; l < 16; ++l) {
                    f0_0c[l] += f0_0b[l];
                    f0_0b[l] = 0;
                }
                if ((n0 & 16383u) == 0u) {
                    for (i32 l = 0; l < 16; ++l) {
                        f0_0[l] += f0_0c[l];
                        f0_0c[l] = 0;
                    }
                }
            }
        }
        for (i32 l = 0; l < 16; ++l) {
            f0_0[l] += f0_0c[l] + f0_0b[l];
        }
        {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b1[a0] = f0_0[l];
            }
        }
    }
}
