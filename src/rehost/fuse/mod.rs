//! Fusion: a pure function from Program to Program, given what the device is like. It looks at Nests, never
//! at ops.
//!
//! In this order:
//! - [`constants`]: constants that a formula gives are computed rather than loaded;
//! - [`store_forwarding`]: what is put together only to be copied into something larger is put together
//!   there;
//! - [`unit_axes`]: axes of extent 1 go;
//! - [`unroll`]: reductions over a few points become elementwise; grids of a few points that share their work
//!   become one;
//! - [`inline`]: an elementwise producer is computed where it is read (maps into maps, reductions, gathers),
//!   if the [cost](Cost) of computing it again is below that of a round trip through memory and a launch;
//! - [`merge`]: Nests over the same points [`join`] into one, the later reading what the earlier computed
//!   from registers: epilogues of reductions (before `inline`), maps with shared inputs, and last whatever
//!   else visits the same points, such as the reductions and maps of a softmax;
//! - [`halves`]: halves that a jump depends on are rounded;
//! - [`epilogue_fusion`]: what is done to each element of a library op's result becomes its epilogue, where
//!   the device has that;
//! - [`horizontal_fusion`]: small Nests over the same points that do not depend on each other become one
//!   launch;
//! - [`split`]: a reduction to few results becomes two, so that it fills a wide device.

mod constants;
mod edit;
mod epilogue_fusion;
mod halves;
mod horizontal_fusion;
mod inline;
mod join;
mod merge;
mod split;
mod store_forwarding;
mod unit_axes;
mod unroll;

use super::device::{LibraryOp, Properties};
use crate::kernels::cost::position_flops;
use crate::kernels::nest::{Inst, Nest, PhaseKind};
use crate::kernels::verify::Verified;
use crate::lower::Abilities;
use crate::lower::program::{BufferId, Program, Role, Step};
use edit::drop_unread_stores;

/// What fusion trades, in bytes of memory traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// What one launch costs.
    pub(super) launch: f64,
    /// What one flop costs.
    pub(super) flop: f64,
}

impl Cost {
    /// From the device's width: a launch on a GPU takes as long as moving megabytes, on a CPU as some
    /// kilobytes; a flop as a fraction of a byte, from the ratio of compute to bandwidth that such devices
    /// have.
    fn of(properties: &Properties) -> Cost {
        if properties.is_wide() { Cost { launch: 4e6, flop: 0.1 } } else { Cost { launch: 3e4, flop: 0.3 } }
    }
}

/// No kernel may take more pointers than every device accepts, or grow without bound.
pub(super) const MAX_OPERANDS: usize = 28;
pub(super) const MAX_INSTS: usize = 400;

/// Whether two Nests are too large to become one, as far as can be told without trying: what they share
/// counts twice here.
pub(super) fn too_large(a: &Nest, b: &Nest) -> bool {
    size(a) + size(b) > MAX_INSTS + MAX_INSTS / 4
}

/// Fuses a Program. Of the device's abilities it asks only what is the same each time it is asked.
pub(crate) fn fuse(mut program: Program, properties: &Properties, abilities: &Abilities<'_>) -> Program {
    let cost = Cost::of(properties);
    constants::run(&mut program);
    store_forwarding::run(&mut program);
    unit_axes::run(&mut program);
    unroll::reductions(&mut program);
    merge::epilogues(&mut program, properties);
    inline::run(&mut program, cost);
    merge::maps(&mut program, properties);
    drop_unread_stores(&mut program);
    unroll::grids(&mut program);
    merge::frames(&mut program, properties);
    // Merging leaves stores that nothing reads any more; dropping them may leave Nests without any.
    drop_unread_stores(&mut program);
    halves::run(&mut program);
    let takes =
        |op: &dyn LibraryOp, nest: &Verified, operand| abilities.device.library(op, Some((nest, operand)));
    epilogue_fusion::run(&mut program, &takes);
    horizontal_fusion::run(&mut program, properties);
    split::run(&mut program, properties);
    program
}

/// A step that does nothing, in place of one that was fused away.
pub(super) fn nothing() -> Step {
    let nest = Nest { name: String::new(), axes: vec![], grid: 0, operands: vec![], phases: vec![] };
    Step::Nest { nest, buffers: vec![] }
}

pub(super) fn is_nothing(step: &Step) -> bool {
    matches!(step, Step::Nest { nest, .. } if nest.phases.is_empty())
}

/// Whether a step touches memory that is written in parts, whose order therefore matters. The status word
/// does not count.
pub(super) fn touches_mutable(program: &Program, step: &Step) -> bool {
    let ordered = |b: &BufferId| program.buffers[*b].mutable && program.buffers[*b].role != Role::Status;
    step.reads().iter().chain(&step.writes()).any(ordered)
}

/// Flops of one evaluation of a Nest's only block, and bytes it loads that vary from point to point.
pub(super) fn evaluation(nest: &Nest) -> (f64, f64) {
    let (mut flops, mut bytes) = (0.0, 0.0);
    for inst in nest.phases.iter().flat_map(|p| &p.block.insts) {
        match inst {
            Inst::Op { op, .. } => flops += f64::from(op.row().flops),
            Inst::Cast { .. } => flops += 1.0,
            Inst::Position { mode, .. } => flops += f64::from(position_flops(*mode)),
            Inst::Load { operand, index } => {
                let varies = index.iter().any(|i| !i.terms.is_empty() || i.dynamic.is_some());
                if varies {
                    bytes += nest.operands[*operand].dtype.size() as f64;
                }
            }
            _ => {}
        }
    }
    (flops, bytes)
}

/// How often a phase is evaluated.
pub(super) fn evaluations(nest: &Nest, kind: PhaseKind) -> f64 {
    let grid = nest.grid_points() as f64;
    if kind == PhaseKind::Point { grid } else { grid * nest.inner_points() as f64 }
}

/// Instructions in all phases.
pub(super) fn size(nest: &Nest) -> usize {
    nest.phases.iter().map(|p| p.block.insts.len()).sum()
}
