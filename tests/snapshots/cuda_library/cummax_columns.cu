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
#define LID_0 threadIdx.x
#define GID_0 blockIdx.x
#define load_f32(pointer, index) ((pointer)[(index)])
#define store_f32(pointer, index, value) (pointer)[(index)] = (value)
typedef f32 A;
#define NONE ((A)(__uint_as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)

/* Running folds of columns, or of parts of them of `length` elements; or only the fold of each part. */
extern "C" __global__ __launch_bounds__(128)
void totals0(const f32* x, f32* totals, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    BEGIN
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
extern "C" __global__ __launch_bounds__(128)
void carry1(f32* totals, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    BEGIN
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
extern "C" __global__ __launch_bounds__(128)
void columns2(const f32* x, f32* y, const f32* totals, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
{
    BEGIN
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
