//! Checks that CUDA's libraries and their symbols are present. They come before every call of `cudarc`, which
//! panics when a library or a symbol is missing.
//!
//! [`driver()`], [`nvrtc()`], [`cublas_lt()`] and [`cublas()`] each search once per process and cache the
//! result. The loader finds the driver library, which comes with the driver, or there is none. NVRTC,
//! cuBLASLt and cuBLAS are searched for on the loader's path, then in `$CUDA_PATH/lib64` and
//! `/usr/local/cuda/lib64`, then in the folders listed in `WORKALIKE_CUDA_LIBS` (separated as in `PATH`), for
//! instance those of Python wheels. A library found in a folder is loaded by its full path and kept loaded,
//! so that `cudarc`'s later search by name finds it.

mod search;
mod symbols;

use cudarc::driver::{result, sys};
use cudarc::{cublas, cublaslt, nvrtc as rtc};
pub(crate) use search::{MAJORS, folders, load, preload};
use search::{check_symbols, find};
use std::sync::OnceLock;
use symbols::{CUBLAS_LT_SYMBOLS, CUBLAS_SYMBOLS, DRIVER_SYMBOLS, NVRTC_SYMBOLS};
use workalike_device::DeviceError;

/// The oldest driver whose graphs and stream-ordered memory this crate can use: CUDA 12.3, driver 545.
const OLDEST_DRIVER: i32 = 12030;

/// What is missing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) why: String,
    pub(crate) help: String,
}

impl Absent {
    pub(crate) fn new(why: impl Into<String>, help: impl Into<String>) -> Absent {
        Absent { why: why.into(), help: help.into() }
    }

    /// The error of a device that needs what is missing.
    pub(crate) fn on(self, device: &str) -> DeviceError {
        DeviceError::Missing { device: device.into(), why: self.why, help: self.help }
    }
}

/// A driver that works, with at least one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    /// The result of `cuDriverGetVersion`: 13000 is CUDA 13.0.
    pub(crate) version: i32,
    /// Number of devices, at least 1.
    pub(crate) devices: usize,
}

/// The driver, initialized.
pub(crate) fn driver() -> Result<Driver, Absent> {
    static ANSWER: OnceLock<Result<Driver, Absent>> = OnceLock::new();
    ANSWER.get_or_init(probe_driver).clone()
}

fn probe_driver() -> Result<Driver, Absent> {
    let install = "Install an NVIDIA driver of version 545 or later";
    // SAFETY: loads the driver's library, which has no preconditions.
    if !unsafe { sys::is_culib_present() } {
        return Err(Absent::new("the NVIDIA driver's library (libcuda.so.1) is not on this host", install));
    }
    // SAFETY: the library was found just now, so this does not panic.
    let library = unsafe { sys::culib() };
    for name in DRIVER_SYMBOLS {
        // SAFETY: the symbol is only looked up, never used at this type.
        if unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err() {
            return Err(Absent::new(format!("the NVIDIA driver's library has no {name}"), install));
        }
    }
    let help = "Check that `nvidia-smi` lists a device and that this process may use it (CUDA_VISIBLE_DEVICES, container options)";
    let failed = |call: &str, e: result::DriverError| Absent::new(format!("{call} answered {:?}", e.0), help);
    result::init().map_err(|e| failed("cuInit", e))?;
    let mut version = 0;
    // SAFETY: writes one int.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(|e| failed("cuDriverGetVersion", e))?;
    if version < OLDEST_DRIVER {
        return Err(Absent::new(
            format!("the NVIDIA driver is for CUDA {}, older than 12.3", version_text(version)),
            install,
        ));
    }
    let devices = result::device::get_count().map_err(|e| failed("cuDeviceGetCount", e))?;
    match usize::try_from(devices) {
        Ok(devices) if devices > 0 => Ok(Driver { version, devices }),
        _ => Err(Absent::new("the NVIDIA driver lists no device", help)),
    }
}

