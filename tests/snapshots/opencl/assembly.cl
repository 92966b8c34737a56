#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
static inline u32 trunc_divide_u32(u32 a, u32 b) {
    if (b == 0) return 0;
    return (u32)(a / b);
}
static inline u32 fmod_u32(u32 a, u32 b) {
    return b == 0 ? (u32)0 : (u32)(a % b);
}
static inline u32 remainder_u32(u32 a, u32 b) {
    return fmod_u32(a, b);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void k0_join(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 128u + (u32)get_local_id(0);
    if (p < 34596u) {
        const i32 a2 = (i32)(p % 62u);
        const i32 a1 = (i32)(p / 62u % 62u);
        const i32 a0 = (i32)(p / 3844u);
        const u32 v2 = (u32)(i64)a0;
        const u32 v3 = (u32)3L;
        const u32 v4 = trunc_divide_u32(v2, v3);
        const i64 v5 = (i64)v4;
        const u32 v6 = remainder_u32(v2, v3);
        const i64 v7 = (i64)v6;
        const f32 v8 = b1[a1 * 64 + a2 + (i32)v5 * 64 + (i32)v7];
        b0[a0 * 3844 + a1 * 62 + a2] = v8;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_add_multiply_add_tanh_add(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 4096u) {
        const i32 a1 = (i32)(p % 64u);
        const i32 a0 = (i32)(p / 64u);
        const f32 v0 = b0[a0 * 64 + a1];
        const i64 v4 = (i64)((u64)(i64)a0 + (u64)(-1L));
        const bool v6 = (i64)a0 >= 1L;
        const i64 v7 = v6 ? v4 : 63L;
        const f32 v8 = b0[a1 + (i32)v7 * 64];
        const i64 v10 = (i64)((u64)(i64)a1 + (u64)1L);
        const bool v12 = (i64)a1 >= 63L;
        const i64 v13 = v12 ? 0L : v10;
        const f32 v14 = b0[a0 * 64 + (i32)v13];
        const f32 v15 = v8 + v14;
        const f32 v17 = v15 * 0.5f;
        const f32 v18 = v0 + v17;
        const i64 v19 = (i64)((u64)(i64)a0 + (u64)1L);
        const bool v21 = (i64)a0 < 5L;
        const bool v22 = v6 && v21;
        const i64 v23 = v22 ? v19 : (i64)a0;
        const i64 v24 = (v23 > 0L || v23 != v23) ? v23 : 0L;
        const i64 v25 = (v24 < 63L || v24 != v24) ? v24 : 63L;
        const f32 v26 = b0[a1 + (i32)v25 * 64];
        const f32 v27 = tanh(v26);
        const f32 v28 = v0 + v27;
        b1[a0 * 64 + a1] = v18;
        b2[a0 * 64 + a1] = v28;
    }
}
