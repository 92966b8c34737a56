//! What stands beside a Variable in an expression: Variables, numbers of Python, arrays of NumPy.

use super::arrays::kept_value;
use super::variable::PyVariable;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyString};
use workalike::graph::{Operand, Variable};
use workalike::prelude::Complex;

/// An operand. Numbers of Python are weak, as in NumPy 2; arrays and NumPy's numbers have their dtype.
pub(crate) fn operand_of(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(Operand::Variable(variable.get().variable.clone()));
    }
    if object.is_exact_instance_of::<PyComplex>() {
        let [re, im] = ["real", "imag"].map(|part| object.getattr(part)?.extract());
        return Ok(Operand::Complex(Complex::new(re?, im?)));
    }
    // NumPy's float64 is a float of Python too, but has a dtype.
    let typed = object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyInt>();
    if object.is_exact_instance_of::<PyBool>() {
        return Ok(Operand::Bool(object.extract()?));
    }
    if typed && object.is_exact_instance_of::<PyInt>() {
        return Ok(Operand::Int(object.extract()?));
    }
    if typed {
        return Ok(Operand::Float(object.extract()?));
    }
    variable_of(object).map(Operand::Variable)
}

/// A Variable, or a constant of anything that is an array.
pub(crate) fn variable_of(object: &Bound<'_, PyAny>) -> PyResult<Variable> {
    if let Ok(variable) = object.cast::<PyVariable>() {
        return Ok(variable.get().variable.clone());
    }
    if object.cast::<PyString>().is_ok() || object.is_none() {
        let kind = object.get_type().name()?;
        return Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "expected a Variable or an array, got {kind}"
        )));
    }
    kept_value(object).map(Variable::constant)
}
