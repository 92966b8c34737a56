//! Reductions to few results are split into two steps that fill the device: partial folds over parts of the
//! inner points, then a fold of the partial results.

use super::cost::SplitThresholds;
use super::directions;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{
    Block, BlockWriter, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value,
};
use workalike_kernels::verify::dtypes;
use workalike_kernels::{DType, Scalar, ops};

/// Most columns that a group sums together.
const COLUMNS: u64 = 32;
/// A sum of a tile over so much less than a long row takes long enough to be split.
const DEEP: u64 = 4;
/// Most partial results of a contraction.
const PARTIAL: u64 = 1 << 22;
/// Larger numbers of rows or columns are computed in tiles (`kernels/src/schedule/tile/mod.rs`).
const NARROW: u64 = 16;

/// Rows of so much less than a long one are split if so many times the elements of a long one are loaded.
const HEAVY: u64 = 8;

/// Splits every reduction that would leave most of the device idle.
pub(super) fn run(program: &mut Program, thresholds: SplitThresholds) {
    for step in std::mem::take(&mut program.steps) {
        let parts = match &step {
            Step::Nest { nest, buffers } => split(program, nest, buffers, thresholds),
            _ => None,
        };
        match parts {
            Some(parts) => program.steps.extend(parts),
            None => program.steps.push(step),
        }
    }
}

/// An inner axis in `count` parts of `len` points; the last may be short.
struct AxisSplit {
    axis: usize,
    count: u64,
    len: u64,
    /// Where the axis of parts is among the grid axes: before columns, whose elements are neighbours, and
    /// behind rows.
    at: usize,
}

/// Whether neighbouring grid points load neighbouring elements, and inner points do not.
pub(super) fn sums_columns(nest: &Nest) -> bool {
    directions(nest) == [true, false]
}

/// Groups that take a Nest's grid points, if these are few: columns are taken a few at a time.
pub(super) fn groups(nest: &Nest, thresholds: SplitThresholds) -> u64 {
    let grid = nest.grid_points();
    if sums_columns(nest) { grid.div_ceil(thresholds.columns) } else { grid }
}

/// The partial results of a fold, each in a buffer.
struct Partial {
    value: (BufferId, DType),
    /// Of ArgMax and ArgMin, whose results lack the value.
    index: Option<(BufferId, DType)>,
}

fn cut(nest: &Nest, thresholds: SplitThresholds) -> Option<AxisSplit> {
    let (grid, inner) = (nest.grid_points(), nest.inner_points());
    // A contraction goes by tiles, a group for each.
    let by_tiles = thresholds.tile > 1 && is_contraction(nest);
    // Shorter rows pay too if a group moves much: it takes neighbouring columns together.
    let columns = match directions(nest)[0] {
        true if grid > thresholds.busy => thresholds.columns,
        true => grid.min(COLUMNS),
        false => 1,
    };
    let loads = nest.phases[0].block.insts.iter().filter(|inst| matches!(inst, Inst::Load { .. })).count();
    let moved = columns.saturating_mul(inner).saturating_mul(loads as u64);
    let is_heavy = !by_tiles && inner >= thresholds.small / HEAVY && moved >= thresholds.small * HEAVY;
    let groups = if by_tiles { grid.div_ceil(thresholds.tile) } else { groups(nest, thresholds) };
    let is_long = inner >= if by_tiles { thresholds.small / DEEP } else { thresholds.small };
    // Groups of columns have all the items that they can.
    let busy = if groups < grid && !by_tiles { thresholds.busy / 2 } else { thresholds.busy };
    if grid == 0 || groups > busy || !(is_long || is_heavy) {
        return None;
    }
    let want = (thresholds.parts / groups).min(inner / thresholds.group);
    let want = if by_tiles { want.min(PARTIAL / grid) } else { want }.max(2);
    // The outermost axis with enough points: its parts are long contiguous runs. A part of the innermost axis
    // would be a few neighbours from each of many rows.
    let axes = || (nest.grid..).zip(&nest.axes[nest.grid..]);
    let (axis, &extent) = axes().find(|(_, e)| **e >= want).or_else(|| axes().max_by_key(|(_, e)| **e))?;
    let count = want.min(extent);
    // A divisor near the wanted count leaves no short part.
    let divisor = (count / 2..=count * 2)
        .filter(|&c| c >= 2 && extent.is_multiple_of(c))
        .min_by_key(|c| c.abs_diff(count));
    let len = extent.div_ceil(divisor.unwrap_or(count));
    let at = if sums_columns(nest) { 0 } else { nest.grid };
    Some(AxisSplit { axis, count: extent.div_ceil(len), len, at })
}

