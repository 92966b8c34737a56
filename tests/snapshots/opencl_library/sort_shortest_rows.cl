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
typedef u32 K;
static inline K key_of(u32 x) {
K k = x;
if (k == 2147483648u) k = 0;
k = (k & 2147483647u) > 2139095040u ? 4294967295u : k ^ ((k & 2147483648u) ? 4294967295u : 2147483648u);
return k;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void rows0(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global i64* b2, const u64 byte2, const u32 n, const u32 kept, const u64 rows)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global i64*)((__global u8*)b2 + byte2);
const u64 row = (u64)get_group_id(0) * 128u + (u64)get_local_id(0);
if (row >= rows) return;
const u64 line = row * n, results = row * kept;
K k0 = 0u < n ? key_of(b0[line + (0u < n ? 0u : 0u)]) : ~(K)0;
u32 p0 = 0u;
K k1 = 1u < n ? key_of(b0[line + (1u < n ? 1u : 0u)]) : ~(K)0;
u32 p1 = 1u;
K k2 = 2u < n ? key_of(b0[line + (2u < n ? 2u : 0u)]) : ~(K)0;
u32 p2 = 2u;
K k3 = 3u < n ? key_of(b0[line + (3u < n ? 3u : 0u)]) : ~(K)0;
u32 p3 = 3u;
K k4 = 4u < n ? key_of(b0[line + (4u < n ? 4u : 0u)]) : ~(K)0;
u32 p4 = 4u;
K k5 = 5u < n ? key_of(b0[line + (5u < n ? 5u : 0u)]) : ~(K)0;
u32 p5 = 5u;
K k6 = 6u < n ? key_of(b0[line + (6u < n ? 6u : 0u)]) : ~(K)0;
u32 p6 = 6u;
K k7 = 7u < n ? key_of(b0[line + (7u < n ? 7u : 0u)]) : ~(K)0;
u32 p7 = 7u;
K k8 = 8u < n ? key_of(b0[line + (8u < n ? 8u : 0u)]) : ~(K)0;
u32 p8 = 8u;
K k9 = 9u < n ? key_of(b0[line + (9u < n ? 9u : 0u)]) : ~(K)0;
u32 p9 = 9u;
K k10 = 10u < n ? key_of(b0[line + (10u < n ? 10u : 0u)]) : ~(K)0;
u32 p10 = 10u;
K k11 = 11u < n ? key_of(b0[line + (11u < n ? 11u : 0u)]) : ~(K)0;
u32 p11 = 11u;
K k12 = 12u < n ? key_of(b0[line + (12u < n ? 12u : 0u)]) : ~(K)0;
u32 p12 = 12u;
K k13 = 13u < n ? key_of(b0[line + (13u < n ? 13u : 0u)]) : ~(K)0;
u32 p13 = 13u;
K k14 = 14u < n ? key_of(b0[line + (14u < n ? 14u : 0u)]) : ~(K)0;
u32 p14 = 14u;
K k15 = 15u < n ? key_of(b0[line + (15u < n ? 15u : 0u)]) : ~(K)0;
u32 p15 = 15u;
{ const int after = k0 > k1 || (k0 == k1 && p0 > p1);
const K k = after ? k1 : k0;
const u32 p = after ? p1 : p0;
k1 = after ? k0 : k1;
p1 = after ? p0 : p1;
k0 = k;
p0 = p; }
{ const int after = k2 > k3 || (k2 == k3 && p2 > p3);
const K k = after ? k3 : k2;
const u32 p = after ? p3 : p2;
k3 = after ? k2 : k3;
p3 = after ? p2 : p3;
k2 = k;
p2 = p; }
{ const int after = k4 > k5 || (k4 == k5 && p4 > p5);
const K k = after ? k5 : k4;
const u32 p = after ? p5 : p4;
k5 = after ? k4 : k5;
p5 = after ? p4 : p5;
k4 = k;
p4 = p; }
{ const int after = k6 > k7 || (k6 == k7 && p6 > p7);
const K k = after ? k7 : k6;
const u32 p = after ? p7 : p6;
k7 = after ? k6 : k7;
p7 = after ? p6 : p7;
k6 = k;
p6 = p; }
{ const int after = k8 > k9 || (k8 == k9 && p8 > p9);
const K k = after ? k9 : k8;
const u32 p = after ? p9 : p8;
k9 = after ? k8 : k9;
p9 = after ? p8 : p9;
k8 = k;
p8 = p; }
{ const int after = k10 > k11 || (k10 == k11 && p10 > p11);
const K k = after ? k11 : k10;
const u32 p = after ? p11 : p10;
k11 = after ? k10 : k11;
p11 = after ? p10 : p11;
k10 = k;
p10 = p; }
{ const int after = k12 > k13 || (k12 == k13 && p12 > p13);
const K k = after ? k13 : k12;
const u32 p = after ? p13 : p12;
k13 = after ? k12 : k13;
p13 = after ? p12 : p13;
k12 = k;
p12 = p; }
{ const int after = k14 > k15 || (k14 == k15 && p14 > p15);
const K k = after ? k15 : k14;
const u32 p = after ? p15 : p14;
k15 = after ? k14 : k15;
p15 = after ? p14 : p15;
k14 = k;
p14 = p; }
{ const int after = k0 > k2 || (k0 == k2 && p0 > p2);
const K k = after ? k2 : k0;
const u32 p = after ? p2 : p0;
k2 = after ? k0 : k2;
p2 = after ? p0 : p2;
k0 = k;
p0 = p; }
{ const int after = k1 > k3 || (k1 == k3 && p1 > p3);
const K k = after ? k3 : k1;
const u32 p = after ? p3 : p1;
k3 = after ? k1 : k3;
p3 = after ? p1 : p3;
k1 = k;
p1 = p; }
{ const int after = k4 > k6 || (k4 == k6 && p4 > p6);
const K k = after ? k6 : k4;
const u32 p = after ? p6 : p4;
k6 = after ? k4 : k6;
p6 = after ? p4 : p6;
k4 = k;
p4 = p; }
{ const int after = k5 > k7 || (k5 == k7 && p5 > p7);
const K k = after ? k7 : k5;
const u32 p = after ? p7 : p5;
k7 = after ? k5 : k7;
p7 = after ? p5 : p7;
k5 = k;
p5 = p; }
{ const int after = k8 > k10 || (k8 == k10 && p8 > p10);
const K k = after ? k10 : k8;
const u32 p = after ? p10 : p8;
k10 = after ? k8 : k10;
p10 = after ? p8 : p10;
k8 = k;
p8 = p; }
{ const int after = k9 > k11 || (k9 == k11 && p9 > p11);
const K k = after ? k11 : k9;
const u32 p = after ? p11 : p9;
k11 = after ? k9 : k11;
p11 = after ? p9 : p11;
k9 = k;
p9 = p; }
{ const int after = k12 > k14 || (k12 == k14 && p12 > p14);
const K k = after ? k14 : k12;
const u32 p = after ? p14 : p12;
k14 = after ? k12 : k14;
p14 = after ? p12 : p14;
k12 = k;
p12 = p; }
{ const int after = k13 > k15 || (k13 == k15 && p13 > p15);
const K k = after ? k15 : k13;
const u32 p = after ? p15 : p13;
k15 = after ? k13 : k15;
p15 = after ? p13 : p15;
k13 = k;
p13 = p; }
{ const int after = k1 > k2 || (k1 == k2 && p1 > p2);
const K k = after ? k2 : k1;
const u32 p = after ? p2 : p1;
k2 = after ? k1 : k2;
p2 = after ? p1 : p2;
k1 = k;
p1 = p; }
{ const int after = k5 > k6 || (k5 == k6 && p5 > p6);
const K k = after ? k6 : k5;
const u32 p = after ? p6 : p5;
k6 = after ? k5 : k6;
p6 = after ? p5 : p6;
k5 = k;
p5 = p; }
{ const int after = k9 > k10 || (k9 == k10 && p9 > p10);
const K k = after ? k10 : k9;
const u32 p = after ? p10 : p9;
k10 = after ? k9 : k10;
p10 = after ? p9 : p10;
k9 = k;
p9 = p; }
{ const int after = k13 > k14 || (k13 == k14 && p13 > p14);
const K k = after ? k14 : k13;
const u32 p = after ? p14 : p13;
k14 = after ? k13 : k14;
p14 = after ? p13 : p14;
k13 = k;
p13 = p; }
{ const int after = k0 > k4 || (k0 == k4 && p0 > p4);
const K k = after ? k4 : k0;
const u32 p = after ? p4 : p0;
k4 = after ? k0 : k4;
p4 = after ? p0 : p4;
k0 = k;
p0 = p; }
{ const int after = k1 > k5 || (k1 == k5 && p1 > p5);
const K k = after ? k5 : k1;
const u32 p = after ? p5 : p1;
k5 = after ? k1 : k5;
p5 = after ? p1 : p5;
k1 = k;
p1 = p; }
{ const int after = k2 > k6 || (k2 == k6 && p2 > p6);
const K k = after ? k6 : k2;
const u32 p = after ? p6 : p2;
k6 = after ? k2 : k6;
p6 = after ? p2 : p6;
k2 = k;
p2 = p; }
{ const int after = k3 > k7 || (k3 == k7 && p3 > p7);
const K k = after ? k7 : k3;
const u32 p = after ? p7 : p3;
k7 = after ? k3 : k7;
p7 = after ? p3 : p7;
k3 = k;
p3 = p; }
{ const int after = k8 > k12 || (k8 == k12 && p8 > p12);
const K k = after ? k12 : k8;
const u32 p = after ? p12 : p8;
k12 = after ? k8 : k12;
p12 = after ? p8 : p12;
k8 = k;
p8 = p; }
{ const int after = k9 > k13 || (k9 == k13 && p9 > p13);
const K k = after ? k13 : k9;
const u32 p = after ? p13 : p9;
k13 = after ? k9 : k13;
p13 = after ? p9 : p13;
k9 = k;
p9 = p; }
{ const int after = k10 > k14 || (k10 == k14 && p10 > p14);
const K k = after ? k14 : k10;
const u32 p = after ? p14 : p10;
k14 = after ? k10 : k14;
p14 = after ? p10 : p14;
k10 = k;
p10 = p; }
{ const int after = k11 > k15 || (k11 == k15 && p11 > p15);
const K k = after ? k15 : k11;
const u32 p = after ? p15 : p11;
k15 = after ? k11 : k15;
p15 = after ? p11 : p15;
k11 = k;
p11 = p; }
{ const int after = k2 > k4 || (k2 == k4 && p2 > p4);
const K k = after ? k4 : k2;
const u32 p = after ? p4 : p2;
k4 = after ? k2 : k4;
p4 = after ? p2 : p4;
k2 = k;
p2 = p; }
{ const int after = k3 > k5 || (k3 == k5 && p3 > p5);
const K k = after ? k5 : k3;
const u32 p = after ? p5 : p3;
k5 = after ? k3 : k5;
p5 = after ? p3 : p5;
k3 = k;
p3 = p; }
{ const int after = k10 > k12 || (k10 == k12 && p10 > p12);
const K k = after ? k12 : k10;
const u32 p = after ? p12 : p10;
k12 = after ? k10 : k12;
p12 = after ? p10 : p12;
k10 = k;
p10 = p; }
{ const int after = k11 > k13 || (k11 == k13 && p11 > p13);
const K k = after ? k13 : k11;
const u32 p = after ? p13 : p11;
k13 = after ? k11 : k13;
p13 = after ? p11 : p13;
k11 = k;
p11 = p; }
{ const int after = k1 > k2 || (k1 == k2 && p1 > p2);
const K k = after ? k2 : k1;
const u32 p = after ? p2 : p1;
k2 = after ? k1 : k2;
p2 = after ? p1 : p2;
k1 = k;
p1 = p; }
{ const int after = k3 > k4 || (k3 == k4 && p3 > p4);
const K k = after ? k4 : k3;
const u32 p = after ? p4 : p3;
k4 = after ? k3 : k4;
p4 = after ? p3 : p4;
k3 = k;
p3 = p; }
{ const int after = k5 > k6 || (k5 == k6 && p5 > p6);
const K k = after ? k6 : k5;
const u32 p = after ? p6 : p5;
k6 = after ? k5 : k6;
p6 = after ? p5 : p6;
k5 = k;
p5 = p; }
{ const int after = k9 > k10 || (k9 == k10 && p9 > p10);
const K k = after ? k10 : k9;
const u32 p = after ? p10 : p9;
k10 = after ? k9 : k10;
p10 = after ? p9 : p10;
k9 = k;
p9 = p; }
{ const int after = k11 > k12 || (k11 == k12 && p11 > p12);
const K k = after ? k12 : k11;
const u32 p = after ? p12 : p11;
k12 = after ? k11 : k12;
p12 = after ? p11 : p12;
k11 = k;
p11 = p; }
{ const int after = k13 > k14 || (k13 == k14 && p13 > p14);
const K k = after ? k14 : k13;
const u32 p = after ? p14 : p13;
k14 = after ? k13 : k14;
p14 = after ? p13 : p14;
k13 = k;
p13 = p; }
{ const int after = k0 > k8 || (k0 == k8 && p0 > p8);
const K k = after ? k8 : k0;
const u32 p = after ? p8 : p0;
k8 = after ? k0 : k8;
p8 = after ? p0 : p8;
k0 = k;
p0 = p; }
{ const int after = k1 > k9 || (k1 == k9 && p1 > p9);
const K k = after ? k9 : k1;
const u32 p = after ? p9 : p1;
k9 = after ? k1 : k9;
p9 = after ? p1 : p9;
k1 = k;
p1 = p; }
{ const int after = k2 > k10 || (k2 == k10 && p2 > p10);
const K k = after ? k10 : k2;
const u32 p = after ? p10 : p2;
k10 = after ? k2 : k10;
p10 = after ? p2 : p10;
k2 = k;
p2 = p; }
{ const int after = k3 > k11 || (k3 == k11 && p3 > p11);
const K k = after ? k11 : k3;
const u32 p = after ? p11 : p3;
k11 = after ? k3 : k11;
p11 = after ? p3 : p11;
k3 = k;
p3 = p; }
{ const int after = k4 > k12 || (k4 == k12 && p4 > p12);
const K k = after ? k12 : k4;
const u32 p = after ? p12 : p4;
k12 = after ? k4 : k12;
p12 = after ? p4 : p12;
k4 = k;
p4 = p; }
{ const int after = k5 > k13 || (k5 == k13 && p5 > p13);
const K k = after ? k13 : k5;
const u32 p = after ? p13 : p5;
k13 = after ? k5 : k13;
p13 = after ? p5 : p13;
k5 = k;
p5 = p; }
{ const int after = k6 > k14 || (k6 == k14 && p6 > p14);
const K k = after ? k14 : k6;
const u32 p = after ? p14 : p6;
k14 = after ? k6 : k14;
p14 = after ? p6 : p14;
k6 = k;
p6 = p; }
{ const int after = k7 > k15 || (k7 == k15 && p7 > p15);
const K k = after ? k15 : k7;
const u32 p = after ? p15 : p7;
k15 = after ? k7 : k15;
p15 = after ? p7 : p15;
k7 = k;
p7 = p; }
{ const int after = k4 > k8 || (k4 == k8 && p4 > p8);
const K k = after ? k8 : k4;
const u32 p = after ? p8 : p4;
k8 = after ? k4 : k8;
p8 = after ? p4 : p8;
k4 = k;
p4 = p; }
{ const int after = k5 > k9 || (k5 == k9 && p5 > p9);
const K k = after ? k9 : k5;
const u32 p = after ? p9 : p5;
k9 = after ? k5 : k9;
p9 = after ? p5 : p9;
k5 = k;
p5 = p; }
{ const int after = k6 > k10 || (k6 == k10 && p6 > p10);
const K k = after ? k10 : k6;
const u32 p = after ? p10 : p6;
k10 = after ? k6 : k10;
p10 = after ? p6 : p10;
k6 = k;
p6 = p; }
{ const int after = k7 > k11 || (k7 == k11 && p7 > p11);
const K k = after ? k11 : k7;
const u32 p = after ? p11 : p7;
k11 = after ? k7 : k11;
p11 = after ? p7 : p11;
k7 = k;
p7 = p; }
{ const int after = k2 > k4 || (k2 == k4 && p2 > p4);
const K k = after ? k4 : k2;
const u32 p = after ? p4 : p2;
k4 = after ? k2 : k4;
p4 = after ? p2 : p4;
k2 = k;
p2 = p; }
{ const int after = k3 > k5 || (k3 == k5 && p3 > p5);
const K k = after ? k5 : k3;
const u32 p = after ? p5 : p3;
k5 = after ? k3 : k5;
p5 = after ? p3 : p5;
k3 = k;
p3 = p; }
{ const int after = k6 > k8 || (k6 == k8 && p6 > p8);
const K k = after ? k8 : k6;
const u32 p = after ? p8 : p6;
k8 = after ? k6 : k8;
p8 = after ? p6 : p8;
k6 = k;
p6 = p; }
{ const int after = k7 > k9 || (k7 == k9 && p7 > p9);
const K k = after ? k9 : k7;
const u32 p = after ? p9 : p7;
k9 = after ? k7 : k9;
p9 = after ? p7 : p9;
k7 = k;
p7 = p; }
{ const int after = k10 > k12 || (k10 == k12 && p10 > p12);
const K k = after ? k12 : k10;
const u32 p = after ? p12 : p10;
k12 = after ? k10 : k12;
p12 = after ? p10 : p12;
k10 = k;
p10 = p; }
{ const int after = k11 > k13 || (k11 == k13 && p11 > p13);
const K k = after ? k13 : k11;
const u32 p = after ? p13 : p11;
k13 = after ? k11 : k13;
p13 = after ? p11 : p13;
k11 = k;
p11 = p; }
{ const int after = k1 > k2 || (k1 == k2 && p1 > p2);
const K k = after ? k2 : k1;
const u32 p = after ? p2 : p1;
k2 = after ? k1 : k2;
p2 = after ? p1 : p2;
k1 = k;
p1 = p; }
{ const int after = k3 > k4 || (k3 == k4 && p3 > p4);
const K k = after ? k4 : k3;
const u32 p = after ? p4 : p3;
k4 = after ? k3 : k4;
p4 = after ? p3 : p4;
k3 = k;
p3 = p; }
{ const int after = k5 > k6 || (k5 == k6 && p5 > p6);
const K k = after ? k6 : k5;
const u32 p = after ? p6 : p5;
k6 = after ? k5 : k6;
p6 = after ? p5 : p6;
k5 = k;
p5 = p; }
{ const int after = k7 > k8 || (k7 == k8 && p7 > p8);
const K k = after ? k8 : k7;
const u32 p = after ? p8 : p7;
k8 = after ? k7 : k8;
p8 = after ? p7 : p8;
k7 = k;
p7 = p; }
{ const int after = k9 > k10 || (k9 == k10 && p9 > p10);
const K k = after ? k10 : k9;
const u32 p = after ? p10 : p9;
k10 = after ? k9 : k10;
p10 = after ? p9 : p10;
k9 = k;
p9 = p; }
{ const int after = k11 > k12 || (k11 == k12 && p11 > p12);
const K k = after ? k12 : k11;
const u32 p = after ? p12 : p11;
k12 = after ? k11 : k12;
p12 = after ? p11 : p12;
k11 = k;
p11 = p; }
{ const int after = k13 > k14 || (k13 == k14 && p13 > p14);
const K k = after ? k14 : k13;
const u32 p = after ? p14 : p13;
k14 = after ? k13 : k14;
p14 = after ? p13 : p14;
k13 = k;
p13 = p; }
{ const u32 at = 0u, p = p0;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 1u, p = p1;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 2u, p = p2;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 3u, p = p3;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 4u, p = p4;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 5u, p = p5;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 6u, p = p6;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 7u, p = p7;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 8u, p = p8;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 9u, p = p9;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 10u, p = p10;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 11u, p = p11;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 12u, p = p12;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 13u, p = p13;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 14u, p = p14;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
{ const u32 at = 15u, p = p15;
if (at < n) { if (at < kept) { b1[results + at] = b0[line + (p)];b2[results + at] = (i64)p; } } }
}
