//! A thin layer above the bindings: status codes as errors, owned handles, info queries.

use ocl::ffi::{self, cl_int};
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use workalike_device::{DeviceError, DeviceResult};

macro_rules! status_names {
    ($($name:ident)*) => {
        /// The name of a status code in the OpenCL headers, and the number.
        pub(crate) fn status_text(status: cl_int) -> String {
            match status {
                $(ffi::$name => format!("{} ({status})", stringify!($name)),)*
                _ => format!("status {status}"),
            }
        }
    };
}

status_names! {
    CL_DEVICE_NOT_FOUND CL_DEVICE_NOT_AVAILABLE CL_COMPILER_NOT_AVAILABLE CL_MEM_OBJECT_ALLOCATION_FAILURE
    CL_OUT_OF_RESOURCES CL_OUT_OF_HOST_MEMORY CL_MEM_COPY_OVERLAP CL_BUILD_PROGRAM_FAILURE CL_MAP_FAILURE
    CL_MISALIGNED_SUB_BUFFER_OFFSET CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST CL_COMPILE_PROGRAM_FAILURE
    CL_LINKER_NOT_AVAILABLE CL_LINK_PROGRAM_FAILURE CL_INVALID_VALUE CL_INVALID_DEVICE_TYPE CL_INVALID_PLATFORM
    CL_INVALID_DEVICE CL_INVALID_CONTEXT CL_INVALID_QUEUE_PROPERTIES CL_INVALID_COMMAND_QUEUE CL_INVALID_HOST_PTR
    CL_INVALID_MEM_OBJECT CL_INVALID_BINARY CL_INVALID_BUILD_OPTIONS CL_INVALID_PROGRAM CL_INVALID_PROGRAM_EXECUTABLE
    CL_INVALID_KERNEL_NAME CL_INVALID_KERNEL_DEFINITION CL_INVALID_KERNEL CL_INVALID_ARG_INDEX CL_INVALID_ARG_VALUE
    CL_INVALID_ARG_SIZE CL_INVALID_KERNEL_ARGS CL_INVALID_WORK_DIMENSION CL_INVALID_WORK_GROUP_SIZE
    CL_INVALID_WORK_ITEM_SIZE CL_INVALID_GLOBAL_OFFSET CL_INVALID_EVENT_WAIT_LIST CL_INVALID_EVENT CL_INVALID_OPERATION
    CL_PROFILING_INFO_NOT_AVAILABLE CL_INVALID_BUFFER_SIZE CL_INVALID_GLOBAL_WORK_SIZE CL_INVALID_PROPERTY CL_PLATFORM_NOT_FOUND_KHR
}

/// Whether a status says that memory ran out.
fn is_out_of_memory(status: cl_int) -> bool {
    matches!(
        status,
        ffi::CL_MEM_OBJECT_ALLOCATION_FAILURE | ffi::CL_OUT_OF_RESOURCES | ffi::CL_OUT_OF_HOST_MEMORY
    )
}

/// The error for a status.
pub(crate) fn error(device: &str, call: &str, status: cl_int) -> DeviceError {
    DeviceError::driver(device, call, status_text(status))
}

/// `Ok` if the call succeeded.
pub(crate) fn check(device: &str, call: &str, status: cl_int) -> DeviceResult<()> {
    if status == ffi::CL_SUCCESS as cl_int { Ok(()) } else { Err(error(device, call, status)) }
}

/// As [`check`], for a call that may allocate `bytes` of device memory. (Drivers allocate at the first use of
/// a buffer, so this is not only `clCreateBuffer`.)
pub(crate) fn check_memory(device: &str, call: &str, status: cl_int, bytes: u64) -> DeviceResult<()> {
    if is_out_of_memory(status) {
        let available = format!("{call} said {}", status_text(status));
        return Err(DeviceError::OutOfMemory { device: device.into(), requested: bytes, available });
    }
    check(device, call, status)
}

/// A kind of OpenCL object and its release function. The bindings have one pointer type for all handles.
pub(crate) trait ClObject {
    /// The name in messages.
    const NAME: &'static str;
    /// `clRelease..`.
    const RELEASE: unsafe extern "system" fn(*mut c_void) -> cl_int;
}

