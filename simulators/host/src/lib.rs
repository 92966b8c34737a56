//! The embedded device: this machine's processor, through a threaded tile interpreter and matrix products of
//! its own.
//!
//! A Function runs here unless it is re-hosted; [`Host`] is the selector for `optimize`. The interpreter
//! works on *tiles*: blocks of up to about a thousand points, small enough that all registers of a Nest stay
//! in the L1 cache. Each instruction runs over a whole tile, in the vectorized loop of the op table, before
//! the next one starts. Main memory is read and written once, however many ops were fused.
//!
//! - `plan`: a [`Nest`](workalike_kernels::nest::Nest) becomes a plan, once: it is checked, its lanes are
//!   chosen (grid points or inner points), its registers are assigned.
//! - `bind`, `contiguous`, `recording`: a plan is bound to memory. All addresses are checked there, and the
//!   work is divided among threads.
//! - `exec`, `tile_io`, `halves`, `uniform_rows`, `cast`, `affine`: a replay runs the plan, tile by tile.
//! - `strided_copy`: every copy between memory and registers, and from memory to memory.
//! - `chain`: elementwise instructions fused on vector registers.
//! - `folds`: folds of tiles, and of memory in place.
//! - `matmul`: matrix products. `library`: cumulative folds, sorts, searches, selection by masks,
//!   scatters.
//! - `vector`: float vectors at each instruction set level.
//! - `pool`: the thread pool. `cache_hints`: prefetches and non-temporal stores.
//!
//! A replay runs on the calling thread, helped by the pool where there is enough work, and blocks until it is
//! done. Results do not depend on the number of threads.

mod affine;
mod bind;
mod cache_hints;
mod cast;
mod chain;
mod contiguous;
mod exec;
mod folds;
mod halves;
mod library;
mod matmul;
mod plan;
mod pool;
mod recording;
mod strided_copy;
#[cfg(test)]
mod tests;
mod tile_io;
mod uniform_rows;
mod vector;

use crate::recording::HostRecording;
use plan::{NestPlan, plan};
use pool::ThreadPool;
use std::fmt;
use std::sync::Arc;
use workalike_device::command_check::{check_commands, check_copy, check_nests};
use workalike_device::host_memory::{ALIGNMENT, HostBytes, HostMemory, download, lend, total_memory, upload};
use workalike_device::{
    ArgumentError, Command, Device, DeviceError, DeviceModule, DeviceResult, LibraryOp, Matmul, Memory,
    NativeDevice, Numerics, Open, Properties, Recording, Region,
};
use workalike_kernels::level;
use workalike_kernels::verify::Verified;

/// Selects this machine's processor: `function.optimize(Host::threads(8))`.
///
/// Loops use the best instruction set of the processor. The environment variable `WORKALIKE_CPU_LEVEL` lowers
/// it for the whole process, for tests and comparisons: `baseline` (the compilation target), `avx2`
/// (x86-64-v3) or `avx512` (x86-64-v4). It is read once. Results may differ in the last bits between levels.
/// Factorizations of matrices are not affected: they run in `faer`, which detects the instruction set itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    threads: usize,
}

