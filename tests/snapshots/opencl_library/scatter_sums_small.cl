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
#define LOCAL_MEM __local
static inline u32 magnitude(f32 x) { return as_uint(x) & 0x7fffffffu; }
static inline u32 felt(f32 x) { return as_uint(x) == 0u ? 1u : magnitude(x); }
static inline u32 first(u32 a, u32 b) { return a < b ? a : b; }
static inline u32 most(u32 a, u32 b) { return a > b ? a : b; }
static inline u64 total(u64 a, u64 b) { return a + b; }
/* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are
counted, those below zero in the upper half. */
static inline u64 fixed(f32 x, u32 most, u32 spare) {
const u32 size = magnitude(x), below = as_uint(x) >> 31;
if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);
const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;
u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);
const int shift = (int)spare - (int)(top - own);
whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;
return below ? (u64)0 - whole : whole;
}
static inline f32 sum_of(u64 all, u32 most, u32 spare) {
if (most >= 0x7f800000u) {
const int above = (u32)all != 0u, below = (u32)(all >> 32) != 0u;
return as_float(most > 0x7f800000u || (above && below) ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);
}
const int top = most >> 23 ? most >> 23 : 1;
return ldexp((f32)(i64)all, top - 150 - (int)spare);
}
static inline void first_into_memory(__global u32* at, u32 x) { atomic_min((volatile __global u32*)at, x); }
static inline void most_into_memory(__global u32* at, u32 x) {
if (x > *(volatile __global u32*)at) atomic_max((volatile __global u32*)at, x);
}
static inline void total_into_memory(__global u64* at, u64 x) {
volatile __global u32* word = (volatile __global u32*)at;
const u32 low = (u32)x;
u32 high = (u32)((u64)x >> 32);
if (low != 0u) high += atomic_add(word, low) > 0xffffffffu - low ? 1u : 0u;
if (high != 0u) atomic_add(word + 1, high);
}
static inline void first_into_table(__local u32* at, u32 x) { atomic_min((volatile __local u32*)at, x); }
static inline void most_into_table(__local u32* at, u32 x) {
if (x > *(volatile __local u32*)at) atomic_max((volatile __local u32*)at, x);
}
static inline void total_into_table(__local u64* at, u64 x) {
volatile __local u32* word = (volatile __local u32*)at;
const u32 low = (u32)x;
u32 high = (u32)((u64)x >> 32);
if (low != 0u) high += atomic_add(word, low) > 0xffffffffu - low ? 1u : 0u;
if (high != 0u) atomic_add(word + 1, high);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* b0, const u64 byte0, const u32 words, const u32 rows)
{
b0 = (__global u32*)((__global u8*)b0 + byte0);
const u32 id = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
if (id < words) b0[id] = 0u;
}

__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void magnitudes1(__global const u32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global u32* b2, const u64 byte2, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const f32*)((__global const u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
__local u32 own[1024];
const u32 item = (u32)get_local_id(0), entries = (last + 1) * width;
for (u32 i = item; i < entries; i += 1024u) own[i] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 id = (u32)get_group_id(0) * 1024u + item; id < items; id += (u32)get_num_groups(0) * 1024u) {
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
u32 xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = felt(b1[place * width + column]);
}
u32 key = keys[0];
u32 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = most(all, xs[j]); continue; }
most_into_table(&own[(u32)((key < last ? key : last)) * width + column], all);
key = keys[j];
all = xs[j];
}
most_into_table(&own[(u32)((key < last ? key : last)) * width + column], all);
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 i = item; i < entries; i += 1024u) {
const u32 x = own[i];
if (x != 0u) most_into_memory(&b2[i], x);
}
}

__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void sums2(__global const u32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global u64* b2, const u64 byte2, __global const u32* b3, const u64 byte3, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const f32*)((__global const u8*)b1 + byte1);
b2 = (__global u64*)((__global u8*)b2 + byte2);
b3 = (__global const u32*)((__global const u8*)b3 + byte3);
__local u64 own[512];
const u32 item = (u32)get_local_id(0), entries = (last + 1) * width;
for (u32 i = item; i < entries; i += 1024u) own[i] = 0;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 id = (u32)get_group_id(0) * 1024u + item; id < items; id += (u32)get_num_groups(0) * 1024u) {
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
u64 xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = fixed(b1[place * width + column], b3[(u32)((keys[j] < last ? keys[j] : last)) * width + column], spare);
}
u32 key = keys[0];
u64 all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = total(all, xs[j]); continue; }
total_into_table(&own[(u32)((key < last ? key : last)) * width + column], all);
key = keys[j];
all = xs[j];
}
total_into_table(&own[(u32)((key < last ? key : last)) * width + column], all);
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 i = item; i < entries; i += 1024u) {
const u64 x = own[i];
if (x != 0) total_into_memory(&b2[i], x);
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void put3(__global const u64* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global f32* b2, const u64 byte2, const u32 items, const u32 last, const u32 width, const u32 spare)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global f32*)((__global u8*)b2 + byte2);
const u32 id = (u32)get_group_id(0) * 256u + (u32)get_local_id(0);
if (id >= items) return;
const u32 most = b1[id];
if (most == 0u) return;
const u32 to = id;
b2[to] = b2[to] + sum_of(b0[id], most, spare);
}
