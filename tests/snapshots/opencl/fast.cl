typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
static inline u64 add_to_u64(__global u64* at, u64 x) {
    return atom_add((volatile __global u64*)at, x);
}
static inline f32 add_to_f32(__global f32* at, f32 x) {
    volatile __global u32* word = (volatile __global u32*)at;
    u32 old, now = *word;
    do {
        old = now;
        now = atomic_cmpxchg(word, old, as_uint(as_float(old) + x));
    } while (now != old);
    return as_float(old);
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k0_exp_sin_sqrt_multiply_add_tanh_true_d(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 4800u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b1[a1];
        const f32 v2 = v0 * 2.0f;
        const f32 v4 = v2 + 1.0f;
        const f32 v5 = tanh(v4);
        const f32 v6 = exp(v0);
        const f32 v7 = sin(v6);
        const f32 v8 = sqrt(v7);
        const f32 v9 = v5 / v8;
        b0[a1] = v9;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_sqr_scatter(__global const i64* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 4800u) {
        const i32 a1 = (i32)(p % 16u);
        const i32 a0 = (i32)(p / 16u);
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0L;
        const i64 v4 = (i64)((u64)v0 + (u64)1000L);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
        const i64 v8 = (v7 < 999L || v7 != v7) ? v7 : 999L;
        const f32 v9 = b2[a0 * 16 + a1];
        const f32 v10 = v9 * v9;
        add_to_f32(b1 + a1 + (i32)v8 * 16, v10);
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k2_scatter(__global const i64* b0, const u64 byte0, __global u64* b1, const u64 byte1) {
    b0 = (__global const i64*)((__global const u8*)b0 + byte0);
    b1 = (__global u64*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 300u) {
        const i32 a0 = (i32)p;
        const i64 v0 = b0[a0];
        const bool v3 = v0 < 0L;
        const i64 v4 = (i64)((u64)v0 + (u64)100L);
        const i64 v5 = v3 ? v4 : v0;
        const i64 v7 = (v5 > 0L || v5 != v5) ? v5 : 0L;
        const i64 v8 = (v7 < 99L || v7 != v7) ? v7 : 99L;
        add_to_u64(b1 + (i32)v8, 1UL);
    }
}
