//! The interface between the engine and a device. It knows nothing of graphs.
//!
//! A [`Device`] is one ordered stream of work with its own memory. The engine allocates memory, compiles the
//! Nests of a Program with one call, records the steps of a Segment as [`Command`]s with their memory bound,
//! and replays the recording. Enqueued work runs in the order in which it was enqueued; only
//! [`Device::download`] and [`Device::synchronize`] wait.
//!
//! All calls are safe with any arguments: [`crate::command_check`] returns an error for invalid ones, on
//! every device. Replays of a recording check nothing.
//!
//! Implementations: `workalike-host`, `workalike-opencl` and `workalike-cuda`, beside this crate.

use crate::command::{Command, Region};
use crate::error::DeviceError;
use crate::group::DirectTransport;
use crate::host_memory::{HostBlock, HostBytes};
use crate::native::{NativeDevice, NativeMemory, Owner};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use workalike_kernels::DType;
use workalike_kernels::library::{DefinitionError, LibraryOp};
use workalike_kernels::print::ForSizes;
use workalike_kernels::verify::Verified;

/// A device call's result.
pub type DeviceResult<T> = Result<T, DeviceError>;

/// Converts an error of a library op's definition to an error of a device in a call.
pub fn definition_failed(device: &str, call: &str, error: DefinitionError) -> DeviceError {
    match error {
        DefinitionError::OutOfMemory { bytes } => DeviceError::OutOfMemory {
            device: device.into(),
            requested: bytes,
            available: "the system gives this process no more".into(),
        },
        DefinitionError::Compile { log } => {
            DeviceError::KernelCompile { device: device.into(), source_path: "the text as given".into(), log }
        }
        other => DeviceError::driver(device, call, other),
    }
}

/// Properties of a device that the engine uses.
#[derive(Clone, Debug)]
pub struct Properties {
    /// The product name, e.g. `NVIDIA H200`.
    pub name: String,
    /// The name on the command line and in errors, e.g. `host`, `opencl:0:1`, `cuda:0`.
    pub id: String,
    /// Driver and versions, as text.
    pub driver: String,
    /// Total memory in bytes.
    pub memory: u64,
    /// Largest single allocation in bytes.
    pub largest_allocation: u64,
    /// Required alignment in bytes, within its memory, of every region bound to a launch or a library op. A
    /// power of two. Operands of ops that [start anywhere](LibraryOp::starts_anywhere) are aligned to their
    /// dtype; copies may start at any byte.
    pub alignment: u64,
    /// Whether the device computes in f64. (Every device must have i64, and halves in memory.)
    pub f64: bool,
    /// Number of cores, multiprocessors or compute units.
    pub units: u32,
    /// Number of concurrent work items that fill the device. One per unit for CPUs.
    pub lanes: u64,
    /// The device is a tile interpreter: per-instruction overhead is amortised over a tile, so scalar work is
    /// expensive.
    pub interprets: bool,
    /// The device computes with the host's loops, so it has every elementwise op, including ops that no
    /// device language has.
    pub every_op: bool,
    /// The number of instructions of a kernel up to which its compile time is about proportional to its size.
    /// Fusion makes no longer kernels.
    pub kernel_insts: usize,
    /// Groups of a launch that have started go on while others wait for what they store: work can be handed
    /// from group to group, if no group waits for one that starts later.
    pub forward_progress: bool,
}

impl Properties {
    /// Whether only thousands of work items keep the device busy: a GPU.
    pub fn is_wide(&self) -> bool {
        self.lanes > 1024
    }
}

/// Memory on a device. Dropping it frees it, after the enqueued work that uses it.
pub trait Memory: Any + Send + Sync + Debug {
    /// Size in bytes.
    fn bytes(&self) -> u64;
    /// The memory that it stands for, if it only says when that is used.
    fn wrapped(&self) -> Option<&dyn Memory> {
        None
    }
}

impl dyn Memory {
    /// The device's own memory.
    pub fn own(&self) -> &dyn Memory {
        self.wrapped().map_or(self, |inner| inner.own())
    }

    /// The device's own memory as a `T`, if it is of that type.
    pub fn downcast<T: Memory>(&self) -> Option<&T> {
        (self.own() as &dyn Any).downcast_ref()
    }
}

/// The exactness of floating-point arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numerics {
    /// Results may be less accurate in their last bits, for speed. NaN and infinity keep their meaning,
    /// subnormal numbers may become 0. A device without faster arithmetic ignores this.
    pub fast: bool,
}

/// Compiled Nests.
pub trait DeviceModule: Any + Send + Sync + Debug {
    /// The generated source, for inspection; empty if there is none.
    fn source(&self) -> &str {
        ""
    }
}

