//! The Device: in-order queues in the process's context for the hardware.

use crate::cl;
use crate::context::{OpenClContext, QueueKind};
use crate::interop;
use crate::interop::Foreign;
use crate::memory::{OpenClMemory, Span};
use crate::platform::{DeviceKind, PlatformDevice};
use crate::pocl;
use crate::program::{BuildOptions, OpenClModule};
use crate::queues::Queues;
use crate::recording::OpenClRecording;
use ocl::ffi;
use std::ptr;
use std::sync::Arc;
use workalike_device::command_check::{check_commands, check_copy, check_nests, check_transfer};
use workalike_device::{
    Command, Device, DeviceError, DeviceModule, DeviceResult, LibraryOp, Memory, NativeDevice, NativeMemory,
    Numerics, Owner, Properties, Recording, Region,
};
use workalike_kernels::DType;
use workalike_kernels::library::{Scatter, Sorting};
use workalike_kernels::nest::Store;
use workalike_kernels::print::{Dialect, ForSizes, Target, library, print};
use workalike_kernels::verify::Verified;

/// Estimated work items that a GPU's compute unit keeps in flight; vendors differ by a factor of two.
const LANES_PER_GPU_UNIT: u64 = 2048;

/// Instructions of a kernel, [`Properties::kernel_insts`]. PoCL inlines functions such as `sin`, and its
/// compile time is proportional to the square of their number: chains of sines and additions of 375, 750,
/// 1,500 and 3,000 instructions take 1, 2, 3.5 and 7 ms an instruction (PoCL 3.1, LLVM 15). A chain of 1,800
/// products and differences runs as fast when it is cut, on 100,000 elements and on 4 million.
const CPU_KERNEL_INSTS: usize = 512;
const GPU_KERNEL_INSTS: usize = 4096;

/// An OpenCL [`Device`].
#[derive(Debug)]
pub(crate) struct OpenClDevice {
    queues: Arc<Queues>,
    properties: Properties,
    target: Target,
    /// Declared after the queues, so that it is released after them.
    context: Arc<OpenClContext>,
}

impl OpenClDevice {
    /// New queues on a device.
    pub(crate) fn open(found: PlatformDevice) -> DeviceResult<OpenClDevice> {
        let context = OpenClContext::of(found)?;
        let queues = Queues::new(&context)?;
        Ok(OpenClDevice::of(context, queues))
    }

    /// A device on another library's context and queue.
    pub(crate) fn foreign(foreign: &Foreign) -> DeviceResult<OpenClDevice> {
        let (context, queue) = foreign.open()?;
        let queues = Queues::foreign(&context, queue);
        Ok(OpenClDevice::of(context, queues))
    }

    fn of(context: Arc<OpenClContext>, queues: Queues) -> OpenClDevice {
        let info = &context.info;
        let cpu = info.kind == DeviceKind::Cpu;
        let lanes = u64::from(info.units) * if cpu { 1 } else { LANES_PER_GPU_UNIT };
        let properties = Properties {
            name: info.name.clone(),
            id: context.id.clone(),
            driver: format!("{}, {}, driver {}", info.platform_name, info.version, info.driver),
            memory: info.memory,
            largest_allocation: info.largest_allocation,
            alignment: info.alignment,
            f64: info.f64,
            units: info.units,
            lanes,
            interprets: false,
            every_op: false,
            kernel_insts: if cpu { CPU_KERNEL_INSTS } else { GPU_KERNEL_INSTS },
            forward_progress: false,
        };
        let target = Target {
            dialect: Dialect::OpenClC,
            // Some drivers allow a kernel fewer work items than the device: GPUs allow every kernel 256.
            max_group: info.max_group.min(256),
            local_memory: info.local_memory,
            lanes,
            cpu,
            fast: false,
            sizes: ForSizes::One,
        };
        OpenClDevice { queues: Arc::new(queues), properties, target, context }
    }

    /// The context.
    #[cfg(test)]
    pub(crate) fn context(&self) -> &Arc<OpenClContext> {
        &self.context
    }

    /// Records commands without the checks of [`check_commands`], which the caller has made. Tests omit them.
    pub(crate) fn record_unchecked(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        Ok(Box::new(OpenClRecording::new(&self.context, &self.queues, Some(module), &self.target, commands)?))
    }

    /// Records commands whose library ops are printed for another target.
    #[cfg(test)]
    pub(crate) fn record_for(
        &self,
        target: &Target,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        Ok(Box::new(OpenClRecording::new(&self.context, &self.queues, None, target, commands)?))
    }

    /// Prints and builds Nests.
    fn module(&self, nests: &[Verified], numerics: Numerics, sizes: ForSizes) -> DeviceResult<OpenClModule> {
        if let Some(nest) = nests.iter().find(|nest| !self.properties.f64 && nest.uses_f64()) {
            let what = format!("float64, which the kernel {} needs,", nest.name);
            return Err(DeviceError::Unsupported { device: self.context.id.clone(), what });
        }
        check_nests(self, nests)?;
        let source = print(nests, &Target { fast: numerics.fast, sizes, ..self.target.clone() });
        if source.entries.len() != nests.len() {
            let message = format!("{} kernels were printed for {} Nests", source.entries.len(), nests.len());
            return Err(DeviceError::driver(&self.context.id, "print", message));
        }
        let how = BuildOptions { queue_kind: self.queues.queue_kind_for(nests), numerics };
        let mut module = OpenClModule::build(&self.context, how, source)?;
        module.nests = nests.to_vec();
        Ok(module)
    }
}

