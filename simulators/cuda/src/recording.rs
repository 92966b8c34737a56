//! A Segment as a CUDA graph.
//!
//! Recording resolves every command to addresses, warms up what is loaded on first use, and captures all of it on a stream
//! of its own, so that what other threads enqueue on the device's stream meanwhile is not captured with it. The graph
//! is then replayed on the device's stream. A recording keeps the memory, the kernels and the workspace it uses.

use crate::context::{OrDriver, Queue};
use crate::device::{CudaModule, Recorder};
use crate::matmul::{Blas, Plan, plan};
use crate::memory::address;
use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUgraphExec};
use cudarc::driver::{CudaFunction, result};
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use workalike::error::DeviceError;
use workalike::rehost::device::{Command, DeviceResult, Matmul, Memory, Module, Recording, Region};

/// A command with addresses in place of regions. Commands with nothing to do have no step.
enum Step {
    Launch { function: CUfunction, groups: u32, group: u32, args: Vec<CUdeviceptr> },
    Matmul { product: Matmul, plan: Plan, a: CUdeviceptr, b: CUdeviceptr, c: CUdeviceptr },
    Copy { source: CUdeviceptr, target: CUdeviceptr, bytes: usize },
    Clear { target: CUdeviceptr, bytes: usize },
}

/// A captured Segment.
pub(crate) struct CudaRecording {
    queue: Arc<Queue>,
    /// `None`: nothing to do.
    graph: Option<CUgraphExec>,
    steps: usize,
    _memory: Vec<Arc<dyn Memory>>,
    _functions: Vec<CudaFunction>,
    _blas: Option<Arc<Blas>>,
}

// SAFETY: an executable graph may be used from any thread, by one at a time; `replay` takes `&mut self`.
unsafe impl Send for CudaRecording {}

/// Records commands; the context must be current.
pub(crate) fn record(
    queue: &Arc<Queue>,
    recorder: &mut Recorder,
    module: &Arc<dyn Module>,
    commands: &[Command],
) -> DeviceResult<CudaRecording> {
    let Some(module) = module.as_any().downcast_ref::<CudaModule>() else {
        return Err(DeviceError::driver(
            queue.id(),
            "record",
            "the module was compiled by another kind of device",
        ));
    };
    let steps: Vec<Step> = commands
        .iter()
        .map(|command| resolve(queue, module, command))
        .collect::<DeviceResult<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    let mut recording = CudaRecording {
        queue: queue.clone(),
        graph: None,
        steps: steps.len(),
        _memory: commands.iter().flat_map(regions).map(|r| r.memory.clone()).collect(),
        _functions: module.functions().cloned().collect(),
        _blas: None,
    };
    if steps.is_empty() {
        return Ok(recording);
    }
    // An error of earlier work is reported as such, not as a broken capture.
    queue.synchronize()?;
    if steps.iter().any(|s| matches!(s, Step::Matmul { .. })) {
        let blas = recorder.blas(queue)?;
        for step in &steps {
            if let Step::Matmul { product, plan, a, b, .. } = step {
                blas.warm_up(product, plan, *a, *b)?;
            }
        }
        blas.to_capture()?;
        recording._blas = Some(blas);
    }
    recording.graph = Some(capture(queue, &recorder.capture, recording._blas.as_deref(), &steps)?);
    Ok(recording)
}

fn regions(command: &Command) -> Vec<&Region> {
    match command {
        Command::Launch { args, .. } => args.iter().collect(),
        Command::Matmul { a, b, c, .. } => vec![a, b, c],
        Command::Copy { source, target } => vec![source, target],
        Command::Clear { target } => vec![target],
    }
}

fn resolve(queue: &Arc<Queue>, module: &CudaModule, command: &Command) -> DeviceResult<Option<Step>> {
    let refuse = |message: String| Err(DeviceError::driver(queue.id(), "record", message));
    let bytes_of = |region: &Region| {
        usize::try_from(region.bytes).map_err(|e| DeviceError::driver(queue.id(), "record", e))
    };
    Ok(match command {
        Command::Launch { nest, args } => {
            let Some(kernel) = module.kernel(*nest) else {
                return refuse(format!("there is no Nest {nest} in this module"));
            };
            if args.len() != kernel.least_bytes.len() {
                let name = &kernel.name;
                return refuse(format!(
                    "{name} takes {} regions, not {}",
                    kernel.least_bytes.len(),
                    args.len()
                ));
            }
            for (at, (region, least)) in args.iter().zip(&kernel.least_bytes).enumerate() {
                if region.bytes < *least {
                    let (name, given) = (&kernel.name, region.bytes);
                    return refuse(format!("operand {at} of {name} has {least} bytes, its region {given}"));
                }
            }
            let args = args.iter().map(|r| address(queue, r, "record")).collect::<DeviceResult<_>>()?;
            kernel.function.as_ref().map(|f| Step::Launch {
                function: f.cu_function(),
                groups: kernel.groups,
                group: kernel.group,
                args,
            })
        }
        Command::Matmul { product, a, b, c } => {
            let bytes = bytes_of(c)?;
            let regions = [a, b, c];
            let [a, b, c] =
                [address(queue, a, "record")?, address(queue, b, "record")?, address(queue, c, "record")?];
            if bytes == 0 || product.batch == 0 || product.m == 0 || product.n == 0 {
                return Ok(None);
            }
            if product.k == 0 {
                return Ok(Some(Step::Clear { target: c, bytes }));
            }
            let Some(plan) = plan(product) else {
                return Err(DeviceError::Unsupported {
                    device: queue.id().into(),
                    what: format!("the layout of {product:?}"),
                });
            };
            for (region, least) in regions.iter().zip(plan.bytes()) {
                if region.bytes < least {
                    return refuse(format!(
                        "{product:?} needs a region of {least} bytes, got {}",
                        region.bytes
                    ));
                }
            }
            Some(Step::Matmul { product: product.clone(), plan, a, b, c })
        }
        Command::Copy { source, target } => {
            if source.bytes != target.bytes {
                return refuse(format!("a copy of {} bytes to {} bytes", source.bytes, target.bytes));
            }
            let bytes = bytes_of(source)?;
            let (source, target) = (address(queue, source, "record")?, address(queue, target, "record")?);
            (bytes > 0).then_some(Step::Copy { source, target, bytes })
        }
        Command::Clear { target } => {
            let bytes = bytes_of(target)?;
            let target = address(queue, target, "record")?;
            (bytes > 0).then_some(Step::Clear { target, bytes })
        }
    })
}

