//! The convolution of images by filters, and its gradients: one op in three roles.

mod batch;
mod lower;
mod perform;

use super::complex;
use super::windows::{effective_extent, may_be_equal, static_shape_text, window_count};
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, MemberArray, Op, ShardedOutputs, Sharding, Shards,
    expect_inputs, ints,
};
use crate::value::Value;

/// Which of the three operands of a convolution is computed from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConvolutionRole {
    /// The output, from the input and the filters.
    Forward,
    /// The gradient of the input, from that of the output and the filters: a transposed convolution.
    InputGradient,
    /// The gradient of the filters, from the input and the gradient of the output.
    FilterGradient,
}

impl ConvolutionRole {
    const ALL: [ConvolutionRole; 3] =
        [ConvolutionRole::Forward, ConvolutionRole::InputGradient, ConvolutionRole::FilterGradient];

    /// The name in files and for people.
    fn name(self) -> &'static str {
        match self {
            ConvolutionRole::Forward => "forward",
            ConvolutionRole::InputGradient => "input_gradient",
            ConvolutionRole::FilterGradient => "filter_gradient",
        }
    }

    /// Of input, filters and output: the two factors that are read, in their order as inputs of the op, and
    /// the result.
    pub(crate) fn arrange<T>(self, [input, filters, output]: [T; 3]) -> [T; 3] {
        match self {
            ConvolutionRole::Forward => [input, filters, output],
            ConvolutionRole::InputGradient => [output, filters, input],
            ConvolutionRole::FilterGradient => [input, output, filters],
        }
    }
}

/// The cross-correlation of images `(N, C, spatial..)` with filters `(O, C / groups, spatial..)`, as in
/// PyTorch and JAX, of extents `(N, O, spatial..)`; or one of its gradients, which are bilinear in the same
/// way. The sum is over the channels of a group and the elements of a filter: `y[n, o, p] = sum x[n, c, p *
/// stride + k * dilation - before] * w[o, c, k]`, where `x` is 0 outside.
///
/// Its inputs by role, of one dtype: `Forward(x, w)`, `InputGradient(dy, w, like x)`, `FilterGradient(x, dy,
/// like w)`. Of the third input only the shape is read. Halves accumulate in float32 at least and round once;
/// of bools it is whether any pair is true.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// What is computed.
    pub role: ConvolutionRole,
    /// Elements of the input from one position of the filters to the next, along each spatial axis.
    pub stride: Vec<usize>,
    /// Zeros before and after the input, along each spatial axis.
    pub padding: Vec<(usize, usize)>,
    /// Elements of the input from one element of a filter to the next, along each spatial axis.
    pub dilation: Vec<usize>,
    /// The number of groups of channels and filters: each filter reads the channels of its own group.
    pub groups: usize,
}

impl Convolution {
    /// From a file's attributes. The padding is a flat list of pairs.
    pub(super) fn decode(
        role: &str,
        [stride, padding, dilation]: [Vec<usize>; 3],
        groups: usize,
    ) -> Result<Convolution, String> {
        let known = ConvolutionRole::ALL.into_iter().find(|r| r.name() == role);
        let role = known.ok_or_else(|| format!("unknown role {role}"))?;
        if !padding.len().is_multiple_of(2) {
            return Err("padding is not in pairs".into());
        }
        let padding = padding.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        Ok(Convolution { role, stride, padding, dilation, groups })
    }

    /// The same convolution in another role, applied.
    fn apply(
        &self,
        role: ConvolutionRole,
        inputs: [&Variable; 2],
        like: Option<&Variable>,
    ) -> Result<Variable> {
        let inputs: Vec<Variable> = inputs.into_iter().chain(like).cloned().collect();
        Variable::apply1(Convolution { role, ..self.clone() }, &inputs)
    }