/// Whether two factors are loaded, each constant along a grid axis of the other: tiles of results share them.
fn is_contraction(nest: &Nest) -> bool {
    // For each load and each grid axis of more than a few points, whether the address moves along the axis.
    let moves = |inst: &Inst| -> Option<Vec<bool>> {
        let Inst::Load { operand, index } = inst else { return None };
        let address = nest.operands[*operand].affine(index, nest.axes.len())?;
        let steps = address.coefficients[..nest.grid].iter().zip(&nest.axes);
        Some(steps.filter(|(_, extent)| **extent > NARROW).map(|(step, _)| *step != 0).collect())
    };
    let loads: Vec<Vec<bool>> = nest.phases[0].block.insts.iter().filter_map(moves).collect();
    let alone = |a: &Vec<bool>, b: &Vec<bool>| a.iter().zip(b).any(|(a, b)| *a && !*b);
    loads.iter().any(|a| loads.iter().any(|b| alone(a, b) && alone(b, a)))
}

fn split(
    program: &mut Program,
    nest: &Nest,
    buffers: &[BufferId],
    thresholds: SplitThresholds,
) -> Option<[Step; 2]> {
    let [reduce, point] = nest.phases.as_slice() else { return None };
    let plain = reduce.kind == PhaseKind::Reduce && point.kind == PhaseKind::Point;
    // Only the second step does the Point phase, so the phase may not read stores of the first.
    let reads_stored = point.block.insts.iter().any(|inst| match inst {
        Inst::Load { operand, .. } => reduce.stores.iter().any(|s| buffers[s.operand] == buffers[*operand]),
        _ => false,
    });
    if !plain || reads_stored {
        return None;
    }
    let cut = cut(nest, thresholds)?;
    let types = dtypes(nest, 0).ok()?;
    let mut shape = nest.axes[..nest.grid].to_vec();
    shape.insert(cut.at, cut.count);
    let mut temp = |dtype: DType| (program.buffer(dtype, &shape, Role::Temp), dtype);
    let mut results = Vec::with_capacity(reduce.folds.len());
    for fold in &reduce.folds {
        let value = temp(types[fold.value as usize]);
        results.push(Partial { value, index: fold.index.map(|_| temp(DType::I64)) });
    }
    let partial = partial_folds(nest, buffers, &cut, &types, &results);
    Some([partial, final_folds(nest, buffers, (&shape, cut.at), &results)])
}

/// The step that folds each part, and stores the partial results to `results`.
fn partial_folds(
    nest: &Nest,
    buffers: &[BufferId],
    cut: &AxisSplit,
    types: &[DType],
    results: &[Partial],
) -> Step {
    let reduce = &nest.phases[0];
    // The parts are one more grid axis; the axis that is cut keeps its place among the inner axes, with fewer
    // points.
    let grid = nest.grid + 1;
    let mut axes = nest.axes.clone();
    axes[cut.axis] = cut.len;
    axes.insert(cut.at, cut.count);
    let shape: Vec<u64> = axes[..grid].to_vec();
    let mut partial = Nest { axes, grid, name: format!("{}_parts", nest.name), ..nest.clone() };
    let mut partial_buffers = buffers.to_vec();
    let mut block = Shifted::of(nest, cut);
    let (mut folds, mut stores): (Vec<FoldOf>, Vec<Store>) = (vec![], vec![]);
    let mut add = |fold: FoldOf, (buffer, dtype): (BufferId, DType)| {
        let (value, operand) = (folds.len() as Value, partial_buffers.len());
        folds.push(fold);
        partial.operands.push(Operand::contiguous(dtype, &shape, true));
        partial_buffers.push(buffer);
        let index = (0..grid).map(Index::axis).collect();
        stores.push(Store { operand, index, value, when: None, add: false });
    };
    for (fold, result) in reduce.folds.iter().zip(results) {
        let value = block.guarded(fold.value, fold.fold.identity(types[fold.value as usize]));
        add(FoldOf { fold: fold.fold.of_values(), value, index: None }, result.value);
        if let (Some(index), Some(buffer)) = (fold.index, result.index) {
            let index = block.guarded(index, Scalar::from_i128(DType::I64, i64::MAX.into()));
            add(FoldOf { fold: fold.fold, value, index: Some(index) }, buffer);
        }
    }
    let inner_stores = reduce.stores.iter().map(|store| block.store(store)).collect();
    let folded = (0..folds.len()).map(|fold| Inst::Folded { phase: 0, fold }).collect();
    partial.phases = vec![
        Phase { kind: PhaseKind::Reduce, block: block.writer.finish(), folds, stores: inner_stores },
        Phase { kind: PhaseKind::Point, block: Block { insts: folded }, folds: vec![], stores },
    ];
    super::edit::tidy(&mut partial, &mut partial_buffers);
    Step::Nest { nest: partial, buffers: partial_buffers }
}

