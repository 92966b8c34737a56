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
void k0_dot_add(const f32* b0, const f32* b1, const f32* b2, f32* b3) {
    BEGIN
    __shared__ alignas(16) f32 l_r0[768];
    __shared__ alignas(16) f32 l_c0[1280];
    __shared__ alignas(16) f32 l_s0[1024];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u % 4u, z = t / 32u;
    const u32 tile = (u32)blockIdx.x;
    const i32 row0 = (i32)(tile / 1u) * 8;
    const i32 column0 = (i32)(tile % 1u) * 16;
    f32 s0[2][2];
    #pragma unroll
    for (u32 i = 0u; i < 2u; ++i) {
        #pragma unroll
        for (u32 j = 0u; j < 2u; ++j) {
            s0[i][j] = 0;
        }
    }
    f32 r0[2];
    f32 c0[4];
    const i32 k0 = 0;
    #pragma unroll
    for (u32 e = 0u; e < 2u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 64u * 8u + at % 8u, along = at / 8u % 8u;
        const i32 i = row0 + (i32)along, k = k0 + (i32)deep;
        const i32 a0 = (i32)i;
        const i32 a2 = (i32)k;
        const f32 v0 = b0[a0 * 64 + a2];
        r0[e] = v0;
    }
    #pragma unroll
    for (u32 e = 0u; e < 4u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 16u, along = at % 16u;
        const i32 i = min(column0 + (i32)along, (i32)9), k = k0 + (i32)deep;
        const i32 a1 = (i32)i;
        const i32 a2 = (i32)k;
        const f32 v1 = b1[a1 + a2 * 10];
        c0[e] = v1;
    }
    #pragma unroll
    for (u32 e = 0u; e < 2u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 64u * 8u + at % 8u, along = at / 8u % 8u;
        l_r0[deep * 12u + along] = r0[e];
    }
    #pragma unroll
    for (u32 e = 0u; e < 4u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 16u, along = at % 16u;
        l_c0[deep * 20u + along] = c0[e];
    }
    __syncthreads();
    #pragma unroll 8
    for (u32 q = 0u; q < 8u; ++q) {
        f32 mr0[2];
        const float2 wr0_0 = *(const float2*)&l_r0[(q * 8u + z) * 12u + y * 2u + 0u];
        mr0[0] = wr0_0.x; mr0[1] = wr0_0.y;
        f32 mc0[2];
        const float2 wc0_0 = *(const float2*)&l_c0[(q * 8u + z) * 20u + x * 2u + 0u];
        mc0[0] = wc0_0.x; mc0[1] = wc0_0.y;
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                s0[i][j] = fmaf(mr0[i], mc0[j], s0[i][j]);
            }
        }
    }
    {
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                l_s0[z * 128u + (i / 2u * 8u + y * 2u + i % 2u) * 16u + j / 2u * 16u + x * 2u + j % 2u] = s0[i][j];
            }
        }
        __syncthreads();
        for (u32 e = t; e < 128u; e += 256u) {
            const i32 i = row0 + (i32)(e / 16u), j = column0 + (i32)(e % 16u);
            if (j < 10) {
                const i32 a0 = (i32)i;
                const i32 a1 = (i32)j;
                f32 f0_0 = l_s0[e];
                #pragma unroll
                for (u32 n = 1u; n < 8u; ++n) {
                    const f32 o = l_s0[n * 128u + e];
                    f0_0 = f0_0 + o;
                }
                {
                    const f32 v1 = b2[a1];
                    const f32 v2 = f0_0 + v1;
                    b3[a0 * 10 + a1] = v2;
                }
            }
        }
    }
}