impl Device for OpenClDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        Ok(Arc::new(OpenClMemory::allocate(&self.context, bytes)?))
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        check_transfer(self, "upload", source.len(), target)?;
        let to = Span::of(target, &self.context, "upload")?;
        if to.bytes == 0 {
            return Ok(());
        }
        // Blocking, so that the caller may change `source` after the return. A copy to a staging buffer would
        // take as long as the wait.
        let (from, none, no_event) = (source.as_ptr().cast(), ptr::null(), ptr::null_mut());
        self.queues.on(self.queues.copying_queue_kind(), |queue| {
            // SAFETY: `source` is readable for `to.bytes` bytes until the call returns, and `to` lies within
            // its buffer.
            let status = unsafe {
                ffi::clEnqueueWriteBuffer(queue, to.raw(), 1, to.offset, to.bytes, from, 0, none, no_event)
            };
            cl::check_memory(&self.context.id, "clEnqueueWriteBuffer", status, target.bytes)
        })
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        check_transfer(self, "download", target.len(), source)?;
        let from = Span::of(source, &self.context, "download")?;
        if from.bytes == 0 {
            return self.synchronize();
        }
        let (to, none, no_event) = (target.as_mut_ptr().cast(), ptr::null(), ptr::null_mut());
        self.queues.on(self.queues.copying_queue_kind(), |queue| {
            // SAFETY: `target` is writable for `from.bytes` bytes until the call, which blocks, returns, and
            // `from` lies within its buffer.
            let status = unsafe {
                ffi::clEnqueueReadBuffer(queue, from.raw(), 1, from.offset, from.bytes, to, 0, none, no_event)
            };
            cl::check_memory(&self.context.id, "clEnqueueReadBuffer", status, source.bytes)
        })
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        check_copy(self, source, target)?;
        let command = Command::Copy { source: source.clone(), target: target.clone() };
        let mut recording =
            OpenClRecording::new(&self.context, &self.queues, None, &self.target, &[command])?;
        recording.replay()
    }

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        Ok(Arc::new(self.module(nests, numerics, ForSizes::One)?))
    }

    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        // PoCL finishes a kernel at its first launch, which would wait for the compiler once more, and closes
        // and opens kernels again and again where a process uses more than 128.
        if sizes == ForSizes::OneOfAny && self.context.info.platform_name == pocl::NAME {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.module(nests, numerics, sizes)?)))
    }
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let nests = module.downcast::<OpenClModule>().map(|module| &module.nests[..]);
        check_commands(self, nests.unwrap_or(&[]), commands)?;
        self.record_unchecked(module, commands)
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        op.verify().ok()?;
        // Ops that only move elements need no f64 arithmetic.
        let moves =
            op.downcast::<Sorting>().is_some() || op.downcast().is_some_and(|s: &Scatter| s.fold.is_none());
        let aligned = self.properties.alignment <= library::ALIGNMENT;
        (epilogue.is_none() && aligned && (self.properties.f64 || moves || op.dtype() != DType::F64))
            .then(|| op.routine_scratch(&self.target))?
    }

    fn adds_to(&self, dtype: DType) -> bool {
        let info = &self.context.info;
        let known = (dtype.size() == 4 || info.wide_atomics) && (dtype != DType::F64 || info.f64);
        // Floats are added by comparing and exchanging, again and again where many meet. GPUs fold them in
        // order in less time.
        let native = dtype.is_integer() || self.target.cpu;
        Store::can_add_to(dtype) && known && native
    }

    fn native(&self) -> Option<NativeDevice> {
        Some(NativeDevice::OpenCl {
            context: self.context.handle.raw(),
            device: self.context.device(QueueKind::Wide),
            queue: self.queues.share(),
        })
    }

    fn native_memory(&self, region: &Region) -> DeviceResult<NativeMemory> {
        let span = Span::of(region, &self.context, "native_memory")?;
        Ok(NativeMemory::OpenCl { memory: span.raw(), offset: region.offset })
    }

    unsafe fn adopt(&self, memory: NativeMemory, bytes: u64, owner: Owner) -> DeviceResult<Arc<dyn Memory>> {
        Ok(Arc::new(interop::adopt(&self.context, &self.queues, memory, bytes, owner)?))
    }

    /// Reports errors in kernels only if the driver returns them from `clFinish`.
    fn synchronize(&self) -> DeviceResult<()> {
        self.queues.finish()
    }
}

impl Drop for OpenClDevice {
    fn drop(&mut self) {
        // Enqueued work runs without a later wait. An error cannot be reported here.
        let _ = self.queues.flush();
    }
}
