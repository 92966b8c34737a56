//! Sparsely read arrays are not stored, such as a log-softmax of which only the label's entry is read, or a
//! softmax read at the chosen action. The readers compute these elements again from the folds of the rows.

use super::inline::substitute;
use super::join::is_inner;
use super::limits::{FusionLimits, MAX_OPERANDS};
use super::{CostModel, evaluation, evaluations, touches_mutable};
use crate::engine::dependences::Dependences;
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use std::collections::HashMap;
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};
use workalike_kernels::verify::dtypes;

/// An array is not stored if its readers load at most one element of so many.
const FEW: f64 = 8.0;
/// Storing an array that takes less of a launch than this costs nothing that could be saved.
const WORTHWHILE: f64 = 0.25;

/// Removes such arrays from every step that stores some.
pub(super) fn run(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    let mut uses = Dependences::of(program);
    for position in 0..program.steps.len() {
        while let Some(changed) = find(program, &uses, position, (cost, limits)) {
            for (at, step) in changed {
                uses.replace(program, at, step);
            }
        }
    }
}

/// The steps that change if some array that the step at `position` stores is not stored.
fn find(
    program: &mut Program,
    uses: &Dependences,
    position: usize,
    model: (&CostModel, FusionLimits),
) -> Option<Vec<(usize, Step)>> {
    let Step::Nest { nest, buffers } = &program.steps[position] else { return None };
    if !nest.phases.iter().any(|phase| !phase.folds.is_empty()) {
        // A map is inlined, or was not worth it.
        return None;
    }
    let stores = (0..nest.phases.len()).filter(|&at| is_inner(&nest.phases[at])).flat_map(|at| {
        let count = nest.phases[at].stores.len();
        (0..count).map(move |store| (at, store))
    });
    let candidates: Vec<(usize, usize)> = stores
        .filter(|&(at, store)| {
            let store = &nest.phases[at].stores[store];
            let buffer = buffers[store.operand];
            let is_whole = nest.operands[store.operand].shape == nest.axes
                && store.index.iter().enumerate().all(|(axis, index)| *index == Index::axis(axis))
                && store.when.is_none()
                && !store.add;
            let readers = &uses.readers[buffer];
            is_whole
                && program.buffers[buffer].role == Role::Temp
                && !program.buffers[buffer].mutable
                && !uses.roots[buffer]
                && uses.writers[buffer].len() == 1
                && !readers.is_empty()
                && !readers.contains(&position)
        })
        .collect();
    candidates.into_iter().find_map(|(phase, store)| without(program, uses, position, (phase, store), model))
}

/// The steps that change if a store of a phase is left out.
fn without(
    program: &mut Program,
    uses: &Dependences,
    position: usize,
    (at, number): (usize, usize),
    (cost, limits): (&CostModel, FusionLimits),
) -> Option<Vec<(usize, Step)>> {
    let Step::Nest { nest, buffers } = program.steps[position].clone() else { return None };
    let store = &nest.phases[at].stores[number];
    let buffer = buffers[store.operand];
    let readers: Vec<usize> = uses.readers[buffer].iter().copied().collect();
    let mut evals = 0.0;
    for &reader in &readers {
        let Step::Nest { nest, buffers } = &program.steps[reader] else { return None };
        for phase in &nest.phases {
            let loads =
                |inst: &&Inst| matches!(inst, Inst::Load { operand, .. } if buffers[*operand] == buffer);
            evals += phase.block.insts.iter().filter(loads).count() as f64 * evaluations(nest, phase.kind);
        }
    }
    if evals * FEW > nest.grid_points() as f64 * nest.inner_points() as f64 {
        return None;
    }
    let known = program.buffers.len();
    let found = recomputed(program, (&nest, &buffers), (at, number)).and_then(|(source, rest)| {
        let Step::Nest { nest: source, buffers: source_buffers } = &source else { return None };
        if touches_mutable(program, &rest) || source_buffers.iter().any(|&id| program.buffers[id].mutable) {
            return None;
        }
        let (flops, bytes) = evaluation(source);
        let saved = program.buffers[buffer].bytes() as f64;
        let added: u64 = program.buffers[known..].iter().map(|buffer| 2 * buffer.bytes()).sum();
        let costs = evals * (bytes + flops * cost.flop) + added as f64;
        if costs > saved || saved < WORTHWHILE * cost.launch {
            return None;
        }
        let mut changed = vec![(position, rest)];
        let store = &source.phases[0].stores[0];
        for &reader in &readers {
            let Step::Nest { nest, buffers } = &program.steps[reader] else { return None };
            let (mut nest, mut buffers) = (nest.clone(), buffers.clone());
            let producer = (source, source_buffers.as_slice(), store);
            if !substitute(program, (&mut nest, &mut buffers), producer, buffer, limits) {
                return None;
            }
            changed.push((reader, Step::Nest { nest, buffers }));
        }
        Some(changed)
    });
    if found.is_none() {
        program.buffers.truncate(known);
    }
    found
}

