//! Matrix products through NVIDIA's libraries: cuBLASLt, else cuBLAS.
//!
//! `plan` finds how a library that thinks in columns sees a product, `epilogue` what the libraries can do of
//! what follows it, `cublaslt` (with its `descriptors`) and `cublas` call one library each, `autotune`
//! decides which of cuBLASLt's algorithms computes a product, `plan_cache` keeps that decision on disk.
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
use cublas::Blas;
use cublaslt::{Algorithm, Light};
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
enum Way {
    Light(Algorithm),
    Blas,
    /// Without its bias, which a second product adds: ones, and the bias as a row.
    Apart,
}

/// The libraries' handles of one device object, their workspace, and how each product that was met is
/// computed. Used by one thread at a time: while it is made, and then while the device object's recorder is
/// locked.
pub(crate) struct Products {
    /// The device's stream, on which products are tried.
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
    light: Option<Light>,
    /// Made when it is first needed. Dropped before the stream that it was set to last.
    blas: Mutex<Option<Blas>>,
    /// The stream on which they are captured.
    capture: Arc<Queue>,
    ways: Mutex<HashMap<Call, Way>>,
    /// See [`Products::ones`].
    ones: Mutex<Vec<(DType, Arc<CudaMemory>)>>,
}

impl Products {
    /// New handles for two streams, with memory of the first as workspace. One of the libraries must be
    /// present and the context current.
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
            ones: Mutex::default(),
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
        let Some((call, _)) = plan.calls(At::plain([0; 3])).next() else { return };
        let place = plan_cache::Place::of(&self.queue.context, light.version(), self.workspace_bytes());
        let kept =
            place.ok().and_then(|place| plan_cache::load(KernelCache::of_process(), &place.key(&call)));
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

    /// Sees to it that a product can be captured: decides how it is computed, and loads the kernels, which a
    /// capture may not do. Runs it on the device's stream, into scratch memory; what is given is only read.
    pub(crate) fn prepare(&self, plan: &Plan, at: At) -> DeviceResult<()> {
        plan.calls(at).try_for_each(|(call, at)| self.prepare_call(&call, at))
    }

    fn prepare_call(&self, call: &Call, at: At) -> DeviceResult<()> {
        if lock(&self.ways).contains_key(call) {
            return Ok(());
        }
        let way = self.way(call, at)?;
        lock(&self.ways).insert(*call, way);
        Ok(())
    }

    fn way(&self, call: &Call, at: At) -> DeviceResult<Way> {
        if let Some(light) = &self.light
            && let Some(algorithm) = autotune::choose(self, light, call, at)?
        {
            return Ok(Way::Light(algorithm));
        }
        if call.bias.is_some() {
            for (call, at) in self.apart(call, at)? {
                self.prepare_call(&call, at)?;
            }
            return Ok(Way::Apart);
        }
        // Without scratch memory the kernels are loaded in the capture, if they can be; one that breaks says
        // so.
        let scratch = self.scratch(call)?;
        self.with_blas(|blas| {
            let Some(scratch) = scratch else { return Ok(()) };
            blas.set_queue(&self.queue)?;
            blas.run(call, at.into(scratch.pointer()), self.queue.stream.cu_stream())
        })?;
        Ok(Way::Blas)
    }

