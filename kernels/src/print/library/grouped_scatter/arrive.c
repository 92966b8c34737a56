/* Each point finds its slot and its number there. */
KERNEL void $name($parameters)
{
    LOCAL_MEM u32 own_further, first;
    const u32 item = LID_0, id = (u32)GID_0 * $group + item;
    if (item == 0) own_further = 0;
    local_barrier();
    u32 slot = 0, number = 0, own = 0;
    if (id < points) {
        const u32 key = ROW(positions[id]);
#if $hashes
        /* Fibonacci hashing: neighbouring positions are far apart. */
        slot = (key * 2654435769u) >> (32 - bits);
        for (;;) {
            const u32 there = ATOMIC_EXCHANGE_IF(&keys[slot], 0xffffffffu, key);
            if (there == 0xffffffffu || there == key) break;
            slot = (slot + 1) & (slots - 1);
        }
#else
        slot = key;
#endif
        number = ATOMIC_ADD(&counts[slot], 1u);
        slots_of[id] = number == 0 ? slot | 0x80000000u : slot;
        if (number < $members) members[slot * $members + number] = id;
        else own = ATOMIC_ADD(&own_further, 1u);
        if (number == $members) large_slots[ATOMIC_ADD(&counts[slots], 1u)] = slot;
    }
    local_barrier();
    if (item == 0 && own_further > 0) first = ATOMIC_ADD(&counts[slots + 1], own_further);
    local_barrier();
    if (id < points && number >= $members) {
        further[2 * (first + own)] = slot;
        further[2 * (first + own) + 1] = id;
    }
}
