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
struct alignas(16) f32x4 { f32 e[4]; };

extern "C" __global__ __launch_bounds__(256)
void k0_sqr_sum_parts(const f32* b0, f32* b1) {
    BEGIN
    __shared__ f32 lf0_0[8];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 128u, y = t % 128u;
    {
        const u32 p0 = (u32)blockIdx.x * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = 0.0f;
            }
            {
                const u32 q = y;
                const i32 a2 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 1000 + a2);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v1 = v0 * v0;
                    s0_0[l] = s0_0[l] + v1;
                }
            }
            if (y < 122u) {
                const u32 q = 128u + y;
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
        if ((t & 31u) == 0u) {
            lf0_0[t >> 5] = f0_0;
        }
        __syncthreads();
        f0_0 = lf0_0[((t - y) >> 5) + (y & 3u)];
        #pragma unroll
        for (u32 s = 2u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k1_sqr_sum(f32* b0, const f32* b1) {
    BEGIN
    __shared__ f32 lf0_0[8];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 5u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b1[a0];
                f0_0 = f0_0 + v0;
            }
            if (y < 220u) {
                const u32 q = 1280u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b1[a0];
                f0_0 = f0_0 + v0;
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
        f0_0 = lf0_0[y & 7u];
        #pragma unroll
        for (u32 s = 4u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = f0_0 + o0;
        }
        if (y == 0u) {
            b0[0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k2_sum_true_divide(const f32* b0, f32* b1) {
    BEGIN
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
            const f32 v2 = f0_0 / 3000.0f;
            b1[a0] = v2;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k3_max_argmax(const f32* b0, f32* b1, i64* b2) {
    BEGIN
    __shared__ f32 lf0_0[8];
    __shared__ f32 lf0_1v[8];
    __shared__ i64 lf0_1[8];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 64u, y = t % 64u;
    {
        const u32 p0 = (u32)blockIdx.x * 4u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        f32 f0_1v = __uint_as_float(0xff800000u);
        i64 f0_1 = 9223372036854775807LL;
        {
            f32 s0_0[4];
            f32 s0_1v[4];
            i64 s0_1[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = __uint_as_float(0xff800000u);
                s0_1v[l] = __uint_as_float(0xff800000u);
                s0_1[l] = 9223372036854775807LL;
            }
            {
                const u32 q = y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807LL;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)(a1 + l) : s0_1[l];
                    }
                }
            }
            if (y < 61u) {
                const u32 q = 64u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807LL;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)(a1 + l) : s0_1[l];
                    }
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
                if (s0_1v[l] > f0_1v || (s0_1v[l] == f0_1v && s0_1[l] < f0_1) || (s0_1v[l] != s0_1v[l] && (f0_1v == f0_1v || s0_1[l] < f0_1))) {
                    f0_1v = s0_1v[l];
                    f0_1 = s0_1[l];
                }
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            const f32 o1 = __shfl_xor_sync(0xffffffffu, f0_1v, s);
            const i64 i1 = __shfl_xor_sync(0xffffffffu, f0_1, s);
            if (o1 > f0_1v || (o1 == f0_1v && i1 < f0_1) || (o1 != o1 && (f0_1v == f0_1v || i1 < f0_1))) {
                f0_1v = o1;
                f0_1 = i1;
            }
        }
        if ((t & 31u) == 0u) {
            lf0_0[t >> 5] = f0_0;
            lf0_1v[t >> 5] = f0_1v;
            lf0_1[t >> 5] = f0_1;
        }
        __syncthreads();
        f0_0 = lf0_0[((t - y) >> 5) + (y & 1u)];
        f0_1v = lf0_1v[((t - y) >> 5) + (y & 1u)];
        f0_1 = lf0_1[((t - y) >> 5) + (y & 1u)];
        #pragma unroll
        for (u32 s = 1u; s > 0u; s >>= 1) {
            const f32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            const f32 o1 = __shfl_xor_sync(0xffffffffu, f0_1v, s);
            const i64 i1 = __shfl_xor_sync(0xffffffffu, f0_1, s);
            if (o1 > f0_1v || (o1 == f0_1v && i1 < f0_1) || (o1 != o1 && (f0_1v == f0_1v || i1 < f0_1))) {
                f0_1v = o1;
                f0_1 = i1;
            }
        }
        if (y == 0u) {
            b1[a0] = f0_0;
            b2[a0] = f0_1;
        }
    }
}
