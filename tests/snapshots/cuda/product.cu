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
void k0_dot(const i32* b0, const i32* b1, i32* b2) {
    const u32 t = (u32)threadIdx.x;
    const u32 x = t / 32u, y = t % 32u;
    {
        const u32 p0 = (u32)blockIdx.x * 8u;
        const u32 p = p0 + x;
        const bool live = p < 9100u;
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        i32 f0_0 = 0;
        if (live) {
            {
                const u32 q = y;
                const i32 a2 = (i32)q;
                const i32 v0 = b0[a0 * 33 + a2];
                const i32 v1 = b1[a1 + a2 * 70];
                const i32 v2 = (i32)((u32)v0 * (u32)v1);
                f0_0 = (i32)((u32)f0_0 + (u32)v2);
            }
            if (y < 1u) {
                const u32 q = 32u + y;
                const i32 a2 = (i32)q;
                const i32 v0 = b0[a0 * 33 + a2];
                const i32 v1 = b1[a1 + a2 * 70];
                const i32 v2 = (i32)((u32)v0 * (u32)v1);
                f0_0 = (i32)((u32)f0_0 + (u32)v2);
            }
        }
        #pragma unroll
        for (u32 s = 16u; s > 0u; s >>= 1) {
            const i32 o0 = __shfl_xor_sync(0xffffffffu, f0_0, s);
            f0_0 = (i32)((u32)f0_0 + (u32)o0);
        }
        if (live && y == 0u) {
            b2[a0 * 70 + a1] = f0_0;
        }
    }
}
