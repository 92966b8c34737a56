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
typedef u64 K;
static inline K key_of(u64 x) {
K k = x;
if (k == 9223372036854775808UL) k = 0;
k = (k & 9223372036854775807UL) > 9218868437227405312UL ? 18446744073709551615UL : k ^ ((k & 9223372036854775808UL) ? 18446744073709551615UL : 9223372036854775808UL);
return k;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void select0(__global const u64* b0, const u64 byte0, __global u64* b1, const u64 byte1, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits, const u32 r0, const u32 r1)
{
b0 = (__global const u64*)((__global const u8*)b0 + byte0);
b1 = (__global u64*)((__global u8*)b1 + byte1);
__local K keys[2048];
__local u32 positions[2048];
__local u32 bins[2048];
__local u32 sums[256];
__local u32 found[4];
const u32 item = (u32)get_local_id(0);
const u64 v = (u64)get_group_id(0);
const u64 row = v / parts;
const u64 line = row * n, results = row * kept;
const u32 begin = (u32)(v % parts) * length;
const u32 m = n - begin < length ? n - begin : length;
u32 covered = 0u;
if (r0 >= covered) {
const u32 wanted = r0;
u32 taken = m;
K prefix = 0;
u32 place = 0u, left = 64u, before = 0u;
int by_place = 0;
taken = m;
while (taken > 2048u || (left == 64u && !by_place && taken > 512u)) {
if (left == 0u) { by_place = 1; left = position_bits; }
const u32 width = left < 11u ? left : 11u, shift = left - width;
const int whole = by_place ? left == position_bits : left == 64u;
for (u32 i = item; i < 2048u; i += 256u) bins[i] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
u32 digit = 0u, run = 0u;
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = key_of(b0[line + begin + at]);
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
u32 d;
if (by_place) {
const u32 p = (begin + at);
if (k != prefix || (!whole && (p >> left) != place)) continue;
d = p >> shift;
} else {
if (!whole && (k >> left) != prefix) continue;
d = (u32)(k >> shift);
}
d &= (1u << width) - 1u;
if (d != digit) {
if (run > 0u) atomic_add(&bins[digit], run);
digit = d;
run = 0u;
}
run++;
}
}
if (run > 0u) atomic_add(&bins[digit], run);
barrier(CLK_LOCAL_MEM_FENCE);
u32 own_sum = 0u;
#pragma unroll
for (u32 j = 0u; j < 8u; j++) own_sum += bins[item * 8u + j];
u32 until = own_sum;
for (u32 step = 1u; step < 256u; step *= 2u) {
sums[item] = until;
barrier(CLK_LOCAL_MEM_FENCE);
const u32 other = item >= step ? sums[item - step] : 0u;
barrier(CLK_LOCAL_MEM_FENCE);
until += other;
}
u32 here = before + until - own_sum;
if (wanted >= here && wanted - here < own_sum) {
for (u32 j = 0u; j < 8u; j++) {
const u32 count = bins[item * 8u + j];
if (wanted - here < count) {
found[0] = item * 8u + j;
found[1] = here - before;
found[2] = count;
break;
}
here += count;
}
}
barrier(CLK_LOCAL_MEM_FENCE);
before += found[1];
taken = found[2];
if (by_place) place = whole ? found[0] : (place << width) | found[0];
else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
left = shift;
barrier(CLK_LOCAL_MEM_FENCE);
}
const int all = !by_place && left == 64u;
if (item == 0u) found[3] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = key_of(b0[line + begin + at]);
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
if (by_place ? (k == prefix && ((begin + at) >> left) == place) : all || (k >> left) == prefix) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = (begin + at); }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
u32 filled = 2u;
while (filled < taken) filled *= 2u;
for (u32 i = taken + item; i < filled; i += 256u) { keys[i] = ~(K)0; positions[i] = 0xffffffffu; }
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2u; size <= filled; size *= 2u) {
for (u32 step = size / 2u; step > 0u; step /= 2u) {
for (u32 i = item; i < filled / 2u; i += 256u) {
const u32 a = 2u * i - (i & (step - 1u)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0u)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
if (item == 0u && r0 >= before && r0 - before < taken) {
const u32 at = r0, p = positions[at - before];
if (at < kept) { b1[results + at] = b0[line + (p)]; }
}
if (item == 1u && r1 >= before && r1 - before < taken) {
const u32 at = r1, p = positions[at - before];
if (at < kept) { b1[results + at] = b0[line + (p)]; }
}
covered = before + taken;
barrier(CLK_LOCAL_MEM_FENCE);
}
if (r1 >= covered) {
const u32 wanted = r1;
u32 taken = m;
K prefix = 0;
u32 place = 0u, left = 64u, before = 0u;
int by_place = 0;
taken = m;
while (taken > 2048u || (left == 64u && !by_place && taken > 512u)) {
if (left == 0u) { by_place = 1; left = position_bits; }
const u32 width = left < 11u ? left : 11u, shift = left - width;
const int whole = by_place ? left == position_bits : left == 64u;
for (u32 i = item; i < 2048u; i += 256u) bins[i] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
u32 digit = 0u, run = 0u;
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = key_of(b0[line + begin + at]);
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
u32 d;
if (by_place) {
const u32 p = (begin + at);
if (k != prefix || (!whole && (p >> left) != place)) continue;
d = p >> shift;
} else {
if (!whole && (k >> left) != prefix) continue;
d = (u32)(k >> shift);
}
d &= (1u << width) - 1u;
if (d != digit) {
if (run > 0u) atomic_add(&bins[digit], run);
digit = d;
run = 0u;
}
run++;
}
}
if (run > 0u) atomic_add(&bins[digit], run);
barrier(CLK_LOCAL_MEM_FENCE);
u32 own_sum = 0u;
#pragma unroll
for (u32 j = 0u; j < 8u; j++) own_sum += bins[item * 8u + j];
u32 until = own_sum;
for (u32 step = 1u; step < 256u; step *= 2u) {
sums[item] = until;
barrier(CLK_LOCAL_MEM_FENCE);
const u32 other = item >= step ? sums[item - step] : 0u;
barrier(CLK_LOCAL_MEM_FENCE);
until += other;
}
u32 here = before + until - own_sum;
if (wanted >= here && wanted - here < own_sum) {
for (u32 j = 0u; j < 8u; j++) {
const u32 count = bins[item * 8u + j];
if (wanted - here < count) {
found[0] = item * 8u + j;
found[1] = here - before;
found[2] = count;
break;
}
here += count;
}
}
barrier(CLK_LOCAL_MEM_FENCE);
before += found[1];
taken = found[2];
if (by_place) place = whole ? found[0] : (place << width) | found[0];
else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
left = shift;
barrier(CLK_LOCAL_MEM_FENCE);
}
const int all = !by_place && left == 64u;
if (item == 0u) found[3] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = key_of(b0[line + begin + at]);
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
if (by_place ? (k == prefix && ((begin + at) >> left) == place) : all || (k >> left) == prefix) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = (begin + at); }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
u32 filled = 2u;
while (filled < taken) filled *= 2u;
for (u32 i = taken + item; i < filled; i += 256u) { keys[i] = ~(K)0; positions[i] = 0xffffffffu; }
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2u; size <= filled; size *= 2u) {
for (u32 step = size / 2u; step > 0u; step /= 2u) {
for (u32 i = item; i < filled / 2u; i += 256u) {
const u32 a = 2u * i - (i & (step - 1u)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0u)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
if (item == 0u && r0 >= before && r0 - before < taken) {
const u32 at = r0, p = positions[at - before];
if (at < kept) { b1[results + at] = b0[line + (p)]; }
}
if (item == 1u && r1 >= before && r1 - before < taken) {
const u32 at = r1, p = positions[at - before];
if (at < kept) { b1[results + at] = b0[line + (p)]; }
}
covered = before + taken;
barrier(CLK_LOCAL_MEM_FENCE);
}
}
