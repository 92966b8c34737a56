//! Simulators as typed functions: dtypes and ranks are checked once, and arguments and results are Rust's
//! own.

use super::Simulator;
use crate::engine::storage::CallInput;
use crate::error::{Error, Result};
use crate::function::{ArgsIn, Function};
use crate::graph::TensorType;
use crate::value::{Element, Value};
use ndarray::{Array, Dimension};
use std::marker::PhantomData;
use workalike_kernels::DType;

/// A Rust type that is a tensor: an [`Element`], an `ndarray` array, a `Vec`.
pub trait TypedArray: Sized {
    /// Its element type.
    const DTYPE: DType;
    /// Number of axes; `None`: any.
    const RANK: Option<usize>;
    /// Converts to a Value.
    fn into_value(self) -> Value;
    /// Converts from a Value.
    ///
    /// # Errors
    /// If dtype or rank differs.
    fn from_value(value: Value) -> Result<Self>;
}

impl<T: Element> TypedArray for T
where
    Value: From<T>,
{
    const DTYPE: DType = T::DTYPE;
    const RANK: Option<usize> = Some(0);

    fn into_value(self) -> Value {
        Value::from(self)
    }

    fn from_value(value: Value) -> Result<T> {
        value.item()
    }
}

impl<T: Element> TypedArray for Vec<T> {
    const DTYPE: DType = T::DTYPE;
    const RANK: Option<usize> = Some(1);

    fn into_value(self) -> Value {
        Value::from(self)
    }

    fn from_value(value: Value) -> Result<Vec<T>> {
        value.to_vec()
    }
}

impl<T: Element, D: Dimension> TypedArray for Array<T, D> {
    const DTYPE: DType = T::DTYPE;
    const RANK: Option<usize> = D::NDIM;

    fn into_value(self) -> Value {
        Value::from(self)
    }

    fn from_value(value: Value) -> Result<Array<T, D>> {
        let rank = || D::NDIM.map_or("any".to_string(), |n| n.to_string());
        let array = value.to_array::<T>()?.into_dimensionality::<D>();
        array.map_err(|_| Error::mismatch("result", format!("{} axes", rank()), value.ndim().to_string()))
    }
}

/// Arguments or results: a tuple of [`TypedArray`]s.
pub trait TypedTuple: Sized {
    /// Element type and number of axes of each.
    fn types() -> Vec<(DType, Option<usize>)>;
    /// Converts to Values.
    fn into_values(self) -> Vec<Value>;
    /// Converts from Values, one for each type.
    ///
    /// # Errors
    /// If dtypes or ranks differ.
    fn from_values(values: Vec<Value>) -> Result<Self>;
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => { $(
        impl<$($name: TypedArray),*> TypedTuple for ($($name,)*) {
            fn types() -> Vec<(DType, Option<usize>)> {
                vec![$(($name::DTYPE, $name::RANK)),*]
            }

            #[allow(non_snake_case)] // The macro has one name for each type and its value.
            fn into_values(self) -> Vec<Value> {
                let ($($name,)*) = self;
                vec![$($name.into_value()),*]
            }

            #[allow(unused_variables, unused_mut)] // The empty tuple takes nothing.
            fn from_values(values: Vec<Value>) -> Result<Self> {
                let mut values = values.into_iter();
                Ok(($($name::from_value(values.next().ok_or_else(too_few)?)?,)*))
            }
        }
    )* };
}
tuples!(()(A)(A, B)(A, B, C)(A, B, C, D)(A, B, C, D, E)(A, B, C, D, E, F)(A, B, C, D, E, F, G)(
    A, B, C, D, E, F, G, H
));

fn too_few() -> Error {
    Error::mismatch("results", "a value for each type", "fewer")
}

/// A method of a Simulator as a function of Rust types; made by [`Simulator::typed`].
#[derive(Debug)]
pub struct Typed<'s, I, O> {
    simulator: &'s mut Simulator,
    method: usize,
    /// Whether some input has a fixed extent, which every call must have.
    fixed: bool,
    types: PhantomData<fn(I) -> O>,
}

