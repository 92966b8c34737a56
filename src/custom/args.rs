//! Arguments of kernels.

use crate::engine::{DeviceArray, DeviceView};
use crate::error::Result;
use crate::value::{Element, Value};
use ndarray::{ArrayBase, DataMut, Dimension};
use std::fmt;
use workalike_kernels::{DType, Scalar};

/// Stores the result of a kernel in an array of the host.
pub(super) type Store<'a> = Box<dyn FnOnce(Value) -> Result<()> + 'a>;

/// An argument of a kernel.
pub enum Argument<'a> {
    /// An array on the kernel's device.
    Array(DeviceArray),
    /// The memory of a view that is not contiguous, from its first element on. Kernels from expressions
    /// refuse it.
    Strided(DeviceArray),
    /// A number: an integer converts to every integer dtype that holds it, a float to every float dtype.
    Number(Scalar),
    /// Bytes of memory of each group.
    Local(u64),
    /// See [`CopyIn`].
    CopyIn(Value),
    /// See [`CopyOut`] and [`CopyInOut`].
    CopyOut(HostArray<'a>),
}

/// An array of the host that a kernel writes.
pub struct HostArray<'a> {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// Its elements before the launch, if the kernel reads them.
    pub(super) before: Option<Value>,
    pub(super) store: Store<'a>,
}

/// An array of the host that a kernel reads: it is copied to the device before the launch.
#[doc(alias = "In")]
pub struct CopyIn<T>(pub T);

/// An array of the host that a kernel writes: it is zero before the launch, and copied back after it.
#[doc(alias = "Out")]
pub struct CopyOut<'a, A>(pub &'a mut A);

/// An array of the host that a kernel reads and writes: it is copied to the device before the launch, and
/// back after it.
#[doc(alias = "InOut")]
pub struct CopyInOut<'a, A>(pub &'a mut A);

impl Argument<'_> {
    /// Another handle to an argument that is not in the host's memory.
    pub(super) fn shared<'b>(&self) -> Option<Argument<'b>> {
        Some(match self {
            Argument::Array(array) => Argument::Array(array.clone()),
            Argument::Strided(array) => Argument::Strided(array.clone()),
            Argument::Number(number) => Argument::Number(*number),
            Argument::Local(bytes) => Argument::Local(*bytes),
            Argument::CopyIn(_) | Argument::CopyOut(_) => return None,
        })
    }

    /// The array on the device.
    pub(super) fn array(&self) -> Option<&DeviceArray> {
        match self {
            Argument::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Whether the argument is in the host's memory.
    pub(super) fn is_on_host(&self) -> bool {
        matches!(self, Argument::CopyIn(_) | Argument::CopyOut(_))
    }
}

impl fmt::Debug for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = |f: &mut fmt::Formatter<'_>, dtype: DType, shape: &[usize]| {
            write!(f, "an array of {dtype} {shape:?} of the host")
        };
        match self {
            Argument::Array(array) => write!(f, "an array of {} {:?}", array.dtype(), array.shape()),
            Argument::Strided(array) => write!(f, "a view with strides of {}", array.dtype()),
            Argument::Number(scalar) => write!(f, "{scalar} of {}", scalar.dtype()),
            Argument::Local(bytes) => write!(f, "{bytes} bytes of local memory"),
            Argument::CopyIn(value) => host(f, value.dtype(), value.shape()),
            Argument::CopyOut(array) => host(f, array.dtype, &array.shape),
        }
    }
}

fn host_array<'a, T: Element, S: DataMut<Elem = T>, D: Dimension>(
    array: &'a mut ArrayBase<S, D>,
    reads: bool,
) -> Argument<'a> {
    let before = reads.then(|| Value::from(&*array));
    let (dtype, shape) = (T::DTYPE, array.shape().to_vec());
    let store: Store<'a> = Box::new(move |value| {
        array.view_mut().into_dyn().assign(&value.to_array::<T>()?);
        Ok(())
    });
    Argument::CopyOut(HostArray { dtype, shape, before, store })
}

impl<T: Into<Value>> From<CopyIn<T>> for Argument<'_> {
    fn from(array: CopyIn<T>) -> Self {
        Argument::CopyIn(array.0.into())
    }
}

impl<'a, T: Element, S: DataMut<Elem = T>, D: Dimension> From<CopyOut<'a, ArrayBase<S, D>>> for Argument<'a> {
    fn from(array: CopyOut<'a, ArrayBase<S, D>>) -> Self {
        host_array(array.0, false)
    }
}

impl<'a, T: Element, S: DataMut<Elem = T>, D: Dimension> From<CopyInOut<'a, ArrayBase<S, D>>>
    for Argument<'a>
{
    fn from(array: CopyInOut<'a, ArrayBase<S, D>>) -> Self {
        host_array(array.0, true)
    }
}

impl From<DeviceArray> for Argument<'_> {
    fn from(array: DeviceArray) -> Self {
        Argument::Array(array)
    }
}

/// A contiguous view is an array. Of another one it is the memory from the first element on, to which other
/// arguments give the strides.
impl From<&DeviceView> for Argument<'_> {
    fn from(view: &DeviceView) -> Self {
        match view.contiguous() {
            Some(array) => Argument::Array(array),
            None => Argument::Strided(view.starting_at_first()),
        }
    }
}

impl From<&DeviceArray> for Argument<'_> {
    fn from(array: &DeviceArray) -> Self {
        Argument::Array(array.clone())
    }
}

macro_rules! numbers {
    ($($t:ty),*) => { $(impl From<$t> for Argument<'_> {
        fn from(number: $t) -> Self {
            // The bytes of a number of a dtype are a number of that dtype; zero is never taken.
            let scalar = Scalar::from_le_bytes(<$t>::DTYPE, bytemuck::bytes_of(&number));
            Argument::Number(scalar.unwrap_or(Scalar::from_f64(<$t>::DTYPE, 0.0)))
        }
    })* };
}
numbers!(i8, i16, i32, i64, u8, u16, u32, u64, half::f16, half::bf16, f32, f64);

impl From<usize> for Argument<'_> {
    fn from(number: usize) -> Self {
        Argument::from(number as u64)
    }
}
