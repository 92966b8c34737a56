//! The OpenCL library, found at run time.
//!
//! `ocl` declares the `cl*` functions as symbols to be linked, which would make every binary refuse to start
//! on a host without `libOpenCL.so.1`. So this module defines those symbols: each is a jump through a slot,
//! and [`load`] fills the slots from the library that it opens. A jump has no signature, so it cannot differ
//! from that of the real function. The symbols are hidden: a shared library made of this crate (a Python
//! extension, for instance) does not export them.
//!
//! The archive that `build.rs` writes replaces the real library in the whole link, therefore all functions of
//! OpenCL 3.0 and of its OpenGL sharing are here, including functions that this crate does not call.

#[cfg(runtime_loader)]
pub(crate) use runtime::load;

/// Where the library is linked (macOS, Windows): the program would not have started without it.
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

    /// The environment variable that names the library to open instead of the usual ones.
    const VARIABLE: &str = "WORKALIKE_OPENCL_LIB";

    /// A symbol, and the target of its jump.
    type Slot = (&'static str, &'static AtomicPtr<c_void>);

    /// The target of functions that return a status, until the library is loaded:
    /// `CL_PLATFORM_NOT_FOUND_KHR`.
    extern "C" fn no_status() -> i32 {
        -1001
    }

    /// The target of functions that return a handle or an address, until the library is loaded: null.
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
            // x16 is the register that the procedure call standard reserves for such veneers.
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

    /// Opens the library and fills the slots, once; the error says why a host has no OpenCL. Nothing in this
    /// crate calls OpenCL before this function has succeeded.
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
        // A library in the global scope of the process comes first. A preloaded OpenCL (such as oclgrind)
        // would receive the calls that a second library makes to its own functions, with objects of that
        // library.
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