    /// Refuses lists of different lengths, empty ones, and zeros.
    fn check(&self) -> Result<(), String> {
        let axes = self.stride.len();
        if axes == 0 || self.padding.len() != axes || self.dilation.len() != axes {
            return Err(format!(
                "expected a stride, a padding and a dilation for each of at least one spatial axis, got {:?}, \
                 {:?} and {:?}",
                self.stride, self.padding, self.dilation
            ));
        }
        if self.stride.contains(&0) || self.dilation.contains(&0) || self.groups == 0 {
            return Err(format!(
                "expected strides, dilations and groups of at least 1, got strides {:?}, dilations {:?} and {} \
                 groups",
                self.stride, self.dilation, self.groups
            ));
        }
        Ok(())
    }

    /// The extent of the output along a spatial axis, where it is known.
    fn output_extent(
        &self,
        axis: usize,
        input: Option<usize>,
        filter: Option<usize>,
    ) -> Result<Option<usize>, String> {
        let Some(filter) = filter else { return Ok(None) };
        let dilation = self.dilation[axis];
        let effective = effective_extent(filter, dilation)?;
        let Some(extent) = input else { return Ok(None) };
        let (before, after) = self.padding[axis];
        let padded = extent.checked_add(before).and_then(|n| n.checked_add(after));
        let padded =
            padded.ok_or_else(|| format!("a padding of ({before}, {after}) is longer than any axis"))?;
        let count = window_count(padded, effective, self.stride[axis]);
        count.map(Some).ok_or_else(|| {
            format!(
                "the filters are larger than the padded input along spatial axis {axis}: {filter} elements with \
                 dilation {dilation} cover {effective}, and the input has {extent}, with a padding of \
                 ({before}, {after}) {padded}"
            )
        })
    }

    /// The extents of the output for an input and filters of these.
    fn output(&self, x: &[Option<usize>], w: &[Option<usize>]) -> Result<Vec<Option<usize>>, String> {
        self.check()?;
        let axes = self.stride.len();
        if x.len() != axes + 2 || w.len() != axes + 2 {
            return Err(format!(
                "expected an input (batch, channels, {axes} spatial) and filters (outputs, channels / groups, \
                 {axes} spatial), got {} and {}",
                static_shape_text(x),
                static_shape_text(w)
            ));
        }
        let groups = self.groups;
        let divides = |extent: Option<usize>| extent.is_none_or(|n| n.is_multiple_of(groups));
        if !divides(x[1]) || !divides(w[0]) {
            return Err(format!(
                "expected numbers of channels and of filters that {groups} groups divide, got an input {} and \
                 filters {}",
                static_shape_text(x),
                static_shape_text(w)
            ));
        }
        if let (Some(channels), Some(own)) = (x[1], w[1])
            && own.checked_mul(groups) != Some(channels)
        {
            return Err(format!(
                "expected an input whose channels are those of a filter times {groups} groups, got {channels} \
                 channels of the input {} and {own} of the filters {}",
                static_shape_text(x),
                static_shape_text(w)
            ));
        }
        let mut output = vec![x[0], w[0]];
        for axis in 0..axes {
            output.push(self.output_extent(axis, x[axis + 2], w[axis + 2])?);
        }
        Ok(output)
    }

    /// The extents of input, filters and output, from those of the op's inputs.
    fn operands(&self, given: &[&[Option<usize>]]) -> Result<[Vec<Option<usize>>; 3], String> {
        let (x, w, dy) = match (self.role, given) {
            (ConvolutionRole::Forward, [x, w]) => (*x, *w, None),
            (ConvolutionRole::InputGradient, [dy, w, x]) => (*x, *w, Some(*dy)),
            (ConvolutionRole::FilterGradient, [x, dy, w]) => (*x, *w, Some(*dy)),
            (role, other) => return Err(format!("{} of {} inputs", role.name(), other.len())),
        };
        let y = self.output(x, w)?;
        if let Some(dy) = dy.filter(|dy| !may_be_equal(dy, &y)) {
            return Err(format!(
                "expected a gradient of the output of shape {} for an input {} and filters {}, got {}",
                static_shape_text(&y),
                static_shape_text(x),
                static_shape_text(w),
                static_shape_text(dy)
            ));
        }
        Ok([x.to_vec(), w.to_vec(), y])
    }

