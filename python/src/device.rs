//! Devices, and arrays that stay on them.

use super::arrays::{array_of, kept_value, value_from};
use super::dtypes;
use super::errors::{exception, raised};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use workalike::Selector;
use workalike::engine::device::{Device, DeviceResult};
use workalike::engine::{Backend, DeviceArray, Open, Options, Simulator, contexts};
use workalike::function::Function;

/// A device that was opened: one stream of work. Simulators and arrays on the same `Device` work in order.
#[pyclass(name = "Device", module = "workalike", frozen)]
pub(crate) struct PyDevice {
    device: Arc<dyn Device>,
}

impl PyDevice {
    /// The device that is named, or given; `None`: the one that the environment variable WORKALIKE_DEVICE
    /// names, else the fastest.
    pub(crate) fn of(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Arc<dyn Device>> {
        let Some(given) = given else {
            let selector = Selector::from_env().map_err(raised)?;
            return open(py, selector);
        };
        if let Ok(device) = given.cast::<PyDevice>() {
            return Ok(device.get().device.clone());
        }
        match given.extract::<String>() {
            Ok(name) => open(py, workalike::device(&name).map_err(raised)?),
            Err(_) => Err(PyTypeError::new_err(format!(
                "expected a device's name (auto, host, opencl, cuda:0) or a Device, got {}",
                given.get_type().name()?
            ))),
        }
    }
}

/// The process that opened a device through a driver; 0: none.
static OPENED_BY: AtomicU32 = AtomicU32::new(0);

/// Opens a device. A driver's threads do not exist in the child of a fork, where OpenCL's may wait for them
/// for ever: after this process's parent has opened a device, the child opens the host alone.
fn open(py: Python<'_>, selector: Selector) -> PyResult<Arc<dyn Device>> {
    if selector != Selector::Host {
        check_driver()?;
    }
    let device = super::calls::detached(py, || selector.open().map_err(workalike::Error::from))?;
    if device.properties().id != "host" {
        OPENED_BY.store(std::process::id(), Ordering::Relaxed);
    }
    Ok(device)
}

/// An error if a process before a fork has opened a driver's device.
fn check_driver() -> PyResult<()> {
    if [0, std::process::id()].contains(&OPENED_BY.load(Ordering::Relaxed)) {
        return Ok(());
    }
    let message = "the process was forked after it opened a device, and drivers are not usable in the child; start \
                   workers with the start method spawn or forkserver, or use \"host\"";
    Err(exception("DeviceError", message.into()))
}

/// An error if an array's device cannot be used in this process: see [`open`].
pub(crate) fn check_process(array: &DeviceArray) -> PyResult<()> {
    if array.device().properties().id == "host" { Ok(()) } else { check_driver() }
}

/// An open device, with options.
#[derive(Clone)]
pub(crate) struct Chosen {
    device: Arc<dyn Device>,
    options: Options,
}

impl Open for Chosen {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        Ok(self.device.clone())
    }

    fn options(&self) -> Options {
        self.options
    }
}

/// What a Function is re-hosted on: a device, or several by the names of the contexts in it.
pub(crate) enum Target {
    One(Chosen),
    Named(Vec<(String, Chosen)>),
}

impl Backend for Target {
    type Simulator = Simulator;

    fn optimize(&self, function: &Function) -> workalike::Result<Simulator> {
        match self {
            Target::One(device) => device.optimize(function),
            Target::Named(list) => {
                contexts(list.iter().map(|(name, device)| (name.as_str(), device.clone()))).optimize(function)
            }
        }
    }
}

/// A device for `optimize`, or a dict of several.
pub(crate) fn target_of(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    strict: bool,
    fast_math: bool,
    deterministic: bool,
) -> PyResult<Target> {
    let one = |given: Option<&Bound<'_, PyAny>>| options_of(py, given, strict, fast_math, deterministic);
    let Some(several) = given.and_then(|given| given.cast::<PyDict>().ok()) else {
        return one(given).map(Target::One);
    };
    let named = several.iter().map(|(name, device)| Ok((name.extract()?, one(Some(&device))?)));
    named.collect::<PyResult<_>>().map(Target::Named)
}

/// A device, with options.
pub(crate) fn options_of(
    py: Python<'_>,
    given: Option<&Bound<'_, PyAny>>,
    strict: bool,
    fast_math: bool,
    deterministic: bool,
) -> PyResult<Chosen> {
    let device = PyDevice::of(py, given)?;
    let options = Options { strict, fast_math, ..Options::default() }.with_environment();
    // The library's default is deterministic already; the flag is there to say it.
    let options = Options { deterministic: deterministic || options.deterministic, ..options };
    Ok(Chosen { device, options })
}

