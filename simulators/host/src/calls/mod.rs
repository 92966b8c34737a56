//! Library calls on the host: cumulative folds, sorts, selections, searches, positions of what is not zero and what a mask keeps,
//! shared among the threads.

mod cumulate;
mod few;
mod keys;
mod network;
mod nonzero;
mod search;
mod select;
mod short;
mod sort;

use super::pool::Pool;
use cumulate::Cumulating;
use nonzero::Finder;
use search::Searcher;
use select::Selector;
use short::ShortSorter;
use sort::Sorter;
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::call::Call;

/// A call with memory bound.
pub(super) struct Called {
    name: String,
    work: Work,
}

enum Work {
    Cumulate(Cumulating),
    Sort(Sorter),
    SortShort(ShortSorter),
    Select(Selector),
    NonZero(Finder),
    Search(Searcher),
}

// SAFETY: the pointers are into blocks that the recording keeps and holds while it runs.
unsafe impl Send for Called {}
// SAFETY: as above; threads that share a call write different parts.
unsafe impl Sync for Called {}

/// Bytes of scratch memory of a call on so many threads.
pub(super) fn scratch(call: &Call, threads: usize) -> Option<u64> {
    match call {
        Call::Cumulate(c) => cumulate::scratch(c),
        Call::Sort(s) if select::pays(s) => Some(select::scratch(s, threads)),
        Call::Sort(s) if s.only.is_some() => None,
        Call::Sort(s) if short::pays(s) => Some(short::scratch(s, threads)),
        Call::Sort(s) => sort::scratch(s, threads),
        Call::NonZero(z) => nonzero::scratch(z, threads),
        Call::Search(_) => Some(0),
        Call::Scatter(_) => None,
    }
}

/// How tasks are shared, and which slice of the scratch memory each works in: planning asks how many slices there are, running which
/// one is a task's.
#[derive(Clone, Copy)]
struct Sharing {
    tasks: usize,
    threads: usize,
}

impl Sharing {
    /// Among all threads, if that `gains` something; else the calling thread has every task.
    fn new(tasks: usize, threads: usize, gains: bool) -> Sharing {
        Sharing { tasks, threads: if gains { threads } else { 1 } }
    }

    /// Slices of scratch memory: as many as there are tasks at a time.
    fn slices(&self) -> usize {
        self.tasks.min(self.threads).max(1)
    }

    /// Runs each task, given its number and its slice. False if one panicked, where threads share them; else the panic goes on.
    /// Small ones go by the dozen, so that taking one costs little.
    fn run(&self, pool: &Pool, task: &(dyn Fn(usize, usize) + Sync)) -> bool {
        let Sharing { tasks, threads } = *self;
        if threads == 1 {
            (0..tasks).for_each(|number| task(number, 0));
            return true;
        }
        let many = (tasks / (16 * threads)).max(1);
        pool.run(tasks.div_ceil(many), &|group, worker| {
            // Any of the threads may take a task: where tasks are fewer, each has the slice of its own number.
            let slice = |number: usize| if tasks <= threads { number } else { worker };
            (group * many..((group + 1) * many).min(tasks)).for_each(|number| task(number, slice(number)));
        })
    }
}

impl Called {
    /// Binds a call that was checked: `starts` are its arguments, as many and as large as it takes, aligned, and apart.
    pub(super) fn new(call: &Call, starts: &[*mut u8], threads: usize) -> DeviceResult<Called> {
        let work = match call {
            Call::Cumulate(c) => Work::Cumulate(Cumulating::new(c, starts)),
            Call::Sort(s) if select::pays(s) => Work::Select(Selector::new(s, starts, threads)),
            Call::NonZero(z) => Work::NonZero(Finder::new(z, starts, threads)),
            Call::Sort(s) if short::pays(s) => Work::SortShort(ShortSorter::new(s, starts, threads)),
            Call::Sort(s) => Work::Sort(Sorter::new(s, starts, threads)),
            Call::Search(s) => Work::Search(Searcher::new(s, starts, threads)),
            Call::Scatter(_) => {
                return Err(DeviceError::driver("host", "record", "the host scatters by Nests"));
            }
        };
        Ok(Called { name: call.name(), work })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs it. False if something panicked on another thread; a panic on this one goes on.
    ///
    /// # Safety
    /// The arguments are alive, and nobody else uses them meanwhile.
    pub(super) unsafe fn run(&self, pool: &Pool) -> bool {
        // SAFETY: passed on.
        unsafe {
            match &self.work {
                Work::Cumulate(work) => work.run(pool),
                Work::Sort(work) => work.run(pool),
                Work::SortShort(work) => work.run(pool),
                Work::Select(work) => work.run(pool),
                Work::NonZero(work) => work.run(pool),
                Work::Search(work) => work.run(pool),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn tasks_that_run_at_a_time_have_different_slices() {
        for threads in [1, 2, 4] {
            let pool = Pool::shared(threads);
            for tasks in [1, 2, 3, 4, 5, 40, 500] {
                let sharing = Sharing::new(tasks, threads, true);
                let taken: Vec<AtomicBool> = (0..sharing.slices()).map(|_| AtomicBool::new(false)).collect();
                let done: Vec<AtomicBool> = (0..tasks).map(|_| AtomicBool::new(false)).collect();
                assert!(sharing.run(&pool, &|task, slice| {
                    assert!(!taken[slice].swap(true, SeqCst));
                    std::thread::yield_now();
                    taken[slice].store(false, SeqCst);
                    assert!(!done[task].swap(true, SeqCst));
                }));
                assert!(done.iter().all(|done| done.load(SeqCst)), "{tasks} tasks on {threads} threads");
            }
        }
    }
}
