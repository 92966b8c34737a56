//! A recorded Segment: kernels with arguments set, copies and clears, enqueued in order at each replay.
//!
//! OpenCL's own command buffers are not used: drivers that have them differ in their binary interface, and
//! PoCL's enqueue the same commands again. Kernels are not launched on the recording's memory before the
//! first replay, because a launch has effects; with drivers that finish compiling at the first launch, as
//! PoCL does, the first replay is slower, unless [`crate::warm_up`] came before.

use crate::bind::OpenClBinder;
use crate::cl::{self, Handle, Kernel, Program};
use crate::context::{OpenClContext, QueueKind};
use crate::pocl;
use crate::program::OpenClModule;
use crate::queues::Queues;
use crate::timing::ProfilingQueue;
use crate::warm_up;
use ocl::ffi::{self, cl_event, cl_int, cl_mem};
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{Command, DeviceModule, DeviceResult, Memory, Recording, Region};
use workalike_kernels::print::Target;

/// One step, ready to be enqueued.
#[derive(Debug)]
pub(crate) enum OpenClStep {
    Launch {
        kernel: Handle<Kernel>,
        name: String,
        items: [usize; 3],
        group: [usize; 3],
        /// Of device memory that it refers to.
        bytes: u64,
        /// The arguments that are memory; `None` for kernels with code of users.
        own: Option<Vec<BufferArgument>>,
    },
    Copy {
        source: BufferAddress,
        target: BufferAddress,
        bytes: usize,
    },
    Clear {
        target: BufferAddress,
        bytes: usize,
        pattern: usize,
    },
}

/// An argument of a kernel that is memory: the buffer is argument `at`, the offset the one after it.
#[derive(Debug)]
pub(crate) struct BufferArgument {
    pub(crate) at: u32,
    pub(crate) buffer: Raw,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A place in a buffer that the recording keeps alive.
#[derive(Debug)]
pub(crate) struct BufferAddress {
    pub(crate) buffer: Raw,
    pub(crate) offset: usize,
}

/// A buffer's handle that does not own a reference.
pub(crate) struct Raw(pub(crate) cl_mem);

// SAFETY: buffers may be used from any thread; the recording keeps the handle's buffer alive.
unsafe impl Send for Raw {}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.0, f)
    }
}

/// A recorded Segment. It owns the memory, because kernels do not own the buffers that are bound to them.
#[derive(Debug)]
pub(crate) struct OpenClRecording {
    /// The steps, each with the position of its command.
    steps: Vec<(usize, OpenClStep)>,
    commands: usize,
    /// Whether the driver has compiled everything.
    finished: bool,
    /// Made at the first use.
    timer: Option<ProfilingQueue>,
    _memory: Vec<Arc<dyn Memory>>,
    _programs: Vec<Arc<Handle<Program>>>,
    _module: Option<Arc<dyn DeviceModule>>,
    queue_kind: QueueKind,
    queues: Arc<Queues>,
    context: Arc<OpenClContext>,
}

impl OpenClRecording {
    /// Binds and prepares commands that [`check_commands`](workalike_device::command_check::check_commands)
    /// accepts.
    pub(crate) fn new(
        context: &Arc<OpenClContext>,
        queues: &Arc<Queues>,
        module: Option<&Arc<dyn DeviceModule>>,
        target: &Target,
        commands: &[Command],
    ) -> DeviceResult<OpenClRecording> {
        // Kernels run on the side for which they were compiled; copies without kernels go to the last side.
        let compiled = module.and_then(|m| m.downcast::<OpenClModule>());
        let queue_kind = match compiled {
            Some(module) if module.program.is_some() => module.queue_kind(),
            Some(_) => {
                queues.queue_kind_for_bytes(commands.iter().flat_map(Command::regions).map(bytes).sum())
            }
            None => queues.last_queue_kind(),
        };
        let mut binder =
            OpenClBinder { context, module, queue_kind, target, memory: Vec::new(), programs: Vec::new() };
        let mut steps = Vec::with_capacity(commands.len());
        for (position, command) in commands.iter().enumerate() {
            if let Command::Library { op, .. } = command {
                let routine = binder.routine(&**op, &command.regions())?;
                steps.extend(routine.into_iter().map(|step| (position, step)));
            } else {
                steps.extend(binder.step(command)?.map(|step| (position, step)));
            }
        }
        Ok(OpenClRecording {
            steps,
            commands: commands.len(),
            finished: false,
            timer: None,
            _memory: binder.memory,
            _programs: binder.programs,
            _module: module.cloned(),
            queue_kind,
            queues: queues.clone(),
            context: context.clone(),
        })
    }
}

