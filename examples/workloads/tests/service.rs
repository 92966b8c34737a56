//! The service with devices that fail while it answers.

#![allow(clippy::unwrap_used)] // tests

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;
use workalike::error::DeviceError;
use workalike::kernels::verify::Verified;
use workalike::prelude::*;
use workalike::rehost::device::{
    Command, Device, DeviceResult, LibraryOp, Memory, Module, Numerics, Properties, Recording, Region,
};
use workalike_examples::service::serve;

/// The host device, which fails after this many commands.
#[derive(Debug)]
struct Failing {
    host: Arc<dyn Device>,
    left: Arc<AtomicI64>,
}

fn count(left: &AtomicI64, call: &str) -> DeviceResult<()> {
    match left.fetch_sub(1, SeqCst) {
        ..=0 => Err(DeviceError::driver("failing", call, "the device fell off the bus")),
        _ => Ok(()),
    }
}

#[derive(Debug)]
struct Counted(Box<dyn Recording>, Arc<AtomicI64>);

impl Recording for Counted {
    fn replay(&mut self) -> DeviceResult<()> {
        count(&self.1, "replay")?;
        self.0.replay()
    }
    fn timed(&mut self) -> DeviceResult<Vec<Duration>> {
        count(&self.1, "timed")?;
        self.0.timed()
    }
}

impl Device for Failing {
    fn properties(&self) -> &Properties {
        self.host.properties()
    }
    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        count(&self.left, "allocate")?;
        self.host.allocate(bytes)
    }
    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        count(&self.left, "upload")?;
        self.host.upload(source, target)
    }
    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        count(&self.left, "download")?;
        self.host.download(source, target)
    }
    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        count(&self.left, "copy")?;
        self.host.copy(source, target)
    }
    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn Module>> {
        count(&self.left, "compile")?;
        self.host.compile(nests, numerics)
    }
    fn record(&self, module: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>> {
        count(&self.left, "record")?;
        Ok(Box::new(Counted(self.host.record(module, commands)?, self.left.clone())))
    }
    fn synchronize(&self) -> DeviceResult<()> {
        count(&self.left, "synchronize")?;
        self.host.synchronize()
    }
    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        self.host.library(op, epilogue)
    }
}

#[test]
fn no_answer_comes_from_mixed_weights() {
    serve(&Host::auto().open().unwrap(), 4, 250).unwrap();
}

/// At the start, while Programs are planned, and while serving: wherever the device fails, the host takes
/// over.
#[test]
fn a_device_that_fails_is_replaced_by_the_host() {
    for commands in [0, 3, 30, 100, 300, 1000] {
        let host = Host::auto().open().unwrap();
        let left = Arc::new(AtomicI64::new(commands));
        let device: Arc<dyn Device> = Arc::new(Failing { host, left: left.clone() });
        serve(&device, 3, 60).unwrap();
        assert!(left.load(SeqCst) < 0, "the device never failed");
    }
}
