//! A Segment as a CUDA graph.
//!
//! Recording resolves every command to addresses, loads what libraries would load at the first use, and
//! captures the commands on a separate stream, so that work that other threads enqueue on the device's stream
//! is not captured with them. The graph is then replayed on the device's stream. A recording keeps the
//! memory, the kernels and the workspace it uses alive, and `nvrtc` keeps loaded the kernels of a recording.

use crate::capture::{Launch, Step, Work, capture, capture_timed, enqueue};
use crate::context::{OrDriver, Queue, lock};
use crate::convolution;
use crate::device::Recorder;
use crate::linalg::{self, Linalg};
use crate::matmul::Products;
use crate::memory::address;
use crate::module::CudaModule;
use crate::order::{Access, Range};
use crate::product;
use crate::routine;
use crate::timing::{Events, Timer};
use cudarc::driver::sys::CUgraphExec;
use cudarc::driver::{CudaFunction, result};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::{
    Command, DeviceError, DeviceResult, Matmul, Memory, Module, Recording, Region, Target,
};
use workalike_kernels::library::{Convolution, LibraryOp, LinearAlgebra};
use workalike_kernels::print;

/// What a replay does.
enum Ready {
    Nothing,
    /// Enqueues the steps, which are few, on the stream.
    Each,
    Graph(CUgraphExec),
}

/// A captured Segment.
pub(crate) struct CudaRecording {
    queue: Arc<Queue>,
    ready: Ready,
    /// The captured steps; [`Recording::timed`] captures them again with events.
    steps: Vec<Step>,
    commands: usize,
    recorder: Arc<Mutex<Recorder>>,
    /// Made at the first use.
    timer: Option<Timer>,
    _memory: Vec<Arc<dyn Memory>>,
    _functions: Vec<CudaFunction>,
    products: Option<Arc<Products>>,
}

// SAFETY: executable graphs and functions may be used from any thread, by one at a time; every method that
// uses them takes `&mut self`.
unsafe impl Send for CudaRecording {}

/// Records commands that [`check_commands`](workalike_device::command_check::check_commands) accepts; the
/// context must be current.
pub(crate) fn record(
    queue: &Arc<Queue>,
    recorder: &Arc<Mutex<Recorder>>,
    module: &Arc<dyn Module>,
    target: &print::Target,
    commands: &[Command],
) -> DeviceResult<CudaRecording> {
    let Some(module) = module.downcast::<CudaModule>() else {
        return Err(DeviceError::driver(
            queue.id(),
            "record",
            "the module was compiled by another kind of device",
        ));
    };
    let mut steps = Vec::with_capacity(commands.len());
    let mut functions: Vec<CudaFunction> = module.functions().cloned().collect();
    for (position, command) in commands.iter().enumerate() {
        for (work, access, function) in works(queue, recorder, module, target, command)? {
            steps.push(Step { command: position, work, access });
            functions.extend(function);
        }
    }
    let mut recording = CudaRecording {
        queue: queue.clone(),
        ready: Ready::Nothing,
        steps,
        commands: commands.len(),
        recorder: recorder.clone(),
        timer: None,
        _memory: distinct_memory(commands),
        _functions: functions,
        products: None,
    };
    recording.ready = match &recording.steps[..] {
        [] => Ready::Nothing,
        steps if are_few(steps) => Ready::Each,
        _ => Ready::Graph(recording.capture(&lock(recorder))?),
    };
    Ok(recording)
}

/// Whether the steps are a few kernels of users, copies and fills. Their recordings are often replayed once:
/// launching a kernel takes the host 3 us, a graph 2 us, but 50 us to make.
fn are_few(steps: &[Step]) -> bool {
    const FEW: usize = 4;
    let is_light = |step: &Step| match &step.work {
        Work::Launch(launch) => !launch.waits,
        Work::Copy { .. } | Work::Clear { .. } => true,
        _ => false,
    };
    steps.len() <= FEW && steps.iter().all(is_light)
}

/// The work of a command, the memory it accesses, and the kernel that was loaded for it, if any.
type Resolved = (Work, Access, Option<CudaFunction>);

