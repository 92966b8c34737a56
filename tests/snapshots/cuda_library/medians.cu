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
#define LOCAL_MEM __shared__
#define LOCAL_MEM_ARG 
#define LID_0 threadIdx.x
#define GID_0 blockIdx.x
#define local_barrier() __syncthreads()
#define ATOMIC_ADD(at, x) atomicAdd((at), (x))
/* K is the type that is sorted; key_of gives unsigned integers in the order of the elements. */
typedef u64 K;
DEVICE_FN u64 key_of(u64 x)
{
    u64 k = x;
    if (k == 9223372036854775808ULL) k = 0;
    k = (k & 9223372036854775807ULL) > 9218868437227405312ULL ? 18446744073709551615ULL : k ^ ((k & 9223372036854775808ULL) ? 18446744073709551615ULL : 9223372036854775808ULL);
    return k;
}

/* Where the row with number `row` and its results lie; STORE stores a result, and its position p. */
#define LINE const u64 line = row * n, results = row * kept;
#define ELEMENT(at) (line + (at))
#define RESULT(at) (results + (at))
#define STORE(at, element, p) if (at < kept) { values[RESULT(at)] = element;  }
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

/* The elements at a few places of a row. Those that are among the elements around an earlier place are there
   already. */
extern "C" __global__ __launch_bounds__(256)
void select0(const u64* source, u64* values, const u32 n, const u32 kept, const u32 parts, const u32 length, const u32 position_bits, const u32 r0, const u32 r1)
{
    BEGIN
    LOCAL_MEM K keys[2048];
    LOCAL_MEM u32 positions[2048], bins[2048], sums[256], found[4];
    const u32 item = LID_0;
    const u64 v = GID_0;
    const u64 row = v / parts;
    LINE
    const u32 begin = (u32)(v % parts) * length;
    const u32 m = n - begin < length ? n - begin : length;
    u32 covered = 0;
    if (r0 >= covered) {
        const u32 wanted = r0;
        u32 taken = m;
    /* Narrows what may be at the wanted place down to the keys (and positions, if these are equal) that begin
       with a prefix, of which `left` bits are not known yet. */
    K prefix = 0;
    u32 place = 0, left = 64, before = 0;
    int by_place = 0;
    taken = m;
    while (taken > 2048 || (left == 64 && !by_place && taken > 512)) {
        if (left == 0) {
            by_place = 1;
            left = position_bits;
        }
        const u32 width = left < 11 ? left : 11, shift = left - width;
        const int whole = by_place ? left == position_bits : left == 64;
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
        taken = 0 ? before + found[2] : found[2];
        if (by_place) place = whole ? found[0] : (place << width) | found[0];
        else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
        left = shift;
        local_barrier();
    }
    const int all = !by_place && left == 64;

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
                if (by_place ? (k == prefix && ((begin + at) >> left) == place) : all || (k >> left) == prefix) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = (begin + at);
                    }
                }
            }
        }
    local_barrier();

        sort_taken(keys, positions, taken, item);
        if (item == 0 && r0 >= before && r0 - before < taken) {
            const u32 at = r0, p = positions[at - before];
            STORE(at, source[ELEMENT(p)], p)
        }
        if (item == 1 && r1 >= before && r1 - before < taken) {
            const u32 at = r1, p = positions[at - before];
            STORE(at, source[ELEMENT(p)], p)
        }
        covered = before + taken;
        local_barrier();
    }
    if (r1 >= covered) {
        const u32 wanted = r1;
        u32 taken = m;
    /* Narrows what may be at the wanted place down to the keys (and positions, if these are equal) that begin
       with a prefix, of which `left` bits are not known yet. */
    K prefix = 0;
    u32 place = 0, left = 64, before = 0;
    int by_place = 0;
    taken = m;
    while (taken > 2048 || (left == 64 && !by_place && taken > 512)) {
        if (left == 0) {
            by_place = 1;
            left = position_bits;
        }
        const u32 width = left < 11 ? left : 11, shift = left - width;
        const int whole = by_place ? left == position_bits : left == 64;
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
        taken = 0 ? before + found[2] : found[2];
        if (by_place) place = whole ? found[0] : (place << width) | found[0];
        else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
        left = shift;
        local_barrier();
    }
    const int all = !by_place && left == 64;

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
                if (by_place ? (k == prefix && ((begin + at) >> left) == place) : all || (k >> left) == prefix) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < 2048) {
                        keys[slot] = k;
                        positions[slot] = (begin + at);
                    }
                }
            }
        }
    local_barrier();

        sort_taken(keys, positions, taken, item);
        if (item == 0 && r0 >= before && r0 - before < taken) {
            const u32 at = r0, p = positions[at - before];
            STORE(at, source[ELEMENT(p)], p)
        }
        if (item == 1 && r1 >= before && r1 - before < taken) {
            const u32 at = r1, p = positions[at - before];
            STORE(at, source[ELEMENT(p)], p)
        }
        covered = before + taken;
        local_barrier();
    }
}
