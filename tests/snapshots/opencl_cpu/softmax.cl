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

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k0_multiply_softmax(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 4u;
    const u32 last = first + 4u < 200u ? first + 4u : 200u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        {
            f32 s0_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = as_float(0xff800000u);
            }
            for (i32 c1 = 0; c1 < 992; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            {
                const i32 c1 = 992;
                for (i32 l = 0; l < 8; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    s0_0[l] = (s0_0[l] > v2 || s0_0[l] != s0_0[l]) ? s0_0[l] : v2;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
            }
        }
        f32 f1_0 = 0.0f;
        {
            f32 s1_0[32];
            for (i32 l = 0; l < 32; ++l) {
                s1_0[l] = 0.0f;
            }
            for (i32 c1 = 0; c1 < 992; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    const f32 v4 = v2 - f0_0;
                    const f32 v5 = exp(v4);
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            {
                const i32 c1 = 992;
                for (i32 l = 0; l < 8; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b1[a0 * 1000 + a1];
                    const f32 v2 = v0 * 0.5f;
                    const f32 v4 = v2 - f0_0;
                    const f32 v5 = exp(v4);
                    s1_0[l] = s1_0[l] + v5;
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f1_0 = f1_0 + s1_0[l];
            }
        }
        for (i32 a1 = 0; a1 < 1000; ++a1) {
            const f32 v0 = b1[a0 * 1000 + a1];
            const f32 v2 = v0 * 0.5f;
            const f32 v4 = v2 - f0_0;
            const f32 v6 = exp(v4);
            const f32 v7 = v6 / f1_0;
            b0[a0 * 1000 + a1] = v7;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_log_softmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 16u ? first + 1u : 16u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 64;
        const i32 n = 1000 - c0 < 64 ? 1000 - c0 : 64;
        f32 f0_0[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = as_float(0xff800000u);
        }
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                f0_0[l] = (f0_0[l] > v0 || f0_0[l] != f0_0[l]) ? f0_0[l] : v0;
            }
        }
        f32 f1_0[64], f1_0b[64];
        for (i32 l = 0; l < 64; ++l) {
            f1_0[l] = 0.0f;
            f1_0b[l] = 0.0f;
        }
        u32 n1 = 0u;
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0[l];
                const f32 v3 = exp(v2);
                f1_0b[l] = f1_0b[l] + v3;
            }
            if ((++n1 & 127u) == 0u) {
                for (i32 l = 0; l < 64; ++l) {
                    f1_0[l] += f1_0b[l];
                    f1_0b[l] = 0;
                }
            }
        }
        for (i32 l = 0; l < 64; ++l) {
            f1_0[l] += f1_0b[l];
        }
        for (i32 a1 = 0; a1 < 200; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 1000];
                const f32 v2 = v0 - f0_0[l];
                const f32 v4 = log(f1_0[l]);
                const f32 v5 = v2 - v4;
                b1[a0 + a1 * 1000] = v5;
            }
        }
    }
}
