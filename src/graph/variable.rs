//! Variables and Apply nodes: the immutable DAG that expressions build.

use super::place;
use super::shared::{Cell, SharedVariable};
use super::tensor_type::TensorType;
use crate::dtype::DType;
use crate::error::{Error, Place, Result};
use crate::kernels::Scalar;
use crate::ops::Op;
use crate::value::{Element, Value};
use std::fmt;
use std::sync::Arc;

/// A symbolic tensor: a cheap handle, cloned and shared at will.
///
/// Operators cannot return a `Result`. An ill-typed expression is a *poisoned* Variable: it holds the first error and where
/// it was written, passes it on to everything built from it, and `grad`, `compile` and [`Variable::checked`] return it.
#[derive(Clone)]
pub struct Variable(Arc<Inner>);

struct Inner {
    kind: Kind,
    ty: TensorType,
    name: Option<String>,
}

/// What a Variable is.
#[derive(Clone)]
pub enum Kind {
    /// Given at each call.
    Input,
    /// Known when the graph is built.
    Constant(Constant),
    /// Held between calls.
    Shared(Arc<Cell>),
    /// Computed.
    Output {
        /// The node that computes it.
        apply: Arc<Apply>,
        /// Which of its outputs.
        index: usize,
    },
    /// An ill-typed expression.
    Poison(Error),
}

/// A constant's value.
#[derive(Clone)]
pub struct Constant(pub(crate) Value);

/// An op applied to inputs.
pub struct Apply {
    /// The op.
    pub op: Arc<dyn Op>,
    /// What it is applied to.
    pub inputs: Vec<Variable>,
    /// The types of its outputs.
    pub types: Vec<TensorType>,
    /// Where it was written.
    pub place: Place,
}

impl Drop for Apply {
    /// Drops a chain of any length without recursion.
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.inputs);
        while let Some(variable) = pending.pop() {
            let Some(inner) = Arc::into_inner(variable.0) else { continue };
            if let Kind::Output { apply, .. } = inner.kind
                && let Some(mut last) = Arc::into_inner(apply)
            {
                pending.append(&mut last.inputs);
            }
        }
    }
}

impl Variable {
    pub(crate) fn with_kind(kind: Kind, ty: TensorType, name: Option<String>) -> Variable {
        Variable(Arc::new(Inner { kind, ty, name }))
    }

    /// A new input.
    pub fn input(name: &str, ty: TensorType) -> Variable {
        Variable::with_kind(Kind::Input, ty, Some(name.into()))
    }

    /// A constant.
    pub fn constant(value: impl Into<Value>) -> Variable {
        let value = value.into();
        let ty = TensorType::fixed(value.dtype(), value.shape());
        Variable::with_kind(Kind::Constant(Constant(value)), ty, None)
    }

    /// A poisoned Variable.
    pub fn poison(error: Error) -> Variable {
        Variable::with_kind(Kind::Poison(error), TensorType::of_rank(DType::F32, 0), None)
    }

    /// `op` applied to `inputs`: all its outputs.
    ///
    /// # Errors
    /// The first poisoned input's error, or the op's own about the inputs' types.
    #[track_caller]
    pub fn apply(op: impl Op, inputs: &[Variable]) -> Result<Vec<Variable>> {
        Variable::apply_at(Arc::new(op), inputs, place::here())
    }

    pub(crate) fn apply_at(op: Arc<dyn Op>, inputs: &[Variable], place: Place) -> Result<Vec<Variable>> {
        for input in inputs {
            input.checked()?;
        }
        let given: Vec<&TensorType> = inputs.iter().map(|v| v.ty()).collect();
        let types =
            op.types(&given).map_err(|message| Error::Expression { op: op.label(), message, place })?;
        let apply = Arc::new(Apply { op, inputs: inputs.to_vec(), types, place });
        Ok((0..apply.types.len()).map(|i| Variable::output(&apply, i)).collect())
    }

    pub(crate) fn output(apply: &Arc<Apply>, index: usize) -> Variable {
        let kind = Kind::Output { apply: apply.clone(), index };
        Variable::with_kind(kind, apply.types[index].clone(), None)
    }

    /// `op` applied to `inputs`: its only output.
    #[track_caller]
    pub(crate) fn apply1(op: impl Op, inputs: &[Variable]) -> Result<Variable> {
        let label = op.label();
        let mut outputs = Variable::apply_at(Arc::new(op), inputs, place::here())?;
        outputs.pop().ok_or_else(|| Error::Internal(format!("{label} has no output")))
    }

