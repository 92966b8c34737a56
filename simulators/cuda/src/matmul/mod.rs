//! Matrix products through NVIDIA's libraries: cuBLASLt, else cuBLAS.
//!
//! `plan` maps a row-major product to the libraries' column-major form, `epilogue` recognizes the elementwise
//! Nests that the libraries can apply to a product, `cublaslt` (with its `descriptors`) and `cublas` call one
//! library each, `autotune` chooses one of cuBLASLt's algorithms, `plan_cache` stores the choice on disk.
//!
//! All products of a device object share one workspace, so that a captured product allocates nothing and
//! gives the same bits each time.

mod autotune;
mod cublas;
mod cublaslt;
mod descriptors;
mod epilogue;
mod plan;
mod plan_cache;

pub(crate) use epilogue::linear;
pub(crate) use plan::{At, Plan, plan};
pub(crate) use plan_cache::Place;

use crate::context::{OrDriver, Queue, lock};
use crate::memory::CudaMemory;
use crate::order::Range;
use crate::preflight;
use cublas::Cublas;
use cublaslt::{Algorithm, CublasLt};
use cudarc::driver::result;
use cudarc::driver::sys::CUstream;
use plan::Call;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use workalike_device::cache::KernelCache;
use workalike_device::{DeviceError, DeviceResult, Matmul, Memory};
use workalike_kernels::DType;
use workalike_kernels::Scalar;

/// How a call is computed.
#[derive(Clone, Copy, Debug)]
enum Implementation {
    CublasLt(Algorithm),
    Cublas,
    /// Without its bias, which a second product adds: a column of ones times the bias as a row.
    SeparateBias,
}

/// The libraries' handles of one device object, their workspace, and the implementation chosen for each
/// product. One thread at a time uses it: the one that makes it, then the one that holds the lock of the
/// device object's recorder.
pub(crate) struct Products {
    /// The device's stream, on which products are tried.
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
    cublas_lt: Option<CublasLt>,
    /// Made at the first use. Dropped before the stream that it was set to last.
    cublas: Mutex<Option<Cublas>>,
    /// The stream on which products are captured.
    capture: Arc<Queue>,
    implementations: Mutex<HashMap<Call, Implementation>>,
    /// See [`Products::ones`].
    ones: Mutex<Vec<(DType, Arc<CudaMemory>)>>,
}

