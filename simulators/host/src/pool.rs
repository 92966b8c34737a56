//! A thread pool: a parallel loop over chunks in which the caller takes part. Idle workers spin briefly.
//!
//! A job is published by opening a gate. Workers that notice enter, take chunks until none is left, and
//! leave; the caller does the same, closes the gate and waits until it is empty. A worker that was asleep
//! finds the gate closed, so no thread waits for another to wake up. Each thread has its own chunks, the same
//! from job to job, so that the data it wrote is still in its cache; then it takes chunks of others. Devices
//! with the same thread count share a pool. If the pool is busy with another caller's job, a job runs on its
//! caller alone, which changes no result: chunks do not depend on the threads that run them.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The loop body: `(chunk, worker)`. At any time, at most one call has a given worker number.
type Work<'a> = &'a (dyn Fn(usize, usize) + Sync + 'a);

/// Time for which an idle worker spins before it sleeps.
const SPIN: Duration = Duration::from_micros(30);

/// The gate's top bit: workers may enter. The rest counts those inside.
const OPEN: usize = 1 << (usize::BITS - 1);

/// A pool of threads.
pub(super) struct ThreadPool {
    shared: Arc<PoolState>,
    workers: Vec<JoinHandle<()>>,
    busy: Mutex<()>,
    /// The process that has the threads: the child of a fork has none of them.
    process: u32,
}

struct PoolState {
    /// Counts jobs; workers watch it.
    epoch: AtomicU64,
    gate: AtomicUsize,
    job: UnsafeCell<Option<PoolJob>>,
    /// The next of each thread's own chunks.
    next: Vec<Counter>,
    failed: AtomicBool,
    stop: AtomicBool,
    sleepers: AtomicUsize,
}

#[derive(Clone, Copy)]
struct PoolJob {
    work: Work<'static>,
    chunks: usize,
}

/// A counter in its own cache line.
#[derive(Default)]
#[repr(align(64))]
struct Counter(AtomicUsize);

// SAFETY: only the caller that owns the pool's `busy` lock writes `job`, while the gate is closed and empty;
// only workers inside the gate read it. Opening the gate (release) and entering it (acquire) order the two.
// The rest is `Sync`.
unsafe impl Sync for PoolState {}

impl ThreadPool {
    /// The pool of this many threads, the caller included; made on first use and dropped with its last user.
    pub(super) fn shared(threads: usize) -> Arc<ThreadPool> {
        static POOLS: Mutex<Option<HashMap<usize, Weak<ThreadPool>>>> = Mutex::new(None);
        let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
        let pools = pools.get_or_insert_with(HashMap::new);
        if let Some(pool) = pools.get(&threads).and_then(Weak::upgrade) {
            return pool;
        }
        let pool = Arc::new(ThreadPool::new(threads));
        pools.insert(threads, Arc::downgrade(&pool));
        pool
    }

    fn new(threads: usize) -> ThreadPool {
        let shared = Arc::new(PoolState {
            epoch: AtomicU64::new(0),
            gate: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            next: (0..threads).map(|_| Counter::default()).collect(),
            failed: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
        });
        // If the system refuses a thread there are fewer; all work still gets done.
        let workers = (1..threads)
            .map_while(|id| {
                let shared = shared.clone();
                std::thread::Builder::new()
                    .name(format!("workalike-{id}"))
                    .spawn(move || shared.serve(id))
                    .ok()
            })
            .collect();
        ThreadPool { shared, workers, busy: Mutex::new(()), process: std::process::id() }
    }

    /// Threads, the caller included.
    pub(super) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `work` for every chunk below `chunks`; returns when all are done. False if one panicked.
    pub(super) fn run(&self, chunks: usize, work: Work<'_>) -> bool {
        let owned = if chunks > 1 && !self.workers.is_empty() {
            self.busy.try_lock()
        } else {
            return alone(chunks, work);
        };
        let _owned = match owned {
            Ok(guard) => guard,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return alone(chunks, work),
        };
        let shared = &*self.shared;
        // SAFETY: only the lifetime changes. Only workers inside the gate use the reference, and this
        // function does not return (nor unwind: `take` catches panics) before the gate is closed and empty.
        let job = PoolJob { work: unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) }, chunks };
        // SAFETY: this thread owns `busy`, and the gate is closed and empty, so no other thread reads the
        // cell.
        unsafe { *shared.job.get() = Some(job) };
        for (owner, next) in shared.next.iter().enumerate() {
            next.0.store(shared.first(chunks, owner), Relaxed);
        }
        shared.failed.store(false, Relaxed);
        shared.gate.store(OPEN, Release);
        shared.epoch.fetch_add(1, SeqCst);
        if shared.sleepers.load(SeqCst) > 0 {
            self.wake();
        }
        shared.take(job, 0);
        shared.gate.fetch_and(!OPEN, AcqRel);
        let mut turns = 0u32;
        while shared.gate.load(Acquire) != 0 {
            turns += 1;
            if turns < 10_000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        !shared.failed.load(Relaxed)
    }

    /// Ends the sleep of all workers; one that is about to sleep does not.
    fn wake(&self) {
        self.workers.iter().for_each(|worker| worker.thread().unpark());
    }
}

