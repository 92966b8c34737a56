//! Arguments of a call: positional and by name, host values, device arrays, sequences.

use super::callable::Function;
use crate::dtype::DType;
use crate::error::{Error, Result, array_text};
use crate::rehost::DeviceArray;
use crate::value::{Element, Value};

/// One argument.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A host array.
    Value(Value),
    /// An array on the device.
    Device(DeviceArray),
    /// A sequence: `run_n` takes a slice along the first axis at each step.
    Each(Value),
}

impl<T: Into<Value>> From<T> for Arg {
    fn from(value: T) -> Arg {
        Arg::Value(value.into())
    }
}

impl From<DeviceArray> for Arg {
    fn from(array: DeviceArray) -> Arg {
        Arg::Device(array)
    }
}

impl From<&DeviceArray> for Arg {
    fn from(array: &DeviceArray) -> Arg {
        Arg::Device(array.clone())
    }
}

/// A sequence for `run_n`: step `k` is given the `k`-th slice along the first axis.
pub fn each(sequence: impl Into<Value>) -> EachArg {
    EachArg(sequence.into())
}

/// An array of zeros of this shape that takes no memory: for plans ([`Simulator::memory_report`](crate::rehost::Simulator::memory_report)),
/// where only shapes matter.
///
/// # Errors
/// If there are more elements than can be counted.
pub fn of_shape<T: Element>(shape: &[usize]) -> Result<Value> {
    Value::zeros(T::DTYPE, &[])?.broadcast_to(shape)
}

/// Made by [`each`].
#[derive(Clone, Debug)]
pub struct EachArg(Value);

impl From<EachArg> for Arg {
    fn from(each: EachArg) -> Arg {
        Arg::Each(each.0)
    }
}

/// The arguments of a call; made by [`crate::args!`].
#[derive(Clone, Debug, Default)]
pub struct Args {
    positional: Vec<Arg>,
    named: Vec<(String, Arg)>,
}

impl Args {
    /// No arguments.
    pub fn new() -> Args {
        Args::default()
    }

    /// One more positional argument.
    #[must_use]
    pub fn with(mut self, arg: impl Into<Arg>) -> Args {
        self.positional.push(arg.into());
        self
    }

    /// One more argument by name.
    #[must_use]
    pub fn named(mut self, name: &str, arg: impl Into<Arg>) -> Args {
        self.named.push((name.into(), arg.into()));
        self
    }
}

/// Arguments: `args![x, y]`, `args![x; lr = 0.1]`, `args![each(xs), each(ys)]`.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { $crate::function::Args::new()$(.with($value))* };
    ($($value:expr),*; $($name:ident = $named:expr),+ $(,)?) => {
        $crate::function::Args::new()$(.with($value))*$(.named(stringify!($name), $named))+
    };
}

/// One argument per input, in order: defaults filled in, dtypes converted where nothing is lost, shapes checked.
pub(crate) fn bind(function: &Function, args: Args) -> Result<Vec<Arg>> {
    let fail = |message: String| Error::Call { function: function.name().into(), message };
    let specs = function.inputs();
    if args.positional.len() > specs.len() {
        return Err(fail(format!("takes {} inputs, got {}", specs.len(), args.positional.len())));
    }
    let mut bound: Vec<Option<Arg>> = args.positional.into_iter().map(Some).collect();
    bound.resize_with(specs.len(), || None);
    for (name, arg) in args.named {
        let position = specs.iter().position(|s| s.name.as_deref() == Some(name.as_str()));
        let Some(position) = position else {
            let known: Vec<&str> = specs.iter().filter_map(|s| s.name.as_deref()).collect();
            return Err(fail(format!("has no input {name}; its inputs are {}", known.join(", "))));
        };
        if bound[position].replace(arg).is_some() {
            return Err(fail(format!("input {name} is given twice")));
        }
    }
    bound
        .into_iter()
        .enumerate()
        .map(|(position, arg)| {
            let spec = &specs[position];
            let name = || function.input_name(position);
            let Some(arg) = arg.or_else(|| spec.default.clone().map(Arg::Value)) else {
                return Err(fail(format!("input {} ({}) is missing", name(), spec.ty)));
            };
            let (dtype, shape): (DType, &[usize]) = match &arg {
                Arg::Value(value) => (value.dtype(), value.shape()),
                Arg::Device(array) => (array.dtype(), array.shape()),
                Arg::Each(sequence) => match sequence.shape() {
                    [_, slice @ ..] => (sequence.dtype(), slice),
                    [] => {
                        return Err(fail(format!(
                            "input {}: a sequence needs a first axis, got a 0-d value",
                            name()
                        )));
                    }
                },
            };
            if !spec.ty.admits_shape(shape) {
                return Err(fail(format!(
                    "input {}: expected {}, got {}",
                    name(),
                    spec.ty,
                    array_text(dtype, shape)
                )));
            }
            if dtype == spec.ty.dtype {
                return Ok(arg);
            }
            let lossless = dtype.promote(spec.ty.dtype) == spec.ty.dtype
                || (shape.is_empty() && dtype.is_float() && spec.ty.dtype.is_float());
            match arg {
                Arg::Value(value) if lossless => Ok(Arg::Value(value.cast(spec.ty.dtype)?)),
                Arg::Each(value) if lossless => Ok(Arg::Each(value.cast(spec.ty.dtype)?)),
                _ => Err(fail(format!(
                    "input {}: expected {}, got {}; convert it first",
                    name(),
                    spec.ty,
                    array_text(dtype, shape)
                ))),
            }
        })
        .collect()
}
