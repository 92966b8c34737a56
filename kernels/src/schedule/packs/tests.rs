//! Which packs Nests have, and what these pick.

use super::*;
use crate::dtype::DType;
use crate::nest::{Block, Index, Operand, PhaseKind, Store};
use crate::schedule::access::Walks;

/// A map over `axes` that loads at these indices of a contiguous operand, and stores contiguously.
fn map(dtype: DType, axes: &[u64], shape: &[u64], loads: &[Vec<Index>]) -> Nest {
    let load = |index: &Vec<Index>| Inst::Load { operand: 0, index: index.clone() };
    let own = (0..axes.len()).map(Index::axis).collect();
    Nest {
        name: "map".into(),
        axes: axes.to_vec(),
        grid: axes.len(),
        operands: vec![Operand::contiguous(dtype, shape, false), Operand::contiguous(dtype, axes, true)],
        phases: vec![Phase {
            kind: PhaseKind::Point,
            block: Block { insts: loads.iter().map(load).collect() },
            folds: vec![],
            stores: vec![Store { operand: 1, index: own, value: 0, when: None, add: false }],
        }],
    }
}

fn width_of(nest: &Nest) -> u32 {
    width(nest, &Walks::new(nest).grid, false, true)
}

/// `step * axis + offset`.
fn at(axis: usize, step: i64, offset: i64) -> Index {
    Index { offset, terms: vec![(axis, step)], dynamic: None }
}

#[test]
fn neighbours_are_picked_from_vectors() {
    let windows = |from: u64, columns: u64| {
        let places = (0..3).flat_map(|i| (0..3).map(move |j| vec![at(0, 1, i), at(1, 1, j)]));
        map(DType::F32, &[64, columns], &[66, from], &places.collect::<Vec<_>>())
    };
    assert_eq!(width_of(&windows(256, 252)), 4);
    assert_eq!(width_of(&windows(258, 256)), 2, "rows of the source begin at every second element");
    assert_eq!(width_of(&windows(255, 252)), 1);
    let bytes =
        map(DType::U8, &[64, 1024], &[64, 3 * 1024], &[0, 1, 2].map(|c| vec![at(0, 1, 0), at(1, 3, c)]));
    assert_eq!(width_of(&bytes), 16, "the channels of pixels");
    let reversed = map(DType::F32, &[64, 256], &[64, 256], &[vec![at(0, 1, 0), at(1, -1, 255)]]);
    assert_eq!(width_of(&reversed), 4);
    let far = map(DType::F32, &[64, 256], &[64, 256 * 8], &[vec![at(0, 1, 0), at(1, 8, 0)]]);
    assert_eq!(width_of(&far), 1, "different items should load what is far apart");
}

#[test]
fn vectors_end_where_their_operand_does() {
    let shifted = |length: u64| map(DType::F32, &[4096], &[length], &[vec![at(0, 1, 1)]]);
    assert_eq!(width_of(&shifted(4097)), 1, "the last vector would have three elements beyond the operand");
    assert_eq!(width_of(&shifted(4100)), 4);
    // What is aligned needs no more than its own elements.
    assert_eq!(width_of(&map(DType::F32, &[4097], &[4097], &[vec![at(0, 1, 0)]])), 4);
}

#[test]
fn wide_neighbourhoods_have_narrow_packs() {
    let rows = |count: i64| {
        let places: Vec<_> = (0..count).map(|row| vec![at(0, 1, row), at(1, 1, 1)]).collect();
        width_of(&map(DType::F32, &[64, 252], &[64 + 63, 256], &places))
    };
    assert_eq!((rows(16), rows(17), rows(64)), (4, 2, 1));
}

#[test]
fn picked_elements_are_in_the_vectors() {
    for (first, step, width, expected) in [
        (0, 1, 4, 0..=0),
        (1, 1, 4, 0..=1),
        (-1, 1, 4, -1..=0),
        (255, -1, 4, 63..=63),
        (2, 3, 16, 0..=2),
        (5, 4, 2, 2..=4),
    ] {
        let picked = Picked { first, step };
        assert_eq!(picked.vectors(width), expected, "{picked:?}");
        for point in 0..i64::from(width) {
            assert!(expected.contains(&(first + step * point).div_euclid(width.into())));
        }
    }
}
