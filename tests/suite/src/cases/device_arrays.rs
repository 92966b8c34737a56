//! Arrays of a device: views with strides, elements that are set, files, arithmetic, and DLPack.

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use ndarray::{Array3, s};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use workalike::custom::{DeviceMath, ElementwiseKernel, Grid, KernelSource, Module, kernel_args};
use workalike::dlpack::{DlDataType, DlDevice, DlManagedTensor, DlTensor, Tensor};
use workalike::engine::device::Device;
use workalike::prelude::*;
use workalike::{Result, idx};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 9] = [
        ("slices", slices),
        ("views_in_kernels", views_in_kernels),
        ("slices_that_do_not_exist", bad_slices),
        ("elements_that_are_set", set),
        ("numpy_files", numpy_files),
        ("arithmetic", arithmetic),
        ("operators", operators),
        ("dlpack", dlpack),
        ("dlpack_that_is_refused", dlpack_refused),
    ];
    family("device_arrays", &stories)
}

fn cube() -> Array3<f32> {
    Array3::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as f32)
}

/// As ndarray slices, for every dtype.
fn slices(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let all = cube();
    let x = DeviceArray::upload(&device, &all)?;
    let same = |name: &str, got: Result<DeviceView>, want: ndarray::ArrayViewD<'_, f32>| {
        let got = got?;
        ensure(got.shape() == want.shape() && got.strides() == want.strides(), || {
            format!("{name}: {got:?}")
        })?;
        equal(name, &got.to_value()?, want.to_owned())
    };
    same("all", x.slice(s![.., .., ..]), all.view().into_dyn())?;
    same("a part", x.slice(s![1..3, ..4, 2..]), all.slice(s![1..3, ..4, 2..]).into_dyn())?;
    same("steps", x.slice(s![..;2, 1..;3, ..]), all.slice(s![..;2, 1..;3, ..]).into_dyn())?;
    same("backward", x.slice(s![..;-1, .., 1..5;-2]), all.slice(s![..;-1, .., 1..5;-2]).into_dyn())?;
    same("a position", x.slice(s![-1, 2.., 3]), all.slice(s![-1, 2.., 3]).into_dyn())?;
    same("transposed", Ok(x.t()), all.t().into_dyn())?;
    same("a slice of a slice", x.slice(s![1.., .., ..])?.t().slice(s![..;2, 1, ..]), {
        all.slice(s![1.., .., ..]).reversed_axes().slice_move(s![..;2, 1, ..]).into_dyn()
    })?;
    let new = x.slice([ndarray::SliceInfoElem::NewAxis, ndarray::SliceInfoElem::Index(2)])?;
    ensure(new.shape() == [1, 5, 6], || format!("{new:?}"))?;
    equal("rows", &x.slice(s![1..1, .., ..])?.to_value()?, Array3::<f32>::zeros((0, 5, 6)))?;
    let one = x.slice(s![2, 3, 4])?;
    equal("one element", &one.to_value()?, 234f32)?;
    for dtype in DType::ALL {
        let value = Value::from(&all).cast(dtype)?;
        let x = DeviceArray::upload(&device, &value)?;
        let columns = x.slice(s![.., 1.., ..;-1])?.to_value()?;
        let want = value.to_f64s();
        let at = |i: usize, j: usize, k: usize| want[(i * 5 + j + 1) * 6 + 5 - k];
        let want: Vec<f64> = (0..96).map(|n| at(n / 24, n / 6 % 4, n % 6)).collect();
        ensure(columns.to_f64s() == want, || format!("{dtype}"))?;
    }
    // An argument of a call, in order with it.
    let v = matrix::<f32>("v");
    let f = function([&v]).output(v.sum(1)).compile()?;
    let mut sim = f.optimize(device.clone())?;
    let part = x.slice(s![.., 0, ..;2])?.to_array()?;
    let want = all.slice(s![.., 0, ..;2]).sum_axis(ndarray::Axis(1));
    equal("a call", &sim.call(args![&part])?[0], &want)?;
    let reshaped = x.reshape(&[20, 6])?;
    equal(
        "reshaped",
        &sim.call(args![&reshaped])?[0],
        all.into_shape_with_order((20, 6)).unwrap_or_default().sum_axis(ndarray::Axis(1)),
    )
}

