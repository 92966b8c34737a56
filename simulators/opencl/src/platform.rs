//! The OpenCL platforms and devices of this host.
//!
//! Every query first opens the library and counts the platforms. Both are fast; without a library or a
//! platform the result is an error that says what to install.

use crate::cl::{self, status_text};
use crate::loader;
use crate::pocl;
use ocl::ffi::{self, cl_device_id, cl_int, cl_platform_id, cl_uint};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use workalike_device::{DeviceError, DeviceResult};

/// What kind of processor a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// The host's own processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// Another accelerator.
    Accelerator,
    /// None of these.
    Other,
}

/// One OpenCL device, as its driver describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Index of the platform on this host.
    pub platform: usize,
    /// Index of the device in the platform.
    pub device: usize,
    /// The platform's name.
    pub platform_name: String,
    /// The device's name.
    pub name: String,
    /// The vendor.
    pub vendor: String,
    /// The kind of processor.
    pub kind: DeviceKind,
    /// The supported version, e.g. `OpenCL 3.0 ...`.
    pub version: String,
    /// The driver's own version.
    pub driver: String,
    /// Memory in bytes.
    pub memory: u64,
    /// Largest single buffer in bytes.
    pub largest_allocation: u64,
    /// Local memory of a work-group in bytes.
    pub local_memory: u64,
    /// Largest work-group.
    pub max_group: u32,
    /// Compute units.
    pub units: u32,
    /// Whether the device computes in f64.
    pub f64: bool,
    /// Why workalike cannot use the device; `None` if it can.
    pub unusable: Option<String>,
    /// Required alignment of a sub-buffer's start in bytes.
    pub(crate) alignment: u64,
    /// Whether f32 division and square root can be rounded correctly.
    pub(crate) correct_division: bool,
    /// Whether the device has 64-bit atomics.
    pub(crate) wide_atomics: bool,
}

impl DeviceInfo {
    /// The name in errors, properties and on the command line: `opencl:platform:device`.
    pub fn id(&self) -> String {
        id(self.platform, self.device)
    }
}

/// A device with its driver handles, which are valid for as long as the process lives.
#[derive(Clone, Debug)]
pub(crate) struct PlatformDevice {
    pub(crate) info: DeviceInfo,
    pub(crate) platform: cl_platform_id,
    pub(crate) device: cl_device_id,
    /// A second device for the same processor, whose kernels run on the calling thread; see [`pocl`].
    pub(crate) near: Option<cl_device_id>,
}

/// Held while platforms and devices are listed. Loaders initialize in the first `clGetPlatformIDs`, drivers
/// in the first `clGetDeviceIDs`; a second thread at the same time finds no devices, or crashes (PoCL 3.1
/// does both).
static LISTING: Mutex<()> = Mutex::new(());

fn lock_listing() -> MutexGuard<'static, ()> {
    LISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All OpenCL devices of this host, platform by platform. An error if it has no OpenCL library or no
/// platform.
pub fn list() -> Result<Vec<DeviceInfo>, DeviceError> {
    Ok(all()?.into_iter().map(|found| found.info).collect())
}

/// The device with these indices.
pub(crate) fn find(platform: usize, device: usize) -> DeviceResult<PlatformDevice> {
    let _listing = lock_listing();
    let wanted = id(platform, device);
    let platforms = platforms(&wanted)?;
    let Some(&handle) = platforms.get(platform) else {
        let why = format!("this host has {}, counted from 0", plural(platforms.len(), "OpenCL platform"));
        return Err(missing(&wanted, why));
    };
    let mut devices = devices(handle, platform)?;
    if device >= devices.len() {
        let why = format!("platform {platform} has {}, counted from 0", plural(devices.len(), "device"));
        return Err(missing(&wanted, why));
    }
    Ok(devices.swap_remove(device))
}

/// The device with this handle.
pub(crate) fn of_handle(device: cl_device_id) -> DeviceResult<PlatformDevice> {
    let known = all()?.into_iter().find(|found| found.device == device);
    known.ok_or_else(|| DeviceError::Unsupported {
        device: "opencl".into(),
        what: "a cl_device_id that no platform lists, such as a sub-device".into(),
    })
}

/// The first usable GPU, else the first usable device.
pub(crate) fn best() -> DeviceResult<PlatformDevice> {
    let found = all()?;
    let why = found.iter().filter_map(|f| Some(format!("{}: {}", f.info.id(), f.info.unusable.as_ref()?)));
    let why = why.collect::<Vec<_>>().join("; ");
    let mut usable: Vec<PlatformDevice> = found.into_iter().filter(|f| f.info.unusable.is_none()).collect();
    let gpu = usable.iter().position(|f| f.info.kind == DeviceKind::Gpu);
    if usable.is_empty() {
        let why = if why.is_empty() { "no platform has a device".into() } else { why };
        return Err(missing("opencl", why));
    }
    Ok(usable.swap_remove(gpu.unwrap_or(0)))
}

