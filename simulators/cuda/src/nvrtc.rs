//! Compiles generated source with NVRTC to loaded modules, and caches them.
//!
//! The source is compiled to machine code for the device's architecture (`sm_90`), or, if this NVRTC is older
//! than the device, to PTX for the newest architecture it supports, which the driver compiles. The source
//! includes no header. Contraction to fused multiply-adds is off, so that every device rounds alike, unless
//! the numerics are fast. All device objects of one context share modules, and compiled images are cached on
//! disk for later processes.

use crate::context::{OrDriver, PrimaryContext};
use crate::preflight;
use cudarc::driver::CudaModule;
use cudarc::nvrtc::{Ptx, result, sys};
use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::Builder;
use workalike_device::cache::{CacheKey, KernelCache};
use workalike_device::{Builds, DeviceError, DeviceResult, Numerics};
use workalike_kernels::custom::with_quotes;

/// Number of cached modules at which unused ones are dropped.
const REMEMBERED: usize = 256;

/// Sources that are compiled at the same time, at most.
const AT_ONCE: usize = 16;

/// The options of exact compilations, besides the architecture.
const EXACT: &[&str] = &["--fmad=false", "--std=c++17", "-w"];
/// The options of fast compilations, whose last bits may differ. Not `--use_fast_math`: its division gives 0
/// for large divisors, and its sine is wrong far from 0. The source names the functions that are fast.
const FAST: &[&str] =
    &["--fmad=true", "--ftz=true", "--prec-div=false", "--prec-sqrt=false", "--std=c++17", "-w"];

fn options(numerics: Numerics) -> &'static [&'static str] {
    if numerics.fast { FAST } else { EXACT }
}

/// The modules of this process, by context, numerics and source.
static MODULES: LazyLock<Builds<(usize, Numerics, String), CudaModule>> = LazyLock::new(Builds::default);

/// The module of a source on a device, compiled unless it is cached. The context must be current.
pub(crate) fn module(
    context: &PrimaryContext,
    source: &str,
    numerics: Numerics,
) -> DeviceResult<Arc<CudaModule>> {
    module_of(context, source, numerics, None)
}

/// The modules of several sources, of which those without a cached image are compiled at the same time.
pub(crate) fn modules(
    context: &PrimaryContext,
    sources: &[String],
    numerics: Numerics,
) -> DeviceResult<Vec<Arc<CudaModule>>> {
    let owner = context.cuda.cu_ctx() as usize;
    let cache = KernelCache::of_process();
    let name = context.cuda.name().or_driver(&context.id, "cuDeviceGetName")?;
    let options = options(numerics);
    let is_missing = |source: &&String| {
        !MODULES.has(&(owner, numerics, source.to_string()))
            && cache.load(&key(source, options, &name, context.capability, context.driver)).is_none()
    };
    let mut missing: Vec<&String> = sources.iter().filter(is_missing).collect();
    missing.sort_unstable();
    missing.dedup();
    let mut images = HashMap::new();
    // Not where nothing is missing, as in each recording of a fill: it reads files of the system.
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = if missing.is_empty() { AT_ONCE } else { cores().clamp(2, AT_ONCE) };
    for some in missing.chunks(at_once).filter(|some| some.len() > 1) {
        let compile = |source: &String| compile(&context.id, source, options, context.capability);
        std::thread::scope(|scope| {
            let threads: Vec<_> = some
                .iter()
                .map(|&source| (source, Builder::new().spawn_scoped(scope, move || compile(source))))
                .collect();
            for (source, thread) in threads {
                // What no thread compiled is compiled when it is loaded.
                if let Some(image) = thread.ok().and_then(|thread| thread.join().ok()) {
                    images.insert(source, image);
                }
            }
        });
    }
    sources.iter().map(|source| module_of(context, source, numerics, images.remove(source))).collect()
}

/// What a source was compiled to.
type Image = DeviceResult<Vec<u8>>;

