//! Which steps of a Program read and write each buffer: dependences between steps, and lifetimes of buffers.
//! Used by fusion, in-place updates, the order of error reports, the memory plan, and recordings over memory
//! of the caller.

use crate::lower::program::{BufferId, Program, Role, Step};
use std::collections::{BTreeSet, HashMap};

/// Which steps write and read each buffer. Sets, because a buffer may have as many readers as the Program has
/// steps.
pub(super) struct Dependences {
    pub(super) writers: Vec<BTreeSet<usize>>,
    pub(super) readers: Vec<BTreeSet<usize>>,
    /// Outputs, and new values of shared variables: read after all steps have run.
    pub(super) roots: Vec<bool>,
    /// Steps that may fail after earlier ones have stored results: host nodes, and exchanges of members.
    fallible: BTreeSet<usize>,
}

impl Dependences {
    pub(super) fn of(program: &Program) -> Dependences {
        let count = program.buffers.len();
        let none = || vec![BTreeSet::new(); count];
        let (writers, readers, roots) = (none(), none(), vec![false; count]);
        let mut dependences = Dependences { writers, readers, roots, fallible: BTreeSet::new() };
        for (position, step) in program.steps.iter().enumerate() {
            dependences.add(step, position);
        }
        for &id in program.outputs.iter().chain(program.updates.iter().map(|u| &u.1)) {
            dependences.roots[id] = true;
        }
        dependences
    }

    fn add(&mut self, step: &Step, position: usize) {
        step.writes().into_iter().for_each(|b| _ = self.writers[b].insert(position));
        step.reads().into_iter().for_each(|b| _ = self.readers[b].insert(position));
        if step.needs_host() || step.exchanges() {
            self.fallible.insert(position);
        }
    }

    fn remove(&mut self, step: &Step, position: usize) {
        step.writes().into_iter().for_each(|b| _ = self.writers[b].remove(&position));
        step.reads().into_iter().for_each(|b| _ = self.readers[b].remove(&position));
        self.fallible.remove(&position);
    }

    /// Replaces a step and updates the sets; returns the old step.
    pub(super) fn replace(&mut self, program: &mut Program, position: usize, step: Step) -> Step {
        // The new step may have new buffers, such as scratch memory.
        let count = program.buffers.len();
        self.writers.resize(count, BTreeSet::new());
        self.readers.resize(count, BTreeSet::new());
        self.roots.resize(count, false);
        self.remove(&program.steps[position], position);
        self.add(&step, position);
        std::mem::replace(&mut program.steps[position], step)
    }

    /// Replaces `from` by `to` in all steps and among the roots, and updates the sets.
    pub(super) fn rename(&mut self, program: &mut Program, from: BufferId, to: BufferId) {
        for lists in [&mut self.writers, &mut self.readers] {
            lists.resize(lists.len().max(to + 1), BTreeSet::new());
            let mut moved = std::mem::take(&mut lists[from]);
            for &step in &moved {
                let mentions = program.steps[step].buffers_mut().into_iter();
                mentions.filter(|id| **id == from).for_each(|id| *id = to);
            }
            lists[to].append(&mut moved);
        }
        self.roots.resize(self.roots.len().max(to + 1), false);
        self.roots[to] |= std::mem::take(&mut self.roots[from]);
    }

    /// The last step that needs the host, or in which members exchange arrays.
    pub(super) fn last_fallible(&self) -> Option<usize> {
        self.fallible.last().copied()
    }

    /// The first and the last step that touch a buffer; roots are touched at `end`, which is one past the
    /// last step.
    pub(super) fn touched(&self, buffer: BufferId, end: usize) -> Option<(usize, usize)> {
        let (writers, readers) = (&self.writers[buffer], &self.readers[buffer]);
        let root = self.roots[buffer].then_some(end);
        let first = [writers.first().copied(), readers.first().copied(), root];
        let last = [writers.last().copied(), readers.last().copied(), root];
        first.into_iter().flatten().min().zip(last.into_iter().flatten().max())
    }
}

/// Which steps write to `report`, or are dependencies of such a step. The order among reports does not
/// matter. Members make their exchanges in one order, so that each depends on those before it.
pub(super) fn needed_for(program: &Program, report: BufferId) -> Vec<bool> {
    let (mut read, mut written) = (vec![false; program.buffers.len()], vec![false; program.buffers.len()]);
    let mut needed = vec![false; program.steps.len()];
    let mut exchanges = false;
    for (position, step) in program.steps.iter().enumerate().rev() {
        let (reads, writes) = (step.reads(), step.writes());
        let feeds = writes.iter().any(|&b| read[b] || written[b]) || reads.iter().any(|&b| written[b]);
        if feeds || writes.contains(&report) || (exchanges && step.exchanges()) {
            needed[position] = true;
            exchanges |= step.exchanges();
            reads.into_iter().for_each(|b| read[b] = true);
            writes.into_iter().filter(|&b| b != report).for_each(|b| written[b] = true);
        }
    }
    needed
}

