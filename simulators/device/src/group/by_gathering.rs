//! Groups over another library: all that it must do is gather bytes.

use super::results::results;
use super::{Collective, Group, GroupError, joined};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes of all members by rank, given this member's; or why not.
type Gather = dyn Fn(&[u8]) -> Result<Vec<Vec<u8>>, String> + Send + Sync;

/// This process, as a member of a group over another library.
struct GatheringMember {
    rank: usize,
    size: usize,
    patience: Duration,
    gather: Box<Gather>,
    closed: Mutex<Option<GroupError>>,
}

/// A member of a group that another library has joined. Given a member's bytes, `gather` returns those of all
/// members in the order of ranks, which may be of different lengths, or an error if a member does not come:
/// mpi4py's `allgather`, `all_gather_object` of `torch.distributed`, a store of the launcher. So members are
/// started by whatever starts the library's.
///
/// Each exchange gathers all members' arrays on each member, which is right for what members compare, and for
/// small arrays; between GPUs NCCL carries the others. `gather` waits for as long as the library does;
/// `patience` is for exchanges of GPUs.
///
/// # Errors
/// If the rank is not below the size.
///
/// ```
/// use std::time::Duration;
/// use workalike_device::group::by_gathering;
/// let alone = by_gathering(0, 1, Duration::from_secs(60), |own| Ok(vec![own.to_vec()]))?;
/// assert_eq!((alone.rank(), alone.size()), (0, 1));
/// # Ok::<(), workalike_device::group::GroupError>(())
/// ```
pub fn by_gathering(
    rank: usize,
    size: usize,
    patience: Duration,
    gather: impl Fn(&[u8]) -> Result<Vec<Vec<u8>>, String> + Send + Sync + 'static,
) -> Result<Arc<dyn Group>, GroupError> {
    if rank >= size {
        return Err(GroupError::Mismatch {
            what: "a member's rank".into(),
            expected: format!("one below {size}, the number of members"),
            found: rank.to_string(),
        });
    }
    let (gather, closed) = (Box::new(gather), Mutex::default());
    Ok(Arc::new(GatheringMember { rank, size, patience, gather, closed }))
}

/// What a member sends: the length of a text, the text, and its arrays; or a length that no text has, and why
/// it cannot come.
fn message(text: &str, arrays: &[&[u8]]) -> Result<Vec<u8>, GroupError> {
    let length = (text.len() as u64).to_le_bytes();
    joined(&[&[&length[..], text.as_bytes()], arrays].concat())
}

/// See [`message`].
const FAILED: u64 = u64::MAX;

impl GatheringMember {
    fn closed(&self) -> MutexGuard<'_, Option<GroupError>> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self, message: String) -> GroupError {
        GroupError::Transport { transport: self.transport().into(), call: "gather".into(), message }
    }

    /// All members' messages.
    fn gathered(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, GroupError> {
        let all = (self.gather)(own).map_err(|error| self.failure(error))?;
        if all.len() != self.size {
            return Err(self.failure(format!("it gave {} members' bytes, not {}", all.len(), self.size)));
        }
        if all[self.rank] != own {
            return Err(self.failure(format!("what it gave at {} is not what this member sent", self.rank)));
        }
        Ok(all)
    }

    fn exchanged(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        if let Err(error) = collective.check(inputs, outputs) {
            // The others need not wait.
            let why = error.to_string();
            let failed = [&FAILED.to_le_bytes()[..], why.as_bytes()].concat();
            self.gathered(&failed)?;
            return Err(error);
        }
        let ours = collective.describe();
        let all = self.gathered(&message(&ours, inputs)?)?;
        let mut arrays = Vec::with_capacity(self.size);
        for (rank, message) in all.iter().enumerate() {
            let short = || self.failure(format!("member {rank} sent {} bytes", message.len()));
            let (length, rest) = message.split_first_chunk::<8>().ok_or_else(short)?;
            let length = u64::from_le_bytes(*length);
            if length == FAILED {
                return Err(GroupError::Failed { rank, why: String::from_utf8_lossy(rest).into_owned() });
            }
            let length = usize::try_from(length).map_err(|_| short())?;
            let (theirs, array) = rest.split_at_checked(length).ok_or_else(short)?;
            if theirs != ours.as_bytes() {
                let theirs = String::from_utf8_lossy(theirs).into_owned();
                return Err(GroupError::Differs { rank, theirs, own: self.rank, ours });
            }
            arrays.push(array);
        }
        let bytes: usize = inputs.iter().map(|input| input.len()).sum();
        if let Some(rank) = arrays.iter().position(|array| array.len() != bytes) {
            return Err(self.failure(format!("member {rank} sent arrays of {} bytes", arrays[rank].len())));
        }
        results(collective, self.rank, &arrays, outputs);
        Ok(())
    }
}

impl Group for GatheringMember {
    fn transport(&self) -> &str {
        "another library's gathering"
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn closed(&self) -> Option<GroupError> {
        GatheringMember::closed(self).clone()
    }

    fn close(&self, why: &str) {
        let error = GroupError::Failed { rank: self.rank, why: why.into() };
        GatheringMember::closed(self).get_or_insert(error);
    }

    fn exchange(
        &self,
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &mut [&mut [u8]],
    ) -> Result<(), GroupError> {
        if let Some(error) = GatheringMember::closed(self).clone() {
            return Err(error);
        }
        let done = self.exchanged(collective, inputs, outputs);
        if let Err(error) = &done {
            GatheringMember::closed(self).get_or_insert_with(|| error.clone());
        }
        done
    }
}

impl fmt::Debug for GatheringMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GatheringMember({} of {})", self.rank, self.size)
    }
}

#[cfg(test)]
mod tests;