fn module_of(
    context: &PrimaryContext,
    source: &str,
    numerics: Numerics,
    image: Option<Image>,
) -> DeviceResult<Arc<CudaModule>> {
    let owner = context.cuda.cu_ctx() as usize;
    MODULES.get((owner, numerics, source.to_string()), || {
        if MODULES.count() >= REMEMBERED {
            // Kernels that no recording has any more may still run. If waiting fails, all stay loaded: the
            // next call finds the error.
            let _alone = context.capture();
            if context.cuda.synchronize().is_ok() {
                MODULES.forget_unused(|(of, ..)| *of == owner);
            }
        }
        load_or_compile(context, source, options(numerics), image)
    })
}

/// Loads the image that an earlier process stored, else stores the one given, or compiles it.
fn load_or_compile(
    context: &PrimaryContext,
    source: &str,
    options: &[&str],
    image: Option<Image>,
) -> DeviceResult<Arc<CudaModule>> {
    let cache = KernelCache::of_process();
    let name = context.cuda.name().or_driver(&context.id, "cuDeviceGetName")?;
    let key = key(source, options, &name, context.capability, context.driver);
    let load = |image| {
        let _quiet = context.gate.quiet_if_any();
        context.cuda.load_module(Ptx::from_binary(image))
    };
    // An image that the driver rejects, for whatever reason, is compiled again.
    let stored = if image.is_none() { cache.load(&key) } else { None };
    if let Some(module) = stored.and_then(|image| load(image).ok()) {
        return Ok(module);
    }
    let image = image.unwrap_or_else(|| compile(&context.id, source, options, context.capability))?;
    let module = load(image.clone()).or_driver(&context.id, "cuModuleLoadData")?;
    cache.store(&key, &image);
    Ok(module)
}

/// The key of an image in the cache. Devices of the same name and driver share it.
fn key(source: &str, options: &[&str], device: &str, capability: i32, driver: i32) -> CacheKey {
    CacheKey::of(&[
        "cuda",
        source,
        &options.join(" "),
        device,
        &capability_text(capability),
        &driver.to_string(),
        &version().unwrap_or_default(),
    ])
}

/// NVRTC's version, e.g. `13.0`.
pub(crate) fn version() -> Option<String> {
    preflight::nvrtc().ok()?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: NVRTC is present; it writes two ints.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) }.result().ok()?;
    Some(format!("{major}.{minor}"))
}

/// A target for NVRTC.
#[derive(Debug, PartialEq, Eq)]
enum NvrtcTarget {
    /// Machine code for exactly this device.
    Cubin(i32),
    /// PTX of this architecture, older than the device.
    Ptx(i32),
}

/// The best of the architectures that NVRTC supports; `None` if the device is older than all of them.
fn target(capability: i32, supported: &[i32]) -> Option<NvrtcTarget> {
    if supported.contains(&capability) {
        return Some(NvrtcTarget::Cubin(capability));
    }
    supported.iter().copied().filter(|s| *s < capability).max().map(NvrtcTarget::Ptx)
}

fn supported(device: &str) -> DeviceResult<Vec<i32>> {
    let failed = |call: &str, e: result::NvrtcError| DeviceError::driver(device, call, e);
    let mut count = 0;
    // SAFETY: NVRTC is present; it writes one int.
    unsafe { sys::nvrtcGetNumSupportedArchs(&mut count) }
        .result()
        .map_err(|e| failed("nvrtcGetNumSupportedArchs", e))?;
    let mut archs = vec![0; usize::try_from(count).unwrap_or(0)];
    // SAFETY: NVRTC writes as many ints as it gave as the count.
    unsafe { sys::nvrtcGetSupportedArchs(archs.as_mut_ptr()) }
        .result()
        .map_err(|e| failed("nvrtcGetSupportedArchs", e))?;
    Ok(archs)
}

