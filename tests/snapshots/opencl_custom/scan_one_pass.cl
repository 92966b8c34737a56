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
#define DEVICE_FN static inline
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
#define global_fence() mem_fence(CLK_GLOBAL_MEM_FENCE)
#define atomic_add_u64(pointer, value) add_to_u64((pointer), (value))
#define f16 half
#define bf16 u16
#define type_x f32
#define work_x f32
#define load_x(pointer, index) ((pointer)[(index)])
#define store_x(pointer, index, value) (pointer)[(index)] = (value)
#line 1 "kernels"
/* Scans within a group. The names in dollars are replaced (scan.rs). An item is a value with a flag, whether a
   segment starts in its part: joined to the items before it, a part in which a segment starts keeps its own
   value. */
#define INPUT_(i) (x[i])
#if 1
#define NOTE_START_(at_, i) starts_[at_] = (starts[i]) != 0
#define STARTS_(at_) starts_[at_]
#else
#define NOTE_START_(at_, i)
#define STARTS_(at_) 0
#endif
#define SCAN_(a, b) (a + b)

/* Scans the values of a group's work items: returns the result before this item's, and whether a segment
   starts before it; the arrays hold the results. */
DEVICE_FN work_x scan_group_(work_x value_, u32 flag_, LOCAL_MEM_ARG work_x *values_, LOCAL_MEM_ARG u32 *flags_, u32 *started_)
{
#ifdef HAS_SHUFFLE
    const u32 lane_ = LID_0 % WARP_SIZE;
    for (u32 apart_ = 1; apart_ < WARP_SIZE; apart_ *= 2) {
        const work_x w_ = shuffle_up(value_, apart_);
        const u32 f_ = shuffle_up(flag_, apart_);
        if (lane_ >= apart_) {
            if (!flag_) value_ = SCAN_((w_), (value_));
            flag_ |= f_;
        }
    }
    if (lane_ == WARP_SIZE - 1) {
        values_[LID_0 / WARP_SIZE] = value_;
        flags_[LID_0 / WARP_SIZE] = flag_;
    }
    local_barrier();
    work_x prefix_ = ((0));
    u32 prefix_flag_ = 0;
    for (u32 k_ = 0; k_ < LID_0 / WARP_SIZE; k_++) {
        const work_x w_ = values_[k_];
        prefix_ = flags_[k_] ? w_ : SCAN_((prefix_), (w_));
        prefix_flag_ |= flags_[k_];
    }
    const work_x last_ = shuffle_up(value_, 1);
    const u32 last_flag_ = shuffle_up(flag_, 1);
    local_barrier();
    if (LID_0 == 256 - 1) {
        values_[LID_0] = flag_ ? value_ : SCAN_((prefix_), (value_));
        flags_[LID_0] = prefix_flag_ | flag_;
    }
    local_barrier();
    *started_ = prefix_flag_ | (lane_ == 0 ? 0 : last_flag_);
    if (lane_ == 0) return prefix_;
    return last_flag_ ? last_ : SCAN_((prefix_), (last_));
#else
    values_[LID_0] = value_;
    flags_[LID_0] = flag_;
    local_barrier();
    for (u32 apart_ = 1; apart_ < 256; apart_ *= 2) {
        work_x v_ = values_[LID_0];
        u32 f_ = flags_[LID_0];
        if (LID_0 >= apart_) {
            const work_x w_ = values_[LID_0 - apart_];
            if (!f_) v_ = SCAN_((w_), (v_));
            f_ |= flags_[LID_0 - apart_];
        }
        local_barrier();
        values_[LID_0] = v_;
        flags_[LID_0] = f_;
        local_barrier();
    }
    *started_ = LID_0 == 0 ? 0 : flags_[LID_0 - 1];
    return LID_0 == 0 ? (work_x)(((0))) : values_[LID_0 - 1];
#endif
}

