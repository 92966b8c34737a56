    if ($wanted >= covered) {
        const u32 wanted = $wanted;
        u32 taken = m;
$narrow
$gather_around
        sort_taken(keys, positions, taken, item);
$puts        covered = before + taken;
        local_barrier();
    }
