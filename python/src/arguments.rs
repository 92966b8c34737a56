//! The arguments of an op's function in Python, by position or by name, as the types that the library takes.

use super::dtypes;
use super::operand::{operand_of, variable_of};
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyInt};
use workalike::DType;
use workalike::graph::{Operand, Variable};
use workalike::ops::{Axes, IntoSize, Size, over};

/// Arguments that are taken one after another.
pub(crate) struct Arguments<'p> {
    op: &'p str,
    positional: Vec<Bound<'p, PyAny>>,
    /// The number of those that were taken.
    taken: usize,
    named: Option<Bound<'p, PyDict>>,
}

impl<'p> Arguments<'p> {
    pub(crate) fn new(
        op: &'p str,
        positional: Vec<Bound<'p, PyAny>>,
        named: Option<&Bound<'p, PyDict>>,
    ) -> PyResult<Arguments<'p>> {
        let named = named.filter(|named| !named.is_empty()).map(|named| named.copy()).transpose()?;
        Ok(Arguments { op, positional, taken: 0, named })
    }

    pub(crate) fn refuse<T>(&self, message: impl std::fmt::Display) -> PyResult<T> {
        Err(PyTypeError::new_err(format!("{}: {message}", self.op)))
    }

    /// An argument that may be left out, which `None` means too.
    pub(crate) fn option(&mut self, name: &str) -> PyResult<Option<Bound<'p, PyAny>>> {
        let given = self.keyword(name)?;
        if given.is_some() {
            return Ok(given.filter(|given| !given.is_none()));
        }
        let next = self.positional.get(self.taken).cloned();
        self.taken += usize::from(next.is_some());
        Ok(next.filter(|given| !given.is_none()))
    }

    /// An argument that is given by name alone.
    fn keyword(&mut self, name: &str) -> PyResult<Option<Bound<'p, PyAny>>> {
        let Some(named) = &self.named else { return Ok(None) };
        let found = named.get_item(name)?;
        if found.is_some() {
            named.del_item(name)?;
        }
        Ok(found)
    }

    pub(crate) fn any(&mut self, name: &str) -> PyResult<Bound<'p, PyAny>> {
        match self.option(name)? {
            Some(given) => Ok(given),
            None => self.refuse(format!("the argument {name} is missing")),
        }
    }

    pub(crate) fn variable(&mut self, name: &str) -> PyResult<Variable> {
        variable_of(&self.any(name)?)
    }

    pub(crate) fn operand(&mut self, name: &str) -> PyResult<Operand> {
        operand_of(&self.any(name)?)
    }

    pub(crate) fn operand_or(&mut self, name: &str, default: Operand) -> PyResult<Operand> {
        self.option(name)?.map_or(Ok(default), |given| operand_of(&given))
    }

    pub(crate) fn get<T: for<'a> FromPyObject<'a, 'p, Error: Into<PyErr>>>(
        &mut self,
        name: &str,
    ) -> PyResult<T> {
        let given = self.any(name)?;
        given.extract::<T>().map_err(Into::into)
    }

    pub(crate) fn get_or<T: for<'a> FromPyObject<'a, 'p, Error: Into<PyErr>>>(
        &mut self,
        name: &str,
        default: T,
    ) -> PyResult<T> {
        match self.option(name)? {
            Some(given) => given.extract::<T>().map_err(Into::into),
            None => Ok(default),
        }
    }

    /// An axis, counted from the end if negative.
    pub(crate) fn axis(&mut self, default: isize) -> PyResult<isize> {
        self.get_or("axis", default)
    }

    pub(crate) fn dtype(&mut self) -> PyResult<Option<DType>> {
        self.option("dtype")?.map(|given| dtypes::parse(&given)).transpose()
    }

    /// NumPy's `axis`: one, several, or all where it is left out.
    pub(crate) fn axes(&mut self) -> PyResult<ChosenAxes> {
        let axis = self.option("axis")?;
        ChosenAxes::of(axis.as_ref())
    }

    /// The axes and options of a reduction.
    pub(crate) fn reduction(&mut self) -> PyResult<impl Axes + use<>> {
        let axes = self.axes()?;
        let mut options = over(axes);
        // NumPy has `dtype` and `out` before `keepdims`; all but the axes are given by name here.
        if let Some(dtype) = self.keyword("dtype")?.filter(|given| !given.is_none()) {
            options = options.dtype(dtypes::parse(&dtype)?);
        }
        if let Some(dtype) = self.keyword("acc_dtype")?.filter(|given| !given.is_none()) {
            options = options.acc_dtype(dtypes::parse(&dtype)?);
        }
        for name in ["ddof", "correction"] {
            if let Some(ddof) = self.keyword(name)? {
                options = options.ddof(ddof.extract()?);
            }
        }
        let keepdims = match self.keyword("keepdims")? {
            Some(given) => given.is_truthy()?,
            None => false,
        };
        Ok(if keepdims { options.keepdims() } else { options })
    }

    /// Extents: a number, a sequence of numbers and 0-d Variables, or what is left by position.
    pub(crate) fn size(&mut self, name: &str) -> PyResult<Size> {
        let first = self.any(name)?;
        let mut extents = sequence(&first)?;
        if first.cast::<PyInt>().is_ok() || first.cast::<PyVariable>().is_ok() {
            extents.extend(self.positional.drain(self.taken.min(self.positional.len())..));
        }
        let extents = extents.iter().map(operand_of).collect::<PyResult<Vec<_>>>()?;
        Ok(extents.into_size())
    }

    /// A list of Variables.
    pub(crate) fn variables(&mut self, name: &str) -> PyResult<Vec<Variable>> {
        sequence(&self.any(name)?)?.iter().map(variable_of).collect()
    }

    /// What is left by position.
    pub(crate) fn rest(&mut self) -> Vec<Bound<'p, PyAny>> {
        self.positional.split_off(self.taken.min(self.positional.len()))
    }

    /// Refuses what was not taken.
    pub(crate) fn finish(self) -> PyResult<()> {
        if self.positional.len() > self.taken {
            return self.refuse(format!("takes {} arguments, got {}", self.taken, self.positional.len()));
        }
        match self.named.as_ref().and_then(|named| named.keys().iter().next()) {
            Some(name) => self.refuse(format!("has no argument {name}")),
            None => Ok(()),
        }
    }
}

/// The items of a sequence; anything else is a sequence of one.
pub(crate) fn sequence<'p>(given: &Bound<'p, PyAny>) -> PyResult<Vec<Bound<'p, PyAny>>> {
    if given.cast::<PyVariable>().is_ok() || given.cast::<PyInt>().is_ok() {
        return Ok(vec![given.clone()]);
    }
    given.try_iter()?.collect()
}

/// The axes of a reduction; none: all.
pub(crate) struct ChosenAxes(Option<Vec<isize>>);

impl ChosenAxes {
    fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<ChosenAxes> {
        let Some(given) = given.filter(|given| given.cast::<PyEllipsis>().is_err()) else {
            return Ok(ChosenAxes(None));
        };
        let axes = sequence(given)?.iter().map(|axis| axis.extract()).collect::<PyResult<_>>()?;
        Ok(ChosenAxes(Some(axes)))
    }
}

impl Axes for ChosenAxes {
    fn axes(&self, ndim: usize) -> Result<Vec<usize>, String> {
        match &self.0 {
            Some(axes) => axes.as_slice().axes(ndim),
            None => (..).axes(ndim),
        }
    }
}
