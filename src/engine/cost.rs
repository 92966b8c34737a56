//! The cost of a Program, predicted from the Program alone: launches, flops, bytes.
//!
//! The cost of a Nest is that of [`workalike_kernels::cost`]; bytes are of distinct elements, each counted
//! once.

use crate::lower::program::{BufferId, Program, Role, Step};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::iter::Sum;
use std::ops::Add;
use workalike_kernels::cost::AccessDirection;

/// The work of a step, or of a whole Program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Work {
    /// Kernels, library ops and copies that are launched.
    pub launches: u64,
    /// Floating-point operations, as the table of ops counts them; 0 for host nodes, whose cost is unknown.
    pub flops: f64,
    /// Bytes of distinct elements read.
    pub bytes_read: u64,
    /// Bytes of distinct elements written.
    pub bytes_written: u64,
}

impl Work {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }
}

impl Add for Work {
    type Output = Work;

    fn add(self, other: Work) -> Work {
        Work {
            launches: self.launches + other.launches,
            flops: self.flops + other.flops,
            bytes_read: self.bytes_read.saturating_add(other.bytes_read),
            bytes_written: self.bytes_written.saturating_add(other.bytes_written),
        }
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Work>>(works: I) -> Work {
        works.fold(Work::default(), Add::add)
    }
}

/// The work of one step.
pub fn step(program: &Program, step: &Step) -> Work {
    let total = |way| touched(program, step, way).values().fold(0u64, |sum, b| sum.saturating_add(*b));
    Work {
        launches: step.launches(),
        flops: step.flops(),
        bytes_read: total(AccessDirection::Read),
        bytes_written: total(AccessDirection::Write),
    }
}

/// The work of the copy of a new value to its shared variable; none where the step writes it in place.
pub fn update(program: &Program, shared: usize, buffer: BufferId) -> Work {
    let new = &program.buffers[buffer];
    if new.role == Role::Shared(shared) || new.is_empty() {
        return Work::default();
    }
    Work { launches: 1, flops: 0.0, bytes_read: new.bytes(), bytes_written: new.bytes() }
}

/// The work of a Program: its steps, and the copies of new values at the end.
pub fn total(program: &Program) -> Work {
    let steps = program.steps.iter().map(|s| step(program, s));
    steps.chain(program.updates.iter().map(|&(shared, buffer)| update(program, shared, buffer))).sum()
}

/// Bytes that any implementation must move: inputs, shared variables and constants, as far as they are read,
/// and outputs and new values, each once. Of a shared variable that is changed in place, only what is
/// written: rows of a table, not the table.
pub fn compulsory_bytes(program: &Program) -> u64 {
    let (read, changed) =
        (all_touched(program, AccessDirection::Read), all_touched(program, AccessDirection::Write));
    let outside = |b: &BufferId| {
        matches!(program.buffers[*b].role, Role::Input(_) | Role::Shared(_) | Role::Constant(_))
    };
    let read = read.iter().filter(|(b, _)| outside(b)).map(|(_, bytes)| *bytes);
    let outputs: HashSet<BufferId> = program.outputs.iter().copied().collect();
    let updates: HashSet<BufferId> = program.updates.iter().map(|update| update.1).collect();
    let new_value = |&b: &BufferId| match program.buffers[b].role {
        Role::Shared(_) => changed.get(&b).copied().unwrap_or(0),
        _ => program.buffers[b].bytes(),
    };
    let updated = updates.difference(&outputs).map(new_value);
    let written = outputs.iter().map(|&b| program.buffers[b].bytes()).chain(updated);
    read.chain(written).fold(0, u64::saturating_add)
}

/// Bytes that all steps together touch in each buffer, at most all of it.
fn all_touched(program: &Program, way: AccessDirection) -> BTreeMap<BufferId, u64> {
    let mut all: BTreeMap<BufferId, u64> = BTreeMap::new();
    for step in &program.steps {
        for (buffer, bytes) in touched(program, step, way) {
            let sum = all.entry(buffer).or_default();
            *sum = sum.saturating_add(bytes).min(program.buffers[buffer].bytes());
        }
    }
    all
}

/// Bytes that a step touches in each buffer. The status word does not count: it is written only on an error.
fn touched(program: &Program, step: &Step, way: AccessDirection) -> BTreeMap<BufferId, u64> {
    let mut bytes: BTreeMap<BufferId, u64> = BTreeMap::new();
    for (buffer, elements) in step.touched(program, way) {
        let whole = &program.buffers[buffer];
        if whole.role != Role::Status {
            let sum = bytes.entry(buffer).or_default();
            let more = elements.saturating_mul(whole.dtype.size() as u64);
            *sum = sum.saturating_add(more).min(whole.bytes());
        }
    }
    bytes
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// The fused Program of a Function on the host.
    fn work(f: Function, args: Args) -> (Work, u64) {
        let mut sim = f.optimize(Host::auto()).unwrap();
        let plan = sim.plan(args).unwrap();
        (plan.total, plan.compulsory_bytes)
    }

    #[test]
    fn an_elementwise_step_moves_each_element_once() {
        let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
        let f = function([&x, &y]).output(&x * &y + &x).compile().unwrap();
        let n = 1000;
        let (work, compulsory) = work(f, args![vec![1f32; n], vec![1f32; n]]);
        let n = n as u64;
        assert_eq!(
            work,
            Work { launches: 1, flops: 2.0 * n as f64, bytes_read: 8 * n, bytes_written: 4 * n }
        );
        assert_eq!(compulsory, 12 * n);
    }

    #[test]
    fn of_tables_only_the_rows_count_that_are_read_or_changed() {
        let table = shared("table", Value::zeros(DType::F32, &[10_000, 8]).unwrap());
        let (i, g) = (vector::<i64>("i"), matrix::<f32>("g"));
        let f = function([&i, &g]).output(table.take(&i, 0).sum(..));
        let f = f.update(&table, table.inc_index(crate::idx![&i], &g)).compile().unwrap();
        let rows = Value::zeros(DType::F32, &[16, 8]).unwrap();
        let (_, compulsory) = work(f, args![(0..16i64).collect::<Vec<_>>(), rows]);
        // Positions, increments, rows read and rows written, and the sum.
        assert!((1000..10_000).contains(&compulsory), "{compulsory}");
    }

    #[test]
    fn broadcast_operands_count_once_and_windows_by_their_span() {
        let (x, b) = (matrix::<f32>("x"), vector::<f32>("b"));
        let f = function([&x, &b]).output(&x + &b).compile().unwrap();
        let x = Value::zeros(DType::F32, &[64, 10]).unwrap();
        let (sum, _) = work(f, args![x, vec![0f32; 10]]);
        assert_eq!((sum.bytes_read, sum.bytes_written), (4 * (640 + 10), 4 * 640));

        let x = vector::<f32>("x");
        let f = function([&x]).output(x.index(idx![1..]) - x.index(idx![..-1])).compile().unwrap();
        let (work, _) = work(f, args![vec![0f32; 101]]);
        assert_eq!((work.bytes_read, work.bytes_written), (4 * 101, 4 * 100));
    }

    #[test]
    fn a_softmax_reads_its_rows_once() {
        let x = matrix::<f32>("x");
        let f = function([&x]).output(softmax(&x, -1)).compile().unwrap();
        let (work, compulsory) = work(f, args![Value::zeros(DType::F32, &[32, 48]).unwrap()]);
        assert_eq!(
            (work.bytes_read, work.bytes_written, compulsory),
            (4 * 32 * 48, 4 * 32 * 48, 8 * 32 * 48)
        );
    }

    #[test]
    fn a_product_counts_its_factors_and_two_flops_a_term() {
        let (a, b) = (matrix::<f32>("a"), matrix::<f32>("b"));
        let f = function([&a, &b]).output(a.dot(&b)).compile().unwrap();
        let value = |shape: &[usize]| Value::zeros(DType::F32, shape).unwrap();
        let (work, _) = work(f, args![value(&[30, 40]), value(&[40, 50])]);
        assert_eq!(work.flops, 2.0 * 30.0 * 40.0 * 50.0);
        assert_eq!((work.bytes_read, work.bytes_written), (4 * (1200 + 2000), 4 * 1500));
    }

    #[test]
    fn a_gather_reads_no_more_than_it_uses() {
        let (x, i) = (matrix::<f32>("x"), vector::<i64>("i"));
        let f = function([&x, &i]).output(x.index(idx![&i])).compile().unwrap();
        let x = Value::zeros(DType::F32, &[1000, 8]).unwrap();
        let (work, _) = work(f, args![x, vec![1i64, 5, 7]]);
        assert_eq!((work.bytes_read, work.bytes_written), (4 * 24 + 8 * 3, 4 * 24));
    }

    #[test]
    fn a_new_value_that_cannot_be_in_place_is_one_copy_more() {
        let s = shared("s", Value::zeros(DType::F32, &[16]).unwrap());
        let t = shared("t", Value::zeros(DType::F32, &[16]).unwrap());
        let swap = function([] as [&Variable; 0]).update(&s, &t).update(&t, &s).compile().unwrap();
        let (work, _) = work(swap, args![]);
        assert!(work.launches >= 3, "{work:?}");
    }
}
