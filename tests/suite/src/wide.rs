//! A device, usually the host, that reports the parallelism of a large GPU, so that engine paths for such
//! devices run on every machine.

use std::sync::Arc;
use workalike::engine::device::{
    Device, DeviceModule, DeviceResult, LibraryOp, Matmul, Memory, Numerics, Properties, Region,
};
use workalike::kernels::custom::CustomLaunch;
use workalike::kernels::verify::Verified;
use workalike::prelude::{DType, Host, Open};

/// Selects the host.
#[derive(Clone, Copy, Debug)]
pub struct Wide;

impl Open for Wide {
    fn open(&self) -> DeviceResult<Arc<dyn Device>> {
        Ok(passing_for_wide(Host::threads(1).open()?))
    }
}

/// A device that reports hundreds of thousands of work items, and fills new memory with garbage.
pub fn passing_for_wide(inner: Arc<dyn Device>) -> Arc<dyn Device> {
    let properties =
        Properties { units: 100, lanes: 100 * 2048, interprets: false, ..inner.properties().clone() };
    Arc::new(WideDevice { inner, properties })
}

#[derive(Debug)]
struct WideDevice {
    inner: Arc<dyn Device>,
    properties: Properties,
}

impl Device for WideDevice {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn allocate(&self, bytes: u64) -> DeviceResult<Arc<dyn Memory>> {
        let memory = self.inner.allocate(bytes)?;
        // As a float the garbage is NaN, so results that depend on uninitialised memory are detected.
        let garbage = vec![0xFF; usize::try_from(bytes).unwrap_or(0)];
        self.inner.upload(&garbage, &Region { memory: memory.clone(), offset: 0, bytes })?;
        Ok(memory)
    }

    crate::forwards_to_inner!();

    fn compile(&self, nests: &[Verified], numerics: Numerics) -> DeviceResult<Arc<dyn DeviceModule>> {
        self.inner.compile(nests, numerics)
    }

    fn adds_to(&self, dtype: DType) -> bool {
        self.inner.adds_to(dtype)
    }

    fn library(&self, op: &dyn LibraryOp, epilogue: Option<(&Verified, usize)>) -> Option<u64> {
        // Other library ops are Nests here, as they are on GPUs; kernels of a program's own have no other
        // form.
        let own = || op.downcast::<CustomLaunch>().is_some();
        self.inner.library(op, epilogue).filter(|_| op.downcast::<Matmul>().is_some() || own())
    }
}
