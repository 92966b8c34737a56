//! Exchanges that do not end: a thread for each communicator, which cuts them off.
//!
//! A kernel of an exchange runs until the other members come, and the host waits for the stream as long.
//! The thread makes no call of the driver, which may itself be waiting: the device says in two words of
//! page-locked memory how many marks behind exchanges it has passed, the host counts how many were
//! enqueued. If none ends for as long as the group's patience, or the group is closed, it sets the second
//! word, at which kernels of ours end, and aborts NCCL's communicator, which ends its kernels. What was
//! enqueued behind them then finds the word set
//! ([`ExchangeCheck`](workalike_device::group::ExchangeCheck)).

use crate::context::{OrDriver, PrimaryContext, lock};
use crate::exchange_gate::UnderWay;
use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use workalike_device::group::{Group, GroupError};
use workalike_device::{DeviceError, DeviceResult};

/// The time between two looks.
const TICK: Duration = Duration::from_millis(20);
/// What began before the group was closed may still end within this time: it is not cut off before.
const GRACE: Duration = Duration::from_millis(500);

/// Two words that host and device share.
#[derive(Debug)]
pub(super) struct SharedWords {
    context: Arc<PrimaryContext>,
    start: NonNull<AtomicU64>,
}

// SAFETY: the words are atomic, and live as long as the value.
unsafe impl Send for SharedWords {}
// SAFETY: likewise.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    const COUNT: usize = 2;
    /// The word for the number of marks that were passed.
    pub(super) const ENDED: usize = 0;
    /// The word that is set if exchanges were cut off.
    pub(super) const CUT_OFF: usize = 1;

    /// Zeros. The context must be current.
    pub(super) fn new(context: &Arc<PrimaryContext>) -> DeviceResult<SharedWords> {
        const CALL: &str = "cuMemHostAlloc";
        let _quiet = context.gate.quiet_if_any();
        // SAFETY: the context is current. Flags 0: cached, since the host reads it.
        let start = unsafe { result::malloc_host(SharedWords::COUNT * size_of::<AtomicU64>(), 0) };
        let start = NonNull::new(start.or_driver(&context.id, CALL)?.cast::<AtomicU64>());
        let start = start.ok_or_else(|| DeviceError::driver(&context.id, CALL, "it gave no memory"))?;
        // SAFETY: the allocation has as many words, is aligned to pages, and is not shared yet.
        unsafe { start.write_bytes(0, SharedWords::COUNT) };
        Ok(SharedWords { context: context.clone(), start })
    }

    /// The address, for host and device: page-locked memory has one for both.
    pub(super) fn address(&self) -> CUdeviceptr {
        self.start.addr().get() as CUdeviceptr
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `at` is one of the constants, below `COUNT`.
        unsafe { self.start.add(at).as_ref() }
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        if self.context.enter_drop() {
            let _quiet = self.context.gate.quiet_if_any();
            // SAFETY: the memory came from cuMemHostAlloc and is freed once. Recordings that write to it hold
            // the value.
            self.context.park(unsafe { result::free_host(self.start.as_ptr().cast()) });
        }
    }
}

/// What the thread looks at.
#[derive(Debug)]
pub(super) struct ExchangeWatch {
    pub(super) words: SharedWords,
    /// The marks behind exchanges that were enqueued.
    begun: AtomicU64,
    /// Calls of NCCL in which threads are. It is locked while exchanges are declared failed.
    calls: Mutex<u64>,
    failed: OnceLock<GroupError>,
    ended: Mutex<bool>,
    changed: Condvar,
}

/// A call of NCCL, in which a thread may have to wait for other members.
pub(super) struct NcclCall<'w>(&'w ExchangeWatch);

impl Drop for NcclCall<'_> {
    fn drop(&mut self) {
        *lock(&self.0.calls) -= 1;
    }
}

