//! A context, a queue and memory that another library made, and ours in its hands: the work is in order, and
//! nothing is released that is not ours.
#![allow(clippy::unwrap_used)] // a test fails by panicking

use ocl::ffi::{self, cl_mem, cl_uint};
use std::any::Any;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use workalike::dlpack::{DlDevice, Tensor};
use workalike::engine::device::{Device, NativeDevice, NativeMemory};
use workalike::prelude::*;

/// The other library: a context and an in-order queue on the first device.
struct Library {
    context: *mut c_void,
    device: *mut c_void,
    queue: *mut c_void,
}

impl Library {
    /// `None` without an OpenCL driver, which CI has.
    fn new(properties: u64) -> Option<Library> {
        let usable = workalike_opencl::list().is_ok_and(|list| !list.is_empty());
        if !usable {
            assert!(std::env::var_os("CI").is_none(), "CI has an OpenCL driver");
            return None;
        }
        let (mut platform, mut device, mut status) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: each call writes one handle to where it may; the properties end with 0.
        unsafe {
            assert_eq!(ffi::clGetPlatformIDs(1, &mut platform, ptr::null_mut()), 0);
            assert_eq!(ffi::clGetDeviceIDs(platform, 0xFFFF_FFFF, 1, &mut device, ptr::null_mut()), 0);
            let of = [ffi::CL_CONTEXT_PLATFORM as isize, platform as isize, 0];
            let context = ffi::clCreateContext(of.as_ptr(), 1, &device, None, ptr::null_mut(), &mut status);
            assert_eq!(status, 0);
            let queue = ffi::clCreateCommandQueue(context, device, properties, &mut status);
            assert_eq!(status, 0);
            Some(Library { context, device, queue })
        }
    }

    fn open(&self) -> Arc<dyn Device> {
        // SAFETY: the handles live as long as the library.
        unsafe { OpenCl::from_raw(self.context, self.device, self.queue) }.open().unwrap()
    }

    fn buffer(&self, elements: &[f32]) -> cl_mem {
        let mut status = 0;
        let bytes = size_of_val(elements);
        // SAFETY: the flags copy `bytes` bytes from the slice, which is as long.
        let made = unsafe {
            let flags = ffi::CL_MEM_READ_WRITE | ffi::CL_MEM_COPY_HOST_PTR;
            ffi::clCreateBuffer(self.context, flags, bytes, elements.as_ptr().cast_mut().cast(), &mut status)
        };
        assert_eq!(status, 0);
        made
    }

