//! Groups whose arrays go from device to device.

use super::{Group, GroupError, gather};
use sha2::{Digest, Sha256};
use std::fmt::Debug;
use std::sync::Arc;

/// What can carry arrays from a device to other members' without main memory, such as NCCL.
pub trait DirectTransport: Debug + Send + Sync {
    /// Its name and version: only members with equal ones can be joined.
    fn name(&self) -> String;
    /// The place of the device, such as a GPU's UUID: only members at different places can be joined.
    fn place(&self) -> String;
    /// This member's side of a group that is carried by it. All members call this at the same time. What it
    /// needs to find them, and arrays in main memory, go through `group`.
    ///
    /// # Errors
    /// If the transport fails, or a member does not come.
    fn join(&self, group: &Arc<dyn Group>) -> Result<Arc<dyn Group>, GroupError>;
}

/// The same group, whose arrays go from device to device if all members have a [`DirectTransport`] of one
/// name, for devices at different places. All members call this at the same time, each with that of its
/// device.
///
/// # Errors
/// If a member does not come, or the transport fails for one of them.
pub fn direct(
    transport: Option<Box<dyn DirectTransport>>,
    group: &Arc<dyn Group>,
) -> Result<Arc<dyn Group>, GroupError> {
    if group.size() < 2 {
        return Ok(group.clone());
    }
    let own = transport.as_ref().map_or(NONE, |transport| Offer::of(transport.as_ref()));
    let all = own.gathered(group)?;
    let Some(transport) = transport.filter(|_| Offer::fit(&all)) else { return Ok(group.clone()) };
    let joined = transport.join(group);
    if let Err(error) = &joined {
        // Members that still wait in the transport get an error.
        group.close(&format!("{} could not join it: {error}", transport.name()));
    }
    // A member that could not is an error for all.
    let failed = gather(group, &[u8::from(joined.is_err())]).map(|all| all.contains(&1));
    match (joined, failed) {
        (Ok(_), Ok(true)) => Err(GroupError::Transport {
            transport: transport.name(),
            call: "joining the members".into(),
            message: "it failed for another member, whose error says why".into(),
        }),
        (Ok(_), Err(error)) => Err(error),
        (joined, _) => joined,
    }
}

/// What a member has, as digests of the transport's name and of the device's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Offer([[u8; 32]; 2]);

/// No transport.
const NONE: Offer = Offer([[0; 32]; 2]);

impl Offer {
    fn of(transport: &dyn DirectTransport) -> Offer {
        Offer([transport.name(), transport.place()].map(|text| Sha256::digest(text.as_bytes()).into()))
    }

    /// All members' offers.
    fn gathered(self, group: &Arc<dyn Group>) -> Result<Vec<Offer>, GroupError> {
        let all = gather(group, &self.0.concat())?;
        let (texts, _) = all.as_chunks::<32>();
        let (pairs, _) = texts.as_chunks::<2>();
        Ok(pairs.iter().copied().map(Offer).collect())
    }

    /// Whether members with these offers can be joined.
    fn fit(all: &[Offer]) -> bool {
        let Some(Offer([name, _])) = all.first() else { return false };
        let distinct = |at: usize| all[..at].iter().all(|other| other.0[1] != all[at].0[1]);
        all.iter().enumerate().all(|(at, own)| own != &NONE && own.0[0] == *name && distinct(at))
    }
}

#[cfg(test)]
mod tests;
