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
void k0_dot_add_tanh(const f32* b0, const f32* b1, const f32* b2, f32* b3) {
    BEGIN
    __shared__ alignas(16) f32 l_r0[3840];
    __shared__ alignas(16) f32 l_c0[3840];
    __shared__ alignas(16) f32 l_s0[2048];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 2u, y = t / 2u % 4u, z = t / 8u;
    const u32 tile = (u32)blockIdx.x;
    const i32 row0 = (i32)(tile / 63u) * 8;
    const i32 column0 = (i32)(tile % 63u) * 8;
    f32 s0[2][4];
    #pragma unroll
    for (u32 i = 0u; i < 2u; ++i) {
        #pragma unroll
        for (u32 j = 0u; j < 4u; ++j) {
            s0[i][j] = 0;
        }
    }
    f32 r0[5];
    f32 c0[5];
    u32 now = 0u;
    for (i32 k0 = 0; k0 <= 800; k0 += 160) {
        if (k0 < 800) {
            #pragma unroll
            for (u32 e = 0u; e < 5u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 64u * 8u + at % 8u, along = at / 8u % 8u;
                const i32 i = min(row0 + (i32)along, (i32)19), k = min(k0 + (i32)deep, (i32)783);
                const i32 a0 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v0 = b0[a0 * 784 + a2];
                r0[e] = k0 + (i32)deep > 783 ? 0 : v0;
            }
            #pragma unroll
            for (u32 e = 0u; e < 5u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 8u, along = at % 8u;
                const i32 i = min(column0 + (i32)along, (i32)499), k = min(k0 + (i32)deep, (i32)783);
                const i32 a1 = (i32)i;
                const i32 a2 = (i32)k;
                const f32 v1 = b1[a1 + a2 * 500];
                c0[e] = k0 + (i32)deep > 783 ? 0 : v1;
            }
        }
        if (k0 > 0) {
            #pragma unroll 5
            for (u32 q = 0u; q < 5u; ++q) {
                f32 mr0[2];
                const float2 wr0_0 = *(const float2*)&l_r0[now * 1920u + (q * 32u + z) * 12u + y * 2u + 0u];
                mr0[0] = wr0_0.x; mr0[1] = wr0_0.y;
                f32 mc0[4];
                const float4 wc0_0 = *(const float4*)&l_c0[now * 1920u + (q * 32u + z) * 12u + x * 4u + 0u];
                mc0[0] = wc0_0.x; mc0[1] = wc0_0.y; mc0[2] = wc0_0.z; mc0[3] = wc0_0.w;
                #pragma unroll
                for (u32 i = 0u; i < 2u; ++i) {
                    #pragma unroll
                    for (u32 j = 0u; j < 4u; ++j) {
                        s0[i][j] = fmaf(mr0[i], mc0[j], s0[i][j]);
                    }
                }
            }
        }
        now ^= 1u;
        if (k0 < 800) {
            #pragma unroll
            for (u32 e = 0u; e < 5u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 64u * 8u + at % 8u, along = at / 8u % 8u;
                l_r0[now * 1920u + deep * 12u + along] = r0[e];
            }
            #pragma unroll
            for (u32 e = 0u; e < 5u; ++e) {
                const u32 at = t + e * 256u;
                const u32 deep = at / 8u, along = at % 8u;
                l_c0[now * 1920u + deep * 12u + along] = c0[e];
            }
        }
        __syncthreads();
    }
    {
        #pragma unroll
        for (u32 i = 0u; i < 2u; ++i) {
            #pragma unroll
            for (u32 j = 0u; j < 4u; ++j) {
                l_s0[z * 64u + (i / 2u * 8u + y * 2u + i % 2u) * 8u + j / 4u * 8u + x * 4u + j % 4u] = s0[i][j];
            }
        }
        __syncthreads();
        for (u32 e = t; e < 64u; e += 256u) {
            const i32 i = row0 + (i32)(e / 8u), j = column0 + (i32)(e % 8u);
            if (i < 20 && j < 500) {
                const i32 a0 = (i32)i;
                const i32 a1 = (i32)j;
                f32 f0_0 = l_s0[e];
                #pragma unroll
                for (u32 n = 1u; n < 32u; ++n) {
                    const f32 o = l_s0[n * 64u + e];
                    f0_0 = f0_0 + o;
                }
                {
                    const f32 v1 = b2[a1];
                    const f32 v2 = f0_0 + v1;
                    const f32 v3 = tanhf(v2);
                    b3[a0 * 500 + a1] = v3;
                }
            }
        }
    }
}
