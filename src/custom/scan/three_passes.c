
/* Each group reduces a part, a group scans their totals, each group scans its part from there on. */
KERNEL void $name_reduce($params, const u64 n, const u64 part_, GLOBAL_MEM work_x *totals_, GLOBAL_MEM u32 *started_parts_)
{
    LOCAL_MEM work_x values_[$group], staged_[SKEWED_TILE_];
    LOCAL_MEM u32 flags_[$group];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    work_x total_ = $neutral;
    u32 any_ = 0;
    const u64 first_ = GID_0 * part_, end_ = min(first_ + part_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        local_barrier();
        work_x value_ = $neutral;
        u32 flag_ = 0;
        FOLD_OWN_(value_, flag_)
        u32 started_;
        scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[$group - 1];
        if (flags_[$group - 1]) { total_ = all_; any_ = 1; } else total_ = SCAN_((total_), (all_));
        local_barrier();
    }
    if (LID_0 == 0) { totals_[GID_0] = total_; started_parts_[GID_0] = any_; }
}

KERNEL void $name_totals(GLOBAL_MEM work_x *totals_, GLOBAL_MEM const u32 *started_parts_, const u32 count_)
{
    LOCAL_MEM work_x values_[$group];
    LOCAL_MEM u32 flags_[$group];
    work_x total_ = $neutral;
    for (u32 from_ = 0; from_ < count_; from_ += $group) {
        const u32 at_ = from_ + LID_0;
        const work_x value_ = at_ < count_ ? totals_[at_] : (work_x)($neutral);
        u32 started_;
        work_x before_ = scan_group_(value_, at_ < count_ ? started_parts_[at_] : 0, values_, flags_, &started_);
        if (!started_) before_ = SCAN_((total_), (before_));
        if (at_ < count_) totals_[at_] = before_;
        const work_x all_ = values_[$group - 1];
        total_ = flags_[$group - 1] ? all_ : SCAN_((total_), (all_));
        local_barrier();
    }
}

KERNEL void $name_scan($params, const u64 n, const u64 part_, GLOBAL_MEM const work_x *totals_)
{
    LOCAL_MEM work_x values_[$group], staged_[SKEWED_TILE_];
#if $prior
    LOCAL_MEM work_x prior_[SKEWED_TILE_];
#endif
    LOCAL_MEM u32 flags_[$group];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    work_x total_ = totals_[GID_0];
    const u64 first_ = GID_0 * part_, end_ = min(first_ + part_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
$scan_tile    }
}