/// A contiguous view is an array to a kernel; of another one only a raw kernel takes the memory.
fn views_in_kernels(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let twice = ElementwiseKernel::new(&device, "twice", "f32 *x", "x[i] *= 2")?;
    let x = DeviceArray::upload(&device, vec![1f32; 12])?;
    twice.call(kernel_args![&x.slice(s![3..7])?])?;
    let want = |at: usize| if (3..7).contains(&at) { 2f32 } else { 1.0 };
    equal("a part", &x.to_value()?, (0..12).map(want).collect::<Vec<f32>>())?;
    let steps = x.slice(s![1..;2])?;
    fails("strides", twice.call(kernel_args![&steps]), &["twice", "contiguous", "to_array"])?;
    let source =
        KernelSource::dialect("KERNEL void set(GLOBAL_MEM f32 *x, i64 stride) { x[LID_0 * stride] = 9; }")?;
    let set = Module::new(&device, source)?.kernel("set")?;
    set.launch(Grid::groups([1], [3]), kernel_args![&steps, 2])?;
    let want = |at: usize| if [1, 3, 5].contains(&at) { 9f32 } else { want(at) };
    equal("by strides", &x.to_value()?, (0..12).map(want).collect::<Vec<f32>>())
}

fn bad_slices(stage: &Stage) -> Result<()> {
    let x = DeviceArray::upload(&stage.open()?, cube())?;
    fails("a position", x.slice(s![4, .., ..]), &["slice", "axis of 4 elements", "4"])?;
    fails("a negative position", x.slice(s![.., -6, ..]), &["axis of 5", "-6"])?;
    fails("a range", x.slice(s![.., .., 2..7]), &["axis of 6", "7"])?;
    fails("axes", x.slice([ndarray::SliceInfoElem::Index(0); 4]), &["3 axes"])?;
    let zero = ndarray::SliceInfoElem::Slice { start: 0, end: None, step: 0 };
    fails("a step of 0", x.slice([zero]), &["a step that is not 0"])?;
    let huge = ndarray::SliceInfoElem::Slice { start: isize::MIN, end: Some(isize::MAX), step: isize::MIN };
    fails("huge numbers", x.slice([huge]), &["slice"])?;
    fails("a reshape", x.reshape(&[7, 17]), &["120 elements", "119"])?;
    fails("a huge reshape", x.reshape(&[usize::MAX, 2]), &["address space"])
}

/// `set`, `fill`, `assign` and `copy`: other handles see the new elements, copies do not.
fn set(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let mut all = cube();
    let x = DeviceArray::upload(&device, &all)?;
    let (handle, copy) = (x.clone(), x.copy()?);
    x.slice(s![1..3, .., ..;2])?.fill(-1f32)?;
    all.slice_mut(s![1..3, .., ..;2]).fill(-1.0);
    let rows = array![[1f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]];
    x.slice(s![.., 4, ..;-3])?.set(&rows)?;
    all.slice_mut(s![.., 4, ..;-3]).assign(&rows);
    equal("parts", &handle.to_value()?, &all)?;
    // A view of the same array is read before it is written.
    let reversed = x.slice(s![..;-1, .., ..])?;
    x.view().assign(&reversed)?;
    all = all.slice(s![..;-1, .., ..]).to_owned();
    equal("reversed in place", &x.to_value()?, &all)?;
    equal("the copy", &copy.to_value()?, cube())?;
    x.set(cube())?;
    equal("all", &handle.to_value()?, cube())?;
    x.fill(0.5f32)?;
    equal("one number", &handle.to_value()?, Array3::from_elem((4, 5, 6), 0.5f32))?;
    let empty = DeviceArray::zeros(&device, DType::F32, &[0, 3])?;
    empty.fill(1f32)?;
    empty.copy()?.set(ndarray::Array2::<f32>::zeros((0, 3)))?;
    x.fill(2i64)?;
    equal("a number of another dtype", &x.to_value()?, Array3::from_elem((4, 5, 6), 2f32))?;
    let bytes = DeviceArray::zeros(&device, DType::U8, &[3])?;
    fails("a number that its dtype has not", bytes.fill(300), &["a number that uint8 has", "300"])?;
    fails("an array", x.fill(vec![1f32]), &["a number of float32"])?;
    fails("another shape", x.set(vec![1f32]), &["(4, 5, 6)", "(1,)"])?;
    let other = DeviceArray::zeros(&stage.open()?, DType::F32, &[4, 5, 6])?;
    fails("another stream", x.view().assign(&other.view()), &["stream"])?;
    // Bounds of indices that were known are not trusted any longer.
    let (v, at) = (vector::<f32>("v"), vector::<i64>("at"));
    let f = function([&v, &at]).output(v.index(idx![&at])).compile()?;
    let mut sim = f.optimize(device.clone())?;
    let indices = DeviceArray::upload(&device, vec![0i64, 1])?;
    equal("indices", &sim.call(args![vec![1f32, 2.0], &indices])?[0], vec![1f32, 2.0])?;
    indices.slice(s![1..])?.fill(9i64)?;
    fails("out of range", sim.call(args![vec![1f32, 2.0], &indices]), &["out of range"])
}

