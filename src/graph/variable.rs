//! Variables and Apply nodes: the immutable DAG that expressions build.

use super::place;
use super::shared::{Cell, SharedVariable};
use super::tensor_type::TensorType;
use crate::dtype::DType;
use crate::error::{Error, Place, Result};
use crate::kernels::Scalar;
use crate::ops::{Op, elemwise};
use crate::value::{Element, Value};
use half::{bf16, f16};
use std::fmt;
use std::sync::Arc;

/// A symbolic tensor: a cheap handle, cloned and shared at will.
///
/// Operators cannot return a `Result`. An ill-typed expression is a *poisoned* Variable: it holds the first
/// error and where it was written, passes it on to everything built from it, and `grad`, `compile` and
/// [`Variable::checked`] return it.
///
/// # Numbers in expressions
///
/// A Rust number beside a Variable is *weak* (as in NumPy 2 and JAX): it takes the dtype of what it meets, so
/// `0.1 * &g` of a float32 `g` is float32. Weak are `f64`, since that is what `0.1` is in Rust, integers and
/// `bool`, and what is made of these alone: `where_(&c, 1.0, 0.0)`, `full([2], 0.0)`, `1.0 - &mask`,
/// `x.extent(0)` and elementwise functions of them. On their own they are float64, int64 and bool. A weak
/// float beside integers gives a weak float64: `0.5 * &count * &x` is float32 if `x` is. `f32`, `f16` and
/// `bf16` are typed: `where_(&c, 1.0f32, 0.0f32)` is float32, and `&h * 2.0f32` of a float16 `h` too.
/// Variables promote as arrays do in NumPy: float32 and int64 to float64; [`cast`](Variable::cast) one of
/// them if that is too wide.
///
/// ```
/// use workalike::prelude::*;
/// let (x, n, mask) = (vector::<f32>("x"), scalar::<i64>("n"), vector::<bool>("mask"));
/// assert_eq!((2.0 * &x).dtype(), DType::F32);
/// assert_eq!((&x * (1.0 - &mask) / x.extent(0)).dtype(), DType::F32);
/// assert_eq!(where_(&mask, 1.0f32, 0.0f32).dtype(), DType::F32);
/// assert_eq!((&x * &n).dtype(), DType::F64);
/// ```
///
/// On the right of an operator, and as an argument of a method, stands any number. On the left only `f64` and
/// `i64` do: with more types there, Rust could not tell the type of a literal in `(2.0 * &x).sum(..)`. For
/// others rustc says ``cannot multiply `f32` by `&Variable` `` (E0277); write `&x * a` instead of `a * &x`,
/// or `constant(a) - &x`, `n as i64 - &x`.
#[derive(Clone)]
pub struct Variable(Arc<Inner>);

