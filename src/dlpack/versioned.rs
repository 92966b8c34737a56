//! The form of DLPack 1.0, `DLManagedTensorVersioned`, which says whether memory may be written.

use super::{DlManagedTensor, DlTensor, Tensor, refused};
use crate::error::Result;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DlVersion {
    /// Tensors of another one have another form.
    pub major: u32,
    /// Tensors of a higher one have further flags or types.
    pub minor: u32,
}

/// The version whose form is written here.
pub const VERSION: DlVersion = DlVersion { major: 1, minor: 0 };
/// The flag of memory that must not be written.
pub const READ_ONLY: u64 = 1;
/// The flag of a copy that was made for the consumer.
pub const IS_COPIED: u64 = 2;

/// `DLManagedTensorVersioned`: a tensor, how to release it, and what may be done with it.
#[repr(C)]
#[derive(Debug)]
pub struct DlManagedTensorVersioned {
    /// The version of this form.
    pub version: DlVersion,
    /// The producer's own data.
    pub context: *mut c_void,
    /// Releases the tensor. The consumer calls it once.
    pub deleter: Option<unsafe extern "C" fn(*mut DlManagedTensorVersioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`].
    pub flags: u64,
    /// The tensor.
    pub tensor: DlTensor,
}

/// A tensor in the form of 1.0 over one in the older form.
struct ExportedTensor {
    managed: DlManagedTensorVersioned,
    _tensor: Tensor,
}

/// Releases an [`ExportedTensor`].
unsafe extern "C" fn release_lent(tensor: *mut DlManagedTensorVersioned) {
    // SAFETY: only tensors of `into_versioned` have this deleter, and their context is the box they are in.
    // It is called once.
    drop(unsafe { Box::from_raw((*tensor).context.cast::<ExportedTensor>()) });
}

/// A tensor in the older form over one in the form of 1.0.
struct ImportedTensor {
    managed: DlManagedTensor,
    versioned: NonNull<DlManagedTensorVersioned>,
}

impl Drop for ImportedTensor {
    fn drop(&mut self) {
        // SAFETY: the tensor is valid and ours, and is released once.
        unsafe {
            if let Some(deleter) = self.versioned.as_ref().deleter {
                deleter(self.versioned.as_ptr());
            }
        }
    }
}

/// Releases an [`ImportedTensor`].
unsafe extern "C" fn release_taken(tensor: *mut DlManagedTensor) {
    // SAFETY: only tensors of `from_versioned` have this deleter, and their context is the box they are in.
    // It is called once.
    drop(unsafe { Box::from_raw((*tensor).context.cast::<ImportedTensor>()) });
}

impl Tensor {
    /// The tensor for another library, which calls its deleter, with flags: [`READ_ONLY`], [`IS_COPIED`].
    pub fn into_versioned(self, flags: u64) -> *mut DlManagedTensorVersioned {
        let managed = DlManagedTensorVersioned {
            version: VERSION,
            context: ptr::null_mut(),
            deleter: Some(release_lent),
            flags,
            tensor: *self.described(),
        };
        let lent = Box::into_raw(Box::new(ExportedTensor { managed, _tensor: self }));
        // SAFETY: the box was just made, and is not moved from now on.
        unsafe {
            (*lent).managed.context = lent.cast();
            &raw mut (*lent).managed
        }
    }

    /// The tensor of another library, e.g. from a capsule of Python, whose name must then be set to
    /// `used_dltensor_versioned`, and its flags.
    ///
    /// # Errors
    /// As [`Tensor::from_raw`], or if the tensor has the form of another major version.
    ///
    /// # Safety
    /// A pointer that is not null is a valid `DLManagedTensorVersioned` that was not released, and no other
    /// code releases it. Its deleter may be called on any thread.
    pub unsafe fn from_versioned(tensor: *mut DlManagedTensorVersioned) -> Result<(Tensor, u64)> {
        let Some(versioned) = NonNull::new(tensor) else {
            return Err(refused("a tensor", "null: it was consumed or freed"));
        };
        // SAFETY: the caller promised that it is valid. Version, context and deleter lie where they are in
        // every version.
        let DlVersion { major, minor } = unsafe { (*tensor).version };
        if major != VERSION.major {
            // SAFETY: it is ours to release, and is released once.
            unsafe {
                if let Some(deleter) = (*tensor).deleter {
                    deleter(tensor);
                }
            }
            return Err(refused("a tensor of version 1", format!("{major}.{minor}")));
        }
        // SAFETY: it has the form of this version.
        let (tensor, flags) = unsafe { ((*tensor).tensor, (*tensor).flags) };
        let managed = DlManagedTensor { tensor, context: ptr::null_mut(), deleter: Some(release_taken) };
        let taken = Box::into_raw(Box::new(ImportedTensor { managed, versioned }));
        // SAFETY: the box was just made, and is not moved from now on; its tensor is valid until it is
        // released, which nothing else does.
        unsafe {
            (*taken).managed.context = taken.cast();
            Ok((Tensor::from_raw(&raw mut (*taken).managed)?, flags))
        }
    }

    /// Whether other code must not write its memory: a tensor that shows the host device's.
    pub fn is_read_only(&self) -> bool {
        self.described().device.kind == super::CPU
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn both_forms_hold_the_same_tensor_and_release_it_once() {
        let device = Host::auto().open().unwrap();
        let x = DeviceArray::upload(&device, vec![1f32, 2.0, 3.0]).unwrap();
        let tensor = x.to_dlpack().unwrap();
        assert!(tensor.is_read_only());
        let raw = tensor.into_versioned(READ_ONLY);
        // SAFETY: no other code has the tensor.
        let (tensor, flags) = unsafe { Tensor::from_versioned(raw) }.unwrap();
        assert_eq!((flags, tensor.shape(), tensor.dtype().unwrap()), (READ_ONLY, vec![3], DType::F32));
        // SAFETY: the memory is only read, and stays valid.
        let y = unsafe { DeviceArray::from_dlpack(&device, tensor) }.unwrap();
        assert_eq!(y.to_value().unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0]);
        // It was released: the array can be written again.
        x.set(vec![4f32, 5.0, 6.0]).unwrap();
    }

    #[test]
    fn another_major_version_is_refused_and_released() {
        let device = Host::auto().open().unwrap();
        let x = DeviceArray::upload(&device, vec![1f32]).unwrap();
        let raw = x.to_dlpack().unwrap().into_versioned(0);
        // SAFETY: the tensor is ours.
        unsafe { (*raw).version.major = 2 };
        // SAFETY: no other code has the tensor.
        let refused = unsafe { Tensor::from_versioned(raw) }.unwrap_err().to_string();
        assert!(refused.contains("2.0"), "{refused}");
        x.set(vec![4f32]).unwrap();
        // SAFETY: null is refused.
        assert!(unsafe { Tensor::from_versioned(ptr::null_mut()) }.is_err());
    }
}
