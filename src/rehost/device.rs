//! The engine's seam to a device: what a device must do, and nothing about graphs.
//!
//! A [`Device`] is one ordered stream of work with its own memory. The engine allocates memory, asks for the Nests of a
//! Program to be compiled in one go, records the steps of a Segment as [`Command`]s with their memory bound, and replays
//! the recording. Everything enqueued runs in the order it was enqueued; [`Device::download`] and
//! [`Device::synchronize`] wait, nothing else does.
//!
//! All of it is safe to call with any arguments: what does not fit is an error, in [`super::command_check`] for every device.
//! Replays of a recording check nothing.
//!
//! Implementations: [`crate::host`] here, `workalike-opencl` and `workalike-cuda` in `simulators/`.

use crate::dtype::DType;
use crate::error::DeviceError;
pub use crate::kernels::call::{Call, Cumulate, Scatter, Sorting};
use crate::kernels::nest::Nest;
use crate::value::HostBytes;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// A device call's result.
pub type DeviceResult<T> = Result<T, DeviceError>;

/// What the engine may know of a device.
#[derive(Clone, Debug)]
pub struct Properties {
    /// What people call it, e.g. `NVIDIA H200`.
    pub name: String,
    /// How the command line and errors name it, e.g. `host`, `opencl:0:1`, `cuda:0`.
    pub id: String,
    /// Driver and versions, in words.
    pub driver: String,
    /// Total memory in bytes.
    pub memory: u64,
    /// Largest single allocation in bytes.
    pub largest_allocation: u64,
    /// Every region bound to a launch or a call starts at a multiple of this many bytes of its memory. A power of two. Factors
    /// and results of products are aligned to their dtype; copies start anywhere.
    pub alignment: u64,
    /// Whether it computes in f64. (i64 and half storage are required of every device.)
    pub f64: bool,
    /// Cores, multiprocessors or compute units: how many independent groups run at once.
    pub units: u32,
    /// Work items that run at once in all: what a launch needs to fill the device. 1 a unit for CPUs.
    pub lanes: u64,
    /// It interprets Nests instruction by instruction over many points at a time: what is done at single points costs it much.
    pub interprets: bool,
    /// It computes with the host's own loops, so it has every elementwise op: those too that no device language has.
    pub every_op: bool,
}

impl Properties {
    /// Whether it takes thousands of work items to keep it busy: a GPU.
    pub fn is_wide(&self) -> bool {
        self.lanes > 1024
    }
}

/// Memory on a device; freed when dropped, after the work already enqueued that uses it.
pub trait Memory: Any + Send + Sync + Debug {
    /// Its size.
    fn bytes(&self) -> u64;
    /// For the device that made it to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A part of a device memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// The memory.
    pub memory: Arc<dyn Memory>,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Region {
    /// All of a memory.
    pub fn whole(memory: Arc<dyn Memory>) -> Region {
        let bytes = memory.bytes();
        Region { memory, offset: 0, bytes }
    }
}

/// One step of a Segment, with memory bound.
#[derive(Clone, Debug)]
pub enum Command {
    /// Run a compiled Nest.
    Launch {
        /// Which: the position in the slice given to [`Device::compile`].
        nest: usize,
        /// One region per operand of the Nest, at least as large as the operand reaches. Regions may overlap; what points then
        /// see of each other's stores is not said.
        args: Vec<Region>,
    },
    /// `a @ b`.
    Matmul {
        /// Sizes and layouts.
        product: Matmul,
        /// The left factor; the region starts at its first element.
        a: Region,
        /// The right factor, likewise.
        b: Region,
        /// What becomes of the result.
        c: Target,
    },
    /// A call of the device's own.
    Call {
        /// What is computed.
        call: Call,
        /// Its inputs, its outputs, which overlap nothing else, and its scratch memory, if it needs some: as
        /// [`Device::call_scratch`] said, and apart from all else too.
        args: Vec<Region>,
    },
    /// Copy bytes; regions of equal size that do not overlap.
    Copy {
        /// From.
        source: Region,
        /// To.
        target: Region,
    },
    /// Set all bytes to zero.
    Clear {
        /// What.
        target: Region,
    },
}

impl Command {
    /// The memory that is touched.
    pub fn regions(&self) -> Vec<&Region> {
        match self {
            Command::Launch { args, .. } => args.iter().collect(),
            Command::Matmul { a, b, c, .. } => [a, b].into_iter().chain(c.regions()).collect(),
            Command::Copy { source, target } => vec![source, target],
            Command::Clear { target } => vec![target],
            Command::Call { args, .. } => args.iter().collect(),
        }
    }
}

/// What becomes of a product.
#[derive(Clone, Debug)]
pub enum Target {
    /// It is stored here, contiguous; the region overlaps neither factor.
    Memory(Region),
    /// It is given to an epilogue that [`Device::absorbs`], element by element, and stored nowhere else.
    Epilogue {
        /// One Point phase, whose points are the elements of the result, row-major. It may store where it loads at the same point.
        nest: Arc<Nest>,
        /// One region per operand; `None` is the product, of which each point loads its own element. What is written overlaps
        /// neither factor.
        args: Vec<Option<Region>>,
    },
}

impl Target {
    /// The memory that is touched.
    pub fn regions(&self) -> impl Iterator<Item = &Region> {
        let (memory, args) = match self {
            Target::Memory(region) => (Some(region), &[][..]),
            Target::Epilogue { args, .. } => (None, &args[..]),
        };
        memory.into_iter().chain(args.iter().flatten())
    }
}

impl From<Region> for Target {
    fn from(region: Region) -> Target {
        Target::Memory(region)
    }
}

/// A batched matrix product `(batch, m, k) @ (batch, k, n) -> (batch, m, n)`. Halves accumulate in f32 and round once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Matmul {
    /// Of both factors and of the result.
    pub dtype: DType,
    /// Number of products; 1 for a plain one.
    pub batch: u64,
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// The contracted extent.
    pub k: u64,
    /// Layout of the left factor: steps along batch, m, k, in elements. One of the last two is 1 (or its extent is).
    pub a: [i64; 3],
    /// Layout of the right factor: steps along batch, k, n, in elements, likewise.
    pub b: [i64; 3],
    /// As in [`Numerics`]: factors of f32 may be rounded to TF32. Otherwise they are not.
    pub fast: bool,
}

