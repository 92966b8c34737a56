//! Maps with transposed operands, beside operands that are contiguous along the last loop.
//!
//! A group of a GPU takes a square tile of points. Transposed operands are read along their contiguous axis
//! into group memory and used from there, so that all accesses to global memory are coalesced (G. Ruetsch and
//! P. Micikevicius, "Optimizing matrix transpose in CUDA", 2009).

use super::access::{Address, Walk, Walks};
use crate::dtype::DType;
use crate::nest::{Inst, Nest};
use crate::target::Target;

/// Items of a group along a line of the tile, and number of lines at a time.
pub(crate) const ITEMS: [u64; 2] = [32, 8];
/// Edges of the tile in points, each with the maximum group memory in bytes: the larger tile must leave
/// memory for other groups.
const EDGES: [(u64, u64); 2] = [(64, 24 << 10), (32, 40 << 10)];
/// Shorter lines get no tiles.
const SHORT: u64 = 16;
/// Minimum stride in elements that counts as transposed.
const FAR: u64 = 8;
/// Maximum number of registers for elements that are read ahead of the stores.
const AHEAD: u64 = 32;

/// The division of a map into square tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransposeTile {
    /// The last loop, along which results are contiguous.
    pub(crate) along: Walk,
    /// The loop along which the transposed operands are contiguous.
    pub(crate) across: Walk,
    /// The other loops.
    pub(crate) others: Vec<Walk>,
    pub(crate) edge: u64,
    /// Loads of the only phase that are transposed.
    pub(crate) loads: Vec<usize>,
    /// Other loads, whose elements an item reads for all its points before it stores. Stores might be to the
    /// same memory, so no compiler could reorder the loads.
    pub(crate) ahead: Vec<usize>,
}

impl TransposeTile {
    /// `None` if no load is transposed, or tiles do not pay.
    pub(crate) fn choose(
        nest: &Nest,
        walks: &Walks,
        dtypes: &[Vec<DType>],
        target: &Target,
    ) -> Option<TransposeTile> {
        if target.cpu || !nest.is_map() || nest.grid_points() < target.lanes / 4 {
            return None;
        }
        let (along, rest) = walks.grid.split_last()?;
        let phase = nest.phases.first()?;
        let lies_along =
            |s: &crate::nest::Store| Address::new(nest, s.operand, &s.index).steps[along.axis] == 1;
        if along.extent < SHORT || !phase.stores.iter().any(lies_along) {
            return None;
        }
        let turned = |inst: &Inst, across: &Walk| match inst {
            Inst::Load { operand, index } if !nest.operands[*operand].written => {
                let address = Address::new(nest, *operand, index);
                let far = address.steps[along.axis].unsigned_abs() >= FAR;
                far && address.steps[across.axis] == 1 && address.dynamic.is_empty()
            }
            _ => false,
        };
        let loads = |across: &Walk| -> Vec<usize> {
            let insts = phase.block.insts.iter().enumerate();
            insts.filter(|(_, inst)| turned(inst, across)).map(|(at, _)| at).collect()
        };
        let candidates = rest.iter().filter(|walk| walk.extent >= SHORT);
        let (loads, across) = candidates
            .map(|walk| (loads(walk), walk))
            .max_by_key(|(loads, walk)| (loads.len(), walk.axis))?;
        let bytes: u64 = loads.iter().map(|&at| dtypes[0][at].register().size() as u64).sum();
        let room = target.local_memory.min(48 << 10);
        let fits = |&&(edge, most): &&(u64, u64)| {
            bytes * edge * (edge + 1) <= most.min(room)
                && (edge == ITEMS[0] || along.extent.min(across.extent) >= edge)
        };
        let edge = EDGES.iter().find(fits)?.0;
        let items = ITEMS[0] * ITEMS[1];
        if loads.is_empty() || u64::from(target.max_group) < items {
            return None;
        }
        let ahead: Vec<usize> = (0..phase.block.insts.len())
            .filter(|at| !loads.contains(at))
            .filter(|&at| match &phase.block.insts[at] {
                Inst::Load { operand, index } => Address::new(nest, *operand, index).dynamic.is_empty(),
                _ => false,
            })
            .collect();
        let words: u64 = ahead.iter().map(|&at| dtypes[0][at].register().size().div_ceil(4) as u64).sum();
        let ahead = if words * edge * edge / items <= AHEAD { ahead } else { vec![] };
        let others = rest.iter().filter(|walk| *walk != across).cloned().collect();
        let turned =
            TransposeTile { along: along.clone(), across: across.clone(), others, edge, loads, ahead };
        (turned.launch().0 < 1 << 31).then_some(turned)
    }

    pub(crate) fn squares(&self, walk: &Walk) -> u64 {
        walk.extent.div_ceil(self.edge)
    }

    /// Number of groups, and items per group.
    pub(crate) fn launch(&self) -> (u64, u32) {
        let others: u64 = self.others.iter().map(|w| w.extent).product();
        (others * self.squares(&self.across) * self.squares(&self.along), (ITEMS[0] * ITEMS[1]) as u32)
    }
}
