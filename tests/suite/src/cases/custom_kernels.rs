//! Kernels in C: the exercises of PyCUDA's and Theano's tutorials, in the dialect and in each language, and
//! arguments that do not fit. The host interprets the dialect, and refuses the other languages.

mod errors;
mod expressions;
mod memory;

use super::{Story, family};
use crate::stage::{Scenario, Stage, ensure, equal, fails};
use ndarray::{Array2, s};
use std::sync::Arc;
use workalike::Result;
use workalike::custom::{
    CopyIn, CopyInOut, CopyOut, Grid, KernelSource, Language, Module, RawKernel, kernel_args,
};
use workalike::engine::device::Device;
use workalike::prelude::{Array1, DType, DeviceArray, Simulator, Value, array};

pub(super) fn scenarios() -> Vec<Scenario> {
    let stories: [Story; 21] = [
        ("multiply_them", multiply_them),
        ("doublify", doublify),
        ("doublify_in_each_language", languages),
        ("matrix_product", matrix_product),
        ("sum_and_difference", sum_and_difference),
        ("strided_input", strided_input),
        ("eye", eye),
        ("plus_one_in_each_dtype", plus_one),
        ("group_memory", memory::group_memory),
        ("atomic_adds", memory::atomic_adds),
        ("constants", memory::constants),
        ("variables_of_a_module", memory::globals),
        ("prepared_launches", prepared),
        ("indices_that_a_kernel_writes", written_indices),
        ("elementwise", expressions::elementwise),
        ("reductions", expressions::reductions),
        ("scans", expressions::scans),
        ("segmented_scans", expressions::segmented_scans),
        ("arguments_that_do_not_fit", errors::misfits),
        ("sources_that_do_not_compile", errors::bad_sources),
        ("faults_that_the_host_finds", errors::faults),
    ];
    family("custom_kernels", &stories)
}

/// Runs a story on a device. All of them take the dialect.
fn on(stage: &Stage, story: impl FnOnce(&Arc<dyn Device>) -> Result<()>) -> Result<()> {
    story(&stage.open()?)
}

/// Whether a device compiles C. Others interpret the dialect.
pub(super) fn compiles_c(device: &Arc<dyn Device>) -> bool {
    !device.properties().every_op
}

/// The language that a device compiles, besides the dialect.
fn own_language(device: &Arc<dyn Device>) -> Option<Language> {
    let cuda = device.properties().id.starts_with("cuda");
    compiles_c(device).then_some(if cuda { Language::CudaCpp } else { Language::OpenClC })
}

pub(super) fn dialect(text: &str) -> Result<KernelSource> {
    typed(text, &[])
}

pub(super) fn typed(text: &str, types: &[(&str, DType)]) -> Result<KernelSource> {
    KernelSource::new(Language::Dialect, text, types).map_err(|e| crate::stage::wrong(e.to_string()))
}

/// The only kernel of a text in the dialect.
fn kernel(device: &Arc<dyn Device>, text: &str) -> Result<RawKernel> {
    let module = Module::new(device, dialect(text)?)?;
    let name = module.signatures().next().map(|signature| signature.name.clone()).unwrap_or_default();
    module.kernel(&name)
}

/// Numbers that every float dtype holds.
pub(super) fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i % 61) as f32 * 0.5 - 7.0).collect()
}

pub(super) fn ramp2(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| ((i * columns + j) % 61) as f32 * 0.5 - 7.0)
}

