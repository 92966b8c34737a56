//! Convolutions through cuDNN, where it is installed.
//!
//! Algorithms are deterministic and sum the products that the definition has: those by way of Fourier transforms or of
//! Winograd are for fast mathematics only. The fastest by the clock is chosen and kept on disk, so that every run of a
//! program computes the same bits; where nothing is kept, it is the first by cuDNN's own heuristics. The workspace is
//! scratch memory of the step, planned by the engine.

mod descriptors;

use crate::capture::instantiate;
use crate::context::{Queue, lock};
use crate::cudnn::{self, Algorithms, Api, Perf, Raw, Run, Status, Workspace};
use crate::matmul::Place;
use crate::memory::CudaMemory;
use crate::preflight;
use crate::timing::{Events, Timer};
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use descriptors::Descriptors;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::cache::{KernelCache, Key};
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;
use workalike_kernels::library::{Convolution, LibraryOp, Role};

/// Algorithms that are looked at.
const CANDIDATES: usize = 8;
/// The most bytes of workspace.
const LARGEST_WORKSPACE: u64 = 1 << 30;
/// How often each candidate runs in a row in a trial, and how many trials there are; the best time counts.
const REPEATS: usize = 3;
const ROUNDS: usize = 3;

/// cuDNN on one device object: a handle, and what is known of each convolution that was met.
pub(crate) struct Cudnn {
    queue: Arc<Queue>,
    /// The stream on which candidates are captured.
    capture: Arc<Queue>,
    /// Made when it is first needed; its lock is held while cuDNN is called.
    handle: Mutex<Option<Handle>>,
    plans: Mutex<HashMap<Convolution, Option<Arc<Plan>>>>,
}

/// How a convolution is computed.
pub(crate) struct Plan {
    call: Convolution,
    candidates: Vec<Candidate>,
    descriptors: Descriptors,
    algorithm: c_int,
    /// Bytes.
    pub(crate) workspace: u64,
    /// Its kernels are loaded.
    ready: Mutex<bool>,
}

/// An algorithm, and the bytes of its workspace.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    algorithm: c_int,
    workspace: u64,
}

/// Where the operands and the workspace of a convolution lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) inputs: [CUdeviceptr; 2],
    pub(crate) result: CUdeviceptr,
    pub(crate) workspace: CUdeviceptr,
}

