//! What a member gets of the members' arrays in main memory.

use super::combine::combine;
use super::{Collective, CollectiveKind};
use std::ops::Range;

/// Calls `work` with each array, and its place if all are one after another.
pub(super) fn each_place(arrays: &mut [&mut [u8]], mut work: impl FnMut(Range<usize>, &mut [u8])) {
    let mut start = 0;
    for array in arrays {
        let end = start + array.len();
        work(start..end, array);
        start = end;
    }
}

/// Writes the results of the member of this rank. `arrays` are those of all members by rank, several of a
/// member one after another. The outputs were checked, and there is an array of each member, as long as its
/// inputs.
pub(super) fn results(collective: &Collective, rank: usize, arrays: &[&[u8]], outputs: &mut [&mut [u8]]) {
    let of = |place: Range<usize>| arrays.iter().map(|array| &array[place.clone()]).collect::<Vec<_>>();
    let mut exchanged = collective.arrays.iter();
    each_place(outputs, |place, output| {
        let Some(array) = exchanged.next() else { return };
        match &array.kind {
            CollectiveKind::AllReduce(fold) => combine(*fold, array.dtype, &of(place), output),
            CollectiveKind::ReduceScatter(fold) => {
                let own = rank * output.len()..(rank + 1) * output.len();
                combine(*fold, array.dtype, &of(own), output);
            }
            CollectiveKind::Broadcast { root } => output.copy_from_slice(arrays[*root]),
            CollectiveKind::Permute(route) => match route.source(rank, arrays.len()) {
                Some(source) => output.copy_from_slice(arrays[source]),
                None => output.fill(0),
            },
            CollectiveKind::AllGather => {
                let parts = output.chunks_exact_mut((output.len() / arrays.len()).max(1));
                parts.zip(arrays).for_each(|(part, array)| part.copy_from_slice(array));
            }
        }
    });
}
