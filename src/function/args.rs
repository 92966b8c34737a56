//! Arguments of a call: positional and by name, host values, device arrays, sequences.

use super::callable::Function;
use super::conversion::Conversion;
use super::each::EachArg;
use crate::engine::{BorrowedArray, DeviceArray, DeviceView};
use crate::error::{Error, Result, array_text};
use crate::value::{Element, Value};
use std::ops::Range;
use workalike_kernels::DType;

/// One argument, which may be borrowed from another Simulator's last call.
#[derive(Clone, Debug)]
pub enum ArgIn<'a> {
    /// A host array.
    Value(Value),
    /// An array on the device.
    Device(DeviceArray),
    /// A part of an array on the device, or its elements in another order.
    View(DeviceView),
    /// A sequence: `run_n` takes one slice along the first axis per iteration.
    Each(EachArg),
    /// An output of [`Simulator::call_borrowed`](crate::engine::Simulator::call_borrowed).
    Borrowed(BorrowedArray<'a>),
}

/// One argument that borrows nothing.
pub type Arg = ArgIn<'static>;

impl<T: Into<Value>> From<T> for ArgIn<'_> {
    fn from(value: T) -> Self {
        ArgIn::Value(value.into())
    }
}

impl From<DeviceArray> for ArgIn<'_> {
    fn from(array: DeviceArray) -> Self {
        ArgIn::Device(array)
    }
}

impl From<&DeviceArray> for ArgIn<'_> {
    fn from(array: &DeviceArray) -> Self {
        ArgIn::Device(array.clone())
    }
}

impl From<DeviceView> for ArgIn<'_> {
    fn from(view: DeviceView) -> Self {
        ArgIn::View(view)
    }
}

impl From<&DeviceView> for ArgIn<'_> {
    fn from(view: &DeviceView) -> Self {
        ArgIn::View(view.clone())
    }
}

impl<'a> From<BorrowedArray<'a>> for ArgIn<'a> {
    fn from(array: BorrowedArray<'a>) -> Self {
        ArgIn::Borrowed(array)
    }
}

/// An array of zeros of this shape that takes no memory: for plans
/// ([`Simulator::memory_report`](crate::engine::Simulator::memory_report)), where only shapes matter.
///
/// # Errors
/// If there are more elements than can be counted.
pub fn of_shape<T: Element>(shape: &[usize]) -> Result<Value> {
    Value::zeros(T::DTYPE, &[])?.broadcast_to(shape)
}

impl From<EachArg> for ArgIn<'_> {
    fn from(each: EachArg) -> Self {
        ArgIn::Each(each)
    }
}

/// The arguments of a call; made by [`crate::args!`].
#[derive(Clone, Debug, Default)]
pub struct ArgsIn<'a> {
    positional: Vec<ArgIn<'a>>,
    named: Vec<(String, ArgIn<'a>)>,
}

/// Arguments that borrow nothing.
pub type Args = ArgsIn<'static>;

impl<'a> ArgsIn<'a> {
    /// No arguments.
    pub fn new() -> ArgsIn<'a> {
        ArgsIn::default()
    }

    /// One more positional argument.
    #[must_use]
    pub fn with(mut self, arg: impl Into<ArgIn<'a>>) -> ArgsIn<'a> {
        self.positional.push(arg.into());
        self
    }

    /// The lengths of sequences.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = u64> {
        let all = self.positional.iter().chain(self.named.iter().map(|named| &named.1));
        all.filter_map(|arg| match arg {
            ArgIn::Each(sequence) => Some(sequence.len()),
            _ => None,
        })
    }

    /// The arguments of some iterations: parts of sequences.
    pub(crate) fn part(&self, iterations: Range<u64>) -> Result<ArgsIn<'a>> {
        let part = |arg: &ArgIn<'a>| match arg {
            ArgIn::Each(sequence) => sequence.part(&iterations).map(ArgIn::Each),
            other => Ok(other.clone()),
        };
        let named = self.named.iter().map(|(name, arg)| Ok((name.clone(), part(arg)?)));
        Ok(ArgsIn {
            positional: self.positional.iter().map(part).collect::<Result<_>>()?,
            named: named.collect::<Result<_>>()?,
        })
    }

    /// The arguments by position, and those by name.
    pub(super) fn into_lists(self) -> (Vec<ArgIn<'a>>, Vec<(String, ArgIn<'a>)>) {
        (self.positional, self.named)
    }

    /// One more argument by name.
    #[must_use]
    pub fn named(mut self, name: &str, arg: impl Into<ArgIn<'a>>) -> ArgsIn<'a> {
        self.named.push((name.into(), arg.into()));
        self
    }
}

