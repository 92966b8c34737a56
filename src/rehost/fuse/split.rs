//! Reductions to few results are split into two steps that fill the device: partial folds over parts of the
//! inner points, then a fold of the partial results.

use super::super::device::Properties;
use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::nest::{Block, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};
use crate::kernels::ops;
use crate::kernels::verify::dtypes;
use crate::lower::program::{BufferId, Program, Role, Step};

/// Work items that fold together.
const GROUP: u64 = 256;

/// The thresholds for a device.
#[derive(Clone, Copy)]
struct Thresholds {
    /// More grid points than this keep the device busy.
    busy: u64,
    /// The number of partial folds that fills the device.
    parts: u64,
    /// Fewer inner points than this are folded in one step.
    small: u64,
}

impl Thresholds {
    /// `None`: the device divides the work of a Nest by itself.
    fn of(properties: &Properties) -> Option<Thresholds> {
        if properties.is_wide() {
            let groups = properties.lanes / GROUP;
            return Some(Thresholds { busy: groups / 4, parts: 2 * groups, small: 8192 });
        }
        // A processor's cores; waking them takes time.
        let cores = u64::from(properties.units);
        (cores > 1 && !properties.interprets).then_some(Thresholds {
            busy: cores - 1,
            parts: 4 * cores,
            small: 1 << 15,
        })
    }
}

