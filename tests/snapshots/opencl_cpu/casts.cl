#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
static inline f32 bf16_to_f32(u16 h) {
    return as_float((u32)h << 16);
}
static inline u16 f32_to_bf16(f32 x) {
    const u32 u = as_uint(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
static inline f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}
static inline i8 f32_to_i8(f32 x) {
    if (!(x > -128.0f)) return x == x ? (i8)((0xffu >> 1) + 1u) : (i8)0;
    return x < 128.0f ? (i8)x : (i8)(0xffu >> 1);
}
static inline i64 f32_to_i64(f32 x) {
    if (!(x > -9.223372036854776e18f)) return x == x ? (i64)((0xffffffffffffffffuL >> 1) + 1u) : (i64)0;
    return x < 9.223372036854776e18f ? (i64)x : (i64)(0xffffffffffffffffuL >> 1);
}
static inline u32 f32_to_u32(f32 x) {
    if (!(x > 0.0f)) return (u32)0;
    return x < 4294967296.0f ? (u32)x : (u32)0xffffffffu;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_cast(__global const f32* b0, const u64 byte0, __global i8* b1, const u64 byte1, __global u32* b2, const u64 byte2, __global i64* b3, const u64 byte3, __global f64* b4, const u64 byte4, __global u16* b5, const u64 byte5, __global u8* b6, const u64 byte6) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global i8*)((__global u8*)b1 + byte1);
    b2 = (__global u32*)((__global u8*)b2 + byte2);
    b3 = (__global i64*)((__global u8*)b3 + byte3);
    b4 = (__global f64*)((__global u8*)b4 + byte4);
    b5 = (__global u16*)((__global u8*)b5 + byte5);
    b6 = (__global u8*)((__global u8*)b6 + byte6);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 32u ? first + 1u : 32u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 32;
        const i32 n = 1000 - c0 < 32 ? 1000 - c0 : 32;
        {
            i8 w1[32];
            u32 w2[32];
            i64 w3[32];
            f64 w4[32];
            f32 w5[32];
            bool w6[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0];
                const i8 v1 = f32_to_i8(v0);
                const u32 v2 = f32_to_u32(v0);
                const i64 v3 = f32_to_i64(v0);
                const f64 v4 = (f64)v0;
                const f32 v5 = round_bf16(v0);
                const bool v6 = v0 != 0;
                w1[l] = v1;
                w2[l] = v2;
                w3[l] = v3;
                w4[l] = v4;
                w5[l] = v5;
                w6[l] = v6;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                b1[a0] = w1[l];
                b2[a0] = w2[l];
                b3[a0] = w3[l];
                b4[a0] = w4[l];
                b5[a0] = f32_to_bf16(w5[l]);
                b6[a0] = w6[l];
            }
        }
    }
}
