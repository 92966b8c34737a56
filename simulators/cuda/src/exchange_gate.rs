//! Calls of the driver that wait for a device, in a process with several GPUs.
//!
//! Allocating page-locked memory, loading code, making graphs and destroying handles may wait until the
//! device is idle, behind a lock of the driver that all threads of the process share. A kernel that exchanges
//! arrays waits for the kernel of another GPU, whose thread may need that lock to launch it: a deadlock.
//! So such calls wait here before, without a lock of the driver, until no exchange of their device is
//! under way, and none begins before they are done. The gate also keeps captures, and calls that wait for the
//! whole context, apart: they would invalidate captures.

use crate::context::lock;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::Duration;

/// Exchanges that may be under way.
pub(crate) trait UnderWay: Send + Sync {
    /// Whether one is, as far as the host knows, without a call of the driver.
    fn is_under_way(&self) -> bool;
}

/// The exchanges of a device.
#[derive(Default)]
pub(crate) struct ExchangeGate {
    known: Mutex<Vec<Weak<dyn UnderWay>>>,
}

/// The time between two looks.
const TICK: Duration = Duration::from_micros(20);

/// While it lives no exchange of the devices begins, and none is under way.
pub(crate) struct QuietGuard<'g> {
    _closed: Vec<MutexGuard<'g, Vec<Weak<dyn UnderWay>>>>,
    /// Declared last: to drop the last handle of exchanges may take a guard.
    _kept: Vec<Arc<dyn UnderWay>>,
}

impl ExchangeGate {
    /// Makes later calls wait for these exchanges too.
    pub(crate) fn add(&self, exchanges: &Arc<impl UnderWay + 'static>) {
        let exchanges: Arc<dyn UnderWay> = exchanges.clone();
        let mut known = lock(&self.known);
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(&exchanges));
    }

    /// Calls `note`, which notes that an exchange begins, while no guard lives.
    pub(crate) fn begin(&self, note: impl FnOnce()) {
        let _none_lives = lock(&self.known);
        note();
    }

    /// For a call of the driver that may wait for the device. The thread must not hold a guard already.
    pub(crate) fn quiet(&self) -> QuietGuard<'_> {
        ExchangeGate::all_quiet([self])
    }

    /// As [`ExchangeGate::quiet`], but nothing to hold if the device has no exchanges.
    pub(crate) fn quiet_if_any(&self) -> Option<QuietGuard<'_>> {
        let any = lock(&self.known).iter().any(|known| known.strong_count() > 0);
        any.then(|| self.quiet())
    }

    /// For calls that may wait for several devices, once all are quiet at the same time.
    pub(crate) fn all_quiet<'g>(gates: impl IntoIterator<Item = &'g ExchangeGate> + Clone) -> QuietGuard<'g> {
        loop {
            let closed: Vec<_> = gates.clone().into_iter().map(|gate| lock(&gate.known)).collect();
            let kept: Vec<_> =
                closed.iter().flat_map(|known| known.iter()).filter_map(Weak::upgrade).collect();
            let busy = kept.iter().any(|exchanges| exchanges.is_under_way());
            let guard = QuietGuard { _closed: closed, _kept: kept };
            if !busy {
                return guard;
            }
            drop(guard);
            thread::sleep(TICK);
        }
    }
}

impl fmt::Debug for ExchangeGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExchangeGate")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct Flag(AtomicBool);

    impl UnderWay for Flag {
        fn is_under_way(&self) -> bool {
            self.0.load(Ordering::Acquire)
        }
    }

    /// Whether `work` waits until `release` is called.
    fn waits(work: impl FnOnce() + Send, release: impl FnOnce()) -> bool {
        thread::scope(|scope| {
            let working = scope.spawn(work);
            thread::sleep(Duration::from_millis(10));
            let waited = !working.is_finished();
            release();
            working.join().unwrap();
            waited
        })
    }

    #[test]
    fn calls_wait_for_exchanges_and_exchanges_for_calls() {
        let gates = [ExchangeGate::default(), ExchangeGate::default()];
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        assert!(gates[0].quiet_if_any().is_none());
        gates[0].add(&flag);
        drop(gates[1].quiet());
        assert!(waits(|| drop(gates[0].quiet_if_any()), || flag.0.store(false, Ordering::Release)));
        let quiet = gates[0].quiet();
        gates[1].begin(|| ());
        assert!(waits(|| gates[0].begin(|| ()), || drop(quiet)));
        flag.0.store(true, Ordering::Release);
        let release = || flag.0.store(false, Ordering::Release);
        assert!(waits(|| drop(ExchangeGate::all_quiet(&gates)), release));
        drop(flag);
        assert!(gates[0].quiet_if_any().is_none());
    }
}