/* The value and the flag of a work item's own part of a tile, which it finds in the memory of the group. */
#define FOLD_OWN_(value_, flag_)                                                               \
    for (u32 k_ = LID_0 * 16; k_ < LID_0 * 16 + 16 && k_ < count_; k_++) {            \
        const u32 at_ = SKEWED_(k_);                                                           \
        const work_x own_ = staged_[at_];                                                      \
        if (STARTS_(at_)) { value_ = own_; flag_ = 1; } else value_ = SCAN_((value_), (own_)); \
    }

/* Reads a tile: INPUT_ of each index, so that a work item finds 16 neighbours. */
#define STAGE_                                                                                               \
    if (count_ == 4096) {                                                                                   \
        work_x read_[16];                                                                                 \
        UNROLL_                                                                                              \
        for (u32 k_ = 0; k_ < 16; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * 256));                \
        UNROLL_                                                                                              \
        for (u32 k_ = 0; k_ < 16; k_++) staged_[SKEWED_(LID_0 + k_ * 256)] = read_[k_];                \
    } else {                                                                                                 \
        for (u32 k_ = LID_0; k_ < count_; k_ += 256) staged_[SKEWED_(k_)] = INPUT_((from_ + k_));         \
    }                                                                                                        \
    for (u32 k_ = LID_0; 1 && k_ < count_; k_ += 256) { NOTE_START_(SKEWED_(k_), (from_ + k_)); }

/* Work items that read elements 16 apart meet no bank twice. */
#define SKEWED_(k) ((k) + (k) / 16)
#define SKEWED_TILE_ (4096 + 4096 / 16)
#ifdef HAS_SHUFFLE
#define UNROLL_ _Pragma("unroll")
#else
#define UNROLL_
#endif

/* One pass: a group takes the next tile, says what it comes to, and looks back at what those before it come
   to. Tiles make blocks, whose last one says what the block comes to, so that a group looks at the tiles of its
   own block and at the blocks before. What is folded, and in which order, does not depend on time.

   A result is known once its state is 2 run_ + flag, stored after it. Runs are counted by the tiles that were
   ever taken, so that nothing has to be cleared between them. */
DEVICE_FN void publish_(GLOBAL_MEM work_x *results_, GLOBAL_MEM u32 *states_, u64 at_, work_x value_, u32 state_)
{
    ((volatile GLOBAL_MEM work_x *)results_)[at_] = value_;
    global_fence();
    ((volatile GLOBAL_MEM u32 *)states_)[at_] = state_;
}

DEVICE_FN work_x awaited_(GLOBAL_MEM work_x *results_, GLOBAL_MEM u32 *states_, u64 at_, u32 run_, u32 *flag_)
{
    u32 state_;
    do state_ = ((volatile GLOBAL_MEM u32 *)states_)[at_]; while (state_ / 2 != run_);
    global_fence();
    *flag_ = state_ % 2;
    return ((volatile GLOBAL_MEM work_x *)results_)[at_];
}

/* The results from_ to end_, folded in order by all work items of the group. */
DEVICE_FN work_x folded_(GLOBAL_MEM work_x *results_, GLOBAL_MEM u32 *states_, u64 from_, u64 end_, u32 run_,
    LOCAL_MEM_ARG work_x *values_, LOCAL_MEM_ARG u32 *flags_, u32 *any_)
{
    work_x total_ = ((0));
    *any_ = 0;
    for (; from_ < end_; from_ += 256) {
        work_x value_ = ((0));
        u32 flag_ = 0, started_;
        if (from_ + LID_0 < end_) value_ = awaited_(results_, states_, from_ + LID_0, run_, &flag_);
        scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[256 - 1];
        if (flags_[256 - 1]) { total_ = all_; *any_ = 1; } else total_ = SCAN_((total_), (all_));
        local_barrier();
    }
    return total_;
}