/// Splits every reduction that would leave most of the device idle.
pub(super) fn run(program: &mut Program, properties: &Properties) {
    let Some(thresholds) = Thresholds::of(properties) else { return };
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

/// How one inner axis is cut: into `count` parts of `len` points; the last may be short.
struct Cut {
    axis: usize,
    count: u64,
    len: u64,
}

fn cut(nest: &Nest, thresholds: Thresholds) -> Option<Cut> {
    let (grid, inner) = (nest.grid_points(), nest.inner_points());
    if grid == 0 || inner < thresholds.small || grid > thresholds.busy {
        return None;
    }
    let want = (thresholds.parts / grid).min(inner / GROUP).max(2);
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
    Some(Cut { axis, count: extent.div_ceil(len), len })
}

fn split(
    program: &mut Program,
    nest: &Nest,
    buffers: &[BufferId],
    thresholds: Thresholds,
) -> Option<[Step; 2]> {
    let [reduce, point] = nest.phases.as_slice() else { return None };
    let plain = reduce.kind == PhaseKind::Reduce && point.kind == PhaseKind::Point;
    // Only the second step does the Point phase, so the phase may not read stores of the first.
    let reads_stored = point.block.insts.iter().any(|inst| match inst {
        Inst::Load { operand, .. } => reduce.stores.iter().any(|s| buffers[s.operand] == buffers[*operand]),
        _ => false,
    });
    if !plain || reads_stored || reduce.folds.iter().any(|f| f.fold.has_index()) {
        return None;
    }
    let cut = cut(nest, thresholds)?;
    let types = dtypes(nest, 0).ok()?;
    let shape: Vec<u64> = nest.axes[..nest.grid].iter().copied().chain([cut.count]).collect();
    let mut results: Vec<(BufferId, DType)> = Vec::with_capacity(reduce.folds.len());
    for fold in &reduce.folds {
        let dtype = types[fold.value as usize].register();
        results.push((program.buffer(dtype, &shape, Role::Temp), dtype));
    }
    let partial = partial_folds(nest, buffers, &cut, &types, &results);
    Some([partial, final_folds(nest, buffers, &shape, &results)])
}

/// The step that folds each part, and stores the partial results to `results`.
fn partial_folds(
    nest: &Nest,
    buffers: &[BufferId],
    cut: &Cut,
    types: &[DType],
    results: &[(BufferId, DType)],
) -> Step {
    let reduce = &nest.phases[0];
    // The parts are one more grid axis; the axis that is cut keeps its place among the inner axes, with fewer
    // points.
    let part = nest.grid;
    let mut axes = nest.axes.clone();
    axes[cut.axis] = cut.len;
    axes.insert(part, cut.count);
    let shape: Vec<u64> = axes[..=part].to_vec();
    let mut partial = Nest { axes, grid: part + 1, name: format!("{}_parts", nest.name), ..nest.clone() };
    let mut partial_buffers = buffers.to_vec();
    let mut block = shifted(&reduce.block, cut, part, nest.axes[cut.axis]);
    let (mut folds, mut stores): (Vec<FoldOf>, Vec<Store>) = (vec![], vec![]);
    for (position, (fold, &(buffer, dtype))) in reduce.folds.iter().zip(results).enumerate() {
        let identity = Inst::Const(fold.fold.identity(types[fold.value as usize]));
        let value = block.values[fold.value as usize];
        let value = block.guarded(value, identity);
        folds.push(FoldOf { fold: fold.fold, value, index: None });
        partial.operands.push(Operand::contiguous(dtype, &shape, true));
        partial_buffers.push(buffer);
        let index = (0..=part).map(Index::axis).collect();
        stores.push(Store {
            operand: partial_buffers.len() - 1,
            index,
            value: position as Value,
            when: None,
            add: false,
        });
    }
    let mut inner_stores: Vec<Store> = Vec::with_capacity(reduce.stores.len());
    for store in &reduce.stores {
        inner_stores.push(shifted_store(&mut block, store, cut, part));
    }
    let folded = (0..folds.len()).map(|fold| Inst::Folded { phase: 0, fold }).collect();
    partial.phases = vec![
        Phase { kind: PhaseKind::Reduce, block: Block { insts: block.insts }, folds, stores: inner_stores },
        Phase { kind: PhaseKind::Point, block: Block { insts: folded }, folds: vec![], stores },
    ];
    super::edit::tidy(&mut partial, &mut partial_buffers);
    Step::Nest { nest: partial, buffers: partial_buffers }
}

/// The step that folds the partial results, which have extents `shape`, and does the Point phase.
fn final_folds(nest: &Nest, buffers: &[BufferId], shape: &[u64], results: &[(BufferId, DType)]) -> Step {
    let mut last = Nest { axes: shape.to_vec(), ..nest.clone() };
    let mut last_buffers = buffers.to_vec();
    let (mut loads, mut folds) = (Block::default(), Vec::new());
    for (fold, &(buffer, dtype)) in nest.phases[0].folds.iter().zip(results) {
        last.operands.push(Operand::contiguous(dtype, shape, false));
        last_buffers.push(buffer);
        let index = (0..shape.len()).map(Index::axis).collect();
        loads.insts.push(Inst::Load { operand: last_buffers.len() - 1, index });
        folds.push(FoldOf { fold: fold.fold, value: loads.insts.len() as Value - 1, index: None });
    }
    last.phases[0] = Phase { kind: PhaseKind::Reduce, block: loads, folds, stores: vec![] };
    super::edit::tidy(&mut last, &mut last_buffers);
    Step::Nest { nest: last, buffers: last_buffers }
}

/// A block over the axes of the partial Nest.
struct Shifted {
    insts: Vec<Inst>,
    /// The new number of each old value.
    values: Vec<Value>,
    /// The position along the axis that is cut, if an instruction needs it.
    position: Option<Value>,
    /// Whether the point exists, where the last part is short.
    exists: Option<Value>,
}

impl Shifted {
    fn push(&mut self, inst: Inst) -> Value {
        self.insts.push(inst);
        self.insts.len() as Value - 1
    }

    fn number(&mut self, n: i128) -> Value {
        self.push(Inst::Const(Scalar::from_i128(DType::I64, n)))
    }

    /// The value where the point exists, else the fold's identity.
    fn guarded(&mut self, value: Value, identity: Inst) -> Value {
        let Some(exists) = self.exists else { return value };
        let identity = self.push(identity);
        self.push(Inst::Op { op: ops::WHERE, args: vec![exists, value, identity] })
    }
}

/// The old block, with the position along the cut axis at `part * len + axis`, kept in range where the last
/// part is short.
fn shifted(block: &Block, cut: &Cut, part: usize, extent: u64) -> Shifted {
    let mut new = Shifted { insts: vec![], values: vec![], position: None, exists: None };
    let short = cut.count * cut.len != extent;
    let renamed = |axis: usize| if axis >= part { axis + 1 } else { axis };
    let mut position = None;
    if short || block.insts.contains(&Inst::Axis(cut.axis)) {
        let (p, a, len) =
            (new.push(Inst::Axis(part)), new.push(Inst::Axis(cut.axis + 1)), new.number(cut.len as i128));
        let start = new.push(Inst::Op { op: ops::MUL, args: vec![p, len] });
        let mut at = new.push(Inst::Op { op: ops::ADD, args: vec![start, a] });
        if short {
            let (end, last) = (new.number(extent as i128), new.number(extent as i128 - 1));
            new.exists = Some(new.push(Inst::Op { op: ops::LT, args: vec![at, end] }));
            at = new.push(Inst::Op { op: ops::MINIMUM, args: vec![at, last] });
        }
        position = Some(at);
    }
    new.position = position;
    for inst in &block.insts {
        let value = match inst {
            Inst::Axis(axis) if *axis == cut.axis => {
                // `position` was made because this instruction is there.
                let Some(at) = position else { continue };
                new.values.push(at);
                continue;
            }
            Inst::Axis(axis) => Inst::Axis(renamed(*axis)),
            Inst::Load { operand, index } => {
                let index =
                    index.iter().map(|i| shifted_index(&mut new, i, cut, part, short, position)).collect();
                Inst::Load { operand: *operand, index }
            }
            Inst::Cast { to, value } => Inst::Cast { to: *to, value: new.values[*value as usize] },
            Inst::Op { op, args } => {
                Inst::Op { op: *op, args: args.iter().map(|&a| new.values[a as usize]).collect() }
            }
            Inst::Call { function, args } => Inst::Call {
                function: function.clone(),
                args: args.iter().map(|&a| new.values[a as usize]).collect(),
            },
            Inst::Position { value, extent, mode } => {
                Inst::Position { value: new.values[*value as usize], extent: *extent, mode: *mode }
            }
            Inst::Const(_) | Inst::Folded { .. } => inst.clone(),
        };
        let value = new.push(value);
        new.values.push(value);
    }
    new
}

/// A store of the old Reduce phase, at the shifted position, where the point exists.
fn shifted_store(block: &mut Shifted, store: &Store, cut: &Cut, part: usize) -> Store {
    let (short, position) = (block.exists.is_some(), block.position);
    let index = store.index.iter().map(|i| shifted_index(block, i, cut, part, short, position)).collect();
    let when = store.when.map(|w| block.values[w as usize]);
    let when = match (when, block.exists) {
        (Some(a), Some(b)) => Some(block.push(Inst::Op { op: ops::AND, args: vec![a, b] })),
        (a, b) => a.or(b),
    };
    let value = block.values[store.value as usize];
    Store { index, value, when, ..*store }
}

fn shifted_index(
    new: &mut Shifted,
    old: &Index,
    cut: &Cut,
    part: usize,
    short: bool,
    position: Option<Value>,
) -> Index {
    let mut index = Index { offset: old.offset, ..Index::default() };
    index.dynamic = old.dynamic.map(|v| new.values[v as usize]);
    for &(axis, coefficient) in &old.terms {
        if axis != cut.axis {
            index.add_term(if axis >= part { axis + 1 } else { axis }, coefficient);
            continue;
        }
        match position.filter(|_| short) {
            None => {
                index.add_term(part, coefficient * cut.len as i64);
                index.add_term(axis + 1, coefficient);
            }
            Some(at) => {
                let factor = new.number(coefficient as i128);
                let mut value = new.push(Inst::Op { op: ops::MUL, args: vec![at, factor] });
                if let Some(before) = index.dynamic {
                    value = new.push(Inst::Op { op: ops::ADD, args: vec![before, value] });
                }
                index.dynamic = Some(value);
            }
        }
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::interpret::interpret;
    use crate::kernels::nest::Fold;
    use crate::kernels::verify::verify;

    fn sum_nest(axes: &[u64], grid: usize, fold: Fold) -> Nest {
        let all = (0..axes.len()).map(Index::axis).collect();
        let load = Block { insts: vec![Inst::Load { operand: 0, index: all }] };
        let folds = vec![FoldOf { fold, value: 0, index: None }];
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

    /// Divisible extents, prime ones, and several axes: the two steps give what the one gave.
    #[test]
    fn two_steps_fold_like_one() {
        for (axes, grid) in [
            (vec![65536u64], 0),
            (vec![65537], 0),
            (vec![2, 30011], 1),
            (vec![3, 101, 211], 1),
            (vec![97, 389], 0),
        ] {
            for fold in [Fold::Sum, Fold::Max, Fold::Min] {
                let nest = sum_nest(&axes, grid, fold);
                let count: u64 = axes.iter().product();
                let x: Vec<i64> = (0..count as i64).map(|i| (i * 7919) % 10007 - 5000).collect();
                let results = axes[..grid].iter().product::<u64>() as usize;
                let mut whole = vec![bytes(&x), bytes(&vec![0; results])];
                interpret(&nest, &mut whole).unwrap();
                let mut program = Program::default();
                let thresholds = Thresholds { busy: 264, parts: 2112, small: 8192 };
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
