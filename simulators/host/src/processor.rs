//! Which processor a thread runs on, and how a worker gets off its caller's.
//!
//! Linux looks for an idle processor for a thread that wakes only where it believes that the search pays: on two processors that
//! were both busy in the last milliseconds it does not. The worker then wakes on its caller's processor, and the two take turns there
//! until the next balancing, milliseconds later, while the other processor does nothing. So a worker looks where it is and moves.

/// The number of the processor that this thread runs on, or one that no processor has where the system does not say.
pub(super) fn current() -> usize {
    #[cfg(target_os = "linux")]
    return rustix::thread::sched_getcpu();
    #[cfg(not(target_os = "linux"))]
    usize::MAX
}

/// Moves this thread to another processor, of those it may use, if it runs on this one. It may come back later.
#[cfg(target_os = "linux")]
pub(super) fn leave(processor: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    if processor != current() || processor >= CpuSet::MAX_CPU {
        return;
    }
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(processor);
    // Refused, or nowhere to go: then both share it, which is slower and no more.
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        let _ = sched_setaffinity(None, &all);
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn leave(_: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::{sched_getaffinity, sched_setaffinity};

    #[test]
    fn a_thread_leaves_and_may_come_back() {
        let before = sched_getaffinity(None).unwrap();
        // The system may move it back at any time, but not always at once.
        let moved = (0..100).any(|_| {
            let here = current();
            leave(here);
            current() != here
        });
        // Some systems take a mask and do not heed it.
        let here = current();
        let mut others = before;
        others.unset(here);
        let heeded = others.count() > 0 && sched_setaffinity(None, &others).is_ok() && current() != here;
        sched_setaffinity(None, &before).unwrap();
        assert_eq!(moved, heeded);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
        leave(usize::MAX);
    }
}
