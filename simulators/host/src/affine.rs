//! Index maps: affine functions of the axes, split into a part that varies over the lanes of a tile and a
//! part that is the same for all of them.

use std::ops::Range;
use workalike_kernels::nest::Index;

/// `offset + sum(coefficient * axis)`, with a coefficient for every axis of the Nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Affine {
    pub(super) offset: i64,
    pub(super) coefficients: Vec<i64>,
}

impl Affine {
    pub(super) fn zero(axes: usize) -> Affine {
        Affine { offset: 0, coefficients: vec![0; axes] }
    }

    /// Adds `index * stride` without its dynamic part. `None` on overflow or an axis that does not exist.
    pub(super) fn add(&mut self, index: &Index, stride: i64) -> Option<()> {
        self.offset = self.offset.checked_add(index.offset.checked_mul(stride)?)?;
        for &(axis, coefficient) in &index.terms {
            let all = self.coefficients.get_mut(axis)?;
            *all = all.checked_add(coefficient.checked_mul(stride)?)?;
        }
        Some(())
    }

    /// Least and greatest value over non-empty extents.
    pub(super) fn range(&self, extents: &[u64]) -> (i128, i128) {
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (&coefficient, &extent) in self.coefficients.iter().zip(extents) {
            let reach = (coefficient as i128).saturating_mul(extent.saturating_sub(1) as i128);
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        (low, high)
    }

    /// Whether it varies along any of these axes.
    pub(super) fn varies(&self, axes: Range<usize>, extents: &[u64]) -> bool {
        axes.into_iter().any(|a| self.coefficients[a] != 0 && extents[a] > 1)
    }
}

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

/// More axes than any collapsed index map has.
const MAX_AXES: usize = 32;

/// How an affine map varies over the lanes of a tile; lanes are the row-major points of some axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// The same for all lanes.
    Uniform,
    /// One step from each lane to the next, never 0.
    Line(i64),
    /// `(extent, step)`, outermost first; at least two.
    Rows(Vec<(u64, i64)>),
}

impl Lanes {
    /// Merges axes where the map allows it. `None` if too many remain.
    pub(super) fn new(axes: impl IntoIterator<Item = (u64, i64)>) -> Option<Lanes> {
        let mut merged: Vec<(u64, i64)> = Vec::new();
        for (extent, step) in axes.into_iter().filter(|a| a.0 != 1) {
            match merged.last_mut() {
                Some(outer) if step.checked_mul(extent as i64) == Some(outer.1) => {
                    *outer = (outer.0 * extent, step)
                }
                _ => merged.push((extent, step)),
            }
        }
        match merged[..] {
            [] | [(_, 0)] => Some(Lanes::Uniform),
            [(_, step)] => Some(Lanes::Line(step)),
            _ if merged.len() > MAX_AXES => None,
            _ => Some(Lanes::Rows(merged)),
        }
    }

    /// Calls `run(lane, value, length, step)` for each run of equal steps among the `n` lanes from point
    /// `start` on; values start from `base`.
    #[inline]
    pub(super) fn runs(&self, base: i64, start: u64, n: usize, mut run: impl FnMut(usize, i64, usize, i64)) {
        match self {
            Lanes::Uniform => run(0, base, n, 0),
            Lanes::Line(step) => run(0, base + start as i64 * step, n, *step),
            Lanes::Rows(axes) => {
                // `new` makes between two and MAX_AXES axes.
                let (&(length, step), outer) = match axes.split_last() {
                    Some(split) => split,
                    None => return,
                };
                let mut at = [0u64; MAX_AXES];
                let mut rest = start / length;
                let mut column = start % length;
                let mut row = base;
                for (at, &(extent, step)) in at.iter_mut().zip(outer).rev() {
                    *at = rest % extent;
                    rest /= extent;
                    row += *at as i64 * step;
                }
                let mut lane = 0;
                while lane < n {
                    let count = (length - column).min((n - lane) as u64) as usize;
                    run(lane, row + column as i64 * step, count, step);
                    lane += count;
                    column = 0;
                    for (at, &(extent, step)) in at[..outer.len()].iter_mut().zip(outer).rev() {
                        *at += 1;
                        row += step;
                        if *at < extent {
                            break;
                        }
                        row -= extent as i64 * step;
                        *at = 0;
                    }
                }
            }
        }
    }
}

/// An affine map over lanes, at given coordinates of the other axes.
#[derive(Clone, Debug)]
pub(super) struct Map {
    offset: i64,
    scalars: Vec<(usize, i64)>,
    pub(super) lanes: Lanes,
}

impl Map {
    /// `lanes`: the axes that are lanes, outermost first.
    pub(super) fn new(affine: &Affine, extents: &[u64], lanes: &[usize]) -> Option<Map> {
        let scalars = (0..extents.len())
            .filter(|a| !lanes.contains(a) && affine.coefficients[*a] != 0 && extents[*a] > 1)
            .map(|a| (a, affine.coefficients[a]))
            .collect();
        let lanes = Lanes::new(lanes.iter().map(|&a| (extents[a], affine.coefficients[a])))?;
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

    fn values(lanes: &Lanes, start: u64, n: usize) -> Vec<i64> {
        let mut out = vec![i64::MIN; n];
        lanes.runs(7, start, n, |lane, value, count, step| {
            (0..count).for_each(|i| out[lane + i] = value + i as i64 * step);
        });
        out
    }

    #[test]
    fn axes_merge_where_steps_allow() {
        assert_eq!(Lanes::new([(4, 30), (3, 10), (10, 1)]), Some(Lanes::Line(1)));
        assert_eq!(Lanes::new([(4, 0), (3, 0)]), Some(Lanes::Uniform));
        assert_eq!(Lanes::new([(1, 5), (3, -2), (1, 9)]), Some(Lanes::Line(-2)));
        assert_eq!(Lanes::new([(4, 0), (3, 1)]), Some(Lanes::Rows(vec![(4, 0), (3, 1)])));
        assert_eq!(Lanes::new([(2, 1); 40]), None);
    }

    #[test]
    fn runs_give_every_lane() {
        let axes = [(4u64, 100i64), (3, 0), (5, 3)];
        let lanes = Lanes::new(axes).unwrap();
        let all: Vec<i64> = (0..60).map(|p| 7 + p / 15 * 100 + p % 5 * 3).collect();
        for start in 0..60 {
            for n in 1..=60 - start {
                assert_eq!(values(&lanes, start as u64, n), all[start..start + n], "{start} {n}");
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
