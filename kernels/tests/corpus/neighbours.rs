//! Nests whose points load neighbouring elements: windows, channels, reversed rows, rolls, padded and joined
//! arrays. Packs of these pick from vectors, and take the boxes without edges apart.

use super::{Build, Builder, Case, along, computed};
use workalike_kernels::nest::PhaseKind::{Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, ops};

/// `step * axis + offset`.
fn at(axis: usize, step: i64, offset: i64) -> Index {
    Index { offset, terms: vec![(axis, step)], dynamic: None }
}

/// `axis + offset`, as a value.
fn moved(p: &mut Build, axis: usize, offset: i64) -> Value {
    let (position, offset) = (p.push(Inst::Axis(axis)), p.constant(DType::I64, offset as f64));
    p.op(ops::ADD, &[position, offset])
}

/// `axis >= bound`.
fn reaches(p: &mut Build, axis: usize, bound: i64) -> Value {
    let (position, bound) = (p.push(Inst::Axis(axis)), p.constant(DType::I64, bound as f64));
    p.op(ops::GE, &[position, bound])
}

/// The position that a roll by `shift` of an axis of `extent` reads.
fn rolled(p: &mut Build, axis: usize, shift: i64, extent: i64) -> Index {
    let inside = reaches(p, axis, shift);
    let (front, back) = (moved(p, axis, -shift), moved(p, axis, extent - shift));
    computed(p.op(ops::WHERE, &[inside, front, back]))
}

/// A map over `[rows, columns]`, of an array of `shape`, to the maximum of some elements.
fn greatest(
    name: &str,
    dtype: DType,
    [rows, columns]: [u64; 2],
    shape: [u64; 2],
    places: impl Fn(&mut Build) -> Vec<Vec<Index>>,
) -> Case {
    Builder::new(&format!("{name} {dtype} {rows}x{columns}"), &[rows, columns], 2)
        .input(dtype, &shape)
        .output(dtype, &[rows, columns])
        .phase(Point, |p| {
            let places = places(p);
            let values: Vec<Value> = places.into_iter().map(|place| p.load_at(0, place)).collect();
            let all = values.into_iter().reduce(|all, value| p.op(ops::MAXIMUM, &[all, value]));
            p.store(1, &[0, 1], all.expect("a place"));
        })
        .done()
}

/// Elements at known distances.
fn windows(dtype: DType, size @ [rows, columns]: [u64; 2]) -> Vec<Case> {
    let block = |_: &mut Build| (0..9).map(|k| vec![at(0, 1, k / 3), at(1, 1, k % 3)]).collect();
    let channels = |_: &mut Build| (0..3).map(|c| vec![at(0, 1, 0), at(1, 3, c)]).collect();
    let reversed = |_: &mut Build| vec![vec![at(0, 1, 0), at(1, -1, columns as i64 - 1)]];
    let halves = |_: &mut Build| vec![vec![at(0, 1, 0), at(1, 2, 1)], vec![at(0, 1, 0), at(1, 2, 0)]];
    vec![
        greatest("windows", dtype, size, [rows + 2, columns + 16], block),
        greatest("narrow windows", dtype, size, [rows + 2, columns + 2], block),
        greatest("channels", dtype, size, [rows, 3 * columns], channels),
        greatest("reversed", dtype, size, [rows, columns], reversed),
        greatest("pairs", dtype, size, [rows, 2 * columns], halves),
    ]
}

