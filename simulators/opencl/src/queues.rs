//! The queues of a device, which together are the one ordered stream of work that the engine sees.
//!
//! Most devices have one. PoCL's processor has two ([`crate::pocl`]): a wide one, whose commands its threads
//! run, and a near one, whose commands run on the thread that enqueues them. A Program goes to one of them as
//! a whole; where one follows the other, the first is waited for.

use crate::cl::{self, Handle, Queue};
use crate::context::{Context, Side};
use ocl::ffi::{self, cl_int};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use workalike_device::DeviceResult;
use workalike_kernels::cost;
use workalike_kernels::verify::Verified;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Queues {
    wide: Handle<Queue>,
    near: Option<Handle<Queue>>,
    /// Where commands were last enqueued.
    last: Mutex<Side>,
    /// After the queues, so that it is released after them.
    context: Arc<Context>,
}

impl Queues {
    /// New queues on a device, in order.
    pub(crate) fn new(context: &Arc<Context>) -> DeviceResult<Queues> {
        let near = context.near.is_some().then(|| queue(context, Side::Near, 0)).transpose()?;
        let wide = queue(context, Side::Wide, 0)?;
        Ok(Queues { wide, near, last: Mutex::new(Side::Wide), context: context.clone() })
    }

    /// The side that serves a Program of these Nests best.
    pub(crate) fn side_for(&self, nests: &[Verified]) -> Side {
        match self.near {
            Some(_) if is_small(nests, self.context.info.units) => Side::Near,
            _ => Side::Wide,
        }
    }

    /// The side on which the calling thread copies, waiting for nobody but what was enqueued.
    pub(crate) fn copying_side(&self) -> Side {
        if self.near.is_some() { Side::Near } else { Side::Wide }
    }

    /// The side where commands were last enqueued.
    pub(crate) fn last_side(&self) -> Side {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, side: Side) -> &Handle<Queue> {
        match (side, &self.near) {
            (Side::Near, Some(near)) => near,
            _ => &self.wide,
        }
    }

    /// Calls `enqueue` with the queue of a side, once all that was enqueued on the other is done.
    pub(crate) fn on<T>(
        &self,
        side: Side,
        enqueue: impl FnOnce(*mut c_void) -> DeviceResult<T>,
    ) -> DeviceResult<T> {
        if self.near.is_none() {
            return enqueue(self.wide.raw());
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != side {
            self.wait(*last)?;
            *last = side;
        }
        enqueue(self.of(side).raw())
    }

    fn wait(&self, side: Side) -> DeviceResult<()> {
        // SAFETY: the queue is valid.
        let status: cl_int = unsafe { ffi::clFinish(self.of(side).raw()) };
        cl::check(&self.context.id, "clFinish", status)
    }

    /// Waits for all that was enqueued.
    pub(crate) fn finish(&self) -> DeviceResult<()> {
        self.wait(self.last_side())
    }

    /// Sees to it that what was enqueued runs, even if nobody waits for it.
    pub(crate) fn flush(&self) -> DeviceResult<()> {
        // SAFETY: the queue is valid.
        let status = unsafe { ffi::clFlush(self.of(self.last_side()).raw()) };
        cl::check(&self.context.id, "clFlush", status)
    }
}

/// A new queue on one side of a device, with these properties; commands run in order.
pub(crate) fn queue(context: &Context, side: Side, properties: u64) -> DeviceResult<Handle<Queue>> {
    const CALL: &str = "clCreateCommandQueue";
    let mut status: cl_int = 0;
    let (all, device) = (context.handle.raw(), context.device(side));
    // SAFETY: context and device belong together; the properties do not ask for commands out of order.
    let raw = unsafe { ffi::clCreateCommandQueue(all, device, properties, &mut status) };
    // SAFETY: a new queue, or null.
    unsafe { Handle::created(raw, &context.id, CALL, status) }
}

/// Nanoseconds that it takes threads to begin a kernel that the ones before must not overlap, and to be woken
/// for a call.
const HANDOVER: f64 = 9_000.0;
const WAKE: f64 = 20_000.0;
/// Rough nanoseconds of one thread for a flop and a byte.
const FLOP: f64 = 0.1;
const BYTE: f64 = 0.06;

/// Whether one thread is done before many would be.
fn is_small(nests: &[Verified], units: u32) -> bool {
    let operands = nests.iter().flat_map(|nest| &nest.operands);
    let bytes = operands.map(|o| o.shape.iter().map(|e| *e as f64).product::<f64>() * o.dtype.size() as f64);
    let flops = nests.iter().map(|nest| cost::flops(nest));
    let alone = flops.sum::<f64>() * FLOP + bytes.sum::<f64>() * BYTE;
    alone < WAKE + nests.len() as f64 * HANDOVER + alone / f64::from(units.max(1))
}