fn alone(chunks: usize, work: Work<'_>) -> bool {
    catch_unwind(AssertUnwindSafe(|| (0..chunks).for_each(|chunk| work(chunk, 0)))).is_ok()
}

impl PoolState {
    /// The first of a thread's own chunks; they end where the next thread's begin.
    fn first(&self, chunks: usize, owner: usize) -> usize {
        let threads = self.next.len();
        chunks / threads * owner + owner.min(chunks % threads)
    }

    /// Takes chunks until none is left: first its own, then others'.
    fn take(&self, job: PoolJob, worker: usize) {
        let threads = self.next.len();
        let done = catch_unwind(AssertUnwindSafe(|| {
            for owner in (worker..threads).chain(0..worker) {
                let (next, end) = (&self.next[owner].0, self.first(job.chunks, owner + 1));
                // A load first: where no chunk is left, many threads may look without invalidating the line.
                while next.load(Relaxed) < end {
                    let chunk = next.fetch_add(1, Relaxed);
                    if chunk >= end {
                        break;
                    }
                    (job.work)(chunk, worker);
                }
            }
        }));
        if done.is_err() {
            self.failed.store(true, Relaxed);
        }
    }

    /// The loop of a worker thread.
    fn serve(&self, worker: usize) {
        let mut seen = 0;
        loop {
            seen = self.wait(seen);
            if self.stop.load(Acquire) {
                return;
            }
            let entered =
                self.gate.fetch_update(AcqRel, Acquire, |g| (g & OPEN != 0).then_some(g + 1)).is_ok();
            if entered {
                // SAFETY: this worker is inside the gate, so no thread writes the job; see `Sync for
                // PoolState`.
                if let Some(job) = unsafe { *self.job.get() } {
                    self.take(job, worker);
                }
                self.gate.fetch_sub(1, Release);
            }
        }
    }

    /// Waits for an epoch other than `seen`: spins, then sleeps.
    fn wait(&self, seen: u64) -> u64 {
        let start = Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..64 {
                let now = self.epoch.load(Acquire);
                if now != seen {
                    return now;
                }
                std::hint::spin_loop();
            }
        }
        self.sleepers.fetch_add(1, SeqCst);
        let now = loop {
            let now = self.epoch.load(SeqCst);
            if now != seen {
                break now;
            }
            std::thread::park();
        };
        self.sleepers.fetch_sub(1, SeqCst);
        now
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // Joining or detaching them would be undefined.
            self.workers.drain(..).for_each(std::mem::forget);
            return;
        }
        self.shared.stop.store(true, Release);
        self.shared.epoch.fetch_add(1, SeqCst);
        self.wake();
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its work; any other panic cannot be handled here.
            let _ = worker.join();
        }
    }
}

impl std::fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} threads", self.threads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_runs_once_and_panics_are_reported() {
        let pool = ThreadPool::shared(4);
        for round in 0..200 {
            let counts: Vec<AtomicUsize> = (0..round % 37).map(|_| AtomicUsize::new(0)).collect();
            assert!(pool.run(counts.len(), &|chunk, worker| {
                assert!(worker < 4);
                counts[chunk].fetch_add(1, Relaxed);
            }));
            assert!(counts.iter().all(|c| c.load(Relaxed) == 1));
        }
        assert!(!pool.run(8, &|chunk, _| assert!(chunk != 5, "expected")));
        assert!(pool.run(8, &|_, _| ()));
    }

    #[test]
    fn one_pool_serves_several_callers() {
        let pool = ThreadPool::shared(3);
        assert!(Arc::ptr_eq(&pool, &ThreadPool::shared(3)));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let sum = AtomicUsize::new(0);
                        assert!(pool.run(10, &|chunk, _| {
                            sum.fetch_add(chunk, Relaxed);
                        }));
                        assert_eq!(sum.into_inner(), 45);
                    }
                });
            }
        });
    }

    #[test]
    fn workers_wake_from_sleep() {
        // Not the shared pool of two threads: while another test uses it, a caller runs all chunks itself.
        let pool = ThreadPool::new(2);
        for _ in 0..3 {
            while pool.shared.sleepers.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            // Both chunks run at once, which takes two threads. The limit turns a hang into a failure; a busy
            // machine does not reach it.
            let there = AtomicUsize::new(0);
            assert!(pool.run(2, &|_, _| {
                there.fetch_add(1, SeqCst);
                let start = Instant::now();
                while there.load(SeqCst) < 2 && start.elapsed() < Duration::from_secs(600) {
                    std::thread::yield_now();
                }
                assert_eq!(there.load(SeqCst), 2, "the other one never came");
            }));
        }
    }
}
