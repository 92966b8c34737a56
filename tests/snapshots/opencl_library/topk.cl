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
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u32 K;
DEVICE_FN u32 key_of(u16 x)
{
    u32 k = x;
    if (k == 32768u) k = 0;
    k = (k & 32767u) > 31744u ? 65535u : k ^ ((k & 32768u) ? 65535u : 32768u);
    k ^= 65535u;
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
/* Sorts the `taken` elements in the memory of a group. */
DEVICE_FN void sort_taken(LOCAL_MEM_ARG K *keys, LOCAL_MEM_ARG u32 *positions, u32 taken, u32 item)
{
    u32 filled = 2;
    while (filled < taken) filled *= 2;
    for (u32 i = taken + item; i < filled; i += 256) {
        keys[i] = ~(K)0;
        positions[i] = 0xffffffffu;
    }
    local_barrier();
    sort_group(keys, positions, filled, item, 256);
}

/* Finds the bin in which the wanted place lies, if `before` elements come before all bins: `found` is the
   bin, how many elements lie in the bins before it, and in it. */
DEVICE_FN void find_bin(
    LOCAL_MEM_ARG const u32 *bins, LOCAL_MEM_ARG u32 *sums, LOCAL_MEM_ARG u32 *found,
    u32 wanted, u32 before, u32 item)
{
    enum { EACH = 2048 / 256 };
    u32 own_sum = 0;
#pragma unroll
    for (u32 j = 0; j < EACH; j++) own_sum += bins[item * EACH + j];
    u32 until = own_sum;
    for (u32 step = 1; step < 256; step *= 2) {
        sums[item] = until;
        local_barrier();
        const u32 other = item >= step ? sums[item - step] : 0;
        local_barrier();
        until += other;
    }
    u32 here = before + until - own_sum;
    if (wanted >= here && wanted - here < own_sum) {
        for (u32 j = 0; j < EACH; j++) {
            const u32 count = bins[item * EACH + j];
            if (wanted - here < count) {
                found[0] = item * EACH + j;
                found[1] = here - before;
                found[2] = count;
                break;
            }
            here += count;
        }
    }
    local_barrier();
}

/* The first `kept` elements of a row, or of a part of one, which has `m`. `found` is a bin, the elements in
   the bins before it, those in it, and the elements that are gathered. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void select0(__global const u16* source, const u64 source_byte, __global u32* part_keys, const u64 part_keys_byte, __global u32* part_positions, const u64 part_positions_byte, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits)
{
    source = (__global const u16*)((__global const u8*)source + source_byte);
    part_keys = (__global u32*)((__global u8*)part_keys + part_keys_byte);
    part_positions = (__global u32*)((__global u8*)part_positions + part_positions_byte);
    LOCAL_MEM K keys[2048];
    LOCAL_MEM u32 positions[2048], bins[2048], sums[256], found[4];
    const u32 item = LID_0;
    const u64 v = GID_0;
    const u64 row = v / parts;
    LINE
    const u32 begin = (u32)(v % parts) * length;
    const u32 m = n - begin < length ? n - begin : length;
    const u32 wanted = (kept < m ? kept : m) - 1;
    u32 taken = m;
    int near = 0;
    if (2 * kept <= 256 && m >= 4 * 256) {
        /* As many elements as are wanted come no later than that many of the first elements of the items. */
        K least = ~(K)0;
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = key_of(source[ELEMENT(begin) + at]);
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                least = k < least ? k : least;
            }
        }
        keys[item] = least;
        positions[item] = item;
        local_barrier();
        sort_group(keys, positions, 256, item, 256);
        const K bound = keys[wanted];
        local_barrier();
    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = key_of(source[ELEMENT(begin) + at]);
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                if (k <= bound) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = (begin + at);
                    }
                }
            }
        }
    local_barrier();

        taken = found[3];
        near = taken <= 2048;
        local_barrier();
    }
    if (!near) {
    /* Narrows what may be at the wanted place down to the keys (and positions, if these are equal) that begin
       with a prefix, of which `left` bits are not known yet. */
    K prefix = 0;
    u32 place = 0, left = 16, before = 0;
    int by_place = 0;
    taken = m;
    while (taken > 2048 || (left == 16 && !by_place && taken > 512)) {
        if (left == 0) {
            by_place = 1;
            left = position_bits;
        }
        const u32 width = left < 11 ? left : 11, shift = left - width;
        const int whole = by_place ? left == position_bits : left == 16;
        for (u32 i = item; i < 2048; i += 256) bins[i] = 0;
        local_barrier();
        u32 digit = 0, run = 0;
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = key_of(source[ELEMENT(begin) + at]);
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                u32 d;
                if (by_place) {
                    const u32 p = (begin + at);
                    if (k != prefix || (!whole && (p >> left) != place)) continue;
                    d = p >> shift;
                } else {
                    if (!whole && (k >> left) != prefix) continue;
                    d = (u32)(k >> shift);
                }
                d &= (1u << width) - 1;
                if (d != digit) {
                    if (run > 0) ATOMIC_ADD(&bins[digit], run);
                    digit = d;
                    run = 0;
                }
                run++;
            }
        }
        if (run > 0) ATOMIC_ADD(&bins[digit], run);
        local_barrier();
        find_bin(bins, sums, found, wanted, before, item);
        before += found[1];
        taken = 1 ? before + found[2] : found[2];
        if (by_place) place = whole ? found[0] : (place << width) | found[0];
        else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
        left = shift;
        local_barrier();
    }
    const int all = !by_place && left == 16;

    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = key_of(source[ELEMENT(begin) + at]);
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                if (by_place ? k < prefix || (k == prefix && ((begin + at) >> left) <= place) : all || (k >> left) <= prefix) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = (begin + at);
                    }
                }
            }
        }
    local_barrier();

    }
    sort_taken(keys, positions, taken, item);
    /* What a part lacks comes after all elements. */
    for (u32 at = item; at < (1 ? kept : kept < m ? kept : m); at += 256) {
        const int is_there = !1 || at <= wanted;
        const K k = is_there ? keys[at] : ~(K)0;
        const u32 p = is_there ? positions[at] : n;
        (void)k;
        part_keys[v * kept + at] = k; part_positions[v * kept + at] = p;
    }
}

