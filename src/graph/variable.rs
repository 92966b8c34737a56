//! Variables and Apply nodes: the immutable DAG that expressions build.

use super::cell::Cell;
use super::shared::SharedVariable;
use super::source_location;
use super::source_location::Place;
use super::tensor_type::TensorType;
use crate::error::{Error, Result};
use crate::op::Op;
use crate::value::{Element, Value};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workalike_kernels::DType;

/// A symbolic tensor: a cheap handle, cloned and shared at will.
///
/// Operators cannot return a `Result`. An ill-typed expression is a *poisoned* Variable: it holds the first
/// error and where it was written, and so does everything built from it. `grad`, `compile` and
/// [`Variable::checked`] return that error.
///
/// # Numbers in expressions
///
/// A Rust number beside a Variable is *weak* (as in NumPy 2 and JAX): it takes the other operand's dtype, so
/// `0.1 * &g` of a float32 `g` is float32. Weak are `f64` (the type of `0.1` in Rust), integers and `bool`,
/// and expressions of these alone: `where_(&c, 1.0, 0.0)`, `full([2], 0.0)`, `1.0 - &mask`, `x.extent(0)` and
/// elementwise functions of them. Without another operand they are float64, int64 and bool. A weak float
/// beside integers gives a weak float64: `0.5 * &count * &x` is float32 if `x` is. `f32`, `f16` and `bf16`
/// are typed: `where_(&c, 1.0f32, 0.0f32)` is float32, and `&h * 2.0f32` of a float16 `h` too. Variables
/// promote as arrays do in NumPy: float32 and int64 to float64; [`cast`](Variable::cast) one of them if that
/// is too wide.
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
/// Any number may be the right operand of an operator, or an argument of a method. The left operand may be an
/// `f64` or `i64` only: with more types, Rust could not infer the type of a literal in `(2.0 * &x).sum(..)`.
/// For others rustc says ``cannot multiply `f32` by `&Variable` `` (E0277); write `&x * a` instead of `a *
/// &x`, or `constant(a) - &x`, `n as i64 - &x`.
#[derive(Clone)]
pub struct Variable(Arc<VariableData>);

struct VariableData {
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
    /// MemberArray between calls.
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
    /// Its inputs.
    pub inputs: Vec<Variable>,
    /// The types of its outputs.
    pub types: Vec<TensorType>,
    /// Where it was written.
    pub place: Place,
    /// How many were made before it.
    number: u64,
}

/// The number of Apply nodes that were made.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Apply {
    pub(crate) fn new(op: Arc<dyn Op>, inputs: Vec<Variable>, types: Vec<TensorType>, place: Place) -> Apply {
        Apply { op, inputs, types, place, number: MADE.fetch_add(1, Ordering::Relaxed) }
    }

    /// A point in time: see [`Apply::is_since`].
    pub(crate) fn now() -> u64 {
        MADE.load(Ordering::Relaxed)
    }

    /// Whether it was made after this point in time.
    pub(crate) fn is_since(&self, then: u64) -> bool {
        self.number >= then
    }
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

/// Why an op has no result of this type, which is complex.
pub(super) fn no_complex(ty: &TensorType) -> String {
    format!("it computes with no complex numbers, got {ty}; use the parts, `real()` and `imag()`")
}

impl Variable {
    pub(crate) fn with_kind(kind: Kind, ty: TensorType, name: Option<String>) -> Variable {
        Variable(Arc::new(VariableData { kind, ty, name, weak: false }))
    }

    /// The same Variable, weak or not: see [`Variable`].
    pub(crate) fn with_weakness(self, weak: bool) -> Variable {
        if self.0.weak == weak {
            return self;
        }
        let VariableData { kind, ty, name, .. } = &*self.0;
        Variable(Arc::new(VariableData { kind: kind.clone(), ty: ty.clone(), name: name.clone(), weak }))
    }

    /// Whether it is made of Rust numbers alone.
    pub(crate) fn is_weak(&self) -> bool {
        self.0.weak
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
        Variable::apply_at(Arc::new(op), inputs, source_location::here())
    }

    pub(crate) fn apply_at(op: Arc<dyn Op>, inputs: &[Variable], place: Place) -> Result<Vec<Variable>> {
        for input in inputs {
            input.checked()?;
        }
        let complex = |ty: &TensorType| ty.dtype.is_complex() && !op.takes_complex();
        if inputs.iter().any(|input| complex(input.ty()))
            && let Some(outputs) = op.on_complex(inputs)?
        {
            return Ok(outputs);
        }
        let given: Vec<&TensorType> = inputs.iter().map(|v| v.ty()).collect();
        let types = op.types(&given).and_then(|types| {
            match given.iter().copied().chain(&types).find(|ty| complex(ty)) {
                Some(ty) => Err(no_complex(ty)),
                None => Ok(types),
            }
        });
        let types = types.map_err(|message| Error::Expression { op: op.label(), message, place })?;
        let apply = Arc::new(Apply::new(op, inputs.to_vec(), types, place));
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
        let mut outputs = Variable::apply_at(Arc::new(op), inputs, source_location::here())?;
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

    /// Its kind.
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
        let VariableData { kind, ty, weak, .. } = &*self.0;
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

    /// A key that is equal for two handles exactly if they stand for the same tensor.
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
impl From<&&SharedVariable> for Variable {
    fn from(variable: &&SharedVariable) -> Variable {
        (***variable).clone()
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
}
