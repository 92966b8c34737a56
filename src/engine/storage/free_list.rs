//! Idle memory of a pool, by size.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of the smallest class.
const SMALLEST: u64 = 256;

/// The size of the class for this many bytes: a power of two, or one of the seven steps up to the next one,
/// so that at most an eighth of an allocation is unused.
pub(super) fn size_class(bytes: u64) -> u64 {
    if bytes <= SMALLEST {
        return SMALLEST;
    }
    // An eighth of the largest power of two below.
    let step = 1 << ((bytes - 1).ilog2() - 3);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

/// Memory `T` that nobody uses. It is dropped after the lock of the list is released.
pub(super) struct FreeList<T>(Mutex<Idle<T>>);

struct Idle<T> {
    /// By size in bytes, the last returned last.
    by_size: BTreeMap<u64, Vec<T>>,
    bytes: u64,
}

impl<T> Default for FreeList<T> {
    fn default() -> Self {
        FreeList(Mutex::new(Idle { by_size: BTreeMap::new(), bytes: 0 }))
    }
}

impl<T> FreeList<T> {
    fn idle(&self) -> MutexGuard<'_, Idle<T>> {
        // Nothing that can panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes and returns memory of this class, or of one that is at most a quarter larger.
    pub(super) fn take(&self, class: u64) -> Option<T> {
        let mut idle = self.idle();
        let size = *idle.by_size.range(class..=class.saturating_add(class / 4)).next()?.0;
        idle.remove(size, |_| true)
    }

    /// Removes and returns the memory of exactly this size for which `is_it` holds.
    pub(super) fn take_this(&self, size: u64, is_it: impl Fn(&T) -> bool) -> Option<T> {
        self.idle().remove(size, is_it)
    }

    /// Adds memory of this size, unless more than `limit` bytes would be idle: then it is dropped.
    pub(super) fn give(&self, memory: T, size: u64, limit: u64) {
        // Declared before the lock, so dropped after it is released.
        let _freed;
        let mut idle = self.idle();
        if idle.bytes + size <= limit {
            idle.bytes += size;
            idle.by_size.entry(size).or_default().push(memory);
        } else {
            _freed = memory;
        }
    }

    /// Frees all memory, and returns its size in bytes.
    pub(super) fn trim(&self) -> u64 {
        let (freed, bytes) = {
            let mut idle = self.idle();
            (std::mem::take(&mut idle.by_size), std::mem::take(&mut idle.bytes))
        };
        drop(freed);
        bytes
    }

    /// The number of idle bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.idle().bytes
    }
}

impl<T> Idle<T> {
    fn remove(&mut self, size: u64, will_do: impl Fn(&T) -> bool) -> Option<T> {
        let class = self.by_size.get_mut(&size)?;
        let memory = class.remove(class.iter().rposition(will_do)?);
        if class.is_empty() {
            self.by_size.remove(&size);
        }
        self.bytes -= size;
        Some(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_waste_an_eighth_at_most() {
        let mut last = 0;
        for bytes in (1..5000).chain((1 << 20) - 3..(1 << 20) + 3).chain([u64::MAX / 2, u64::MAX]) {
            let class = size_class(bytes);
            assert!(class >= bytes && class >= last, "{bytes} {class}");
            assert!(bytes <= SMALLEST || class - bytes <= bytes / 8 + 1, "{bytes} {class}");
            assert_eq!(size_class(class), class);
            last = class;
        }
    }

    #[test]
    fn what_exceeds_the_limit_is_freed() {
        let list = FreeList::default();
        let memory = std::sync::Arc::new(());
        list.give(memory.clone(), 256, 300);
        list.give(memory.clone(), 256, 300);
        assert_eq!((std::sync::Arc::strong_count(&memory), list.bytes()), (2, 256));
        assert!(list.take(192).is_none() && list.take(512).is_none());
        assert!(list.take_this(256, |_| false).is_none());
        assert!(list.take(250).is_some() && list.take(250).is_none());
        list.give(memory.clone(), 256, 300);
        assert_eq!((list.trim(), list.bytes(), std::sync::Arc::strong_count(&memory)), (256, 0, 1));
    }
}
