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
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define load_f32(pointer, index) ((pointer)[(index)])
#define store_f32(pointer, index, value) (pointer)[(index)] = (value)
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)

/* Running folds of columns, or of parts of them of `length` elements; or only the fold of each part. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void totals0(__global const f32* x, const u64 x_byte, __global f32* totals, const u64 totals_byte, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    x = (__global const f32*)((__global const u8*)x + x_byte);
    totals = (__global f32*)((__global u8*)totals + totals_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= columns * parts) return;
    const u32 column = number % columns, part = number / columns;
    const u32 first = column / inner * n * inner + column % inner;
    const u32 to = (part + 1) * length < n ? (part + 1) * length : n;
    A all = NONE, lost = 0;
    (void)lost;
    for (u32 at = part * length; at < to; at++) {
        ADD(all, lost, (A)load_f32(x, first + (at) * inner));
    }
    totals[part * columns + column] = WHOLE(all, lost);
}

/* Replaces the fold of each part of a column by that of the parts before it. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void carry1(__global f32* totals, const u64 totals_byte, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    totals = (__global f32*)((__global u8*)totals + totals_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= columns) return;
    A all = NONE;
    for (u32 part = 0; part < parts; part++) {
        const A x = totals[part * columns + number];
        totals[part * columns + number] = all;
        all = join(all, x);
    }
}

/* Running folds of columns, or of parts of them of `length` elements; or only the fold of each part. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void columns2(__global const f32* x, const u64 x_byte, __global f32* y, const u64 y_byte, __global const f32* totals, const u64 totals_byte, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    x = (__global const f32*)((__global const u8*)x + x_byte);
    y = (__global f32*)((__global u8*)y + y_byte);
    totals = (__global const f32*)((__global const u8*)totals + totals_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= columns * parts) return;
    const u32 column = number % columns, part = number / columns;
    const u32 first = column / inner * n * inner + column % inner;
    const u32 to = (part + 1) * length < n ? (part + 1) * length : n;
    A all = totals[part * columns + column], lost = 0;
    (void)lost;
    for (u32 at = part * length; at < to; at++) {
        ADD(all, lost, (A)load_f32(x, first + (at) * inner));
        store_f32(y, first + (at) * inner, WHOLE(all, lost));
    }
}
