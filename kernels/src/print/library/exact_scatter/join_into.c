/* Folds x into an element of the table, or of a group's. Most values change nothing. */
DEVICE_FN void $join_into($space A *at, A x)
{
#if $sum
    $add(($space $unsigned*)at, ($unsigned)x);
#elif $float
    /* Floats of one sign are ordered as integers, those below zero the other way around; the NaN that is
       stored is beyond all. What is there may be a NaN with either sign, which stays. Of zeros the integers
       decide, so that their order does not. */
    const A old = *(volatile $space A*)at;
    if (old != old || x $worse old || (x == old && x != 0)) return;
    const $signed bits = x != x ? ($signed)$nan : $bits(x);
    if (bits >= 0) $above(($space $signed*)at, bits);
    else $below(($space $unsigned*)at, ($unsigned)bits);
#else
    const A old = *(volatile $space A*)at;
    if (!(x $better old)) return;
    $above(at, x);
#endif
}
