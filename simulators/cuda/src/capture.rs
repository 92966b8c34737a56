//! Steps with addresses, captured as a CUDA graph.
//!
//! The dependencies of each step on earlier steps (see [`crate::dependencies`]) are set before it is
//! captured, so that the graph only has the edges that the data require. Where many device objects share the
//! GPU, graphs are chains ([`Branching`](crate::context::Branching)). Our own kernels are launched as
//! programmatic dependents where the device supports it: the next kernel is set up while the last one still
//! runs, and waits at its start until the kernels before it are done.

use crate::context::{OrDriver, Queue, lock};
use crate::dependencies::{MemoryAccess, dependencies};
use crate::timing::Events;
use crate::vendor::{CapturedExchanges, ExchangeStep, Streams, VendorStep};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUgraphExec, CUgraphNode, CUstreamCaptureMode};
use std::borrow::Cow;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceError, DeviceResult};

/// A command with addresses instead of regions. Commands with nothing to do have no step.
#[derive(Clone)]
pub(crate) struct CudaStep {
    /// The position of the command.
    pub(crate) command: usize,
    pub(crate) work: CudaStepKind,
    pub(crate) access: MemoryAccess,
}

/// The work of a step.
#[derive(Clone)]
pub(crate) enum CudaStepKind {
    Launch(CudaLaunch),
    Vendor(Arc<dyn VendorStep>),
    Copy { source: CUdeviceptr, target: CUdeviceptr, bytes: usize },
    Clear { target: CUdeviceptr, bytes: usize },
}

impl CudaStepKind {
    /// The kernel of ours that it is.
    fn kernel(&self) -> DeviceResult<Option<Cow<'_, CudaLaunch>>> {
        match self {
            CudaStepKind::Launch(launch) => Ok(Some(Cow::Borrowed(launch))),
            CudaStepKind::Vendor(step) => Ok(step.kernel()?.map(Cow::Owned)),
            _ => Ok(None),
        }
    }

    /// Whether members exchange arrays in it by a library.
    fn exchanges_by_library(&self) -> bool {
        matches!(self, CudaStepKind::Vendor(step) if step.exchange().is_some_and(ExchangeStep::is_by_library))
    }

    /// Whether it may be a kernel of a vendor's library.
    fn is_vendors(&self) -> bool {
        matches!(self, CudaStepKind::Vendor(_))
    }
}

/// Maximum number of threads of a block, on every CUDA device.
pub(crate) const MAX_GROUP: u32 = 1024;
/// Bytes of shared memory that every block may use without opting in to more.
pub(crate) const SHARED_MEMORY: u64 = 48 << 10;

/// A kernel with its arguments.
#[derive(Clone)]
pub(crate) struct CudaLaunch {
    pub(crate) function: CUfunction,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
    /// Addresses, and the bits of scalars, which are the first bytes of a word.
    pub(crate) args: Vec<u64>,
    /// Whether the kernel waits for those before it when it is their programmatic dependent.
    pub(crate) waits: bool,
    /// Whether the arguments are a struct, which is the kernel's only one.
    pub(crate) packed: bool,
}

impl CudaLaunch {
    /// A printed kernel, whose blocks are in one dimension.
    pub(crate) fn printed(function: CUfunction, (groups, group): (u32, u32), args: Vec<u64>) -> CudaLaunch {
        CudaLaunch {
            function,
            grid: [groups, 1, 1],
            block: [group, 1, 1],
            shared: 0,
            args,
            waits: true,
            packed: false,
        }
    }
}

/// A captured graph, ready on its stream.
#[derive(Debug)]
pub(crate) struct CudaGraph {
    queue: Arc<Queue>,
    /// `None` once it is destroyed.
    exec: Mutex<Option<GraphHandle>>,
}

#[derive(Clone, Copy, Debug)]
struct GraphHandle(CUgraphExec);

// SAFETY: executable graphs may be used from any thread, by one at a time: the lock sees to that.
unsafe impl Send for GraphHandle {}

