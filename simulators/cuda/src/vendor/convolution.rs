//! Convolutions through cuDNN, where it is installed.
//!
//! Only deterministic algorithms are used. Fourier transforms and Winograd's method amplify rounding errors,
//! so they are used only for sums of enough terms to keep their errors within a product's bound; with them an
//! infinity or NaN may spread to neighbours, as in other libraries. The fastest algorithm by measured time is
//! chosen and stored on disk, so that every run of a program computes the same bits; without a cache it is
//! the first by cuDNN's heuristics. The workspace is scratch memory of the step, planned by the engine.

mod algorithm;
mod cudnn;
mod descriptors;

use super::bind::OperandAddresses;
use super::lazy::Lazy;
use super::streams::Streams;
use super::{VendorLibrary, settled};
use crate::context::Queue;
use crate::preflight::{self, Absent};
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudnn::{Algorithms, Api, Perf, Raw, Run, Status, Workspace};
use descriptors::{Descriptors, EpilogueDescriptors};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::DType;
use workalike_kernels::library::{ConvolutionDirection, LibraryConvolution, LibraryOp};
use workalike_kernels::nest::{Channels, LinearForm, Nest};

/// Maximum number of algorithms requested from cuDNN.
const CANDIDATES: usize = 8;
/// Maximum size of a workspace in bytes.
const LARGEST_WORKSPACE: u64 = 1 << 30;
/// Number of terms of a sum from which on transforms are used. The error bound of a sum is proportional to
/// the number of its terms. Measured errors of Winograd's method were 25 eps of the magnitude of a sum of 12
/// terms, which a bound of 64 eps covers.
const TRANSFORMED_TERMS: u64 = 64;
/// Required alignment of an epilogue's operands in bytes: cuDNN's kernels load several elements at once.
const ALIGNMENT: u64 = 16;
/// Major versions of cuDNN that have the functions used here, best first.
const MAJORS: [u32; 2] = [9, 8];

/// A handle of cuDNN.
pub(super) struct Cudnn {
    handle: CudnnHandle,
    /// Dropped after the handle, which is set to them.
    streams: Streams,
}

/// The properties of an epilogue on which the choice of an algorithm depends. It has a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EpilogueForm {
    /// Whether there is an addend as long as the result.
    added: bool,
    relu: bool,
}

/// The algorithm and the descriptors of a convolution.
pub(super) struct ConvolutionPlan {
    call: LibraryConvolution,
    /// The form of its epilogue.
    form: Option<EpilogueForm>,
    descriptors: Descriptors,
    algorithm: c_int,
    /// Bytes of workspace.
    workspace: u64,
}

/// An algorithm, and the bytes of its workspace.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AlgorithmCandidate {
    algorithm: c_int,
    workspace: u64,
}

/// The Nest as an epilogue of a convolution, which is its operand `own`: `convolution + added + bias`,
/// perhaps with ReLU. `None` if cuDNN has no such epilogue: it scales nothing, and has none without a bias.
fn epilogue(call: &LibraryConvolution, nest: &Nest, own: usize) -> Option<LinearForm> {
    let plane = call.output.iter().try_fold(1u64, |product, extent| product.checked_mul(*extent))?;
    let elements = call.batch.checked_mul(call.filters.checked_mul(plane)?)?;
    let filters = Channels { channels: call.filters, plane, elements };
    let form = LinearForm::of(nest, own, call.dtype, filters)?;
    let plain = form.alpha == 1.0 && (form.added.is_none() || form.beta == 1.0);
    (call.role == ConvolutionDirection::Forward && plain && form.bias.is_some()).then_some(form)
}

impl VendorLibrary for Cudnn {
    type Call = (LibraryConvolution, Option<EpilogueForm>);
    type Plan = ConvolutionPlan;

    fn installed() -> Result<(), Absent> {
        api().map(drop)
    }

    fn epilogue(op: &dyn LibraryOp, nest: &Nest, own: usize) -> Option<LinearForm> {
        epilogue(op.downcast()?, nest, own)
    }

    fn call(op: &dyn LibraryOp, epilogue: Option<&LinearForm>) -> Option<Self::Call> {
        let form = epilogue.map(|form| EpilogueForm { added: form.added.is_some(), relu: form.relu });
        Some((op.downcast::<LibraryConvolution>()?.clone(), form))
    }

    fn open(streams: &Streams) -> DeviceResult<Cudnn> {
        let queue = &streams.queue;
        let api = api().map_err(|absent| absent.on(queue.id()))?;
        let mut raw = ptr::null_mut();
        let status = {
            // Creating waits for the whole context.
            let _apart = queue.context.capture();
            // SAFETY: cuDNN writes a handle to `raw`.
            unsafe { (api.create)(&mut raw) }
        };
        check(queue, "cudnnCreate", status)?;
        Ok(Cudnn { handle: CudnnHandle { raw, api, queue: queue.clone() }, streams: streams.clone() })
    }

    fn plan(library: &Lazy<Cudnn>, (call, form): &Self::Call) -> DeviceResult<Option<ConvolutionPlan>> {
        settled(library.with(|cudnn| cudnn.choose(call, *form))?)
    }

    fn scratch(plan: &ConvolutionPlan) -> u64 {
        plan.workspace
    }

