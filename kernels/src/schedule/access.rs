//! Addresses as sums over axes, and merged axes: two axes are merged if that suits every address.
//!
//! An elementwise Nest over contiguous operands of any rank becomes one loop over one axis here, without a
//! division.

use crate::nest::{Affine, Index, Inst, Nest, Phase, Value};

/// The linear index of a load or store: `base + sum(steps[axis] * axis) + sum(step * value)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// The constant part.
    pub(crate) base: i64,
    /// Elements from one position to the next, for each axis of the Nest.
    pub(crate) steps: Vec<i64>,
    /// Values of the block that take part, with their steps.
    pub(crate) dynamic: Vec<(Value, i64)>,
}

impl Address {
    /// The address of one element of an operand.
    pub(crate) fn new(nest: &Nest, operand: usize, index: &[Index]) -> Address {
        let strides = &nest.operands[operand].strides;
        let mut affine = Affine::zero(nest.axes.len());
        for (index, &stride) in index.iter().zip(strides) {
            // `verify` has bounded the addresses of operands.
            let _ = affine.add(index, stride);
        }
        let computed = index.iter().zip(strides).filter(|(_, stride)| **stride != 0);
        let dynamic = computed.filter_map(|(index, &stride)| Some((index.dynamic?, stride))).collect();
        Address { base: affine.offset, steps: affine.coefficients, dynamic }
    }

    /// A bound on the magnitude of every partial sum of the address.
    fn reach(&self, nest: &Nest, operand: usize) -> u64 {
        let mut reach = self.base.unsigned_abs();
        for (step, extent) in self.steps.iter().zip(&nest.axes) {
            reach = reach.saturating_add(step.unsigned_abs().saturating_mul(extent.saturating_sub(1)));
        }
        // The sum of the static and the computed part is within the operand, which bounds the computed part.
        if self.dynamic.is_empty() {
            reach
        } else {
            reach.saturating_mul(2).saturating_add(span(nest, operand))
        }
    }
}

/// One more than the largest linear index of an operand.
pub(crate) fn span(nest: &Nest, operand: usize) -> u64 {
    let operand = &nest.operands[operand];
    let last = operand.shape.iter().zip(&operand.strides);
    last.fold(1u64, |sum, (&e, &s)| sum.saturating_add(e.saturating_sub(1).saturating_mul(s.unsigned_abs())))
}

/// All addresses of one phase with the operands they are in, loads first.
pub(crate) fn phase_addresses(nest: &Nest, phase: &Phase) -> Vec<(usize, Address)> {
    let loads = phase.block.insts.iter().filter_map(|inst| match inst {
        Inst::Load { operand, index } => Some((*operand, Address::new(nest, *operand, index))),
        _ => None,
    });
    let stores = phase.stores.iter().map(|s| (s.operand, Address::new(nest, s.operand, &s.index)));
    loads.chain(stores).collect()
}

/// One loop: an axis, or several merged neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    /// The axis whose steps are those of the whole loop: the last of the merged axes.
    pub(crate) axis: usize,
    /// Number of positions.
    pub(crate) extent: u64,
}

/// The loops of a Nest. Axes of extent 1 have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Walks {
    /// Over the grid.
    pub(crate) grid: Vec<Walk>,
    /// Over the inner points.
    pub(crate) inner: Vec<Walk>,
    /// Whether every address and every count fits 31 bits.
    pub(crate) fits_31_bits: bool,
    /// Every address of the Nest.
    pub(crate) addresses: Vec<Address>,
}

impl Walks {
    /// Merges the axes of a Nest.
    pub(crate) fn new(nest: &Nest) -> Walks {
        // Each count plus one more round of all work items has to fit.
        const MOST: u64 = 1 << 30;
        let mut fits_31_bits = nest.grid_points() <= MOST && nest.inner_points() <= MOST;
        fits_31_bits &= nest.axes.iter().all(|&e| e <= MOST);
        let mut addresses = Vec::new();
        let mut named = vec![false; nest.axes.len()];
        for phase in &nest.phases {
            for (operand, address) in phase_addresses(nest, phase) {
                fits_31_bits &= address.reach(nest, operand) < 1 << 31;
                addresses.push(address);
            }
            for inst in &phase.block.insts {
                if let Inst::Axis(axis) = inst {
                    named[*axis] = true;
                }
            }
        }
        let merge = |from: usize, to: usize| {
            let mut walks: Vec<Walk> = Vec::new();
            for axis in (from..to).filter(|&a| nest.axes[a] != 1) {
                let extent = nest.axes[axis];
                let joins = |last: &Walk| {
                    let continues = |a: &Address| {
                        i128::from(a.steps[last.axis]) == i128::from(a.steps[axis]) * i128::from(extent)
                    };
                    !named[axis] && !named[last.axis] && addresses.iter().all(continues)
                };
                match walks.last_mut() {
                    Some(last) if joins(last) => *last = Walk { axis, extent: last.extent * extent },
                    _ => walks.push(Walk { axis, extent }),
                }
            }
            walks
        };
        let (grid, inner) = (merge(0, nest.grid), merge(nest.grid, nest.axes.len()));
        Walks { grid, inner, fits_31_bits, addresses }
    }
}

/// Which values of a phase may differ between points that differ along `axes`. Results of folds do if
/// `folded` is true.
pub(crate) fn varies(nest: &Nest, phase: &Phase, axes: &[usize], folded: bool) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::new();
    for inst in &phase.block.insts {
        let own = match inst {
            Inst::Axis(named) => axes.contains(named),
            Inst::Folded { .. } => folded,
            Inst::Load { operand, index } => {
                let address = Address::new(nest, *operand, index);
                // A load from an operand that the Nest writes is never moved.
                axes.iter().any(|&a| address.steps[a] != 0) || nest.operands[*operand].written
            }
            _ => false,
        };
        varies.push(own || inst.uses_any(|value| varies[value as usize]));
    }
    varies
}

/// Which values stores, folds and the addresses of stores use directly.
pub(crate) fn roots(phase: &Phase) -> Vec<bool> {
    let mut used = vec![false; phase.block.insts.len()];
    phase.results().for_each(|value| used[value as usize] = true);
    used
}
