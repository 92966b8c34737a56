                if ($inside) {
                    const u32 slot = ATOMIC_ADD(&found[3], 1u);
                    if (slot < $capacity) {
                        keys[slot] = k;
                        positions[slot] = $position;
                    }
                }
