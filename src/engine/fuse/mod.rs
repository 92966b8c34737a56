//! Fusion: a pure function from Program to Program, given the [cost model](cost) of the device. It reads
//! Nests, never ops.
//!
//! The passes, in this order:
//! - [`common`]: Nests that compute the same become one;
//! - [`constants`]: constants that follow a formula are computed rather than loaded;
//! - [`store_forwarding`]: an array that is assembled only to be copied into a larger one is assembled there;
//! - [`unit_axes`]: axes of extent 1 are removed;
//! - [`unroll`]: reductions over a few points become elementwise; a grid of a few points that share their
//!   work becomes one point;
//! - [`clusters`]: many maps over the same points are joined in one go, such as an unrolled recurrence; after
//!   `inline` a few are;
//! - [`inline`]: an elementwise producer is computed in its readers (maps, reductions, gathers), if the
//!   [cost](Cost) of computing it again is below that of a round trip through memory and a launch;
//! - [`parts`]: while Nests are joined, each part of an array that is assembled is a buffer of its own;
//! - [`piecewise`]: an array that is assembled part by part is not stored: its readers take each element from
//!   the part that it lies in;
//! - [`merge`]: Nests over the same points [`join`] into one within [`limits`], the later reading the earlier
//!   one's results from registers: epilogues of reductions (before `inline`), maps with shared inputs, and
//!   finally all other Nests over the same points, such as the reductions and maps of a softmax. If the axes
//!   are not the same, they are [split](reframe) so that they are;
//! - [`sparse_reads`]: an array is computed where it is read, not stored, if few of its elements are read;
//! - [`halves`]: half-precision arguments of discontinuous instructions are rounded;
//! - [`epilogue_fusion`]: an elementwise Nest over a library op's result becomes its epilogue, where the
//!   device supports it;
//! - [`horizontal_fusion`]: small Nests over the same points that do not depend on each other become one
//!   launch;
//! - [`operand_layout`]: an operand that a reduction reads with a stride, many times, is transposed first,
//!   for a tile interpreter;
//! - [`divide`]: a Nest of several phases over few long rows becomes a step for each phase, for a wide
//!   device;
//! - [`split`]: a reduction to few results becomes two, so that it fills a wide device.

mod buckets;
mod clusters;
mod common;
mod constants;
pub(super) mod cost;
mod divide;
mod edit;
mod epilogue_fusion;
mod halves;
mod horizontal_fusion;
mod inline;
mod join;
mod limits;
mod merge;
mod operand_layout;
mod parts;
mod piecewise;
mod reframe;
mod schedule;
mod sparse_reads;
mod split;
mod store_forwarding;
mod unit_axes;
mod unroll;

use super::dependences::Dependences;
use crate::lower::Abilities;
use crate::lower::program::{BufferId, Program, Role, Step};
use cost::CostModel;
use edit::drop_unread_stores;
use limits::FusionLimits;
use workalike_device::{LibraryOp, Properties};
use workalike_kernels::nest::{Inst, Nest, Phase, PhaseKind};
use workalike_kernels::verify::Verified;

/// Fuses a Program, after the bodies of its steps. It queries only abilities of the device that do not
/// change. `varying` are extents that differ in other Programs, which should have the same kernels.
pub(crate) fn fuse(
    mut program: Program,
    properties: &Properties,
    abilities: &Abilities<'_>,
    varying: &[u64],
) -> Program {
    for body in program.bodies_mut() {
        *body = fuse(std::mem::take(body), properties, abilities, varying);
    }
    let (cost, limits) = (CostModel::of(properties), FusionLimits::of(properties));
    common::run(&mut program);
    constants::run(&mut program);
    store_forwarding::run(&mut program, &cost);
    unit_axes::run(&mut program);
    unroll::reductions(&mut program, varying);
    let assembled = parts::split(&mut program);
    clusters::run(&mut program, limits, clusters::LARGE);
    merge::epilogues(&mut program, &cost, limits);
    assembled.unite(&mut program);
    inline::run(&mut program, &cost, limits);
    if piecewise::run(&mut program, &cost, limits) {
        inline::run(&mut program, &cost, limits);
    }
    let assembled = parts::split(&mut program);
    clusters::run(&mut program, limits, clusters::SMALL);
    merge::maps(&mut program, &cost, limits);
    drop_unread_stores(&mut program);
    unroll::grids(&mut program, varying);
    merge::frames(&mut program, &cost, limits);
    // Merging leaves stores that are no longer read; dropping them may leave Nests without stores.
    drop_unread_stores(&mut program);
    assembled.unite(&mut program);
    sparse_reads::run(&mut program, &cost, limits);
    halves::run(&mut program);
    let takes =
        |op: &dyn LibraryOp, nest: &Verified, operand| abilities.device.library(op, Some((nest, operand)));
    epilogue_fusion::run(&mut program, &takes);
    let assembled = parts::split(&mut program);
    buckets::run(&mut program);
    horizontal_fusion::run(&mut program, &cost, limits);
    assembled.unite(&mut program);
    if cost.interprets() {
        operand_layout::run(&mut program);
    }
    if let Some(cut) = cost.cut {
        divide::run(&mut program, &cost, cut);
        split::run(&mut program, cut);
    }
    program
}

