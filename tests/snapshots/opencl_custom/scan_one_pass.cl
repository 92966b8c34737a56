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
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
static inline u64 add_to_u64(__global u64* at, u64 x) {
    return atom_add((volatile __global u64*)at, x);
}
#define KERNEL __kernel
#define LAUNCH_BOUNDS(items, groups) 
#define DEVICE_FN static inline __attribute__((always_inline))
#define GLOBAL_MEM __global
#define LOCAL_MEM __local
#define LOCAL_MEM_ARG __local
#define CONSTANT_MEM __constant
#define RESTRICT restrict
#define LID_0 get_local_id(0)
#define LID_1 get_local_id(1)
#define LID_2 get_local_id(2)
#define LDIM_0 get_local_size(0)
#define LDIM_1 get_local_size(1)
#define LDIM_2 get_local_size(2)
#define GID_0 get_group_id(0)
#define GID_1 get_group_id(1)
#define GID_2 get_group_id(2)
#define GDIM_0 get_num_groups(0)
#define GDIM_1 get_num_groups(1)
#define GDIM_2 get_num_groups(2)
#define local_barrier() barrier(CLK_LOCAL_MEM_FENCE)
#define global_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define atomic_add_u64(pointer, value) add_to_u64((pointer), (value))
#define f16 half
#define bf16 u16
#define type_x f32
#define work_x f32
#define load_x(pointer, index) ((pointer)[(index)])
#define store_x(pointer, index, value) (pointer)[(index)] = (value)
#line 1 "kernels"
/* Scans within a group. The names in dollars are replaced (scan.rs). */
#define INPUT_(i) (x[i])
#define SCAN_(a, b) (a + b)

/* A run of elements: what comes of those since the last start of a segment in it, and whether there is one. */
#if 1
#define NOTE_START_(at_, k_, i) starts_[at_] = (k_) < count_ && (starts[i])
#define STARTS_(at_) starts_[at_]
#define STARTED_(part_) (part_).started_
typedef struct { work_x value_; u32 started_; } Part_;
#else
#define NOTE_START_(at_, k_, i)
#define STARTS_(at_) 0
#define STARTED_(part_) 0
typedef struct { work_x value_; } Part_;
#endif

DEVICE_FN Part_ part_(work_x value_, u32 started_)
{
    Part_ part_;
    part_.value_ = value_;
#if 1
    part_.started_ = started_;
#endif
    return part_;
}

DEVICE_FN Part_ joined_(Part_ first_, Part_ next_)
{
    if (STARTED_(next_)) return next_;
    return part_(SCAN_((first_.value_), (next_.value_)), STARTED_(first_));
}

#ifdef HAS_SHUFFLE
#define SLOTS_ (256 / WARP_SIZE)
#define UNROLL_ _Pragma("unroll")

/* The part of the work item that is so many items before this one in its warp. */
DEVICE_FN Part_ part_before_(Part_ part_, u32 apart_)
{
    part_.value_ = shuffle_up(part_.value_, apart_);
#if 1
    part_.started_ = shuffle_up(part_.started_, apart_);
#endif
    return part_;
}
#else
#define SLOTS_ 256
#define UNROLL_
#endif

/* Scans the parts of a group's work items: what those before this one come to, and what all come to. Nobody may write
   the slots until all have returned. */
DEVICE_FN Part_ scan_group_(Part_ own_, LOCAL_MEM_ARG Part_ *slots_, Part_ *all_)
{
    Part_ total_ = part_(((0)), 0);
#ifdef HAS_SHUFFLE
    const u32 lane_ = LID_0 % WARP_SIZE, warp_ = LID_0 / WARP_SIZE;
    UNROLL_
    for (u32 apart_ = 1; apart_ < WARP_SIZE; apart_ *= 2) {
        const Part_ other_ = part_before_(own_, apart_);
        if (lane_ >= apart_) own_ = joined_(other_, own_);
    }
    if (lane_ == WARP_SIZE - 1) slots_[warp_] = own_;
    local_barrier();
    Part_ before_ = total_;
    UNROLL_
    for (u32 k_ = 0; k_ < SLOTS_; k_++) {
        if (k_ == warp_) before_ = total_;
        total_ = joined_(total_, slots_[k_]);
    }
    *all_ = total_;
    const Part_ last_ = part_before_(own_, 1);
    return lane_ == 0 ? before_ : joined_(before_, last_);
#else
    slots_[LID_0] = own_;
    local_barrier();
    for (u32 apart_ = 1; apart_ < 256; apart_ *= 2) {
        Part_ sum_ = slots_[LID_0];
        if (LID_0 >= apart_) sum_ = joined_(slots_[LID_0 - apart_], sum_);
        local_barrier();
        slots_[LID_0] = sum_;
        local_barrier();
    }
    *all_ = slots_[256 - 1];
    if (LID_0 > 0) total_ = slots_[LID_0 - 1];
    return total_;
#endif
}

/* Work items that read elements 32 apart meet no bank twice. */
#define SKEWED_(k_) ((k_) + (k_) / 32)
#define SKEWED_TILE_ (8192 + 256)
#define OWN_(k_) (LID_0 * (32 + 1) + (k_))

/* Reads a tile: INPUT_ of each index, so that a work item finds 32 neighbours; behind the end, the neutral
   element. */
