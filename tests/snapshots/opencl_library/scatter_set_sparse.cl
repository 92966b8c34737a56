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
#define LOCAL_MEM_ARG __local
#define LID_0 get_local_id(0)
#define GID_0 get_group_id(0)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u32 K;
DEVICE_FN u32 key_of(u32 x)
{
    u32 k = x;
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#define LINE const u64 line = row * n, results = row * kept;
#define ELEMENT(at) (line + (at))
#define RESULT(at) (results + (at))
#define STORE(at, element, p) if (at < kept) { values[RESULT(at)] = element; indices[RESULT(at)] = (i64)(p);  }
/* Sorts `length` elements, a power of two, in the memory of a group of `group` items: by keys, and by
   positions if keys are equal. */
DEVICE_FN void sort_group(
    LOCAL_MEM_ARG K *keys, LOCAL_MEM_ARG u32 *positions, u32 length, u32 item, u32 group)
{
    for (u32 size = 2; size <= length; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            for (u32 i = item; i < length / 2; i += group) {
                const u32 a = 2 * i - (i & (step - 1)), b = a + step;
                const K ka = keys[a], kb = keys[b];
                const u32 pa = positions[a], pb = positions[b];
                const int after = ka > kb || (ka == kb && pa > pb);
                if (after == ((a & size) == 0)) {
                    keys[a] = kb;
                    keys[b] = ka;
                    positions[a] = pb;
                    positions[b] = pa;
                }
            }
            local_barrier();
        }
    }
}
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
/* The sorted positions, and where each was among those given. Positions that are in order already were not
   moved. */
#define SORTED
#define PLACE(at) ((u32)order[at])

/* A group sorts a tile of `length` elements. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void tiles0(__global const u32* source, const u64 source_byte, __global u32* values, const u64 values_byte, __global i64* indices, const u64 indices_byte, const u32 n, const u32 kept, const u32 length, const u32 tiles)
{
    source = (__global const u32*)((__global const u8*)source + source_byte);
    values = (__global u32*)((__global u8*)values + values_byte);
    indices = (__global i64*)((__global u8*)indices + indices_byte);
    LOCAL_MEM K keys[1024];
    LOCAL_MEM u32 positions[1024];
    const u32 number = GID_0, item = LID_0;
    const u64 row = number / tiles;
    const u32 first = number % tiles * length;
    LINE
    for (u32 i = item; i < length; i += 256) {
        const int inside = first + i < n;
        keys[i] = inside ? key_of(source[inside ? ELEMENT(first + i) : 0]) : ~(K)0;
        positions[i] = inside ? first + i : 0xffffffffu;
    }
    local_barrier();
    sort_group(keys, positions, length, item, 256);
    for (u32 i = item; i < length; i += 256) {
        const u32 at = first + i;
        if (at < n) {
            const K k = keys[i];
            const u32 p = positions[i];
            (void)k;
            STORE(at, source[ELEMENT(p)], p)
        }
    }
}

/* Without a fold the last point of each run goes to the table. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void last1(__global const u32* sorted, const u64 sorted_byte, __global const i64* order, const u64 order_byte, __global const u32* x, const u64 x_byte, __global u32* table, const u64 table_byte, const u32 points, const u32 last, const u32 width, const u32 rows)
{
    sorted = (__global const u32*)((__global const u8*)sorted + sorted_byte);
    order = (__global const i64*)((__global const u8*)order + order_byte);
    x = (__global const u32*)((__global const u8*)x + x_byte);
    table = (__global u32*)((__global u8*)table + table_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    const u32 at = id / width, column = id % width;
    if (at >= rows) return;
    SORTED
    const u32 key = sorted[at];
    if (at + 1 < points && sorted[at + 1] == key) return;
    table[IN_TABLE(key)] = x[BROUGHT(PLACE(at))];
}