/// The step that folds the partial results, which have extents `shape` with that of parts at `part`, and does
/// the Point phase.
fn final_folds(
    nest: &Nest,
    buffers: &[BufferId],
    (shape, part): (&[u64], usize),
    results: &[Partial],
) -> Step {
    let axes = nest.axes[..nest.grid].iter().copied().chain([shape[part]]);
    let mut last = Nest { axes: axes.collect(), ..nest.clone() };
    let mut places: Vec<Index> = (0..nest.grid).map(Index::axis).collect();
    places.insert(part, Index::axis(nest.grid));
    let mut last_buffers = buffers.to_vec();
    let (mut loads, mut folds) = (Block::default(), Vec::new());
    let mut load = |(buffer, dtype): (BufferId, DType)| {
        last.operands.push(Operand::contiguous(dtype, shape, false));
        last_buffers.push(buffer);
        loads.insts.push(Inst::Load { operand: last_buffers.len() - 1, index: places.clone() });
        loads.insts.len() as Value - 1
    };
    for (fold, result) in nest.phases[0].folds.iter().zip(results) {
        folds.push(FoldOf { fold: fold.fold, value: load(result.value), index: result.index.map(&mut load) });
    }
    last.phases[0] = Phase { kind: PhaseKind::Reduce, block: loads, folds, stores: vec![] };
    super::edit::tidy(&mut last, &mut last_buffers);
    Step::Nest { nest: last, buffers: last_buffers }
}

/// The block of the Reduce phase over the axes of the partial Nest, where the position along the axis that is
/// cut is `part * len + axis`, kept in range where the last part is short.
struct Shifted {
    writer: BlockWriter,
    operands: Vec<usize>,
    /// The position of each old axis.
    coordinates: Vec<Index>,
    /// The new number of each old value.
    values: Vec<Value>,
    /// Whether the point exists, where the last part is short.
    exists: Option<Value>,
}

impl Shifted {
    fn of(nest: &Nest, cut: &AxisSplit) -> Shifted {
        let part = cut.at;
        let renamed = |axis: usize| Index::axis(if axis >= part { axis + 1 } else { axis });
        let mut coordinates: Vec<Index> = (0..nest.axes.len()).map(renamed).collect();
        let mut writer = BlockWriter::new(PhaseKind::Reduce);
        let mut exists = None;
        coordinates[cut.axis].add_term(part, cut.len as i64);
        let extent = nest.axes[cut.axis] as i64;
        if cut.count * cut.len != nest.axes[cut.axis] {
            let at = writer.materialize(&coordinates[cut.axis]);
            let (end, last) = (writer.number(extent), writer.number(extent - 1));
            exists = Some(writer.op(ops::LT, &[at, end]));
            let at = writer.op(ops::MINIMUM, &[at, last]);
            coordinates[cut.axis] = Index { dynamic: Some(at), ..Index::default() };
        }
        let operands: Vec<usize> = (0..nest.operands.len()).collect();
        let mut values: Vec<Value> = Vec::new();
        for inst in &nest.phases[0].block.insts {
            values.push(writer.copy(inst, Some(&coordinates), &operands, &values));
        }
        Shifted { writer, operands, coordinates, values, exists }
    }

    /// An old value where the point exists, else the fold's identity.
    fn guarded(&mut self, value: Value, identity: Scalar) -> Value {
        let value = self.values[value as usize];
        let Some(exists) = self.exists else { return value };
        let identity = self.writer.push(Inst::Const(identity));
        self.writer.op(ops::WHERE, &[exists, value, identity])
    }

    /// A store of the old phase, where the point exists.
    fn store(&mut self, store: &Store) -> Store {
        let coordinates = Some(&self.coordinates[..]);
        let mut store = self.writer.store(store, coordinates, &self.operands, &self.values);
        store.when = match (store.when, self.exists) {
            (Some(a), Some(b)) => Some(self.writer.op(ops::AND, &[a, b])),
            (a, b) => a.or(b),
        };
        store
    }
}

#[cfg(test)]
mod tests;
