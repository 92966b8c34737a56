//! A device that fails on purpose.

use crate::command::{Command, Region};
use crate::device::{Device, DeviceModule, DeviceResult, Memory, Numerics, Properties, Recording};
use crate::error::DeviceError;
use crate::group::DirectTransport;
use crate::host_memory::{HostBlock, HostBytes};
use crate::native::{NativeDevice, NativeMemory, Owner};
use crate::open::{Open, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use workalike_kernels::DType;
use workalike_kernels::library::LibraryOp;
use workalike_kernels::print::ForSizes;
use workalike_kernels::verify::Verified;

/// A backend whose device works for so many commands and fails from then on, made by
/// [`Open::failing_after`].
#[derive(Clone, Debug)]
pub struct Failing<O> {
    backend: O,
    left: Arc<AtomicU64>,
}

impl<O: Open> Failing<O> {
    pub(crate) fn new(backend: O, commands: u64) -> Failing<O> {
        Failing { backend, left: Arc::new(AtomicU64::new(commands)) }
    }

    /// Whether a command failed, so far.
    pub fn has_failed(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }
}

impl<O: Open> Open for Failing<O> {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        Ok(Arc::new(FailingDevice { device: self.backend.open()?, left: self.left.clone() }))
    }

    fn options(&self) -> Options {
        self.backend.options()
    }
}

#[derive(Debug)]
struct FailingDevice {
    device: Arc<dyn Device>,
    left: Arc<AtomicU64>,
}

/// Counts a command, and fails if none are left.
fn count(left: &AtomicU64, device: &str, call: &str) -> DeviceResult<()> {
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)) {
        Ok(_) => Ok(()),
        Err(_) => Err(DeviceError::driver(device, call, "the device fails on purpose (failing_after)")),
    }
}

impl FailingDevice {
    fn count(&self, call: &str) -> DeviceResult<()> {
        count(&self.left, &self.device.properties().id, call)
    }
}

#[derive(Debug)]
struct FailingRecording {
    recording: Box<dyn Recording>,
    device: String,
    left: Arc<AtomicU64>,
}

impl Recording for FailingRecording {
    fn replay(&mut self) -> DeviceResult<()> {
        count(&self.left, &self.device, "replay")?;
        self.recording.replay()
    }

    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        count(&self.left, &self.device, "timed")?;
        self.recording.timed()
    }

    fn finish_compiling(&mut self) -> DeviceResult<()> {
        self.recording.finish_compiling()
    }
}

impl Device for FailingDevice {
    fn properties(&self) -> &Properties {
        self.device.properties()
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.count("allocate")?;
        self.device.allocate(bytes)
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        self.count("upload")?;
        self.device.upload(source, target)
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        self.count("download")?;
        self.device.download(source, target)
    }

    fn lend(&self, source: &Region) -> Option<Arc<dyn HostBytes>> {
        // What is downloaded instead reports the failure.
        if self.left.load(Ordering::SeqCst) == 0 { None } else { self.device.lend(source) }
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.count("copy")?;
        self.device.copy(source, target)
    }

    fn copy_from_peer(&self, source: &Region, target: &Region) -> DeviceResult<bool> {
        self.count("copy")?;
        self.device.copy_from_peer(source, target)
    }

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.count("compile")?;
        self.device.compile(nests, numerics)
    }

    fn compile_for(
        &self,
        sizes: ForSizes,
        nests: &[Verified],
        numerics: Numerics,
    ) -> DeviceResult<Option<Arc<dyn DeviceModule>>> {
        self.count("compile")?;
        self.device.compile_for(sizes, nests, numerics)
    }

    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        self.count("record")?;
        let recording = self.device.record(module, commands)?;
        let device = self.device.properties().id.clone();
        Ok(Box::new(FailingRecording { recording, device, left: self.left.clone() }))
    }

    fn synchronize(&self) -> DeviceResult<()> {
        self.count("synchronize")?;
        self.device.synchronize()
    }

    fn host_memory(&self, bytes: usize) -> Option<Box<dyn HostBlock>> {
        self.device.host_memory(bytes)
    }

    fn adds_to(&self, dtype: DType) -> bool {
        self.device.adds_to(dtype)
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        self.device.library(op, epilogue)
    }

    fn overwrites(&self, op: &dyn LibraryOp, result: usize) -> Option<usize> {
        self.device.overwrites(op, result)
    }

    fn direct_transport(&self) -> Option<Box<dyn DirectTransport>> {
        self.device.direct_transport()
    }

    fn global(&self, op: &dyn LibraryOp, name: &str) -> DeviceResult<Region> {
        self.count("global")?;
        self.device.global(op, name)
    }

    fn native(&self) -> Option<NativeDevice> {
        self.device.native()
    }

    fn native_memory(&self, region: &Region) -> DeviceResult<NativeMemory> {
        self.device.native_memory(region)
    }

    unsafe fn adopt(&self, memory: NativeMemory, bytes: u64, owner: Owner) -> DeviceResult<Arc<dyn Memory>> {
        self.count("adopt")?;
        // SAFETY: `adopt` of the device that this one wraps has the same `# Safety`, and the arguments are
        // passed on unchanged.
        unsafe { self.device.adopt(memory, bytes, owner) }
    }
}
