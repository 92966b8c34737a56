//! Convolutions as methods, with PyTorch's names, and their options. `padding`: the zeros around them.

mod padding;

pub use padding::Padding;

use super::convolution::{Convolution, ConvolutionRole};
use super::dot::promoted;
use super::methods::{fail, methods};
use super::shape::{BroadcastTo, Extent};
use super::windows::affine_extent;
use crate::error::Result;
use crate::graph::{Operand, Variable};
use crate::value::Value;
use workalike_kernels::Scalar;

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
    let around = padding::around_input(name, options, &x, &filters, &op)?;
    let (x, padding) = padding::padded(name, x, &around)?;
    Variable::apply1(Convolution { padding, ..op }, &[x, filters])
}

/// The sum of two parts of an extent.
fn sum(name: &str, a: Operand, b: Operand) -> Result<Operand> {
    match (a, b) {
        (Operand::Variable(a), b) => Ok(Operand::Variable(a.try_add(b)?)),
        (a, Operand::Variable(b)) => Ok(Operand::Variable(b.try_add(a)?)),
        (Operand::Int(a), Operand::Int(b)) => Ok(Operand::Int(a.saturating_add(b))),
        (a, b) => Err(fail(name, format!("expected extents, got {a} and {b}"))),
    }
}

/// An extent of the output, which is not negative where it is known.
fn extent(name: &str, sum: Operand) -> Result<Operand> {
    match sum {
        Operand::Int(n) if n < 0 => Err(fail(name, format!("the padding leaves an output of extent {n}"))),
        sum => Ok(sum),
    }
}

/// The gradient of a convolution's input, for an output of `x`: `filters` are (channels of `x`, channels of
/// the result / groups, spatial..).
fn transposed(name: &str, axes: usize, x: &Variable, filters: &Variable, options: &Conv) -> Result<Variable> {
    let [x, filters] = factors(name, axes, x, filters, options.flip_filters)?;
    let op = options.op(name, ConvolutionRole::InputGradient, axes)?;
    let (around, longer) = padding::around_output(name, options, &filters, &op)?;
    let (padding, cut): (Vec<_>, Vec<_>) = around.into_iter().map(padding::counted).unzip();
    let signed = |n: usize| i64::try_from(n).map_err(|_| fail(name, format!("{n} is longer than any axis")));
    let mut shape = vec![affine_extent(&x, 0, 1, 0)?, affine_extent(&filters, 1, signed(op.groups)?, 0)?];
    for (axis, longer) in longer.into_iter().enumerate() {
        let (stride, dilation) = (op.stride[axis], op.dilation[axis]);
        let (before, after) = padding[axis];
        // (H - 1) * stride + (K - 1) * dilation + 1, less the padding.
        let rest = 1 - [stride, dilation, before, after].into_iter().map(|n| n as i128).sum::<i128>();
        let rest = sum(name, Operand::Int(rest), longer)?;
        let steps = match &rest {
            Operand::Int(rest) => {
                let rest = i64::try_from(*rest);
                let rest = rest.map_err(|_| fail(name, "the padding is longer than any axis".into()))?;
                affine_extent(&x, axis + 2, signed(stride)?, rest)?
            }
            _ => sum(name, affine_extent(&x, axis + 2, signed(stride)?, 0)?, rest)?,
        };
        shape
            .push(extent(name, sum(name, steps, affine_extent(&filters, axis + 2, signed(dilation)?, 0)?)?)?);
    }
    // Of the third input only the shape is read: it is never computed.
    let (extents, further) = Extent::list(name, shape)?;
    let zero = Variable::constant(Value::scalar(Scalar::from_f64(x.dtype(), 0.0)));
    let like = BroadcastTo::of(&zero, extents, &further)?;
    let whole = Variable::apply1(Convolution { padding, ..op }, &[x, filters, like])?;
    padding::without(name, whole, cut)
}

methods! {
    /// The cross-correlation of rows `(batch, channels, length)` with filters `(outputs, channels / groups,
    /// length)`, as PyTorch's `conv1d`; [`Conv`](super::Conv) says with what stride, padding, dilation
    /// and groups.
    conv1d / try_conv1d(x, filters: impl Into<Variable>, options: Conv) {
        convolve("conv1d", 1, x, &filters.into(), &options)
    }
    /// The cross-correlation of images `(batch, channels, height, width)` with filters `(outputs, channels /
    /// groups, height, width)`, as PyTorch's `conv2d`; [`Conv`](super::Conv) says with what stride,
    /// padding, dilation and groups.
    conv2d / try_conv2d(x, filters: impl Into<Variable>, options: Conv) {
        convolve("conv2d", 2, x, &filters.into(), &options)
    }
    /// The cross-correlation of volumes `(batch, channels, depth, height, width)` with filters `(outputs,
    /// channels / groups, depth, height, width)`, as PyTorch's `conv3d`; [`Conv`](super::Conv) says with
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
