typedef $acc A;
#define NONE ((A)($none))
DEVICE_FN A join(A a, A b) { return $join; }
/* ADD folds x into `all`. Sums of floats are compensated: what rounding has lost is added up in `lost`. Where
   nothing was lost, nothing is added at the end, so that infinities and the sign of zeros are kept. */
#if $compensated
#define ADD(all, lost, x) { \
    const A x_ = x, next = (all) + x_, back = next - (all); \
    lost += ((all) - (next - back)) + (x_ - back); \
    all = next; \
}
#define WHOLE(all, lost) ((lost) < 0 || (lost) > 0 ? (all) + (lost) : (all))
#else
#define ADD(all, lost, x) all = join(all, x)
#define WHOLE(all, lost) (all)
#endif