extern "C" __global__ __launch_bounds__(32)
void k1_log_softmax_exp_negative_scatter_sum(const f32* b0, f32* b1, f32* b2, const i64* b3) {
    BEGIN
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 16u, y = t % 16u;
    {
        const u32 p0 = (u32)blockIdx.x * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 k0[1];
        f32 k1[1];
        f32 k2[1];
        f32 f0_0 = __uint_as_float(0xff800000u);
        f32 f0_1 = 0.0f;
        {
            const i64 v1 = b3[a0];
            const bool v4 = v1 < 0LL;
            const i64 v5 = (i64)((u64)v1 + (u64)10LL);
            const i64 v6 = v4 ? v5 : v1;
            const i64 v8 = (v6 > 0LL || v6 != v6) ? v6 : 0LL;
            const i64 v9 = (v8 < 9LL || v8 != v8) ? v8 : 9LL;
            const f32 v13 = -0x1.0p-7f;
            const f32 v15 = 0.0f + v13;
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 * 10 + a1];
                k0[0] = v0;
                const bool v11 = (i64)a1 == v9;
                const f32 v16 = v11 ? v15 : 0.0f;
                k1[0] = v16;
                f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
                f0_1 = f0_1 + v16;
            }
        }
        #pragma unroll
        for (u32 s = 8u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            const f32 o1 = __shfl_xor_sync(0xffffffffu, f0_1, s);
            f0_1 = f0_1 + o1;
        }
        f0_0 = __shfl_sync(0xffffffffu, f0_0, 0, 16);
        f32 f1_0 = 0.0f;
        {
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v2 = k0[0] - f0_0;
                k2[0] = v2;
                const f32 v3 = expf(v2);
                f1_0 = f1_0 + v3;
            }
        }
        #pragma unroll
        for (u32 s = 8u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f1_0, s);
            f1_0 = f1_0 + o0;
        }
        {
            const f32 v4 = logf(f1_0);
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v5 = k2[0] - v4;
                const f32 v6 = expf(v5);
                const f32 v8 = v6 * f0_1;
                const f32 v25 = k1[0] - v8;
                b1[a0 * 10 + a1] = v5;
                b2[a0 * 10 + a1] = v25;
            }
        }
        if (y == 0u) {
        }
    }
}

extern "C" __global__ __launch_bounds__(64)
void k2_arange_gather_sum_subtract_true_divid(f32* b0, const i64* b1, const f32* b2) {
    BEGIN
    __shared__ f32 lf0_0[2];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 64u + y;
                const i32 a0 = (i32)q;
                const i64 v3 = (i64)((u64)(i64)a0 * (u64)1LL);
                const i64 v4 = (i64)((u64)0LL + (u64)v3);
                const bool v6 = v4 < 0LL;
                const i64 v7 = (i64)((u64)v4 + (u64)128LL);
                const i64 v8 = v6 ? v7 : v4;
                const i64 v10 = (v8 > 0LL || v8 != v8) ? v8 : 0LL;
                const i64 v11 = (v10 < 127LL || v10 != v10) ? v10 : 127LL;
                const i64 v12 = b1[a0];
                const bool v14 = v12 < 0LL;
                const i64 v15 = (i64)((u64)v12 + (u64)10LL);
                const i64 v16 = v14 ? v15 : v12;
                const i64 v18 = (v16 > 0LL || v16 != v16) ? v16 : 0LL;
                const i64 v19 = (v18 < 9LL || v18 != v18) ? v18 : 9LL;
                const f32 v20 = b2[(i32)v11 * 10 + (i32)v19];
                f0_0 = f0_0 + v20;
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
        f0_0 = lf0_0[y & 1u];
        #pragma unroll
        for (u32 s = 1u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            const f32 v2 = 0.0f - f0_0;
            const f32 v4 = v2 / 128.0f;
            b0[0] = v4;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k3_dot_multiply_subtract(const f32* b0, const f32* b1, const f32* b2, f32* b3) {
    BEGIN
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const i32 a1 = (i32)(p % 10u);
        const i32 a0 = (i32)(p / 10u);
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 4u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a2 = (i32)q;
                const f32 v0 = b0[a0 + a2 * 64];
                const f32 v1 = b1[a1 + a2 * 10];
                const f32 v2 = v0 * v1;
                f0_0 = f0_0 + v2;
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
        if (y == 0u) {
            const f32 v2 = 0x1.99999ap-4f * f0_0;
            const f32 v3 = b2[a0 * 10 + a1];
            const f32 v4 = v3 - v2;
            b3[a0 * 10 + a1] = v4;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k4_sum_multiply_subtract(const f32* b0, const f32* b1, f32* b2) {
    BEGIN
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const bool live = p < 10u;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        if (live) {
            #pragma unroll
            for (u32 r = 0u; r < 4u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 10];
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
            const f32 v2 = 0x1.99999ap-4f * f0_0;
            const f32 v3 = b1[a0];
            const f32 v4 = v3 - v2;
            b2[a0] = v4;
        }
    }
}
