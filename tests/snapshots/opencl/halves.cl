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
static inline f32 round_f16(f32 x) {
    ushort h;
    vstore_half_rte(x, 0, (half*)&h);
    return vload_half(0, (const half*)&h);
}
static inline f32 bf16_to_f32(u16 h) {
    return as_float((u32)h << 16);
}
static inline u16 f32_to_bf16(f32 x) {
    const u32 u = as_uint(x);
    return x == x ? (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16) : (u16)((u >> 16) | 0x40u);
}
static inline f32 round_bf16(f32 x) {
    return bf16_to_f32(f32_to_bf16(x));
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void k0_sigmoid_multiply_cast_add_sum(__global half* b0, const u64 byte0, __global const half* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global const u16* b3, const u64 byte3, __global u16* b4, const u64 byte4) {
    b0 = (__global half*)((__global u8*)b0 + byte0);
    b1 = (__global const half*)((__global const u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global const u16*)((__global const u8*)b3 + byte3);
    b4 = (__global u16*)((__global u8*)b4 + byte4);
    __local f32 l_f32_0[256];
    const u32 t = (u32)get_local_id(0);
    const u32 y = t;
    {
        const u32 p = (u32)get_group_id(0);
        f32 f0_0 = 0.0f;
        {
            #pragma unroll 8
            for (u32 r = 0u; r < 16u; ++r) {
                const u32 q = r * 256u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = vload_half(a0, b1);
                const f32 v1 = v0;
                const f32 v3 = -v1;
                const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                const f32 v5 = -v4;
                const f32 v6 = exp(v5);
                const bool v8 = v1 < 0.0f;
                const f32 v9 = v8 ? v6 : 1.0f;
                const f32 v10 = 1.0f + v6;
                const f32 v11 = v9 / v10;
                const f32 v12 = round_f16(v11);
                const f32 v14 = v12 * 0.5f;
                const f32 v15 = bf16_to_f32(b3[a0]);
                const f32 v16 = v15;
                const f32 v17 = v1 + v16;
                f0_0 = f0_0 + v16;
                vstore_half_rte(v14, a0, b0);
                b2[a0] = v17;
            }
            if (y < 3u) {
                const u32 q = 4096u + y;
                const i32 a0 = (i32)q;
                const f32 v0 = vload_half(a0, b1);
                const f32 v1 = v0;
                const f32 v3 = -v1;
                const f32 v4 = (v1 > v3 || v1 != v1) ? v1 : v3;
                const f32 v5 = -v4;
                const f32 v6 = exp(v5);
                const bool v8 = v1 < 0.0f;
                const f32 v9 = v8 ? v6 : 1.0f;
                const f32 v10 = 1.0f + v6;
                const f32 v11 = v9 / v10;
                const f32 v12 = round_f16(v11);
                const f32 v14 = v12 * 0.5f;
                const f32 v15 = bf16_to_f32(b3[a0]);
                const f32 v16 = v15;
                const f32 v17 = v1 + v16;
                f0_0 = f0_0 + v16;
                vstore_half_rte(v14, a0, b0);
                b2[a0] = v17;
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
            const f32 v1 = round_bf16(f0_0);
            b4[0] = f32_to_bf16(v1);
        }
    }
}
