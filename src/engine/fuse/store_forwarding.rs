//! Store forwarding: an array that is assembled only to be copied into a part of a larger one is assembled
//! there.
//!
//! Nested joins, as of a padded matrix, would write their elements twice; after this pass, every inner part
//! is written directly to its final position.

use super::{CostModel, nothing};
use crate::engine::dependences::Dependences;
use crate::lower::program::{BufferId, Program, Role, Step};
use workalike_kernels::nest::{Index, Inst, Nest, Operand, Store};

/// Tries every step as such a copy, in order, so that chains of them collapse. Where loads at computed
/// indices are slow, the inner array may have other readers.
pub(super) fn run(program: &mut Program, cost: &CostModel) {
    if program.buffers.iter().filter(|b| b.mutable && b.role == Role::Temp).count() < 2 {
        return;
    }
    let mut uses = Dependences::of(program);
    for position in 0..program.steps.len() {
        for (at, step) in placed(program, &uses, position, cost).into_iter().flatten() {
            uses.replace(program, at, step);
        }
    }
}

/// A copy of all of one buffer into a part of another.
struct Copy {
    from: BufferId,
    to: BufferId,
    /// For each dimension of the target: the first position, and the source dimension that runs along it,
    /// with its stride.
    place: Vec<(i64, Option<(usize, i64)>)>,
}

/// The replacements for a step that is such a copy, and for the steps that write and read its source.
fn placed(
    program: &Program,
    uses: &Dependences,
    position: usize,
    cost: &CostModel,
) -> Option<Vec<(usize, Step)>> {
    let Step::Nest { nest, buffers } = &program.steps[position] else { return None };
    let copy = Copy::of(program, nest, buffers)?;
    let (from, to) = (&program.buffers[copy.from], &program.buffers[copy.to]);
    let scratch = |b: BufferId| program.buffers[b].mutable && program.buffers[b].role == Role::Temp;
    let alike = from.dtype == to.dtype;
    let fits = scratch(copy.from) && scratch(copy.to) && alike;
    if !fits || uses.roots[copy.from] {
        return None;
    }
    let writers = &uses.writers[copy.from];
    if writers.last().is_none_or(|last| *last >= position) {
        return None;
    }
    // Other stores to the target must be outside that part, at any time.
    let part: Vec<(i64, i64)> = copy.place.iter().map(|p| reach(p, &from.shape)).collect();
    for at in uses.writers[copy.to].iter().filter(|at| **at != position) {
        let Step::Nest { nest, buffers } = &program.steps[*at] else { return None };
        let mut stores = nest.phases.iter().flat_map(|p| &p.stores).filter(|s| buffers[s.operand] == copy.to);
        let beside =
            |s: &Store| whole(&nest.operands[s.operand], &to.shape) && is_beside(&s.index, &nest.axes, &part);
        if !stores.all(beside) {
            return None;
        }
    }
    let mut others = 0u64;
    let mut changed = vec![(position, nothing())];
    for &at in writers.union(&uses.readers[copy.from]).filter(|at| **at != position) {
        let Step::Nest { nest, buffers } = &program.steps[at] else { return None };
        if writers.contains(&at) {
            if buffers.contains(&copy.to) {
                return None;
            }
        } else {
            // Only after the last write, and only for a copy to another part of the target.
            others = others.saturating_add(nest.axes.iter().product());
            let ready = writers.last().is_some_and(|last| *last < at);
            let only = buffers.iter().all(|b| [copy.from, copy.to].contains(b));
            if !ready || !only {
                return None;
            }
        }
        changed.push((at, copy.moved(program, nest, buffers)?));
    }
    // Else all its readers may load it by parts.
    let may_have_others = cost.gather > 0.0 && others.saturating_mul(CostModel::ELSEWHERE) <= from.len();
    (others == 0 || may_have_others).then_some(changed)
}

/// Least and greatest position along a dimension of a copy's target.
fn reach(place: &(i64, Option<(usize, i64)>), shape: &[u64]) -> (i64, i64) {
    let (first, along) = *place;
    let last = along.map_or(first, |(d, step)| first + (shape[d] as i64 - 1) * step);
    (first.min(last), first.max(last))
}

/// Whether an operand is a whole buffer in its own layout.
fn whole(operand: &Operand, shape: &[u64]) -> bool {
    *operand == Operand { written: operand.written, ..Operand::contiguous(operand.dtype, shape, false) }
}

/// Whether an index is always outside a part.
fn is_beside(index: &[Index], axes: &[u64], part: &[(i64, i64)]) -> bool {
    index.iter().zip(part).any(|(index, (low, high))| {
        let (least, most) = index.range(axes);
        index.dynamic.is_none() && (most < i128::from(*low) || least > i128::from(*high))
    })
}

impl Copy {
    fn of(program: &Program, nest: &Nest, buffers: &[BufferId]) -> Option<Copy> {
        let [phase] = &nest.phases[..] else { return None };
        let ([Inst::Load { operand, index }], [store]) = (&phase.block.insts[..], &phase.stores[..]) else {
            return None;
        };
        if !nest.is_map() || store.when.is_some() || store.add || nest.axes.contains(&0) {
            return None;
        }
        let (from, to) = (buffers[*operand], buffers[store.operand]);
        let shape = &program.buffers[from].shape;
        let known = from != to
            && whole(&nest.operands[*operand], shape)
            && whole(&nest.operands[store.operand], &program.buffers[to].shape);
        if !known {
            return None;
        }
        // The source dimension of each axis; each axis runs along a whole dimension.
        let mut along = vec![None; nest.axes.len()];
        for (d, (index, &extent)) in index.iter().zip(shape).enumerate() {
            let [(axis, 1)] = index.terms[..] else { return None };
            if *index != Index::axis(axis) || nest.axes[axis] != extent || along[axis].is_some() {
                return None;
            }
            along[axis] = Some(d);
        }
        let mut left = along.iter().map(Option::is_some).collect::<Vec<bool>>();
        let mut place = Vec::new();
        for index in &store.index {
            if index.dynamic.is_some() {
                return None;
            }
            place.push(match index.terms[..] {
                [] => (index.offset, None),
                [(axis, step)] if std::mem::take(&mut left[axis]) => {
                    (index.offset, Some((along[axis]?, step)))
                }
                _ => return None,
            });
        }
        // Any other axis must have a single point.
        let alone = left
            .iter()
            .zip(&along)
            .zip(&nest.axes)
            .all(|((left, along), &n)| n == 1 || (along.is_some() && !left));
        alone.then_some(Copy { from, to, place })
    }

