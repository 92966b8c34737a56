//! Convolutions as methods, with PyTorch's names, and their options.

use super::convolution::{Convolution, ConvolutionRole};
use super::methods::{fail, methods};
use super::product::promoted;
use super::shape::{BroadcastTo, Extent};
use super::windows::{affine_extent, effective_extent};
use crate::error::Result;
use crate::graph::{Operand, Variable};
use crate::value::Value;
use workalike_kernels::Scalar;

/// Zeros before and after the input of a convolution, along each spatial axis.
///
/// [`Padding::Same`] and [`Padding::Full`] follow from the extents of the filters, which their type must know
/// ([`Variable::specify_shape`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Nothing: filters stay within the input.
    #[default]
    Valid,
    /// An output of the input's extent divided by the stride, rounded up, as JAX and TensorFlow pad; of an
    /// odd number of zeros the greater part comes after. With a stride above 1 it follows from the input's
    /// extent too, which its type must know then. Of a transposed convolution: an output of the input's
    /// extent times the stride.
    Same,
    /// All positions at which filters meet the input: one element less than a filter covers, on both sides.
    Full,
    /// These numbers before and after, for each axis.
    Explicit(Vec<(usize, usize)>),
}

impl<const N: usize> From<[(usize, usize); N]> for Padding {
    fn from(pairs: [(usize, usize); N]) -> Padding {
        Padding::Explicit(pairs.to_vec())
    }
}
impl From<Vec<(usize, usize)>> for Padding {
    fn from(pairs: Vec<(usize, usize)>) -> Padding {
        Padding::Explicit(pairs)
    }
}

/// The options of [`Variable::conv2d`] and the other convolutions. The defaults: stride 1, no padding,
/// dilation 1, one group, filters that are not flipped.
///
/// ```
/// use workalike::ops::{Conv, Padding};
/// use workalike::prelude::*;
/// let x = tensor::<f32>("x", [None, Some(3), None, None]);
/// let w = tensor::<f32>("w", [Some(8), Some(3), Some(5), Some(5)]);
/// let y = x.conv2d(&w, Conv::default().padding(Padding::Same));
/// assert_eq!(y.ty().shape, [None, Some(8), None, None]);
/// let halved = x.conv2d(&w, Conv::default().stride([2, 2]).padding([(2, 2), (2, 2)]));
/// let f = function([&x, &w]).output(&halved).compile()?;
/// # let (images, filters) = (of_shape::<f32>(&[2, 3, 9, 8])?, of_shape::<f32>(&[8, 3, 5, 5])?);
/// assert_eq!(f.call(args![images, filters])?[0].shape(), [2, 8, 5, 4]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Empty: 1.
    stride: Vec<usize>,
    /// Empty: 1.
    dilation: Vec<usize>,
    padding: Padding,
    groups: usize,
    flip_filters: bool,
    /// Empty: none.
    output_padding: Vec<usize>,
}

impl Default for Conv {
    fn default() -> Conv {
        Conv {
            stride: vec![],
            dilation: vec![],
            padding: Padding::Valid,
            groups: 1,
            flip_filters: false,
            output_padding: vec![],
        }
    }
}

