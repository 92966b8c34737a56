typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
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
static __device__ __forceinline__ i8 f32_to_i8(f32 x) {
    if (!(x > -128.0f)) return x == x ? (i8)((0xffu >> 1) + 1u) : (i8)0;
    return x < 128.0f ? (i8)x : (i8)(0xffu >> 1);
}
static __device__ __forceinline__ i64 f32_to_i64(f32 x) {
    if (!(x > -9.223372036854776e18f)) return x == x ? (i64)((0xffffffffffffffffuLL >> 1) + 1u) : (i64)0;
    return x < 9.223372036854776e18f ? (i64)x : (i64)(0xffffffffffffffffuLL >> 1);
}
static __device__ __forceinline__ u32 f32_to_u32(f32 x) {
    if (!(x > 0.0f)) return (u32)0;
    return x < 4294967296.0f ? (u32)x : (u32)0xffffffffu;
}

extern "C" __global__ __launch_bounds__(64)
void k0_cast(const f32* b0, i8* b1, u32* b2, i64* b3, f64* b4, u16* b5, u8* b6) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 1000u) {
        const i32 a0 = (i32)p;
        const f32 v0 = b0[a0];
        const i8 v1 = f32_to_i8(v0);
        const u32 v2 = f32_to_u32(v0);
        const i64 v3 = f32_to_i64(v0);
        const f64 v4 = (f64)v0;
        const f32 v5 = round_bf16(v0);
        const bool v6 = v0 != 0;
        b1[a0] = v1;
        b2[a0] = v2;
        b3[a0] = v3;
        b4[a0] = v4;
        b5[a0] = f32_to_bf16(v5);
        b6[a0] = v6;
    }
}
