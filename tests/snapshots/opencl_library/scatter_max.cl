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
#define ATOMIC_ADD(at, x) atomic_add((at), (x))
#define ATOMIC_OR(at, x) atomic_or((at), (x))
#define LEADING_ZEROS(x) clz(x)
#define load_f16(pointer, index) (vload_half((index), (pointer)))
#define store_f16(pointer, index, value) vstore_half_rte((f32)(value), (index), (pointer))
/* The row of the table for a position: a position beyond the table stands for the last row, so that nothing
   outside of the table is written. The element of the table, and of what is scattered, in this `column`. */
#define ROW(key) ((key) < last ? (key) : last)
#define IN_TABLE(key) ((u32)ROW(key) * width + column)
#define BROUGHT(place) ((place) * width + column)
typedef f32 A;
#define NONE ((A)(as_float(0xff800000u)))
DEVICE_FN A join(A a, A b) { return (((b) > (a) || ((b) != (b) && (a) == (a))) ? (b) : (a)); }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)
/* An item folds EACH neighbouring elements of a row, which it reads and stores at once. */
enum { EACH = 1 };
#define FOR_EACH for (u32 v = 0; v < EACH; v++)
#define READ(to, from, at) (to)[0] = (A)load_f16(from, at);
#define PUT_BACK(to, at) store_f16(to, at, join(old[0], all[0]));
/* Marks a point in a bitmap, and finds the lowest one that is marked in a word. */
DEVICE_FN void mark(LOCAL_MEM_ARG u32 *marks, u32 place)
{
    ATOMIC_OR(&marks[place / 32], 1u << (place % 32));
}

DEVICE_FN u32 lowest(u32 x) { return 31 - (u32)LEADING_ZEROS(x & (0u - x)); }

/* A network of these sorts the places of members. */
#define EXCHANGE(a, b) { \
    const u32 k = k##a < k##b ? k##a : k##b; \
    k##b = k##a < k##b ? k##b : k##a; \
    k##a = k; \
}
#define PLACE(j) u32 k##j = j < count ? members[slot * 8 + j] : 0xffffffffu;
#define READ_MEMBER(j) if (j < count) { READ(xs[j], x, BROUGHT(k##j)) }

