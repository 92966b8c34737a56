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
static __device__ __forceinline__ f32 f16_to_f32(u16 h) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
    return x;
}
static __device__ __forceinline__ u16 f32_to_f16(f32 x) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
}
#define DEVICE_FN static __device__ __forceinline__
#define GLOBAL_MEM 
#define LOCAL_MEM __shared__
#define LOCAL_MEM_ARG 
#define LID_0 threadIdx.x
#define GID_0 blockIdx.x
#define ATOMIC_ADD(at, x) atomicAdd((at), (x))
#define ATOMIC_MAX(at, x) atomicMax((at), (x))
#define ATOMIC_MIN(at, x) atomicMin((at), (x))
#define FLOAT_BITS(x) __float_as_uint(x)
#define BITS_FLOAT(x) __uint_as_float(x)
#define LDEXP(x, n) ldexpf((x), (n))
#define load_f16(pointer, index) (f16_to_f32((pointer)[(index)]))
#define store_f16(pointer, index, value) (pointer)[(index)] = f32_to_f16((f32)(value))
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
#define SLOT(key) (ROW(key))
/* Magnitudes are the bits of floats without the sign, which are in the order of the floats, NaN above all. A
   positive zero is felt as the smallest number, since it makes a negative zero of the table positive; a
   negative one changes nothing. */
DEVICE_FN u32 magnitude(f32 x) { return FLOAT_BITS(x) & 0x7fffffffu; }
DEVICE_FN u32 felt(f32 x) { return FLOAT_BITS(x) == 0 ? 1 : magnitude(x); }
DEVICE_FN u32 first(u32 a, u32 b) { return a < b ? a : b; }
DEVICE_FN u32 most(u32 a, u32 b) { return a > b ? a : b; }
DEVICE_FN u64 total(u64 a, u64 b) { return a + b; }

/* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are
   counted, those below zero in the upper half. */
DEVICE_FN u64 fixed(f32 x, u32 most, u32 spare)
{
    const u32 size = magnitude(x), below = FLOAT_BITS(x) >> 31;
    if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);
    const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;
    u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);
    const int shift = (int)spare - (int)(top - own);
    whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;
    return below ? (u64)0 - whole : whole;
}

DEVICE_FN f32 sum_of(u64 all, u32 most, u32 spare)
{
    if (most >= 0x7f800000u) {
        const int above = (u32)all != 0, below = (u32)(all >> 32) != 0;
        const int is_nan = most > 0x7f800000u || (above && below);
        return BITS_FLOAT(is_nan ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);
    }
    const int top = most >> 23 ? most >> 23 : 1;
    return LDEXP((f32)(i64)all, top - 150 - (int)spare);
}
/* Adds to a 64-bit integer. Such additions are native to CUDA's memory; elsewhere they are two of 32 bits,
   the lower one with a carry. */
DEVICE_FN void total_into_memory(GLOBAL_MEM u64 *at, u64 x)
{
    ATOMIC_ADD(at, x);
}
/* Adds to a 64-bit integer. Such additions are native to CUDA's memory; elsewhere they are two of 32 bits,
   the lower one with a carry. */
DEVICE_FN void total_into_table(LOCAL_MEM_ARG u64 *at, u64 x)
{
    LOCAL_MEM_ARG u32 *word = (LOCAL_MEM_ARG u32*)at;
    const u32 low = (u32)x;
    u32 high = (u32)(x >> 32);
    if (low != 0) high += ATOMIC_ADD(word, low) > 0xffffffffu - low ? 1u : 0u;
    if (high != 0) ATOMIC_ADD(word + 1, high);
}
/* Folds into an element of memory, or of a group's table. */
DEVICE_FN void first_into_memory(GLOBAL_MEM u32 *at, u32 x) { ATOMIC_MIN(at, x); }

DEVICE_FN void most_into_memory(GLOBAL_MEM u32 *at, u32 x)
{
    if (x > *(volatile GLOBAL_MEM u32*)at) ATOMIC_MAX(at, x);
}
/* Folds into an element of memory, or of a group's table. */
DEVICE_FN void first_into_table(LOCAL_MEM_ARG u32 *at, u32 x) { ATOMIC_MIN(at, x); }

DEVICE_FN void most_into_table(LOCAL_MEM_ARG u32 *at, u32 x)
{
    if (x > *(volatile LOCAL_MEM_ARG u32*)at) ATOMIC_MAX(at, x);
}

/* Sets words of memory before others count in them. */
extern "C" __global__ __launch_bounds__(256)
void clear0(u32* zeros, const u32 words, const u32 rows)
{
    BEGIN
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id < words) zeros[id] = 0;
}

/* Each item folds its points into the table. */
extern "C" __global__ __launch_bounds__(256)
void magnitudes1(const u32* positions, const u16* x, u32* magnitudes, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
    BEGIN
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const u32 from = id / width * 4, column = id % width;
    const u32 to = from + 4 < points ? from + 4 : points;
    u32 keys[4];
    u32 xs[4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const u32 place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = felt(load_f16(x, BROUGHT(place)));
    }
    u32 key = keys[0];
    u32 all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = most(all, xs[j]);
            continue;
        }
        most_into_memory(&magnitudes[(u32)(SLOT(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    most_into_memory(&magnitudes[(u32)(SLOT(key)) * width + column], all);

}

/* Each item folds its points into the table. */
extern "C" __global__ __launch_bounds__(256)
void sums2(const u32* positions, const u16* x, u64* sums, const u32* magnitudes, const u32 points, const u32 last, const u32 width, const u32 items, const u32 spare)
{
    BEGIN
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const u32 from = id / width * 4, column = id % width;
    const u32 to = from + 4 < points ? from + 4 : points;
    u32 keys[4];
    u64 xs[4];
#pragma unroll
    for (u32 j = 0; j < 4; j++) {
        const u32 place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = fixed(load_f16(x, BROUGHT(place)), magnitudes[(u32)SLOT(keys[j]) * width + column], spare);
    }
    u32 key = keys[0];
    u64 all = xs[0];
#pragma unroll
    for (u32 j = 1; j < 4; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = total(all, xs[j]);
            continue;
        }
        total_into_memory(&sums[(u32)(SLOT(key)) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    total_into_memory(&sums[(u32)(SLOT(key)) * width + column], all);

}

/* Adds the sums to the table. An accumulator of a point that is not the first one of its row holds nothing.
   */
extern "C" __global__ __launch_bounds__(256)
void put3(const u64* sums, const u32* magnitudes, u16* table, const u32 items, const u32 last, const u32 width, const u32 spare)
{
    BEGIN
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id >= items) return;
    const u32 to = id;
    const u32 most = magnitudes[id];
    if (most == 0) return;
    store_f16(table, to, load_f16(table, to) + sum_of(sums[id], most, spare));
}
