//! Plans that run more lanes than a tile at once, without the overhead per tile: copies from memory to
//! memory, and single instructions that read and write contiguous memory in place.

use super::affine::LanePattern;
use super::plan::{AccessPlan, LaneAxes, NestPlan, TileInst, TileOperand, ValueLocation};
use crate::plan::lane_rows::Through;
use workalike_kernels::nest::PhaseKind;

/// The number of parts of a run, and the least and most lanes of a part.
const PARTS: (u64, u64, u64) = (16, 1 << 13, 1 << 17);

/// Lanes done at once, if that is more than a tile. `direct`: the accesses that may use memory in place.
/// `hinted`: those with a cache hint.
pub(super) fn run_lanes(plan: &NestPlan, bases: &[*mut u8], direct: &[bool], hinted: &[bool]) -> Option<u64> {
    let most = match only_copies(plan, direct, bases) {
        Some(most) => most,
        None if is_contiguous(plan, bases, direct, hinted) => u64::MAX,
        None => return None,
    };
    let lanes = plan.grid_points.div_ceil(PARTS.0).next_multiple_of(64);
    Some(lanes.clamp(PARTS.1, PARTS.2).min(most)).filter(|lanes| *lanes > plan.width as u64)
}

/// The most lanes of a run of a plan that only copies memory to memory; `None` for other plans.
fn only_copies(plan: &NestPlan, direct: &[bool], bases: &[*mut u8]) -> Option<u64> {
    let [phase] = &plan.phases[..] else { return None };
    let copied = |work: &TileInst| {
        let TileInst::Load { access } = work else { return false };
        let load = &plan.accesses[*access as usize];
        let Some(Through { store, .. }) = &load.through else { return false };
        let id = phase.stores[*store as usize].access as usize;
        let there = |access: &AccessPlan| !bases[access.touch.operand].is_null();
        direct[id] && there(load) && there(&plan.accesses[id])
    };
    let stored = phase.body.len() == phase.stores.iter().filter(|s| !s.once).count();
    // The values computed once per row have a lane for each row of a tile, which may begin and end within a
    // row.
    let rows = plan.width as u64 - 2;
    let most = phase.rows.as_ref().map_or(u64::MAX, |r| r.lanes.saturating_mul(rows));
    (stored && plan.lane_axes == LaneAxes::Grid && phase.body.iter().all(copied)).then_some(most)
}

/// Whether a plan is loads, one instruction and its store, all of contiguous memory that is used in place.
fn is_contiguous(plan: &NestPlan, bases: &[*mut u8], direct: &[bool], hinted: &[bool]) -> bool {
    let [phase] = &plan.phases[..] else { return false };
    let ([store], Some((last, loads))) = (&phase.stores[..], phase.body.split_last()) else { return false };
    let is_load = |arg: &TileOperand| matches!(arg.slot, ValueLocation::Load(_));
    let (known, out) = match last {
        TileInst::Tile { args, arity, out, .. } => (args[..*arity as usize].iter().all(is_load), out),
        TileInst::Chain(chain) => {
            let [out] = &chain.outs[..] else { return false };
            // A chain reads only the first lanes of a constant.
            let known = |(arg, same): &(TileOperand, bool)| match arg.slot {
                ValueLocation::Const(_) => *same,
                _ => !same && is_load(arg),
            };
            (chain.args.iter().all(known), out)
        }
        _ => return false,
    };
    let in_place = |(at, access): (usize, &AccessPlan)| {
        let contiguous = access.map.lanes == LanePattern::Line(1) && !bases[access.touch.operand].is_null();
        direct[at] && contiguous && !(access.store && hinted[at])
    };
    let plain = phase.kind == PhaseKind::Point && store.when.is_none() && phase.before.is_empty();
    let loads = loads.iter().all(|work| matches!(work, TileInst::Load { .. }));
    let whole = plain && loads && known && out.store == Some(0) && plan.lane_axes == LaneAxes::Grid;
    whole && plan.accesses.iter().enumerate().all(in_place)
}
