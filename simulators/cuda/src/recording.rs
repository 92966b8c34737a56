//! A Segment as a CUDA graph.
//!
//! Recording resolves every command to addresses, loads what libraries would load at the first use, and
//! captures the commands on a separate stream, so that work that other threads enqueue on the device's stream
//! is not captured with them. The graph is then replayed on the device's stream. A recording keeps the
//! memory, the kernels and the workspace it uses alive, and `nvrtc` keeps loaded the kernels of a recording.

use crate::capture::{CudaGraph, CudaLaunch, CudaStep, CudaStepKind, capture, capture_timed, enqueue};
use crate::context::{Queue, lock};
use crate::dependencies::{AddressRange, MemoryAccess};
use crate::memory::address;
use crate::module::CudaModule;
use crate::routine;
use crate::timing::{Events, TimedGraph};
use crate::vendor::{CapturedExchanges, ErasedLibrary, Request, Streams, VendorStep, with_checks};
use cudarc::driver::CudaFunction;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{
    Command, DeviceError, DeviceModule, DeviceResult, LibraryOp, Memory, Recording, Region,
};
use workalike_kernels::print;

/// What a replay does.
enum ReplayAction {
    Nothing,
    /// Enqueues the steps, which are few, on the stream.
    Each,
    Graph(Arc<CudaGraph>),
}

/// A captured Segment.
pub(crate) struct CudaRecording {
    streams: Streams,
    ready: ReplayAction,
    /// Made at the first use.
    timer: Option<TimedGraph>,
    /// The steps; [`Recording::timed`] captures them one by one with events.
    steps: Vec<CudaStep>,
    /// What is captured otherwise, if there are exchanges: the same, with their checks.
    with_checks: Option<Vec<CudaStep>>,
    /// What the captured exchanges need.
    exchanges: CapturedExchanges,
    commands: usize,
    _memory: Vec<Arc<dyn Memory>>,
    _functions: Vec<CudaFunction>,
}

// SAFETY: executable graphs and functions may be used from any thread, by one at a time; every method that
// uses them takes `&mut self`.
unsafe impl Send for CudaRecording {}

/// Records commands that [`check_commands`](workalike_device::command_check::check_commands) accepts; the
/// context must be current.
pub(crate) fn record(
    streams: &Streams,
    libraries: &[Box<dyn ErasedLibrary>],
    module: &Arc<dyn DeviceModule>,
    target: &print::Target,
    commands: &[Command],
) -> DeviceResult<CudaRecording> {
    let queue = &streams.queue;
    let Some(module) = module.downcast::<CudaModule>() else {
        return Err(DeviceError::driver(
            queue.id(),
            "record",
            "the module was compiled by another kind of device",
        ));
    };
    let printed = |op: &dyn LibraryOp| libraries.iter().all(|library| library.scratch(op, None).is_none());
    let ops = commands.iter().filter_map(|command| match command {
        Command::Library { op, .. } => Some(&**op).filter(|op| printed(*op)),
        _ => None,
    });
    routine::compile_all(queue, target, ops);
    let mut steps = Vec::with_capacity(commands.len());
    let mut functions: Vec<CudaFunction> = module.functions().cloned().collect();
    for (position, command) in commands.iter().enumerate() {
        for (work, access, function) in works(queue, libraries, module, target, command)? {
            steps.push(CudaStep { command: position, work, access });
            functions.extend(function);
        }
    }
    let with_checks = with_checks(&steps);
    let mut recording = CudaRecording {
        streams: streams.clone(),
        ready: ReplayAction::Nothing,
        steps,
        with_checks,
        exchanges: CapturedExchanges::default(),
        commands: commands.len(),
        timer: None,
        _memory: distinct_memory(commands),
        _functions: functions,
    };
    match &recording.steps[..] {
        [] => {}
        steps if are_few(steps) => recording.ready = ReplayAction::Each,
        _ => recording.capture()?,
    }
    Ok(recording)
}

/// Whether the steps are a few kernels of users, copies and fills. Their recordings are often replayed once:
/// launching a kernel takes the host 3 us, a graph 2 us, but 50 us to make.
fn are_few(steps: &[CudaStep]) -> bool {
    const FEW: usize = 4;
    let is_light = |step: &CudaStep| match &step.work {
        CudaStepKind::Launch(launch) => !launch.waits,
        CudaStepKind::Copy { .. } | CudaStepKind::Clear { .. } => true,
        _ => false,
    };
    steps.len() <= FEW && steps.iter().all(is_light)
}

/// The work of a command, the memory it accesses, and the kernel that was loaded for it, if any.
type Resolved = (CudaStepKind, MemoryAccess, Option<CudaFunction>);

