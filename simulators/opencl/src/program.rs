//! Builds printed source. Each text is built once in a context, or loaded by `binary`. All kernels of a
//! Program are one text, because starting a compiler takes much longer than compiling one more kernel.

use crate::binary;
use crate::cl::{self, Handle, Kernel, Program};
use crate::context::{OpenClContext, QueueKind};
use ocl::ffi::{self, cl_int};
use std::ffi::{CStr, CString};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use workalike_device::cache::KernelCache;
use workalike_device::{Builds, DeviceError, DeviceModule, DeviceResult, Numerics};
use workalike_kernels::custom::with_quotes;
use workalike_kernels::print::{KernelEntry, TranslationUnit};
use workalike_kernels::verify::Verified;

/// Number of cached programs at which unused ones are dropped.
const CACHED: usize = 64;

/// How a program is built: the side of the device, and the exactness of floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BuildOptions {
    pub(crate) queue_kind: QueueKind,
    pub(crate) numerics: Numerics,
}

/// The programs of a context, by build settings and source text.
pub(crate) type Programs = Builds<(BuildOptions, String), Handle<Program>>;

/// The program of a text, built now unless it is cached.
fn program(context: &OpenClContext, how: BuildOptions, text: &str) -> DeviceResult<Arc<Handle<Program>>> {
    let programs = &context.programs;
    programs.get((how, text.to_string()), || {
        if programs.count() >= CACHED {
            programs.forget_unused(|_| true);
        }
        load_or_build(context, how, text).map(Arc::new)
    })
}

/// The kernels of a list of Nests.
#[derive(Debug)]
pub(crate) struct OpenClModule {
    /// None where there is no Nest.
    pub(crate) program: Option<Arc<Handle<Program>>>,
    source: TranslationUnit,
    /// The Nests that the source was printed from; empty for other sources.
    pub(crate) nests: Vec<Verified>,
    queue_kind: QueueKind,
    /// Declared after the program, so that it is released after it.
    context: Arc<OpenClContext>,
}

impl DeviceModule for OpenClModule {
    fn source(&self) -> &str {
        &self.source.text
    }
}

impl OpenClModule {
    /// Builds printed source.
    pub(crate) fn build(
        context: &Arc<OpenClContext>,
        how: BuildOptions,
        source: TranslationUnit,
    ) -> DeviceResult<OpenClModule> {
        if source.text.is_empty() {
            let (nests, context) = (Vec::new(), context.clone());
            return Ok(OpenClModule { program: None, source, nests, queue_kind: how.queue_kind, context });
        }
        let program = Some(program(context, how, &source.text)?);
        Ok(OpenClModule {
            program,
            source,
            nests: Vec::new(),
            queue_kind: how.queue_kind,
            context: context.clone(),
        })
    }

    /// Whether it was built in this context.
    pub(crate) fn is_of(&self, context: &Arc<OpenClContext>) -> bool {
        Arc::ptr_eq(&self.context, context)
    }

    /// The side on which its kernels run.
    pub(crate) fn queue_kind(&self) -> QueueKind {
        self.queue_kind
    }

    /// The launch of the Nest at a position.
    pub(crate) fn entry(&self, nest: usize) -> Option<&KernelEntry> {
        self.source.entries.get(nest)
    }

    /// A new kernel object, whose arguments only the caller sets.
    pub(crate) fn kernel(&self, name: &str) -> DeviceResult<Handle<Kernel>> {
        const CALL: &str = "clCreateKernel";
        let device = &self.context.id;
        let Some(program) = &self.program else {
            return Err(DeviceError::driver(device, CALL, "the module is empty"));
        };
        let label = name;
        let name = CString::new(name).map_err(|e| DeviceError::driver(device, CALL, e))?;
        let mut status: cl_int = 0;
        // SAFETY: the program is valid and built, the name ends with a NUL.
        let raw = unsafe { ffi::clCreateKernel(program.raw(), name.as_ptr(), &mut status) };
        // SAFETY: a new kernel, or null.
        unsafe { Handle::created(raw, device, &format!("{CALL}({label})"), status) }
    }
}

