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
void k0_sqr_sum_parts(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 30u ? first + 1u : 30u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f;
        {
            f32 s0_0[32], s0_0b[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = 0.0f;
                s0_0b[l] = 0.0f;
            }
            u32 n0 = 0u;
            for (i32 c2 = 0; c2 < 49984; c2 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a2 = c2 + l;
                    const f32 v0 = b0[a0 * 50000 + a2];
                    const f32 v1 = v0 * v0;
                    s0_0b[l] = s0_0b[l] + v1;
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 32; ++l) {
                        s0_0[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                }
            }
            {
                const i32 c2 = 49984;
                for (i32 l = 0; l < 16; ++l) {
                    const i32 a2 = c2 + l;
                    const f32 v0 = b0[a0 * 50000 + a2];
                    const f32 v1 = v0 * v0;
                    s0_0b[l] = s0_0b[l] + v1;
                }
                if ((++n0 & 127u) == 0u) {
                    for (i32 l = 0; l < 32; ++l) {
                        s0_0[l] += s0_0b[l];
                        s0_0b[l] = 0;
                    }
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] += s0_0b[l];
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = f0_0 + s0_0[l];
            }
        }
        {
            b1[a0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_sqr_sum(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f;
        for (i32 a0 = 0; a0 < 30; ++a0) {
            const f32 v0 = b1[a0];
            f0_0 = f0_0 + v0;
        }
        {
            b0[0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_sum_true_divide(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 8u ? first + 1u : 8u;
    for (u32 p = first; p < last; ++p) {
        const i32 c0 = (i32)p * 64;
        const i32 n = 500 - c0 < 64 ? 500 - c0 : 64;
        f32 f0_0[64], f0_0b[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = 0.0f;
            f0_0b[l] = 0.0f;
        }
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < 3000; ++a1) {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v0 = b0[a0 + a1 * 500];
                f0_0b[l] = f0_0b[l] + v0;
            }
            if ((++n0 & 127u) == 0u) {
                for (i32 l = 0; l < 64; ++l) {
                    f0_0[l] += f0_0b[l];
                    f0_0b[l] = 0;
                }
            }
        }
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] += f0_0b[l];
        }
        {
            for (i32 l = 0; l < n; ++l) {
                const i32 a0 = c0 + l;
                const f32 v2 = f0_0[l] / 3000.0f;
                b1[a0] = v2;
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_max_argmax(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global i64* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global i64*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 47u;
    const u32 last = first + 47u < 3000u ? first + 47u : 3000u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        f32 f0_1v = as_float(0xff800000u);
        i64 f0_1 = 9223372036854775807L;
        {
            f32 s0_0[32];
            f32 s0_1v[32];
            i64 s0_1[32];
            for (i32 l = 0; l < 32; ++l) {
                s0_0[l] = as_float(0xff800000u);
                s0_1v[l] = as_float(0xff800000u);
                s0_1[l] = 9223372036854775807L;
            }
            for (i32 c1 = 0; c1 < 480; c1 += 32) {
                for (i32 l = 0; l < 32; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * 500 + a1];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807L;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)a1 : s0_1[l];
                    }
                }
            }
            {
                const i32 c1 = 480;
                for (i32 l = 0; l < 20; ++l) {
                    const i32 a1 = c1 + l;
                    const f32 v0 = b0[a0 * 500 + a1];
                    s0_0[l] = (s0_0[l] > v0 || s0_0[l] != s0_0[l]) ? s0_0[l] : v0;
                    {
                        const bool wins = (!(v0 <= s0_1v[l]) && s0_1v[l] == s0_1v[l]) || s0_1[l] == 9223372036854775807L;
                        s0_1v[l] = wins ? v0 : s0_1v[l];
                        s0_1[l] = wins ? (i64)a1 : s0_1[l];
                    }
                }
            }
            for (i32 l = 0; l < 32; ++l) {
                f0_0 = (f0_0 > s0_0[l] || f0_0 != f0_0) ? f0_0 : s0_0[l];
                if (s0_1v[l] > f0_1v || (s0_1v[l] == f0_1v && s0_1[l] < f0_1) || (s0_1v[l] != s0_1v[l] && (f0_1v == f0_1v || s0_1[l] < f0_1))) {
                    f0_1v = s0_1v[l];
                    f0_1 = s0_1[l];
                }
            }
        }
        {
            b1[a0] = f0_0;
            b2[a0] = f0_1;
        }
    }
}
