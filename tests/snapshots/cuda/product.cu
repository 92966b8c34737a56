typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;

extern "C" __global__ __launch_bounds__(128)
void k0_dot(const i32* b0, const i32* b1, i32* b2) {
    __shared__ i32 l_i32_0[128];
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 64u, y = t % 64u;
    {
        const u32 p0 = (u32)blockIdx.x * 2u;
        const u32 p = p0 + x;
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        i32 f0_0 = 0;
        for (u32 q = y; q < 33u; q += 64u) {
            const i32 a2 = (i32)q;
            const i32 v0 = b0[a0 * 33 + a2];
            const i32 v1 = b1[a1 + a2 * 70];
            const i32 v2 = (i32)((u32)v0 * (u32)v1);
            f0_0 = (i32)((u32)f0_0 + (u32)v2);
        }
        l_i32_0[t] = f0_0;
        __syncthreads();
        for (u32 s = 32u; s > 0u; s >>= 1) {
            if (y < s) {
                const i32 o0 = l_i32_0[t + s];
                f0_0 = (i32)((u32)f0_0 + (u32)o0);
                l_i32_0[t] = f0_0;
            }
            __syncthreads();
        }
        f0_0 = l_i32_0[t - y];
        __syncthreads();
        if (y == 0u) {
            b2[a0 * 70 + a1] = f0_0;
        }
    }
}
