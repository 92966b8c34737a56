//! Reductions from expressions in C.

use super::args::Argument;
use super::bound::BoundArrays;
use super::elementwise::common_count;
use super::module::{Launch, Module, Moved, RawKernel, filled};
use crate::engine::DeviceArray;
use crate::error::{Error, Result};
use crate::ops::Grid;
use std::sync::Arc;
use workalike_device::{Device, Properties};
use workalike_kernels::DType;
use workalike_kernels::custom::{KernelSource, Language};

/// Reduces a value of each index to one.
///
/// Each group reduces a part of the indices, and one group reduces their results, so that the order is the
/// same in each run. The operation must be associative and commutative; floats are rounded in that order.
///
/// ```
/// use workalike::custom::{CopyIn, ReductionKernel, kernel_args};
/// use workalike::prelude::*;
/// # #[cfg(feature = "host")] {
/// let device = Host::auto().open()?; // or OpenCl::auto(), or Cuda::device(0)
/// let dot = ReductionKernel::new(
///     &device,
///     "dot",
///     "const f32 *x, const f32 *y",
///     (DType::F32, "0"),
///     "x[i] * y[i]",
///     "a + b",
/// )?;
/// let sum = dot.call(kernel_args![CopyIn(&[1f32, 2.0, 3.0]), CopyIn(&[4f32, 5.0, 6.0])])?;
/// assert_eq!(sum.to_value()?, Value::from(32f32));
/// # }
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReductionKernel {
    module: Module,
    part: RawKernel,
    rest: RawKernel,
    dtype: DType,
}

/// The two kernels. `$` names are replaced.
const TEXT: &str = include_str!("reduction.c");

/// Work items of a group, and the most groups.
fn sizes(device: &Properties) -> (u32, u64) {
    match device.is_wide() {
        true => (256, u64::from(device.units) * 8),
        // A processor runs the items of a group one after another.
        false => (16, u64::from(device.units) * 4),
    }
}

impl ReductionKernel {
    /// A reduction over these parameters, separated by commas as in C, of which at least one is an array. The
    /// result has the dtype of `out`, whose text is its neutral element; halves are reduced in float32. `map`
    /// is an expression of the [dialect](KernelSource) in the index `i` and the number of elements `n`;
    /// `reduce` is one in `a` and `b`, which may be evaluated more than once.
    ///
    /// # Errors
    /// If the name cannot be one in C, the parameters have no array, or the text does not compile.
    pub fn new(
        device: &Arc<dyn Device>,
        name: &str,
        params: &str,
        (dtype, neutral): (DType, &str),
        map: &str,
        reduce: &str,
    ) -> Result<ReductionKernel> {
        let (group, _) = sizes(device.properties());
        let source = ReductionKernel::source(group, name, params, (dtype, neutral), map, reduce)?;
        let module = Module::new(device, source)?;
        let part = module.kernel_of(&format!("{name}_part"), name, 2)?;
        let rest = module.kernel_of(&format!("{name}_rest"), name, 0)?;
        part.require_array()?;
        Ok(ReductionKernel { module, part, rest, dtype })
    }

    pub(super) fn source(
        group: u32,
        name: &str,
        params: &str,
        (dtype, neutral): (DType, &str),
        map: &str,
        reduce: &str,
    ) -> Result<KernelSource> {
        let words = [
            ("$params", params),
            ("$neutral", &format!("(({neutral}))")),
            ("$map", map),
            ("$reduce", reduce),
            ("$group", &group.to_string()),
        ];
        Ok(KernelSource::new(Language::Dialect, filled(TEXT, name, &words)?, &[("out", dtype)])?)
    }

    /// Reduces over arrays that all have as many elements; the result is a scalar on the device.
    ///
    /// # Errors
    /// If arrays differ in their number of elements, or as [`RawKernel::launch`].
    pub fn call(&self, args: Vec<Argument<'_>>) -> Result<DeviceArray> {
        let out = DeviceArray::allocate(self.module.device(), self.dtype, &[])?;
        let Moved { args, results, .. } = self.module.moved(args)?;
        if !results.is_empty() {
            return self.refuse("expected arrays that are read, found one to copy back");
        }
        self.bound(args, &out)?.run()?;
        Ok(out)
    }

    /// A reduction with its arguments bound, to be run many times; the result goes to `out`, an array of one
    /// element.
    ///
    /// # Errors
    /// As [`ReductionKernel::call`]; arguments must be on the device.
    pub fn prepare(&self, args: Vec<Argument<'_>>, out: &DeviceArray) -> Result<Launch> {
        self.part.require_on_device(&args)?;
        if out.shape().iter().product::<usize>() != 1 {
            return self.refuse("expected a result of one element");
        }
        self.bound(args, out)
    }

    fn refuse<T>(&self, message: &str) -> Result<T> {
        Err(Error::Call { function: self.part.name().into(), message: message.into() })
    }

    fn bound(&self, mut args: Vec<Argument<'_>>, out: &DeviceArray) -> Result<Launch> {
        let count = common_count(self.part.name(), &args)?;
        let (group, most) = sizes(self.module.device().properties());
        // Each work item has a few elements at least.
        let groups = (count as u64).div_ceil(u64::from(group) * 4).clamp(1, most);
        let parts = DeviceArray::allocate(self.module.device(), self.dtype.register(), &[groups as usize])?;
        args.extend([Argument::from(count), Argument::from(&parts)]);
        let mut bound = BoundArrays::default();
        let first = self.part.call(Grid::groups([groups], [group]), args, &mut bound)?;
        let args = vec![Argument::from(&parts), Argument::from(groups), Argument::from(out)];
        let second = self.rest.call(Grid::groups([1], [group]), args, &mut bound)?;
        self.module.record(vec![first, second], bound)
    }
}
