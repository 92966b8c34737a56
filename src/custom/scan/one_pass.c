/* One pass: a group takes the next tile and says what it comes to. $group tiles are a block; the group of a block's
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

KERNEL LAUNCH_BOUNDS($group, 5) void $name_scan($params, const u64 n, const u64 tiles_, GLOBAL_MEM u64 *taken_,
    GLOBAL_MEM u64 *tile_words_, GLOBAL_MEM u64 *block_words_)
{
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_], before_slots_[SLOTS_];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    LOCAL_MEM u64 ticket_;
    if (LID_0 == 0) ticket_ = atomic_add_u64(taken_, 1);
    local_barrier();
    const u64 tile_ = ticket_ % tiles_, from_ = tile_ * $tile, end_ = n;
    const u32 run_ = (u32)(ticket_ / tiles_ % 0x7fffffffu) + 1;
    {
$scan_tile    }
}
