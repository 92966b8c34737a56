//! Nests of every kind.

use super::*;
use DType::*;

fn buffer(shape: &[u64], dtype: DType, seed: u64) -> Vec<u8> {
    random(dtype, shape.iter().product::<u64>() as usize, seed)
}

fn zeros(shape: &[u64], dtype: DType) -> Vec<u8> {
    vec![0; shape.iter().product::<u64>() as usize * dtype.size()]
}

#[test]
fn elementwise_with_broadcasts_and_strides() {
    for (rows, columns) in [(1, 1), (3, 5), (1000, 10), (7, 1500), (64, 64), (1, 4097)] {
        let (x, row, column) = (vec![rows, columns], vec![columns], vec![rows]);
        let mut w = Writer::new(PhaseKind::Point);
        let a = w.load(0, &[0, 1]);
        let b = w.load(1, &[1]);
        let c = w.load(2, &[0]);
        let t = w.load(3, &[1, 0]);
        let two = w.constant(F32, 2.0);
        let v = w.op(ops::MUL, &[a, b]);
        let v = w.op(ops::ADD, &[v, c]);
        let v = w.op(ops::SUB, &[v, t]);
        let v = w.op(ops::MUL, &[v, two]);
        w.store(4, &[0, 1], v);
        let operands = vec![
            Operand::contiguous(F32, &x, false),
            Operand::contiguous(F32, &row, false),
            Operand::contiguous(F32, &column, false),
            Operand::contiguous(F32, &[columns, rows], false),
            Operand::contiguous(F32, &x, true),
        ];
        let buffers: Vec<_> =
            operands.iter().enumerate().map(|(i, o)| buffer(&o.shape, F32, i as u64)).collect();
        agrees(&nest(&x, 2, operands, vec![w]), &buffers, &[0, 1, 2, 3, 4], 0.0);
    }
}

#[test]
fn every_dtype_is_loaded_converted_and_stored() {
    for from in DType::REAL {
        for to in DType::REAL {
            let mut w = Writer::new(PhaseKind::Point);
            let v = w.load(0, &[0]);
            let v = w.cast(to, v);
            w.store(1, &[0], v);
            // Every third element, for the strided path. The rounding of bfloat16 is tested exactly below.
            for stride in [1, 3] {
                let mut operands =
                    vec![Operand::contiguous(from, &[1037], false), Operand::contiguous(to, &[1037], true)];
                operands.iter_mut().for_each(|o| o.strides[0] = stride);
                let count = [1037 * stride as u64];
                let buffers = [buffer(&count, from, 5), zeros(&count, to)];
                let tolerance = if to == BF16 { 1.0 / 128.0 } else { 0.0 };
                agrees(&nest(&[1037], 1, operands, vec![Writer(w.0.clone())]), &buffers, &[0, 1], tolerance);
            }
        }
    }
}

/// `fold(x)` over some axes of a 3-d array.
fn reduction(fold: Fold, dtype: DType, shape: [u64; 3], over: &[usize]) -> Nest {
    let kept: Vec<usize> = (0..3).filter(|a| !over.contains(a)).collect();
    let order: Vec<usize> = kept.iter().chain(over).copied().collect();
    let axes: Vec<u64> = order.iter().map(|a| shape[*a]).collect();
    let axis_of: Vec<usize> = (0..3).map(|d| order.iter().position(|a| *a == d).unwrap()).collect();
    let mut w = Writer::new(PhaseKind::Reduce);
    let v = w.load(0, &axis_of);
    let mut result = dtype;
    let index = fold.has_index().then(|| {
        result = I64;
        let mut flat = w.constant(I64, 0.0);
        for (i, &a) in over.iter().enumerate() {
            let extent = w.constant(I64, shape[a] as f64);
            let axis = w.inst(Inst::Axis(kept.len() + i));
            flat = w.op(ops::MUL, &[flat, extent]);
            flat = w.op(ops::ADD, &[flat, axis]);
        }
        flat
    });
    w.fold(fold, v, index);
    let mut end = Writer::new(PhaseKind::Point);
    let v = end.inst(Inst::Folded { phase: 0, fold: 0 });
    end.store(1, &(0..kept.len()).collect::<Vec<_>>(), v);
    let out: Vec<u64> = kept.iter().map(|a| shape[*a]).collect();
    let operands = vec![Operand::contiguous(dtype, &shape, false), Operand::contiguous(result, &out, true)];
    nest(&axes, kept.len(), operands, vec![w, end])
}

