//! Which values of a Point phase are the same in a whole row of lanes: they are worked out once a row, and what they address is
//! moved a row at a time.

use super::affine::Affine;
use super::facts::{Facts, Touch};
use crate::kernels::nest::{Block, Inst, Nest};

/// Lanes from which it pays to treat those of a row together.
pub(super) const ROW: u64 = 8;

/// How the lanes of a phase fall into rows.
pub(super) struct Rows {
    /// Lanes of a row.
    pub(super) lanes: u64,
    /// The axes from row to row, outermost first.
    pub(super) axes: Vec<usize>,
    /// The axes along a row.
    pub(super) along: Vec<usize>,
    /// Of each instruction: whether it gives the same in all lanes of a row.
    pub(super) same: Vec<bool>,
}

impl Rows {
    /// The longest rows along which what some load asks for at computed indices is the same.
    pub(super) fn find(nest: &Nest, block: &Block, facts: &Facts, lanes: &[usize]) -> Option<Rows> {
        let long: Vec<usize> = lanes.iter().copied().filter(|a| nest.axes[*a] > 1).collect();
        let mut computed = facts.loads.iter().flatten().filter(|t| !t.dynamic.is_empty()).peekable();
        computed.peek()?;
        (0..long.len()).find_map(|first| {
            let along = long[first..].to_vec();
            let lanes = along.iter().try_fold(1u64, |n, a| n.checked_mul(nest.axes[*a]))?;
            let same = differing(nest, block, facts, &along).into_iter().map(|d| !d).collect();
            let rows = Rows { lanes, axes: long[..first].to_vec(), along, same };
            let some = lanes >= ROW && computed.clone().any(|touch| rows.found_by_row(touch));
            some.then_some(rows)
        })
    }

    fn moves(&self, affine: &Affine) -> bool {
        self.along.iter().any(|&a| affine.coefficients[a] != 0)
    }

    /// Whether the computed indices of an access are the same in all lanes of a row.
    pub(super) fn found_by_row(&self, touch: &Touch) -> bool {
        let same = |d: &super::facts::DynamicIndex| !self.moves(&d.affine) && self.same[d.value as usize];
        !touch.dynamic.is_empty() && touch.dynamic.iter().all(same)
    }

    /// Whether a store puts the same value at the same place in all lanes of a row, and so needs to be done but once.
    pub(super) fn stores_once(&self, touch: &Touch, value: u32, when: Option<u32>) -> bool {
        let same = |value: u32| self.same[value as usize];
        let here = !self.moves(&touch.affine) && (touch.dynamic.is_empty() || self.found_by_row(touch));
        here && same(value) && when.is_none_or(same)
    }
}

/// Of each instruction, whether it may give something else from lane to lane along these axes, all longer than 1.
pub(super) fn differing(nest: &Nest, block: &Block, facts: &Facts, along: &[usize]) -> Vec<bool> {
    let moves = |affine: &Affine| along.iter().any(|&a| affine.coefficients[a] != 0);
    let mut differs: Vec<bool> = Vec::new();
    for (i, inst) in block.insts.iter().enumerate() {
        differs.push(match inst {
            Inst::Const(_) => false,
            Inst::Axis(a) => along.contains(a),
            Inst::Load { operand, .. } => facts.loads[i].as_ref().is_none_or(|t| {
                nest.operands[*operand].written
                    || moves(&t.affine)
                    || t.dynamic.iter().any(|d| moves(&d.affine) || differs[d.value as usize])
            }),
            Inst::Cast { value, .. } => differs[*value as usize],
            Inst::Op { args, .. } => args.iter().any(|a| differs[*a as usize]),
            Inst::Folded { .. } => true,
        });
    }
    differs
}

/// A load whose lanes nothing asks for but one store: memory moves to memory.
pub(super) struct Through {
    /// The position of the store in its phase.
    pub(super) store: u32,
    /// How both move, if the load's address is the same function of the axes in all rows.
    pub(super) pair: Option<Pair>,
}

/// Two affine maps over the same lanes: axes merged where both allow it, and never beyond a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair(Vec<(u64, i64, i64)>);

/// More axes than any merged pair of maps has.
const MAX_AXES: usize = 16;

