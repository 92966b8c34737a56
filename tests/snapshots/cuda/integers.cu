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
void k0_sqr_subtract_cast_logical_not_less_lo(i32* b0, const i32* b1, u8* b2) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 100u) {
        const i32 a1 = (i32)p;
        const i32 v1 = b1[a1];
        const i32 v2 = (i32)((u32)v1 * (u32)v1);
        const i32 v3 = (i32)((u32)3 - (u32)v2);
        const bool v5 = v1 < 0;
        const bool v6 = v1 != 0;
        const bool v7 = !v6;
        const bool v8 = v5 && v7;
        b0[a1] = v3;
        b2[a1] = v8;
    }
}

extern "C" __global__ __launch_bounds__(64)
void k1_add(const u64* b0, u64* b1) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 100u) {
        const i32 a0 = (i32)p;
        const u64 v0 = b0[a0];
        const u64 v2 = v0 + 1ULL;
        b1[a0] = v2;
    }
}
