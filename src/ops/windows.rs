//! Sliding windows over the last axes, and their adjoint, for pooling.

pub(crate) mod lower;

use super::batching::only;
use super::complex;
use super::shape::ShapeOf;
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attributes, Batch, BatchedOutputs, Gradient, Known, Op, ShardedOutputs, Shards, expect_inputs, ints,
};
use crate::value::{Value, checked_len};
use workalike_kernels::{DType, Scalar};

/// The windows over the last axes of its input, as NumPy's `sliding_window_view` with strides and dilations:
/// `(.., H, W)` becomes `(.., OH, OW, KH, KW)`, whose element `(.., o, k)` is element `o * stride + k *
/// dilation` of the input. `O` is `(H - (dilation * (K - 1) + 1)) / stride + 1`, rounded down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    /// The extents of a window: one for each of the last axes.
    pub window: Vec<usize>,
    /// Elements from one window to the next, along each of these axes.
    pub stride: Vec<usize>,
    /// Elements from one element of a window to the next, along each of these axes.
    pub dilation: Vec<usize>,
}

/// The adjoint of [`Windows`]: its first input, `(.., OH, OW, KH, KW)`, summed into the shape of the second,
/// each element at the position that [`Windows`] takes it from. The second input's values are not read.
/// Halves accumulate in float32 at least and round once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowSum {
    /// The windows whose elements are summed.
    pub windows: Windows,
}

/// The number of elements of an axis that a window covers, from its first to its last.
pub(super) fn effective_extent(window: usize, dilation: usize) -> Result<usize, String> {
    let steps = window.checked_sub(1).ok_or("expected a window of at least one element, got one of 0")?;
    let effective = steps.checked_mul(dilation).and_then(|n| n.checked_add(1));
    effective
        .ok_or_else(|| format!("a window of {window} elements, {dilation} apart, is longer than any axis"))
}

/// The number of windows that cover `effective` elements each and fit an axis; `None` if no window fits.
pub(super) fn window_count(extent: usize, effective: usize, stride: usize) -> Option<usize> {
    extent.checked_sub(effective)?.checked_div(stride)?.checked_add(1)
}

/// A shape in NumPy's notation; `?` is known at run time only.
pub(super) fn static_shape_text(shape: &[Option<usize>]) -> String {
    let list: Vec<String> = shape.iter().map(|e| e.map_or("?".into(), |e| e.to_string())).collect();
    let comma = if list.len() == 1 { "," } else { "" };
    format!("({}{comma})", list.join(", "))
}

/// Whether two shapes can be the same, as far as they are known.
pub(super) fn may_be_equal(a: &[Option<usize>], b: &[Option<usize>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_none() || b.is_none() || a == b)
}

/// `scale` times the extent of an axis, and `offset`: a number where the type knows the extent.
pub(super) fn affine_extent(x: &Variable, axis: usize, scale: i64, offset: i64) -> Result<Operand> {
    if let Some(n) = x.ty().shape[axis] {
        let scaled = n as i128 * i128::from(scale);
        return Ok(Operand::Int(scaled.saturating_add(offset.into())));
    }
    let extent = ShapeOf::of(x, axis)?;
    let scaled = if scale == 1 { extent } else { extent.try_mul(scale)? };
    Ok(Operand::Variable(if offset == 0 { scaled } else { scaled.try_add(offset)? }))
}

impl Windows {
    /// Refuses lists of different lengths, empty ones, and zeros.
    pub(super) fn check(&self) -> Result<(), String> {
        let lists = [("window extent", &self.window), ("stride", &self.stride), ("dilation", &self.dilation)];
        let axes = self.window.len();
        if axes == 0 {
            return Err("expected windows over at least one axis, got over none".into());
        }
        match lists.iter().find(|(_, list)| list.len() != axes || list.contains(&0)) {
            Some((what, list)) => {
                Err(format!("expected a {what} of at least 1 for each of {axes} axes, got {list:?}"))
            }
            None => Ok(()),
        }
    }

    /// The extents of the windows over an array of these.
    fn result(&self, shape: &[Option<usize>]) -> Result<Vec<Option<usize>>, String> {
        self.check()?;
        let axes = self.window.len();
        let first = shape.len().checked_sub(axes).ok_or_else(|| {
            format!(
                "expected at least {axes} axes for windows {:?}, got {}",
                self.window,
                static_shape_text(shape)
            )
        })?;
        let mut result = shape.to_vec();
        for axis in 0..axes {
            let (window, dilation) = (self.window[axis], self.dilation[axis]);
            let effective = effective_extent(window, dilation)?;
            let Some(extent) = shape[first + axis] else { continue };
            let count = window_count(extent, effective, self.stride[axis]).ok_or_else(|| {
                format!(
                    "a window of {window} elements with dilation {dilation} covers {effective} elements, and \
                     axis {} of {} has {extent}",
                    first + axis,
                    static_shape_text(shape)
                )
            })?;
            result[first + axis] = Some(count);
        }
        result.extend(self.window.iter().map(|&n| Some(n)));
        Ok(result)
    }

    /// [`Windows::result`] of a shape that is known.
    fn concrete(&self, shape: &[usize]) -> Result<Vec<usize>, String> {
        let shape: Vec<Option<usize>> = shape.iter().map(|&e| Some(e)).collect();
        // Where all extents are known, so are those of the result.
        Ok(self.result(&shape)?.into_iter().flatten().collect())
    }

