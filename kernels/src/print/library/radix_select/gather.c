    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
    for (u32 start = item; start < m; start += $ahead * $group) {
        K own[$ahead];
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) {
            const u32 next = start + j * $group, at = next < m ? next : item;
            own[j] = $key;
        }
#pragma unroll
        for (u32 j = 0; j < $ahead; j++) {
            const u32 at = start + j * $group;
            if (at >= m) continue;
            const K k = own[j];
            if ($inside) {
                const u32 slot = ATOMIC_ADD(&found[3], 1u);
                if (slot < $capacity) {
                    keys[slot] = k;
                    positions[slot] = $position;
                }
            }
        }
    }
    local_barrier();
