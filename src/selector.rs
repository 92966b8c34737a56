//! Devices by name: the fastest of this machine, or one that is named.

use crate::error::{DeviceError, Error, Result};
use std::str::FromStr;
use std::sync::Arc;
#[cfg(feature = "cuda-any")]
use workalike_cuda::Cuda;
use workalike_device::{Device, DeviceResult, Open};
#[cfg(feature = "host")]
use workalike_host::Host;
#[cfg(feature = "opencl")]
use workalike_opencl::{DeviceKind, OpenCl};

/// The environment variable that [`Selector::from_env`] reads.
pub const DEVICE_VARIABLE: &str = "WORKALIKE_DEVICE";
/// The names that a [`Selector`] is parsed from.
const NAMES: &str = "auto, host, opencl, opencl:PLATFORM:DEVICE, cuda or cuda:N";

/// A device by its name: `auto`, `host`, `opencl`, `opencl:PLATFORM:DEVICE`, `cuda` or `cuda:N`.
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f32>("x");
/// let f = function([&x]).output(x.exp()).compile()?;
/// let mut sim = f.optimize(device("auto")?)?;
/// assert_eq!(sim.call(args![vec![0f32]])?[0].to_vec::<f32>()?, [1.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If no device has such a name, or its kind is not built in: OpenCL and CUDA are features of this crate.
/// Whether the device is there shows when it is opened.
pub fn device(name: &str) -> Result<Selector> {
    name.parse()
}

/// The device that runs Functions: the host, or the interpreter if the host is not built in.
pub(crate) fn default_device() -> DeviceResult<Arc<dyn Device>> {
    #[cfg(feature = "host")]
    return Host::auto().open();
    #[cfg(not(feature = "host"))]
    workalike_device::Interpreter.open()
}

/// A device by its name, as [`device`] gives it. Opening it says whether the device exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selector {
    /// The fastest that is built in: CUDA, then an OpenCL GPU, then the host. OpenCL on a CPU is slower than
    /// the host device on the same CPU, and is used only when it is asked for by name.
    #[default]
    Auto,
    /// The host device, on all processors of the machine.
    #[cfg(feature = "host")]
    Host,
    /// A device through OpenCL; `opencl` is the first GPU, else the first device of any kind.
    #[cfg(feature = "opencl")]
    OpenCl(OpenCl),
    /// A device through CUDA; `cuda` is the first.
    #[cfg(feature = "cuda-any")]
    Cuda(Cuda),
}

/// The device that [`Selector::choose`] found.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The device; [`Selector::Auto`] only where no device is built in.
    pub selector: Selector,
    /// Why faster devices that are present cannot be used.
    pub passed_over: Vec<DeviceError>,
}

impl Selector {
    /// The device that `WORKALIKE_DEVICE` names; [`Selector::Auto`] where it is unset or empty.
    ///
    /// # Errors
    /// As [`device`].
    pub fn from_env() -> Result<Selector> {
        match std::env::var(DEVICE_VARIABLE) {
            Ok(name) if !name.is_empty() => parse(&name, DEVICE_VARIABLE),
            Err(std::env::VarError::NotUnicode(name)) => {
                Err(Error::mismatch(DEVICE_VARIABLE, NAMES, format!("{name:?}")))
            }
            _ => Ok(Selector::Auto),
        }
    }

    /// The device that [`Selector::Auto`] stands for on this machine; any other is itself. A faster device
    /// that is absent is skipped silently, one that is present and fails with its error in
    /// [`Choice::passed_over`].
    pub fn choose(self) -> Choice {
        let mut choice = Choice { selector: self, passed_over: Vec::new() };
        if self != Selector::Auto {
            return choice;
        }
        for selector in gpus() {
            match selector.open_exactly() {
                Ok(_) => return Choice { selector, ..choice },
                Err(DeviceError::Missing { .. }) => {}
                Err(error) => choice.passed_over.push(error),
            }
        }
        #[cfg(feature = "host")]
        {
            choice.selector = Selector::Host;
        }
        choice
    }

    fn open_exactly(self) -> DeviceResult<Arc<dyn Device>> {
        match self {
            Selector::Auto => default_device(),
            #[cfg(feature = "host")]
            Selector::Host => Host::auto().open(),
            #[cfg(feature = "opencl")]
            Selector::OpenCl(which) => which.open(),
            #[cfg(feature = "cuda-any")]
            Selector::Cuda(which) => which.open(),
        }
    }
}

/// What `auto` tries before the host, in order.
fn gpus() -> Vec<Selector> {
    #[allow(unused_mut, reason = "without a GPU built in there is nothing to add")]
    let mut gpus = Vec::new();
    #[cfg(feature = "cuda-any")]
    gpus.push(Selector::Cuda(Cuda::auto()));
    #[cfg(feature = "opencl")]
    gpus.extend(opencl_gpu());
    gpus
}

