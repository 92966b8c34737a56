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

extern "C" __global__ __launch_bounds__(32)
void k0_scatter(const i64* b0, const f32* b1, f32* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 32u + (u32)threadIdx.x;
    if (p < 16u) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 300; ++a1) {
            const i64 v0 = b0[a1];
            const bool v3 = v0 < 0LL;
            const i64 v4 = (i64)((u64)v0 + (u64)1000LL);
            const i64 v5 = v3 ? v4 : v0;
            const i64 v7 = (v5 > 0LL || v5 != v5) ? v5 : 0LL;
            const i64 v8 = (v7 < 999LL || v7 != v7) ? v7 : 999LL;
            const f32 v9 = b1[a0 + a1 * 16];
            const f32 v10 = b2[a0 + (i32)v8 * 16];
            const f32 v11 = v10 + v9;
            b2[a0 + (i32)v8 * 16] = v11;
        }
    }
}
