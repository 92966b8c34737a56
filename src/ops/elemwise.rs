//! Elementwise ops: every row of the scalar op table, and the conversion between dtypes.

pub(crate) mod lower;

use super::methods::fail;
use super::sum_like::{may_repeat, sum_to};
use super::{Attr, Attributes, Batch, BatchedOutputs, DimShuffle, Gradient, Known, Op, expect_inputs};
use crate::dtype::DType;
use crate::error::{Error, Result, shape_text};
use crate::graph::Node;
use crate::graph::{Operand, TensorType, Variable, place};
use crate::kernels::Scalar;
use crate::kernels::ops::{Body, Build, Ex, ScalarOp, Slope};
use crate::lower::{Lowered, Lowering, View};
use crate::value::{Value, shrunk};
use std::any::Any;

/// A row of the scalar op table, applied to each element of inputs of equal rank. Inputs have the dtypes of
/// [`ScalarOp::signature`]; axes of extent 1 broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elemwise {
    /// The row.
    pub op: ScalarOp,
}

/// Conversion to another dtype, each element as [`Scalar::cast`].
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
pub(crate) fn broadcast_shapes(inputs: &[Known]) -> Result<Vec<usize>, String> {
    let mut shape = inputs.first().map_or(vec![], |k| k.shape.to_vec());
    for input in inputs {
        for (axis, (have, &extent)) in shape.iter_mut().zip(input.shape).enumerate() {
            if *have == 1 {
                *have = extent;
            } else if extent != 1 && extent != *have {
                let all: Vec<String> = inputs.iter().map(|k| shape_text(k.shape)).collect();
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

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![broadcast_shapes(inputs)?])
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

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let given: Vec<DType> = inputs.iter().map(Value::dtype).collect();
        let refuse = |message: String| Error::mismatch(self.label(), "inputs it accepts", message);
        let signature = self.op.signature(&given).ok_or_else(|| refuse(format!("{given:?}")))?;
        let known: Vec<Known> = inputs.iter().map(|v| Known { shape: v.shape(), value: None }).collect();
        let shape = broadcast_shapes(&known).map_err(refuse)?;
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

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::elemwise(self, to, node, inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
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

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        Ok(vec![inputs[0].shape.to_vec()])
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let smooth = at.inputs[0].dtype().is_float() && self.dtype.is_float();
        let grad = at.output_grads[0].as_ref().filter(|_| smooth);
        Ok(vec![grad.map(|g| cast(g, at.inputs[0].dtype())).transpose()?])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(*self)
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

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::cast(self, to, node, inputs)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `value` as `dtype`; itself if it already is.
pub(crate) fn cast(value: &Variable, dtype: DType) -> Result<Variable> {
    if value.dtype() == dtype {
        return Ok(value.checked()?.clone());
    }
    Variable::apply1(Cast { dtype }, std::slice::from_ref(value))
}

/// `op` applied with NumPy's rules: ranks padded on the left, dtypes promoted, Rust numbers weak.
#[track_caller]
pub(crate) fn elemwise(op: ScalarOp, operands: Vec<Operand>) -> Result<Variable> {
    let _scope = place::enter();
    use crate::kernels::ops::{EQ, GE, GT, LE, LT, NE, WHERE};
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
    let given: Vec<DType> = inputs.iter().map(Variable::dtype).collect();
    if let ([a, b], Some(mirrored)) = (&inputs[..], mirrored(op)) {
        match (a.dtype(), b.dtype()) {
            (signed, DType::U64) if signed.is_signed() => return compare_signed(op, a, b),
            (DType::U64, signed) if signed.is_signed() => return compare_signed(mirrored, b, a),
            _ => {}
        }
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

/// The comparison that says of `b` and `a` what this one says of `a` and `b`.
fn mirrored(op: ScalarOp) -> Option<ScalarOp> {
    use crate::kernels::ops::{EQ, GE, GT, LE, LT, NE};
    let pairs = [(EQ, EQ), (NE, NE), (LT, GT), (LE, GE), (GT, LT), (GE, LE)];
    pairs.iter().find(|(from, _)| *from == op).map(|(_, to)| *to)
}

/// A comparison of signed integers with uint64, which have no common integer dtype: exact, as in NumPy 2.
fn compare_signed(op: ScalarOp, signed: &Variable, unsigned: &Variable) -> Result<Variable> {
    use crate::kernels::ops::{EQ, GE, GT};
    // A negative number is below all others, and its bits are of another number.
    let same = elemwise(
        op,
        vec![Operand::Variable(cast(signed, DType::U64)?), Operand::Variable(unsigned.clone())],
    )?;
    match op {
        EQ | GT | GE => signed.try_greater_equal(0i64)?.try_and(same),
        _ => signed.try_less(0i64)?.try_or(same),
    }
}

/// Builds derivatives (and compositions) as Variables.
struct Symbolic {
    variables: Vec<Variable>,
}

impl Symbolic {
    fn push(&mut self, variable: Variable) -> Ex {
        self.variables.push(variable);
        self.variables.len() - 1
    }
}

impl Build for Symbolic {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let operands = args.iter().map(|&a| Operand::Variable(self.variables[a].clone())).collect();
        let result = elemwise(op, operands).unwrap_or_else(Variable::poison);
        self.push(result)
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let scalar = Scalar::from_f64(self.variables[like].dtype(), value);
        self.push(Variable::constant(Value::scalar(scalar)))
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        let result = cast(&self.variables[value], dtype).unwrap_or_else(Variable::poison);
        self.push(result)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.variables[value].dtype()
    }
}

/// Computes on whole host arrays of register dtypes and one shape: the reference.
struct Eager {
    values: Vec<Value>,
    error: Option<Error>,
}

impl Eager {
    fn push(&mut self, value: Result<Value>) -> Ex {
        let value = value.unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            self.values[0].clone()
        });
        self.values.push(value);
        self.values.len() - 1
    }
}

impl Build for Eager {
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex {
        let given: Vec<DType> = args.iter().map(|&a| self.values[a].dtype()).collect();
        let Some(signature) = op.signature(&given) else {
            return self.push(Err(Error::Internal(format!("{op:?} does not accept {given:?}"))));
        };
        let args: Vec<Ex> =
            args.iter().zip(&signature.args).map(|(&a, &d)| self.cast(a, d.register())).collect();
        match (&op.row().body, op.tiles(&signature)) {
            (Body::Composition(compose), _) => compose(self, &args),
            (_, Some(tiles)) => {
                let inputs: Vec<Value> = args.iter().map(|&a| self.values[a].clone()).collect();
                let result = run_tile(tiles.plain, &inputs, signature.result.register());
                self.push(result)
            }
            (_, None) => self.push(Err(Error::Internal(format!("{op:?} has no loop for {given:?}")))),
        }
    }

    fn constant(&mut self, like: Ex, value: f64) -> Ex {
        let like = &self.values[like];
        let scalar = Value::scalar(Scalar::from_f64(like.dtype(), value));
        let whole = scalar.broadcast_to(like.shape()).and_then(|v| v.contiguous());
        self.push(whole)
    }

    fn cast(&mut self, value: Ex, dtype: DType) -> Ex {
        if self.values[value].dtype() == dtype {
            return value;
        }
        let cast = self.values[value].cast(dtype);
        self.push(cast)
    }

    fn dtype(&self, value: Ex) -> DType {
        self.values[value].dtype()
    }
}

/// One primitive over contiguous arrays of one shape and of register dtypes.
fn run_tile(tile: crate::kernels::ops::TileFn, inputs: &[Value], result: DType) -> Result<Value> {
    const LANES: usize = 512;
    let shape = inputs.first().map_or(&[][..], Value::shape);
    let is_whole = |v: &Value| v.contiguous_bytes().is_some_and(|bytes| bytes.len() == v.byte_len());
    if !inputs.iter().all(is_whole) {
        return Err(shrunk());
    }
    let mut whole = true;
    let value = Value::filled(result, shape, |out| {
        let mut args = vec![vec![0u64; LANES]; inputs.len()];
        let mut lanes = vec![0u64; LANES];
        let len = out.len() / result.size();
        for start in (0..len).step_by(LANES) {
            let n = LANES.min(len - start);
            for (arg, value) in args.iter_mut().zip(inputs) {
                let size = value.dtype().size();
                let bytes = value.contiguous_bytes().unwrap_or(&[]);
                let part = bytes.get(start * size..(start + n) * size).unwrap_or(&[]);
                whole &= part.len() == n * size;
                bytemuck::cast_slice_mut::<u64, u8>(arg)[..part.len()].copy_from_slice(part);
            }
            let views: Vec<&[u8]> = args.iter().map(|arg| bytemuck::cast_slice(arg)).collect();
            tile(&views, bytemuck::cast_slice_mut(&mut lanes), n);
            let size = result.size();
            let done = &bytemuck::cast_slice::<u64, u8>(&lanes)[..n * size];
            out[start * size..(start + n) * size].copy_from_slice(done);
        }
    })?;
    // Memory that changes its length between two reads is an error of its owner.
    if whole { Ok(value) } else { Err(shrunk()) }
}
