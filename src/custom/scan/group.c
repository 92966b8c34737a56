/* Scans within a group. The names in dollars are replaced (scan.rs). */
#define INPUT_(i) ($input)
#define SCAN_(a, b) ($scan)

/* A run of elements: what comes of those since the last start of a segment in it, and whether there is one. */
#if $segmented
#define NOTE_START_(at_, k_, i) starts_[at_] = (k_) < count_ && ($starts)
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
#if $segmented
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
#define SLOTS_ ($group / WARP_SIZE)
#define UNROLL_ _Pragma("unroll")

/* The part of the work item that is so many items before this one in its warp. */
DEVICE_FN Part_ part_before_(Part_ part_, u32 apart_)
{
    part_.value_ = shuffle_up(part_.value_, apart_);
#if $segmented
    part_.started_ = shuffle_up(part_.started_, apart_);
#endif
    return part_;
}
#else
#define SLOTS_ $group
#define UNROLL_
#endif

/* Scans the parts of a group's work items: what those before this one come to, and what all come to. Nobody may write
   the slots until all have returned. */
DEVICE_FN Part_ scan_group_(Part_ own_, LOCAL_MEM_ARG Part_ *slots_, Part_ *all_)
{
    Part_ total_ = part_($neutral, 0);
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
    for (u32 apart_ = 1; apart_ < $group; apart_ *= 2) {
        Part_ sum_ = slots_[LID_0];
        if (LID_0 >= apart_) sum_ = joined_(slots_[LID_0 - apart_], sum_);
        local_barrier();
        slots_[LID_0] = sum_;
        local_barrier();
    }
    *all_ = slots_[$group - 1];
    if (LID_0 > 0) total_ = slots_[LID_0 - 1];
    return total_;
#endif
}

/* Work items that read elements $each apart meet no bank twice. */
#define SKEWED_(k_) ((k_) + (k_) / $each)
#define SKEWED_TILE_ ($tile + $group)
#define OWN_(k_) (LID_0 * ($each + 1) + (k_))

/* Reads a tile: INPUT_ of each index, so that a work item finds $each neighbours; behind the end, the neutral
   element. */
#define STAGE_                                                                                              \
    {                                                                                                       \
        work_x read_[$each];                                                                                \
        if (count_ == $tile) {                                                                              \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < $each; k_++) read_[k_] = INPUT_((from_ + LID_0 + k_ * $group));           \
        } else {                                                                                            \
            UNROLL_                                                                                         \
            for (u32 k_ = 0; k_ < $each; k_++) {                                                            \
                read_[k_] = $neutral;                                                                       \
                if (LID_0 + k_ * $group < count_) read_[k_] = INPUT_((from_ + LID_0 + k_ * $group));        \
            }                                                                                               \
        }                                                                                                   \
        UNROLL_                                                                                             \
        for (u32 k_ = 0; k_ < $each; k_++) staged_[SKEWED_(LID_0 + k_ * $group)] = read_[k_];               \
    }                                                                                                       \
    for (u32 k_ = LID_0; $segmented && k_ < $tile; k_ += $group) NOTE_START_(SKEWED_(k_), k_, (from_ + k_)); \
    local_barrier();

/* Joins the elements of a work item, which it finds in the memory of the group, to a part. */
#define JOIN_OWN_(own_)                                      \
    UNROLL_                                                  \
    for (u32 k_ = 0; k_ < $each; k_++) {                     \
        const Part_ next_ = part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))); \
        own_ = joined_(own_, next_);                         \
    }

