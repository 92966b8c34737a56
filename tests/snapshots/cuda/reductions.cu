typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;

extern "C" __global__ __launch_bounds__(256)
void k0_sqr_sum_parts(const f32* b0, f32* b1) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        for (u32 q = y; q < 1000u; q += 256u) {
            const i32 a2 = (i32)q;
            const f32 v0 = b0[a0 * 1000 + a2];
            const f32 v1 = v0 * v0;
            f0_0 = f0_0 + v1;
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 128u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
                l_f32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_f32_0[t - y];
        __syncthreads();
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k1_sqr_sum(f32* b0, const f32* b1) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        for (u32 q = y; q < 1500u; q += 256u) {
            const i32 a0 = (i32)q;
            const f32 v0 = b1[a0];
            f0_0 = f0_0 + v0;
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 128u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
                l_f32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_f32_0[t - y];
        __syncthreads();
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
            for (u32 q = y; q < 3000u; q += 32u) {
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 500];
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 16u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = f0_0 + o0;
                l_f32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_f32_0[t - y * 8u];
        __syncthreads();
        if (live && y == 0u) {
            const f32 v1 = b1[0];
            const f32 v2 = f0_0 / v1;
            b2[a0] = v2;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k3_max(const f32* b0, f32* b1) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        for (u32 q = y; q < 500u; q += 256u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b0[a0 * 500 + a1];
            f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 128u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                l_f32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_f32_0[t - y];
        __syncthreads();
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k4_argmax(const f32* b0, i64* b1) {
    __shared__ f32 l_f32_0[256];
    __shared__ i64 l_i64_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        const i32 a0 = (i32)p;
        f32 f0_0v = __uint_as_float(0xff800000u);
        i64 f0_0 = 9223372036854775807LL;
        for (u32 q = y; q < 500u; q += 256u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b0[a0 * 500 + a1];
            if (v0 > f0_0v || (v0 == f0_0v && (i64)a1 < f0_0) || (v0 != v0 && (f0_0v == f0_0v || (i64)a1 < f0_0))) {
                f0_0v = v0;
                f0_0 = (i64)a1;
            }
        }
        l_f32_0[t] = f0_0v;
        l_i64_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 128u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                if (o0 > f0_0v || (o0 == f0_0v && l_i64_0[t + s] < f0_0) || (o0 != o0 && (f0_0v == f0_0v || l_i64_0[t + s] < f0_0))) {
                    f0_0v = o0;
                    f0_0 = l_i64_0[t + s];
                }
                l_f32_0[t] = f0_0v;
                l_i64_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_i64_0[t - y];
        __syncthreads();
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}