/// A step that does nothing; it replaces a step that was fused away.
pub(super) fn nothing() -> Step {
    let nest = Nest { name: String::new(), axes: vec![], grid: 0, operands: vec![], phases: vec![] };
    Step::Nest { nest, buffers: vec![] }
}

pub(super) fn is_nothing(step: &Step) -> bool {
    matches!(step, Step::Nest { nest, .. } if nest.phases.is_empty())
}

/// Whether a step touches memory that is written in parts, so that order matters. The status word does not
/// count.
pub(super) fn touches_mutable(program: &Program, step: &Step) -> bool {
    let ordered = |b: &BufferId| program.buffers[*b].mutable && program.buffers[*b].role != Role::Status;
    step.reads().iter().chain(&step.writes()).any(ordered)
}

/// Whether the place of a step among the others matters, because of memory that is written in parts: it
/// writes such memory, or reads some that is not complete before. What is complete may be read at any time
/// later.
pub(super) fn order_matters(program: &Program, uses: &Dependences, at: usize) -> bool {
    let step = &program.steps[at];
    let in_parts = |b: &BufferId| program.buffers[*b].mutable && program.buffers[*b].role != Role::Status;
    let incomplete = |b: &BufferId| uses.writers[*b].last().is_some_and(|&last| last >= at);
    step.writes().iter().any(in_parts) || step.reads().iter().any(|b| in_parts(b) && incomplete(b))
}

/// Whether a buffer is scratch that only steps of this form access.
pub(super) fn is_private(
    program: &Program,
    uses: &Dependences,
    id: BufferId,
    among: impl Fn(&usize) -> bool,
) -> bool {
    let buffer = &program.buffers[id];
    let scratch = buffer.role == Role::Temp && !buffer.mutable && !uses.roots[id];
    scratch && uses.readers[id].iter().chain(&uses.writers[id]).all(among)
}

/// Flops of one evaluation of a Nest's only block, and bytes of the loads that vary from point to point.
pub(super) fn evaluation(nest: &Nest) -> (f64, f64) {
    let phases = nest.phases.iter().map(|phase| evaluation_of(nest, phase));
    phases.fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
}

/// The same of the block of one phase.
pub(super) fn evaluation_of(nest: &Nest, phase: &Phase) -> (f64, f64) {
    let (mut flops, mut bytes) = (0.0, 0.0);
    for inst in &phase.block.insts {
        flops += f64::from(inst.flops());
        match inst {
            Inst::Cast { .. } => flops += 1.0,
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

/// Whether neighbours of what a Nest loads at every point lie along its grid, and along its inner axes.
pub(super) fn directions(nest: &Nest) -> [bool; 2] {
    let mut found = [false, false];
    for inst in nest.phases.iter().filter(|phase| join::is_inner(phase)).flat_map(|phase| &phase.block.insts)
    {
        let Inst::Load { operand, index } = inst else { continue };
        let Some(address) = nest.operands[*operand].affine(index, nest.axes.len()) else { continue };
        let steps = || address.coefficients.iter().zip(&nest.axes).filter(|(_, extent)| **extent > 1);
        if steps().all(|(step, _)| *step != 0)
            && let Some(axis) = address.coefficients.iter().position(|step| step.abs() == 1)
        {
            found[usize::from(axis >= nest.grid)] = true;
        }
    }
    found
}

/// Instructions in all phases.
pub(super) fn size(nest: &Nest) -> usize {
    nest.phases.iter().map(|p| p.block.insts.len()).sum()
}
