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

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_sqr_sum_parts(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 128u, y = t % 128u;
    {
        const u32 p0 = (u32)get_group_id(0) * 2u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = 0.0f;
            }
            {
                const u32 q = y;
                const i32 a2 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b0 + a0 * 1000 + a2);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v1 = v0 * v0;
                    s0_0[l] = s0_0[l] + v1;
                }
            }
            if (y < 122u) {
                const u32 q = 128u + y;
                const i32 a2 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b0 + a0 * 1000 + a2);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    const f32 v1 = v0 * v0;
                    s0_0[l] = s0_0[l] + v1;
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 16u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 16u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
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

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k1_sqr_sum(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            #pragma unroll
            for (u32 r = 0u; r < 5u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b1[a0];
                f0_0 = f0_0 + v0;
            }
            if (y < 220u) {
                const u32 q = 1280u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b1[a0];
                f0_0 = f0_0 + v0;
            }
        }
        l_f32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 32u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 32u];
                f0_0 = f0_0 + o0;
            }
            l_f32_0[t] = f0_0;
        }
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
            b0[0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k2_sum_true_divide(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t % 8u, y = t / 8u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
        const u32 p = p0 + x;
        const bool live = p < 500u;
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        if (live) {
            #pragma unroll 8
            for (u32 r = 0u; r < 93u; ++r) {
                const u32 q = r * 32u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 500];
                f0_0 = f0_0 + v0;
            }
            if (y < 24u) {
                const u32 q = 2976u + y;
                const i32 a1 = (i32)q;
                const f32 v0 = b0[a0 + a1 * 500];
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
            const f32 v2 = f0_0 / 3000.0f;
            b1[a0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k3_max_argmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global i64* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global i64*)((__global u8*)b2 + byte2);
    __local f32 l_f32_0[256];
    __local f32 l_f32_1[256];
    __local i64 l_i64_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 64u, y = t % 64u;
    {
        const u32 p0 = (u32)get_group_id(0) * 4u;
        const u32 p = p0 + x;
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        f32 f0_1v = as_float(0xff800000u);
        i64 f0_1 = 9223372036854775807L;
        {
            f32 s0_0[4];
            f32 s0_1v[4];
            i64 s0_1[4];
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                s0_0[l] = as_float(0xff800000u);
                s0_1v[l] = as_float(0xff800000u);
                s0_1[l] = 9223372036854775807L;
            }
            {
                const u32 q = y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807L;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)(a1 + l) : s0_1[l];
                    }
                }
            }
            if (y < 61u) {
                const u32 q = 64u + y;
                const i32 a1 = (i32)q * 4;
                const f32x4 x0 = *(__global const f32x4*)(b0 + a0 * 500 + a1);
                #pragma unroll
                for (i32 l = 0; l < 4; ++l) {
                    const f32 v0 = x0.e[l];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807L;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)(a1 + l) : s0_1[l];
                    }
                }
            }
            #pragma unroll
            for (i32 l = 0; l < 4; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
                if (s0_1v[l] > f0_1v || (s0_1v[l] == f0_1v && s0_1[l] < f0_1) || (s0_1v[l] != s0_1v[l] && (f0_1v == f0_1v || s0_1[l] < f0_1))) {
                    f0_1v = s0_1v[l];
                    f0_1 = s0_1[l];
                }
            }
        }
        l_f32_0[t] = f0_0;
        l_i64_0[t] = f0_1;
        l_f32_1[t] = f0_1v;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 8u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s * 8u];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                const f32 o1 = l_f32_1[t + s * 8u];
                const i64 i1 = l_i64_0[t + s * 8u];
                if (o1 > f0_1v || (o1 == f0_1v && i1 < f0_1) || (o1 != o1 && (f0_1v == f0_1v || i1 < f0_1))) {
                    f0_1v = o1;
                    f0_1 = i1;
                }
            }
            l_f32_0[t] = f0_0;
            l_i64_0[t] = f0_1;
            l_f32_1[t] = f0_1v;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const f32 o0 = l_f32_0[t + s];
                f0_0 = (f0_0 > o0 || f0_0 != f0_0) ? f0_0 : o0;
                const f32 o1 = l_f32_1[t + s];
                const i64 i1 = l_i64_0[t + s];
                if (o1 > f0_1v || (o1 == f0_1v && i1 < f0_1) || (o1 != o1 && (f0_1v == f0_1v || i1 < f0_1))) {
                    f0_1v = o1;
                    f0_1 = i1;
                }
            }
        }
        if (y == 0u) {
            b1[a0] = f0_0;
            b2[a0] = f0_1;
        }
    }
}
