//! Linear algebra through cuSOLVER and cuBLAS, where they are installed.
//!
//! One matrix goes to cuSOLVER (`potrf`, `getrf`, `getrs`) or to cuBLAS (`trsm`), a batch to their batched
//! functions, or matrix by matrix where a batched function cannot be captured. NVIDIA does not document which
//! of these functions a stream capture allows, so each plan is run and captured once on scratch memory; that
//! also loads the kernels, which a capture may not do. Where nothing can be captured, or memory does not
//! suffice for the trial, there is no plan.
//!
//! The libraries take column-major matrices. Row-major memory of `a` is column-major memory of `a^T`, so:
//! - Its lower triangle is the upper one of `a^T`. `potrf` of the opposite triangle stores `u` with
//!   `u^T u = a` there, which is `l^T`: read row-major it is `l`, in the requested triangle.
//! - `getrf` factors `a^T`, whose pivots have the same product; `getrs` solves the transposed system, which
//!   is `a x = b`.
//! - `trsm` is given the opposite triangle, transposed unless the transpose was requested.
//! - Contiguous right-hand sides are the columns of a column-major matrix.

mod calls;
mod cusolver;

use super::bind::OperandAddresses;
use super::lazy::Lazy;
use super::streams::Streams;
use super::{VendorLibrary, settled};
use crate::context::{OrDriver, Queue};
use crate::dependencies::AddressRange;
use crate::memory::CudaMemory;
use crate::module::finish_loading;
use crate::nvrtc;
use crate::preflight::Absent;
use cudarc::driver::CudaFunction;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cusolver::{Api, Raw, Status};
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, LibraryOp, Numerics};
use workalike_kernels::DType;
use workalike_kernels::library::{LinalgProblem, LinearAlgebra};
use workalike_kernels::nest::LinearForm;

/// The largest order: the libraries count the elements of a matrix in 32 bits.
const LARGEST_ORDER: u64 = 46_340;
/// Maximum number of matrices of a batch that are computed one by one: each adds some nodes to the graph.
const MOST_ONE_BY_ONE: u64 = 64;
/// Bytes of workspace for cuBLAS, which it would otherwise allocate in a capture. The size is cuBLAS's
/// default before Hopper.
const WORKSPACE: u64 = 4 << 20;
/// Alignment of the parts of scratch memory in bytes.
const ALIGNMENT: u64 = 256;
/// Threads of a block of [`ADDRESSES`].
const GROUP: u32 = 128;
/// A kernel that writes a list of the addresses of the matrices of a batch.
const ADDRESSES: &str = r#"extern "C" __global__ void addresses(unsigned long long *list, unsigned long long start, unsigned long long bytes, unsigned long long count) {
    unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) list[at] = start + at * bytes;
}
"#;

/// cuSOLVER and cuBLAS on one device object.
pub(super) struct Linalg {
    handles: Handles,
    /// Dropped after the handles, which are set to them.
    streams: Streams,
}

/// The calls that compute an op.
pub(super) struct LinalgPlan {
    call: LinearAlgebra,
    batched: bool,
    /// Elements of workspace of cuSOLVER.
    workspace: c_int,
    scratch: ScratchOffsets,
}

/// Byte offsets of the parts of scratch memory.
#[derive(Clone, Copy, Debug, Default)]
struct ScratchOffsets {
    /// Workspace of cuSOLVER.
    workspace: u64,
    /// LU factors of the matrices of systems.
    factors: u64,
    /// Pivots of the factors.
    pivots: u64,
    /// An int that says which parameter is wrong.
    status: u64,
    /// Addresses of matrices.
    matrices: u64,
    /// Addresses of right-hand sides.
    sides: u64,
    /// Bytes of all parts.
    bytes: u64,
}

impl VendorLibrary for Linalg {
    type Call = LinearAlgebra;
    type Plan = LinalgPlan;

    fn installed() -> Result<(), Absent> {
        cusolver::api().map(drop)
    }

    fn call(op: &dyn LibraryOp, _: Option<&LinearForm>) -> Option<LinearAlgebra> {
        op.downcast().copied()
    }

