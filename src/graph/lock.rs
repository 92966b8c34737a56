//! A fair mutex with deadlock detection.
//!
//! A Function's call holds the Function's shared variables for as long as it runs, and a user's op that it
//! performs may call other Functions. With plain mutexes such a nested call could wait for its own thread, or
//! two threads for each other. [`Lock::lock`] refuses both: it knows which thread holds a lock, and before a
//! thread that holds a lock waits for another one, it follows the chain of holders and what they wait for.
//!
//! A plain mutex usually goes to the thread that has just released it, so a thread that calls in a loop could
//! starve another one. Here a thread that finds others waiting queues behind them.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Lock<T> {
    value: Mutex<T>,
    /// Threads that hold no lock and wait for this one.
    waiting: AtomicUsize,
    /// MemberArray by the one of them that is next.
    turn: Mutex<()>,
    /// The thread that holds the lock, or 0. A thread compares it with its own number, which it wrote itself.
    /// Other threads only look for cycles, whose members are all waiting.
    holder: Arc<AtomicU64>,
}

/// Why a thread must not wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endless {
    /// It holds the lock itself.
    Own,
    /// The thread that holds it waits, directly or not, for a lock that this thread holds.
    Cycle,
}

/// A held [`Lock`].
pub(crate) struct LockGuard<'l, T> {
    value: MutexGuard<'l, T>,
    holder: &'l AtomicU64,
}

thread_local! {
    /// This thread's number, from 1 on.
    static THREAD: u64 = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Relaxed)
    };
    /// Number of locks that this thread holds.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Threads that hold a lock and wait for another, with the holder of the latter.
static WAITING: LazyLock<Mutex<HashMap<u64, Arc<AtomicU64>>>> = LazyLock::new(Mutex::default);

/// Time between two attempts of a thread that holds a lock and waits for another.
const PAUSE: Duration = Duration::from_micros(50);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Lock<T> {
        Lock {
            value: Mutex::new(value),
            waiting: AtomicUsize::new(0),
            turn: Mutex::new(()),
            holder: Arc::default(),
        }
    }

    /// Waits for the lock, unless that would be a deadlock.
    pub(crate) fn lock(&self) -> Result<LockGuard<'_, T>, Endless> {
        if let Some(locked) = self.try_lock() {
            return Ok(locked);
        }
        if HELD.get() == 0 {
            self.waiting.fetch_add(1, Relaxed);
            let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Relaxed);
            drop(turn);
            return Ok(self.held(value));
        }
        let me = THREAD.with(|me| *me);
        if self.holder.load(Relaxed) == me {
            return Err(Endless::Own);
        }
        let _waiting = Waiting::of(me, &self.holder);
        loop {
            if let Some(locked) = self.try_now() {
                return Ok(locked);
            }
            if waits_for(&self.holder, me) {
                return Err(Endless::Cycle);
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes the lock if it is free and no thread is waiting for it.
    pub(crate) fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        if self.waiting.load(Relaxed) > 0 { None } else { self.try_now() }
    }

    /// Takes the lock if it is free.
    fn try_now(&self) -> Option<LockGuard<'_, T>> {
        match self.value.try_lock() {
            Ok(value) => Some(self.held(value)),
            // A panic of the holder leaves a consistent value: see the types that are locked.
            Err(TryLockError::Poisoned(poisoned)) => Some(self.held(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn held<'l>(&'l self, value: MutexGuard<'l, T>) -> LockGuard<'l, T> {
        self.holder.store(THREAD.with(|me| *me), Relaxed);
        HELD.set(HELD.get() + 1);
        LockGuard { value, holder: &self.holder }
    }
}

/// Whether the chain from a lock's holder to the lock it waits for, and so on, leads to this thread.
fn waits_for(holder: &AtomicU64, me: u64) -> bool {
    // No thread starts to wait while this mutex is held, so the last thread of a cycle sees all of it.
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut thread = holder.load(Relaxed);
    for _ in 0..=waiting.len() {
        if thread == me {
            return true;
        }
        let Some(next) = waiting.get(&thread) else { return false };
        thread = next.load(Relaxed);
    }
    false
}

/// This thread's entry in [`WAITING`], until it is dropped.
struct Waiting(u64);

impl Waiting {
    fn of(me: u64, holder: &Arc<AtomicU64>) -> Waiting {
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).insert(me, holder.clone());
        Waiting(me)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

impl<T> Drop for LockGuard<'_, T> {
    fn drop(&mut self) {
        self.holder.store(0, Relaxed);
        HELD.set(HELD.get().saturating_sub(1));
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let (one, two) = (Lock::new(1), Lock::new(2));
        let held = one.lock().unwrap();
        assert_eq!(one.lock().err(), Some(Endless::Own));
        assert_eq!(*two.lock().unwrap(), 2);
        drop(held);
        assert_eq!(*one.lock().unwrap(), 1);
    }

    #[test]
    fn of_threads_that_wait_for_each_other_one_is_refused() {
        let locks: Vec<Lock<usize>> = (0..3).map(Lock::new).collect();
        let all_hold = Barrier::new(3);
        let refused = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for i in 0..3 {
                let (locks, all_hold, refused) = (&locks, &all_hold, &refused);
                scope.spawn(move || {
                    let _held = locks[i].lock().unwrap();
                    all_hold.wait();
                    match locks[(i + 1) % 3].lock() {
                        Ok(next) => assert_eq!(*next, (i + 1) % 3),
                        Err(why) => {
                            assert_eq!(why, Endless::Cycle);
                            refused.fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
        assert!(refused.into_inner() > 0, "the others could go on because one was refused");
    }

    #[test]
    fn a_thread_that_comes_again_waits_behind_those_that_wait() {
        let lock = Lock::new(0);
        for round in 1..=20 {
            std::thread::scope(|scope| {
                let held = lock.lock().unwrap();
                scope.spawn(|| *lock.lock().unwrap() = round);
                // Until it is next.
                while lock.waiting.load(Relaxed) == 0 || lock.turn.try_lock().is_ok() {
                    std::thread::yield_now();
                }
                drop(held);
                assert_eq!(*lock.lock().unwrap(), round, "the thread that waited was first");
            });
        }
    }

    #[test]
    fn a_thread_that_holds_one_lock_waits_for_a_busy_one() {
        let (one, two) = (Lock::new(0), Lock::new(0));
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut held = two.lock().unwrap();
                both.wait();
                *held = 7;
            });
            let _held = one.lock().unwrap();
            both.wait();
            assert_eq!(*two.lock().unwrap(), 7);
        });
    }
}
