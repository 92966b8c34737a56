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
void k0_multiply_add_tanh_subtract_maximum(f32* b0, const f32* b1, const f32* b2, f32* b3) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 7000u) {
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        const f32 v0 = b2[a0 * 70 + a1];
        const f32 v2 = v0 * 2.0f;
        const f32 v3 = b1[a1];
        const f32 v4 = v2 + v3;
        const f32 v5 = tanhf(v4);
        const f32 v6 = v0 - v3;
        const f32 v8 = (v6 > 0.0f || v6 != v6) ? v6 : 0.0f;
        b0[a0 * 70 + a1] = v5;
        b3[a0 * 70 + a1] = v8;
    }
}