impl Pair {
    /// `(extent, step, step)` of each axis, outermost first: those from row to row, and those along a row. `None` if too many remain.
    pub(super) fn new(
        rows: impl IntoIterator<Item = (u64, i64, i64)>,
        along: impl IntoIterator<Item = (u64, i64, i64)>,
    ) -> Option<Pair> {
        let mut merged: Vec<(u64, i64, i64)> = Vec::new();
        let mut merge = |axis: (u64, i64, i64), from: usize| {
            let (extent, a, b) = axis;
            let spans = |step: i64| step.checked_mul(extent as i64);
            match merged[from..].last_mut() {
                _ if extent == 1 => {}
                Some(outer) if spans(a) == Some(outer.1) && spans(b) == Some(outer.2) => {
                    *outer = (outer.0 * extent, a, b);
                }
                _ => merged.push(axis),
            }
            merged.len()
        };
        let rows = rows.into_iter().fold(0, |_, axis| merge(axis, 0));
        along.into_iter().for_each(|axis| _ = merge(axis, rows));
        if merged.is_empty() {
            merged.push((1, 0, 0));
        }
        (merged.len() <= MAX_AXES).then_some(Pair(merged))
    }

    /// Elements from lane to lane in a run.
    pub(super) fn steps(&self) -> (i64, i64) {
        self.0.last().map_or((0, 0), |&(_, a, b)| (a, b))
    }

    /// Calls `run(lane, a, b, length)` for each run of lanes with equal steps among the `n` from point `start` on; `a` and `b` are the
    /// values at its first lane.
    #[inline(always)]
    pub(super) fn runs(&self, start: u64, n: usize, mut run: impl FnMut(usize, i64, i64, usize)) {
        // `new` leaves an axis at least, and at most MAX_AXES.
        let Some((&(length, step_a, step_b), outer)) = self.0.split_last() else { return };
        let mut at = [0u64; MAX_AXES];
        let (mut rest, mut column) = if start == 0 { (0, 0) } else { (start / length, start % length) };
        let (mut a, mut b) = (0, 0);
        for (at, &(extent, step_a, step_b)) in at.iter_mut().zip(outer).rev() {
            if rest == 0 {
                break;
            }
            *at = rest % extent;
            rest /= extent;
            a += *at as i64 * step_a;
            b += *at as i64 * step_b;
        }
        let mut lane = 0;
        while lane < n {
            let count = (length - column).min((n - lane) as u64) as usize;
            run(lane, a + column as i64 * step_a, b + column as i64 * step_b, count);
            lane += count;
            column = 0;
            for (at, &(extent, step_a, step_b)) in at[..outer.len()].iter_mut().zip(outer).rev() {
                *at += 1;
                (a, b) = (a + step_a, b + step_b);
                if *at < extent {
                    break;
                }
                (a, b) = (a - extent as i64 * step_a, b - extent as i64 * step_b);
                *at = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_merge_within_rows_and_give_every_lane() {
        let merged = |rows: &[(u64, i64, i64)], along: &[(u64, i64, i64)]| {
            Pair::new(rows.iter().copied(), along.iter().copied()).unwrap().0
        };
        assert_eq!(merged(&[], &[(4, 30, 6), (1, 5, 9), (3, 10, 2)]), [(12, 10, 2)]);
        assert_eq!(merged(&[], &[(4, 30, 6), (3, 10, 1)]), [(4, 30, 6), (3, 10, 1)]);
        assert_eq!(merged(&[(4, 30, 6)], &[(3, 10, 2)]), [(4, 30, 6), (3, 10, 2)]);
        assert_eq!(merged(&[(1, 3, 3)], &[]), [(1, 0, 0)]);
        assert_eq!(Pair::new([(2, 1, 1); 40], []), None);

        let pair = Pair::new([(4, 100, -7), (3, 0, 50)], [(5, 3, -1)]).unwrap();
        let all: Vec<(i64, i64)> =
            (0..60).map(|p| (p / 15 * 100 + p % 5 * 3, p / 15 * -7 + p / 5 % 3 * 50 - p % 5)).collect();
        let (step_a, step_b) = pair.steps();
        for start in 0..60 {
            for n in 1..=60 - start {
                let mut found = Vec::new();
                pair.runs(start as u64, n, |lane, a, b, count| {
                    assert_eq!(found.len(), lane);
                    found.extend((0..count as i64).map(|i| (a + i * step_a, b + i * step_b)));
                });
                assert_eq!(found, all[start..start + n], "{start} {n}");
            }
        }
    }
}
