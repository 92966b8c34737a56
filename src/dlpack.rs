//! DLPack: arrays in and out without a copy, to and from NumPy, PyTorch, CuPy, JAX and others that run in the
//! same process.
//!
//! The structures are those of DLPack's C header, `dlpack.h` (<https://dmlc.github.io/dlpack/latest/>), in
//! the form that all its versions have, `DLManagedTensor`, and in that of 1.0, which says whether memory may
//! be written.
//!
//! ```
//! use workalike::dlpack::Tensor;
//! use workalike::prelude::*;
//! let device = Host::auto().open()?;
//! let x = DeviceArray::upload(&device, vec![1f32, 2.0, 3.0])?;
//! // For another library: it releases the tensor by calling its deleter.
//! let raw = x.to_dlpack()?.into_raw();
//! // SAFETY: no other code has the tensor.
//! let tensor = unsafe { Tensor::from_raw(raw) }?;
//! assert_eq!((tensor.dtype()?, tensor.shape()), (DType::F32, vec![3]));
//! // SAFETY: the memory is only read, and stays valid.
//! let y = unsafe { DeviceArray::from_dlpack(&device, tensor) }?;
//! assert_eq!(y.to_value()?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
//! # Ok::<(), workalike::Error>(())
//! ```

mod versioned;

pub use versioned::{DlManagedTensorVersioned, DlVersion, IS_COPIED, READ_ONLY, VERSION};

use crate::engine::DeviceArray;
use crate::error::{Error, Result};
use crate::value::Value;
use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use workalike_device::{Device, HostBytes, NativeDevice, NativeMemory};
use workalike_kernels::DType;

/// `DLDevice`: a kind of device, and its number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDevice {
    /// 1: CPU, 2: CUDA, 3: page-locked memory of the host, 4: OpenCL.
    pub kind: i32,
    /// The device's number.
    pub id: i32,
}

const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const OPENCL: i32 = 4;
const CUDA_MANAGED: i32 = 13;

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlDataType {
    /// 0: signed integers, 1: unsigned integers, 2: floats, 4: bfloat16, 6: bool.
    pub code: u8,
    /// Bits of an element.
    pub bits: u8,
    /// Elements of a vector; 1 for numbers.
    pub lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DlTensor {
    /// The memory: an address, or a `cl_mem`.
    pub data: *mut c_void,
    /// Its device.
    pub device: DlDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DlDataType,
    /// Extents.
    pub shape: *mut i64,
    /// Elements from one index to the next; null if the elements are in row-major order.
    pub strides: *mut i64,
    /// The first byte.
    pub byte_offset: u64,
}

/// `DLManagedTensor`: a tensor, and how to release it.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensor {
    /// The tensor.
    pub tensor: DlTensor,
    /// The producer's own data.
    pub context: *mut c_void,
    /// Releases the tensor. The consumer calls it once.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensor)>,
}

/// A `DLManagedTensor` that we own: it is released when this is dropped.
#[derive(Debug)]
pub struct Tensor(NonNull<DlManagedTensor>);