/// PyCUDA's first example, also for a matrix of shape (20, 10).
fn multiply_them(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let multiply = kernel(
            device,
            "KERNEL void multiply_them(GLOBAL_MEM float *dest, GLOBAL_MEM const float *a, GLOBAL_MEM const float *b)
             {
                 const int i = GID_0 * LDIM_0 + LID_0;
                 dest[i] = a[i] * b[i];
             }",
        )?;
        let (a, b) = (Array1::from(ramp(400)), Array1::from(ramp(400)).mapv(|x| x - 3.0));
        let mut dest = Array1::<f32>::zeros(400);
        multiply
            .launch(Grid::groups([2], [200]), kernel_args![CopyOut(&mut dest), CopyIn(&a), CopyIn(&b)])?;
        ensure(dest == &a * &b, || format!("400 products: {dest}"))?;
        let (a, b) = (ramp2(20, 10), ramp2(20, 10).mapv(|x| 1.0 - x));
        let mut dest = Array2::<f32>::zeros((20, 10));
        multiply
            .launch(Grid::groups([1], [200]), kernel_args![CopyOut(&mut dest), CopyIn(&a), CopyIn(&b)])?;
        ensure(dest == &a * &b, || format!("a matrix: {dest}"))
    })
}

/// In place, on a matrix with two-dimensional groups; the elements may lie in any order on the host.
fn doublify(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let doublify = kernel(
            device,
            "KERNEL void doublify(GLOBAL_MEM float *a)
             {
                 int idx = LID_0 + LID_1 * 4;
                 a[idx] *= 2;
             }",
        )?;
        let before = ramp2(4, 4);
        let mut a = before.clone();
        doublify.launch(Grid::groups([1, 1], [4, 4]), kernel_args![CopyInOut(&mut a)])?;
        ensure(a == &before * 2.0, || format!("{a}"))?;
        let mut turned = before.clone().reversed_axes();
        doublify.launch(Grid::groups([1, 1], [4, 4]), kernel_args![CopyInOut(&mut turned)])?;
        ensure(turned == before.t().mapv(|x| x * 2.0), || format!("{turned}"))
    })
}

/// The same kernel in OpenCL C and in CUDA C++; a device refuses another's language, and the host both.
fn languages(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let texts = [
            (
                Language::OpenClC,
                "__kernel void doublify(__global float *a, const uint n)\n{ uint i = get_global_id(0); if (i < n) a[i] *= 2; }",
            ),
            (
                Language::CudaCpp,
                "__global__ void doublify(float *a, unsigned int n)\n{\n  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) a[i] *= 2;\n}",
            ),
        ];
        let own = own_language(device);
        for (language, text) in texts {
            let source =
                KernelSource::new(language, text, &[]).map_err(|e| crate::stage::wrong(e.to_string()))?;
            let module = Module::new(device, source);
            if own != Some(language) {
                let words = [&device.properties().id, "not supported", "the host takes the dialect"];
                fails("another language", module, &words)?;
                continue;
            }
            let mut a = array![1f32, 2.0, 3.0];
            module?.kernel("doublify")?.launch(Grid::items([3]), kernel_args![CopyInOut(&mut a), 3])?;
            ensure(a == array![2f32, 4.0, 6.0], || format!("{language:?}: {a}"))?;
        }
        Ok(())
    })
}

/// A product of matrices of any extents, in a two-dimensional grid.
fn matrix_product(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let product = kernel(
            device,
            "KERNEL void product(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *y, GLOBAL_MEM f32 *z, u32 m, u32 k, u32 n)
             {
                 const u32 i = GID_1 * LDIM_1 + LID_1, j = GID_0 * LDIM_0 + LID_0;
                 if (i >= m || j >= n) return;
                 f32 sum = 0;
                 for (u32 l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
                 z[i * n + j] = sum;
             }",
        )?;
        let (x, y) = (ramp2(37, 19), ramp2(19, 53));
        let mut z = Array2::<f32>::zeros((37, 53));
        let args = kernel_args![CopyIn(&x), CopyIn(&y), CopyOut(&mut z), 37, 19, 53];
        product.launch(Grid::items([53, 37]), args)?;
        ensure((&z - &x.dot(&y)).iter().all(|d| d.abs() < 1e-3), || format!("{z}"))
    })
}