    fn enqueue(
        &mut self,
        plan: &ConvolutionPlan,
        at: &OperandAddresses,
        stream: CUstream,
    ) -> DeviceResult<()> {
        if plan.form.is_some() {
            let operands = at.operands.iter().chain(&at.added).chain(&at.bias);
            if let Some(start) = operands.copied().find(|start| !start.is_multiple_of(ALIGNMENT)) {
                let call = &plan.call;
                let message =
                    format!("{call:?} needs operands at multiples of {ALIGNMENT} bytes, got {start}");
                return Err(DeviceError::driver(self.streams.queue.id(), "record", message));
            }
        }
        self.run(plan, at, stream)
    }
}

impl Cudnn {
    /// Enqueues a plan with its current algorithm.
    fn run(&self, plan: &ConvolutionPlan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()> {
        let CudnnHandle { raw, api, queue } = &self.handle;
        let &[first, second, result] = &at.operands[..] else {
            let message = format!("{} operands of {:?}", at.operands.len(), plan.call);
            return Err(DeviceError::driver(queue.id(), "record", message));
        };
        // SAFETY: handle and stream are alive.
        check(queue, "cudnnSetStream", unsafe { (api.set_stream)(*raw, stream.cast()) })?;
        check(queue, "cudnnConvolution", plan.run(api, *raw, at, [first, second, result]))
    }
}

fn check(queue: &Queue, call: &str, status: Status) -> DeviceResult<()> {
    if status == 0 {
        return Ok(());
    }
    Err(DeviceError::driver(queue.id(), call, format!("status {status}")))
}

/// cuDNN, loaded, with every function used here.
fn api() -> Result<&'static Api, Absent> {
    static API: OnceLock<Result<Api, Absent>> = OnceLock::new();
    preflight::library(&API, || Api::new(preflight::load("cuDNN", "cudnn", &MAJORS)?))
}

struct CudnnHandle {
    raw: Raw,
    api: &'static Api,
    queue: Arc<Queue>,
}

// SAFETY: a handle may be used from any thread, by one at a time, which the lock around its library ensures.
unsafe impl Send for CudnnHandle {}

impl Drop for CudnnHandle {
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

impl ConvolutionPlan {
    fn select(&mut self, candidate: AlgorithmCandidate) {
        self.algorithm = candidate.algorithm;
        self.workspace = candidate.workspace;
    }

    fn run(
        &self,
        api: &'static Api,
        handle: Raw,
        at: &OperandAddresses,
        operands: [CUdeviceptr; 3],
    ) -> Status {
        if let Some(epilogue) = &self.descriptors.epilogue {
            return self.run_with(epilogue, api, handle, (at, operands));
        }
        let functions = Functions::of(api, self.call.role);
        let [first, second, result] = self.descriptors.in_order(self.call.role);
        let [mut inputs @ .., target] = operands;
        if self.call.role == ConvolutionDirection::InputGradient {
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
                pointer(at.scratch),
                self.workspace as usize,
                factor(self.call.dtype, false),
                result,
                pointer(target),
            )
        }
    }

    fn run_with(
        &self,
        epilogue: &EpilogueDescriptors,
        api: &Api,
        handle: Raw,
        (at, [first, second, target]): (&OperandAddresses, [CUdeviceptr; 3]),
    ) -> Status {
        let [input, filters, result] = self.descriptors.in_order(ConvolutionDirection::Forward);
        let adds = self.form.is_some_and(|form| form.added);
        // cuDNN does not read an addend whose factor is zero.
        let added = at.added.filter(|_| adds).unwrap_or(target);
        // SAFETY: the descriptors say how long the operands are, and the caller guarantees that their memory
        // is as long; the workspace is as large as cuDNN requires; both factors live as long as the program.
        unsafe {
            (api.forward_with_epilogue)(
                handle,
                factor(self.call.dtype, true),
                input,
                pointer(first),
                filters,
                pointer(second),
                self.descriptors.convolution.raw,
                self.algorithm,
                pointer(at.scratch),
                self.workspace as usize,
                factor(self.call.dtype, adds),
                result,
                pointer(added),
                epilogue.bias.raw,
                pointer(at.bias.unwrap_or(0)),
                epilogue.activation.raw,
                result,
                pointer(target),
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

/// The algorithms for a convolution, in the order of cuDNN's heuristics. The query may load kernels, so no
/// capture may run at the same time.
fn candidates(
    api: &'static Api,
    handle: Raw,
    call: &LibraryConvolution,
    descriptors: &Descriptors,
) -> Vec<AlgorithmCandidate> {
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
        ConvolutionDirection::Forward => cudnn::FORWARD_TRANSFORMS,
        ConvolutionDirection::InputGradient => cudnn::INPUT_TRANSFORMS,
        ConvolutionDirection::FilterGradient => cudnn::FILTER_TRANSFORMS,
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
        let candidate = AlgorithmCandidate { algorithm: perf.algorithm, workspace: bytes as u64 };
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
    fn of(api: &Api, role: ConvolutionDirection) -> Functions {
        let (algorithms, workspace, run) = match role {
            ConvolutionDirection::Forward => (api.forward_algorithms, api.forward_workspace, api.forward),
            ConvolutionDirection::InputGradient => {
                (api.input_algorithms, api.input_workspace, api.input_gradient)
            }
            ConvolutionDirection::FilterGradient => {
                (api.filter_algorithms, api.filter_workspace, api.filter_gradient)
            }
        };
        Functions { algorithms, workspace, run }
    }
}

#[cfg(test)]
mod tests;