macro_rules! kinds {
    ($($kind:ident $release:ident;)*) => {
        $(
            #[doc = concat!("Released by `", stringify!($release), "`.")]
            pub(crate) enum $kind {}
            impl ClObject for $kind {
                const NAME: &'static str = stringify!($kind);
                const RELEASE: unsafe extern "system" fn(*mut c_void) -> cl_int = ffi::$release;
            }
        )*
    };
}

kinds! {
    Context clReleaseContext;
    Queue clReleaseCommandQueue;
    Buffer clReleaseMemObject;
    Program clReleaseProgram;
    Kernel clReleaseKernel;
    Event clReleaseEvent;
}

/// One reference to an OpenCL object, released when dropped. OpenCL keeps the objects that enqueued work uses
/// alive: a buffer, kernel or queue may be dropped right after that work was enqueued.
pub(crate) struct Handle<K: ClObject> {
    raw: *mut c_void,
    kind: PhantomData<K>,
}

// SAFETY: OpenCL objects may be used from any thread.
unsafe impl<K: ClObject> Send for Handle<K> {}
// SAFETY: several threads may use an OpenCL object at once, except to set the arguments of one kernel. The
// thread that creates a kernel sets its arguments before it shares the kernel.
unsafe impl<K: ClObject> Sync for Handle<K> {}

impl<K: ClObject> Handle<K> {
    /// Takes the reference that a `clCreate..` call returned; null is an error whatever the status says.
    ///
    /// # Safety
    /// `raw` is null, or a valid handle of kind `K` whose reference is not released by anyone else.
    pub(crate) unsafe fn created(
        raw: *mut c_void,
        device: &str,
        call: &str,
        status: cl_int,
    ) -> DeviceResult<Self> {
        check(device, call, status)?;
        if raw.is_null() {
            return Err(DeviceError::driver(device, call, "it returned no object, and no reason"));
        }
        Ok(Handle { raw, kind: PhantomData })
    }

    /// The handle, valid while `self` lives.
    pub(crate) fn raw(&self) -> *mut c_void {
        self.raw
    }
}

impl<K: ClObject> Drop for Handle<K> {
    fn drop(&mut self) {
        // A failed release cannot be reported here.
        // SAFETY: the handle is valid and this is its only release.
        let _ = unsafe { K::RELEASE(self.raw) };
    }
}

impl<K: ClObject> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:p})", K::NAME, self.raw)
    }
}

/// Calls one of the `clGet..Info` functions, given as a closure over (size, value, size returned).
pub(crate) fn info(query: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Result<Vec<u8>, cl_int> {
    let mut size = 0;
    let status = query(0, ptr::null_mut(), &mut size);
    if status != 0 {
        return Err(status);
    }
    let mut bytes = vec![0u8; size];
    if size > 0 {
        let status = query(size, bytes.as_mut_ptr().cast(), ptr::null_mut());
        if status != 0 {
            return Err(status);
        }
    }
    Ok(bytes)
}

/// An info answer that is text.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}

/// An info answer that is one number of 4 or 8 bytes (the size depends on the question and on the pointer
/// width).
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => bytes.first_chunk().map(|b| u64::from(u32::from_ne_bytes(*b))),
        8 => bytes.first_chunk().map(|b| u64::from_ne_bytes(*b)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_status_codes_are_only_numbers() {
        assert_eq!(status_text(-5), "CL_OUT_OF_RESOURCES (-5)");
        assert_eq!(status_text(-9998), "status -9998");
    }

    #[test]
    fn answers() {
        assert_eq!(text(b"pocl \0\0"), "pocl");
        assert_eq!(number(&7u32.to_ne_bytes()), Some(7));
        assert_eq!(number(&(1u64 << 40).to_ne_bytes()), Some(1 << 40));
        assert_eq!(number(&[]), None);
    }

    #[test]
    fn out_of_memory_is_distinguished() {
        let says = |status| check_memory("opencl:0:0", "clCreateBuffer", status, 64);
        assert!(matches!(says(-4), Err(DeviceError::OutOfMemory { requested: 64, .. })));
        assert!(matches!(says(-30), Err(DeviceError::Driver { .. })));
        assert!(says(0).is_ok());
    }
}
