//! The owner of a Simulator: one thread of one process uses it at a time.

use super::calls::detached;
use super::errors::exception;
use pyo3::prelude::*;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use workalike::engine::{Probe, Simulator};

/// A Simulator that threads use in turn.
pub(crate) struct Owner {
    /// Not dropped in the child of a fork, where its threads do not exist.
    simulator: ManuallyDrop<Mutex<Simulator>>,
    /// The thread that uses it, by [`this_thread`]; 0: none.
    user: AtomicU64,
    /// The process that made it: a device does not survive a fork.
    process: u32,
    /// Probes whose objects were collected. They end before the next use, so that collecting an object never
    /// waits for a Simulator.
    dropped: Mutex<Vec<Probe>>,
}

impl Owner {
    pub(crate) fn new(simulator: Simulator) -> Owner {
        let simulator = ManuallyDrop::new(Mutex::new(simulator));
        let (user, process, dropped) = (AtomicU64::new(0), std::process::id(), Mutex::default());
        Owner { simulator, user, process, dropped }
    }

    /// Ends a probe before the next use.
    pub(crate) fn drop_probe(&self, probe: Probe) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(probe);
    }

    /// Works on the Simulator without the interpreter's lock: a thread that has the Simulator may wait for
    /// it.
    pub(crate) fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulator) -> workalike::Result<T> + Send,
    ) -> PyResult<T> {
        if self.process != std::process::id() {
            let message = "this Simulator was made before the process was forked, and devices are not usable in \
                           the child; start workers with the start method spawn or forkserver, or make it there";
            return Err(exception("DeviceError", message.into()));
        }
        if self.user.load(Ordering::Relaxed) == this_thread() {
            let message = "the Simulator is in a loop that calls this function; read results and shared \
                           variables after run_n, or run fewer iterations at a time";
            return Err(exception("StateConflict", message.into()));
        }
        detached(py, || {
            let mut simulator = self.simulator.lock().unwrap_or_else(PoisonError::into_inner);
            self.user.store(this_thread(), Ordering::Relaxed);
            let _used = Used(&self.user);
            let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
            for probe in dropped {
                // It is an error if the probe was removed before, which does not matter here.
                let _ = simulator.remove_probe(probe);
            }
            work(&mut simulator)
        })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: it is dropped here alone, once, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.simulator) };
        }
    }
}

/// Clears the user of a Simulator when it is dropped.
struct Used<'u>(&'u AtomicU64);

impl Drop for Used<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A number of this thread, from 1 on.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
