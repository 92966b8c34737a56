//! Binding: commands as steps with buffers, kernels with their arguments set.

use crate::cl::{self, Handle, Kernel, Program};
use crate::context::{OpenClContext, QueueKind};
use crate::memory::Span;
use crate::program::{BuildOptions, OpenClModule};
use crate::recording::{BufferAddress, BufferArgument, OpenClStep, Raw};
use ocl::ffi::{self, cl_mem};
use std::ffi::c_void;
use std::mem::size_of;
use std::ptr;
use std::sync::Arc;
use workalike_device::{
    Command, DeviceError, DeviceModule, DeviceResult, LibraryOp, Memory, Numerics, Region,
};
use workalike_kernels::Scalar;
use workalike_kernels::library::{Cumulate, Scatter, Sorting};
use workalike_kernels::nest::{Inst, Nest};
use workalike_kernels::print::library::LaunchArg;
use workalike_kernels::print::{KernelEntry, Target, TranslationUnit};

/// How a kernel is launched.
#[derive(Clone, Copy)]
struct Geometry {
    /// Groups of the launch.
    grid: [u64; 3],
    /// Work items of a group.
    group: [u32; 3],
    /// Whether it has no code of users, and so ends whatever memory holds.
    own: bool,
}

/// An argument with its memory.
enum BoundArgument {
    /// Two arguments: a buffer, and the byte at which the region starts.
    Memory(Region),
    Scalar(Scalar),
    /// Bytes of local memory.
    Local(u64),
}

impl BoundArgument {
    /// How many arguments of a kernel it is.
    fn arguments(&self) -> u64 {
        if matches!(self, BoundArgument::Memory(_)) { 2 } else { 1 }
    }
}

/// Binds commands, and collects the memory and the programs that must outlive them.
pub(crate) struct OpenClBinder<'a> {
    pub(crate) context: &'a Arc<OpenClContext>,
    pub(crate) module: Option<&'a Arc<dyn DeviceModule>>,
    pub(crate) queue_kind: QueueKind,
    pub(crate) target: &'a Target,
    pub(crate) memory: Vec<Arc<dyn Memory>>,
    /// The programs of library ops, which stay in the list of builds while a recording has them.
    pub(crate) programs: Vec<Arc<Handle<Program>>>,
}

