//! The time of each command on the device, from OpenCL's event profiling.
//!
//! Profiling has to be enabled for a queue, and makes it slower; so a recording that is timed has a second
//! queue. The times are by the device's clock, from the start of a command to its end; time between two
//! commands is not counted.

use crate::cl::{self, Event, Handle, Queue};
use crate::context::{OpenClContext, QueueKind};
use crate::queues::queue;
use ocl::ffi::{self, cl_event};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::DeviceResult;

/// A queue with profiling enabled.
#[derive(Debug)]
pub(crate) struct ProfilingQueue {
    queue: Handle<Queue>,
    context: Arc<OpenClContext>,
}

impl ProfilingQueue {
    /// A new queue on one side of the device.
    pub(crate) fn new(context: &Arc<OpenClContext>, queue_kind: QueueKind) -> DeviceResult<ProfilingQueue> {
        let queue = queue(context, queue_kind, ffi::CL_QUEUE_PROFILING_ENABLE)?;
        Ok(ProfilingQueue { queue, context: context.clone() })
    }

    /// Enqueues `count` commands by `enqueue(position, queue, event)`, waits, and returns the time of each.
    pub(crate) fn measure(
        &self,
        count: usize,
        enqueue: impl Fn(usize, *mut c_void, *mut cl_event) -> DeviceResult<()>,
    ) -> DeviceResult<Vec<Duration>> {
        let id = &self.context.id;
        let mut events = Vec::with_capacity(count);
        let mut enqueued = Ok(());
        for at in 0..count {
            let mut event: cl_event = ptr::null_mut();
            enqueued = enqueue(at, self.queue.raw(), &mut event).and_then(|()| {
                // SAFETY: the event of the command just enqueued, or null.
                events.push(unsafe { Handle::<Event>::created(event, id, "the event of a command", 0) }?);
                Ok(())
            });
            if enqueued.is_err() {
                break;
            }
        }
        // Also after an error: enqueued commands use memory that the caller may free.
        // SAFETY: the queue is valid.
        let finished = cl::check(id, "clFinish", unsafe { ffi::clFinish(self.queue.raw()) });
        enqueued.and(finished)?;
        events.iter().map(|event| self.took(event)).collect()
    }

    fn took(&self, event: &Handle<Event>) -> DeviceResult<Duration> {
        let time = |question| {
            let mut nanoseconds = 0u64;
            // SAFETY: the event is valid and its command has ended; 8 bytes are written.
            let status = unsafe {
                let value = (&raw mut nanoseconds).cast();
                ffi::clGetEventProfilingInfo(event.raw(), question, size_of::<u64>(), value, ptr::null_mut())
            };
            cl::check(&self.context.id, "clGetEventProfilingInfo", status).map(|()| nanoseconds)
        };
        let (start, end) = (time(ffi::CL_PROFILING_COMMAND_START)?, time(ffi::CL_PROFILING_COMMAND_END)?);
        Ok(Duration::from_nanos(end.saturating_sub(start)))
    }
}