    /// [`Convolution::operands`] of shapes that are known.
    fn concrete(&self, given: &[&[usize]]) -> Result<[Vec<usize>; 3], String> {
        let given: Vec<Vec<Option<usize>>> =
            given.iter().map(|shape| shape.iter().map(|&e| Some(e)).collect()).collect();
        let given: Vec<&[Option<usize>]> = given.iter().map(Vec::as_slice).collect();
        // Where all extents are known, so are those of the output.
        Ok(self.operands(&given)?.map(|shape| shape.into_iter().flatten().collect()))
    }
}

impl Op for Convolution {
    fn id(&self) -> &'static str {
        "convolution"
    }

    fn attributes(&self) -> Attributes {
        let padding: Vec<usize> = self.padding.iter().flat_map(|&(before, after)| [before, after]).collect();
        vec![
            ("role".into(), Attr::Text(self.role.name().into())),
            ("stride".into(), ints(&self.stride)),
            ("padding".into(), ints(&padding)),
            ("dilation".into(), ints(&self.dilation)),
            ("groups".into(), Attr::Int(self.groups as i64)),
        ]
    }

    fn label(&self) -> String {
        match self.role {
            ConvolutionRole::Forward => "convolution".into(),
            role => format!("convolution[{}]", role.name()),
        }
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), if self.role == ConvolutionRole::Forward { 2 } else { 3 })?;
        let dtype = inputs[0].dtype;
        if inputs[1].dtype != dtype {
            return Err(format!("expected factors of one dtype, got {} and {}", inputs[0], inputs[1]));
        }
        let given: Vec<&[Option<usize>]> = inputs.iter().map(|t| t.shape.as_slice()).collect();
        let [_, _, result] = self.role.arrange(self.operands(&given)?);
        Ok(vec![TensorType::new(dtype, result)])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::bilinear(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        use ConvolutionRole::{FilterGradient, Forward, InputGradient};
        let [a, b] = [&at.inputs[0], &at.inputs[1]];
        let Some(g) = at.output_grads[0].as_ref().filter(|_| a.dtype().is_float()) else {
            return Ok(vec![None; at.inputs.len()]);
        };
        Ok(match self.role {
            Forward => vec![
                Some(self.apply(InputGradient, [g, b], Some(a))?),
                Some(self.apply(FilterGradient, [a, g], Some(b))?),
            ],
            // Of dy and w; g has the shape of the input.
            InputGradient => vec![
                Some(self.apply(Forward, [g, b], None)?),
                Some(self.apply(FilterGradient, [g, a], Some(b))?),
                None,
            ],
            // Of x and dy; g has the shape of the filters.
            FilterGradient => vec![
                Some(self.apply(InputGradient, [b, g], Some(a))?),
                Some(self.apply(Forward, [a, g], None)?),
                None,
            ],
        })
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        self.batched(at)
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        // Images are divided, filters are not; of the third input only the shape is read.
        let images = match self.role {
            ConvolutionRole::Forward => vec![0],
            ConvolutionRole::InputGradient => vec![0, 2],
            ConvolutionRole::FilterGradient => vec![0, 1],
        };
        if !images.iter().any(|&i| at.sharding(i) == Sharding::Sharded(0)) {
            return Ok(None);
        }
        let input = |i| if images.contains(&i) { at.part(i, 0) } else { at.whole(i) };
        let inputs = (0..at.inputs.len()).map(input).collect::<Result<Vec<_>>>()?;
        let own = Variable::apply1(self.clone(), &inputs)?;
        Ok(Some(vec![match self.role {
            ConvolutionRole::FilterGradient => MemberArray::term(own),
            _ => MemberArray::sharded(own, 0),
        }]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let given: Vec<&[usize]> = inputs.iter().map(Value::shape).collect();
        let operands = self
            .concrete(&given)
            .map_err(|message| Error::mismatch(self.label(), "shapes that fit", message))?;
        Ok(vec![self.compute(inputs, operands)?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }

    fn read_inputs(&self, _: usize) -> usize {
        2
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        match (self.role, axis) {
            (ConvolutionRole::Forward, 0) => vec![(0, 0)],
            (ConvolutionRole::Forward, 1) => vec![(1, 0)],
            (ConvolutionRole::Forward, _) => vec![],
            (_, axis) => vec![(2, axis)],
        }
    }
}