impl Host {
    /// One thread for each that the machine runs at once.
    pub fn auto() -> Host {
        Host::threads(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// This many threads, the caller included; clamped to 1..=1024.
    pub fn threads(threads: usize) -> Host {
        Host { threads: threads.clamp(1, 1024) }
    }
}

impl Open for Host {
    /// Opens a new device. Devices with the same number of threads share a thread pool.
    ///
    /// # Errors
    /// If `WORKALIKE_CPU_LEVEL` names no level of this processor.
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        level::chosen().map_err(|error| {
            DeviceError::Argument(Box::new(ArgumentError {
                device: "host".into(),
                command: "open".into(),
                argument: level::VARIABLE.into(),
                expected: error.expected,
                found: error.found,
            }))
        })?;
        Ok(Arc::new(HostDevice::new(self.threads)))
    }
}

impl Default for Host {
    fn default() -> Host {
        Host::auto()
    }
}

/// The embedded device.
#[derive(Debug)]
pub struct HostDevice {
    properties: Properties,
    pool: Arc<ThreadPool>,
    /// Estimated nanoseconds of a step from which threads share it.
    share_from: f64,
}

impl HostDevice {
    fn new(threads: usize) -> HostDevice {
        let pool = ThreadPool::shared(threads);
        let threads = pool.threads() as u32;
        let memory = total_memory();
        let properties = Properties {
            name: processor_name(),
            id: "host".into(),
            driver: format!(
                "workalike {} tile interpreter, {threads} threads, {}",
                env!("CARGO_PKG_VERSION"),
                level::level().name()
            ),
            memory,
            largest_allocation: memory,
            alignment: ALIGNMENT as u64,
            f64: true,
            units: threads,
            lanes: threads as u64,
            interprets: true,
            every_op: true,
            kernel_insts: 4096,
            forward_progress: false,
        };
        HostDevice { properties, pool, share_from: bind::SHARE_FROM }
    }
}

/// The processor's name as the system reports it.
fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|l| l.strip_prefix("model name"));
    let name = line.map(|l| l.trim_start_matches([' ', '\t', ':']).trim()).filter(|n| !n.is_empty());
    name.unwrap_or(std::env::consts::ARCH).to_string()
}

impl Device for HostDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        Ok(Arc::new(HostMemory::new(bytes)?))
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        upload(self, source, target)
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        download(self, source, target)
    }

    /// All main memory is one.
    fn copy_from_peer(&self, source: &Region, target: &Region) -> DeviceResult<bool> {
        match HostMemory::of(source.memory.as_ref()) {
            None => Ok(false),
            Some(_) => self.copy(source, target).map(|()| true),
        }
    }

    fn native(&self) -> Option<NativeDevice> {
        Some(NativeDevice::Host)
    }

    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        lend(source)
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        check_copy(self, source, target)?;
        let command = Command::Copy { source: source.clone(), target: target.clone() };
        HostRecording::new(&[], &[command], &self.pool, self.share_from)?.replay()
    }

    /// The loops are compiled already, so there is nothing to tune.
    fn compile(&self, nests: &[Verified], _: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        check_nests(self, nests)?;
        let plans: DeviceResult<Vec<Arc<NestPlan>>> = nests
            .iter()
            .map(|nest| match plan(nest) {
                Ok(plan) => Ok(Arc::new(plan)),
                Err(message) => {
                    Err(DeviceError::driver("host", "compile", format!("{}: {message}", nest.name)))
                }
            })
            .collect();
        Ok(Arc::new(HostModule { plans: plans?, nests: nests.to_vec() }))
    }

    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let Some(module) = module.downcast::<HostModule>() else {
            return Err(DeviceError::driver("host", "record", "the module belongs to another device"));
        };
        check_commands(self, &module.nests, commands)?;
        Ok(Box::new(HostRecording::new(&module.plans, commands, &self.pool, self.share_from)?))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        Ok(())
    }

    /// A product takes any epilogue that visits memory row by row.
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        op.verify().ok()?;
        match (op.downcast::<Matmul>(), epilogue) {
            (Some(product), None) => matmul::takes(product).then_some(0),
            (Some(product), Some((nest, _))) => {
                let takes = product.dtype.is_float() && matmul::gains_by_epilogue(product);
                (takes && plan::row_major(nest).is_ok()).then_some(0)
            }
            (None, None) => library::scratch(op, self.pool.threads()),
            (None, Some(_)) => None,
        }
    }
}

/// The plans of a module's Nests.
struct HostModule {
    plans: Vec<Arc<NestPlan>>,
    nests: Vec<Verified>,
}

impl DeviceModule for HostModule {}

impl fmt::Debug for HostModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plans.iter().map(|p| &p.name)).finish()
    }
}
