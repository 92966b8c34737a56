// The kernels behind exchanges. `words` are two that host and device share: how many recordings with exchanges
// have run, and whether exchanges were cut off.

extern "C" __global__ void mark(volatile unsigned long long* words) { words[0] = words[0] + 1; }

// Stores a report to the first status word if exchanges were cut off, unless there is one already.
extern "C" __global__ void check(volatile unsigned long long* words, long long* status, long long report) {
    unsigned long long ended = words[0];
    unsigned long long cut_off = words[1];
    if (cut_off != 0 && status[0] == 0) status[0] = report;
    words[0] = ended + 1;
}
