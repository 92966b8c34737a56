//! One Simulator and many sizes: kernels for any size against the reference, the bits of a size against those
//! of its other calls, and what is compiled when.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike::Result;
use workalike::engine::device::{
    Device, DeviceError, DeviceModule, DeviceResult, LibraryOp, Memory, Numerics, Properties,
};
use workalike::kernels::print::ForSizes;
use workalike::kernels::verify::Verified;
use workalike::prelude::*;
use workalike_suite::devices::{self, Kind, Tested};

/// Numbers of rows, in the order of the calls. 0 and 1 have other loops than the others.
const ROWS: [usize; 9] = [32, 17, 33, 2, 64, 1, 0, 130, 21];
const COLUMNS: usize = 40;

fn compilers() -> Vec<Tested> {
    let compiles = |device: &Tested| matches!(device.kind, Kind::OpenCl(..) | Kind::Cuda(_));
    devices::all().0.into_iter().filter(compiles).collect()
}

/// Functions of a matrix of any number of rows: maps, rows, columns, products, windows, indices, scans.
fn functions() -> Result<Vec<(&'static str, Function)>> {
    let x = matrix::<f32>("x");
    let weights: Vec<f32> = (0..COLUMNS * 24).map(|i| (i % 13) as f32 / 13.0 - 0.4).collect();
    let w = shared("w", Value::from_vec(&[COLUMNS, 24], weights)?);
    let centered = &x - x.mean(-1).expand_dims(-1);
    let spread = (&centered * &centered).mean(-1).expand_dims(-1);
    let normal = centered / (spread + 1e-5).sqrt();
    let total = shared("total", 0f32);
    Ok(vec![
        ("map", function([&x]).output((&x * 2.0 + 0.25).tanh() / 3.0).compile()?),
        ("layers", function([&x]).output(softmax(x.dot(&w).tanh().dot(w.t()), -1)).compile()?),
        ("normal", function([&x]).output(&normal).output(normal.sum(0)).output(x.sum(..)).compile()?),
        ("transposed", function([&x]).output(&x + x.flip([-1])).output(x.t() * 2.0).compile()?),
        ("order", function([&x]).output(x.cumsum(0)).output(x.argmax(-1)).output(x.max(-1)).compile()?),
        ("wrapped", function([&x]).output(concatenate([&x.index(idx![1..]), &x], 0) + 1.0).compile()?),
        ("state", function([&x]).output(&total + 0.0).update(&total, &total + x.sum(..)).compile()?),
    ])
}

fn rows_of(rows: usize) -> Result<Value> {
    let at = |i: usize| ((i * 31 + rows) % 97) as f32 / 97.0 - 0.4;
    Value::from_vec(&[rows, COLUMNS], (0..rows * COLUMNS).map(at).collect::<Vec<_>>())
}

/// Calls a Simulator with all numbers of rows, again and again, and compares results with the reference, and
/// bits with those of the first call of the same size.
fn check(name: &str, f: &Function, mut sim: Simulator) -> Result<()> {
    let mut first: Vec<Vec<Value>> = Vec::new();
    for round in 0..4 {
        for (at, rows) in ROWS.into_iter().enumerate() {
            let what = format!("{name} of {rows} rows on {}, round {round}", sim.device().properties().id);
            sim.reset()?;
            let got = sim.call(args![rows_of(rows)?])?;
            let got: Vec<Value> = got.iter().map(|(_, value)| value.clone()).collect();
            for (got, want) in got.iter().zip(f.fork()?.call_reference(args![rows_of(rows)?])?.iter()) {
                near(&what, got, want.1)?;
            }
            match first.get(at) {
                None => first.push(got),
                Some(first) => {
                    for (got, first) in got.iter().zip(first) {
                        assert_eq!(got.contiguous_bytes(), first.contiguous_bytes(), "{what}");
                    }
                }
            }
        }
        // The thread that compiles for one size gets on.
        std::thread::sleep(Duration::from_millis(100));
    }
    sim.reset()?;
    resumed(name, &sim, &first)
}

