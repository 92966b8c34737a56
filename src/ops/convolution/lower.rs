//! Convolutions as contractions of windows: the device's library where it has one, else a product over views.

use super::{Convolution, ConvolutionRole};
use crate::graph::Node;
use crate::lower::{Lowered, Lowering, View};
use crate::ops::dot::factors::ProductAxes;
use crate::ops::windows::lower::Spread;
use workalike_kernels::{DType, library};

/// Windows are written out only if they take at most this fraction (one part in N) of the device's memory.
const LARGEST_PART: u64 = 8;

/// A convolution at concrete shapes.
struct ConvolutionExtents {
    batch: u64,
    groups: u64,
    /// Channels of a group.
    channels: u64,
    /// Filters of a group.
    filters: u64,
    input: Vec<u64>,
    window: Vec<u64>,
    output: Vec<u64>,
}

pub(crate) fn lower(op: &Convolution, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let dtype = to.dtype(node.outputs[0]);
    let given: Vec<&[usize]> =
        node.inputs.iter().map(|&id| to.shapes.shapes[id as usize].as_slice()).collect();
    let [x, w, y] = op.concrete(&given)?.map(|shape| crate::lower::wide(&shape));
    let groups = op.groups as u64;
    let sizes = ConvolutionExtents {
        batch: x[0],
        groups,
        channels: w[1],
        filters: w[0] / groups,
        input: x[2..].to_vec(),
        window: w[2..].to_vec(),
        output: y[2..].to_vec(),
    };
    if let Some(result) = to.convolution_by_library(op, &sizes, inputs, dtype) {
        return Ok(vec![result]);
    }
    let result = match op.role {
        ConvolutionRole::Forward => to.correlation(op, &sizes, inputs, dtype),
        ConvolutionRole::InputGradient => to.input_gradient(op, &sizes, inputs, dtype),
        ConvolutionRole::FilterGradient => to.filter_gradient(op, &sizes, inputs, dtype),
    };
    let shape = to.shape(node.outputs[0]);
    let whole = to.whole(&result);
    Ok(vec![View::whole(whole, &shape)])
}