impl Conv {
    /// Elements from one position of the filters to the next, along each spatial axis.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<Vec<usize>>) -> Conv {
        self.stride = stride.into();
        self
    }

    /// Zeros around the input: a [`Padding`], or pairs of numbers before and after along each spatial axis.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<Padding>) -> Conv {
        self.padding = padding.into();
        self
    }

    /// Elements of the input from one element of a filter to the next, along each spatial axis.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<Vec<usize>>) -> Conv {
        self.dilation = dilation.into();
        self
    }

    /// The number of groups of channels and filters. If it is the number of channels, the convolution is
    /// depthwise.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Conv {
        self.groups = groups;
        self
    }

    /// Whether filters are flipped along their spatial axes: a true convolution, as Theano's, rather than a
    /// cross-correlation.
    #[must_use]
    pub fn flip_filters(mut self, flip_filters: bool) -> Conv {
        self.flip_filters = flip_filters;
        self
    }

    /// For a transposed convolution: additional elements at the end of the output along each spatial axis,
    /// fewer than the stride. Inputs of several extents have the same number of positions; this selects one
    /// of them.
    #[must_use]
    pub fn output_padding(mut self, output_padding: impl Into<Vec<usize>>) -> Conv {
        self.output_padding = output_padding.into();
        self
    }

    /// The op for an input and filters, without its padding.
    fn op(&self, name: &str, role: ConvolutionRole, axes: usize) -> Result<Convolution> {
        let list = |what: &str, list: &[usize]| match list {
            [] => Ok(vec![1; axes]),
            list if list.len() == axes && !list.contains(&0) => Ok(list.to_vec()),
            list => {
                let message =
                    format!("expected a {what} of at least 1 for each of {axes} spatial axes, got {list:?}");
                Err(fail(name, message))
            }
        };
        Ok(Convolution {
            role,
            stride: list("stride", &self.stride)?,
            padding: vec![(0, 0); axes],
            dilation: list("dilation", &self.dilation)?,
            groups: self.groups,
        })
    }

    /// The number of elements that the filters cover along each spatial axis.
    fn effective(&self, name: &str, filters: &Variable, dilation: &[usize]) -> Result<Vec<usize>> {
        let of = |(extent, &dilation): (&Option<usize>, &usize)| {
            let extent = extent.ok_or_else(|| {
                let message = format!(
                    "expected filters whose type knows their extents, for {:?} padding, got {}; specify_shape \
                     says them",
                    self.padding,
                    filters.ty()
                );
                fail(name, message)
            })?;
            effective_extent(extent, dilation).map_err(|message| fail(name, message))
        };
        filters.ty().shape[2..].iter().zip(dilation).map(of).collect()
    }

    /// The pairs that were given.
    fn explicit(name: &str, pairs: &[(usize, usize)], axes: usize) -> Result<Vec<(usize, usize)>> {
        if pairs.len() == axes {
            return Ok(pairs.to_vec());
        }
        Err(fail(name, format!("expected pairs of padding for {axes} spatial axes, got {pairs:?}")))
    }

    /// The zeros around `x`.
    fn around(
        &self,
        name: &str,
        x: &Variable,
        filters: &Variable,
        op: &Convolution,
    ) -> Result<Vec<(usize, usize)>> {
        let axes = op.stride.len();
        match &self.padding {
            Padding::Valid => Ok(vec![(0, 0); axes]),
            Padding::Explicit(pairs) => Conv::explicit(name, pairs, axes),
            Padding::Full => {
                let effective = self.effective(name, filters, &op.dilation)?;
                Ok(effective.into_iter().map(|n| (n - 1, n - 1)).collect())
            }
            Padding::Same => {
                let effective = self.effective(name, filters, &op.dilation)?;
                let of = |(axis, covered): (usize, usize)| {
                    let stride = op.stride[axis];
                    let missing = match x.ty().shape[axis + 2] {
                        _ if stride == 1 => covered - 1,
                        Some(extent) => {
                            let steps = extent.div_ceil(stride).saturating_sub(1) * stride;
                            steps.saturating_add(covered).saturating_sub(extent)
                        }
                        None => {
                            let message = format!(
                                "expected an input whose type knows its extents, for Same padding with stride \
                                 {stride}, got {}; specify_shape says them",
                                x.ty()
                            );
                            return Err(fail(name, message));
                        }
                    };
                    Ok((missing / 2, missing - missing / 2))
                };
                effective.into_iter().enumerate().map(of).collect()
            }
        }
    }

    /// The zeros around the output of a transposed convolution, as a convolution's input, and the additional
    /// elements at its end.
    #[expect(clippy::type_complexity, reason = "two lists")]
    fn around_output(
        &self,
        name: &str,
        filters: &Variable,
        op: &Convolution,
    ) -> Result<(Vec<(usize, usize)>, Vec<usize>)> {
        let axes = op.stride.len();
        let mut longer =
            if self.output_padding.is_empty() { vec![0; axes] } else { self.output_padding.clone() };
        if longer.len() != axes || longer.iter().zip(&op.stride).any(|(more, stride)| more >= stride) {
            let message = format!(
                "expected an output_padding below the stride along each of {axes} spatial axes, got {longer:?} \
                 with strides {:?}",
                op.stride
            );
            return Err(fail(name, message));
        }
        let padding = match &self.padding {
            Padding::Valid => vec![(0, 0); axes],
            Padding::Explicit(pairs) => Conv::explicit(name, pairs, axes)?,
            Padding::Full => {
                let effective = self.effective(name, filters, &op.dilation)?;
                effective.into_iter().map(|n| (n - 1, n - 1)).collect()
            }
            Padding::Same => {
                if longer.iter().any(|&more| more > 0) {
                    return Err(fail(
                        name,
                        "expected no output_padding with Same padding, which says the extents".into(),
                    ));
                }
                let effective = self.effective(name, filters, &op.dilation)?;
                longer =
                    effective.iter().zip(&op.stride).map(|(n, stride)| stride.saturating_sub(*n)).collect();
                let missing = effective.iter().zip(&op.stride).map(|(n, stride)| n.saturating_sub(*stride));
                missing.map(|n| (n / 2, n - n / 2)).collect()
            }
        };
        Ok((padding, longer))
    }
}