fn numpy_files(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let path = std::env::temp_dir().join(format!("workalike-arrays-{}-{}.npy", std::process::id(), unique()));
    let x = DeviceArray::upload(&device, cube())?;
    let saved = x.save_npy(&path).and_then(|()| DeviceArray::load_npy(&device, &path));
    let _ = std::fs::remove_file(&path);
    equal("a file", &saved?.to_value()?, cube())?;
    fails("no file", DeviceArray::load_npy(&device, &path), &["workalike-arrays"])
}

fn unique() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// By expressions, compiled once for equal ones.
fn arithmetic(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let math = DeviceMath::new(&device);
    let x = DeviceArray::upload(&device, vec![1f32, 4.0, 9.0])?;
    let mut y = DeviceArray::upload(&device, vec![1f32; 3])?;
    for _ in 0..3 {
        [y] = math.map([&x, &y], |[x, y]| [x.sqrt() + 2.0 * y])?;
    }
    equal("three rounds", &y.to_value()?, vec![15f32, 22.0, 29.0])?;
    let [tripled] = math.map([&x], |[x]| [3.0 * x])?;
    let [doubled] = math.map([&x], |[x]| [2.0 * x])?;
    equal("another constant", &doubled.to_value()?, vec![2f32, 8.0, 18.0])?;
    equal("and the first", &tripled.to_value()?, vec![3f32, 12.0, 27.0])?;
    let matrix = DeviceArray::upload(&device, array![[1f32, 2.0], [3.0, 4.0]])?;
    let [squared, sums] = math.map([&matrix], |[m]| [m.dot(&m), m.sum(0)])?;
    equal("a product", &squared.to_value()?, array![[7f32, 10.0], [15.0, 22.0]])?;
    equal("sums", &sums.to_value()?, vec![4f32, 6.0])?;
    fails("shapes", math.map([&x, &matrix], |[x, m]| [m.dot(x)]), &["dot"])?;
    let state = shared("state", 1f32);
    fails("a shared variable", math.map([&x], |[x]| [x + &*state]), &["state"])?;
    let other = DeviceArray::zeros(&stage.open()?, DType::F32, &[3])?;
    let [ones] = math.map([&other], |[x]| [x + 1.0])?;
    equal("an array of another stream is copied", &ones.to_value()?, vec![1f32; 3])
}

/// Eager arithmetic without an object for it.
fn operators(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let x = DeviceArray::upload(&device, array![[1f32, 2.0], [3.0, 4.0]])?;
    let row = DeviceArray::upload(&device, vec![10f32, 20.0])?;
    let half = (&(&x + &row)? * 0.5)?;
    equal("a chain", &half.to_value()?, array![[5.5f32, 11.0], [6.5, 12.0]])?;
    equal("a number first", &(1 - &x)?.to_value()?, array![[0f32, -1.0], [-2.0, -3.0]])?;
    equal("a sum", &x.sum(0)?.to_value()?, vec![4f32, 6.0])?;
    equal("a product", &x.dot(&row)?.to_value()?, vec![50f32, 110.0])?;
    equal("integers", &x.cast(DType::I16)?.max(..)?.to_value()?, 4i16)?;
    let norm = x.map(|x| x.sqr().sum(..).sqrt())?;
    ensure((norm.to_value()?.item::<f32>()? - 30f32.sqrt()).abs() < 1e-5, || "the norm".into())?;
    fails("shapes", x.dot(&DeviceArray::zeros(&device, DType::F32, &[3])?), &["dot"])
}

/// A tensor of another library, in main memory; its deleter counts.
struct Foreign {
    elements: Vec<f32>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    released: Arc<AtomicUsize>,
    tensor: DlManagedTensor,
}

unsafe extern "C" fn released(tensor: *mut DlManagedTensor) {
    // SAFETY: the context is the box that `foreign` leaked, and the deleter is called once.
    let foreign = unsafe { Box::from_raw((*tensor).context.cast::<Foreign>()) };
    foreign.released.fetch_add(1, Ordering::SeqCst);
}