#define STAGE_                                                                                              \
    {                                                                                                       \
        work_x read_[32];                                                                                \
        if (count_ == 8192) {                                                                              \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < 32; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * 256));           \
        } else {                                                                                            \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < 32; k_++) {                                                            \
                read_[k_] = ((0));                                                                       \
                if (LID_0 + k_ * 256 < count_) read_[k_] = INPUT_((from_ + LID_0 + k_ * 256));        \
            }                                                                                               \
        }                                                                                                   \
        UNROLL_                                                                                             \
        for (u32 k_ = 0; k_ < 32; k_++) staged_[SKEWED_(LID_0 + k_ * 256)] = read_[k_];               \
    }                                                                                                       \
    for (u32 k_ = LID_0; 1 && k_ < 8192; k_ += 256) NOTE_START_(SKEWED_(k_), k_, (from_ + k_)); \
    local_barrier();

/* Joins the elements of a work item, which it finds in the memory of the group, to a part. */
#define JOIN_OWN_(own_)                                      \
    UNROLL_                                                  \
    for (u32 k_ = 0; k_ < 32; k_++) {                     \
        const Part_ next_ = part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))); \
        own_ = joined_(own_, next_);                         \
    }

/* One pass: a group takes the next tile and says what it comes to. 256 tiles are a block; the group of a block's
   last tile says what all up to its end come to. So a group finds what is before its tile from the end of the last
   block and the tiles since. What is joined, and in which order, does not depend on time.

   A value is passed on in words of 32 bits, each beside a state: 2 run_, + 1 if a segment starts. Runs are counted by
   the tiles that were ever taken, so that nothing has to be cleared between them. */
#define WORDS_ ((u32)(sizeof(work_x) + 3) / 4)
typedef union { work_x value_; u32 words_[WORDS_]; } Words_;

DEVICE_FN void publish_(GLOBAL_MEM u64 *words_, u64 at_, Part_ part_, u32 run_)
{
    Words_ value_;
    value_.value_ = part_.value_;
    for (u32 k_ = 0; k_ < WORDS_; k_++)
        ((volatile GLOBAL_MEM u64 *)words_)[at_ * WORDS_ + k_] = (u64)value_.words_[k_] << 32 | (2 * run_ + STARTED_(part_));
}

DEVICE_FN Part_ awaited_(GLOBAL_MEM u64 *words_, u64 at_, u32 run_)
{
    Words_ value_;
    u64 word_;
    for (u32 k_ = 0; k_ < WORDS_; k_++) {
        do word_ = ((volatile GLOBAL_MEM u64 *)words_)[at_ * WORDS_ + k_]; while ((u32)word_ / 2 != run_);
        value_.words_[k_] = (u32)(word_ >> 32);
    }
    return part_(value_.value_, (u32)word_ % 2);
}

KERNEL LAUNCH_BOUNDS(256, 5) void running_scan(__global const f32 *x, const ulong byte_x, __global const u8 *starts, const ulong byte_starts, __global f32 *y, const ulong byte_y, const u64 n, const u64 tiles_, GLOBAL_MEM u64 *taken_, const ulong byte_taken_,
    GLOBAL_MEM u64 *tile_words_, const ulong byte_tile_words_, GLOBAL_MEM u64 *block_words_, const ulong byte_block_words_)
{ x = (__global const f32 *)((__global const char*)x + byte_x); starts = (__global const u8 *)((__global const char*)starts + byte_starts); y = (__global f32 *)((__global char*)y + byte_y); taken_ = (GLOBAL_MEM u64 *)((__global char*)taken_ + byte_taken_); tile_words_ = (GLOBAL_MEM u64 *)((__global char*)tile_words_ + byte_tile_words_); block_words_ = (GLOBAL_MEM u64 *)((__global char*)block_words_ + byte_block_words_);
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_], before_slots_[SLOTS_];
#if 1
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    LOCAL_MEM u64 ticket_;
    if (LID_0 == 0) ticket_ = atomic_add_u64(taken_, 1);
    local_barrier();
    const u64 tile_ = ticket_ % tiles_, from_ = tile_ * 8192, end_ = n;
    const u32 run_ = (u32)(ticket_ / tiles_ % 0x7fffffffu) + 1;
    {
        const u32 count_ = (u32)min((u64)8192, end_ - from_);
        STAGE_
        Part_ own_ = part_(((0)), 0), all_;
        JOIN_OWN_(own_)
        own_ = scan_group_(own_, slots_, &all_);
        if (LID_0 == 0) publish_(tile_words_, tile_, all_, run_);
        const u64 block_ = tile_ / 256;
        const u32 at_ = (u32)(tile_ % 256);
        Part_ known_ = part_(((0)), 0), before_;
        if (LID_0 == 0 ? block_ > 0 : LID_0 <= at_)
            known_ = awaited_(LID_0 == 0 ? block_words_ : tile_words_, LID_0 == 0 ? block_ : tile_ - at_ + LID_0 - 1, run_);
        scan_group_(known_, before_slots_, &before_);
        if (LID_0 == 0 && at_ == 256 - 1) publish_(block_words_, block_ + 1, joined_(before_, all_), run_);

        own_ = joined_(before_, own_);
        UNROLL_
        for (u32 k_ = 0; k_ < 32; k_++) {
            own_ = joined_(own_, part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))));
            staged_[OWN_(k_)] = own_.value_;
        }
        local_barrier();
        UNROLL_
        for (u32 step_ = 0; step_ < 32; step_++) {
            const u32 k_ = LID_0 + step_ * 256;
            if (k_ < count_) {
                const u64 i = from_ + k_;
                const work_x item = staged_[SKEWED_(k_)];
#if 1
                work_x prev_item = k_ == 0 ? before_.value_ : staged_[SKEWED_(k_ - 1)];
                if (STARTS_(SKEWED_(k_))) prev_item = ((0));
#endif
                y[i] = prev_item + item;
            }
        }
    }
}