fn all() -> DeviceResult<Vec<PlatformDevice>> {
    let _listing = lock_listing();
    let mut found = Vec::new();
    let mut failed = None;
    for (index, platform) in platforms("opencl")?.into_iter().enumerate() {
        match devices(platform, index) {
            Ok(devices) => found.extend(devices),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // An error of one driver does not hide the devices of the others, but is the result if there are none.
    match failed {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

fn platforms(wanted: &str) -> DeviceResult<Vec<cl_platform_id>> {
    loader::load().map_err(|why| missing(wanted, why))?;
    const CALL: &str = "clGetPlatformIDs";
    let mut count: cl_uint = 0;
    // SAFETY: only the number is requested, which is written to `count`.
    let status = unsafe { ffi::clGetPlatformIDs(0, ptr::null_mut(), &mut count) };
    if status == ffi::CL_PLATFORM_NOT_FOUND_KHR || (status == 0 && count == 0) {
        return Err(missing(
            wanted,
            "there is an OpenCL library, but no driver (platform) is installed".into(),
        ));
    }
    cl::check(wanted, CALL, status)?;
    let mut platforms = vec![ptr::null_mut(); count as usize];
    // SAFETY: `platforms` has `count` elements.
    let status = unsafe { ffi::clGetPlatformIDs(count, platforms.as_mut_ptr(), ptr::null_mut()) };
    cl::check(wanted, CALL, status)?;
    Ok(platforms)
}

fn devices(platform: cl_platform_id, index: usize) -> DeviceResult<Vec<PlatformDevice>> {
    const CALL: &str = "clGetDeviceIDs";
    const CL_DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
    let name = format!("opencl:{index}");
    let platform_name = platform_text(platform, ffi::CL_PLATFORM_NAME, &name)?;
    if platform_name == pocl::NAME {
        pocl::request_both(&platform_text(platform, ffi::CL_PLATFORM_VERSION, &name)?);
    }
    let mut count: cl_uint = 0;
    // SAFETY: only the number is requested, which is written to `count`; `platform` came from
    // clGetPlatformIDs.
    let status = unsafe { ffi::clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, ptr::null_mut(), &mut count) };
    if status == ffi::CL_DEVICE_NOT_FOUND || (status == 0 && count == 0) {
        return Ok(Vec::new());
    }
    cl::check(&name, CALL, status)?;
    let mut ids = vec![ptr::null_mut(); count as usize];
    let list = ids.as_mut_ptr();
    // SAFETY: `ids` has `count` elements.
    let status = unsafe { ffi::clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, list, ptr::null_mut()) };
    cl::check(&name, CALL, status)?;
    let describe = |(position, device)| {
        let info = describe(device, index, position, &platform_name)?;
        Ok(PlatformDevice { info, platform, device, near: None })
    };
    let found = ids.into_iter().enumerate().map(describe).collect::<DeviceResult<Vec<_>>>()?;
    Ok(if platform_name == pocl::NAME { pocl::pair(found) } else { found })
}

fn platform_text(platform: cl_platform_id, question: cl_uint, id: &str) -> DeviceResult<String> {
    let query = |size, value: *mut c_void, written| {
        // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null.
        unsafe { ffi::clGetPlatformInfo(platform, question, size, value, written) }
    };
    cl::info(query)
        .map(|answer| cl::text(&answer))
        .map_err(|status| cl::error(id, "clGetPlatformInfo", status))
}

fn describe(
    device: cl_device_id,
    platform: usize,
    position: usize,
    platform_name: &str,
) -> DeviceResult<DeviceInfo> {
    let id = id(platform, position);
    let query = Query { device, id: &id };
    let kind = query.kind()?;
    let version = query.text(ffi::CL_DEVICE_VERSION)?;
    let unusable = query.unusable(&version)?;
    let max_group = query.max_group()?;
    // The answer is in bits. 256 bytes suffice for every known device, so that most devices share memory
    // plans.
    let alignment = (query.number(ffi::CL_DEVICE_MEM_BASE_ADDR_ALIGN)? / 8).max(256);
    Ok(DeviceInfo {
        platform,
        device: position,
        platform_name: platform_name.to_string(),
        name: query.text(ffi::CL_DEVICE_NAME)?,
        vendor: query.text(ffi::CL_DEVICE_VENDOR)?,
        kind,
        version,
        driver: query.text(ffi::CL_DRIVER_VERSION)?,
        memory: query.number(ffi::CL_DEVICE_GLOBAL_MEM_SIZE)?,
        largest_allocation: query.number(ffi::CL_DEVICE_MAX_MEM_ALLOC_SIZE)?,
        local_memory: query.number(ffi::CL_DEVICE_LOCAL_MEM_SIZE)?,
        max_group,
        units: u32::try_from(query.number(ffi::CL_DEVICE_MAX_COMPUTE_UNITS)?).unwrap_or(u32::MAX),
        f64: query.optional(ffi::CL_DEVICE_DOUBLE_FP_CONFIG) != 0,
        unusable,
        alignment: alignment.checked_next_power_of_two().unwrap_or(1 << 63),
        correct_division: query.optional(ffi::CL_DEVICE_SINGLE_FP_CONFIG)
            & ffi::CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
            != 0,
        wide_atomics: query
            .text(ffi::CL_DEVICE_EXTENSIONS)?
            .split_whitespace()
            .any(|extension| extension == "cl_khr_int64_base_atomics"),
    })
}

/// `clGetDeviceInfo` of one device, which must be a platform's.
struct Query<'a> {
    device: cl_device_id,
    id: &'a str,
}

impl Query<'_> {
    fn bytes(&self, parameter: cl_uint) -> Result<Vec<u8>, cl_int> {
        cl::info(|size, value, written| {
            // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null; the device is the
            // platform's.
            unsafe { ffi::clGetDeviceInfo(self.device, parameter, size, value, written) }
        })
    }

    fn text(&self, parameter: cl_uint) -> DeviceResult<String> {
        match self.bytes(parameter) {
            Ok(answer) => Ok(cl::text(&answer)),
            Err(status) => Err(self.failed(parameter, &status_text(status))),
        }
    }

    fn number(&self, parameter: cl_uint) -> DeviceResult<u64> {
        match self.bytes(parameter) {
            Ok(answer) => {
                cl::number(&answer).ok_or_else(|| self.failed(parameter, "the answer is not a number"))
            }
            Err(status) => Err(self.failed(parameter, &status_text(status))),
        }
    }

    /// A number that a device without the feature may refuse to give; then 0.
    fn optional(&self, parameter: cl_uint) -> u64 {
        self.bytes(parameter).ok().and_then(|answer| cl::number(&answer)).unwrap_or(0)
    }

    fn failed(&self, parameter: cl_uint, what: &str) -> DeviceError {
        DeviceError::driver(self.id, "clGetDeviceInfo", format!("question {parameter:#x}: {what}"))
    }

    fn kind(&self) -> DeviceResult<DeviceKind> {
        let bits = self.number(ffi::CL_DEVICE_TYPE)?;
        Ok(match () {
            () if bits & ffi::CL_DEVICE_TYPE_GPU != 0 => DeviceKind::Gpu,
            () if bits & ffi::CL_DEVICE_TYPE_CPU != 0 => DeviceKind::Cpu,
            () if bits & ffi::CL_DEVICE_TYPE_ACCELERATOR != 0 => DeviceKind::Accelerator,
            () => DeviceKind::Other,
        })
    }

    /// Why workalike cannot use the device; `None` if it can.
    fn unusable(&self, version: &str) -> DeviceResult<Option<String>> {
        Ok(if self.number(ffi::CL_DEVICE_AVAILABLE)? == 0 {
            Some("the driver says that it is not available".to_string())
        } else if self.number(ffi::CL_DEVICE_COMPILER_AVAILABLE)? == 0 {
            Some("its driver has no compiler".to_string())
        } else if self.number(ffi::CL_DEVICE_ENDIAN_LITTLE)? == 0 {
            Some("it is big-endian".to_string())
        } else if !supports_1_2(version) {
            Some(format!("it supports only {version}, and OpenCL 1.2 is needed"))
        } else {
            None
        })
    }

    /// Work items of the largest one-dimensional work-group.
    fn max_group(&self) -> DeviceResult<u32> {
        // The first of the sizes per dimension bounds one-dimensional groups too.
        let sizes = self.bytes(ffi::CL_DEVICE_MAX_WORK_ITEM_SIZES).unwrap_or_default();
        let first = sizes.first_chunk().map_or(usize::MAX, |b| usize::from_ne_bytes(*b));
        let largest = self.number(ffi::CL_DEVICE_MAX_WORK_GROUP_SIZE)?.min(first as u64).max(1);
        Ok(u32::try_from(largest).unwrap_or(u32::MAX))
    }
}

/// Whether a version text, `OpenCL <major>.<minor> <anything>`, is at least 1.2.
fn supports_1_2(version: &str) -> bool {
    let numbers = version.strip_prefix("OpenCL ").and_then(|v| v.split_whitespace().next()?.split_once('.'));
    let parsed =
        numbers.and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
    parsed.is_some_and(|version| version >= (1, 2))
}

fn id(platform: usize, device: usize) -> String {
    format!("opencl:{platform}:{device}")
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn missing(device: &str, why: String) -> DeviceError {
    DeviceError::Missing {
        device: device.into(),
        why,
        help: "`clinfo -l` lists what there is. For a GPU install its vendor's OpenCL driver; for any CPU install PoCL \
               (package pocl-opencl-icd on Debian and Ubuntu). WORKALIKE_OPENCL_LIB may name the OpenCL library to use"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert!(supports_1_2("OpenCL 3.0 pocl HSTR: pthread"));
        assert!(supports_1_2("OpenCL 1.2"));
        assert!(!supports_1_2("OpenCL 1.1 CUDA"));
        assert!(!supports_1_2("OpenCL"));
        assert!(!supports_1_2(""));
    }
}
