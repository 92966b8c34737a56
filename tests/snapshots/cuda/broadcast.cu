typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;

extern "C" __global__ __launch_bounds__(64)
void k0_multiply_add_tanh_subtract_maximum(f32* b0, const f32* b1, const f32* b2, const f32* b3, const f32* b4, f32* b5) {
    const u32 p = (u32)blockIdx.x * 64u + (u32)threadIdx.x;
    if (p < 7000u) {
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        const f32 v0 = b2[a0 * 70 + a1];
        const f32 v1 = b3[0];
        const f32 v2 = v0 * v1;
        const f32 v3 = b1[a1];
        const f32 v4 = v2 + v3;
        const f32 v5 = tanhf(v4);
        const f32 v6 = v0 - v3;
        const f32 v7 = b4[0];
        const f32 v8 = (v6 > v7 || v6 != v6) ? v6 : v7;
        b0[a0 * 70 + a1] = v5;
        b5[a0 * 70 + a1] = v8;
    }
}
