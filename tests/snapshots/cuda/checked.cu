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
void k0_sqr_check(i64* b0, const i64* b1) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 300u) {
        const i32 a0 = (i32)p;
        const i64 v0 = b1[a0];
        const i64 v1 = (i64)((u64)v0 * (u64)v0);
        const bool v4 = v1 < 0LL;
        const i64 v5 = (i64)((u64)v1 + (u64)1000LL);
        const i64 v6 = v4 ? v5 : v1;
        const bool v7 = v6 < 0LL;
        const bool v8 = v6 >= 1000LL;
        const bool v9 = v7 || v8;
        if (v9) b0[0] = 2LL;
    }
}

extern "C" __global__ __launch_bounds__(32)
void k1_sqr_scatter(const f32* b0, f32* b1, const i64* b2, const i64* b3) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 32u + (u32)threadIdx.x;
    if (p < 16u) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 300; ++a1) {
            const i64 v0 = b2[a1];
            const i64 v1 = (i64)((u64)v0 * (u64)v0);
            const bool v4 = v1 < 0LL;
            const i64 v5 = (i64)((u64)v1 + (u64)1000LL);
            const i64 v6 = v4 ? v5 : v1;
            const i64 v8 = (v6 > 0LL || v6 != v6) ? v6 : 0LL;
            const i64 v9 = (v8 < 999LL || v8 != v8) ? v8 : 999LL;
            const f32 v10 = b0[a0 + a1 * 16];
            const f32 v11 = b1[a0 + (i32)v9 * 16];
            const f32 v12 = v11 + v10;
            const i64 v13 = b3[0];
            const bool v14 = v13 == 0LL;
            if (v14) b1[a0 + (i32)v9 * 16] = v12;
        }
    }
}

extern "C" __global__ __launch_bounds__(64)
void k2_multiply(const f32* b0, f32* b1, const i64* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 640u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[a1];
        const f32 v2 = v0 * 0.5f;
        const i64 v3 = b2[0];
        const bool v5 = v3 == 0LL;
        if (v5) b1[a1] = v2;
    }
}

extern "C" __global__ __launch_bounds__(32)
void k3_count_calls(i64* b0) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 32u + (u32)threadIdx.x;
    if (p < 1u) {
        const i64 v0 = b0[0];
        const bool v2 = v0 == 0LL;
        const i64 v3 = b0[2];
        const bool v5 = v3 == 0LL;
        const i64 v6 = b0[1];
        const i64 v8 = (i64)((u64)v6 + (u64)1LL);
        if (v2) b0[1] = v8;
        if (v5) b0[2] = v0;
    }
}
