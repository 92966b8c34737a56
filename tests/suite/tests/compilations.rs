//! What PoCL compiles, counted in its cache of kernels: one file for each kernel and size of group. A test
//! runs again in a process of its own, whose cache is empty.

use std::path::{Path, PathBuf};
use std::process::Command;
use workalike::Result;
use workalike::ops::Side;
use workalike::prelude::*;

/// PoCL's variable for the folder of its cache.
const FOLDER: &str = "POCL_CACHE_DIR";
/// Says that a process was started by [`alone`].
const CHILD: &str = "WORKALIKE_COUNTS_COMPILATIONS";

/// PoCL's cache of kernels.
struct Cache(PathBuf);

impl Cache {
    /// The number of kernels that were compiled.
    fn count(&self) -> usize {
        fn kernels(folder: &Path) -> usize {
            let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
            let paths = entries.flatten().map(|entry| entry.path());
            paths.map(|path| if path.is_dir() { kernels(&path) } else { is_kernel(&path) }).sum()
        }
        fn is_kernel(path: &Path) -> usize {
            usize::from(path.extension().is_some_and(|ending| ending == "so"))
        }
        kernels(&self.0)
    }
}

/// Runs the body of the test of this name in a new process with an empty cache; ignored without PoCL.
fn alone(test: &str, body: impl FnOnce(&Cache) -> Result<()>) -> Result<()> {
    if std::env::var_os(CHILD).is_some() {
        return body(&Cache(std::env::var_os(FOLDER).unwrap_or_default().into()));
    }
    let is_pocl =
        |device: &workalike::opencl::DeviceInfo| device.platform_name.contains("Portable Computing");
    if !workalike::opencl::list().is_ok_and(|devices| devices.first().is_some_and(is_pocl)) {
        println!("ignored: the first OpenCL device is not PoCL's");
        return Ok(());
    }
    let folder = std::env::temp_dir().join(format!("workalike-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    let executable = std::env::current_exe().expect("the test has a path");
    let mut child = Command::new(executable);
    child.args([test, "--exact", "--nocapture"]).env(FOLDER, &folder).env(CHILD, "1");
    let output = child.output().expect("the test can be started");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn zeros(shape: &[usize]) -> Result<Value> {
    Value::zeros(DType::F32, shape)
}

#[test]
fn library_ops_are_compiled_for_a_class_of_sizes() -> Result<()> {
    alone("library_ops_are_compiled_for_a_class_of_sizes", |cache| {
        let (x, m) = (vector::<f32>("x"), matrix::<f32>("m"));
        let of_vector = [
            ("sort", x.sort(0)),
            ("argsort", x.argsort(0)),
            ("topk", x.topk(5, 0)),
            ("cumsum", x.cumsum(0)),
            ("cummax", x.cummax(0)),
            ("searchsorted", x.searchsorted(&x * 0.5, Side::Left)),
            ("mask", x.compress(x.greater(0.5), 0)),
        ];
        let of_matrix = [("sort of columns", m.sort(0)), ("cumsum of columns", m.cumsum(0))];
        for (is_matrix, (name, y)) in
            of_vector.into_iter().map(|op| (false, op)).chain(of_matrix.into_iter().map(|op| (true, op)))
        {
            let input = if is_matrix { &m } else { &x };
            let mut sim = function([input]).output(y).compile()?.optimize(OpenCl::auto().dynamic())?;
            let mut compiled = Vec::new();
            for n in [300, 350, 400, 450, 500, 301, 299] {
                sim.call(args![if is_matrix { zeros(&[n, 7])? } else { zeros(&[n])? }])?;
                compiled.push(cache.count());
            }
            assert!(compiled.iter().all(|count| *count == compiled[0]), "{name}: {compiled:?}");
        }
        Ok(())
    })
}

/// Answers of a network of two layers, and the number of calls.
fn network() -> Result<Function> {
    let x = matrix::<f32>("x");
    let (w, v) = (shared("w", zeros(&[32, 64])?), shared("v", zeros(&[64, 1])?));
    let calls = shared("calls", 0i64);
    let y = (x.dot(&w) + 0.5).tanh().dot(&v).index(idx![.., 0]);
    function([&x]).output(&y).output(&calls + 0i64).update(&calls, &calls + 1i64).compile()
}

#[test]
fn small_batches_share_kernels() -> Result<()> {
    alone("small_batches_share_kernels", |cache| {
        let mut sim = network()?.optimize(OpenCl::auto().dynamic())?;
        let mut counts = |rows: &[usize]| -> Result<Vec<usize>> {
            let count = |&rows: &usize| sim.call(args![zeros(&[rows, 32])?]).map(|_| cache.count());
            rows.iter().map(count).collect()
        };
        let first = counts(&[64, 4, 3, 2, 5, 33])?;
        assert!(first.iter().all(|count| *count == first[0]), "{first:?}");
        // A batch of one has a form of its own.
        let one = counts(&[1, 2, 64, 1])?;
        assert!(one.iter().all(|count| *count == one[0]) && one[0] <= 2 * first[0], "{first:?}, {one:?}");
        Ok(())
    })
}

#[test]
fn calls_after_a_warm_up_compile_nothing() -> Result<()> {
    alone("calls_after_a_warm_up_compile_nothing", |cache| {
        let x = matrix::<f32>("x");
        let ordered = function([&x]).output(x.sort(1).cumsum(1)).output(x.sum(0)).compile()?;
        for (f, runs) in [(network()?, true), (ordered, false)] {
            for backend in [OpenCl::auto().dynamic(), OpenCl::auto().any_size(true)] {
                let mut sim = f.optimize(backend)?;
                let sizes = [3, 64, 1, 20];
                let batches = sizes.map(|rows| of_shape::<f32>(&[rows, 32]).map(|x| args![x]));
                sim.warm_up(batches.into_iter().collect::<Result<Vec<_>>>()?)?;
                let compiled = cache.count();
                assert!(compiled > 0);
                for rows in sizes.into_iter().chain(sizes) {
                    sim.call(args![zeros(&[rows, 32])?])?;
                }
                assert_eq!(cache.count(), compiled);
                if runs {
                    assert_eq!(sim.get_value("calls")?.item::<i64>()?, 8, "a warm-up runs nothing");
                }
            }
        }
        Ok(())
    })
}

#[test]
fn threads_compile_a_kernel_once() -> Result<()> {
    alone("threads_compile_a_kernel_once", |cache| {
        let f = network()?;
        let call = || -> Result<()> {
            let mut sim = f.fork()?.optimize(OpenCl::auto().dynamic())?;
            sim.call(args![zeros(&[64, 32])?]).map(drop)
        };
        std::thread::scope(|scope| {
            let threads = [0; 4].map(|_| scope.spawn(call));
            threads.into_iter().try_for_each(|thread| thread.join().expect("the thread does not panic"))
        })?;
        let compiled = cache.count();
        call()?;
        let sources = f.optimize(OpenCl::auto().dynamic()).and_then(|mut sim| {
            sim.prepare(args![of_shape::<f32>(&[64, 32])?])?;
            Ok(sim.sources())
        })?;
        let kernels: usize = sources.iter().map(|text| text.matches("__kernel ").count()).sum();
        assert_eq!((cache.count(), compiled), (kernels, kernels));
        Ok(())
    })
}
