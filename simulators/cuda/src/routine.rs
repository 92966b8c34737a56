//! Library ops as kernels, printed and compiled when a Segment is recorded, and cached by their text.

use crate::capture::{Launch, Work};
use crate::context::{OrDriver, Queue};
use crate::device::finish_loading;
use crate::memory::address;
use crate::nvrtc;
use crate::order::{Access, Range};
use cudarc::driver::CudaFunction;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, LibraryOp, Numerics, Region};
use workalike_kernels::print::Target;

/// A launch, the memory it accesses, and its kernel, which the recording keeps loaded.
pub(crate) type Launched = (Work, Access, CudaFunction);

/// The launches of an op. `args` are its operands, then its scratch memory.
pub(crate) fn launches(
    queue: &Arc<Queue>,
    target: &Target,
    op: &dyn LibraryOp,
    args: &[&Region],
) -> DeviceResult<Vec<Launched>> {
    let refuse = |message: String| DeviceError::driver(queue.id(), "record", message);
    let routine = op.routine(target).ok_or_else(|| DeviceError::Unsupported {
        device: queue.id().into(),
        what: format!("{} as a library op", op.name()),
    })?;
    if routine.launches.is_empty() {
        return Ok(vec![]);
    }
    let module = nvrtc::module(&queue.context, &routine.text, Numerics::default())?;
    let mut steps = Vec::with_capacity(routine.launches.len());
    for launch in &routine.launches {
        let name = &launch.entry.name;
        let mut access = Access::default();
        let mut starts = Vec::with_capacity(launch.args.len());
        for part in &launch.args {
            let arg = args.get(part.arg).filter(|arg| part.offset + part.bytes <= arg.bytes);
            let arg =
                arg.ok_or_else(|| refuse(format!("operand {} of {} is too small", part.arg, op.name())))?;
            let (memory, offset) = (arg.memory.clone(), arg.offset + part.offset);
            let region = Region { memory, offset, bytes: part.bytes };
            let range = Range { start: address(queue, &region, "record")?, bytes: region.bytes };
            starts.push(range.start);
            if part.written { access.writes.push(range) } else { access.reads.push(range) }
        }
        let groups = u32::try_from(launch.entry.groups).ok().filter(|g| i32::try_from(*g).is_ok());
        let groups = groups.ok_or_else(|| DeviceError::Unsupported {
            device: queue.id().into(),
            what: format!("a launch of {} blocks ({name})", launch.entry.groups),
        })?;
        let function = module.load_function(name);
        let function = function.or_driver(queue.id(), &format!("cuModuleGetFunction({name})"))?;
        finish_loading(&queue.context, function.cu_function())?;
        let launched =
            Launch { function: function.cu_function(), groups, group: launch.entry.group, args: starts };
        steps.push((Work::Launch(launched), access, function));
    }
    Ok(steps)
}
