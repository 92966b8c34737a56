//! Collectives out of MPI's, which move bytes. Each begins with a comparison of what members are at: MPI
//! itself aborts all of them, or reads past an array, where they differ.

use crate::member::failure;
use mpi::Count;
use mpi::datatype::{Partition, PartitionMut};
use mpi::point_to_point::send_receive_into;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use workalike_device::group::{
    Collective, CollectiveArray, CollectiveKind, GroupError, combine_range, element_start, joined, zeros,
};

/// Up to so many bytes of all members are exchanged whole, and folded by each: one exchange instead of two.
const WHOLE: usize = 1 << 14;

/// Bytes of one call of MPI, whose counts have 31 bits.
const PIECE: usize = 1 << 28;

/// A collective, with the memory that it needs.
pub(crate) struct MpiWork {
    pub(crate) what: String,
    arrays: Vec<CollectiveArray>,
    /// The inputs, one after another.
    given: Vec<u8>,
    /// The results, likewise.
    results: Vec<u8>,
}

impl MpiWork {
    pub(crate) fn new(
        collective: &Collective,
        inputs: &[&[u8]],
        outputs: &[&mut [u8]],
    ) -> Result<MpiWork, GroupError> {
        let given = joined(inputs)?;
        let results = zeros(outputs.iter().map(|output| output.len()).sum())?;
        Ok(MpiWork { what: collective.describe(), arrays: collective.arrays.clone(), given, results })
    }
}

/// Does the work with all members; returns the results.
pub(crate) fn run(world: &SimpleCommunicator, mut work: MpiWork) -> Result<Vec<u8>, GroupError> {
    compare(world, &work.what)?;
    let MpiWork { arrays, given, results, .. } = &mut work;
    let Some(first) = arrays.first() else { return Ok(work.results) };
    match &first.kind {
        CollectiveKind::AllReduce(_) => all_reduce(world, arrays, given, results)?,
        CollectiveKind::ReduceScatter(_) => reduce_scatter(world, first, given, results)?,
        CollectiveKind::AllGather => all_gather(world, given, results)?,
        CollectiveKind::Broadcast { root } => {
            let root = count(*root)?;
            if world.rank() == root {
                results.copy_from_slice(given);
            }
            pieces(results.len())
                .for_each(|piece| world.process_at_rank(root).broadcast_into(&mut results[piece]));
        }
        CollectiveKind::Permute(route) => {
            let (rank, size) = (world.rank() as usize, world.size() as usize);
            let to = (0..size).find(|&to| route.source(to, size) == Some(rank));
            let from = route.source(rank, size);
            permute(world, from, to, given, results)?;
        }
    }
    Ok(work.results)
}

/// The ranges of an array of so many bytes that go through MPI at once.
fn pieces(bytes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..bytes).step_by(PIECE).map(move |start| start..bytes.min(start + PIECE))
}

/// A number of bytes or a rank, as MPI has it.
fn count(n: usize) -> Result<Count, GroupError> {
    Count::try_from(n).map_err(|_| failure("a collective", format!("{n} is too large a count")))
}

/// Finds out whether all members are at the same collective.
fn compare(world: &SimpleCommunicator, what: &str) -> Result<(), GroupError> {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    let own = hasher.finish();
    let mut all = vec![0u64; world.size() as usize];
    world.all_gather_into(&own, &mut all[..]);
    let Some(first) = all.iter().position(|hash| *hash != all[0]) else { return Ok(()) };
    // All members see that, and say what they are at.
    let mut lengths = vec![0u64; all.len()];
    world.all_gather_into(&(what.len() as u64), &mut lengths[..]);
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let mut text = zeros(longest)?;
    text[..what.len()].copy_from_slice(what.as_bytes());
    let mut texts = zeros(longest * all.len())?;
    world.all_gather_into(&text[..], &mut texts[..]);
    let text_of = |rank: usize| {
        let text = &texts[rank * longest..(rank + 1) * longest];
        String::from_utf8_lossy(&text[..lengths[rank] as usize]).into_owned()
    };
    Err(GroupError::Differs { rank: first, theirs: text_of(first), own: 0, ours: text_of(0) })
}

fn all_gather(world: &SimpleCommunicator, given: &[u8], results: &mut [u8]) -> Result<(), GroupError> {
    let (size, bytes) = (world.size() as usize, given.len());
    if bytes <= PIECE {
        world.all_gather_into(given, results);
        return Ok(());
    }
    for piece in pieces(bytes) {
        let mut all = zeros(piece.len() * size)?;
        world.all_gather_into(&given[piece.clone()], &mut all[..]);
        for (rank, part) in all.chunks_exact(piece.len()).enumerate() {
            results[rank * bytes + piece.start..rank * bytes + piece.end].copy_from_slice(part);
        }
    }
    Ok(())
}

