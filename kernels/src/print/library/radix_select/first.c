/* The first `kept` elements of a row, or of a part of one, which has `m`. `found` is a bin, the elements in
   the bins before it, those in it, and the elements that are gathered. */
KERNEL void $name($parameters)
{
    LOCAL_MEM K keys[$capacity];
    LOCAL_MEM u32 positions[$capacity], bins[$bins], sums[$group], found[4];
    const u32 item = LID_0;
    const u64 v = GID_0;
#if $joins
    const u64 row = v;
    LINE
    const u32 m = parts * kept;
#else
    const u64 row = v / parts;
    LINE
    const u32 begin = (u32)(v % parts) * length;
    const u32 m = n - begin < length ? n - begin : length;
#endif
    const u32 wanted = (kept < m ? kept : m) - 1;
    u32 taken = m;
    int near = 0;
    if (2 * kept <= $group && m >= $ahead * $group) {
        /* As many elements as are wanted come no later than that many of the first elements of the items. */
        K least = ~(K)0;
$least_elements        keys[item] = least;
        positions[item] = item;
        local_barrier();
        sort_group(keys, positions, $group, item, $group);
        const K bound = keys[wanted];
        local_barrier();
$gather_near
        taken = found[3];
        near = taken <= $capacity;
        local_barrier();
    }
    if (!near) {
$narrow
$gather_around
    }
    sort_taken(keys, positions, taken, item);
    /* What a part lacks comes after all elements. */
    for (u32 at = item; at < ($fills ? kept : kept < m ? kept : m); at += $group) {
        const int is_there = !$fills || at <= wanted;
        const K k = is_there ? keys[at] : ~(K)0;
        const u32 p = is_there ? positions[at] : n;
        (void)k;
        $put
    }
}