// SAFETY: the caller of `from_raw` promised that the deleter may be called on any thread, and that no other
// code has the tensor.
unsafe impl Send for Tensor {}
// SAFETY: a shared Tensor only reads the description, which does not change.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// The tensor of another library, e.g. from a capsule of Python, whose name must then be set to
    /// `used_dltensor`.
    ///
    /// # Errors
    /// If the pointer is null, or the description is not one: a negative rank or extent, or no shape.
    ///
    /// # Safety
    /// A pointer that is not null is a valid `DLManagedTensor` that was not released, and no other code
    /// releases it. Its deleter may be called on any thread.
    pub unsafe fn from_raw(tensor: *mut DlManagedTensor) -> Result<Tensor> {
        let Some(tensor) = NonNull::new(tensor) else {
            return Err(refused("a tensor", "null: it was consumed or freed"));
        };
        let tensor = Tensor(tensor);
        let DlTensor { ndim, shape, .. } = tensor.described();
        let axes = usize::try_from(*ndim).map_err(|_| refused("a rank", ndim))?;
        if axes > 0 && shape.is_null() {
            return Err(refused("a shape", "none"));
        }
        match tensor.extents().iter().find(|extent| **extent < 0) {
            None => Ok(tensor),
            Some(extent) => Err(refused("extents", extent)),
        }
    }

    /// The tensor for another library, which calls its deleter.
    pub fn into_raw(self) -> *mut DlManagedTensor {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }

    /// The description.
    pub fn described(&self) -> &DlTensor {
        // SAFETY: the pointer is valid until the deleter is called, which happens when `self` is dropped.
        unsafe { &self.0.as_ref().tensor }
    }

    fn list(&self, list: *const i64) -> &[i64] {
        let axes = usize::try_from(self.described().ndim).unwrap_or(0);
        if axes == 0 || list.is_null() {
            return &[];
        }
        // SAFETY: shape and strides of a valid tensor have one number for each axis.
        unsafe { std::slice::from_raw_parts(list, axes) }
    }

    fn extents(&self) -> &[i64] {
        self.list(self.described().shape)
    }

    /// Its extents.
    pub fn shape(&self) -> Vec<usize> {
        // They are not negative: see `from_raw`.
        self.extents().iter().map(|&extent| extent.unsigned_abs() as usize).collect()
    }

    /// Its dtype.
    ///
    /// # Errors
    /// If no dtype of this library is like it: vectors, small floats.
    pub fn dtype(&self) -> Result<DType> {
        let given = self.described().dtype;
        let found = DType::ALL.into_iter().find(|dtype| type_of(*dtype) == given);
        found.ok_or_else(|| {
            refused("a dtype", format!("code {} of {} bits, {} lanes", given.code, given.bits, given.lanes))
        })
    }

    /// Whether its elements are in row-major order without gaps.
    fn is_contiguous(&self) -> bool {
        let strides = self.list(self.described().strides);
        let mut step = 1i64;
        let mut fits = strides.is_empty() || strides.len() == self.extents().len();
        for (extent, stride) in self.extents().iter().zip(strides).rev() {
            fits &= *extent <= 1 || *stride == step;
            step = step.saturating_mul(*extent);
        }
        fits || self.extents().contains(&0)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        let tensor = self.0.as_ptr();
        // SAFETY: the tensor is valid, is ours, and is released once.
        unsafe {
            if let Some(deleter) = (*tensor).deleter {
                deleter(tensor);
            }
        }
    }
}

fn refused(expected: &str, given: impl ToString) -> Error {
    Error::mismatch("DLPack", format!("{expected} that this library has"), given.to_string())
}

/// DLPack's type of a dtype.
fn type_of(dtype: DType) -> DlDataType {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        dtype if dtype.is_float() => 2,
        dtype if dtype.is_complex() => 5,
        dtype if dtype.is_signed() => 0,
        _ => 1,
    };
    // No dtype has more than 128 bits.
    DlDataType { code, bits: 8 * dtype.size() as u8, lanes: 1 }
}

/// What an exported tensor keeps alive.
struct Exported {
    tensor: DlManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _array: DeviceArray,
    /// Memory of the host device, which is not written while it is lent.
    _lent: Option<Arc<dyn HostBytes>>,
}

/// Releases an [`Exported`].
unsafe extern "C" fn release(tensor: *mut DlManagedTensor) {
    // SAFETY: only exported tensors have this deleter, and their context is the box they are in. It is called
    // once.
    drop(unsafe { Box::from_raw((*tensor).context.cast::<Exported>()) });
}

