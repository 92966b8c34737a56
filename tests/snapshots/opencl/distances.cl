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
void k0_subtract_sqr_sum_sqrt(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    __local f32 l_r0[800] __attribute__((aligned(16)));
    __local f32 l_c0[800] __attribute__((aligned(16)));
    __local f32 l_s0[1024] __attribute__((aligned(16)));
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u % 8u, z = t / 64u;
    const u32 tile = (u32)get_group_id(0);
    const i32 row0 = (i32)(tile / 10u) * 16;
    const i32 column0 = (i32)(tile % 10u) * 16;
    f32 s0[2][2];
    #pragma unroll
    for (u32 i = 0u; i < 2u; ++i) {
        #pragma unroll
        for (u32 j = 0u; j < 2u; ++j) {
            s0[i][j] = 0;
        }
    }
    f32 r0[3];
    f32 c0[3];
    const i32 k0 = 0;
    #pragma unroll
    for (u32 e = 0u; e < 3u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
        const i32 i = min(row0 + (i32)along, (i32)149), k = min(k0 + (i32)deep, (i32)36);
        const i32 a0 = (i32)i;
        const i32 a2 = (i32)k;
        const f32 v0 = b1[a0 * 37 + a2];
        r0[e] = k0 + (i32)deep > 36 ? 0 : v0;
    }
    #pragma unroll
    for (u32 e = 0u; e < 3u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
        const i32 i = min(column0 + (i32)along, (i32)149), k = min(k0 + (i32)deep, (i32)36);
        const i32 a1 = (i32)i;
        const i32 a2 = (i32)k;
        const f32 v1 = b1[a1 * 37 + a2];
        c0[e] = k0 + (i32)deep > 36 ? 0 : v1;
    }
    #pragma unroll
    for (u32 e = 0u; e < 3u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
        if (at < 640u) l_r0[deep * 20u + along] = r0[e];
    }
    #pragma unroll
    for (u32 e = 0u; e < 3u; ++e) {
        const u32 at = t + e * 256u;
        const u32 deep = at / 128u * 8u + at % 8u, along = at / 8u % 16u;
        if (at < 640u) l_c0[deep * 20u + along] = c0[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 10
    for (u32 q = 0u; q < 10u; ++q) {
        f32 mr0[2];
        const float2 wr0_0 = *(const __local float2*)&l_r0[(q * 4u + z) * 20u + y * 2u + 0u];
        mr0[0] = wr0_0.x; mr0[1] = wr0_0.y;
        f32 mc0[2];
        const float2 wc0_0 = *(const __local float2*)&l_c0[(q * 4u + z) * 20u + x * 2u + 0u];
        mc0[0] = wc0_0.x; mc0[1] = wc0_0.y;
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                { const f32 v2 = mr0[i] - mc0[j]; s0[i][j] = fma_f32(v2, v2, s0[i][j]); }
            }
        }
    }
    {
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 2u; ++j) {
                l_s0[z * 256u + (i / 2u * 16u + y * 2u + i % 2u) * 16u + j / 2u * 16u + x * 2u + j % 2u] = s0[i][j];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (u32 e = t; e < 256u; e += 256u) {
            const i32 i = row0 + (i32)(e / 16u), j = column0 + (i32)(e % 16u);
            if (i < 150 && j < 150) {
                const i32 a0 = (i32)i;
                const i32 a1 = (i32)j;
                f32 f0_0 = l_s0[e];
                #pragma unroll
                for (u32 n = 1u; n < 4u; ++n) {
                    const f32 o = l_s0[n * 256u + e];
                    f0_0 = f0_0 + o;
                }
                {
                    const f32 v1 = sqrt(f0_0);
                    b0[a0 * 150 + a1] = v1;
                }
            }
        }
    }
}
