//! PoCL, which runs OpenCL on the host's processor, has two devices for it: one with a pool of threads, and
//! one whose kernels run on the thread that enqueues them. Here they are one device with two queues
//! ([`crate::queues`]): waking the pool takes tens of microseconds, longer than most small kernels run.
//!
//! PoCL lists the second device only if the environment variable `POCL_DEVICES` names both before the process
//! first lists its devices. This module sets the variable if the process has only one thread at that moment,
//! because changing the environment of a process with several threads is unsafe. A program with threads can
//! set `POCL_DEVICES` itself (`"pthread basic"`, from PoCL 4 on `"cpu cpu-minimal"`), or call [`crate::list`]
//! before it starts them. The variable names all devices that PoCL lists, and child processes inherit it: a
//! program that needs PoCL's other devices (GPUs, for instance) has to set it.

use crate::platform::{DeviceKind, PlatformDevice};

/// The name of PoCL's platform.
pub(crate) const NAME: &str = "Portable Computing Language";

const SETTING: &str = "POCL_DEVICES";

/// Sets `POCL_DEVICES` to both devices unless it is set. `version` is the platform's: `OpenCL 3.0 PoCL 3.1
/// ...`.
pub(crate) fn request_both(version: &str) {
    let Some(names) = both(version) else { return };
    if std::env::var_os(SETTING).is_none() && is_only_thread() {
        // SAFETY: no other thread reads or changes the environment at the same time, because there is none.
        unsafe { std::env::set_var(SETTING, names) };
    }
}

/// The names of both devices in `POCL_DEVICES`.
fn both(version: &str) -> Option<&'static str> {
    let mut words = version.split_whitespace().skip_while(|word| !word.eq_ignore_ascii_case("pocl"));
    let major: u32 = words.nth(1)?.split('.').next()?.parse().ok()?;
    match major {
        // Older versions were not tried.
        ..=1 => None,
        2 | 3 => Some("pthread basic"),
        _ => Some("cpu cpu-minimal"),
    }
}

/// Whether this is the process's only thread; false if the system does not say.
fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

/// Joins the two devices: removes the one without threads from the list, and makes it `near` of the one with
/// threads. The others keep their order.
pub(crate) fn pair(mut devices: Vec<PlatformDevice>) -> Vec<PlatformDevice> {
    let cpu = |found: &PlatformDevice| found.info.kind == DeviceKind::Cpu && found.info.unusable.is_none();
    let near = devices.iter().position(|found| cpu(found) && runs_on_the_caller(&found.info.name));
    let wide = devices.iter().position(|found| cpu(found) && !runs_on_the_caller(&found.info.name));
    let (Some(near), Some(wide)) = (near, wide) else { return devices };
    devices[wide].near = Some(devices[near].device);
    devices.remove(near);
    for (position, found) in devices.iter_mut().enumerate() {
        found.info.device = position;
    }
    devices
}

/// Whether kernels run on the calling thread, by the device's name: `basic-skylake-avx512-...` or
/// `cpu-minimal-...`. Devices with threads are `pthread-...` or `cpu-...`.
fn runs_on_the_caller(name: &str) -> bool {
    name.starts_with("basic") || name.starts_with("cpu-minimal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_the_two_follow_the_version() {
        assert_eq!(both("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC"), Some("pthread basic"));
        assert_eq!(both("OpenCL 3.0 PoCL 5.0+debian  Linux"), Some("cpu cpu-minimal"));
        assert_eq!(both("OpenCL 2.0 pocl 1.8 None"), None);
        assert_eq!(both("OpenCL 3.0 CUDA 13.0.0"), None);
        assert!(runs_on_the_caller("cpu-minimal-znver4") && !runs_on_the_caller("cpu-znver4-AMD EPYC"));
    }
}