/* Sets words of memory before others count in them. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void clear0(__global u32* counts, const u64 counts_byte, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
    counts = (__global u32*)((__global u8*)counts + counts_byte);
    const u32 id = (u32)GID_0 * 256 + (u32)LID_0;
    if (id < slots + 2) counts[id] = 0;
}

/* Each point finds its slot and its number there. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void arrive1(__global const u32* positions, const u64 positions_byte, __global u32* counts, const u64 counts_byte, __global u32* members, const u64 members_byte, __global u32* slots_of, const u64 slots_of_byte, __global u32* large_slots, const u64 large_slots_byte, __global u32* further, const u64 further_byte, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    counts = (__global u32*)((__global u8*)counts + counts_byte);
    members = (__global u32*)((__global u8*)members + members_byte);
    slots_of = (__global u32*)((__global u8*)slots_of + slots_of_byte);
    large_slots = (__global u32*)((__global u8*)large_slots + large_slots_byte);
    further = (__global u32*)((__global u8*)further + further_byte);
    LOCAL_MEM u32 own_further, first;
    const u32 item = LID_0, id = (u32)GID_0 * 256 + item;
    if (item == 0) own_further = 0;
    local_barrier();
    u32 slot = 0, number = 0, own = 0;
    if (id < points) {
        const u32 key = ROW(positions[id]);
        slot = key;
        number = ATOMIC_ADD(&counts[slot], 1u);
        slots_of[id] = number == 0 ? slot | 0x80000000u : slot;
        if (number < 8) members[slot * 8 + number] = id;
        else own = ATOMIC_ADD(&own_further, 1u);
        if (number == 8) large_slots[ATOMIC_ADD(&counts[slots], 1u)] = slot;
    }
    local_barrier();
    if (item == 0 && own_further > 0) first = ATOMIC_ADD(&counts[slots + 1], own_further);
    local_barrier();
    if (id < points && number >= 8) {
        further[2 * (first + own)] = slot;
        further[2 * (first + own) + 1] = id;
    }
}

/* Folds the points of each slot. The first groups take the large slots, the items of others a slot each. */
__kernel __attribute__((reqd_work_group_size(512, 1, 1)))
void fold2(__global const u32* counts, const u64 counts_byte, __global const u32* members, const u64 members_byte, __global const u32* slots_of, const u64 slots_of_byte, __global const u32* large_slots, const u64 large_slots_byte, __global const u32* further, const u64 further_byte, __global const u32* positions, const u64 positions_byte, __global const half* x, const u64 x_byte, __global half* table, const u64 table_byte, const u32 points, const u32 last, const u32 width, const u32 lanes, const u32 slots, const u32 bits, const u32 large)
{
    counts = (__global const u32*)((__global const u8*)counts + counts_byte);
    members = (__global const u32*)((__global const u8*)members + members_byte);
    slots_of = (__global const u32*)((__global const u8*)slots_of + slots_of_byte);
    large_slots = (__global const u32*)((__global const u8*)large_slots + large_slots_byte);
    further = (__global const u32*)((__global const u8*)further + further_byte);
    positions = (__global const u32*)((__global const u8*)positions + positions_byte);
    x = (__global const half*)((__global const u8*)x + x_byte);
    table = (__global half*)((__global u8*)table + table_byte);
    LOCAL_MEM u32 marks[1024];
    LOCAL_MEM A parts[512 * EACH];
    const u32 item = LID_0, number = GID_0;
    if (number < large) {
        /* A group marks the points of a slot in a bitmap of all points. Each of its teams folds those in a
           range of it. */
        const u32 used = (points + 31) / 32, others = counts[slots + 1];
        const u32 across = lanes < 512 ? lanes : 512, teams = 512 / across, team = item / across;
        for (u32 at = number; at < counts[slots]; at += large) {
            const u32 slot = large_slots[at], key = slot;
            for (u32 w = item; w < used; w += 512) marks[w] = 0;
            local_barrier();
            if (item < 8) mark(marks, members[slot * 8 + item]);
            for (u32 i = item; i < others; i += 512 * 8) {
                u32 of[8], place[8];
#pragma unroll
                for (u32 j = 0; j < 8; j++) {
                    const u32 k = i + j * 512;
                    of[j] = k < others ? further[2 * k] : 0xffffffffu;
                    place[j] = k < others ? further[2 * k + 1] : 0;
                }
#pragma unroll
                for (u32 j = 0; j < 8; j++) if (of[j] == slot) mark(marks, place[j]);
            }
            local_barrier();
            for (u32 block = 0; block < lanes; block += across) {
                const u32 lane = block + item % across, column = lane * EACH;
                A all[EACH], lost[EACH], old[EACH], xs[8][EACH];
                FOR_EACH { all[v] = NONE; lost[v] = 0; }
                if (team < teams && lane < lanes) {
                    u32 places[8], some = 0;
                    for (u32 w = team * used / teams; w < (team + 1) * used / teams; w++) {
                        u32 left = marks[w];
                        while (left != 0) {
                            places[some++] = w * 32 + lowest(left);
                            left &= left - 1;
                            if (some == 8) {
#pragma unroll
                    for (u32 j = 0; j < 8; j++) if (j < some) { READ(xs[j], x, BROUGHT(places[j])) }
#pragma unroll
                    for (u32 j = 0; j < 8; j++)
                        if (j < some) { FOR_EACH ADD(all[v], lost[v], xs[j][v]); }
                    some = 0;

                            }
                        }
                    }
#pragma unroll
                    for (u32 j = 0; j < 8; j++) if (j < some) { READ(xs[j], x, BROUGHT(places[j])) }
#pragma unroll
                    for (u32 j = 0; j < 8; j++)
                        if (j < some) { FOR_EACH ADD(all[v], lost[v], xs[j][v]); }
                    some = 0;

                    FOR_EACH all[v] = WHOLE(all[v], lost[v]);
                }
                FOR_EACH parts[item * EACH + v] = all[v];
                local_barrier();
                if (team == 0 && lane < lanes) {
                    FOR_EACH lost[v] = 0;
                    for (u32 t = 1; t < teams; t++) {
                        const u32 from = (t * across + item) * EACH;
                        FOR_EACH ADD(all[v], lost[v], parts[from + v]);
                    }
                    FOR_EACH all[v] = WHOLE(all[v], lost[v]);
                    READ(old, table, IN_TABLE(key))
                    PUT_BACK(table, IN_TABLE(key))
                }
                local_barrier();
            }
        }

        return;
    }
    const u32 id = (number - large) * 512 + item;
    const u32 point = id / lanes, column = id % lanes * EACH;
    if (point >= points) return;
    const u32 mine = slots_of[point], slot = mine & 0x7fffffffu;
    if (mine == slot) return;
    const u32 key = positions[point], count = counts[slot];
    A all[EACH], old[EACH], xs[8][EACH];
    READ(old, table, IN_TABLE(key))
    READ(all, x, BROUGHT(point))
    if (count > 8) return;
    if (count > 1) {
        PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7) 
        EXCHANGE(0, 1)
EXCHANGE(2, 3)
EXCHANGE(4, 5)
EXCHANGE(6, 7)
EXCHANGE(0, 2)
EXCHANGE(1, 3)
EXCHANGE(4, 6)
EXCHANGE(5, 7)
EXCHANGE(1, 2)
EXCHANGE(5, 6)
EXCHANGE(0, 4)
EXCHANGE(1, 5)
EXCHANGE(2, 6)
EXCHANGE(3, 7)
EXCHANGE(2, 4)
EXCHANGE(3, 5)
EXCHANGE(1, 2)
EXCHANGE(3, 4)
EXCHANGE(5, 6)

        READ_MEMBER(0) READ_MEMBER(1) READ_MEMBER(2) READ_MEMBER(3) READ_MEMBER(4) READ_MEMBER(5) READ_MEMBER(6) READ_MEMBER(7) 
        FOR_EACH all[v] = xs[0][v];
#pragma unroll
        for (u32 j = 1; j < 8; j++) if (j < count) { FOR_EACH all[v] = join(all[v], xs[j][v]); }
    }
    PUT_BACK(table, IN_TABLE(key))
}
