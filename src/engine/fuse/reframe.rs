//! Nests over the same points in different shapes: what one stores along an axis of 4,096 another reads as
//! rows of 64. Axes are split, so that both have the same ones and can be
//! [joined](crate::engine::fuse::join).

use super::join::Bound;
use crate::lower::program::BufferId;
use workalike_kernels::nest::{Affine, BlockWriter, Index, Inst, Nest, Operand, Phase, Store};

/// The least extent of an innermost axis that results from a split, so that reads stay contiguous.
const NEIGHBOURS: u64 = 16;

/// A Nest and its buffers, changed.
type Reframed = (Nest, Vec<BufferId>);

/// Both Nests over the same axes, if they visit the same points in row-major order, but not over the same
/// axes already. Loads of the later one from what the earlier one stores are written as those stores are.
pub(super) fn reframe(earlier: Bound, later: Bound) -> Option<[Reframed; 2]> {
    let (first, second) = (earlier.0, later.0);
    let has_inner = |nest: &Nest| nest.grid < nest.axes.len();
    let product = |axes: &[u64]| axes.iter().try_fold(1u64, |all, &extent| all.checked_mul(extent));
    // The part of the axes over which the points are the same: all, but where a map visits the grid only.
    let covers = |map: &Nest, framed: &Nest| {
        let all = product(&map.axes)?;
        let whole = product(&framed.axes)? == all;
        (whole || product(&framed.axes[..framed.grid])? == all).then_some(whole)
    };
    let [of_first, of_second] = match (has_inner(first), has_inner(second)) {
        (true, true) => {
            let grids = common(&first.axes[..first.grid], &second.axes[..second.grid])?;
            let inner = common(&first.axes[first.grid..], &second.axes[second.grid..])?;
            let both = |at: usize| [grids[at].clone(), inner[at].clone()].concat();
            [both(0), both(1)]
        }
        (true, false) => framed(first, second, covers(second, first)?)?,
        (false, _) => {
            let [of_second, of_first] = framed(second, first, covers(first, second)?)?;
            [of_first, of_second]
        }
    };
    let is_same = |splits: &[Vec<u64>]| splits.iter().all(|parts| parts.len() == 1);
    if is_same(&of_first) && is_same(&of_second)
        || !keeps_neighbours(&of_first)
        || !keeps_neighbours(&of_second)
    {
        return None;
    }
    let first = (split_axes(first, &of_first), earlier.1.to_vec());
    let mut second = (split_axes(second, &of_second), later.1.to_vec());
    load_as_stored(&first, &mut second);
    Some([first, second])
}

/// The splits of a Nest with inner axes, and of a map over all of its points or over those of its grid.
fn framed(nest: &Nest, map: &Nest, whole: bool) -> Option<[Vec<Vec<u64>>; 2]> {
    if whole {
        return common(&nest.axes, &map.axes);
    }
    let [mut grid, map] = common(&nest.axes[..nest.grid], &map.axes)?;
    grid.extend(nest.axes[nest.grid..].iter().map(|&extent| vec![extent]));
    Some([grid, map])
}

/// The factors, outermost first, of each extent of two lists of axes, so that the factors of both are the
/// same list. `None` if the axes do not divide each other.
fn common(a: &[u64], b: &[u64]) -> Option<[Vec<Vec<u64>>; 2]> {
    let mut splits = [vec![vec![]; a.len()], vec![vec![]; b.len()]];
    // From the innermost axis outwards, the undivided rest of one axis of each list.
    let (mut at, mut left) = ([a.len(), b.len()], [1, 1]);
    loop {
        for (list, (at, left)) in [a, b].into_iter().zip(at.iter_mut().zip(&mut left)) {
            if *left == 1 && *at > 0 {
                *at -= 1;
                *left = list[*at];
            }
        }
        let factor = left[0].min(left[1]);
        if factor <= 1 {
            // An axis of one point, or of none, has itself as its factor.
            return (left == [1, 1] && at == [0, 0] && !a.contains(&1) && !b.contains(&1)).then(|| {
                splits.iter_mut().flatten().for_each(|parts| parts.reverse());
                splits
            });
        }
        if !left.iter().all(|left| left.is_multiple_of(factor)) {
            return None;
        }
        for ((splits, &at), left) in splits.iter_mut().zip(&at).zip(&mut left) {
            splits[at].push(factor);
            *left /= factor;
        }
    }
}

fn keeps_neighbours(splits: &[Vec<u64>]) -> bool {
    splits.last().is_none_or(|parts| parts.len() == 1 || parts.last().is_some_and(|&n| n >= NEIGHBOURS))
}

/// The Nest with each axis as the axes that are its factors, outermost first.
fn split_axes(nest: &Nest, splits: &[Vec<u64>]) -> Nest {
    let mut axes = Vec::new();
    let coordinates: Vec<Index> = splits
        .iter()
        .map(|factors| {
            let mut at = Index::default();
            let mut step = 1;
            for (number, &extent) in factors.iter().enumerate().rev() {
                at.add_term(axes.len() + number, step);
                step *= extent as i64;
            }
            axes.extend(factors);
            at
        })
        .collect();
    let grid = splits[..nest.grid].iter().map(Vec::len).sum();
    let operands: Vec<usize> = (0..nest.operands.len()).collect();
    let over = |phase: &Phase| {
        let mut writer = BlockWriter::new(phase.kind);
        let mut values = Vec::with_capacity(phase.block.insts.len());
        for inst in &phase.block.insts {
            let value = writer.copy(inst, Some(&coordinates), &operands, &values);
            values.push(value);
        }
        let store = |store: &Store| writer.store(store, Some(&coordinates), &operands, &values);
        let stores = phase.stores.iter().map(store).collect();
        let mut folds = phase.folds.clone();
        folds.iter_mut().for_each(|fold| fold.map_values(|value| values[value as usize]));
        Phase { kind: phase.kind, block: writer.finish(), folds, stores }
    };
    Nest { axes, grid, phases: nest.phases.iter().map(over).collect(), ..nest.clone() }
}

/// Writes each load of an element that the earlier Nest stores at the same point as it is stored: with the
/// store's dimensions and index.
fn load_as_stored((first, first_buffers): &Reframed, (second, buffers): &mut Reframed) {
    let points = first.axes.len().max(second.axes.len());
    let mut stored: Vec<(BufferId, Affine, &Store)> = Vec::new();
    for store in first.phases.iter().flat_map(|phase| &phase.stores) {
        if let Some(address) = first.operands[store.operand].affine(&store.index, points) {
            stored.push((first_buffers[store.operand], address, store));
        }
    }
    for phase in &mut second.phases {
        for inst in &mut phase.block.insts {
            let Inst::Load { operand, index } = inst else { continue };
            let Some(address) = second.operands[*operand].affine(index, points) else { continue };
            let same = |(buffer, at, _): &&(BufferId, Affine, &Store)| {
                *buffer == buffers[*operand] && *at == address
            };
            let Some((buffer, _, store)) = stored.iter().find(same) else { continue };
            let dimensions = &first.operands[store.operand];
            if dimensions.shape != second.operands[*operand].shape || store.index != *index {
                second.operands.push(Operand { written: false, ..dimensions.clone() });
                buffers.push(*buffer);
                (*operand, *index) = (buffers.len() - 1, store.index.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
