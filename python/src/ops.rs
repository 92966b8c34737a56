//! The functions of the package by their names, which are NumPy's where NumPy has them.

mod convolutions;
mod groups;
mod linalg;
mod reductions;
mod shapes;
pub(crate) mod training;

use super::arguments::Arguments;
use super::errors::raised;
use super::place::at_caller;
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use workalike::graph::{Operand, Variable};
use workalike::kernels::ops::ScalarOp;
use workalike::ops::complex::{try_complex, try_from_polar, try_view_as_complex, try_view_as_real};

/// What a function makes.
pub(crate) enum Made {
    One(Variable),
    Several(Vec<Variable>),
}

impl From<Variable> for Made {
    fn from(variable: Variable) -> Made {
        Made::One(variable)
    }
}

/// A result of the library as one of a function here.
pub(crate) fn one(made: workalike::Result<Variable>) -> PyResult<Option<Made>> {
    let made = made.and_then(|made| made.checked().cloned());
    made.map(|made| Some(Made::One(made))).map_err(raised)
}

/// A row of the table of elementwise ops.
pub(crate) fn elementwise(name: &str, operands: Vec<Operand>) -> PyResult<Variable> {
    let Some(op) = ScalarOp::named(name) else {
        return Err(PyTypeError::new_err(format!("there is no elementwise op {name}")));
    };
    workalike::ops::elementwise(op, operands).map_err(raised)
}

/// Functions that this package tries, in order, until one knows the name.
type Family = for<'p> fn(&str, &mut Arguments<'p>) -> PyResult<Option<Made>>;

const FAMILIES: [Family; 7] =
    [rows, reductions::call, shapes::call, linalg::call, convolutions::call, training::call, groups::call];

/// Elementwise functions: rows of the table, and those that are composed.
fn rows(name: &str, given: &mut Arguments<'_>) -> PyResult<Option<Made>> {
    if let Some(op) = ScalarOp::named(name) {
        let operands = (0..op.row().arity).map(|at| given.operand(&format!("x{}", at + 1)));
        return elementwise(name, operands.collect::<PyResult<_>>()?).map(|made| Some(Made::One(made)));
    }
    let x = |given: &mut Arguments<'_>| given.variable("x");
    one(match name {
        "round" => x(given)?.try_round(),
        "rsqrt" => x(given)?.try_rsqrt(),
        "relu" => x(given)?.try_relu(),
        "gelu" => x(given)?.try_gelu(),
        "silu" => x(given)?.try_silu(),
        "bitwise_count" => x(given)?.try_bitwise_count(),
        "isclose" => {
            let (x, other) = (x(given)?, given.operand("other")?);
            x.try_isclose(other, given.get_or("rtol", 1e-5)?, given.get_or("atol", 1e-8)?)
        }
        "print" => {
            let (x, label) = (x(given)?, given.get::<String>("label")?);
            x.try_print(&label)
        }
        "assert_" => {
            let (x, condition) = (x(given)?, given.variable("condition")?);
            x.try_assert(condition, &given.get::<String>("message")?)
        }
        "in_bounds" => x(given)?.try_in_bounds(),
        "real" => x(given)?.try_real(),
        "imag" => x(given)?.try_imag(),
        "conj" => x(given)?.try_conj(),
        "angle" => x(given)?.try_angle(),
        "view_as_real" => try_view_as_real(x(given)?),
        "view_as_complex" => try_view_as_complex(x(given)?),
        "complex" => try_complex(given.variable("re")?, given.variable("im")?),
        "from_polar" => try_from_polar(given.variable("r")?, given.variable("theta")?),
        "transfer" => {
            let (x, context) = (x(given)?, given.get::<String>("context")?);
            x.try_transfer(&context)
        }
        _ => return Ok(None),
    })
}

/// Calls a function of the package.
pub(crate) fn call_with<'py>(
    py: Python<'py>,
    name: &str,
    args: Vec<Bound<'py, PyAny>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let made = at_caller(py, || {
        let mut given = Arguments::new(name, args, kwargs)?;
        for family in FAMILIES {
            if let Some(made) = family(name, &mut given)? {
                given.finish()?;
                return Ok(made);
            }
        }
        Err(PyTypeError::new_err(format!("there is no function {name}")))
    })??;
    match made {
        Made::One(variable) => Ok(PyVariable::made(py, variable)?.into_any()),
        Made::Several(list) => {
            let list = list.into_iter().map(|variable| PyVariable::made(py, variable));
            Ok(PyTuple::new(py, list.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind())
        }
    }
}

/// A function of the package by its name.
#[pyfunction]
#[pyo3(signature = (name, *args, **kwargs))]
pub(crate) fn call<'py>(
    py: Python<'py>,
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<PyAny>> {
    call_with(py, name, args.iter().collect(), kwargs)
}

/// The elementwise ops (name, number of arguments, what it computes), and the methods of Variables in Rust
/// (name, names of arguments, documentation): what the documentation of functions is made from.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two tables")]
pub(crate) fn methods()
-> (Vec<(&'static str, usize, &'static str)>, Vec<(&'static str, Vec<&'static str>, &'static str)>) {
    let rows = ScalarOp::all().map(|op| (op.row().name, op.row().arity, op.row().doc));
    let methods = workalike::ops::methods().into_iter().flat_map(|(_, methods)| methods);
    (rows.collect(), methods.map(|method| (method.name, method.arguments.to_vec(), method.doc)).collect())
}
