/* Adds to a 64-bit integer. Such additions are native to CUDA's memory; elsewhere they are two of 32 bits,
   the lower one with a carry. */
DEVICE_FN void $add_wide($space u64 *at, u64 x)
{
#if $native
    ATOMIC_ADD(at, x);
#else
    $space u32 *word = ($space u32*)at;
    const u32 low = (u32)x;
    u32 high = (u32)(x >> 32);
    if (low != 0) high += ATOMIC_ADD(word, low) > 0xffffffffu - low ? 1u : 0u;
    if (high != 0) ATOMIC_ADD(word + 1, high);
#endif
}