fn all_reduce(
    world: &SimpleCommunicator,
    arrays: &[CollectiveArray],
    given: &[u8],
    results: &mut [u8],
) -> Result<(), GroupError> {
    let size = world.size() as usize;
    if given.len() * size <= WHOLE {
        let mut all = zeros(given.len() * size)?;
        world.all_gather_into(given, &mut all[..]);
        let members: Vec<&[u8]> = all.chunks_exact(given.len().max(1)).collect();
        combine_range(arrays, 0..given.len(), &members, results);
        return Ok(());
    }
    let mut start = 0;
    while start < given.len() {
        let piece = start..element_start(arrays, given.len().min(start + PIECE));
        start = piece.end;
        // Each member folds its share of the piece, and passes it to all others.
        let bound =
            |rank: usize| element_start(arrays, piece.start + piece.len() * rank / size) - piece.start;
        let shares: Vec<Range<usize>> = (0..size).map(|rank| bound(rank)..bound(rank + 1)).collect();
        let own = &shares[world.rank() as usize];
        let own = piece.start + own.start..piece.start + own.end;
        let own = folded(world, (arrays, own), &given[piece.clone()], &shares)?;
        let counts = shares.iter().map(|share| count(share.len())).collect::<Result<Vec<_>, _>>()?;
        let starts = shares.iter().map(|share| count(share.start)).collect::<Result<Vec<_>, _>>()?;
        let mut all = PartitionMut::new(&mut results[piece], counts, starts);
        world.all_gather_varcount_into(&own[..], &mut all);
    }
    Ok(())
}

fn reduce_scatter(
    world: &SimpleCommunicator,
    array: &CollectiveArray,
    given: &[u8],
    results: &mut [u8],
) -> Result<(), GroupError> {
    let (size, bytes) = (world.size() as usize, results.len());
    // All members' parts of a piece go through MPI at once.
    let most = (PIECE / size / array.dtype.size()).max(1) * array.dtype.size();
    let pieces = (0..bytes).step_by(most).map(|start| start..bytes.min(start + most));
    for piece in pieces {
        let places = (0..size).map(|rank| rank * bytes + piece.start..rank * bytes + piece.end);
        let sent: Vec<u8> = places.flat_map(|place| &given[place]).copied().collect();
        let shares: Vec<_> = (0..size).map(|rank| rank * piece.len()..(rank + 1) * piece.len()).collect();
        let folded = folded(world, (std::slice::from_ref(array), piece.clone()), &sent, &shares)?;
        results[piece].copy_from_slice(&folded);
    }
    Ok(())
}

/// Sends each member its share of an array; returns the fold of what all members send this one, which is a
/// range of the arrays.
fn folded(
    world: &SimpleCommunicator,
    (arrays, range): (&[CollectiveArray], Range<usize>),
    given: &[u8],
    shares: &[Range<usize>],
) -> Result<Vec<u8>, GroupError> {
    let own = range.len();
    let counts = shares.iter().map(|share| count(share.len())).collect::<Result<Vec<_>, _>>()?;
    let starts = shares.iter().map(|share| count(share.start)).collect::<Result<Vec<_>, _>>()?;
    let received = (0..shares.len()).map(|rank| count(rank * own)).collect::<Result<Vec<_>, _>>()?;
    let mut all = zeros(own * shares.len())?;
    let sent = Partition::new(given, counts, starts);
    let mut into = PartitionMut::new(&mut all[..], vec![count(own)?; shares.len()], received);
    world.all_to_all_varcount_into(&sent, &mut into);
    let members: Vec<&[u8]> = (0..shares.len()).map(|rank| &all[rank * own..(rank + 1) * own]).collect();
    let mut result = zeros(own)?;
    combine_range(arrays, range, &members, &mut result);
    Ok(result)
}

fn permute(
    world: &SimpleCommunicator,
    from: Option<usize>,
    to: Option<usize>,
    given: &[u8],
    results: &mut [u8],
) -> Result<(), GroupError> {
    let process = |rank: Option<usize>| {
        rank.map(count).transpose().map(|rank| rank.map(|rank| world.process_at_rank(rank)))
    };
    let (from, to) = (process(from)?, process(to)?);
    for piece in pieces(given.len()) {
        match (&from, &to) {
            (Some(from), Some(to)) => {
                _ = send_receive_into(&given[piece.clone()], to, &mut results[piece], from)
            }
            (Some(from), None) => _ = from.receive_into(&mut results[piece]),
            (None, Some(to)) => to.send(&given[piece]),
            (None, None) => {}
        }
    }
    Ok(())
}
