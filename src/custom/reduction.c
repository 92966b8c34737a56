#define MAP_(i) ($map)
#define REDUCE_(a, b) ($reduce)

DEVICE_FN work_out reduced_(work_out value_, LOCAL_MEM_ARG work_out *shared_)
{
    shared_[LID_0] = value_;
    local_barrier();
    for (u32 half_ = $group / 2; half_ > 0; half_ /= 2) {
        if (LID_0 < half_) shared_[LID_0] = REDUCE_((shared_[LID_0]), (shared_[LID_0 + half_]));
        local_barrier();
    }
    return shared_[0];
}

KERNEL void $name_part($params, const u64 n, GLOBAL_MEM work_out *parts_)
{
    LOCAL_MEM work_out shared_[$group];
    const u64 step_ = (u64)GDIM_0 * $group;
    u64 at_ = (u64)GID_0 * $group + LID_0;
    work_out r0_ = $neutral, r1_ = $neutral, r2_ = $neutral, r3_ = $neutral;
    for (; at_ + 3 * step_ < n; at_ += 4 * step_) {
        const work_out v0_ = MAP_((at_)), v1_ = MAP_((at_ + step_));
        const work_out v2_ = MAP_((at_ + 2 * step_)), v3_ = MAP_((at_ + 3 * step_));
        r0_ = REDUCE_((r0_), (v0_));
        r1_ = REDUCE_((r1_), (v1_));
        r2_ = REDUCE_((r2_), (v2_));
        r3_ = REDUCE_((r3_), (v3_));
    }
    for (; at_ < n; at_ += step_) {
        const work_out v_ = MAP_((at_));
        r0_ = REDUCE_((r0_), (v_));
    }
    r0_ = REDUCE_((r0_), (r1_));
    r2_ = REDUCE_((r2_), (r3_));
    r0_ = reduced_(REDUCE_((r0_), (r2_)), shared_);
    if (LID_0 == 0) parts_[GID_0] = r0_;
}

KERNEL void $name_rest(GLOBAL_MEM const work_out *parts_, const u32 count_, GLOBAL_MEM type_out *out_)
{
    LOCAL_MEM work_out shared_[$group];
    work_out r_ = $neutral;
    for (u32 at_ = LID_0; at_ < count_; at_ += $group) r_ = REDUCE_((r_), (parts_[at_]));
    r_ = reduced_(r_, shared_);
    if (LID_0 == 0) store_out(out_, 0, r_);
}
