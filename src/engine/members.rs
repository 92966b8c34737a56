//! Members of groups: Simulators that run copies of one Function, and exchange arrays by its
//! [collectives](crate::ops::CollectiveOp).

use super::Backend;
use super::simulator::Simulator;
use crate::error::{Error, Result};
use crate::function::{Function, Seats};
use crate::graph::digest::digest;
use std::sync::Arc;
use workalike_device::group::{Collective, CollectiveKind, Group, GroupError};
use workalike_kernels::DType;

/// A backend whose Simulators are members of groups, for [`Function::optimize`]: made by [`member`].
#[derive(Debug)]
pub struct Member<B> {
    seats: Result<Seats>,
    inner: B,
    of_parts: bool,
    compared_every: Option<u64>,
}

/// A member of the group that a Function calls `name`, on a device. All members re-host the same Function at
/// the same time, each on its own device: [`Function::optimize`] waits for them, and compares their graphs.
///
/// ```
/// use std::time::Duration;
/// use workalike::engine::{device::group::threads, member};
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(x.all_reduce(Reduction::Sum, "workers")).compile()?;
/// let sums = std::thread::scope(|scope| {
///     let work = threads(2, Duration::from_secs(60)).into_iter().map(|seat| {
///         scope.spawn(|| {
///             let rank = seat.rank() as f32;
///             let mut sim = f.optimize(member("workers", seat, Host::threads(1)))?;
///             sim.call(args![vec![rank, 10.0]])?[0].to_vec::<f32>()
///         })
///     });
///     let work: Vec<_> = work.collect();
///     work.into_iter().map(|member| member.join().unwrap()).collect::<workalike::Result<Vec<_>>>()
/// })?;
/// assert_eq!(sums, [[1.0, 20.0], [1.0, 20.0]]);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn member<B: Backend<Simulator = Simulator>>(name: &str, seat: Arc<dyn Group>, device: B) -> Member<B> {
    Member { seats: Ok(Seats::default()), inner: device, of_parts: false, compared_every: None }
        .and(name, seat)
}

impl<B> Member<B> {
    /// The same member, which also has a seat in another group. Members take their seats in the same order.
    #[must_use]
    pub fn and(self, name: &str, seat: Arc<dyn Group>) -> Member<B> {
        let seats = self.seats.and_then(|mut seats| {
            seats.add(name, seat)?;
            Ok(seats)
        });
        Member { seats, ..self }
    }

    /// For debugging: after so many steps, by `call` or `run_n`, the bits of all shared variables are
    /// compared with the other members', and a difference is an error that names the variable and the member:
    /// see [`Simulator::compare_members`]. Not for variables of which members keep parts. All members do the
    /// same.
    #[must_use]
    pub fn compared_every(self, steps: u64) -> Member<B> {
        Member { compared_every: Some(steps), ..self }
    }

    /// The same member, which is given its own parts of the inputs that a [data
    /// parallel](Function::data_parallel) Function divides, and gives its own rows of outputs that have such.
    /// So no member needs all of a batch. Without it a member is called with whole inputs, takes its parts of
    /// them, and gathers all rows of outputs.
    ///
    /// All members of a group do the same.
    #[must_use]
    pub fn with_own_parts(self) -> Member<B> {
        Member { of_parts: true, ..self }
    }
}

impl<B: Backend<Simulator = Simulator>> Backend for Member<B> {
    type Simulator = Simulator;

    /// # Errors
    /// If a group has two seats of this member or the Function names a group in which it has none, if members
    /// have different Functions, or one of them does not come.
    fn optimize(&self, function: &Function) -> Result<Simulator> {
        let seats = self.seats.as_ref().map_err(Clone::clone)?;
        let seats = &seats.with_own_parts(self.of_parts);
        let function = &seats.own_parts(function)?;
        agree(function, seats)?;
        let mut simulator = self.inner.optimize(&function.seated(seats)?)?;
        simulator.join_groups(seats.clone(), self.compared_every);
        Ok(simulator)
    }
}

/// Compares the graphs of all members.
///
/// # Errors
/// Which member has another one.
pub(super) fn agree(function: &Function, seats: &Seats) -> Result<()> {
    let own = match seats.is_empty() {
        true => return Ok(()),
        false => digest(function.graph())?,
    };
    for (name, group) in seats.groups() {
        let all = gather_digests(group, &own).map_err(|error| refused(function, name, &error))?;
        if let Some(rank) = all.chunks_exact(own.len()).position(|theirs| theirs != own) {
            let what = format!("the graph of {} at member {rank} of the group {name}", function.name());
            let expected = format!("that of member {}: all members load the same file", group.rank());
            return Err(Error::mismatch(what, expected, "another graph"));
        }
    }
    Ok(())
}

fn refused(function: &Function, group: &str, error: &GroupError) -> Error {
    Error::Sync(format!("{} could not join the group {group}: {error}", function.name()))
}

/// What all members have to compare, by rank.
pub(super) fn gather_digests(group: &Arc<dyn Group>, own: &[u8]) -> Result<Vec<u8>, GroupError> {
    // No node has this number.
    let (number, kind, elements) = (u64::MAX, CollectiveKind::AllGather, vec![own.len() as u64]);
    let gather = Collective { kind, dtype: DType::U8, elements, group: group.clone(), number };
    let mut all = vec![0; own.len() * group.size()];
    group.exchange(&gather, &[own], &mut [&mut all])?;
    Ok(all)
}