/// Elements at positions that depend on where edges are.
fn edges(dtype: DType, size @ [rows, columns]: [u64; 2]) -> Vec<Case> {
    let (height, width) = (rows as i64, columns as i64);
    let rolls = |p: &mut Build| {
        let (up, left) = (rolled(p, 0, 1, height), rolled(p, 1, width - 1, width));
        let right = rolled(p, 1, 3, width);
        vec![
            vec![up.clone(), Index::axis(1)],
            vec![Index::axis(0), left.clone()],
            vec![up, right],
            along(&[0, 1]),
        ]
    };
    let nearest = |p: &mut Build| {
        let mut near = |axis, offset, extent| {
            let value = moved(p, axis, offset);
            computed(p.position(value, extent, IndexMode::Clamp))
        };
        let (above, left, right) = (near(0, -1, rows), near(1, -2, columns), near(1, 1, columns));
        vec![vec![above, left.clone()], vec![Index::axis(0), right], vec![Index::axis(0), left]]
    };
    let around = |p: &mut Build| {
        let value = moved(p, 1, -5);
        vec![vec![Index::axis(0), computed(p.position(value, columns, IndexMode::Wrap))], along(&[0, 1])]
    };
    vec![
        greatest("rolls", dtype, size, size, rolls),
        greatest("nearest", dtype, size, size, nearest),
        greatest("around", dtype, size, size, around),
        padded(dtype, size),
        joined(dtype, size),
        pooled(dtype, size),
    ]
}

/// Rows with a zero on each side.
fn padded(dtype: DType, [rows, columns]: [u64; 2]) -> Case {
    let size = [rows, columns + 2];
    Builder::new(&format!("padded {dtype} {rows}x{columns}"), &size, 2)
        .input(dtype, &[rows, columns])
        .output(dtype, &size)
        .phase(Point, |p| {
            let (from, beyond) = (reaches(p, 1, 1), reaches(p, 1, columns as i64 + 1));
            let before = p.op(ops::NOT, &[beyond]);
            let (inside, place) = (p.op(ops::AND, &[from, before]), moved(p, 1, -1));
            let place = p.position(place, columns, IndexMode::Clamp);
            let (value, zero) = (p.load_at(0, vec![Index::axis(0), computed(place)]), p.constant(dtype, 0.0));
            let padded = p.op(ops::WHERE, &[inside, value, zero]);
            p.store(1, &[0, 1], padded);
        })
        .done()
}

/// The halves of rows, exchanged.
fn joined(dtype: DType, [rows, columns]: [u64; 2]) -> Case {
    let half = columns as i64 / 2;
    Builder::new(&format!("joined {dtype} {rows}x{columns}"), &[rows, columns], 2)
        .input(dtype, &[rows, columns])
        .input(dtype, &[rows, columns])
        .output(dtype, &[rows, columns])
        .phase(Point, |p| {
            let second = reaches(p, 1, half);
            let mut part = |operand, offset| {
                let place = moved(p, 1, offset);
                let place = p.position(place, columns, IndexMode::Clamp);
                p.load_at(operand, vec![Index::axis(0), computed(place)])
            };
            let (first, other) = (part(1, half), part(0, -half));
            let chosen = p.op(ops::WHERE, &[second, other, first]);
            p.store(2, &[0, 1], chosen);
        })
        .done()
}

/// The maximum of five neighbours of each element, fewer at the edges.
fn pooled(dtype: DType, [rows, columns]: [u64; 2]) -> Case {
    Builder::new(&format!("pooled {dtype} {rows}x{columns}"), &[rows, columns, 5], 2)
        .input(dtype, &[rows, columns])
        .output(dtype, &[rows, columns])
        .phase(Reduce, |p| {
            let (position, within) = (moved(p, 1, -2), p.push(Inst::Axis(2)));
            let place = p.op(ops::ADD, &[position, within]);
            let place = p.position(place, columns, IndexMode::Clamp);
            let value = p.load_at(0, vec![Index::axis(0), computed(place)]);
            p.fold(Fold::Max, value);
        })
        .phase(Point, |p| {
            let all = p.folded(0, 0);
            p.store(1, &[0, 1], all);
        })
        .done()
}

/// Neighbours of every kind.
pub fn neighbours() -> Vec<Case> {
    let dtypes = [DType::U8, DType::F16, DType::F32];
    let sizes = [[7, 64], [3, 160], [5, 33]];
    let each = |size| dtypes.map(|dtype| windows(dtype, size).into_iter().chain(edges(dtype, size)));
    sizes.into_iter().flat_map(each).flatten().collect()
}
