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
void k0_multiply_softmax(f32* b0, const f32* b1) {
    BEGIN
    __shared__ f32 lf0_0[8];
    __shared__ f32 lf1_0[8];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        const i32 a0 = (i32)p;
        f32 k0[4];
        f32 k1[4];
        f32 f0_0 = __uint_as_float(0xff800000u);
        {
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b1[a0 * 1000 + a1];
                const f32 v2 = v0 * 0.5f;
                k0[r] = v2;
                f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b1[a0 * 1000 + a1];
                const f32 v2 = v0 * 0.5f;
                k0[3] = v2;
                f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
        }
        if ((t & 31u) == 0u) {
            lf0_0[t >> 5] = f0_0;
        }
        __syncthreads();
        f0_0 = lf0_0[y & 7u];
        #pragma unroll
        for (u32 s = 4u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
        }
        f0_0 = __shfl_sync(0xffffffffu, f0_0, 0, 32);
        f32 f1_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v4 = k0[r] - f0_0;
                const f32 v5 = expf(v4);
                k1[r] = v5;
                f1_0 = f1_0 + v5;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v4 = k0[3] - f0_0;
                const f32 v5 = expf(v4);
                k1[3] = v5;
                f1_0 = f1_0 + v5;
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f1_0, s);
            f1_0 = f1_0 + o0;
        }
        if ((t & 31u) == 0u) {
            lf1_0[t >> 5] = f1_0;
        }
        __syncthreads();
        f1_0 = lf1_0[y & 7u];
        #pragma unroll
        for (u32 s = 4u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f1_0, s);
            f1_0 = f1_0 + o0;
        }
        {
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v7 = k1[r] / f1_0;
                b0[a0 * 1000 + a1] = v7;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v7 = k1[3] / f1_0;
                b0[a0 * 1000 + a1] = v7;
            }
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k1_log_softmax(const f32* b0, f32* b1) {
    BEGIN
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        {
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
            }
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        __syncthreads();
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        __syncthreads();
        f0_0 = l_f32_0[t - y * 8u];
        __syncthreads();
        f32 f1_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v3 = expf(v2);
                f1_0 = f1_0 + v3;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v3 = expf(v2);
                f1_0 = f1_0 + v3;
            }
        }
        l_f32_0[t] = f1_0;
        __syncthreads();
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        __syncthreads();
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        __syncthreads();
        f1_0 = l_f32_0[t - y * 8u];
        {
            const f32 v4 = logf(f1_0);
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v5 = v2 - v4;
                b1[a0 + a1 * 1000] = v5;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v5 = v2 - v4;
                b1[a0 + a1 * 1000] = v5;
            }
        }
    }
}
