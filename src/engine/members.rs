//! Members of groups: Simulators that run copies of one Function, and exchange arrays by its
//! [collectives](crate::ops::CollectiveOp).

use super::simulator::Simulator;
use super::{Backend, Open};
use crate::error::{Error, Result};
use crate::function::{Function, Seats};
use crate::graph::digest::digest;
use std::sync::Arc;
use workalike_device::group::{Group, GroupError, direct, gather};

/// A backend whose Simulators are members of groups, for [`Function::optimize`]: made by [`member`].
#[derive(Debug)]
pub struct Member<B> {
    seats: Result<Seats>,
    inner: B,
    of_parts: bool,
    in_main_memory: bool,
    compared_every: Option<u64>,
}

/// A member of the group that a Function calls `name`, on a device. All members re-host the same Function at
/// the same time, each on its own device: [`Function::optimize`] waits for them, and compares their graphs.
///
/// If all members are on CUDA GPUs of their own, where the same version of NCCL is installed, NCCL carries
/// their arrays; the seat's group carries what it needs for that, and arrays in main memory. Otherwise the
/// seat's group carries everything: see [`Member::in_main_memory`].
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
pub fn member<B: Open>(name: &str, seat: Arc<dyn Group>, device: B) -> Member<B> {
    let seats = Ok(Seats::default());
    Member { seats, inner: device, of_parts: false, in_main_memory: false, compared_every: None }
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

    /// The same member, whose arrays go through main memory, also where NCCL could carry them: where it does
    /// not work, or to compare the two. All members of a group do the same.
    #[must_use]
    pub fn in_main_memory(self) -> Member<B> {
        Member { in_main_memory: true, ..self }
    }
}

impl<B: Open> Backend for Member<B> {
    type Simulator = Simulator;

    /// # Errors
    /// If a group has two seats of this member or the Function names a group in which it has none, if members
    /// have different Functions, or one of them does not come; if the device is missing, or NCCL fails.
    fn optimize(&self, function: &Function) -> Result<Simulator> {
        let seats = self.seats.as_ref().map_err(Clone::clone)?;
        let seats = seats.with_own_parts(self.of_parts);
        let function = &seats.own_parts(function)?;
        agree(function, &seats)?;
        let device = self.inner.open()?;
        let transport = || device.direct_transport().filter(|_| !self.in_main_memory);
        let direct = |name: &str, group: &_| {
            direct(transport(), group).map_err(|error| refused(function, name, &error))
        };
        let seats = &seats.carried_by(direct)?;
        let mut simulator = Simulator::new(&function.seated(seats)?, device, self.inner.options())?;
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
        let all = gather(group, &own).map_err(|error| refused(function, name, &error))?;
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
