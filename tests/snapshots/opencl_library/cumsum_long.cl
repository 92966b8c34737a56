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
#define DEVICE_FN static inline __attribute__((always_inline))
#define LOCAL_MEM __local
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define load_f32(pointer, index) ((pointer)[(index)])
#define store_f32(pointer, index, value) (pointer)[(index)] = (value)
typedef f32 A;
#define NONE ((A)(-0.0f))
DEVICE_FN A join(A a, A b) { return ((a) + (b)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) { \
    const A x_ = x, next = (all) + x_, back = next - (all); \
    lost += ((all) - (next - back)) + (x_ - back); \
    all = next; \
}
#define WHOLE(all, lost) ((lost) < 0 || (lost) > 0 ? (all) + (lost) : (all))

/* The fold of each part of a row: `parts` parts of `along` elements. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void totals0(__global const f32* x, const u64 x_byte, __global f32* totals, const u64 totals_byte, const u64 n, const u32 parts, const u64 along)
{
    x = (__global const f32*)((__global const u8*)x + x_byte);
    totals = (__global f32*)((__global u8*)totals + totals_byte);
    enum { G = 256 };
    LOCAL_MEM A sums[G];
    const u32 group = GID_0, item = LID_0;
    const u64 row = group / parts, from = group % parts * along;
    const u64 to = from + along < n ? from + along : n;
    A sum = NONE;
    for (u64 at = from + item; at < to; at += G) sum = join(sum, (A)load_f32(x, row * n + (at)));
    sums[item] = sum;
    local_barrier();
    for (u32 half_ = G / 2; half_ > 0; half_ /= 2) {
        if (item < half_) sums[item] = join(sums[item], sums[item + half_]);
        local_barrier();
    }
    if (item == 0) totals[group] = sums[0];
}

/* Running folds of rows, in `parts` parts of `along` elements. A group goes along its part in tiles: each
   item folds neighbours, the group scans what its items have. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void carry1(__global const f32* x, const u64 x_byte, __global f32* y, const u64 y_byte, const u64 n, const u32 parts, const u64 along)
{
    x = (__global const f32*)((__global const u8*)x + x_byte);
    y = (__global f32*)((__global u8*)y + y_byte);
    enum { G = 256, ITEMS = 16 };
    LOCAL_MEM A sums[G];
    const u32 group = GID_0, item = LID_0;
    const u64 row = group / parts, from = group % parts * along;
    const u64 to = from + along < n ? from + along : n;
    LOCAL_MEM A tile[G * ITEMS + G];
    A carry = NONE, lost = 0;
    (void)lost;
    for (u64 first = from; first < to; first += G * ITEMS) {
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)load_f32(x, row * n + (at)) : NONE;
        }
        local_barrier();
        A own[ITEMS];
        A sum = tile[item * (ITEMS + 1)];
        own[0] = sum;
        for (u32 k = 1; k < ITEMS; k++) {
            sum = join(sum, tile[item * (ITEMS + 1) + k]);
            own[k] = sum;
        }
        sums[item] = sum;
        local_barrier();
        for (u32 step = 1; step < G; step *= 2) {
            const A other = item >= step ? sums[item - step] : NONE;
            local_barrier();
            if (item >= step) sums[item] = join(other, sums[item]);
            local_barrier();
        }
        const A all = WHOLE(carry, lost);
        const A before = item > 0 ? join(all, sums[item - 1]) : all;
        ADD(carry, lost, sums[G - 1]);
        for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = k == 0 ? before : join(before, own[k - 1]);
        local_barrier();
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            if (at < to) store_f32(y, row * n + (at), tile[k * G + item + (k * G + item) / ITEMS]);
        }
        local_barrier();
    }
}

/* Running folds of rows, in `parts` parts of `along` elements. A group goes along its part in tiles: each
   item folds neighbours, the group scans what its items have. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void rows2(__global const f32* x, const u64 x_byte, __global f32* y, const u64 y_byte, __global const f32* totals, const u64 totals_byte, const u64 n, const u32 parts, const u64 along)
{
    x = (__global const f32*)((__global const u8*)x + x_byte);
    y = (__global f32*)((__global u8*)y + y_byte);
    totals = (__global const f32*)((__global const u8*)totals + totals_byte);
    enum { G = 256, ITEMS = 16 };
    LOCAL_MEM A sums[G];
    const u32 group = GID_0, item = LID_0;
    const u64 row = group / parts, from = group % parts * along;
    const u64 to = from + along < n ? from + along : n;
    LOCAL_MEM A tile[G * ITEMS + G];
    A carry = totals[group], lost = 0;
    (void)lost;
    for (u64 first = from; first < to; first += G * ITEMS) {
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)load_f32(x, row * n + (at)) : NONE;
        }
        local_barrier();
        A own[ITEMS];
        A sum = tile[item * (ITEMS + 1)];
        own[0] = sum;
        for (u32 k = 1; k < ITEMS; k++) {
            sum = join(sum, tile[item * (ITEMS + 1) + k]);
            own[k] = sum;
        }
        sums[item] = sum;
        local_barrier();
        for (u32 step = 1; step < G; step *= 2) {
            const A other = item >= step ? sums[item - step] : NONE;
            local_barrier();
            if (item >= step) sums[item] = join(other, sums[item]);
            local_barrier();
        }
        const A all = WHOLE(carry, lost);
        const A before = item > 0 ? join(all, sums[item - 1]) : all;
        ADD(carry, lost, sums[G - 1]);
        for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = join(before, own[k]);
        local_barrier();
        for (u32 k = 0; k < ITEMS; k++) {
            const u64 at = first + k * G + item;
            if (at < to) store_f32(y, row * n + (at), tile[k * G + item + (k * G + item) / ITEMS]);
        }
        local_barrier();
    }
}