const OVER: [&[usize]; 8] = [&[], &[0], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]];
const FOLDS: [Fold; 6] = [Fold::Sum, Fold::Product, Fold::Max, Fold::Min, Fold::ArgMax, Fold::ArgMin];

#[test]
fn reductions_of_every_layout() {
    for shape in [[3, 4, 5], [2, 1, 300], [70, 3, 40], [1, 1, 5000], [300, 20, 1]] {
        for over in OVER {
            for fold in FOLDS {
                let n = reduction(fold, F32, shape, over);
                let buffers: Vec<_> = n.operands.iter().map(|o| buffer(&o.shape, o.dtype, 11)).collect();
                agrees(&n, &buffers, &[0, 1], 2e-4);
            }
        }
    }
}

#[test]
fn reductions_of_every_dtype() {
    for dtype in DType::REAL {
        for over in [&[0][..], &[2], &[0, 1, 2]] {
            for fold in FOLDS {
                let n = reduction(fold, dtype, [5, 3, 70], over);
                let buffers: Vec<_> = n.operands.iter().map(|o| buffer(&o.shape, o.dtype, 3)).collect();
                agrees(&n, &buffers, &[0, 1], if dtype.is_half() { 1e-2 } else { 1e-4 });
            }
        }
    }
}

#[test]
fn reductions_of_nothing_give_identities() {
    for over in [&[1][..], &[0, 1], &[0, 1, 2]] {
        for fold in FOLDS {
            let n = reduction(fold, F64, [3, 0, 4], over);
            let buffers: Vec<_> =
                n.operands.iter().map(|o| vec![0; o.shape.iter().product::<u64>() as usize * 8]).collect();
            agrees(&n, &buffers, &[0, 1], 0.0);
        }
    }
    let n = reduction(Fold::Sum, F64, [0, 3, 4], &[1]);
    agrees(&n, &[vec![], vec![]], &[0, 1], 0.0);
}

#[test]
fn large_reductions_keep_their_error_small_and_threads_agree() {
    for (shape, over) in [
        ([1, 1, 3_000_000], &[2][..]),
        ([500_000, 1, 6], &[0]),
        ([3000, 1, 1000], &[2]),
        ([3000, 1, 1000], &[0]),
    ] {
        let n = reduction(Fold::Sum, F32, shape, over);
        let x = buffer(&shape, F32, 1);
        let out = zeros(&n.operands[1].shape, F32);
        let values = numbers(F32, &x);
        let results: Vec<_> =
            [1, 2, 3, 4].map(|t| run_on(t, &n, &[x.clone(), out.clone()], &[0, 1]).remove(1)).into();
        assert!(results.iter().all(|r| *r == results[0]));
        let outs = n.operands[1].shape.iter().product::<u64>() as usize;
        let (mut want, mut size) = (vec![0.0; outs], vec![0.0; outs]);
        for (i, v) in values.iter().enumerate() {
            let (a, c) = (i / shape[2] as usize, i % shape[2] as usize);
            let at = if over == [0] { c } else { a };
            want[at] += v;
            size[at] += v.abs();
        }
        let count = values.len() as f64 / outs as f64;
        let eps = f32::EPSILON as f64 / 2.0;
        for ((got, want), size) in numbers(F32, &results[0]).iter().zip(want).zip(size) {
            assert!((got - want).abs() <= 2.0 * count.log2() * eps * size, "{got} {want}");
        }
    }
}

