//! Affine addresses: the part of an index that is a sum over axes.

use super::{Index, Operand};

/// `offset + sum(coefficient * axis)`, with a coefficient for every axis of the Nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The constant part.
    pub offset: i64,
    /// By axis.
    pub coefficients: Vec<i64>,
}

impl Affine {
    /// 0 at every point of so many axes.
    pub fn zero(axes: usize) -> Affine {
        Affine { offset: 0, coefficients: vec![0; axes] }
    }

    /// Adds `index * stride` without its computed part. `None` on overflow or an axis that does not exist.
    pub fn add(&mut self, index: &Index, stride: i64) -> Option<()> {
        self.offset = self.offset.checked_add(index.offset.checked_mul(stride)?)?;
        for &(axis, coefficient) in &index.terms {
            let all = self.coefficients.get_mut(axis)?;
            *all = all.checked_add(coefficient.checked_mul(stride)?)?;
        }
        Some(())
    }

    /// Least and greatest value over non-empty extents.
    pub fn range(&self, extents: &[u64]) -> (i128, i128) {
        let terms = self.coefficients.iter().zip(extents);
        range(self.offset, terms.map(|(&coefficient, &extent)| (coefficient, extent)))
    }

    /// Whether it is the row-major position of each point of these axes.
    pub fn is_row_major(&self, axes: &[u64]) -> bool {
        let mut position = 1u64;
        let mut inner_first = axes.iter().zip(&self.coefficients).rev().filter(|(extent, _)| **extent != 1);
        let steps = inner_first.all(|(&extent, &step)| {
            let is_next = u64::try_from(step) == Ok(position);
            position = position.saturating_mul(extent.max(1));
            is_next
        });
        steps && self.offset == 0
    }
}

/// Least and greatest value of `offset + sum(coefficient * position)` over positions below non-empty extents.
fn range(offset: i64, terms: impl Iterator<Item = (i64, u64)>) -> (i128, i128) {
    let (mut low, mut high) = (i128::from(offset), i128::from(offset));
    for (coefficient, extent) in terms {
        let reach = i128::from(coefficient).saturating_mul(i128::from(extent.saturating_sub(1)));
        if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
    }
    (low, high)
}

impl Index {
    /// Least and greatest value of the part that is not computed, over axes of these extents.
    pub fn range(&self, extents: &[u64]) -> (i128, i128) {
        range(self.offset, self.terms.iter().map(|&(axis, coefficient)| (coefficient, extents[axis])))
    }
}

impl Operand {
    /// The address of an element in elements, for a Nest of so many axes; `None` if a part of the index is
    /// computed, or the address does not fit in 64 bits.
    pub fn affine(&self, index: &[Index], axes: usize) -> Option<Affine> {
        let mut address = Affine::zero(axes);
        for (index, &stride) in index.iter().zip(&self.strides) {
            if index.dynamic.is_some() {
                return None;
            }
            address.add(index, stride)?;
        }
        Some(address)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn an_address_is_the_sum_of_all_dimensions() {
        let operand = Operand::contiguous(DType::F32, &[4, 6], false);
        let row = Index { offset: 1, terms: vec![(1, 1)], dynamic: None };
        let column = Index { offset: 5, terms: vec![(0, -2), (1, 1)], dynamic: None };
        let address = operand.affine(&[row.clone(), column], 2).unwrap();
        assert_eq!(address, Affine { offset: 11, coefficients: vec![-2, 7] });
        assert_eq!((address.range(&[3, 3]), row.range(&[3, 3])), ((7, 25), (1, 3)));
        let computed = Index { dynamic: Some(0), ..Index::axis(0) };
        assert_eq!(operand.affine(&[computed, Index::axis(1)], 2), None);
        assert_eq!(operand.affine(&[Index::axis(0), Index::axis(2)], 2), None, "there is no such axis");
        let far = Index { terms: vec![(0, i64::MAX)], ..Index::default() };
        assert_eq!(operand.affine(&[far, Index::axis(1)], 2), None);
    }

    #[test]
    fn row_major_positions() {
        let is = |offset, coefficients: &[i64], axes: &[u64]| {
            Affine { offset, coefficients: coefficients.to_vec() }.is_row_major(axes)
        };
        assert!(is(0, &[6, 1], &[4, 6]) && is(0, &[], &[]));
        assert!(is(0, &[6, 99, 1], &[4, 1, 6]), "an axis of one position is nowhere else");
        assert!(!is(1, &[6, 1], &[4, 6]) && !is(0, &[1, 4], &[4, 6]) && !is(0, &[0, 1], &[4, 6]));
    }
}
