//! The time of each command on the device: the Segment is captured a second time, with an event between any
//! two commands.
//!
//! The events are nodes of the graph, so the device records them without the host. Plain launches with events
//! between them would measure the host where a kernel is shorter than its launch (about 3 us). The time of a
//! command is that from the end of the command before it to its own end. It includes the latency between two
//! dependent nodes (about 1 us), as a replay does, and the node of the event. A kernel of 1 us is measured as
//! 2 or 3 us; the time of a kernel of 20 us is accurate to 10%.

use crate::capture::CudaGraph;
use crate::context::{OrDriver, Queue};
use cudarc::driver::CudaEvent;
use cudarc::driver::sys::{self, CUevent, CUevent_flags};
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{DeviceError, DeviceResult};

/// The events around the commands of a Segment.
pub(crate) struct Events {
    queue: Arc<Queue>,
    events: Vec<CudaEvent>,
}

impl Events {
    /// `commands + 1` events. The context must be current.
    pub(crate) fn new(queue: &Arc<Queue>, commands: usize) -> DeviceResult<Events> {
        let keeps_time = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let new = |_| queue.context.cuda.new_event(keeps_time).or_driver(queue.id(), "cuEventCreate");
        Ok(Events { queue: queue.clone(), events: (0..=commands).map(new).collect::<DeviceResult<_>>()? })
    }

    /// Makes the event at a position the next node of a capture.
    pub(crate) fn capture(&self, position: usize, stream: sys::CUstream) -> DeviceResult<()> {
        // Without the flag an event in a capture only adds a dependency; with it, each launch records the
        // event.
        let as_node = sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
        // SAFETY: event and stream are alive; the captured graph is kept together with the events.
        unsafe { sys::cuEventRecordWithFlags(self.events[position].cu_event(), stream, as_node) }
            .or_driver(self.queue.id(), "cuEventRecordWithFlags")
    }

    /// The times between the events, all of which must be complete.
    fn elapsed(&self) -> DeviceResult<Vec<Duration>> {
        let id = self.queue.id();
        type Elapsed = unsafe extern "C" fn(*mut f32, CUevent, CUevent) -> u32;
        // Looked up by name: the bindings declare one of two versions, depending on the CUDA version, and a
        // driver has one or both.
        // SAFETY: the driver is present, so this does not panic; the type is that of both versions.
        let elapsed = unsafe {
            let library = sys::culib();
            let first = library.get::<Elapsed>(b"cuEventElapsedTime");
            first.or_else(|_| library.get::<Elapsed>(b"cuEventElapsedTime_v2"))
        };
        let elapsed = elapsed.map_err(|e| DeviceError::driver(id, "cuEventElapsedTime", e))?;
        let between = self.events.windows(2).map(|pair| {
            let mut milliseconds = 0f32;
            // SAFETY: both events are alive; writes one float.
            let status = unsafe { elapsed(&mut milliseconds, pair[0].cu_event(), pair[1].cu_event()) };
            match status {
                0 => Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3)),
                _ => Err(DeviceError::driver(id, "cuEventElapsedTime", format!("status {status}"))),
            }
        });
        between.collect()
    }
}

/// A Segment captured with events.
pub(crate) struct TimedGraph {
    graph: Arc<CudaGraph>,
    events: Events,
}

impl TimedGraph {
    /// Takes a graph in which these events were captured.
    pub(crate) fn new(graph: Arc<CudaGraph>, events: Events) -> TimedGraph {
        TimedGraph { graph, events }
    }

    /// Enqueues the Segment. The context must be current.
    pub(crate) fn launch(&self) -> DeviceResult<()> {
        self.graph.launch()
    }

    /// Waits for the Segment, and reads the times.
    pub(crate) fn times(&mut self) -> DeviceResult<Vec<Duration>> {
        self.events.queue.synchronize()?;
        self.events.elapsed()
    }

    /// Runs the Segment once and waits. The context must be current.
    pub(crate) fn run(&mut self) -> DeviceResult<Vec<Duration>> {
        self.launch()?;
        self.times()
    }
}
