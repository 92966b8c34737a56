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
struct alignas(16) i32x4 { i32 e[4]; };
struct alignas(16) f32x4 { f32 e[4]; };

extern "C" __global__ __launch_bounds__(256)
void k0_cast(const i32* b0, f32* b1) {
    BEGIN
    const u32 p = (u32)blockIdx.x * 256u + (u32)threadIdx.x;
    if (p < 401408u) {
        const i32 a1 = (i32)p * 4;
        const i32x4 x0 = *(const i32x4*)(b0 + a1);
        f32x4 y0;
        #pragma unroll
        for (i32 l = 0; l < 4; ++l) {
            const i32 v0 = x0.e[l];
            const f32 v1 = (f32)v0;
            y0.e[l] = v1;
        }
        *(f32x4*)(b1 + a1) = y0;
    }
}
