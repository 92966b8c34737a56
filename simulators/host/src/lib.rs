//! The embedded device: this machine's processor, through a threaded tile interpreter and a tuned matrix
//! product.
//!
//! A Function runs here unless it is re-hosted, and [`Host`] is the selector for `optimize`. The interpreter
//! works on *tiles*: blocks of up to about a thousand points, small enough that all registers of a Nest stay
//! in the first-level cache. Each instruction of a Nest runs over a whole tile before the next one starts, so
//! that its loop is the plain, vectorized loop of the op table, and main memory is read and written once,
//! however many ops were fused.
//!
//! - `plan`: a [`Nest`](workalike_kernels::nest::Nest) becomes a plan, once: it is checked, its lanes are
//!   chosen (grid points or inner points), its registers assigned.
//! - `bind`, `contiguous`, `record`: a plan is bound to memory; every address is checked there, and it is
//!   decided how threads share the work.
//! - `exec`, `tile_io`, `halves`, `rows`, `cast`, `affine`: a replay runs it, tile after tile.
//! - `strided_copy`: what is only moved, from memory to memory, in rectangles.
//! - `chain`: cheap instructions that are done together, a few vectors at a time.
//! - `folds`: folds of tiles, and of memory in place, which need none.
//! - `matmul`: matrix products. `library`: cumulative folds, sorts, searches, what a mask keeps.
//! - `vector`: vectors of floats at each level of instructions.
//! - `pool`: the threads. `cache_hints`: hints to the memory system.
//!
//! A replay runs on the calling thread, helped by the pool where there is enough to do, and is over when it
//! returns. Results do not depend on the number of threads.

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
mod record;
mod rows;
mod strided_copy;
#[cfg(test)]
mod tests;
mod tile_io;
mod vector;

use plan::{Plan, plan};
use pool::Pool;
use record::HostRecording;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use workalike_device::command_check::{check_commands, check_copy, check_nests};
use workalike_device::host_memory::{ALIGNMENT, HostBytes, HostMemory, download, lend, total_memory, upload};
use workalike_device::{
    ArgumentError, Command, Device, DeviceError, DeviceResult, LibraryOp, Matmul, Memory, Module, Numerics,
    Open, Properties, Recording, Region,
};
use workalike_kernels::level;
use workalike_kernels::verify::Verified;

/// Selects this machine's processor: `function.optimize(Host::threads(8))`.
///
/// Loops use the best instructions that the processor has. `WORKALIKE_CPU_LEVEL` lowers that for the whole
/// process, which is for tests and for comparing machines: `baseline` (those that the program was compiled
/// for), `avx2` (x86-64-v3) or `avx512` (x86-64-v4). It is read once. Results may differ in the last bits
/// from level to level. Factorizations of matrices are not lowered: they run in `faer`, which detects the
/// processor's instructions itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    threads: usize,
}

impl Host {
    /// As many threads as the machine runs at once.
    pub fn auto() -> Host {
        Host::threads(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// This many threads, the caller's included; at least one, at most 1024.
    pub fn threads(threads: usize) -> Host {
        Host { threads: threads.clamp(1, 1024) }
    }
}

impl Open for Host {
    /// A new device. Devices of the same number of threads share them.
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
    pool: Arc<Pool>,
    /// Estimated nanoseconds from which threads share a step.
    share_from: f64,
}

impl HostDevice {
    fn new(threads: usize) -> HostDevice {
        let pool = Pool::shared(threads);
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
        };
        HostDevice { properties, pool, share_from: bind::SHARE_FROM }
    }
}

/// What the system calls the processor.
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

    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        lend(source)
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        check_copy(self, source, target)?;
        let command = Command::Copy { source: source.clone(), target: target.clone() };
        HostRecording::new(&[], &[command], &self.pool, self.share_from)?.replay()
    }

    /// Its loops are compiled already, so there is nothing faster to choose.
    fn compile(&self, nests: &[Verified], _: Numerics) -> DeviceResult<Arc<dyn Module>> {
        check_nests(self, nests)?;
        let plans: DeviceResult<Vec<Arc<Plan>>> = nests
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

    fn record(&self, module: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>> {
        let Some(module) = module.as_any().downcast_ref::<HostModule>() else {
            return Err(DeviceError::driver("host", "record", "the module belongs to another device"));
        };
        check_commands(self, &module.nests, commands)?;
        Ok(Box::new(HostRecording::new(&module.plans, commands, &self.pool, self.share_from)?))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        Ok(())
    }

    /// A product takes every epilogue that goes through memory row by row, as it does itself.
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

/// Planned Nests.
struct HostModule {
    plans: Vec<Arc<Plan>>,
    nests: Vec<Verified>,
}

impl Module for HostModule {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for HostModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plans.iter().map(|p| &p.name)).finish()
    }
}
