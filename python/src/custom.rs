//! Kernels of a program's own, in C: compiled for a device, launched with arrays and numbers.

use super::arrays::exact_number;
use super::calls::detached;
use super::device::{PyDevice, PyDeviceArray, check_process};
use super::dtypes;
use super::errors::raised;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use workalike::Error;
use workalike::custom::{Argument, Grid, KernelSource, Language, Module, Param, ParamKind, RawKernel};
use workalike::engine::DeviceArray;
use workalike::kernels::Scalar;

/// A text with kernels, compiled for a device.
#[pyclass(name = "Module", module = "workalike._workalike", frozen)]
pub(crate) struct PyKernelModule {
    module: Module,
}

/// A kernel of a module.
#[pyclass(name = "RawKernel", module = "workalike._workalike", frozen)]
pub(crate) struct PyRawKernel {
    kernel: RawKernel,
}

#[pymethods]
impl PyKernelModule {
    #[new]
    #[pyo3(signature = (text, device=None, language="dialect", types=None))]
    fn new(
        py: Python<'_>,
        text: String,
        device: Option<&Bound<'_, PyAny>>,
        language: &str,
        types: Option<HashMap<String, Bound<'_, PyAny>>>,
    ) -> PyResult<PyKernelModule> {
        let language = match language {
            "dialect" => Language::Dialect,
            "opencl" => Language::OpenClC,
            "cuda" => Language::CudaCpp,
            other => {
                let message = format!("the language is 'dialect', 'opencl' or 'cuda', got {other:?}");
                return Err(PyValueError::new_err(message));
            }
        };
        let types = types.unwrap_or_default();
        let types = types.iter().map(|(name, dtype)| Ok((name.as_str(), dtypes::parse(dtype)?)));
        let source = KernelSource::new(language, text, &types.collect::<PyResult<Vec<_>>>()?);
        let source = source.map_err(|error| raised(Error::from(error)))?;
        let device = PyDevice::of(py, device)?;
        let module = detached(py, || Module::new(&device, source))?;
        Ok(PyKernelModule { module })
    }

    /// The names of the kernels, in the order of the text.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        self.module.signatures().map(|signature| signature.name.clone()).collect()
    }

    /// The kernel of a name.
    fn kernel(&self, name: &str) -> PyResult<PyRawKernel> {
        Ok(PyRawKernel { kernel: self.module.kernel(name).map_err(raised)? })
    }

    /// A variable of the text in CUDA C++, as an array: a `__device__` or `__constant__` one.
    fn global_array(
        &self,
        name: &str,
        dtype: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
    ) -> PyResult<PyDeviceArray> {
        let (dtype, shape) = (dtypes::parse(dtype)?, super::arguments::list::<usize>(shape)?);
        Ok(PyDeviceArray { array: self.module.global(name, dtype, &shape).map_err(raised)? })
    }
}

#[pymethods]
impl PyRawKernel {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.kernel.signature().name
    }

    /// Its parameters: name and type.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        let list = &self.kernel.signature().params;
        list.iter().map(|param| (param.name.clone(), param.kind.to_string())).collect()
    }

    /// Enqueues a launch.
    fn launch(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        items: Option<Vec<u64>>,
        grid: Option<Vec<u64>>,
        block: Option<Vec<u32>>,
    ) -> PyResult<()> {
        let grid = match (items, grid, block) {
            (Some(items), None, None) => Grid::Items(three(&items)?),
            (None, Some(groups), Some(items)) => {
                Grid::Groups { groups: three(&groups)?, items: three(&items)? }
            }
            _ => {
                let message = "expected items=(..), or grid=(..) and block=(..)";
                return Err(PyTypeError::new_err(format!("{}: {message}", self.name())));
            }
        };
        let params = &self.kernel.signature().params;
        let mut given = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            given.push(self.argument(params.get(at), &arg)?);
        }
        detached(py, || self.kernel.launch(grid, given.into_iter().map(Given::into_argument).collect()))
    }
}

impl PyRawKernel {
    /// An argument for a parameter. What has no parameter is refused by the launch.
    fn argument(&self, param: Option<&Param>, arg: &Bound<'_, PyAny>) -> PyResult<Given> {
        if let Ok(array) = arg.cast::<PyDeviceArray>() {
            check_process(&array.get().array)?;
            return Ok(Given::Array(array.get().array.clone()));
        }
        let name = param.map_or("further ones", |param| &param.name);
        let expected = |what: &str| {
            let message = format!("{}, parameter {name}: expected {what}, got {arg}", self.name());
            Err(PyTypeError::new_err(message))
        };
        match param.map(|param| param.kind) {
            Some(ParamKind::Array { .. }) => {
                expected("a DeviceArray, or an array of NumPy in In(..), Out(..) or InOut(..)")
            }
            Some(ParamKind::Local) => {
                arg.extract().map(Given::Local).or_else(|_| expected("a number of bytes"))
            }
            Some(ParamKind::Scalar(dtype)) => match exact_number(arg, dtype)?.to_scalar() {
                Some(number) => Ok(Given::Number(number)),
                None => expected("a number"),
            },
            None => Ok(Given::Local(0)),
        }
    }
}

/// An argument that may cross to where the interpreter's lock is not held.
enum Given {
    Array(DeviceArray),
    Number(Scalar),
    Local(u64),
}

impl Given {
    fn into_argument(self) -> Argument<'static> {
        match self {
            Given::Array(array) => Argument::Array(array),
            Given::Number(number) => Argument::Number(number),
            Given::Local(bytes) => Argument::Local(bytes),
        }
    }
}

/// Extents in three dimensions.
fn three<T: Copy + From<u8>>(given: &[T]) -> PyResult<[T; 3]> {
    match *given {
        [x] => Ok([x, 1.into(), 1.into()]),
        [x, y] => Ok([x, y, 1.into()]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err(PyValueError::new_err("a launch has one to three dimensions")),
    }
}
