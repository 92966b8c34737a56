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

extern "C" __global__ __launch_bounds__(64)
void k0_multiply_start_true_divide(const f32* b0, f32* b1, const i64* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 6400u) {
        const i32 a1 = (i32)p;
        const i64 v0 = b2[0];
        const i64 v2 = (i64)((u64)v0 * (u64)100LL);
        const bool v5 = v2 < 0LL;
        const i64 v6 = (i64)((u64)v2 + (u64)1797LL);
        const i64 v7 = v5 ? v6 : v2;
        const i64 v9 = (v7 > 0LL || v7 != v7) ? v7 : 0LL;
        const i64 v10 = (v9 < 1796LL || v9 != v9) ? v9 : 1796LL;
        const i64 v12 = (v10 < 1697LL || v10 != v10) ? v10 : 1697LL;
        const f32 v13 = b0[a1 + (i32)v12 * 64];
        const f32 v15 = v13 / 16.0f;
        b1[a1] = v15;
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_start_copy(const f32* b0, f32* b1, const i64* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 64u) {
        const i32 a0 = (i32)p;
        const i64 v0 = b2[0];
        const bool v3 = v0 < 0LL;
        const i64 v4 = (i64)((u64)v0 + (u64)1797LL);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0LL || v5 != v5) ? v5 : 0LL;
        const i64 v8 = (v7 < 1796LL || v7 != v7) ? v7 : 1796LL;
        const f32 v9 = b0[a0 + (i32)v8 * 64];
        b1[a0] = v9;
    }
}
