/* Each group folds its points into a table of its own, and that into the whole one. */
KERNEL void $name($parameters)
{
    LOCAL_MEM $acc own[$elements];
    const $index item = ($index)LID_0, entries = (last + 1) * width;
    for ($index i = item; i < entries; i += $group) own[i] = $none;
    local_barrier();
    for ($index id = ($index)GID_0 * $group + item; id < items; id += ($index)GDIM_0 * $group) {
$points
    }
    local_barrier();
    for ($index i = item; i < entries; i += $group) {
        const $acc x = own[i];
        if (x != $none) $fold_into_memory(&$table[i], x);
    }
}
