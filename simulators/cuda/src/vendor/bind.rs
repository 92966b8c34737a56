//! A library op's command as addresses, with the memory that it accesses.

use super::Request;
use crate::context::Queue;
use crate::dependencies::{AddressRange, MemoryAccess};
use crate::recording::{accesses, range};
use cudarc::driver::sys::CUdeviceptr;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, LibraryOutput, Region};
use workalike_kernels::nest::LinearForm;

/// Addresses of the operands of a library op, and its epilogue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperandAddresses {
    /// Operands that are read, then operands that are written.
    pub(super) operands: Vec<CUdeviceptr>,
    /// 0 if there is none.
    pub(super) scratch: CUdeviceptr,
    /// Has the layout of the result. Equal to the result, or does not overlap it.
    pub(super) added: Option<CUdeviceptr>,
    /// One element for each channel.
    pub(super) bias: Option<CUdeviceptr>,
    /// The factor of the result, a number of the computing type, as `beta` is.
    pub(super) alpha: f64,
    /// The factor of the addend; 0 without one.
    pub(super) beta: f64,
}

impl OperandAddresses {
    /// Without an epilogue.
    pub(super) fn plain(operands: Vec<CUdeviceptr>, scratch: CUdeviceptr) -> OperandAddresses {
        OperandAddresses { operands, scratch, added: None, bias: None, alpha: 1.0, beta: 0.0 }
    }
}

/// Resolves a request that was checked, whose epilogue has this form.
pub(super) fn bind(
    queue: &Arc<Queue>,
    request: &Request,
    form: Option<&LinearForm>,
) -> DeviceResult<(OperandAddresses, MemoryAccess)> {
    let args = match request.target {
        LibraryOutput::Memory(_) => &[][..],
        LibraryOutput::Epilogue { args, .. } => args,
    };
    let ranges = |regions: &[Region]| {
        regions.iter().map(|region| range(queue, region)).collect::<DeviceResult<Vec<AddressRange>>>()
    };
    // No operand of the form is the op's own result, which has no region.
    let of_form = |operand: Option<usize>| {
        let region = operand.and_then(|at| args.get(at)?.as_ref());
        region.map(|region| range(queue, region)).transpose()
    };
    let inputs = ranges(request.inputs)?;
    let results = match request.target {
        LibraryOutput::Memory(results) => ranges(results)?,
        LibraryOutput::Epilogue { .. } => of_form(form.map(|form| form.result))?.into_iter().collect(),
    };
    let added = of_form(form.and_then(|form| form.added))?;
    let bias = of_form(form.and_then(|form| form.bias))?;
    let scratch = request.scratch.map(|region| range(queue, region)).transpose()?;
    if let (Some(_), &[stored]) = (form, &results[..]) {
        // The addend may be the result's memory, element by element.
        let apart = added.filter(|added| added.start != stored.start);
        let mut reads = inputs.iter().copied().chain(bias).chain(apart);
        if let Some(read) = reads.find(|read| read.overlaps(stored)) {
            let op = request.op;
            let message = format!("{op:?} is stored at {stored:?}, which overlaps {read:?}, read by it");
            return Err(DeviceError::driver(queue.id(), "record", message));
        }
    }
    let start = |range: &AddressRange| range.start;
    let at = OperandAddresses {
        operands: inputs.iter().chain(&results).map(start).collect(),
        scratch: scratch.as_ref().map_or(0, start),
        added: added.as_ref().map(start),
        bias: bias.as_ref().map(start),
        alpha: form.map_or(1.0, |form| form.alpha),
        beta: form.map_or(0.0, |form| form.beta),
    };
    let reads = inputs.into_iter().chain(added).chain(bias).map(|read| (read, false));
    let writes = results.into_iter().chain(scratch).map(|written| (written, true));
    Ok((at, accesses(reads.chain(writes))))
}

/// The operand of an epilogue that is the op's result: the only one without a region.
pub(super) fn own(args: &[Option<Region>]) -> Option<usize> {
    let mut own = (0..args.len()).filter(|&at| args[at].is_none());
    own.next().filter(|_| own.next().is_none())
}