impl Simulator {
    /// The first method as a function of Rust types. Dtypes, ranks and counts are checked here, once.
    ///
    /// ```
    /// use workalike::prelude::*;
    /// let (x, n) = (matrix::<f32>("x"), scalar::<i64>("n"));
    /// let f = function([&x, &n]).output((&x * n.cast(DType::F32)).sum(..)).compile()?;
    /// let mut sim = f.optimize(Host::auto())?;
    /// let mut f = sim.typed::<(Array2<f32>, i64), (f32,)>()?;
    /// assert_eq!(f.call((array![[1f32, 2.0]], 3))?, (9.0,));
    /// # Ok::<(), workalike::Error>(())
    /// ```
    ///
    /// # Errors
    /// If inputs or outputs differ in number, dtype or rank; the error names the first that differs.
    pub fn typed<I: TypedTuple, O: TypedTuple>(&mut self) -> Result<Typed<'_, I, O>> {
        self.typed_at(0)
    }

    pub(super) fn typed_at<I: TypedTuple, O: TypedTuple>(
        &mut self,
        method: usize,
    ) -> Result<Typed<'_, I, O>> {
        let function = &self.methods[method].function;
        let graph = function.graph();
        let inputs: Vec<&TensorType> = function.inputs().iter().map(|i| &i.ty).collect();
        let outputs: Vec<&TensorType> = graph.outputs.iter().map(|&id| &graph.var(id).ty).collect();
        check(function, "input", &inputs, &I::types(), |at| function.input_name(at))?;
        let name = |at: usize| function.output_names()[at].clone().unwrap_or_else(|| at.to_string());
        check(function, "output", &outputs, &O::types(), name)?;
        let fixed = inputs.iter().any(|ty| ty.shape.iter().any(Option::is_some));
        Ok(Typed { simulator: self, method, fixed, types: PhantomData })
    }
}

fn check(
    function: &Function,
    what: &str,
    types: &[&TensorType],
    given: &[(DType, Option<usize>)],
    name: impl Fn(usize) -> String,
) -> Result<()> {
    let fail = |message: String| Err(Error::Call { function: function.name().into(), message });
    if types.len() != given.len() {
        return fail(format!("has {} {what}s, and {} types were given", types.len(), given.len()));
    }
    for (at, (ty, &(dtype, rank))) in types.iter().zip(given).enumerate() {
        if ty.dtype != dtype || rank.is_some_and(|rank| rank != ty.ndim()) {
            let axes = rank.map_or("any number of axes".into(), |rank| format!("{rank} axes"));
            return fail(format!("{what} {} is {ty}, and the type given has {dtype} and {axes}", name(at)));
        }
    }
    Ok(())
}

impl<I: TypedTuple, O: TypedTuple> Typed<'_, I, O> {
    /// Calls it.
    ///
    /// # Errors
    /// If shapes do not fit, or the device fails.
    pub fn call(&mut self, inputs: I) -> Result<O> {
        let values = inputs.into_values();
        let function = &self.simulator.methods[self.method].function;
        if self.fixed {
            for (at, (value, spec)) in values.iter().zip(function.inputs()).enumerate() {
                if !spec.ty.admits_shape(value.shape()) {
                    let given = crate::error::array_text(value.dtype(), value.shape());
                    let message =
                        format!("input {}: expected {}, got {given}", function.input_name(at), spec.ty);
                    return Err(Error::Call { function: function.name().into(), message });
                }
            }
        }
        if self.simulator.is_probed(self.method) {
            let args = values.into_iter().fold(ArgsIn::new(), ArgsIn::with);
            let run = self.simulator.run(self.method, args)?;
            return O::from_values(self.simulator.executor.outputs(run)?);
        }
        let inputs: Vec<CallInput> = values.into_iter().map(CallInput::Host).collect();
        O::from_values(self.simulator.call_with(self.method, &inputs)?)
    }
}