impl ExchangeWatch {
    pub(super) fn new(context: &Arc<PrimaryContext>) -> DeviceResult<ExchangeWatch> {
        Ok(ExchangeWatch {
            words: SharedWords::new(context)?,
            begun: AtomicU64::new(0),
            calls: Mutex::new(0),
            failed: OnceLock::new(),
            ended: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Notes that exchanges with so many marks are about to be enqueued.
    pub(super) fn begin(&self, marks: u64) {
        self.begun.fetch_add(marks, Ordering::AcqRel);
    }

    /// Notes that they were not enqueued.
    pub(super) fn cancel(&self, marks: u64) {
        self.begun.fetch_sub(marks, Ordering::AcqRel);
    }

    /// To be held during a call of NCCL with the communicator.
    ///
    /// # Errors
    /// If exchanges were cut off: the communicator may not be used any more.
    pub(super) fn call(&self) -> Result<NcclCall<'_>, GroupError> {
        let mut calls = lock(&self.calls);
        if let Some(error) = self.failed() {
            return Err(error);
        }
        *calls += 1;
        Ok(NcclCall(self))
    }

    /// Why exchanges were cut off.
    pub(super) fn failed(&self) -> Option<GroupError> {
        self.failed.get().cloned()
    }

    /// Lets the thread end.
    pub(super) fn end(&self) {
        *lock(&self.ended) = true;
        self.changed.notify_all();
    }

    /// Whether the thread shall go on after a pause.
    fn pause(&self) -> bool {
        let ended = lock(&self.ended);
        if *ended {
            return false;
        }
        !*self.changed.wait_timeout(ended, TICK).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Whether exchanges are under way, and the number of marks passed.
    fn state(&self) -> (bool, u64) {
        let ended = self.words.word(SharedWords::ENDED).load(Ordering::Acquire);
        (self.begun.load(Ordering::Acquire) != ended, ended)
    }

    /// Looks on until [`ExchangeWatch::end`], or until exchanges have to be cut off: returns why.
    pub(super) fn look_on(
        &self,
        group: &dyn Group,
        error: impl Fn() -> Option<GroupError>,
    ) -> Option<GroupError> {
        let openings = group.openings();
        let (mut last, mut since, mut closed) = (u64::MAX, Instant::now(), None);
        while self.pause() {
            let (under_way, ended) = self.state();
            let busy = under_way || *lock(&self.calls) > 0;
            if !busy || ended != last {
                (last, since) = (ended, Instant::now());
            }
            if !busy {
                continue;
            }
            if let Some(error) = error() {
                return Some(error);
            }
            let reason = group.closed().or_else(|| (group.openings() != openings).then(|| reopened(group)));
            match (reason, closed) {
                (Some(reason), Some(at)) if Instant::elapsed(&at) > GRACE => return Some(reason),
                (Some(_), None) => closed = Some(Instant::now()),
                _ => {}
            }
            if since.elapsed() > group.patience() {
                let missing = (0..group.size()).filter(|&rank| rank != group.rank()).collect();
                let (what, waited) = ("an exchange of GPUs".into(), group.patience());
                return Some(GroupError::Late { missing, what, waited });
            }
        }
        None
    }

    /// Ends the kernels of ours that wait, and lets no call of NCCL begin any more.
    pub(super) fn cut_off(&self, why: GroupError) {
        {
            let _none_begins = lock(&self.calls);
            // Only the watching thread sets it.
            _ = self.failed.set(why);
        }
        self.words.word(SharedWords::CUT_OFF).store(1, Ordering::SeqCst);
    }
}

impl UnderWay for ExchangeWatch {
    fn is_under_way(&self) -> bool {
        // Marks may stay unpassed after a failure, which is no reason to wait.
        self.failed.get().is_none() && !*lock(&self.ended) && self.state().0
    }
}

/// The reason for exchanges of a group that was closed and opened again meanwhile.
fn reopened(group: &dyn Group) -> GroupError {
    GroupError::Failed { rank: group.rank(), why: "the group was opened again meanwhile".into() }
}
