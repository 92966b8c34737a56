//! The cost of a Nest on a device, predicted from the Nest alone.
//!
//! Flops are those of the rows of the table of ops, times the points a phase visits; a fold is one more flop
//! per point. Elements are counted once if they are touched several times: this is the memory traffic with an
//! ideal cache. A computed index (a gather) may touch any element, so every point counts as another element.

use crate::nest::{Index, IndexMode, Inst, Nest, Operand, PhaseKind};
use crate::ops::{ADD, GE, LT, MAXIMUM, MINIMUM, OR, REMAINDER, ScalarOp, WHERE};
use std::collections::HashSet;

/// The direction of an access to an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessDirection {
    /// It is loaded, or added to.
    Read,
    /// It is stored.
    Write,
}

impl Inst {
    /// Its flops. What only moves or converts a value has none.
    pub fn flops(&self) -> u32 {
        match self {
            Inst::Op { op, .. } => op.row().flops,
            Inst::Call { function, .. } => function.flops(),
            Inst::Position { mode, .. } => position_flops(*mode),
            _ => 0,
        }
    }
}

/// Flops of a Nest, all points.
pub fn flops(nest: &Nest) -> f64 {
    let phase_flops = nest.phases.iter().map(|phase| {
        let ops = phase.block.insts.iter().map(|inst| f64::from(inst.flops()));
        (ops.sum::<f64>() + phase.folds.len() as f64) * points(nest, phase.kind) as f64
    });
    phase_flops.sum()
}

/// Flops of an [`Inst::Position`]: those of the ops that it is expanded into.
pub fn position_flops(mode: IndexMode) -> u32 {
    let ops: &[ScalarOp] = match mode {
        IndexMode::Clamp => &[MAXIMUM, MINIMUM],
        IndexMode::Wrap => &[REMAINDER],
        IndexMode::FromEnd => &[LT, ADD, WHERE, MAXIMUM, MINIMUM],
        IndexMode::Report { .. } => &[LT, ADD, WHERE, LT, GE, OR, MAXIMUM, MINIMUM],
    };
    ops.iter().map(|op| op.row().flops).sum()
}

/// How many points a phase visits.
fn points(nest: &Nest, kind: PhaseKind) -> u64 {
    let inner = if kind == PhaseKind::Point { 1 } else { nest.inner_points() };
    nest.grid_points().saturating_mul(inner)
}

/// Distinct elements that a Nest touches of each operand.
pub fn elements(nest: &Nest, way: AccessDirection) -> Vec<u64> {
    let mut elements = vec![0u64; nest.operands.len()];
    let mut seen: HashSet<(usize, Option<usize>, &[Index])> = HashSet::new();
    for (number, phase) in nest.phases.iter().enumerate() {
        let accesses: Vec<(usize, &[Index])> = match way {
            AccessDirection::Read => {
                let loads = phase.block.insts.iter().filter_map(|inst| match inst {
                    Inst::Load { operand, index } => Some((*operand, index.as_slice())),
                    _ => None,
                });
                let added = phase.stores.iter().filter(|s| s.add);
                loads.chain(added.map(|s| (s.operand, s.index.as_slice()))).collect()
            }
            AccessDirection::Write => phase.stores.iter().map(|s| (s.operand, s.index.as_slice())).collect(),
        };
        for (operand, index) in accesses {
            // The same index in two phases means the same elements, unless it is computed.
            let computed = index.iter().any(|i| i.dynamic.is_some()).then_some(number);
            if seen.insert((operand, computed, index)) {
                let more = distinct(nest, phase.kind, &nest.operands[operand], index);
                elements[operand] = elements[operand].saturating_add(more);
            }
        }
    }
    for (sum, operand) in elements.iter_mut().zip(&nest.operands) {
        *sum = (*sum).min(moving(operand).fold(1u64, |n, (extent, _)| n.saturating_mul(extent)));
    }
    elements
}

/// Extents and positions of the dimensions along which an operand's elements differ.
fn moving(operand: &Operand) -> impl Iterator<Item = (u64, usize)> + '_ {
    let dims = operand.shape.iter().zip(&operand.strides).enumerate();
    dims.filter(|(_, (_, stride))| **stride != 0).map(|(dim, (extent, _))| (*extent, dim))
}

/// Distinct elements that one load or store touches over all points of its phase.
fn distinct(nest: &Nest, kind: PhaseKind, operand: &Operand, index: &[Index]) -> u64 {
    let all = points(nest, kind);
    if all == 0 {
        return 0;
    }
    let mut boxed = 1u64;
    let mut axes: Vec<usize> = Vec::new();
    let mut computed = false;
    for (extent, dim) in moving(operand) {
        let Some(index) = index.get(dim) else { continue };
        computed |= index.dynamic.is_some();
        axes.extend(index.terms.iter().map(|t| t.0));
        let values = if index.dynamic.is_some() {
            extent
        } else {
            let reach = |&(axis, by): &(usize, i64)| by.unsigned_abs().saturating_mul(nest.axes[axis] - 1);
            let span = index.terms.iter().map(reach).fold(1u64, u64::saturating_add);
            let tuples = index.terms.iter().fold(1u64, |n, t| n.saturating_mul(nest.axes[t.0]));
            span.min(tuples).min(extent)
        };
        boxed = boxed.saturating_mul(values);
    }
    axes.sort_unstable();
    axes.dedup();
    let tuples = axes.iter().fold(1u64, |n, &axis| n.saturating_mul(nest.axes[axis]));
    boxed.min(if computed { all } else { tuples })
}
