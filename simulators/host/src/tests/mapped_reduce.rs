//! Folds over a mapped element (tests, wider integers, numbers without NaNs), and positions of extremes.

use super::*;
use DType::*;

/// Folds rows of `make` of the elements.
fn folded(
    stored: DType,
    (rows, columns): (u64, u64),
    (fold, into): (Fold, DType),
    make: &dyn Fn(&mut Writer, Value) -> Value,
) -> Nest {
    let mut reduce = Writer::new(PhaseKind::Reduce);
    let x = reduce.load(0, &[0, 1]);
    let value = make(&mut reduce, x);
    reduce.fold(fold, value, None);
    let mut point = Writer::new(PhaseKind::Point);
    let value = point.inst(Inst::Folded { phase: 0, fold: 0 });
    point.store(1, &[0], value);
    let operands =
        vec![Operand::contiguous(stored, &[rows, columns], false), Operand::contiguous(into, &[rows], true)];
    nest(&[rows, columns], 1, operands, vec![reduce, point])
}

/// Small numbers, both ends of the dtype, and special floats.
fn elements(dtype: DType, count: usize) -> Vec<u8> {
    let mut all = random(dtype, count, 11);
    let size = dtype.size();
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 3.0, 2.5];
    let ends = [Fold::Max.identity(dtype), Fold::Min.identity(dtype)];
    for (k, x) in special.into_iter().map(|x| Scalar::from_f64(dtype, x)).chain(ends).enumerate() {
        for at in (k * 7 + 3..count).step_by(97) {
            all[at * size..(at + 1) * size].copy_from_slice(&x.to_le_bytes()[..size]);
        }
    }
    all
}

fn check(nest: &Nest, streams: bool, tolerance: f64) {
    let [x, out] = [0, 1].map(|i| &nest.operands[i]);
    let plan = plan(nest).unwrap();
    assert!(
        !streams || plan.phases[0].streams.is_some() || plan.lane_axes == super::super::plan::LaneAxes::Grid,
        "{nest:?}"
    );
    let buffers = [
        elements(x.dtype, (x.shape[0] * x.shape[1]) as usize),
        vec![0; out.dtype.size() * out.shape[0] as usize],
    ];
    agrees(nest, &buffers, &[0, 1], tolerance);
}

const SHAPES: [(u64, u64); 5] = [(3, 1), (25, 40), (70, 300), (2, 1000), (1, 200_003)];
const STORED: [DType; 11] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64];

#[test]
fn tests_are_counted_and_reduced_to_bools() {
    for stored in STORED {
        for shape in SHAPES {
            for (fold, into) in
                [(Fold::Sum, I64), (Fold::Sum, U8), (Fold::Sum, F64), (Fold::Sum, Bool), (Fold::Min, Bool)]
            {
                check(
                    &folded(stored, shape, (fold, into), &|w, x| {
                        let truth = if stored == Bool { x } else { w.cast(Bool, x) };
                        if into == Bool { truth } else { w.cast(into, truth) }
                    }),
                    matches!(into, Bool | I64),
                    0.0,
                );
            }
        }
    }
}

#[test]
fn comparisons_with_constants_are_tests() {
    for stored in STORED {
        for op in [ops::EQ, ops::NE, ops::LT, ops::LE, ops::GT, ops::GE] {
            for constant in [3.0, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for (fold, into, swapped) in
                    [(Fold::Sum, I64, false), (Fold::Max, Bool, true), (Fold::Product, Bool, false)]
                {
                    check(
                        &folded(stored, (5, 131), (fold, into), &|w, x| {
                            let c = w.constant(stored, constant);
                            let truth = w.op(op, &if swapped { [c, x] } else { [x, c] });
                            let truth = if swapped { w.op(ops::NOT, &[truth]) } else { truth };
                            if into == Bool { truth } else { w.cast(into, truth) }
                        }),
                        true,
                        0.0,
                    );
                }
            }
        }
    }
}

#[test]
fn integers_are_summed_in_wider_dtypes() {
    for stored in [I8, I16, I32, U8, U16, U32] {
        for shape in SHAPES {
            for into in [I64, U64, I32, F64] {
                if into.size() > stored.size() {
                    check(&folded(stored, shape, (Fold::Sum, into), &|w, x| w.cast(into, x)), false, 1e-12);
                }
            }
        }
    }
}

#[test]
fn integers_are_summed_down_columns() {
    for stored in [I8, I16, I32, U8, U16, U32] {
        for shape in [[3u64, 70], [40, 25], [1003, 300], [9001, 6]] {
            for into in [I64, U64, F64] {
                let mut n = folded(stored, (shape[1], shape[0]), (Fold::Sum, into), &|w, x| w.cast(into, x));
                n.operands[0] = Operand::contiguous(stored, &shape, false);
                let Inst::Load { index, .. } = &mut n.phases[0].block.insts[0] else { panic!("a load") };
                index.swap(0, 1);
                check(&n, false, 1e-12);
            }
        }
    }
}

