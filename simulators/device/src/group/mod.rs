//! Groups: members that each run a copy of one Function, and exchange arrays by collectives.
//!
//! A [`Group`] is one member's side of it: its rank, the number of members, and how their arrays meet. A
//! device knows no group. A [`Collective`] is a library op that holds its member's side; where a device has
//! no code of its own for the pair, the exchange goes through main memory.
//!
//! - `collective`: what is exchanged, as a library op; `exchange_check`: whether it was;
//! - `combine`: sums and extremes of the members' arrays in main memory;
//! - `direct`: groups whose arrays pass by main memory, made over groups whose arrays do not;
//! - `gather`: small things that members tell each other;
//! - [`Launched`]: the place of a process among those of a launcher;
//! - `ranges`: ranges of the bytes of several arrays, of which members fold one each;
//! - `threads`: a group of threads of one process; `by_gathering`: one over another library; `results`: what
//!   members of both get; `work_memory`: the memory of exchanges.

mod by_gathering;
mod collective;
mod combine;
mod direct;
mod exchange_check;
mod gather;
mod launch;
mod ranges;
mod results;
mod threads;
mod work_memory;

pub use by_gathering::by_gathering;
pub use collective::{Collective, CollectiveArray, CollectiveKind, Route};
pub use combine::combine;
pub use direct::{DirectTransport, direct};
pub use exchange_check::ExchangeCheck;
pub use gather::{broadcast, compare, gather};
pub use launch::Launched;
pub use ranges::{combine_range, element_start};
pub use threads::threads;
pub use work_memory::{joined, zeros};

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

/// One member's side of a group.
///
/// All members call [`Group::exchange`] with equal collectives in the same order. After an error the group is
/// of no more use: each later call, by any member, is an error.
pub trait Group: Any + Debug + Send + Sync {
    /// What carries the arrays, e.g. `threads` or `MPI`.
    fn transport(&self) -> &str;
    /// This member's number, from 0.
    fn rank(&self) -> usize;
    /// The number of members.
    fn size(&self) -> usize;
    /// How long a member waits for others before that is an error for all.
    fn patience(&self) -> Duration;
    /// Computes a collective on arrays in main memory, contiguous and row-major: one input and one output for
    /// each of [`Collective::arrays`]. Waits for the members that it needs.
    ///
    /// # Errors
    /// If a member has left, is at another collective, or did not come in time. The outputs are unspecified
    /// then.
    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError>;
    /// Tells the others that this member cannot go on, so that they do not wait for it. By default they get
    /// an error when their wait times out.
    fn close(&self, why: &str) {
        let _ = why;
    }
    /// Why the group is closed, if it is known to be; does not wait.
    fn closed(&self) -> Option<GroupError> {
        None
    }
    /// How often it was opened again. What a device has begun with a group ends with its closing.
    fn openings(&self) -> u64 {
        0
    }
    /// Whether devices exchange arrays by themselves, and so may go on after an exchange that did not take
    /// place: see [`ExchangeCheck`].
    fn needs_check(&self) -> bool {
        false
    }
    /// Opens a group again that was closed, while no member is in an exchange: one of them does it for all.
    ///
    /// # Errors
    /// If a member has left, or the transport cannot do it.
    fn reopen(&self) -> Result<(), GroupError> {
        Err(GroupError::Transport {
            transport: self.transport().into(),
            call: "reopen".into(),
            message: "a group that was closed stays closed; make another".into(),
        })
    }
}

impl dyn Group {
    /// The member's side as a `T`, if it is of that type.
    pub fn downcast<T: Group>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Why members could not exchange arrays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A member is gone: its Simulator or its thread ended, or its process died.
    #[error(
        "member {rank} has left the group; the others cannot go on without it: restart from a checkpoint"
    )]
    Left {
        /// The member.
        rank: usize,
    },
    /// A member's call failed before it came.
    #[error("member {rank} could not come, since its own call failed: {why}")]
    Failed {
        /// The member.
        rank: usize,
        /// Its error.
        why: String,
    },
    /// A member did not come in time.
    #[error("{} did not come to {what} within {} s; the group is closed", members(.missing), waited.as_secs_f64())]
    Late {
        /// The members that did not come.
        missing: Vec<usize>,
        /// The collective.
        what: String,
        /// The time that the others waited.
        waited: Duration,
    },
    /// Members are at different collectives.
    #[error(
        "member {rank} is at {theirs}, member {own} at {ours}: all members must run the same Function on arrays of equal shapes"
    )]
    Differs {
        /// The other member.
        rank: usize,
        /// Its collective.
        theirs: String,
        /// This member.
        own: usize,
        /// This member's collective.
        ours: String,
    },
    /// Arrays or members that the collective does not have.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// The collective, and its argument.
        what: String,
        /// What it needs.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The system refused memory for the arrays.
    #[error("{bytes} bytes of memory for a collective were refused")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
    },
    /// The library that carries the arrays failed.
    #[error("{transport}: {call} failed: {message}")]
    Transport {
        /// The library.
        transport: String,
        /// The call.
        call: String,
        /// The error of the call.
        message: String,
    },
}

/// `member 1`, `members 1, 2`.
fn members(ranks: &[usize]) -> String {
    let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("{} {}", if ranks.len() == 1 { "member" } else { "members" }, list.join(", "))
}
