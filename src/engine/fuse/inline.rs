//! Inlining: elementwise producers are computed in their readers.

use super::edit::adopt;
use super::limits::{FusionLimits, MAX_OPERANDS};
use super::{CostModel, edit, evaluation, evaluations, nothing, order_matters, size, touches_mutable};
use crate::engine::dependences::Dependences;
use crate::lower::bounds_reports;
use crate::lower::dead_code::tidy;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{BlockWriter, Index, Inst, Nest, Phase, PhaseKind, Store, Value};

/// Tries every step as a producer, in order, so that chains collapse.
pub(super) fn run(program: &mut Program, cost: &CostModel, limits: FusionLimits) {
    let mut uses = Dependences::of(program);
    for position in 0..program.steps.len() {
        try_inline(program, &mut uses, position, (cost, limits));
    }
}

/// The store that makes a Nest a producer: one Point phase, with one unconditional store of every point at
/// its own position, which overwrites what is there. The Nest may also report: failed conditions by a store,
/// indices out of range by the value that is the index.
pub(super) fn producer<'n>(program: &Program, nest: &'n Nest, buffers: &[BufferId]) -> Option<&'n Store> {
    if !nest.is_map() {
        return None;
    }
    let reports = |s: &&Store| program.buffers[buffers[s.operand]].role == Role::Status;
    let mut main = nest.phases[0].stores.iter().filter(|s| !reports(s));
    let store = main.next()?;
    let whole = nest.operands[store.operand].shape == nest.axes
        && store.index.iter().enumerate().all(|(axis, index)| *index == Index::axis(axis));
    (main.next().is_none() && whole && store.when.is_none() && !store.add).then_some(store)
}

fn try_inline(
    program: &mut Program,
    uses: &mut Dependences,
    position: usize,
    (cost, limits): (&CostModel, FusionLimits),
) {
    let Step::Nest { nest, buffers } = &program.steps[position] else { return };
    let Some(store) = producer(program, nest, buffers) else { return };
    let buffer = buffers[store.operand];
    let readers: Vec<usize> = uses.readers[buffer].iter().copied().collect();
    let private = program.buffers[buffer].role == Role::Temp && !uses.roots[buffer] && !readers.is_empty();
    if !private || order_matters(program, uses, position) || readers.contains(&position) {
        return;
    }
    // What reads parts of an assembled array may be cheaper once these are known: it is computed once until
    // then.
    if readers.len() > 1 && touches_mutable(program, &program.steps[position]) {
        return;
    }
    if !keeps_reports(program, (nest, buffers), &readers, buffer) {
        return;
    }
    let fits = |reader: &usize| {
        let step = &program.steps[*reader];
        step.nest().is_some_and(|consumer| !limits.too_large(nest, consumer))
    };
    if !readers.iter().all(fits) || !is_worth_it(program, (nest, buffers), buffer, &readers, cost) {
        return;
    }
    if let &[reader] = readers.as_slice()
        && is_sure_to_fit(program, (nest, buffers), reader, buffer, limits)
    {
        let store = store.clone();
        let producer = uses.replace(program, position, nothing());
        let consumer = uses.replace(program, reader, nothing());
        let merged = moved(program, consumer, producer, &store, buffer);
        uses.replace(program, reader, merged);
        return;
    }
    let (nest, buffers, store) = (nest.clone(), buffers.clone(), store.clone());
    let mut changed = Vec::new();
    for &reader in &readers {
        let Step::Nest { nest: consumer, buffers: consumer_buffers } = &program.steps[reader] else { return };
        let (mut consumer, mut consumer_buffers) = (consumer.clone(), consumer_buffers.clone());
        let producer = (&nest, buffers.as_slice(), &store);
        if !substitute(program, (&mut consumer, &mut consumer_buffers), producer, buffer, limits) {
            return;
        }
        changed.push((reader, Step::Nest { nest: consumer, buffers: consumer_buffers }));
    }
    for (reader, step) in changed {
        uses.replace(program, reader, step);
    }
    uses.replace(program, position, nothing());
}

