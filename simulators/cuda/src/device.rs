//! [`CudaDevice`]: the engine's [`Device`] on one stream of one GPU.

use crate::capture::{MAX_GROUP, SHARED_MEMORY};
use crate::context::{self, OrDriver, PrimaryContext, Queue};
use crate::memory::{ALIGNMENT, CudaMemory, address};
use crate::module::{CudaKernel, CudaModule, finish_loading};
use crate::pinned::{self, Pins};
use crate::staging::Staging;
use crate::vendor::{self, ErasedLibrary, GpuTransport, Streams};
use crate::{nvrtc, peer, preflight, recording};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::sync::Arc;
use workalike_device::command_check::{check_commands, check_copy, check_nests, check_transfer};
use workalike_device::group::{Collective, DirectTransport};
use workalike_device::{
    Command, Device, DeviceError, DeviceModule, DeviceResult, HostBlock, LibraryOp, Memory, NativeDevice,
    NativeMemory, Numerics, Owner, Properties, Recording, Region,
};
use workalike_kernels::DType;
use workalike_kernels::nest::Store;
use workalike_kernels::print::{Dialect, ForSizes, KernelEntry, Target, print_in_units};
use workalike_kernels::verify::Verified;

/// Instructions of a translation unit, and the most units that a Program has: NVRTC takes about a tenth of a
/// second for so many instructions, and compiles several units at the same time.
const UNITS: (usize, usize) = (256, 8);

/// One stream on a GPU. Several streams may share the GPU; nothing orders the work of two streams.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    properties: Properties,
    queue: Arc<Queue>,
    staging: Staging,
    pins: Arc<Pins>,
    streams: Streams,
    libraries: Vec<Box<dyn ErasedLibrary>>,
}

impl CudaDevice {
    /// A new stream on a device; `Missing` where there is no such device.
    pub(crate) fn open(ordinal: usize) -> DeviceResult<CudaDevice> {
        let context = context::of_device(ordinal)?;
        CudaDevice::on(Queue::new(context)?)
    }

    /// A device in another library's context, on its stream or on a new one.
    pub(crate) fn foreign(context: usize, stream: Option<usize>) -> DeviceResult<CudaDevice> {
        let context = context::of_handle(context)?;
        CudaDevice::on(match stream {
            Some(stream) => Queue::foreign(context, stream)?,
            None => Queue::new(context)?,
        })
    }

    fn on(queue: Arc<Queue>) -> DeviceResult<CudaDevice> {
        let context = queue.context.clone();
        context.enter()?;
        let properties = properties(&context)?;
        let streams = Streams::new(queue.clone())?;
        Ok(CudaDevice {
            properties,
            staging: Staging::new(queue.clone()),
            pins: Arc::default(),
            queue,
            libraries: vendor::all(&streams),
            streams,
        })
    }

    /// Prints, compiles and loads Nests.
    fn module(&self, nests: &[Verified], target: &Target, numerics: Numerics) -> DeviceResult<CudaModule> {
        check_nests(self, nests)?;
        let context = &self.queue.context;
        context.enter()?;
        let units = print_in_units(nests, target, UNITS);
        let entries: Vec<KernelEntry> = units.iter().flat_map(|unit| unit.entries.iter().cloned()).collect();
        if entries.len() != nests.len() {
            let message = format!("{} kernels were printed for {} Nests", entries.len(), nests.len());
            return Err(DeviceError::driver(self.id(), "compile", message));
        }
        let texts: Vec<String> = units.iter().map(|unit| unit.text.clone()).collect();
        let modules = match entries.iter().any(|e| e.groups > 0) {
            true => nvrtc::modules(context, &texts, numerics)?,
            false => vec![],
        };
        let of_units = modules.iter().zip(&units);
        let mut of_entries = of_units.flat_map(|(module, unit)| unit.entries.iter().map(move |_| module));
        let mut kernels = Vec::with_capacity(nests.len());
        for (entry, nest) in entries.iter().zip(nests) {
            let groups = i32::try_from(entry.groups).map_err(|_| DeviceError::Unsupported {
                device: self.id().into(),
                what: format!("a launch of {} blocks ({})", entry.groups, entry.name),
            })?;
            let function = match of_entries.next() {
                Some(module) if groups > 0 => {
                    let function = module.load_function(&entry.name);
                    let function =
                        function.or_driver(self.id(), &format!("cuModuleGetFunction({})", entry.name))?;
                    finish_loading(context, function.cu_function())?;
                    Some(function)
                }
                _ => None,
            };
            kernels.push(CudaKernel {
                function,
                groups: groups.unsigned_abs(),
                group: entry.group,
                sizes: entry.sizes.clone(),
                written: nest.operands.iter().map(|o| o.written).collect(),
            });
        }
        Ok(CudaModule { source: texts.concat(), kernels, nests: nests.to_vec() })
    }

    /// The target of the printer.
    fn target(&self, numerics: Numerics) -> Target {
        Target {
            dialect: Dialect::CudaCpp,
            max_group: MAX_GROUP,
            local_memory: SHARED_MEMORY,
            lanes: self.properties.lanes,
            cpu: false,
            fast: numerics.fast,
            sizes: ForSizes::One,
        }
    }

    fn id(&self) -> &str {
        self.queue.id()
    }
}

