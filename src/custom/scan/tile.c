        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        Part_ own_ = part_($neutral, 0), all_;
        JOIN_OWN_(own_)
        own_ = scan_group_(own_, slots_, &all_);
        $look_back
        own_ = joined_(before_, own_);
        UNROLL_
        for (u32 k_ = 0; k_ < $each; k_++) {
            own_ = joined_(own_, part_(staged_[OWN_(k_)], STARTS_(OWN_(k_))));
            staged_[OWN_(k_)] = own_.value_;
        }
        local_barrier();
        UNROLL_
        for (u32 step_ = 0; step_ < $each; step_++) {
            const u32 k_ = LID_0 + step_ * $group;
            if (k_ < count_) {
                const u64 i = from_ + k_;
                const work_x item = staged_[SKEWED_(k_)];
#if $prior
                work_x prev_item = k_ == 0 ? before_.value_ : staged_[SKEWED_(k_ - 1)];
                if (STARTS_(SKEWED_(k_))) prev_item = $neutral;
#endif
                $output;
            }
        }
