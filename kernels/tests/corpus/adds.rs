//! Nests whose stores add. All data are multiples of 1/8 below 4, so that sums are exact in any order.

use super::{Builder, Case, Random, along, computed};
use workalike_kernels::nest::PhaseKind::{Map, Ordered, Point, Reduce};
use workalike_kernels::nest::*;
use workalike_kernels::{DType, ops};

/// The dtypes to which stores add.
pub fn addable() -> impl Iterator<Item = DType> {
    DType::REAL.into_iter().filter(|d| Store::can_add_to(*d))
}

/// `n` positions below `extent`, most of them the same one.
fn positions(n: u64, extent: u64) -> Vec<u8> {
    let mut random = Random(n);
    let mut next =
        || if random.next().is_multiple_of(3) { u64::from(random.next()) % extent } else { extent / 2 };
    (0..n).flat_map(|_| next().to_le_bytes()).collect()
}

/// `operand[place[i], j] += value`.
fn scatter(name: &str, dtype: DType, [n, extent, rest]: [u64; 3]) -> Case {
    Builder::new(&format!("{name} {dtype} {n} {extent} {rest}"), &[n, rest], 2)
        .given(DType::I64, &[n], positions(n, extent))
        .input(dtype, &[n, rest])
        .input(dtype, &[extent, rest])
        .written()
        .phase(Point, |p| {
            let (place, v) = (p.load(0, &[0]), p.load(1, &[0, 1]));
            p.add_at(2, vec![computed(place), Index::axis(1)], v, None);
        })
        .done()
}

/// Every form in which a store adds.
pub fn adds() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for dtype in addable() {
        cases
            .extend([[3000, 7, 1], [500, 5, 12], [4, 1, 1], [0, 3, 2]].map(|e| scatter("scatter", dtype, e)));
        // All points of rows, on a condition, and two stores to one operand.
        cases.push(
            Builder::new(&format!("histogram {dtype}"), &[9, 130], 1)
                .given(DType::I64, &[9, 130], positions(9 * 130, 11))
                .input(dtype, &[9, 130])
                .input(dtype, &[11])
                .written()
                .phase(Map, |p| {
                    let (place, v) = (p.load(0, &[0, 1]), p.load(1, &[0, 1]));
                    let zero = p.constant(dtype, 0.0);
                    let positive = p.op(ops::GT, &[v, zero]);
                    p.add_at(2, vec![computed(place)], v, Some(positive));
                    p.add_at(2, vec![Index::constant(3)], v, None);
                })
                .done(),
        );
        // The result of a fold, once for each row; and the values before the fold.
        cases.push(
            Builder::new(&format!("sums {dtype}"), &[70, 40], 1)
                .given(DType::I64, &[70], positions(70, 3))
                .input(dtype, &[70, 40])
                .input(dtype, &[3])
                .written()
                .input(dtype, &[40])
                .written()
                .phase(Reduce, |p| {
                    let v = p.load(1, &[0, 1]);
                    p.fold(Fold::Sum, v);
                    p.add_at(3, along(&[1]), v, None);
                })
                .phase(Point, |p| {
                    let (place, sum) = (p.load(0, &[0]), p.folded(0, 0));
                    p.add_at(2, vec![computed(place)], sum, None);
                })
                .done(),
        );
        // In order, to the same operand in each phase.
        cases.push(
            Builder::new(&format!("ordered {dtype}"), &[3, 50], 1)
                .input(dtype, &[3, 50])
                .input(dtype, &[2])
                .written()
                .phase(Ordered, |p| {
                    let v = p.load(0, &[0, 1]);
                    p.add_at(1, vec![Index::constant(1)], v, None);
                })
                .phase(Point, |p| {
                    let v = p.load_at(0, vec![Index::axis(0), Index::constant(7)]);
                    p.add_at(1, vec![Index::constant(1)], v, None);
                })
                .done(),
        );
    }
    cases
}
