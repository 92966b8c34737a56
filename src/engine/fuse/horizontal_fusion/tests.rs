//! What is joined, and every reason not to.

use super::*;
use crate::lower::program::{BufferId, Role};
use workalike_device::Properties;
use workalike_kernels::nest::{Block, Fold, FoldOf, Index, Inst, Operand, Phase, PhaseKind, Store};
use workalike_kernels::verify::verify;
use workalike_kernels::{DType, ops};

/// A processor, a processor that interprets, a GPU.
fn device(lanes: u64, interprets: bool) -> Properties {
    Properties {
        name: "a test".into(),
        id: "test".into(),
        driver: "none".into(),
        memory: 1 << 30,
        largest_allocation: 1 << 30,
        alignment: 64,
        f64: true,
        units: 4,
        lanes,
        interprets,
        every_op: interprets,
        kernel_insts: 4096,
        forward_progress: false,
    }
}

fn processor() -> Properties {
    device(4, false)
}

fn wide() -> Properties {
    device(1 << 18, false)
}

/// `to[i] = 2 * from[i]` for float32.
fn twice(from: BufferId, to: BufferId, n: u64) -> Step {
    let index = || vec![Index::axis(0)];
    let insts = vec![Inst::Load { operand: 0, index: index() }, Inst::Op { op: ops::ADD, args: vec![0, 0] }];
    let stores = vec![Store { operand: 1, index: index(), value: 1, when: None, add: false }];
    let phases = vec![Phase { kind: PhaseKind::Point, block: Block { insts }, folds: vec![], stores }];
    let operands =
        vec![Operand::contiguous(DType::F32, &[n], false), Operand::contiguous(DType::F32, &[n], true)];
    let nest = Nest { name: "twice".into(), axes: vec![n], grid: 1, operands, phases };
    Step::Nest { nest, buffers: vec![from, to] }
}

/// `to[] = sum(from)`.
fn sum(from: BufferId, to: BufferId, n: u64) -> Step {
    let insts = vec![Inst::Load { operand: 0, index: vec![Index::axis(0)] }];
    let folds = vec![FoldOf { fold: Fold::Sum, value: 0, index: None }];
    let stores = vec![Store { operand: 1, index: vec![], value: 0, when: None, add: false }];
    let point = Block { insts: vec![Inst::Folded { phase: 0, fold: 0 }] };
    let phases = vec![
        Phase { kind: PhaseKind::Reduce, block: Block { insts }, folds, stores: vec![] },
        Phase { kind: PhaseKind::Point, block: point, folds: vec![], stores },
    ];
    let operands =
        vec![Operand::contiguous(DType::F32, &[n], false), Operand::contiguous(DType::F32, &[], true)];
    let nest = Nest { name: "sum".into(), axes: vec![n], grid: 0, operands, phases };
    Step::Nest { nest, buffers: vec![from, to] }
}

/// A Program under construction.
#[derive(Default)]
struct Draft {
    program: Program,
    inputs: usize,
}

impl Draft {
    fn input(&mut self, n: u64) -> BufferId {
        self.inputs += 1;
        self.program.buffer(DType::F32, &[n], Role::Input(self.inputs - 1))
    }

    /// The buffer to which `twice` writes.
    fn twice(&mut self, from: BufferId, n: u64) -> BufferId {
        let to = self.program.buffer(DType::F32, &[n], Role::Temp);
        self.program.steps.push(twice(from, to, n));
        to
    }

    /// Runs the pass, checks the order of the remaining steps, and returns their number.
    fn joined(&mut self, properties: &Properties) -> usize {
        run(&mut self.program, &CostModel::of(properties), FusionLimits::of(properties));
        let mut written = vec![false; self.program.buffers.len()];
        for step in &self.program.steps {
            for read in step.reads() {
                let before = self.program.buffers[read].role != Role::Temp || written[read];
                assert!(before, "buffer {read} is read before it is written\n{}", self.program.print());
            }
            step.writes().into_iter().for_each(|b| written[b] = true);
            let Step::Nest { nest, .. } = step else { continue };
            verify(nest).unwrap();
        }
        self.program.steps.len()
    }
}

