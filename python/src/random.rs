//! Random streams.

use super::arguments::Arguments;
use super::errors::raised;
use super::operand::operand_of;
use super::place::at_caller;
use super::shared::PySharedVariable;
use super::variable::PyVariable;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use workalike::DType;
use workalike::graph::{Operand, Variable};
use workalike::ops::{IntoSize, RandomStreams, Size};

/// A seed, or a key, from which any number of independent streams is made, one for each draw that is written.
/// The draws of a function move on at each call; their states are shared variables, which files hold.
#[pyclass(name = "RandomStreams", module = "workalike", frozen)]
pub(crate) struct PyRandomStreams {
    streams: RandomStreams,
}

/// Draws of a float dtype; float32 where it is left out.
macro_rules! floats {
    ($dtype:expr, $draw:expr) => {
        match $dtype {
            None | Some(DType::F32) => {
                type T = f32;
                $draw
            }
            Some(DType::F64) => {
                type T = f64;
                $draw
            }
            Some(other) => {
                return Err(PyTypeError::new_err(format!("draws are float32 or float64, not {other}")))
            }
        }
    };
}

/// Extents; none: those that the parameters broadcast to.
fn size_of(given: &mut Arguments<'_>, parameters: &[&Operand]) -> PyResult<Size> {
    let mut arrays = parameters.iter().filter_map(|parameter| match parameter {
        Operand::Variable(variable) if variable.ndim() > 0 => Some(variable.clone()),
        _ => None,
    });
    match given.option("size")? {
        None => {
            let sum = arrays.reduce(|all, next| &all * 0.0 + next);
            Ok(sum.map_or_else(|| ().into_size(), workalike::ops::like))
        }
        Some(size) => {
            let extents = super::arguments::sequence(&size)?
                .iter()
                .map(operand_of)
                .collect::<PyResult<Vec<Operand>>>()?;
            if let Some(larger) = arrays.find(|array| array.ndim() > extents.len()) {
                return given.refuse(format!("a parameter {} has more axes than the size", larger.ty()));
            }
            Ok(extents.into_size())
        }
    }
}

/// Numbers of a draw moved and scaled, in the draw's dtype.
fn moved(unit: &Variable, scale: Operand, by: Operand) -> workalike::Result<Variable> {
    let own = |operand: Operand| match operand {
        Operand::Variable(variable) => variable.try_cast(unit.dtype()).map(Operand::Variable),
        number => Ok(number),
    };
    unit.try_mul(own(scale)?)?.try_add(own(by)?)
}

impl PyRandomStreams {
    fn drawn(&self, name: &str, given: &mut Arguments<'_>) -> PyResult<Variable> {
        let streams = &self.streams;
        let dtype = |given: &mut Arguments<'_>| given.dtype();
        Ok(match name {
            "uniform" => {
                let low = given.operand_or("low", Operand::Float(0.0))?;
                let high = given.operand_or("high", Operand::Float(1.0))?;
                let size = size_of(given, &[&low, &high])?;
                let unit = floats!(dtype(given)?, streams.uniform::<T>(size));
                let width = super::ops::elementwise("subtract", vec![high, low.clone()])?;
                moved(&unit, Operand::Variable(width), low).map_err(raised)?
            }
            "normal" => {
                let mean = given.operand_or("loc", Operand::Float(0.0))?;
                let scale = given.operand_or("scale", Operand::Float(1.0))?;
                let size = size_of(given, &[&mean, &scale])?;
                let unit = floats!(dtype(given)?, streams.normal::<T>(size));
                moved(&unit, scale, mean).map_err(raised)?
            }
            "exponential" => {
                let scale = given.operand_or("scale", Operand::Float(1.0))?;
                let size = size_of(given, &[&scale])?;
                floats!(dtype(given)?, streams.exponential::<T>(scale, size))
            }
            "gamma" | "beta" => {
                let names = if name == "gamma" { ["shape", "scale"] } else { ["a", "b"] };
                let first = given.operand(names[0])?;
                let second = given.operand_or(names[1], Operand::Float(1.0))?;
                let size = size_of(given, &[&first, &second])?;
                match name {
                    "gamma" => floats!(dtype(given)?, streams.gamma::<T>(first, second, size)),
                    _ => floats!(dtype(given)?, streams.beta::<T>(first, second, size)),
                }
            }
            "dirichlet" => {
                let alpha = given.variable("alpha")?;
                floats!(dtype(given)?, streams.dirichlet::<T>(alpha))
            }
            "standard_t" => {
                let degrees = given.operand("df")?;
                let size = size_of(given, &[&degrees])?;
                floats!(dtype(given)?, streams.standard_t::<T>(degrees, size))
            }
            _ => return self.drawn_counts(name, given),
        })
    }