    /// This Variable, or the error that poisons it.
    ///
    /// # Errors
    /// The error of the first ill-typed expression it was built from.
    pub fn checked(&self) -> Result<&Variable> {
        match &self.0.kind {
            Kind::Poison(error) => Err(error.clone()),
            _ => Ok(self),
        }
    }

    /// What it is.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Its type.
    pub fn ty(&self) -> &TensorType {
        &self.0.ty
    }

    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.0.ty.dtype
    }

    /// Its number of axes.
    pub fn ndim(&self) -> usize {
        self.0.ty.ndim()
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The same Variable under a name, for people and for outputs.
    #[must_use]
    pub fn named(&self, name: &str) -> Variable {
        Variable::with_kind(self.0.kind.clone(), self.0.ty.clone(), Some(name.into()))
    }

    /// The node that computes it, and which output it is.
    pub fn owner(&self) -> Option<(&Arc<Apply>, usize)> {
        match &self.0.kind {
            Kind::Output { apply, index } => Some((apply, *index)),
            _ => None,
        }
    }

    /// Its value, if it is a constant.
    pub fn constant_value(&self) -> Option<&Value> {
        match &self.0.kind {
            Kind::Constant(c) => Some(&c.0),
            _ => None,
        }
    }

    /// What two handles have in common exactly when they stand for the same tensor.
    pub(crate) fn key(&self) -> (usize, usize) {
        match &self.0.kind {
            Kind::Output { apply, index } => (Arc::as_ptr(apply) as usize, *index + 1),
            Kind::Shared(cell) => (Arc::as_ptr(cell) as usize, 0),
            _ => (Arc::as_ptr(&self.0) as usize, 0),
        }
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.0.kind {
            Kind::Input => "input".into(),
            Kind::Constant(c) => format!("{:?}", c.0),
            Kind::Shared(_) => "shared".into(),
            Kind::Output { apply, index } => format!("{}.{index}", apply.op.label()),
            Kind::Poison(error) => return write!(f, "<{error}>"),
        };
        match &self.0.name {
            Some(name) => write!(f, "{name}: {} = {what}", self.0.ty),
            None => write!(f, "{what}: {}", self.0.ty),
        }
    }
}

/// A constant of any dtype.
pub fn constant(value: impl Into<Value>) -> Variable {
    Variable::constant(value)
}

/// A 0-d input.
pub fn scalar<T: Element>(name: &str) -> Variable {
    Variable::input(name, TensorType::of_rank(T::DTYPE, 0))
}

/// A 1-d input.
pub fn vector<T: Element>(name: &str) -> Variable {
    Variable::input(name, TensorType::of_rank(T::DTYPE, 1))
}

/// A 2-d input.
pub fn matrix<T: Element>(name: &str) -> Variable {
    Variable::input(name, TensorType::of_rank(T::DTYPE, 2))
}

/// A 3-d input.
pub fn tensor3<T: Element>(name: &str) -> Variable {
    Variable::input(name, TensorType::of_rank(T::DTYPE, 3))
}

/// An input with these axes; `Some(1)` broadcasts.
pub fn tensor<T: Element>(name: &str, shape: impl Into<Vec<Option<usize>>>) -> Variable {
    Variable::input(name, TensorType::new(T::DTYPE, shape))
}

/// One side of an operator: a Variable, or a Rust number, which is *weak*: it takes the dtype of what it meets
/// (`0.1 * &g` keeps float32), as a Python number does.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A Variable.
    Variable(Variable),
    /// A whole number.
    Int(i128),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Variable(v) => write!(f, "{}", v.ty()),
            Operand::Int(n) => write!(f, "{n}"),
            Operand::Float(x) => write!(f, "{x:?}"),
            Operand::Bool(b) => write!(f, "{b}"),
        }
    }
}

impl Operand {
    /// The dtype it has if it meets no Variable, and its weight among weak operands.
    fn default_dtype(&self) -> DType {
        match self {
            Operand::Variable(v) => v.dtype(),
            Operand::Int(_) => DType::I64,
            Operand::Float(_) => DType::F64,
            Operand::Bool(_) => DType::Bool,
        }
    }

    /// The dtype that the Variables among operands promote to.
    fn strong(operands: &[Operand]) -> Option<DType> {
        let strong = operands.iter().filter(|o| matches!(o, Operand::Variable(_)));
        strong.map(Operand::default_dtype).reduce(DType::promote)
    }

