typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
struct alignas(16) f32x4 { f32 e[4]; };

extern "C" __global__ __launch_bounds__(128)
void k0_sqr_sum_parts(const f32* b0, f32* b1) {
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 32u, y = t % 32u;
    {
        const u32 p0 = (u32)blockIdx.x * 4u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = 0.0f;
            }
            #pragma unroll
            for (u32 r = 0u; r < 7u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a2 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 1000 + a2);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v1 = v0 * v0;
                    s0_0[l] = s0_0[l] + v1;
                }
            }
            if (y < 26u) {
                const u32 q = 224u + y;
                const i32 a2 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 1000 + a2);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v1 = v0 * v0;
                    s0_0[l] = s0_0[l] + v1;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(128)
void k1_sqr_sum(f32* b0, const f32* b1) {
    __shared__ f32 lf0_0[4];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = 0.0f;
            }
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 128u + y;
                const i32 a0 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b1 + a0);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            if (y < 119u) {
                const u32 q = 256u + y;
                const i32 a0 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b1 + a0);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = s0_0[l] + v0;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if ((t & 31u) == 0u) {
            lf0_0[t >> 5] = f0_0;
        }
        __syncthreads();
        f0_0 = lf0_0[y & 3u];
        #pragma unroll
        for (u32 s = 2u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            b0[0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k2_sum_true_divide(const f32* b0, const f32* b1, f32* b2) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const bool live = p < 500u;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        if (live) {
            #pragma unroll 8
            for (u32 r = 0u; r < 93u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 500];
                f0_0 = f0_0 + v0;
            }
            if (y < 24u) {
                const u32 q = 2976u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 500];
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        __syncthreads();
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = f0_0 + o0;
            }
        }
        if (live && y == 0u) {
            const f32 v1 = b1[0];
            const f32 v2 = f0_0 / v1;
            b2[a0] = v2;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k3_max(const f32* b0, f32* b1) {
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 32u, y = t % 32u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = __uint_as_float(0xff800000u);
            }
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                }
            }
            if (y < 29u) {
                const u32 q = 96u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
        }
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k4_argmax(const f32* b0, i64* b1) {
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 32u, y = t % 32u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0v = __uint_as_float(0xff800000u);
        i64 f0_0 = 9223372036854775807LL;
        {
            f32 s0_0v[4];
            i64 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0v[l] = __uint_as_float(0xff800000u);
                s0_0[l] = 9223372036854775807LL;
            }
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    {
                        const bool wins = v0 > s0_0v[l] || (v0 == s0_0v[l] && (i64)(a1 + l) < s0_0[l]) || (v0 != v0 && (s0_0v[l] == s0_0v[l] || (i64)(a1 + l) < s0_0[l]));
                        s0_0v[l] = wins ? v0 : s0_0v[l];
                        s0_0[l] = wins ? (i64)(a1 + l) : s0_0[l];
                    }
                }
            }
            if (y < 29u) {
                const u32 q = 96u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    {
                        const bool wins = v0 > s0_0v[l] || (v0 == s0_0v[l] && (i64)(a1 + l) < s0_0[l]) || (v0 != v0 && (s0_0v[l] == s0_0v[l] || (i64)(a1 + l) < s0_0[l]));
                        s0_0v[l] = wins ? v0 : s0_0v[l];
                        s0_0[l] = wins ? (i64)(a1 + l) : s0_0[l];
                    }
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                if (s0_0v[l] > f0_0v || (s0_0v[l] == f0_0v && s0_0[l] < f0_0) || (s0_0v[l] != s0_0v[l] && (f0_0v == f0_0v || s0_0[l] < f0_0))) {
                    f0_0v = s0_0v[l];
                    f0_0 = s0_0[l];
                }
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0v, s);
            const i64 i0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            if (o0 > f0_0v || (o0 == f0_0v && i0 < f0_0) || (o0 != o0 && (f0_0v == f0_0v || i0 < f0_0))) {
                f0_0v = o0;
                f0_0 = i0;
            }
        }
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}
