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
#define DEVICE_FN static inline
#define LOCAL_MEM __local
static inline u32 add_some(__global u32* at, u32 n) { return atomic_add(at, n); }
static inline u32 add_one(__global u32* at) { return atomic_add(at, 1u); }
static inline u32 add_own(__local u32* at, u32 n) { return atomic_add(at, n); }
static inline u32 exchange_if(__global u32* at, u32 old, u32 next) { return atomic_cmpxchg(at, old, next); }
static inline void mark(__local u32* marks, u32 place) { atomic_or(&marks[place / 32u], 1u << (place % 32u)); }
static inline u32 lowest(u32 x) { return 31u - (u32)clz(x & (0u - x)); }
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* b0, const u64 byte0, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
b0 = (__global u32*)((__global u8*)b0 + byte0);
const u32 item = (u32)get_local_id(0), id = (u32)get_group_id(0) * 256u + item;
if (id < slots + 2u) b0[id] = 0u;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void arrive1(__global const u32* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global u32* b2, const u64 byte2, __global u32* b3, const u64 byte3, __global u32* b4, const u64 byte4, __global u32* b5, const u64 byte5, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
b3 = (__global u32*)((__global u8*)b3 + byte3);
b4 = (__global u32*)((__global u8*)b4 + byte4);
b5 = (__global u32*)((__global u8*)b5 + byte5);
__local u32 further, first;
const u32 item = (u32)get_local_id(0), id = (u32)get_group_id(0) * 256u + item;
if (item == 0u) further = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
u32 slot = 0u, number = 0u, own = 0u;
if (id < points) {
const u32 key = b0[id] < last ? b0[id] : last;
slot = key;
number = add_one(&b1[slot]);
b3[id] = number == 0u ? slot | 0x80000000u : slot;
if (number < 8u) b2[slot * 8u + number] = id;
else own = add_own(&further, 1u);
if (number == 8u) b4[add_one(&b1[slots])] = slot;
}
barrier(CLK_LOCAL_MEM_FENCE);
if (item == 0u && further > 0u) first = add_some(&b1[slots + 1u], further);
barrier(CLK_LOCAL_MEM_FENCE);
if (id < points && number >= 8u) {
b5[2u * (first + own)] = slot;
b5[2u * (first + own) + 1u] = id;
}
}

