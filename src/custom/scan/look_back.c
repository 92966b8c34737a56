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