impl Cudnn {
    /// For a device's stream, and the stream on which it captures.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> Arc<Cudnn> {
        let (queue, capture) = (queue.clone(), capture.clone());
        Arc::new(Cudnn { queue, capture, handle: Mutex::new(None), plans: Mutex::default() })
    }

    /// How a convolution that was verified is computed; `None` where cuDNN is not installed or does not do it.
    pub(crate) fn plan(&self, call: &Convolution) -> Option<Arc<Plan>> {
        let known = lock(&self.plans).get(call).cloned();
        if let Some(known) = known {
            return known;
        }
        let api = preflight::cudnn().ok()?;
        self.queue.context.enter().ok()?;
        // What goes wrong here only means that there is another way.
        let plan = self.with(api, |handle| self.choose(api, handle, call)).ok().flatten().map(Arc::new);
        lock(&self.plans).insert(call.clone(), plan.clone());
        plan
    }

    /// Loads the kernels of a convolution, which a capture may not do: runs it on the device's stream, into scratch memory.
    /// The operands are only read. The context must be current.
    pub(crate) fn prepare(&self, plan: &Plan, at: At) -> DeviceResult<()> {
        let mut ready = lock(&plan.ready);
        if *ready {
            return Ok(());
        }
        let bytes = plan.call.operands().last().map_or(0, |result| {
            result.shape.iter().product::<u64>().saturating_mul(result.dtype.size() as u64)
        });
        match CudaMemory::new(&self.queue, bytes) {
            Ok(scratch) => {
                let at = At { result: scratch.pointer(), ..at };
                self.enqueue(plan, at, self.queue.stream.cu_stream())?;
                self.queue.synchronize()?;
                *ready = true;
                Ok(())
            }
            // Without scratch memory the kernels are loaded in the capture, if they can be.
            Err(DeviceError::OutOfMemory { .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Enqueues a convolution. The addresses are of memory of the queue, as long as the operands.
    pub(crate) fn enqueue(&self, plan: &Plan, at: At, stream: CUstream) -> DeviceResult<()> {
        let api = preflight::cudnn().map_err(|absent| DeviceError::Missing {
            device: self.queue.id().into(),
            why: absent.why,
            help: absent.help,
        })?;
        self.with(api, |handle| {
            // SAFETY: handle and stream are alive.
            self.check("cudnnSetStream", unsafe { (api.set_stream)(handle, stream.cast()) })?;
            let status = plan.run(api, handle, at);
            self.check("cudnnConvolution", status)
        })
    }

    /// The algorithm that is kept on disk, else the fastest, else cuDNN's first; `None` if it has none.
    fn choose(&self, api: &'static Api, handle: Raw, call: &Convolution) -> DeviceResult<Option<Plan>> {
        let Some(descriptors) = Descriptors::new(api, call) else { return Ok(None) };
        let mut plan = Plan {
            call: call.clone(),
            candidates: candidates(api, handle, call, &descriptors),
            descriptors,
            algorithm: 0,
            workspace: 0,
            ready: Mutex::new(false),
        };
        let Some(&first) = plan.candidates.first() else { return Ok(None) };
        plan.select(first);
        let cache = KernelCache::of_process();
        let keeps = cache.folder().is_some() && cache.trouble().is_none();
        if !keeps || plan.candidates.len() < 2 {
            return Ok(Some(plan));
        }
        // SAFETY: it only reads.
        let version = unsafe { (api.version)() };
        let place = Place::of(&self.queue.context, version, LARGEST_WORKSPACE)?;
        let key = Key::of(&["cuda convolution", &format!("{place:?}"), &format!("{call:?}")]);
        let kept = || -> Option<c_int> { Some(c_int::from_le_bytes(cache.load(&key)?.try_into().ok()?)) };
        if kept().is_none() {
            let fastest = self.fastest(api, handle, &mut plan)?;
            cache.store(&key, &fastest.to_le_bytes());
        }
        // What later processes will find is what counts.
        let known = kept().and_then(|kept| plan.candidates.iter().find(|c| c.algorithm == kept).copied());
        plan.select(known.unwrap_or(first));
        Ok(Some(plan))
    }

    /// The fastest candidate by the clock, each run some times over in one graph, on scratch memory.
    fn fastest(&self, api: &'static Api, handle: Raw, plan: &mut Plan) -> DeviceResult<c_int> {
        let first = plan.candidates[0].algorithm;
        let largest = plan.candidates.iter().map(|candidate| candidate.workspace).max().unwrap_or(0);
        let operands = plan.call.operands();
        let bytes = operands.iter().map(|o| o.shape.iter().product::<u64>() * o.dtype.size() as u64);
        let memory = bytes.chain([largest]).map(|bytes| CudaMemory::new(&self.queue, bytes));
        // Without room for a trial it is cuDNN's word.
        let Ok(memory) = memory.collect::<DeviceResult<Vec<_>>>() else { return Ok(first) };
        let start = |at: usize| memory.get(at).map_or(0, |memory: &Arc<CudaMemory>| memory.pointer());
        let at = At { inputs: [start(0), start(1)], result: start(2), workspace: start(3) };
        let run = |plan: &Plan, stream: CUstream| -> DeviceResult<bool> {
            // SAFETY: handle and stream are alive.
            self.check("cudnnSetStream", unsafe { (api.set_stream)(handle, stream.cast()) })?;
            Ok(plan.run(api, handle, at) == 0)
        };
        let mut able = Vec::new();
        for candidate in plan.candidates.clone() {
            plan.select(candidate);
            // The first run loads the kernels, which a capture may not do.
            let ran = run(plan, self.queue.stream.cu_stream())?;
            self.queue.synchronize()?;
            able.extend(ran.then_some(candidate));
        }
        let events = Events::new(&self.queue, able.len())?;
        let graph = instantiate(&self.queue, &self.capture, |stream| {
            for (position, candidate) in able.iter().enumerate() {
                events.capture(position, stream)?;
                plan.select(*candidate);
                for _ in 0..REPEATS {
                    run(plan, stream)?;
                }
            }
            events.capture(able.len(), stream)
        })?;
        let mut timer = Timer::new(graph, events);
        let mut best = vec![Duration::MAX; able.len()];
        for _ in 0..ROUNDS {
            best.iter_mut().zip(timer.run()?).for_each(|(best, took)| *best = took.min(*best));
        }
        let fastest = able.iter().zip(best).min_by_key(|(_, took)| *took);
        Ok(fastest.map_or(first, |(candidate, _)| candidate.algorithm))
    }

    fn with<T>(&self, api: &'static Api, then: impl FnOnce(Raw) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut made = lock(&self.handle);
        if let Some(handle) = &*made {
            return then(handle.raw);
        }
        let mut raw = ptr::null_mut();
        // SAFETY: writes a handle.
        self.check("cudnnCreate", unsafe { (api.create)(&mut raw) })?;
        then(made.insert(Handle { raw, api, queue: self.queue.clone() }).raw)
    }

    fn check(&self, call: &str, status: Status) -> DeviceResult<()> {
        if status == 0 {
            return Ok(());
        }
        Err(DeviceError::driver(self.queue.id(), call, format!("status {status}")))
    }
}

impl fmt::Debug for Cudnn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cudnn({})", self.queue.id())
    }
}

struct Handle {
    raw: Raw,
    api: &'static Api,
    queue: Arc<Queue>,
}

// SAFETY: a handle may be used from any thread, by one at a time; the mutex around it sees to that.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks what the handle held; nobody depends on it.
            let _ = unsafe { (self.api.destroy)(self.raw) };
        }
    }
}

