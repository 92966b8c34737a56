//! Ranges of the bytes of arrays that lie one after another, whatever their dtypes: members divide reductions
//! among them, so that each folds a range for all.

use super::CollectiveArray;
use super::combine::combine;
use std::ops::Range;

/// Where each array lies.
fn places(arrays: &[CollectiveArray]) -> impl Iterator<Item = (Range<usize>, &CollectiveArray)> {
    arrays.iter().scan(0, |start, array| {
        let place = *start..*start + array.bytes() as usize;
        *start = place.end;
        Some((place, array))
    })
}

/// The last byte up to this one at which an element begins, or at which the last array ends.
pub fn element_start(arrays: &[CollectiveArray], byte: usize) -> usize {
    let around = places(arrays).find(|(place, _)| place.contains(&byte));
    around.map_or(byte, |(place, array)| byte - (byte - place.start) % array.dtype.size())
}

/// Folds a range of whole elements of the members' arrays into `output`. Each of `members` has the bytes of
/// the range, by rank. Arrays that are not reduced are left out.
pub fn combine_range(arrays: &[CollectiveArray], range: Range<usize>, members: &[&[u8]], output: &mut [u8]) {
    for (place, array) in places(arrays) {
        let common = place.start.max(range.start)..place.end.min(range.end);
        let Some(fold) = array.kind.fold().filter(|_| !common.is_empty()) else { continue };
        let within = common.start - range.start..common.end - range.start;
        let parts: Vec<&[u8]> = members.iter().map(|member| &member[within.clone()]).collect();
        combine(fold, array.dtype, &parts, &mut output[within]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::CollectiveKind;
    use workalike_kernels::DType;
    use workalike_kernels::nest::Fold;

    fn arrays() -> Vec<CollectiveArray> {
        [
            (DType::F32, Fold::Sum, 3),
            (DType::I64, Fold::Max, 1),
            (DType::U8, Fold::Min, 0),
            (DType::I16, Fold::Sum, 2),
        ]
        .map(|(dtype, fold, elements)| CollectiveArray {
            kind: CollectiveKind::AllReduce(fold),
            dtype,
            elements,
        })
        .to_vec()
    }

    #[test]
    fn ranges_begin_with_elements() {
        let starts: Vec<usize> = (0..26).map(|byte| element_start(&arrays(), byte)).collect();
        let expected = [[0; 4], [4; 4], [8; 4], [12; 4], [12; 4]].concat();
        assert_eq!(starts, [expected, vec![20, 20, 22, 22, 24, 25]].concat());
        assert_eq!(element_start(&[], 7), 7);
    }

    #[test]
    fn ranges_together_are_the_whole() {
        let member = |k: i64| {
            let floats = [1.5f32, -2.0, k as f32].map(f32::to_ne_bytes).concat();
            let shorts = [k as i16, 7].map(i16::to_ne_bytes).concat();
            [floats, (k * 100).to_ne_bytes().to_vec(), shorts].concat()
        };
        let (a, b) = (member(1), member(2));
        let floats = [3f32, -4.0, 3.0].map(f32::to_ne_bytes).concat();
        let shorts = [3i16, 14].map(i16::to_ne_bytes).concat();
        let expected = [floats, 200i64.to_ne_bytes().to_vec(), shorts].concat();
        for cut in 0..=24 {
            let cut = element_start(&arrays(), cut);
            let mut output = vec![0; 24];
            for range in [0..cut, cut..24] {
                let members = [&a[range.clone()], &b[range.clone()]];
                combine_range(&arrays(), range.clone(), &members, &mut output[range]);
            }
            assert_eq!(output, expected, "cut at {cut}");
        }
    }
}