impl CudaGraph {
    /// Enqueues it. The context must be current. What the graph uses must be alive until it has run.
    pub(crate) fn launch(&self) -> DeviceResult<()> {
        let id = self.queue.id();
        let exec = lock(&self.exec);
        let gone = || DeviceError::driver(id, "cuGraphLaunch", "the graph was destroyed");
        let GraphHandle(raw) = exec.ok_or_else(gone)?;
        // SAFETY: graph and stream are alive, and, as the caller promises, so are the memory and kernels that
        // it uses.
        unsafe { result::graph::launch(raw, self.queue.stream.cu_stream()) }.or_driver(id, "cuGraphLaunch")
    }

    /// Waits for the stream, and destroys it.
    pub(crate) fn destroy(&self) {
        let Some(GraphHandle(raw)) = lock(&self.exec).take() else { return };
        let context = &self.queue.context;
        if !context.enter_drop() {
            return;
        }
        // The next call finds an error of the graph.
        // SAFETY: the stream is alive.
        let _ = unsafe { result::stream::synchronize(self.queue.stream.cu_stream()) };
        let _quiet = context.gate.quiet_if_any();
        // SAFETY: instantiated once, destroyed once.
        context.park(unsafe { result::graph::exec_destroy(raw) });
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        self.destroy();
    }
}

/// Captures the steps on the stream that captures, and makes the graph ready on the device's.
pub(crate) fn capture(
    streams: &Streams,
    steps: &[CudaStep],
    exchanges: &CapturedExchanges,
) -> DeviceResult<Arc<CudaGraph>> {
    let prefers = steps.iter().any(|step| step.work.exchanges_by_library());
    let flags = if prefers { NODE_PRIORITIES } else { 0 };
    instantiate(&streams.queue, &streams.capture, (exchanges.mode(), flags), |stream| {
        let nodes = enqueue_all(streams, stream, steps)?;
        if exchanges.is_empty() {
            return Ok(());
        }
        // NCCL has streams of its own, which end in the nodes of exchanges: all must be joined at the end.
        set_dependencies(streams.queue.id(), stream, nodes.concat())?;
        exchanges.mark(stream)
    })
}

