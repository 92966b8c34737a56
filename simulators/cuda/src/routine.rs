//! Library ops as kernels, printed and compiled when a Segment is recorded, and cached by their text.

use crate::capture::{CudaLaunch, CudaStepKind, MAX_GROUP, SHARED_MEMORY};
use crate::context::{OrDriver, Queue};
use crate::dependencies::{AddressRange, MemoryAccess};
use crate::memory::address;
use crate::module::finish_loading;
use crate::nvrtc;
use cudarc::driver::{CudaFunction, CudaModule};
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, LibraryOp, Numerics, Region};
use workalike_kernels::print::Target;
use workalike_kernels::print::library::{LaunchArg, OperandPart, Routine};

/// A launch, the memory it accesses, and its kernel, which the recording keeps loaded.
pub(crate) type Launched = (CudaStepKind, MemoryAccess, CudaFunction);

/// Compiles the kernels of several ops at the same time. What fails here fails again, and is reported, where
/// the op is bound.
pub(crate) fn compile_all<'o>(
    queue: &Arc<Queue>,
    target: &Target,
    ops: impl Iterator<Item = &'o dyn LibraryOp>,
) {
    let units = ops.filter_map(|op| op.routine(target)).flat_map(|routine| routine.units);
    let units: Vec<String> = units.map(|(_, unit)| unit).collect();
    let _ = nvrtc::modules(&queue.context, &units, Numerics::default());
}

/// The launches of an op. `args` are its operands, then its scratch memory.
pub(crate) fn launches(
    queue: &Arc<Queue>,
    target: &Target,
    op: &dyn LibraryOp,
    args: &[&Region],
) -> DeviceResult<Vec<Launched>> {
    let routine = op.routine(target).ok_or_else(|| DeviceError::Unsupported {
        device: queue.id().into(),
        what: format!("{} as a library op", op.name()),
    })?;
    if routine.text.is_empty() {
        return Ok(vec![]);
    }
    let modules = modules(queue, &routine)?;
    let mut steps = Vec::with_capacity(routine.launches.len());
    for launch in routine.launches.iter().filter(|launch| launch.items().1) {
        let name = &launch.name;
        let (mut access, mut shared) = (MemoryAccess::default(), 0u64);
        let mut words = Vec::with_capacity(launch.args.len());
        for arg in &launch.args {
            words.push(match arg {
                LaunchArg::Memory(part) => {
                    let range = part_of(queue, op, args, part)?;
                    if part.written {
                        access.writes.push(range)
                    } else {
                        access.reads.push(range)
                    }
                    range.start
                }
                LaunchArg::Scalar(scalar) => scalar.bits(),
                LaunchArg::Local(bytes) => {
                    let start = shared.next_multiple_of(LOCAL_ALIGNMENT);
                    shared = start.saturating_add(*bytes);
                    start
                }
            });
        }
        let limits = LaunchLimits { id: queue.id(), name };
        let mut holds = modules.iter().filter(|(kernel, _)| kernel.is_empty() || kernel == name);
        let (_, module) = holds.next().ok_or_else(|| {
            DeviceError::driver(queue.id(), "record", format!("{} has no kernel {name}", op.name()))
        })?;
        let function = module.load_function(name);
        let function = function.or_driver(queue.id(), &format!("cuModuleGetFunction({name})"))?;
        finish_loading(&queue.context, function.cu_function())?;
        let launched = CudaLaunch {
            function: function.cu_function(),
            grid: limits.grid(launch.grid)?,
            block: limits.block(launch.group)?,
            shared: limits.shared(shared)?,
            args: words,
            waits: launch.waits,
            packed: false,
        };
        steps.push((CudaStepKind::Launch(launched), access, function));
    }
    Ok(steps)
}

/// The modules of a routine, with the names of their kernels; one without a name has all of them.
fn modules(queue: &Arc<Queue>, routine: &Routine) -> DeviceResult<Vec<(String, Arc<CudaModule>)>> {
    let (context, numerics) = (&queue.context, Numerics::default());
    if routine.units.is_empty() {
        return Ok(vec![(String::new(), nvrtc::module(context, &routine.text, numerics)?)]);
    }
    let (names, units): (Vec<String>, Vec<String>) = routine.units.iter().cloned().unzip();
    Ok(names.into_iter().zip(nvrtc::modules(context, &units, numerics)?).collect())
}

/// The addresses of part of an operand.
fn part_of(
    queue: &Arc<Queue>,
    op: &dyn LibraryOp,
    args: &[&Region],
    part: &OperandPart,
) -> DeviceResult<AddressRange> {
    let holds = |arg: &&&Region| part.offset.checked_add(part.bytes).is_some_and(|end| end <= arg.bytes);
    let Some(arg) = args.get(part.arg).filter(holds) else {
        let message = format!("operand {} of {} is too small", part.arg, op.name());
        return Err(DeviceError::driver(queue.id(), "record", message));
    };
    let (memory, offset) = (arg.memory.clone(), arg.offset + part.offset);
    let region = Region { memory, offset, bytes: part.bytes };
    Ok(AddressRange { start: address(queue, &region, "record")?, bytes: region.bytes })
}

/// Alignment in bytes of each part of dynamic shared memory.
const LOCAL_ALIGNMENT: u64 = 16;

/// The limits of a launch, which every CUDA device has.
struct LaunchLimits<'a> {
    id: &'a str,
    name: &'a str,
}

impl LaunchLimits<'_> {
    fn within<T>(&self, value: Option<T>, what: String) -> DeviceResult<T> {
        let what = || format!("a launch of {} with {what}", self.name);
        value.ok_or_else(|| DeviceError::Unsupported { device: self.id.into(), what: what() })
    }

    /// At most 2^31 - 1 blocks in the first dimension, and 65,535 in the others.
    fn grid(&self, grid: [u64; 3]) -> DeviceResult<[u32; 3]> {
        let known = |(at, groups): (usize, u64)| {
            u32::try_from(groups).ok().filter(|g| *g <= if at == 0 { i32::MAX as u32 } else { 65_535 })
        };
        let all: Option<Vec<u32>> = grid.into_iter().enumerate().map(known).collect();
        self.within(all.and_then(|all| all.try_into().ok()), format!("{grid:?} blocks"))
    }

    /// At most 1,024 threads, 64 of them in the last dimension.
    fn block(&self, block: [u32; 3]) -> DeviceResult<[u32; 3]> {
        let threads = block.iter().fold(1u64, |all, extent| all.saturating_mul(u64::from(*extent)));
        let known = (1..=u64::from(MAX_GROUP)).contains(&threads) && block[2] <= 64;
        self.within(known.then_some(block), format!("blocks of {block:?} threads"))
    }

    fn shared(&self, bytes: u64) -> DeviceResult<u32> {
        let known = u32::try_from(bytes).ok().filter(|bytes| u64::from(*bytes) <= SHARED_MEMORY);
        self.within(known, format!("{bytes} bytes of shared memory"))
    }
}
