//! Threads share a run exactly if none stores an element that another touches.

use super::*;

/// Whether threads share the Nest when operand `i` is bound to `regions[i]`: (buffer, offset in bytes).
fn shares(nest: &Nest, regions: &[(usize, u64)]) -> bool {
    let memory: Vec<Arc<dyn Memory>> =
        (0..4).map(|_| Arc::new(HostMemory::new(1 << 20).unwrap()) as _).collect();
    let regions: Vec<Region> = regions
        .iter()
        .map(|(buffer, offset)| Region {
            memory: memory[*buffer].clone(),
            offset: *offset,
            bytes: (1 << 19) - offset,
        })
        .collect();
    bind::BoundPlan::new(&Arc::new(plan(nest).unwrap()), &regions, 4, 1.0).unwrap().parallel()
}

/// `y[out] = x[from] + x[from]` over 2000 points, and operands of 4000 elements.
fn map(from: Index, out: Index) -> Nest {
    let mut w = Writer::new(PhaseKind::Point);
    let x = w.inst(Inst::Load { operand: 0, index: vec![from] });
    let value = w.op(ops::ADD, &[x, x]);
    w.0.stores.push(Store { operand: 1, index: vec![out], value, when: None, add: false });
    let operands =
        vec![Operand::contiguous(DType::F32, &[4000], false), Operand::contiguous(DType::F32, &[4000], true)];
    nest(&[2000], 1, operands, vec![w])
}

#[test]
fn maps_share_unless_they_touch_their_neighbours() {
    let same = map(Index::axis(0), Index::axis(0));
    assert!(shares(&same, &[(0, 0), (1, 0)]));
    assert!(shares(&same, &[(0, 0), (0, 0)]), "in place, by the same map");
    assert!(!shares(&same, &[(0, 0), (0, 64)]), "in place, but shifted by where it is bound");
    let mut back = Index::constant(1999);
    back.add_term(0, -1);
    let reverse = map(back, Index::axis(0));
    assert!(shares(&reverse, &[(0, 0), (1, 0)]));
    assert!(!shares(&reverse, &[(0, 0), (0, 0)]), "in place, by another map");
    let mut shifted = Index::axis(0);
    shifted.offset = 1;
    assert!(!shares(&map(shifted, Index::axis(0)), &[(0, 0), (0, 0)]), "in place, shifted along the grid");
    assert!(!shares(&map(Index::axis(0), Index::constant(3)), &[(0, 0), (1, 0)]), "all store to one place");
    let mut wide = Index::axis(0);
    wide.add_term(0, 1);
    assert!(shares(&map(Index::axis(0), wide), &[(0, 0), (1, 0)]), "every second place");
}

/// A scan along the inner axis: `y[g, i + 1] = y[g, i] + x[g, i]`; or along the grid, which no Nest may do.
fn scan(along_grid: bool, by_column: bool) -> Nest {
    let (grid, steps) = (500u64, 20u64);
    let axes = if by_column { [1, 0] } else { [0, 1] };
    let mut w = Writer::new(PhaseKind::Ordered);
    let x = w.load(0, &axes);
    let mut index: Vec<Index> = axes.iter().map(|a| Index::axis(*a)).collect();
    let old = w.inst(Inst::Load { operand: 1, index: index.clone() });
    let value = w.op(ops::ADD, &[old, x]);
    let dimension = if along_grid { axes[0] } else { axes[1] };
    index[dimension].offset = 1;
    w.0.stores.push(Store { operand: 1, index, value, when: None, add: false });
    let shape = |more: u64| {
        let (g, i) = (grid + more, steps + more);
        if by_column { [i, g] } else { [g, i] }
    };
    let operands = vec![
        Operand::contiguous(DType::F32, &shape(0), false),
        Operand::contiguous(DType::F32, &shape(1), true),
    ];
    nest(&[grid, steps], 1, operands, vec![w])
}