/// Compiles; the image is machine code, or PTX with its closing NUL. Needs NVRTC, but no device.
fn compile(device: &str, source: &str, options: &[&str], capability: i32) -> DeviceResult<Vec<u8>> {
    preflight::nvrtc().map_err(|absent| DeviceError::Missing {
        device: device.into(),
        why: absent.why,
        help: absent.help,
    })?;
    let archs = supported(device)?;
    let target = target(capability, &archs).ok_or_else(|| too_old(device, capability, &archs))?;
    let architecture = match target {
        NvrtcTarget::Cubin(n) => format!("--gpu-architecture=sm_{n}"),
        NvrtcTarget::Ptx(n) => format!("--gpu-architecture=compute_{n}"),
    };
    let text = CString::new(source)
        .map_err(|_| kernel_error(device, source, "the generated source holds a NUL byte".into()))?;
    let program = NvrtcProgram(
        result::create_program(&text, Some(c"workalike.cu"))
            .map_err(|e| DeviceError::driver(device, "nvrtcCreateProgram", e))?,
    );
    let mut all = vec![architecture.as_str()];
    all.extend(options);
    // SAFETY: the program was created above and is destroyed when it is dropped.
    if let Err(error) = unsafe { result::compile_program(program.0, &all) } {
        // SAFETY: the program is alive; its log may be read after a failed compilation.
        let log = unsafe { result::get_program_log(program.0) }.unwrap_or_default();
        let log = format!("{error:?} for {architecture}\n{}", text_of(log));
        return Err(kernel_error(device, source, log));
    }
    match target {
        NvrtcTarget::Cubin(_) => program.cubin(device),
        NvrtcTarget::Ptx(_) => program.ptx(device),
    }
}

/// The error for a device that is older than all that this NVRTC compiles for.
fn too_old(device: &str, capability: i32, supported: &[i32]) -> DeviceError {
    let oldest = supported.iter().min().copied().unwrap_or(0);
    DeviceError::Missing {
        device: device.into(),
        why: format!(
            "its compute capability is {}, and NVRTC {} compiles for {} and newer",
            capability_text(capability),
            version().unwrap_or_default(),
            capability_text(oldest)
        ),
        help: "Install NVRTC of CUDA 12, and set WORKALIKE_CUDA_LIBS to its folder".into(),
    }
}

/// A program of NVRTC.
struct NvrtcProgram(sys::nvrtcProgram);

impl NvrtcProgram {
    /// The machine code of a program that was compiled for an `sm_` architecture.
    fn cubin(&self, device: &str) -> DeviceResult<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is alive; NVRTC writes one integer.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &mut bytes) }
            .result()
            .map_err(|e| DeviceError::driver(device, "nvrtcGetCUBINSize", e))?;
        let mut image = vec![0u8; bytes];
        // SAFETY: the program is alive; NVRTC writes as many bytes as it gave as the size.
        unsafe { sys::nvrtcGetCUBIN(self.0, image.as_mut_ptr().cast()) }
            .result()
            .map_err(|e| DeviceError::driver(device, "nvrtcGetCUBIN", e))?;
        Ok(image)
    }

    /// The PTX of a program that was compiled for a `compute_` architecture, with a closing NUL.
    fn ptx(&self, device: &str) -> DeviceResult<Vec<u8>> {
        // SAFETY: the program is alive.
        let image =
            unsafe { result::get_ptx(self.0) }.map_err(|e| DeviceError::driver(device, "nvrtcGetPTX", e))?;
        Ok(image.into_iter().map(|c| c as u8).chain([0]).collect())
    }
}

