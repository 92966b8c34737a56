//! All or nothing: a Program that may find an error stores its updates only if it found none.
//!
//! An error that is found on the device (an index out of range, a condition that does not hold) is written to
//! the first status word and stays there until the host reads it. So:
//! - [`order`]: the steps that report (they write the status word, by an index mode or a conditional
//!   store),
//!   and the steps that they depend on, come first;
//! - an update that later Nests compute in place is stored under the condition that the status word is 0
//!   ([`Checks`] tells `inplace` where this is possible);
//! - any other update is computed in scratch, and a Nest copies it under that condition ([`guard`]);
//! - members of a group exchange their reports, so that an error of one of them stops all, and find out
//!   whether
//!   the exchanges took place ([`members`]);
//! - a Nest at the end counts the successful calls, so that the first failed one of many calls is known; it
//!   copies updates of one element too, such as a counter of steps.
//!
//! Loops whose bodies may find an error count their iterations ([`count_iterations`]), so that the error
//! names one.
//!
//! Once a step has failed, the steps that were enqueued behind it change nothing.

pub(super) mod members;

use super::dependences::{Dependences, needed_for};
use crate::lower::program::{BufferId, LOOP_LEVELS, Program, Role, STATUS_WORDS, Step};
use std::collections::BTreeSet;
use workalike_kernels::nest::{Block, Index, Inst, Nest, Operand, Phase, PhaseKind, Store, Value};
use workalike_kernels::{DType, Scalar, ops as scalar};

/// New values of one element that the Nest which counts calls stores, at most: each takes two operands.
const MOST_SINGLE: usize = 12;

/// Words of the status buffer.
const TROUBLE: i64 = 0;
const GOOD_CALLS: i64 = 1;
const FIRST_TROUBLE: i64 = 2;
/// The first of the words for loops.
const ITERATIONS: i64 = 3;

/// Which steps of a Program report.
pub(super) struct Checks {
    last: usize,
}

impl Checks {
    /// `None` if there is nothing to report or nothing to update.
    pub(super) fn of(program: &Program, dependences: &Dependences) -> Option<Checks> {
        let status = program.status.filter(|_| !program.updates.is_empty())?;
        Some(Checks { last: *dependences.writers[status].last()? })
    }

    /// Whether the update that these steps write can be made in place: all reports come before it, and each
    /// store can be conditional.
    pub(super) fn allow(&self, program: &Program, writers: &BTreeSet<usize>) -> bool {
        let conditional = |&step: &usize| program.steps[step].nest().is_some();
        writers.first().is_some_and(|&first| first > self.last) && writers.iter().all(conditional)
    }
}

/// Moves the steps that report, and their dependencies, before all others. The order is otherwise kept.
pub(super) fn order(program: &mut Program) {
    let Some(status) = program.status.filter(|_| !program.updates.is_empty()) else { return };
    let first = needed_for(program, status);
    let steps = std::mem::take(&mut program.steps).into_iter().zip(first);
    let (checks, others): (Vec<_>, Vec<_>) = steps.partition(|(_, first)| *first);
    program.steps = checks.into_iter().chain(others).map(|(step, _)| step).collect();
}

/// Makes every update conditional, and counts successful calls. `state_bytes` is the size of each shared
/// variable before the call; the engine stores an update of another size after the call.
pub(super) fn guard(program: &mut Program, state_bytes: &[u64]) {
    let Some(status) = program.status else { return };
    let (mut in_place, mut single): (Vec<BufferId>, Vec<[BufferId; 2]>) = (vec![], vec![]);
    let homes = program.homes();
    for position in 0..program.updates.len() {
        let (shared, new) = program.updates[position];
        let (bytes, len) = (program.buffers[new].bytes(), program.buffers[new].len());
        if program.buffers[new].role == Role::Shared(shared) {
            in_place.push(new);
        } else if bytes > 0 && state_bytes.get(shared) == Some(&bytes) {
            let home = home(program, (shared, homes.get(&shared).copied()), new);
            program.updates[position].1 = home;
            match len {
                1 if single.len() < MOST_SINGLE => single.push([new, home]),
                _ => commit(program, status, home, new),
            }
        }
    }
    for step in &mut program.steps {
        if let Step::Nest { nest, buffers } = step {
            make_conditional(nest, buffers, status, &in_place);
        }
    }
    let step = count(program, status, &single);
    program.steps.push(step);
}