#[test]
fn scans_share_across_the_grid_only() {
    for by_column in [false, true] {
        assert!(shares(&scan(false, by_column), &[(0, 0), (1, 0)]), "{by_column}");
        assert!(!shares(&scan(true, by_column), &[(0, 0), (1, 0)]), "{by_column}");
    }
}

/// Stores `x` at computed rows; `add`: adds it to the elements. `columns`: the grid axis is a dimension of
/// the target.
fn scatter(add: bool, columns: bool) -> Nest {
    let mut w = Writer::new(PhaseKind::Ordered);
    let row = w.load(0, &[1]);
    let mut value = w.load(1, &[1, 0]);
    let other = if columns { Index::axis(0) } else { Index::constant(0) };
    let index = vec![Index { dynamic: Some(row), ..Index::default() }, other];
    if add {
        let old = w.inst(Inst::Load { operand: 2, index: index.clone() });
        value = w.op(ops::ADD, &[old, value]);
    }
    w.0.stores.push(Store { operand: 2, index, value, when: None, add: false });
    let operands = vec![
        Operand::contiguous(DType::I64, &[100], false),
        Operand::contiguous(DType::F32, &[100, 500], false),
        Operand::contiguous(DType::F32, &[7, 500], true),
    ];
    nest(&[500, 100], 1, operands, vec![w])
}

#[test]
fn scatters_share_where_targets_are_apart() {
    let apart = [(0, 0), (1, 0), (2, 0)];
    assert!(shares(&scatter(true, true), &apart), "each grid point adds to a column of its own");
    assert!(!shares(&scatter(true, false), &apart), "all grid points add to one column");
    assert!(shares(&scatter(false, false), &apart), "stores alone may meet: they are atomic");
    assert!(!shares(&scatter(false, false), &[(0, 0), (2, 0), (2, 0)]), "unless the target is read as well");
}

#[test]
fn long_inner_ranges_share_unless_points_meet() {
    let count = 400_000 / 4;
    let make = |out: Vec<Index>, shape: &[u64]| {
        let mut w = Writer::new(PhaseKind::Map);
        let x = w.load(0, &[0]);
        w.0.stores.push(Store { operand: 1, index: out, value: x, when: None, add: false });
        let operands = vec![
            Operand::contiguous(DType::F32, &[count], false),
            Operand::contiguous(DType::F32, shape, true),
        ];
        nest(&[count], 0, operands, vec![w])
    };
    assert!(shares(&make(vec![Index::axis(0)], &[count]), &[(0, 0), (1, 0)]));
    assert!(shares(&make(vec![Index::axis(0)], &[count]), &[(0, 0), (0, 0)]));
    assert!(!shares(&make(vec![Index::axis(0)], &[count]), &[(0, 0), (0, 64)]));
    assert!(!shares(&make(vec![], &[]), &[(0, 0), (1, 0)]), "all store to one place");
}

#[test]
fn short_runs_stay_with_the_caller() {
    let nest = map(Index::axis(0), Index::axis(0));
    let memory: Arc<dyn Memory> = Arc::new(HostMemory::new(1 << 20).unwrap());
    let regions = [Region::whole(memory.clone()), Region::whole(memory)];
    let plan = Arc::new(plan(&nest).unwrap());
    assert!(!bind::BoundPlan::new(&plan, &regions, 4, bind::SHARE_FROM).unwrap().parallel());
}

/// `y[i] = x[at[i]]`; reports 7 where `at[i]` is below 0, and 9 where it is 3 or more.
fn gather_and_report(points: u64) -> Nest {
    let number = |n: i128| Inst::Const(Scalar::from_i128(DType::I64, n));
    let mut w = Writer::new(PhaseKind::Point);
    let at = w.load(0, &[0]);
    let [zero, two, three] = [0, 2, 3].map(|n| w.inst(number(n)));
    let (low, high) = (w.op(ops::LT, &[at, zero]), w.op(ops::GE, &[at, three]));
    let at = w.op(ops::MAXIMUM, &[at, zero]);
    let at = w.op(ops::MINIMUM, &[at, two]);
    let index = vec![Index { dynamic: Some(at), ..Index::default() }];
    let value = w.inst(Inst::Load { operand: 1, index });
    w.0.stores.push(Store { operand: 2, index: vec![Index::axis(0)], value, when: None, add: false });
    for (n, when) in [(7, low), (9, high)] {
        let value = w.inst(number(n));
        w.0.stores.push(Store { operand: 3, index: vec![], value, when: Some(when), add: false });
    }
    let operands = vec![
        Operand::contiguous(DType::I64, &[points], false),
        Operand::contiguous(DType::F32, &[3], false),
        Operand::contiguous(DType::F32, &[points], true),
        Operand::contiguous(DType::I64, &[], true),
    ];
    nest(&[points], 1, operands, vec![w])
}