/// A map that computes what a store of a phase stores, from what the rows were folded to, and the Nest
/// without that store, which stores these folds.
fn recomputed(
    program: &mut Program,
    (nest, buffers): (&Nest, &[BufferId]),
    (at, number): (usize, usize),
) -> Option<(Step, Step)> {
    let types = dtypes(nest, at).ok()?;
    let (phase, store) = (&nest.phases[at], nest.phases[at].stores[number].clone());
    let rows: Vec<Index> = (0..nest.grid).map(Index::axis).collect();
    // The reader keeps its name.
    let name = String::new();
    let mut source = Nest { grid: nest.axes.len(), phases: vec![], name, ..nest.clone() };
    let mut source_buffers = buffers.to_vec();
    let (mut rest, mut rest_buffers) = (nest.clone(), buffers.to_vec());
    rest.phases[at].stores.remove(number);
    if !matches!(rest.phases.last(), Some(last) if last.kind == PhaseKind::Point) {
        let block = Block::default();
        rest.phases.push(Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![] });
    }
    let last = rest.phases.last_mut()?;
    // The array that holds each fold.
    let mut folds: HashMap<(usize, usize), usize> = HashMap::new();
    let mut insts = phase.block.insts[..=store.value as usize].to_vec();
    for (inst, &dtype) in insts.iter_mut().zip(&types) {
        inst.silence();
        let Inst::Folded { phase, fold } = *inst else { continue };
        let operand = *folds.entry((phase, fold)).or_insert_with(|| {
            let shape = &nest.axes[..nest.grid];
            let id = program.buffer(dtype, shape, Role::Temp);
            source.operands.push(Operand::contiguous(dtype, shape, false));
            source_buffers.push(id);
            last.block.insts.push(Inst::Folded { phase, fold });
            let value = last.block.insts.len() as Value - 1;
            rest.operands.push(Operand::contiguous(dtype, shape, true));
            rest_buffers.push(id);
            let operand = rest_buffers.len() - 1;
            last.stores.push(Store { operand, index: rows.clone(), value, when: None, add: false });
            source_buffers.len() - 1
        });
        *inst = Inst::Load { operand, index: rows.clone() };
    }
    let block = Block { insts };
    source.phases.push(Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] });
    tidy(&mut source, &mut source_buffers);
    tidy(&mut rest, &mut rest_buffers);
    let fits = rest_buffers.len() <= MAX_OPERANDS;
    let step = |nest, buffers| Step::Nest { nest, buffers };
    fits.then(|| (step(source, source_buffers), step(rest, rest_buffers)))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// Bytes that a method moves on the host, for rows of 4,096.
    fn planned(cost: &Variable, inputs: [&Variable; 2]) -> u64 {
        let f = function(inputs).output(cost).compile().unwrap();
        let mut sim = f.optimize(Host::default().strict()).unwrap();
        let rows = of_shape::<f32>(&[64, 4096]).unwrap();
        let labels = Value::from(ndarray::Array1::<i32>::from_elem(64, 7));
        let args = Args::new().with(rows).with(labels);
        sim.plan(args).unwrap().total.bytes()
    }

    #[test]
    fn one_entry_of_each_row_is_not_read_from_an_array() {
        let (z, y) = (&matrix::<f32>("z"), &vector::<i32>("y"));
        let pick = |rows: Variable| rows.index(idx![arange(y.extent(0)), y]).sum(..);
        let read = planned(&pick(log_softmax(z, 1)), [z, y]);
        // The rows are read, and nothing of their size is written.
        let whole = 64 * 4096 * 4;
        assert!(read < whole + whole / 8, "{read}");
    }
}