impl Lowering<'_> {
    /// By a library op, if the device has it.
    fn convolution_by_library(
        &mut self,
        op: &Convolution,
        sizes: &ConvolutionExtents,
        inputs: &[View],
        dtype: DType,
    ) -> Option<View> {
        let wide = |list: &[usize]| list.iter().map(|&n| n as u64).collect::<Vec<u64>>();
        let padding: Vec<u64> = op.padding.iter().map(|pair| pair.0 as u64).collect();
        if op.padding.iter().any(|pair| pair.0 != pair.1) {
            return None;
        }
        let call = library::LibraryConvolution {
            dtype,
            role: match op.role {
                ConvolutionRole::Forward => library::ConvolutionDirection::Forward,
                ConvolutionRole::InputGradient => library::ConvolutionDirection::InputGradient,
                ConvolutionRole::FilterGradient => library::ConvolutionDirection::FilterGradient,
            },
            batch: sizes.batch,
            channels: sizes.channels * sizes.groups,
            filters: sizes.filters * sizes.groups,
            groups: sizes.groups,
            input: sizes.input.clone(),
            window: sizes.window.clone(),
            output: sizes.output.clone(),
            stride: wide(&op.stride),
            padding,
            dilation: wide(&op.dilation),
            fast: self.abilities.fast,
        };
        if !self.abilities.has(&call) {
            return None;
        }
        let [a, b] = [0, 1].map(|at| (self.whole(&inputs[at]), 0));
        let shape = self.shape(self.graph.nodes[self.node].outputs[0]);
        self.library(call, vec![a, b], &[&shape])?.pop()
    }

    /// `y[n, g, o, p] = sum over c, k of w[g, o, c, k] * x[n, g, c, p * stride + k * dilation - before]`.
    fn correlation(
        &mut self,
        op: &Convolution,
        sizes: &ConvolutionExtents,
        inputs: &[View],
        dtype: DType,
    ) -> View {
        let spatial = sizes.input.len();
        let windows = self.input_windows(op, sizes, &inputs[0]);
        // (n, g, p.., c, k..) to (n, g, c, k.., p..).
        let x = windows.with_axes_at(2 + spatial, 2);
        let w = filters(&inputs[1], sizes);
        // (g, o, c, k..), once for the whole batch.
        let w = w.dimshuffle(&[None].into_iter().chain((0..w.shape.len()).map(Some)).collect::<Vec<_>>());
        let shape = [&[sizes.batch, sizes.groups, sizes.filters], &sizes.output[..]].concat();
        self.product(
            ProductAxes { batch: 2, left: 1, contracted: 1 + spatial, shape },
            sizes,
            [&w, &x],
            dtype,
        )
    }

    /// `dx[n, g, c, i] = sum over o, k of w[g, o, c, k] * dy[n, g, o, p]` where `i = p * stride + k *
    /// dilation - before`: a correlation with the filters back to front of `dy` spread `stride` apart.
    fn input_gradient(
        &mut self,
        op: &Convolution,
        sizes: &ConvolutionExtents,
        inputs: &[View],
        dtype: DType,
    ) -> View {
        let spatial = sizes.input.len();
        let dy = split(&inputs[0], 1, sizes.groups, sizes.filters);
        // (n, g, p.., o) to (n, g, o, p..).
        let dy = dy.with_axes_at(2 + spatial, 2);
        let reach = |at: usize| (sizes.window[at].saturating_sub(1)).saturating_mul(op.dilation[at] as u64);
        let spreads: Vec<Spread> = (0..spatial)
            .map(|at| Spread {
                before: signed(reach(at)).saturating_sub(signed(op.padding[at].0 as u64)),
                step: op.stride[at] as u64,
                extent: sizes.input[at].saturating_add(reach(at)),
            })
            .collect();
        let dy = self.spread(&dy, &spreads);
        let windows = (0..spatial).fold(dy, |view, at| {
            view.windows(3 + at, [sizes.input[at], 1, sizes.window[at], op.dilation[at] as u64])
        });
        // (n, g, o, i.., k..) to (n, g, o, k.., i..).
        let windows = windows.with_axes_at(3 + spatial, 3);
        let w = filters(&inputs[1], sizes);
        let w = (0..spatial).fold(w, |view, at| {
            let extent = sizes.window[at];
            view.slice(3 + at, signed(extent) - 1, -1, Some(extent), None)
        });
        // (g, o, c, k..) to (1, g, c, o, k..).
        let order = [None, Some(0), Some(2), Some(1)].into_iter().chain((3..3 + spatial).map(Some));
        let w = w.dimshuffle(&order.collect::<Vec<_>>());
        let shape = [&[sizes.batch, sizes.groups, sizes.channels], &sizes.input[..]].concat();
        self.product(
            ProductAxes { batch: 2, left: 1, contracted: 1 + spatial, shape },
            sizes,
            [&w, &windows],
            dtype,
        )
    }

    /// `dw[g, o, c, k] = sum over n, p of dy[n, g, o, p] * x[n, g, c, p * stride + k * dilation - before]`.
    fn filter_gradient(
        &mut self,
        op: &Convolution,
        sizes: &ConvolutionExtents,
        inputs: &[View],
        dtype: DType,
    ) -> View {
        let spatial = sizes.input.len();
        let windows = self.input_windows(op, sizes, &inputs[0]);
        // (n, g, p.., c, k..) to (g, n, p.., c, k..).
        let order = [1, 0].into_iter().chain(2..windows.shape.len()).map(Some);
        let x = windows.dimshuffle(&order.collect::<Vec<_>>());
        let dy = split(&inputs[1], 1, sizes.groups, sizes.filters);
        // (n, g, p.., o) to (g, o, n, p..).
        let order = [1, 2 + spatial, 0].into_iter().chain(2..2 + spatial).map(Some);
        let dy = dy.dimshuffle(&order.collect::<Vec<_>>());
        let shape = [&[sizes.groups, sizes.filters, sizes.channels], &sizes.window[..]].concat();
        self.product(
            ProductAxes { batch: 1, left: 1, contracted: 1 + spatial, shape },
            sizes,
            [&dy, &x],
            dtype,
        )
    }

    /// The windows over the padded input: (n, g, p.., c, k..).
    fn input_windows(&mut self, op: &Convolution, sizes: &ConvolutionExtents, x: &View) -> View {
        let pads: Vec<Spread> = (0..sizes.input.len())
            .map(|at| {
                let (before, after) = (op.padding[at].0 as u64, op.padding[at].1 as u64);
                let extent = sizes.input[at].saturating_add(before).saturating_add(after);
                Spread { before: signed(before), step: 1, extent }
            })
            .collect();
        let x = self.spread(x, &pads);
        let x = split(&x, 1, sizes.groups, sizes.channels);
        (0..sizes.input.len()).fold(x, |view, at| {
            let (stride, dilation) = (op.stride[at] as u64, op.dilation[at] as u64);
            view.windows(2 + at, [sizes.output[at], stride, sizes.window[at], dilation])
        })
    }

    /// By the library's products if copying windows is cheap compared with computing by tiles; else by a Nest
    /// that reads them in place.
    fn product(
        &mut self,
        axes: ProductAxes,
        sizes: &ConvolutionExtents,
        [a, b]: [&View; 2],
        dtype: DType,
    ) -> View {
        let device = self.abilities.properties();
        let extents = b.shape().iter().fold(dtype.size() as u64, |all, &extent| all.saturating_mul(extent));
        // A library's product reads windows that are written out.
        let affordable = extents <= device.memory / LARGEST_PART;
        if device.interprets && sizes.groups == 1 && affordable {
            self.contraction(&axes, a, b, dtype)
        } else {
            self.implicit_contraction(&axes, a, b, dtype)
        }
    }
}

/// Filters by group: (g, o, c, k..).
fn filters(w: &View, sizes: &ConvolutionExtents) -> View {
    split(w, 0, sizes.groups, sizes.filters).with_axes_at(w.shape.len(), 1)
}

/// An axis as `groups` of `each`, the latter as a last axis.
fn split(view: &View, axis: usize, groups: u64, each: u64) -> View {
    view.windows(axis, [groups, each, each, 1])
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