__kernel __attribute__((reqd_work_group_size(512, 1, 1)))
void fold2(__global const u32* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global const u32* b3, const u64 byte3, __global const u32* b4, const u64 byte4, __global const u32* b5, const u64 byte5, __global const half* b6, const u64 byte6, __global half* b7, const u64 byte7, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global const u32*)((__global const u8*)b3 + byte3);
b4 = (__global const u32*)((__global const u8*)b4 + byte4);
b5 = (__global const u32*)((__global const u8*)b5 + byte5);
b6 = (__global const half*)((__global const u8*)b6 + byte6);
b7 = (__global half*)((__global u8*)b7 + byte7);
__local u32 marks[1024];
__local A parts[512 * 1];
const u32 item = (u32)get_local_id(0), number = (u32)get_group_id(0);
if (number < large) {
const u32 used = (points + 31u) / 32u, further = b0[slots + 1u];
const u32 across = lanes < 512u ? lanes : 512u, teams = 512u / across, team = item / across;
for (u32 at = number; at < b0[slots]; at += large) {
const u32 slot = b3[at], key = slot;
for (u32 w = item; w < used; w += 512u) marks[w] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
if (item < 8u) mark(marks, b1[slot * 8u + item]);
for (u32 i = item; i < further; i += 512u * 8u) {
u32 of[8], place[8];
#pragma unroll
for (u32 j = 0; j < 8u; j++) {
const u32 k = i + j * 512u;
of[j] = k < further ? b4[2u * k] : 0xffffffffu;
place[j] = k < further ? b4[2u * k + 1u] : 0u;
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (of[j] == slot) mark(marks, place[j]);
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 block = 0; block < lanes; block += across) {
const u32 lane = block + item % across, column = lane * 1u;
A all[1], lost[1], old[1], xs[8][1];
#pragma unroll
for (u32 v = 0; v < 1u; v++) { all[v] = NONE; lost[v] = 0; }
if (team < teams && lane < lanes) {
u32 places[8], some = 0u;
for (u32 w = team * used / teams; w < (team + 1u) * used / teams; w++) {
u32 left = marks[w];
while (left != 0u) {
places[some++] = w * 32u + lowest(left);
left &= left - 1u;
if (some == 8u) {
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) { const u32 place = places[j];
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
some = 0u;
}
}
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) { const u32 place = places[j];
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
#pragma unroll
for (u32 j = 0; j < 8u; j++) if (j < some) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
some = 0u;
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) parts[item * 1u + v] = all[v];
barrier(CLK_LOCAL_MEM_FENCE);
if (team == 0u && lane < lanes) {
for (u32 t = 1u; t < teams; t++) {
const u32 from = (t * across + item) * 1u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], parts[from + v]);
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) old[v] = (A)(vload_half((u32)(key < last ? key : last) * width + column, b7));
#pragma unroll
for (u32 v = 0; v < 1u; v++) vstore_half_rte(join(old[v], all[v]), (u32)(key < last ? key : last) * width + column, b7);
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
return;
}
const u32 id = (number - large) * 512u + item;
const u32 point = id / lanes, column = id % lanes * 1u;
if (point >= points) return;
const u32 mine = b2[point], slot = mine & 0x7fffffffu;
if (mine == slot) return;
const u32 key = b5[point], count = b0[slot];
A all[1], old[1], xs[8][1];
#pragma unroll
for (u32 v = 0; v < 1u; v++) old[v] = (A)(vload_half((u32)(key < last ? key : last) * width + column, b7));
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = (A)(vload_half(point * width + column, b6));
if (count > 8u) return;
if (count > 1u) {
u32 k0 = 0u < count ? b1[slot * 8u + 0u] : 0xffffffffu;
u32 k1 = 1u < count ? b1[slot * 8u + 1u] : 0xffffffffu;
u32 k2 = 2u < count ? b1[slot * 8u + 2u] : 0xffffffffu;
u32 k3 = 3u < count ? b1[slot * 8u + 3u] : 0xffffffffu;
u32 k4 = 4u < count ? b1[slot * 8u + 4u] : 0xffffffffu;
u32 k5 = 5u < count ? b1[slot * 8u + 5u] : 0xffffffffu;
u32 k6 = 6u < count ? b1[slot * 8u + 6u] : 0xffffffffu;
u32 k7 = 7u < count ? b1[slot * 8u + 7u] : 0xffffffffu;
{ const u32 k = k0 < k1 ? k0 : k1;
k1 = k0 < k1 ? k1 : k0;
k0 = k; }
{ const u32 k = k2 < k3 ? k2 : k3;
k3 = k2 < k3 ? k3 : k2;
k2 = k; }
{ const u32 k = k4 < k5 ? k4 : k5;
k5 = k4 < k5 ? k5 : k4;
k4 = k; }
{ const u32 k = k6 < k7 ? k6 : k7;
k7 = k6 < k7 ? k7 : k6;
k6 = k; }
{ const u32 k = k0 < k2 ? k0 : k2;
k2 = k0 < k2 ? k2 : k0;
k0 = k; }
{ const u32 k = k1 < k3 ? k1 : k3;
k3 = k1 < k3 ? k3 : k1;
k1 = k; }
{ const u32 k = k4 < k6 ? k4 : k6;
k6 = k4 < k6 ? k6 : k4;
k4 = k; }
{ const u32 k = k5 < k7 ? k5 : k7;
k7 = k5 < k7 ? k7 : k5;
k5 = k; }
{ const u32 k = k1 < k2 ? k1 : k2;
k2 = k1 < k2 ? k2 : k1;
k1 = k; }
{ const u32 k = k5 < k6 ? k5 : k6;
k6 = k5 < k6 ? k6 : k5;
k5 = k; }
{ const u32 k = k0 < k4 ? k0 : k4;
k4 = k0 < k4 ? k4 : k0;
k0 = k; }
{ const u32 k = k1 < k5 ? k1 : k5;
k5 = k1 < k5 ? k5 : k1;
k1 = k; }
{ const u32 k = k2 < k6 ? k2 : k6;
k6 = k2 < k6 ? k6 : k2;
k2 = k; }
{ const u32 k = k3 < k7 ? k3 : k7;
k7 = k3 < k7 ? k7 : k3;
k3 = k; }
{ const u32 k = k2 < k4 ? k2 : k4;
k4 = k2 < k4 ? k4 : k2;
k2 = k; }
{ const u32 k = k3 < k5 ? k3 : k5;
k5 = k3 < k5 ? k5 : k3;
k3 = k; }
{ const u32 k = k1 < k2 ? k1 : k2;
k2 = k1 < k2 ? k2 : k1;
k1 = k; }
{ const u32 k = k3 < k4 ? k3 : k4;
k4 = k3 < k4 ? k4 : k3;
k3 = k; }
{ const u32 k = k5 < k6 ? k5 : k6;
k6 = k5 < k6 ? k6 : k5;
k5 = k; }
if (0u < count) { const u32 place = k0; const u32 j = 0u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (1u < count) { const u32 place = k1; const u32 j = 1u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (2u < count) { const u32 place = k2; const u32 j = 2u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (3u < count) { const u32 place = k3; const u32 j = 3u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (4u < count) { const u32 place = k4; const u32 j = 4u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (5u < count) { const u32 place = k5; const u32 j = 5u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (6u < count) { const u32 place = k6; const u32 j = 6u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
if (7u < count) { const u32 place = k7; const u32 j = 7u;
#pragma unroll
for (u32 v = 0; v < 1u; v++) xs[j][v] = (A)(vload_half(place * width + column, b6));
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = xs[0][v];
#pragma unroll
for (u32 j = 1; j < 8u; j++) if (j < count) {
#pragma unroll
for (u32 v = 0; v < 1u; v++) all[v] = join(all[v], xs[j][v]);
}
}
#pragma unroll
for (u32 v = 0; v < 1u; v++) vstore_half_rte(join(old[v], all[v]), (u32)(key < last ? key : last) * width + column, b7);
}
