//! The OpenCL library, found at run time.
//!
//! `ocl` declares the `cl*` functions as symbols to be linked, which would make every binary refuse to start
//! on a host without `libOpenCL.so.1`. So this module defines those symbols itself: each is a jump through a
//! slot, and [`load`] fills the slots from the library that it opens. A jump has no signature, so nothing can
//! disagree with the real functions. The symbols are hidden: a shared library made of this crate (a Python
//! extension, say) exports none of them.
//!
//! The archive that `build.rs` writes stands for the real library in the whole link, therefore all of OpenCL
//! 3.0 and of its OpenGL sharing is here, not only what this crate calls.

#[cfg(runtime_loader)]
pub(crate) use runtime::load;

/// Where the library is linked (macOS, Windows): it is there, or the program would not have started.
#[cfg(not(runtime_loader))]
pub(crate) fn load() -> Result<(), String> {
    Ok(())
}

#[cfg(runtime_loader)]
mod runtime {
    use libloading::Library;
    use std::ffi::{OsStr, OsString, c_void};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// The environment variable that names the library to open, in place of the usual ones.
    const VARIABLE: &str = "WORKALIKE_OPENCL_LIB";

    /// A symbol, and where its jump goes.
    type Slot = (&'static str, &'static AtomicPtr<c_void>);

    /// What a function that returns a status does while it has no target: it reports
    /// `CL_PLATFORM_NOT_FOUND_KHR`.
    extern "C" fn no_status() -> i32 {
        -1001
    }

    /// What a function that returns a handle or an address does while it has no target: it returns null.
    extern "C" fn no_handle() -> *mut c_void {
        std::ptr::null_mut()
    }

    /// Declares one slot and one hidden jump per name.
    macro_rules! forward {
        (status: $($status:ident)*; handle: $($handle:ident)*;) => {
            #[allow(non_upper_case_globals)]
            mod slots {
                use super::{AtomicPtr, c_void, no_handle, no_status};
                $(pub(super) static $status: AtomicPtr<c_void> = AtomicPtr::new(no_status as *mut c_void);)*
                $(pub(super) static $handle: AtomicPtr<c_void> = AtomicPtr::new(no_handle as *mut c_void);)*
            }
            const SLOTS: &[Slot] = &[
                $((concat!(stringify!($status), "\0"), &slots::$status),)*
                $((concat!(stringify!($handle), "\0"), &slots::$handle),)*
            ];
            forward!(@jumps $($status)* $($handle)*);
        };
        (@jumps $($name:ident)*) => {
            #[cfg(target_arch = "x86_64")]
            std::arch::global_asm!(
                ".pushsection .text.workalike_opencl,\"ax\",@progbits",
                $(
                    concat!(".globl ", stringify!($name)),
                    concat!(".hidden ", stringify!($name)),
                    concat!(".type ", stringify!($name), ",@function"),
                    concat!(stringify!($name), ": jmpq *{", stringify!($name), "}(%rip)"),
                )*
                ".popsection",
                $($name = sym slots::$name,)*
                options(att_syntax)
            );
            // x16 is the register that the procedure call standard leaves to such veneers.
            #[cfg(target_arch = "aarch64")]
            std::arch::global_asm!(
                ".pushsection .text.workalike_opencl,\"ax\",@progbits",
                ".p2align 2",
                $(
                    concat!(".globl ", stringify!($name)),
                    concat!(".hidden ", stringify!($name)),
                    concat!(".type ", stringify!($name), ",@function"),
                    concat!(stringify!($name), ": adrp x16, {", stringify!($name), "}"),
                    concat!("ldr x16, [x16, :lo12:{", stringify!($name), "}]"),
                    "br x16",
                )*
                ".popsection",
                $($name = sym slots::$name,)*
            );
        };
    }

