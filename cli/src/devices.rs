//! Devices: what `--device` means, and what this machine has.

use crate::report::{Result, bytes, complain, printable, say, say_json};
use serde_json::{Value as Json, json};
use std::str::FromStr;
use std::sync::Arc;
use workalike::error::DeviceError;
use workalike::host::Host;
use workalike::rehost::Open;
use workalike::rehost::device::Device;
use workalike_cuda::Cuda;
use workalike_opencl::{DeviceKind, OpenCl};

/// What a user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// CUDA if it is there, else OpenCL, else the host.
    Auto,
    /// This device or none.
    Exactly(Place),
}

/// A device, by its selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This machine's processor.
    Host,
    /// Through OpenCL.
    OpenCl(OpenCl),
    /// Through CUDA.
    Cuda(Cuda),
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Wish, String> {
        let forms = || {
            format!(
                "'{text}' is not a device; devices are auto, host, opencl, opencl:PLATFORM:DEVICE, cuda, cuda:N"
            )
        };
        let number = |part: &str| part.parse::<usize>().map_err(|_| forms());
        let parts: Vec<&str> = text.split(':').collect();
        Ok(Wish::Exactly(match parts[..] {
            ["auto"] => return Ok(Wish::Auto),
            ["host"] => Place::Host,
            ["opencl"] => Place::OpenCl(OpenCl::auto()),
            ["opencl", platform, device] => Place::OpenCl(OpenCl::device(number(platform)?, number(device)?)),
            ["cuda"] => Place::Cuda(Cuda::auto()),
            ["cuda", ordinal] => Place::Cuda(Cuda::device(number(ordinal)?)),
            _ => return Err(forms()),
        }))
    }
}

impl Open for Place {
    fn open(&self) -> workalike::Result<Arc<dyn Device>> {
        Ok(self.try_open()?)
    }
}

impl Place {
    fn try_open(self) -> Result<Arc<dyn Device>, DeviceError> {
        match self {
            Place::Host => Host::auto().open(),
            Place::OpenCl(which) => which.open(),
            Place::Cuda(which) => which.open(),
        }
    }
}

impl Wish {
    /// The device. `auto` passes over what is not there in silence, over what is there and fails with a word on stderr.
    pub(crate) fn choose(self) -> Place {
        let Wish::Auto = self else {
            let Wish::Exactly(place) = self else { return Place::Host };
            return place;
        };
        for place in [Place::Cuda(Cuda::auto()), Place::OpenCl(OpenCl::auto())] {
            match place.try_open() {
                Ok(_) => return place,
                Err(DeviceError::Missing { .. }) => {}
                Err(error) => {
                    complain(&format!("note: passing over a device: {}", crate::report::Failure::from(error)))
                }
            }
        }
        Place::Host
    }
}

/// A device of this machine, or one that its drivers list and workalike cannot use.
pub(crate) struct Listed {
    /// As `--device` takes it.
    pub(crate) id: String,
    /// As its maker calls it.
    pub(crate) name: String,
    /// Its selector.
    pub(crate) place: Place,
    /// Why it cannot be used.
    pub(crate) problem: Option<String>,
    driver: String,
    kind: &'static str,
    memory: u64,
    units: u32,
    f64: bool,
}

