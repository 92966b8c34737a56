//! The interior of a Nest: boxes of its points at which all comparisons of positions have one outcome.
//!
//! A neighbour that may lie beyond an edge (in a roll, a padded or an assembled array) is loaded at a chosen
//! index. Away from the edges the choice is known and the index is a sum over axes, so that packs load their
//! neighbours as vectors. This is index set splitting (M. Griebl, P. Feautrier and C. Lengauer, "Index set
//! splitting", 2000) with most of the points in few boxes; the points at the edges are computed as before.

use super::access::Walks;
use crate::nest::{Inst, Nest};
use inside::Inside;

mod inside;

/// Boxes of a Nest.
const BOXES: usize = 4;
/// Boxes that are looked at.
const LOOKS: usize = 32;
/// A box has this part of the positions along the axis of packs.
const LARGE: i64 = 8;
/// And that many positions: shorter ones are mostly edge.
const LONG: i64 = 32;

/// Least and greatest position along an axis.
pub(crate) type Range = (i64, i64);

/// A box of grid points, and the Nest as it is within.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interior {
    /// By axis.
    pub(crate) within: Vec<Range>,
    pub(crate) nest: Nest,
}

impl Interior {
    /// The boxes of a Nest in which computed indices become sums over axes; empty if there are no such
    /// indices. They do not overlap.
    pub(crate) fn all(nest: &Nest, walks: &Walks) -> Vec<Interior> {
        let computed = |inst: &Inst| match inst {
            Inst::Load { index, .. } => index.iter().any(|index| index.dynamic.is_some()),
            _ => false,
        };
        let any = nest.phases.iter().any(|phase| phase.block.insts.iter().any(computed));
        let Some(along) = walks.grid.last().filter(|_| any).map(|walk| walk.axis) else { return vec![] };
        let mut found = Vec::new();
        let mut left = vec![nest.axes.iter().map(|&extent| (0, extent as i64 - 1)).collect::<Vec<Range>>()];
        for _ in 0..LOOKS {
            let Some(within) = left.pop() else { break };
            let inside = Inside::of(nest, within);
            let cuts = inside.cuts(along);
            if !cuts.is_empty() {
                let large = |range: &Range| length(*range) >= (nest.axes[along] as i64 / LARGE).max(LONG);
                let pieces = pieces(inside.within[along], &cuts).into_iter().filter(large);
                left.extend(pieces.map(|piece| replaced(&inside.within, along, piece)));
                continue;
            }
            match (0..nest.grid).find_map(|axis| Some((axis, inside.most_of(axis)?))) {
                Some((axis, most)) => left.push(replaced(&inside.within, axis, most)),
                None if inside.gains() => found.push(inside.finish()),
                None => {}
            }
        }
        found.sort_by_key(|inside: &Interior| std::cmp::Reverse(inside.points()));
        found.truncate(BOXES);
        found
    }

    /// Number of points; of very many, that many.
    fn points(&self) -> i64 {
        self.within.iter().fold(1, |points: i64, &range| points.saturating_mul(length(range)))
    }
}

fn length(range: Range) -> i64 {
    range.1 - range.0 + 1
}

fn replaced(within: &[Range], axis: usize, range: Range) -> Vec<Range> {
    let mut within = within.to_vec();
    within[axis] = range;
    within
}

/// A range cut before each of these positions, which ascend.
fn pieces(range: Range, cuts: &[i64]) -> Vec<Range> {
    let starts = [range.0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().map(|cut| cut - 1).chain([range.1]);
    starts.zip(ends).collect()
}

#[cfg(test)]
mod tests;
