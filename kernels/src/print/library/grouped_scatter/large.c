        /* A group marks the points of a slot in a bitmap of all points. Each of its teams folds those in a
           range of it. */
        const u32 used = (points + 31) / 32, others = counts[slots + 1];
        const u32 across = lanes < $group ? lanes : $group, teams = $group / across, team = item / across;
        for (u32 at = number; at < counts[slots]; at += large) {
            const u32 slot = large_slots[at], key = $key;
            for (u32 w = item; w < used; w += $group) marks[w] = 0;
            local_barrier();
            if (item < $members) mark(marks, members[slot * $members + item]);
            for (u32 i = item; i < others; i += $group * $ahead) {
                u32 of[$ahead], place[$ahead];
#pragma unroll
                for (u32 j = 0; j < $ahead; j++) {
                    const u32 k = i + j * $group;
                    of[j] = k < others ? further[2 * k] : 0xffffffffu;
                    place[j] = k < others ? further[2 * k + 1] : 0;
                }
#pragma unroll
                for (u32 j = 0; j < $ahead; j++) if (of[j] == slot) mark(marks, place[j]);
            }
            local_barrier();
            for (u32 block = 0; block < lanes; block += across) {
                const u32 lane = block + item % across, column = lane * EACH;
                A all[EACH], lost[EACH], old[EACH], xs[$ahead][EACH];
                FOR_EACH { all[v] = NONE; lost[v] = 0; }
                if (team < teams && lane < lanes) {
                    u32 places[$ahead], some = 0;
                    for (u32 w = team * used / teams; w < (team + 1) * used / teams; w++) {
                        u32 left = marks[w];
                        while (left != 0) {
                            places[some++] = w * 32 + lowest(left);
                            left &= left - 1;
                            if (some == $ahead) {
$fold_some
                            }
                        }
                    }
$fold_some
                    FOR_EACH all[v] = WHOLE(all[v], lost[v]);
                }
                FOR_EACH parts[item * EACH + v] = all[v];
                local_barrier();
                if (team == 0 && lane < lanes) {
                    FOR_EACH lost[v] = 0;
                    for (u32 t = 1; t < teams; t++) {
                        const u32 from = (t * across + item) * EACH;
                        FOR_EACH ADD(all[v], lost[v], parts[from + v]);
                    }
                    FOR_EACH all[v] = WHOLE(all[v], lost[v]);
                    READ(old, table, IN_TABLE(key))
                    PUT_BACK(table, IN_TABLE(key))
                }
                local_barrier();
            }
        }
