if (LID_0 == 0) publish_(tile_words_, tile_, all_, run_);
        const u64 block_ = tile_ / $group;
        const u32 at_ = (u32)(tile_ % $group);
        Part_ known_ = part_($neutral, 0), before_;
        if (LID_0 == 0 ? block_ > 0 : LID_0 <= at_)
            known_ = awaited_(LID_0 == 0 ? block_words_ : tile_words_, LID_0 == 0 ? block_ : tile_ - at_ + LID_0 - 1, run_);
        scan_group_(known_, before_slots_, &before_);
        if (LID_0 == 0 && at_ == $group - 1) publish_(block_words_, block_ + 1, joined_(before_, all_), run_);