/// Whether everything that a producer reports is still reported if it is computed where these steps load its
/// buffer: some load visits every point that a report depends on.
fn keeps_reports(
    program: &Program,
    producer: (&Nest, &[BufferId]),
    readers: &[usize],
    buffer: BufferId,
) -> bool {
    let (source, source_buffers) = producer;
    let Some(asked) = bounds_reports::axes(program, source, source_buffers) else { return true };
    readers.iter().any(|&reader| {
        let Step::Nest { nest, buffers } = &program.steps[reader] else { return false };
        nest.phases.iter().any(|phase| {
            phase.block.insts.iter().any(|inst| match inst {
                Inst::Load { operand, index } if buffers[*operand] == buffer => {
                    let at = coordinates(&nest.operands[*operand].shape, index, &source.axes);
                    let points = if phase.kind == PhaseKind::Point { nest.grid } else { nest.axes.len() };
                    at.is_some_and(|at| {
                        bounds_reports::visits_all(&nest.axes[..points], &at, &source.axes, &asked)
                    })
                }
                _ => false,
            })
        })
    })
}

/// Compares the memory traffic with and without the buffer. An element that a reader loads anyway is not
/// counted again for the producer.
fn is_worth_it(
    program: &Program,
    (nest, source_buffers): (&Nest, &[BufferId]),
    buffer: BufferId,
    readers: &[usize],
    cost: &CostModel,
) -> bool {
    let (flops, in_bytes) = evaluation(nest);
    let out_bytes = program.buffers[buffer].dtype.size() as f64;
    let points = nest.grid_points() as f64;
    let mut loads: Vec<Load> = Vec::new();
    for &reader in readers {
        let Step::Nest { nest: consumer, buffers } = &program.steps[reader] else { return false };
        for phase in &consumer.phases {
            loads.extend(phase.block.insts.iter().filter_map(|inst| match inst {
                Inst::Load { operand, index } if buffers[*operand] == buffer => {
                    Some(Load { nest: consumer, buffers, phase, operand: *operand, index })
                }
                _ => None,
            }));
        }
    }
    let evals: f64 = loads.iter().map(|load| evaluations(load.nest, load.phase.kind)).sum();
    let inlined = evals * (in_bytes + flops * cost.flop);
    let stored = points * (in_bytes + out_bytes + flops * cost.flop) + evals * out_bytes + cost.launch;
    let shared = |load: &Load| {
        let at = coordinates(&load.nest.operands[load.operand].shape, load.index, &nest.axes);
        let bytes = at.map_or(0.0, |at| loaded_anyway((nest, source_buffers), &at, load));
        bytes * evaluations(load.nest, load.phase.kind)
    };
    inlined <= stored || inlined - loads.iter().map(shared).sum::<f64>() <= stored
}

/// A load of a producer's buffer.
struct Load<'a> {
    nest: &'a Nest,
    buffers: &'a [BufferId],
    phase: &'a Phase,
    operand: usize,
    index: &'a [Index],
}

/// Bytes that both a producer at the point `at` and this phase of its reader load.
fn loaded_anyway((source, source_buffers): (&Nest, &[BufferId]), at: &[Index], load: &Load) -> f64 {
    let mut bytes = 0.0;
    for inst in source.phases.iter().flat_map(|p| &p.block.insts) {
        let Inst::Load { operand, index } = inst else { continue };
        let from = &source.operands[*operand];
        let Some(index) = index.iter().map(|i| known(i, at)).collect::<Option<Vec<Index>>>() else {
            continue;
        };
        let is_it = |inst: &Inst| match inst {
            Inst::Load { operand: other, index: there } => {
                let o = &load.nest.operands[*other];
                load.buffers[*other] == source_buffers[*operand]
                    && *there == index
                    && (&o.shape, &o.strides) == (&from.shape, &from.strides)
            }
            _ => false,
        };
        let varies = index.iter().any(|i| !i.terms.is_empty());
        if varies && load.phase.block.insts.iter().any(is_it) {
            bytes += from.dtype.size() as f64;
        }
    }
    bytes
}