/// Two results from one launch, of arrays that stay on the device.
fn sum_and_difference(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let both = kernel(
            device,
            "KERNEL void both(GLOBAL_MEM const f32 *x, GLOBAL_MEM const f32 *y,
                              GLOBAL_MEM f32 *sum, GLOBAL_MEM f32 *difference, const u64 n)
             {
                 for (u64 i = GID_0 * LDIM_0 + LID_0; i < n; i += GDIM_0 * LDIM_0) {
                     sum[i] = x[i] + y[i];
                     difference[i] = x[i] - y[i];
                 }
             }",
        )?;
        let (a, b) = (ramp(1000), ramp(1000).into_iter().rev().collect::<Vec<f32>>());
        let (x, y) = (DeviceArray::upload(device, &a)?, DeviceArray::upload(device, &b)?);
        let [sum, difference] = [(), ()].map(|()| DeviceArray::zeros(device, DType::F32, &[1000]));
        let (sum, difference) = (sum?, difference?);
        let args = || kernel_args![&x, &y, &sum, &difference, 1000];
        both.launch(Grid::items([1000]), args())?;
        // In place: a parameter that is read may be the array that another one writes.
        both.launch(Grid::items([1000]), kernel_args![&x, &y, &sum, &x, 1000])?;
        let pairs = || a.iter().zip(&b);
        equal("the sum", &sum.to_value()?, pairs().map(|(a, b)| a + b).collect::<Vec<f32>>())?;
        equal("the difference", &difference.to_value()?, pairs().map(|(a, b)| a - b).collect::<Vec<f32>>())?;
        equal("in place", &x.to_value()?, pairs().map(|(a, b)| a - b).collect::<Vec<f32>>())?;
        both.launch(Grid::items([1000]), args())?;
        equal("again, with x changed", &sum.to_value()?, a)
    })
}

/// A transposed matrix is read by its strides.
fn strided_input(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let doubled = kernel(
            device,
            "KERNEL void doubled(GLOBAL_MEM const f32 *x, i64 row_stride, i64 column_stride,
                                 GLOBAL_MEM f32 *z, u32 rows, u32 columns)
             {
                 const u32 i = GID_1 * LDIM_1 + LID_1, j = GID_0 * LDIM_0 + LID_0;
                 if (i < rows && j < columns)
                     z[i * columns + j] = 2 * x[i * row_stride + j * column_stride];
             }",
        )?;
        let x = ramp2(7, 30);
        let mut z = Array2::<f32>::zeros((30, 7));
        let args = kernel_args![CopyIn(&x), 1, 30, CopyOut(&mut z), 30, 7];
        doubled.launch(Grid::items([7, 30]), args)?;
        ensure(z == x.t().mapv(|x| 2.0 * x), || format!("{z}"))?;
        // Every second column of the matrix.
        let mut z = Array2::<f32>::zeros((7, 15));
        let args = kernel_args![CopyIn(&x), 30, 2, CopyOut(&mut z), 7, 15];
        doubled.launch(Grid::items([15, 7]), args)?;
        ensure(z == x.slice(s![.., ..;2]).mapv(|x| 2.0 * x), || format!("{z}"))
    })
}

/// Theano's Eye op: n, m and k are given at run time; its text is libgpuarray's.
fn eye(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let text = r#"#include "cluda.h"

KERNEL void eye(GLOBAL_MEM type_a *a, ga_size n, ga_size m, ga_ssize k) {
    ga_ssize coff = max(k, (ga_ssize) 0);
    ga_ssize roff = -min(k, (ga_ssize) 0);
    ga_size nb = (ga_size) min(n - roff, m - coff);
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        store_a(a, (i + roff)*m + i + coff, 1);
    }
}"#;
        for dtype in [DType::F32, DType::F16, DType::I64] {
            let eye = Module::new(device, typed(text, &[("a", dtype)])?)?.kernel("eye")?;
            for (n, m, k) in [(5usize, 7usize, 0i64), (6, 4, -2), (3, 9, 5), (4, 4, 3), (1, 1, 0)] {
                let a = DeviceArray::zeros(device, dtype, &[n, m])?;
                eye.launch(Grid::groups([1], [32]), kernel_args![&a, n, m, k])?;
                let is = |(i, j): (usize, usize)| f32::from(u8::from(j as i64 - i as i64 == k));
                let want = Value::from(Array2::from_shape_fn((n, m), is)).cast(dtype)?;
                equal(&format!("eye({n}, {m}, {k}) of {dtype}"), &a.to_value()?, want)?;
            }
        }
        Ok(())
    })
}

