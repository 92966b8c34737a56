//! The ops between complex numbers and their parts. No other op computes with complex numbers.

use super::{joined, view_as_complex, view_as_real};
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::op::{Batch, BatchedOutputs, Gradient, Known, Op, expect_inputs};
use crate::ops::batching::only;
use crate::ops::creation::zeros_like;
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::nest::PhaseKind;

/// Complex numbers of real and imaginary parts of equal shapes, both float32 or both float64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComplexOf;

/// The real parts of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealPart;

/// The imaginary parts of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImagPart;

/// Complex numbers `(..)` as real ones `(.., 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewAsReal;

/// Pairs of real numbers `(.., 2)` as complex numbers `(..)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewAsComplex;

fn is_part(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

/// The only input, which is complex.
fn complex_input<'a>(inputs: &[&'a TensorType]) -> Result<&'a TensorType, String> {
    expect_inputs(inputs.len(), 1)?;
    if inputs[0].dtype.is_complex() {
        Ok(inputs[0])
    } else {
        Err(format!("expected complex numbers, got {}", inputs[0]))
    }
}

/// A part of the views of pairs: the reals at this position of the last axis, which disappears.
fn part_of(pairs: &View, at: i64) -> View {
    let last = pairs.shape().len() - 1;
    let order: Vec<Option<usize>> = (0..last).map(Some).collect();
    pairs.slice(last, at, 1, Some(1), None).dimshuffle(&order)
}

fn part_in_memory(z: &Value, at: usize) -> Result<Vec<Value>> {
    let pairs = z.as_reals();
    let (rank, offset) = (z.ndim(), pairs.offset() + if z.is_empty() { 0 } else { at });
    Ok(vec![pairs.view_as(&pairs.shape()[..rank], &pairs.strides()[..rank], offset)?])
}

impl Op for ComplexOf {
    fn id(&self) -> &'static str {
        "complex"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 2)?;
        let (re, im) = (inputs[0], inputs[1]);
        let meet = |a: &Option<usize>, b: &Option<usize>| a.is_none() || b.is_none() || a == b;
        let alike = re.ndim() == im.ndim() && re.shape.iter().zip(&im.shape).all(|(a, b)| meet(a, b));
        if !is_part(re.dtype) || re.dtype != im.dtype || !alike {
            return Err(format!("expected two arrays of float32 or float64 of one type, got {re} and {im}"));
        }
        let shape: Vec<_> = re.shape.iter().zip(&im.shape).map(|(a, b)| a.or(*b)).collect();
        Ok(vec![TensorType::new(re.dtype.complex(), shape)])
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let Some(g) = &at.output_grads[0] else { return Ok(vec![None; 2]) };
        Ok(vec![Some(g.try_real()?), Some(g.try_imag()?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(joined(&at.repeated(0)?, &at.repeated(1)?))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let [re, im] = inputs else { return Err(Error::Internal("complex of other than two parts".into())) };
        if re.shape() != im.shape() {
            let (want, got) = (format!("{:?}", re.shape()), format!("{:?}", im.shape()));
            return Err(Error::mismatch("complex: the imaginary parts", want, got));
        }
        let (re, im) = (re.contiguous()?, im.contiguous()?);
        let size = re.dtype().size();
        let parts = [&re, &im].map(|part| part.contiguous_bytes().unwrap_or(&[]).chunks_exact(size));
        let [re_bytes, im_bytes] = parts;
        let joined = Value::filled(re.dtype().complex(), re.shape(), |out| {
            for (number, (re, im)) in out.chunks_exact_mut(2 * size).zip(re_bytes.zip(im_bytes)) {
                number[..size].copy_from_slice(re);
                number[size..].copy_from_slice(im);
            }
        })?;
        Ok(vec![joined])
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis), (1, axis)]
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let (dtype, shape) = (to.dtype(node.outputs[0]), to.shape(node.outputs[0]));
        let whole = View::whole(to.temp(dtype, &shape), &shape);
        let mut nest = NestBuilder::new("complex", inputs[0].shape(), &[]);
        let mut point = nest.phase(PhaseKind::Point, to.program());
        let at = At::axes(inputs[0].shape().len());
        for (position, input) in (0..).zip(inputs) {
            let value = point.load(input, &at);
            point.store_view(&part_of(&whole, position), &at, value);
        }
        point.finish();
        to.push(nest);
        Ok(vec![whole])
    }
}

/// The methods that real and imaginary parts share.
macro_rules! part_op {
    ($op:ident, $id:literal, $at:literal, $grad:expr) => {
        impl Op for $op {
            fn id(&self) -> &'static str {
                $id
            }

            fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
                let ty = complex_input(inputs)?;
                Ok(vec![ty.with_dtype(ty.dtype.real())])
            }

            fn takes_complex(&self) -> bool {
                true
            }

            fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
                let Some(g) = &at.output_grads[0] else { return Ok(vec![None]) };
                let grad: fn(&Variable, &Variable) -> Result<Variable> = $grad;
                Ok(vec![Some(grad(g, &zeros_like(g))?)])
            }

            fn batch(&self, at: &Batch) -> BatchedOutputs {
                at.broadcast(*self)
            }

            fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
                part_in_memory(&inputs[0], $at)
            }

            fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
                vec![(0, axis)]
            }

            fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
                Ok(vec![part_of(&inputs[0], $at)])
            }
        }
    };
}
part_op!(RealPart, "real_part", 0, |g, zeros| joined(g, zeros));
part_op!(ImagPart, "imag_part", 1, |g, zeros| joined(zeros, g));

impl Op for ViewAsReal {
    fn id(&self) -> &'static str {
        "view_as_real"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let ty = complex_input(inputs)?;
        let shape: Vec<_> = ty.shape.iter().copied().chain([Some(2)]).collect();
        Ok(vec![TensorType::new(ty.dtype.real(), shape)])
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].as_ref().map(view_as_complex)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(Variable::apply1(*self, &[at.with_axis(0)?]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].as_reals()])
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        if axis < inputs[0].ndim() { vec![(0, axis)] } else { vec![] }
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}

impl Op for ViewAsComplex {
    fn id(&self) -> &'static str {
        "view_as_complex"
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        match inputs[0].shape.split_last() {
            Some((None | Some(2), shape)) if is_part(inputs[0].dtype) => {
                Ok(vec![TensorType::new(inputs[0].dtype.complex(), shape)])
            }
            _ => Err(format!(
                "expected pairs of a real and an imaginary part along the last axis, of float32 or float64, \
                 got {}",
                inputs[0]
            )),
        }
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        match inputs[0].shape.split_last() {
            Some((2, shape)) => Ok(vec![shape.to_vec()]),
            _ => Err(format!("expected pairs along the last axis, got {}", inputs[0].ty())),
        }
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        Ok(vec![at.output_grads[0].as_ref().map(view_as_real)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        only(Variable::apply1(*self, &[at.with_axis(0)?]))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].as_complex()?])
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn lower(&self, _: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        Ok(vec![inputs[0].clone()])
    }
}
