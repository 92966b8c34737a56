//! Affine functions of the axes, split into a part that varies over the lanes of a tile and a
//! part that is the same for all of them.

use workalike_kernels::nest::Affine;

/// Whether all sums of steps, each taken fewer times than its extent, are certainly different. Sufficient,
/// not necessary.
pub(super) fn injective(mut parts: Vec<(i128, u64)>) -> bool {
    parts.retain(|p| p.1 > 1);
    parts.sort_unstable_by_key(|p| p.0.abs());
    let mut reach = 0i128;
    parts.into_iter().all(|(step, extent)| {
        let apart = step.abs() > reach;
        reach = reach.saturating_add(step.abs().saturating_mul(extent as i128 - 1));
        apart
    })
}

/// More axes than any merged index map has.
const MAX_AXES: usize = 32;

/// Two affine maps over the same lanes; lanes are the row-major points of some axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strides {
    /// `(extent, step, step)`, outermost first; between one and `MAX_AXES`.
    axes: Vec<(u64, i64, i64)>,
    /// Whether a row is one axis.
    pub(super) plain: bool,
}

/// A rectangle of lanes: `rows` by `columns`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rectangle {
    /// The first lane, and both maps' values there.
    pub(super) lane: usize,
    pub(super) at: (i64, i64),
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// The number of points of these axes.
fn points(axes: &[(u64, i64, i64)]) -> i64 {
    axes.iter().fold(1, |points: i64, axis| points.saturating_mul(axis.0 as i64))
}

impl Strides {
    /// Merges axes of `(extent, step, step)`, outermost first, where both maps allow it, but not across rows
    /// of `row` lanes. `None` if too many remain.
    pub(super) fn new(axes: impl IntoIterator<Item = (u64, i64, i64)>, row: u64) -> Option<Strides> {
        let axes: Vec<(u64, i64, i64)> = axes.into_iter().collect();
        let mut merged: Vec<(u64, i64, i64)> = Vec::new();
        // The merged axes from row to row.
        let mut outside = 0;
        for (at, &(extent, a, b)) in axes.iter().enumerate().filter(|(_, axis)| axis.0 != 1) {
            let in_row = points(&axes[at + 1..]).unsigned_abs() < row;
            let spans = |step: i64| step.checked_mul(extent as i64);
            match merged[if in_row { outside } else { 0 }..].last_mut() {
                Some(outer) if spans(a) == Some(outer.1) && spans(b) == Some(outer.2) => {
                    *outer = (outer.0 * extent, a, b);
                }
                _ => merged.push((extent, a, b)),
            }
            if !in_row {
                outside = merged.len();
            }
        }
        let plain = merged.len() == outside + 1;
        if merged.is_empty() {
            merged.push((1, 0, 0));
        }
        (merged.len() <= MAX_AXES).then_some(Strides { axes: merged, plain })
    }

    /// The strides of a map with axes of `(extent, step)`, and of the number of the lane.
    pub(super) fn to_lanes(axes: impl IntoIterator<Item = (u64, i64)>, row: u64) -> Option<Strides> {
        let mut axes: Vec<(u64, i64, i64)> =
            axes.into_iter().map(|(extent, step)| (extent, step, 0)).collect();
        for at in 0..axes.len() {
            axes[at].2 = points(&axes[at + 1..]);
        }
        Strides::new(axes, row)
    }

    /// The same maps in the other order.
    pub(super) fn swapped(mut self) -> Strides {
        self.axes.iter_mut().for_each(|axis| *axis = (axis.0, axis.2, axis.1));
        self
    }

    /// `(extent, step, step)` of the innermost axis.
    pub(super) fn innermost(&self) -> (u64, i64, i64) {
        self.axes.last().copied().unwrap_or((1, 0, 0))
    }

    /// Both maps' steps within a row of a rectangle, and from row to row.
    pub(super) fn steps(&self) -> [(i64, i64); 2] {
        let mut last = self.axes.iter().rev().map(|&(_, a, b)| (a, b));
        [last.next().unwrap_or((0, 0)), last.next().unwrap_or((0, 0))]
    }

    /// The first map's value at point `start`, and its step, if the `n` lanes from there on are in one row.
    #[inline]
    fn line(&self, start: u64, n: usize) -> Option<(i64, i64)> {
        let (length, step, _) = self.innermost();
        let column = start % length.max(1);
        if column + n as u64 > length {
            return None;
        }
        let (mut rest, mut value) = (start / length.max(1), column as i64 * step);
        for &(extent, step, _) in self.axes.iter().rev().skip(1) {
            value += (rest % extent.max(1)) as i64 * step;
            rest /= extent.max(1);
        }
        Some((value, step))
    }