/// Loads the program that an earlier process stored, else builds and stores it.
fn load_or_build(context: &OpenClContext, how: BuildOptions, text: &str) -> DeviceResult<Handle<Program>> {
    let (cache, options) = (KernelCache::of_process(), options(context.info.correct_division, how.numerics));
    if binary::driver_keeps(context) {
        return build(context, how.queue_kind, text, options);
    }
    let place = (context, how.queue_kind);
    let key = binary::key(place, text, options);
    if let Some(program) = binary::load(cache, &key, place, options) {
        return Ok(program);
    }
    let program = build(context, how.queue_kind, text, options)?;
    binary::store(cache, &key, &program);
    Ok(program)
}

/// Builds source for one side of a device.
pub(crate) fn build(
    context: &OpenClContext,
    queue_kind: QueueKind,
    text: &str,
    options: &CStr,
) -> DeviceResult<Handle<Program>> {
    const CREATE: &str = "clCreateProgramWithSource";
    const BUILD: &str = "clBuildProgram";
    let (device, built_for) = (&context.id, context.device(queue_kind));
    let (start, length) = (text.as_ptr().cast(), text.len());
    let mut status: cl_int = 0;
    // SAFETY: one string of the given length, which OpenCL copies.
    let raw =
        unsafe { ffi::clCreateProgramWithSource(context.handle.raw(), 1, &start, &length, &mut status) };
    // SAFETY: a new program, or null.
    let program: Handle<Program> = unsafe { Handle::created(raw, device, CREATE, status) }?;
    // SAFETY: the program and the one device are of the same context; no callback, so the call returns when
    // it is built.
    let status =
        unsafe { ffi::clBuildProgram(program.raw(), 1, &built_for, options.as_ptr(), None, ptr::null_mut()) };
    if status == 0 {
        return Ok(program);
    }
    let log = log(context, queue_kind, &program);
    let refused = matches!(
        status,
        ffi::CL_BUILD_PROGRAM_FAILURE | ffi::CL_COMPILE_PROGRAM_FAILURE | ffi::CL_LINK_PROGRAM_FAILURE
    );
    if !refused && log.is_empty() {
        return Err(cl::error(device, BUILD, status));
    }
    let log = if log.is_empty() { format!("{} and no log", cl::status_text(status)) } else { log };
    let log = with_quotes(&log, text);
    Err(DeviceError::KernelCompile { device: device.clone(), source_path: write_out(text), log })
}

/// Build options. Exact: nothing that changes results, with division and square root as exact as the device
/// allows. Fast: all that keeps the meaning of NaN and infinity, so neither `-cl-finite-math-only` nor
/// `-cl-fast-relaxed-math`, which implies it. `-w` turns warnings off: generated code compares integers with
/// themselves, for which PoCL prints warnings to stderr.
pub(crate) fn options(correct_division: bool, numerics: Numerics) -> &'static CStr {
    match correct_division {
        _ if numerics.fast => c"-cl-std=CL1.2 -w -cl-mad-enable -cl-denorms-are-zero",
        true => c"-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt",
        false => c"-cl-std=CL1.2 -w",
    }
}

fn log(context: &OpenClContext, queue_kind: QueueKind, program: &Handle<Program>) -> String {
    let query = |size, value, written| {
        // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null.
        unsafe {
            let log = ffi::CL_PROGRAM_BUILD_LOG;
            ffi::clGetProgramBuildInfo(program.raw(), context.device(queue_kind), log, size, value, written)
        }
    };
    cl::info(query)
        .map(|bytes| cl::text(&bytes))
        .unwrap_or_else(|status| format!("(the compiler's log cannot be had: {})", cl::status_text(status)))
}

/// Writes source that did not compile to a new file. Returns the path, or why it could not be written.
fn write_out(text: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let write = |path: &Path| {
        // Only a new file: the temporary folder is shared, and links of other users must not be followed.
        OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
    };
    let folder = std::env::temp_dir();
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("workalike-{}-{number}.cl", std::process::id()));
        match write(&path) {
            Ok(()) => return path.display().to_string(),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {}
            Err(error) => return format!("(it could not be written to {}: {error})", path.display()),
        }
    }
}
