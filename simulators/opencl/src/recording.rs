//! A recorded Segment: kernels with arguments set, copies and clears, enqueued in order at each replay.
//!
//! OpenCL's own command buffers are not used: drivers that have them differ in their binary interface, and
//! PoCL's enqueue the same commands again. Kernels are not launched before the first replay, because a launch
//! has effects; with drivers that finish compiling at the first launch, as PoCL does, the first replay is
//! slower.

use crate::cl::{self, Handle, Kernel};
use crate::context::{Context, Side};
use crate::memory::Span;
use crate::program::{How, OpenClModule};
use crate::queues::Queues;
use crate::timing::Timer;
use ocl::ffi::{self, cl_event, cl_int, cl_mem};
use std::ffi::c_void;
use std::fmt;
use std::mem::size_of;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::{
    Command, DeviceError, DeviceResult, LibraryOp, Memory, Module, Numerics, Recording, Region,
};
use workalike_kernels::print::{Entry, Source, Target};

/// One step, ready to be enqueued.
#[derive(Debug)]
enum Step {
    Launch { kernel: Handle<Kernel>, name: String, items: usize, group: usize, bytes: u64 },
    Copy { source: Place, target: Place, bytes: usize },
    Clear { target: Place, bytes: usize, pattern: usize },
}

/// A place in a buffer that the recording keeps alive.
#[derive(Debug)]
struct Place {
    buffer: Raw,
    offset: usize,
}

/// A buffer's handle that does not own a reference.
struct Raw(cl_mem);

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
    steps: Vec<(usize, Step)>,
    commands: usize,
    /// Made at the first use.
    timer: Option<Timer>,
    _memory: Vec<Arc<dyn Memory>>,
    _module: Option<Arc<dyn Module>>,
    side: Side,
    queues: Arc<Queues>,
    context: Arc<Context>,
}

impl OpenClRecording {
    /// Binds and prepares commands that [`check_commands`](workalike_device::command_check::check_commands)
    /// accepts.
    pub(crate) fn new(
        context: &Arc<Context>,
        queues: &Arc<Queues>,
        module: Option<&Arc<dyn Module>>,
        target: &Target,
        commands: &[Command],
    ) -> DeviceResult<OpenClRecording> {
        // Kernels run on the side for which they were compiled; copies without kernels go to the last side.
        let compiled = module.and_then(|m| m.as_any().downcast_ref::<OpenClModule>());
        let side = compiled.map_or_else(|| queues.last_side(), OpenClModule::side);
        let mut binder = Binder { context, module, side, target, memory: Vec::new() };
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
            timer: None,
            _memory: binder.memory,
            _module: module.cloned(),
            side,
            queues: queues.clone(),
            context: context.clone(),
        })
    }
}

impl Recording for OpenClRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        self.queues.on(self.side, |queue| {
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
            none => none.insert(Timer::new(&self.context, self.side)?),
        };
        let mut took = vec![Duration::ZERO; self.commands];
        let enqueue = |at: usize, queue, event| self.steps[at].1.enqueue(queue, id, event);
        let measured = timer.measure(self.steps.len(), enqueue)?;
        self.steps.iter().zip(measured).for_each(|((position, _), time)| took[*position] += time);
        Ok(took)
    }
}