#[test]
fn long_folds_are_shared_by_chunks() {
    for (shape, over) in [([1, 1, 200_000], &[2][..]), ([70_000, 1, 3], &[0])] {
        for fold in [Fold::ArgMax, Fold::ArgMin, Fold::Max, Fold::Sum] {
            let n = reduction(fold, I32, shape, over);
            let buffers: Vec<_> = n.operands.iter().map(|o| buffer(&o.shape, o.dtype, 9)).collect();
            agrees(&n, &buffers, &[0, 1], 0.0);
        }
    }
}

#[test]
fn argmax_takes_the_first_of_equals_and_of_nans() {
    let nan = f64::NAN;
    for (values, max, min) in [
        (vec![1.0, 3.0, 3.0, 0.0, 0.0], 1.0, 3.0),
        (vec![1.0, nan, 5.0, nan], 1.0, 1.0),
        (vec![f64::NEG_INFINITY; 3], 0.0, 0.0),
        (vec![f64::INFINITY; 3], 0.0, 0.0),
        (vec![0.0, -0.0], 0.0, 0.0),
    ] {
        for (fold, want) in [(Fold::ArgMax, max), (Fold::ArgMin, min)] {
            let n = reduction(fold, F64, [1, 1, values.len() as u64], &[2]);
            let out = run_on(1, &n, &[bytes(F64, &values), vec![0; 8]], &[0, 1]);
            assert_eq!(numbers(I64, &out[1]), [want], "{fold:?} {values:?}");
        }
    }
    let n = reduction(Fold::Max, F32, [1, 1, 4], &[2]);
    let out = run_on(1, &n, &[bytes(F32, &[1.0, nan, 5.0, 2.0]), vec![0; 4]], &[0, 1]);
    assert!(numbers(F32, &out[1])[0].is_nan());
}

pub(super) fn softmax(rows: u64, columns: u64, dtype: DType) -> Nest {
    let x = [rows, columns];
    let mut max = Writer::new(PhaseKind::Reduce);
    let v = max.load(0, &[0, 1]);
    max.fold(Fold::Max, v, None);
    let exp = |w: &mut Writer| {
        let v = w.load(0, &[0, 1]);
        let m = w.inst(Inst::Folded { phase: 0, fold: 0 });
        let v = w.op(ops::SUB, &[v, m]);
        w.op(ops::EXP, &[v])
    };
    let mut sum = Writer::new(PhaseKind::Reduce);
    let v = exp(&mut sum);
    sum.fold(Fold::Sum, v, None);
    let mut map = Writer::new(PhaseKind::Map);
    let v = exp(&mut map);
    let s = map.inst(Inst::Folded { phase: 1, fold: 0 });
    let v = map.op(ops::DIV, &[v, s]);
    map.store(1, &[0, 1], v);
    let operands = vec![Operand::contiguous(dtype, &x, false), Operand::contiguous(dtype, &x, true)];
    nest(&x, 1, operands, vec![max, sum, map])
}

#[test]
fn softmax_of_any_shape_also_in_place() {
    for (rows, columns) in [(1, 1), (5, 7), (400, 10), (3, 2000), (1, 150_000), (70, 130)] {
        for dtype in [F16, F32, F64] {
            let n = softmax(rows, columns, dtype);
            let x = buffer(&[rows, columns], dtype, 7);
            let out = zeros(&[rows, columns], dtype);
            agrees(&n, &[x.clone(), out.clone()], &[0, 1], if dtype == F16 { 1e-3 } else { 1e-5 });
            let apart = run_on(2, &n, &[x.clone(), out], &[0, 1]);
            let in_place = run_on(2, &n, &[x], &[0, 0]);
            assert!(apart[1] == in_place[0]);
        }
    }
}

