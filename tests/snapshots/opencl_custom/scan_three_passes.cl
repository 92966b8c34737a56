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

/* Work items that read elements 8 apart meet no bank twice. */
#define SKEWED_(k_) ((k_) + (k_) / 8)
#define SKEWED_TILE_ (2048 + 256)
#define OWN_(k_) (LID_0 * (8 + 1) + (k_))

/* Reads a tile: INPUT_ of each index, so that a work item finds 8 neighbours; behind the end, the neutral
   element. */
#define STAGE_                                                                                              \
    {                                                                                                       \
        work_x read_[8];                                                                                \
        if (count_ == 2048) {                                                                              \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < 8; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * 256));           \
        } else {                                                                                            \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < 8; k_++) {                                                            \
                read_[k_] = ((0));                                                                       \
                if (LID_0 + k_ * 256 < count_) read_[k_] = INPUT_((from_ + LID_0 + k_ * 256));        \
            }                                                                                               \
        }                                                                                                   \
        UNROLL_                                                                                             \
        for (u32 k_ = 0; k_ < 8; k_++) staged_[SKEWED_(LID_0 + k_ * 256)] = read_[k_];               \
    }                                                                                                       \
    for (u32 k_ = LID_0; 1 && k_ < 2048; k_ += 256) NOTE_START_(SKEWED_(k_), k_, (from_ + k_)); \
    local_barrier();

/* Joins the elements of a work item, which it finds in the memory of the group, to a part. */
#define JOIN_OWN_(own_)                                      \
    UNROLL_                                                  \
    for (u32 k_ = 0; k_ < 8; k_++) {                     \
        const Part_ next_ = part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))); \
        own_ = joined_(own_, next_);                         \
    }

/* Each group reduces a part, a group scans their totals, each group scans its part from there on. */
KERNEL void running_reduce(__global const f32 *x, const ulong byte_x, __global const u8 *starts, const ulong byte_starts, __global f32 *y, const ulong byte_y, const u64 n, const u64 part_size_, GLOBAL_MEM work_x *totals_, const ulong byte_totals_, GLOBAL_MEM u32 *started_parts_, const ulong byte_started_parts_)
{ x = (__global const f32 *)((__global const char*)x + byte_x); starts = (__global const u8 *)((__global const char*)starts + byte_starts); y = (__global f32 *)((__global char*)y + byte_y); totals_ = (GLOBAL_MEM work_x *)((__global char*)totals_ + byte_totals_); started_parts_ = (GLOBAL_MEM u32 *)((__global char*)started_parts_ + byte_started_parts_);
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_];
#if 1
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    Part_ total_ = part_(((0)), 0);
    const u64 first_ = GID_0 * part_size_, end_ = min(first_ + part_size_, n);
    for (u64 from_ = first_; from_ < end_; from_ += 2048) {
        const u32 count_ = (u32)min((u64)2048, end_ - from_);
        STAGE_
        Part_ own_ = part_(((0)), 0), all_;
        JOIN_OWN_(own_)
        scan_group_(own_, slots_, &all_);
        total_ = joined_(total_, all_);
        local_barrier();
    }
    if (LID_0 == 0) { totals_[GID_0] = total_.value_; started_parts_[GID_0] = STARTED_(total_); }
}

KERNEL void running_totals(GLOBAL_MEM work_x *totals_, const ulong byte_totals_, GLOBAL_MEM const u32 *started_parts_, const ulong byte_started_parts_, const u32 count_)
{ totals_ = (GLOBAL_MEM work_x *)((__global char*)totals_ + byte_totals_); started_parts_ = (GLOBAL_MEM const u32 *)((__global const char*)started_parts_ + byte_started_parts_);
    LOCAL_MEM Part_ slots_[SLOTS_];
    Part_ total_ = part_(((0)), 0);
    for (u32 from_ = 0; from_ < count_; from_ += 256) {
        const u32 at_ = from_ + LID_0;
        Part_ own_ = part_(((0)), 0), all_;
        if (at_ < count_) own_ = part_(totals_[at_], started_parts_[at_]);
        const Part_ before_ = joined_(total_, scan_group_(own_, slots_, &all_));
        if (at_ < count_) totals_[at_] = before_.value_;
        total_ = joined_(total_, all_);
        local_barrier();
    }
}

KERNEL void running_scan(__global const f32 *x, const ulong byte_x, __global const u8 *starts, const ulong byte_starts, __global f32 *y, const ulong byte_y, const u64 n, const u64 part_size_, GLOBAL_MEM const work_x *totals_, const ulong byte_totals_)
{ x = (__global const f32 *)((__global const char*)x + byte_x); starts = (__global const u8 *)((__global const char*)starts + byte_starts); y = (__global f32 *)((__global char*)y + byte_y); totals_ = (GLOBAL_MEM const work_x *)((__global const char*)totals_ + byte_totals_);
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_];
#if 1
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    Part_ total_ = part_(totals_[GID_0], 0);
    const u64 first_ = GID_0 * part_size_, end_ = min(first_ + part_size_, n);
    for (u64 from_ = first_; from_ < end_; from_ += 2048) {
        const Part_ before_ = total_;
        const u32 count_ = (u32)min((u64)2048, end_ - from_);
        STAGE_
        Part_ own_ = part_(((0)), 0), all_;
        JOIN_OWN_(own_)
        own_ = scan_group_(own_, slots_, &all_);
        
        own_ = joined_(before_, own_);
        UNROLL_
        for (u32 k_ = 0; k_ < 8; k_++) {
            own_ = joined_(own_, part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))));
            staged_[OWN_(k_)] = own_.value_;
        }
        local_barrier();
        UNROLL_
        for (u32 step_ = 0; step_ < 8; step_++) {
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
        total_ = joined_(total_, all_);
        local_barrier();
    }
}