/// The buffer of a shared variable, `known` if it has one already, for a new value.
fn home(program: &mut Program, (shared, known): (usize, Option<BufferId>), new: BufferId) -> BufferId {
    let (dtype, shape) = (program.buffers[new].dtype, program.buffers[new].shape.clone());
    known.unwrap_or_else(|| program.buffer(dtype, &shape, Role::Shared(shared)))
}

/// The dtype in which a new value is copied. float64 is copied as int64, since the device may lack float64.
fn moved(program: &Program, new: BufferId) -> DType {
    Some(program.buffers[new].dtype).filter(|dtype| *dtype != DType::F64).unwrap_or(DType::I64)
}

/// Appends a copy of a new value to its shared variable.
fn commit(program: &mut Program, status: BufferId, home: BufferId, new: BufferId) {
    let len = program.buffers[new].len();
    let mut nest = Nest { name: "commit".into(), ..Nest::copy(moved(program, new), &[len]) };
    let mut buffers = vec![new, home];
    make_conditional(&mut nest, &mut buffers, status, &[home]);
    program.steps.push(Step::Nest { nest, buffers });
}

/// Makes the stores to these buffers conditional on a status word of 0.
fn make_conditional(nest: &mut Nest, buffers: &mut Vec<BufferId>, status: BufferId, targets: &[BufferId]) {
    let concerns = |store: &Store, buffers: &[BufferId]| targets.contains(&buffers[store.operand]);
    if !nest.phases.iter().flat_map(|p| &p.stores).any(|s| concerns(s, buffers)) {
        return;
    }
    let operand = nest.operands.len();
    nest.operands.push(Operand::contiguous(DType::I64, &[STATUS_WORDS], false));
    buffers.push(status);
    for phase in &mut nest.phases {
        if !phase.stores.iter().any(|s| concerns(s, buffers)) {
            continue;
        }
        let insts = &mut phase.block.insts;
        let good = is_zero(insts, operand, TROUBLE).1;
        for store in phase.stores.iter_mut().filter(|s| concerns(s, buffers)) {
            store.when = Some(match store.when {
                Some(when) => push(insts, Inst::Op { op: scalar::AND, args: vec![when, good] }),
                None => good,
            });
        }
    }
}

fn push(insts: &mut Vec<Inst>, inst: Inst) -> Value {
    insts.push(inst);
    insts.len() as Value - 1
}

/// Loads a status word and compares it with 0; returns the word and the result.
fn is_zero(insts: &mut Vec<Inst>, operand: usize, word: i64) -> (Value, Value) {
    let word = push(insts, Inst::Load { operand, index: vec![Index::constant(word)] });
    let zero = push(insts, Inst::Const(Scalar::from_i128(DType::I64, 0)));
    (word, push(insts, Inst::Op { op: scalar::EQ, args: vec![word, zero] }))
}

/// Counts the iterations of loops that may find an error, at this level and within. It comes after fusion,
/// which does not keep the order of what is written to the status words.
pub(super) fn count_iterations(program: &mut Program, level: usize) {
    if level >= LOOP_LEVELS {
        return;
    }
    let mut position = 0;
    while position < program.steps.len() {
        let step = &mut program.steps[position];
        let repeats = matches!(step, Step::Loop(_) | Step::While(_));
        let mut reset = None;
        for body in step.bound_bodies_mut() {
            count_iterations(&mut body.program, level + 1);
            if let (true, Some(around), Some(within)) = (repeats, body.status, body.program.status) {
                body.program.steps.push(count_iteration(within, level));
                reset = Some(reset_iterations(around, level));
            }
        }
        if let Some(reset) = reset {
            program.steps.insert(position, reset);
            position += 1;
        }
        position += 1;
    }
}

