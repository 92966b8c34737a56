//! Values of a Point phase that are uniform in a row of lanes: they are computed once per row, and the
//! elements that they address are copied a row at a time.

use super::super::affine::Affine;
use super::facts::{Facts, Touch};
use workalike_kernels::nest::{Block, Inst, Nest};

/// Lanes of a row from which this is done.
pub(crate) const ROW: u64 = 8;

/// The rows of lanes of a phase.
pub(crate) struct Rows {
    /// Lanes of a row.
    pub(crate) lanes: u64,
    /// The axes from row to row, outermost first.
    pub(crate) axes: Vec<usize>,
    /// The axes along a row.
    pub(crate) along: Vec<usize>,
    /// Per instruction: whether its result is uniform in a row.
    pub(crate) same: Vec<bool>,
}

impl Rows {
    /// The longest rows in which the computed indices of some load are uniform.
    pub(crate) fn find(nest: &Nest, block: &Block, facts: &Facts, lanes: &[usize]) -> Option<Rows> {
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

    /// Whether the computed indices of an access are uniform in a row.
    pub(crate) fn found_by_row(&self, touch: &Touch) -> bool {
        let same = |d: &super::facts::DynamicIndex| !self.moves(&d.affine) && self.same[d.value as usize];
        !touch.dynamic.is_empty() && touch.dynamic.iter().all(same)
    }

    /// Whether an index is uniform in a row, so that it is reported once per row.
    pub(crate) fn reports_once(&self, value: u32) -> bool {
        self.same[value as usize]
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
        differs.push(match inst {
            Inst::Const(_) => false,
            Inst::Axis(a) => along.contains(a),
            Inst::Load { operand, .. } => facts.loads[i].as_ref().is_none_or(|t| {
                nest.operands[*operand].written
                    || moves(&t.affine)
                    || t.dynamic.iter().any(|d| moves(&d.affine) || differs[d.value as usize])
            }),
            Inst::Cast { value, .. } | Inst::Position { value, .. } => differs[*value as usize],
            Inst::Op { args, .. } => args.iter().any(|a| differs[*a as usize]),
            Inst::Folded { .. } => true,
        });
    }
    differs
}

/// A load whose only user is a store: memory is copied to memory.
pub(crate) struct Through {
    /// The index of the store in its phase.
    pub(crate) store: u32,
    /// The maps of both, if the load's address is the same function of the axes in all rows.
    pub(crate) pair: Option<Pair>,
}

/// Two affine maps over the same lanes: axes are merged where both allow it, but not across rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// `(extent, step, step)`, outermost first; between one and `MAX_AXES`.
    axes: Vec<(u64, i64, i64)>,
    /// Whether a row is one axis.
    pub(crate) plain: bool,
}

/// More axes than any merged pair of maps has.
const MAX_AXES: usize = 16;

