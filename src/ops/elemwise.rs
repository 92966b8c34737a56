//! Elementwise ops: every row of the scalar op table, and the conversion between dtypes.

mod build;
mod compare;
pub(crate) mod lower;

use self::build::{Eager, Symbolic};
use super::methods::fail;
use super::shape::DimShuffle;
use super::sum_like::{may_repeat, sum_to};
use crate::error::{Error, Result, shape_text};
use crate::graph::source_location;
use crate::graph::{Node, Operand, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Holds, Known, Op, ShardedOutputs, Sharding, Shards,
    expect_inputs,
};
use crate::value::Value;
use workalike_kernels::DType;
use workalike_kernels::interval::Interval;
use workalike_kernels::ops::{
    ADD, Build, DIV, Ex, FLOOR_DIVIDE, MAXIMUM, MINIMUM, MUL, NEG, RIGHT_SHIFT, SUB, ScalarOp, Slope,
};

/// A row of the scalar op table, applied to each element of inputs of equal rank. Inputs have the dtypes of
/// [`ScalarOp::signature`]; axes of extent 1 broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elemwise {
    /// The row.
    pub op: ScalarOp,
}

/// Conversion to another dtype, each element as [`Scalar::cast`](workalike_kernels::Scalar::cast).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The new dtype.
    pub dtype: DType,
}

impl Elemwise {
    fn no_gradient(&self, position: usize) -> Error {
        let message = format!(
            "no formula for the gradient with respect to argument {position}; hold it constant (consider_constant) or give the gradient yourself"
        );
        fail(&self.label(), message)
    }
}

/// The static shape that elementwise inputs broadcast to.
pub(crate) fn broadcast_types(inputs: &[&TensorType]) -> Result<Vec<Option<usize>>, String> {
    let rank = inputs.first().map_or(0, |t| t.ndim());
    let all = || inputs.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(", ");
    if inputs.iter().any(|t| t.ndim() != rank) {
        return Err(format!("inputs differ in rank: {}", all()));
    }
    (0..rank)
        .map(|axis| {
            let mut extent = Some(1);
            for ty in inputs {
                match (extent, ty.shape[axis]) {
                    (_, Some(1)) => {}
                    (Some(1) | None, other) => extent = other.or(extent.filter(|&e| e != 1)),
                    (Some(a), Some(b)) if a != b => {
                        return Err(format!("axis {axis} does not broadcast: {}", all()));
                    }
                    _ => {}
                }
            }
            Ok(extent)
        })
        .collect()
}

/// The concrete shape that elementwise inputs broadcast to.
pub(crate) fn broadcast_shapes(shapes: &[&[usize]]) -> Result<Vec<usize>, String> {
    let mut shape = shapes.first().map_or(vec![], |shape| shape.to_vec());
    for &input in shapes {
        for (axis, (have, &extent)) in shape.iter_mut().zip(input).enumerate() {
            if *have == 1 {
                *have = extent;
            } else if extent != 1 && extent != *have {
                let all: Vec<String> = shapes.iter().map(|shape| shape_text(shape)).collect();
                return Err(format!("axis {axis} does not broadcast: {}", all.join(", ")));
            }
        }
    }
    Ok(shape)
}

