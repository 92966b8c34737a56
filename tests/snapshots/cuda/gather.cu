typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
struct alignas(16) i64x2 { i64 e[2]; };

extern "C" __global__ __launch_bounds__(32)
void k0_arange_gather_sum_true_divide(i64* b0, const i64* b1, const f32* b2, const i64* b3, const i64* b4, const f32* b5, f32* b6) {
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[2];
            #pragma unroll
            for (i32 l = 0; l < 2; ++l) {
                s0_0[l] = 0.0f;
            }
            const i64 v0 = b3[0];
            const i64 v1 = b4[0];
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a0 = (i32)q * 2;
                const i64x2 x17 = *(const i64x2*)(b1 + a0);
                #pragma unroll
                for (i32 l = 0; l < 2; ++l) {
                    const i64 v3 = (i64)((u64)(i64)(a0 + l) * (u64)v1);
                    const i64 v4 = (i64)((u64)v0 + (u64)v3);
                    const bool v7 = v4 < 0LL;
                    const i64 v8 = (i64)((u64)v4 + (u64)128LL);
                    const i64 v9 = v7 ? v8 : v4;
                    const bool v10 = v9 < 0LL;
                    const bool v11 = v9 >= 128LL;
                    const bool v12 = v10 || v11;
                    const i64 v15 = (v9 > 0LL || v9 != v9) ? v9 : 0LL;
                    const i64 v16 = (v15 < 127LL || v15 != v15) ? v15 : 127LL;
                    const i64 v17 = x17.e[l];
                    const bool v19 = v17 < 0LL;
                    const i64 v20 = (i64)((u64)v17 + (u64)10LL);
                    const i64 v21 = v19 ? v20 : v17;
                    const bool v22 = v21 < 0LL;
                    const bool v23 = v21 >= 10LL;
                    const bool v24 = v22 || v23;
                    const i64 v26 = (v21 > 0LL || v21 != v21) ? v21 : 0LL;
                    const i64 v27 = (v26 < 9LL || v26 != v26) ? v26 : 9LL;
                    const f32 v28 = b2[(i32)v16 * 10 + (i32)v27];
                    s0_0[l] = s0_0[l] + v28;
                    if (v12) b0[0] = 3LL;
                    if (v24) b0[0] = 3LL;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 2; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            const f32 v1 = b5[0];
            const f32 v2 = f0_0 / v1;
            b6[0] = v2;
        }
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_gather(const i64* b0, i64* b1, const f32* b2, f32* b3) {
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 2048u) {
        const i32 a1 = (i32)(p % 16u);
        const i32 a0 = (i32)(p / 16u);
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0LL;
        const i64 v4 = (i64)((u64)v0 + (u64)1000LL);
        const i64 v5 = v3 ? v4 : v0;
        const bool v6 = v5 < 0LL;
        const bool v7 = v5 >= 1000LL;
        const bool v8 = v6 || v7;
        const i64 v11 = (v5 > 0LL || v5 != v5) ? v5 : 0LL;
        const i64 v12 = (v11 < 999LL || v11 != v11) ? v11 : 999LL;
        const f32 v13 = b2[a1 + (i32)v12 * 16];
        if (v8) b1[0] = 9LL;
        b3[a0 * 16 + a1] = v13;
    }
}