#[test]
fn gathers_share_although_they_report() {
    let nest = gather_and_report(2000);
    assert!(shares(&nest, &[(0, 0), (1, 0), (2, 0), (3, 0)]));
    assert!(!shares(&nest, &[(0, 0), (1, 0), (2, 0), (2, 0)]), "the report lies in the result");
    assert!(!shares(&nest, &[(0, 0), (1, 0), (2, 0), (1, 0)]), "the report lies in what is read");
}

#[test]
fn reports_do_not_depend_on_threads() {
    let points = 200_000usize;
    let nest = gather_and_report(points as u64);
    for (bad, report) in
        [(vec![], 5), (vec![(10, -1)], 7), (vec![(199_999, 3)], 9), (vec![(3, 3), (199_000, -1)], 9)]
    {
        let mut at: Vec<f64> = (0..points).map(|i| (i % 3) as f64).collect();
        bad.iter().for_each(|&(i, value): &(usize, i32)| at[i] = value.into());
        let buffers = [
            bytes(DType::I64, &at),
            bytes(DType::F32, &[1.0, 2.0, 4.0]),
            vec![0; 4 * points],
            bytes(DType::I64, &[5.0]),
        ];
        for threads in [1, 4] {
            let found = run_on(threads, &nest, &buffers, &[0, 1, 2, 3]);
            assert_eq!(numbers(DType::I64, &found[3]), [f64::from(report)], "{threads} threads, {bad:?}");
            assert_eq!(numbers(DType::F32, &found[2])[4], 2.0);
        }
    }
}

#[test]
fn sums_do_not_depend_on_threads() {
    use workalike::prelude::*;
    for rows in [3usize, 8, 16, 20, 40] {
        let x = matrix::<f64>("x");
        let s = x.exp().sum(1).expand_dims(1);
        // The Nest may be fused with the sum's, and then has other registers.
        let y = x.sin() + x.cos() * s + x.tan();
        let f = function([&x]).output(&y).compile().unwrap();
        let value = Array2::from_shape_fn((rows, 4096), |(i, j)| ((i * 4096 + j) as f64 * 0.37).sin());
        let of = |threads: usize| {
            let mut sim = f.optimize(Host::threads(threads)).unwrap();
            sim.call(args![&value]).unwrap()[0].to_vec::<f64>().unwrap()
        };
        let one = of(1);
        for threads in [2, 3, 4, 8] {
            assert!(of(threads) == one, "{rows} rows, {threads} threads");
        }
    }
}

/// A kept value is in the frame of the thread that computed it, so threads share grid points, not chunks.
#[test]
fn chunks_of_phases_with_kept_values_are_not_shared() {
    let (rows, columns) = (2000, 64);
    let mut n = nests::softmax(rows, columns, DType::F32);
    for operand in &mut n.operands {
        operand.strides = vec![1, rows as i64];
    }
    let planned = plan(&n).unwrap();
    assert_eq!(planned.kept.len(), 1);
    assert!(planned.phases.iter().any(|phase| phase.steps > phase.chunk));
    let memory = || Region::whole(Arc::new(HostMemory::new(4 * rows * columns).unwrap()) as _);
    let bound = bind::BoundPlan::new(&Arc::new(planned), &[memory(), memory()], 8, 1.0).unwrap();
    assert!(bound.parallel() && !bound.shares_chunks());
}
