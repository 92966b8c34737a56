/* The later of two points, here and in memory. Most points of a row come before one that is there already. */
DEVICE_FN u32 later(u32 a, u32 b) { return a > b ? a : b; }

DEVICE_FN void later_into_memory(GLOBAL_MEM u32 *at, u32 x)
{
    if (x > *(volatile GLOBAL_MEM u32*)at) ATOMIC_MAX(at, x);
}