/// The first usable GPU of OpenCL.
#[cfg(feature = "opencl")]
fn opencl_gpu() -> Option<Selector> {
    let devices = crate::opencl::list().ok()?;
    let gpu = devices.iter().find(|d| d.kind == DeviceKind::Gpu && d.unusable.is_none())?;
    Some(Selector::OpenCl(OpenCl::device(gpu.platform, gpu.device)))
}

impl Open for Selector {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        self.choose().selector.open_exactly()
    }
}

impl FromStr for Selector {
    type Err = Error;

    fn from_str(name: &str) -> Result<Selector> {
        parse(name, "device")
    }
}

fn parse(name: &str, what: &str) -> Result<Selector> {
    let wrong = || Error::mismatch(what, NAMES, format!("{name:?}"));
    let parts: Vec<&str> = name.split(':').collect();
    let (kind, numbers) = parts.split_first().ok_or_else(wrong)?;
    let numbers = numbers.iter().map(|part| part.parse::<usize>());
    let numbers = numbers.collect::<Result<Vec<_>, _>>().map_err(|_| wrong())?;
    match (*kind, &numbers[..]) {
        ("auto", []) => Ok(Selector::Auto),
        ("host", []) => built_in::host(),
        ("opencl", []) => built_in::opencl(None),
        ("opencl", &[platform, device]) => built_in::opencl(Some((platform, device))),
        ("cuda", []) => built_in::cuda(None),
        ("cuda", &[ordinal]) => built_in::cuda(Some(ordinal)),
        _ => Err(wrong()),
    }
}

/// Devices of each kind, or errors that name the feature that adds it.
mod built_in {
    use super::*;

    #[cfg(feature = "host")]
    pub(super) fn host() -> Result<Selector> {
        Ok(Selector::Host)
    }

    #[cfg(feature = "opencl")]
    pub(super) fn opencl(which: Option<(usize, usize)>) -> Result<Selector> {
        let device = which.map(|(platform, device)| OpenCl::device(platform, device));
        Ok(Selector::OpenCl(device.unwrap_or_else(OpenCl::auto)))
    }

    #[cfg(feature = "cuda-any")]
    pub(super) fn cuda(which: Option<usize>) -> Result<Selector> {
        Ok(Selector::Cuda(which.map_or_else(Cuda::auto, Cuda::device)))
    }

    #[cfg(not(feature = "host"))]
    pub(super) fn host() -> Result<Selector> {
        absent("host")
    }

    #[cfg(not(feature = "opencl"))]
    pub(super) fn opencl(_: Option<(usize, usize)>) -> Result<Selector> {
        absent("opencl")
    }

    #[cfg(not(feature = "cuda-any"))]
    pub(super) fn cuda(_: Option<usize>) -> Result<Selector> {
        absent("cuda")
    }

    #[cfg(not(all(feature = "host", feature = "opencl", feature = "cuda-any")))]
    fn absent(feature: &str) -> Result<Selector> {
        Err(Error::Device(DeviceError::Missing {
            device: feature.into(),
            why: format!("this program was built without workalike's feature `{feature}`"),
            help: format!("Add \"{feature}\" to the features of workalike in Cargo.toml"),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    #[test]
    #[cfg(all(feature = "host", feature = "opencl", feature = "cuda-any"))]
    fn names_of_devices() {
        for (name, selector) in [
            ("auto", Selector::Auto),
            ("host", Selector::Host),
            ("opencl", Selector::OpenCl(OpenCl::auto())),
            ("opencl:1:2", Selector::OpenCl(OpenCl::device(1, 2))),
            ("cuda", Selector::Cuda(Cuda::device(0))),
            ("cuda:3", Selector::Cuda(Cuda::device(3))),
        ] {
            assert_eq!(device(name).unwrap(), selector);
        }
    }

    #[test]
    fn other_names_are_errors() {
        for name in ["", "gpu", "opencl:0", "opencl:0:0:0", "cuda:x", "cuda:-1", "host:2", "Host", "auto:"] {
            let error = device(name).unwrap_err().to_string();
            assert!(
                error.contains("opencl:PLATFORM:DEVICE") && error.contains(&format!("{name:?}")),
                "{error}"
            );
        }
    }

    #[test]
    #[cfg(not(feature = "cuda-any"))]
    fn what_is_not_built_in_names_its_feature() {
        let error = device("cuda:0").unwrap_err().to_string();
        assert!(error.contains("feature `cuda`") && error.contains("Cargo.toml"), "{error}");
    }

    #[test]
    #[cfg(all(feature = "host", feature = "opencl", feature = "cuda-any"))]
    fn auto_is_a_gpu_or_the_host() {
        let choice = Selector::Auto.choose();
        match choice.selector {
            Selector::Cuda(_) => assert!(!crate::cuda::list().is_empty()),
            Selector::Host => assert!(choice.passed_over.len() < 3),
            other => assert_eq!(Some(other), opencl_gpu()),
        }
        assert_eq!(Selector::Host.choose().selector, Selector::Host);
        assert!(Selector::Auto.open().is_ok());
    }
}