/// For each step, the positions of the steps that it waits for, and of the steps that wait for it.
pub(super) struct DependenceGraph {
    pub(super) before: Vec<Vec<usize>>,
    pub(super) after: Vec<Vec<usize>>,
}

impl DependenceGraph {
    /// Which steps must keep their order: a step reads a buffer after it was written, and a buffer that is
    /// being written has no other reader or writer. If the old value of a shared variable is read before the
    /// new one is written, this order is kept, so the update can stay in place. So is the order of exchanges
    /// of members.
    pub(super) fn of(program: &Program, steps: &[Step]) -> DependenceGraph {
        let mut order =
            DependenceGraph { before: vec![vec![]; steps.len()], after: vec![vec![]; steps.len()] };
        let mut writer: HashMap<usize, usize> = HashMap::new();
        let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
        let homes = program.homes();
        let mut old: HashMap<usize, Vec<usize>> = HashMap::new();
        for (shared, new) in &program.updates {
            if let Some(&home) = homes.get(shared) {
                old.entry(*new).or_default().push(home);
            }
        }
        let mut exchange = None;
        let is_status = |b: &usize| program.buffers[*b].role == Role::Status;
        for (at, step) in steps.iter().enumerate() {
            let mut before = Vec::new();
            if step.exchanges() {
                before.extend(exchange.replace(at));
            }
            for buffer in step.reads().into_iter().filter(|b| !is_status(b)) {
                before.extend(writer.get(&buffer));
                readers.entry(buffer).or_default().push(at);
            }
            for buffer in step.writes().into_iter().filter(|b| !is_status(b)) {
                before.extend(writer.insert(buffer, at));
                before.extend(readers.remove(&buffer).into_iter().flatten());
                for home in old.get(&buffer).into_iter().flatten() {
                    before.extend(readers.get(home).into_iter().flatten());
                }
            }
            before.retain(|&b| b != at);
            before.sort_unstable();
            before.dedup();
            before.iter().for_each(|&b| order.after[b].push(at));
            order.before[at] = before;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;
    use workalike_kernels::nest::Nest;

    fn copy(from: BufferId, to: BufferId) -> Step {
        Step::Nest { nest: Nest::copy(DType::F32, &[8]), buffers: vec![from, to] }
    }

    /// A chain `a -> b -> c`, and `a -> d` between the two; `c` is the output.
    fn chain() -> (Program, [BufferId; 4]) {
        let mut program = Program::default();
        let a = program.buffer(DType::F32, &[8], Role::Input(0));
        let [b, c, d] = [0; 3].map(|_| program.buffer(DType::F32, &[8], Role::Temp));
        program.steps = vec![copy(a, b), copy(a, d), copy(b, c)];
        program.outputs = vec![c];
        (program, [a, b, c, d])
    }

    #[test]
    fn a_buffer_is_touched_from_its_first_step_to_its_last() {
        let (program, [a, b, c, d]) = chain();
        let dependences = Dependences::of(&program);
        let touched = [a, b, c, d].map(|id| dependences.touched(id, 3));
        assert_eq!(touched, [Some((0, 1)), Some((0, 2)), Some((2, 3)), Some((1, 1))]);
    }

    #[test]
    fn renaming_keeps_the_sets_true() {
        let (mut program, [_, b, _, d]) = chain();
        let mut dependences = Dependences::of(&program);
        dependences.rename(&mut program, b, d);
        let anew = Dependences::of(&program);
        assert_eq!((&dependences.writers, &dependences.readers), (&anew.writers, &anew.readers));
        assert_eq!((dependences.touched(b, 3), dependences.touched(d, 3)), (None, Some((0, 2))));
    }

    #[test]
    fn a_root_moves_to_a_new_buffer() {
        let (mut program, [_, _, c, _]) = chain();
        let mut dependences = Dependences::of(&program);
        let home = program.buffer(DType::F32, &[8], Role::Shared(0));
        dependences.rename(&mut program, c, home);
        assert_eq!((dependences.touched(c, 3), dependences.touched(home, 3)), (None, Some((2, 3))));
    }

    #[test]
    fn what_a_report_needs_is_a_slice() {
        let (program, [.., c, d]) = chain();
        assert_eq!(needed_for(&program, c), [true, false, true]);
        assert_eq!(needed_for(&program, d), [false, true, false]);
        assert_eq!(DependenceGraph::of(&program, &program.steps).before, [vec![], vec![], vec![0]]);
    }
}