    /// Calls `run` for the rectangles that make up the `n` lanes from point `start` on.
    #[inline(always)]
    pub(super) fn rectangles(&self, start: u64, n: usize, mut run: impl FnMut(Rectangle)) {
        let (length, rows, outer) = match self.axes[..] {
            [ref outer @ .., (rows, ..), (length, ..)] => (length, rows, outer),
            [(length, ..)] => (length, u64::MAX, &[][..]),
            [] => return,
        };
        // Extents may be 0 only if there are no lanes.
        if n == 0 {
            return;
        }
        let [step, by_row] = self.steps();
        // Most copies start in the first row; a division takes longer than a comparison.
        let split = |rest: u64, extent: u64| match rest < extent {
            true => (0, rest),
            false => (rest / extent, rest % extent),
        };
        let (rest, mut column) = split(start, length);
        let (mut rest, mut row) = split(rest, rows);
        let (mut outside, mut first) = ([0u64; MAX_AXES], (0, 0));
        for (at, &(extent, a, b)) in outside.iter_mut().zip(outer.iter().rev()) {
            (rest, *at) = split(rest, extent);
            first = (first.0 + *at as i64 * a, first.1 + *at as i64 * b);
        }
        let mut lane = 0;
        while lane < n {
            let left = (n - lane) as u64;
            // The rest of a row, or whole rows.
            let (count, columns) = match column > 0 || left < length {
                true => (1, (length - column).min(left)),
                false => ((left / length).min(rows - row), length),
            };
            let value =
                |first: i64, by_row: i64, step: i64| first + row as i64 * by_row + column as i64 * step;
            let at = (value(first.0, by_row.0, step.0), value(first.1, by_row.1, step.1));
            run(Rectangle { lane, at, rows: count as usize, columns: columns as usize });
            lane += (count * columns) as usize;
            (row, column) = (row + count, 0);
            if row < rows {
                continue;
            }
            row = 0;
            for (at, &(extent, a, b)) in outside.iter_mut().zip(outer.iter().rev()) {
                *at += 1;
                first = (first.0 + a, first.1 + b);
                if *at < extent {
                    break;
                }
                first = (first.0 - extent as i64 * a, first.1 - extent as i64 * b);
                *at = 0;
            }
        }
    }
}

/// How an affine map varies over the lanes of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LanePattern {
    /// The same for all lanes.
    Uniform,
    /// One step from each lane to the next, never 0.
    Line(i64),
    /// At least two axes: the map, and the number of the lane.
    Rows(Strides),
}

impl LanePattern {
    /// Merges axes of `(extent, step)`, outermost first, where the map allows it. `None` if too many remain.
    pub(super) fn new(axes: impl IntoIterator<Item = (u64, i64)>) -> Option<LanePattern> {
        let strides = Strides::to_lanes(axes, u64::MAX)?;
        Some(match strides.axes[..] {
            [(_, 0, _)] => LanePattern::Uniform,
            [(_, step, _)] => LanePattern::Line(step),
            _ => LanePattern::Rows(strides),
        })
    }

    /// The value at point `start`, less the base, and the step, if all steps among the `n` lanes from
    /// `start` on are equal.
    #[inline]
    pub(super) fn line(&self, start: u64, n: usize) -> Option<(i64, i64)> {
        match self {
            LanePattern::Uniform => Some((0, 0)),
            LanePattern::Line(step) => Some((start as i64 * step, *step)),
            LanePattern::Rows(strides) => strides.line(start, n),
        }
    }

    /// Calls `run(lane, value, length, step)` for each run of equal steps among the `n` lanes from point
    /// `start` on; values start from `base`.
    #[inline]
    pub(super) fn runs(&self, base: i64, start: u64, n: usize, mut run: impl FnMut(usize, i64, usize, i64)) {
        match self {
            LanePattern::Uniform => run(0, base, n, 0),
            LanePattern::Line(step) => run(0, base + start as i64 * step, n, *step),
            LanePattern::Rows(strides) => {
                let [(step, _), (by_row, _)] = strides.steps();
                strides.rectangles(start, n, |r| {
                    for row in 0..r.rows {
                        let value = base + r.at.0 + row as i64 * by_row;
                        run(r.lane + row * r.columns, value, r.columns, step);
                    }
                });
            }
        }
    }
}

/// An affine map over lanes, at given coordinates of the other axes.
#[derive(Clone, Debug)]
pub(super) struct Map {
    offset: i64,
    scalars: Vec<(usize, i64)>,
    pub(super) lanes: LanePattern,
}

impl Map {
    /// `lanes`: the axes that are lanes, outermost first.
    pub(super) fn new(affine: &Affine, extents: &[u64], lanes: &[usize]) -> Option<Map> {
        let scalars = (0..extents.len())
            .filter(|a| !lanes.contains(a) && affine.coefficients[*a] != 0 && extents[*a] > 1)
            .map(|a| (a, affine.coefficients[a]))
            .collect();
        let lanes = LanePattern::new(lanes.iter().map(|&a| (extents[a], affine.coefficients[a])))?;
        Some(Map { offset: affine.offset, scalars, lanes })
    }

