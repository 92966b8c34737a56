//! Kernels of a program's own, in C, on OpenCL and CUDA devices; the host interprets the dialect.
//!
//! A [`Module`] is a compiled [`KernelSource`]: text in the dialect of both languages, or in one of them. Its
//! [`RawKernel`]s are launched with arrays, numbers and memory for each group; arguments are checked against
//! the signature in the text. [`ElementwiseKernel`], [`ReductionKernel`] and
//! [`ScanKernel`] are made from expressions.
//!
//! ```
//! use workalike::custom::{Grid, CopyInOut, Module, KernelSource, kernel_args};
//! use workalike::prelude::*;
//! # #[cfg(feature = "host")] {
//! let device = Host::auto().open()?; // or OpenCl::auto(), or Cuda::device(0)
//! let source = KernelSource::dialect(
//!     "KERNEL void doublify(GLOBAL_MEM f32 *a, u32 n) {
//!          u32 i = GID_0 * LDIM_0 + LID_0;
//!          if (i < n) a[i] *= 2;
//!      }",
//! )?;
//! let doublify = Module::new(&device, source)?.kernel("doublify")?;
//! let mut a = ndarray::array![[1f32, 2.0], [3.0, 4.0]];
//! doublify.launch(Grid::items([4]), kernel_args![CopyInOut(&mut a), 4])?;
//! assert_eq!(a, ndarray::array![[2f32, 4.0], [6.0, 8.0]]);
//! # }
//! # Ok::<(), workalike::Error>(())
//! ```
//!
//! Where memory stays on the device, arguments are [`DeviceArray`](crate::engine::DeviceArray)s, and a launch
//! that is repeated is [prepared](RawKernel::prepare) once.
//!
//! A kernel in C may read and write outside of its arguments; the host alone checks that.

mod args;
mod array_operators;
mod bound;
mod elementwise;
mod math;
mod module;
mod reduction;
mod scan;

pub use crate::ops::{Grid, KernelOp, LaunchInput, Local};
pub use args::{Argument, CopyIn, CopyInOut, CopyOut};
pub use elementwise::ElementwiseKernel;
pub use math::DeviceMath;
pub use module::{Launch, Module, RawKernel};
pub use reduction::ReductionKernel;
pub use scan::ScanKernel;
pub use workalike_kernels::custom::{KernelSignature, KernelSource, Language, Param, ParamKind};

/// The arguments of a kernel, each converted to an [`Argument`].
///
/// ```
/// use workalike::custom::{Argument, CopyIn, kernel_args};
/// let args: Vec<Argument> = kernel_args![CopyIn(&[1f32, 2.0]), 3, 0.5];
/// assert_eq!(args.len(), 3);
/// ```
#[macro_export]
macro_rules! kernel_args {
    ($($arg:expr),* $(,)?) => { vec![$($crate::custom::Argument::from($arg)),*] };
}
pub use crate::kernel_args;
