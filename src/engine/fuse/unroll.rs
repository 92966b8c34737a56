//! Unrolls short loops: reductions over a few points become elementwise steps, which fuse with their
//! neighbours, and a few grid points that share most of their work become one, with a fold for each.

use crate::lower::dead_code::tidy;
use crate::lower::program::{Program, Step};
use workalike_kernels::nest::{BlockWriter, Fold, FoldOf, Index, Inst, Nest, Phase, PhaseKind, Store, Value};
use workalike_kernels::verify::dtypes;

/// Maximum number of points of a loop that is unrolled.
const FEW: u64 = 4;

/// Unrolls the reductions over a few points, but not over as many as an extent that varies: each number of
/// points would have a kernel of its own.
pub(super) fn reductions(program: &mut Program, varying: &[u64]) {
    for step in &mut program.steps {
        if let Step::Nest { nest, buffers } = step
            && !varies(nest.inner_points(), varying)
            && let Some(map) = without_inner(nest)
        {
            *nest = map;
            tidy(nest, buffers);
        }
    }
}

/// Unrolls the grids of a few points that share their loads, but not of as many as an extent that varies.
pub(super) fn grids(program: &mut Program, varying: &[u64]) {
    for step in &mut program.steps {
        if let Step::Nest { nest, buffers } = step
            && !varies(nest.grid_points(), varying)
            && let Some(single) = without_grid(nest)
        {
            *nest = single;
            tidy(nest, buffers);
        }
    }
}

/// Whether the number of points may come from extents that vary. A single point has another form anyway.
fn varies(points: u64, varying: &[u64]) -> bool {
    let of_two = |first: &u64| varying.iter().any(|second| first * second == points);
    points > 1 && (varying.contains(&points) || varying.iter().filter(|first| **first <= points).any(of_two))
}

/// A Reduce phase that only folds, and the Point phase after it.
fn fold_and_point(nest: &Nest) -> Option<(&Phase, &Phase)> {
    let [reduce, point] = nest.phases.as_slice() else { return None };
    let plain =
        reduce.kind == PhaseKind::Reduce && reduce.stores.is_empty() && point.kind == PhaseKind::Point;
    (plain && !reduce.folds.iter().any(|f| f.fold.has_index())).then_some((reduce, point))
}

/// Every position along the axes, row-major.
fn positions(extents: &[u64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    (0..extents.iter().product::<u64>()).map(|point| {
        let mut rest = point;
        let mut position: Vec<i64> = extents
            .iter()
            .rev()
            .map(|&extent| {
                let at = rest % extent;
                rest /= extent;
                at as i64
            })
            .collect();
        position.reverse();
        position
    })
}

fn without_inner(nest: &Nest) -> Option<Nest> {
    let (reduce, point) = fold_and_point(nest)?;
    let points = nest.inner_points();
    if points == 0 || points > FEW {
        return None;
    }
    let types = dtypes(nest, 0).ok()?;
    let same: Vec<usize> = (0..nest.operands.len()).collect();
    let mut writer = BlockWriter::new(PhaseKind::Point);
    let mut folded: Vec<Option<Value>> = reduce
        .folds
        .iter()
        .map(|fold| {
            // An empty sum is +0, and so is the sum of one -0.
            let starts = matches!(fold.fold, Fold::Sum);
            starts.then(|| writer.push(Inst::Const(fold.fold.identity(types[fold.value as usize]))))
        })
        .collect();
    for position in positions(&nest.axes[nest.grid..]) {
        let grid = (0..nest.grid).map(Index::axis);
        let at: Vec<Index> = grid.chain(position.into_iter().map(Index::constant)).collect();
        let values = copy_block(&mut writer, reduce, Some(&at), &same, &[]);
        for (fold, folded) in reduce.folds.iter().zip(&mut folded) {
            let value = values[fold.value as usize];
            *folded = Some(match *folded {
                None => value,
                Some(before) => writer.op(fold.fold.combine(), &[before, value]),
            });
        }
    }
    let folded: Vec<Value> = folded.into_iter().collect::<Option<_>>()?;
    let values = copy_block(&mut writer, point, None, &same, &folded);
    let stores = point.stores.iter().map(|s| writer.store(s, None, &same, &values)).collect();
    let phase = Phase { kind: PhaseKind::Point, block: writer.finish(), folds: vec![], stores };
    Some(Nest { axes: nest.axes[..nest.grid].to_vec(), phases: vec![phase], ..nest.clone() })
}

fn without_grid(nest: &Nest) -> Option<Nest> {
    let (reduce, point) = fold_and_point(nest)?;
    let points = nest.grid_points();
    if !(2..=FEW).contains(&points) || nest.inner_points() <= FEW || !shares_loads(nest, reduce) {
        return None;
    }
    let same: Vec<usize> = (0..nest.operands.len()).collect();
    let (mut reducing, mut pointing) =
        (BlockWriter::new(PhaseKind::Reduce), BlockWriter::new(PhaseKind::Point));
    let (mut folds, mut stores): (Vec<FoldOf>, Vec<Store>) = (vec![], vec![]);
    for position in positions(&nest.axes[..nest.grid]) {
        let inner = (nest.grid..nest.axes.len()).map(|a| Index::axis(a - nest.grid));
        let at: Vec<Index> = position.into_iter().map(Index::constant).chain(inner).collect();
        let values = copy_block(&mut reducing, reduce, Some(&at), &same, &[]);
        let mut folded = Vec::new();
        for fold in &reduce.folds {
            folds.push(FoldOf { fold: fold.fold, value: values[fold.value as usize], index: None });
            folded.push(pointing.push(Inst::Folded { phase: 0, fold: folds.len() - 1 }));
        }
        let values = copy_block(&mut pointing, point, Some(&at), &same, &folded);
        stores.extend(point.stores.iter().map(|s| pointing.store(s, Some(&at), &same, &values)));
    }
    let phases = vec![
        Phase { kind: PhaseKind::Reduce, block: reducing.finish(), folds, stores: vec![] },
        Phase { kind: PhaseKind::Point, block: pointing.finish(), folds: vec![], stores },
    ];
    Some(Nest { axes: nest.axes[nest.grid..].to_vec(), grid: 0, phases, ..nest.clone() })
}

/// Copies a phase's block; `folded` replaces the results of folds.
fn copy_block(
    writer: &mut BlockWriter,
    phase: &Phase,
    at: Option<&[Index]>,
    same: &[usize],
    folded: &[Value],
) -> Vec<Value> {
    let mut values = Vec::with_capacity(phase.block.insts.len());
    for inst in &phase.block.insts {
        values.push(match inst {
            Inst::Folded { fold, .. } if *fold < folded.len() => folded[*fold],
            _ => writer.copy(inst, at, same, &values),
        });
    }
    values
}

/// Whether some load that varies from point to point is the same at all grid points.
fn shares_loads(nest: &Nest, reduce: &Phase) -> bool {
    reduce.block.insts.iter().any(|inst| match inst {
        Inst::Load { index, .. } => {
            let mut terms = index.iter().flat_map(|i| &i.terms).peekable();
            let fixed = index.iter().all(|i| i.dynamic.is_none());
            fixed && terms.peek().is_some() && terms.all(|&(axis, _)| axis >= nest.grid)
        }
        _ => false,
    })
}