/// A command as steps; empty if there is nothing to do.
fn works(
    queue: &Arc<Queue>,
    recorder: &Mutex<Recorder>,
    module: &CudaModule,
    target: &print::Target,
    command: &Command,
) -> DeviceResult<Vec<Resolved>> {
    if let Command::Library { op, inputs, target, scratch } = command
        && let Some(call) = op.downcast::<Convolution>()
    {
        // A new convolution is tried on the recorder's stream.
        let recorder = lock(recorder);
        let into = (target, scratch.as_ref());
        let (work, access) = convolution::resolve(queue, &recorder.cudnn, call, inputs, into)?;
        return Ok(vec![(work, access, None)]);
    }
    if let Command::Library { op, inputs, target: Target::Memory(results), scratch } = command
        && let Some(call) = op.downcast::<LinearAlgebra>()
    {
        let regions: Vec<&Region> = inputs.iter().chain(results).chain(scratch).collect();
        let recorder = lock(recorder);
        let (work, access) = linear_algebra(queue, &recorder.linalg, call, &regions)?;
        return Ok(vec![(work, access, None)]);
    }
    if let Command::Library { op, .. } = command
        && op.downcast::<Matmul>().is_none()
    {
        let launches = routine::launches(queue, target, &**op, &command.regions())?;
        let launches = launches.into_iter().map(|(work, access, function)| (work, access, Some(function)));
        return Ok(launches.collect());
    }
    let resolved = resolve(queue, module, command)?;
    Ok(resolved.map(|(work, access)| (work, access, None)).into_iter().collect())
}

/// Linear algebra on its operands and its scratch memory. The device's recorder must be locked.
fn linear_algebra(
    queue: &Arc<Queue>,
    linalg: &Arc<Linalg>,
    call: &LinearAlgebra,
    regions: &[&Region],
) -> DeviceResult<(Work, Access)> {
    let refuse = |message: String| DeviceError::driver(queue.id(), "record", message);
    let plan = linalg.plan(call).ok_or_else(|| refuse(format!("cuSOLVER does not do {call:?}")))?;
    let ranges = regions.iter().map(|region| range(queue, region)).collect::<DeviceResult<Vec<_>>>()?;
    let given = call.operands();
    let Some((operands, rest)) = ranges.split_at_checked(given.len()) else {
        return Err(refuse(format!("{} operands of {call:?}", regions.len())));
    };
    let (scratch, bytes) = rest.first().map_or((0, 0), |range| (range.start, range.bytes));
    if bytes < plan.scratch() {
        let least = plan.scratch();
        return Err(refuse(format!("{call:?} needs scratch memory of {least} bytes, got {bytes}")));
    }
    let at = linalg::At { operands: operands.iter().map(|range| range.start).collect(), scratch };
    let written = given.iter().map(|operand| operand.written).chain(rest.iter().map(|_| true));
    // Steps share the memory of the handles, so they must not run concurrently.
    let shared = linalg.shared().map(|range| (range, true));
    let access = accesses(ranges.iter().copied().zip(written).chain(shared));
    Ok((Work::LinearAlgebra { linalg: linalg.clone(), plan, at }, access))
}

/// The memories that commands use, each once: many commands share a few memories.
fn distinct_memory(commands: &[Command]) -> Vec<Arc<dyn Memory>> {
    let mut found: Vec<Arc<dyn Memory>> = Vec::new();
    for region in commands.iter().flat_map(Command::regions) {
        if !found.iter().any(|known| Arc::ptr_eq(known, &region.memory)) {
            found.push(region.memory.clone());
        }
    }
    found
}

/// The addresses of a region.
pub(crate) fn range(queue: &Arc<Queue>, region: &Region) -> DeviceResult<Range> {
    Ok(Range { start: address(queue, region, "record")?, bytes: region.bytes })
}

/// The access to ranges, each given with whether it is written.
pub(crate) fn accesses(ranges: impl IntoIterator<Item = (Range, bool)>) -> Access {
    let mut access = Access::default();
    for (range, written) in ranges {
        // A written range may be read as well; a write has all dependencies of a read.
        if written { access.writes.push(range) } else { access.reads.push(range) }
    }
    access
}