    /// A view of an array: its windows.
    fn view(&self, x: &Value) -> Result<Value> {
        let shape = self
            .concrete(x.shape())
            .map_err(|message| Error::mismatch(self.label(), "windows that fit", message))?;
        if shape.contains(&0) {
            return Value::zeros(x.dtype(), &shape);
        }
        let (outer, inner) = x.strides().split_at(x.ndim() - self.window.len());
        // A product overflows only along an axis of extent 1, whose stride does not count.
        let times = |(&stride, &by): (&isize, &usize)| {
            isize::try_from(by).map_or(isize::MAX, |by| stride.saturating_mul(by))
        };
        let steps = inner.iter().zip(&self.stride).map(times);
        let within = inner.iter().zip(&self.dilation).map(times);
        let strides: Vec<isize> = outer.iter().copied().chain(steps).chain(within).collect();
        x.view_as(&shape, &strides, x.offset())
    }
}

impl Op for Windows {
    fn id(&self) -> &'static str {
        "windows"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("window".into(), ints(&self.window)),
            ("stride".into(), ints(&self.stride)),
            ("dilation".into(), ints(&self.dilation)),
        ]
    }

    fn label(&self) -> String {
        format!("windows{:?}", self.window)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        Ok(vec![TensorType::new(inputs[0].dtype, self.result(&inputs[0].shape)?)])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
        let sum = WindowSum { windows: self.clone() };
        Ok(vec![Some(Variable::apply1(sum, &[g.clone(), at.inputs[0].clone()])?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(self.clone())
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let outer = at.inputs[0].variable.ndim().saturating_sub(self.window.len());
        at.along(self.clone(), true, |axis| (axis < outer).then_some(axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![self.view(&inputs[0])?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::windows(self, to, node, inputs)
    }

    fn passes_elements_on(&self, _: &[&TensorType]) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        if axis + self.window.len() < inputs[0].ndim() { vec![(0, axis)] } else { vec![] }
    }
}

impl Op for WindowSum {
    fn id(&self) -> &'static str {
        "window_sum"
    }

    fn attributes(&self) -> Attributes {
        self.windows.attributes()
    }

    fn label(&self) -> String {
        format!("window_sum{:?}", self.windows.window)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (value, like) = (inputs[0], inputs[1]);
        let want = self.windows.result(&like.shape)?;
        if !may_be_equal(&value.shape, &want) {
            return Err(format!(
                "expected windows of shape {} for an array like {like}, got {value}",
                static_shape_text(&want)
            ));
        }
        let outer = like.ndim() - self.windows.window.len();
        let known = |(axis, extent): (usize, &Option<usize>)| {
            if axis < outer { extent.or(value.shape[axis]) } else { *extent }
        };
        let shape: Vec<Option<usize>> = like.shape.iter().enumerate().map(known).collect();
        Ok(vec![TensorType::new(value.dtype, shape)])
    }
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        complex::by_parts(self.clone(), inputs)
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None, None]) };
        Ok(vec![Some(Variable::apply1(self.windows.clone(), std::slice::from_ref(g))?), None])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(Variable::apply1(self.clone(), &[at.repeated(0)?, at.repeated(1)?]))
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let outer = at.inputs[1].variable.ndim().saturating_sub(self.windows.window.len());
        match at.first_axis(0..2) {
            Some(axis) if axis < outer => at.elementwise(self.clone()),
            _ => Ok(None),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (value, like) = (&inputs[0], inputs[1].shape());
        self.shapes(&[Known::of(value), Known::of(&inputs[1])])
            .map_err(|m| Error::mismatch(self.label(), "windows that fit", m))?;
        let dtype = value.dtype();
        // The position of each element: the windows of an array of positions.
        let len = checked_len(like, DType::U64)?;
        let places = Value::from_vec(like, fallible::collected(0..len as u64)?)?;
        let places = self.windows.view(&places)?;
        let elements = places.scalars().map(|place| place.bits() as usize).zip(value.scalars());
        if dtype.is_float() {
            let mut sums = fallible::filled(0f64, len)?;
            elements.for_each(|(place, element)| sums[place] += element.to_f64());
            return Ok(vec![Value::from_vec(like, sums)?.cast(dtype)?]);
        }
        let mut sums = fallible::filled(0i128, len)?;
        elements.for_each(|(place, element)| sums[place] = sums[place].wrapping_add(element.to_i128()));
        Ok(vec![from_integers(dtype, like, &sums)?])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::window_sum(self, to, node, inputs)
    }

    fn read_inputs(&self, _: usize) -> usize {
        1
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(1, axis)]
    }
}

/// An array of integers or bools from numbers, which wrap; of bools each that is not 0 is true.
pub(super) fn from_integers(dtype: DType, shape: &[usize], numbers: &[i128]) -> Result<Value> {
    Value::filled(dtype, shape, |bytes| {
        for (element, &number) in bytes.chunks_exact_mut(dtype.size()).zip(numbers) {
            element.copy_from_slice(&Scalar::from_i128(dtype, number).to_le_bytes()[..dtype.size()]);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{effective_extent, window_count};

    #[test]
    fn windows_are_counted() {
        assert_eq!(effective_extent(3, 1), Ok(3));
        assert_eq!(effective_extent(3, 4), Ok(9));
        assert_eq!(effective_extent(1, usize::MAX), Ok(1));
        assert!(effective_extent(0, 1).is_err() && effective_extent(3, usize::MAX).is_err());
        assert_eq!(window_count(7, 3, 2), Some(3));
        assert_eq!(window_count(8, 3, 2), Some(3));
        assert_eq!(window_count(3, 3, 9), Some(1));
        assert_eq!(window_count(2, 3, 1), None);
    }
}
