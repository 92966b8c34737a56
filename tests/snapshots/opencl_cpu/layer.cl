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
void k0_dot_add_tanh(__global const f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    const u32 first = (u32)get_group_id(0) * 3u;
    const u32 last = first + 3u < 160u ? first + 3u : 160u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)(p / 8u);
        const i32 c1 = (i32)(p % 8u) * 64;
        const i32 n = 500 - c1 < 64 ? 500 - c1 : 64;
        f32 f0_0[64], f0_0b[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = 0.0f;
            f0_0b[l] = 0.0f;
        }
        u32 n0 = 0u;
        for (i32 a2 = 0; a2 < 784; ++a2) {
            const f32 v0 = b0[a0 * 784 + a2];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const f32 v1 = b1[a1 + a2 * 500];
                const f32 v2 = v0 * v1;
                f0_0b[l] = f0_0b[l] + v2;
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
                const i32 a1 = c1 + l;
                const f32 v1 = b3[a1];
                const f32 v2 = f0_0[l] + v1;
                const f32 v3 = tanh(v2);
                b2[a0 * 500 + a1] = v3;
            }
        }
    }
}
