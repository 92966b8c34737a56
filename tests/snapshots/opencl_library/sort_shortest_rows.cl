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
#define LINE const u64 line = row * n, results = row * kept;
#define ELEMENT(at) (line + (at))
#define RESULT(at) (results + (at))
#define STORE(at, element, p) if (at < kept) { values[RESULT(at)] = element; indices[RESULT(at)] = (i64)(p);  }

/* An item sorts a row in registers. What fills up the row comes after equal keys. */
#define LOAD(at) \
    K k##at = at < n ? key_of(source[ELEMENT(at < n ? at : 0)]) : ~(K)0; \
    u32 p##at = at;
#define EXCHANGE(a, b) { \
    const int after = k##a > k##b || (k##a == k##b && p##a > p##b); \
    const K k = after ? k##b : k##a; \
    const u32 p = after ? p##b : p##a; \
    k##b = after ? k##a : k##b; \
    p##b = after ? p##a : p##b; \
    k##a = k; \
    p##a = p; \
}
#define PUT(at) if (at < n) { STORE(at, source[ELEMENT(p##at)], p##at) }

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void rows0(__global const u32* source, const u64 source_byte, __global u32* values, const u64 values_byte, __global i64* indices, const u64 indices_byte, const u32 n, const u32 kept, const u64 rows)
{
    source = (__global const u32*)((__global const u8*)source + source_byte);
    values = (__global u32*)((__global u8*)values + values_byte);
    indices = (__global i64*)((__global u8*)indices + indices_byte);
    const u64 row = (u64)GID_0 * 128 + (u64)LID_0;
    if (row >= rows) return;
    LINE
    LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(15) 
    EXCHANGE(0, 1)
EXCHANGE(2, 3)
EXCHANGE(4, 5)
EXCHANGE(6, 7)
EXCHANGE(8, 9)
EXCHANGE(10, 11)
EXCHANGE(12, 13)
EXCHANGE(14, 15)
EXCHANGE(0, 2)
EXCHANGE(1, 3)
EXCHANGE(4, 6)
EXCHANGE(5, 7)
EXCHANGE(8, 10)
EXCHANGE(9, 11)
EXCHANGE(12, 14)
EXCHANGE(13, 15)
EXCHANGE(1, 2)
EXCHANGE(5, 6)
EXCHANGE(9, 10)
EXCHANGE(13, 14)
EXCHANGE(0, 4)
EXCHANGE(1, 5)
EXCHANGE(2, 6)
EXCHANGE(3, 7)
EXCHANGE(8, 12)
EXCHANGE(9, 13)
EXCHANGE(10, 14)
EXCHANGE(11, 15)
EXCHANGE(2, 4)
EXCHANGE(3, 5)
EXCHANGE(10, 12)
EXCHANGE(11, 13)
EXCHANGE(1, 2)
EXCHANGE(3, 4)
EXCHANGE(5, 6)
EXCHANGE(9, 10)
EXCHANGE(11, 12)
EXCHANGE(13, 14)
EXCHANGE(0, 8)
EXCHANGE(1, 9)
EXCHANGE(2, 10)
EXCHANGE(3, 11)
EXCHANGE(4, 12)
EXCHANGE(5, 13)
EXCHANGE(6, 14)
EXCHANGE(7, 15)
EXCHANGE(4, 8)
EXCHANGE(5, 9)
EXCHANGE(6, 10)
EXCHANGE(7, 11)
EXCHANGE(2, 4)
EXCHANGE(3, 5)
EXCHANGE(6, 8)
EXCHANGE(7, 9)
EXCHANGE(10, 12)
EXCHANGE(11, 13)
EXCHANGE(1, 2)
EXCHANGE(3, 4)
EXCHANGE(5, 6)
EXCHANGE(7, 8)
EXCHANGE(9, 10)
EXCHANGE(11, 12)
EXCHANGE(13, 14)

    PUT(0) PUT(1) PUT(2) PUT(3) PUT(4) PUT(5) PUT(6) PUT(7) PUT(8) PUT(9) PUT(10) PUT(11) PUT(12) PUT(13) PUT(14) PUT(15) 
}
