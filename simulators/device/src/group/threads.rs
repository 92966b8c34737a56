//! A group of threads of one process: members lay their arrays down, and wait until all have.

use super::ranges::{combine_range, element_start};
use super::results::{each_place, results};
use super::work_memory::{joined, zeros};
use super::{Collective, CollectiveArray, Group, GroupError};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From so many bytes on, each member folds a part of the arrays, and passes it to the others.
const SHARED_WORK: usize = 1 << 14;

/// A member of a group of threads. When it is dropped, it has left the group.
#[derive(Debug)]
struct ThreadMember {
    table: Arc<Table>,
    rank: usize,
    patience: Duration,
}

/// The members of a group of `size` threads of this process, by rank. In a collective each waits for the
/// others for as long as `patience`; after that it is an error for all. A first call compiles kernels, so
/// minutes are the right order.
///
/// ```
/// use std::time::Duration;
/// use workalike_device::group::threads;
/// let members = threads(2, Duration::from_secs(600));
/// assert_eq!((members[1].rank(), members[1].size()), (1, 2));
/// ```
pub fn threads(size: usize, patience: Duration) -> Vec<Arc<dyn Group>> {
    let table = Arc::new(Table { size, state: Mutex::new(TableState::new(size)), changed: Condvar::new() });
    let member = |rank| Arc::new(ThreadMember { table: table.clone(), rank, patience }) as Arc<dyn Group>;
    (0..size).map(member).collect()
}

/// Where members meet.
#[derive(Debug)]
struct Table {
    size: usize,
    state: Mutex<TableState>,
    changed: Condvar,
}

#[derive(Debug)]
struct TableState {
    /// What the members of this round laid down, by rank.
    laid: Vec<Option<Laid>>,
    /// The number of complete rounds, and what was laid down in the last one. The next round cannot be
    /// complete before all members have taken it.
    round: u64,
    complete: Arc<Vec<Arc<Vec<u8>>>>,
    /// Why there are no more rounds.
    closed: Option<GroupError>,
    /// A member is gone.
    left: bool,
    /// How often it was opened again.
    openings: u64,
}

/// What a member lays down.
#[derive(Debug)]
struct Laid {
    what: String,
    bytes: Arc<Vec<u8>>,
}

impl TableState {
    fn new(size: usize) -> TableState {
        TableState {
            laid: (0..size).map(|_| None).collect(),
            round: 0,
            complete: Arc::default(),
            closed: None,
            left: false,
            openings: 0,
        }
    }
}

impl Table {
    /// The state. It is consistent whenever the lock is free, so a panic of another member does not matter.
    fn lock(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadMember {
    /// Lays bytes down and returns what all members laid down, by rank.
    fn meet(&self, what: String, bytes: Arc<Vec<u8>>) -> Result<Arc<Vec<Arc<Vec<u8>>>>, GroupError> {
        // Without a time that can be reached it waits for as long as it takes.
        let deadline = Instant::now().checked_add(self.patience);
        let mut state = self.table.lock();
        if let Some(error) = &state.closed {
            return Err(error.clone());
        }
        let other = state.laid.iter().position(|laid| laid.as_ref().is_some_and(|laid| laid.what != what));
        if let Some(rank) = other {
            let theirs = state.laid[rank].as_ref().map_or_else(String::new, |laid| laid.what.clone());
            let error = GroupError::Differs { rank, theirs, own: self.rank, ours: what };
            return Err(self.end(&mut state, error));
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
            let until = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
            let left = deadline.map_or(Duration::from_secs(3600), until);
            if left.is_zero() {
                let missing = (0..self.table.size).filter(|&rank| state.laid[rank].is_none()).collect();
                let what = state.laid[self.rank].as_ref().map_or_else(String::new, |laid| laid.what.clone());
                return Err(self.end(&mut state, GroupError::Late { missing, what, waited: self.patience }));
            }
            state = self.table.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends all rounds.
    fn end(&self, state: &mut TableState, error: GroupError) -> GroupError {
        // A member that left does not return, so the group cannot be opened again.
        if matches!(error, GroupError::Left { .. }) {
            state.left = true;
        }
        let error = state.closed.get_or_insert(error).clone();
        self.table.changed.notify_all();
        error
    }

    /// The range of `bytes` that a member folds for all: whole elements.
    fn share(&self, arrays: &[CollectiveArray], bytes: usize, rank: usize) -> Range<usize> {
        let bound = |rank: usize| element_start(arrays, bytes * rank / self.table.size);
        bound(rank)..bound(rank + 1)
    }

    /// A reduction of large arrays: each member folds its share, and passes it to the others. `members` are
    /// the arrays of each, one after another.
    fn all_reduce(
        &self,
        collective: &Collective,
        members: &[Arc<Vec<u8>>],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        let bytes: usize = outputs.iter().map(|output| output.len()).sum();
        let share = |rank: usize| self.share(&collective.arrays, bytes, rank);
        let mut own = zeros(share(self.rank).len())?;
        let given: Vec<&[u8]> = members.iter().map(|member| &member[share(self.rank)]).collect();
        combine_range(&collective.arrays, share(self.rank), &given, &mut own);
        let parts = self.meet(format!("{}, second part", collective.describe()), Arc::new(own))?;
        each_place(outputs, |place, output| {
            for (rank, part) in parts.iter().enumerate() {
                let share = share(rank);
                let common = share.start.max(place.start)..share.end.min(place.end);
                if !common.is_empty() {
                    let from = common.start - share.start..common.end - share.start;
                    output[common.start - place.start..common.end - place.start].copy_from_slice(&part[from]);
                }
            }
        });
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

    fn patience(&self) -> Duration {
        self.patience
    }

    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        // The others do not wait for a member that cannot come.
        let checked = collective.check(inputs, outputs);
        checked.map_err(|error| self.end(&mut self.table.lock(), error))?;
        let arrays = self.meet(collective.describe(), Arc::new(joined(inputs)?))?;
        let large = outputs.iter().map(|output| output.len()).sum::<usize>() >= SHARED_WORK;
        if large && collective.is_all_reduce() {
            return self.all_reduce(collective, &arrays, outputs);
        }
        let arrays: Vec<&[u8]> = arrays.iter().map(|array| array.as_slice()).collect();
        results(collective, self.rank, &arrays, outputs);
        Ok(())
    }

    fn close(&self, why: &str) {
        self.end(&mut self.table.lock(), GroupError::Failed { rank: self.rank, why: why.into() });
    }

    fn closed(&self) -> Option<GroupError> {
        self.table.lock().closed.clone()
    }

    fn openings(&self) -> u64 {
        self.table.lock().openings
    }

    fn reopen(&self) -> Result<(), GroupError> {
        let mut state = self.table.lock();
        if let (true, Some(error)) = (state.left, &state.closed) {
            return Err(error.clone());
        }
        if state.closed.take().is_some() {
            state.openings += 1;
        }
        state.laid.iter_mut().for_each(|laid| *laid = None);
        Ok(())
    }
}

impl Drop for ThreadMember {
    fn drop(&mut self) {
        let mut state = self.table.lock();
        self.end(&mut state, GroupError::Left { rank: self.rank });
    }
}

#[cfg(test)]
mod tests;
