//! A group of threads of one process: members lay their arrays down, and wait until all have.

use super::combine::combine;
use super::{Collective, CollectiveKind, Group, GroupError};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use workalike_kernels::nest::Fold;

/// From so many bytes on, each member folds a part of the arrays, and passes it to the others.
const SHARED_WORK: usize = 1 << 14;

/// A member of a group of threads. When it is dropped, it has left the group.
#[derive(Debug)]
struct ThreadMember {
    table: Arc<Table>,
    rank: usize,
    patience: Duration,
}

/// The members of a group of `size` threads of this process, by rank. In a collective each waits for the others
/// for as long as `patience`; after that it is an error for all. A first call compiles kernels, so minutes are
/// the right order.
///
/// ```
/// use std::time::Duration;
/// use workalike_device::group::threads;
/// let members = threads(2, Duration::from_secs(600));
/// assert_eq!((members[1].rank(), members[1].size()), (1, 2));
/// ```
pub fn threads(size: usize, patience: Duration) -> Vec<Arc<dyn Group>> {
    let table = Arc::new(Table { size, state: Mutex::new(State::new(size)), changed: Condvar::new() });
    let member = |rank| Arc::new(ThreadMember { table: table.clone(), rank, patience }) as Arc<dyn Group>;
    (0..size).map(member).collect()
}

/// Where members meet.
#[derive(Debug)]
struct Table {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// What the members of this round laid down, by rank.
    laid: Vec<Option<Laid>>,
    /// The number of complete rounds, and what was laid down in the last one. The next round cannot be complete
    /// before all members have taken it.
    round: u64,
    complete: Arc<Vec<Arc<Vec<u8>>>>,
    /// Why there are no more rounds.
    closed: Option<GroupError>,
}

/// What a member lays down.
#[derive(Debug)]
struct Laid {
    what: String,
    bytes: Arc<Vec<u8>>,
}

impl State {
    fn new(size: usize) -> State {
        State { laid: (0..size).map(|_| None).collect(), round: 0, complete: Arc::default(), closed: None }
    }
}

impl Table {
    /// The state. It is consistent whenever the lock is free, so a panic of another member does not matter.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A copy that outlives the call.
fn copied(bytes: &[u8]) -> Result<Arc<Vec<u8>>, GroupError> {
    let mut copy = Vec::new();
    let refused = |_| GroupError::OutOfMemory { bytes: bytes.len() as u64 };
    copy.try_reserve_exact(bytes.len()).map_err(refused)?;
    copy.extend_from_slice(bytes);
    Ok(Arc::new(copy))
}

impl ThreadMember {
    /// Lays bytes down and returns what all members laid down, by rank.
    fn meet(&self, what: String, bytes: Arc<Vec<u8>>) -> Result<Arc<Vec<Arc<Vec<u8>>>>, GroupError> {
        let deadline = Instant::now() + self.patience;
        let mut state = self.table.lock();
        if let Some(error) = &state.closed {
            return Err(error.clone());
        }
        let other = state.laid.iter().position(|laid| laid.as_ref().is_some_and(|laid| laid.what != what));
        if let Some(rank) = other {
            let theirs = state.laid[rank].as_ref().map_or_else(String::new, |laid| laid.what.clone());
            let error = GroupError::Differs { rank, theirs, own: self.rank, ours: what };
            return Err(self.close(&mut state, error));
        }
        let round = state.round;
        state.laid[self.rank] = Some(Laid { what, bytes });
        if state.laid.iter().all(Option::is_some) {
            state.complete =
                Arc::new(state.laid.iter_mut().filter_map(Option::take).map(|laid| laid.bytes).collect());
            state.round += 1;
            self.table.changed.notify_all();
            return Ok(state.complete.clone());
        }
        loop {
            if state.round != round {
                return Ok(state.complete.clone());
            }
            if let Some(error) = &state.closed {
                return Err(error.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let missing = (0..self.table.size).filter(|&rank| state.laid[rank].is_none()).collect();
                let what = state.laid[self.rank].as_ref().map_or_else(String::new, |laid| laid.what.clone());
                return Err(self.close(&mut state, GroupError::Late { missing, what, waited: self.patience }));
            }
            state = self.table.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends all rounds.
    fn close(&self, state: &mut State, error: GroupError) -> GroupError {
        let error = state.closed.get_or_insert(error).clone();
        self.table.changed.notify_all();
        error
    }

    /// Folds the same part of all arrays; `part` are its bytes, `whole` is its place in `output`.
    fn reduce(
        &self,
        collective: &Collective,
        fold: Fold,
        arrays: &[Arc<Vec<u8>>],
        part: Range<usize>,
        output: &mut [u8],
    ) {
        let parts: Vec<&[u8]> = arrays.iter().map(|array| &array[part.clone()]).collect();
        combine(fold, collective.dtype, &parts, output);
    }

    /// The part of `bytes` that this member folds for all: whole elements.
    fn share(&self, bytes: usize, element: usize, rank: usize) -> Range<usize> {
        let elements = bytes / element;
        let bound = |rank: usize| elements * rank / self.table.size * element;
        bound(rank)..bound(rank + 1)
    }

    fn all_reduce(
        &self,
        collective: &Collective,
        fold: Fold,
        arrays: &[Arc<Vec<u8>>],
        output: &mut [u8],
    ) -> Result<(), GroupError> {
        let bytes = output.len();
        if bytes < SHARED_WORK {
            self.reduce(collective, fold, arrays, 0..bytes, output);
            return Ok(());
        }
        let element = collective.dtype.size();
        let own = self.share(bytes, element, self.rank);
        self.reduce(collective, fold, arrays, own.clone(), &mut output[own.clone()]);
        let what = format!("{}, second part", collective.describe());
        let parts = self.meet(what, copied(&output[own])?)?;
        for (rank, part) in parts.iter().enumerate().filter(|(rank, _)| *rank != self.rank) {
            output[self.share(bytes, element, rank)].copy_from_slice(part);
        }
        Ok(())
    }
}

impl Group for ThreadMember {
    fn transport(&self) -> &str {
        "threads"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.table.size
    }

    fn exchange(&self, collective: &Collective, input: &[u8], output: &mut [u8]) -> Result<(), GroupError> {
        // The others do not wait for a member that cannot come.
        collective.check(input, output).map_err(|error| self.close(&mut self.table.lock(), error))?;
        // Members that need no array of this one still learn that it is there.
        let arrays = self.meet(collective.describe(), copied(input)?)?;
        match &collective.kind {
            CollectiveKind::AllReduce(fold) => self.all_reduce(collective, *fold, &arrays, output)?,
            CollectiveKind::ReduceScatter(fold) => {
                let part = self.rank * output.len()..(self.rank + 1) * output.len();
                self.reduce(collective, *fold, &arrays, part, output);
            }
            CollectiveKind::AllGather => {
                let bytes = input.len();
                arrays.iter().enumerate().for_each(|(rank, array)| {
                    output[rank * bytes..(rank + 1) * bytes].copy_from_slice(array);
                });
            }
            CollectiveKind::Broadcast { root } => output.copy_from_slice(&arrays[*root]),
            CollectiveKind::Permute(route) => match route.source(self.rank, self.table.size) {
                Some(source) => output.copy_from_slice(&arrays[source]),
                None => output.fill(0),
            },
        }
        Ok(())
    }
}

impl Drop for ThreadMember {
    fn drop(&mut self) {
        let mut state = self.table.lock();
        self.close(&mut state, GroupError::Left { rank: self.rank });
    }
}

#[cfg(test)]
mod tests;