/// An index over axes that are at `at`; `None` if it is computed.
fn known(index: &Index, at: &[Index]) -> Option<Index> {
    let computed = index.terms.iter().any(|&(axis, _)| at[axis].dynamic.is_some());
    (index.dynamic.is_none() && !computed).then(|| index.over(at))
}

/// The positions of the producer's axes for a load of its buffer at `index`, where `seen` are the load's
/// extents.
fn coordinates(seen: &[u64], index: &[Index], axes: &[u64]) -> Option<Vec<Index>> {
    if seen == axes {
        return Some(index.to_vec());
    }
    // Only axes of extent 1 may differ.
    let solid = |shape: &[u64]| -> Vec<usize> { (0..shape.len()).filter(|&a| shape[a] != 1).collect() };
    let (from, to) = (solid(seen), solid(axes));
    let same = from.len() == to.len() && from.iter().zip(&to).all(|(&f, &t)| seen[f] == axes[t]);
    if !same {
        return None;
    }
    let mut list = vec![Index::default(); axes.len()];
    from.iter().zip(&to).for_each(|(&f, &t)| list[t] = index[f].clone());
    Some(list)
}

/// Whether the only load of a buffer can certainly be replaced by the producer, whatever the two Nests share:
/// one load, at exactly the points that the producer visits, and room for both Nests.
fn is_sure_to_fit(
    program: &Program,
    producer: (&Nest, &[BufferId]),
    reader: usize,
    buffer: BufferId,
    limits: FusionLimits,
) -> bool {
    let (source, source_buffers) = producer;
    let Step::Nest { nest, buffers } = &program.steps[reader] else { return false };
    let mut loads = nest.phases.iter().flat_map(|p| &p.block.insts).filter_map(|inst| match inst {
        Inst::Load { operand, index } if buffers[*operand] == buffer => Some((*operand, index)),
        _ => None,
    });
    let (Some((operand, index)), None) = (loads.next(), loads.next()) else { return false };
    nest.operands[operand].shape == source.axes
        && index.iter().enumerate().all(|(axis, index)| *index == Index::axis(axis))
        && limits.surely_fit(nest, source)
        && buffers.len() + source_buffers.len() <= MAX_OPERANDS
}

/// The result of [`substitute`] for Nests that are [sure to fit](is_sure_to_fit). Neither is copied: in a
/// chain of any length, each fusion moves everything that was fused before.
fn moved(program: &Program, consumer: Step, producer: Step, store: &Store, buffer: BufferId) -> Step {
    let (Step::Nest { mut nest, mut buffers }, Step::Nest { nest: mut source, buffers: source_buffers }) =
        (consumer, producer)
    else {
        // `try_inline` has checked that both are Nests.
        return nothing();
    };
    let adopted = adopt(&mut nest, &mut buffers, &source, &source_buffers);
    let same: Vec<usize> = (0..nest.operands.len()).collect();
    let mut source_phase = source.phases.swap_remove(0);
    for phase in &mut nest.phases {
        let loads = |i: &Inst| matches!(i, Inst::Load { operand, .. } if buffers[*operand] == buffer);
        if !phase.block.insts.iter().any(loads) {
            continue;
        }
        let mut writer = BlockWriter::new(phase.kind);
        let mut inner: Vec<Value> = Vec::with_capacity(source_phase.block.insts.len());
        let mut values: Vec<Value> = Vec::with_capacity(phase.block.insts.len());
        for inst in std::mem::take(&mut phase.block.insts) {
            if !loads(&inst) {
                values.push(writer.take(inst, &same, &values));
                continue;
            }
            for inst in std::mem::take(&mut source_phase.block.insts) {
                inner.push(writer.take(inst, &adopted, &inner));
            }
            values.push(inner[store.value as usize]);
        }
        phase.rename(&values);
        let reports = |s: &&Store| program.buffers[source_buffers[s.operand]].role == Role::Status;
        let reports = source_phase.stores.iter().filter(reports);
        phase.stores.extend(reports.map(|s| writer.store(s, None, &adopted, &inner)));
        phase.block = writer.finish();
        break;
    }
    tidy(&mut nest, &mut buffers);
    add_name(&mut nest, &source.name);
    Step::Nest { nest, buffers }
}

