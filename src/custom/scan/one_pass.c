
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
    work_x total_ = $neutral;
    *any_ = 0;
    for (; from_ < end_; from_ += $group) {
        work_x value_ = $neutral;
        u32 flag_ = 0, started_;
        if (from_ + LID_0 < end_) value_ = awaited_(results_, states_, from_ + LID_0, run_, &flag_);
        scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[$group - 1];
        if (flags_[$group - 1]) { total_ = all_; *any_ = 1; } else total_ = SCAN_((total_), (all_));
        local_barrier();
    }
    return total_;
}

KERNEL void $name_scan($params, const u64 n, const u64 tiles_, const u64 block_, GLOBAL_MEM u64 *taken_,
    GLOBAL_MEM work_x *tile_results_, GLOBAL_MEM u32 *tile_states_,
    GLOBAL_MEM work_x *block_results_, GLOBAL_MEM u32 *block_states_)
{
    LOCAL_MEM work_x values_[$group], staged_[SKEWED_TILE_];
#if $prior
    LOCAL_MEM work_x prior_[SKEWED_TILE_];
#endif
    LOCAL_MEM u32 flags_[$group];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    LOCAL_MEM u64 ticket_;
    if (LID_0 == 0) ticket_ = atomic_add_u64(taken_, 1);
    local_barrier();
    const u64 tile_ = ticket_ % tiles_, own_block_ = tile_ / block_;
    const u32 run_ = (u32)(ticket_ / tiles_ % 0x40000000u) + 1;
    const u64 from_ = tile_ * $tile, end_ = n;
    work_x total_;
    {
$scan_tile    }
}
