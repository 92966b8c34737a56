//! Work of all members at once, each in a thread.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use workalike_device::group::Group;

pub(super) fn no_members() -> Error {
    Error::Internal("a group without members".into())
}

/// Tells the other members if this one panics.
struct CloseOnPanic<'s>(&'s dyn Group);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        self.0.close("it panicked");
    }
}

/// What members have finished.
pub(super) struct Finished<T> {
    /// By rank.
    results: Vec<Result<T>>,
    /// The first member that failed, and not because it waited for another.
    failed: Option<usize>,
}

impl<T> Finished<T> {
    /// The first member that failed, if not all did in the same way.
    pub(super) fn failed_alone(&self) -> Option<usize> {
        let why = |result: &Result<T>| result.as_ref().err().map(Error::to_string);
        let first = self.failed?;
        let own = why(&self.results[first]);
        self.results.iter().any(|result| why(result) != own).then_some(first)
    }

    /// The error of a member that failed alone, whose values the others could not be given.
    pub(super) fn unequal(&self, error: &Error) -> Error {
        let failed = self.failed.and_then(|rank| self.results[rank].as_ref().err());
        let why = failed.map(Error::to_string).unwrap_or_default();
        Error::Sync(format!(
            "a member of the group failed alone: {why}. The others could not be given its shared variables, which may \
             differ now ({error}): set them, or load a checkpoint"
        ))
    }

    /// All results, or the error of the member that failed.
    pub(super) fn all(self) -> Result<Vec<T>> {
        let Finished { results, failed } = self;
        match failed {
            None => results.into_iter().collect(),
            Some(failed) => {
                results.into_iter().nth(failed).unwrap_or_else(|| Err(no_members())).map(|_| vec![])
            }
        }
    }
}

/// Runs `work` for each member, all at once, and returns the results by rank. If it fails for one, the others
/// stop waiting for that member, and the error is its own.
pub(super) fn together<I: Send, T: Send>(
    seats: &[Arc<dyn Group>],
    items: Vec<I>,
    work: impl Fn(usize, I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    finished(seats, items, work).all()
}

/// [`together`], with what the others have done if one fails.
pub(super) fn finished<I: Send, T: Send>(
    seats: &[Arc<dyn Group>],
    items: Vec<I>,
    work: impl Fn(usize, I) -> Result<T> + Sync,
) -> Finished<T> {
    let (work, nobody) = (&work, usize::MAX);
    let failed = AtomicUsize::new(nobody);
    let run = |rank: usize, item: I| {
        let guard = CloseOnPanic(seats[rank].as_ref());
        let result = work(rank, item);
        std::mem::forget(guard);
        if let Err(error) = &result {
            // The first to fail is not one that waited for another.
            _ = failed.compare_exchange(nobody, rank, Ordering::AcqRel, Ordering::Acquire);
            seats[rank].close(&error.to_string());
        }
        result
    };
    let results: Vec<Result<T>> = thread::scope(|scope| {
        let run = &run;
        let mut items = items.into_iter().enumerate();
        let own = items.next();
        let others: Vec<_> = items.map(|(rank, item)| scope.spawn(move || run(rank, item))).collect();
        let own = own.map(|(rank, item)| run(rank, item));
        let panicked = |_| Err(Error::Internal("a member panicked".into()));
        let others = others.into_iter().map(|member| member.join().unwrap_or_else(panicked));
        own.into_iter().chain(others).collect()
    });
    let failed = Some(failed.into_inner()).filter(|&failed| failed != nobody);
    // No member is in an exchange any more.
    if let (Some(_), Some(seat)) = (failed, seats.first()) {
        _ = seat.reopen();
    }
    Finished { results, failed }
}
