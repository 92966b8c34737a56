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
static __device__ __forceinline__ u64 add_to_u64(u64* at, u64 x) {
    return (u64)atomicAdd(at, x);
}
static __device__ __forceinline__ f32 add_to_f32(f32* at, f32 x) {
    return (f32)atomicAdd(at, x);
}
static __device__ __forceinline__ f32 fast_sin(f32 x) {
    if (!(fabsf(x) < 16384.0f)) return sinf(x);
    const f32 n = rintf(x * 0.15915494f);
    return __sinf(fmaf(n, 1.7484555e-7f, fmaf(n, -6.2831855f, x)));
}
static __device__ __forceinline__ f32 fast_tanh(f32 x) {
#if __CUDA_ARCH__ >= 750
    f32 y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return tanhf(x);
#endif
}
#define expf __expf
#define sinf fast_sin
#define tanhf fast_tanh

extern "C" __global__ __launch_bounds__(64)
void k0_exp_sin_sqrt_multiply_add_tanh_true_d(f32* b0, const f32* b1) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 4800u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b1[a1];
        const f32 v2 = v0 * 2.0f;
        const f32 v4 = v2 + 1.0f;
        const f32 v5 = tanhf(v4);
        const f32 v6 = expf(v0);
        const f32 v7 = sinf(v6);
        const f32 v8 = sqrtf(v7);
        const f32 v9 = v5 / v8;
        b0[a1] = v9;
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_sqr_scatter(const i64* b0, f32* b1, const f32* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 4800u) {
        const i32 a1 = (i32)(p % 16u);
        const i32 a0 = (i32)(p / 16u);
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0LL;
        const i64 v4 = (i64)((u64)v0 + (u64)1000LL);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0LL || v5 != v5) ? v5 : 0LL;
        const i64 v8 = (v7 < 999LL || v7 != v7) ? v7 : 999LL;
        const f32 v9 = b2[a0 * 16 + a1];
        const f32 v10 = v9 * v9;
        add_to_f32(b1 + a1 + (i32)v8 * 16, v10);
    }
}

extern "C" __global__ __launch_bounds__(64)
void k2_scatter(const i64* b0, u64* b1) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 300u) {
        const i32 a0 = (i32)p;
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0LL;
        const i64 v4 = (i64)((u64)v0 + (u64)100LL);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0LL || v5 != v5) ? v5 : 0LL;
        const i64 v8 = (v7 < 99LL || v7 != v7) ? v7 : 99LL;
        add_to_u64(b1 + (i32)v8, 1ULL);
    }
}
