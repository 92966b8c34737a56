//! Convolutions through cuDNN, where it is installed.
//!
//! Only deterministic algorithms are used. Fourier transforms and Winograd's method amplify rounding errors,
//! so they are used only for sums of enough terms to keep their errors within a product's bound; with them an
//! infinity or NaN may spread to neighbours, as in other libraries. The fastest algorithm by measured time is
//! chosen and stored on disk, so that every run of a program computes the same bits; without a cache it is
//! the first by cuDNN's heuristics. The workspace is scratch memory of the step, planned by the engine.

mod autotune;
mod bind;
mod descriptors;
mod epilogue;

pub(crate) use bind::resolve;
pub(crate) use epilogue::{Form, epilogue};

use crate::context::{Queue, lock};
use crate::cudnn::{self, Algorithms, Api, Perf, Raw, Run, Status, Workspace};
use crate::memory::CudaMemory;
use crate::preflight;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use descriptors::{Descriptors, EpilogueDescriptors};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex};
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;
use workalike_kernels::library::{Convolution, LibraryOp, Role};

/// Maximum number of algorithms requested from cuDNN.
const CANDIDATES: usize = 8;
/// Maximum size of a workspace in bytes.
const LARGEST_WORKSPACE: u64 = 1 << 30;
/// Number of terms of a sum from which on transforms are used. The error bound of a sum is proportional to
/// the number of its terms. Measured errors of Winograd's method were 25 eps of the magnitude of a sum of 12
/// terms, which a bound of 64 eps covers.
const TRANSFORMED_TERMS: u64 = 64;
/// Number of cached plans at which plans without a recording are dropped.
const MOST_PLANS: usize = 1024;

/// cuDNN on one device object: a handle, and the plans made so far.
///
/// Locks are taken in this order: the device's recorder, then the handle, then [`Context::capture`]. A
/// capture of a recording takes the last two in the opposite order. That is no deadlock, because both hold
/// the lock of the recorder.
///
/// [`Context::capture`]: crate::context::Context::capture
pub(crate) struct Cudnn {
    /// Made with the first plan. The lock is held while cuDNN is called. Dropped before the streams that the
    /// handle was set to.
    handle: Mutex<Option<Handle>>,
    plans: Mutex<Plans>,
    queue: Arc<Queue>,
    /// The recorder's stream, on which candidates are captured.
    capture: Arc<Queue>,
}

/// The plans by convolution and epilogue; `None` where cuDNN cannot compute it.
type Plans = HashMap<(Convolution, Option<Form>), Option<Arc<Plan>>>;

/// The algorithm and the descriptors of a convolution.
pub(crate) struct Plan {
    call: Convolution,
    /// The form of its epilogue.
    form: Option<Form>,
    candidates: Vec<Candidate>,
    descriptors: Descriptors,
    algorithm: c_int,
    /// Bytes of workspace.
    pub(crate) workspace: u64,
    /// Whether its kernels are loaded.
    ready: Mutex<bool>,
}

/// An algorithm, and the bytes of its workspace.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    algorithm: c_int,
    workspace: u64,
}

/// Addresses of the operands and the workspace of a convolution and its epilogue; 0 for operands that it does
/// not have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) inputs: [CUdeviceptr; 2],
    pub(crate) result: CUdeviceptr,
    pub(crate) workspace: CUdeviceptr,
    pub(crate) bias: CUdeviceptr,
    pub(crate) added: CUdeviceptr,
}

impl Cudnn {
    /// For a device's stream, and the stream on which its recorder captures.
    pub(crate) fn new(queue: &Arc<Queue>, capture: &Arc<Queue>) -> Arc<Cudnn> {
        let (queue, capture) = (queue.clone(), capture.clone());
        Arc::new(Cudnn { handle: Mutex::new(None), plans: Mutex::default(), queue, capture })
    }

    /// The result of [`Cudnn::plan`] if it is cached; runs no trial.
    pub(crate) fn known(&self, call: &Convolution, form: Option<Form>) -> Option<Option<Arc<Plan>>> {
        if preflight::cudnn().is_err() {
            return Some(None);
        }
        lock(&self.plans).get(&(call.clone(), form)).cloned()
    }