/// Sets the number of iterations to 0.
fn reset_iterations(status: BufferId, level: usize) -> Step {
    let insts = vec![Inst::Const(Scalar::from_i128(DType::I64, 0))];
    let index = vec![Index::constant(ITERATIONS + 2 * level as i64)];
    let stores = vec![Store { operand: 0, index, value: 0, when: None, add: false }];
    on_status("reset_iterations", status, insts, stores)
}

/// Counts an iteration, and notes its number if it is the first that found an error.
fn count_iteration(status: BufferId, level: usize) -> Step {
    let count = ITERATIONS + 2 * level as i64;
    let mut insts = Vec::new();
    let (_, good) = is_zero(&mut insts, 0, TROUBLE);
    let bad = push(&mut insts, Inst::Op { op: scalar::NOT, args: vec![good] });
    let (_, unset) = is_zero(&mut insts, 0, count + 1);
    let first = push(&mut insts, Inst::Op { op: scalar::AND, args: vec![bad, unset] });
    let before = push(&mut insts, Inst::Load { operand: 0, index: vec![Index::constant(count)] });
    let one = push(&mut insts, Inst::Const(Scalar::from_i128(DType::I64, 1)));
    let number = push(&mut insts, Inst::Op { op: scalar::ADD, args: vec![before, one] });
    let store = |word, when| Store {
        operand: 0,
        index: vec![Index::constant(word)],
        value: number,
        when,
        add: false,
    };
    let stores = vec![store(count, None), store(count + 1, Some(first))];
    on_status("count_iterations", status, insts, stores)
}

/// A Nest over the status words. Its only phase is Ordered, since it stores to an operand that it loads.
fn on_status(name: &str, status: BufferId, insts: Vec<Inst>, stores: Vec<Store>) -> Step {
    let phases = vec![Phase { kind: PhaseKind::Ordered, block: Block { insts }, folds: vec![], stores }];
    let operands = vec![Operand::contiguous(DType::I64, &[STATUS_WORDS], true)];
    let nest = Nest { name: name.into(), axes: vec![], grid: 0, operands, phases };
    Step::Nest { nest, buffers: vec![status] }
}

/// Counts a successful call, in which it stores new values of one element to shared variables; or keeps the
/// first error.
fn count(program: &Program, status: BufferId, single: &[[BufferId; 2]]) -> Step {
    let mut insts = Vec::new();
    let (trouble, good) = is_zero(&mut insts, 0, TROUBLE);
    let (_, unset) = is_zero(&mut insts, 0, FIRST_TROUBLE);
    let calls = push(&mut insts, Inst::Load { operand: 0, index: vec![Index::constant(GOOD_CALLS)] });
    let one = push(&mut insts, Inst::Const(Scalar::from_i128(DType::I64, 1)));
    let more = push(&mut insts, Inst::Op { op: scalar::ADD, args: vec![calls, one] });
    let store = |word, value, when| Store {
        operand: 0,
        index: vec![Index::constant(word)],
        value,
        when: Some(when),
        add: false,
    };
    // Without an error, the first error is 0 and stays 0.
    let mut stores = vec![store(GOOD_CALLS, more, good), store(FIRST_TROUBLE, trouble, unset)];
    let (mut operands, mut buffers) = (vec![], vec![]);
    for &[new, home] in single {
        let (from, to) = (1 + operands.len(), 2 + operands.len());
        let operand = |written| Operand::contiguous(moved(program, new), &[1], written);
        operands.extend([operand(false), operand(true)]);
        buffers.extend([new, home]);
        let index = vec![Index::constant(0)];
        let value = push(&mut insts, Inst::Load { operand: from, index: index.clone() });
        stores.push(Store { operand: to, index, value, when: Some(good), add: false });
    }
    let mut step = on_status("count_calls", status, insts, stores);
    if let Step::Nest { nest, buffers: bound } = &mut step {
        nest.operands.extend(operands);
        bound.extend(buffers);
    }
    step
}