    /// A Nest that accesses a part of the target in place of the source.
    fn moved(&self, program: &Program, nest: &Nest, buffers: &[BufferId]) -> Option<Step> {
        let (mut nest, mut buffers) = (nest.clone(), buffers.to_vec());
        let (from, to) = (&program.buffers[self.from], &program.buffers[self.to]);
        let whole_of =
            |(operand, buffer): (&Operand, &BufferId)| *buffer != self.from || whole(operand, &from.shape);
        if !nest.operands.iter().zip(&buffers).all(whole_of) {
            return None;
        }
        // Accesses to the target that the Nest has already stay separate operands: they are at other
        // positions.
        let is_from: Vec<bool> = buffers.iter().map(|b| *b == self.from).collect();
        for (at, buffer) in buffers.iter_mut().enumerate().filter(|(at, _)| is_from[*at]) {
            let written = nest.operands[at].written;
            nest.operands[at] = Operand::contiguous(to.dtype, &to.shape, written);
            *buffer = self.to;
        }
        let index = |operand: usize, index: &mut Vec<Index>| -> Option<()> {
            if is_from[operand] {
                *index = self.index(index)?;
            }
            Some(())
        };
        for phase in &mut nest.phases {
            for inst in &mut phase.block.insts {
                if let Inst::Load { operand, index: list } = inst {
                    index(*operand, list)?;
                }
            }
            for store in &mut phase.stores {
                index(store.operand, &mut store.index)?;
            }
        }
        Some(Step::Nest { nest, buffers })
    }

    /// The index in the target of an element of the source.
    fn index(&self, given: &[Index]) -> Option<Vec<Index>> {
        let one = |&(first, along): &(i64, Option<(usize, i64)>)| {
            let Some((d, step)) = along else { return Some(Index::constant(first)) };
            let Index { offset, terms, dynamic } = &given[d];
            if dynamic.is_some() {
                return None;
            }
            let terms = terms.iter().map(|&(axis, by)| Some((axis, by.checked_mul(step)?)));
            Some(Index {
                offset: offset.checked_mul(step)?.checked_add(first)?,
                terms: terms.collect::<Option<_>>()?,
                dynamic: None,
            })
        };
        self.place.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fuse::cost::Busy;
    use workalike_kernels::DType;

    const COST: CostModel = CostModel {
        launch: 1e4,
        step: 1e4,
        concurrent: false,
        dispatch: None,
        flop: 0.1,
        gather: 8.0,
        edges_apart: false,
        units: 2.0,
        busy: Busy { points: 1, inner: 1 },
        cut: None,
        exchange: None,
    };

    /// Copies all of `from` to a part of `to`, from these positions on.
    fn copy(program: &Program, from: BufferId, to: BufferId, at: [i64; 2]) -> Step {
        let shape = |b: BufferId| program.buffers[b].shape.clone();
        let mut nest = Nest::copy(DType::F32, &shape(from));
        nest.operands[1] = Operand::contiguous(DType::F32, &shape(to), true);
        for (index, first) in nest.phases[0].stores[0].index.iter_mut().zip(at) {
            index.offset = first;
        }
        Step::Nest { nest, buffers: vec![from, to] }
    }

    /// Two inputs one above the other, in the left part of a result, and a third one at a column of it.
    fn joined(column: i64) -> Program {
        let mut program = Program::default();
        let mut buffer = |shape: [u64; 2], role: Role| {
            let id = program.buffer(DType::F32, &shape, role);
            program.buffers[id].mutable = program.buffers[id].role == Role::Temp;
            id
        };
        let (a, b, c) =
            (buffer([2, 3], Role::Input(0)), buffer([4, 3], Role::Input(1)), buffer([6, 1], Role::Input(2)));
        let (inner, outer) = (buffer([6, 3], Role::Temp), buffer([6, 4], Role::Temp));
        program.outputs = vec![outer];
        program.steps = vec![
            copy(&program, a, inner, [0, 0]),
            copy(&program, b, inner, [2, 0]),
            copy(&program, inner, outer, [0, 0]),
            copy(&program, c, outer, [0, column]),
        ];
        program
    }

    #[test]
    fn parts_go_where_the_whole_is() {
        let mut program = joined(3);
        run(&mut program, &COST);
        let left: Vec<_> = program.steps.iter().filter(|s| !crate::engine::fuse::is_nothing(s)).collect();
        assert_eq!(left.len(), 3);
        let outer = program.outputs[0];
        assert!(left.iter().all(|step| step.writes() == [outer]));
    }

    #[test]
    fn what_is_overwritten_or_given_out_stays() {
        let mut program = joined(2);
        run(&mut program, &COST);
        assert!(!program.steps.iter().any(crate::engine::fuse::is_nothing));
        let mut program = joined(3);
        program.outputs.push(3);
        run(&mut program, &COST);
        assert!(!program.steps.iter().any(crate::engine::fuse::is_nothing));
    }
}