    /// The plan of a verified convolution with an epilogue of this form; `None` if cuDNN is not installed or
    /// cannot compute it. The device's recorder must be locked: candidates are captured on its stream.
    pub(crate) fn plan(&self, call: &Convolution, form: Option<Form>) -> Option<Arc<Plan>> {
        if let Some(known) = self.known(call, form) {
            return known;
        }
        let api = preflight::cudnn().ok()?;
        // A parked error stays for a call that can report it.
        if !self.queue.context.enter_drop() {
            return None;
        }
        // To have no handle says nothing about the op.
        let Ok(chosen) = self.with(api, |handle| Ok(self.choose(api, handle, call, form))) else {
            return None;
        };
        let plan = match chosen {
            Ok(plan) => plan.map(Arc::new),
            // Not cached: there may be enough memory later.
            Err(DeviceError::OutOfMemory { .. }) => return None,
            // After any other error the convolution is computed in another way.
            Err(_) => None,
        };
        let mut plans = lock(&self.plans);
        if plans.len() >= MOST_PLANS {
            plans.retain(|_, plan| plan.as_ref().is_some_and(|plan| Arc::strong_count(plan) > 1));
        }
        plans.entry((call.clone(), form)).or_insert(plan).clone()
    }

    /// Loads the kernels of a convolution, which a capture may not do: runs the convolution on the device's
    /// stream, into scratch memory. The operands are only read. The context must be current.
    pub(crate) fn prepare(&self, plan: &Plan, at: At) -> DeviceResult<()> {
        let mut ready = lock(&plan.ready);
        if *ready {
            return Ok(());
        }
        match CudaMemory::new(&self.queue, result_bytes(&plan.call)) {
            Ok(scratch) => {
                let at = At { result: scratch.pointer(), ..at };
                self.enqueue(plan, at, self.queue.stream.cu_stream())?;
                self.queue.synchronize()?;
                *ready = true;
                Ok(())
            }
            // Without scratch memory the kernels are loaded in the capture, which fails if they cannot be.
            Err(DeviceError::OutOfMemory { .. }) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Enqueues a convolution with a plan made by this object. The addresses must be of memory of the queue,
    /// as long as the operands. The device's recorder must be locked.
    pub(crate) fn enqueue(&self, plan: &Plan, at: At, stream: CUstream) -> DeviceResult<()> {
        let made = lock(&self.handle);
        // The handle was made with the plan. Making one here would deadlock inside a capture.
        let Some(handle) = &*made else {
            return Err(DeviceError::driver(
                self.queue.id(),
                "record",
                "a convolution without a handle of cuDNN",
            ));
        };
        self.run(handle.api, handle.raw, plan, at, stream)
    }

    /// Enqueues a plan with its current algorithm.
    fn run(&self, api: &'static Api, handle: Raw, plan: &Plan, at: At, stream: CUstream) -> DeviceResult<()> {
        // SAFETY: handle and stream are alive.
        self.check("cudnnSetStream", unsafe { (api.set_stream)(handle, stream.cast()) })?;
        self.check("cudnnConvolution", plan.run(api, handle, at))
    }

    fn with<T>(&self, api: &'static Api, then: impl FnOnce(Raw) -> DeviceResult<T>) -> DeviceResult<T> {
        let mut made = lock(&self.handle);
        if let Some(handle) = &*made {
            return then(handle.raw);
        }
        let mut raw = ptr::null_mut();
        let status = {
            // Creating waits for the whole context.
            let _apart = self.queue.context.capture();
            // SAFETY: cuDNN writes a handle to `raw`.
            unsafe { (api.create)(&mut raw) }
        };
        self.check("cudnnCreate", status)?;
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

// SAFETY: a handle may be used from any thread, by one at a time, which the mutex around it ensures.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once; its last stream and the device's own are alive. A failure
            // leaks the resources of the handle, on which nothing depends.
            unsafe {
                let _ = (self.api.set_stream)(self.raw, self.queue.stream.cu_stream().cast());
                let _ = (self.api.destroy)(self.raw);
            }
        }
    }
}

impl Plan {
    fn select(&mut self, candidate: Candidate) {
        self.algorithm = candidate.algorithm;
        self.workspace = candidate.workspace;
    }

    fn run(&self, api: &'static Api, handle: Raw, at: At) -> Status {
        if let Some(epilogue) = &self.descriptors.epilogue {
            return self.run_with(epilogue, api, handle, at);
        }
        let functions = Functions::of(api, self.call.role);
        let [first, second, result] = self.descriptors.in_order(self.call.role);
        let mut inputs = at.inputs;
        if self.call.role == Role::InputGradient {
            // cuDNN takes the filters first.
            inputs.reverse();
        }
        // SAFETY: the descriptors say how long the operands are, and the caller guarantees that their memory
        // is as long; the workspace is as large as cuDNN requires; both factors live as long as the program.
        unsafe {
            (functions.run)(
                handle,
                factor(self.call.dtype, true),
                first,
                pointer(inputs[0]),
                second,
                pointer(inputs[1]),
                self.descriptors.convolution.raw,
                self.algorithm,
                pointer(at.workspace),
                self.workspace as usize,
                factor(self.call.dtype, false),
                result,
                pointer(at.result),
            )
        }
    }

