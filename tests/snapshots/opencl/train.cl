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
typedef struct __attribute__((aligned(16))) { i64 e[2]; } i64x2;

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k0_add_log_softmax(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    __local f32 l_f32_0[32];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 16u, y = t % 16u;
    {
        const u32 p0 = (u32)get_group_id(0) * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 k0[1];
        f32 k1[1];
        f32 f0_0 = as_float(0xff800000u);
        {
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v0 = b1[a0 * 10 + a1];
                const f32 v1 = b2[a1];
                const f32 v2 = v0 + v1;
                k0[0] = v2;
                f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 2u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 2u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            {
                const f32 o0 = l_f32_0[t + 1u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f0_0 = l_f32_0[t - y];
        barrier(CLK_LOCAL_MEM_FENCE);
        f32 f1_0 = 0.0f;
        {
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v4 = k0[0] - f0_0;
                k1[0] = v4;
                const f32 v5 = exp(v4);
                f1_0 = f1_0 + v5;
            }
        }
        l_f32_0[t] = f1_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 2u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 2u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            {
                const f32 o0 = l_f32_0[t + 1u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f1_0 = l_f32_0[t - y];
        {
            const f32 v6 = log(f1_0);
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v7 = k1[0] - v6;
                b0[a0 * 10 + a1] = v7;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k1_arange_gather_negative_sum_true_divid(__global i64* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const i64* b3, const u64 byte3, __global const i64* b4, const u64 byte4, __global const f32* b5, const u64 byte5, __global f32* b6, const u64 byte6) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const i64*)((__global const u8*)b3 + byte3);
    b4 = (__global const i64*)((__global const u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    b6 = (__global f32*)((__global u8*)b6 + byte6);
    __local f32 l_f32_0[32];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[2];
            #pragma unroll
            for (i32 l = 0; l < 2; ++l) {
                s0_0[l] = 0.0f;
            }
            const i64 v0 = b3[0];
            const i64 v1 = b4[0];
            #pragma unroll
            for (u32 r = 0u; r < 2u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a0 = (i32)q * 2;
                const i64x2 x17 = *(__global const i64x2*)(b1 + a0);
                #pragma unroll
                for (i32 l = 0; l < 2; ++l) {
                    const i64 v3 = (i64)((u64)(i64)(a0 + l) * (u64)v1);
                    const i64 v4 = (i64)((u64)v0 + (u64)v3);
                    const bool v7 = v4 < 0L;
                    const i64 v8 = (i64)((u64)v4 + (u64)128L);
                    const i64 v9 = v7 ? v8 : v4;
                    const bool v10 = v9 < 0L;
                    const bool v11 = v9 >= 128L;
                    const bool v12 = v10 || v11;
                    const i64 v15 = (v9 > 0L || v9 != v9) ? v9 : 0L;
                    const i64 v16 = (v15 < 127L || v15 != v15) ? v15 : 127L;
                    const i64 v17 = x17.e[l];
                    const bool v19 = v17 < 0L;
                    const i64 v20 = (i64)((u64)v17 + (u64)10L);
                    const i64 v21 = v19 ? v20 : v17;
                    const bool v22 = v21 < 0L;
                    const bool v23 = v21 >= 10L;
                    const bool v24 = v22 || v23;
                    const i64 v26 = (v21 > 0L || v21 != v21) ? v21 : 0L;
                    const i64 v27 = (v26 < 9L || v26 != v26) ? v26 : 9L;
                    const f32 v28 = b2[(i32)v16 * 10 + (i32)v27];
                    const f32 v29 = -v28;
                    s0_0[l] = s0_0[l] + v29;
                    if (v12) b0[0] = 8L;
                    if (v24) b0[0] = 8L;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 2; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = f0_0 + o0;
            }
        }
        if (y == 0u) {
            const f32 v1 = b5[0];
            const f32 v2 = f0_0 / v1;
            b6[0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k2_copy(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1280u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[0];
        b1[a1] = v0;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k3_negative_arange_scatter(__global i64* b0, const u64 byte0, __global const i64* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const i64* b3, const u64 byte3, __global const i64* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global i64*)((__global u8*)b0 + byte0);
    b1 = (__global const i64*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const i64*)((__global const u8*)b3 + byte3);
    b4 = (__global const i64*)((__global const u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 128u) {
        const i32 a0 = (i32)p;
        const i64 v0 = b3[0];
        const i64 v1 = b4[0];
        const i64 v3 = (i64)((u64)(i64)a0 * (u64)v1);
        const i64 v4 = (i64)((u64)v0 + (u64)v3);
        const bool v7 = v4 < 0L;
        const i64 v8 = (i64)((u64)v4 + (u64)128L);
        const i64 v9 = v7 ? v8 : v4;
        const bool v10 = v9 < 0L;
        const bool v11 = v9 >= 128L;
        const bool v12 = v10 || v11;
        const i64 v15 = (v9 > 0L || v9 != v9) ? v9 : 0L;
        const i64 v16 = (v15 < 127L || v15 != v15) ? v15 : 127L;
        const i64 v17 = b1[a0];
        const bool v19 = v17 < 0L;
        const i64 v20 = (i64)((u64)v17 + (u64)10L);
        const i64 v21 = v19 ? v20 : v17;
        const bool v22 = v21 < 0L;
        const bool v23 = v21 >= 10L;
        const bool v24 = v22 || v23;
        const i64 v26 = (v21 > 0L || v21 != v21) ? v21 : 0L;
        const i64 v27 = (v26 < 9L || v26 != v26) ? v26 : 9L;
        const f32 v28 = b5[0];
        const f32 v29 = -v28;
        const f32 v30 = b2[(i32)v16 * 10 + (i32)v27];
        const f32 v31 = v30 + v29;
        if (v12) b0[0] = 21L;
        if (v24) b0[0] = 21L;
        b2[(i32)v16 * 10 + (i32)v27] = v31;
    }
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k4_sum(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[32];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 16u, y = t % 16u;
    {
        const u32 p0 = (u32)get_group_id(0) * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            if (y < 10u) {
                const u32 q = y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 * 10 + a1];
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 2u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 2u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            {
                const f32 o0 = l_f32_0[t + 1u];
                f0_0 = f0_0 + o0;
            }
        }
        if (y == 0u) {
            b1[a0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k5_exp_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 1280u) {
        const i32 a1 = (i32)(p % 10u);
        const i32 a0 = (i32)(p / 10u);
        const f32 v0 = b0[a0 * 10 + a1];
        const f32 v1 = b3[a0 * 10 + a1];
        const f32 v2 = exp(v1);
        const f32 v3 = b2[a0];
        const f32 v4 = v2 * v3;
        const f32 v5 = v0 - v4;
        b1[a0 * 10 + a1] = v5;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k6_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 640u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[a1];
        const f32 v1 = b2[0];
        const f32 v2 = b3[a1];
        const f32 v3 = v1 * v2;
        const f32 v4 = v0 - v3;
        b1[a1] = v4;
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k7_sum_multiply_subtract(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
        const u32 p = p0 + x;
        const bool live = p < 10u;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        if (live) {
            #pragma unroll
            for (u32 r = 0u; r < 4u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 10];
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = f0_0 + o0;
            }
        }
        if (live && y == 0u) {
            const f32 v1 = b1[a0];
            const f32 v2 = b3[0];
            const f32 v3 = v2 * f0_0;
            const f32 v4 = v1 - v3;
            b2[a0] = v4;
        }
    }
}
