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
typedef struct __attribute__((aligned(16))) { f32 e[4]; } f32x4;

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void k0_multiply_softmax(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    __local f32 l_f32_0[32];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        const i32 a0 = (i32)p;
        f32 k0[32];
        f32 k1[32];
        f32 f0_0 = as_float(0xff800000u);
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = as_float(0xff800000u);
            }
            const f32 v1 = b2[0];
            #pragma unroll
            for (u32 r = 0u; r < 7u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b1 + a0 * 1000 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v2 = v0 * v1;
                    k0[r * 4u + l] = v2;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            if (y < 26u) {
                const u32 q = 224u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b1 + a0 * 1000 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v2 = v0 * v1;
                    k0[28 + l] = v2;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f0_0 = l_f32_0[t - y];
        barrier(CLK_LOCAL_MEM_FENCE);
        f32 f1_0 = 0.0f;
        {
            f32 s1_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s1_0[l] = 0.0f;
            }
            #pragma unroll
            for (u32 r = 0u; r < 7u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q * 4;
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v4 = k0[r * 4u + l] - f0_0;
                    const f32 v5 = exp(v4);
                    k1[r * 4u + l] = v5;
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            if (y < 26u) {
                const u32 q = 224u + y;
                const i32 a1 = (i32)q * 4;
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v4 = k0[28 + l] - f0_0;
                    const f32 v5 = exp(v4);
                    k1[28 + l] = v5;
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f1_0 = f1_0 + s1_0[l];
            }
        }
        l_f32_0[t] = f1_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f1_0 = l_f32_0[t - y];
        {
            #pragma unroll
            for (u32 r = 0u; r < 7u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q * 4;
                f32x4 y0;
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v7 = k1[r * 4u + l] / f1_0;
                    y0.e[l] = v7;
                }
                *(__global f32x4*)(b0 + a0 * 1000 + a1) = y0;
            }
            if (y < 26u) {
                const u32 q = 224u + y;
                const i32 a1 = (i32)q * 4;
                f32x4 y0;
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v7 = k1[28 + l] / f1_0;
                    y0.e[l] = v7;
                }
                *(__global f32x4*)(b0 + a0 * 1000 + a1) = y0;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k1_log_softmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        {
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f0_0 = l_f32_0[t - y * 8u];
        barrier(CLK_LOCAL_MEM_FENCE);
        f32 f1_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v3 = exp(v2);
                f1_0 = f1_0 + v3;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v3 = exp(v2);
                f1_0 = f1_0 + v3;
            }
        }
        l_f32_0[t] = f1_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 4u * 8u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        f1_0 = l_f32_0[t - y * 8u];
        {
            const f32 v4 = log(f1_0);
            #pragma unroll
            for (u32 r = 0u; r < 6u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v5 = v2 - v4;
                b1[a0 + a1 * 1000] = v5;
            }
            if (y < 8u) {
                const u32 q = 192u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0;
                const f32 v5 = v2 - v4;
                b1[a0 + a1 * 1000] = v5;
            }
        }
    }
}