    /// A call with a bias as calls without: what it is but for the bias, and `ones @ bias`, added in place.
    fn apart(&self, call: &Call, at: At) -> DeviceResult<Vec<(Call, At)>> {
        let mut calls = vec![(Call { bias: None, ..*call }, At { bias: None, ..at })];
        if let Some(bias) = at.bias {
            let (m, n) = (u64::from(call.m.unsigned_abs()), u64::from(call.n.unsigned_abs()));
            let (a, b) = ([0, 1, 1], [0, i64::from(call.n), 1]);
            // Not fast: that would round the bias.
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

    /// So many ones, or more, which lie there as long as these products live.
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
        // SAFETY: the memory is that long, and was allocated on this stream; the source is alive until the
        // stream is done.
        let copied = unsafe { result::memcpy_htod_async(pointer, &bytes, stream) };
        self.queue.synchronize()?;
        copied.or_driver(self.queue.id(), "cuMemcpyHtoDAsync")?;
        made.push((dtype, memory));
        Ok(pointer)
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

    /// Captures a product that was prepared with these addresses, on the stream that captures. They are of
    /// memory of the queue, as long as [`Plan::calls`] says.
    pub(crate) fn enqueue(&self, stream: CUstream, plan: &Plan, at: At) -> DeviceResult<()> {
        plan.calls(at).try_for_each(|(call, at)| self.enqueue_call(stream, &call, at))
    }

    fn enqueue_call(&self, stream: CUstream, call: &Call, at: At) -> DeviceResult<()> {
        let way = lock(&self.ways).get(call).copied();
        match (way, &self.light) {
            (Some(Way::Light(algorithm)), Some(light)) => light.run(call, algorithm, at, stream),
            (Some(Way::Blas), _) => self.with_blas(|blas| blas.run(call, at, stream)),
            (Some(Way::Apart), _) => {
                // One level deep: neither part has a bias.
                let mut parts = self.apart(call, at)?.into_iter();
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
        write!(f, "Products({}, {:?})", self.queue.id(), lock(&self.ways))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::instantiate;
    use crate::context;

    /// Small integers, so that every sum is exact in any order.
    fn small(count: u64, seed: u64) -> Vec<f32> {
        (0..count).map(|i| ((i * 7 + seed) % 9) as f32 - 4.0).collect()
    }

    /// What is done with a product: its scale, that of what is added, whether in place, and whether there is
    /// a bias.
    #[derive(Clone, Copy, Debug)]
    struct Then {
        alpha: f64,
        beta: f64,
        in_place: bool,
        bias: bool,
    }

    const PLAIN: Then = Then { alpha: 1.0, beta: 0.0, in_place: false, bias: false };

    /// A product by libraries of its own, captured and replayed once.
    fn by(queue: &Arc<Queue>, capture: &Arc<Queue>, product: &Matmul, then: Then, light: bool) -> Vec<f32> {
        let products = Products::with(queue, capture, light).unwrap();
        let plan = plan(product).unwrap();
        let [a, b, c] = plan.bytes();
        // Factors, result, what is added, bias.
        let bytes = [a, b, c, c, 4 * product.n];
        let memory = bytes.map(|bytes| CudaMemory::new(queue, bytes).unwrap());
        let addresses = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
        let [a, b, result, apart, bias] = addresses;
        let added = if then.in_place { result } else { apart };
        let at = At {
            added: (then.beta != 0.0).then_some(added),
            bias: then.bias.then_some(bias),
            alpha: then.alpha,
            beta: then.beta,
            ..At::plain([a, b, result])
        };
        queue.synchronize().unwrap();
        let contents = [0, 1, 2, 3, 4].map(|at| small(bytes[at] / 4, at as u64));
        for (address, values) in addresses.iter().zip(&contents) {
            // SAFETY: the memory is that long, and nothing else uses it.
            unsafe { result::memcpy_htod_sync(*address, values) }.unwrap();
        }
        let read = |at: usize| {
            let mut got = vec![0f32; (bytes[at] / 4) as usize];
            // SAFETY: the memory is that long, and nothing writes to it any more.
            unsafe { result::memcpy_dtoh_sync(&mut got, addresses[at]) }.unwrap();
            got
        };
        products.prepare(&plan, at).unwrap();
        assert_eq!(products.light.is_some(), light);
        for (at, values) in contents.iter().enumerate() {
            assert_eq!(read(at), *values, "preparing {product:?}, {then:?} changed memory {at}");
        }
        products.to_capture().unwrap();
        let graph = instantiate(queue, capture, |stream| products.enqueue(stream, &plan, at)).unwrap();
        // SAFETY: graph, stream and memory are alive; the graph is destroyed once, when it has run.
        unsafe {
            result::graph::launch(graph, queue.stream.cu_stream()).unwrap();
            queue.synchronize().unwrap();
            result::graph::exec_destroy(graph).unwrap();
        }
        for at in [0, 1, 3, 4] {
            assert_eq!(read(at), contents[at], "{product:?}, {then:?} changed memory {at}");
        }
        read(2)
    }

    /// The streams of a device. A test that needs one is ignored unless it is asked for: the harness knows no
    /// devices.
    fn queues() -> (Arc<Queue>, Arc<Queue>) {
        let context = context::of_device(0).unwrap();
        (Queue::new(context.clone()).unwrap(), Queue::new(context).unwrap())
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
    fn both_libraries_compute_the_same() {
        let (queue, capture) = queues();
        let dtype = DType::F32;
        for product in [
            Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 500, 1], b: [0, 200, 1], fast: false },
            Matmul { dtype, batch: 1, m: 300, n: 200, k: 500, a: [0, 1, 300], b: [0, 1, 503], fast: false },
            Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
            Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
        ] {
            let [with, without] = [true, false].map(|light| by(&queue, &capture, &product, PLAIN, light));
            assert_eq!(with, without, "{product:?}");
            assert!(with.iter().any(|v| *v != 0.0), "{product:?}");
        }
    }

    /// Every number is a small integer, so that all ways give the same: a bias in the library's epilogue, or
    /// as a product of its own.
    #[test]
    #[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
    fn both_libraries_scale_and_add() {
        let (queue, capture) = queues();
        let dtype = DType::F32;
        for product in [
            Matmul { dtype, batch: 1, m: 300, n: 200, k: 50, a: [0, 50, 1], b: [0, 200, 1], fast: false },
            Matmul { dtype, batch: 1, m: 33, n: 17, k: 5, a: [0, 1, 33], b: [0, 1, 5], fast: false },
            Matmul { dtype, batch: 1, m: 1, n: 40, k: 7, a: [0, 7, 1], b: [0, 40, 1], fast: false },
            Matmul { dtype, batch: 1, m: 40, n: 1, k: 7, a: [0, 7, 1], b: [0, 1, 1], fast: false },
            Matmul { dtype, batch: 3, m: 30, n: 20, k: 50, a: [1500, 50, 1], b: [0, 1, 50], fast: false },
            Matmul { dtype, batch: 70_000, m: 2, n: 3, k: 2, a: [4, 2, 1], b: [0, 3, 1], fast: false },
        ] {
            let plain = by(&queue, &capture, &product, PLAIN, true);
            let count = plain.len() as u64;
            // What lies there before is memory 2, or 3.
            let (result, apart, bias) = (small(count, 2), small(count, 3), small(product.n, 4));
            for (alpha, beta, in_place, bias_too) in [
                (2.0, 0.0, false, false),
                (-1.0, 3.0, true, false),
                (2.0, -1.0, false, false),
                (1.0, 0.0, false, true),
                (2.0, -1.0, false, true),
                (-3.0, 2.0, true, true),
            ] {
                if bias_too && product.batch > 1 {
                    continue;
                }
                let then = Then { alpha, beta, in_place, bias: bias_too };
                let added = if in_place { &result } else { &apart };
                let want: Vec<f32> = (0..count as usize)
                    .map(|i| {
                        let row = if bias_too { bias[i % product.n as usize] } else { 0.0 };
                        alpha as f32 * plain[i] + beta as f32 * added[i] + row
                    })
                    .collect();
                for light in [true, false] {
                    let got = by(&queue, &capture, &product, then, light);
                    assert_eq!(got, want, "{product:?}, {then:?}, light {light}");
                }
            }
        }
    }

    /// Otherwise a bias would be computed as a product of its own, rightly, and slower.
    #[test]
    #[ignore = "needs an NVIDIA GPU, cuBLAS and cuBLASLt; `make test-cuda` runs it"]
    fn the_library_adds_a_bias_itself() {
        let (queue, capture) = queues();
        let products = Products::with(&queue, &capture, true).unwrap();
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let (a, b) = ([0, 160, 1], [0, 264, 1]);
            let plan = plan(&Matmul { dtype, batch: 1, m: 256, n: 264, k: 160, a, b, fast: false }).unwrap();
            let [a, b, c] = plan.bytes();
            let memory = [a, b, c, c, 4 * 264].map(|bytes| CudaMemory::new(&queue, bytes).unwrap());
            let [a, b, result, apart, bias] = [0, 1, 2, 3, 4].map(|at| memory[at].pointer());
            for added in [None, Some(result), Some(apart)] {
                let beta = added.map_or(0.0, |_| 0.5);
                let at = At { added, bias: Some(bias), beta, ..At::plain([a, b, result]) };
                products.prepare(&plan, at).unwrap();
                let (call, _) = plan.calls(at).next().unwrap();
                let way = lock(&products.ways).get(&call).copied();
                assert!(matches!(way, Some(Way::Light(_))), "{call:?}: {way:?}");
            }
        }
    }
}