/// A rectangle of lanes: `rows` by `columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rectangle {
    /// The first lane, and both maps' values there.
    pub(crate) lane: usize,
    pub(crate) at: (i64, i64),
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Pair {
    /// `(extent, step, step)` of each axis, outermost first: from row to row, and along a row. `None` if too
    /// many remain.
    pub(crate) fn new(
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
        let plain = merged.len() == rows + 1;
        if merged.is_empty() {
            merged.push((1, 0, 0));
        }
        (merged.len() <= MAX_AXES).then_some(Pair { axes: merged, plain })
    }

    /// Steps in elements within a row of a rectangle, and from row to row.
    pub(crate) fn steps(&self) -> [(i64, i64); 2] {
        let mut last = self.axes.iter().rev().map(|&(_, a, b)| (a, b));
        [last.next().unwrap_or((0, 0)), last.next().unwrap_or((0, 0))]
    }

    /// Calls `run` for the rectangles that make up the `n` lanes from point `start` on.
    #[inline(always)]
    pub(crate) fn rectangles(&self, start: u64, n: usize, mut run: impl FnMut(Rectangle)) {
        let (length, rows, outer) = match self.axes[..] {
            [ref outer @ .., rows, (length, ..)] => (length, rows, outer),
            [(length, ..)] => (length, (u64::MAX, 0, 0), &[][..]),
            [] => return,
        };
        let [step, _] = self.steps();
        let mut outside = [0u64; MAX_AXES];
        let (mut rest, mut column) = if start == 0 { (0, 0) } else { (start / length, start % length) };
        let mut row = rest % rows.0;
        rest /= rows.0;
        let (mut a, mut b) = (0, 0);
        for (at, &(extent, step_a, step_b)) in outside[..outer.len()].iter_mut().zip(outer).rev() {
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
            let left = (n - lane) as u64;
            let value =
                |first: i64, by_row: i64, step: i64| first + row as i64 * by_row + column as i64 * step;
            let at = (value(a, rows.1, step.0), value(b, rows.2, step.1));
            if column > 0 || left < length {
                let columns = (length - column).min(left);
                run(Rectangle { lane, at, rows: 1, columns: columns as usize });
                lane += columns as usize;
                column += columns;
                row += u64::from(column == length);
                column %= length;
            } else {
                let whole = (left / length).min(rows.0 - row);
                run(Rectangle { lane, at, rows: whole as usize, columns: length as usize });
                lane += (whole * length) as usize;
                row += whole;
            }
            if row < rows.0 {
                continue;
            }
            row = 0;
            for (at, &(extent, step_a, step_b)) in outside[..outer.len()].iter_mut().zip(outer).rev() {
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
    fn pairs_merge_within_rows() {
        let merged = |rows: &[(u64, i64, i64)], along: &[(u64, i64, i64)]| {
            let pair = Pair::new(rows.iter().copied(), along.iter().copied()).unwrap();
            (pair.axes, pair.plain)
        };
        assert_eq!(merged(&[], &[(4, 30, 6), (1, 5, 9), (3, 10, 2)]), (vec![(12, 10, 2)], true));
        assert_eq!(merged(&[], &[(4, 30, 6), (3, 10, 1)]), (vec![(4, 30, 6), (3, 10, 1)], false));
        assert_eq!(merged(&[(4, 30, 6)], &[(3, 10, 2)]), (vec![(4, 30, 6), (3, 10, 2)], true));
        assert_eq!(merged(&[(1, 3, 3)], &[]), (vec![(1, 0, 0)], false));
        assert_eq!(Pair::new([(2, 1, 1); 40], []), None);
    }

    #[test]
    fn rectangles_hold_every_lane() {
        type Axes = &'static [(u64, i64, i64)];
        let all: [(Axes, Axes); 4] = [
            (&[(4, 100, -7), (3, 0, 50)], &[(5, 3, -1)]),
            (&[(60, 3, -1)], &[]),
            (&[(12, 3, -1)], &[(5, 1, 1)]),
            (&[(2, 7, 900), (3, 1, 1)], &[(2, 50, -90), (5, 0, -13)]),
        ];
        for (rows, along) in all {
            let pair = Pair::new(rows.iter().copied(), along.iter().copied()).unwrap();
            let value = |mut point: u64| {
                let mut at = (0, 0);
                for &(extent, a, b) in rows.iter().chain(along).rev() {
                    let here = (point % extent) as i64;
                    at = (at.0 + here * a, at.1 + here * b);
                    point /= extent;
                }
                at
            };
            let all: Vec<(i64, i64)> = (0..60).map(value).collect();
            let [step, by_row] = pair.steps();
            for start in 0..60 {
                for n in 1..=60 - start {
                    let mut found = Vec::new();
                    pair.rectangles(start as u64, n, |r| {
                        assert_eq!(found.len(), r.lane);
                        let lanes =
                            (0..r.rows as i64).flat_map(|i| (0..r.columns as i64).map(move |j| (i, j)));
                        found.extend(lanes.map(|(i, j)| {
                            (r.at.0 + i * by_row.0 + j * step.0, r.at.1 + i * by_row.1 + j * step.1)
                        }));
                    });
                    assert_eq!(found, all[start..start + n], "{start} {n}");
                }
            }
        }
    }
}
