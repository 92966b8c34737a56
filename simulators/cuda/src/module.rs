//! Compiled Nests on a GPU.

use crate::context::{Context, OrDriver};
use cudarc::driver::CudaFunction;
use cudarc::driver::result::function::{get_function_attribute, set_function_attribute};
use cudarc::driver::sys::{self, CUfunction};
use workalike_device::{DeviceError, DeviceResult, Module};
use workalike_kernels::Scalar;
use workalike_kernels::verify::Verified;

/// Loads a kernel now. Lazy loading would load it at the first launch, which may be inside a capture. Drivers
/// before CUDA 12.4 have no such call; they load a kernel when the function is looked up.
pub(crate) fn finish_loading(context: &Context, function: CUfunction) -> DeviceResult<()> {
    if context.driver < 12040 {
        return Ok(());
    }
    // SAFETY: the driver is present, so this does not panic; `cuFuncLoad` takes a function and returns a
    // status.
    let status = unsafe {
        match sys::culib().get::<unsafe extern "C" fn(CUfunction) -> u32>(b"cuFuncLoad") {
            Ok(load) => load(function),
            Err(_) => 0,
        }
    };
    match status {
        0 => Ok(()),
        status => Err(DeviceError::driver(&context.id, "cuFuncLoad", format!("status {status}"))),
    }
}

/// Gives the cache of a compute unit to a kernel that uses no shared memory. By default the memory that both
/// come from stays divided as for the kernel before, which may leave little of it to the cache.
pub(crate) fn prefer_cache(context: &Context, function: CUfunction) -> DeviceResult<()> {
    use sys::CUfunction_attribute_enum::{
        CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
    };
    // SAFETY: the function is of a module that is loaded.
    let shared = unsafe { get_function_attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) };
    if shared.or_driver(&context.id, "cuFuncGetAttribute")? > 0 {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { set_function_attribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0) }
        .or_driver(&context.id, "cuFuncSetAttribute")
}

/// Compiled Nests, loaded.
#[derive(Debug)]
pub(crate) struct CudaModule {
    pub(crate) source: String,
    pub(crate) kernels: Vec<Kernel>,
    /// The Nests that the kernels were printed from.
    pub(crate) nests: Vec<Verified>,
}

/// One compiled Nest.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// `None`: there is nothing to do.
    pub(crate) function: Option<CudaFunction>,
    pub(crate) groups: u32,
    pub(crate) group: u32,
    /// The last arguments, after the operands: the sizes.
    pub(crate) sizes: Vec<Scalar>,
    /// For each operand, whether it is written.
    pub(crate) written: Vec<bool>,
}

impl CudaModule {
    /// The kernel of a Nest.
    pub(crate) fn kernel(&self, nest: usize) -> Option<&Kernel> {
        self.kernels.get(nest)
    }

    /// Every loaded function; holding one keeps the code loaded.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &CudaFunction> {
        self.kernels.iter().filter_map(|k| k.function.as_ref())
    }
}

impl Module for CudaModule {
    fn source(&self) -> &str {
        &self.source
    }
}