    fn open(streams: &Streams) -> DeviceResult<Linalg> {
        let missing = |absent: Absent| absent.on(streams.queue.id());
        let handles = Handles::new(cusolver::api().map_err(missing)?, &streams.queue)?;
        Ok(Linalg { handles, streams: streams.clone() })
    }

    fn plan(library: &Lazy<Linalg>, call: &LinearAlgebra) -> DeviceResult<Option<LinalgPlan>> {
        settled(library.with(|linalg| linalg.choose(call))?)
    }

    fn scratch(plan: &LinalgPlan) -> u64 {
        plan.scratch.bytes
    }

    /// The workspace of cuBLAS. cuSOLVER's handle has internal memory too, whose address is not known.
    fn shared(&self) -> Option<AddressRange> {
        Some(AddressRange { start: self.handles.workspace.pointer(), bytes: WORKSPACE })
    }

    fn enqueue(&mut self, plan: &LinalgPlan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()> {
        self.handles.run(plan, at, stream)
    }
}

impl Linalg {
    /// The first plan that passes its trial; `None` if none does.
    fn choose(&self, call: &LinearAlgebra) -> DeviceResult<Option<LinalgPlan>> {
        let sizes = [call.batch, call.n, call.columns(), call.n.saturating_mul(call.columns())];
        let operands = call.operands();
        let empty = operands.iter().any(|operand| operand.shape.contains(&0));
        let unknown = matches!(call.problem, LinalgProblem::Cofactors);
        if empty
            || unknown
            || call.n > LARGEST_ORDER
            || sizes.iter().any(|size| c_int::try_from(*size).is_err())
        {
            return Ok(None);
        }
        let ways: &[bool] = match call.batch {
            1 => &[false],
            2..=MOST_ONE_BY_ONE => &[true, false],
            _ => &[true],
        };
        for &batched in ways {
            let plan = self.handles.lay_out(call, batched).and_then(|plan| {
                self.try_out(&plan)?;
                Ok(plan)
            });
            match plan {
                Ok(plan) => return Ok(Some(plan)),
                // The trial was not run.
                Err(e @ DeviceError::OutOfMemory { .. }) => return Err(e),
                // The other way may pass its trial.
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Runs and captures a plan once, on new memory filled with zeros.
    fn try_out(&self, plan: &LinalgPlan) -> DeviceResult<()> {
        let operands = plan.call.operands();
        let bytes = operands.iter().map(|o| o.shape.iter().product::<u64>() * o.dtype.size() as u64);
        let memory = bytes.chain([plan.scratch.bytes]).map(|bytes| self.streams.zeros(bytes));
        let memory = memory.collect::<DeviceResult<Vec<Arc<CudaMemory>>>>()?;
        let mut addresses: Vec<CUdeviceptr> = memory.iter().map(|memory| memory.pointer()).collect();
        let scratch = addresses.pop().unwrap_or(0);
        let at = OperandAddresses::plain(addresses, scratch);
        let run = |stream| self.handles.run(plan, &at, stream);
        if self.streams.runs(run)? && self.streams.captures(run)? {
            return Ok(());
        }
        let message = format!("{:?} does not run in a graph", plan.call);
        Err(DeviceError::driver(self.streams.queue.id(), "trial", message))
    }
}

/// The handles of both libraries, and what their functions need.
struct Handles {
    api: &'static Api,
    solver: Raw,
    blas: Raw,
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
    /// The kernel [`ADDRESSES`].
    addresses: CudaFunction,
}

// SAFETY: handles may be used from any thread, by one at a time, which the lock around their library ensures.
unsafe impl Send for Handles {}

impl Handles {
    /// The context must be current.
    fn new(api: &'static Api, queue: &Arc<Queue>) -> DeviceResult<Handles> {
        let (context, id) = (&queue.context, queue.id());
        let module = nvrtc::module(context, ADDRESSES, Numerics::default())?;
        let addresses = module.load_function("addresses").or_driver(id, "cuModuleGetFunction(addresses)")?;
        finish_loading(context, addresses.cu_function())?;
        let (solver, blas) = (ptr::null_mut(), ptr::null_mut());
        let workspace = CudaMemory::new(queue, WORKSPACE)?;
        // If creating one of the handles fails, dropping `handles` destroys the other.
        let mut handles = Handles { api, solver, blas, queue: queue.clone(), workspace, addresses };
        // Creating waits for the whole context.
        let apart = context.capture();
        // SAFETY: writes a handle of cuSOLVER.
        let solver = unsafe { (api.create_solver)(&mut handles.solver) };
        // SAFETY: writes a handle of cuBLAS.
        let blas = unsafe { (api.create_blas)(&mut handles.blas) };
        // Dropping the handles takes this lock again.
        drop(apart);
        handles.check("cusolverDnCreate", solver)?;
        handles.check("cublasCreate", blas)?;
        Ok(handles)
    }

    fn check(&self, call: &str, status: Status) -> DeviceResult<()> {
        if status == 0 {
            return Ok(());
        }
        Err(DeviceError::driver(self.queue.id(), call, format!("status {status}")))
    }

    /// Makes a plan: gets the size of the workspace, and lays out scratch memory.
    fn lay_out(&self, call: &LinearAlgebra, batched: bool) -> DeviceResult<LinalgPlan> {
        let element = call.dtype.size() as u64;
        let workspace = if batched { 0 } else { self.solver_workspace(call)? };
        let (batch, n) = (call.batch, call.n);
        let mut scratch = ScratchOffsets::default();
        let mut part = |wanted: bool, bytes: u64| {
            let start = scratch.bytes;
            let bytes = if wanted { bytes.next_multiple_of(ALIGNMENT) } else { 0 };
            scratch.bytes += bytes;
            start
        };
        let solves = matches!(call.problem, LinalgProblem::LuSolve { .. });
        let has_sides = call.columns() > 0;
        let starts = [
            part(true, u64::from(workspace.unsigned_abs()) * element),
            part(solves, batch * n * n * element),
            part(solves, batch * n * 4),
            part(solves, 4),
            part(batched, batch * 8),
            part(batched && has_sides, batch * 8),
        ];
        let [workspace_at, factors, pivots, status, matrices, sides] = starts;
        let bytes = scratch.bytes;
        let scratch =
            ScratchOffsets { workspace: workspace_at, factors, pivots, status, matrices, sides, bytes };
        Ok(LinalgPlan { call: *call, batched, workspace, scratch })
    }

    /// Elements of workspace for one matrix.
    fn solver_workspace(&self, call: &LinearAlgebra) -> DeviceResult<c_int> {
        let (which, n) = (precision(call.dtype), int(call.n));
        let (none, mut elements) = (ptr::null_mut(), 0);
        // SAFETY: the handle is alive; the functions only write to `elements`.
        let status = unsafe {
            match call.problem {
                LinalgProblem::Cholesky { upper } => (self.api.potrf_size[which])(
                    self.solver,
                    calls::triangle(upper),
                    n,
                    none,
                    n,
                    &mut elements,
                ),
                LinalgProblem::Lu | LinalgProblem::LuSolve { .. } => {
                    (self.api.getrf_size[which])(self.solver, n, n, none, n, &mut elements)
                }
                LinalgProblem::TriangularSolve { .. } | LinalgProblem::Cofactors => 0,
            }
        };
        self.check("cusolverDn_bufferSize", status)?;
        Ok(elements.max(0))
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            let stream = self.queue.stream.cu_stream();
            // SAFETY: created once, destroyed once; their last stream and the device's own are alive. A
            // failure leaks the resources of a handle, on which nothing depends.
            unsafe {
                if !self.solver.is_null() {
                    let _ = (self.api.set_solver_stream)(self.solver, stream.cast());
                    let _ = (self.api.destroy_solver)(self.solver);
                }
                if !self.blas.is_null() {
                    let _ = (self.api.set_blas_stream)(self.blas, stream.cast());
                    let _ = (self.api.destroy_blas)(self.blas);
                }
            }
        }
    }
}

/// The index of a dtype in pairs of functions.
fn precision(dtype: DType) -> usize {
    usize::from(dtype == DType::F64)
}

/// A size as a `c_int`; `choose` checked that it fits.
fn int(size: u64) -> c_int {
    c_int::try_from(size).unwrap_or(c_int::MAX)
}
