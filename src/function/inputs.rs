//! Lists that `function()` and `apply` take, and an input with options.

use crate::error::{Error, Result};
use crate::graph::{Kind, Variable};
use crate::value::Value;
use std::collections::HashSet;

/// A list of `T`: an array, a `Vec` or another iterable of things that convert to `T`; a tuple of up to twelve different things that
/// do; or `()` for none.
///
/// `Form` keeps the two kinds of implementation apart and is always inferred.
///
/// ```
/// use workalike::prelude::*;
/// let (x, lr) = (vector::<f64>("x"), scalar::<f64>("lr"));
/// let f = function((&x, In::new(&lr).default(0.1))).output(&x * &lr).compile()?;
/// assert_eq!(f.call(args![vec![10.0]])?[0].to_vec::<f64>()?, [1.0]);
/// let g = function(()).output(shared("w", 2.0)).compile()?;
/// assert_eq!(g.call(args![])?[0].item::<f64>()?, 2.0);
/// # Ok::<(), workalike::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of `{T}`",
    note = "give an array or Vec of Variables, a tuple such as (&x, In::new(&y)), or () for none"
)]
pub trait IntoList<T, Form> {
    /// Its elements, in order.
    fn into_list(self) -> Vec<T>;
}

/// The `Form` of iterables.
#[derive(Debug)]
pub enum Iterable {}

impl<T, I: IntoIterator<Item: Into<T>>> IntoList<T, Iterable> for I {
    fn into_list(self) -> Vec<T> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<T> IntoList<T, ()> for () {
    fn into_list(self) -> Vec<T> {
        Vec::new()
    }
}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<T, $first: Into<T>, $($rest: Into<T>),*> IntoList<T, ($first, $($rest,)*)> for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_list(self) -> Vec<T> {
                let ($first, $($rest,)*) = self;
                vec![$first.into(), $($rest.into()),*]
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H I J K L);

/// An input with options; a plain Variable is one without.
#[derive(Clone, Debug)]
pub struct In {
    pub(super) variable: Variable,
    pub(super) name: Option<String>,
    pub(super) default: Option<Value>,
}

impl In {
    /// An input.
    pub fn new(variable: impl Into<Variable>) -> In {
        let variable = variable.into();
        In { name: variable.name().map(Into::into), variable, default: None }
    }

    /// The name by which a call may give it; the Variable's own unless said otherwise.
    #[must_use]
    pub fn name(mut self, name: &str) -> In {
        self.name = Some(name.into());
        self
    }

    /// The value it has in calls that do not give it.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> In {
        self.default = Some(value.into());
        self
    }
}

impl<V: Into<Variable>> From<V> for In {
    fn from(variable: V) -> In {
        In::new(variable)
    }
}

/// Checks that inputs are input Variables, each there once, with names and defaults that fit.
pub(super) fn check_inputs(inputs: &[In]) -> Result<()> {
    let (mut keys, mut names) = (HashSet::new(), HashSet::new());
    for input in inputs {
        let variable = input.variable.checked()?;
        let what = input.name.clone().unwrap_or_else(|| format!("{variable:?}"));
        if matches!(variable.kind(), Kind::Shared(_) | Kind::Constant(_)) {
            return Err(Error::Compile(format!("{what} is not an input Variable; use givens to replace it")));
        }
        if !keys.insert(variable.key()) {
            return Err(Error::Compile(format!("input {what} is given twice")));
        }
        if input.name.as_ref().is_some_and(|name| !names.insert(name.clone())) {
            return Err(Error::Compile(format!("two inputs are called {what}")));
        }
        if let Some(default) = &input.default {
            let converts = default.converts_to(variable.dtype(), default.ndim());
            if !converts || !variable.ty().admits_shape(default.shape()) {
                let given = crate::error::array_text(default.dtype(), default.shape());
                return Err(Error::mismatch(
                    format!("default of input {what}"),
                    variable.ty().to_string(),
                    given,
                ));
            }
        }
    }
    Ok(())
}