/// Every device, and why there is none of a kind.
pub(crate) struct Survey {
    /// The devices, the host first.
    pub(crate) devices: Vec<Listed>,
    /// Name of an interface, and what is missing for it.
    pub(crate) absent: Vec<(&'static str, String)>,
}

/// What this machine has.
pub(crate) fn survey() -> Result<Survey> {
    let host = Host::auto().open()?;
    let properties = host.properties();
    let mut devices = vec![Listed {
        id: properties.id.clone(),
        name: properties.name.clone(),
        place: Place::Host,
        problem: None,
        driver: properties.driver.clone(),
        kind: "cpu",
        memory: properties.memory,
        units: properties.units,
        f64: properties.f64,
    }];
    let mut absent = Vec::new();
    match workalike_opencl::list() {
        Err(error) => absent.push(("opencl", error.to_string())),
        Ok(list) if list.is_empty() => absent.push(("opencl", "no OpenCL platform has a device".into())),
        Ok(list) => devices.extend(list.into_iter().map(|info| Listed {
            id: info.id(),
            place: Place::OpenCl(OpenCl::device(info.platform, info.device)),
            kind: match info.kind {
                DeviceKind::Cpu => "cpu",
                DeviceKind::Gpu => "gpu",
                DeviceKind::Accelerator => "accelerator",
                _ => "other",
            },
            driver: format!("{}, {}, driver {}", info.platform_name, info.version, info.driver),
            name: info.name,
            problem: info.unusable,
            memory: info.memory,
            units: info.units,
            f64: info.f64,
        })),
    }
    let problem = workalike_cuda::why_not();
    let list = workalike_cuda::list();
    if list.is_empty() {
        let why = problem.clone().unwrap_or_else(|| "the driver's devices do not answer".into());
        absent.push(("cuda", why));
    }
    devices.extend(list.into_iter().map(|info| Listed {
        id: format!("cuda:{}", info.ordinal),
        place: Place::Cuda(Cuda::device(info.ordinal)),
        kind: "gpu",
        driver: format!(
            "CUDA {}, compute capability {}.{}",
            info.driver, info.capability.0, info.capability.1
        ),
        name: info.name,
        problem: problem.clone(),
        memory: info.memory,
        units: info.units,
        f64: true,
    }));
    Ok(Survey { devices, absent })
}

/// `workalike devices`.
pub(crate) fn devices(as_json: bool) -> Result<()> {
    let survey = survey()?;
    let auto = Wish::Auto.choose().open()?.properties().id.clone();
    if as_json {
        let devices: Vec<Json> = survey.devices.iter().map(|d| to_json(d, &auto)).collect();
        let absent: Vec<Json> =
            survey.absent.iter().map(|(api, why)| json!({ "api": api, "why": why })).collect();
        return say_json(&json!({ "auto": auto, "devices": devices, "absent": absent }).to_string());
    }
    for device in &survey.devices {
        let chosen = if device.id == auto { "  (auto)" } else { "" };
        let doubles = if device.f64 { "" } else { ", no float64" };
        say(&format!("{:<12} {}{chosen}", device.id, printable(&device.name)))?;
        say(&format!(
            "{:<12} {}, {} units, {}{doubles}",
            "",
            printable(&device.driver),
            device.units,
            bytes(device.memory)
        ))?;
        if let Some(problem) = &device.problem {
            say(&format!("{:<12} cannot be used: {}", "", printable(problem)))?;
        }
    }
    for (api, why) in &survey.absent {
        say(&format!("{api:<12} none: {}", printable(why)))?;
    }
    Ok(())
}

fn to_json(device: &Listed, auto: &str) -> Json {
    json!({
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "driver": device.driver,
        "memory": device.memory,
        "units": device.units,
        "float64": device.f64,
        "usable": device.problem.is_none(),
        "problem": device.problem,
        "auto": device.id == auto,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        for (text, place) in [
            ("host", Place::Host),
            ("opencl", Place::OpenCl(OpenCl::auto())),
            ("opencl:1:2", Place::OpenCl(OpenCl::device(1, 2))),
            ("cuda", Place::Cuda(Cuda::device(0))),
            ("cuda:3", Place::Cuda(Cuda::device(3))),
        ] {
            assert_eq!(text.parse(), Ok(Wish::Exactly(place)));
        }
        assert_eq!("auto".parse(), Ok(Wish::Auto));
        for text in ["", "gpu", "opencl:0", "opencl:0:0:0", "cuda:x", "cuda:-1", "host:2", "Host"] {
            let error = text.parse::<Wish>().unwrap_err();
            assert!(error.contains("opencl:PLATFORM:DEVICE"), "{error}");
        }
    }
}
