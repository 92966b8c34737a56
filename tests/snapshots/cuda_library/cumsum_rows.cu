typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
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
#define load_f64(pointer, index) ((pointer)[(index)])
#define store_f64(pointer, index, value) (pointer)[(index)] = (value)
typedef f64 A;
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

/* Running folds of rows, in `parts` parts of `along` elements. A group goes along its part in tiles: each
   item folds neighbours, the group scans what its items have. */
extern "C" __global__ __launch_bounds__(256)
void rows0(const f64* x, f64* y, const u64 n, const u32 parts, const u64 along)
{
    BEGIN
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
            tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)load_f64(x, row * n + (at)) : NONE;
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
            if (at < to) store_f64(y, row * n + (at), tile[k * G + item + (k * G + item) / ITEMS]);
        }
        local_barrier();
    }
}