/// What can be the arguments of a call: those of [`args!`](crate::args!), a tuple of up to eight values,
/// device arrays or sequences by position, or `()` for none. An array is one argument, not several: `(x,)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no list of arguments",
    note = "write args![..]: by position `args![x, 0.1]`, by name `args! {{\"x\" => x}}`; or a tuple, `(x, 0.1)`, \
            of one argument `(x,)`, and () for none"
)]
pub trait IntoArgs<'a> {
    /// The arguments.
    fn into_args(self) -> ArgsIn<'a>;
}

impl<'a> IntoArgs<'a> for ArgsIn<'a> {
    fn into_args(self) -> ArgsIn<'a> {
        self
    }
}

/// A copy: arrays are not copied. A device array that was donated is not given to the call, since `args`
/// still holds it.
impl<'a> IntoArgs<'a> for &ArgsIn<'a> {
    fn into_args(self) -> ArgsIn<'a> {
        self.clone()
    }
}

impl<'a> IntoArgs<'a> for () {
    fn into_args(self) -> ArgsIn<'a> {
        ArgsIn::new()
    }
}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<'a, $first: Into<ArgIn<'a>>, $($rest: Into<ArgIn<'a>>),*> IntoArgs<'a> for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_args(self) -> ArgsIn<'a> {
                let ($first, $($rest,)*) = self;
                ArgsIn { positional: vec![$first.into(), $($rest.into()),*], named: vec![] }
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H);

/// Arguments: by position `args![x, y]`, by name `args! {"x" => x, "lr" => 0.1}`, both `args![x; lr = 0.1]`;
/// sequences for `run_n` `args![each(xs), each(ys)]`. Inputs that have a default may be left out.
///
/// ```
/// use workalike::prelude::*;
/// let (x, lr) = (vector::<f64>("x"), scalar::<f64>("lr"));
/// let f = function([In::new(&x), In::new(&lr).default(0.5)]).output(&x * &lr).compile()?;
/// let x = Value::from(vec![2.0, 4.0]);
/// assert_eq!(f.call(args![&x])?[0].to_vec::<f64>()?, [1.0, 2.0]);
/// assert_eq!(f.call(args! {"lr" => 2.0, "x" => &x})?[0].to_vec::<f64>()?, [4.0, 8.0]);
/// assert_eq!(f.call(args![&x; lr = 1.0])?[0].to_vec::<f64>()?, [2.0, 4.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[macro_export]
macro_rules! args {
    ($($name:literal => $named:expr),+ $(,)?) => { $crate::function::ArgsIn::new()$(.named($name, $named))+ };
    ($($value:expr),* $(,)?) => { $crate::function::ArgsIn::new()$(.with($value))* };
    ($($value:expr),*; $($name:ident = $named:expr),+ $(,)?) => {
        $crate::function::ArgsIn::new()$(.with($value))*$(.named(stringify!($name), $named))+
    };
}

