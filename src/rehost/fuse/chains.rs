//! Joins chains of maps over the same points, such as the iterations of a recurrence, in one go: what is
//! stored between two of them counts only if it is still stored when all are joined.
//!
//! Pairs of maps are joined by [`merge`](super::merge) too. There every intermediate pair must have few
//! operands, and a value that a later map needs is one of them until that map has joined.

use super::join::joined;
use super::limits::{Limits, MAX_OPERANDS};
use super::{is_private, nothing, size, touches_mutable};
use crate::lower::program::{BufferId, Program, Role, Step};
use crate::rehost::dependences::Dependences;
use std::collections::HashSet;
use workalike_kernels::nest::Nest;

/// Maps of a chain; shorter ones are left to `merge`.
const SHORTEST: usize = 3;
/// Steps without a map of the chain after which it ends.
const GAP: usize = 64;
/// Instructions that are copied at most while chains of a Program are joined: some tenths of a second.
const BUDGET: usize = 20_000_000;

/// Joins the chain that starts at each step, or as much of it as fits.
pub(super) fn run(program: &mut Program, limits: Limits) {
    let mut uses = Dependences::of(program);
    let mut budget = BUDGET;
    let mut start = 0;
    while start < program.steps.len() && budget > 0 {
        let members = members_from(program, start);
        start += 1;
        if members.len() < SHORTEST {
            continue;
        }
        let Some(Prefix { length, nest, buffers, .. }) =
            longest_prefix(program, &uses, &members, limits, &mut budget)
        else {
            // The others would hardly fit without the first.
            start = members[members.len() - 1];
            continue;
        };
        for &gone in &members[..length - 1] {
            uses.replace(program, gone, nothing());
        }
        uses.replace(program, members[length - 1], Step::Nest { nest, buffers });
    }
}

/// The maps that can run together from `start` on: each accesses what one before it accesses, and no other
/// step between them depends on them.
fn members_from(program: &Program, start: usize) -> Vec<usize> {
    let first = &program.steps[start];
    let Some(axes) = axes_of_map(program, first) else { return vec![] };
    let counts = |id: &BufferId| program.buffers[*id].role != Role::Status;
    let mut members = vec![start];
    let (mut read, mut written) = (HashSet::new(), HashSet::new());
    read.extend(first.reads().into_iter().filter(counts));
    written.extend(first.writes().into_iter().filter(counts));
    for (at, step) in program.steps.iter().enumerate().skip(start + 1) {
        if at - members[members.len() - 1] > GAP {
            break;
        }
        let (mut reads, mut writes) = (step.reads(), step.writes());
        reads.retain(counts);
        writes.retain(counts);
        let follows = reads.iter().any(|id| written.contains(id));
        let is_near = follows || reads.iter().any(|id| read.contains(id));
        if is_near && axes_of_map(program, step) == Some(axes) {
            members.push(at);
            read.extend(reads);
            written.extend(writes);
        } else if follows || writes.iter().any(|id| read.contains(id) || written.contains(id)) {
            break;
        }
    }
    members
}

/// The points of a step that may be part of a chain.
fn axes_of_map<'p>(program: &Program, step: &'p Step) -> Option<&'p [u64]> {
    let nest = step.nest().filter(|nest| nest.is_map())?;
    (!touches_mutable(program, step)).then_some(&nest.axes)
}

/// The first maps of a chain as one Nest.
struct Prefix {
    length: usize,
    nest: Nest,
    buffers: Vec<BufferId>,
    /// Bytes of the scratch that it stores.
    stored: u64,
}