impl Op for Elemwise {
    fn id(&self) -> &'static str {
        "elemwise"
    }

    fn attributes(&self) -> Attributes {
        vec![("op".into(), Attr::Text(self.op.row().name.into()))]
    }

    fn label(&self) -> String {
        self.op.row().name.into()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), self.op.row().arity)?;
        let given: Vec<DType> = inputs.iter().map(|t| t.dtype).collect();
        let signature = self.op.signature(&given).filter(|s| s.args == given);
        let signature = signature.ok_or_else(|| format!("dtypes {given:?} are not accepted"))?;
        Ok(vec![TensorType::new(signature.result, broadcast_types(inputs)?)])
    }

    // Not by way of types, which takes twice as long: most nodes are elementwise, and where values decide
    // extents, each call infers shapes.
    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let shapes: Vec<&[usize]> = inputs.iter().map(|known| known.shape).collect();
        Ok(vec![broadcast_shapes(&shapes)?])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let none = vec![None; at.inputs.len()];
        let (Some(derivative), Some(Some(g))) = (self.op.row().derivative, at.output_grads.first()) else {
            return Ok(none);
        };
        let mut symbolic = Symbolic { variables: at.inputs.to_vec() };
        let out = symbolic.push(at.outputs[0].clone());
        let g = symbolic.push(g.clone());
        let args: Vec<Ex> = (0..at.inputs.len()).collect();
        let grads = derivative(&mut symbolic, &args, out, g);
        let mut result = none;
        for (position, (slot, (input, grad))) in
            result.iter_mut().zip(at.inputs.iter().zip(grads)).enumerate()
        {
            *slot = match grad {
                _ if !input.dtype().is_float() => None,
                Slope::Flat => None,
                Slope::Is(grad) => {
                    let others = || at.inputs.iter().enumerate().filter(|(i, _)| *i != position);
                    let repeated = |axis: usize| {
                        others().any(|(_, other)| other.ty().shape[axis] != Some(1))
                            && may_repeat(input, &at.outputs[0], axis)
                    };
                    Some(sum_to(&symbolic.variables[grad], input, repeated)?)
                }
                // An error only if this gradient is used.
                Slope::Unknown => Some(Variable::poison(self.no_gradient(position))),
            };
        }
        Ok(result)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let term = |i: usize| at.term(i).is_some();
        let terms = match self.op {
            ADD | SUB => at.terms(*self, |_| false)?,
            NEG => at.of_sum(*self, at.terms(*self, |_| false)?),
            // One factor is the term of a sum, the other is the same for all.
            MUL if at.sharding(1) == Sharding::Replicated => at.of_sum(*self, at.terms(*self, |i| i == 1)?),
            MUL if at.sharding(0) == Sharding::Replicated => at.of_sum(*self, at.terms(*self, |i| i == 0)?),
            DIV if term(0) && at.sharding(1) == Sharding::Replicated => {
                at.of_sum(*self, at.terms(*self, |i| i == 1)?)
            }
            _ => None,
        };
        match terms {
            Some(terms) => Ok(Some(terms)),
            None => at.elementwise(*self),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let given: Vec<DType> = inputs.iter().map(Value::dtype).collect();
        let refuse = |message: String| Error::mismatch(self.label(), "inputs it accepts", message);
        let signature = self.op.signature(&given).ok_or_else(|| refuse(format!("{given:?}")))?;
        let shapes: Vec<&[usize]> = inputs.iter().map(Value::shape).collect();
        let shape = broadcast_shapes(&shapes).map_err(refuse)?;
        let mut eager = Eager { values: Vec::new(), error: None };
        for (value, dtype) in inputs.iter().zip(&signature.args) {
            eager.values.push(value.cast(dtype.register())?.broadcast_to(&shape)?.contiguous()?);
        }
        let args: Vec<Ex> = (0..inputs.len()).collect();
        let result = eager.op(self.op, &args);
        match eager.error {
            Some(error) => Err(error),
            None => Ok(vec![eager.values[result].cast(signature.result)?]),
        }
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        let wide = (0..inputs.len()).filter(|&i| inputs[i].ty().shape[axis] != Some(1));
        wide.map(|input| (input, axis)).collect()
    }

    fn element_bounds(&self, _: usize, _: &[Known], elements: &[Interval], _: &[usize]) -> Option<Interval> {
        Some(self.op.interval(elements))
    }

    fn ascends_along(&self, _: usize, axis: usize, inputs: &[Known], elements: &[Interval]) -> Holds {
        let ([a, b], [x, y]) = (inputs, elements) else { return Holds::Unknown };
        let varies = |input: &Known| input.shape.get(axis).is_some_and(|&extent| extent != 1);
        let input = match (varies(a), varies(b)) {
            (true, false) => 0,
            (false, true) => 1,
            _ => return Holds::Unknown,
        };
        let other = if input == 0 { y } else { x };
        // A result that may wrap may be anything in its dtype.
        let result = self.op.interval(elements);
        let wraps = result == Interval::of_dtype(result.dtype);
        let keeps_order = match self.op {
            MAXIMUM | MINIMUM => true,
            ADD => !wraps,
            SUB => !wraps && input == 0,
            MUL => !wraps && other.low >= 0.0,
            FLOOR_DIVIDE => input == 0 && other.low > 0.0,
            RIGHT_SHIFT => input == 0 && other.low >= 0.0,
            _ => false,
        };
        if keeps_order { Holds::As { input, axis } } else { Holds::Unknown }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::elemwise(self, to, node, inputs)
    }
}

