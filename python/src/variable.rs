//! Variables: the parts of expressions.

use super::arrays::{array_of, kept_value};
use super::dtypes;
use super::errors::raised;
use super::indexing::{At, entries_of};
use super::operand::operand_of;
use super::ops::{call_with, elementwise};
use super::place::at_caller;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use workalike::DType;
use workalike::graph::{Kind, Operand, TensorType, Variable};
use workalike::value::Value;

/// A symbolic array: an input, a shared variable, a constant, or the result of an op. Operators, methods and
/// NumPy's functions of Variables make new ones.
#[pyclass(name = "Variable", module = "workalike", frozen, subclass, weakref)]
pub(crate) struct PyVariable {
    pub(crate) variable: Variable,
}

impl PyVariable {
    pub(crate) fn made(py: Python<'_>, variable: Variable) -> PyResult<Py<PyVariable>> {
        let variable = variable.checked().map_err(raised)?.clone();
        Py::new(py, PyVariable { variable })
    }

    /// One of NumPy's binary functions.
    fn binary(
        &self,
        py: Python<'_>,
        op: &str,
        other: &Bound<'_, PyAny>,
        turned: bool,
    ) -> PyResult<Py<PyAny>> {
        let other = match operand_of(other) {
            Ok(operand) => operand,
            // Python asks the other one then.
            Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(py.NotImplemented()),
            Err(error) => return Err(error),
        };
        let own = Operand::Variable(self.variable.clone());
        let operands = if turned { vec![other, own] } else { vec![own, other] };
        Ok(PyVariable::made(py, at_caller(py, || elementwise(op, operands))??)?.into_any())
    }

    fn unary(&self, py: Python<'_>, op: &str) -> PyResult<Py<PyVariable>> {
        let operands = vec![Operand::Variable(self.variable.clone())];
        PyVariable::made(py, at_caller(py, || elementwise(op, operands))??)
    }
}

