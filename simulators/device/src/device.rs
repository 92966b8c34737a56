//! The engine's seam to a device: what a device must do, and nothing about graphs.
//!
//! A [`Device`] is one ordered stream of work with its own memory. The engine allocates memory, asks for the
//! Nests of a Program to be compiled in one go, records the steps of a Segment as [`Command`]s with their
//! memory bound, and replays the recording. Everything enqueued runs in the order it was enqueued;
//! [`Device::download`] and [`Device::synchronize`] wait, nothing else does.
//!
//! All of it is safe to call with any arguments: what does not fit is an error, in [`crate::command_check`]
//! for every device. Replays of a recording check nothing.
//!
//! Implementations: `workalike-host`, `workalike-opencl` and `workalike-cuda`, beside this crate.

use crate::command::{Command, Region};
use crate::error::DeviceError;
use crate::host_memory::{HostBlock, HostBytes};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use workalike_kernels::DType;
use workalike_kernels::library::{DefinitionError, LibraryOp};
use workalike_kernels::verify::Verified;

/// A device call's result.
pub type DeviceResult<T> = Result<T, DeviceError>;

/// The error of this device, in this call, for that of a library op's definition.
pub fn definition_failed(device: &str, call: &str, error: DefinitionError) -> DeviceError {
    match error {
        DefinitionError::OutOfMemory { bytes } => DeviceError::OutOfMemory {
            device: device.into(),
            requested: bytes,
            available: "the system gives this process no more".into(),
        },
        other => DeviceError::driver(device, call, other),
    }
}

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
    /// Every region bound to a launch or a library op starts at a multiple of this many bytes of its memory.
    /// A power of two. Operands of ops that [start anywhere](LibraryOp::starts_anywhere) are aligned to their
    /// dtype; copies start at any byte.
    pub alignment: u64,
    /// Whether it computes in f64. (i64 and half storage are required of every device.)
    pub f64: bool,
    /// Cores, multiprocessors or compute units: how many independent groups run at once.
    pub units: u32,
    /// Work items that run at once in all: what a launch needs to fill the device. 1 a unit for CPUs.
    pub lanes: u64,
    /// It interprets Nests instruction by instruction over many points at a time: what is done at single
    /// points costs it much.
    pub interprets: bool,
    /// It computes with the host's own loops, so it has every elementwise op: those too that no device
    /// language has.
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

/// How exactly floats are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numerics {
    /// The last bits may be given for speed. NaN and infinity keep their meaning, numbers too small to be
    /// normal may become 0. A device that has nothing faster computes as ever.
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
    /// Runs the whole Segment once, waits, and says what each of its commands took, in order; zero for one
    /// with nothing to do. The device's own clock is read around each command; the host waits only at the
    /// end. Slower than a replay.
    fn timed(&mut self) -> DeviceResult<Vec<Duration>>;
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
    /// The bytes themselves, where the host can read them: what was enqueued is done, and nothing else writes
    /// them before they are dropped. `None` where they have to be downloaded. Another thread's write waits
    /// until they are dropped; a write by the thread that lent them is an error.
    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        let _ = source;
        None
    }
    /// Enqueues a copy; equal sizes, no overlap.
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()>;
    /// Compiles Nests, all in one translation unit. What is kept of that for later is kept apart for each
    /// `numerics`.
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn Module>>;
    /// Binds and records a Segment. Warm-up that recording needs (first launches, handles) is done here,
    /// without visible effect.
    fn record(&self, module: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>>;
    /// Waits for all that was enqueued; reports errors that happened in it.
    fn synchronize(&self) -> DeviceResult<()>;
    /// Host memory of at least this size for results to be copied to: page-locked, where that makes
    /// [`Device::download`] to it faster. `None` where any memory is as good, or where there is none left.
    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostBlock>> {
        let _ = bytes;
        None
    }
    /// Whether Nests may have stores that add to elements of this dtype (`Store::add`); otherwise it is given
    /// none.
    fn adds_to(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }
    /// Bytes of scratch memory that [`Command::Library`] is to bring for this op, with this
    /// [epilogue](crate::Target::Epilogue) if one is given: a Nest, and the operand of it that is the op's
    /// result. `None` where the device does not do it: without an epilogue the engine uses Nests, with one it
    /// stores the result and launches the Nest.
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        let _ = (op, epilogue);
        None
    }
}
