//! The reference of a convolution: product by product, the same terms in each role.

use super::Convolution;
use crate::error::Result;
use crate::fallible;
use crate::ops::windows::from_integers;
use crate::value::{Value, checked_len};
use workalike_kernels::Scalar;

/// The position along each axis of an element of an array, by its place in row-major order.
fn unraveled(mut place: usize, shape: &[usize]) -> Vec<usize> {
    let mut at = vec![0; shape.len()];
    for (at, &extent) in at.iter_mut().zip(shape).rev() {
        let extent = extent.max(1);
        *at = place % extent;
        place /= extent;
    }
    at
}

impl Convolution {
    /// The result of [`Op::perform`](crate::ops::Op::perform), for operands (input, filters, output) of these
    /// extents.
    pub(super) fn compute(&self, inputs: &[Value], operands: [Vec<usize>; 3]) -> Result<Value> {
        let dtype = inputs[0].dtype();
        let [_, _, shape] = self.role.arrange(operands.each_ref());
        let len = checked_len(shape, dtype)?;
        if dtype.is_float() {
            let (a, b) = (inputs[0].try_map(Scalar::to_f64)?, inputs[1].try_map(Scalar::to_f64)?);
            let mut sums = fallible::filled(0f64, len)?;
            self.each_term(&operands, |[i, j, to]| sums[to] += a[i] * b[j])?;
            return Value::from_vec(shape, sums)?.cast(dtype);
        }
        let (a, b) = (inputs[0].try_map(Scalar::to_i128)?, inputs[1].try_map(Scalar::to_i128)?);
        let mut sums = fallible::filled(0i128, len)?;
        self.each_term(&operands, |[i, j, to]| sums[to] = sums[to].wrapping_add(a[i].wrapping_mul(b[j])))?;
        from_integers(dtype, shape, &sums)
    }

    /// Calls `visit` for each product, with the places of its factors and of the sum it belongs to.
    fn each_term(&self, operands: &[Vec<usize>; 3], mut visit: impl FnMut([usize; 3])) -> Result<()> {
        if operands.iter().any(|shape| shape.contains(&0)) {
            return Ok(());
        }
        let [x, w, y] = operands;
        let [x_plane, w_plane, y_plane] =
            operands.each_ref().map(|shape| shape[2..].iter().product::<usize>());
        let (filters, channels) = (w[0], w[1]);
        let filters_of_group = filters / self.groups;
        let mut pairs = fallible::with_capacity(y_plane)?;
        for tap in 0..w_plane {
            self.pairs(tap, operands, &mut pairs);
            for image in 0..x[0] {
                for filter in 0..filters {
                    let first_channel = image * x[1] + filter / filters_of_group * channels;
                    let to = (image * y[1] + filter) * y_plane;
                    for channel in 0..channels {
                        let from = (first_channel + channel) * x_plane;
                        let by = (filter * channels + channel) * w_plane + tap;
                        let terms = pairs.iter().map(|(at, position)| [from + at, by, to + position]);
                        terms.for_each(|places| visit(self.role.arrange(places)));
                    }
                }
            }
        }
        Ok(())
    }

    /// For one element of a filter, the pairs of positions of input and output that it joins, within their
    /// planes. Positions in the padding are left out.
    fn pairs(&self, tap: usize, [x, w, y]: &[Vec<usize>; 3], pairs: &mut Vec<(usize, usize)>) {
        pairs.clear();
        let (x, y) = (&x[2..], &y[2..]);
        let tap = unraveled(tap, &w[2..]);
        for position in 0..y.iter().product::<usize>() {
            let mut place = Some(0);
            for (axis, at) in unraveled(position, y).into_iter().enumerate() {
                // It lies within the padded input, since the position is one of the output's.
                let at = at * self.stride[axis] + tap[axis] * self.dilation[axis];
                let at = at.checked_sub(self.padding[axis].0).filter(|&at| at < x[axis]);
                place = place.zip(at).map(|(place, at)| place * x[axis] + at);
            }
            pairs.extend(place.map(|place| (place, position)));
        }
    }
}