#[pymethods]
impl PyVariable {
    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "add", other, false)
    }
    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "add", other, true)
    }
    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "subtract", other, false)
    }
    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "subtract", other, true)
    }
    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "multiply", other, false)
    }
    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "multiply", other, true)
    }
    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "true_divide", other, false)
    }
    fn __rtruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "true_divide", other, true)
    }
    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "floor_divide", other, false)
    }
    fn __rfloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "floor_divide", other, true)
    }
    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "remainder", other, false)
    }
    fn __rmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "remainder", other, true)
    }
    fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_and", other, false)
    }
    fn __rand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_and", other, true)
    }
    fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_or", other, false)
    }
    fn __ror__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_or", other, true)
    }
    fn __xor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_xor", other, false)
    }
    fn __rxor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "bitwise_xor", other, true)
    }
    fn __lshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "left_shift", other, false)
    }
    fn __rlshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "left_shift", other, true)
    }
    fn __rshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "right_shift", other, false)
    }
    fn __rrshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.binary(py, "right_shift", other, true)
    }

    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        let other = super::operand::variable_of(other)?;
        let made = at_caller(py, || self.variable.try_matmul(other))?;
        PyVariable::made(py, made.map_err(raised)?)
    }
    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        let other = super::operand::variable_of(other)?;
        let made = at_caller(py, || other.try_matmul(&self.variable))?;
        PyVariable::made(py, made.map_err(raised)?)
    }

    fn __pow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        match modulo {
            None => self.binary(py, "power", other, false),
            Some(_) => Err(PyTypeError::new_err("pow takes no modulus of Variables; write x ** y % z")),
        }
    }

    fn __rpow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.binary(py, "power", other, true)
    }

    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        let op = match how {
            CompareOp::Lt => "less",
            CompareOp::Le => "less_equal",
            CompareOp::Eq => "equal",
            CompareOp::Ne => "not_equal",
            CompareOp::Gt => "greater",
            CompareOp::Ge => "greater_equal",
        };
        self.binary(py, op, other, false)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        self.unary(py, "negative")
    }
    fn __pos__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __abs__(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        self.unary(py, "absolute")
    }
    fn __invert__(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        self.unary(py, "invert")
    }

    /// By identity, so that Variables can be keys of dicts; `==` compares elements.
    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        slf.as_ptr() as isize
    }

    fn __bool__(&self) -> PyResult<bool> {
        self.no_value("bool(x)", "where(x, a, b) chooses elements, if_else(x, a, b) branches")
    }
    fn __float__(&self) -> PyResult<f64> {
        self.no_value("float(x)", "compile a function and call it")
    }
    fn __int__(&self) -> PyResult<i64> {
        self.no_value("int(x)", "compile a function and call it")
    }
    fn __len__(&self) -> PyResult<usize> {
        match self.variable.ty().shape.first() {
            Some(Some(extent)) => Ok(*extent),
            Some(None) => self.no_value("len(x)", "x.extent(0) is its extent as an expression"),
            None => Err(PyTypeError::new_err("len() of a 0-d Variable")),
        }
    }
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        let made = at_caller(py, || {
            let entries = entries_of(key)?;
            self.variable.try_index(entries).map_err(raised)
        })??;
        PyVariable::made(py, made)
    }

    /// `x.at[index].set(y)`, `.add(y)`, `.multiply(y)`, `.min(y)`, `.max(y)`: a copy of `x` with elements
    /// replaced, as in JAX.
    #[getter]
    fn at(&self) -> At {
        At { variable: self.variable.clone() }
    }

    /// Its axes in reverse order.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        let made = at_caller(py, || self.variable.try_t())?;
        PyVariable::made(py, made.map_err(raised)?)
    }

    /// Its last two axes exchanged.
    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<Py<PyVariable>> {
        let made = at_caller(py, || self.variable.try_swapaxes(-1, -2))?;
        PyVariable::made(py, made.map_err(raised)?)
    }

    /// The extents, None where they are known at run time only.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.variable.ty().shape)
    }
    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.variable.ndim()
    }
    /// The dtype, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(dtypes::numpy_dtype(py, self.variable.dtype())?.into_any())
    }
    /// The name of an input or a shared variable; None of others.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.variable.name()
    }
    /// The number of a constant, as an array; None of others.
    #[getter]
    fn constant_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.variable.constant_value().map(|value| array_of(py, value.clone())).transpose()
    }

    /// With another dtype, as `numpy.ndarray.astype`.
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Py<PyVariable>> {
        let dtype = dtypes::parse(dtype)?;
        let made = at_caller(py, || self.variable.try_cast(dtype))?;
        PyVariable::made(py, made.map_err(raised)?)
    }

    /// The same Variable under a name.
    fn named(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyVariable>> {
        PyVariable::made(py, self.variable.clone().named(name))
    }

    /// A function of the package with this Variable as its first argument.
    #[pyo3(name = "_method", signature = (name, *args, **kwargs))]
    fn method<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let all = std::iter::once(slf.as_any().clone()).chain(args.iter()).collect();
        call_with(slf.py(), name, all, kwargs)
    }

    fn __repr__(&self) -> String {
        let name = self.variable.name().map_or(String::new(), |name| format!("{name}: "));
        format!("Variable({name}{})", self.variable.ty())
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "expressions are not pickled; compile a function of them, which is: function([x], y)",
        ))
    }
}

impl PyVariable {
    fn no_value<T>(&self, what: &str, instead: &str) -> PyResult<T> {
        Err(PyTypeError::new_err(format!(
            "{what}: {} is a symbolic {}, which has no value before a function is called; {instead}",
            self.variable.name().unwrap_or("x"),
            self.variable.ty()
        )))
    }

    /// Whether it is an input.
    pub(crate) fn is_input(&self) -> bool {
        matches!(self.variable.kind(), Kind::Input)
    }
}

/// An input of a function: `input("x", "float32", (None, 3))`.
#[pyfunction]
#[pyo3(signature = (name, dtype, shape))]
pub(crate) fn input(
    py: Python<'_>,
    name: &str,
    dtype: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
) -> PyResult<Py<PyVariable>> {
    let shape: Vec<Option<usize>> = super::arguments::list(shape)?;
    let ty = TensorType::new(dtypes::parse(dtype)?, shape);
    PyVariable::made(py, Variable::input(name, ty))
}

/// A constant.
#[pyfunction]
#[pyo3(signature = (value, dtype=None))]
pub(crate) fn constant(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyVariable>> {
    let value = cast(kept_value(value)?, dtype.map(dtypes::parse).transpose()?)?;
    PyVariable::made(py, Variable::constant(value))
}

pub(crate) fn cast(value: Value, dtype: Option<DType>) -> PyResult<Value> {
    match dtype {
        Some(dtype) if dtype != value.dtype() => value.cast(dtype).map_err(raised),
        _ => Ok(value),
    }
}
