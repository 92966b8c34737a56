//! Elementwise ops: one row of one [table](TABLE) each, and everything else follows from the row.
//!
//! A row has an op's name, its dtype rule, its computation (a *primitive*: host loops and a C expression; or
//! a *composition* of other rows) and its derivative (again a composition). The graph op with its gradient,
//! the reference, the host device's loops and the text in both device languages follow from it. Compositions
//! and derivatives are written once against [`Build`], which the scalar IR and symbolic Variables both
//! implement.
//!
//! Formulas that are too long for a composition are functions over `Real` (see `real.rs`): the host runs them
//! as they are, devices get them as functions of their language. A function without a formula of fixed length
//! is a loop for the host only (`CForm::HostOnly`).
//!
//! To add an op, add a row to `table.rs`; nothing else.

mod divide;
mod host_loops;
mod philox;
mod position;
mod powers;
mod quotient;
mod range;
mod real;
mod rejection_sampling;
mod special;
mod table;
mod term;
pub mod vector;

pub use host_loops::{HostLoops, TileFn, lanes, lanes_mut};
pub use philox::philox4x32_10;
pub use position::position;
pub use table::*;

use crate::dtype::DType;
use crate::interval::Interval;
use std::fmt;

/// A handle to a value inside a [`Build`]er.
pub type Ex = usize;

/// A builder of compositions and derivatives: as scalar SSA, or as symbolic Variables.
pub trait Build {
    /// The value of `op` at `args`, which are promoted by the op's type rule.
    fn op(&mut self, op: ScalarOp, args: &[Ex]) -> Ex;
    /// A constant of the dtype of `like`.
    fn constant(&mut self, like: Ex, value: f64) -> Ex;
    /// `value` converted to `dtype`.
    fn cast(&mut self, value: Ex, dtype: DType) -> Ex;
    /// The dtype of a value.
    fn dtype(&self, value: Ex) -> DType;
}

/// How result and argument dtypes follow from the dtypes given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeRule {
    /// Arguments are promoted together; the result has the same dtype. Any dtype.
    Same,
    /// As `Same`, but bool is refused, as NumPy does for `-` .
    Number,
    /// As `Same`, with bool taken as int8 (NumPy's `square`).
    NumberOrI8,
    /// Promoted, then made float as NumPy's unary functions do (int8 to float16, int16 to float32, wider to
    /// float64).
    Float,
    /// Promoted; bool and every integer become float64 (NumPy's `true_divide`).
    TrueDivide,
    /// Promoted; the result is bool.
    Compare,
    /// Arguments are taken as bool (nonzero is true); the result is bool.
    Logical,
    /// First argument bool, the other two promoted together; the result has their dtype.
    Select,
    /// Promoted, as `Same`; floats are refused.
    Integral,
    /// As `Integral`, with bool taken as int8 (NumPy's shifts).
    IntegralOrI8,
    /// As `Float`, but only float32 and float64: a result in f32 would be meaningless for a half.
    Wide,
    /// All arguments and the result are u64.
    Bits,
    /// The first two arguments, a key and a counter, are u64; parameters and the result are float64.
    Draw,
}

/// How an op is computed.
pub enum OpBody {
    /// Loops over lanes on the host, and an expression in C.
    Primitive {
        /// The host loops for a register dtype, if the op computes in that dtype.
        host: fn(DType) -> Option<HostLoops>,
        /// The C expression.
        c: CForm,
    },
    /// From other ops; arguments come promoted to the op's computing dtype.
    Composition(fn(&mut dyn Build, &[Ex]) -> Ex),
}

