//! How methods of Variables are declared, each with a `try_` form that returns the error at once.

use super::elemwise::elemwise;
use crate::error::{Error, Result};
use crate::graph::{IntoOperand, Operand, Variable, place};
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
    ($($(#[doc = $doc:literal])* $name:ident / $try_name:ident ($self_:ident $(, $arg:ident : $ty:ty)*) $body:block)*) => {
        impl $crate::graph::Variable {
            $(
                $(#[doc = $doc])*
                #[must_use]
                #[track_caller]
                pub fn $name(&self $(, $arg: $ty)*) -> $crate::graph::Variable {
                    self.$try_name($($arg),*).unwrap_or_else($crate::graph::Variable::poison)
                }

                #[doc = concat!("[`Variable::", stringify!($name), "`], with its error at once.\n\n# Errors\nIf the types do not fit.")]
                #[track_caller]
                pub fn $try_name(&self $(, $arg: $ty)*) -> $crate::error::Result<$crate::graph::Variable> {
                    let $self_ = self.checked()?;
                    let _scope = $crate::graph::place::enter();
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
    Error::Expression { op: op.into(), message, place: place::here() }
}

pub(super) use methods;