#[pymethods]
impl PyDevice {
    /// Its short name, such as "cuda:0".
    #[getter]
    fn id(&self) -> &str {
        &self.device.properties().id
    }
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.device.properties().name
    }
    /// The driver.
    #[getter]
    fn driver(&self) -> &str {
        &self.device.properties().driver
    }
    /// Its memory in bytes.
    #[getter]
    fn memory(&self) -> u64 {
        self.device.properties().memory
    }
    fn __repr__(&self) -> String {
        format!("Device({}: {})", self.id(), self.name())
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        (py.import("workalike._workalike")?.getattr("device")?, (self.id(),)).into_pyobject(py)
    }
}

/// Opens a device: "auto" (the fastest), "host", "opencl", "opencl:PLATFORM:DEVICE", "cuda", "cuda:N".
#[pyfunction]
#[pyo3(signature = (name=None))]
pub(crate) fn device(py: Python<'_>, name: Option<&Bound<'_, PyAny>>) -> PyResult<PyDevice> {
    Ok(PyDevice { device: PyDevice::of(py, name)? })
}

/// The names of the devices of this machine.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<String> {
    let mut names = vec!["host".to_string()];
    py.detach(|| {
        if let Ok(found) = workalike::opencl::list() {
            names.extend(
                found
                    .iter()
                    .filter(|d| d.unusable.is_none())
                    .map(|d| format!("opencl:{}:{}", d.platform, d.device)),
            );
        }
        for number in 0.. {
            match workalike::cuda::Cuda::device(number).open() {
                Ok(_) => names.push(format!("cuda:{number}")),
                Err(_) => break,
            }
        }
    });
    names
}

/// An array that stays on its device: an argument of calls, without a copy there.
#[pyclass(name = "DeviceArray", module = "workalike", frozen, weakref)]
pub(crate) struct PyDeviceArray {
    pub(crate) array: DeviceArray,
}

#[pymethods]
impl PyDeviceArray {
    /// A copy of an array on a device.
    #[new]
    #[pyo3(signature = (value, device=None))]
    fn new(
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDeviceArray> {
        let (device, value) = (PyDevice::of(py, device)?, kept_value(value)?);
        let array = super::calls::detached(py, || DeviceArray::upload(&device, value))?;
        Ok(PyDeviceArray { array })
    }

    /// A copy as an array of NumPy; waits for the device.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(pyo3::exceptions::PyValueError::new_err("an array of a device is always copied"));
        }
        check_process(&self.array)?;
        let array = array_of(py, super::calls::detached(py, || self.array.to_value())?)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The same as `numpy.asarray(x)`.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__array__(py, None, None)
    }

    /// DLPack's kind and number of the device.
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        super::dlpack::device_of(&self.array)
    }

    /// The memory for another library, without a copy: PyTorch, CuPy, JAX, NumPy. On the host device it must
    /// not be written, which consumers of DLPack 1.0 are told.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The device is waited for, so that every stream sees the elements.
        let _ = stream;
        let version = max_version.map(|version| version.extract::<(u32, u32)>()).transpose()?;
        let versioned = version.is_some_and(|(major, _)| major >= 1);
        if dl_device
            .is_some_and(|wanted| super::dlpack::device_of(&self.array).is_ok_and(|own| own != wanted))
        {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "the array is on another device; copy it first",
            ));
        }
        super::dlpack::export(py, &self.array, copy, versioned)
    }

    /// An array of another library on a device, without a copy if its memory is the device's.
    #[staticmethod]
    #[pyo3(signature = (array, device=None))]
    fn from_dlpack(
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyDeviceArray> {
        super::dlpack::import(py, array, device)
    }

    /// Replaces its elements.
    fn set(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        check_process(&self.array)?;
        let value = value_from(value, Some(self.array.dtype()))?;
        super::calls::detached(py, || self.array.set(value))
    }

    /// Its extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.array.shape())
    }
    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.array.shape().len()
    }
    /// Its dtype, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(dtypes::numpy_dtype(py, self.array.dtype())?.into_any())
    }
    /// Its device.
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { device: self.array.device().clone() }
    }
    fn __len__(&self) -> PyResult<usize> {
        self.array.shape().first().copied().ok_or_else(|| PyTypeError::new_err("len() of a 0-d array"))
    }
    fn __repr__(&self) -> String {
        let shape: Vec<String> = self.array.shape().iter().map(usize::to_string).collect();
        let id = &self.array.device().properties().id;
        format!("DeviceArray({}({}), {id})", self.array.dtype(), shape.join(", "))
    }
}