impl Drop for NvrtcProgram {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once. A failure cannot be reported here, and nothing depends on the
        // program any more.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

fn text_of(log: Vec<c_char>) -> String {
    let bytes: Vec<u8> = log.into_iter().map(|c| c as u8).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn capability_text(capability: i32) -> String {
    format!("{}.{}", capability / 10, capability % 10)
}

/// The error for a source that does not compile. Writes the source to a new file.
fn kernel_error(device: &str, source: &str, log: String) -> DeviceError {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("workalike-{}-{number}.cu", std::process::id()));
    // `create_new`: an existing file or link is never followed or overwritten.
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(source.as_bytes()));
    let source_path = match written {
        Ok(()) => path.display().to_string(),
        Err(e) => format!("no file ({}: {e})", path.display()),
    };
    DeviceError::KernelCompile { device: device.into(), source_path, log: with_quotes(&log, source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_very_device_first_then_the_newest_that_is_older() {
        assert_eq!(target(90, &[75, 80, 90, 100]), Some(NvrtcTarget::Cubin(90)));
        assert_eq!(target(103, &[75, 90, 100]), Some(NvrtcTarget::Ptx(100)));
        assert_eq!(target(70, &[75, 80]), None);
        assert_eq!(target(70, &[]), None);
    }

    #[test]
    #[ignore = "needs NVRTC; `make test-cuda` runs it"]
    fn bad_source_is_an_error_with_log_and_file() {
        let source = "extern \"C\" __global__ void k(float *x) { x[0] = no_such_name; }";
        let DeviceError::KernelCompile { source_path, log, .. } =
            compile("cuda:0", source, EXACT, 90).unwrap_err()
        else {
            panic!("another error was expected")
        };
        assert!(log.contains("no_such_name"), "{log}");
        assert_eq!(std::fs::read_to_string(&source_path).unwrap(), source);
        std::fs::remove_file(source_path).unwrap();
    }

    #[test]
    #[ignore = "needs NVRTC; `make test-cuda` runs it"]
    fn good_source_becomes_machine_code_or_ptx() {
        let source = "extern \"C\" __global__ void k(float *x) { x[threadIdx.x] += 1.0f; }";
        assert!(compile("cuda:0", source, EXACT, 90).unwrap().starts_with(b"\x7fELF"));
        let ptx = compile("cuda:0", source, EXACT, 9999).unwrap();
        assert_eq!(ptx.last(), Some(&0));
        assert!(String::from_utf8_lossy(&ptx).contains(".visible .entry k"));
        assert!(matches!(compile("cuda:0", source, EXACT, 10), Err(DeviceError::Missing { .. })));
    }

    #[test]
    fn fast_kernels_are_other_kernels() {
        let [exact, fast] = [false, true].map(|fast| options(Numerics { fast }));
        let named = |options| key("source", options, "a GPU", 90, 12080);
        assert!(named(exact) == named(exact) && named(exact) != named(fast));
    }

    #[test]
    #[ignore = "needs NVRTC; `make test-cuda` runs it"]
    fn fast_kernels_have_fast_instructions() {
        let [exact, fast] = [false, true].map(|fast| options(Numerics { fast }));
        let source =
            "extern \"C\" __global__ void k(float *x) { x[0] = x[1] / (x[2] * x[3] + sqrtf(x[4])); }";
        let text = |options| {
            let ptx = compile("cuda:0", source, options, 9999).unwrap();
            String::from_utf8_lossy(&ptx).into_owned()
        };
        let (exact, fast) = (text(exact), text(fast));
        for (word, of_exact, of_fast) in [
            ("fma.rn.", false, true),
            ("mul.rn.f32", true, false),
            ("div.rn.f32", true, false),
            ("div.full.ftz.f32", false, true),
            ("sqrt.rn.f32", true, false),
            ("sqrt.approx.ftz.f32", false, true),
        ] {
            assert_eq!(
                (exact.contains(word), fast.contains(word)),
                (of_exact, of_fast),
                "{word}\n{exact}\n{fast}"
            );
        }
    }

    #[test]
    fn a_source_with_a_nul_is_an_error() {
        let e = kernel_error("cuda:0", "\0", "log".into());
        let DeviceError::KernelCompile { source_path, .. } = &e else { panic!("{e}") };
        std::fs::remove_file(source_path).unwrap();
    }
}
