// Exchanges of GPUs that reach each other's memory. Each member has a mailbox, into which the others write:
// a slot for each of them, of two units of each thread, which alternate. A unit is 8 bytes, sent as two
// words that each hold 4 bytes and the number of the turn. So whoever finds the number of its turn in both
// words has the unit, in one trip and without a fence. (NCCL's protocol LL sends such words.)
//
// Every member sends a unit to every other and waits for one from each, whatever is exchanged. Hence no
// member writes the unit of the next turn but one before all have read that of this turn.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif

// As in mailbox.rs.
#define MOST_MEMBERS 16
#define MOST_ARRAYS 64
#define THREADS 512
#define BLOCKS 64
#define ENDED 0
#define CUT_OFF 1

enum Kind : u32 { FOLD, GATHER, PICK };
enum Fold : u32 { SUM, MAX, MIN };
enum Type : u32 { I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };

struct Array {
    const u8* input;
    u8* output;
    // What a member sends to another.
    u64 bytes;
    // From what is sent to a member to what is sent to the next.
    u64 stride;
    Kind kind;
    Fold fold;
    Type type;
    // The member whose unit is picked; none of them: zeros.
    u32 source;
};

struct Exchange {
    // Shared with the host: how many exchanges with a check have run, and whether exchanges were cut off.
    volatile u64* words;
    // The turns that each block has had.
    u32* turns;
    volatile u64* mailboxes[MOST_MEMBERS];
    // The check of this exchange and those before it, unless it is null: what is stored to the first status
    // word, unless there is a report already. That exchanges were cut off, or what members have exchanged
    // as the output at this address.
    volatile long long* status;
    long long report;
    const void* taken;
    u32 rank, size, arrays, unused;
    Array array[MOST_ARRAYS];
};

__device__ u64 units(const Array& array) { return (array.bytes + 7) / 8; }

// The two words of a unit that a member gets from another in a turn.
__device__ volatile u64* slot(const Exchange& of, u32 to, u32 from, u32 turn) {
    u64 first = ((turn & 1) * of.size + from) * BLOCKS + blockIdx.x;
    return of.mailboxes[to] + 2 * (first * THREADS + threadIdx.x);
}

__device__ u64 loaded(const u8* from, u64 bytes) {
    if (bytes >= 8 && (u64)from % 8 == 0) return *(const u64*)from;
    u64 unit = 0;
    for (u64 at = 0; at < bytes && at < 8; at++) unit |= (u64)from[at] << 8 * at;
    return unit;
}

__device__ void store(u8* to, u64 unit, u64 bytes) {
    if (bytes >= 8 && (u64)to % 8 == 0) {
        *(u64*)to = unit;
    } else {
        for (u64 at = 0; at < bytes && at < 8; at++) to[at] = unit >> 8 * at;
    }
}

__device__ void send(volatile u64* slot, u64 unit, u32 turn) {
    u64 number = (u64)turn << 32;
    slot[0] = number | (unit & 0xffffffff);
    slot[1] = number | unit >> 32;
}

__device__ void report(const Exchange& of, long long what) {
    if (of.status && what != 0 && *of.status == 0) *of.status = what;
}

// Anything, if exchanges are cut off.
__device__ u64 received(const Exchange& of, const volatile u64* slot, u32 turn) {
    for (u32 looks = 1;; looks++) {
        u64 low = slot[0], high = slot[1];
        if (low >> 32 == turn && high >> 32 == turn) return (low & 0xffffffff) | high << 32;
        if (looks % 4096 == 0 && of.words[CUT_OFF] != 0) {
            report(of, of.report);
            return 0;
        }
    }
}

// The unit of a member in this turn.
__device__ u64 unit_of(const Exchange& of, u32 member, u64 own, u32 turn) {
    return member == of.rank ? own : received(of, slot(of, of.rank, member, turn), turn);
}

