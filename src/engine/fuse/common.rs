//! Common steps: a Nest that computes what an earlier one has computed is dropped, and its readers read the
//! earlier results.
//!
//! Equal nodes are one already (`rewrite/merge.rs`). Lowering adds further steps: each scatter computes which
//! rows its positions mean, and several scatters may have the same positions.

use super::nothing;
use crate::engine::dependences::Dependences;
use crate::lower::program::{BufferId, Program, Role, Step};
use std::collections::HashMap;
use workalike_kernels::nest::Nest;

/// Tries every step, in order.
pub(super) fn run(program: &mut Program) {
    let mut uses = Dependences::of(program);
    // By what they read: the steps that others may be equal to.
    let mut known: HashMap<Vec<BufferId>, Vec<usize>> = HashMap::new();
    for at in 0..program.steps.len() {
        let Some((nest, buffers)) = computes_alone(program, &uses, at) else { continue };
        let reads: Vec<BufferId> = buffers
            .iter()
            .zip(&nest.operands)
            .filter(|(_, operand)| !operand.written)
            .map(|of| *of.0)
            .collect();
        let candidates = known.entry(reads).or_default();
        let equal = candidates.iter().find_map(|&earlier| results(program, earlier, at));
        let Some(results) = equal else {
            candidates.push(at);
            continue;
        };
        uses.replace(program, at, nothing());
        for (earlier, later) in results {
            uses.rename(program, later, earlier);
        }
    }
    program.steps.retain(|step| !super::is_nothing(step));
}

/// A step that does nothing but compute scratch arrays of its own, from what does not change.
fn computes_alone<'p>(
    program: &'p Program,
    uses: &Dependences,
    at: usize,
) -> Option<(&'p Nest, &'p [BufferId])> {
    let Step::Nest { nest, buffers } = &program.steps[at] else { return None };
    let own = |id: &BufferId| {
        let buffer = &program.buffers[*id];
        buffer.role == Role::Temp && !buffer.mutable && !uses.roots[*id] && uses.writers[*id].len() == 1
    };
    let constant = |id: &BufferId| !program.buffers[*id].mutable;
    let alone =
        buffers.iter().zip(&nest.operands).all(|(id, of)| if of.written { own(id) } else { constant(id) });
    let reports = nest.phases.iter().any(|phase| phase.reports());
    (alone && !reports).then_some((nest, buffers))
}

/// The results of an earlier step in place of those of a later one, if they compute the same from the same.
fn results(program: &Program, earlier: usize, later: usize) -> Option<Vec<(BufferId, BufferId)>> {
    let (Step::Nest { nest: a, buffers: of_a }, Step::Nest { nest: b, buffers: of_b }) =
        (&program.steps[earlier], &program.steps[later])
    else {
        return None;
    };
    let alike = (&a.axes, a.grid, &a.operands, &a.phases) == (&b.axes, b.grid, &b.operands, &b.phases);
    let same = |(x, y): (&BufferId, &BufferId)| {
        let (x, y) = (&program.buffers[*x], &program.buffers[*y]);
        (x.dtype, &x.shape) == (y.dtype, &y.shape)
    };
    let written = || of_a.iter().zip(of_b).zip(&a.operands).filter(|(_, operand)| operand.written);
    let agree = alike && written().all(|(pair, _)| same(pair));
    agree.then(|| written().map(|((&x, &y), _)| (x, y)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;
    use workalike_kernels::nest::Inst;

    #[test]
    fn equal_steps_become_one() {
        let mut program = Program::default();
        let [x, y] = [0, 1].map(|at| program.buffer(DType::F32, &[4], Role::Input(at)));
        let results: Vec<BufferId> = (0..5).map(|_| program.buffer(DType::F32, &[4], Role::Temp)).collect();
        let copy = |from, to| Step::Nest { nest: Nest::copy(DType::F32, &[4]), buffers: vec![from, to] };
        let mut other = Nest::copy(DType::F32, &[4]);
        other.phases[0].block.insts.push(Inst::Axis(0));
        let other = Step::Nest { nest: other, buffers: vec![x, results[3]] };
        // Equal to the first; of another array; other instructions; an output.
        program.steps = vec![
            copy(x, results[0]),
            copy(x, results[1]),
            copy(y, results[2]),
            other,
            copy(x, results[4]),
            copy(results[1], y),
        ];
        program.outputs = vec![results[4]];
        run(&mut program);
        assert_eq!(program.steps.len(), 5);
        let last = program.steps.last().map(Step::reads);
        assert_eq!(last, Some(vec![results[0]]), "the reader of what was dropped");
    }
}