    fn run_with(&self, epilogue: &EpilogueDescriptors, api: &Api, handle: Raw, at: At) -> Status {
        let [input, filters, result] = self.descriptors.in_order(Role::Forward);
        let adds = self.form.is_some_and(|form| form.added);
        // cuDNN does not read an addend whose factor is zero.
        let added = if adds { at.added } else { at.result };
        // SAFETY: the descriptors say how long the operands are, and the caller guarantees that their memory
        // is as long; the workspace is as large as cuDNN requires; both factors live as long as the program.
        unsafe {
            (api.forward_with_epilogue)(
                handle,
                factor(self.call.dtype, true),
                input,
                pointer(at.inputs[0]),
                filters,
                pointer(at.inputs[1]),
                self.descriptors.convolution.raw,
                self.algorithm,
                pointer(at.workspace),
                self.workspace as usize,
                factor(self.call.dtype, adds),
                result,
                pointer(added),
                epilogue.bias.raw,
                pointer(at.bias),
                epilogue.activation.raw,
                result,
                pointer(at.result),
            )
        }
    }
}

/// A pointer to one or zero, at the type of cuDNN's factors: f64 for convolutions of f64, else f32.
fn factor(dtype: DType, one: bool) -> *const c_void {
    static FLOATS: [f32; 2] = [0.0, 1.0];
    static DOUBLES: [f64; 2] = [0.0, 1.0];
    let at = usize::from(one);
    if dtype == DType::F64 { ptr::from_ref(&DOUBLES[at]).cast() } else { ptr::from_ref(&FLOATS[at]).cast() }
}

fn pointer(address: CUdeviceptr) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

/// Bytes of the result of a convolution.
fn result_bytes(call: &Convolution) -> u64 {
    call.operands()
        .last()
        .map_or(0, |result| result.shape.iter().product::<u64>().saturating_mul(result.dtype.size() as u64))
}

/// The algorithms for a convolution, in the order of cuDNN's heuristics. The query may load kernels, so no
/// capture may run at the same time.
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
    // SAFETY: the descriptors are alive and set; cuDNN writes at most `CANDIDATES` results.
    let status = unsafe {
        let (wanted, all) = (CANDIDATES as c_int, found.as_mut_ptr());
        (functions.algorithms)(handle, first, second, convolution, result, wanted, &mut count, all)
    };
    let count = if status == 0 { usize::try_from(count).unwrap_or(0).min(CANDIDATES) } else { 0 };
    let transforms = match call.role {
        Role::Forward => cudnn::FORWARD_TRANSFORMS,
        Role::InputGradient => cudnn::INPUT_TRANSFORMS,
        Role::FilterGradient => cudnn::FILTER_TRANSFORMS,
    };
    let may_transform = call.fast || !call.dtype.is_half() && call.terms() >= TRANSFORMED_TERMS;
    let able = |perf: &&Perf| {
        let allowed = may_transform || !transforms.contains(&perf.algorithm);
        perf.status == 0 && perf.deterministic == cudnn::DETERMINISTIC && allowed
    };
    let workspace = |perf: &Perf| {
        let mut bytes = 0usize;
        // SAFETY: the descriptors are alive and set; cuDNN writes one size.
        let status = unsafe {
            (functions.workspace)(handle, first, second, convolution, result, perf.algorithm, &mut bytes)
        };
        let candidate = Candidate { algorithm: perf.algorithm, workspace: bytes as u64 };
        (status == 0 && candidate.workspace <= LARGEST_WORKSPACE).then_some(candidate)
    };
    found[..count].iter().filter(able).filter_map(workspace).collect()
}

/// cuDNN's functions for a role.
struct Functions {
    algorithms: Algorithms,
    workspace: Workspace,
    run: Run,
}

impl Functions {
    fn of(api: &Api, role: Role) -> Functions {
        let (algorithms, workspace, run) = match role {
            Role::Forward => (api.forward_algorithms, api.forward_workspace, api.forward),
            Role::InputGradient => (api.input_algorithms, api.input_workspace, api.input_gradient),
            Role::FilterGradient => (api.filter_algorithms, api.filter_workspace, api.filter_gradient),
        };
        Functions { algorithms, workspace, run }
    }
}
