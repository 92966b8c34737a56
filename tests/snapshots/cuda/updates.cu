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
void k0_sum(const f32* b0, f32* b1) {
    BEGIN
    __shared__ f32 lf0_0[8];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            {
                const u32 q = y;
                const i32 a0 = (i32)q;
                const f32 v0 = b0[a0];
                f0_0 = f0_0 + v0;
            }
            if (y < 244u) {
                const u32 q = 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b0[a0];
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
            b1[0] = f0_0;
        }
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_multiply_add_multiply_subtract(const f32* b0, f32* b1, const f32* b2, const f32* b3, f32* b4, const f32* b5) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 500u) {
        const i32 a0 = (i32)p;
        const f32 v0 = b0[a0];
        const f32 v2 = b2[a0];
        const f32 v4 = 0x1.47ae14p-7f * v0;
        const f32 v5 = v2 + v4;
        const f32 v6 = 0x1.99999ap-4f * v5;
        const f32 v7 = v0 - v6;
        const f32 v8 = b3[a0];
        const f32 v9 = b5[a0];
        const f32 v10 = 0x1.47ae14p-7f * v8;
        const f32 v11 = v9 + v10;
        const f32 v12 = 0x1.99999ap-4f * v11;
        const f32 v13 = v8 - v12;
        b1[a0] = v7;
        b4[a0] = v13;
    }
}

extern "C" __global__ __launch_bounds__(64)
void k2_multiply_add_multiply_subtract(const f32* b0, f32* b1, const f32* b2, const f32* b3, f32* b4, const f32* b5) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 500u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[a1];
        const f32 v2 = b2[a1];
        const f32 v4 = 0x1.47ae14p-7f * v0;
        const f32 v5 = v2 + v4;
        const f32 v6 = 0x1.99999ap-4f * v5;
        const f32 v7 = v0 - v6;
        const f32 v8 = b3[a1];
        const f32 v9 = b5[a1];
        const f32 v10 = 0x1.47ae14p-7f * v8;
        const f32 v11 = v9 + v10;
        const f32 v12 = 0x1.99999ap-4f * v11;
        const f32 v13 = v8 - v12;
        b1[a1] = v7;
        b4[a1] = v13;
    }
}
