//! Is CUDA here? Asked before anything of `cudarc` is called, because `cudarc` panics when a library or a
//! symbol is missing.
//!
//! [`driver()`], [`nvrtc()`], [`cublas_lt()`] and [`cublas()`] each look once per process and remember the
//! answer. The driver library comes with the driver and is found by the loader or not at all. NVRTC, cuBLASLt
//! and cuBLAS are looked for on the loader's path, then in `$CUDA_PATH/lib64` and `/usr/local/cuda/lib64`,
//! then in the folders that `WORKALIKE_CUDA_LIBS` names (as `PATH` does), which may be those of Python
//! wheels. A library found in a folder is loaded by its full path and kept, so that the later search by name
//! meets the one already loaded.

use crate::cudnn::Api;
use crate::cusolver;
use cudarc::driver::{result, sys};
use cudarc::{cublas, cublaslt, nvrtc as rtc};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The oldest driver whose graphs and stream-ordered memory are what this crate expects: CUDA 12.3, driver
/// 545.
const OLDEST_DRIVER: i32 = 12030;

/// Major versions of NVRTC, cuBLASLt and cuBLAS that are looked for in folders, best first.
const MAJORS: [u32; 2] = [13, 12];

/// Major versions of cuDNN whose functions are those used here, best first.
const CUDNN_MAJORS: [u32; 2] = [9, 8];

/// Major versions of cuSOLVER of CUDA 13 and 12.
const CUSOLVER_MAJORS: [u32; 2] = [12, 11];

/// What cuSOLVER needs beside cuBLAS, in versions of CUDA 13 and 12.
const CUSOLVER_NEEDS: [(&str, u32); 3] = [("nvJitLink", 13), ("nvJitLink", 12), ("cusparse", 12)];

/// Every driver symbol used here or by the parts of `cudarc` used here.
const DRIVER_SYMBOLS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuStreamGetCaptureInfo_v3",
    "cuStreamUpdateCaptureDependencies_v2",
    "cuGraphInstantiateWithFlags",
    "cuGraphUpload",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventRecordWithFlags",
    "cuEventSynchronize",
    "cuEventDestroy_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuLaunchKernelEx",
];

/// Every NVRTC symbol used here.
const NVRTC_SYMBOLS: &[&str] = &[
    "nvrtcVersion",
    "nvrtcGetNumSupportedArchs",
    "nvrtcGetSupportedArchs",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcDestroyProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetPTXSize",
    "nvrtcGetPTX",
];

/// Every cuBLASLt symbol used here.
const CUBLAS_LT_SYMBOLS: &[&str] = &[
    "cublasLtCreate",
    "cublasLtDestroy",
    "cublasLtGetVersion",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescDestroy",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatrixLayoutDestroy",
    "cublasLtMatrixLayoutSetAttribute",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceDestroy",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatmulAlgoGetHeuristic",
    "cublasLtMatmulAlgoCheck",
    "cublasLtMatmulAlgoConfigGetAttribute",
    "cublasLtMatmul",
];

/// Every cuBLAS symbol used here.
const CUBLAS_SYMBOLS: &[&str] = &[
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetWorkspace_v2",
    "cublasSetMathMode",
    "cublasGemmEx",
    "cublasGemmStridedBatchedEx",
];

/// What is missing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Absent {
    pub(crate) why: String,
    pub(crate) help: String,
}

impl Absent {
    fn new(why: impl Into<String>, help: impl Into<String>) -> Absent {
        Absent { why: why.into(), help: help.into() }
    }
}

/// A driver that works, with at least one device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver {
    /// As `cuDriverGetVersion` says it: 13000 is CUDA 13.0.
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
            // NVRTC opens its builtins by bare name at the first compilation, so they come first.
            find("NVRTC", "nvrtc", &["nvrtc-builtins", "nvrtc"], present)?;
            // SAFETY: it was found, so this does not panic.
            let library = unsafe { rtc::sys::culib() };
            // SAFETY: the symbols are only looked up, never used at this type.
            complete("NVRTC", NVRTC_SYMBOLS, |n| unsafe { library.get::<unsafe extern "C" fn()>(n).is_ok() })
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
            complete("cuBLASLt", CUBLAS_LT_SYMBOLS, |n| unsafe {
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
            complete("cuBLAS", CUBLAS_SYMBOLS, |n| unsafe {
                library.get::<unsafe extern "C" fn()>(n).is_ok()
            })
        })
        .clone()
}

/// cuDNN, loaded, with every function used here.
pub(crate) fn cudnn() -> Result<&'static Api, Absent> {
    static ANSWER: OnceLock<Result<Api, Absent>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| {
        let library = load("cuDNN", "cudnn", &CUDNN_MAJORS)?;
        Api::new(library)
            .map_err(|name| Absent::new(format!("the cuDNN found here has no {name}"), "Install cuDNN 9"))
    });
    answer.as_ref().map_err(Clone::clone)
}

