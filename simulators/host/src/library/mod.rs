//! Library ops on the host: cumulative folds, sorts, selections, searches, positions of nonzeros, compression
//! by a mask, scatters of rows, shared among threads; and every other op that has a definition.

mod cumulate;
mod keys;
mod nonzero;
mod scatter;
mod search;
mod sort;

use super::pool::ThreadPool;
use cumulate::Cumulating;
use nonzero::Finder;
use scatter::Scattering;
use search::Searcher;
use sort::Sorter;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, definition_failed, operand_bytes};
use workalike_kernels::library::{Cumulate, Definition, LibraryNonZero, LibraryOp, Scatter, Search, Sorting};

/// A library op with memory bound.
pub(super) struct LibraryCall {
    name: String,
    work: LibraryWork,
}

enum LibraryWork {
    Cumulate(Cumulating),
    Sort(Sorter),
    NonZero(Finder),
    Scatter(Scattering),
    Search(Searcher),
    Defined(Defined),
}

// SAFETY: the pointers are into blocks that the recording keeps alive and locks while it runs, so any thread
// may use them.
unsafe impl Send for LibraryCall {}
// SAFETY: it is immutable. Only `run` uses the memory behind the pointers, and its caller excludes other
// threads; the threads of one run write different parts.
unsafe impl Sync for LibraryCall {}

/// Bytes of scratch memory of an op on this many threads; `None` if the host has no code for it.
pub(super) fn scratch(op: &dyn LibraryOp, threads: usize) -> Option<u64> {
    if let Some(sorting) = op.downcast::<Sorting>() {
        return sort::scratch(sorting, threads);
    }
    if let Some(fold) = op.downcast::<Cumulate>() {
        return cumulate::scratch(fold);
    }
    if let Some(find) = op.downcast::<LibraryNonZero>() {
        return nonzero::scratch(find, threads);
    }
    if let Some(scatter) = op.downcast::<Scatter>() {
        return scatter::scratch(scatter);
    }
    let known = op.downcast::<Search>().is_some() || op.has_definition();
    known.then_some(0)
}

/// The definitions of a recording, by the addresses of their ops. An op that is recorded several times has
/// one definition, and one piece of memory.
pub(super) type Definitions = HashMap<*const (), Arc<Definition>>;

/// An op that runs by its definition, on the calling thread.
struct Defined {
    definition: Arc<Definition>,
    /// Addresses and sizes in bytes of the operands: the read ones, and the written ones.
    read: Vec<(*const u8, usize)>,
    written: Vec<(*mut u8, usize)>,
}

impl Defined {
    /// `operands` as for [`LibraryCall::new`].
    fn new(
        op: &dyn LibraryOp,
        operands: &[(*mut u8, usize)],
        definitions: &mut Definitions,
    ) -> DeviceResult<Defined> {
        let definition = match definitions.entry(std::ptr::from_ref(op).cast::<()>()) {
            Entry::Occupied(made) => made.get().clone(),
            Entry::Vacant(place) => {
                let Some(definition) = op.definition() else {
                    let what = format!("{} as a library op", op.name());
                    return Err(DeviceError::Unsupported { device: "host".into(), what });
                };
                let definition = definition.map_err(|error| definition_failed("host", "record", error))?;
                place.insert(Arc::new(definition)).clone()
            }
        };
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for (operand, &(start, bytes)) in op.operands().iter().zip(operands) {
            // A definition gets exactly the operand; the region may be longer.
            let bytes = usize::try_from(operand_bytes(operand)).map_or(bytes, |own| own.min(bytes));
            if operand.written {
                written.push((start, bytes));
            } else {
                read.push((start.cast_const(), bytes));
            }
        }
        Ok(Defined { definition, read, written })
    }

    /// # Safety
    /// The operands it was made with are alive, and written ones overlap no other. No other thread writes an
    /// operand that is read, or uses one that is written.
    unsafe fn run(&self) -> DeviceResult<()> {
        let read = self.read.iter().map(|&(at, bytes)| {
            // SAFETY: the caller keeps the operands alive and unwritten; they are initialized bytes.
            unsafe { std::slice::from_raw_parts(at, bytes) }
        });
        let written = self.written.iter().map(|&(at, bytes)| {
            // SAFETY: the caller keeps the operands alive; it guarantees that written ones overlap no other
            // operand, and that no other thread uses them.
            unsafe { std::slice::from_raw_parts_mut(at, bytes) }
        });
        let done = gathered(read, |read| gathered(written, |written| (self.definition)(read, written)));
        done.map_err(|error| definition_failed("host", "replay", error))
    }
}

/// Operands that are collected without an allocation: the most that any op of this workspace has.
const FEW: usize = 8;

