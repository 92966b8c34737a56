//! Matrix products through NVIDIA's libraries: cuBLASLt, else cuBLAS.
//!
//! `plan` finds how a library that thinks in columns sees a product, `light` (with its `words`) and `blas` call one library each, `choice` decides which of
//! cuBLASLt's algorithms computes a product, `kept` keeps that decision on disk.
//!
//! All products of a device object share one workspace, so that a captured product allocates nothing and gives the same bits each time.

mod blas;
mod choice;
mod kept;
mod light;
mod plan;
mod words;

pub(crate) use plan::{Plan, plan};

use crate::context::{Queue, lock};
use crate::memory::CudaMemory;
use crate::order::Range;
use crate::preflight;
use blas::Blas;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use light::{Algorithm, Light};
use plan::Call;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use workalike::error::DeviceError;
use workalike::rehost::cache::KernelCache;
use workalike::rehost::device::{DeviceResult, Memory};

/// How a call is computed.
#[derive(Clone, Copy, Debug)]
enum Way {
    Light(Algorithm),
    Blas,
}

/// The libraries' handles of one device object, their workspace, and how each product that was met is computed. Used by one thread at a
/// time: while it is made, and then while the device object's recorder is locked.
pub(crate) struct Products {
    /// The device's stream, on which products are tried.
    queue: Arc<Queue>,
    /// The stream on which they are captured.
    capture: Arc<Queue>,
    workspace: Arc<CudaMemory>,
    light: Option<Light>,
    /// Made when it is first needed.
    blas: Mutex<Option<Blas>>,
    ways: Mutex<HashMap<Call, Way>>,
}

