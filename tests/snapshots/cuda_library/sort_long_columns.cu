typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif
#define DEVICE_FN static __device__ __forceinline__
#define LOCAL_MEM __shared__
#define LID_0 threadIdx.x
#define GID_0 blockIdx.x
#define local_barrier() __syncthreads()
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u32 K;
DEVICE_FN u32 key_of(u32 x)
{
    u32 k = x;
    if (k == 2147483648u) k = 0;
    k = (k & 2147483647u) > 2139095040u ? 4294967295u : k ^ ((k & 2147483648u) ? 4294967295u : 2147483648u);
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#define LINE \
    const u64 outer = (u32)row / inner * (u64)inner, column = (u32)row % inner; \
    const u64 line = outer * n + column, results = outer * kept + column;
#define ELEMENT(at) (line + (u64)(at) * inner)
#define RESULT(at) (results + (u64)(at) * inner)
#define STORE(at, element, p) if (at < kept) { values[RESULT(at)] = element; indices[RESULT(at)] = (i64)(p);  }
enum { GROUP = 384, ITEMS = 16 };
/* Stable sorts by digits of eight bits, the lowest first. What stands before this: K, an element; key_of(K),
   an unsigned integer that orders as elements do; GROUP, items of a group; ITEMS, elements of an item. A warp
   has 32 * ITEMS neighbouring elements; element i of a lane is the warp's (32 * i + lane)-th, so that loads
   are whole lines and order is that of i, then of lanes. */

enum { WARPS = GROUP / 32, DIGITS = 256, TILE = GROUP * ITEMS, BACK = 8 };

/* Counts of digits by warp. */
typedef u32 Counts[WARPS][DIGITS];

DEVICE_FN u32 digit_of(K x, u32 shift) { return (u32)(key_of(x) >> shift) & 255u; }

DEVICE_FN u32 first_of(u32 item) { return item / 32u * (32u * ITEMS) + item % 32u; }

/* The sum of x of the items before this one, among the first DIGITS; the others bring 0. */
DEVICE_FN u32 sum_before(u32 x, u32 item, u32* sums)
{
    u32 all = x;
    for (u32 step = 1; step < 32u; step *= 2) {
        const u32 other = __shfl_up_sync(~0u, all, step);
        if (item % 32u >= step) all += other;
    }
    if (item < DIGITS && item % 32u == 31u) sums[item / 32u] = all;
    local_barrier();
    u32 before = 0;
    for (u32 warp = 0; warp < DIGITS / 32; warp++) before += warp < item / 32u ? sums[warp] : 0u;
    local_barrier();
    return before + all - x;
}

/* How many of the warp's elements before each have its digit. */
DEVICE_FN void rank(const u32 (&digit)[ITEMS], u32 (&place)[ITEMS], u32 item, Counts& counts)
{
    for (u32 at = item; at < WARPS * DIGITS; at += GROUP) (&counts[0][0])[at] = 0u;
    local_barrier();
    u32 below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        u32 same = ~0u;
#pragma unroll
        for (u32 bit = 0; bit < 8u; bit++) {
            const bool on = digit[i] >> bit & 1u;
            const u32 all = __ballot_sync(~0u, on);
            same &= on ? all : ~all;
        }
        volatile u32* count = &counts[item / 32u][digit[i]];
        const u32 before = *count;
        __syncwarp();
        if ((same & below) == 0u) *count = before + __popc(same);
        __syncwarp();
        place[i] = before + __popc(same & below);
    }
    local_barrier();
}

/* Turns counts into where the first of each digit and warp goes in the tile. Item d learns how many have
   digit d, and where they start. */
DEVICE_FN u32 settle(u32 item, Counts& counts, u32* sums, u32& total)
{
    total = 0u;
    if (item < DIGITS) {
        for (u32 warp = 0; warp < WARPS; warp++) {
            const u32 count = counts[warp][item];
            counts[warp][item] = total;
            total += count;
        }
    }
    const u32 start = sum_before(total, item, sums);
    if (item < DIGITS) {
        for (u32 warp = 0; warp < WARPS; warp++) counts[warp][item] += start;
    }
    local_barrier();
    return start;
}

/* The digits of a tile: elements beyond the last are its last, and have the last digit. */
DEVICE_FN void digits_of(const K (&x)[ITEMS], u32 (&digit)[ITEMS], u32 item, u32 here, u32 shift)
{
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) digit[i] = first_of(item) + i * 32u < here ? digit_of(x[i], shift) : 255u;
}

/* Moves what goes with each element to its place. */
template <typename T>
DEVICE_FN void move(
    const T (&x)[ITEMS], const u32 (&digit)[ITEMS], const u32 (&place)[ITEMS], u32 item, const Counts& counts,
    T* moved)
{
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) moved[counts[item / 32u][digit[i]] + place[i]] = x[i];
    local_barrier();
}

template <typename T>
DEVICE_FN void fetch(T (&x)[ITEMS], u32 item, const T* moved)
{
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) x[i] = moved[first_of(item) + i * 32u];
    local_barrier();
}