    /// Operands that are compared: a number that the others' dtype does not have keeps its place in the order.
    pub(crate) fn compared(operands: Vec<Operand>) -> Vec<Operand> {
        let Some(strong) = Operand::strong(&operands).filter(|d| d.is_integer()) else { return operands };
        let placed = |operand| match operand {
            Operand::Int(n) if Scalar::from_i128(strong, n).to_i128() != n => match i64::try_from(n) {
                Ok(n) if strong.size() < 8 => Operand::Variable(Variable::constant(n)),
                // Beyond all 64 bits.
                _ => Operand::Float(if n < 0 { f64::NEG_INFINITY } else { f64::INFINITY }),
            },
            other => other,
        };
        operands.into_iter().map(placed).collect()
    }

    /// Resolves operands that meet in one op: weak ones take the others' dtype. A whole number that an integer dtype does not have is
    /// an error, in the Variable.
    #[track_caller]
    pub(crate) fn resolve(operands: Vec<Operand>) -> Vec<Variable> {
        Operand::resolve_for("a number", operands)
    }

    /// [`Operand::resolve`], with the op that an error names.
    pub(crate) fn resolve_for(op: &str, operands: Vec<Operand>) -> Vec<Variable> {
        let strong = Operand::strong(&operands);
        let weak = |own: DType| match strong {
            None => own,
            Some(d) if d.is_float() || own == DType::Bool => d,
            Some(d) if own == DType::I64 && d != DType::Bool => d,
            Some(_) => own,
        };
        let number = |operand: &Operand| {
            let dtype = weak(operand.default_dtype());
            let scalar = match operand {
                Operand::Variable(v) => return v.clone(),
                Operand::Int(n) => Scalar::from_i128(dtype, *n),
                Operand::Float(x) => Scalar::from_f64(dtype, *x),
                Operand::Bool(b) => Scalar::from_i128(dtype, i128::from(*b)),
            };
            match operand {
                Operand::Int(n) if dtype.is_integer() && scalar.to_i128() != *n => {
                    let message = format!("{n} is out of range for {dtype}; convert the other operand first");
                    Variable::poison(Error::Expression { op: op.into(), message, place: place::here() })
                }
                _ => Variable::constant(Value::scalar(scalar)),
            }
        };
        operands.iter().map(number).collect()
    }
}

/// What may stand beside a Variable in an operator.
pub trait IntoOperand {
    /// As an operand.
    fn into_operand(self) -> Operand;
}

impl IntoOperand for Operand {
    fn into_operand(self) -> Operand {
        self
    }
}
impl IntoOperand for Variable {
    fn into_operand(self) -> Operand {
        Operand::Variable(self)
    }
}
impl IntoOperand for &Variable {
    fn into_operand(self) -> Operand {
        Operand::Variable(self.clone())
    }
}
impl IntoOperand for SharedVariable {
    fn into_operand(self) -> Operand {
        Operand::Variable((*self).clone())
    }
}
impl IntoOperand for &SharedVariable {
    fn into_operand(self) -> Operand {
        Operand::Variable((**self).clone())
    }
}
macro_rules! weak {
    ($($t:ty => $kind:ident as $wide:ty),*) => { $(impl IntoOperand for $t {
        fn into_operand(self) -> Operand {
            Operand::$kind(self as $wide)
        }
    })* };
}
weak!(
    i8 => Int as i128, i16 => Int as i128, i32 => Int as i128, i64 => Int as i128, isize => Int as i128, u8 => Int as i128,
    u16 => Int as i128, u32 => Int as i128, u64 => Int as i128, usize => Int as i128, f32 => Float as f64,
    f64 => Float as f64, bool => Bool as bool
);

impl From<&Variable> for Variable {
    fn from(variable: &Variable) -> Variable {
        variable.clone()
    }
}
impl From<&SharedVariable> for Variable {
    fn from(variable: &SharedVariable) -> Variable {
        (**variable).clone()
    }
}
impl From<SharedVariable> for Variable {
    fn from(variable: SharedVariable) -> Variable {
        (*variable).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_chain_drops_without_recursion() {
        let mut x = scalar::<f32>("x");
        for _ in 0..200_000 {
            x = x + 1.0;
        }
        drop(x);
    }

    #[test]
    fn numbers_are_weak() {
        let f = scalar::<f32>("f");
        let i = scalar::<i8>("i");
        assert_eq!((0.1 * &f).dtype(), DType::F32);
        assert_eq!((2 * &i).dtype(), DType::I8);
        assert_eq!((0.5 * &i).dtype(), DType::F64);
        assert_eq!((&f + &scalar::<i32>("k")).dtype(), DType::F64);
    }
}
