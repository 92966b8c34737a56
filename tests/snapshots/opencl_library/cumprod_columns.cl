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
#define load_i32(pointer, index) ((pointer)[(index)])
#define store_i32(pointer, index, value) (pointer)[(index)] = (value)
typedef i32 A;
#define NONE ((A)(1))
DEVICE_FN A join(A a, A b) { return (A)((u64)(a) * (u64)(b)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)

/* Running folds of columns, or of parts of them of `length` elements; or only the fold of each part. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void columns0(__global const i32* x, const u64 x_byte, __global i32* y, const u64 y_byte, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    x = (__global const i32*)((__global const u8*)x + x_byte);
    y = (__global i32*)((__global u8*)y + y_byte);
    const u32 number = (u32)GID_0 * 128 + (u32)LID_0;
    if (number >= columns * parts) return;
    const u32 column = number % columns, part = number / columns;
    const u32 first = column / inner * n * inner + column % inner;
    const u32 to = (part + 1) * length < n ? (part + 1) * length : n;
    A all = NONE, lost = 0;
    (void)lost;
    for (u32 at = part * length; at < to; at++) {
        ADD(all, lost, (A)load_i32(x, first + (at) * inner));
        store_i32(y, first + (at) * inner, WHOLE(all, lost));
    }
}