#[test]
fn extremes_ignore_nans() {
    for stored in [F32, F64] {
        for shape in SHAPES {
            for (fold, instead) in
                [(Fold::Max, f64::NEG_INFINITY), (Fold::Min, f64::INFINITY), (Fold::Max, 0.0)]
            {
                check(
                    &folded(stored, shape, (fold, stored), &|w, x| {
                        let nan = w.op(ops::NE, &[x, x]);
                        let c = w.constant(stored, instead);
                        w.op(ops::WHERE, &[nan, c, x])
                    }),
                    false,
                    0.0,
                );
                check(&folded(stored, shape, (fold, stored), &|_, x| x), true, 0.0);
            }
            check(&folded(stored, shape, (Fold::Product, Bool), &|w, x| w.op(ops::NE, &[x, x])), true, 0.0);
        }
    }
}

/// Sums that ignore NaNs, over rows and columns.
#[test]
fn sums_ignore_nans() {
    for stored in [F32, F64] {
        for (rows, columns) in [(3, 1), (25, 40), (70, 300), (2, 1000), (3, 20_003), (6, 9001)] {
            for down in [false, true] {
                let mut n = folded(stored, (rows, columns), (Fold::Sum, stored), &|w, x| {
                    let nan = w.op(ops::NE, &[x, x]);
                    let zero = w.constant(stored, 0.0);
                    w.op(ops::WHERE, &[nan, zero, x])
                });
                if down {
                    n.operands[0] = Operand::contiguous(stored, &[columns, rows], false);
                    let Inst::Load { index, .. } = &mut n.phases[0].block.insts[0] else { panic!("a load") };
                    index.swap(0, 1);
                }
                let size = stored.size();
                let mut x = random(stored, (rows * columns) as usize, 4);
                for at in (1..(rows * columns) as usize).step_by(13) {
                    let nan = Scalar::from_f64(stored, f64::NAN).to_le_bytes();
                    x[at * size..(at + 1) * size].copy_from_slice(&nan[..size]);
                }
                let out = vec![0; size * rows as usize];
                agrees(&n, &[x, out], &[0, 1], if stored == F32 { 1e-3 } else { 1e-9 });
            }
        }
    }
}

/// Column reductions: rows are folded in sequence.
#[test]
fn columns_agree_with_rows() {
    for stored in STORED {
        for shape in [[3, 70], [40, 25], [1000, 300], [30_000, 17], [9001, 6]] {
            for (fold, into) in [
                (Fold::Sum, Bool),
                (Fold::Min, Bool),
                (Fold::Sum, I64),
                (Fold::Sum, F64),
                (Fold::Sum, F32),
                (Fold::Max, stored),
            ] {
                let float = stored.is_float();
                if into == stored && (!float || fold == Fold::Sum) {
                    continue;
                }
                let mut n = folded(stored, (shape[1], shape[0]), (fold, into), &|w, x| {
                    let c = w.constant(stored, 3.0);
                    if into == stored {
                        let nan = w.op(ops::NE, &[x, x]);
                        let least = w.constant(stored, f64::NEG_INFINITY);
                        return w.op(ops::WHERE, &[nan, least, x]);
                    }
                    let truth = w.op(if fold == Fold::Min { ops::LE } else { ops::GT }, &[x, c]);
                    if into == Bool { truth } else { w.cast(into, truth) }
                });
                n.operands[0] = Operand::contiguous(stored, &shape, false);
                let Inst::Load { index, .. } = &mut n.phases[0].block.insts[0] else { panic!("a load") };
                index.swap(0, 1);
                let streams = plan(&n).unwrap().phases[0].streams.is_some();
                assert!(shape[1] < 64 || !matches!(into, Bool | I64) || streams, "{stored} {shape:?}");
                check(&n, false, 0.0);
            }
        }
    }
}

/// The first NaN, the first of equals, the first true element: in long rows, in many short ones, and down
/// columns.
#[test]
fn positions_of_extremes() {
    for stored in STORED.into_iter().chain([F16, BF16]) {
        let short = [7, 8, 12, 13, 33, 64, 65, 130, 700].map(|columns| (40, columns));
        for (rows, columns) in SHAPES.into_iter().chain(short).chain([(2, 9000), (10, 5003)]) {
            for (fold, down) in
                [(Fold::ArgMax, false), (Fold::ArgMin, false), (Fold::ArgMax, true), (Fold::ArgMin, true)]
            {
                let mut reduce = Writer::new(PhaseKind::Reduce);
                let (shape, axes) = if down { ([columns, rows], [1, 0]) } else { ([rows, columns], [0, 1]) };
                let x = reduce.load(0, &axes);
                let at = reduce.inst(Inst::Axis(1));
                reduce.fold(fold, x, Some(at));
                let mut point = Writer::new(PhaseKind::Point);
                let value = point.inst(Inst::Folded { phase: 0, fold: 0 });
                point.store(1, &[0], value);
                let operands =
                    vec![Operand::contiguous(stored, &shape, false), Operand::contiguous(I64, &[rows], true)];
                let nest = nest(&[rows, columns], 1, operands, vec![reduce, point]);
                check(&nest, !down, 0.0);
            }
        }
    }
}

