//! Reductions to few results are split into two steps that fill the device: partial folds over parts of the
//! inner points, then a fold of the partial results.

use super::cost::Cut;
use super::directions;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{
    Block, BlockWriter, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value,
};
use workalike_kernels::ops;
use workalike_kernels::verify::dtypes;

/// Most columns that a group sums together.
const COLUMNS: u64 = 32;
/// Fewest: they fill a sector of memory (`kernels/src/schedule/points/gpu.rs`).
const SECTOR: u64 = 8;
/// A sum of a tile over so much less than a long row takes long enough to be split.
const DEEP: u64 = 4;
/// Most partial results of a contraction.
const PARTIAL: u64 = 1 << 22;
/// Rows and columns of which there are more go by tiles (`kernels/src/schedule/tile/mod.rs`).
const NARROW: u64 = 16;

/// Rows of so much less than a long one are split if so many times the elements of a long one are loaded.
const HEAVY: u64 = 8;

/// Splits every reduction that would leave most of the device idle.
pub(super) fn run(program: &mut Program, thresholds: Cut) {
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
struct Parts {
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
pub(super) fn groups(nest: &Nest) -> u64 {
    let grid = nest.grid_points();
    if sums_columns(nest) { grid.div_ceil(SECTOR) } else { grid }
}

/// The partial results of a fold, each in a buffer.
struct Partial {
    value: (BufferId, DType),
    /// Of ArgMax and ArgMin, whose results lack the value.
    index: Option<(BufferId, DType)>,
}

fn cut(nest: &Nest, thresholds: Cut) -> Option<Parts> {
    let (grid, inner) = (nest.grid_points(), nest.inner_points());
    // A contraction goes by tiles, a group for each.
    let by_tiles = thresholds.tile > 1 && is_contraction(nest);
    // Shorter rows pay too if a group moves much: it takes neighbouring columns together.
    let columns = if directions(nest)[0] { grid.min(COLUMNS) } else { 1 };
    let loads = nest.phases[0].block.insts.iter().filter(|inst| matches!(inst, Inst::Load { .. })).count();
    let moved = columns.saturating_mul(inner).saturating_mul(loads as u64);
    let is_heavy = !by_tiles && inner >= thresholds.small / HEAVY && moved >= thresholds.small * HEAVY;
    let groups = if by_tiles { grid.div_ceil(thresholds.tile) } else { groups(nest) };
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
    Some(Parts { axis, count: extent.div_ceil(len), len, at })
}

/// Whether two factors are loaded, of which each is the same along a grid axis of the other's: tiles of
/// results share them.
fn is_contraction(nest: &Nest) -> bool {
    // For each load, whether it moves along each grid axis of which there is more than a few points.
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

fn split(program: &mut Program, nest: &Nest, buffers: &[BufferId], thresholds: Cut) -> Option<[Step; 2]> {
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
    cut: &Parts,
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
    fn of(nest: &Nest, cut: &Parts) -> Shifted {
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
mod tests {
    use super::*;
    use workalike_kernels::interpret::interpret;
    use workalike_kernels::nest::Fold;
    use workalike_kernels::verify::verify;

    fn sum_nest(axes: &[u64], grid: usize, fold: Fold) -> Nest {
        let all = (0..axes.len()).map(Index::axis).collect();
        let load = Block { insts: vec![Inst::Load { operand: 0, index: all }] };
        let mut block = BlockWriter::on(load, PhaseKind::Reduce);
        let mut at = Index::default();
        let mut step = 1;
        for axis in (grid..axes.len()).rev() {
            at.add_term(axis, step);
            step *= axes[axis] as i64;
        }
        let index = fold.has_index().then(|| block.materialize(&at));
        let load = block.finish();
        let folds = vec![FoldOf { fold, value: 0, index }];
        let out: Vec<Index> = (0..grid).map(Index::axis).collect();
        let stores = vec![Store { operand: 1, index: out, value: 0, when: None, add: false }];
        let point = Block { insts: vec![Inst::Folded { phase: 0, fold: 0 }] };
        Nest {
            name: "fold".into(),
            axes: axes.to_vec(),
            grid,
            operands: vec![
                Operand::contiguous(DType::I64, axes, false),
                Operand::contiguous(DType::I64, &axes[..grid], true),
            ],
            phases: vec![
                Phase { kind: PhaseKind::Reduce, block: load, folds, stores: vec![] },
                Phase { kind: PhaseKind::Point, block: point, folds: vec![], stores },
            ],
        }
    }

    fn bytes(values: &[i64]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    /// Eight columns of 4,096 are split if they load many elements at each point, and not if they load one;
    /// rows are not, since each has a group.
    #[test]
    fn what_a_group_loads_counts() {
        let thresholds = Cut { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048 };
        let rows = sum_nest(&[8, 4096], 1, Fold::Sum);
        let mut columns = rows.clone();
        columns.operands[0].strides = vec![1, 8];
        for (nest, is_split) in [(rows, false), (columns, true)] {
            assert!(cut(&nest, thresholds).is_none());
            let mut many = nest;
            let load = many.phases[0].block.insts[0].clone();
            many.phases[0].block.insts.extend(std::iter::repeat_n(load, 9));
            let parts = cut(&many, thresholds).map(|parts| (parts.count, parts.len));
            assert_eq!(parts, is_split.then_some((16, 256)));
        }
    }

    /// A group takes eight columns and more: a thousand of them are few. Parts are before columns.
    #[test]
    fn columns_are_taken_together() {
        let thresholds = Cut { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048 };
        let parts = |columns: u64, transposed: bool| {
            let mut nest = sum_nest(&[columns, 1 << 16], 1, Fold::Sum);
            if transposed {
                nest.operands[0].strides = vec![1, columns as i64];
            }
            cut(&nest, thresholds).map(|parts| (parts.count, parts.at))
        };
        assert_eq!(parts(512, true), Some((32, 0)));
        assert_eq!(parts(2048, true), None);
        assert_eq!(parts(128, false), Some((16, 1)));
        assert_eq!(parts(512, false), None);
    }

    /// `sum(x[k, i] * y[k, j])` over k.
    fn contraction(axes: [u64; 3]) -> Nest {
        let [m, n, k] = axes;
        let mut nest = sum_nest(&[m, n, k], 2, Fold::Sum);
        nest.operands.insert(0, Operand::contiguous(DType::I64, &[k, m], false));
        nest.operands[1] = Operand::contiguous(DType::I64, &[k, n], false);
        let load = |operand, at| Inst::Load { operand, index: vec![Index::axis(2), Index::axis(at)] };
        let product = Inst::Op { op: ops::MUL, args: vec![0, 1] };
        nest.phases[0].block.insts = vec![load(0, 0), load(1, 1), product];
        nest.phases[0].folds[0].value = 2;
        nest.phases[1].stores[0].operand = 2;
        nest
    }

    /// A few tiles of long sums are split, many tiles are not, nor are short sums.
    #[test]
    fn a_few_tiles_of_long_sums_are_split() {
        let thresholds = Cut { busy: 33, parts: 264, small: 8192, group: 256, tile: 2048 };
        let parts = |axes| cut(&contraction(axes), thresholds).map(|cut| (cut.axis, cut.count));
        assert_eq!(parts([64, 64, 16_384]), Some((2, 64)));
        assert_eq!(parts([64, 64, 1024]), None);
        assert_eq!(parts([512, 512, 16_384]), None);
        // Items share each sum.
        assert_eq!(parts([64, 8, 4096]), None);
        let without = Cut { tile: 1, ..thresholds };
        assert!(cut(&contraction([64, 64, 16_384]), without).is_none(), "no tiles");
        verify(&contraction([64, 64, 16_384])).unwrap();
    }

    /// Divisible extents, prime ones, and several axes: the two steps give what the one gave.
    #[test]
    fn two_steps_fold_like_one() {
        for (axes, grid) in [
            (vec![65536u64], 0),
            (vec![65537], 0),
            (vec![2, 30011], 1),
            (vec![3, 101, 211], 1),
            (vec![97, 389], 0),
            (vec![40, 9001], 1),
        ] {
            for fold in [Fold::Sum, Fold::Max, Fold::Min, Fold::ArgMax, Fold::ArgMin] {
                let mut nest = sum_nest(&axes, grid, fold);
                // Columns of a matrix.
                if axes == [40, 9001] {
                    nest.operands[0].strides = vec![1, 40];
                }
                let count: u64 = axes.iter().product();
                let x: Vec<i64> = (0..count as i64).map(|i| (i * 7919) % 10007 - 5000).collect();
                let results = axes[..grid].iter().product::<u64>() as usize;
                let mut whole = vec![bytes(&x), bytes(&vec![0; results])];
                interpret(&nest, &mut whole).unwrap();
                let mut program = Program::default();
                let thresholds = Cut { busy: 264, parts: 2112, small: 8192, group: 256, tile: 2048 };
                let buffers = [
                    program.buffer(DType::I64, &axes, Role::Input(0)),
                    program.buffer(DType::I64, &axes[..grid], Role::Temp),
                ];
                let steps = split(&mut program, &nest, &buffers, thresholds).expect("this one is split");
                let mut memory: Vec<Vec<u8>> =
                    program.buffers.iter().map(|b| vec![0xAA; b.bytes() as usize]).collect();
                memory[0] = bytes(&x);
                for step in &steps {
                    let Step::Nest { nest, buffers } = step else { panic!("a Nest") };
                    verify(nest).unwrap();
                    let mut operands: Vec<Vec<u8>> = buffers.iter().map(|&b| memory[b].clone()).collect();
                    interpret(nest, &mut operands).unwrap();
                    for ((operand, bytes), &buffer) in nest.operands.iter().zip(operands).zip(buffers) {
                        if operand.written {
                            memory[buffer] = bytes;
                        }
                    }
                }
                assert_eq!(memory[1], whole[1], "{axes:?} {fold:?}");
            }
        }
    }
}