/// `13000` as `13.0`.
pub(crate) fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// NVRTC, the run-time compiler, loaded.
pub(crate) fn nvrtc() -> Result<(), Absent> {
    static ANSWER: OnceLock<Result<(), Absent>> = OnceLock::new();
    ANSWER
        .get_or_init(|| {
            // SAFETY: loading NVRTC has no preconditions.
            let present = || unsafe { rtc::sys::is_culib_present() };
            // NVRTC opens its builtins by name at the first compilation, so they are loaded first.
            find("NVRTC", "nvrtc", &["nvrtc-builtins", "nvrtc"], present)?;
            // SAFETY: it was found, so this does not panic.
            let library = unsafe { rtc::sys::culib() };
            // SAFETY: the symbols are only looked up, never used at this type.
            check_symbols("NVRTC", NVRTC_SYMBOLS, |n| unsafe {
                library.get::<unsafe extern "C" fn()>(n).is_ok()
            })
        })
        .clone()
}

/// A library for matrix products: cuBLASLt, else cuBLAS.
pub(crate) fn products() -> Result<(), Absent> {
    cublas_lt().or_else(|_| cublas())
}

/// cuBLASLt, loaded.
pub(crate) fn cublas_lt() -> Result<(), Absent> {
    static ANSWER: OnceLock<Result<(), Absent>> = OnceLock::new();
    ANSWER
        .get_or_init(|| {
            // SAFETY: loading cuBLASLt has no preconditions.
            let present = || unsafe { cublaslt::sys::is_culib_present() };
            find("cuBLASLt", "cublasLt", &["cublasLt"], present)?;
            // SAFETY: it was found, so this does not panic.
            let library = unsafe { cublaslt::sys::culib() };
            // SAFETY: the symbols are only looked up, never used at this type.
            check_symbols("cuBLASLt", CUBLAS_LT_SYMBOLS, |n| unsafe {
                library.get::<unsafe extern "C" fn()>(n).is_ok()
            })
        })
        .clone()
}

/// cuBLAS, loaded.
pub(crate) fn cublas() -> Result<(), Absent> {
    static ANSWER: OnceLock<Result<(), Absent>> = OnceLock::new();
    ANSWER
        .get_or_init(|| {
            // SAFETY: loading cuBLAS has no preconditions.
            let present = || unsafe { cublas::sys::is_culib_present() };
            find("cuBLAS", "cublas", &["cublasLt", "cublas"], present)?;
            // SAFETY: it was found, so this does not panic.
            let library = unsafe { cublas::sys::culib() };
            // SAFETY: the symbols are only looked up, never used at this type.
            check_symbols("cuBLAS", CUBLAS_SYMBOLS, |n| unsafe {
                library.get::<unsafe extern "C" fn()>(n).is_ok()
            })
        })
        .clone()
}

/// A library's functions, looked up once per process by `open`, which fails with what is missing.
pub(crate) fn library<T>(
    cached: &'static OnceLock<Result<T, Absent>>,
    open: impl FnOnce() -> Result<T, Absent>,
) -> Result<&'static T, Absent> {
    cached.get_or_init(open).as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn answers_are_words_and_do_not_change() {
        for answer in [driver().err(), nvrtc().err(), cublas_lt().err(), cublas().err(), products().err()]
            .into_iter()
            .flatten()
        {
            assert!(!answer.why.is_empty() && !answer.help.is_empty());
        }
        assert_eq!(driver().err(), driver().err());
    }

    /// The functions of the driver that the files of a folder call.
    fn called(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                called(&path, names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for rest in text.split("sys::cu").skip(1) {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                    if rest.starts_with(char::is_uppercase) && rest[end..].starts_with('(') {
                        names.insert(format!("cu{}", &rest[..end]));
                    }
                }
            }
        }
    }

    #[test]
    fn the_driver_is_asked_for_what_is_called() {
        let mut names = BTreeSet::new();
        called(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
        assert!(names.contains("cuLaunchKernelEx") && names.len() > 20, "{names:?}");
        let unknown: Vec<_> = names.iter().filter(|name| !DRIVER_SYMBOLS.contains(&name.as_str())).collect();
        assert!(unknown.is_empty(), "{unknown:?} are called and not asked for");
    }

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(version_text(13000), "13.0");
        assert_eq!(version_text(12080), "12.8");
    }
}