/// Input and filters of a convolution over this number of spatial axes, in one dtype; filters as the op takes
/// them.
fn factors(name: &str, axes: usize, x: &Variable, filters: &Variable, flip: bool) -> Result<[Variable; 2]> {
    let [x, filters] = promoted(x, filters)?;
    if x.ndim() != axes + 2 || filters.ndim() != axes + 2 {
        let message = format!(
            "expected an input (batch, channels, {axes} spatial) and filters (outputs, channels / groups, {axes} \
             spatial), got {} and {}",
            x.ty(),
            filters.ty()
        );
        return Err(fail(name, message));
    }
    let filters = if flip { filters.try_flip((2..axes + 2).collect::<Vec<usize>>())? } else { filters };
    Ok([x, filters])
}

fn convolve(name: &str, axes: usize, x: &Variable, filters: &Variable, options: &Conv) -> Result<Variable> {
    let [x, filters] = factors(name, axes, x, filters, options.flip_filters)?;
    if !options.output_padding.is_empty() {
        return Err(fail(name, "expected no output_padding, which is for transposed convolutions".into()));
    }
    let op = options.op(name, ConvolutionRole::Forward, axes)?;
    let padding = options.around(name, &x, &filters, &op)?;
    Variable::apply1(Convolution { padding, ..op }, &[x, filters])
}

/// The sum of two parts of an extent, which is not negative where it is known.
fn sum(name: &str, a: Operand, b: Operand) -> Result<Operand> {
    match (a, b) {
        (Operand::Variable(a), b) => Ok(Operand::Variable(a.try_add(b)?)),
        (a, Operand::Variable(b)) => Ok(Operand::Variable(b.try_add(a)?)),
        (Operand::Int(a), Operand::Int(b)) if a.saturating_add(b) >= 0 => {
            Ok(Operand::Int(a.saturating_add(b)))
        }
        (Operand::Int(a), Operand::Int(b)) => {
            Err(fail(name, format!("the padding leaves an output of extent {}", a.saturating_add(b))))
        }
        (a, b) => Err(fail(name, format!("expected extents, got {a} and {b}"))),
    }
}

