KERNEL void $name($params, const u64 n)
{
    const u64 step_ = (u64)GDIM_0 * LDIM_0;
    for (u64 i = (u64)GID_0 * LDIM_0 + LID_0; i < n; i += step_) {
        $operation;
    }
}

KERNEL void $name_apart($apart, const u64 n)
{
    const u64 first_ = (u64)GID_0 * LDIM_0 * $each + LID_0;
    if (first_ + ($each - 1) * (u64)LDIM_0 < n) {
        #pragma unroll
        for (u32 k_ = 0; k_ < $each; k_++) {
            const u64 i = first_ + k_ * (u64)LDIM_0;
            $operation;
        }
    } else {
        for (u64 i = first_; i < n; i += LDIM_0) {
            $operation;
        }
    }
}