/// cuSOLVER and cuBLAS, loaded, with every function used for linear algebra.
pub(crate) fn linear_algebra() -> Result<&'static cusolver::Api, Absent> {
    static ANSWER: OnceLock<Result<cusolver::Api, Absent>> = OnceLock::new();
    let answer = ANSWER.get_or_init(|| {
        cublas()?;
        let blas = load("cuBLAS", "cublas", &MAJORS)?;
        let solver = load("cuSOLVER", "cusolver", &CUSOLVER_MAJORS).or_else(|_| {
            // Python wheels have the libraries that it needs in other folders; cuSPARSE in turn needs
            // nvJitLink.
            for (stem, major) in CUSOLVER_NEEDS {
                folders().iter().for_each(|folder| preload(folder, stem, major));
            }
            load("cuSOLVER", "cusolver", &CUSOLVER_MAJORS)
        })?;
        let lacks = |name| format!("the cuSOLVER or cuBLAS found here has no {name}");
        cusolver::Api::new(solver, blas).map_err(|name| Absent::new(lacks(name), "Install a newer CUDA"))
    });
    answer.as_ref().map_err(Clone::clone)
}

/// A library by its file's name, kept for the life of the process: on the loader's path, else in the folders
/// of the [module](self).
fn load(what: &str, stem: &str, majors: &[u32]) -> Result<libloading::Library, Absent> {
    let folders = folders();
    for major in majors {
        let name = format!("lib{stem}.so.{major}");
        let paths = [PathBuf::from(&name)].into_iter().chain(folders.iter().map(|folder| folder.join(&name)));
        for path in paths {
            // SAFETY: NVIDIA's libraries have no initializers with preconditions; the user or the system
            // named the folder.
            if let Ok(library) = unsafe { libloading::Library::new(path) } {
                return Ok(library);
            }
        }
    }
    let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(Absent::new(
        format!("{what} (lib{stem}.so) is neither on the loader's path nor in {}", searched.join(", ")),
        format!("Install {what}, or set WORKALIKE_CUDA_LIBS to the folder that holds it"),
    ))
}

fn complete(what: &str, symbols: &[&str], has: impl Fn(&[u8]) -> bool) -> Result<(), Absent> {
    match symbols.iter().find(|name| !has(name.as_bytes())) {
        None => Ok(()),
        Some(name) => {
            Err(Absent::new(format!("the {what} found here has no {name}"), "Install a newer CUDA"))
        }
    }
}

/// Makes a library present, by the search order of the [module](self). `stems` are what to load, in order.
fn find(what: &str, stem: &str, stems: &[&str], present: impl Fn() -> bool) -> Result<(), Absent> {
    if present() {
        return Ok(());
    }
    let folders = folders();
    for folder in &folders {
        for major in MAJORS {
            if folder.join(format!("lib{stem}.so.{major}")).is_file() {
                for stem in stems {
                    preload(folder, stem, major);
                }
                if present() {
                    return Ok(());
                }
            }
        }
    }
    let searched: Vec<String> = folders.iter().map(|f| f.display().to_string()).collect();
    Err(Absent::new(
        format!("{what} (lib{stem}.so) is neither on the loader's path nor in {}", searched.join(", ")),
        "Install the CUDA toolkit's libraries, or set WORKALIKE_CUDA_LIBS to the folder that holds them",
    ))
}

/// Where to look beyond the loader's path.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(root) = std::env::var_os("CUDA_PATH") {
        folders.push(PathBuf::from(root).join("lib64"));
    }
    folders.push(PathBuf::from("/usr/local/cuda/lib64"));
    if let Some(named) = std::env::var_os("WORKALIKE_CUDA_LIBS") {
        folders.extend(std::env::split_paths(&named).filter(|f| !f.as_os_str().is_empty()));
    }
    folders
}

/// Loads `lib<stem>.so.<major>*` of a folder for the life of the process, out of other libraries' sight.
/// A library that does not load is passed over: whoever needs it is asked next whether it is there.
fn preload(folder: &Path, stem: &str, major: u32) {
    let exact = format!("lib{stem}.so.{major}");
    let longer = format!("{exact}.");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| *name == exact || name.starts_with(&longer))
        .collect();
    names.sort();
    if names.first() == Some(&exact) {
        names.truncate(1);
    }
    for name in names {
        // SAFETY: NVIDIA's libraries have no initializers with preconditions; the user or the system named
        // the folder.
        if let Ok(library) = unsafe { libloading::Library::new(folder.join(name)) } {
            std::mem::forget(library);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn versions_read_as_people_write_them() {
        assert_eq!(version_text(13000), "13.0");
        assert_eq!(version_text(12080), "12.8");
    }

    #[test]
    fn a_library_nowhere_is_named_with_the_folders_searched() {
        let absent = find("Nothing", "workalike-no-such-library", &[], || false).unwrap_err();
        assert!(absent.why.contains("libworkalike-no-such-library.so"), "{absent:?}");
        assert!(absent.why.contains("/usr/local/cuda/lib64"), "{absent:?}");
    }
}
