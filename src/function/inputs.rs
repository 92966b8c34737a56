//! Lists that `function()` and `apply` take, and inputs and outputs with options.

use super::callable::StateInput;
use super::conversion::Conversion;
use crate::error::{Error, Result};
use crate::graph::{Kind, SharedVariable, Variable};
use crate::value::Value;
use std::collections::HashSet;

/// An input with options; a plain Variable is one without.
#[derive(Clone, Debug)]
pub struct In {
    pub(super) variable: Variable,
    pub(super) name: Option<String>,
    pub(super) default: Option<Value>,
    pub(super) update: Option<Variable>,
    pub(super) conversion: Option<Conversion>,
    pub(super) mutable: bool,
}

impl In {
    /// An input.
    pub fn new(variable: impl Into<Variable>) -> In {
        let variable = variable.into();
        let name = variable.name().map(Into::into);
        In { name, variable, default: None, update: None, conversion: None, mutable: false }
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

    /// The input keeps a value between calls: at first its default, after each call the value of this
    /// expression. A call may pass another value (after all inputs without an update, or by name), which
    /// replaces the value before the call.
    ///
    /// The value is a shared variable of the input's name: [`Function::shared`](super::Function::shared)
    /// returns it, files and Simulators keep it. A call on a Simulator that passes a value waits for the
    /// device.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, s) = (scalar::<f64>("x"), scalar::<f64>("s"));
    /// let f = function((&x, In::new(&s).default(0.0).update(&s + &x))).output(&s + &x).compile()?;
    /// f.call(args![1.0])?;
    /// assert_eq!(f.call(args![2.0])?[0].item::<f64>()?, 3.0);
    /// assert_eq!(f.call(args![1.0; s = 10.0])?[0].item::<f64>()?, 11.0);
    /// assert_eq!(f.shared("s")?.get_value()?.item::<f64>()?, 11.0);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn update(mut self, value: impl Into<Variable>) -> In {
        self.update = Some(value.into());
        self
    }

    /// Only arguments of the input's own dtype are accepted: see [`Conversion::Strict`].
    #[must_use]
    pub fn strict(mut self) -> In {
        self.conversion = Some(Conversion::Strict);
        self
    }

    /// Arguments that lose precision are accepted, such as float64 arrays for a float32 input: see
    /// [`Conversion::Downcast`].
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let f = function([In::new(&x).allow_downcast()]).output(&x + 1.0).compile()?;
    /// assert_eq!(f.call(args![vec![0.5f64]])?[0].to_vec::<f32>()?, [1.5]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn allow_downcast(mut self) -> In {
        self.conversion = Some(Conversion::Downcast);
        self
    }

    /// A call may overwrite a device array that is passed for this input and has no other owner: it is
    /// donated, as by [`DeviceArray::donate`](crate::engine::DeviceArray::donate). Host arrays are never
    /// written to, since handles share them.
    #[must_use]
    pub fn mutable(mut self) -> In {
        self.mutable = true;
        self
    }
}

/// An output with options; a plain Variable is one without.
#[derive(Clone, Debug)]
pub struct Out {
    pub(super) variable: Variable,
    pub(super) name: Option<String>,
    pub(super) borrow: bool,
}

impl Out {
    /// An output, under the Variable's name if it has one.
    pub fn new(variable: impl Into<Variable>) -> Out {
        let variable = variable.into();
        Out { name: variable.name().map(Into::into), variable, borrow: false }
    }

    /// The name by which [`Outputs`](super::Outputs) has it.
    #[must_use]
    pub fn name(mut self, name: &str) -> Out {
        self.name = Some(name.into());
        self
    }

    /// Whether the output may stay on the device until the Simulator is used again.
    /// [`Simulator::call_borrowed`](crate::engine::Simulator::call_borrowed) lends every output;
    /// [`Borrowed::outputs`](crate::engine::Borrowed::outputs) copies the outputs that are not marked to the
    /// host, so that a large array stays on the device while a number is read. All other calls copy every
    /// output.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let x = vector::<f32>("x");
    /// let twice = Out::new(&x * 2.0).borrow(true);
    /// let f = function([&x]).output(twice).output_named("sum", x.sum(..)).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let lent = sim.call_borrowed(args![vec![1f32, 2.0]])?;
    /// let outputs = lent.outputs()?; // the sum alone
    /// assert_eq!((outputs.len(), outputs["sum"].item::<f32>()?), (1, 3.0));
    /// assert_eq!(lent.array(0)?.shape(), [2]);
    /// # Ok::<(), workalike::Error>(())
    /// ```
    #[must_use]
    pub fn borrow(mut self, borrow: bool) -> Out {
        self.borrow = borrow;
        self
    }
}

impl<V: Into<Variable>> From<V> for Out {
    fn from(variable: V) -> Out {
        Out::new(variable)
    }
}

/// The shared variables that hold the values of inputs with an update, which come last; and their options.
pub(super) fn states(inputs: &[In]) -> Result<Vec<(SharedVariable, StateInput)>> {
    let mut states = Vec::new();
    for (position, input) in inputs.iter().enumerate() {
        let what = input.name.clone().unwrap_or_else(|| position.to_string());
        if input.update.is_none() {
            if !states.is_empty() {
                return Err(Error::Compile(format!(
                    "input {what} must come before the inputs with an update"
                )));
            }
            continue;
        }
        let Some(value) = &input.default else {
            return Err(Error::Compile(format!(
                "input {what} has an update and needs a default to start from"
            )));
        };
        let (ty, name) = (input.variable.ty(), input.name.clone());
        let value = value.cast(ty.dtype)?;
        let dynamic: Vec<usize> = (0..ty.ndim()).filter(|&axis| ty.shape[axis].is_none()).collect();
        let shared = SharedVariable::build(&what, value, &dynamic, None)?;
        let conversion = input.conversion.unwrap_or_default();
        states.push((shared, StateInput { name, shared: 0, conversion }));
    }
    Ok(states)
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
            let message =
                format!("two inputs are called {what}; name one of them with In::new(..).name(\"..\")");
            return Err(Error::Compile(message));
        }
        if let Some(default) = &input.default {
            let conversion = input.conversion.unwrap_or_default();
            let converted = conversion.convert(default, variable.dtype(), default.ndim())?;
            if converted.is_none() || !variable.ty().admits_shape(default.shape()) {
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
