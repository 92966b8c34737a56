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
void k0_sum(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            {
                const u32 q = y;
                const i32 a0 = (i32)q;
                const f32 v0 = b0[a0];
                f0_0 = f0_0 + v0;
            }
            if (y < 244u) {
                const u32 q = 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = b0[a0];
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
            b1[0] = f0_0;
        }
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k1_multiply_add_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 500u) {
        const i32 a0 = (i32)p;
        const f32 v0 = b0[a0];
        const f32 v2 = b2[a0];
        const f32 v4 = 0x1.47ae14p-7f * v0;
        const f32 v5 = v2 + v4;
        const f32 v6 = 0x1.99999ap-4f * v5;
        const f32 v7 = v0 - v6;
        const f32 v8 = b3[a0];
        const f32 v9 = b5[a0];
        const f32 v10 = 0x1.47ae14p-7f * v8;
        const f32 v11 = v9 + v10;
        const f32 v12 = 0x1.99999ap-4f * v11;
        const f32 v13 = v8 - v12;
        b1[a0] = v7;
        b4[a0] = v13;
    }
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void k2_multiply_add_multiply_subtract(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global f32* b4, const u64 byte4, __global const f32* b5, const u64 byte5) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    b5 = (__global const f32*)((__global const u8*)b5 + byte5);
    const u32 p = (u32)get_group_id(0) * 64u + (u32)get_local_id(0);
    if (p < 500u) {
        const i32 a1 = (i32)p;
        const f32 v0 = b0[a1];
        const f32 v2 = b2[a1];
        const f32 v4 = 0x1.47ae14p-7f * v0;
        const f32 v5 = v2 + v4;
        const f32 v6 = 0x1.99999ap-4f * v5;
        const f32 v7 = v0 - v6;
        const f32 v8 = b3[a1];
        const f32 v9 = b5[a1];
        const f32 v10 = 0x1.47ae14p-7f * v8;
        const f32 v11 = v9 + v10;
        const f32 v12 = 0x1.99999ap-4f * v11;
        const f32 v13 = v8 - v12;
        b1[a1] = v7;
        b4[a1] = v13;
    }
}