/// Calls `with` on a slice of the items, which is on the stack if there are at most [`FEW`].
fn gathered<T: Default, R>(items: impl ExactSizeIterator<Item = T>, with: impl FnOnce(&mut [T]) -> R) -> R {
    let mut few: [T; FEW] = Default::default();
    match few.get_mut(..items.len()) {
        Some(few) => {
            few.iter_mut().zip(items).for_each(|(place, item)| *place = item);
            with(few)
        }
        None => with(&mut items.collect::<Vec<T>>()),
    }
}

/// How tasks are shared, and the slice of the scratch memory of each. Planning needs the number of slices,
/// running the index of a task's slice.
#[derive(Clone, Copy)]
struct Sharing {
    tasks: usize,
    threads: usize,
}

impl Sharing {
    /// Among all threads if that `gains` time; else the calling thread runs every task.
    fn new(tasks: usize, threads: usize, gains: bool) -> Sharing {
        Sharing { tasks, threads: if gains { threads } else { 1 } }
    }

    /// Slices of scratch memory: one per task that runs at a time.
    fn slices(&self) -> usize {
        self.tasks.min(self.threads).max(1)
    }

    /// Runs each task with its number and its slice. False if one panicked, where threads share them; else
    /// the panic propagates. Small tasks are grouped, so that taking one costs little.
    fn run(&self, pool: &ThreadPool, task: &(dyn Fn(usize, usize) + Sync)) -> bool {
        let Sharing { tasks, threads } = *self;
        if threads == 1 {
            (0..tasks).for_each(|number| task(number, 0));
            return true;
        }
        let many = (tasks / (16 * threads)).max(1);
        pool.run(tasks.div_ceil(many), &|group, worker| {
            // Any of the threads may take a task; if there are fewer tasks than threads, the slice has the
            // task's number.
            let slice = |number: usize| if tasks <= threads { number } else { worker };
            (group * many..((group + 1) * many).min(tasks)).for_each(|number| task(number, slice(number)));
        })
    }
}

impl LibraryCall {
    /// Binds a checked op. `operands`: the address and size of each operand, the read ones, the written ones,
    /// then scratch. Only [`LibraryCall::run`] may touch them.
    pub(super) fn new(
        op: &dyn LibraryOp,
        operands: &[(*mut u8, usize)],
        threads: usize,
        definitions: &mut Definitions,
    ) -> DeviceResult<LibraryCall> {
        let starts: Vec<*mut u8> = operands.iter().map(|operand| operand.0).collect();
        let starts = starts.as_slice();
        let work = if let Some(sorting) = op.downcast::<Sorting>() {
            LibraryWork::Sort(Sorter::new(sorting, starts, threads))
        } else if let Some(fold) = op.downcast::<Cumulate>() {
            LibraryWork::Cumulate(Cumulating::new(fold, starts))
        } else if let Some(scatter) = op.downcast::<Scatter>() {
            LibraryWork::Scatter(Scattering::new(scatter, starts))
        } else if let Some(find) = op.downcast::<LibraryNonZero>() {
            LibraryWork::NonZero(Finder::new(find, starts, threads))
        } else if let Some(search) = op.downcast::<Search>() {
            LibraryWork::Search(Searcher::new(search, starts, threads))
        } else {
            LibraryWork::Defined(Defined::new(op, operands, definitions)?)
        };
        Ok(LibraryCall { name: op.name(), work })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Runs it. False if something panicked on another thread; a panic on this one propagates.
    ///
    /// # Errors
    /// The error of its definition.
    ///
    /// # Safety
    /// - The operands it was made with are alive, as large as the op says, and aligned for their dtypes;
    ///   scratch is as large as [`scratch`] says for this many threads, and aligned to 16 bytes.
    /// - Written operands and scratch overlap nothing else.
    /// - No other thread writes an operand that is read, or uses one that is written. The pool has the
    ///   threads that it was made for.
    pub(super) unsafe fn run(&self, pool: &ThreadPool) -> DeviceResult<bool> {
        // SAFETY: the caller guarantees what each of them needs for the operands that it was made with.
        let done = unsafe {
            match &self.work {
                LibraryWork::Cumulate(work) => work.run(pool),
                LibraryWork::Sort(work) => work.run(pool),
                LibraryWork::NonZero(work) => work.run(pool),
                LibraryWork::Scatter(work) => work.run(pool),
                LibraryWork::Search(work) => work.run(pool),
                LibraryWork::Defined(work) => return work.run().map(|()| true),
            }
        };
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn tasks_that_run_at_a_time_have_different_slices() {
        for threads in [1, 2, 4] {
            let pool = ThreadPool::shared(threads);
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