/// A C expression over argument names.
#[derive(Clone, Copy)]
pub enum CForm {
    /// `a + b`.
    Infix(&'static str),
    /// `-a`.
    Prefix(&'static str),
    /// A math function: overloaded in OpenCL C; with suffix `f` for float in CUDA C++.
    Call(&'static str),
    /// A function of the prelude with this name in both languages, followed by `_` and the short register
    /// dtype.
    Helper(&'static str),
    /// Text in which `{0}`, `{1}`, `{2}` stand for the arguments.
    Template(&'static str),
    /// A form for each register dtype.
    By(fn(DType) -> CForm),
    /// A function of the prelude with the op's name; its text is printed from a formula.
    Written(fn(&mut dyn Build, &[Ex]) -> Ex),
    /// No C form: only the host's loops compute it. On other devices it is a host node.
    HostOnly,
}

/// The gradient contribution of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// The result does not depend on it smoothly.
    Flat,
    /// There is one, but the table has no formula for it.
    Unknown,
    /// This value.
    Is(Ex),
}

/// The gradient contribution of each argument, given arguments, result and the gradient of the result.
pub type Derivative = fn(&mut dyn Build, &[Ex], Ex, Ex) -> Vec<Slope>;

/// A range of the results, given ranges of the arguments and the dtype of the results.
pub type RangeRule = fn(&[Interval], DType) -> Interval;

/// One elementwise op.
pub struct OpTableRow {
    /// NumPy's or SciPy's name where there is one, else PyTensor's.
    pub name: &'static str,
    /// One line: what it computes.
    pub doc: &'static str,
    /// Number of arguments.
    pub arity: usize,
    /// The dtype rule.
    pub types: TypeRule,
    /// How it is computed.
    pub body: OpBody,
    /// `None`: the op is constant almost everywhere, or not differentiable; its gradient is zero.
    pub derivative: Option<Derivative>,
    /// Rough cost of one element in flops, for the cost model.
    pub flops: u32,
    /// Error bound in ulp of the result (f32 on devices; f64 on the host is within 2 ulp). 0: exact or
    /// correctly rounded.
    pub ulp: u32,
    /// For a special function: the error bound, also for float64 on the host, is `ulp` in units of the result
    /// or of this number, whichever is larger.
    pub scale: Option<f64>,
    /// Whether the result is discontinuous in an argument, as for `floor` and comparisons.
    pub jumps: bool,
    /// A range of the results from ranges of the arguments. `None` for a composition, where it follows from
    /// the parts, and where only the dtype is known.
    pub interval: Option<RangeRule>,
}

/// An elementwise op: a position in the [`TABLE`]. The constants ([`ADD`], [`EXP`], ...) name them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScalarOp(pub(crate) u16);

impl ScalarOp {
    /// The op's row.
    pub fn row(self) -> &'static OpTableRow {
        &TABLE[self.0 as usize]
    }

    /// The op of this name.
    pub fn named(name: &str) -> Option<ScalarOp> {
        TABLE.iter().position(|r| r.name == name).map(|i| ScalarOp(i as u16))
    }

    /// All ops.
    pub fn all() -> impl Iterator<Item = ScalarOp> {
        (0..TABLE.len() as u16).map(ScalarOp)
    }

    /// The dtypes in which the op takes its arguments and gives its result, for the dtypes given; `None` if
    /// NumPy would refuse them, if their number is not the op's arity, or if one is complex: kernels compute
    /// with real and imaginary parts.
    pub fn signature(self, given: &[DType]) -> Option<OpSignature> {
        let row = self.row();
        if given.len() != row.arity || given.is_empty() {
            return None;
        }
        let promoted = given.iter().copied().reduce(DType::promote).filter(|dtype| !dtype.is_complex())?;
        let all = |t: DType, result: DType| Some(OpSignature { args: vec![t; given.len()], result });
        match row.types {
            TypeRule::Same => all(promoted, promoted),
            TypeRule::Number if promoted == DType::Bool => None,
            TypeRule::Number => all(promoted, promoted),
            TypeRule::NumberOrI8 => {
                let t = promoted.promote(DType::I8);
                let t = if promoted == DType::Bool { t } else { promoted };
                all(t, t)
            }
            TypeRule::Float => all(promoted.to_float(), promoted.to_float()),
            TypeRule::Wide => {
                let t = promoted.to_float();
                if t.is_half() { None } else { all(t, t) }
            }
            TypeRule::Integral | TypeRule::IntegralOrI8 if promoted.is_float() => None,
            TypeRule::IntegralOrI8 if promoted == DType::Bool => all(DType::I8, DType::I8),
            TypeRule::Integral | TypeRule::IntegralOrI8 => all(promoted, promoted),
            TypeRule::TrueDivide => {
                let t = if promoted.is_float() { promoted } else { DType::F64 };
                all(t, t)
            }
            TypeRule::Compare => all(promoted, DType::Bool),
            TypeRule::Logical => all(DType::Bool, DType::Bool),
            TypeRule::Bits => all(DType::U64, DType::U64),
            TypeRule::Draw => {
                let mut args = vec![DType::F64; given.len()];
                args.iter_mut().take(2).for_each(|arg| *arg = DType::U64);
                Some(OpSignature { args, result: DType::F64 })
            }
            TypeRule::Select => {
                let value = given[1].promote(given[2]);
                Some(OpSignature { args: vec![DType::Bool, value, value], result: value })
            }
        }
    }

    /// Dtypes of arguments that are all of `dtype`, but where the rule fixes another.
    pub fn arguments_of(self, dtype: DType) -> Vec<DType> {
        let row = self.row();
        let mut all = vec![dtype; row.arity];
        match row.types {
            TypeRule::Select => all[0] = DType::Bool,
            TypeRule::Draw => all[..2].fill(DType::U64),
            _ => {}
        }
        all
    }

    /// Whether only the host's loops compute it: there is no text in the device languages.
    pub fn is_host_only(self) -> bool {
        matches!(self.row().body, OpBody::Primitive { c: CForm::HostOnly, .. })
    }

    /// The host loops for a signature: over lanes of register dtypes.
    pub fn tiles(self, signature: &OpSignature) -> Option<HostLoops> {
        match &self.row().body {
            OpBody::Primitive { host, .. } => host(signature.computing().register()),
            OpBody::Composition(_) => None,
        }
    }
}

impl fmt::Debug for ScalarOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)
    }
}

/// The result of [`ScalarOp::signature`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpSignature {
    /// The dtype each argument is converted to.
    pub args: Vec<DType>,
    /// The dtype of the result.
    pub result: DType,
}

impl OpSignature {
    /// The dtype in which the op computes: that of the last argument.
    pub fn computing(&self) -> DType {
        self.args.last().copied().unwrap_or(self.result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rows_are_complete() {
        for op in ScalarOp::all() {
            assert_eq!(ScalarOp::named(op.row().name), Some(op));
            assert!(!op.row().doc.is_empty());
            let signature = DType::REAL.iter().find_map(|d| op.signature(&vec![*d; op.row().arity]));
            let signature = signature.expect("some dtype is accepted");
            if matches!(op.row().body, OpBody::Primitive { .. }) {
                assert!(op.tiles(&signature).is_some(), "{op:?} has no loop for {signature:?}");
            }
        }
    }

    #[test]
    fn every_accepted_dtype_has_a_loop() {
        for op in ScalarOp::all() {
            for d in DType::REAL {
                let Some(signature) = op.signature(&vec![d; op.row().arity]) else { continue };
                if matches!(op.row().body, OpBody::Primitive { .. }) {
                    assert!(op.tiles(&signature).is_some(), "{op:?} {d}");
                }
            }
        }
    }
}