fn resolve(
    queue: &Arc<Queue>,
    module: &CudaModule,
    command: &Command,
) -> DeviceResult<Option<(Work, Access)>> {
    let refuse = |message: String| Err(DeviceError::driver(queue.id(), "record", message));
    let bytes_of = |region: &Region| {
        usize::try_from(region.bytes).map_err(|e| DeviceError::driver(queue.id(), "record", e))
    };
    Ok(match command {
        Command::Launch { nest, args } => {
            let Some(kernel) = module.kernel(*nest) else {
                return refuse(format!("there is no Nest {nest} in this module"));
            };
            let regions = args.iter().map(|r| range(queue, r)).collect::<DeviceResult<Vec<_>>>()?;
            let addresses = regions.iter().map(|r| r.start);
            let args = addresses.chain(kernel.sizes.iter().map(|size| size.bits())).collect();
            kernel.function.as_ref().map(|f| {
                let launch = Launch::printed(f.cu_function(), (kernel.groups, kernel.group), args);
                let touched = regions.into_iter().zip(&kernel.written);
                (Work::Launch(launch), accesses(touched.map(|(r, w)| (r, *w))))
            })
        }
        Command::Library { op, inputs, target, .. } => match (op.downcast::<Matmul>(), &inputs[..]) {
            (Some(product), [a, b]) => product::resolve(queue, product, [a, b], target)?,
            _ => return refuse(format!("{} of {} operands", op.name(), inputs.len())),
        },
        Command::Copy { source, target } => {
            let bytes = bytes_of(source)?;
            let (source, target) = (range(queue, source)?, range(queue, target)?);
            let access = accesses([(source, false), (target, true)]);
            let (source, target) = (source.start, target.start);
            (bytes > 0).then_some((Work::Copy { source, target, bytes }, access))
        }
        Command::Clear { target } => {
            let bytes = bytes_of(target)?;
            let target = range(queue, target)?;
            let access = accesses([(target, true)]);
            (bytes > 0).then_some((Work::Clear { target: target.start, bytes }, access))
        }
    })
}

impl CudaRecording {
    /// Loads what the steps use, and captures them. The context must be current.
    fn capture(&mut self, recorder: &Recorder) -> DeviceResult<CUgraphExec> {
        // An error of earlier work is reported as such, not as a failed capture.
        self.queue.synchronize()?;
        for step in &self.steps {
            if let Work::Convolution { cudnn, plan, at } = &step.work {
                cudnn.prepare(plan, *at)?;
            }
        }
        if self.steps.iter().any(|step| matches!(step.work, Work::Matmul { .. })) {
            let products = recorder.products()?;
            // All products share one workspace.
            let workspace = products.workspace();
            for step in &mut self.steps {
                if let Work::Matmul { plan, at } = &step.work {
                    products.prepare(plan, *at)?;
                    step.access.writes.push(workspace);
                }
            }
            self.products = Some(products);
        }
        let products = self.ready_products()?;
        capture(&self.queue, &recorder.capture, products, &self.steps)
    }

    /// The libraries for products, set to the stream that captures; `None` without products.
    fn ready_products(&self) -> DeviceResult<Option<&Products>> {
        let products = self.products.as_deref();
        products.map_or(Ok(()), Products::to_capture)?;
        Ok(products)
    }
}

impl Recording for CudaRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        let (id, stream) = (self.queue.id(), self.queue.stream.cu_stream());
        match &self.ready {
            Ready::Nothing => Ok(()),
            Ready::Graph(graph) => {
                self.queue.context.enter()?;
                // SAFETY: graph and stream are alive, and so are the memory and kernels that the graph uses.
                unsafe { result::graph::launch(*graph, stream) }.or_driver(id, "cuGraphLaunch")
            }
            Ready::Each => {
                self.queue.context.enter()?;
                self.steps.iter().try_for_each(|step| enqueue(id, stream, None, &step.work, false))
            }
        }
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let mut took = vec![Duration::ZERO; self.commands];
        if matches!(self.ready, Ready::Nothing) {
            return Ok(took);
        }
        self.queue.context.enter()?;
        if self.timer.is_none() {
            let recorder = lock(&self.recorder);
            self.queue.synchronize()?;
            let events = Events::new(&self.queue, self.steps.len())?;
            let products = self.ready_products()?;
            let graph = capture_timed(&self.queue, &recorder.capture, products, &self.steps, &events)?;
            self.timer = Some(Timer::new(graph, events));
        }
        if let Some(timer) = &mut self.timer {
            let measured = timer.run()?;
            self.steps.iter().zip(measured).for_each(|(step, time)| took[step.command] += time);
        }
        Ok(took)
    }
}

impl Drop for CudaRecording {
    fn drop(&mut self) {
        // Only `nvrtc` unloads kernels, which waits for them, and memory is freed in the order
        // of the stream: what was enqueued one by one may still run.
        let Ready::Graph(graph) = self.ready else { return };
        let context = &self.queue.context;
        if !context.enter_drop() {
            return;
        }
        // The next call finds an error of the graph.
        // SAFETY: the stream is alive.
        let _ = unsafe { result::stream::synchronize(self.queue.stream.cu_stream()) };
        // SAFETY: instantiated once, destroyed once.
        context.park(unsafe { result::graph::exec_destroy(graph) });
    }
}

impl fmt::Debug for CudaRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaRecording({}, {} steps)", self.queue.id(), self.steps.len())
    }
}
