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
void k0_dot(__global const i32* b0, const u64 byte0, __global const i32* b1, const u64 byte1, __global i32* b2, const u64 byte2) {
    b0 = (__global const i32*)((__global const u8*)b0 + byte0);
    b1 = (__global const i32*)((__global const u8*)b1 + byte1);
    b2 = (__global i32*)((__global u8*)b2 + byte2);
    __local i32 l_i32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 x = t / 32u, y = t % 32u;
    {
        const u32 p0 = (u32)get_group_id(0) * 8u;
        const u32 p = p0 + x;
        const bool live = p < 9100u;
        const i32 a1 = (i32)(p % 70u);
        const i32 a0 = (i32)(p / 70u);
        i32 f0_0 = 0;
        if (live) {
            {
                const u32 q = y;
                const i32 a2 = (i32)q;
                const i32 v0 = b0[a0 * 33 + a2];
                const i32 v1 = b1[a1 + a2 * 70];
                const i32 v2 = (i32)((u32)v0 * (u32)v1);
                f0_0 = (i32)((u32)f0_0 + (u32)v2);
            }
            if (y < 1u) {
                const u32 q = 32u + y;
                const i32 a2 = (i32)q;
                const i32 v0 = b0[a0 * 33 + a2];
                const i32 v1 = b1[a1 + a2 * 70];
                const i32 v2 = (i32)((u32)v0 * (u32)v1);
                f0_0 = (i32)((u32)f0_0 + (u32)v2);
            }
        }
        l_i32_0[t] = f0_0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < 4u) {
            #pragma unroll
            for (u32 s = 1u; s < 8u; ++s) {
                const i32 o0 = l_i32_0[t + s * 4u];
                f0_0 = (i32)((u32)f0_0 + (u32)o0);
            }
            l_i32_0[t] = f0_0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y == 0u) {
            #pragma unroll
            for (u32 s = 1u; s < 4u; ++s) {
                const i32 o0 = l_i32_0[t + s];
                f0_0 = (i32)((u32)f0_0 + (u32)o0);
            }
        }
        if (live && y == 0u) {
            b2[a0 * 70 + a1] = f0_0;
        }
    }
}