__device__ float of_half(unsigned short bits) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
}
__device__ unsigned short to_half(float wide) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
    return bits;
}
// To the nearest, ties to even; the driver may know no instruction for it.
__device__ unsigned short to_bfloat(float wide) {
    u32 bits = __float_as_uint(wide);
    if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Elements of type T, folded as values of type W.
template <typename T> struct Plain {
    typedef T Stored;
    typedef T Wide;
    static __device__ Wide widen(T x) { return x; }
    static __device__ T narrow(Wide x) { return x; }
};
struct Half {
    typedef unsigned short Stored;
    typedef float Wide;
    static __device__ float widen(Stored x) { return of_half(x); }
    static __device__ Stored narrow(float x) { return to_half(x); }
};
struct Bfloat {
    typedef unsigned short Stored;
    typedef float Wide;
    static __device__ float widen(Stored x) { return __uint_as_float((u32)x << 16); }
    static __device__ Stored narrow(float x) { return to_bfloat(x); }
};

// Integers wrap.
template <typename W> __device__ W sum(W a, W b) { return (W)((u64)a + (u64)b); }
template <> __device__ float sum(float a, float b) { return a + b; }
template <> __device__ double sum(double a, double b) { return a + b; }

// A NaN stays.
template <typename W> __device__ W folded(Fold fold, W a, W b) {
    if (fold == SUM) return sum(a, b);
    bool first = a != a || (fold == MAX ? a >= b : a <= b);
    return first ? a : b;
}

// The members' units folded in the order of ranks.
template <typename E> __device__ u64 fold(const Exchange& of, Fold fold, u64 own, u32 turn) {
    typedef typename E::Stored Stored;
    const u32 lanes = 8 / sizeof(Stored);
    union Unit {
        u64 bits;
        Stored lane[lanes];
    };
    typename E::Wide wide[lanes];
    for (u32 member = 0; member < of.size; member++) {
        Unit unit = {unit_of(of, member, own, turn)};
#pragma unroll
        for (u32 at = 0; at < lanes; at++) {
            typename E::Wide x = E::widen(unit.lane[at]);
            wide[at] = member == 0 ? x : folded(fold, wide[at], x);
        }
    }
    Unit unit;
#pragma unroll
    for (u32 at = 0; at < lanes; at++) unit.lane[at] = E::narrow(wide[at]);
    return unit.bits;
}

__device__ u64 fold_by_type(const Exchange& of, const Array& array, u64 own, u32 turn) {
    switch (array.type) {
        case I8: return fold<Plain<signed char>>(of, array.fold, own, turn);
        case I16: return fold<Plain<short>>(of, array.fold, own, turn);
        case I32: return fold<Plain<int>>(of, array.fold, own, turn);
        case I64: return fold<Plain<long long>>(of, array.fold, own, turn);
        case U8: return fold<Plain<u8>>(of, array.fold, own, turn);
        case U16: return fold<Plain<unsigned short>>(of, array.fold, own, turn);
        case U32: return fold<Plain<u32>>(of, array.fold, own, turn);
        case U64: return fold<Plain<u64>>(of, array.fold, own, turn);
        case F16: return fold<Half>(of, array.fold, own, turn);
        case BF16: return fold<Bfloat>(of, array.fold, own, turn);
        case F32: return fold<Plain<float>>(of, array.fold, own, turn);
        default: return fold<Plain<double>>(of, array.fold, own, turn);
    }
}

// Exchanges a unit of an array with all members.
__device__ void exchange_unit(const Exchange& of, const Array& array, u64 at, u32 turn) {
    u64 byte = at * 8, left = array.bytes - byte;
    for (u32 next = 1; next < of.size; next++) {
        u32 to = (of.rank + next) % of.size;
        send(slot(of, to, of.rank, turn), loaded(array.input + to * array.stride + byte, left), turn);
    }
    u64 own = loaded(array.input + of.rank * array.stride + byte, left);
    if (array.kind == FOLD) {
        u64 unit = fold_by_type(of, array, own, turn);
        store(array.output + byte, unit, left);
        if (array.output == of.taken) report(of, unit);
        return;
    }
    u64 picked = 0;
    for (u32 member = 0; member < of.size; member++) {
        u64 unit = unit_of(of, member, own, turn);
        if (array.kind == GATHER) store(array.output + member * array.bytes + byte, unit, left);
        if (member == array.source) picked = unit;
    }
    if (array.kind == PICK) store(array.output + byte, picked, left);
}

extern "C" __global__ void __launch_bounds__(THREADS) exchange(const __grid_constant__ Exchange of) {
    BEGIN
    bool checks = of.status && blockIdx.x == 0 && threadIdx.x == 0;
    // It takes a trip to the host, as long as that to another member.
    u64 ended = checks ? of.words[ENDED] : 0, cut_off = checks ? of.words[CUT_OFF] : 0;
    u64 all = 0;
    for (u32 k = 0; k < of.arrays; k++) all += units(of.array[k]);
    u32 turn = of.turns[blockIdx.x];
    for (u64 first = (u64)blockIdx.x * THREADS; first < all; first += (u64)gridDim.x * THREADS) {
        turn++;
        u64 at = first + threadIdx.x;
        u32 k = 0;
        while (k < of.arrays && at >= units(of.array[k])) at -= units(of.array[k++]);
        if (k < of.arrays) exchange_unit(of, of.array[k], at, turn);
        // A member that has this block's next unit knows that all its threads have read those before.
        __syncthreads();
    }
    if (threadIdx.x == 0) of.turns[blockIdx.x] = turn;
    if (checks) {
        if (cut_off != 0) report(of, of.report);
        // All members have come, since this block has heard from them: none waits for the host any more.
        of.words[ENDED] = ended + 1;
    }
}