impl Products {
    /// New handles for two streams, with memory of the first as workspace. One of the libraries must be
    /// present and the context current.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> DeviceResult<Products> {
        Products::with(queue, capture, preflight::cublas_lt().is_ok())
    }

    fn with(queue: &Arc<Queue>, capture: &Arc<Queue>, cublas_lt: bool) -> DeviceResult<Products> {
        // NVIDIA's recommendation: 32 MiB from Hopper on, 4 MiB before.
        let bytes = if queue.context.capability >= 90 { 32 << 20 } else { 4 << 20 };
        let workspace = CudaMemory::new(queue, bytes)?;
        let products = Products {
            cublas_lt: if cublas_lt { Some(CublasLt::new(queue, &workspace)?) } else { None },
            queue: queue.clone(),
            capture: capture.clone(),
            workspace,
            cublas: Mutex::new(None),
            implementations: Mutex::default(),
            ones: Mutex::default(),
        };
        if !cublas_lt {
            products.with_cublas(|_| Ok(()))?;
        }
        Ok(products)
    }

    /// Makes cuBLASLt load its heuristics, which takes about 0.1 s. Errors are ignored: the first product
    /// meets them again.
    pub(crate) fn load_heuristics(&self, plan: &Plan) {
        let Some(cublas_lt) = &self.cublas_lt else { return };
        // For operands with the best alignment, which is likely.
        let Some((call, _)) = plan.calls(At::plain([0; 3])).next() else { return };
        let place = plan_cache::Place::of(&self.queue.context, cublas_lt.version(), self.workspace_bytes());
        let kept =
            place.ok().and_then(|place| plan_cache::load(KernelCache::of_process(), &place.key(&call)));
        match kept {
            Some(kept) => drop(cublas_lt.accepts(&call, kept)),
            None => drop(cublas_lt.candidates(&call)),
        }
    }

    /// The addresses of the workspace.
    pub(crate) fn workspace(&self) -> Range {
        Range { start: self.workspace.pointer(), bytes: self.workspace.bytes() }
    }

    fn workspace_bytes(&self) -> u64 {
        self.workspace.bytes()
    }

    /// Prepares a product for capture: chooses its implementation, and loads the kernels, which a capture may
    /// not do. Runs the product on the device's stream, into scratch memory; its operands are only read.
    pub(crate) fn prepare(&self, plan: &Plan, at: At) -> DeviceResult<()> {
        plan.calls(at).try_for_each(|(call, at)| self.prepare_call(&call, at))
    }

    fn prepare_call(&self, call: &Call, at: At) -> DeviceResult<()> {
        if lock(&self.implementations).contains_key(call) {
            return Ok(());
        }
        let implementation = self.choose(call, at)?;
        lock(&self.implementations).insert(*call, implementation);
        Ok(())
    }

    fn choose(&self, call: &Call, at: At) -> DeviceResult<Implementation> {
        if let Some(cublas_lt) = &self.cublas_lt
            && let Some(algorithm) = autotune::choose(self, cublas_lt, call, at)?
        {
            return Ok(Implementation::CublasLt(algorithm));
        }
        if call.bias.is_some() {
            for (call, at) in self.split_bias(call, at)? {
                self.prepare_call(&call, at)?;
            }
            return Ok(Implementation::SeparateBias);
        }
        // Without scratch memory the kernels are loaded in the capture, which fails if they cannot be.
        let scratch = self.scratch(call)?;
        self.with_cublas(|cublas| {
            let Some(scratch) = scratch else { return Ok(()) };
            cublas.set_queue(&self.queue)?;
            cublas.run(call, at.into(scratch.pointer()), self.queue.stream.cu_stream())
        })?;
        Ok(Implementation::Cublas)
    }

    /// A call with a bias as calls without one: the call without its bias, then `ones @ bias`, added in
    /// place.
    fn split_bias(&self, call: &Call, at: At) -> DeviceResult<Vec<(Call, At)>> {
        let mut calls = vec![(Call { bias: None, ..*call }, At { bias: None, ..at })];
        if let Some(bias) = at.bias {
            let (m, n) = (u64::from(call.m.unsigned_abs()), u64::from(call.n.unsigned_abs()));
            let (a, b) = ([0, 1, 1], [0, i64::from(call.n), 1]);
            // Not fast: TF32 would round the bias.
            let rows = Matmul { dtype: call.dtype, batch: 1, m, n, k: 1, a, b, fast: false };
            let ones = self.ones(call.dtype, m)?;
            let at = At { added: Some(at.result), beta: 1.0, ..At::plain([ones, bias, at.result]) };
            let rows = plan(&rows).ok_or_else(|| {
                DeviceError::driver(self.queue.id(), "record", format!("{call:?} has rows without a layout"))
            })?;
            calls.extend(rows.calls(at));
        }
        Ok(calls)
    }

    /// The address of at least `count` ones, valid as long as `self` lives.
    fn ones(&self, dtype: DType, count: u64) -> DeviceResult<u64> {
        let mut made = lock(&self.ones);
        let one = &Scalar::from_f64(dtype, 1.0).to_le_bytes()[..dtype.size()];
        let bytes = one.repeat(usize::try_from(count).unwrap_or(usize::MAX / 8));
        let enough =
            |(of, memory): &&(DType, Arc<CudaMemory>)| *of == dtype && memory.bytes() >= bytes.len() as u64;
        if let Some((_, memory)) = made.iter().find(enough) {
            return Ok(memory.pointer());
        }
        let memory = CudaMemory::new(&self.queue, bytes.len() as u64)?;
        let (pointer, stream) = (memory.pointer(), self.queue.stream.cu_stream());
        // SAFETY: the memory holds `bytes.len()` bytes, and was allocated on this stream; `bytes` lives until
        // the stream is synchronized below.
        let copied = unsafe { result::memcpy_htod_async(pointer, &bytes, stream) };
        self.queue.synchronize()?;
        copied.or_driver(self.queue.id(), "cuMemcpyHtoDAsync")?;
        made.push((dtype, memory));
        Ok(pointer)
    }

    /// Memory for a call's result; `None` if the device has none left.
    fn scratch(&self, call: &Call) -> DeviceResult<Option<Arc<CudaMemory>>> {
        match CudaMemory::new(&self.queue, call.result_bytes()) {
            Ok(scratch) => Ok(Some(scratch)),
            Err(DeviceError::OutOfMemory { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn with_cublas<T>(&self, then: impl FnOnce(&Cublas) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut made = lock(&self.cublas);
        if let Some(cublas) = &*made {
            return then(cublas);
        }
        preflight::cublas().map_err(|absent| DeviceError::Missing {
            device: self.queue.id().into(),
            why: absent.why,
            help: absent.help,
        })?;
        then(made.insert(Cublas::new(&self.queue, &self.workspace)?))
    }

    /// Sets cuBLAS, if it was made, to the stream that captures.
    pub(crate) fn to_capture(&self) -> DeviceResult<()> {
        lock(&self.cublas).as_ref().map_or(Ok(()), |cublas| cublas.set_queue(&self.capture))
    }

    /// Captures a product that was prepared with these addresses, on the stream that captures. The addresses
    /// must be of memory of the queue, as long as [`Plan::calls`] requires.
    pub(crate) fn enqueue(&self, stream: CUstream, plan: &Plan, at: At) -> DeviceResult<()> {
        plan.calls(at).try_for_each(|(call, at)| self.enqueue_call(stream, &call, at))
    }

    fn enqueue_call(&self, stream: CUstream, call: &Call, at: At) -> DeviceResult<()> {
        let implementation = lock(&self.implementations).get(call).copied();
        match (implementation, &self.cublas_lt) {
            (Some(Implementation::CublasLt(algorithm)), Some(cublas_lt)) => {
                cublas_lt.run(call, algorithm, at, stream)
            }
            (Some(Implementation::Cublas), _) => self.with_cublas(|cublas| cublas.run(call, at, stream)),
            (Some(Implementation::SeparateBias), _) => {
                // One level deep: neither part has a bias.
                let mut parts = self.split_bias(call, at)?.into_iter();
                parts.try_for_each(|(call, at)| self.enqueue_call(stream, &call, at))
            }
            _ => {
                let message = format!("{call:?} was not prepared");
                Err(DeviceError::driver(self.queue.id(), "record", message))
            }
        }
    }
}

impl fmt::Debug for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Products({}, {:?})", self.queue.id(), lock(&self.implementations))
    }
}

#[cfg(test)]
mod tests;
