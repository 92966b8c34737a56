//! A convolution's command, resolved to the addresses for cuDNN and to the memory that it accesses.

use super::{At, Cudnn, Form, epilogue, result_bytes};
use crate::capture::Work;
use crate::context::Queue;
use crate::order::{Access, Range};
use crate::recording::{accesses, range};
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Region, Target};
use workalike_kernels::library::Convolution;

/// Required alignment of an epilogue's operands in bytes: cuDNN's kernels load several elements at once.
const ALIGNMENT: u64 = 16;

/// Resolves a convolution of `inputs` into its target, with its workspace if it has one. The device's
/// recorder must be locked.
pub(crate) fn resolve(
    queue: &Arc<Queue>,
    cudnn: &Arc<Cudnn>,
    call: &Convolution,
    inputs: &[Region],
    (target, scratch): (&Target, Option<&Region>),
) -> DeviceResult<(Work, Access)> {
    let refuse = |message: String| DeviceError::driver(queue.id(), "record", message);
    let [first, second] = inputs else {
        return Err(refuse(format!("{} inputs of {call:?}", inputs.len())));
    };
    let Bound { result, added, bias, form } = bound(queue, call, target)?;
    let plan = cudnn.plan(call, form).ok_or_else(|| refuse(format!("cuDNN does not do {call:?}")))?;
    let [first, second, stored] = [range(queue, first)?, range(queue, second)?, range(queue, result)?];
    let optional = |region: Option<&Region>| region.map(|region| range(queue, region)).transpose();
    let (added, bias, workspace) = (optional(added)?, optional(bias)?, optional(scratch)?);
    let (given, least) = (workspace.map_or(0, |range| range.bytes), plan.workspace);
    if given < least {
        return Err(refuse(format!("{call:?} needs a workspace of {least} bytes, got {given}")));
    }
    if let Target::Epilogue { nest, .. } = target {
        let operands = [Some(stored), added, bias];
        check_sizes(queue, call, operands)?;
        // The addend may be the result's memory, element by element.
        let apart = added.filter(|added| added.start != stored.start);
        let mut reads = [Some(first), Some(second), bias, apart].into_iter().flatten();
        if let Some(read) = reads.find(|read| read.overlaps(stored)) {
            let name = &nest.name;
            return Err(refuse(format!(
                "{name} stores {call:?} at {stored:?}, which overlaps {read:?}, read by it"
            )));
        }
    }
    let start = |range: Option<Range>| range.map_or(0, |range| range.start);
    let at = At {
        inputs: [first.start, second.start],
        result: stored.start,
        workspace: start(workspace),
        bias: start(bias),
        added: start(added),
    };
    let reads = [Some(first), Some(second), added, bias].into_iter().flatten().map(|read| (read, false));
    let writes = [Some(stored), workspace].into_iter().flatten().map(|written| (written, true));
    Ok((Work::Convolution { cudnn: cudnn.clone(), plan, at }, accesses(reads.chain(writes))))
}

/// Checks that the result, the addend and the bias of an epilogue are as long as cuDNN assumes, and aligned.
fn check_sizes(
    queue: &Queue,
    call: &Convolution,
    [stored, added, bias]: [Option<Range>; 3],
) -> DeviceResult<()> {
    let result = result_bytes(call);
    let filters = call.filters.saturating_mul(call.dtype.size() as u64);
    for (range, least) in [(stored, result), (added, result), (bias, filters)] {
        let Some(Range { start, bytes }) = range else { continue };
        if bytes < least || !start.is_multiple_of(ALIGNMENT) {
            let message = format!(
                "{call:?} needs a region of {least} bytes at a multiple of {ALIGNMENT}, got {bytes} bytes at {start}"
            );
            return Err(DeviceError::driver(queue.id(), "record", message));
        }
    }
    Ok(())
}

/// A convolution's target as the operands of an epilogue.
struct Bound<'a> {
    result: &'a Region,
    added: Option<&'a Region>,
    bias: Option<&'a Region>,
    form: Option<Form>,
}

fn bound<'a>(queue: &Queue, call: &Convolution, target: &'a Target) -> DeviceResult<Bound<'a>> {
    let (nest, args) = match target {
        Target::Memory(results) => {
            let message = || {
                DeviceError::driver(queue.id(), "record", format!("{} results of {call:?}", results.len()))
            };
            let result = results.first().ok_or_else(message)?;
            return Ok(Bound { result, added: None, bias: None, form: None });
        }
        Target::Epilogue { nest, args } => (nest, args),
    };
    let unsupported = || DeviceError::Unsupported {
        device: queue.id().into(),
        what: format!("{} as the epilogue of {call:?}", nest.name),
    };
    let mut own = (0..args.len()).filter(|&at| args[at].is_none());
    let (Some(own), None, true) = (own.next(), own.next(), args.len() == nest.operands.len()) else {
        return Err(unsupported());
    };
    let epilogue = epilogue(call, nest, own).ok_or_else(unsupported)?;
    // None of these operands is the convolution itself, which has no region.
    let region = |operand: usize| args.get(operand).and_then(Option::as_ref).ok_or_else(unsupported);
    Ok(Bound {
        result: region(epilogue.result)?,
        added: epilogue.added.map(region).transpose()?,
        bias: Some(region(epilogue.bias)?),
        form: Some(epilogue.form()),
    })
}