/// Adds the name of an inlined Nest.
fn add_name(nest: &mut Nest, source: &str) {
    if !nest.name.contains(source) && nest.name.len() < 48 {
        nest.name = format!("{source}_{}", nest.name);
    }
}

/// Replaces every load of `buffer` in a consumer by the producer's computation. False if a load cannot be
/// replaced, or the Nest would grow too large.
pub(super) fn substitute(
    program: &Program,
    consumer: (&mut Nest, &mut Vec<BufferId>),
    producer: (&Nest, &[BufferId], &Store),
    buffer: BufferId,
    limits: FusionLimits,
) -> bool {
    let (nest, buffers) = consumer;
    let (source, source_buffers, store) = producer;
    let parts = size(nest) + size(source);
    let operands = adopt(nest, buffers, source, source_buffers);
    let reports: Vec<&Store> = source.phases[0]
        .stores
        .iter()
        .filter(|s| program.buffers[source_buffers[s.operand]].role == Role::Status)
        .collect();
    let replacement = Replacement { source, result: store.value, reports, operands };
    for at in 0..nest.phases.len() {
        let loads = |i: &Inst| matches!(i, Inst::Load { operand, .. } if buffers[*operand] == buffer);
        if !nest.phases[at].block.insts.iter().any(loads) {
            continue;
        }
        let Some(phase) = replacement.replace_loads((&*nest, buffers.as_slice()), at, buffer) else {
            return false;
        };
        nest.phases[at] = phase;
    }
    tidy(nest, buffers);
    add_name(nest, &source.name);
    limits.fits(nest, parts)
}

/// A producer that replaces loads of its buffer.
struct Replacement<'a> {
    source: &'a Nest,
    /// The value that the producer stores to its buffer.
    result: Value,
    reports: Vec<&'a Store>,
    /// The positions of the producer's operands in the consumer.
    operands: Vec<usize>,
}

impl Replacement<'_> {
    /// A phase of a consumer, with every load of `buffer` replaced. `None` if a load cannot be replaced.
    fn replace_loads(
        &self,
        (nest, buffers): (&Nest, &[BufferId]),
        at: usize,
        buffer: BufferId,
    ) -> Option<Phase> {
        let mut reports: Vec<Store> = Vec::new();
        let replace = |writer: &mut BlockWriter, operand: usize, index: &[Index], values: &[Value]| {
            if buffers[operand] != buffer {
                return Some(None);
            }
            let index = writer.indices(index, None, values);
            let axes = coordinates(&nest.operands[operand].shape, &index, &self.source.axes)?;
            Some(Some(self.compute(writer, &axes, &mut reports)))
        };
        let mut phase = edit::replace_loads(&nest.phases[at], nest.operands.len(), replace)?;
        phase.stores.extend(reports);
        Some(phase)
    }

    /// Computes the producer's result with its axes at `axes`, and adds its reports.
    fn compute(&self, writer: &mut BlockWriter, axes: &[Index], reports: &mut Vec<Store>) -> Value {
        let insts = &self.source.phases[0].block.insts;
        let mut values: Vec<Value> = Vec::with_capacity(insts.len());
        for inst in insts {
            values.push(writer.copy(inst, Some(axes), &self.operands, &values));
        }
        for report in &self.reports {
            reports.push(writer.store(report, Some(axes), &self.operands, &values));
        }
        values[self.result as usize]
    }
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    #[test]
    fn a_check_of_elements_is_inlined_into_the_reduction() {
        let x = &matrix::<f64>("x");
        for axis in [0, 1] {
            let f = function([x]).output(x.nanmax(axis)).compile().unwrap();
            let mut sim = f.optimize(Host::default().strict()).unwrap();
            let plan = sim.plan(Args::new().with(of_shape::<f64>(&[1000, 1000]).unwrap())).unwrap();
            // The matrix itself, and little else.
            assert!(plan.total.bytes() < 8 * 1000 * 1000 + 100_000, "{plan}");
        }
    }
}
