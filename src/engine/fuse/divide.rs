//! Nests of several phases over a few long rows become a step for each phase, so that they fill the device.
//!
//! A group of items takes a row of a softmax, for example, through all phases without storing it. If there
//! are few rows, and each is long, most of the device would be idle. A step for each phase reads the row
//! again, but everywhere at once: its reductions are [split](crate::engine::fuse::split) next, its maps have
//! a grid of all points.

use super::cost::{CostModel, SplitThresholds};
use super::{evaluation_of, split};
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::DType;
use workalike_kernels::nest::{
    Block, BlockWriter, FoldOf, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value,
};
use workalike_kernels::verify::dtypes;

/// Rows are few if this many times as many would leave the device idle when their reductions are not split.
const FEW: u64 = 6;
/// Rows are divided if that is expected to take at most this part of the time.
const GAIN: f64 = 0.5;

/// Divides every Nest that is better run phase by phase.
pub(super) fn run(program: &mut Program, cost: &CostModel, cut: SplitThresholds) {
    for step in std::mem::take(&mut program.steps) {
        let steps = match &step {
            Step::Nest { nest, buffers } if suits(nest, buffers, (cost, cut)) => {
                divided(program, nest, buffers)
            }
            _ => None,
        };
        match steps {
            Some(steps) => program.steps.extend(steps),
            None => program.steps.push(step),
        }
    }
}

fn is_inner(phase: &Phase) -> bool {
    phase.kind != PhaseKind::Point
}

/// Whether a Nest visits a few long rows more than once, in any order.
fn suits(nest: &Nest, buffers: &[BufferId], (cost, cut): (&CostModel, SplitThresholds)) -> bool {
    let (groups, inner) = (split::groups(nest, cut), nest.inner_points());
    // A row has a group, which streams it; columns that share groups have too few.
    let shared = cut.columns > 1 && split::sums_columns(nest);
    let long = if shared { inner >= cut.small } else { pays(nest, cost) };
    let few = groups > 0 && groups.saturating_mul(FEW) <= cut.busy && long;
    let ordered = nest.phases.iter().any(|phase| phase.kind == PhaseKind::Ordered);
    // A Point phase that joins a reduction's could not load what another has stored before it.
    let written = |operand: usize| {
        let stores = nest.phases.iter().flat_map(|phase| &phase.stores);
        stores.into_iter().any(|store| buffers[store.operand] == buffers[operand])
    };
    let loads_written = nest.phases.iter().filter(|phase| !is_inner(phase)).any(|phase| {
        let mut insts = phase.block.insts.iter();
        insts.any(|inst| matches!(inst, Inst::Load { operand, .. } if written(*operand)))
    });
    few && !ordered && !loads_written && nest.phases.iter().filter(|phase| is_inner(phase)).count() > 1
}

/// Whether a step for each phase takes less time than a group for each row. A reduction becomes two steps.
fn pays(nest: &Nest, cost: &CostModel) -> bool {
    let (mut alone, mut divided, mut steps) = (0.0, 0.0, 0.0);
    for phase in nest.phases.iter().filter(|phase| is_inner(phase)) {
        let (flops, bytes) = evaluation_of(nest, phase);
        let stored: usize = phase.stores.iter().map(|store| nest.operands[store.operand].dtype.size()).sum();
        let each = (flops, bytes + stored as f64);
        alone += nest.inner_points() as f64 * cost.alone(each);
        divided += nest.grid_points() as f64 * nest.inner_points() as f64 * (each.1 + each.0 * cost.flop);
        steps += if phase.kind == PhaseKind::Reduce { 2.0 } else { 1.0 };
    }
    divided + (steps - 1.0) * cost.launch <= GAIN * alone
}

/// A Nest that is being divided.
struct Division<'n> {
    nest: &'n Nest,
    buffers: &'n [BufferId],
    /// For each phase, the buffers of the results of its folds.
    results: Vec<Vec<(BufferId, DType)>>,
}

fn divided(program: &mut Program, nest: &Nest, buffers: &[BufferId]) -> Option<Vec<Step>> {
    let mut results = Vec::with_capacity(nest.phases.len());
    for (at, phase) in nest.phases.iter().enumerate() {
        let types = dtypes(nest, at).ok()?;
        let of_fold =
            |fold: &FoldOf| if fold.fold.has_index() { DType::I64 } else { types[fold.value as usize] };
        let dtypes: Vec<DType> = phase.folds.iter().map(of_fold).collect();
        let rows = &nest.axes[..nest.grid];
        let buffer = |dtype: DType| (program.buffer(dtype, rows, Role::Temp), dtype);
        results.push(dtypes.into_iter().map(buffer).collect());
    }
    let division = Division { nest, buffers, results };
    let mut steps = Vec::new();
    let mut at = 0;
    while at < nest.phases.len() {
        // The phases behind a reduction that visit each row once belong to it.
        let reduces = nest.phases[at].kind == PhaseKind::Reduce;
        let points = nest.phases[at + 1..].iter().take_while(|phase| reduces && !is_inner(phase)).count();
        let behind = at + 1..at + 1 + points;
        steps.push(if reduces { division.reduction(at, behind.clone()) } else { division.map(at) });
        at = behind.end;
    }
    Some(steps)
}