/// How exactly floats are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numerics {
    /// The last bits may be given for speed. NaN and infinity keep their meaning, numbers too small to be normal may become 0.
    /// A device that has nothing faster computes as ever.
    pub fast: bool,
}

/// Compiled Nests.
pub trait Module: Any + Send + Sync + Debug {
    /// For the device that made it to find its own type again.
    fn as_any(&self) -> &dyn Any;
    /// The generated source, for people; empty where there is none.
    fn source(&self) -> &str {
        ""
    }
}

/// A Segment recorded with all memory bound. It keeps its memory and module alive.
pub trait Recording: Send + Debug {
    /// Enqueues the whole Segment once; returns before it has run, or after, as the device likes.
    fn replay(&mut self) -> DeviceResult<()>;
    /// Runs the whole Segment once, waits, and says what each of its commands took, in order; zero for one with nothing to do.
    /// The device's own clock is read around each command; the host waits only at the end. Slower than a replay.
    fn timed(&mut self) -> DeviceResult<Vec<Duration>>;
}

/// Host memory that a device copies to well. The host reads it, so it is never write-combined.
pub trait HostBlock: Send + Sync + Debug {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// A device. See the [module](self).
pub trait Device: Send + Sync + Debug {
    /// What it is.
    fn properties(&self) -> &Properties;
    /// New memory, uninitialized, at least one byte. `OutOfMemory` when there is none.
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>>;
    /// Enqueues a copy from the host; `source` may be changed once this returns. Sizes are equal.
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()>;
    /// Waits for all that was enqueued, and copies to the host. Sizes are equal.
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()>;
    /// The bytes themselves, where the host can read them: what was enqueued is done, and nobody writes them before they are dropped.
    /// `None` where they have to be downloaded. Another thread's write waits until they are dropped; a write by the thread that
    /// lent them is an error.
    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        let _ = source;
        None
    }
    /// Enqueues a copy; equal sizes, no overlap.
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()>;
    /// Compiles Nests, all in one translation unit. What is kept of that for later is kept apart for each `numerics`.
    fn compile(&self, nests: &[Arc<Nest>], numerics: Numerics) -> DeviceResult<Arc<dyn Module>>;
    /// Binds and records a Segment. Warm-up that recording needs (first launches, handles) is done here, without visible effect.
    fn record(&self, module: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>>;
    /// Waits for all that was enqueued; reports errors that happened in it.
    fn synchronize(&self) -> DeviceResult<()>;
    /// Host memory of at least this size for results to be copied to: page-locked, where that makes [`Device::download`] to it faster.
    /// `None` where any memory is as good, or where there is none left.
    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostBlock>> {
        let _ = bytes;
        None
    }
    /// Whether Nests may have stores that add to elements of this dtype (`Store::add`); otherwise it is given none.
    fn adds_to(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }
    /// Bytes of scratch memory that [`Command::Call`] is to bring for this call; `None` where the device has no such call, and the engine
    /// uses Nests.
    fn call_scratch(&self, call: &Call) -> Option<u64> {
        let _ = call;
        None
    }
    /// Whether [`Command::Matmul`] may be given this product; otherwise the engine uses a Nest.
    fn has_matmul(&self, product: &Matmul) -> bool {
        let _ = product;
        false
    }
    /// Whether [`Command::Matmul`] may hand this product to this Nest, which has it as that operand: see [`Target::Epilogue`].
    /// Otherwise the product is stored, and the Nest launched.
    fn absorbs(&self, product: &Matmul, nest: &Nest, operand: usize) -> bool {
        let _ = (product, nest, operand);
        false
    }
}
