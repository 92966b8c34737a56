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

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_dot_add(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    __local f32 l_r0[768] __attribute__((aligned(16)));
    __local f32 l_c0[1280] __attribute__((aligned(16)));
    __local f32 l_s0[1024] __attribute__((aligned(16)));
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u % 4u, z = t / 32u;
    const u32 tile = (u32)get_group_id(0);
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
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 8
    for (u32 q = 0u; q < 8u; ++q) {
        f32 mr0[2];
        const float2 wr0_0 = *(const __local float2*)&l_r0[(q * 8u + z) * 12u + y * 2u + 0u];
        mr0[0] = wr0_0.x; mr0[1] = wr0_0.y;
        f32 mc0[2];
        const float2 wc0_0 = *(const __local float2*)&l_c0[(q * 8u + z) * 20u + x * 2u + 0u];
        mc0[0] = wc0_0.x; mc0[1] = wc0_0.y;
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                s0[i][j] = fma_f32(mr0[i], mc0[j], s0[i][j]);
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
        barrier(CLK_LOCAL_MEM_FENCE);
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

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k1_log_softmax_exp_negative_scatter_sum(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const i64* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const i64*)((__global const u8*)b3 + byte3);
    __local f32 l_f32_0[32];
    __local f32 l_f32_1[32];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 16u, y = t % 16u;
    {
        const u32 p0 = (u32)get_group_id(0) * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 k0[1];
        f32 k1[1];
        f32 k2[1];
        f32 f0_0 = as_float(0xff800000u);
        f32 f0_1 = 0.0f;
        {
            const i64 v1 = b3[a0];
            const bool v4 = v1 < 0L;
            const i64 v5 = (i64)((u64)v1 + (u64)10L);
            const i64 v6 = v4 ? v5 : v1;
            const i64 v8 = (v6 > 0L || v6 != v6) ? v6 : 0L;
            const i64 v9 = (v8 < 9L || v8 != v8) ? v8 : 9L;
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
        l_f32_0[t] = f0_0;
        l_f32_1[t] = f0_1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 2u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 2u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                const f32 o1 = l_f32_1[t + s * 2u];
                f0_1 = f0_1 + o1;
            }
            l_f32_0[t] = f0_0;
            l_f32_1[t] = f0_1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            {
                const f32 o0 = l_f32_0[t + 1u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                const f32 o1 = l_f32_1[t + 1u];
                f0_1 = f0_1 + o1;
            }
            l_f32_0[t] = f0_0;
            l_f32_1[t] = f0_1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f0_0 = l_f32_0[t - y];
        f0_1 = l_f32_1[t - y];
        barrier(CLK_LOCAL_MEM_FENCE);
        f32 f1_0 = 0.0f;
        {
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v2 = k0[0] - f0_0;
                k2[0] = v2;
                const f32 v3 = exp(v2);
                f1_0 = f1_0 + v3;
            }
        }
        l_f32_0[t] = f1_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 2u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 2u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            {
                const f32 o0 = l_f32_0[t + 1u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f1_0 = l_f32_0[t - y];
        {
            const f32 v4 = log(f1_0);
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v5 = k2[0] - v4;
                const f32 v6 = exp(v5);
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

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k2_arange_gather_sum_subtract_true_divid(__global f32* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    __local f32 l_f32_0[64];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 64u + y;
                const i32 a0 = (i32)q;
                const i64 v3 = (i64)((u64)(i64)a0 * (u64)1L);
                const i64 v4 = (i64)((u64)0L + (u64)v3);
                const bool v6 = v4 < 0L;
                const i64 v7 = (i64)((u64)v4 + (u64)128L);
                const i64 v8 = v6 ? v7 : v4;
                const i64 v10 = (v8 > 0L || v8 != v8) ? v8 : 0L;
                const i64 v11 = (v10 < 127L || v10 != v10) ? v10 : 127L;
                const i64 v12 = b1[a0];
                const bool v14 = v12 < 0L;
                const i64 v15 = (i64)((u64)v12 + (u64)10L);
                const i64 v16 = v14 ? v15 : v12;
                const i64 v18 = (v16 > 0L || v16 != v16) ? v16 : 0L;
                const i64 v19 = (v18 < 9L || v18 != v18) ? v18 : 9L;
                const f32 v20 = b2[(i32)v11 * 10 + (i32)v19];
                f0_0 = f0_0 + v20;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 8u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
            }
        }
        if (y == 0u) {
            const f32 v2 = 0.0f - f0_0;
            const f32 v4 = v2 / 128.0f;
            b0[0] = v4;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k3_dot_multiply_subtract(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
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
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
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

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k4_sum_multiply_subtract(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
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
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
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