impl Products {
    /// New handles for two streams, with memory of the first as workspace. One of the libraries must be present and the context current.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> DeviceResult<Products> {
        Products::with(queue, capture, preflight::cublas_lt().is_ok())
    }

    fn with(queue: &Arc<Queue>, capture: &Arc<Queue>, light: bool) -> DeviceResult<Products> {
        // NVIDIA's recommendation: 32 MiB from Hopper on, 4 MiB before.
        let bytes = if queue.context.capability >= 90 { 32 << 20 } else { 4 << 20 };
        let workspace = CudaMemory::new(queue, bytes)?;
        let products = Products {
            light: if light { Some(Light::new(queue, &workspace)?) } else { None },
            queue: queue.clone(),
            capture: capture.clone(),
            workspace,
            blas: Mutex::new(None),
            ways: Mutex::default(),
        };
        if !light {
            products.with_blas(|_| Ok(()))?;
        }
        Ok(products)
    }

    /// Has cuBLASLt load what it decides by, which takes a tenth of a second. What goes wrong is met again.
    pub(crate) fn acquaint(&self, plan: &Plan) {
        let Some(light) = &self.light else { return };
        // Where all begins at the best of addresses, which is likely.
        let Some((call, _)) = plan.calls([0; 3]).next() else { return };
        let place = kept::Place::of(&self.queue.context, light.version(), self.workspace_bytes());
        let kept = place.ok().and_then(|place| kept::load(KernelCache::of_process(), &place.key(&call)));
        match kept {
            Some(kept) => drop(light.accepts(&call, kept)),
            None => drop(light.candidates(&call)),
        }
    }

    /// Where the workspace lies.
    pub(crate) fn workspace(&self) -> Range {
        Range { start: self.workspace.pointer(), bytes: self.workspace.bytes() }
    }

    fn workspace_bytes(&self) -> u64 {
        self.workspace.bytes()
    }

    /// Sees to it that a product can be captured: decides how it is computed, and loads the kernels, which a capture may not do. Runs it
    /// on the device's stream, into scratch memory; the factors are only read.
    pub(crate) fn prepare(&self, plan: &Plan, addresses: [CUdeviceptr; 3]) -> DeviceResult<()> {
        for (call, [a, b, _]) in plan.calls(addresses) {
            if lock(&self.ways).contains_key(&call) {
                continue;
            }
            let way = self.way(&call, [a, b])?;
            lock(&self.ways).insert(call, way);
        }
        Ok(())
    }

    fn way(&self, call: &Call, factors: [u64; 2]) -> DeviceResult<Way> {
        if let Some(light) = &self.light
            && let Some(algorithm) = choice::choose(self, light, call, factors)?
        {
            return Ok(Way::Light(algorithm));
        }
        // Without scratch memory the kernels are loaded in the capture, if they can be; one that breaks says so.
        let scratch = self.scratch(call)?;
        self.with_blas(|blas| {
            let Some(scratch) = scratch else { return Ok(()) };
            blas.set_queue(&self.queue)?;
            blas.run(call, [factors[0], factors[1], scratch.pointer()])
        })?;
        Ok(Way::Blas)
    }

    /// Memory for a call's result; `None` if there is none to be had.
    fn scratch(&self, call: &Call) -> DeviceResult<Option<Arc<CudaMemory>>> {
        match CudaMemory::new(&self.queue, call.result_bytes()) {
            Ok(scratch) => Ok(Some(scratch)),
            Err(DeviceError::OutOfMemory { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn with_blas<T>(&self, then: impl FnOnce(&Blas) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut made = lock(&self.blas);
        if let Some(blas) = &*made {
            return then(blas);
        }
        preflight::cublas().map_err(|absent| DeviceError::Missing {
            device: self.queue.id().into(),
            why: absent.why,
            help: absent.help,
        })?;
        then(made.insert(Blas::new(&self.queue, &self.workspace)?))
    }

    /// From now on products are captured.
    pub(crate) fn to_capture(&self) -> DeviceResult<()> {
        lock(&self.blas).as_ref().map_or(Ok(()), |blas| blas.set_queue(&self.capture))
    }

    /// Captures a product that was prepared with these addresses, on the stream that captures. They are of memory of the queue, as long as
    /// [`Plan::bytes`] says.
    pub(crate) fn enqueue(
        &self,
        stream: CUstream,
        plan: &Plan,
        addresses: [CUdeviceptr; 3],
    ) -> DeviceResult<()> {
        for (call, addresses) in plan.calls(addresses) {
            let way = lock(&self.ways).get(&call).copied();
            match (way, &self.light) {
                (Some(Way::Light(algorithm)), Some(light)) => {
                    light.run(&call, algorithm, addresses, stream)?;
                }
                (Some(Way::Blas), _) => self.with_blas(|blas| blas.run(&call, addresses))?,
                _ => {
                    let message = format!("{call:?} was not prepared");
                    return Err(DeviceError::driver(self.queue.id(), "record", message));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Products({}, {:?})", self.queue.id(), lock(&self.ways))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::instantiate;
    use crate::context;
    use cudarc::driver::result;
    use workalike::dtype::DType;
    use workalike::rehost::device::Matmul;

    /// Small integers, so that every sum is exact in any order.
    fn small(count: u64, seed: u64) -> Vec<f32> {
        (0..count).map(|i| ((i * 7 + seed) % 9) as f32 - 4.0).collect()
    }

    /// A product by libraries of its own, captured and replayed.
    fn by(queue: &Arc<Queue>, capture: &Arc<Queue>, product: &Matmul, light: bool) -> Vec<f32> {
        let products = Products::with(queue, capture, light).unwrap();
        let plan = plan(product).unwrap();
        let bytes = plan.bytes();
        let memory = bytes.map(|bytes| CudaMemory::new(queue, bytes).unwrap());
        let addresses = [0, 1, 2].map(|at| memory[at].pointer());
        queue.synchronize().unwrap();
        for at in [0, 1] {
            // SAFETY: the memory is that long, and nothing else uses it.
            unsafe { result::memcpy_htod_sync(addresses[at], &small(bytes[at] / 4, at as u64)) }.unwrap();
        }
        products.prepare(&plan, addresses).unwrap();
        assert_eq!(products.light.is_some(), light);
        products.to_capture().unwrap();
        let graph = instantiate(queue, capture, |stream| products.enqueue(stream, &plan, addresses)).unwrap();
        // SAFETY: graph, stream and memory are alive; the graph is destroyed once, when it has run.
        unsafe {
            result::graph::launch(graph, queue.stream.cu_stream()).unwrap();
            queue.synchronize().unwrap();
            result::graph::exec_destroy(graph).unwrap();
        }
        let mut got = vec![0f32; (bytes[2] / 4) as usize];
        // SAFETY: the memory is that long, and nothing writes to it any more.
        unsafe { result::memcpy_dtoh_sync(&mut got, addresses[2]) }.unwrap();
        got
    }

    #[test]
    fn both_libraries_compute_the_same() {
        if preflight::driver().is_err() || preflight::cublas().is_err() || preflight::cublas_lt().is_err() {
            println!("ignored: no CUDA device with cuBLAS and cuBLASLt");
            return;
        }
        let context = context::of_device(0).unwrap();
        let (queue, capture) = (Queue::new(context.clone()).unwrap(), Queue::new(context).unwrap());
        let dtype = DType::F32;
        for product in [
            Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 500, 1], b: [0, 200, 1], fast: false },
            Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 1, 300], b: [0, 1, 503], fast: false },
            Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
            Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
        ] {
            let [with, without] = [true, false].map(|light| by(&queue, &capture, &product, light));
            assert_eq!(with, without, "{product:?}");
            assert!(with.iter().any(|v| *v != 0.0), "{product:?}");
        }
    }
}
