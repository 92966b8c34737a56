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
static inline void philox_block(u64 key, u64 counter, u32 third, u32 fourth, u32* w) {
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = third, c3 = fourth;
    u32 k0 = (u32)key, k1 = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const u32 h0 = mul_hi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
        const u32 h1 = mul_hi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
}
static inline u64 philox_u64(u64 key, u64 counter, u64 lane) {
    u32 w[4];
    philox_block(key, counter, 0u, 0u, w);
    return (lane & 1u) ? ((u64)w[2] | (u64)w[3] << 32) : ((u64)w[0] | (u64)w[1] << 32);
}
static inline u64 right_shift_u64(u64 a, u64 b) {
    return b < 64 ? (u64)(a >> b) : (u64)0;
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k0_arange_cast_add_philox_right_shift_ca(__global f32* b0, const u64 byte0, __global const u64* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1000u) {
        const i32 a0 = (i32)p;
        const u64 v0 = b1[0];
        const i64 v4 = (i64)((u64)(i64)a0 * (u64)1L);
        const i64 v5 = (i64)((u64)0L + (u64)v4);
        const u64 v6 = (u64)v5;
        const u64 v7 = b1[1];
        const u64 v8 = v6 + v7;
        const u64 v10 = philox_u64(v0, v8, 0UL);
        const u64 v12 = right_shift_u64(v10, 40UL);
        const f32 v13 = (f32)v12;
        const f32 v15 = v13 * 0x1.0p-24f;
        b0[a0] = v15;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_add(__global const u64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global u64* b2, const u64 byte2) {
    b0 = (__global const u64*)((__global const u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global u64*)((__global u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 100u) {
        const i32 a0 = (i32)p;
        const u64 v0 = b0[a0];
        const u64 v1 = b1[1];
        const u64 v2 = v0 + v1;
        b2[a0] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k2_philox_right_shift_cast_multiply_nega(__global f64* b0, const u64 byte0, __global const u64* b1, const u64 byte1, __global const u64* b2, const u64 byte2) {
    b0 = (__global f64*)((__global u8*)b0 + byte0);
    b1 = (__global const u64*)((__global const u8*)b1 + byte1);
    b2 = (__global const u64*)((__global const u8*)b2 + byte2);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 100u) {
        const i32 a1 = (i32)p;
        const u64 v0 = b1[0];
        const u64 v1 = b2[a1];
        const u64 v3 = philox_u64(v0, v1, 0UL);
        const u64 v5 = right_shift_u64(v3, 11UL);
        const f64 v6 = (f64)v5;
        const f64 v8 = v6 * 0x1.0p-53;
        const f64 v9 = -v8;
        const f64 v10 = log1p(v9);
        const f64 v12 = v10 * (-2.0);
        const f64 v13 = sqrt(v12);
        const u64 v15 = philox_u64(v0, v1, 1UL);
        const u64 v16 = right_shift_u64(v15, 11UL);
        const f64 v17 = (f64)v16;
        const f64 v19 = v17 * 0x1.921fb54442d18p-51;
        const f64 v20 = cos(v19);
        const f64 v21 = v13 * v20;
        b0[a1] = v21;
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k3_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 p = (u32)get_group_id(0) * 32u + (u32)get_local_id(0);
    if (p < 1u) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 1000UL;
        b0[1] = v2;
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k4_inc_part(__global u64* b0, const u64 byte0) {
    b0 = (__global u64*)((__global u8*)b0 + byte0);
    const u32 p = (u32)get_group_id(0) * 32u + (u32)get_local_id(0);
    if (p < 1u) {
        const u64 v1 = b0[1];
        const u64 v2 = v1 + 100UL;
        b0[1] = v2;
    }
}
