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

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_multiply_softmax(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        const i32 a0 = (i32)p;
        f32 k0[4];
        f32 k1[4];
        f32 f0_0 = as_float(0xff800000u);
        {
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b1[a0 * 1000 + a1];
                const f32 v2 = v0 * 0.5f;
                k0[r] = v2;
                f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b1[a0 * 1000 + a1];
                const f32 v2 = v0 * 0.5f;
                k0[3] = v2;
                f0_0 = (f0_0 > v2 || f0_0 != f0_0) ? f0_0 : v2;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 32u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 32u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
            }
            l_f32_0[t] = f0_0;
        }
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
            #pragma unroll
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v4 = k0[r] - f0_0;
                const f32 v5 = exp(v4);
                k1[r] = v5;
                f1_0 = f1_0 + v5;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v4 = k0[3] - f0_0;
                const f32 v5 = exp(v4);
                k1[3] = v5;
                f1_0 = f1_0 + v5;
            }
        }
        l_f32_0[t] = f1_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 32u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 32u];
                f1_0 = f1_0 + o0;
            }
            l_f32_0[t] = f1_0;
        }
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
            for (u32 r = 0u; r < 3u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a1 = (i32)q;
                const f32 v7 = k1[r] / f1_0;
                b0[a0 * 1000 + a1] = v7;
            }
            if (y < 232u) {
                const u32 q = 768u + y;
                const i32 a1 = (i32)q;
                const f32 v7 = k1[3] / f1_0;
                b0[a0 * 1000 + a1] = v7;
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
