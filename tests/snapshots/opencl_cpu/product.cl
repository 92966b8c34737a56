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
    __local u32 left0[1188] __attribute__((aligned(64)));
    __local u32 right0[1584] __attribute__((aligned(64)));
    __local u32 sums0[1728] __attribute__((aligned(64)));
    const u32 tile = (u32)get_group_id(0);
    const i32 row0 = (i32)(tile / 2u) * 36;
    const i32 rows = min(130 - row0, (i32)36);
    const i32 column0 = (i32)(tile % 2u) * 48;
    const i32 columns = min(70 - column0, (i32)48);
    const i32 blocks = (rows + 5) / 6;
    const i32 panels = (columns + 15) / 16;
    for (i32 e = 0; e < blocks * 6 * 48; ++e) {
        sums0[e] = 0;
    }
    for (i32 k0 = 0; k0 < 33; k0 += 33) {
        const i32 depth = min(33 - k0, (i32)33);
        for (i32 y = 0; y < blocks * 6; ++y) {
            for (i32 d = 0; d < depth; ++d) {
                const i32 i = row0 + min(y, rows - 1), k = k0 + d;
                const i32 a0 = (i32)i;
                const i32 a2 = (i32)k;
                const i32 v0 = b0[a0 * 33 + a2];
                left0[y * 33 + d] = (u32)v0;
            }
        }
        for (i32 panel = 0; panel < panels; ++panel) {
            const i32 first = column0 + panel * 16;
            const i32 n = min(columns - panel * 16, (i32)16);
            if (n == 16) {
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = 0; l < 16; ++l) {
                        const i32 i = first + l, k = k0 + d;
                        const i32 a1 = (i32)i;
                        const i32 a2 = (i32)k;
                        const i32 v1 = b1[a1 + a2 * 70];
                        right0[(panel * 33 + d) * 16 + l] = (u32)v1;
                    }
                }
            }
            else {
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = 0; l < n; ++l) {
                        const i32 i = first + l, k = k0 + d;
                        const i32 a1 = (i32)i;
                        const i32 a2 = (i32)k;
                        const i32 v1 = b1[a1 + a2 * 70];
                        right0[(panel * 33 + d) * 16 + l] = (u32)v1;
                    }
                }
                for (i32 d = 0; d < depth; ++d) {
                    for (i32 l = n; l < 16; ++l) {
                        right0[(panel * 33 + d) * 16 + l] = 0;
                    }
                }
            }
        }
        for (i32 panel = 0; panel < panels; ++panel) {
            for (i32 y = 0; y < blocks * 6; y += 6) {
                {
                    uint16 s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0;
                    for (i32 d = 0; d < depth; ++d) {
                        const uint16 w = *(const __local uint16*)&right0[(panel * 33 + d) * 16];
                        s0 += (uint16)left0[(y + 0) * 33 + d] * w;
                        s1 += (uint16)left0[(y + 1) * 33 + d] * w;
                        s2 += (uint16)left0[(y + 2) * 33 + d] * w;
                        s3 += (uint16)left0[(y + 3) * 33 + d] * w;
                        s4 += (uint16)left0[(y + 4) * 33 + d] * w;
                        s5 += (uint16)left0[(y + 5) * 33 + d] * w;
                    }
                    *(__local uint16*)&sums0[(y + 0) * 48 + panel * 16] += s0;
                    *(__local uint16*)&sums0[(y + 1) * 48 + panel * 16] += s1;
                    *(__local uint16*)&sums0[(y + 2) * 48 + panel * 16] += s2;
                    *(__local uint16*)&sums0[(y + 3) * 48 + panel * 16] += s3;
                    *(__local uint16*)&sums0[(y + 4) * 48 + panel * 16] += s4;
                    *(__local uint16*)&sums0[(y + 5) * 48 + panel * 16] += s5;
                }
            }
        }
    }
    for (i32 y = 0; y < rows; ++y) {
        const i32 i = row0 + y;
        const i32 a0 = (i32)i;
        for (i32 x = 0; x < columns; ++x) {
            const i32 j = column0 + x;
            const i32 a1 = (i32)j;
            const i32 f0_0 = (i32)sums0[y * 48 + x];
            {
                b2[a0 * 70 + a1] = f0_0;
            }
        }
    }
}
