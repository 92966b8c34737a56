                u32 d;
                if (by_place) {
                    const u32 p = $position;
                    if (k != prefix || (!whole && (p >> left) != place)) continue;
                    d = p >> shift;
                } else {
                    if (!whole && (k >> left) != prefix) continue;
                    d = (u32)(k >> shift);
                }
                d &= (1u << width) - 1;
                if (d != digit) {
                    if (run > 0) ATOMIC_ADD(&bins[digit], run);
                    digit = d;
                    run = 0;
                }
                run++;