    fn drawn_counts(&self, name: &str, given: &mut Arguments<'_>) -> PyResult<Variable> {
        let streams = &self.streams;
        Ok(match name {
            "integers" => {
                let (first, second) = (given.operand("low")?, given.option("high")?);
                let (low, high) = match second {
                    Some(high) => (first, operand_of(&high)?),
                    None => (Operand::Int(0), first),
                };
                let size = size_of(given, &[&low, &high])?;
                streams.integers(low, high, size)
            }
            "bernoulli" => {
                let p = given.operand("p")?;
                let size = size_of(given, &[&p])?;
                streams.bernoulli(p, size)
            }
            "poisson" => {
                let mean = given.operand("lam")?;
                let size = size_of(given, &[&mean])?;
                streams.poisson(mean, size)
            }
            "binomial" => {
                let (n, p) = (given.operand("n")?, given.operand("p")?);
                let size = size_of(given, &[&n, &p])?;
                streams.binomial(n, p, size)
            }
            "multinomial" => {
                let n = given.operand("n")?;
                streams.multinomial(n, given.variable("pvals")?)
            }
            "categorical" => streams.categorical(given.variable("weights")?),
            "permutation" => streams.permutation(given.operand("n")?),
            "choice" => {
                let n = given.operand("n")?;
                let size = size_of(given, &[])?;
                match given.option("p")? {
                    Some(p) => streams.choice_by_weight(super::operand::variable_of(&p)?, size),
                    None => streams.choice(n, size),
                }
            }
            "choice_without_replacement" => {
                let n = given.operand("n")?;
                streams.choice_without_replacement(n, given.operand("count")?)
            }
            "bits" => streams.bits(size_of(given, &[])?),
            "dropout" => {
                let x = given.variable("x")?;
                workalike::layers::dropout(x, given.operand("rate")?, streams)
            }
            other => return Err(PyTypeError::new_err(format!("RandomStreams has no draw {other}"))),
        })
    }
}

#[pymethods]
impl PyRandomStreams {
    #[new]
    fn new(seed: u64) -> PyRandomStreams {
        PyRandomStreams { streams: RandomStreams::new(seed) }
    }

    /// Streams of a key, a 0-d uint64: equal keys draw equal numbers, as JAX's.
    #[staticmethod]
    fn from_key(key: &Bound<'_, PyAny>) -> PyResult<PyRandomStreams> {
        Ok(PyRandomStreams { streams: RandomStreams::from_key(operand_of(key)?) })
    }

    /// Starts all streams again from another seed.
    fn seed(&self, py: Python<'_>, seed: u64) -> PyResult<()> {
        super::calls::detached(py, || self.streams.seed(seed))
    }

    /// The states of the streams, in the order in which the draws were written.
    #[getter]
    fn states(&self, py: Python<'_>) -> PyResult<Vec<Py<PySharedVariable>>> {
        self.streams.states().into_iter().map(|state| PySharedVariable::made(py, state)).collect()
    }

    /// A draw by its name.
    #[pyo3(name = "_draw", signature = (name, *args, **kwargs))]
    fn draw<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyVariable>> {
        let drawn = at_caller(py, || {
            let mut given = Arguments::new(name, args.iter().collect(), kwargs)?;
            let drawn = self.drawn(name, &mut given)?;
            given.finish()?;
            Ok::<Variable, PyErr>(drawn)
        })??;
        PyVariable::made(py, drawn)
    }
}