/// The gradient of a convolution's input, for an output of `x`: `filters` are (channels of `x`, channels of
/// the result / groups, spatial..).
fn transposed(name: &str, axes: usize, x: &Variable, filters: &Variable, options: &Conv) -> Result<Variable> {
    let [x, filters] = factors(name, axes, x, filters, options.flip_filters)?;
    let op = options.op(name, ConvolutionRole::InputGradient, axes)?;
    let (padding, longer) = options.around_output(name, &filters, &op)?;
    let signed = |n: usize| i64::try_from(n).map_err(|_| fail(name, format!("{n} is longer than any axis")));
    let mut shape = vec![affine_extent(&x, 0, 1, 0)?, affine_extent(&filters, 1, signed(op.groups)?, 0)?];
    for axis in 0..axes {
        let (stride, dilation) = (op.stride[axis], op.dilation[axis]);
        let (before, after) = padding[axis];
        // (H - 1) * stride + (K - 1) * dilation + 1, less the padding.
        let rest = longer[axis] as i128 + 1
            - [stride, dilation, before, after].into_iter().map(|n| n as i128).sum::<i128>();
        let rest = i64::try_from(rest).map_err(|_| fail(name, format!("{rest} is longer than any axis")))?;
        let steps = affine_extent(&x, axis + 2, signed(stride)?, rest)?;
        shape.push(sum(name, steps, affine_extent(&filters, axis + 2, signed(dilation)?, 0)?)?);
    }
    // Of the third input only the shape is read: it is never computed.
    let (extents, further) = Extent::list(name, shape)?;
    let zero = Variable::constant(Value::scalar(Scalar::from_f64(x.dtype(), 0.0)));
    let like = BroadcastTo::of(&zero, extents, &further)?;
    Variable::apply1(Convolution { padding, ..op }, &[x, filters, like])
}

methods! {
    /// The cross-correlation of rows `(batch, channels, length)` with filters `(outputs, channels / groups,
    /// length)`, as PyTorch's `conv1d`; [`Conv`](crate::ops::Conv) says with what stride, padding, dilation
    /// and groups.
    conv1d / try_conv1d(x, filters: impl Into<Variable>, options: Conv) {
        convolve("conv1d", 1, x, &filters.into(), &options)
    }
    /// The cross-correlation of images `(batch, channels, height, width)` with filters `(outputs, channels /
    /// groups, height, width)`, as PyTorch's `conv2d`; [`Conv`](crate::ops::Conv) says with what stride,
    /// padding, dilation and groups.
    conv2d / try_conv2d(x, filters: impl Into<Variable>, options: Conv) {
        convolve("conv2d", 2, x, &filters.into(), &options)
    }
    /// The cross-correlation of volumes `(batch, channels, depth, height, width)` with filters `(outputs,
    /// channels / groups, depth, height, width)`, as PyTorch's `conv3d`; [`Conv`](crate::ops::Conv) says with
    /// what stride, padding, dilation and groups.
    conv3d / try_conv3d(x, filters: impl Into<Variable>, options: Conv) {
        convolve("conv3d", 3, x, &filters.into(), &options)
    }
    /// The transpose of [`Variable::conv1d`], as PyTorch's `conv_transpose1d`: the gradient of its input,
    /// where `x` is the gradient of its output. Filters are `(channels, outputs / groups, length)`.
    conv_transpose1d / try_conv_transpose1d(x, filters: impl Into<Variable>, options: Conv) {
        transposed("conv_transpose1d", 1, x, &filters.into(), &options)
    }
    /// The transpose of [`Variable::conv2d`], as PyTorch's `conv_transpose2d`: the gradient of its input,
    /// where `x` is the gradient of its output. Filters are `(channels, outputs / groups, height, width)`.
    conv_transpose2d / try_conv_transpose2d(x, filters: impl Into<Variable>, options: Conv) {
        transposed("conv_transpose2d", 2, x, &filters.into(), &options)
    }
    /// The transpose of [`Variable::conv3d`], as PyTorch's `conv_transpose3d`: the gradient of its input,
    /// where `x` is the gradient of its output. Filters are `(channels, outputs / groups, depth, height,
    /// width)`.
    conv_transpose3d / try_conv_transpose3d(x, filters: impl Into<Variable>, options: Conv) {
        transposed("conv_transpose3d", 3, x, &filters.into(), &options)
    }
}
