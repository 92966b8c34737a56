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
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)
static inline void fold_into_memory(__global A* at, A x) {
const A old = *(volatile __global A*)at;
if (old != old || x < old || (x == old && x != 0)) return;
const int bits = x != x ? (int)(~(unsigned int)0 >> 1) : as_int(x);
if (bits >= 0) atomic_max((volatile __global int*)at, (int)bits);
else atomic_min((volatile __global unsigned int*)at, (unsigned int)bits);
}
static inline void fold_into_table(__local A* at, A x) {
const A old = *(volatile __local A*)at;
if (old != old || x < old || (x == old && x != 0)) return;
const int bits = x != x ? (int)(~(unsigned int)0 >> 1) : as_int(x);
if (bits >= 0) atomic_max((volatile __local int*)at, (int)bits);
else atomic_min((volatile __local unsigned int*)at, (unsigned int)bits);
}

__kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void tables0(__global const u32* b0, const u64 byte0, __global const f32* b1, const u64 byte1, __global f32* b2, const u64 byte2, const u32 points, const u32 last, const u32 width, const u32 items)
{
b0 = (__global const u32*)((__global const u8*)b0 + byte0);
b1 = (__global const f32*)((__global const u8*)b1 + byte1);
b2 = (__global f32*)((__global u8*)b2 + byte2);
__local A own[8192];
const u32 item = (u32)get_local_id(0), entries = (last + 1) * width;
for (u32 i = item; i < entries; i += 1024u) own[i] = NONE;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 id = (u32)get_group_id(0) * 1024u + item; id < items; id += (u32)get_num_groups(0) * 1024u) {
const u32 from = id / width * 4u, column = id % width;
const u32 to = from + 4u < points ? from + 4u : points;
u32 keys[4];
A xs[4];
#pragma unroll
for (u32 j = 0; j < 4u; j++) {
const u32 place = from + j < to ? from + j : to - 1;
keys[j] = b0[place];
xs[j] = b1[place * width + column];
}
u32 key = keys[0];
A all = xs[0];
#pragma unroll
for (u32 j = 1; j < 4u; j++) {
if (from + j >= to) break;
if (keys[j] == key) { all = join(all, xs[j]); continue; }
fold_into_table(&own[(u32)(key < last ? key : last) * width + column], all);
key = keys[j];
all = xs[j];
}
fold_into_table(&own[(u32)(key < last ? key : last) * width + column], all);
}
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 i = item; i < entries; i += 1024u) {
const A x = own[i];
if (x != NONE) fold_into_memory(&b2[i], x);
}
}
