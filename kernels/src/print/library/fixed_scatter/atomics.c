/* Folds into an element of memory, or of a group's table. */
DEVICE_FN void $first($space u32 *at, u32 x) { ATOMIC_MIN(at, x); }

DEVICE_FN void $most($space u32 *at, u32 x)
{
    if (x > *(volatile $space u32*)at) ATOMIC_MAX(at, x);
}
