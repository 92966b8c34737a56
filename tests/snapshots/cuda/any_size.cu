typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif

extern "C" __global__ __launch_bounds__(256)
void k0_dot(const f32* b0, const f32* b1, f32* b2, const u32 size0, const i32 size1, const i32 size2, const i32 size3, const i32 size4, const i32 size5, const i32 size6, const i32 size7, const i32 size8, const i32 size9) {
    BEGIN
    __shared__ alignas(16) f32 l_r0[1280];
    __shared__ alignas(16) f32 l_c0[1280];
    __shared__ alignas(16) f32 l_s0[1024];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u % 8u, z = t / 64u;
    const u32 tile = (u32)blockIdx.x;
    const i32 row0 = (i32)(tile / size0) * 16;
    const i32 column0 = (i32)(tile % size0) * 16;
    f32 s0[2][2];
    #pragma unroll
    for (u32 i = 0u; i < 2u; ++i) {
        #pragma unroll
        for (u32 j = 0u; j < 2u; ++j) {
            s0[i][j] = 0;
        }
    }
    f32 r0[2];
    f32 c0[2];
    u32 now = 0u;
    for (i32 k0 = 0; k0 <= size1; k0 += 32) {
        if (k0 < size1) {
            #pragma unroll
            for (u32 e = 0u; e < 2u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
                const i32 i = min(row0 + (i32)along, (i32)size3), k = min(k0 + (i32)deep, (i32)size2);
                const i32 a0 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v0 = b0[a0 * size4 + a2];
                r0[e] = k0 + (i32)deep > size2 ? 0 : v0;
            }
            #pragma unroll
            for (u32 e = 0u; e < 2u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 16u, along = at % 16u;
                const i32 i = min(column0 + (i32)along, (i32)size5), k = min(k0 + (i32)deep, (i32)size2);
                const i32 a1 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v1 = b1[a1 + a2 * size6];
                c0[e] = k0 + (i32)deep > size2 ? 0 : v1;
            }
        }
        if (k0 > 0) {
            #pragma unroll 8
            for (u32 q = 0u; q < 8u; ++q) {
                f32 mr0[2];
                const float2 wr0_0 = *(const float2*)&l_r0[now * 640u + (q * 4u + z) * 20u + y * 2u + 0u];
                mr0[0] = wr0_0.x; mr0[1] = wr0_0.y;
                f32 mc0[2];
                const float2 wc0_0 = *(const float2*)&l_c0[now * 640u + (q * 4u + z) * 20u + x * 2u + 0u];
                mc0[0] = wc0_0.x; mc0[1] = wc0_0.y;
                #pragma unroll
                for (u32 i = 0u; i < 2u; ++i) {
                    #pragma unroll
                    for (u32 j = 0u; j < 2u; ++j) {
                        s0[i][j] = fmaf(mr0[i], mc0[j], s0[i][j]);
                    }
                }
            }
        }
        now ^= 1u;
        if (k0 < size1) {
            #pragma unroll
            for (u32 e = 0u; e < 2u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
                l_r0[now * 640u + deep * 20u + along] = r0[e];
            }
            #pragma unroll
            for (u32 e = 0u; e < 2u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 16u, along = at % 16u;
                l_c0[now * 640u + deep * 20u + along] = c0[e];
            }
        }
        __syncthreads();
    }
    {
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                l_s0[z * 256u + (i / 2u * 16u + y * 2u + i % 2u) * 16u + j / 2u * 16u + x * 2u + j % 2u] = s0[i][j];
            }
        }
        __syncthreads();
        for (u32 e = t; e < 256u; e += 256u) {
            const i32 i = row0 + (i32)(e / 16u), j = column0 + (i32)(e % 16u);
            if (i < size7 && j < size8) {
                const i32 a0 = (i32)i;
                const i32 a1 = (i32)j;
                f32 f0_0 = l_s0[e];
                #pragma unroll
                for (u32 n = 1u; n < 4u; ++n) {
                    const f32 o = l_s0[n * 256u + e];
                    f0_0 = f0_0 + o;
                }
                {
                    b2[a0 * size9 + a1] = f0_0;
                }
            }
        }
    }
}

extern "C" __global__ __launch_bounds__(128)
void k1_softmax(const f32* b0, f32* b1, const u32 size0, const u32 size1, const i32 size2, const i32 size3, const i32 size4) {
    BEGIN
    for (u32 p = (u32)blockIdx.x * 128u + (u32)threadIdx.x; p < size0; p += size1) {
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
        }
        f32 f1_0 = 0.0f, f1_0b = 0.0f, f1_0c = 0.0f;
        u32 n1 = 0u;
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 * size3 + a1];
            const f32 v2 = v0 - f0_0;
            const f32 v3 = expf(v2);
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
            const f32 v4 = expf(v2);
            const f32 v5 = v4 / f1_0;
            b1[a0 * size4 + a1] = v5;
        }
    }
}

extern "C" __global__ __launch_bounds__(32)
void k2_sum_true_divide_subtract(const f32* b0, f32* b1, const u32 size0, const u32 size1, const u32 size2, const i32 size3, const f32 size4, const i32 size5) {
    BEGIN
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    for (u32 p = (u32)blockIdx.x; p < size0; p += size1) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f, f0_0b = 0.0f, f0_0c = 0.0f;
        u32 n0 = 0u;
        {
            for (u32 r = y; r < size2; r += 32u) {
                const u32 q = r;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 * size3 + a1];
                f0_0b = f0_0b + v0;
                if ((++n0 & 127u) == 0u) {
                    f0_0c += f0_0b;
                    f0_0b = 0;
                    if ((n0 & 16383u) == 0u) {
                        f0_0 += f0_0c;
                        f0_0c = 0;
                    }
                }
            }
            f0_0 += f0_0c + f0_0b;
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
        }
        {
            const f32 v3 = f0_0 / size4;
            for (u32 r = y; r < size2; r += 32u) {
                const u32 q = r;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 * size3 + a1];
                const f32 v4 = v0 - v3;
                b1[a0 * size5 + a1] = v4;
            }
        }
    }
}

extern "C" __global__ __launch_bounds__(128)
void k3_sum(const f32* b0, f32* b1, const u32 size0, const u32 size1, const i32 size2, const i32 size3) {
    BEGIN
    for (u32 p = (u32)blockIdx.x * 128u + (u32)threadIdx.x; p < size0; p += size1) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f, f0_0b = 0.0f, f0_0c = 0.0f;
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < size2; ++a1) {
            const f32 v0 = b0[a0 + a1 * size3];
            f0_0b = f0_0b + v0;
            if ((++n0 & 127u) == 0u) {
                f0_0c += f0_0b;
                f0_0b = 0;
                if ((n0 & 16383u) == 0u) {
                    f0_0 += f0_0c;
                    f0_0c = 0;
                }
            }
        }
        f0_0 += f0_0c + f0_0b;
        {
            b1[a0] = f0_0;
        }
    }
}
