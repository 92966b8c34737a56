#pragma unroll
                    for (u32 j = 0; j < $ahead; j++) if (j < some) { READ(xs[j], x, BROUGHT(places[j])) }
#pragma unroll
                    for (u32 j = 0; j < $ahead; j++)
                        if (j < some) { FOR_EACH ADD(all[v], lost[v], xs[j][v]); }
                    some = 0;