/// As [`capture`], but with the steps in sequence and an event between any two of them.
pub(crate) fn capture_timed(
    streams: &Streams,
    steps: &[CudaStep],
    exchanges: &CapturedExchanges,
    events: &Events,
) -> DeviceResult<Arc<CudaGraph>> {
    instantiate(&streams.queue, &streams.capture, (exchanges.mode(), 0), |stream| {
        for (position, step) in steps.iter().enumerate() {
            events.capture(position, stream)?;
            enqueue(streams.queue.id(), stream, &step.work, false)?;
        }
        events.capture(steps.len(), stream)?;
        exchanges.mark(stream)
    })
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`; without it all nodes have the priority of the stream.
const NODE_PRIORITIES: u32 = 8;

/// The mode of captures: calls of this thread that would disturb them are errors.
pub(crate) const STRICT: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

/// Captures what `enqueue` enqueues in this mode, and makes the graph ready on the device's stream,
/// instantiated with these flags. The recorder must be locked, so that no other thread uses its stream.
pub(crate) fn instantiate(
    queue: &Arc<Queue>,
    recorder: &Queue,
    (mode, flags): (CUstreamCaptureMode, u32),
    enqueue: impl FnOnce(sys::CUstream) -> DeviceResult<()>,
) -> DeviceResult<Arc<CudaGraph>> {
    let id = queue.id();
    let stream = recorder.stream.cu_stream();
    let captured = {
        let _apart = queue.context.capture();
        // SAFETY: the stream is alive. It is only used under the recorder's lock, which recordings and trials
        // of the libraries' algorithms hold, so that no other thread captures on it.
        unsafe { result::stream::begin_capture(stream, mode) }.or_driver(id, "cuStreamBeginCapture")?;
        let enqueued = enqueue(stream);
        // The capture is ended after an error too: a stream that still captures could not be used again.
        // SAFETY: the stream is alive, and its capture was begun by this thread.
        let graph = unsafe { result::stream::end_capture(stream) };
        match (enqueued, graph) {
            (Ok(()), Ok(graph)) if !graph.is_null() => Ok(graph),
            (Ok(()), Ok(_)) => Err(DeviceError::driver(id, "cuStreamEndCapture", "it gave no graph")),
            (Ok(()), Err(e)) => Err(e).or_driver(id, "cuStreamEndCapture"),
            (Err(e), graph) => {
                if let Ok(graph) = graph.map_err(drop).and_then(|g| if g.is_null() { Err(()) } else { Ok(g) })
                {
                    // SAFETY: the graph is ours and is not used again.
                    queue.context.park(unsafe { result::graph::destroy(graph) });
                }
                Err(e)
            }
        }
    };
    let graph = captured?;
    let _quiet = queue.context.gate.quiet_if_any();
    // SAFETY: the graph is alive.
    let ready = unsafe { result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(flags)) };
    // SAFETY: the graph is ours; the executable graph does not refer to it.
    queue.context.park(unsafe { result::graph::destroy(graph) });
    let ready = ready.or_driver(id, "cuGraphInstantiate")?;
    // SAFETY: graph and stream are alive.
    let uploaded = unsafe { result::graph::upload(ready, queue.stream.cu_stream()) };
    if uploaded.is_err() {
        // SAFETY: the executable graph is ours and is not used again.
        queue.context.park(unsafe { result::graph::exec_destroy(ready) });
    }
    uploaded.or_driver(id, "cuGraphUpload")?;
    Ok(Arc::new(CudaGraph { queue: queue.clone(), exec: Mutex::new(Some(GraphHandle(ready))) }))
}

/// Captures the steps in order, each with its dependencies. Returns the nodes with which each ends.
fn enqueue_all(
    streams: &Streams,
    stream: sys::CUstream,
    steps: &[CudaStep],
) -> DeviceResult<Vec<Vec<CUgraphNode>>> {
    let (queue, id) = (&streams.queue, streams.queue.id());
    let waits = if streams.has_branches() {
        let accesses: Vec<MemoryAccess> = steps.iter().map(|s| s.access.clone()).collect();
        dependencies(&accesses)
    } else {
        (0..steps.len()).map(|at| at.checked_sub(1).into_iter().collect()).collect()
    };
    let kernels: Vec<Option<Cow<'_, CudaLaunch>>> =
        steps.iter().map(|step| step.work.kernel()).collect::<DeviceResult<_>>()?;
    // The kernels of libraries are no programmatic dependents. Beside them programmatic dependents are slower
    // than ordinary launches.
    let has_others = steps.iter().zip(&kernels).any(|(step, own)| step.work.is_vendors() && own.is_none());
    let dependents = queue.context.dependents && !has_others;
    let mut nodes: Vec<Vec<CUgraphNode>> = Vec::with_capacity(steps.len());
    for ((step, waits), own) in steps.iter().zip(&waits).zip(&kernels) {
        set_dependencies(id, stream, waits.iter().flat_map(|&w| &nodes[w]).copied().collect())?;
        // A kernel may be a programmatic dependent only of kernels.
        let launches = waits.iter().all(|&w| kernels[w].is_some());
        match own {
            Some(launch) => {
                let dependent = launch.waits && launches && !waits.is_empty() && dependents;
                enqueue_launch(id, stream, launch, dependent)?;
            }
            None => enqueue(id, stream, &step.work, false)?,
        }
        let last = captured_last(id, stream)?;
        if step.work.exchanges_by_library() {
            prefer(id, &last)?;
        }
        nodes.push(last);
    }
    Ok(nodes)
}

/// Gives the kernels among these nodes priority over those beside them. Without it they wait until all groups
/// of a product that has begun are done.
fn prefer(id: &str, nodes: &[CUgraphNode]) -> DeviceResult<()> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: writes two ints; the context is current.
    unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }
        .or_driver(id, "cuCtxGetStreamPriorityRange")?;
    let value = sys::CUlaunchAttributeValue { priority: greatest };
    for &node in nodes {
        let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
        // SAFETY: the node is of the graph that is captured, which is alive.
        unsafe { sys::cuGraphNodeGetType(node, &mut kind) }.or_driver(id, "cuGraphNodeGetType")?;
        if kind == sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL {
            let attribute = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY;
            // SAFETY: the node is a kernel, and the attribute an int.
            unsafe { sys::cuGraphKernelNodeSetAttribute(node, attribute, &value) }
                .or_driver(id, "cuGraphKernelNodeSetAttribute")?;
        }
    }
    Ok(())
}

/// Makes these nodes, of the graph that the stream captures, the dependencies of what is enqueued next.
fn set_dependencies(id: &str, stream: sys::CUstream, mut nodes: Vec<CUgraphNode>) -> DeviceResult<()> {
    // SAFETY: the stream is capturing, and the nodes are of its graph.
    unsafe {
        sys::cuStreamUpdateCaptureDependencies_v2(
            stream,
            nodes.as_mut_ptr(),
            ptr::null(),
            nodes.len(),
            SET_DEPENDENCIES,
        )
    }
    .or_driver(id, "cuStreamUpdateCaptureDependencies")
}

/// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`: replaces the dependencies.
const SET_DEPENDENCIES: u32 = 1;

/// The nodes on which the next captured node would depend: those of the step just captured.
fn captured_last(id: &str, stream: sys::CUstream) -> DeviceResult<Vec<CUgraphNode>> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut graph, mut nodes, mut edges) = (ptr::null_mut(), ptr::null(), ptr::null());
    let mut count = 0usize;
    // SAFETY: the stream is capturing; the driver writes to the variables above, and its list of nodes is
    // valid until the stream is used again.
    let list = unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream,
            &mut status,
            ptr::null_mut(),
            &mut graph,
            &mut nodes,
            &mut edges,
            &mut count,
        )
        .or_driver(id, "cuStreamGetCaptureInfo")?;
        if nodes.is_null() || count == 0 { &[] } else { std::slice::from_raw_parts(nodes, count) }
    };
    Ok(list.to_vec())
}