#[test]
fn updates_in_place() {
    for count in [1, 100, 100_003] {
        let mut w = Writer::new(PhaseKind::Point);
        let p = w.load(0, &[0]);
        let g = w.load(1, &[0]);
        let rate = w.constant(F32, 0.1);
        let v = w.op(ops::MUL, &[g, rate]);
        let v = w.op(ops::SUB, &[p, v]);
        w.store(2, &[0], v);
        // Also the old value: loaded before the store, stored after it.
        w.store(3, &[0], p);
        let operands = [false, false, true, true].map(|written| Operand::contiguous(F32, &[count], written));
        let buffers = [buffer(&[count], F32, 1), buffer(&[count], F32, 2), zeros(&[count], F32)];
        agrees(&nest(&[count], 1, operands.into(), vec![w]), &buffers, &[0, 1, 0, 2], 0.0);
    }
}

/// Positions are stored beside a chain whose registers they reuse.
#[test]
fn positions_are_stored_beside_a_chain() {
    for count in [64, 1024, 5000] {
        let mut w = Writer::new(PhaseKind::Point);
        let a = w.load(0, &[0]);
        let b = w.op(ops::NEG, &[a]);
        let c = w.op(ops::EXP, &[b]);
        let d = w.inst(Inst::Axis(0));
        w.store(1, &[0], c);
        w.store(2, &[0], d);
        let operands = vec![
            Operand::contiguous(F64, &[count], false),
            Operand::contiguous(F64, &[count], true),
            Operand::contiguous(DType::I64, &[count], true),
        ];
        let buffers = [buffer(&[count], F64, 1), zeros(&[count], F64), zeros(&[count], DType::I64)];
        agrees(&nest(&[count], 1, operands, vec![w]), &buffers, &[0, 1, 2], 1e-15);
    }
}

/// Two buffers that are updated at the same places: each from itself, and each from the other.
#[test]
fn updates_in_place_of_two_buffers() {
    for (shape, dtype) in [([1u64, 7], F32), ([3, 1001], F32), ([5, 20_011], F64), ([1, 100_003], F32)] {
        for swap in [false, true] {
            let mut w = Writer::new(PhaseKind::Point);
            let (x, y) = (w.load(0, &[0, 1]), w.load(1, &[0, 1]));
            let sum = w.op(ops::ADD, &[x, y]);
            let product = w.op(ops::MUL, &[sum, y]);
            let (first, second) = if swap { (y, x) } else { (sum, product) };
            w.store(2, &[0, 1], first);
            w.store(3, &[0, 1], second);
            let operand = |written| Operand::contiguous(dtype, &shape, written);
            let operands = [false, false, true, true].map(operand);
            let buffers = [buffer(&shape, dtype, 1), buffer(&shape, dtype, 2)];
            agrees(&nest(&shape, 2, operands.into(), vec![w]), &buffers, &[0, 1, 0, 1], 0.0);
        }
    }
}

#[test]
fn gathers_rows() {
    let (count, rows, columns) = (700u64, 50u64, 33u64);
    let mut w = Writer::new(PhaseKind::Point);
    let i = w.load(0, &[0]);
    let index = vec![Index { dynamic: Some(i), ..Index::default() }, Index::axis(1)];
    let v = w.inst(Inst::Load { operand: 1, index });
    w.store(2, &[0, 1], v);
    for dtype in [F16, Bool, I16, F32, F64] {
        let operands = vec![
            Operand::contiguous(I64, &[count], false),
            Operand::contiguous(dtype, &[rows, columns], false),
            Operand::contiguous(dtype, &[count, columns], true),
        ];
        let mut some = Numbers(3);
        let at: Vec<f64> = (0..count).map(|_| (some.next() % rows) as f64).collect();
        let buffers = [bytes(I64, &at), buffer(&[rows, columns], dtype, 4), zeros(&[count, columns], dtype)];
        let n = nest(&[count, columns], 2, operands, vec![Writer(w.0.clone())]);
        agrees(&n, &buffers, &[0, 1, 2], 0.0);
        // Indices out of range break the contract, but touch nothing outside of the operand.
        let wild = [bytes(I64, &vec![1e18; count as usize]), buffers[1].clone(), buffers[2].clone()];
        let out = run_on(2, &n, &wild, &[0, 1, 2]);
        let last = &wild[1][((rows - 1) * columns) as usize * dtype.size()..];
        assert!(dtype == Bool || out[2].chunks(last.len()).all(|row| row == last));
    }
}

