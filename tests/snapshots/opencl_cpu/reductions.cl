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
void k0_sqr_sum(__global f32* b0, __global const f32* b1) {
    const u32 first = (u32)get_group_id(0) * 1u;
    const u32 last = first + 1u < 1u ? first + 1u : 1u;
    for (u32 p = first; p < last; ++p) {
        f32 f0_0 = 0.0f, f0_0b = 0.0f, f0_0c = 0.0f;
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < 1500000; ++a1) {
            const f32 v0 = b1[a1];
            const f32 v1 = v0 * v0;
            f0_0b = f0_0b + v1;
            if ((++n0 & 127u) == 0u) {
                f0_0c += f0_0b;
                f0_0b = 0;
                if ((n0 & 16383u) == 0u) {
                    f0_0 += f0_0c;
                    f0_0c = 0;
                }
            }
        }
        f0_0 += f0_0c + f0_0b;
        {
            b0[0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_sum_true_divide(__global const f32* b0, __global const f32* b1, __global f32* b2) {
    const u32 first = (u32)get_group_id(0) * 8u;
    const u32 last = first + 8u < 500u ? first + 8u : 500u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = 0.0f, f0_0b = 0.0f;
        u32 n0 = 0u;
        for (i32 a1 = 0; a1 < 3000; ++a1) {
            const f32 v0 = b0[a0 + a1 * 500];
            f0_0b = f0_0b + v0;
            if ((++n0 & 127u) == 0u) {
                f0_0 += f0_0b;
                f0_0b = 0;
            }
        }
        f0_0 += f0_0b;
        {
            const f32 v1 = b1[0];
            const f32 v2 = f0_0 / v1;
            b2[a0] = v2;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_max(__global const f32* b0, __global f32* b1) {
    const u32 first = (u32)get_group_id(0) * 47u;
    const u32 last = first + 47u < 3000u ? first + 47u : 3000u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0 = as_float(0xff800000u);
        for (i32 a1 = 0; a1 < 500; ++a1) {
            const f32 v0 = b0[a0 * 500 + a1];
            f0_0 = (f0_0 > v0 || f0_0 != f0_0) ? f0_0 : v0;
        }
        {
            b1[a0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_argmax(__global const f32* b0, __global i64* b1) {
    const u32 first = (u32)get_group_id(0) * 47u;
    const u32 last = first + 47u < 3000u ? first + 47u : 3000u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        f32 f0_0v = as_float(0xff800000u);
        i64 f0_0 = 9223372036854775807L;
        for (i32 a1 = 0; a1 < 500; ++a1) {
            const f32 v0 = b0[a0 * 500 + a1];
            if (v0 > f0_0v || (v0 == f0_0v && (i64)a1 < f0_0) || (v0 != v0 && (f0_0v == f0_0v || (i64)a1 < f0_0))) {
                f0_0v = v0;
                f0_0 = (i64)a1;
            }
        }
        {
            b1[a0] = f0_0;
        }
    }
}