impl Step {
    /// Enqueues the step. If `event` is not null, the event of the command is written there; the caller must
    /// release it.
    fn enqueue(&self, queue: *mut c_void, device: &str, event: *mut cl_event) -> DeviceResult<()> {
        let none = ptr::null();
        match self {
            Step::Launch { kernel, name, items, group, bytes } => {
                // SAFETY: all arguments of the kernel are set, to buffers that the recording holds; sizes are
                // one-dimensional.
                let status = unsafe {
                    ffi::clEnqueueNDRangeKernel(
                        queue,
                        kernel.raw(),
                        1,
                        ptr::null(),
                        items,
                        group,
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
            Step::Copy { source, target, bytes } => {
                let status = copy(queue, source, target, *bytes, event);
                cl::check_memory(device, "clEnqueueCopyBuffer", status, *bytes as u64)
            }
            Step::Clear { target, bytes, pattern } => {
                let status = clear(queue, target, *bytes, *pattern, event);
                cl::check_memory(device, "clEnqueueFillBuffer", status, *bytes as u64)
            }
        }
    }
}

/// Enqueues a copy of `bytes` bytes. For `event` see [`Step::enqueue`].
fn copy(queue: *mut c_void, source: &Place, target: &Place, bytes: usize, event: *mut cl_event) -> cl_int {
    let (from, to, none) = (source.buffer.0, target.buffer.0, ptr::null());
    // SAFETY: both places lie within buffers that the recording holds; OpenCL refuses an overlap.
    unsafe { ffi::clEnqueueCopyBuffer(queue, from, to, source.offset, target.offset, bytes, 0, none, event) }
}

/// Enqueues zeroing `bytes` bytes, a multiple of `pattern`, which is at most 16. For `event` see
/// [`Step::enqueue`].
fn clear(queue: *mut c_void, target: &Place, bytes: usize, pattern: usize, event: *mut cl_event) -> cl_int {
    let (to, none) = (target.buffer.0, ptr::null());
    let zeros = [0u64; 2];
    let from = zeros.as_ptr().cast();
    // SAFETY: the place lies within a buffer that the recording holds; `zeros` is at least as long as the
    // pattern, and is copied before the call returns.
    unsafe { ffi::clEnqueueFillBuffer(queue, to, from, pattern, target.offset, bytes, 0, none, event) }
}

/// Binds commands, and collects the memory that must outlive them.
struct Binder<'a> {
    context: &'a Arc<Context>,
    module: Option<&'a Arc<dyn Module>>,
    side: Side,
    target: &'a Target,
    memory: Vec<Arc<dyn Memory>>,
}

impl Binder<'_> {
    /// The step of a command; none if there is nothing to do.
    fn step(&mut self, command: &Command) -> DeviceResult<Option<Step>> {
        match command {
            Command::Launch { nest, args } => self.launch(*nest, args),
            Command::Copy { source, target } => {
                let (source, bytes) = self.place(source, "copy")?;
                let (target, _) = self.place(target, "copy")?;
                Ok((bytes > 0).then_some(Step::Copy { source, target, bytes }))
            }
            Command::Clear { target } => {
                let (target, bytes) = self.place(target, "clear")?;
                // The largest pattern that divides offset and size: some drivers write one pattern per work
                // item.
                let pattern = 1 << (target.offset | bytes | 16).trailing_zeros();
                Ok((bytes > 0).then_some(Step::Clear { target, bytes, pattern }))
            }
            Command::Library { op, .. } => {
                Err(self.refuse("record", format!("{} is several steps", op.name())))
            }
        }
    }

    fn launch(&mut self, nest: usize, args: &[Region]) -> DeviceResult<Option<Step>> {
        let module = self.module.and_then(|m| m.as_any().downcast_ref::<OpenClModule>());
        let Some(module) = module.filter(|m| m.is_of(self.context)) else {
            return Err(self.refuse("record", "the module was compiled by another device"));
        };
        let Some(entry) = module.entry(nest) else {
            return Err(self.refuse("record", format!("the module has no kernel {nest}")));
        };
        self.launch_entry(module, entry, args)
    }

    /// The launches of a library op. `args` are its operands, then its scratch memory.
    fn routine(&mut self, op: &dyn LibraryOp, args: &[&Region]) -> DeviceResult<Vec<Step>> {
        let Some(routine) = op.routine(self.target) else {
            let what = format!("{} as a library op", op.name());
            return Err(DeviceError::Unsupported { device: self.context.id.clone(), what });
        };
        let entries = routine.launches.iter().map(|l| l.entry.clone()).collect();
        let how = How { side: self.side, numerics: Numerics::default() };
        let module = OpenClModule::build(self.context, how, Source { text: routine.text, entries })?;
        let mut steps = Vec::new();
        for launch in &routine.launches {
            // Only a part of scratch memory could reach beyond its argument: operands were checked.
            let regions = launch.args.iter().map(|part| match args.get(part.arg) {
                Some(arg) if part.offset + part.bytes <= arg.bytes => Ok(Region {
                    memory: arg.memory.clone(),
                    offset: arg.offset + part.offset,
                    bytes: part.bytes,
                }),
                _ => Err(self.refuse("record", format!("{} has no operand {}", op.name(), part.arg))),
            });
            let regions = regions.collect::<DeviceResult<Vec<_>>>()?;
            steps.extend(self.launch_entry(&module, &launch.entry, &regions)?);
        }
        Ok(steps)
    }

    /// A kernel of a module with its operands.
    fn launch_entry(
        &mut self,
        module: &OpenClModule,
        entry: &Entry,
        args: &[Region],
    ) -> DeviceResult<Option<Step>> {
        if entry.groups == 0 {
            return Ok(None);
        }
        let kernel = module.kernel(entry)?;
        let name = entry.name.clone();
        let expected = self.kernel_arguments(&kernel)?;
        // A buffer and an offset for each operand.
        if expected != 2 * args.len() as u64 {
            let message = format!("{name} takes {} operands, {} were bound", expected / 2, args.len());
            return Err(self.refuse("record", message));
        }
        let group = entry.group as usize;
        let largest = self.largest_group(&kernel)?;
        if group == 0 || group as u64 > largest {
            let message =
                format!("{name} wants groups of {group} work items, the device allows {largest} for it");
            return Err(self.refuse("record", message));
        }
        let items = usize::try_from(entry.groups).ok().and_then(|groups| groups.checked_mul(group));
        let Some(items) = items else {
            return Err(
                self.refuse("record", format!("{name} has {} groups, too many to count", entry.groups))
            );
        };
        let mut bytes = 0u64;
        for (operand, region) in args.iter().enumerate() {
            let (buffer, offset) = self.argument(region)?;
            bytes = bytes.saturating_add(region.bytes);
            let at = 2 * operand as u32;
            self.set(&kernel, &name, at, size_of::<cl_mem>(), (&raw const buffer).cast(), region.bytes)?;
            self.set(&kernel, &name, at + 1, size_of::<u64>(), (&raw const offset).cast(), region.bytes)?;
        }
        Ok(Some(Step::Launch { kernel, name, items, group, bytes }))
    }

    /// Sets one argument of a kernel that no other thread uses yet; `value` points to `size` bytes of the
    /// argument's type.
    fn set(
        &self,
        kernel: &Handle<Kernel>,
        name: &str,
        at: u32,
        size: usize,
        value: *const c_void,
        bytes: u64,
    ) -> DeviceResult<()> {
        // SAFETY: the kernel is valid; `value` points to a local of `launch_entry` of the type that the
        // printer gives this argument.
        let status = unsafe { ffi::clSetKernelArg(kernel.raw(), at, size, value) };
        cl::check_memory(&self.context.id, &format!("clSetKernelArg({name}, {at})"), status, bytes)
    }

    /// The buffer that a kernel gets for a region, and the byte offset of the region. Not a sub-buffer: one
    /// driver crashed when it released overlapping sub-buffers.
    fn argument(&mut self, region: &Region) -> DeviceResult<(cl_mem, u64)> {
        let span = Span::of(region, self.context, "record")?;
        self.keep(region);
        Ok((span.raw(), region.offset))
    }

    fn place(&mut self, region: &Region, call: &str) -> DeviceResult<(Place, usize)> {
        let span = Span::of(region, self.context, call)?;
        self.keep(region);
        Ok((Place { buffer: Raw(span.raw()), offset: span.offset }, span.bytes))
    }

    fn keep(&mut self, region: &Region) {
        if !self.memory.iter().any(|kept| Arc::ptr_eq(kept, &region.memory)) {
            self.memory.push(region.memory.clone());
        }
    }

    fn kernel_arguments(&self, kernel: &Handle<Kernel>) -> DeviceResult<u64> {
        self.number("clGetKernelInfo", |size, value, written| {
            // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null.
            unsafe { ffi::clGetKernelInfo(kernel.raw(), ffi::CL_KERNEL_NUM_ARGS, size, value, written) }
        })
    }

    fn largest_group(&self, kernel: &Handle<Kernel>) -> DeviceResult<u64> {
        self.number("clGetKernelWorkGroupInfo", |size, value, written| {
            let (device, question) = (self.context.device(self.side), ffi::CL_KERNEL_WORK_GROUP_SIZE);
            // SAFETY: `cl::info` passes `size` writable bytes at `value`, or none and null; the kernel was
            // built for this device.
            unsafe { ffi::clGetKernelWorkGroupInfo(kernel.raw(), device, question, size, value, written) }
        })
    }

    fn number(&self, call: &str, query: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> DeviceResult<u64> {
        let answer = cl::info(query).map_err(|status| cl::error(&self.context.id, call, status))?;
        cl::number(&answer).ok_or_else(|| self.refuse(call, "the answer is not a number"))
    }

    fn refuse(&self, call: &str, message: impl ToString) -> DeviceError {
        DeviceError::driver(&self.context.id, call, message)
    }
}