    forward! {
        status:
        clBuildProgram clCompileProgram clCreateKernelsInProgram clCreateSubDevices clEnqueueAcquireGLObjects
        clEnqueueBarrier clEnqueueBarrierWithWaitList clEnqueueCopyBuffer clEnqueueCopyBufferRect
        clEnqueueCopyBufferToImage clEnqueueCopyImage clEnqueueCopyImageToBuffer clEnqueueFillBuffer clEnqueueFillImage
        clEnqueueMarker clEnqueueMarkerWithWaitList clEnqueueMigrateMemObjects clEnqueueNDRangeKernel
        clEnqueueNativeKernel clEnqueueReadBuffer clEnqueueReadBufferRect clEnqueueReadImage clEnqueueReleaseGLObjects
        clEnqueueSVMFree clEnqueueSVMMap clEnqueueSVMMemFill clEnqueueSVMMemcpy clEnqueueSVMMigrateMem clEnqueueSVMUnmap
        clEnqueueTask clEnqueueUnmapMemObject clEnqueueWaitForEvents clEnqueueWriteBuffer clEnqueueWriteBufferRect
        clEnqueueWriteImage clFinish clFlush clGetCommandQueueInfo clGetContextInfo clGetDeviceAndHostTimer clGetDeviceIDs
        clGetDeviceInfo clGetEventInfo clGetEventProfilingInfo clGetGLContextInfoKHR clGetGLObjectInfo clGetGLTextureInfo
        clGetHostTimer clGetImageInfo clGetKernelArgInfo clGetKernelInfo clGetKernelSubGroupInfo clGetKernelWorkGroupInfo
        clGetMemObjectInfo clGetPipeInfo clGetPlatformIDs clGetPlatformInfo clGetProgramBuildInfo clGetProgramInfo
        clGetSamplerInfo clGetSupportedImageFormats clReleaseCommandQueue clReleaseContext clReleaseDevice clReleaseEvent
        clReleaseKernel clReleaseMemObject clReleaseProgram clReleaseSampler clRetainCommandQueue clRetainContext
        clRetainDevice clRetainEvent clRetainKernel clRetainMemObject clRetainProgram clRetainSampler clSVMFree
        clSetCommandQueueProperty clSetContextDestructorCallback clSetDefaultDeviceCommandQueue clSetEventCallback
        clSetKernelArg clSetKernelArgSVMPointer clSetKernelExecInfo clSetMemObjectDestructorCallback
        clSetProgramReleaseCallback clSetProgramSpecializationConstant clSetUserEventStatus clUnloadCompiler
        clUnloadPlatformCompiler clWaitForEvents;
        handle:
        clCloneKernel clCreateBuffer clCreateBufferWithProperties clCreateCommandQueue clCreateCommandQueueWithProperties
        clCreateContext clCreateContextFromType clCreateFromGLBuffer clCreateFromGLRenderbuffer clCreateFromGLTexture
        clCreateFromGLTexture2D clCreateFromGLTexture3D clCreateImage clCreateImage2D clCreateImage3D
        clCreateImageWithProperties clCreateKernel clCreatePipe clCreateProgramWithBinary clCreateProgramWithBuiltInKernels
        clCreateProgramWithIL clCreateProgramWithSource clCreateSampler clCreateSamplerWithProperties clCreateSubBuffer
        clCreateUserEvent clEnqueueMapBuffer clEnqueueMapImage clGetExtensionFunctionAddress
        clGetExtensionFunctionAddressForPlatform clLinkProgram clSVMAlloc;
    }

    /// Opens the library and fills the slots, once; says why not on a host without OpenCL. Nothing in this
    /// crate calls OpenCL before it has succeeded.
    pub(crate) fn load() -> Result<(), String> {
        static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
        let opened = LIBRARY.get_or_init(|| {
            let library = open()?;
            for (name, slot) in SLOTS {
                // SAFETY: only the address is taken; the library lives as long as the process, in the static
                // above.
                if let Ok(function) = unsafe { library.get::<*mut c_void>(name.as_bytes()) } {
                    slot.store(*function, Ordering::Release);
                }
            }
            Ok(library)
        });
        opened.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn open() -> Result<Library, String> {
        // What the process has in its global scope already comes first. A preloaded OpenCL (oclgrind works
        // so) would answer the calls that a second library makes to itself, and each would be handed the
        // other's objects.
        let process = Library::from(libloading::os::unix::Library::this());
        if is_opencl(&process) {
            return Ok(process);
        }
        let names: Vec<OsString> = match std::env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => vec![name],
            _ => ["libOpenCL.so.1", "libOpenCL.so"].map(OsString::from).to_vec(),
        };
        let mut reasons = Vec::new();
        for name in &names {
            // SAFETY: opening runs the library's initializers; an OpenCL loader's do nothing but prepare it.
            match unsafe { Library::new(OsStr::new(name)) } {
                Ok(library) if is_opencl(&library) => return Ok(library),
                Ok(_) => reasons.push(format!("{} is not an OpenCL library", name.display())),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(format!("no OpenCL library was found ({})", reasons.join("; ")))
    }

    fn is_opencl(library: &Library) -> bool {
        // SAFETY: only the address is taken, and not kept. Our own symbols are hidden, so they are not found
        // here.
        unsafe { library.get::<*mut c_void>(b"clGetPlatformIDs\0") }.is_ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::collections::HashSet;

        #[test]
        fn every_symbol_has_one_slot() {
            let names: HashSet<_> = SLOTS.iter().map(|s| s.0).collect();
            assert_eq!(names.len(), SLOTS.len());
            assert!(names.iter().all(|n| n.starts_with("cl") && n.ends_with('\0')));
            assert_eq!(names.len(), 124);
        }
    }
}
