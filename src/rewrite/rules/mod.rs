//! Local rules: what takes the place of an op, given its inputs. Each keeps dtype and shape.
//!
//! - [`stability`]: forms that lose digits or overflow become forms that do not; also before differentiation.
//! - [`algebra`]: normal forms of sums, products and powers, and what does nothing.
//! - [`layout`]: views of views, and views that change nothing.
//! - [`slices`]: slices of slices, reads of what was just written, conditions that are known to hold.
//! - [`products`]: sums of multiples, and sums of products that are matrix products.

pub(super) mod algebra;
pub(super) mod layout;
pub(super) mod products;
pub(super) mod slices;
pub(super) mod stability;

use super::terms::Terms;
use crate::error::Result;
use crate::ops::Op;

/// A rule over any expressions.
pub(super) type Found<T> = Result<Option<<T as Terms>::V>>;

/// The first of the rules of `compile` that applies.
pub(super) fn first<T: Terms>(terms: &mut T, op: &dyn Op, inputs: &[T::V]) -> Found<T> {
    if let Some(found) = stability::rule(terms, op, inputs)? {
        return Ok(Some(found));
    }
    if let Some(found) = algebra::rule(terms, op, inputs)? {
        return Ok(Some(found));
    }
    if let Some(found) = slices::rule(terms, op, inputs)? {
        return Ok(Some(found));
    }
    if let Some(found) = products::rule(terms, op, inputs)? {
        return Ok(Some(found));
    }
    layout::rule(terms, op, inputs)
}
