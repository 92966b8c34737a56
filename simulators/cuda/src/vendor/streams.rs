//! The streams of a device object, and trials of libraries on them.

use crate::capture::{STRICT, instantiate};
use crate::context::{Branching, OrDriver, Queue};
use crate::memory::CudaMemory;
use crate::timing::{Events, TimedGraph};
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::DeviceResult;

/// The stream on which a device object works, and the one on which it captures.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// The device's stream.
    pub(crate) queue: Arc<Queue>,
    /// The stream that captures. Used only while `recorder` is locked.
    pub(crate) capture: Arc<Queue>,
    /// Held by recordings, and by trials of the libraries' algorithms.
    pub(crate) recorder: Arc<Mutex<()>>,
    /// Whether graphs may have branches.
    branching: Option<Arc<Branching>>,
}

impl Streams {
    /// For a device's stream, with a new one that captures.
    pub(crate) fn new(queue: Arc<Queue>) -> DeviceResult<Streams> {
        let capture = Queue::new(queue.context.clone())?;
        let branching = Branching::of(&queue.context.branching).map(Arc::new);
        Ok(Streams { queue, capture, recorder: Arc::default(), branching })
    }

    /// Whether steps that do not depend on each other are branches of a graph; otherwise it is a chain.
    pub(crate) fn has_branches(&self) -> bool {
        self.branching.is_some()
    }

    /// Runs what `enqueue` enqueues on the device's stream, which loads its kernels, and waits. Returns
    /// whether it was accepted.
    pub(super) fn runs(&self, enqueue: impl FnOnce(CUstream) -> DeviceResult<()>) -> DeviceResult<bool> {
        let ran = enqueue(self.queue.stream.cu_stream()).is_ok();
        // An error on the device is an error whatever the library returned.
        self.queue.synchronize()?;
        Ok(ran)
    }

    /// Captures what `enqueue` enqueues. Returns whether that gave a graph. The recorder must be locked.
    pub(super) fn captures(&self, enqueue: impl FnOnce(CUstream) -> DeviceResult<()>) -> DeviceResult<bool> {
        Ok(instantiate(&self.queue, &self.capture, (STRICT, 0), enqueue).is_ok())
    }

    /// The times of so many candidates, each run `repeats` times in a row in one graph: the least of `rounds`
    /// runs of the graph. The recorder must be locked, and the kernels loaded.
    pub(super) fn times(
        &self,
        candidates: usize,
        (repeats, rounds): (usize, usize),
        mut enqueue: impl FnMut(usize, CUstream) -> DeviceResult<()>,
    ) -> DeviceResult<Vec<Duration>> {
        let events = Events::new(&self.queue, candidates)?;
        let graph = instantiate(&self.queue, &self.capture, (STRICT, 0), |stream| {
            for at in 0..candidates {
                events.capture(at, stream)?;
                (0..repeats).try_for_each(|_| enqueue(at, stream))?;
            }
            events.capture(candidates, stream)
        })?;
        let mut timer = TimedGraph::new(graph, events);
        let mut times = vec![Duration::MAX; candidates];
        for _ in 0..rounds {
            times.iter_mut().zip(timer.run()?).for_each(|(best, time)| *best = time.min(*best));
        }
        Ok(times)
    }

    /// New memory.
    pub(super) fn memory(&self, bytes: u64) -> DeviceResult<Arc<CudaMemory>> {
        CudaMemory::new(&self.queue, bytes)
    }

    /// New memory filled with zeros.
    pub(super) fn zeros(&self, bytes: u64) -> DeviceResult<Arc<CudaMemory>> {
        let memory = self.memory(bytes)?;
        self.fill(memory.pointer(), 0, bytes)?;
        Ok(memory)
    }

    /// Fills trial memory, as long as `bytes`, with a byte.
    pub(super) fn fill(&self, target: CUdeviceptr, byte: u8, bytes: u64) -> DeviceResult<()> {
        fill(self.queue.id(), target, byte, bytes, self.queue.stream.cu_stream())
    }
}

/// Enqueues a fill of memory of the stream's device, as long as `bytes`.
pub(super) fn fill(
    id: &str,
    target: CUdeviceptr,
    byte: u8,
    bytes: u64,
    stream: CUstream,
) -> DeviceResult<()> {
    let length = usize::try_from(bytes);
    let length = length.map_err(|e| workalike_device::DeviceError::driver(id, "cuMemsetD8Async", e))?;
    // SAFETY: the caller gives memory of `length` bytes that work of this stream may use.
    unsafe { sys::cuMemsetD8Async(target, byte, length, stream) }.or_driver(id, "cuMemsetD8Async")
}
