    /* Narrows what may be at the wanted place down to the keys (and positions, if these are equal) that begin
       with a prefix, of which `left` bits are not known yet. */
    K prefix = 0;
    u32 place = 0, left = $bits, before = 0;
    int by_place = 0;
    taken = m;
    while (taken > $capacity || (left == $bits && !by_place && taken > 512)) {
        if (left == 0) {
            by_place = 1;
            left = position_bits;
        }
        const u32 width = left < $digit ? left : $digit, shift = left - width;
        const int whole = by_place ? left == position_bits : left == $bits;
        for (u32 i = item; i < $bins; i += $group) bins[i] = 0;
        local_barrier();
        u32 digit = 0, run = 0;
$count_elements        if (run > 0) ATOMIC_ADD(&bins[digit], run);
        local_barrier();
        find_bin(bins, sums, found, wanted, before, item);
        before += found[1];
        taken = $firsts ? before + found[2] : found[2];
        if (by_place) place = whole ? found[0] : (place << width) | found[0];
        else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];
        left = shift;
        local_barrier();
    }
    const int all = !by_place && left == $bits;