/// Down columns, with long rows and with short ones.
#[test]
fn positions_of_extremes_down_long_columns() {
    for stored in [Bool, U8, I64, F32] {
        for shape in [[300u64, 5000], [5000, 70], [9001, 10], [5003, 64]] {
            let mut reduce = Writer::new(PhaseKind::Reduce);
            let x = reduce.load(0, &[1, 0]);
            let at = reduce.inst(Inst::Axis(1));
            reduce.fold(Fold::ArgMin, x, Some(at));
            let mut point = Writer::new(PhaseKind::Point);
            let value = point.inst(Inst::Folded { phase: 0, fold: 0 });
            point.store(1, &[0], value);
            let operands =
                vec![Operand::contiguous(stored, &shape, false), Operand::contiguous(I64, &[shape[1]], true)];
            let nest = nest(&[shape[1], shape[0]], 1, operands, vec![reduce, point]);
            check(&nest, false, 0.0);
        }
    }
}

#[test]
fn integers_are_multiplied_and_summed() {
    for stored in [I8, I16, I32, I64, U8, U16, U32, U64] {
        for shape in SHAPES {
            check(&folded(stored, shape, (Fold::Sum, stored), &|w, x| w.op(ops::MUL, &[x, x])), true, 0.0);
        }
    }
}

/// Pairs of rows of two matrices, folded over their columns: lanes are pairs, a chain computes the value and
/// folds it, and one of its operands is the same along a tile.
#[test]
fn chains_fold_what_they_compute() {
    for dtype in [F32, F64, F16] {
        for (rows, columns, inner) in [(3, 5, 4), (2, 1537, 9), (5, 700, 33), (1, 2048, 1), (40, 64, 70)] {
            for kind in 0..6 {
                let mut reduce = Writer::new(PhaseKind::Reduce);
                let (x, y) = (reduce.load(0, &[2, 0]), reduce.load(1, &[2, 1]));
                let into = if dtype == F64 { F64 } else { F32 };
                let (x, y) = (reduce.cast(into, x), reduce.cast(into, y));
                let apart = reduce.op(ops::SUB, &[x, y]);
                let both = reduce.op(ops::ADD, &[apart, y]);
                // A square, a product of two, one with a load, a sum, extremes.
                let (fold, value) = match kind {
                    0 => (Fold::Sum, reduce.op(ops::SQR, &[apart])),
                    1 => (Fold::Sum, reduce.op(ops::MUL, &[apart, both])),
                    2 => (Fold::Sum, reduce.op(ops::MUL, &[y, apart])),
                    3 => (Fold::Sum, apart),
                    4 => (Fold::Max, both),
                    _ => (Fold::Min, both),
                };
                reduce.fold(fold, value, None);
                // A second fold, of a value that the first one's chain has.
                reduce.fold(Fold::Sum, both, None);
                let mut point = Writer::new(PhaseKind::Point);
                for (fold, operand) in [(0, 2), (1, 3)] {
                    let value = point.inst(Inst::Folded { phase: 0, fold });
                    point.store(operand, &[0, 1], value);
                }
                let operands = vec![
                    Operand::contiguous(dtype, &[inner, rows], false),
                    Operand::contiguous(dtype, &[inner, columns], false),
                    Operand::contiguous(into, &[rows, columns], true),
                    Operand::contiguous(into, &[rows, columns], true),
                ];
                let nest = nest(&[rows, columns, inner], 2, operands, vec![reduce, point]);
                let plan = plan(&nest).unwrap();
                // Values of a single inner point are computed before the loop, outside of its chains.
                let chained = plan.lane_axes == super::super::plan::LaneAxes::Grid
                    && plan.folds.iter().all(|fold| fold.value.is_none());
                assert!(chained || inner == 1, "{nest:?}");
                let out = vec![0; into.size() * (rows * columns) as usize];
                let (x, y) = ((inner * rows) as usize, (inner * columns) as usize);
                let buffers = [elements(dtype, x), elements(dtype, y), out.clone(), out];
                agrees(&nest, &buffers, &[0, 1, 2, 3], if dtype == F64 { 1e-13 } else { 1e-5 });
            }
        }
    }
}