impl Plan {
    fn select(&mut self, candidate: Candidate) {
        self.algorithm = candidate.algorithm;
        self.workspace = candidate.workspace;
    }

    fn run(&self, api: &'static Api, handle: Raw, at: At) -> Status {
        let functions = Functions::of(api, self.call.role);
        let [first, second, result] = self.descriptors.in_order(self.call.role);
        let mut inputs = at.inputs;
        if self.call.role == Role::InputGradient {
            // The library takes the filters first.
            inputs.reverse();
        }
        let wide = self.call.dtype == DType::F64;
        let (one, zero, one_wide, zero_wide) = (1f32, 0f32, 1f64, 0f64);
        let scale = |narrow: &f32, double: &f64| -> *const c_void {
            if wide { ptr::from_ref(double).cast() } else { ptr::from_ref(narrow).cast() }
        };
        let pointer = |address: CUdeviceptr| ptr::without_provenance_mut::<c_void>(address as usize);
        // SAFETY: the descriptors say how long the operands are, and the caller that their memory is as long; the workspace
        // is as large as cuDNN asked for; both scales live until the call returns.
        unsafe {
            (functions.run)(
                handle,
                scale(&one, &one_wide),
                first,
                pointer(inputs[0]),
                second,
                pointer(inputs[1]),
                self.descriptors.convolution.raw,
                self.algorithm,
                pointer(at.workspace),
                self.workspace as usize,
                scale(&zero, &zero_wide),
                result,
                pointer(at.result),
            )
        }
    }
}

/// The algorithms for a convolution, in the order of cuDNN's heuristics.
fn candidates(
    api: &'static Api,
    handle: Raw,
    call: &Convolution,
    descriptors: &Descriptors,
) -> Vec<Candidate> {
    let functions = Functions::of(api, call.role);
    let mut found = [Perf::default(); CANDIDATES];
    let mut count = 0;
    let [first, second, result] = descriptors.in_order(call.role);
    let convolution = descriptors.convolution.raw;
    // SAFETY: the descriptors are alive and set; cuDNN writes at most as many as are asked for.
    let status = unsafe {
        let (wanted, all) = (CANDIDATES as c_int, found.as_mut_ptr());
        (functions.algorithms)(handle, first, second, convolution, result, wanted, &mut count, all)
    };
    let count = if status == 0 { usize::try_from(count).unwrap_or(0).min(CANDIDATES) } else { 0 };
    let able = |perf: &&Perf| {
        let transforms = functions.transforms.contains(&perf.algorithm);
        perf.status == 0 && perf.deterministic == cudnn::DETERMINISTIC && (call.fast || !transforms)
    };
    let workspace = |perf: &Perf| {
        let mut bytes = 0usize;
        // SAFETY: as above.
        let status = unsafe {
            (functions.workspace)(handle, first, second, convolution, result, perf.algorithm, &mut bytes)
        };
        let candidate = Candidate { algorithm: perf.algorithm, workspace: bytes as u64 };
        (status == 0 && candidate.workspace <= LARGEST_WORKSPACE).then_some(candidate)
    };
    found[..count].iter().filter(able).filter_map(workspace).collect()
}

/// The functions of a role.
struct Functions {
    algorithms: Algorithms,
    workspace: Workspace,
    run: Run,
    /// Algorithms by way of Fourier transforms or of Winograd.
    transforms: &'static [c_int],
}

impl Functions {
    fn of(api: &Api, role: Role) -> Functions {
        let (algorithms, workspace, run, transforms) = match role {
            Role::Forward => {
                (api.forward_algorithms, api.forward_workspace, api.forward, &cudnn::FORWARD_TRANSFORMS)
            }
            Role::InputGradient => {
                (api.input_algorithms, api.input_workspace, api.input_gradient, &cudnn::INPUT_TRANSFORMS)
            }
            Role::FilterGradient => {
                (api.filter_algorithms, api.filter_workspace, api.filter_gradient, &cudnn::FILTER_TRANSFORMS)
            }
        };
        Functions { algorithms, workspace, run, transforms }
    }
}
