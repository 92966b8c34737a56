//! Generated code: a device that prints kernels and runs nothing, and small Functions to print.
//!
//! `tests/snapshots.rs` compares the output with the files in `tests/snapshots/` of the repository: OpenCL C,
//! CUDA C++ and the fused Programs. `BLESS=1` rewrites them.

mod fusion;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use workalike::kernels::nest::Store;
use workalike::kernels::print::{Dialect, ForSizes, Target, print};
use workalike::kernels::verify::Verified;
use workalike::ops::range;
use workalike::prelude::*;
use workalike::rehost::device::{
    Command, Device, DeviceResult, LibraryOp, Matmul, Memory, Module, Numerics, Properties, Recording, Region,
};
use workalike::{Result, idx};

/// Selects a device that prints kernels only.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The language of the kernels.
    pub dialect: Dialect,
    /// Whether its kernels are for a CPU rather than a GPU.
    pub cpu: bool,
    /// Whether it has a library for products of float matrices.
    pub matmul: bool,
}

impl Open for Paper {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let (units, lanes) = if self.cpu { (8, 8) } else { (100, 100 * 2048) };
        let properties = Properties {
            name: if self.cpu { "a CPU of paper".into() } else { "a GPU of paper".into() },
            id: "paper".into(),
            driver: "prints, runs nothing".into(),
            memory: 1 << 36,
            largest_allocation: 1 << 35,
            alignment: 256,
            f64: true,
            units,
            lanes,
            interprets: false,
            every_op: false,
            forward_progress: false,
        };
        let target = Target {
            dialect: self.dialect,
            max_group: 256,
            local_memory: 48 << 10,
            lanes,
            cpu: self.cpu,
            fast: false,
            sizes: ForSizes::One,
        };
        Ok(Arc::new(PaperDevice { properties, target, matmul: self.matmul }))
    }
}

#[derive(Debug)]
struct PaperDevice {
    properties: Properties,
    target: Target,
    matmul: bool,
}

#[derive(Debug)]
struct Nothing(u64);

impl Memory for Nothing {
    fn bytes(&self) -> u64 {
        self.0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct Printed(String);

impl Module for Printed {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn source(&self) -> &str {
        &self.0
    }
}

/// A recording that does nothing, of this many commands.
#[derive(Debug)]
struct Idle(usize);

impl Recording for Idle {
    fn replay(&mut self) -> DeviceResult<()> {
        Ok(())
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        Ok(vec![Duration::ZERO; self.0])
    }
}

impl Device for PaperDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        Ok(Arc::new(Nothing(bytes)))
    }

    fn upload(&self, _: &[u8], _: &Region) -> DeviceResult<()> {
        Ok(())
    }

    fn download(&self, _: &Region, target: &mut [u8]) -> DeviceResult<()> {
        target.fill(0);
        Ok(())
    }

    fn copy(&self, _: &Region, _: &Region) -> DeviceResult<()> {
        Ok(())
    }

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn Module>> {
        let target = Target { fast: numerics.fast, ..self.target.clone() };
        Ok(Arc::new(Printed(print(nests, &target).text)))
    }

    fn record(&self, _: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>> {
        Ok(Box::new(Idle(commands.len())))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        Ok(())
    }

    fn adds_to(&self, dtype: DType) -> bool {
        Store::can_add_to(dtype)
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        let float = op.downcast().is_some_and(|product: &Matmul| product.dtype.is_float());
        (self.matmul && float && !(epilogue.is_some() && self.target.cpu)).then_some(0)
    }
}

/// A Function to print, at the shapes of these arguments.
pub struct Example {
    /// The name of the files.
    pub name: &'static str,
    function: Function,
    args: Args,
    matmul: bool,
    options: Options,
}

/// The output of a [`Paper`] device for an [`Example`].
pub struct Text {
    /// The generated source.
    pub source: String,
    /// The fused Program.
    pub program: String,
}

impl Example {
    fn new(name: &'static str, function: Result<Function>, args: Args) -> Result<Example> {
        let options = Options { strict: true, ..Options::default() };
        Ok(Example { name, function: function?, args, matmul: true, options })
    }