/// A Simulator that was saved or forked gives the same bits, whichever size comes first.
fn resumed(name: &str, sim: &Simulator, first: &[Vec<Value>]) -> Result<()> {
    let loaded = Simulator::from_bytes(&sim.to_bytes()?, sim.device().clone())?;
    for (how, mut sim) in [("loaded", loaded), ("forked", sim.fork()?)] {
        for (rows, first) in ROWS.into_iter().zip(first).rev() {
            sim.reset()?;
            let got = sim.call(args![rows_of(rows)?])?;
            for ((_, got), first) in got.iter().zip(first) {
                assert_eq!(got.contiguous_bytes(), first.contiguous_bytes(), "{name} of {rows} rows, {how}");
            }
        }
    }
    Ok(())
}

fn near(what: &str, got: &Value, want: &Value) -> Result<()> {
    assert_eq!(got.shape(), want.shape(), "{what}");
    for (a, b) in got.to_f64s().into_iter().zip(want.to_f64s()) {
        assert!((a - b).abs() <= 2e-5 * (1.0 + b.abs()), "{what}: {a}, not {b}");
    }
    Ok(())
}

#[test]
fn all_sizes_are_right_and_keep_their_bits() -> Result<()> {
    for device in compilers() {
        for (name, f) in functions()? {
            let open = || device.open();
            check(name, &f, f.fork()?.optimize(open()?.dynamic())?)?;
            check(name, &f, f.fork()?.optimize(open()?.any_size(true))?)?;
        }
    }
    Ok(())
}

/// The host, as a device that compiles: it notes what it compiles, and refuses some of it.
#[derive(Debug)]
struct Compiler {
    inner: Arc<dyn Device>,
    asked: Mutex<Vec<ForSizes>>,
    refuses: Option<ForSizes>,
}

impl Compiler {
    fn new(refuses: Option<ForSizes>) -> Result<Arc<Compiler>> {
        Ok(Arc::new(Compiler { inner: Host::threads(1).open()?, asked: Mutex::default(), refuses }))
    }

    fn asked(&self) -> Vec<ForSizes> {
        self.asked.lock().map(|asked| asked.clone()).unwrap_or_default()
    }
}

impl Device for Compiler {
    fn properties(&self) -> &Properties {
        self.inner.properties()
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.inner.allocate(bytes)
    }

    workalike_suite::forwards_to_inner!();

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.compile_for(ForSizes::One, nests, numerics)?
            .ok_or_else(|| DeviceError::driver("compiler", "compile", "there is no module"))
    }

    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        if let Ok(mut asked) = self.asked.lock() {
            asked.push(sizes);
        }
        match self.refuses == Some(sizes) {
            true => Err(DeviceError::driver("compiler", "compile", "refused")),
            false => self.inner.compile(nests, numerics).map(Some),
        }
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        self.inner.library(op, epilogue)
    }
}

/// What is compiled for calls with these numbers of rows.
fn compiled(options: Options, refuses: Option<ForSizes>, rows: &[usize]) -> Result<Vec<ForSizes>> {
    let compiler = Compiler::new(refuses)?;
    let x = matrix::<f32>("x");
    let f = function([&x]).output(x.sum(-1) * 2.0).compile()?;
    let device: Arc<dyn Device> = compiler.clone();
    let mut sim = f.optimize(device.with_options(options))?;
    for &rows in rows {
        let (got, want) = (sim.call(args![rows_of(rows)?])?, f.call_reference(args![rows_of(rows)?])?);
        near("sums of rows", &got[0], &want[0])?;
    }
    // A Simulator waits for its thread, which skips what it has not begun.
    drop(sim);
    Ok(compiler.asked())
}