/// The first maps of a chain that fit in one Nest: all of them, or else, of the prefixes that are at least
/// half as long as the longest, the one that stores the fewest bytes.
fn longest_prefix(
    program: &Program,
    uses: &Dependences,
    members: &[usize],
    limits: Limits,
    budget: &mut usize,
) -> Option<Prefix> {
    let bound = |at: usize| match &program.steps[at] {
        Step::Nest { nest, buffers } => Some((nest, buffers.as_slice())),
        _ => None,
    };
    let (first, first_buffers) = bound(members[0])?;
    let (mut nest, mut buffers, mut parts) = (first.clone(), first_buffers.to_vec(), size(first));
    let mut best: Option<Prefix> = None;
    for length in 2..=members.len() {
        let next = bound(members[length - 1])?;
        let inside = |step: &usize| members[..length].binary_search(step).is_ok();
        let private = |id: BufferId| is_private(program, uses, id, inside);
        parts += size(next.0);
        let Some(pair) = joined((&nest, &buffers), next, &private) else { break };
        (nest, buffers) = pair;
        *budget = budget.saturating_sub(size(&nest));
        let scratch = |id: BufferId| program.buffers[id].role == Role::Temp && !uses.roots[id];
        let operands = nest.operands.iter().zip(&buffers);
        let fixed = operands.filter(|(operand, id)| !operand.written || !scratch(**id)).count();
        if limits.exclude_insts(size(&nest)) || fixed > MAX_OPERANDS || *budget == 0 {
            break;
        }
        if !limits.fits(&mut nest, parts) {
            continue;
        }
        let operands = nest.operands.iter().zip(&buffers).filter(|(operand, _)| operand.written);
        let scratch =
            operands.map(|(_, &id)| &program.buffers[id]).filter(|buffer| buffer.role == Role::Temp);
        let stored = scratch.map(|buffer| buffer.bytes()).sum();
        if best.as_ref().is_none_or(|best| stored <= best.stored || best.length < length / 2) {
            best = Some(Prefix { length, nest: nest.clone(), buffers: buffers.clone(), stored });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    /// Launches and bytes of a call with vectors of zeros.
    fn planned(inputs: &[Variable], outputs: Vec<Variable>) -> (u64, u64) {
        let f = function(inputs).outputs(outputs).compile().unwrap();
        let mut sim = f.optimize(Host::default().strict()).unwrap();
        let given =
            inputs.iter().fold(Args::new(), |args, _| args.with(of_shape::<f32>(&[1 << 20]).unwrap()));
        let plan = sim.plan(given).unwrap();
        (plan.total.launches, plan.total.bytes() >> 20)
    }

    #[test]
    fn iterations_of_a_map_are_one_launch() {
        let inputs = [vector::<f32>("x"), vector::<f32>("y")];
        let [x, y] = &inputs;
        let [mut a, mut b, mut count] = [x.clone(), y.clone(), zeros_like(x)];
        for _ in 0..100 {
            (a, b) = (&a * &a - &b * &b + x, 2.0 * &a * &b + y);
            count = count + (&a * &a + &b * &b).less(4.0);
        }
        assert_eq!(planned(&inputs, vec![count]), (1, 12));
    }

    #[test]
    fn steps_of_a_differential_equation_are_one_launch() {
        let inputs = [vector::<f32>("x"), vector::<f32>("y"), vector::<f32>("z")];
        let mut state = inputs.to_vec();
        // Lorenz's system, by Heun's method.
        let slope = |s: &[Variable]| -> Vec<Variable> {
            let (x, y, z) = (&s[0], &s[1], &s[2]);
            vec![10.0 * (y - x), x * (28.0 - z) - y, x * y - z * (8.0 / 3.0)]
        };
        let after = |s: &[Variable], by: f64, slope: &[Variable]| -> Vec<Variable> {
            s.iter().zip(slope).map(|(s, slope)| s + by * slope).collect()
        };
        for _ in 0..40 {
            let first = slope(&state);
            let second = slope(&after(&state, 0.01, &first));
            state = after(&after(&state, 0.005, &first), 0.005, &second);
        }
        assert_eq!(planned(&inputs, state), (1, 24));
    }

    #[test]
    fn what_does_not_fit_is_cut_where_little_is_stored() {
        let inputs = [vector::<f32>("x")];
        let mut x = inputs[0].clone();
        for k in 0..1500 {
            x = (&x * &x - 0.5 * k as f64).sin() + &x * 0.5;
        }
        let (launches, bytes) = planned(&inputs, vec![x]);
        assert!(launches <= 4 && bytes <= 8 * launches, "{launches} launches, {bytes} MiB");
    }
}