/// A tensor of these extents and strides, changed by `change`.
fn foreign(
    shape: &[i64],
    strides: &[i64],
    count: &Arc<AtomicUsize>,
    change: impl FnOnce(&mut DlTensor),
) -> *mut DlManagedTensor {
    let float = DlDataType { code: 2, bits: 32, lanes: 1 };
    let tensor = DlTensor {
        data: std::ptr::null_mut(),
        device: DlDevice { kind: 1, id: 0 },
        ndim: shape.len() as i32,
        dtype: float,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 4,
    };
    let made = Box::new(Foreign {
        elements: (0..100).map(|i| i as f32).collect(),
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        released: count.clone(),
        tensor: DlManagedTensor { tensor, context: std::ptr::null_mut(), deleter: Some(released) },
    });
    let made = Box::leak(made);
    made.tensor.context = std::ptr::from_mut(made).cast::<c_void>();
    let tensor = &mut made.tensor.tensor;
    tensor.data = made.elements.as_mut_ptr().cast();
    tensor.shape = made.shape.as_mut_ptr();
    if !strides.is_empty() {
        tensor.strides = made.strides.as_mut_ptr();
    }
    change(tensor);
    &raw mut made.tensor
}

fn taken(device: &Arc<dyn Device>, raw: *mut DlManagedTensor) -> Result<DeviceArray> {
    // SAFETY: the tensor was just made, and no other code has it.
    let tensor = unsafe { Tensor::from_raw(raw) }?;
    // SAFETY: no other code uses its memory.
    unsafe { DeviceArray::from_dlpack(device, tensor) }
}

/// Out and in again on each device; from main memory to the host. Each tensor is released once.
fn dlpack(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let count = Arc::new(AtomicUsize::new(0));
    let x = DeviceArray::upload(&device, cube())?;
    if device.native().is_some() {
        let tensor = x.to_dlpack()?;
        ensure(tensor.shape() == [4, 5, 6] && tensor.dtype()? == DType::F32, || format!("{tensor:?}"))?;
        let back = taken(&device, tensor.into_raw())?;
        drop(x);
        equal("there and back", &back.to_value()?, cube())?;
        let v = Variable::input("v", TensorType::of_rank(DType::F32, 3));
        let mut sim = function([&v]).output(v.sum(0)).compile()?.optimize(device.clone())?;
        equal("an argument", &sim.call(args![&back])?[0], cube().sum_axis(ndarray::Axis(0)))?;
        let part = back.slice(s![1.., .., ..])?.to_array()?.to_dlpack()?;
        equal(
            "a part",
            &taken(&device, part.into_raw())?.to_value()?,
            cube().slice(s![1.., .., ..]).to_owned(),
        )?;
    }
    let raw = foreign(&[2, 3], &[3, 1], &count, |_| ());
    if device.properties().id.starts_with("host") {
        let y = taken(&device, raw)?;
        equal("from main memory", &y.to_value()?, array![[1f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
        ensure(count.load(Ordering::SeqCst) == 1, || "released once".into())?;
        let scalar = taken(&device, foreign(&[], &[], &count, |_| ()))?;
        equal("a number", &scalar.to_value()?, 1f32)?;
        let empty = taken(&device, foreign(&[0, 5], &[1, 1], &count, |t| t.data = std::ptr::null_mut()))?;
        ensure(empty.shape() == [0, 5], || format!("{empty:?}"))?;
        ensure(count.load(Ordering::SeqCst) == 3, || "released".into())
    } else {
        fails("memory of another device", taken(&device, raw), &["DLPack", "kind 1"])?;
        ensure(count.load(Ordering::SeqCst) == 1, || "released".into())
    }
}

/// What this library has not, and what was freed. A refused tensor is released, too.
fn dlpack_refused(stage: &Stage) -> Result<()> {
    let device = stage.open()?;
    let count = Arc::new(AtomicUsize::new(0));
    fails("null", taken(&device, std::ptr::null_mut()), &["null"])?;
    let refused = |words: &[&str], shape: &[i64], strides: &[i64], change: fn(&mut DlTensor)| {
        let before = count.load(Ordering::SeqCst);
        fails("a tensor", taken(&device, foreign(shape, strides, &count, change)), words)?;
        ensure(count.load(Ordering::SeqCst) == before + 1, || format!("{words:?}: not released"))
    };
    refused(&["code 7 of 8 bits"], &[2], &[], |t| t.dtype = DlDataType { code: 7, bits: 8, lanes: 1 })?;
    refused(&["4 lanes"], &[2], &[], |t| t.dtype.lanes = 4)?;
    refused(&["kind 2, number 7"], &[2], &[], |t| t.device = DlDevice { kind: 2, id: 7 })?;
    refused(&["contiguous"], &[2, 3], &[1, 2], |_| ())?;
    refused(&["extents", "-1"], &[-1], &[], |_| ())?;
    refused(&["rank", "-2"], &[1], &[], |t| t.ndim = -2)?;
    refused(&["address space"], &[i64::MAX, i64::MAX], &[], |_| ())?;
    refused(&["null"], &[2], &[], |t| t.data = std::ptr::null_mut())
}