impl Op for Cast {
    fn id(&self) -> &'static str {
        "cast"
    }

    fn attributes(&self) -> Attributes {
        vec![("dtype".into(), Attr::Type(self.dtype))]
    }

    fn label(&self) -> String {
        format!("cast_{}", self.dtype)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        Ok(vec![inputs[0].with_dtype(self.dtype)])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let smooth = at.inputs[0].dtype().is_float() && self.dtype.is_float();
        let grad = at.output_grads[0].as_ref().filter(|_| smooth);
        Ok(vec![grad.map(|g| cast(g, at.inputs[0].dtype())).transpose()?])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let floats = self.dtype.is_float() && at.inputs.iter().all(|x| x.variable.dtype().is_float());
        at.along(*self, floats, Some)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        Ok(vec![inputs[0].cast(self.dtype)?])
    }

    fn passes_elements_on(&self, inputs: &[&TensorType]) -> bool {
        let from = inputs[0].dtype;
        from.is_integer() && self.dtype.is_integer() && from.promote(self.dtype) == self.dtype
    }

    fn axis_sources(&self, axis: usize, _: &[Variable]) -> Vec<(usize, usize)> {
        vec![(0, axis)]
    }

    fn element_bounds(&self, _: usize, _: &[Known], elements: &[Interval], _: &[usize]) -> Option<Interval> {
        Some(elements.first()?.cast(self.dtype))
    }

    fn distinct_along(&self, _: usize, axis: usize) -> Holds {
        Holds::As { input: 0, axis }
    }

    fn ascends_along(&self, _: usize, axis: usize, _: &[Known], _: &[Interval]) -> Holds {
        Holds::As { input: 0, axis }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::cast(self, to, node, inputs)
    }
}

/// `value` as `dtype`; itself if it already is.
pub(crate) fn cast(value: &Variable, dtype: DType) -> Result<Variable> {
    if value.dtype() == dtype {
        return Ok(value.checked()?.clone());
    }
    if dtype.is_complex() || value.dtype().is_complex() {
        return super::complex::converted(value.checked()?, dtype);
    }
    Variable::apply1(Cast { dtype }, std::slice::from_ref(value))
}

/// `op` applied with NumPy's rules: ranks padded on the left, dtypes promoted, Rust numbers weak.
#[track_caller]
pub(crate) fn elemwise(op: ScalarOp, operands: Vec<Operand>) -> Result<Variable> {
    let _scope = source_location::enter();
    use workalike_kernels::ops::{EQ, GE, GT, LE, LT, NE, WHERE};
    // The condition does not take part in promotion.
    let condition = if op == WHERE && operands.len() == 3 { 1 } else { 0 };
    let chosen = operands[condition..].to_vec();
    let resolve = |operands| Operand::resolve_for(op.row().name, operands);
    let mut inputs = resolve(operands[..condition].to_vec());
    inputs.extend(match op {
        EQ | NE | LT | LE | GT | GE => resolve(Operand::compared(operands)),
        _ => resolve(chosen.clone()),
    });
    for input in &inputs {
        input.checked()?;
    }
    if inputs.iter().any(|input| input.dtype().is_complex()) {
        return super::complex::elementwise(op, &inputs);
    }
    let given: Vec<DType> = inputs.iter().map(Variable::dtype).collect();
    if let Some(compared) = compare::signed_with_unsigned(op, &inputs)? {
        return Ok(compared);
    }
    let signature = op
        .signature(&given)
        .ok_or_else(|| fail(op.row().name, format!("dtypes {given:?} are not accepted")))?;
    let rank = inputs.iter().map(Variable::ndim).max().unwrap_or(0);
    for (input, &dtype) in inputs.iter_mut().zip(&signature.args) {
        if input.dtype() != dtype {
            *input = match input.constant_value() {
                Some(value) => Variable::constant(value.cast(dtype)?),
                None => cast(input, dtype)?,
            };
        }
        *input = DimShuffle::pad_left(input, rank)?;
    }
    let outputs = Variable::apply(Elemwise { op }, &inputs)?;
    let output = outputs.into_iter().next();
    let output = output.ok_or_else(|| Error::Internal("an elementwise op without output".into()))?;
    Ok(output.with_weakness(Operand::weaken(&chosen, signature.result)))
}
