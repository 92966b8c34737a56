//! Another library's context, stream and memory, with `cudarc` as the other library; copies between streams
//! and GPUs.

use crate::{Test, tests};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use workalike::dlpack::{DlDataType, DlDevice, DlManagedTensor, DlTensor, Tensor};
use workalike::engine::device::{NativeDevice, NativeMemory};
use workalike::prelude::*;
use workalike_cuda::{Cuda, list};

pub(crate) const TESTS: &[Test] = tests![
    work_is_in_order_on_another_librarys_stream,
    a_context_that_is_not_the_primary_one,
    the_default_stream,
    our_stream_is_another_librarys,
    memory_that_does_not_fit_is_refused,
    streams_copy_from_each_other,
    two_gpus_are_two_contexts,
];

/// A tensor over memory of CUDA; `released` counts its releases.
fn tensor(address: u64, count: usize, ordinal: i32, released: &Arc<AtomicUsize>) -> Tensor {
    struct Own {
        shape: Vec<i64>,
        released: Arc<AtomicUsize>,
        tensor: DlManagedTensor,
    }
    unsafe extern "C" fn release(tensor: *mut DlManagedTensor) {
        // SAFETY: the context is the box below, which is released once.
        let own = unsafe { Box::from_raw((*tensor).context.cast::<Own>()) };
        own.released.fetch_add(1, Ordering::SeqCst);
    }
    let tensor = DlTensor {
        data: address as *mut c_void,
        device: DlDevice { kind: 2, id: ordinal },
        ndim: 1,
        dtype: DlDataType { code: 2, bits: 32, lanes: 1 },
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let tensor = DlManagedTensor { tensor, context: ptr::null_mut(), deleter: Some(release) };
    let own = Box::new(Own { shape: vec![count as i64], released: released.clone(), tensor });
    let own = Box::leak(own);
    own.tensor.context = ptr::from_mut(own).cast();
    own.tensor.tensor.shape = own.shape.as_mut_ptr();
    // SAFETY: the description is valid, and no other code has it.
    unsafe { Tensor::from_raw(&raw mut own.tensor) }.unwrap()
}

/// The elements at an address, in the order of a stream.
fn read(stream: &Arc<CudaStream>, address: u64, count: usize) -> Vec<f32> {
    let mut elements = vec![0f32; count];
    // SAFETY: the memory has `count` elements, and the stream is waited for.
    unsafe { result::memcpy_dtoh_async(&mut elements, address, stream.cu_stream()) }.unwrap();
    stream.synchronize().unwrap();
    elements
}

fn address(array: &DeviceArray) -> u64 {
    match array.native().unwrap() {
        NativeMemory::Cuda(address) => address,
        other => panic!("{other:?}"),
    }
}

/// A stream without cudarc's events: with them its first stream waits for the whole context, which fails
/// while a recording of another test is captured.
fn new_stream(context: &Arc<CudaContext>) -> Arc<CudaStream> {
    // SAFETY: the tests use memory in the order of one stream.
    unsafe { context.disable_event_tracking() };
    context.new_stream().unwrap()
}

/// Twenty turns of writing by the other library, a call of ours, and reading by the other library.
fn in_order(context: &Arc<CudaContext>, stream: &Arc<CudaStream>) {
    // SAFETY: both live longer than the device.
    let cuda = unsafe { Cuda::from_stream(context.cu_ctx().cast(), stream.cu_stream().cast()) };
    let device = cuda.open().unwrap();
    assert!(
        matches!(device.native(), Some(NativeDevice::Cuda { ordinal: 0, stream: own, .. }) if own == stream.cu_stream().cast())
    );
    let count = 1 << 16;
    let mut theirs: CudaSlice<f32> = stream.clone_htod(&vec![1f32; count]).unwrap();
    let at = theirs.device_ptr(stream).0;
    let released = Arc::new(AtomicUsize::new(0));
    // SAFETY: the memory is used in the order of the stream.
    let x = unsafe { DeviceArray::from_dlpack(&device, tensor(at, count, 0, &released)) }.unwrap();
    let v = vector::<f32>("v");
    let mut sim = function([&v]).output(&v * 2.0).compile().unwrap().optimize(device.clone()).unwrap();
    for turn in 0..20 {
        let elements: Vec<f32> = (0..count).map(|i| (i % 1000 + turn) as f32).collect();
        stream.memcpy_htod(&elements, &mut theirs).unwrap();
        let doubled = sim.call_device(args![&x]).unwrap().remove(0);
        let want: Vec<f32> = elements.iter().map(|x| 2.0 * x).collect();
        assert_eq!(read(stream, address(&doubled), count), want, "turn {turn}");
    }
    x.fill(7f32).unwrap();
    assert_eq!(stream.clone_dtoh(&theirs).unwrap(), vec![7f32; count]);
    drop((x, sim, device));
    assert_eq!(released.load(Ordering::SeqCst), 1);
    // Memory, stream and context are still the other library's.
    stream.memcpy_htod(&vec![3f32; count], &mut theirs).unwrap();
    assert_eq!(stream.clone_dtoh(&theirs).unwrap(), vec![3f32; count]);
}

fn work_is_in_order_on_another_librarys_stream() {
    let context = CudaContext::new(0).unwrap();
    let stream = new_stream(&context);
    in_order(&context, &stream);
}

fn a_context_that_is_not_the_primary_one() {
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    let stream = new_stream(&context);
    in_order(&context, &stream);
    // SAFETY: the context lives until the process ends: it is forgotten below.
    let device = unsafe { Cuda::from_context(context.cu_ctx().cast()) }.open().unwrap();
    let x = DeviceArray::upload(&device, vec![1f32, 2.0]).unwrap();
    assert_eq!(x.to_value().unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    std::mem::forget((context, stream));
}

fn the_default_stream() {
    let context = CudaContext::new(0).unwrap();
    in_order(&context, &context.default_stream());
}

fn our_stream_is_another_librarys() {
    let device = Cuda::device(0).open().unwrap();
    let Some(NativeDevice::Cuda { stream, .. }) = device.native() else { panic!("CUDA's") };
    let context = CudaContext::new(0).unwrap();
    // SAFETY: the device, and so its stream, lives until the end of the test.
    let stream = unsafe { context.wrap_borrowed_stream(stream.cast()) };
    let v = vector::<f32>("v");
    let mut sim = function([&v]).output(&v + 1.0).compile().unwrap().optimize(device.clone()).unwrap();
    let mut x = DeviceArray::upload(&device, vec![0f32; 4096]).unwrap();
    for turn in 0..50 {
        x = sim.call_device(args![&x]).unwrap().remove(0);
        assert_eq!(read(&stream, address(&x), 4096), vec![(turn + 1) as f32; 4096], "turn {turn}");
    }
    // An unaligned part is copied.
    let part = x.to_dlpack().unwrap();
    let released = Arc::new(AtomicUsize::new(0));
    let shifted = tensor(part.described().data as u64 + 4, 100, 0, &released);
    // SAFETY: the memory lives as long as `part`.
    let shifted = unsafe { DeviceArray::from_dlpack(&device, shifted) }.unwrap();
    assert_eq!(shifted.to_value().unwrap().to_vec::<f32>().unwrap(), vec![50f32; 100]);
    assert_eq!(released.load(Ordering::SeqCst), 1);
}

fn memory_that_does_not_fit_is_refused() {
    let device = Cuda::device(0).open().unwrap();
    let other = CudaContext::new_non_primary(0, 0).unwrap();
    let stream = new_stream(&other);
    // Memory of a context, not of a stream.
    other.bind_to_thread().unwrap();
    // SAFETY: it is freed below.
    let at = unsafe { result::malloc_sync(256) }.unwrap();
    let released = Arc::new(AtomicUsize::new(0));
    let refused = |tensor, words: &str| {
        // SAFETY: it is refused.
        let error = unsafe { DeviceArray::from_dlpack(&device, tensor) }.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(tensor(at, 64, 0, &released), "another device or context");
    refused(tensor(at, 64, 7, &released), "number 7");
    let main = vec![0f32; 64];
    refused(tensor(main.as_ptr() as u64, 64, 0, &released), "cuPointerGetAttribute");
    assert_eq!(released.load(Ordering::SeqCst), 3);
    other.bind_to_thread().unwrap();
    // SAFETY: it was allocated above, and nothing uses it.
    unsafe { result::free_sync(at) }.unwrap();
    drop(stream);
    // SAFETY: null is refused.
    let null = unsafe { Cuda::from_context(ptr::null_mut()) }.open().unwrap_err().to_string();
    assert!(null.contains("null"), "{null}");
}

/// An array of one stream is an argument on another; it is freed, and its memory used again, at once.
fn streams_copy_from_each_other() {
    let (a, b) = (Cuda::device(0).open().unwrap(), Cuda::device(0).open().unwrap());
    let v = vector::<f32>("v");
    let add = function([&v]).output(&v + 1.0).compile().unwrap();
    let (mut first, mut second) = (add.optimize(a.clone()).unwrap(), add.optimize(b.clone()).unwrap());
    let mut x = DeviceArray::upload(&a, vec![0f32; 1 << 20]).unwrap();
    for _ in 0..100 {
        let y = first.call_device(args![&x]).unwrap().remove(0);
        x = second.call_device(args![&y]).unwrap().remove(0);
        drop(y);
    }
    assert_eq!(x.to_value().unwrap().to_vec::<f32>().unwrap(), vec![200f32; 1 << 20]);
}

/// Passes without a second GPU.
fn two_gpus_are_two_contexts() {
    if list().len() < 2 {
        return;
    }
    let x = matrix::<f32>("x");
    let ramp = |rows: usize, columns: usize| {
        Array2::from_shape_fn((rows, columns), |(i, j)| ((i + j) % 7) as f32 * 0.1)
    };
    let (v, w) = (shared("v", ramp(256, 512)), shared("w", ramp(512, 128)).on("dev1"));
    let h = x.dot(&v).tanh();
    let cost = transfer(&h, "dev1").dot(&w).sqr().mean(..);
    let g = grad(&cost, [&v, &w]).unwrap();
    let f = function([&x]).output(&cost).update(&v, &*v - 0.1 * &g[0]).update(&w, &*w - 0.1 * &g[1]);
    let f = f.compile().unwrap();
    let mut sim = f.optimize(contexts([("dev0", Cuda::device(0)), ("dev1", Cuda::device(1))])).unwrap();
    for turn in 0..10 {
        let given = || args![ramp(64, 256)];
        let want = f.call(given()).unwrap()[0].item::<f32>().unwrap();
        let got = sim.call(given()).unwrap()[0].item::<f32>().unwrap();
        assert!((got - want).abs() <= 1e-3 * want.abs(), "turn {turn}: {got}, not {want}");
    }
    assert_eq!(sim.context_of("w").unwrap(), "dev1");
}