KERNEL void running_scan(__global const f32 *x, const ulong byte_x, __global const u8 *starts, const ulong byte_starts, __global f32 *y, const ulong byte_y, const u64 n, const u64 tiles_, const u64 block_, GLOBAL_MEM u64 *taken_, const ulong byte_taken_,
    GLOBAL_MEM work_x *tile_results_, const ulong byte_tile_results_, GLOBAL_MEM u32 *tile_states_, const ulong byte_tile_states_,
    GLOBAL_MEM work_x *block_results_, const ulong byte_block_results_, GLOBAL_MEM u32 *block_states_, const ulong byte_block_states_)
{ x = (__global const f32 *)((__global const char*)x + byte_x); starts = (__global const u8 *)((__global const char*)starts + byte_starts); y = (__global f32 *)((__global char*)y + byte_y); taken_ = (GLOBAL_MEM u64 *)((__global char*)taken_ + byte_taken_); tile_results_ = (GLOBAL_MEM work_x *)((__global char*)tile_results_ + byte_tile_results_); tile_states_ = (GLOBAL_MEM u32 *)((__global char*)tile_states_ + byte_tile_states_); block_results_ = (GLOBAL_MEM work_x *)((__global char*)block_results_ + byte_block_results_); block_states_ = (GLOBAL_MEM u32 *)((__global char*)block_states_ + byte_block_states_);
    LOCAL_MEM work_x values_[256], staged_[SKEWED_TILE_];
#if 1
    LOCAL_MEM work_x prior_[SKEWED_TILE_];
#endif
    LOCAL_MEM u32 flags_[256];
#if 1
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    LOCAL_MEM u64 ticket_;
    if (LID_0 == 0) ticket_ = atomic_add_u64(taken_, 1);
    local_barrier();
    const u64 tile_ = ticket_ % tiles_, own_block_ = tile_ / block_;
    const u32 run_ = (u32)(ticket_ / tiles_ % 0x40000000u) + 1;
    const u64 from_ = tile_ * 4096, end_ = n;
    work_x total_;
    {
        const u32 count_ = (u32)min((u64)4096, end_ - from_);
        STAGE_
        local_barrier();
        work_x value_ = ((0));
        u32 flag_ = 0;
        FOLD_OWN_(value_, flag_)
        u32 started_;
        work_x running_ = scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[256 - 1];
        const u32 all_flag_ = flags_[256 - 1];
        if (LID_0 == 0) publish_(tile_results_, tile_states_, tile_, all_, 2 * run_ + all_flag_);
        local_barrier();
        u32 total_flag_, block_flag_;
        total_ = folded_(tile_results_, tile_states_, own_block_ * block_, tile_, run_, values_, flags_, &total_flag_);
        if (LID_0 == 0 && tile_ % block_ == block_ - 1) {
            const work_x block_total_ = all_flag_ ? all_ : SCAN_((total_), (all_));
            publish_(block_results_, block_states_, own_block_, block_total_, 2 * run_ + (total_flag_ | all_flag_));
        }
        const work_x before_ = folded_(block_results_, block_states_, 0, own_block_, run_, values_, flags_, &block_flag_);
        if (!total_flag_) total_ = SCAN_((before_), (total_));

        if (!started_) running_ = SCAN_((total_), (running_));
        for (u32 k_ = LID_0 * 16; k_ < LID_0 * 16 + 16 && k_ < count_; k_++) {
            const u32 at_ = SKEWED_(k_);
            const work_x own_ = staged_[at_];
            if (STARTS_(at_)) running_ = ((0));
#if 1
            prior_[at_] = running_;
#endif
            running_ = STARTS_(at_) ? own_ : SCAN_((running_), (own_));
            staged_[at_] = running_;
        }
        total_ = all_flag_ ? all_ : SCAN_((total_), (all_));
        local_barrier();
        for (u32 k_ = LID_0; k_ < count_; k_ += 256) {
            const u64 i = from_ + k_;
            const work_x item = staged_[SKEWED_(k_)];
#if 1
            const work_x prev_item = prior_[SKEWED_(k_)];
#endif
            y[i] = prev_item + item;
        }
        local_barrier();
    }
}

