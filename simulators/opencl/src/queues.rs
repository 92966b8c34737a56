//! The queues of a device, which together are one ordered stream of work for the engine.
//!
//! Most devices have one queue. PoCL's processor has two ([`crate::pocl`]): a wide one, whose commands run on
//! a pool of threads, and a near one, whose commands run on the thread that enqueues them. All commands of a
//! Program go to one queue; before the other queue is used, the first is waited for.

use crate::cl::{self, Handle, Queue};
use crate::context::{OpenClContext, QueueKind};
use ocl::ffi::{self, cl_int};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
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
    last: Mutex<QueueKind>,
    /// Another library enqueues on the wide queue too: it is the last one between our commands.
    shared: AtomicBool,
    /// After the queues, so that it is released after them.
    context: Arc<OpenClContext>,
}

impl Queues {
    /// New queues on a device, in order.
    pub(crate) fn new(context: &Arc<OpenClContext>) -> DeviceResult<Queues> {
        let near = context.near.is_some().then(|| queue(context, QueueKind::Near, 0)).transpose()?;
        let wide = queue(context, QueueKind::Wide, 0)?;
        Ok(Queues {
            wide,
            near,
            last: Mutex::new(QueueKind::Wide),
            shared: AtomicBool::new(false),
            context: context.clone(),
        })
    }

    /// The queue of another library.
    pub(crate) fn foreign(context: &Arc<OpenClContext>, wide: Handle<Queue>) -> Queues {
        let (last, shared) = (Mutex::new(QueueKind::Wide), AtomicBool::new(true));
        Queues { wide, near: None, last, shared, context: context.clone() }
    }

    /// The wide queue, for another library. From now on commands of the near queue wait for it, and are
    /// waited for, so that all run in order.
    pub(crate) fn share(&self) -> *mut c_void {
        self.shared.store(true, Ordering::Release);
        // What runs on the near queue is waited for. A failure shows when the queue is used.
        let _ = self.on(QueueKind::Wide, |_| Ok(()));
        self.wide.raw()
    }

    /// The faster side for a Program of these Nests.
    pub(crate) fn queue_kind_for(&self, nests: &[Verified]) -> QueueKind {
        match self.near {
            Some(_) if is_small(nests, self.context.info.units) => QueueKind::Near,
            _ => QueueKind::Wide,
        }
    }

    /// The faster side for library ops and copies without Nests, which access this many bytes.
    pub(crate) fn queue_kind_for_bytes(&self, bytes: f64) -> QueueKind {
        match self.near {
            Some(_) if is_small_work(bytes * BYTE, 1, self.context.info.units) => QueueKind::Near,
            _ => QueueKind::Wide,
        }
    }

    /// The side for copies by the calling thread, which wait only for enqueued work.
    pub(crate) fn copying_queue_kind(&self) -> QueueKind {
        if self.near.is_some() { QueueKind::Near } else { QueueKind::Wide }
    }

    /// The side where commands were last enqueued.
    pub(crate) fn last_queue_kind(&self) -> QueueKind {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, queue_kind: QueueKind) -> &Handle<Queue> {
        match (queue_kind, &self.near) {
            (QueueKind::Near, Some(near)) => near,
            _ => &self.wide,
        }
    }

    /// Calls `enqueue` with the queue of a side, after all work enqueued on the other side is done.
    pub(crate) fn on<T>(
        &self,
        queue_kind: QueueKind,
        enqueue: impl FnOnce(*mut c_void) -> DeviceResult<T>,
    ) -> DeviceResult<T> {
        if self.near.is_none() {
            return enqueue(self.wide.raw());
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != queue_kind {
            self.wait(*last)?;
            *last = queue_kind;
        }
        let done = enqueue(self.of(queue_kind).raw())?;
        if queue_kind == QueueKind::Near && self.shared.load(Ordering::Acquire) {
            // The other library's next commands come after this.
            self.wait(queue_kind)?;
            *last = QueueKind::Wide;
        }
        Ok(done)
    }

    fn wait(&self, queue_kind: QueueKind) -> DeviceResult<()> {
        // SAFETY: the queue is valid.
        let status: cl_int = unsafe { ffi::clFinish(self.of(queue_kind).raw()) };
        cl::check(&self.context.id, "clFinish", status)
    }

    /// Waits for all enqueued work.
    pub(crate) fn finish(&self) -> DeviceResult<()> {
        self.wait(self.last_queue_kind())
    }

    /// Submits all enqueued work to the device, so that it runs without a later wait.
    pub(crate) fn flush(&self) -> DeviceResult<()> {
        // SAFETY: the queue is valid.
        let status = unsafe { ffi::clFlush(self.of(self.last_queue_kind()).raw()) };
        cl::check(&self.context.id, "clFlush", status)
    }
}

/// A new queue on one side of a device, with these properties; commands run in order.
pub(crate) fn queue(
    context: &OpenClContext,
    queue_kind: QueueKind,
    properties: u64,
) -> DeviceResult<Handle<Queue>> {
    const CALL: &str = "clCreateCommandQueue";
    let mut status: cl_int = 0;
    let (all, device) = (context.handle.raw(), context.device(queue_kind));
    // SAFETY: the device is one of the context's; the properties do not request out-of-order execution.
    let raw = unsafe { ffi::clCreateCommandQueue(all, device, properties, &mut status) };
    // SAFETY: a new queue, or null.
    unsafe { Handle::created(raw, &context.id, CALL, status) }
}

/// Estimated overhead of PoCL's pool in ns: the barrier before a dependent kernel.
const BARRIER: f64 = 9_000.0;
/// Estimated overhead of PoCL's pool in ns: waking the threads for a call.
const WAKE: f64 = 20_000.0;
/// Estimated ns per flop of one thread.
const FLOP: f64 = 0.1;
/// Estimated ns per byte of one thread.
const BYTE: f64 = 0.06;

/// Whether one thread is estimated to be faster than the pool.
fn is_small(nests: &[Verified], units: u32) -> bool {
    let operands = nests.iter().flat_map(|nest| &nest.operands);
    let bytes = operands.map(|o| o.shape.iter().map(|e| *e as f64).product::<f64>() * o.dtype.size() as f64);
    let flops = nests.iter().map(|nest| cost::flops(nest));
    is_small_work(flops.sum::<f64>() * FLOP + bytes.sum::<f64>() * BYTE, nests.len(), units)
}

/// The same for work that takes `alone` ns on one thread, in `kernels` kernels.
fn is_small_work(alone: f64, kernels: usize, units: u32) -> bool {
    alone < WAKE + kernels as f64 * BARRIER + alone / f64::from(units.max(1))
}