/// Removes the arguments for inputs with a value of their own from `args`, and returns them: positions among
/// the Function's shared variables, and new values.
pub(crate) fn state_args<'a>(
    function: &Function,
    mut args: ArgsIn<'a>,
) -> Result<(ArgsIn<'a>, Vec<(usize, Value)>)> {
    let states = function.state_inputs();
    if states.is_empty() {
        return Ok((args, vec![]));
    }
    let fail = |message: String| Error::Call { function: function.name().into(), message };
    let inputs = function.inputs().len();
    if args.positional.len() > inputs + states.len() {
        let most = inputs + states.len();
        return Err(fail(format!("takes {most} inputs, got {}", args.positional.len())));
    }
    let mut given: Vec<(usize, ArgIn<'a>)> = vec![];
    if args.positional.len() > inputs {
        given.extend(args.positional.split_off(inputs).into_iter().enumerate());
    }
    for (name, arg) in std::mem::take(&mut args.named) {
        match states.iter().position(|s| s.name.as_ref() == Some(&name)) {
            None => args.named.push((name, arg)),
            Some(at) if given.iter().any(|g| g.0 == at) => {
                return Err(fail(format!("input {name} is given twice")));
            }
            Some(at) => given.push((at, arg)),
        }
    }
    let value = |(at, arg): (usize, ArgIn<'a>)| {
        let state = &states[at];
        let what = state.name.clone().unwrap_or_else(|| (inputs + at).to_string());
        let value = match arg {
            ArgIn::Value(value) => value,
            ArgIn::Device(array) => array.to_value()?,
            ArgIn::View(view) => view.to_value()?,
            ArgIn::Borrowed(array) => array.to_value()?,
            ArgIn::Each(_) => {
                let message = format!("input {what} keeps a value of its own, so it takes no sequence");
                return Err(fail(message));
            }
        };
        let cell = function.cells().get(state.shared);
        let ty = cell.ok_or_else(|| Error::Internal("an input without its state".into()))?.ty();
        match state.conversion.convert(&value, ty.dtype, value.ndim())? {
            Some(value) if ty.admits_shape(value.shape()) => Ok((state.shared, value)),
            _ => {
                let got = array_text(value.dtype(), value.shape());
                Err(fail(format!("input {what}: expected {ty}, got {got}")))
            }
        }
    };
    let values = given.into_iter().map(value).collect::<Result<_>>()?;
    Ok((args, values))
}

/// One argument per input, in order: defaults filled in, dtypes converted as the input's
/// [`Conversion`](super::Conversion) allows, shapes checked.
pub(crate) fn bind<'a>(
    function: &Function,
    args: ArgsIn<'a>,
) -> Result<impl Iterator<Item = Result<ArgIn<'a>>>> {
    let fail = |message: String| Error::Call { function: function.name().into(), message };
    let specs = function.inputs();
    if args.positional.len() > specs.len() {
        return Err(fail(format!("takes {} inputs, got {}", specs.len(), args.positional.len())));
    }
    let mut bound: Vec<Option<ArgIn<'a>>> = args.positional.into_iter().map(Some).collect();
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
    Ok(bound.into_iter().enumerate().map(move |(position, arg)| bind_input(function, position, arg)))
}

/// The argument of one input: its default if none is given, its shape checked, its dtype converted.
fn bind_input<'a>(function: &Function, position: usize, arg: Option<ArgIn<'a>>) -> Result<ArgIn<'a>> {
    let fail = |message: String| Error::Call { function: function.name().into(), message };
    let spec = &function.inputs()[position];
    let name = || function.input_name(position);
    let Some(arg) = arg.or_else(|| spec.default.clone().map(ArgIn::Value)) else {
        return Err(fail(format!("input {} ({}) is missing", name(), spec.ty)));
    };
    let (dtype, shape): (DType, &[usize]) = match &arg {
        ArgIn::Value(value) => (value.dtype(), value.shape()),
        ArgIn::Device(array) => (array.dtype(), array.shape()),
        ArgIn::View(view) => (view.dtype(), view.shape()),
        ArgIn::Borrowed(array) => (array.dtype(), array.shape()),
        ArgIn::Each(sequence) => match sequence.shape() {
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
    let rank = shape.len();
    let mut refused =
        format!("input {}: expected {}, got {}; convert it first", name(), spec.ty, array_text(dtype, shape));
    if spec.conversion != Conversion::Downcast
        && matches!(arg, ArgIn::Value(_) | ArgIn::Each(EachArg::Host(_)))
    {
        refused += ", or let the call do so: In::new(..).allow_downcast()";
    }
    let convert = |value: &Value| match spec.conversion.convert(value, spec.ty.dtype, rank)? {
        Some(value) => Ok(value),
        None => Err(fail(refused.clone())),
    };
    match &arg {
        ArgIn::Value(value) => Ok(ArgIn::Value(convert(value)?)),
        ArgIn::Each(EachArg::Host(value)) => Ok(ArgIn::Each(EachArg::Host(convert(value)?))),
        _ => Err(fail(refused)),
    }
}