/// The size of a region, as a number of an estimate.
fn bytes(region: &Region) -> f64 {
    region.bytes as f64
}

impl Recording for OpenClRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        self.finished = true;
        self.queues.on(self.queue_kind, |queue| {
            for (_, step) in &self.steps {
                step.enqueue(queue, &self.context.id, ptr::null_mut())?;
            }
            // SAFETY: the queue is valid.
            cl::check(&self.context.id, "clFlush", unsafe { ffi::clFlush(queue) })
        })
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        let id = &self.context.id;
        // The timer has its own queue, which is not ordered with the others.
        self.queues.finish()?;
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(ProfilingQueue::new(&self.context, self.queue_kind)?),
        };
        let mut took = vec![Duration::ZERO; self.commands];
        let enqueue = |at: usize, queue, event| self.steps[at].1.enqueue(queue, id, event);
        let measured = timer.measure(self.steps.len(), enqueue)?;
        self.steps.iter().zip(measured).for_each(|((position, _), time)| took[*position] += time);
        Ok(took)
    }

    fn finish_compiling(&mut self) -> DeviceResult<()> {
        if self.finished || self.context.info.platform_name != pocl::NAME {
            return Ok(());
        }
        self.finished = true;
        self.queues.on(self.queue_kind, |queue| {
            let mut launches = self.steps.iter().map(|(_, step)| step);
            launches.try_for_each(|step| warm_up::rehearse(&self.context, queue, step))
        })
    }
}

impl OpenClStep {
    /// Enqueues the step. If `event` is not null, the event of the command is written there; the caller must
    /// release it.
    pub(crate) fn enqueue(&self, queue: *mut c_void, device: &str, event: *mut cl_event) -> DeviceResult<()> {
        let none = ptr::null();
        match self {
            OpenClStep::Launch { kernel, name, items, group, bytes, .. } => {
                // SAFETY: all arguments of the kernel are set, to buffers that the recording holds; both
                // sizes have three dimensions.
                let status = unsafe {
                    ffi::clEnqueueNDRangeKernel(
                        queue,
                        kernel.raw(),
                        3,
                        ptr::null(),
                        items.as_ptr(),
                        group.as_ptr(),
                        0,
                        none,
                        event,
                    )
                };
                if status != 0 {
                    return cl::check_memory(
                        device,
                        &format!("clEnqueueNDRangeKernel({name})"),
                        status,
                        *bytes,
                    );
                }
                Ok(())
            }
            OpenClStep::Copy { source, target, bytes } => {
                let status = copy(queue, source, target, *bytes, event);
                cl::check_memory(device, "clEnqueueCopyBuffer", status, *bytes as u64)
            }
            OpenClStep::Clear { target, bytes, pattern } => {
                let status = clear(queue, target, *bytes, *pattern, event);
                cl::check_memory(device, "clEnqueueFillBuffer", status, *bytes as u64)
            }
        }
    }
}

/// Enqueues a copy of `bytes` bytes. For `event` see [`OpenClStep::enqueue`].
fn copy(
    queue: *mut c_void,
    source: &BufferAddress,
    target: &BufferAddress,
    bytes: usize,
    event: *mut cl_event,
) -> cl_int {
    let (from, to, none) = (source.buffer.0, target.buffer.0, ptr::null());
    // SAFETY: both places lie within buffers that the recording holds; OpenCL refuses an overlap.
    unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, source.offset, target.offset, bytes, 0, none, event) }
}

/// Enqueues zeroing `bytes` bytes, a multiple of `pattern`, which is at most 16. For `event` see
/// [`OpenClStep::enqueue`].
fn clear(
    queue: *mut c_void,
    target: &BufferAddress,
    bytes: usize,
    pattern: usize,
    event: *mut cl_event,
) -> cl_int {
    let (to, none) = (target.buffer.0, ptr::null());
    let zeros = [0u64; 2];
    let from = zeros.as_ptr().cast();
    // SAFETY: the place lies within a buffer that the recording holds; `zeros` is at least as long as the
    // pattern, and is copied before the call returns.
    unsafe { ffi::clEnqueueFillBuffer(queue, to, from, pattern, target.offset, bytes, 0, none, event) }
}
