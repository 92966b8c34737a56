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
static __device__ __forceinline__ f32 f16_to_f32(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
static __device__ __forceinline__ u16 f32_to_f16(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
static __device__ __forceinline__ f32 round_f16(f32 x) {
    return f16_to_f32(f32_to_f16(x));
}
static __device__ __forceinline__ f32 bf16_to_f32(u16 h) {
    return __uint_as_float((u32)h << 16);
}
static __device__ __forceinline__ u16 f32_to_bf16(f32 x) {
    const u32 u = __float_as_uint(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
static __device__ __forceinline__ f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}

extern "C" __global__ __launch_bounds__(256)
void k0_sigmoid_multiply_cast_add_sum(u16* b0, const u16* b1, f32* b2, const u16* b3, u16* b4) {
    BEGIN
    __shared__ f32 lf0_0[8];
    const u32 t = (u32)threadIdx.x;
    const u32 y = t;
    {
        const u32 p = (u32)blockIdx.x;
        f32 f0_0 = 0.0f;
        {
            #pragma unroll 8
            for (u32 r = 0u; r < 16u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = f16_to_f32(b1[a0]);
                const f32 v1 = v0;
                const f32 v3 = -v1;
                const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                const f32 v5 = -v4;
                const f32 v6 = expf(v5);
                const bool v8 = v1 < 0.0f;
                const f32 v9 = v8 ? v6 : 1.0f;
                const f32 v10 = 1.0f + v6;
                const f32 v11 = v9 / v10;
                const f32 v12 = round_f16(v11);
                const f32 v14 = v12 * 0.5f;
                const f32 v15 = bf16_to_f32(b3[a0]);
                const f32 v16 = v15;
                const f32 v17 = v1 + v16;
                f0_0 = f0_0 + v16;
                b0[a0] = f32_to_f16(v14);
                b2[a0] = v17;
            }
            if (y < 3u) {
                const u32 q = 4096u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = f16_to_f32(b1[a0]);
                const f32 v1 = v0;
                const f32 v3 = -v1;
                const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                const f32 v5 = -v4;
                const f32 v6 = expf(v5);
                const bool v8 = v1 < 0.0f;
                const f32 v9 = v8 ? v6 : 1.0f;
                const f32 v10 = 1.0f + v6;
                const f32 v11 = v9 / v10;
                const f32 v12 = round_f16(v11);
                const f32 v14 = v12 * 0.5f;
                const f32 v15 = bf16_to_f32(b3[a0]);
                const f32 v16 = v15;
                const f32 v17 = v1 + v16;
                f0_0 = f0_0 + v16;
                b0[a0] = f32_to_f16(v14);
                b2[a0] = v17;
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
            const f32 v1 = round_bf16(f0_0);
            b4[0] = f32_to_bf16(v1);
        }
    }
}
