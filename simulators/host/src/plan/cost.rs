//! Estimated times, and the order of the lanes, which is chosen by them.

use super::super::affine::LanePattern;
use super::super::cache_hints::BYTE;
use super::super::plan::{LaneAxes, PhasePlan};
use super::analysis::{Facts, Touch};
use super::compile::NestCompiler;
use super::width::TOGETHER;
use crate::folds::memory_reduce;
use workalike_kernels::cost::position_flops;
use workalike_kernels::nest::{Inst, Nest, PhaseKind};

/// Estimated cost of an instruction per tile, apart from its lanes.
const OVERHEAD: f64 = 8.0;
/// Estimated nanoseconds of a computed index.
const COMPUTED: f64 = 2.0;
/// Lanes of a tile, as estimated.
const WIDTH: f64 = 512.0;

/// The order in which tiles visit these axes: natural, but innermost the axis along which most memory
/// accesses are contiguous.
pub(super) fn lane_order(nest: &Nest, facts: &[Facts], axes: std::ops::Range<usize>) -> Vec<usize> {
    let mut best: (f64, Vec<usize>) = (f64::INFINITY, Vec::new());
    for last in axes.clone().rev().filter(|a| nest.axes[*a] > 1) {
        let mut order: Vec<usize> = axes.clone().filter(|a| *a != last).collect();
        order.push(last);
        let cost = facts.iter().flat_map(|f| f.loads.iter().flatten().chain(&f.stores));
        let cost: f64 = cost.map(|t| lane_cost(nest, t, &order)).sum();
        if cost < best.0 - 1e-9 {
            best = (cost, order);
        }
    }
    if best.1.is_empty() { axes.collect() } else { best.1 }
}

/// Estimated nanoseconds per lane of a load or store.
fn lane_cost(nest: &Nest, touch: &Touch, order: &[usize]) -> f64 {
    let size = touch.dtype.size() as f64;
    let line = |step: i64| match step.unsigned_abs() {
        0 => 0.05,
        1 => BYTE * size,
        s if s as f64 * size < 64.0 => 0.5,
        _ => 1.2,
    };
    let lanes = LanePattern::new(order.iter().map(|&a| (nest.axes[a], touch.affine.coefficients[a])));
    match lanes {
        Some(LanePattern::Uniform) => line(0),
        Some(LanePattern::Line(step)) => line(step),
        Some(LanePattern::Rows(strides)) => {
            let (extent, step, _) = strides.innermost();
            line(step) + 4.0 / extent as f64
        }
        None => 100.0,
    }
}

/// Estimated nanoseconds of a run with the compiler's lanes, and the overhead per tile among them.
pub(super) fn estimate(compiler: &NestCompiler<'_>, facts: &[Facts]) -> (f64, f64) {
    let NestCompiler { nest, lane_axes, grid, inner, .. } = *compiler;
    let (g, n) = (nest.grid_points() as f64, nest.inner_points() as f64);
    let (mut total, mut overhead) = (0.0, 0.0);
    for (at, (phase, plan)) in nest.phases.iter().zip(&compiler.phases).enumerate() {
        if let Some(streams) = &plan.streams {
            total += memory_reduce::nanoseconds(lane_axes, streams, g, n, 2.0 * WIDTH);
            continue;
        }
        let point = phase.kind == PhaseKind::Point;
        let points = if point { g } else { g * n };
        let (tiles, order): (f64, &[usize]) = match lane_axes {
            LaneAxes::Grid => ((g / WIDTH).ceil() * if point { 1.0 } else { n }, grid),
            LaneAxes::Inner if point => ((g / TOGETHER.0 as f64).ceil(), grid),
            LaneAxes::Inner if plan.lane_axes.is_none() => (g * n, &[]),
            LaneAxes::Inner => (g * (n / WIDTH).ceil(), inner),
        };
        let work = phase.block.insts.len() + phase.stores.len() + phase.folds.len();
        overhead += tiles * work as f64 * OVERHEAD;
        total += points * lane(compiler, at, (plan, &facts[at]), order);
        if lane_axes == LaneAxes::Inner {
            total += g * phase.folds.len() as f64 * (40.0 + n.min(WIDTH) * 0.2);
        }
    }
    (total + overhead, overhead)
}

/// Estimated nanoseconds per lane of a phase.
fn lane(compiler: &NestCompiler<'_>, at: usize, (plan, facts): (&PhasePlan, &Facts), order: &[usize]) -> f64 {
    let phase = &compiler.nest.phases[at];
    let rows = plan.rows.as_ref();
    // Instructions that run once per row cost a fraction per lane.
    let share = |once: bool| rows.filter(|_| once).map_or(1.0, |rows| 1.0 / rows.lanes as f64);
    let same = |i: usize| rows.is_some_and(|rows| rows.same[i]);
    let loads = facts.loads.iter().enumerate().filter_map(|(i, touch)| Some((touch.as_ref()?, same(i))));
    let stores = facts.stores.iter().zip(&plan.stores).map(|(touch, store)| (touch, store.once));
    let mut sum = 0.3 * phase.folds.len() as f64;
    for (touch, once) in loads.chain(stores) {
        let computed = touch.dynamic.len() as f64 * COMPUTED;
        sum += lane_cost(compiler.nest, touch, order) * share(once);
        sum += computed * share(once || rows.is_some_and(|rows| rows.found_by_row(touch)));
    }
    for (i, inst) in phase.block.insts.iter().enumerate() {
        let cost = match inst {
            _ if compiler.kept.load_slot(at, i).is_some() => 0.0,
            Inst::Op { op, .. } => 0.2 * op.row().flops.max(1) as f64,
            Inst::Position { mode, .. } => 0.2 * position_flops(*mode) as f64,
            Inst::Cast { .. } => 0.2,
            _ => 0.0,
        };
        sum += cost * share(same(i));
    }
    sum
}
