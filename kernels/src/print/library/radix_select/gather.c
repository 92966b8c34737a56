    /* Collects elements in the group's memory, in any order. */
    if (item == 0) found[3] = 0;
    local_barrier();
$elements    local_barrier();