/* How many elements of the tiles before this one have digit `item`: each tile says how many it has, and then,
   with those before, how many there are up to its end. Tiles are numbered as they start, so those before this
   one are under way. */
DEVICE_FN u32 look_back(volatile u32* said, u32 tile, u32 total)
{
    const u32 own = 1u << 30, all = 2u << 30, number = own - 1u;
    if (tile == 0u) {
        *said = all | total;
        return 0u;
    }
    *said = own | total;
    /* Several words are read at once: one after the other, each would wait for memory. The first tile's says
       all. */
    u32 before = 0u;
    for (u32 next = tile;;) {
        u32 words[BACK];
#pragma unroll
        for (u32 i = 0; i < BACK; i++)
            words[i] = i < next ? said[-(i32)((tile - next + i + 1u) * DIGITS)] : all;
#pragma unroll
        for (u32 i = 0; i < BACK; i++) {
            while (words[i] == 0u) words[i] = said[-(i32)((tile - next + i + 1u) * DIGITS)];
            before += words[i] & number;
            if (words[i] >= all) {
                *said = all | (before + total);
                return before;
            }
        }
        next -= BACK;
    }
}

/* Sets words of memory before others count in them. */
extern "C" __global__ __launch_bounds__(256)
void clear0(u32* totals, u32* said, const u64 counts, const u64 words)
{
    BEGIN
    const u64 id = (u64)GID_0 * 256 + (u64)LID_0;
    if (id < counts) totals[id] = 0;
    if (id < words) said[id] = 0;
}

/* Counts the elements of each row that have each digit, in `blocks` groups for each row. Neighbours often
   have the same digit: 4 counters for each reduce contention. */
extern "C" __global__ __launch_bounds__(384)
void count1(const u32* source, u32* totals, const u32 n, const u32 kept, const u32 inner, const u32 blocks)
{
    BEGIN
    LOCAL_MEM u32 bins[4][DIGITS][4];
    const u32 item = LID_0;
    const u64 row = GID_0 / blocks;
    LINE
    for (u32 i = item; i < 4 * DIGITS * 4; i += GROUP) (&bins[0][0][0])[i] = 0;
    local_barrier();
#pragma unroll 8
    for (u32 at = GID_0 % blocks * GROUP + item; at < n; at += blocks * GROUP) {
        const K x = source[ELEMENT(at)];
#pragma unroll
        for (u32 pass = 0; pass < 4; pass++)
            atomicAdd(&bins[pass][digit_of(x, pass * 8)][item % 4], 1u);
    }
    local_barrier();
    for (u32 i = item; i < 4 * DIGITS; i += GROUP) {
        u32 sum = 0;
        for (u32 part = 0; part < 4; part++) sum += bins[i / DIGITS][i % DIGITS][part];
        if (sum > 0) atomicAdd(&totals[row * (4 * DIGITS) + i], sum);
    }
}

/* A group sorts a tile by digit `pass`. `totals` has how many elements have each digit, then the numbers of
   tiles. A pass uses one array of look-back words, and clears the other. */
extern "C" __global__ __launch_bounds__(384)
void pass2(const u32* source, u32* totals, u32* said, u32* next_said, u32* to_elements, u32* to_positions, const u32 n, const u32 kept, const u32 inner, const u32 tiles, const u32 pass, const u64 counter)
{
    BEGIN
    LOCAL_MEM Counts counts;
    LOCAL_MEM u32 sums[8], bases[DIGITS], numbered;
    LOCAL_MEM K memory[TILE];
    const u32 item = LID_0, shift = pass * 8;
    if (item == 0) numbered = atomicAdd(&totals[counter], 1u);
    local_barrier();
    const u32 number = numbered, tile = number % tiles;
    const u64 row = number / tiles;
    LINE
    const u32 start = tile * TILE, here = n - start < TILE ? n - start : TILE;
    if (item < DIGITS) next_said[(u64)number * DIGITS + item] = 0;
    K own[ITEMS];
    u32 position[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = start + first_of(item) + i * 32;
        own[i] = at < n ? source[ELEMENT(at)] : (K)0;
        position[i] = at < n ? at : 0;
    }
    u32 digit[ITEMS], place[ITEMS], total;
    digits_of(own, digit, item, here, shift);
    rank(digit, place, item, counts);
    const u32 begins = settle(item, counts, sums, total);
    move(own, digit, place, item, counts, (K*)memory);
    const u32 before = item < DIGITS ? look_back(&said[(u64)number * DIGITS + item], tile, total) : 0;
    const u32 count = item < DIGITS ? totals[(row * 4 + pass) * DIGITS + item] : 0;
    const u32 base = sum_before(count, item, sums);
    if (item < DIGITS) bases[item] = base + before - begins;
    local_barrier();
    K xs[ITEMS];
    u32 to[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item;
        xs[i] = ((K*)memory)[j];
        to[i] = bases[j < here ? digit_of(xs[i], shift) : 0] + j;
    }
    local_barrier();
    move(position, digit, place, item, counts, (u32*)memory);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item, at = to[i];
        const K x = xs[i];
        const u32 p = ((u32*)memory)[j];
        if (j < here) { to_elements[row * n + at] = x; to_positions[row * n + at] = p; }
    }
}

