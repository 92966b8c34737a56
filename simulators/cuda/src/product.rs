//! A matrix product's command, resolved to the addresses for the libraries and to the memory that it
//! accesses.

use crate::capture::Work;
use crate::context::Queue;
use crate::matmul::{At, linear, plan};
use crate::order::Access;
use crate::recording::{accesses, range};
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Matmul, Region, Target};

/// A product of two factors into its target; `None` if there is nothing to do.
pub(crate) fn resolve(
    queue: &Arc<Queue>,
    product: &Matmul,
    [a, b]: [&Region; 2],
    target: &Target,
) -> DeviceResult<Option<(Work, Access)>> {
    let refuse = |message: String| Err(DeviceError::driver(queue.id(), "record", message));
    let Bound { result, added, bias, alpha, beta } = bound(queue, product, target)?;
    let [left, right, stored] = [range(queue, a)?, range(queue, b)?, range(queue, result)?];
    if stored.bytes == 0 || product.batch == 0 || product.m == 0 || product.n == 0 {
        return Ok(None);
    }
    let Some(plan) = plan(product) else {
        // An empty sum. The device accepts no epilogue for it.
        if product.k == 0 && matches!(target, Target::Memory(_)) {
            let bytes =
                usize::try_from(stored.bytes).map_err(|e| DeviceError::driver(queue.id(), "record", e))?;
            let access = accesses([(stored, true)]);
            return Ok(Some((Work::Clear { target: stored.start, bytes }, access)));
        }
        let what = format!("the layout of {product:?}");
        return Err(DeviceError::Unsupported { device: queue.id().into(), what });
    };
    let [a_bytes, b_bytes, result_bytes] = plan.bytes();
    let row_bytes = product.n.saturating_mul(product.dtype.size() as u64);
    let needed = [(Some(a), a_bytes), (Some(b), b_bytes), (Some(result), result_bytes)];
    for (region, least) in needed.into_iter().chain([(added, result_bytes), (bias, row_bytes)]) {
        let given = region.map_or(least, |region| region.bytes);
        if given < least {
            return refuse(format!("{product:?} needs a region of {least} bytes, got {given}"));
        }
    }
    let [added, bias] = [added, bias].map(|region| region.map(|region| range(queue, region)).transpose());
    let (added, bias) = (added?, bias?);
    if let Target::Epilogue { nest, .. } = target {
        // The addend may be the result's memory, element by element.
        let apart = added.filter(|added| added.start != stored.start);
        let mut reads = [Some(left), Some(right), bias, apart].into_iter().flatten();
        if let Some(read) = reads.find(|read| read.overlaps(stored)) {
            let name = &nest.name;
            return refuse(format!(
                "{name} stores {product:?} at {stored:?}, which overlaps {read:?}, read by it"
            ));
        }
    }
    let reads = [Some(left), Some(right), added, bias].into_iter().flatten();
    let access = accesses(reads.map(|read| (read, false)).chain([(stored, true)]));
    let at = At {
        added: added.map(|range| range.start),
        bias: bias.map(|range| range.start),
        alpha,
        beta,
        ..At::plain([left, right, stored].map(|range| range.start))
    };
    Ok(Some((Work::Matmul { plan, at }, access)))
}

/// A product's target as the operands of an epilogue.
struct Bound<'a> {
    result: &'a Region,
    added: Option<&'a Region>,
    bias: Option<&'a Region>,
    alpha: f64,
    beta: f64,
}

fn bound<'a>(queue: &Queue, product: &Matmul, target: &'a Target) -> DeviceResult<Bound<'a>> {
    let (nest, args) = match target {
        Target::Memory(results) => {
            let message = || DeviceError::driver(queue.id(), "record", format!("{} products", results.len()));
            let result = results.first().ok_or_else(message)?;
            return Ok(Bound { result, added: None, bias: None, alpha: 1.0, beta: 0.0 });
        }
        Target::Epilogue { nest, args } => (nest, args),
    };
    let unsupported = || DeviceError::Unsupported {
        device: queue.id().into(),
        what: format!("{} as the epilogue of {product:?}", nest.name),
    };
    let mut own = (0..args.len()).filter(|&at| args[at].is_none());
    let (Some(own), None, true) = (own.next(), own.next(), args.len() == nest.operands.len()) else {
        return Err(unsupported());
    };
    let linear = linear(product, nest, own).ok_or_else(unsupported)?;
    // None of these operands is the product itself, which has no region.
    let region = |operand: usize| args.get(operand).and_then(Option::as_ref);
    Ok(Bound {
        result: region(linear.result).ok_or_else(unsupported)?,
        added: linear.added.and_then(region),
        bias: linear.bias.and_then(region),
        alpha: linear.alpha,
        beta: linear.beta,
    })
}
