//! A Segment as a CUDA graph.
//!
//! Recording resolves every command to addresses, warms up what is loaded on first use, and captures all of it on a stream
//! of its own, so that what other threads enqueue on the device's stream meanwhile is not captured with it. The graph
//! is then replayed on the device's stream. A recording keeps the memory, the kernels and the workspace it uses.

use crate::capture::{Launch, Step, Work, capture};
use crate::context::{OrDriver, Queue};
use crate::device::{CudaModule, Recorder};
use crate::matmul::{Blas, plan};
use crate::memory::address;
use crate::order::{Access, Range};
use cudarc::driver::sys::CUgraphExec;
use cudarc::driver::{CudaFunction, result};
use std::fmt;
use std::sync::Arc;
use workalike::error::DeviceError;
use workalike::rehost::device::{Command, DeviceResult, Memory, Module, Recording, Region};

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
    let mut steps = steps;
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
    if steps.iter().any(|s| matches!(s.work, Work::Matmul { .. })) {
        let blas = recorder.blas(queue)?;
        for step in &steps {
            if let Work::Matmul { product, plan, a, b, .. } = &step.work {
                blas.warm_up(product, plan, *a, *b)?;
            }
        }
        blas.to_capture()?;
        // All products share one workspace.
        let workspace = blas.workspace();
        steps
            .iter_mut()
            .filter(|step| matches!(step.work, Work::Matmul { .. }))
            .for_each(|step| step.access.writes.push(workspace));
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

/// Where a region lies.
fn range(queue: &Arc<Queue>, region: &Region) -> DeviceResult<Range> {
    Ok(Range { start: address(queue, region, "record")?, bytes: region.bytes })
}

/// What is read, and what is written, of ranges that are one or the other.
fn accesses(ranges: impl IntoIterator<Item = (Range, bool)>) -> Access {
    let mut access = Access::default();
    for (range, written) in ranges {
        // What is written may be read as well; writing says it all.
        if written { access.writes.push(range) } else { access.reads.push(range) }
    }
    access
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
            let regions = args.iter().map(|r| range(queue, r)).collect::<DeviceResult<Vec<_>>>()?;
            let args = regions.iter().map(|r| r.start).collect();
            kernel.function.as_ref().map(|f| {
                let launch = Launch {
                    function: f.cu_function(),
                    groups: kernel.groups,
                    group: kernel.group,
                    args,
                };
                let touched = regions.into_iter().zip(&kernel.written);
                Step { work: Work::Launch(launch), access: accesses(touched.map(|(r, w)| (r, *w))) }
            })
        }
        Command::Matmul { product, a, b, c } => {
            let bytes = bytes_of(c)?;
            let regions = [a, b, c];
            let ranges = [range(queue, a)?, range(queue, b)?, range(queue, c)?];
            let [a, b, c] = ranges.map(|r| r.start);
            if bytes == 0 || product.batch == 0 || product.m == 0 || product.n == 0 {
                return Ok(None);
            }
            if product.k == 0 {
                let access = accesses([(ranges[2], true)]);
                return Ok(Some(Step { work: Work::Clear { target: c, bytes }, access }));
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
            let access = accesses(ranges.into_iter().zip([false, false, true]));
            Some(Step { work: Work::Matmul { product: product.clone(), plan, a, b, c }, access })
        }
        Command::Copy { source, target } => {
            if source.bytes != target.bytes {
                return refuse(format!("a copy of {} bytes to {} bytes", source.bytes, target.bytes));
            }
            let bytes = bytes_of(source)?;
            let (source, target) = (range(queue, source)?, range(queue, target)?);
            let access = accesses([(source, false), (target, true)]);
            let (source, target) = (source.start, target.start);
            (bytes > 0).then_some(Step { work: Work::Copy { source, target, bytes }, access })
        }
        Command::Clear { target } => {
            let bytes = bytes_of(target)?;
            let target = range(queue, target)?;
            let access = accesses([(target, true)]);
            (bytes > 0).then_some(Step { work: Work::Clear { target: target.start, bytes }, access })
        }
    })
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