/// A command as steps; empty if there is nothing to do.
fn works(
    queue: &Arc<Queue>,
    libraries: &[Box<dyn ErasedLibrary>],
    module: &CudaModule,
    printed_for: &print::Target,
    command: &Command,
) -> DeviceResult<Vec<Resolved>> {
    let Command::Library { op, inputs, target, scratch } = command else {
        let resolved = resolve(queue, module, command)?;
        return Ok(resolved.map(|(work, access)| (work, access, None)).into_iter().collect());
    };
    let outputs = op.outputs();
    if !outputs.is_empty() && outputs.iter().all(|output| output.shape.contains(&0)) {
        return Ok(Vec::new());
    }
    let request = Request { op: &**op, inputs, target, scratch: scratch.as_ref() };
    for library in libraries {
        if let Some((step, access)) = library.bind(&request)? {
            return Ok(vec![(CudaStepKind::Vendor(step), access, None)]);
        }
    }
    let launches = routine::launches(queue, printed_for, &**op, &command.regions())?;
    Ok(launches.into_iter().map(|(work, access, function)| (work, access, Some(function))).collect())
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
pub(crate) fn range(queue: &Arc<Queue>, region: &Region) -> DeviceResult<AddressRange> {
    Ok(AddressRange { start: address(queue, region, "record")?, bytes: region.bytes })
}

/// The access to ranges, each given with whether it is written.
pub(crate) fn accesses(ranges: impl IntoIterator<Item = (AddressRange, bool)>) -> MemoryAccess {
    let mut access = MemoryAccess::default();
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
) -> DeviceResult<Option<(CudaStepKind, MemoryAccess)>> {
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
                let launch = CudaLaunch::printed(f.cu_function(), (kernel.groups, kernel.group), args);
                let touched = regions.into_iter().zip(&kernel.written);
                (CudaStepKind::Launch(launch), accesses(touched.map(|(r, w)| (r, *w))))
            })
        }
        // Never: [`works`] resolves these.
        Command::Library { op, .. } => return refuse(format!("{} as one command", op.name())),
        Command::Copy { source, target } => {
            let bytes = bytes_of(source)?;
            let (source, target) = (range(queue, source)?, range(queue, target)?);
            let access = accesses([(source, false), (target, true)]);
            let (source, target) = (source.start, target.start);
            (bytes > 0).then_some((CudaStepKind::Copy { source, target, bytes }, access))
        }
        Command::Clear { target } => {
            let bytes = bytes_of(target)?;
            let target = range(queue, target)?;
            let access = accesses([(target, true)]);
            (bytes > 0).then_some((CudaStepKind::Clear { target: target.start, bytes }, access))
        }
    })
}

impl CudaRecording {
    /// Loads what the steps use, and captures them. The context must be current.
    fn capture(&mut self) -> DeviceResult<()> {
        let streams = self.streams.clone();
        let _recorder = lock(&streams.recorder);
        // An error of earlier work is reported as such, not as a failed capture.
        streams.queue.synchronize()?;
        self.vendor_steps().try_for_each(VendorStep::prepare)?;
        let exchanges = CapturedExchanges::of(streams.queue.id(), self.vendor_steps())?;
        let steps = self.with_checks.as_ref().unwrap_or(&self.steps);
        let graph = capture(&streams, steps, &exchanges)?;
        exchanges.are_in(&graph);
        self.ready = ReplayAction::Graph(graph);
        self.exchanges = exchanges;
        Ok(())
    }

    fn vendor_steps(&self) -> impl Iterator<Item = &dyn VendorStep> {
        self.steps.iter().filter_map(|step| match &step.work {
            CudaStepKind::Vendor(step) => Some(&**step),
            _ => None,
        })
    }

    /// Captures the steps again if the members exchange arrays in another way than at the last capture.
    fn renew(&mut self) -> DeviceResult<()> {
        if self.exchanges.is_empty() {
            return Ok(());
        }
        self.streams.queue.context.enter()?;
        if self.exchanges.are_current(self.streams.queue.id())? {
            return Ok(());
        }
        (self.ready, self.timer) = (ReplayAction::Nothing, None);
        // If this fails, the exchanges are those of before, and the next replay tries again.
        self.capture()
    }
}

impl Recording for CudaRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        self.renew()?;
        let (id, stream) = (self.streams.queue.id(), self.streams.queue.stream.cu_stream());
        match &self.ready {
            ReplayAction::Nothing => Ok(()),
            ReplayAction::Graph(graph) => {
                self.streams.queue.context.enter()?;
                self.exchanges.begin();
                // The memory and kernels that it uses live as long as the recording.
                graph.launch().inspect_err(|_| self.exchanges.cancel())
            }
            ReplayAction::Each => {
                self.streams.queue.context.enter()?;
                self.steps.iter().try_for_each(|step| enqueue(id, stream, &step.work, false))
            }
        }
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let mut took = vec![Duration::ZERO; self.commands];
        self.renew()?;
        if matches!(self.ready, ReplayAction::Nothing) {
            return Ok(took);
        }
        self.streams.queue.context.enter()?;
        if self.timer.is_none() {
            let _recorder = lock(&self.streams.recorder);
            self.streams.queue.synchronize()?;
            let events = Events::new(&self.streams.queue, self.steps.len())?;
            let graph = capture_timed(&self.streams, &self.steps, &self.exchanges, &events)?;
            self.exchanges.are_in(&graph);
            self.timer = Some(TimedGraph::new(graph, events));
        }
        if let Some(timer) = &mut self.timer {
            self.exchanges.begin();
            timer.launch().inspect_err(|_| self.exchanges.cancel())?;
            let measured = timer.times()?;
            self.steps.iter().zip(measured).for_each(|(step, time)| took[step.command] += time);
        }
        Ok(took)
    }
}

impl Drop for CudaRecording {
    fn drop(&mut self) {
        // A graph waits for its stream when it is dropped. Only `nvrtc` unloads kernels, which waits for
        // them, and memory is freed in the order of the stream: what was enqueued one by one may still run.
        (self.ready, self.timer) = (ReplayAction::Nothing, None);
    }
}

impl fmt::Debug for CudaRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaRecording({}, {} steps)", self.streams.queue.id(), self.steps.len())
    }
}