#[test]
fn new_sizes_have_kernels_for_any_and_returning_ones_their_own() -> Result<()> {
    use ForSizes::{Any, One, OneOfAny};
    let default = Options::default();
    assert_eq!(compiled(default, None, &[4, 4, 4])?, [One]);
    assert_eq!(compiled(default, None, &[4, 5, 6])?, [One, Any, Any]);
    assert_eq!(compiled(Options { any_size: false, ..default }, None, &[4, 5, 5])?, [One, One]);
    assert_eq!(compiled(Options { sizes: Sizes::Dynamic, ..default }, None, &[4, 5])?, [Any, Any]);
    // The first sizes have kernels of their own again after their Program was dropped.
    let many: Vec<usize> = (4..40).chain([4, 5]).collect();
    let asked = compiled(default, None, &many)?;
    assert_eq!((asked.len(), &asked[36..]), (38, &[One, Any][..]));
    // A refusal costs speed at most.
    assert_eq!(compiled(default, Some(Any), &[4, 5, 5])?, [One, Any, One]);
    for (deterministic, own) in [(true, OneOfAny), (false, One)] {
        for refuses in [None, Some(OneOfAny)] {
            let asked = until_returned(Options { deterministic, ..default }, refuses)?;
            assert_eq!(asked, [One, Any, own]);
        }
    }
    Ok(())
}

#[test]
fn prepared_calls_have_nothing_to_compile() -> Result<()> {
    use ForSizes::{Any, One, OneOfAny};
    let x = matrix::<f32>("x");
    let f = function([&x]).output(x.sum(-1) * 2.0).compile()?;
    for (sizes, expected) in
        [(Sizes::Several, &[One, Any, OneOfAny][..]), (Sizes::Dynamic, &[Any, OneOfAny, Any, OneOfAny])]
    {
        let compiler = Compiler::new(None)?;
        let device: Arc<dyn Device> = compiler.clone();
        let mut sim = f.optimize(device.with_options(Options { sizes, ..Options::default() }))?;
        sim.warm_up([args![rows_of(4)?], args![rows_of(5)?]])?;
        assert_eq!(compiler.asked(), expected);
        for rows in [4, 5, 5, 4, 4] {
            let want = f.call_reference(args![rows_of(rows)?])?;
            near("sums of rows", &sim.call(args![rows_of(rows)?])?[0], &want[0])?;
        }
        drop(sim);
        assert_eq!(compiler.asked(), expected);
    }
    Ok(())
}

#[test]
fn copies_of_a_simulator_know_its_first_sizes() -> Result<()> {
    use ForSizes::{Any, One};
    let x = matrix::<f32>("x");
    let f = function([&x]).output(x.sum(-1)).compile()?;
    let compiler = Compiler::new(None)?;
    let device: Arc<dyn Device> = compiler.clone();
    let mut sim = f.optimize(device.clone())?;
    sim.call(args![rows_of(4)?])?;
    let (loaded, forked) = (Simulator::from_bytes(&sim.to_bytes()?, device)?, sim.fork()?);
    for mut copy in [loaded, forked] {
        let before = compiler.asked().len();
        copy.call(args![rows_of(5)?])?;
        copy.call(args![rows_of(4)?])?;
        assert_eq!(compiler.asked()[before..], [Any, One]);
    }
    Ok(())
}

/// What is compiled for two sizes of which the second returns, called until the thread has compiled it.
fn until_returned(options: Options, refuses: Option<ForSizes>) -> Result<Vec<ForSizes>> {
    let compiler = Compiler::new(refuses)?;
    let x = matrix::<f32>("x");
    let f = function([&x]).output(x.sum(-1) * 2.0).compile()?;
    let device: Arc<dyn Device> = compiler.clone();
    let mut sim = f.optimize(device.with_options(options))?;
    sim.call(args![rows_of(4)?])?;
    let want = f.call_reference(args![rows_of(5)?])?;
    while compiler.asked().len() < 3 {
        near("sums of rows", &sim.call(args![rows_of(5)?])?[0], &want[0])?;
    }
    for _ in 0..5 {
        near("sums of rows", &sim.call(args![rows_of(5)?])?[0], &want[0])?;
    }
    drop(sim);
    Ok(compiler.asked())
}
