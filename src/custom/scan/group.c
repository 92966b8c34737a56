/* Scans within a group. The names in dollars are replaced (scan.rs). An item is a value with a flag, whether a
   segment starts in its part: joined to the items before it, a part in which a segment starts keeps its own
   value. */
#define INPUT_(i) ($input)
#if $segmented
#define NOTE_START_(at_, i) starts_[at_] = ($starts) != 0
#define STARTS_(at_) starts_[at_]
#else
#define NOTE_START_(at_, i)
#define STARTS_(at_) 0
#endif
#define SCAN_(a, b) ($scan)

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
    work_x prefix_ = $neutral;
    u32 prefix_flag_ = 0;
    for (u32 k_ = 0; k_ < LID_0 / WARP_SIZE; k_++) {
        const work_x w_ = values_[k_];
        prefix_ = flags_[k_] ? w_ : SCAN_((prefix_), (w_));
        prefix_flag_ |= flags_[k_];
    }
    const work_x last_ = shuffle_up(value_, 1);
    const u32 last_flag_ = shuffle_up(flag_, 1);
    local_barrier();
    if (LID_0 == $group - 1) {
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
    for (u32 apart_ = 1; apart_ < $group; apart_ *= 2) {
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
    return LID_0 == 0 ? (work_x)($neutral) : values_[LID_0 - 1];
#endif
}

/* The value and the flag of a work item's own part of a tile, which it finds in the memory of the group. */
#define FOLD_OWN_(value_, flag_)                                                               \
    for (u32 k_ = LID_0 * $each; k_ < LID_0 * $each + $each && k_ < count_; k_++) {            \
        const u32 at_ = SKEWED_(k_);                                                           \
        const work_x own_ = staged_[at_];                                                      \
        if (STARTS_(at_)) { value_ = own_; flag_ = 1; } else value_ = SCAN_((value_), (own_)); \
    }

/* Reads a tile: INPUT_ of each index, so that a work item finds $each neighbours. */
#define STAGE_                                                                                               \
    if (count_ == $tile) {                                                                                   \
        work_x read_[$each];                                                                                 \
        UNROLL_                                                                                              \
        for (u32 k_ = 0; k_ < $each; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * $group));                \
        UNROLL_                                                                                              \
        for (u32 k_ = 0; k_ < $each; k_++) staged_[SKEWED_(LID_0 + k_ * $group)] = read_[k_];                \
    } else {                                                                                                 \
        for (u32 k_ = LID_0; k_ < count_; k_ += $group) staged_[SKEWED_(k_)] = INPUT_((from_ + k_));         \
    }                                                                                                        \
    for (u32 k_ = LID_0; $segmented && k_ < count_; k_ += $group) { NOTE_START_(SKEWED_(k_), (from_ + k_)); }

/* Work items that read elements $each apart meet no bank twice. */
#define SKEWED_(k) ((k) + (k) / $each)
#define SKEWED_TILE_ ($tile + $tile / $each)
#ifdef HAS_SHUFFLE
#define UNROLL_ _Pragma("unroll")
#else
#define UNROLL_
#endif