    /// The part that all lanes share.
    #[inline]
    pub(super) fn base(&self, coordinates: &[u64]) -> i64 {
        self.scalars.iter().fold(self.offset, |sum, &(axis, step)| sum + coordinates[axis] as i64 * step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(lanes: &LanePattern, start: u64, n: usize) -> Vec<i64> {
        let mut out = vec![i64::MIN; n];
        lanes.runs(7, start, n, |lane, value, count, step| {
            (0..count).for_each(|i| out[lane + i] = value + i as i64 * step);
        });
        out
    }

    #[test]
    fn axes_merge_where_steps_allow() {
        assert_eq!(LanePattern::new([(4, 30), (3, 10), (10, 1)]), Some(LanePattern::Line(1)));
        assert_eq!(LanePattern::new([(4, 0), (3, 0)]), Some(LanePattern::Uniform));
        assert_eq!(LanePattern::new([(1, 5), (3, -2), (1, 9)]), Some(LanePattern::Line(-2)));
        let rows = Strides { axes: vec![(4, 0, 3), (3, 1, 1)], plain: false };
        assert_eq!(LanePattern::new([(4, 0), (3, 1)]), Some(LanePattern::Rows(rows)));
        assert_eq!(LanePattern::new([(2, 1); 40]), None);
    }

    #[test]
    fn runs_give_every_lane() {
        let axes = [(4u64, 100i64), (3, 0), (5, 3)];
        let lanes = LanePattern::new(axes).unwrap();
        let all: Vec<i64> = (0..60).map(|p| 7 + p / 15 * 100 + p % 5 * 3).collect();
        for start in 0..60 {
            for n in 1..=60 - start {
                assert_eq!(values(&lanes, start as u64, n), all[start..start + n], "{start} {n}");
            }
        }
    }

    #[test]
    fn strides_merge_within_rows() {
        let merged = |axes: &[(u64, i64, i64)], row: u64| {
            let strides = Strides::new(axes.iter().copied(), row).unwrap();
            (strides.axes, strides.plain)
        };
        let all = u64::MAX;
        assert_eq!(merged(&[(4, 30, 6), (1, 5, 9), (3, 10, 2)], all), (vec![(12, 10, 2)], true));
        assert_eq!(merged(&[(4, 30, 6), (3, 10, 1)], all), (vec![(4, 30, 6), (3, 10, 1)], false));
        assert_eq!(merged(&[(4, 30, 6), (3, 10, 2)], 3), (vec![(4, 30, 6), (3, 10, 2)], true));
        let rows = [(2, 60, 12), (2, 30, 6), (1, 0, 0), (3, 10, 2)];
        assert_eq!(merged(&rows, 3), (vec![(4, 30, 6), (3, 10, 2)], true));
        assert_eq!(merged(&[(1, 3, 3)], all), (vec![(1, 0, 0)], false));
        assert_eq!(Strides::new([(2, 1, 1); 40], all), None);
    }

    #[test]
    fn rectangles_hold_every_lane() {
        // With the lanes of a row.
        type Case<'a> = (&'a [(u64, i64, i64)], u64);
        let all: [Case<'_>; 5] = [
            (&[(4, 100, -7), (3, 0, 50), (5, 3, -1)], 5),
            (&[(60, 3, -1)], 1),
            (&[(12, 3, -1), (5, 1, 1)], 5),
            (&[(2, 7, 900), (3, 1, 1), (2, 50, -90), (5, 0, -13)], 10),
            (&[(2, 7, 900), (3, 1, 1), (2, 50, -90), (5, 0, -13)], u64::MAX),
        ];
        for (axes, row) in all {
            let strides = Strides::new(axes.iter().copied(), row).unwrap();
            let value = |mut point: u64| {
                let mut at = (0, 0);
                for &(extent, a, b) in axes.iter().rev() {
                    let here = (point % extent) as i64;
                    at = (at.0 + here * a, at.1 + here * b);
                    point /= extent;
                }
                at
            };
            let all: Vec<(i64, i64)> = (0..60).map(value).collect();
            let [step, by_row] = strides.steps();
            for start in 0..60 {
                for n in 0..=60 - start {
                    let mut found = Vec::new();
                    strides.rectangles(start as u64, n, |r| {
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

    #[test]
    fn injectivity_has_no_false_positives() {
        assert!(injective(vec![(10, 4), (1, 10)]));
        assert!(injective(vec![(1, 4), (-4, 10)]));
        assert!(!injective(vec![(1, 4), (1, 10)]));
        assert!(!injective(vec![(0, 2)]));
        assert!(injective(vec![(0, 1), (1, 3)]));
    }
}