/// Theano's example for float16: stored as a half, computed in float32.
fn plus_one(stage: &Stage) -> Result<()> {
    on(stage, |device| {
        let text = "KERNEL void k(const ga_size n, type_x *x, type_y *y) {
            ga_size i = GID_0 * LDIM_0 + LID_0;
            if (i >= n) return;
            work_x z = load_x(x, i);
            z += 1;
            store_y(y, i, z);
        }";
        let mut dtypes = vec![DType::F16, DType::BF16, DType::F32, DType::I32, DType::U8];
        dtypes.extend(device.properties().f64.then_some(DType::F64));
        for x in &dtypes {
            for y in [*x, DType::F32] {
                let kernel = Module::new(device, typed(text, &[("x", *x), ("y", y)])?)?.kernel("k")?;
                let given = Value::from((0u8..100).map(f32::from).collect::<Vec<f32>>()).cast(*x)?;
                let (a, b) = (DeviceArray::upload(device, &given)?, DeviceArray::zeros(device, y, &[100])?);
                kernel.launch(Grid::items([100]), kernel_args![100, &a, &b])?;
                let want = Value::from((1u8..=100).map(f32::from).collect::<Vec<f32>>()).cast(y)?;
                equal(&format!("{x} to {y}"), &b.to_value()?, want)?;
            }
        }
        Ok(())
    })
}

/// A prepared launch sees what was written since; a part of a Simulator's result is an argument too.
fn prepared(stage: &Stage) -> Result<()> {
    use workalike::prelude::{args, function, vector};
    on(stage, |device| {
        let add = kernel(
            device,
            "KERNEL void add(GLOBAL_MEM f32 *x, f32 by) { x[GID_0 * LDIM_0 + LID_0] += by; }",
        )?;
        let x = vector::<f32>("x");
        let f = function([&x]).output(&x * 2.0).compile()?;
        let mut sim = f.optimize(device.clone())?;
        let array = sim.call_device(args![vec![1f32; 128]])?.remove(0);
        let mut launch = add.prepare(Grid::groups([2], [64]), kernel_args![&array, 0.25])?;
        (0..4).try_for_each(|_| launch.run())?;
        equal("four launches", &array.to_value()?, vec![3f32; 128])?;
        // In order with the Simulator's work on the same stream.
        let next = sim.call_device(args![&array])?.remove(0);
        launch.run()?;
        equal("the next call", &next.to_value()?, vec![6f32; 128])?;
        ensure(launch.timed()?.as_nanos() > 0, || "a launch takes time".into())
    })
}

/// Indices from the host are not checked on the device where their bounds are known; a kernel changes them.
fn written_indices(stage: &Stage) -> Result<()> {
    use workalike::prelude::{args, function, vector};
    on(stage, |device| {
        let (x, at) = (vector::<f32>("x"), vector::<i64>("at"));
        let f = function([&x, &at]).output(x.index(workalike::idx![&at])).compile()?;
        let mut sim = f.optimize(device.clone())?;
        let set = kernel(device, "KERNEL void set(GLOBAL_MEM i64 *at, i64 to) { at[LID_0] = to; }")?;
        for indices in [sim.upload(vec![0i64, 1])?, DeviceArray::upload(device, vec![0i64, 1])?] {
            let call = |sim: &mut Simulator| sim.call(args![vec![1f32, 2.0, 3.0], &indices]);
            equal("as uploaded", &call(&mut sim)?[0], vec![1f32, 2.0])?;
            set.launch(Grid::groups([1], [2]), kernel_args![&indices, 2])?;
            equal("within", &call(&mut sim)?[0], vec![3f32, 3.0])?;
            set.launch(Grid::groups([1], [2]), kernel_args![&indices, 1i64 << 40])?;
            fails("out of range", call(&mut sim), &["index is out of range"])?;
        }
        Ok(())
    })
}
