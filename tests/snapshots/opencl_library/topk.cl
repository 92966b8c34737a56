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
typedef u32 K;
static inline K key_of(u16 x) {
K k = x;
if (k == 32768u) k = 0;
k = (k & 32767u) > 31744u ? 65535u : k ^ ((k & 32768u) ? 65535u : 32768u);
k = k ^ 65535u;
return k;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void select0(__global const u16* b0, const u64 byte0, __global u32* b1, const u64 byte1, __global u32* b2, const u64 byte2, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits)
{
b0 = (__global const u16*)((__global const u8*)b0 + byte0);
b1 = (__global u32*)((__global u8*)b1 + byte1);
b2 = (__global u32*)((__global u8*)b2 + byte2);
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
const u32 wanted = (kept < m ? kept : m) - 1u;
u32 taken = m;
int near = 0;
if (2u * kept <= 256u && m >= 4u * 256u) {
K least = ~(K)0;
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
least = k < least ? k : least;
}
}
keys[item] = least;
positions[item] = item;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2u; size <= 256u; size *= 2u) {
for (u32 step = size / 2u; step > 0u; step /= 2u) {
for (u32 i = item; i < 256u / 2u; i += 256u) {
const u32 a = 2u * i - (i & (step - 1u)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0u)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
const K bound = keys[wanted];
barrier(CLK_LOCAL_MEM_FENCE);
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
if (k <= bound) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = (begin + at); }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
taken = found[3];
near = taken <= 2048u;
barrier(CLK_LOCAL_MEM_FENCE);
}
if (!near) {
K prefix = 0;
u32 place = 0u, left = 16u, before = 0u;
int by_place = 0;
taken = m;
while (taken > 2048u || (left == 16u && !by_place && taken > 512u)) {
if (left == 0u) { by_place = 1; left = position_bits; }
const u32 width = left < 11u ? left : 11u, shift = left - width;
const int whole = by_place ? left == position_bits : left == 16u;
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
taken = before + found[2];
if (by_place) place = whole ? found[0] : (place << width) | found[0];
else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
left = shift;
barrier(CLK_LOCAL_MEM_FENCE);
}
const int all = !by_place && left == 16u;
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
if (by_place ? k < prefix || (k == prefix && ((begin + at) >> left) <= place) : all || (k >> left) <= prefix) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = (begin + at); }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
}
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
for (u32 at = item; at < kept; at += 256u) {
const K k = at <= wanted ? keys[at] : ~(K)0;
const u32 p = at <= wanted ? positions[at] : n;
(void)k;
b1[v * kept + at] = k; b2[v * kept + at] = p;
}
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void select1(__global const u16* b0, const u64 byte0, __global const u32* b1, const u64 byte1, __global const u32* b2, const u64 byte2, __global u16* b3, const u64 byte3, __global i64* b4, const u64 byte4, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits)
{
b0 = (__global const u16*)((__global const u8*)b0 + byte0);
b1 = (__global const u32*)((__global const u8*)b1 + byte1);
b2 = (__global const u32*)((__global const u8*)b2 + byte2);
b3 = (__global u16*)((__global u8*)b3 + byte3);
b4 = (__global i64*)((__global u8*)b4 + byte4);
__local K keys[2048];
__local u32 positions[2048];
__local u32 bins[2048];
__local u32 sums[256];
__local u32 found[4];
const u32 item = (u32)get_local_id(0);
const u64 v = (u64)get_group_id(0);
const u64 row = v;
const u64 line = row * n, results = row * kept;
const u32 m = parts * kept;
const u32 wanted = (kept < m ? kept : m) - 1u;
u32 taken = m;
int near = 0;
if (2u * kept <= 256u && m >= 4u * 256u) {
K least = ~(K)0;
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = b1[row * m + at];
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
least = k < least ? k : least;
}
}
keys[item] = least;
positions[item] = item;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 size = 2u; size <= 256u; size *= 2u) {
for (u32 step = size / 2u; step > 0u; step /= 2u) {
for (u32 i = item; i < 256u / 2u; i += 256u) {
const u32 a = 2u * i - (i & (step - 1u)), b = a + step;
const K ka = keys[a], kb = keys[b];
const u32 pa = positions[a], pb = positions[b];
const int after = ka > kb || (ka == kb && pa > pb);
if (after == ((a & size) == 0u)) { keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }
}
barrier(CLK_LOCAL_MEM_FENCE);
}
}
const K bound = keys[wanted];
barrier(CLK_LOCAL_MEM_FENCE);
if (item == 0u) found[3] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = b1[row * m + at];
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
if (k <= bound) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = b2[row * m + at]; }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
taken = found[3];
near = taken <= 2048u;
barrier(CLK_LOCAL_MEM_FENCE);
}
if (!near) {
K prefix = 0;
u32 place = 0u, left = 16u, before = 0u;
int by_place = 0;
taken = m;
while (taken > 2048u || (left == 16u && !by_place && taken > 512u)) {
if (left == 0u) { by_place = 1; left = position_bits; }
const u32 width = left < 11u ? left : 11u, shift = left - width;
const int whole = by_place ? left == position_bits : left == 16u;
for (u32 i = item; i < 2048u; i += 256u) bins[i] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
u32 digit = 0u, run = 0u;
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = b1[row * m + at];
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
u32 d;
if (by_place) {
const u32 p = b2[row * m + at];
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
taken = before + found[2];
if (by_place) place = whole ? found[0] : (place << width) | found[0];
else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
left = shift;
barrier(CLK_LOCAL_MEM_FENCE);
}
const int all = !by_place && left == 16u;
if (item == 0u) found[3] = 0u;
barrier(CLK_LOCAL_MEM_FENCE);
for (u32 start = item; start < m; start += 1024u) {
K own[4];
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 next = start + j * 256u, at = next < m ? next : item;
own[j] = b1[row * m + at];
}
#pragma unroll
for (u32 j = 0u; j < 4u; j++) {
const u32 at = start + j * 256u;
if (at >= m) continue;
const K k = own[j];
if (by_place ? k < prefix || (k == prefix && (b2[row * m + at] >> left) <= place) : all || (k >> left) <= prefix) {
const u32 slot = atomic_add(&found[3], 1u);
if (slot < 2048u) { keys[slot] = k; positions[slot] = b2[row * m + at]; }
}
}
}
barrier(CLK_LOCAL_MEM_FENCE);
}
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
for (u32 at = item; at < (kept < m ? kept : m); at += 256u) {
const K k = keys[at];
const u32 p = positions[at];
(void)k;
if (at < kept) { b3[results + at] = b0[line + (p)];b4[results + at] = (i64)p; }
}
}
