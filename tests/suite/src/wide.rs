//! The host, passing for a device that takes hundreds of thousands of work items to fill: so that what the engine does for such
//! devices alone is run on every machine.

use std::sync::Arc;
use workalike::Result;
use workalike::kernels::nest::Nest;
use workalike::prelude::{Host, Open};
use workalike::rehost::device::{
    Command, Device, DeviceResult, Matmul, Memory, Module, Properties, Recording, Region,
};

/// Selects it.
#[derive(Clone, Copy, Debug)]
pub struct Wide;

impl Open for Wide {
    fn open(&self) -> Result<Arc<dyn Device>> {
        let host = Host::threads(1).open()?;
        let properties =
            Properties { units: 100, lanes: 100 * 2048, interprets: false, ..host.properties().clone() };
        Ok(Arc::new(WideHost { host, properties }))
    }
}

#[derive(Debug)]
struct WideHost {
    host: Arc<dyn Device>,
    properties: Properties,
}

impl Device for WideHost {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        self.host.allocate(bytes)
    }

    fn upload(&self, source: &[u8], target: &Region) -> DeviceResult<()> {
        self.host.upload(source, target)
    }

    fn download(&self, source: &Region, target: &mut [u8]) -> DeviceResult<()> {
        self.host.download(source, target)
    }

    fn copy(&self, source: &Region, target: &Region) -> DeviceResult<()> {
        self.host.copy(source, target)
    }

    fn compile(&self, nests: &[Arc<Nest>]) -> DeviceResult<Arc<dyn Module>> {
        self.host.compile(nests)
    }

    fn record(&self, module: &Arc<dyn Module>, commands: &[Command]) -> DeviceResult<Box<dyn Recording>> {
        self.host.record(module, commands)
    }

    fn synchronize(&self) -> DeviceResult<()> {
        self.host.synchronize()
    }

    fn has_matmul(&self, product: &Matmul) -> bool {
        self.host.has_matmul(product)
    }
}
