        const u32 count_ = (u32)min((u64)$tile, end_ - from_);
        STAGE_
        local_barrier();
        work_x value_ = $neutral;
        u32 flag_ = 0;
        FOLD_OWN_(value_, flag_)
        u32 started_;
        work_x running_ = scan_group_(value_, flag_, values_, flags_, &started_);
        const work_x all_ = values_[$group - 1];
        const u32 all_flag_ = flags_[$group - 1];
        $look_back
        if (!started_) running_ = SCAN_((total_), (running_));
        for (u32 k_ = LID_0 * $each; k_ < LID_0 * $each + $each && k_ < count_; k_++) {
            const u32 at_ = SKEWED_(k_);
            const work_x own_ = staged_[at_];
            if (STARTS_(at_)) running_ = $neutral;
#if $prior
            prior_[at_] = running_;
#endif
            running_ = STARTS_(at_) ? own_ : SCAN_((running_), (own_));
            staged_[at_] = running_;
        }
        total_ = all_flag_ ? all_ : SCAN_((total_), (all_));
        local_barrier();
        for (u32 k_ = LID_0; k_ < count_; k_ += $group) {
            const u64 i = from_ + k_;
            const work_x item = staged_[SKEWED_(k_)];
#if $prior
            const work_x prev_item = prior_[SKEWED_(k_)];
#endif
            $output;
        }
        local_barrier();