/// Doubles `count` inputs.
fn independent(count: usize, n: u64) -> Draft {
    let mut draft = Draft::default();
    for _ in 0..count {
        let x = draft.input(n);
        let y = draft.twice(x, n);
        draft.program.outputs.push(y);
    }
    draft
}

#[test]
fn independent_nests_over_the_same_points_are_one() {
    for properties in [processor(), wide(), device(4, true)] {
        assert_eq!(independent(5, 100).joined(&properties), 1, "{properties:?}");
    }
}

#[test]
fn other_points_stay_apart() {
    let mut draft = independent(2, 100);
    let x = draft.input(101);
    let y = draft.twice(x, 101);
    draft.program.outputs.push(y);
    assert_eq!(draft.joined(&wide()), 2);
}

#[test]
fn a_launch_takes_no_more_operands_than_devices_do() {
    let mut draft = independent(20, 100);
    assert_eq!(draft.joined(&wide()), 2);
    let operands = |step: &Step| if let Step::Nest { nest, .. } = step { nest.operands.len() } else { 0 };
    assert!(
        draft.program.steps.iter().all(|step| operands(step) <= crate::engine::fuse::limits::MAX_OPERANDS)
    );
}

#[test]
fn what_leads_to_the_other_is_not_joined_with_it() {
    let mut draft = Draft::default();
    let x = draft.input(100);
    let y = draft.twice(x, 100);
    let z = draft.program.buffer(DType::F32, &[], Role::Temp);
    draft.program.steps.push(sum(y, z, 100));
    let mut last = twice(z, 0, 100);
    let to = draft.program.buffer(DType::F32, &[100], Role::Temp);
    if let Step::Nest { nest, buffers } = &mut last {
        // It reads one number everywhere.
        nest.operands[0] = Operand::contiguous(DType::F32, &[], false);
        nest.phases[0].block.insts[0] = Inst::Load { operand: 0, index: vec![] };
        buffers[1] = to;
    }
    draft.program.steps.push(last);
    draft.program.outputs = vec![y, to];
    assert_eq!(draft.joined(&wide()), 3);
}

/// One is done late, the other could be done at once: it waits, and its readers come after both.
#[test]
fn steps_of_one_height_meet_and_their_readers_follow() {
    let mut draft = Draft::default();
    let (x, early) = (draft.input(100), draft.input(50));
    let a = draft.twice(early, 50);
    let total = draft.program.buffer(DType::F32, &[], Role::Temp);
    draft.program.steps.push(sum(a, total, 50));
    let b = draft.twice(x, 100);
    let c = draft.twice(b, 100);
    let d = draft.twice(c, 50);
    draft.program.outputs = vec![total, d];
    // The first and the last but one have a reader each; the last reads half of the latter's result.
    if let Some(Step::Nest { nest, .. }) = draft.program.steps.last_mut() {
        nest.operands[0] = Operand::contiguous(DType::F32, &[100], false);
    }
    let before = draft.program.steps.len();
    assert_eq!(before, 5);
    // 50 points: `a`, of height 1, and `d`, of height 0, differ in height and in depth.
    assert_eq!(draft.joined(&processor()), 5);
    let e = draft.twice(early, 50);
    draft.program.outputs.push(e);
    // `e` and `d` are both last; they become one, at a position where `c` is known.
    assert_eq!(draft.joined(&processor()), 5);
    assert_eq!(draft.program.steps.last().unwrap().writes(), [d, e]);
}

#[test]
fn an_old_value_is_read_before_it_is_overwritten() {
    let mut draft = Draft::default();
    let old = draft.program.buffer(DType::F32, &[100], Role::Shared(0));
    let y = draft.twice(old, 100);
    let x = draft.input(100);
    let new = draft.twice(x, 100);
    draft.program.outputs = vec![y];
    draft.program.updates = vec![(0, new)];
    assert_eq!(draft.joined(&wide()), 2);
    assert_eq!(draft.program.steps[0].writes(), [y]);
    // If it is read afterwards anyway, the variable cannot be updated in place, and nothing is lost.
    draft.program.steps.reverse();
    assert_eq!(draft.joined(&wide()), 1);
}

