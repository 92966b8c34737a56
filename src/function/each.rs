//! Sequences: arguments that take one slice per iteration.

use crate::engine::{DeviceArray, DeviceView};
use crate::error::{Error, Result};
use crate::value::Value;
use std::ops::Range;
use workalike_kernels::DType;

/// A sequence for `run_n`: iteration `k` gets the `k`-th slice along the first axis. It is an array of the
/// host, or one of a device ([`DeviceArray`], [`DeviceView`]), whose slices do not go through the host in a
/// loop on that device.
///
/// ```
/// use workalike::prelude::*;
/// let (total, x) = (shared("total", 0f32), scalar::<f32>("x"));
/// let mut sim = function([&x]).update(&total, &total + &x).compile()?.optimize(Host::auto())?;
/// let xs = sim.upload(vec![1f32, 2.0, 4.0])?;
/// sim.run_n(3, args![each(&xs)])?;
/// sim.run_n(3, args![each(vec![10f32, 20.0, 40.0])])?;
/// assert_eq!(sim.get(&total)?.item::<f32>()?, 77.0);
/// # Ok::<(), workalike::Error>(())
/// ```
pub fn each(sequence: impl Into<EachArg>) -> EachArg {
    sequence.into()
}

/// Made by [`each`].
#[derive(Clone, Debug)]
pub enum EachArg {
    /// A sequence on the host.
    Host(Value),
    /// A sequence on a device.
    Device(DeviceView),
}

impl<T: Into<Value>> From<T> for EachArg {
    fn from(sequence: T) -> EachArg {
        EachArg::Host(sequence.into())
    }
}

impl From<DeviceView> for EachArg {
    fn from(sequence: DeviceView) -> EachArg {
        EachArg::Device(sequence)
    }
}

impl From<&DeviceView> for EachArg {
    fn from(sequence: &DeviceView) -> EachArg {
        EachArg::Device(sequence.clone())
    }
}

impl From<DeviceArray> for EachArg {
    fn from(sequence: DeviceArray) -> EachArg {
        EachArg::Device(sequence.view())
    }
}

impl From<&DeviceArray> for EachArg {
    fn from(sequence: &DeviceArray) -> EachArg {
        EachArg::Device(sequence.view())
    }
}

impl EachArg {
    pub(super) fn dtype(&self) -> DType {
        match self {
            EachArg::Host(value) => value.dtype(),
            EachArg::Device(view) => view.dtype(),
        }
    }

    pub(super) fn shape(&self) -> &[usize] {
        match self {
            EachArg::Host(value) => value.shape(),
            EachArg::Device(view) => view.shape(),
        }
    }

    /// The number of slices.
    pub(crate) fn len(&self) -> u64 {
        self.shape().first().copied().unwrap_or(0) as u64
    }

    /// A stand-in for its slices until the first is available: zeros of their shape. `what` names the input.
    pub(crate) fn stand_in(&self, steps: u64, what: impl FnOnce() -> String) -> Result<Value> {
        if self.len() != steps {
            let given = self.len().to_string();
            return Err(Error::mismatch(what(), format!("a sequence of {steps} slices"), given));
        }
        Value::zeros(self.dtype(), &[])?.broadcast_to(self.shape().get(1..).unwrap_or(&[]))
    }

    /// The slice of one iteration, on the host; `None` if there is no such slice.
    pub(crate) fn slice_at(&self, step: u64) -> Result<Option<Value>> {
        match self {
            EachArg::Host(value) => slice_of(value, step),
            EachArg::Device(_) if step >= self.len() => Ok(None),
            EachArg::Device(view) => view.slice([(step as isize).into()])?.to_value().map(Some),
        }
    }

    /// The slices of some iterations, which it has.
    pub(super) fn part(&self, iterations: &Range<u64>) -> Result<EachArg> {
        Ok(match self {
            EachArg::Host(value) => EachArg::Host(slices_of(value, iterations)?),
            EachArg::Device(view) => {
                EachArg::Device(view.slice([(iterations.start as isize..iterations.end as isize).into()])?)
            }
        })
    }

    /// The whole sequence as a host array.
    pub(super) fn to_value(&self) -> Result<Value> {
        match self {
            EachArg::Host(value) => Ok(value.clone()),
            EachArg::Device(view) => view.to_value(),
        }
    }
}

/// The slice of a sequence for one iteration; `None` if it has no such slice.
pub(crate) fn slice_of(sequence: &Value, step: u64) -> Result<Option<Value>> {
    let ([len, shape @ ..], [stride, strides @ ..]) = (sequence.shape(), sequence.strides()) else {
        return Ok(None);
    };
    if step >= *len as u64 {
        return Ok(None);
    }
    let first = sequence.offset() as isize + step as isize * stride;
    sequence.view_as(shape, strides, first as usize).map(Some)
}

/// Neighbouring slices of a sequence, which has them.
fn slices_of(sequence: &Value, iterations: &Range<u64>) -> Result<Value> {
    let mut shape = sequence.shape().to_vec();
    let first = sequence.strides().first().copied().unwrap_or(0) * iterations.start as isize;
    if let Some(len) = shape.first_mut() {
        *len = (iterations.end - iterations.start) as usize;
    }
    sequence.view_as(&shape, sequence.strides(), (sequence.offset() as isize + first) as usize)
}
