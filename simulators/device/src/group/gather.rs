//! Small things that members tell each other, outside of the graphs that they run.

use super::{Collective, CollectiveArray, CollectiveKind, Group, GroupError, zeros};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use workalike_kernels::DType;

/// The number of these exchanges, which no node has.
const NUMBER: u64 = u64::MAX;

/// All members' bytes, as many from each, in the order of ranks.
///
/// # Errors
/// If a member does not come, or gives another number of bytes.
pub fn gather(group: &Arc<dyn Group>, own: &[u8]) -> Result<Vec<u8>, GroupError> {
    exchange(group, CollectiveKind::AllGather, own, own.len() * group.size())
}

/// The bytes of member 0, for all; the others give as many.
///
/// # Errors
/// If a member does not come, or gives another number of bytes.
pub fn broadcast(group: &Arc<dyn Group>, own: &[u8]) -> Result<Vec<u8>, GroupError> {
    exchange(group, CollectiveKind::Broadcast { root: 0 }, own, own.len())
}

fn exchange(
    group: &Arc<dyn Group>,
    kind: CollectiveKind,
    own: &[u8],
    bytes: usize,
) -> Result<Vec<u8>, GroupError> {
    let array = CollectiveArray { kind, dtype: DType::U8, elements: own.len() as u64 };
    let collective = Collective { arrays: vec![array], group: group.clone(), number: NUMBER };
    let mut all = zeros(bytes)?;
    group.exchange(&collective, &[own], &mut [&mut all])?;
    Ok(all)
}

/// Compares what members are at. If it differs, the group is closed.
///
/// # Errors
/// If a member is at something else: says what.
pub fn compare(group: &Arc<dyn Group>, ours: &str) -> Result<(), GroupError> {
    let digest: [u8; 32] = Sha256::digest(ours.as_bytes()).into();
    let digests = gather(group, &digest)?;
    if digests.chunks_exact(digest.len()).all(|other| other == digest) {
        // For the others there is no difference either.
        return Ok(());
    }
    let lengths = gather(group, &(ours.len() as u64).to_le_bytes())?;
    let lengths: Vec<usize> =
        lengths.as_chunks().0.iter().map(|length| u64::from_le_bytes(*length) as usize).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut text = zeros(longest)?;
    text[..ours.len()].copy_from_slice(ours.as_bytes());
    let texts = gather(group, &text)?;
    let mut others = texts.chunks_exact(longest.max(1)).zip(&lengths).map(|(text, &length)| &text[..length]);
    let rank = others.position(|other| other != ours.as_bytes()).unwrap_or(0);
    let theirs = String::from_utf8_lossy(&texts[rank * longest..][..lengths[rank]]).into_owned();
    let error = GroupError::Differs { rank, theirs, own: group.rank(), ours: ours.into() };
    group.close(&error.to_string());
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::threads;
    use std::thread;
    use std::time::Duration;

    fn together<T: Send>(size: usize, work: impl Fn(&Arc<dyn Group>) -> T + Sync) -> Vec<T> {
        let (seats, work) = (threads(size, Duration::from_secs(60)), &work);
        thread::scope(|scope| {
            let work: Vec<_> = seats.iter().map(|seat| scope.spawn(move || work(seat))).collect();
            work.into_iter().map(|member| member.join().unwrap()).collect()
        })
    }

    #[test]
    fn bytes_are_gathered_by_rank_and_broadcast_from_the_first() {
        let all = together(3, |seat| gather(seat, &[seat.rank() as u8, 7]).unwrap());
        assert_eq!(all, vec![[0, 7, 1, 7, 2, 7]; 3]);
        let all = together(3, |seat| broadcast(seat, &[seat.rank() as u8 + 5]).unwrap());
        assert_eq!(all, vec![[5]; 3]);
    }

    #[test]
    fn members_find_out_who_is_at_something_else() {
        assert_eq!(together(3, |seat| compare(seat, "the same")), vec![Ok(()); 3]);
        let errors = together(3, |seat| {
            let error = compare(seat, if seat.rank() == 1 { "another" } else { "the common" }).unwrap_err();
            assert!(seat.closed().is_some(), "no exchange can follow");
            error.to_string()
        });
        for (rank, error) in errors.iter().enumerate() {
            assert!(error.contains("another") && error.contains("the common"), "{rank}: {error}");
        }
        assert!(errors[0].contains("member 1 is at another, member 0 at the common"), "{}", errors[0]);
        let empty = together(2, |seat| compare(seat, if seat.rank() == 1 { "" } else { "some" }));
        assert!(empty.iter().all(Result::is_err));
    }
}
