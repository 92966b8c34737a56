//! Built programs as the driver's binaries, cached on disk between processes.
//!
//! The content of a binary depends on the driver: machine code, or a form that compiles faster than source. A
//! driver may reject its own binary after an update that does not change its version; then the source is
//! built.

use crate::cl::{Handle, Program};
use crate::context::{OpenClContext, QueueKind};
use crate::pocl;
use ocl::ffi::{self, cl_int, cl_uint};
use std::ffi::CStr;
use std::ptr;
use workalike_device::cache::{CacheKey, KernelCache};

/// Whether the driver has its own cache, which is better than one of its binaries. PoCL caches kernels
/// compiled for their size of work-group; in a binary they are for any size and some percent slower, and
/// making a binary takes as long as a build.
pub(crate) fn driver_keeps(context: &OpenClContext) -> bool {
    context.info.platform_name == pocl::NAME
        && std::env::var_os("POCL_KERNEL_CACHE").is_none_or(|set| set != "0")
}

/// The key of a program in the cache.
pub(crate) fn key(
    (context, queue_kind): (&OpenClContext, QueueKind),
    text: &str,
    options: &CStr,
) -> CacheKey {
    let info = &context.info;
    let queue_kind = format!("{queue_kind:?}");
    CacheKey::of(&[
        "opencl",
        &queue_kind,
        text,
        &options.to_string_lossy(),
        &info.platform_name,
        &info.name,
        &info.version,
        &info.driver,
    ])
}

/// The cached program, built; `None` if there is none that the driver accepts.
pub(crate) fn load(
    cache: &KernelCache,
    key: &CacheKey,
    (context, queue_kind): (&OpenClContext, QueueKind),
    options: &CStr,
) -> Option<Handle<Program>> {
    const CALL: &str = "clCreateProgramWithBinary";
    let binary = cache.load(key)?;
    let (start, length, device) = (binary.as_ptr(), binary.len(), context.device(queue_kind));
    let (mut taken, mut status): (cl_int, cl_int) = (0, 0);
    // SAFETY: one device with one binary of the given length, which OpenCL copies; both statuses are written.
    let raw = unsafe {
        ffi::clCreateProgramWithBinary(
            context.handle.raw(),
            1,
            &device,
            &length,
            &start,
            &mut taken,
            &mut status,
        )
    };
    // SAFETY: a new program, or null.
    let program: Handle<Program> = unsafe { Handle::created(raw, &context.id, CALL, status) }.ok()?;
    // SAFETY: the program and the one device are of the same context; no callback, so the call returns when
    // it is built.
    let built = taken == 0
        && 0 == unsafe {
            ffi::clBuildProgram(program.raw(), 1, &device, options.as_ptr(), None, ptr::null_mut())
        };
    built.then_some(program)
}

/// Stores a program that was built for one device. Does nothing if the driver gives no binary.
pub(crate) fn store(cache: &KernelCache, key: &CacheKey, program: &Handle<Program>) {
    if cache.folder().is_none() {
        return;
    }
    let ask = |question, size, value| {
        // SAFETY: the program is valid; `size` bytes are writable at `value`.
        unsafe { ffi::clGetProgramInfo(program.raw(), question, size, value, ptr::null_mut()) }
    };
    // A program may belong to several devices, but was built for one. Only that one has a size; its position
    // depends on the driver.
    let mut count: cl_uint = 0;
    let asked = ask(ffi::CL_PROGRAM_NUM_DEVICES, size_of::<cl_uint>(), (&raw mut count).cast());
    // Our programs have at most two devices.
    let mut sizes = vec![0usize; count.min(16) as usize];
    let asked = asked | ask(ffi::CL_PROGRAM_BINARY_SIZES, size_of_val(&sizes[..]), sizes.as_mut_ptr().cast());
    let built = sizes.iter().enumerate().find(|(_, size)| asked == 0 && **size > 0);
    let Some((at, size)) = built else { return };
    let mut binary = vec![0u8; *size];
    // OpenCL skips null pointers.
    let mut places: Vec<*mut u8> = vec![ptr::null_mut(); sizes.len()];
    if let Some(place) = places.get_mut(at) {
        *place = binary.as_mut_ptr();
    }
    // The value passed is the list of pointers. The driver writes the binary to `binary`, which has the size
    // that it returned.
    if ask(ffi::CL_PROGRAM_BINARIES, size_of_val(&places[..]), places.as_mut_ptr().cast()) == 0 {
        cache.store(key, &binary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cl;
    use crate::tests::device;
    use workalike_device::Numerics;
    use workalike_device::cache::KernelCache;

    const OPTIONS: &CStr = c"-cl-std=CL1.2";
    const TEXT: &str = "kernel void twice(global float* a) { a[get_global_id(0)] *= 2; }";

    fn kernels(program: &Handle<Program>) -> Vec<u8> {
        cl::info(|size, value, written| {
            // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null.
            unsafe {
                ffi::clGetProgramInfo(program.raw(), ffi::CL_PROGRAM_KERNEL_NAMES, size, value, written)
            }
        })
        .unwrap()
    }

    #[test]
    fn a_binary_comes_back_as_the_program_it_was() {
        let Some(device) = device() else { return };
        let context = device.context();
        let folder = tempfile::tempdir().unwrap();
        let cache = KernelCache::at(&folder.path().join("kernels"), 64 << 20);
        let wide = (&**context, QueueKind::Wide);
        let key = key(wide, TEXT, OPTIONS);
        assert!(load(&cache, &key, wide, OPTIONS).is_none());
        let program = crate::program::build(context, QueueKind::Wide, TEXT, OPTIONS).unwrap();
        store(&cache, &key, &program);
        assert_eq!(cache.contents().unwrap().entries, 1);
        let again = load(&cache, &key, wide, OPTIONS).expect("the driver takes its own binary");
        assert_eq!(cl::text(&kernels(&again)), "twice");
        // A valid entry that is no binary: the driver rejects it.
        cache.store(&key, b"this is not a program");
        assert!(load(&cache, &key, wide, OPTIONS).is_none());
        let other = super::key(wide, TEXT, c"-cl-std=CL1.2 -w");
        assert!(load(&cache, &other, wide, OPTIONS).is_none());
    }

    #[test]
    fn fast_programs_are_other_programs() {
        let Some(device) = device() else { return };
        let named = |fast| {
            key((device.context(), QueueKind::Wide), TEXT, crate::program::options(true, Numerics { fast }))
        };
        assert!(named(true) == named(true) && named(true) != named(false));
    }
}
