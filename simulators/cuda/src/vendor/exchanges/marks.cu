// The kernels behind exchanges. `words` are two that host and device share: how many recordings with
// exchanges have run, and whether exchanges were cut off.

#if __CUDA_ARCH__ >= 900
#define BEGIN asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#else
#define BEGIN
#endif

extern "C" __global__ void mark(volatile unsigned long long* words) {
    BEGIN
    words[0] = words[0] + 1;
}

// Stores a report to the first status word, unless there is one already: that exchanges were cut off, or else
// the one that members have exchanged, if there is any.
extern "C" __global__ void check(volatile unsigned long long* words, long long* status, long long report,
                                 const long long* exchanged) {
    BEGIN
    unsigned long long ended = words[0];
    unsigned long long cut_off = words[1];
    long long other = exchanged ? *exchanged : 0;
    if (status[0] == 0) status[0] = cut_off != 0 ? report : other;
    words[0] = ended + 1;
}
