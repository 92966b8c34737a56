/* The sorted positions, and where each was among those given. Positions that are in order already were not
   moved. */
#if $asks
#define SORTED \
    const int in_order = totals[disorder] == 0; \
    const u32 *sorted = in_order ? positions : moved_positions;
#define PLACE(at) (in_order ? (at) : ($index)order[at])
#else
#define SORTED
#define PLACE(at) (($index)order[at])
#endif