/* A group sorts a tile by digit `pass`. `totals` has how many elements have each digit, then the numbers of
   tiles. A pass uses one array of look-back words, and clears the other. */
extern "C" __global__ __launch_bounds__(384)
void pass3(const u32* from_elements, const u32* from_positions, u32* totals, u32* said, u32* next_said, u32* to_elements, u32* to_positions, const u32 n, const u32 kept, const u32 inner, const u32 tiles, const u32 pass, const u64 counter)
{
    BEGIN
    LOCAL_MEM Counts counts;
    LOCAL_MEM u32 sums[8], bases[DIGITS], numbered;
    LOCAL_MEM K memory[TILE];
    const u32 item = LID_0, shift = pass * 8;
    if (item == 0) numbered = atomicAdd(&totals[counter], 1u);
    local_barrier();
    const u32 number = numbered, tile = number % tiles;
    const u64 row = number / tiles;
    LINE
    const u32 start = tile * TILE, here = n - start < TILE ? n - start : TILE;
    if (item < DIGITS) next_said[(u64)number * DIGITS + item] = 0;
    K own[ITEMS];
    u32 position[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = start + first_of(item) + i * 32;
        own[i] = at < n ? from_elements[row * n + at] : (K)0;
        position[i] = at < n ? from_positions[row * n + at] : 0;
    }
    u32 digit[ITEMS], place[ITEMS], total;
    digits_of(own, digit, item, here, shift);
    rank(digit, place, item, counts);
    const u32 begins = settle(item, counts, sums, total);
    move(own, digit, place, item, counts, (K*)memory);
    const u32 before = item < DIGITS ? look_back(&said[(u64)number * DIGITS + item], tile, total) : 0;
    const u32 count = item < DIGITS ? totals[(row * 4 + pass) * DIGITS + item] : 0;
    const u32 base = sum_before(count, item, sums);
    if (item < DIGITS) bases[item] = base + before - begins;
    local_barrier();
    K xs[ITEMS];
    u32 to[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item;
        xs[i] = ((K*)memory)[j];
        to[i] = bases[j < here ? digit_of(xs[i], shift) : 0] + j;
    }
    local_barrier();
    move(position, digit, place, item, counts, (u32*)memory);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item, at = to[i];
        const K x = xs[i];
        const u32 p = ((u32*)memory)[j];
        if (j < here) { to_elements[row * n + at] = x; to_positions[row * n + at] = p; }
    }
}

/* A group sorts a tile by digit `pass`. `totals` has how many elements have each digit, then the numbers of
   tiles. A pass uses one array of look-back words, and clears the other. */
extern "C" __global__ __launch_bounds__(384)
void pass4(const u32* from_elements, const u32* from_positions, u32* totals, u32* said, u32* next_said, u32* values, i64* indices, const u32 n, const u32 kept, const u32 inner, const u32 tiles, const u32 pass, const u64 counter)
{
    BEGIN
    LOCAL_MEM Counts counts;
    LOCAL_MEM u32 sums[8], bases[DIGITS], numbered;
    LOCAL_MEM K memory[TILE];
    const u32 item = LID_0, shift = pass * 8;
    if (item == 0) numbered = atomicAdd(&totals[counter], 1u);
    local_barrier();
    const u32 number = numbered, tile = number % tiles;
    const u64 row = number / tiles;
    LINE
    const u32 start = tile * TILE, here = n - start < TILE ? n - start : TILE;
    if (item < DIGITS) next_said[(u64)number * DIGITS + item] = 0;
    K own[ITEMS];
    u32 position[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 at = start + first_of(item) + i * 32;
        own[i] = at < n ? from_elements[row * n + at] : (K)0;
        position[i] = at < n ? from_positions[row * n + at] : 0;
    }
    u32 digit[ITEMS], place[ITEMS], total;
    digits_of(own, digit, item, here, shift);
    rank(digit, place, item, counts);
    const u32 begins = settle(item, counts, sums, total);
    move(own, digit, place, item, counts, (K*)memory);
    const u32 before = item < DIGITS ? look_back(&said[(u64)number * DIGITS + item], tile, total) : 0;
    const u32 count = item < DIGITS ? totals[(row * 4 + pass) * DIGITS + item] : 0;
    const u32 base = sum_before(count, item, sums);
    if (item < DIGITS) bases[item] = base + before - begins;
    local_barrier();
    K xs[ITEMS];
    u32 to[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item;
        xs[i] = ((K*)memory)[j];
        to[i] = bases[j < here ? digit_of(xs[i], shift) : 0] + j;
    }
    local_barrier();
    move(position, digit, place, item, counts, (u32*)memory);
#pragma unroll
    for (u32 i = 0; i < ITEMS; i++) {
        const u32 j = i * GROUP + item, at = to[i];
        const K x = xs[i];
        const u32 p = ((u32*)memory)[j];
        if (j < here) { STORE(at, x, p) }
    }
}
