//! The host device with a memory budget that counts allocations, for tests.
#![allow(dead_code)] // each test binary uses what it needs

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use workalike::engine::device::{
    Command, Device, DeviceModule, DeviceResult, LibraryOp, Memory, Numerics, Properties, Recording, Region,
};
use workalike::error::DeviceError;
use workalike::kernels::verify::Verified;
use workalike::prelude::*;

/// The counters of a [`Budget`].
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Bytes allocated and not freed.
    pub(crate) live: AtomicU64,
    /// Allocations so far.
    pub(crate) allocations: AtomicU64,
    /// Recordings so far.
    pub(crate) recordings: AtomicU64,
    /// Copies on the device outside recordings so far.
    pub(crate) copies: AtomicU64,
}

impl Counts {
    pub(crate) fn live(&self) -> u64 {
        self.live.load(SeqCst)
    }
    pub(crate) fn allocations(&self) -> u64 {
        self.allocations.load(SeqCst)
    }
    pub(crate) fn recordings(&self) -> u64 {
        self.recordings.load(SeqCst)
    }
    pub(crate) fn copies(&self) -> u64 {
        self.copies.load(SeqCst)
    }
}

/// The host device with this many bytes of memory.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    pub(crate) bytes: u64,
    pub(crate) counts: Arc<Counts>,
}

impl Budget {
    pub(crate) fn of(bytes: u64) -> Budget {
        Budget { bytes, counts: Arc::default() }
    }
}

impl Open for Budget {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        let host = Host::threads(1).open()?;
        let properties = Properties {
            id: "budget".into(),
            memory: self.bytes,
            largest_allocation: self.bytes,
            ..host.properties().clone()
        };
        Ok(Arc::new(Limited { host, properties, counts: self.counts.clone() }))
    }
}

#[derive(Debug)]
struct Limited {
    host: Arc<dyn Device>,
    properties: Properties,
    counts: Arc<Counts>,
}

#[derive(Debug)]
struct Counted {
    memory: Arc<dyn Memory>,
    counts: Arc<Counts>,
}

impl Memory for Counted {
    fn bytes(&self) -> u64 {
        self.memory.bytes()
    }
    fn wrapped(&self) -> Option<&dyn Memory> {
        Some(&*self.memory)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counts.live.fetch_sub(self.memory.bytes(), SeqCst);
    }
}

/// The host device itself keeps blocks alive; here a recording holds the counted memory, as on other devices.
#[derive(Debug)]
struct Holding {
    recording: Box<dyn Recording>,
    _memory: Vec<Arc<dyn Memory>>,
}

impl Recording for Holding {
    fn replay(&mut self) -> DeviceResult<()> {
        self.recording.replay()
    }
    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        self.recording.timed()
    }
}

impl Device for Limited {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        let live = self.counts.live();
        if live + bytes > self.properties.memory {
            let available = format!("{live} of {} bytes are in use", self.properties.memory);
            return Err(DeviceError::OutOfMemory { device: "budget".into(), requested: bytes, available });
        }
        let memory = self.host.allocate(bytes)?;
        self.counts.live.fetch_add(bytes, SeqCst);
        self.counts.allocations.fetch_add(1, SeqCst);
        Ok(Arc::new(Counted { memory, counts: self.counts.clone() }))
    }
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        self.host.upload(source, target)
    }
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        self.host.download(source, target)
    }
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.counts.copies.fetch_add(1, SeqCst);
        self.host.copy(source, target)
    }
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.host.compile(nests, numerics)
    }
    fn record(
        &self,
        module: &Arc<dyn DeviceModule>,
        commands: &[Command],
    ) -> DeviceResult<Box<dyn Recording>> {
        self.counts.recordings.fetch_add(1, SeqCst);
        let memory = commands.iter().flat_map(Command::regions).map(|r| r.memory.clone()).collect();
        Ok(Box::new(Holding { recording: self.host.record(module, commands)?, _memory: memory }))
    }
    fn synchronize(&self) -> DeviceResult<()> {
        self.host.synchronize()
    }
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        self.host.library(op, epilogue)
    }
}
