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
extern "C" __global__ __launch_bounds__(128)
void columns0(const i32* x, i32* y, const u32 columns, const u32 inner, const u32 n, const u32 parts, const u32 length)
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
        ADD(all, lost, (A)load_i32(x, first + (at) * inner));
        store_i32(y, first + (at) * inner, WHOLE(all, lost));
    }
}
