//! The Python package `workalike`: a thin door to the library. Everything that a call needs is here
//! (arguments, arrays, errors, the interpreter's lock), and the operators; `workalike/*.py` has the rest.
//!
//! The lock of the interpreter is always released before a Simulator's is taken.

mod arguments;
mod arrays;
mod bundle;
mod callback;
mod calls;
mod compile;
mod custom;
mod device;
mod dlpack;
mod dtypes;
mod errors;
mod function;
mod group;
mod indexing;
mod loops;
mod methods;
mod operand;
mod ops;
mod owner;
mod place;
mod probe;
mod random;
mod shared;
mod simulator;
mod variable;

use pyo3::prelude::*;

/// The native half of the package.
#[pymodule]
mod _workalike {
    #[pymodule_export]
    use super::bundle::PyBundle;
    #[pymodule_export]
    use super::callback::callback;
    #[pymodule_export]
    use super::calls::Each;
    #[pymodule_export]
    use super::compile::compile;
    #[pymodule_export]
    use super::custom::{PyKernelModule, PyRawKernel};
    #[pymodule_export]
    use super::device::{PyDevice, PyDeviceArray, device, devices};
    #[pymodule_export]
    use super::function::{PyFunction, rebuilt_function};
    #[pymodule_export]
    use super::group::PyGroupSimulator;
    #[pymodule_export]
    use super::indexing::{At, Elements};
    #[pymodule_export]
    use super::loops::{scan, switch, vmap, while_loop};
    #[pymodule_export]
    use super::ops::{call, methods, training::optimize};
    #[pymodule_export]
    use super::probe::{PyProbe, probe};
    #[pymodule_export]
    use super::random::PyRandomStreams;
    #[pymodule_export]
    use super::shared::{PySharedVariable, rebuilt_shared, shared};
    #[pymodule_export]
    use super::simulator::{PySimulator, rebuilt_simulator};
    #[pymodule_export]
    use super::variable::{PyVariable, constant, input};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        super::errors::register(module)
    }
}
