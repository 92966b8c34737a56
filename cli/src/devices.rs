//! `workalike devices`: the devices of this machine, and the device that `auto` selects.

use crate::numbers::bytes;
use serde_json::{Value as Json, json};
use workalike::Selector;
use workalike::cuda::Cuda;
use workalike::engine::Open;
use workalike::host::Host;
use workalike::opencl::{DeviceKind, OpenCl};
use workalike_cli_common::device;
use workalike_cli_common::report::{Result, printable, say, say_json};

/// A device of this machine, usable or not.
pub(crate) struct Listed {
    /// Its name for `--device`.
    pub(crate) id: String,
    /// The vendor's name.
    pub(crate) name: String,
    /// Its selector.
    pub(crate) selector: Selector,
    /// The error, if it cannot be used.
    pub(crate) problem: Option<String>,
    driver: String,
    kind: &'static str,
    memory: u64,
    units: u32,
    f64: bool,
}

/// All devices, and the interfaces without one.
pub(crate) struct Survey {
    /// The devices, the host first.
    pub(crate) devices: Vec<Listed>,
    /// The interfaces without a device, and the reasons.
    pub(crate) absent: Vec<(&'static str, String)>,
}

/// Lists the devices of this machine.
pub(crate) fn survey() -> Result<Survey> {
    let host = Host::auto().open()?;
    let properties = host.properties();
    let mut devices = vec![Listed {
        id: properties.id.clone(),
        name: properties.name.clone(),
        selector: Selector::Host,
        problem: None,
        driver: properties.driver.clone(),
        kind: "cpu",
        memory: properties.memory,
        units: properties.units,
        f64: properties.f64,
    }];
    let mut absent = Vec::new();
    match workalike::opencl::list() {
        Err(error) => absent.push(("opencl", error.to_string())),
        Ok(list) if list.is_empty() => absent.push(("opencl", "no OpenCL platform has a device".into())),
        Ok(list) => devices.extend(list.into_iter().map(|info| Listed {
            id: info.id(),
            selector: Selector::OpenCl(OpenCl::device(info.platform, info.device)),
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
    let problem = workalike::cuda::why_not();
    let list = workalike::cuda::list();
    if list.is_empty() {
        let why = problem.clone().unwrap_or_else(|| "the driver's devices do not answer".into());
        absent.push(("cuda", why));
    }
    devices.extend(list.into_iter().map(|info| Listed {
        id: format!("cuda:{}", info.ordinal),
        selector: Selector::Cuda(Cuda::device(info.ordinal)),
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
    let auto = device::choose(Selector::Auto).open()?.properties().id.clone();
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
