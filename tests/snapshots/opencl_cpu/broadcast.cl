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
void k0_multiply_add_tanh_subtract_maximum(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global f32* b3, const u64 byte3) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    const u32 first = (u32)get_group_id(0) * 2u;
    const u32 last = first + 2u < 100u ? first + 2u : 100u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        for (i32 a1 = 0; a1 < 70; ++a1) {
            const f32 v0 = b2[a0 * 70 + a1];
            const f32 v2 = v0 * 2.0f;
            const f32 v3 = b1[a1];
            const f32 v4 = v2 + v3;
            const f32 v5 = tanh(v4);
            const f32 v6 = v0 - v3;
            const f32 v8 = (v6 > 0.0f || v6 != v6) ? v6 : 0.0f;
            b0[a0 * 70 + a1] = v5;
            b3[a0 * 70 + a1] = v8;
        }
    }
}