    /// Adds nothing but a wait: the queue is in order, so all before it is done.
    fn read(&self, memory: cl_mem, offset: u64, count: usize) -> Vec<f32> {
        let mut elements = vec![0f32; count];
        let (to, bytes) = (elements.as_mut_ptr().cast(), 4 * count);
        // SAFETY: the vector has room for `bytes` bytes, and the call waits.
        let status = unsafe {
            ffi::clEnqueueReadBuffer(
                self.queue,
                memory,
                1,
                offset as usize,
                bytes,
                to,
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        assert_eq!(status, 0);
        elements
    }

    fn write(&self, memory: cl_mem, elements: &[f32]) {
        // SAFETY: the slice is as long as the copy, which waits.
        let status = unsafe {
            let (from, none) = (elements.as_ptr().cast(), ptr::null());
            let bytes = size_of_val(elements);
            ffi::clEnqueueWriteBuffer(self.queue, memory, 1, 0, bytes, from, 0, none, ptr::null_mut())
        };
        assert_eq!(status, 0);
    }

    fn references(&self, memory: cl_mem) -> cl_uint {
        let mut count: cl_uint = 0;
        // SAFETY: four bytes are written to `count`.
        let status = unsafe {
            let to = (&raw mut count).cast();
            ffi::clGetMemObjectInfo(memory, ffi::CL_MEM_REFERENCE_COUNT, 4, to, ptr::null_mut())
        };
        assert_eq!(status, 0);
        count
    }

    fn context_references(&self) -> cl_uint {
        let mut count: cl_uint = 0;
        // SAFETY: four bytes are written to `count`.
        let status = unsafe {
            let to = (&raw mut count).cast();
            ffi::clGetContextInfo(self.context, ffi::CL_CONTEXT_REFERENCE_COUNT, 4, to, ptr::null_mut())
        };
        assert_eq!(status, 0);
        count
    }
}

/// Counts that it was dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn work_is_in_order_on_another_librarys_queue() {
    let Some(library) = Library::new(0) else { return };
    let theirs = library.buffer(&vec![1f32; 1000]);
    let before = library.context_references();
    let device = library.open();
    let expected =
        NativeDevice::OpenCl { context: library.context, device: library.device, queue: library.queue };
    assert_eq!(device.native(), Some(expected));
    let dropped = Arc::new(AtomicUsize::new(0));
    let owner: Box<dyn Any + Send + Sync> = Box::new(Counted(dropped.clone()));
    let native = NativeMemory::OpenCl { memory: theirs, offset: 0 };
    // SAFETY: the buffer has 4,000 bytes and lives longer than the memory.
    let memory = unsafe { device.adopt(native, 4000, owner) }.unwrap();
    drop(memory);
    assert_eq!((dropped.load(Ordering::SeqCst), library.references(theirs)), (1, 1));
    // A tensor of theirs is an argument; what they write next is what the next call reads.
    let tensor = |shape: Vec<i64>| described(theirs, shape, dropped.clone());
    // SAFETY: the buffer is used in the order of the queue.
    let x = unsafe { DeviceArray::from_dlpack(&device, tensor(vec![1000])) }.unwrap();
    let v = vector::<f32>("v");
    let mut sim = function([&v]).output(&v * 2.0).compile().unwrap().optimize(device.clone()).unwrap();
    for turn in 0..20 {
        let elements: Vec<f32> = (0..1000).map(|i| (i + turn) as f32).collect();
        library.write(theirs, &elements);
        let doubled = sim.call_device(args![&x]).unwrap().remove(0);
        let NativeMemory::OpenCl { memory, offset } = doubled.native().unwrap() else { panic!("OpenCL's") };
        let want: Vec<f32> = elements.iter().map(|x| 2.0 * x).collect();
        assert_eq!(library.read(memory, offset, 1000), want, "turn {turn}");
    }
    // What we write they read.
    x.fill(7f32).unwrap();
    assert_eq!(library.read(theirs, 0, 1000), vec![7f32; 1000]);
    // SAFETY: the buffer is used in the order of the queue.
    let long = unsafe { DeviceArray::from_dlpack(&device, tensor(vec![2000])) }.unwrap_err().to_string();
    assert!(long.contains("4000") && long.contains("8000"), "{long}");
    drop((x, sim));
    assert_eq!((dropped.load(Ordering::SeqCst), library.references(theirs)), (3, 1));
    let foreign = OpenCl::auto().open().unwrap();
    // SAFETY: it is refused.
    let other = unsafe { DeviceArray::from_dlpack(&foreign, tensor(vec![10])) }.unwrap_err().to_string();
    assert!(other.contains("another OpenCL context"), "{other}");
    drop(device);
    assert_eq!(library.context_references(), before);
}

#[test]
fn our_queue_is_another_librarys() {
    let Some(_) = Library::new(0) else { return };
    let device = OpenCl::auto().open().unwrap();
    let Some(NativeDevice::OpenCl { context, device: id, queue }) = device.native() else {
        panic!("OpenCL's")
    };
    let library = Library { context, device: id, queue };
    let v = vector::<f32>("v");
    let mut sim = function([&v]).output(&v + 1.0).compile().unwrap().optimize(device.clone()).unwrap();
    let mut x = DeviceArray::upload(&device, vec![0f32; 64]).unwrap();
    for turn in 0..50 {
        x = sim.call_device(args![&x]).unwrap().remove(0);
        let NativeMemory::OpenCl { memory, offset } = x.native().unwrap() else { panic!("OpenCL's") };
        let all = library.read(memory, offset, 64);
        assert_eq!(all, vec![(turn + 1) as f32; 64], "turn {turn}");
    }
}

#[test]
fn handles_that_do_not_fit_are_refused() {
    let Some(library) = Library::new(0) else { return };
    let Some(other) = Library::new(ffi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) else { return };
    let refused = |context, device, queue, words: &str| {
        // SAFETY: the handles that are not null are valid.
        let error = unsafe { OpenCl::from_raw(context, device, queue) }.open().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(other.context, other.device, other.queue, "out of order");
    refused(other.context, other.device, library.queue, "another context");
    refused(ptr::null_mut(), library.device, library.queue, "null");
    refused(library.context, library.device, ptr::null_mut(), "null");
    refused(library.context, ptr::null_mut(), library.queue, "no platform lists");
}

/// A tensor over a buffer.
fn described(memory: cl_mem, shape: Vec<i64>, dropped: Arc<AtomicUsize>) -> Tensor {
    use workalike::dlpack::{DlDataType, DlManagedTensor, DlTensor};
    struct Own {
        shape: Vec<i64>,
        _counted: Counted,
        tensor: DlManagedTensor,
    }
    unsafe extern "C" fn release(tensor: *mut DlManagedTensor) {
        // SAFETY: the context is the box below, which is released once.
        drop(unsafe { Box::from_raw((*tensor).context.cast::<Own>()) });
    }
    let tensor = DlTensor {
        data: memory,
        device: DlDevice { kind: 4, id: 0 },
        ndim: shape.len() as i32,
        dtype: DlDataType { code: 2, bits: 32, lanes: 1 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let tensor = DlManagedTensor { tensor, context: ptr::null_mut(), deleter: Some(release) };
    let own = Box::leak(Box::new(Own { shape, _counted: Counted(dropped), tensor }));
    own.tensor.context = ptr::from_mut(own).cast();
    own.tensor.tensor.shape = own.shape.as_mut_ptr();
    // SAFETY: the description is valid, and no other code has it.
    unsafe { Tensor::from_raw(&raw mut own.tensor) }.unwrap()
}
