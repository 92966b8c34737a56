//! Generated code: a device that prints kernels and runs nothing, and small Functions to print.
//!
//! `tests/snapshots.rs` compares the output with the files in `tests/snapshots/` of the repository: OpenCL C,
//! CUDA C++ and the fused Programs. `BLESS=1` rewrites them.

mod fusion;
mod works;

use std::sync::Arc;
use std::time::Duration;
use workalike::Result;
use workalike::engine::device::{
    ByteMatmul, Command, Device, DeviceModule, DeviceResult, LibraryOp, Matmul, Memory, Numerics, Properties,
    Recording, Region,
};
use workalike::kernels::nest::Store;
use workalike::kernels::print::{Dialect, ForSizes, Target, print};
use workalike::kernels::verify::Verified;
use workalike::prelude::*;

/// Selects a device that prints kernels only.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// The language of the kernels.
    pub dialect: Dialect,
    /// Whether its kernels are for a CPU rather than a GPU.
    pub cpu: bool,
    /// Whether it has a library for products of float matrices, and of bytes on a GPU.
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
            kernel_insts: 4096,
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
}

#[derive(Debug)]
struct Printed(String);

impl DeviceModule for Printed {
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

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        let target = Target { fast: numerics.fast, ..self.target.clone() };
        Ok(Arc::new(Printed(print(nests, &target).text)))
    }

    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        let target = Target { fast: numerics.fast, sizes, ..self.target.clone() };
        Ok(Some(Arc::new(Printed(print(nests, &target).text))))
    }

    fn record(&self, _: &Arc<dyn DeviceModule>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>> {
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
        let bytes = op.downcast::<ByteMatmul>().is_some() && epilogue.is_none() && !self.target.cpu;
        (self.matmul && (float || bytes) && !(epilogue.is_some() && self.target.cpu)).then_some(0)
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

    /// The example with kernels for any size.
    fn for_any_size(mut self) -> Example {
        self.options.sizes = Sizes::Dynamic;
        self
    }

    /// Prints it.
    ///
    /// # Errors
    /// If the Function cannot be lowered.
    pub fn print(&self, paper: Paper) -> Result<Text> {
        let mut simulator =
            self.function.optimize(Paper { matmul: self.matmul, ..paper }.with_options(self.options))?;
        // Not prepared, which would give kernels for any size their successors for one size.
        simulator.plan(self.args.clone())?;
        Ok(Text { source: simulator.sources().concat(), program: simulator.explain() })
    }
}

/// The examples.
///
/// # Errors
/// If one is ill-typed.
pub fn examples() -> Result<Vec<Example>> {
    Ok(fusion::examples()?.into_iter().chain(works::examples()?).collect())
}
