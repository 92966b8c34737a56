    /* Folds the points of item `id`. All are loaded first; where the position changes, what was folded goes
       to memory. */
    const $index from = id / width * $each, column = id % width;
    const $index to = from + $each < points ? from + $each : points;
    u32 keys[$each];
    $acc xs[$each];
#pragma unroll
    for (u32 j = 0; j < $each; j++) {
        const $index place = from + j < to ? from + j : to - 1;
        keys[j] = positions[place];
        xs[j] = $value;
    }
    u32 key = keys[0];
    $acc all = xs[0];
#pragma unroll
    for (u32 j = 1; j < $each; j++) {
        if (from + j >= to) break;
        if (keys[j] == key) {
            all = $join(all, xs[j]);
            continue;
        }
        $fold_into(&$to[($index)($row) * width + column], all);
        key = keys[j];
        all = xs[j];
    }
    $fold_into(&$to[($index)($row) * width + column], all);