/// `target[index[i], f] += x[i, f]`, in the order of `i`.
fn scatter_add(count: u64, rows: u64, columns: u64) -> Nest {
    let mut w = Writer::new(PhaseKind::Ordered);
    let i = w.load(0, &[1]);
    let x = w.load(1, &[1, 0]);
    let index = vec![Index { dynamic: Some(i), ..Index::default() }, Index::axis(0)];
    let old = w.inst(Inst::Load { operand: 2, index: index.clone() });
    let new = w.op(ops::ADD, &[old, x]);
    w.0.stores.push(Store { operand: 2, index, value: new, when: None, add: false });
    let operands = vec![
        Operand::contiguous(I64, &[count], false),
        Operand::contiguous(F32, &[count, columns], false),
        Operand::contiguous(F32, &[rows, columns], true),
    ];
    nest(&[columns, count], 1, operands, vec![w])
}

#[test]
fn scatters_add_duplicates_in_order() {
    let long = [(5000, 11, 1), (4099, 3000, 2)];
    for (count, rows, columns) in [(10, 3, 1), (200, 7, 20), (300, 5, 700), (1, 1, 1)].into_iter().chain(long)
    {
        let mut some = Numbers(8);
        let at: Vec<f64> = (0..count).map(|_| (some.next() % rows) as f64).collect();
        let buffers = [bytes(I64, &at), buffer(&[count, columns], F32, 1), buffer(&[rows, columns], F32, 2)];
        agrees(&scatter_add(count, rows, columns), &buffers, &[0, 1, 2], 0.0);
    }
}

#[test]
fn scatters_by_a_permutation_and_by_condition() {
    let count = 50_000u64;
    let mut w = Writer::new(PhaseKind::Point);
    let i = w.load(0, &[0]);
    let x = w.load(1, &[0]);
    let zero = w.constant(F32, 0.0);
    let positive = w.op(ops::GT, &[x, zero]);
    let index = vec![Index { dynamic: Some(i), ..Index::default() }];
    w.0.stores.push(Store { operand: 2, index, value: x, when: Some(positive), add: false });
    w.0.stores.push(Store {
        operand: 3,
        index: vec![Index::axis(0)],
        value: x,
        when: Some(positive),
        add: false,
    });
    let operands = vec![
        Operand::contiguous(I64, &[count], false),
        Operand::contiguous(F32, &[count], false),
        Operand::contiguous(F32, &[count], true),
        Operand::contiguous(F32, &[count], true),
    ];
    let at: Vec<f64> = (0..count).map(|i| (i * 7919 % count) as f64).collect();
    let buffers = [bytes(I64, &at), buffer(&[count], F32, 1), zeros(&[count], F32), zeros(&[count], F32)];
    agrees(&nest(&[count], 1, operands, vec![w]), &buffers, &[0, 1, 2, 3], 0.0);
}

#[test]
fn scans_read_what_they_stored() {
    // y[g, i + 1] = y[g, i] + x[g, i], with either of y's axes as the grid.
    for (grid, steps, by_column) in [(1, 100, false), (300, 50, false), (300, 50, true), (5000, 40, true)] {
        let axes = if by_column { [1, 0] } else { [0, 1] };
        let mut w = Writer::new(PhaseKind::Ordered);
        let x = w.load(0, &axes);
        let mut index: Vec<Index> = axes.iter().map(|a| Index::axis(*a)).collect();
        let old = w.inst(Inst::Load { operand: 1, index: index.clone() });
        let new = w.op(ops::ADD, &[old, x]);
        index[axes[1]].offset = 1;
        w.0.stores.push(Store { operand: 1, index, value: new, when: None, add: false });
        let shape = |steps: u64| if by_column { [steps, grid] } else { [grid, steps] };
        let operands = vec![
            Operand::contiguous(F32, &shape(steps), false),
            Operand::contiguous(F32, &shape(steps + 1), true),
        ];
        let buffers = [buffer(&[grid, steps], F32, 1), buffer(&[grid, steps + 1], F32, 2)];
        agrees(&nest(&[grid, steps], 1, operands, vec![w]), &buffers, &[0, 1], 0.0);
    }
}

