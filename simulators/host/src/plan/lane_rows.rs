//! Values of a Point phase that are uniform in a row of lanes: they are computed once per row, and the
//! elements that they address are copied a row at a time.

use super::analysis::{Facts, Touch};
use crate::affine::Strides;
use workalike_kernels::nest::{Affine, Block, Inst, Nest};

/// Lanes of a row from which this is done.
pub(crate) const ROW: u64 = 8;

/// The rows of lanes of a phase.
pub(crate) struct LaneRows {
    /// Lanes of a row.
    pub(crate) lanes: u64,
    /// The axes from row to row, outermost first.
    pub(crate) axes: Vec<usize>,
    /// The axes along a row.
    along: Vec<usize>,
    /// Per instruction: whether its result is uniform in a row.
    pub(crate) same: Vec<bool>,
    /// The strides of a value with a lane per row, and of its broadcast to all lanes.
    pub(crate) broadcast: Strides,
}

impl LaneRows {
    /// The longest rows in which the computed indices of some load are uniform.
    pub(crate) fn find(nest: &Nest, block: &Block, facts: &Facts, lanes: &[usize]) -> Option<LaneRows> {
        let long: Vec<usize> = lanes.iter().copied().filter(|a| nest.axes[*a] > 1).collect();
        let mut computed = facts.loads.iter().flatten().filter(|t| !t.dynamic.is_empty()).peekable();
        computed.peek()?;
        (0..long.len()).find_map(|first| {
            let along = long[first..].to_vec();
            let lanes = along.iter().try_fold(1u64, |n, a| n.checked_mul(nest.axes[*a]))?;
            let same = differing(nest, block, facts, &along).into_iter().map(|d| !d).collect();
            let axes = long[..first].to_vec();
            let count: u64 = axes.iter().map(|a| nest.axes[*a]).product();
            let broadcast = Strides::new([(count, 1, lanes as i64), (lanes, 0, 1)], lanes)?;
            let rows = LaneRows { lanes, axes, along, same, broadcast };
            let some = lanes >= ROW && computed.clone().any(|touch| rows.found_by_row(touch));
            some.then_some(rows)
        })
    }

    fn moves(&self, affine: &Affine) -> bool {
        self.along.iter().any(|&a| affine.coefficients[a] != 0)
    }

    /// Whether the computed indices of an access are uniform in a row.
    pub(crate) fn found_by_row(&self, touch: &Touch) -> bool {
        let same = |d: &super::analysis::DynamicIndex| !self.moves(&d.affine) && self.same[d.value as usize];
        !touch.dynamic.is_empty() && touch.dynamic.iter().all(same)
    }

    /// Whether a store writes the same value to the same address in all lanes of a row, so that it is done
    /// once per row.
    pub(crate) fn stores_once(&self, touch: &Touch, value: u32, when: Option<u32>) -> bool {
        let same = |value: u32| self.same[value as usize];
        let here = !self.moves(&touch.affine) && (touch.dynamic.is_empty() || self.found_by_row(touch));
        here && same(value) && when.is_none_or(same)
    }
}

/// Per instruction, whether its result may differ from lane to lane along these axes, all longer than 1.
pub(crate) fn differing(nest: &Nest, block: &Block, facts: &Facts, along: &[usize]) -> Vec<bool> {
    let moves = |affine: &Affine| along.iter().any(|&a| affine.coefficients[a] != 0);
    let mut differs: Vec<bool> = Vec::new();
    for (i, inst) in block.insts.iter().enumerate() {
        let own = match inst {
            Inst::Axis(a) => along.contains(a),
            Inst::Folded { .. } => along.iter().any(|a| *a < nest.grid),
            Inst::Load { operand, .. } => facts.loads[i].as_ref().is_none_or(|t| {
                facts.stores.iter().any(|s| s.operand == *operand)
                    || moves(&t.affine)
                    || t.dynamic.iter().any(|d| moves(&d.affine))
            }),
            _ => false,
        };
        differs.push(own || inst.uses_any(|value| differs[value as usize]));
    }
    differs
}

/// A load whose only user is a store: memory is copied to memory.
pub(crate) struct Through {
    /// The index of the store in its phase.
    pub(crate) store: u32,
    /// The strides of both.
    pub(crate) strides: Strides,
}
