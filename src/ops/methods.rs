//! How methods of Variables are declared, each with a `try_` form that returns the error at once.

use super::elemwise::{cast, elemwise};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use workalike_kernels::DType;
use workalike_kernels::ops::ScalarOp;

/// A method of Variables, as it is declared and documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name. There is also `try_` and the name, which gives the error at once.
    pub name: &'static str,
    /// The names of its arguments, but for the Variable itself.
    pub arguments: &'static [&'static str],
    /// What it computes, in rustdoc's Markdown.
    pub doc: &'static str,
}

/// Declares a method and its `try_` form from one definition.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])*
        $(#[doc(alias($($alias:literal),+))])?
        $name:ident / $try_name:ident ($self_:ident $(, $arg:ident : $ty:ty)*) $body:block
    )*) => {
        impl $crate::graph::Variable {
            $(
                $(#[doc = $doc])*
                $(#[doc(alias($($alias),+))])?
                #[must_use]
                #[track_caller]
                pub fn $name(&self $(, $arg: $ty)*) -> $crate::graph::Variable {
                    self.$try_name($($arg),*).unwrap_or_else($crate::graph::Variable::poison)
                }

                #[doc = concat!("[`Variable::", stringify!($name), "`], with its error at once.\n\n# Errors\nIf the types do not fit.")]
                #[track_caller]
                pub fn $try_name(&self $(, $arg: $ty)*) -> $crate::error::Result<$crate::graph::Variable> {
                    let $self_ = self.checked()?;
                    let _scope = $crate::graph::source_location::enter();
                    $body
                }
            )*
        }

        /// The methods that are declared here.
        pub(super) const METHODS: &[$crate::ops::Method] = &[$($crate::ops::Method {
            name: stringify!($name),
            arguments: &[$(stringify!($arg)),*],
            doc: concat!($($doc, " "),*),
        }),*];
    };
}

pub(super) fn unary(op: ScalarOp, x: &Variable) -> Result<Variable> {
    elemwise(op, vec![Operand::Variable(x.clone())])
}

pub(super) fn binary(op: ScalarOp, x: &Variable, y: impl IntoOperand) -> Result<Variable> {
    elemwise(op, vec![Operand::Variable(x.clone()), y.into_operand()])
}

#[track_caller]
pub(crate) fn fail(op: &str, message: String) -> Error {
    Error::Expression { op: op.into(), message, place: source_location::here() }
}

/// Declares functions of Variables, and perhaps another argument, with their `try_` forms.
macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident / $try_name:ident ($($x:ident),+ $(; $arg:ident : $ty:ty)?) $body:block
    )*) => { $(
        $(#[doc = $doc])*
        #[must_use]
        #[track_caller]
        pub fn $name($($x: impl Into<Variable>),+ $(, $arg: $ty)?) -> Variable {
            $try_name($($x),+ $(, $arg)?).unwrap_or_else(Variable::poison)
        }

        #[doc = concat!("[`", stringify!($name), "()`], with its error at once.")]
        #[doc = ""]
        #[doc = "# Errors"]
        #[doc = "If the types do not fit."]
        #[track_caller]
        pub fn $try_name($($x: impl Into<Variable>),+ $(, $arg: $ty)?) -> Result<Variable> {
            $(let $x: Variable = $x.into();)+
            let _scope = source_location::enter();
            $body
        }
    )* };
}

/// An argument as float32 or float64, for ops that have no other dtype: integers and bools become float64,
/// halves are refused.
pub(super) fn floats(op: &str, x: &Variable) -> Result<Variable> {
    let x = x.checked()?;
    match x.dtype() {
        DType::F32 | DType::F64 => Ok(x.clone()),
        half if half.is_half() => Err(fail(
            op,
            format!("expected float32, float64 or integers, got {}; cast it to float32", x.ty()),
        )),
        _ => cast(x, DType::F64),
    }
}

pub(super) use {functions, methods};
