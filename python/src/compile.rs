//! From expressions to a function. `workalike.function` in Python sorts its arguments, and calls this.

use super::arrays::{exact, kept_value};
use super::calls::detached;
use super::function::PyFunction;
use super::operand::variable_of;
use super::shared::PySharedVariable;
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use workalike::function::{In, Out, function};
use workalike::graph::{SharedVariable, Variable};

/// An input and its options: Variable, name, default, update, `strict`, `allow_downcast`, `mutable`.
type Input<'py> = (
    Bound<'py, PyVariable>,
    Option<String>,
    Option<Bound<'py, PyAny>>,
    Option<Bound<'py, PyAny>>,
    bool,
    bool,
    bool,
);

fn input_of((variable, name, default, update, strict, downcast, mutable): &Input<'_>) -> PyResult<In> {
    if !variable.get().is_input() {
        return Err(PyTypeError::new_err(format!(
            "function: expected inputs made by scalar, vector, matrix or tensor, got {}; an expression can be \
             replaced by an input with givens",
            variable.repr()?
        )));
    }
    let own = &variable.get().variable;
    let mut input = In::new(own);
    if let Some(name) = name {
        input = input.name(name);
    }
    if let Some(default) = default {
        input = input.default(exact(kept_value(default)?, own.dtype())?);
    }
    if let Some(update) = update {
        input = input.update(variable_of(update)?);
    }
    if *strict {
        input = input.strict();
    }
    if *downcast {
        input = input.allow_downcast();
    }
    Ok(if *mutable { input.mutable() } else { input })
}

/// Compiles a function.
#[pyfunction]
#[pyo3(signature = (name, inputs, outputs, updates, givens, allow_unused_inputs))]
pub(crate) fn compile(
    py: Python<'_>,
    name: Option<&str>,
    inputs: Vec<Input<'_>>,
    outputs: Vec<(Option<String>, Bound<'_, PyAny>)>,
    updates: Vec<(PyRef<'_, PySharedVariable>, Bound<'_, PyAny>)>,
    givens: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    allow_unused_inputs: bool,
) -> PyResult<PyFunction> {
    let inputs = inputs.iter().map(input_of).collect::<PyResult<Vec<_>>>()?;
    let mut builder = function(inputs);
    if let Some(name) = name {
        builder = builder.name(name);
    }
    for (name, output) in &outputs {
        let output = Out::new(variable_of(output)?);
        builder = builder.output(match name {
            Some(name) => output.name(name),
            None => output,
        });
    }
    let updates = updates.iter().map(|(shared, new)| Ok((shared.shared.clone(), variable_of(new)?)));
    let updates = updates.collect::<PyResult<Vec<(SharedVariable, Variable)>>>()?;
    builder = builder.updates(updates);
    let givens = givens.iter().map(|(old, new)| Ok((variable_of(old)?, variable_of(new)?)));
    builder = builder.givens(givens.collect::<PyResult<Vec<_>>>()?);
    if allow_unused_inputs {
        builder = builder.allow_unused_inputs();
    }
    let function = detached(py, || builder.compile())?;
    Ok(PyFunction { function })
}
