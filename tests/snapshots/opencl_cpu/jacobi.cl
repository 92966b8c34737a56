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
void k0_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, __global f32* b3, const u64 byte3, __global f32* b4, const u64 byte4) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    b3 = (__global f32*)((__global u8*)b3 + byte3);
    b4 = (__global f32*)((__global u8*)b4 + byte4);
    const u32 first = (u32)get_group_id(0) * 16u;
    const u32 last = first + 16u < 1024u ? first + 16u : 1024u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)p;
        const f32 v0 = b0[a0 + 1047552];
        const f32 v1 = b0[a0];
        const f32 v2 = b0[a0 * 1024 + 1023];
        const f32 v3 = b0[a0 * 1024];
        b1[a0] = v0;
        b2[a0 + 1047552] = v1;
        b3[a0 * 1024] = v2;
        b4[a0 * 1024 + 1023] = v3;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k1_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 512u;
    const u32 last = first + 512u < 32736u ? first + 512u : 32736u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w0[32];
            f32 w1[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a1];
                const f32 v1 = b0[a1 + 1024];
                w0[l] = v0;
                w1[l] = v1;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b1[a1 + 1024] = w0[l];
                b2[a1] = w1[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k2_join(__global const f32* b0, const u64 byte0, __global f32* b1, const u64 byte1, __global f32* b2, const u64 byte2) {
    b0 = (__global const f32*)((__global const u8*)b0 + byte0);
    b1 = (__global f32*)((__global u8*)b1 + byte1);
    b2 = (__global f32*)((__global u8*)b2 + byte2);
    const u32 first = (u32)get_group_id(0) * 512u;
    const u32 last = first + 512u < 32768u ? first + 512u : 32768u;
    for (u32 p = first; p < last; ++p) {
        const i32 a0 = (i32)(p / 32u);
        const i32 c1 = (i32)(p % 32u) * 32;
        const i32 n = 1023 - c1 < 32 ? 1023 - c1 : 32;
        {
            f32 w0[32];
            f32 w1[32];
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b0[a0 * 1024 + a1];
                const f32 v1 = b0[a0 * 1024 + a1 + 1];
                w0[l] = v0;
                w1[l] = v1;
            }
            for (i32 l = 0; l < n; ++l) {
                const i32 a1 = c1 + l;
                b1[a0 * 1024 + a1 + 1] = w0[l];
                b2[a0 * 1024 + a1] = w1[l];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void k3_add_multiply(__global f32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global const f32* b2, const u64 byte2, __global const f32* b3, const u64 byte3, __global const f32* b4, const u64 byte4) {
    b0 = (__global f32*)((__global u8*)b0 + byte0);
    b1 = (__global const f32*)((__global const u8*)b1 + byte1);
    b2 = (__global const f32*)((__global const u8*)b2 + byte2);
    b3 = (__global const f32*)((__global const u8*)b3 + byte3);
    b4 = (__global const f32*)((__global const u8*)b4 + byte4);
    const u32 first = (u32)get_group_id(0) * 512u;
    const u32 last = first + 512u < 32768u ? first + 512u : 32768u;
    for (u32 p = first; p < last; ++p) {
        const i32 c1 = (i32)p * 32;
        {
            f32 w8[32];
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                const f32 v0 = b3[a1];
                const f32 v1 = b4[a1];
                const f32 v2 = v0 + v1;
                const f32 v3 = b2[a1];
                const f32 v4 = v2 + v3;
                const f32 v5 = b1[a1];
                const f32 v6 = v4 + v5;
                const f32 v8 = v6 * 0.25f;
                w8[l] = v8;
            }
            for (i32 l = 0; l < 32; ++l) {
                const i32 a1 = c1 + l;
                b0[a1] = w8[l];
            }
        }
    }
}