fn properties(context: &PrimaryContext) -> DeviceResult<Properties> {
    let cuda = &context.cuda;
    let attribute = |which: Attribute| -> DeviceResult<u32> {
        let value = cuda.attribute(which).or_driver(&context.id, "cuDeviceGetAttribute")?;
        Ok(u32::try_from(value).unwrap_or(0).max(1))
    };
    let units = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let threads = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
    let memory = cuda.total_mem().or_driver(&context.id, "cuDeviceTotalMem")? as u64;
    Ok(Properties {
        name: cuda.name().or_driver(&context.id, "cuDeviceGetName")?,
        id: context.id.clone(),
        driver: format!(
            "CUDA driver {}, NVRTC {}, compute capability {}.{}",
            preflight::version_text(context.driver),
            nvrtc::version().unwrap_or_else(|| "unknown".into()),
            context.capability / 10,
            context.capability % 10
        ),
        memory,
        largest_allocation: memory,
        alignment: ALIGNMENT,
        f64: true,
        units,
        lanes: u64::from(units) * u64::from(threads),
        interprets: false,
        every_op: false,
        kernel_insts: 4096,
        forward_progress: true,
    })
}

impl Device for CudaDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.queue.context.enter()?;
        Ok(CudaMemory::new(&self.queue, bytes)?)
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        check_transfer(self, "upload", source.len(), target)?;
        self.queue.context.enter()?;
        self.staging.upload(source, address(&self.queue, target, "upload")?)
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        check_transfer(self, "download", target.len(), source)?;
        self.queue.context.enter()?;
        let source = address(&self.queue, source, "download")?;
        if target.is_empty() {
            return self.queue.synchronize();
        }
        if self.pins.hold(target) {
            return pinned::download(&self.queue, source, target);
        }
        self.staging.download(source, target)
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        check_copy(self, source, target)?;
        self.queue.context.enter()?;
        let (from, to) = (address(&self.queue, source, "copy")?, address(&self.queue, target, "copy")?);
        if source.bytes == 0 {
            return Ok(());
        }
        // SAFETY: both regions lie in memory of this queue, whose size fits usize.
        unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, source.bytes as usize, self.queue.stream.cu_stream()) }
            .or_driver(self.id(), "cuMemcpyDtoDAsync")
    }

    fn copy_from_peer(&self, source: &Region, target: &Region) -> DeviceResult<bool> {
        if source.bytes != target.bytes {
            let message = format!("{} bytes to {}", source.bytes, target.bytes);
            return Err(DeviceError::driver(self.id(), "copy_from_peer", message));
        }
        peer::copy(&self.queue, source, target)
    }

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        Ok(Arc::new(self.module(nests, &self.target(numerics), numerics)?))
    }

    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        let target = Target { sizes, ..self.target(numerics) };
        Ok(Some(Arc::new(self.module(nests, &target, numerics)?)))
    }

    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        let nests = module.downcast::<CudaModule>().map(|module| &module.nests[..]);
        check_commands(self, nests.unwrap_or(&[]), commands)?;
        self.queue.context.enter()?;
        Ok(Box::new(recording::record(
            &self.streams,
            &self.libraries,
            module,
            &self.target(Numerics::default()),
            commands,
        )?))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        self.queue.context.enter()?;
        self.queue.synchronize()
    }

    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostBlock>> {
        self.pins.allocate(&self.queue.context, bytes)
    }

    /// Atomic adds to f64 need compute capability 6.0.
    fn adds_to(&self, dtype: DType) -> bool {
        Store::can_add_to(dtype) && (dtype != DType::F64 || self.queue.context.capability >= 60)
    }

    /// Reductions over members that the GPUs exchange by themselves.
    fn overwrites(&self, op: &dyn LibraryOp, result: usize) -> Option<usize> {
        Collective::of(op).filter(|op| op.group.needs_check() && op.is_all_reduce()).map(|_| result)
    }

    fn direct_transport(&self) -> Option<Box<dyn DirectTransport>> {
        // NCCL works in a GPU's primary context, and other GPUs' memory is accessed from there.
        let primary = context::of_device(self.queue.context.cuda.ordinal()).ok()?;
        let own = Some(&self.queue.context).filter(|own| Arc::ptr_eq(own, &primary));
        Some(Box::new(GpuTransport::on(own?)))
    }

    fn global(&self, op: &dyn LibraryOp, name: &str) -> DeviceResult<Region> {
        self.queue.context.enter()?;
        let Some(routine) = op.routine(&self.target(Numerics::default())) else {
            let what = format!("{}, which is in another language", op.name());
            return Err(DeviceError::Unsupported { device: self.id().into(), what });
        };
        let module = nvrtc::module(&self.queue.context, &routine.text, Numerics::default())?;
        CudaMemory::of_module(&self.queue, &module, name)
    }

    fn native(&self) -> Option<NativeDevice> {
        Some(NativeDevice::Cuda {
            ordinal: self.queue.context.cuda.ordinal(),
            context: self.queue.context.cuda.cu_ctx().cast(),
            stream: self.queue.stream.cu_stream().cast(),
        })
    }

    fn native_memory(&self, region: &Region) -> DeviceResult<NativeMemory> {
        Ok(NativeMemory::Cuda(address(&self.queue, region, "native_memory")?))
    }

    unsafe fn adopt(&self, memory: NativeMemory, bytes: u64, owner: Owner) -> DeviceResult<Arc<dyn Memory>> {
        let NativeMemory::Cuda(pointer) = memory else {
            let what = format!("memory that is not CUDA's ({memory:?})");
            return Err(DeviceError::Unsupported { device: self.id().into(), what });
        };
        self.queue.context.enter()?;
        Ok(CudaMemory::adopted(&self.queue, pointer, bytes, owner)?)
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        op.verify().ok()?;
        let form = epilogue.map(|(nest, operand)| (&**nest, operand));
        let scratch = self.libraries.iter().find_map(|library| library.scratch(op, form));
        match form {
            None => scratch.or_else(|| op.routine_scratch(&self.target(Numerics::default()))),
            // Routines have no epilogues.
            Some(_) => scratch,
        }
    }
}