/// Captures the steps on the recorder's stream, and makes the graph ready on the device's.
fn capture(queue: &Queue, capture: &Queue, blas: Option<&Blas>, steps: &[Step]) -> DeviceResult<CUgraphExec> {
    let id = queue.id();
    let stream = capture.stream.cu_stream();
    let captured = {
        let _apart = queue.context.capture();
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and only used under the recorder's lock.
        unsafe { result::stream::begin_capture(stream, mode) }.or_driver(id, "cuStreamBeginCapture")?;
        let enqueued = steps.iter().try_for_each(|step| enqueue(id, stream, blas, step));
        // The capture is ended whatever happened in it: a stream left capturing would be of no more use.
        // SAFETY: as above.
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
    // SAFETY: the graph is alive.
    let ready = unsafe { result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0)) };
    // SAFETY: the graph is ours; what was instantiated from it stands on its own.
    queue.context.park(unsafe { result::graph::destroy(graph) });
    let ready = ready.or_driver(id, "cuGraphInstantiate")?;
    // SAFETY: graph and stream are alive.
    let uploaded = unsafe { result::graph::upload(ready, queue.stream.cu_stream()) };
    if uploaded.is_err() {
        // SAFETY: it is ours and is not used again.
        queue.context.park(unsafe { result::graph::exec_destroy(ready) });
    }
    uploaded.or_driver(id, "cuGraphUpload")?;
    Ok(ready)
}

fn enqueue(id: &str, stream: sys::CUstream, blas: Option<&Blas>, step: &Step) -> DeviceResult<()> {
    match step {
        Step::Launch { function, groups, group, args } => {
            let mut pointers: Vec<*mut c_void> =
                args.iter().map(|a| ptr::from_ref(a).cast_mut().cast()).collect();
            // SAFETY: the kernel takes exactly these pointers, each to memory as long as its operand; the driver copies
            // them during the call.
            unsafe {
                sys::cuLaunchKernel(
                    *function,
                    *groups,
                    1,
                    1,
                    *group,
                    1,
                    1,
                    0,
                    stream,
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
            .or_driver(id, "cuLaunchKernel")
        }
        Step::Matmul { plan, a, b, c, .. } => match blas {
            Some(blas) => blas.enqueue(plan, *a, *b, *c),
            None => Err(DeviceError::driver(id, "record", "a matrix product without cuBLAS")),
        },
        Step::Copy { source, target, bytes } => {
            // SAFETY: both regions were checked to lie in memory of the queue.
            unsafe { sys::cuMemcpyDtoDAsync_v2(*target, *source, *bytes, stream) }
                .or_driver(id, "cuMemcpyDtoDAsync")
        }
        Step::Clear { target, bytes } => {
            // SAFETY: the region was checked to lie in memory of the queue.
            unsafe { sys::cuMemsetD8Async(*target, 0, *bytes, stream) }.or_driver(id, "cuMemsetD8Async")
        }
    }
}

impl Recording for CudaRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        let Some(graph) = self.graph else { return Ok(()) };
        self.queue.context.enter()?;
        // SAFETY: graph and stream are alive, and so is all that the graph touches.
        unsafe { result::graph::launch(graph, self.queue.stream.cu_stream()) }
            .or_driver(self.queue.id(), "cuGraphLaunch")
    }
}

impl Drop for CudaRecording {
    fn drop(&mut self) {
        let Some(graph) = self.graph else { return };
        let context = &self.queue.context;
        if !context.enter_drop() {
            return;
        }
        // The kernels may be unloaded next: none may be running then. An error in them is for the next call to find.
        // SAFETY: the stream is alive.
        let _ = unsafe { result::stream::synchronize(self.queue.stream.cu_stream()) };
        // SAFETY: instantiated once, destroyed once.
        context.park(unsafe { result::graph::exec_destroy(graph) });
    }
}

impl fmt::Debug for CudaRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaRecording({}, {} steps)", self.queue.id(), self.steps)
    }
}
