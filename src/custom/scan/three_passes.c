/* Each group reduces a part, a group scans their totals, each group scans its part from there on. */
KERNEL void $name_reduce($params, const u64 n, const u64 part_size_, GLOBAL_MEM work_x *totals_, GLOBAL_MEM u32 *started_parts_)
{
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    Part_ total_ = part_($neutral, 0);
    const u64 first_ = GID_0 * part_size_, end_ = min(first_ + part_size_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        Part_ own_ = part_($neutral, 0), all_;
        JOIN_OWN_(own_)
        scan_group_(own_, slots_, &all_);
        total_ = joined_(total_, all_);
        local_barrier();
    }
    if (LID_0 == 0) { totals_[GID_0] = total_.value_; started_parts_[GID_0] = STARTED_(total_); }
}

KERNEL void $name_totals(GLOBAL_MEM work_x *totals_, GLOBAL_MEM const u32 *started_parts_, const u32 count_)
{
    LOCAL_MEM Part_ slots_[SLOTS_];
    Part_ total_ = part_($neutral, 0);
    for (u32 from_ = 0; from_ < count_; from_ += $group) {
        const u32 at_ = from_ + LID_0;
        Part_ own_ = part_($neutral, 0), all_;
        if (at_ < count_) own_ = part_(totals_[at_], started_parts_[at_]);
        const Part_ before_ = joined_(total_, scan_group_(own_, slots_, &all_));
        if (at_ < count_) totals_[at_] = before_.value_;
        total_ = joined_(total_, all_);
        local_barrier();
    }
}

KERNEL void $name_scan($params, const u64 n, const u64 part_size_, GLOBAL_MEM const work_x *totals_)
{
    LOCAL_MEM work_x staged_[SKEWED_TILE_];
    LOCAL_MEM Part_ slots_[SLOTS_];
#if $segmented
    LOCAL_MEM u8 starts_[SKEWED_TILE_];
#endif
    Part_ total_ = part_(totals_[GID_0], 0);
    const u64 first_ = GID_0 * part_size_, end_ = min(first_ + part_size_, n);
    for (u64 from_ = first_; from_ < end_; from_ += $tile) {
        const Part_ before_ = total_;
$scan_tile        total_ = joined_(total_, all_);
        local_barrier();
    }
}
