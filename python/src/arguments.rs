//! The arguments of an op's function in Python, by position or by name, as the types that the library takes.

use super::dtypes;
use super::operand::{operand_of, variable_of};
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis};
use workalike::DType;
use workalike::graph::{Operand, Variable};
use workalike::ops::{Axes, IntoSize, Size, over};

/// Arguments that are taken one after another.
pub(crate) struct Arguments<'p> {
    op: &'p str,
    positional: Vec<Bound<'p, PyAny>>,
    /// The number of positional arguments taken so far.
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
        Ok(self.given(name)?.filter(|given| !given.is_none()))
    }

    /// An argument as it is given.
    fn given(&mut self, name: &str) -> PyResult<Option<Bound<'p, PyAny>>> {
        let given = self.keyword(name)?;
        if given.is_some() {
            return Ok(given);
        }
        let next = self.positional.get(self.taken).cloned();
        self.taken += usize::from(next.is_some());
        Ok(next)
    }

    /// Whether one axis is given by this name, or something is left by position.
    pub(crate) fn names(&self, name: &str) -> bool {
        let named = self.named.as_ref().and_then(|named| named.get_item(name).ok().flatten());
        let next = self.positional.get(self.taken).cloned();
        named.or(next).is_some_and(|axis| axis.extract::<isize>().is_ok())
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

    /// The axes and options of a reduction: `dtype` of sums, `ddof` of variances, `keepdims`, all by name.
    pub(crate) fn reduction(&mut self, name: &str) -> PyResult<impl Axes + Clone + use<>> {
        let axes = self.axes()?;
        let mut options = over(axes);
        if ["sum", "prod", "mean", "nansum", "nanprod", "nanmean"].contains(&name) {
            if let Some(dtype) = self.keyword("dtype")?.filter(|given| !given.is_none()) {
                options = options.dtype(dtypes::parse(&dtype)?);
            }
            if let Some(dtype) = self.keyword("acc_dtype")?.filter(|given| !given.is_none()) {
                options = options.acc_dtype(dtypes::parse(&dtype)?);
            }
        }
        if ["var", "std", "nanvar", "nanstd"].contains(&name) {
            let ddof = match self.keyword("ddof")? {
                Some(ddof) => Some(ddof),
                None => self.keyword("correction")?,
            };
            if let Some(ddof) = ddof {
                options = options.ddof(ddof.extract()?);
            }
        }
        let keepdims = match self.keyword("keepdims")? {
            Some(given) => given.is_truthy()?,
            None => false,
        };
        Ok(if keepdims { options.keepdims() } else { options })
    }

    /// Extents: a number, a 0-d Variable, or a sequence of them.
    pub(crate) fn size(&mut self, name: &str) -> PyResult<Size> {
        let extents = sequence(&self.any(name)?)?;
        let extents = extents.iter().map(operand_of).collect::<PyResult<Vec<_>>>()?;
        Ok(extents.into_size())
    }

    /// A list of numbers and Variables.
    pub(crate) fn operands(&mut self, name: &str) -> PyResult<Vec<Operand>> {
        sequence(&self.any(name)?)?.iter().map(operand_of).collect()
    }

    /// Extents as `x.reshape(2, 3)` gives them too.
    pub(crate) fn size_or_rest(&mut self, name: &str) -> PyResult<Size> {
        let mut extents = sequence(&self.any(name)?)?;
        extents.extend(self.rest());
        let extents = extents.iter().map(operand_of).collect::<PyResult<Vec<_>>>()?;
        Ok(extents.into_size())
    }

    /// A list of numbers or pairs, if it is given.
    pub(crate) fn list<T>(&mut self, name: &str) -> PyResult<Option<Vec<T>>>
    where
        T: for<'a> FromPyObject<'a, 'p, Error: Into<PyErr>>,
    {
        self.option(name)?.map(|given| list(&given)).transpose()
    }

    /// An axis; `None`: the flat array, which is what `axis=None` says where NumPy's default is an axis.
    pub(crate) fn axis_or_flat(&mut self, default: isize) -> PyResult<Option<isize>> {
        match self.given("axis")? {
            None => Ok(Some(default)),
            Some(axis) if axis.is_none() => Ok(None),
            Some(axis) => axis.extract().map(Some),
        }
    }

    /// A list of Variables.
    pub(crate) fn variables(&mut self, name: &str) -> PyResult<Vec<Variable>> {
        sequence(&self.any(name)?)?.iter().map(variable_of).collect()
    }

    /// The remaining positional arguments.
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

/// The most items of a list that is an argument: axes, extents, taps, widths.
const MOST_ITEMS: usize = 1 << 16;

/// The items of a sequence; a Variable or a whole number is a sequence of one.
pub(crate) fn sequence<'p>(given: &Bound<'p, PyAny>) -> PyResult<Vec<Bound<'p, PyAny>>> {
    if given.cast::<PyVariable>().is_ok() || given.extract::<i128>().is_ok() {
        return Ok(vec![given.clone()]);
    }
    let mut items = Vec::new();
    for item in given.try_iter()? {
        if items.len() == MOST_ITEMS {
            return Err(PyTypeError::new_err(format!(
                "expected a list of at most {MOST_ITEMS} items, got a longer one"
            )));
        }
        items.push(item?);
    }
    Ok(items)
}

/// A list of numbers or pairs, or one of them.
pub(crate) fn list<'p, T>(given: &Bound<'p, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a> FromPyObject<'a, 'p, Error: Into<PyErr>>,
{
    sequence(given)?.iter().map(|item| item.extract::<T>().map_err(Into::into)).collect()
}

/// The axes of a reduction; none: all.
#[derive(Clone)]
pub(crate) struct ChosenAxes(Option<Vec<isize>>);

impl ChosenAxes {
    fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<ChosenAxes> {
        let Some(given) = given.filter(|given| given.cast::<PyEllipsis>().is_err()) else {
            return Ok(ChosenAxes(None));
        };
        Ok(ChosenAxes(Some(list(given)?)))
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
