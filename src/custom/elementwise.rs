//! Elementwise kernels from an expression in C.

use super::args::Argument;
use super::bound::same;
use super::module::{Module, RawKernel, filled};
use crate::error::{Error, Result};
use crate::ops::Grid;
use std::sync::Arc;
use workalike_device::Device;
use workalike_kernels::custom::KernelSource;

/// A kernel that runs a statement in C for each index `i` of its arrays.
///
/// ```
/// use workalike::custom::{ElementwiseKernel, CopyIn, CopyOut, kernel_args};
/// use workalike::prelude::*;
/// # #[cfg(feature = "host")] {
/// let device = Host::auto().open()?; // or OpenCl::auto(), or Cuda::device(0)
/// let axpby = ElementwiseKernel::new(
///     &device,
///     "axpby",
///     "f32 a, const f32 *x, f32 b, const f32 *y, f32 *z",
///     "z[i] = a * x[i] + b * y[i]",
/// )?;
/// let (x, y, mut z) = (array![1f32, 2.0], array![10f32, 20.0], Array1::<f32>::zeros(2));
/// axpby.call(kernel_args![2.0, CopyIn(&x), 0.5, CopyIn(&y), CopyOut(&mut z)])?;
/// assert_eq!(z, array![7f32, 14.0]);
/// # }
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ElementwiseKernel {
    kernel: RawKernel,
    /// The kernel for distinct arrays.
    apart: RawKernel,
}

/// Elements of a work item where arrays are apart: enough loads in flight to hide the latency of memory.
const EACH: u64 = 4;

/// The two kernels. `$` names are replaced.
const TEXT: &str = include_str!("elementwise.c");

impl ElementwiseKernel {
    /// A kernel with these parameters, separated by commas as in C, of which at least one is an array. The
    /// `operation` is one or more statements of the [dialect](KernelSource); `i` is the index, `n` the number
    /// of elements.
    ///
    /// # Errors
    /// If the name cannot be one in C, the parameters have no array, or the text does not compile.
    pub fn new(
        device: &Arc<dyn Device>,
        name: &str,
        params: &str,
        operation: &str,
    ) -> Result<ElementwiseKernel> {
        let module = Module::new(device, ElementwiseKernel::source(name, params, operation)?)?;
        let kernel = |kernel: &str| module.kernel_of(kernel, name, 1);
        let (kernel, apart) = (kernel(name)?, kernel(&format!("{name}_apart"))?);
        kernel.require_array()?;
        Ok(ElementwiseKernel { kernel, apart })
    }

    pub(super) fn source(name: &str, params: &str, operation: &str) -> Result<KernelSource> {
        let apart = params.replace('*', "* RESTRICT ");
        let words = [
            ("$apart", apart.as_str()),
            ("$params", params),
            ("$operation", operation),
            ("$each", &EACH.to_string()),
        ];
        Ok(KernelSource::dialect(filled(TEXT, name, &words)?)?)
    }

    /// Runs it over arrays that all have as many elements.
    ///
    /// # Errors
    /// If arrays differ in their number of elements, or as [`RawKernel::launch`].
    pub fn call(&self, mut args: Vec<Argument<'_>>) -> Result<()> {
        let count = common_count(self.kernel.name(), &args)?;
        let wide = self.kernel.module().device().properties().is_wide();
        let apart = wide && !shares_arrays(&args);
        args.push(Argument::from(count));
        let (kernel, items) = match apart {
            true => (&self.apart, (count as u64).div_ceil(EACH)),
            false => (&self.kernel, count as u64),
        };
        kernel.launch(Grid::items([items]), args)
    }
}

/// The number of elements that all arrays have.
pub(super) fn common_count(name: &str, args: &[Argument<'_>]) -> Result<usize> {
    if let Some(view) = args.iter().find(|arg| matches!(arg, Argument::Strided(_))) {
        let message = format!("expected contiguous arrays, found {view:?}: copy it with to_array()");
        return Err(Error::Call { function: name.into(), message });
    }
    let mut counts = args.iter().filter_map(elements);
    let count = counts.next().unwrap_or(0);
    match counts.find(|other| *other != count) {
        None => Ok(count),
        Some(other) => {
            let message = format!("expected arrays of {count} elements, as the first one, found {other}");
            Err(Error::Call { function: name.into(), message })
        }
    }
}

/// Whether an array is given twice.
fn shares_arrays(args: &[Argument<'_>]) -> bool {
    let arrays = || args.iter().filter_map(Argument::array);
    arrays().enumerate().any(|(at, one)| arrays().take(at).any(|other| same(one, other)))
}

/// The number of elements of an array.
fn elements(arg: &Argument<'_>) -> Option<usize> {
    let shape = match arg {
        Argument::Array(array) => array.shape(),
        Argument::CopyIn(value) => value.shape(),
        Argument::CopyOut(array) => &array.shape,
        Argument::Strided(_) | Argument::Number(_) | Argument::Local(_) => return None,
    };
    Some(shape.iter().product())
}
