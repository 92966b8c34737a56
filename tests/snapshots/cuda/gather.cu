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

extern "C" __global__ __launch_bounds__(64)
void k0_arange_gather_sum_true_divide(f32* b0, i64* b1, const i64* b2, const f32* b3) {
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
                const bool v9 = v8 < 0LL;
                const bool v10 = v8 >= 128LL;
                const bool v11 = v9 || v10;
                const i64 v14 = (v8 > 0LL || v8 != v8) ? v8 : 0LL;
                const i64 v15 = (v14 < 127LL || v14 != v14) ? v14 : 127LL;
                const i64 v16 = b2[a0];
                const bool v18 = v16 < 0LL;
                const i64 v19 = (i64)((u64)v16 + (u64)10LL);
                const i64 v20 = v18 ? v19 : v16;
                const bool v21 = v20 < 0LL;
                const bool v22 = v20 >= 10LL;
                const bool v23 = v21 || v22;
                const i64 v25 = (v20 > 0LL || v20 != v20) ? v20 : 0LL;
                const i64 v26 = (v25 < 9LL || v25 != v25) ? v25 : 9LL;
                const f32 v27 = b3[(i32)v15 * 10 + (i32)v26];
                f0_0 = f0_0 + v27;
                if (v11) b1[0] = 3LL;
                if (v23) b1[0] = 3LL;
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
            const f32 v2 = f0_0 / 128.0f;
            b0[0] = v2;
        }
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_gather(const i64* b0, i64* b1, const f32* b2, f32* b3) {
    BEGIN
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
        if (v8) b1[0] = 8LL;
        b3[a0 * 16 + a1] = v13;
    }
}
