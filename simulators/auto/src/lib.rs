//! Names a device at run time: the fastest of this machine, or one by its name.
//!
//! ```
//! use workalike::prelude::*;
//! use workalike_auto::Selector;
//!
//! let x = vector::<f32>("x");
//! let f = function([&x]).output(x.exp()).compile()?;
//! let mut sim = f.optimize(Selector::from_env()?)?; // WORKALIKE_DEVICE, else the fastest device
//! assert_eq!(sim.call(args![vec![0f32]])?[0].to_vec::<f32>()?, [1.0]);
//! # Ok::<(), workalike::Error>(())
//! ```

use std::str::FromStr;
use std::sync::Arc;
use workalike::error::DeviceError;
use workalike::host::Host;
use workalike::rehost::Open;
use workalike::rehost::device::Device;
use workalike::{Error, Result};
use workalike_cuda::Cuda;
use workalike_opencl::{DeviceKind, OpenCl};

/// The environment variable that [`Selector::from_env`] reads.
pub const VARIABLE: &str = "WORKALIKE_DEVICE";
/// The names that a [`Selector`] is parsed from.
const NAMES: &str = "auto, host, opencl, opencl:PLATFORM:DEVICE, cuda or cuda:N";

/// A device by its name. It can be made on any machine; opening it says whether the device exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Selector {
    /// The fastest: CUDA, then an OpenCL GPU, then the host. OpenCL on a CPU is slower than the host device on the same
    /// CPU, and is used only when it is asked for by name.
    #[default]
    Auto,
    /// The embedded host device, on all processors of the machine.
    Host,
    /// A device through OpenCL; `opencl` is the first GPU, else the first device of any kind.
    OpenCl(OpenCl),
    /// A device through CUDA; `cuda` is the first.
    Cuda(Cuda),
}

/// The device that [`Selector::choose`] found.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The device; never [`Selector::Auto`].
    pub selector: Selector,
    /// Why faster devices that are present cannot be used.
    pub passed_over: Vec<DeviceError>,
}

impl Selector {
    /// The device that `WORKALIKE_DEVICE` names; [`Selector::Auto`] where it is unset or empty.
    ///
    /// # Errors
    /// If its value names no device.
    pub fn from_env() -> Result<Selector> {
        match std::env::var(VARIABLE) {
            Ok(name) if !name.is_empty() => parse(&name, VARIABLE),
            Err(std::env::VarError::NotUnicode(name)) => {
                Err(Error::mismatch(VARIABLE, NAMES, format!("{name:?}")))
            }
            _ => Ok(Selector::Auto),
        }
    }

    /// The device that [`Selector::Auto`] stands for on this machine; any other is itself. A faster device that is
    /// absent is passed over in silence, one that is present and fails with its error in [`Choice::passed_over`].
    pub fn choose(self) -> Choice {
        let mut choice = Choice { selector: self, passed_over: Vec::new() };
        if self != Selector::Auto {
            return choice;
        }
        for selector in [Some(Selector::Cuda(Cuda::auto())), opencl_gpu()].into_iter().flatten() {
            match selector.open_exactly() {
                Ok(_) => return Choice { selector, ..choice },
                Err(DeviceError::Missing { .. }) => {}
                Err(error) => choice.passed_over.push(error),
            }
        }
        Choice { selector: Selector::Host, ..choice }
    }

    fn open_exactly(self) -> Result<Arc<dyn Device>, DeviceError> {
        match self {
            Selector::Auto | Selector::Host => Host::auto().open(),
            Selector::OpenCl(which) => which.open(),
            Selector::Cuda(which) => which.open(),
        }
    }
}

/// The first usable GPU of OpenCL.
fn opencl_gpu() -> Option<Selector> {
    let devices = workalike_opencl::list().ok()?;
    let gpu = devices.iter().find(|d| d.kind == DeviceKind::Gpu && d.unusable.is_none())?;
    Some(Selector::OpenCl(OpenCl::device(gpu.platform, gpu.device)))
}

impl Open for Selector {
    fn open(&self) -> Result<Arc<dyn Device>> {
        Ok(self.choose().selector.open_exactly()?)
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
    let number = |part: &str| part.parse::<usize>().map_err(|_| wrong());
    let parts: Vec<&str> = name.split(':').collect();
    Ok(match parts[..] {
        ["auto"] => Selector::Auto,
        ["host"] => Selector::Host,
        ["opencl"] => Selector::OpenCl(OpenCl::auto()),
        ["opencl", platform, device] => Selector::OpenCl(OpenCl::device(number(platform)?, number(device)?)),
        ["cuda"] => Selector::Cuda(Cuda::auto()),
        ["cuda", ordinal] => Selector::Cuda(Cuda::device(number(ordinal)?)),
        _ => return Err(wrong()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    #[test]
    fn names_of_devices() {
        for (name, selector) in [
            ("auto", Selector::Auto),
            ("host", Selector::Host),
            ("opencl", Selector::OpenCl(OpenCl::auto())),
            ("opencl:1:2", Selector::OpenCl(OpenCl::device(1, 2))),
            ("cuda", Selector::Cuda(Cuda::device(0))),
            ("cuda:3", Selector::Cuda(Cuda::device(3))),
        ] {
            assert_eq!(name.parse::<Selector>().unwrap(), selector);
        }
        for name in ["", "gpu", "opencl:0", "opencl:0:0:0", "cuda:x", "cuda:-1", "host:2", "Host"] {
            let error = name.parse::<Selector>().unwrap_err().to_string();
            assert!(
                error.contains("opencl:PLATFORM:DEVICE") && error.contains(&format!("{name:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn auto_is_a_gpu_or_the_host() {
        let choice = Selector::Auto.choose();
        match choice.selector {
            Selector::Cuda(_) => assert!(!workalike_cuda::list().is_empty()),
            Selector::Host => assert!(choice.passed_over.len() < 3),
            other => assert_eq!(Some(other), opencl_gpu()),
        }
        assert_eq!(Selector::Host.choose().selector, Selector::Host);
        assert!(Selector::Auto.open().is_ok());
    }
}