/// A step being made.
struct PhaseStep {
    nest: Nest,
    buffers: Vec<BufferId>,
    /// The operands of the divided Nest keep their positions.
    same: Vec<usize>,
}

impl PhaseStep {
    fn of(division: &Division, grid: usize, axes: usize) -> PhaseStep {
        let Division { nest, buffers, .. } = division;
        let nest = Nest { axes: nest.axes[..axes].to_vec(), grid, phases: vec![], ..(*nest).clone() };
        PhaseStep { same: (0..nest.operands.len()).collect(), buffers: buffers.to_vec(), nest }
    }

    fn finish(mut self) -> Step {
        tidy(&mut self.nest, &mut self.buffers);
        Step::Nest { nest: self.nest, buffers: self.buffers }
    }

    /// The operand for the results of a fold.
    fn result(&mut self, rows: &[u64], (buffer, dtype): (BufferId, DType), written: bool) -> usize {
        self.nest.operands.push(Operand::contiguous(dtype, rows, written));
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }
}

impl Division<'_> {
    fn rows(&self) -> &[u64] {
        &self.nest.axes[..self.nest.grid]
    }

    /// The position of a row, as an index.
    fn row(&self) -> Vec<Index> {
        (0..self.nest.grid).map(Index::axis).collect()
    }

    /// Copies the block of a phase; results of the folds of `own` are there as those of phase 0, others are
    /// loaded.
    fn copy(
        &self,
        draft: &mut PhaseStep,
        writer: &mut BlockWriter,
        phase: usize,
        own: Option<usize>,
    ) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        for inst in &self.nest.phases[phase].block.insts {
            let value = match inst {
                Inst::Folded { phase, fold } if Some(*phase) == own => {
                    writer.push(Inst::Folded { phase: 0, fold: *fold })
                }
                Inst::Folded { phase, fold } => {
                    let operand = draft.result(self.rows(), self.results[*phase][*fold], false);
                    writer.push(Inst::Load { operand, index: self.row() })
                }
                inst => writer.copy(inst, None, &draft.same, &values),
            };
            values.push(value);
        }
        values
    }

    fn stores(
        &self,
        draft: &PhaseStep,
        writer: &mut BlockWriter,
        phase: usize,
        values: &[Value],
    ) -> Vec<Store> {
        let stores = self.nest.phases[phase].stores.iter();
        stores.map(|store| writer.store(store, None, &draft.same, values)).collect()
    }

    /// A phase that folds, and the phases behind it that visit each row once.
    fn reduction(&self, phase: usize, behind: std::ops::Range<usize>) -> Step {
        let mut draft = PhaseStep::of(self, self.nest.grid, self.nest.axes.len());
        let mut writer = BlockWriter::new(PhaseKind::Reduce);
        let values = self.copy(&mut draft, &mut writer, phase, None);
        let stores = self.stores(&draft, &mut writer, phase, &values);
        let mut folds = self.nest.phases[phase].folds.clone();
        folds.iter_mut().for_each(|fold| fold.map_values(|value| values[value as usize]));
        draft.nest.phases.push(Phase { kind: PhaseKind::Reduce, block: writer.finish(), folds, stores });
        let mut writer = BlockWriter::new(PhaseKind::Point);
        let mut stores = Vec::new();
        for (fold, &result) in self.results[phase].iter().enumerate() {
            let value = writer.push(Inst::Folded { phase: 0, fold });
            let operand = draft.result(self.rows(), result, true);
            stores.push(Store { operand, index: self.row(), value, when: None, add: false });
        }
        for point in behind {
            let values = self.copy(&mut draft, &mut writer, point, Some(phase));
            stores.extend(self.stores(&draft, &mut writer, point, &values));
        }
        let block: Block = writer.finish();
        draft.nest.phases.push(Phase { kind: PhaseKind::Point, block, folds: vec![], stores });
        draft.finish()
    }

    /// A phase that folds nothing, over a grid of all the points that it visits.
    fn map(&self, phase: usize) -> Step {
        let axes = if is_inner(&self.nest.phases[phase]) { self.nest.axes.len() } else { self.nest.grid };
        let mut draft = PhaseStep::of(self, axes, axes);
        let mut writer = BlockWriter::new(PhaseKind::Point);
        let values = self.copy(&mut draft, &mut writer, phase, None);
        let stores = self.stores(&draft, &mut writer, phase, &values);
        draft.nest.phases.push(Phase {
            kind: PhaseKind::Point,
            block: writer.finish(),
            folds: vec![],
            stores,
        });
        draft.finish()
    }
}

#[cfg(test)]
mod tests;