    /// The example on a device without a library for products.
    fn without_matmul(self) -> Example {
        Example { matmul: false, ..self }
    }

    /// The example with `fast_math` and without `deterministic`.
    fn fast(mut self) -> Example {
        (self.options.fast_math, self.options.deterministic) = (true, false);
        self
    }

    /// Prints it.
    ///
    /// # Errors
    /// If the Function cannot be lowered.
    pub fn print(&self, paper: Paper) -> Result<Text> {
        let mut simulator =
            self.function.optimize(Paper { matmul: self.matmul, ..paper }.with_options(self.options))?;
        simulator.prepare(self.args.clone())?;
        Ok(Text { source: simulator.sources().concat(), program: simulator.explain() })
    }
}

fn zeros(dtype: DType, shape: &[usize]) -> Result<Value> {
    Value::zeros(dtype, shape)
}

/// The examples.
///
/// # Errors
/// If one is ill-typed.
pub fn examples() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let (row, v) = (tensor::<f32>("row", [Some(1), None]), vector::<f32>("v"));
    let h = vector::<half::f16>("h");
    let b = vector::<half::bf16>("b");
    let (i, k) = (scalar::<i64>("i"), vector::<i64>("k"));
    let (m, n) = (matrix::<i32>("m"), matrix::<i32>("n"));
    let rows = |r, c| zeros(DType::F32, &[r, c]);
    let labels = |n| zeros(DType::I64, &[n]);
    let w = shared("w", rows(64, 10)?);
    let bias = shared("b", zeros(DType::F32, &[10])?);
    let cost = categorical_crossentropy(softmax(x.dot(&w) + &bias, -1), &k).mean(..);
    let g = grad(&cost, [&*w, &*bias])?;
    let hidden = shared("hidden", rows(784, 500)?);
    let table = shared("table", rows(1000, 16)?);
    let streams = RandomStreams::new(1);
    let none: [&Variable; 0] = [];
    // Weights of two shapes and their updates, which share only the points.
    let parts: [&[usize]; 4] = [&[500], &[20, 25], &[500], &[20, 25]];
    let named = |name: &str| -> Result<Vec<SharedVariable>> {
        parts
            .iter()
            .enumerate()
            .map(|(i, s)| Ok(shared(&format!("{name}{i}"), zeros(DType::F32, s)?)))
            .collect()
    };
    let (cells, slopes) = (named("cell")?, named("slope")?);
    let data = shared("data", rows(1797, 64)?);
    let counts = shared("counts", zeros(DType::U64, &[100])?);
    let mut examples = fusion::examples()?;
    examples.extend([
        Example::new(
            "broadcast",
            function([&x, &row]).output((&x * 2.0 + &row).tanh()).output((&x - &row).maximum(0.0)).compile(),
            args![rows(100, 70)?, rows(1, 70)?],
        )?,
        Example::new(
            "transposed",
            function([&x])
                .output(x.t() + 1.0)
                .output(x.index(idx![workalike::ops::Ix::from(..).step(-2)]) * 2.0)
                .compile(),
            args![rows(100, 70)?],
        )?,
        Example::new(
            "halves",
            function([&h, &b]).output(h.sigmoid() * 0.5).output(&h + &b).output(b.sum(..)).compile(),
            args![zeros(DType::F16, &[4099])?, zeros(DType::BF16, &[4099])?],
        )?,
        Example::new(
            "casts",
            function([&v])
                .outputs(
                    [DType::I8, DType::U32, DType::I64, DType::F64, DType::BF16, DType::Bool]
                        .map(|d| v.cast(d)),
                )
                .compile(),
            args![zeros(DType::F32, &[1000])?],
        )?,
        Example::new(
            "integers",
            function([&m])
                .output(-(&m * &m) + 3i64)
                .output(m.less(0i64).and(m.not()))
                .update(&counts, &counts + 1i64)
                .compile(),
            args![zeros(DType::I32, &[10, 10])?],
        )?,
        Example::new(
            "softmax",
            function([&x]).output(softmax(&x * 0.5, -1)).output(log_softmax(&x, 0)).compile(),
            args![rows(200, 1000)?],
        )?,
        Example::new(
            "reductions",
            function([&x])
                .output(x.sqr().sum(..))
                .output(x.mean(0))
                .output(x.max(1))
                .output(x.argmax(1))
                .compile(),
            args![rows(3000, 500)?],
        )?,
        Example::new(
            "gather",
            function([&x, &k])
                .output(x.index(idx![arange(x.extent(0)), &k]).mean(..))
                .output(table.index(idx![&k]))
                .compile(),
            args![rows(128, 10)?, labels(128)?],
        )?,
        Example::new(
            "scatter",
            function([&x, &k]).update(&table, table.inc_index(idx![&k], &x)).compile(),
            args![rows(300, 16)?, labels(300)?],
        )?,
        // A computed index is unknown on the host: it is checked first, and the updates depend on the check.
        Example::new(
            "checked",
            function([&x, &k])
                .update(&table, table.inc_index(idx![&k * &k], &x))
                .update(&w, &w * 0.5f32)
                .compile(),
            args![rows(300, 16)?, labels(300)?],
        )?,
        Example::new(
            "fast",
            function([&x, &k])
                .output((&x * 2.0 + 1.0).tanh() / x.exp().sin().sqrt())
                .update(&table, table.inc_index(idx![&k], x.sqr()))
                .update(&counts, counts.inc_index(idx![&k], constant(1u64)))
                .compile(),
            args![rows(300, 16)?, labels(300)?],
        )?
        .fast(),
        Example::new(
            "batch",
            function([&i])
                .output(data.index([range(&i * 100i64, (&i + 1i64) * 100i64)]) / 16.0)
                .output(data.index(idx![&i]))
                .compile(),
            args![3i64],
        )?,
        Example::new(
            "updates",
            (cells.iter().zip(&slopes))
                .fold(function([&v]).output(v.sum(..)), |f, (w, g)| {
                    f.update(w, w - 0.1 * (&**g + 0.01 * &**w))
                })
                .compile(),
            args![zeros(DType::F32, &[500])?],
        )?,
        Example::new(
            "random",
            function(none)
                .output(streams.uniform::<f32>(&[1000]))
                .output(streams.normal::<f64>(&[10, 10]))
                .compile(),
            args![],
        )?,
        Example::new(
            "product",
            function([&m, &n]).output(m.dot(&n)).compile(),
            args![zeros(DType::I32, &[130, 33])?, zeros(DType::I32, &[33, 70])?],
        )?,
        Example::new(
            "layer",
            function([&x, &row]).output((x.dot(&hidden) + &row).tanh()).compile(),
            args![rows(20, 784)?, rows(1, 500)?],
        )?
        .without_matmul(),
        Example::new(
            "epilogues",
            function([&x, &m, &row])
                .output((m.cast(DType::F32).dot(&hidden) + &row).tanh())
                .update(&hidden, &hidden - 0.1 * x.t().dot(x.dot(&hidden)))
                .compile(),
            args![rows(2048, 784)?, zeros(DType::I32, &[2048, 784])?, rows(1, 500)?],
        )?,
        Example::new(
            "train",
            function([&x, &k])
                .output(&cost)
                .update(&w, &w - 0.1 * &g[0])
                .update(&bias, &bias - 0.1 * &g[1])
                .compile(),
            args![rows(128, 64)?, labels(128)?],
        )?,
    ]);
    Ok(examples)
}