/* The first `kept` elements of a row, or of a part of one, which has `m`. `found` is a bin, the elements in
   the bins before it, those in it, and the elements that are gathered. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void select1(__global const u16* source, const u64 source_byte, __global const u32* part_keys, const u64 part_keys_byte, __global const u32* part_positions, const u64 part_positions_byte, __global u16* values, const u64 values_byte, __global i64* indices, const u64 indices_byte, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits)
{
    source = (__global const u16*)((__global const u8*)source + source_byte);
    part_keys = (__global const u32*)((__global const u8*)part_keys + part_keys_byte);
    part_positions = (__global const u32*)((__global const u8*)part_positions + part_positions_byte);
    values = (__global u16*)((__global u8*)values + values_byte);
    indices = (__global i64*)((__global u8*)indices + indices_byte);
    LOCAL_MEM K keys[2048];
    LOCAL_MEM u32 positions[2048], bins[2048], sums[256], found[4];
    const u32 item = LID_0;
    const u64 v = GID_0;
    const u64 row = v;
    LINE
    const u32 m = parts * kept;
    const u32 wanted = (kept < m ? kept : m) - 1;
    u32 taken = m;
    int near = 0;
    if (2 * kept <= 256 && m >= 4 * 256) {
        /* As many elements as are wanted come no later than that many of the first elements of the items. */
        K least = ~(K)0;
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = part_keys[row * m + at];
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                least = k < least ? k : least;
            }
        }
        keys[item] = least;
        positions[item] = item;
        local_barrier();
        sort_group(keys, positions, 256, item, 256);
        const K bound = keys[wanted];
        local_barrier();
    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = part_keys[row * m + at];
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                if (k <= bound) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = part_positions[row * m + at];
                    }
                }
            }
        }
    local_barrier();

        taken = found[3];
        near = taken <= 2048;
        local_barrier();
    }
    if (!near) {
    /* Narrows what may be at the wanted place down to the keys (and positions, if these are equal) that begin
       with a prefix, of which `left` bits are not known yet. */
    K prefix = 0;
    u32 place = 0, left = 16, before = 0;
    int by_place = 0;
    taken = m;
    while (taken > 2048 || (left == 16 && !by_place && taken > 512)) {
        if (left == 0) {
            by_place = 1;
            left = position_bits;
        }
        const u32 width = left < 11 ? left : 11, shift = left - width;
        const int whole = by_place ? left == position_bits : left == 16;
        for (u32 i = item; i < 2048; i += 256) bins[i] = 0;
        local_barrier();
        u32 digit = 0, run = 0;
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = part_keys[row * m + at];
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                u32 d;
                if (by_place) {
                    const u32 p = part_positions[row * m + at];
                    if (k != prefix || (!whole && (p >> left) != place)) continue;
                    d = p >> shift;
                } else {
                    if (!whole && (k >> left) != prefix) continue;
                    d = (u32)(k >> shift);
                }
                d &= (1u << width) - 1;
                if (d != digit) {
                    if (run > 0) ATOMIC_ADD(&bins[digit], run);
                    digit = d;
                    run = 0;
                }
                run++;
            }
        }
        if (run > 0) ATOMIC_ADD(&bins[digit], run);
        local_barrier();
        find_bin(bins, sums, found, wanted, before, item);
        before += found[1];
        taken = 1 ? before + found[2] : found[2];
        if (by_place) place = whole ? found[0] : (place << width) | found[0];
        else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
        left = shift;
        local_barrier();
    }
    const int all = !by_place && left == 16;

    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
        /* An item goes along its elements: `k` is the key of element `at`. */
        for (u32 start = item; start < m; start += 4 * 256) {
            K own[4];
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 next = start + j * 256, at = next < m ? next : item;
                own[j] = part_keys[row * m + at];
            }
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                const u32 at = start + j * 256;
                if (at >= m) continue;
                const K k = own[j];
                if (by_place ? k < prefix || (k == prefix && (part_positions[row * m + at] >> left) <= place) : all || (k >> left) <= prefix) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = part_positions[row * m + at];
                    }
                }
            }
        }
    local_barrier();

    }
    sort_taken(keys, positions, taken, item);
    /* What a part lacks comes after all elements. */
    for (u32 at = item; at < (0 ? kept : kept < m ? kept : m); at += 256) {
        const int is_there = !0 || at <= wanted;
        const K k = is_there ? keys[at] : ~(K)0;
        const u32 p = is_there ? positions[at] : n;
        (void)k;
        STORE(at, source[ELEMENT(p)], p)
    }
}