struct Inner {
    kind: Kind,
    ty: TensorType,
    name: Option<String>,
    /// Made of Rust numbers alone: see [`Variable`].
    weak: bool,
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
        Variable(Arc::new(Inner { kind, ty, name, weak: false }))
    }

    /// The same, which takes a float dtype that it meets, or again keeps its own.
    pub(crate) fn with_weakness(self, weak: bool) -> Variable {
        if self.0.weak == weak {
            return self;
        }
        let Inner { kind, ty, name, .. } = &*self.0;
        Variable(Arc::new(Inner { kind: kind.clone(), ty: ty.clone(), name: name.clone(), weak }))
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
        let Inner { kind, ty, weak, .. } = &*self.0;
        Variable::with_kind(kind.clone(), ty.clone(), Some(name.into())).with_weakness(*weak)
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

    /// Whether two handles stand for the same tensor.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, y) = (vector::<f32>("x"), vector::<f32>("x"));
    /// assert!(x.is_same(&x.clone()) && !x.is_same(&y));
    /// ```
    pub fn is_same(&self, other: &Variable) -> bool {
        self.key() == other.key()
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

/// One side of an operator: a Variable, or a Rust number, which is weak: see [`Variable`].
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
    pub(crate) fn default_dtype(&self) -> DType {
        match self {
            Operand::Variable(v) => v.dtype(),
            Operand::Int(_) => DType::I64,
            Operand::Float(_) => DType::F64,
            Operand::Bool(_) => DType::Bool,
        }
    }

    /// Whether it takes the dtype of what it meets.
    pub(crate) fn is_weak(&self) -> bool {
        match self {
            Operand::Variable(v) => v.0.weak,
            _ => true,
        }
    }

    /// The dtype that the Variables among operands promote to; weak ones take part only where no other is a
    /// float.
    fn strong(operands: &[Operand]) -> Option<DType> {
        let strong = |weak: bool| {
            let list =
                operands.iter().filter(move |o| matches!(o, Operand::Variable(_)) && o.is_weak() <= weak);
            list.map(Operand::default_dtype).reduce(DType::promote)
        };
        strong(false).filter(|dtype| dtype.is_float()).or_else(|| strong(true))
    }

    /// Whether a result of this dtype is weak: it is of a kind (integer, float) that only weak operands have.
    pub(crate) fn weaken(operands: &[Operand], result: DType) -> bool {
        let kind = |dtype: DType| u8::from(dtype != DType::Bool) + u8::from(dtype.is_float());
        let own = kind(result);
        let of = |weak: bool| {
            operands
                .iter()
                .filter(move |o| o.is_weak() == weak)
                .map(|o| kind(o.default_dtype()))
                .max()
                .unwrap_or(0)
        };
        operands.iter().all(Operand::is_weak) && own > 0 || of(true) == own && of(false) < own
    }

    /// Operands that are compared: a number that the others' dtype does not have keeps its place in the
    /// order.
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

    /// Resolves operands that meet in one op: weak ones take the others' dtype. A whole number that an
    /// integer dtype does not have is an error, in the Variable.
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
                Operand::Variable(v) if v.0.weak && dtype.is_float() && dtype != v.dtype() => {
                    return elemwise::cast(v, dtype).unwrap_or_else(Variable::poison);
                }
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
    u16 => Int as i128, u32 => Int as i128, u64 => Int as i128, usize => Int as i128, f64 => Float as f64,
    bool => Bool as bool
);

macro_rules! typed {
    ($($t:ty),*) => { $(impl IntoOperand for $t {
        fn into_operand(self) -> Operand {
            Operand::Variable(Variable::constant(self))
        }
    })* };
}
typed!(f32, f16, bf16);

impl From<&Variable> for Variable {
    fn from(variable: &Variable) -> Variable {
        variable.clone()
    }
}
impl From<&&Variable> for Variable {
    fn from(variable: &&Variable) -> Variable {
        (*variable).clone()
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
    use crate::ops::{full, where_};

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
        assert_eq!((&f * 2.0f32).dtype(), DType::F32);
        assert_eq!((&i * 2.0f32).dtype(), DType::F32);
        assert_eq!((scalar::<f64>("d") * 2.0f32).dtype(), DType::F64);
        assert_eq!((scalar::<f16>("h") * 2.0f32).dtype(), DType::F32);
        assert_eq!((scalar::<f16>("h") * 2.0).dtype(), DType::F16);
        assert_eq!((&f + &scalar::<i32>("k")).dtype(), DType::F64);
    }

    #[test]
    fn what_is_made_of_numbers_alone_is_weak() {
        let (f, i, mask) = (vector::<f32>("f"), vector::<i32>("i"), vector::<bool>("mask"));
        let narrow = |x: Variable, alone: DType| {
            assert_eq!(x.dtype(), alone);
            assert_eq!((&f * &x).dtype(), DType::F32, "{x:?}");
            assert_eq!((x.sqrt() + &f).dtype(), DType::F32, "{x:?}");
        };
        narrow(where_(&mask, 1.0, 0.0), DType::F64);
        narrow(where_(&mask, 1.0f32, 0.0), DType::F32);
        narrow(where_(&mask, 1, 0), DType::I64);
        narrow(1.0 - &mask, DType::F64);
        narrow(1 - &mask, DType::I64);
        narrow(full([2], 0.0), DType::F64);
        narrow(full([2], 0.0).named("zeros") * 2.0 + 1, DType::F64);
        narrow(f.extent(0), DType::I64);
        narrow((f.extent(0) - 1) / 2, DType::F64);
        narrow(0.5 * &i, DType::F64);
        // As arrays do in NumPy.
        for wide in
            [&i * 2, &i / 2, f.extent(0).cast(DType::I64), full([2], 0.0).cast(DType::F64), constant(1.0)]
        {
            assert_eq!((&f * &wide).dtype(), DType::F64, "{wide:?}");
        }
        assert_eq!((&i + f.extent(0)).dtype(), DType::I64);
        assert_eq!((scalar::<u8>("u") + f.extent(0)).dtype(), DType::I64);
    }
}