impl DeviceArray {
    /// The array for another library, without a copy: the memory lives until the tensor is released. On the
    /// host device it must not be written, and calls that would write it wait. On other devices it is used in
    /// the order of the device's stream or queue: see
    /// [`Device::native`](crate::engine::device::Device::native).
    ///
    /// # Errors
    /// If the call that computed the array failed, or the device does not say where its memory lies.
    pub fn to_dlpack(&self) -> Result<Tensor> {
        self.check()?;
        // The other library may write it.
        self.forget_bounds();
        let lent = self.device().lend(self.region());
        let (data, kind, id, byte_offset) = match &lent {
            Some(bytes) => (bytes.bytes().as_ptr().cast_mut().cast(), CPU, 0, 0),
            None => match self.native()? {
                NativeMemory::Host(address) => (address.cast(), CPU, 0, 0),
                NativeMemory::Cuda(address) => (address as *mut c_void, CUDA, self.ordinal(), 0),
                NativeMemory::OpenCl { memory, offset } => (memory, OPENCL, self.ordinal(), offset),
                other => return Err(refused("memory", format!("{other:?}"))),
            },
        };
        let shape: Vec<i64> = self.shape().iter().map(|&extent| extent as i64).collect();
        let mut strides = vec![1i64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1));
        }
        let described = DlTensor {
            data,
            device: DlDevice { kind, id },
            ndim: shape.len() as i32,
            dtype: type_of(self.dtype()),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset,
        };
        let tensor = DlManagedTensor { tensor: described, context: ptr::null_mut(), deleter: Some(release) };
        let exported = Exported { tensor, shape, strides, _array: self.clone(), _lent: lent };
        let exported = Box::into_raw(Box::new(exported));
        // SAFETY: the box was just made and is not moved from now on; its lists do not change.
        let tensor = unsafe {
            (*exported).tensor.context = exported.cast();
            (*exported).tensor.tensor.shape = (*exported).shape.as_mut_ptr();
            (*exported).tensor.tensor.strides = (*exported).strides.as_mut_ptr();
            NonNull::new_unchecked(&raw mut (*exported).tensor)
        };
        Ok(Tensor(tensor))
    }

    /// The number of its device, as DLPack counts.
    fn ordinal(&self) -> i32 {
        match self.device().native() {
            Some(NativeDevice::Cuda { ordinal, .. }) => i32::try_from(ordinal).unwrap_or(0),
            _ => 0,
        }
    }

    /// The array of another library on a device: without a copy on CUDA and OpenCL, with a copy on the host
    /// device. The call waits for the work that uses the tensor, then releases it. On a stream of the other
    /// library it does not wait: the tensor is released as soon as the work is enqueued.
    ///
    /// # Errors
    /// If the tensor is on another device or context, has a dtype that this library lacks, or its elements
    /// are not in row-major order; or if the device fails. The tensor is released then.
    ///
    /// # Safety
    /// The memory is that of the description until the tensor is released, and other code accesses it only in
    /// the order of the device's stream or queue. Memory of the host is not written meanwhile.
    pub unsafe fn from_dlpack(device: &Arc<dyn Device>, tensor: Tensor) -> Result<DeviceArray> {
        let (dtype, shape, given) = (tensor.dtype()?, tensor.shape(), *tensor.described());
        if !tensor.is_contiguous() {
            return Err(refused("row-major order", "other strides; make it contiguous first"));
        }
        let bytes = crate::value::checked_len(&shape, dtype)? * dtype.size();
        if bytes == 0 {
            return DeviceArray::zeros(device, dtype, &shape);
        }
        if given.data.is_null() {
            return Err(refused("memory", "null: it was freed"));
        }
        let mut offset = given.byte_offset;
        let native = match (device.native(), given.device) {
            (Some(NativeDevice::Host) | None, DlDevice { kind: CPU | CUDA_HOST, .. }) => {
                // SAFETY: the caller promised that the memory is there, and is not written.
                let bytes = unsafe {
                    std::slice::from_raw_parts(given.data.cast::<u8>().add(offset as usize), bytes)
                };
                return DeviceArray::upload(device, Value::from_bytes(dtype, &shape, bytes)?);
            }
            (Some(NativeDevice::Cuda { ordinal, .. }), DlDevice { kind: CUDA | CUDA_MANAGED, id })
                if usize::try_from(id) == Ok(ordinal) =>
            {
                NativeMemory::Cuda((given.data as u64).saturating_add(std::mem::take(&mut offset)))
            }
            (Some(NativeDevice::OpenCl { .. }), DlDevice { kind: OPENCL, .. }) => {
                NativeMemory::OpenCl { memory: given.data, offset: 0 }
            }
            (_, DlDevice { kind, id }) => {
                let expected = format!("memory of {}", device.properties().id);
                let given = format!("memory of another device (kind {kind}, number {id})");
                return Err(Error::mismatch("DLPack", expected, given));
            }
        };
        let size = offset.saturating_add(bytes as u64);
        let start = if let NativeMemory::Cuda(address) = native { address } else { offset };
        // SAFETY: the caller promised that the memory is there; the tensor keeps it.
        let memory = unsafe { device.adopt(native, size, Box::new(tensor)) }?;
        let array = DeviceArray::adopted(device, memory, offset, dtype, &shape);
        // Kernels load vectors, which are aligned.
        let aligned = start.is_multiple_of(device.properties().alignment);
        if aligned { Ok(array) } else { array.copy() }
    }
}