#[test]
fn axes_offsets_and_negative_coefficients() {
    let mut w = Writer::new(PhaseKind::Point);
    let (i, j) = (w.inst(Inst::Axis(0)), w.inst(Inst::Axis(2)));
    let v = w.op(ops::MUL, &[i, j]);
    let mut back = Index::constant(8);
    back.add_term(2, -2);
    let x = w.inst(Inst::Load { operand: 0, index: vec![Index::axis(1), back] });
    let v = w.op(ops::ADD, &[v, x]);
    w.store(1, &[0, 1, 2], v);
    let operands =
        vec![Operand::contiguous(I64, &[3, 9], false), Operand::contiguous(I64, &[400, 3, 5], true)];
    let buffers = [buffer(&[27], I64, 1), zeros(&[6000], I64)];
    agrees(&nest(&[400, 3, 5], 3, operands, vec![w]), &buffers, &[0, 1], 0.0);
}

#[test]
fn zero_dimensional_and_random_bits() {
    let mut w = Writer::new(PhaseKind::Point);
    let key = w.load(0, &[]);
    let one = w.constant(U64, 1.0);
    let bits = w.op(ops::PHILOX, &[key, one, one]);
    w.store(1, &[], bits);
    let operands = vec![Operand::contiguous(U64, &[], false), Operand::contiguous(U64, &[], true)];
    let n = nest(&[], 0, operands, vec![w]);
    agrees(&n, &[vec![7; 8], vec![0; 8]], &[0, 1], 0.0);
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let mut w = Writer::new(PhaseKind::Point);
    let v = w.load(0, &[0]);
    w.store(1, &[0], v);
    let operands = vec![Operand::contiguous(F32, &[10], false), Operand::contiguous(F32, &[10], true)];
    let n = nest(&[10], 1, operands.clone(), vec![Writer(w.0.clone())]);
    assert!(try_run(1, &n, &[vec![0; 40], vec![0; 36]], &[0, 1]).is_err());
    assert!(try_run(1, &n, &[vec![0; 40], vec![0; 40]], &[0]).is_err());
    assert!(try_run(1, &n, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_ok());
    let mut broken = n.clone();
    broken.phases[0].stores[0].operand = 7;
    assert!(try_run(1, &broken, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_err());
    broken = n.clone();
    broken.phases[0].stores[0].value = 7;
    assert!(try_run(1, &broken, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_err());
    broken = n.clone();
    broken.phases[0].stores[0].add = true;
    assert!(try_run(1, &broken, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_err(), "it adds in order only");
    broken = n.clone();
    broken.axes = vec![u64::MAX, u64::MAX];
    assert!(try_run(1, &broken, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_err());
    broken = n;
    broken.phases[0].stores[0].index[0].offset = i64::MIN;
    assert!(try_run(1, &broken, &[vec![0; 40], vec![0; 40]], &[0, 1]).is_err());
}

#[test]
fn large_maps_agree_on_any_number_of_threads() {
    let count = 1_000_003u64;
    let mut w = Writer::new(PhaseKind::Point);
    let v = w.load(0, &[0]);
    let v = w.op(ops::TANH, &[v]);
    w.store(1, &[0], v);
    let operands = vec![Operand::contiguous(F32, &[count], false), Operand::contiguous(F32, &[count], true)];
    let n = nest(&[count], 1, operands, vec![w]);
    let buffers = [buffer(&[count], F32, 1), zeros(&[count], F32)];
    let one = run_on(1, &n, &buffers, &[0, 1]);
    let (x, y) = (numbers(F32, &buffers[0]), numbers(F32, &one[1]));
    assert!(x.iter().zip(y).all(|(x, y)| (x.tanh() - y).abs() < 1e-6));
    for threads in [2, 3, 5] {
        assert!(run_on(threads, &n, &buffers, &[0, 1]) == one);
    }
}

#[test]
fn stored_halves_are_rounded_to_nearest_even() {
    let mut some = Numbers(77);
    let mut values: Vec<f32> = (0..200_000).map(|_| some.float() as f32).collect();
    // Near ties of bfloat16, and exactly on them.
    values.extend([0x3f24_7fff, 0xbf24_8003, 0x3f24_8000, 0x3f25_8000, 0xbf24_8001].map(f32::from_bits));
    let mut got = vec![0; values.len()];
    halves::narrow(BF16, &values, &mut got);
    for (value, got) in values.iter().zip(&got) {
        let (low, high) = (value.to_bits() >> 16, (value.to_bits() >> 16) + 1);
        let away = |bits: u32| (*value as f64 - f32::from_bits(bits << 16) as f64).abs();
        let down = away(low) < away(high) || away(low) == away(high) && low % 2 == 0;
        assert_eq!(*got as u32, if down { low } else { high }, "{value}");
    }
    let mut got = [0; 5];
    halves::narrow(F16, &[2049.0, 2051.0, 2049.001, 65520.0, -1e-9], &mut got);
    assert_eq!(got, [0x6800, 0x6802, 0x6801, 0x7c00, 0x8000]);
}

#[test]
fn exponentials_are_kept_between_phases_where_rows_are_short() {
    let tiles = |n: &Nest| -> usize {
        let plan = plan(n).unwrap();
        let work = plan.phases.iter().flat_map(|p| &p.body);
        work.map(|w| match w {
            plan::TileInst::Tile { .. } => 1,
            plan::TileInst::Chain(work) => work.chain.operations(),
            _ => 0,
        })
        .sum()
    };
    // sub, exp, div, against sub and exp twice.
    for (rows, columns) in [(400, 10), (3, 2000), (2048, 2048), (70, 130)] {
        let n = softmax(rows, columns, F32);
        assert_eq!(tiles(&n), 3, "{rows} {columns}");
        assert_eq!(plan(&n).unwrap().kept.len(), 1);
    }
    assert_eq!(tiles(&softmax(1, 150_000, F32)), 5, "too long to keep");
    // A load from a stored operand is not reused.
    let mut n = softmax(30, 200, F32);
    let x = Operand { written: true, ..n.operands[0].clone() };
    n.operands[0] = x;
    let value = n.phases[1].folds[0].value;
    n.phases[1].stores.push(Store {
        operand: 0,
        index: vec![Index::axis(0), Index::axis(1)],
        value,
        when: None,
        add: false,
    });
    assert_eq!(plan(&n).unwrap().kept.len(), 0);
    let shape = [30, 200];
    agrees(&n, &[buffer(&shape, F32, 3), zeros(&shape, F32)], &[0, 1], 1e-5);
}

/// Results that are large enough for non-temporal stores, at every alignment of rows.
#[test]
fn large_results() {
    for columns in [4099, 4096] {
        let shape = [1031, columns];
        let mut w = Writer::new(PhaseKind::Map);
        let (a, b) = (w.load(0, &[0, 1]), w.load(1, &[0, 1]));
        let v = w.op(ops::SUB, &[a, b]);
        w.store(2, &[0, 1], v);
        let operands = [false, false, true].map(|written| Operand::contiguous(F32, &shape, written));
        let nest = nest(&shape, 1, operands.into(), vec![w]);
        let (x, y) = (buffer(&shape, F32, 1), buffer(&shape, F32, 2));
        let want: Vec<u8> = {
            let (x, y) = (numbers(F32, &x), numbers(F32, &y));
            x.iter().zip(&y).flat_map(|(x, y)| (*x as f32 - *y as f32).to_le_bytes()).collect()
        };
        for threads in [1, 2] {
            let out = run_on(threads, &nest, &[x.clone(), y.clone(), zeros(&shape, F32)], &[0, 1, 2]);
            assert!(out[2] == want, "{columns} {threads}");
        }
    }
}