/// Enqueues the work of a step; a kernel as a programmatic dependent if `dependent`.
pub(crate) fn enqueue(
    id: &str,
    stream: sys::CUstream,
    work: &CudaStepKind,
    dependent: bool,
) -> DeviceResult<()> {
    match work {
        CudaStepKind::Launch(launch) => enqueue_launch(id, stream, launch, dependent),
        CudaStepKind::Vendor(step) => step.enqueue(stream),
        CudaStepKind::Copy { source, target, bytes } => {
            // SAFETY: both regions were checked to lie in memory of the queue.
            unsafe { sys::cuMemcpyDtoDAsync_v2(*target, *source, *bytes, stream) }
                .or_driver(id, "cuMemcpyDtoDAsync")
        }
        CudaStepKind::Clear { target, bytes } => {
            // SAFETY: the region was checked to lie in memory of the queue.
            unsafe { sys::cuMemsetD8Async(*target, 0, *bytes, stream) }.or_driver(id, "cuMemsetD8Async")
        }
    }
}

/// Launches a kernel; as a programmatic dependent if `dependent`.
pub(crate) fn enqueue_launch(
    id: &str,
    stream: sys::CUstream,
    launch: &CudaLaunch,
    dependent: bool,
) -> DeviceResult<()> {
    let mut pointers: Vec<*mut c_void> = match launch.packed {
        true => vec![launch.args.as_ptr().cast_mut().cast()],
        false => launch.args.iter().map(|a| ptr::from_ref(a).cast_mut().cast()).collect(),
    };
    // SAFETY: plain data, for which zeros are a value.
    let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
    attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    let config = sys::CUlaunchConfig {
        gridDimX: launch.grid[0],
        gridDimY: launch.grid[1],
        gridDimZ: launch.grid[2],
        blockDimX: launch.block[0],
        blockDimY: launch.block[1],
        blockDimZ: launch.block[2],
        sharedMemBytes: launch.shared,
        hStream: stream,
        attrs: &mut attribute,
        numAttrs: u32::from(dependent),
    };
    // SAFETY: the kernel takes exactly these arguments: pointers, each to memory as long as its operand, and
    // scalars of at most a word, or a struct of as many words. The driver copies arguments and configuration
    // during the call.
    unsafe { sys::cuLaunchKernelEx(&config, launch.function, pointers.as_mut_ptr(), ptr::null_mut()) }
        .or_driver(id, "cuLaunchKernelEx")
}
