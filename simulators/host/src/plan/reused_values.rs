//! Common subexpressions across phases: equal instructions over equal arguments, including fold results.
//! Where the inner points are few enough for the cache, the first phase stores the values, and later phases
//! load them (softmax computes its exponentials for the sum, and divides them).

use super::LaneAxes;
use super::analysis::Facts;
use super::patterns::{each_used, ends};
use std::collections::HashMap;
use workalike_kernels::cost::position_flops;
use workalike_kernels::nest::{Inst, Nest, PhaseKind, Value};

/// The most inner points whose values are kept: where they are the lanes, and where each has a tile of grid
/// points. Threads do not share the phases of a Nest that keeps values, which with more points would pay.
const POINTS: (u64, u64) = (16 << 10, 64);
/// Bytes of the kept values of one grid point or one tile.
const ROOM: u64 = 256 << 10;
/// Flops from which a value is kept: fewer are recomputed faster than stored and loaded.
const WORTH: u32 = 4;

/// Which values are kept.
#[derive(Default)]
pub(crate) struct ReusedValues {
    /// Per value of each phase: the number under which it is kept, and whether this phase loads it.
    of: Vec<Vec<Option<(u32, bool)>>>,
    /// Bytes of a lane of each.
    pub(crate) sizes: Vec<u8>,
}

impl ReusedValues {
    /// The number under which this phase stores a value.
    pub(crate) fn store_slot(&self, phase: usize, value: usize) -> Option<u32> {
        self.of[phase][value].filter(|(_, found)| !found).map(|(number, _)| number)
    }

    /// The number under which this phase loads a value.
    pub(crate) fn load_slot(&self, phase: usize, value: usize) -> Option<u32> {
        self.of[phase][value].filter(|(_, found)| *found).map(|(number, _)| number)
    }
}

/// Finds the values that are worth keeping with these lanes.
pub(crate) fn find(nest: &Nest, facts: &[Facts], lane_axes: LaneAxes) -> ReusedValues {
    let mut kept = ReusedValues {
        of: nest.phases.iter().map(|p| vec![None; p.block.insts.len()]).collect(),
        sizes: Vec::new(),
    };
    let lanes = nest.grid_points().clamp(1, 1024);
    let (most, points) = match lane_axes {
        LaneAxes::Inner => (POINTS.0, nest.inner_points()),
        LaneAxes::Grid => (POINTS.1, nest.inner_points().saturating_mul(lanes)),
    };
    if nest.inner_points() > most {
        return kept;
    }
    let mut numbers = ValueNumbering { known: HashMap::new(), costs: Vec::new() };
    // Where each number was computed first.
    let mut computed: HashMap<u32, (usize, usize)> = HashMap::new();
    for (p, (phase, facts)) in nest.phases.iter().zip(facts).enumerate() {
        if !matches!(phase.kind, PhaseKind::Map | PhaseKind::Reduce) {
            continue;
        }
        let insts = &phase.block.insts;
        let of = numbers.of_block(nest, insts, facts);
        let mut needed = vec![false; insts.len()];
        ends(phase, facts).into_iter().for_each(|root| needed[root] = true);
        let mut here = Vec::new();
        for i in (0..insts.len()).rev().filter(|i| facts.roots[*i] == *i) {
            if !needed[i] {
                continue;
            }
            let worth = facts.inner[i] && numbers.costs[of[i] as usize] >= WORTH;
            if worth && let Some(&(phase, value)) = computed.get(&of[i]) {
                let size = facts.dtypes[i].register().size() as u8;
                let bytes = kept.sizes.iter().map(|s| *s as u64).sum::<u64>() + size as u64;
                if kept.of[phase][value].is_some() || bytes.saturating_mul(points) <= ROOM {
                    let number = kept.of[phase][value].map_or(kept.sizes.len() as u32, |(number, _)| number);
                    if number as usize == kept.sizes.len() {
                        kept.sizes.push(size);
                        kept.of[phase][value] = Some((number, false));
                    }
                    kept.of[p][i] = Some((number, true));
                    continue;
                }
            }
            if worth {
                here.push((of[i], (p, i)));
            }
            each_used(insts, facts, i, |root| needed[root] = true);
        }
        here.into_iter().for_each(|(number, at)| {
            computed.entry(number).or_insert(at);
        });
    }
    kept
}

/// Value numbering: equal values have equal numbers, in all phases.
struct ValueNumbering {
    /// Instructions over value numbers.
    known: HashMap<Inst, u32>,
    /// Flops of each, including its arguments.
    costs: Vec<u32>,
}

impl ValueNumbering {
    fn of_block(&mut self, nest: &Nest, insts: &[Inst], facts: &Facts) -> Vec<Value> {
        let mut numbers: Vec<Value> = Vec::new();
        for (i, inst) in insts.iter().enumerate() {
            if facts.roots[i] != i {
                numbers.push(numbers[facts.roots[i]]);
                continue;
            }
            let mut inst = inst.clone();
            let mut stored = false;
            let mut cost = 0u32;
            inst.map_values(|value| numbers[value as usize]);
            match &inst {
                Inst::Load { operand, .. } => stored = nest.operands[*operand].written,
                Inst::Op { op, .. } => cost = op.row().flops.max(1),
                Inst::Cast { .. } => cost = 1,
                Inst::Position { mode, .. } => cost = position_flops(*mode),
                // No loop computes a call: see `facts`.
                _ => {}
            }
            if cost > 0 {
                inst.for_each_value(|value| cost = cost.saturating_add(self.costs[value as usize]));
            }
            let next = self.costs.len() as u32;
            // A load from a written operand may be another value each time.
            let number = if stored { next } else { *self.known.entry(inst).or_insert(next) };
            if number == next {
                self.costs.push(cost);
            }
            numbers.push(number);
        }
        numbers
    }
}
