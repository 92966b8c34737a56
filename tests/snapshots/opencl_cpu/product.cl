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
void k0_dot(__global const i32* b0, const u64 byte0, __global const i32* b1, const u64 byte1, __global i32* b2, const u64 byte2) {
    b0 = (__global const i32*)((__global const u8*)b0 + byte0);
    b1 = (__global const i32*)((__global const u8*)b1 + byte1);
    b2 = (__global i32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 5u;
    const u32 last = first + 5u < 260u ? first + 5u : 260u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)(p / 2u);
        const i32 c1 = (i32)(p % 2u) * 64;
        const i32 n = 70 - c1 < 64 ? 70 - c1 : 64;
        i32 f0_0[64];
        for (i32 l = 0; l < 64; ++l) {
            f0_0[l] = 0;
        }
        for (i32 a2 = 0; a2 < 33; ++a2) {
            const i32 v0 = b0[a0 * 33 + a2];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const i32 v1 = b1[a1 + a2 * 70];
                const i32 v2 = (i32)((u32)v0 * (u32)v1);
                f0_0[l] = (i32)((u32)f0_0[l] + (u32)v2);
            }
        }
        {
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                b2[a0 * 70 + a1] = f0_0[l];
            }
        }
    }
}
