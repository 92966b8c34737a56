//! Compiled Nests on a GPU.

use crate::context::PrimaryContext;
use cudarc::driver::CudaFunction;
use cudarc::driver::sys::{self, CUfunction};
use workalike_device::{DeviceError, DeviceModule, DeviceResult};
use workalike_kernels::Scalar;
use workalike_kernels::verify::Verified;

/// Loads a kernel now. Lazy loading would load it at the first launch, which may be inside a capture. Drivers
/// before CUDA 12.4 have no such call; they load a kernel when the function is looked up.
pub(crate) fn finish_loading(context: &PrimaryContext, function: CUfunction) -> DeviceResult<()> {
    if context.driver < 12040 {
        return Ok(());
    }
    let _quiet = context.gate.quiet_if_any();
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

/// Compiled Nests, loaded.
#[derive(Debug)]
pub(crate) struct CudaModule {
    pub(crate) source: String,
    pub(crate) kernels: Vec<CudaKernel>,
    /// The Nests that the kernels were printed from.
    pub(crate) nests: Vec<Verified>,
}

/// One compiled Nest.
#[derive(Debug)]
pub(crate) struct CudaKernel {
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
    pub(crate) fn kernel(&self, nest: usize) -> Option<&CudaKernel> {
        self.kernels.get(nest)
    }

    /// Every loaded function; holding one keeps the code loaded.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &CudaFunction> {
        self.kernels.iter().filter_map(|k| k.function.as_ref())
    }
}

impl DeviceModule for CudaModule {
    fn source(&self) -> &str {
        &self.source
    }
}
