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
void k0_subtract_sqr_sum_sqrt(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    const u32 first = (u32)get_group_id(0) * 3u;
    const u32 last = first + 3u < 150u ? first + 3u : 150u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 150; ++a1) {
            f32 f0_0 = 0.0f;
            {
                f32 s0_0[8];
                for (i32 l = 0; l < 8; ++l) {
                    s0_0[l] = 0.0f;
                }
                for (i32 c2 = 0; c2 < 32; c2 += 8) {
                    for (i32 l = 0; l < 8; ++l) {
                        const i32 a2 = c2 + l;
                        const f32 v0 = b1[a0 * 37 + a2];
                        const f32 v1 = b1[a1 * 37 + a2];
                        const f32 v2 = v0 - v1;
                        const f32 v3 = v2 * v2;
                        s0_0[l] = s0_0[l] + v3;
                    }
                }
                {
                    const i32 c2 = 32;
                    for (i32 l = 0; l < 5; ++l) {
                        const i32 a2 = c2 + l;
                        const f32 v0 = b1[a0 * 37 + a2];
                        const f32 v1 = b1[a1 * 37 + a2];
                        const f32 v2 = v0 - v1;
                        const f32 v3 = v2 * v2;
                        s0_0[l] = s0_0[l] + v3;
                    }
                }
                for (i32 l = 0; l < 8; ++l) {
                    f0_0 = f0_0 + s0_0[l];
                }
            }
            {
                const f32 v1 = sqrt(f0_0);
                b0[a0 * 150 + a1] = v1;
            }
        }
    }
}
