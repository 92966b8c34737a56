//! Convolutions of images by filters, and their gradients.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;

/// Which operand of a convolution is computed from the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvolutionDirection {
    /// The output, from the input and the filters.
    Forward,
    /// The gradient of the input, from that of the output and the filters.
    InputGradient,
    /// The gradient of the filters, from the input and the gradient of the output.
    FilterGradient,
}

/// A cross-correlation `y[n, o, p] = sum over c, k of x[n, c, p * stride + k * dilation - padding] * w[o, c,
/// k]` of images `(batch, channels, input..)` with filters `(filters, channels / groups, window..)`, or one
/// of its gradients. `x` is 0 outside. Halves accumulate in float32 and round once. Two operands are read, in
/// the order of [`ConvolutionDirection`], one is written; all are contiguous.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LibraryConvolution {
    /// The dtype of all operands.
    pub dtype: DType,
    /// The operand to compute.
    pub role: ConvolutionDirection,
    /// Number of images.
    pub batch: u64,
    /// Channels of an image.
    pub channels: u64,
    /// Number of filters: channels of the output.
    pub filters: u64,
    /// Number of groups of channels and filters; a filter sees the channels of its own group.
    pub groups: u64,
    /// Extents of an image.
    pub input: Vec<u64>,
    /// Extents of a filter.
    pub window: Vec<u64>,
    /// Extents of an output.
    pub output: Vec<u64>,
    /// Elements of the input from one position to the next, along each axis.
    pub stride: Vec<u64>,
    /// Zeros before and after the input, along each axis.
    pub padding: Vec<u64>,
    /// Elements of the input from one element of a filter to the next, along each axis.
    pub dilation: Vec<u64>,
    /// Results may be less exact, for speed, as in [`Matmul`](super::Matmul::fast).
    pub fast: bool,
}

impl LibraryConvolution {
    /// Shapes of input, filters and output.
    fn shapes(&self) -> [Vec<u64>; 3] {
        let each = self.channels / self.groups.max(1);
        [
            [&[self.batch, self.channels], &self.input[..]].concat(),
            [&[self.filters, each], &self.window[..]].concat(),
            [&[self.batch, self.filters], &self.output[..]].concat(),
        ]
    }

    /// Number of products that are summed for an element of the result; fewer at the padding.
    pub fn terms(&self) -> u64 {
        let each = |count: u64| count / self.groups.max(1);
        let (first, extents) = match self.role {
            ConvolutionDirection::Forward => (each(self.channels), &self.window),
            ConvolutionDirection::InputGradient => (each(self.filters), &self.window),
            ConvolutionDirection::FilterGradient => (self.batch, &self.output),
        };
        extents.iter().fold(first, |all, &extent| all.saturating_mul(extent))
    }

    /// Whether the extents of the output follow from the others.
    fn fits(&self) -> bool {
        let axes = self.input.len();
        let lists = [&self.window, &self.output, &self.stride, &self.padding, &self.dilation];
        let output = |at: usize| {
            let padded = self.padding[at].checked_mul(2)?.checked_add(self.input[at])?;
            let reach = self.window[at].checked_sub(1)?.checked_mul(self.dilation[at])?.checked_add(1)?;
            padded.checked_sub(reach)?.checked_div(self.stride[at])?.checked_add(1)
        };
        axes > 0
            && lists.iter().all(|list| list.len() == axes)
            && (0..axes).all(|at| self.dilation[at] > 0 && output(at) == Some(self.output[at]))
    }
}

impl LibraryOp for LibraryConvolution {
    fn name(&self) -> String {
        match self.role {
            ConvolutionDirection::Forward => "convolution".into(),
            ConvolutionDirection::InputGradient => "convolution_input_gradient".into(),
            ConvolutionDirection::FilterGradient => "convolution_filter_gradient".into(),
        }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    /// Batch, channels, filters, then the extents of an output and of a filter.
    fn extents(&self) -> Vec<u64> {
        [&[self.batch, self.channels, self.filters], &self.output[..], &self.window[..]].concat()
    }

    fn operands(&self) -> Vec<Operand> {
        let [x, w, y] = self.shapes();
        let [first, second, result] = match self.role {
            ConvolutionDirection::Forward => [x, w, y],
            ConvolutionDirection::InputGradient => [y, w, x],
            ConvolutionDirection::FilterGradient => [x, y, w],
        };
        let [first, second] = [first, second].map(|shape| read(self.dtype, &shape));
        vec![first, second, written(self.dtype, &result)]
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        let divides = self.groups > 0
            && self.channels.is_multiple_of(self.groups)
            && self.filters.is_multiple_of(self.groups);
        let found =
            || format!("{} channels, {} filters, {} groups", self.channels, self.filters, self.groups);
        check.require(divides, "groups", || ("a divisor of channels and filters".into(), found()))?;
        let expected = || "extents of an output that follow from input, window, stride, padding and dilation";
        check.require(self.fits(), "output", || (expected().into(), format!("{self:?}")))?;
        for (name, shape) in ["input", "filters", "output"].into_iter().zip(self.shapes()) {
            check.size(name, self.dtype, &shape)?;
        }
        Ok(())
    }

    fn flops(&self) -> f64 {
        let product = |extents: &[u64]| extents.iter().map(|&extent| extent as f64).product::<f64>();
        let each = self.channels as f64 / self.groups.max(1) as f64;
        2.0 * self.batch as f64 * self.filters as f64 * each * product(&self.output) * product(&self.window)
    }
}