impl dyn DeviceModule {
    /// The module as a `T`, if it is of that type.
    pub fn downcast<T: DeviceModule>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A recorded Segment with all memory bound. It keeps its memory and module alive.
pub trait Recording: Send + Debug {
    /// Enqueues the whole Segment once; may return before or after it has run.
    fn replay(&mut self) -> DeviceResult<()>;
    /// Runs the whole Segment once, waits, and returns the time of each command, in order; zero for commands
    /// with nothing to do. The times are by the device's clock; the host waits only at the end. Slower than a
    /// replay.
    fn timed(&mut self) -> DeviceResult<Vec<Duration>>;
    /// Has the driver do now what it would do at the first replay, such as finish compiling, as far as that
    /// is possible without effects on the Segment's memory.
    fn finish_compiling(&mut self) -> DeviceResult<()> {
        Ok(())
    }
}

/// A device. See the [module](self).
pub trait Device: Send + Sync + Debug {
    /// Name, size and features.
    fn properties(&self) -> &Properties;
    /// New uninitialized memory of at least one byte. `OutOfMemory` if there is none left.
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>>;
    /// Enqueues a copy from the host; the caller may change `source` after the return. Sizes must be equal.
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()>;
    /// Waits for all enqueued work, and copies to the host. Sizes must be equal.
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()>;
    /// Lends the bytes of a region, if the host can read them; else `None`, and they have to be downloaded.
    /// All enqueued work is done. Until the result is dropped, writes by other threads wait, and a write by
    /// the calling thread is an error.
    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        let _ = source;
        None
    }
    /// Enqueues a copy. Sizes must be equal, and the regions must not overlap.
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()>;
    /// Enqueues a copy from memory of another stream or another device, in the order of both streams; `false`
    /// if there is no such copy, and the host has to make it. Sizes must be equal.
    fn copy_from_peer(&self, source: &Region, target: &Region) -> DeviceResult<bool> {
        let _ = (source, target);
        Ok(false)
    }
    /// Compiles Nests in one translation unit. Caches distinguish `numerics`.
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>>;
    /// Compiles Nests as [`Device::compile`] does, for [these sizes](ForSizes). For any size it takes much
    /// less time if Nests that differ only in sizes were compiled before. `None` if the device has kernels
    /// for one size only, since they take no longer.
    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        match sizes {
            ForSizes::One => self.compile(nests, numerics).map(Some),
            ForSizes::OneOfAny | ForSizes::Any => Ok(None),
        }
    }
    /// Binds and records a Segment. Makes handles and first launches that recording needs, without visible
    /// effects.
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>>;
    /// Waits for all enqueued work, and returns its errors.
    fn synchronize(&self) -> DeviceResult<()>;
    /// Host memory of at least `bytes` bytes for results: page-locked, if that makes [`Device::download`]
    /// faster. `None` if any memory is as good, or there is none left.
    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostBlock>> {
        let _ = bytes;
        None
    }
    /// Whether the device has atomic adds for this dtype, so that Nests may have stores that add
    /// (`Store::add`).
    fn adds_to(&self, dtype: DType) -> bool {
        let _ = dtype;
        false
    }
    /// Bytes of scratch memory that [`Command::Library`] must have for this op. `epilogue` is a Nest and the
    /// operand of it that is the op's result, for
    /// [`LibraryOutput::Epilogue`](crate::LibraryOutput::Epilogue). `None` if the device cannot compute it:
    /// without an epilogue the engine then uses Nests, with one it stores the result and launches the Nest.
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        let _ = (op, epilogue);
        None
    }
    /// The input in whose memory this device may store a result of a library op, which is as long. No other
    /// result of a library op shares memory with an input.
    fn overwrites(&self, op: &dyn LibraryOp, result: usize) -> Option<usize> {
        let _ = (op, result);
        None
    }
    /// What can carry arrays to the devices of other members of a group without main memory. A group that it
    /// joins may be that of a [`Collective`](crate::group::Collective) which the device computes.
    fn direct_transport(&self) -> Option<Box<dyn DirectTransport>> {
        None
    }
    /// The memory of a variable in the text of an op's routine, which is compiled for it: CUDA's `__device__`
    /// and `__constant__` variables. All kernels of the text see it; it keeps its value while the memory
    /// lives. `Unsupported` if the language has none.
    fn global(&self, op: &dyn LibraryOp, name: &str) -> DeviceResult<Region> {
        let what = format!(
            "the variable {name} of {}, since its language has no variables that the host reaches: pass an array,",
            op.name()
        );
        Err(DeviceError::Unsupported { device: self.properties().id.clone(), what })
    }
    /// The driver's objects, so that other libraries can enqueue work in order with the device's; `None` if
    /// there are none.
    fn native(&self) -> Option<NativeDevice> {
        None
    }
    /// Where a region lies. `Unsupported` if the device does not say.
    fn native_memory(&self, region: &Region) -> DeviceResult<NativeMemory> {
        let _ = region;
        let what = "access to its memory by other libraries".into();
        Err(DeviceError::Unsupported { device: self.properties().id.clone(), what })
    }
    /// Another library's memory as memory of this device. It is never freed here: `owner` is dropped when no
    /// enqueued work uses it any more. `Unsupported` if the device does not take it.
    ///
    /// # Safety
    /// The memory has `bytes` bytes, which the device may read and write until `owner` is dropped. Other code
    /// accesses it in the order of the device's stream only.
    unsafe fn adopt(&self, memory: NativeMemory, bytes: u64, owner: Owner) -> DeviceResult<Arc<dyn Memory>> {
        let _ = (bytes, owner);
        let what = format!("memory of another library ({memory:?})");
        Err(DeviceError::Unsupported { device: self.properties().id.clone(), what })
    }
}