#[test]
fn what_is_written_in_parts_is_left_alone() {
    let mut draft = independent(2, 100);
    let first = draft.program.outputs[0];
    draft.program.buffers[first].mutable = true;
    assert_eq!(draft.joined(&wide()), 2);
}

#[test]
fn what_goes_point_by_point_is_left_alone() {
    let mut draft = independent(2, 100);
    for step in &mut draft.program.steps {
        let Step::Nest { nest, .. } = step else { continue };
        (nest.grid, nest.phases[0].kind) = (0, PhaseKind::Ordered);
    }
    assert_eq!(draft.joined(&wide()), 2);
}

#[test]
fn nothing_moves_past_a_host_node() {
    use crate::lower::program::HostNode;
    let mut draft = independent(4, 100);
    let node = HostNode {
        op: std::sync::Arc::new(crate::ops::Elemwise { op: ops::ADD }),
        node: 0,
        why: "a test".into(),
        inputs: vec![],
        outputs: vec![],
        exchange: None,
    };
    draft.program.steps.insert(2, Step::Host(node));
    assert_eq!(draft.joined(&wide()), 3);
    assert!(matches!(draft.program.steps[1], Step::Host(_)));
}

#[test]
fn large_ones_gain_nothing() {
    // A processor's launch is some kilobytes, a GPU's some megabytes.
    assert_eq!(independent(2, 1000).joined(&processor()), 1);
    assert_eq!(independent(2, 10_000).joined(&processor()), 2);
    assert_eq!(independent(2, 10_000).joined(&wide()), 1);
    assert_eq!(independent(2, 10_000_000).joined(&wide()), 2);
    // A device that interprets has no launch to save.
    assert_eq!(independent(2, 1000).joined(&device(4, true)), 2);
}

#[test]
fn folds_are_joined_where_nothing_is_interpreted() {
    let draft = || {
        let mut draft = Draft::default();
        for _ in 0..2 {
            let x = draft.input(100);
            let y = draft.program.buffer(DType::F32, &[], Role::Temp);
            draft.program.steps.push(sum(x, y, 100));
            draft.program.outputs.push(y);
        }
        draft
    };
    assert_eq!(draft().joined(&processor()), 1);
    assert_eq!(draft().joined(&wide()), 1);
    assert_eq!(draft().joined(&device(4, true)), 2);
}

/// Two small steps of one height. The inputs of the first take long, and so do the readers of the second.
fn crossing(slow: u64, late: u64) -> Draft {
    let mut draft = Draft::default();
    let input = draft.input(slow);
    let before = draft.twice(input, slow);
    let first = draft.program.buffer(DType::F32, &[100], Role::Temp);
    let mut step = twice(before, first, 100);
    if let Step::Nest { nest, .. } = &mut step {
        nest.operands[0] = Operand::contiguous(DType::F32, &[slow], false);
    }
    draft.program.steps.push(step);
    let total = draft.program.buffer(DType::F32, &[], Role::Temp);
    draft.program.steps.push(sum(first, total, 100));
    let x = draft.input(100);
    let second = draft.twice(x, 100);
    let end = draft.program.buffer(DType::F32, &[late], Role::Temp);
    let mut step = twice(second, end, late);
    if let Step::Nest { nest, .. } = &mut step {
        nest.operands[0] = Operand::contiguous(DType::F32, &[100], false);
        nest.phases[0].block.insts[0] = Inst::Load { operand: 0, index: vec![Index::constant(0)] };
    }
    draft.program.steps.push(step);
    draft.program.outputs = vec![total, end];
    draft
}

#[test]
fn side_by_side_nothing_waits_for_what_takes_long() {
    let long = 1 << 24;
    assert_eq!(crossing(long, long + 1).joined(&wide()), 5, "the second would wait, and the end with it");
    assert_eq!(crossing(long, 200).joined(&wide()), 4, "what waits for the second is short");
    assert_eq!(crossing(long, long + 1).joined(&processor()), 4, "one after the other nothing waits");
}