impl OpenClBinder<'_> {
    /// The step of a command; `None` if there is nothing to do.
    pub(crate) fn step(&mut self, command: &Command) -> DeviceResult<Option<OpenClStep>> {
        match command {
            Command::Launch { nest, args } => self.launch(*nest, args),
            Command::Copy { source, target } => {
                let (source, bytes) = self.place(source, "copy")?;
                let (target, _) = self.place(target, "copy")?;
                Ok((bytes > 0).then_some(OpenClStep::Copy { source, target, bytes }))
            }
            Command::Clear { target } => {
                let (target, bytes) = self.place(target, "clear")?;
                // The largest pattern that divides offset and size: some drivers write one pattern per work
                // item.
                let pattern = 1 << (target.offset | bytes | 16).trailing_zeros();
                Ok((bytes > 0).then_some(OpenClStep::Clear { target, bytes, pattern }))
            }
            Command::Library { op, .. } => {
                Err(self.refuse("record", format!("{} is several steps", op.name())))
            }
        }
    }

    fn launch(&mut self, nest: usize, args: &[Region]) -> DeviceResult<Option<OpenClStep>> {
        let module = self.module.and_then(|m| m.downcast::<OpenClModule>());
        let Some(module) = module.filter(|m| m.is_of(self.context)) else {
            return Err(self.refuse("record", "the module was compiled by another device"));
        };
        let Some(entry) = module.entry(nest) else {
            return Err(self.refuse("record", format!("the module has no kernel {nest}")));
        };
        let own = module.nests.get(nest).is_some_and(|nest| !calls_functions(nest));
        let geometry = Geometry { grid: [entry.groups, 1, 1], group: [entry.group, 1, 1], own };
        let memory = args.iter().cloned().map(BoundArgument::Memory);
        let args: Vec<BoundArgument> =
            memory.chain(entry.sizes.iter().copied().map(BoundArgument::Scalar)).collect();
        self.launch_kernel(module, &entry.name, geometry, &args)
    }

    /// The launches of a library op. `args` are its operands, then its scratch memory.
    pub(crate) fn routine(&mut self, op: &dyn LibraryOp, args: &[&Region]) -> DeviceResult<Vec<OpenClStep>> {
        let Some(routine) = op.routine(self.target) else {
            let what = format!("{} as a library op", op.name());
            return Err(DeviceError::Unsupported { device: self.context.id.clone(), what });
        };
        let names = routine.launches.iter().map(|l| l.name.clone());
        let entries = names.map(|name| KernelEntry { name, groups: 1, group: 1, sizes: vec![] }).collect();
        let how = BuildOptions { queue_kind: self.queue_kind, numerics: Numerics::default() };
        let module = OpenClModule::build(self.context, how, TranslationUnit { text: routine.text, entries })?;
        self.programs.extend(module.program.clone());
        let own = op.downcast::<Cumulate>().is_some()
            || op.downcast::<Sorting>().is_some()
            || op.downcast::<Scatter>().is_some();
        let mut steps = Vec::new();
        for launch in &routine.launches {
            let bound = launch.args.iter().map(|arg| self.bind(op, args, arg));
            let bound = bound.collect::<DeviceResult<Vec<_>>>()?;
            let geometry = Geometry { grid: launch.grid, group: launch.group, own };
            steps.extend(self.launch_kernel(&module, &launch.name, geometry, &bound)?);
        }
        Ok(steps)
    }

    /// An argument of a routine's launch; `args` are the op's operands, then its scratch memory.
    fn bind(&self, op: &dyn LibraryOp, args: &[&Region], arg: &LaunchArg) -> DeviceResult<BoundArgument> {
        let part = match arg {
            LaunchArg::Memory(part) => part,
            LaunchArg::Scalar(scalar) => return Ok(BoundArgument::Scalar(*scalar)),
            LaunchArg::Local(bytes) => return Ok(BoundArgument::Local(*bytes)),
        };
        // Only a part of scratch memory could reach beyond its argument: operands were checked.
        match args.get(part.arg) {
            Some(arg) if part.offset + part.bytes <= arg.bytes => Ok(BoundArgument::Memory(Region {
                memory: arg.memory.clone(),
                offset: arg.offset + part.offset,
                bytes: part.bytes,
            })),
            _ => Err(self.refuse("record", format!("{} has no operand {}", op.name(), part.arg))),
        }
    }

    /// A kernel of a module with its arguments.
    fn launch_kernel(
        &mut self,
        module: &OpenClModule,
        name: &str,
        geometry: Geometry,
        args: &[BoundArgument],
    ) -> DeviceResult<Option<OpenClStep>> {
        if geometry.grid.contains(&0) {
            return Ok(None);
        }
        let kernel = module.kernel(name)?;
        let name = name.to_string();
        let expected = self.kernel_arguments(&kernel)?;
        let found: u64 = args.iter().map(BoundArgument::arguments).sum();
        if expected != found {
            let message = format!("{name} takes {expected} arguments, {found} were bound");
            return Err(self.refuse("record", message));
        }
        let (items, group) = self.sizes(&kernel, &name, geometry)?;
        let (mut bytes, mut local, mut at) = (0u64, 0u64, 0);
        let mut arguments = Vec::new();
        for arg in args {
            match arg {
                BoundArgument::Memory(region) => {
                    let (buffer, offset) = self.argument(region)?;
                    bytes = bytes.saturating_add(region.bytes);
                    let pointer = (&raw const buffer).cast();
                    self.set(&kernel, (&name, at), (size_of::<cl_mem>(), pointer), region.bytes)?;
                    let start = (&raw const offset).cast();
                    self.set(&kernel, (&name, at + 1), (size_of::<u64>(), start), region.bytes)?;
                    arguments.push(BufferArgument { at, buffer: Raw(buffer), offset, bytes: region.bytes });
                }
                BoundArgument::Scalar(scalar) => {
                    let bits = scalar.to_le_bytes();
                    self.set(&kernel, (&name, at), (scalar.dtype().size(), bits.as_ptr().cast()), 0)?;
                }
                BoundArgument::Local(size) => {
                    // The driver aligns each array for any type.
                    local = local.saturating_add((*size).max(1).next_multiple_of(128));
                    if local > self.target.local_memory {
                        let all = self.target.local_memory;
                        let what = format!("a launch of {name} with {size} bytes of local memory, of {all},");
                        return Err(DeviceError::Unsupported { device: self.context.id.clone(), what });
                    }
                    let size = usize::try_from((*size).max(1)).map_err(|e| self.refuse("record", e))?;
                    self.set(&kernel, (&name, at), (size, ptr::null()), 0)?;
                }
            }
            at += arg.arguments() as u32;
        }
        let own = geometry.own.then_some(arguments);
        Ok(Some(OpenClStep::Launch { kernel, name, items, group, bytes, own }))
    }

    /// The work items of a launch and of its groups.
    fn sizes(
        &self,
        kernel: &Handle<Kernel>,
        name: &str,
        Geometry { grid, group, .. }: Geometry,
    ) -> DeviceResult<([usize; 3], [usize; 3])> {
        let largest = self.largest_group(kernel)?;
        let work_items = group.iter().fold(1u64, |all, extent| all.saturating_mul(u64::from(*extent)));
        if !(1..=largest).contains(&work_items) {
            let message =
                format!("{name} wants groups of {work_items} work items, the device allows {largest} for it");
            return Err(self.refuse("record", message));
        }
        let group = group.map(|extent| extent as usize);
        let mut items = group;
        for (items, groups) in items.iter_mut().zip(grid) {
            *items = usize::try_from(groups).ok().and_then(|groups| groups.checked_mul(*items)).ok_or_else(
                || self.refuse("record", format!("{name} has {groups} groups, too many to count")),
            )?;
        }
        if items.iter().try_fold(1usize, |all, items| all.checked_mul(*items)).is_none() {
            return Err(self.refuse("record", format!("{name} has {grid:?} groups, too many to count")));
        }
        Ok((items, group))
    }

    /// Sets argument `at` of a kernel that no other thread uses yet, to `size` bytes at `value`, or to that
    /// much local memory if `value` is null. `bytes`: of device memory that it refers to.
    fn set(
        &self,
        kernel: &Handle<Kernel>,
        (name, at): (&str, u32),
        (size, value): (usize, *const c_void),
        bytes: u64,
    ) -> DeviceResult<()> {
        // SAFETY: the kernel is valid; `value` is null or points to a local of `launch_kernel` of that size,
        // which OpenCL copies. It checks the size against the argument's type.
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

    fn place(&mut self, region: &Region, call: &str) -> DeviceResult<(BufferAddress, usize)> {
        let span = Span::of(region, self.context, call)?;
        self.keep(region);
        Ok((BufferAddress { buffer: Raw(span.raw()), offset: span.offset }, span.bytes))
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
            let (device, question) = (self.context.device(self.queue_kind), ffi::CL_KERNEL_WORK_GROUP_SIZE);
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

/// Whether a Nest calls functions of users.
fn calls_functions(nest: &Nest) -> bool {
    let mut insts = nest.phases.iter().flat_map(|phase| &phase.block.insts);
    insts.any(|inst| matches!(inst, Inst::Call { .. }))
}
