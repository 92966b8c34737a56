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
void k0_multiply_softmax(f32* b0, const f32* b1, const f32* b2) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        for (u32 q = y; q < 1000u; q += 256u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b1[a0 * 1000 + a1];
            const f32 v1 = b2[0];
            const f32 v2 = v0 * v1;
            f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
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
        f32 f1_0 = 0.0f;
        for (u32 q = y; q < 1000u; q += 256u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b1[a0 * 1000 + a1];
            const f32 v1 = b2[0];
            const f32 v2 = v0 * v1;
            const f32 v4 = v2 - f0_0;
            const f32 v5 = expf(v4);
            f1_0 = f1_0 + v5;
        }
        l_f32_0[t] = f1_0;
        __syncthreads();
        for (u32 s = 128u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s];
                f1_0 = f1_0 + o0;
                l_f32_0[t] = f1_0;
            }
            __syncthreads();
        }
        f1_0 = l_f32_0[t - y];
        __syncthreads();
        for (u32 q = y; q < 1000u; q += 256u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b1[a0 * 1000 + a1];
            const f32 v1 = b2[0];
            const f32 v2 = v0 * v1;
            const f32 v4 = v2 - f0_0;
            const f32 v6 = expf(v4);
            const f32 v7 = v6 / f1_0;
            b0[a0 * 1000 + a1] = v7;
        }
    }
}

extern "C" __global__ __launch_bounds__(256)
void k1_log_softmax(const f32* b0, f32* b1) {
    __shared__ f32 l_f32_0[256];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = __uint_as_float(0xff800000u);
        for (u32 q = y; q < 200u; q += 32u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b0[a0 + a1 * 1000];
            f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
        }
        l_f32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 16u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                l_f32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_f32_0[t - y * 8u];
        __syncthreads();
        f32 f1_0 = 0.0f;
        for (u32 q = y; q < 200u; q += 32u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b0[a0 + a1 * 1000];
            const f32 v2 = v0 - f0_0;
            const f32 v3 = expf(v2);
            f1_0 = f1_0 + v3;
        }
        l_f32_0[t] = f1_0;
        __syncthreads();
        for (u32 s = 16u; s > 0u; s >>= 1) {
            if (y < s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f1_0 = f1_0 + o0;
                l_f32_0[t] = f1_0;
            }
            __syncthreads();
        }
        f1_0 = l_f32_0[t - y * 8u];
        __syncthreads();
        for (u32 q = y; q < 200u; q += 32u) {
            const i32 a1 = (i32)q;
            const f32 v0 = b0[a0 + a1 * 1000];
            const f32 v2 = v0 - f0_0;
            const f32 v4 = logf(f1_0);
            const f32 v5 = v2 - v4;
            b1[a0 + a1 * 1000] = v5;
        }
    }
}
