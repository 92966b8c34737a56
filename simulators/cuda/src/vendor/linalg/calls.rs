//! The calls of a plan, with LAPACK's names. See the [parent module](super) for triangles and transpositions.

use super::cusolver::{AS_IT_IS, LEFT, LOWER, NON_UNIT, Raw, TRANSPOSED, UNIT, UPPER};
use super::{GROUP, Handles, LinalgPlan, OperandAddresses, int, precision};
use crate::capture::{CudaLaunch, enqueue_launch};
use crate::context::OrDriver;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use std::ffi::{c_int, c_void};
use std::ptr;
use workalike_device::{DeviceError, DeviceResult};
use workalike_kernels::library::LinalgProblem;

/// Bytes of a C `int`.
const INT: u64 = 4;

/// A triangle as the libraries' constant.
pub(super) fn triangle(lower: bool) -> c_int {
    if lower { LOWER } else { UPPER }
}

fn pointer(address: CUdeviceptr) -> Raw {
    ptr::without_provenance_mut::<c_void>(address as usize)
}

/// A plan with addresses: sizes and positions of its matrices.
struct LinalgCall<'a> {
    handles: &'a Handles,
    plan: &'a LinalgPlan,
    stream: CUstream,
    which: usize,
    n: c_int,
    columns: c_int,
    batch: c_int,
    /// Bytes of a matrix.
    matrix: u64,
    /// Bytes of the right-hand sides of a matrix.
    sides: u64,
    /// Bytes of the pivots of a matrix.
    pivots: u64,
    scratch: CUdeviceptr,
}

impl Handles {
    /// Enqueues a plan. The addresses must be of memory as long as its operands and its scratch memory.
    pub(super) fn run(&self, plan: &LinalgPlan, at: &OperandAddresses, stream: CUstream) -> DeviceResult<()> {
        let (api, call) = (self.api, &plan.call);
        // SAFETY: the handle of cuSOLVER and the stream are alive.
        self.check("cusolverDnSetStream", unsafe { (api.set_solver_stream)(self.solver, stream.cast()) })?;
        // SAFETY: the handle of cuBLAS and the stream are alive.
        self.check("cublasSetStream", unsafe { (api.set_blas_stream)(self.blas, stream.cast()) })?;
        // Setting the stream resets the workspace.
        let (workspace, bytes) = (pointer(self.workspace.pointer()), super::WORKSPACE as usize);
        // SAFETY: the workspace has `bytes` bytes, and lives as long as the handle.
        let status = unsafe { (api.set_workspace)(self.blas, workspace, bytes) };
        self.check("cublasSetWorkspace", status)?;
        let element = call.dtype.size() as u64;
        let run = LinalgCall {
            handles: self,
            plan,
            stream,
            which: precision(call.dtype),
            n: int(call.n),
            columns: int(call.columns()),
            batch: int(call.batch),
            matrix: call.n * call.n * element,
            sides: call.n * call.columns() * element,
            pivots: call.n * INT,
            scratch: at.scratch,
        };
        match (call.problem, &at.operands[..]) {
            (LinalgProblem::Cholesky { upper }, &[a, factors, info]) => run.cholesky(upper, a, factors, info),
            (LinalgProblem::Lu, &[a, factors, rows, info]) => {
                run.copy(a, factors, run.matrix)?;
                run.factor(factors, rows, info)
            }
            (LinalgProblem::LuSolve { .. }, &[a, b, x, info]) => run.solve(a, b, x, info),
            (LinalgProblem::TriangularSolve { .. }, &[a, b, x]) => run.solve_triangular(a, b, x),
            _ => {
                let message = format!("{} operands of {call:?}", at.operands.len());
                Err(DeviceError::driver(self.queue.id(), "record", message))
            }
        }
    }

    /// Writes `count` addresses to `list`: `start`, and further ones at intervals of `bytes`.
    fn list(
        &self,
        stream: CUstream,
        list: CUdeviceptr,
        start: CUdeviceptr,
        bytes: u64,
        count: u64,
    ) -> DeviceResult<()> {
        let groups = u32::try_from(count.div_ceil(u64::from(GROUP)));
        let groups = groups.map_err(|e| DeviceError::driver(self.queue.id(), "cuLaunchKernelEx", e))?;
        let function = self.addresses.cu_function();
        let launch = CudaLaunch::printed(function, (groups, GROUP), vec![list, start, bytes, count]);
        enqueue_launch(self.queue.id(), stream, &launch, false)
    }
}

impl LinalgCall<'_> {
    fn copy(&self, source: CUdeviceptr, target: CUdeviceptr, bytes: u64) -> DeviceResult<()> {
        let id = self.handles.queue.id();
        let bytes = bytes.saturating_mul(self.plan.call.batch);
        let bytes = usize::try_from(bytes).map_err(|e| DeviceError::driver(id, "cuMemcpyDtoDAsync", e))?;
        // SAFETY: both are memory of the queue, as long as the operand, or scratch memory of the plan.
        unsafe { sys::cuMemcpyDtoDAsync_v2(target, source, bytes, self.stream) }
            .or_driver(id, "cuMemcpyDtoDAsync")
    }

    /// Calls `one` with the position of each matrix of the batch.
    fn each(&self, one: impl FnMut(u64) -> DeviceResult<()>) -> DeviceResult<()> {
        (0..self.plan.call.batch).try_for_each(one)
    }

    /// Writes the addresses of the batch's matrices, of `bytes` bytes each, to a part of scratch memory;
    /// returns that list.
    fn list(&self, part: u64, start: CUdeviceptr, bytes: u64) -> DeviceResult<Raw> {
        let list = self.scratch + part;
        self.handles.list(self.stream, list, start, bytes, self.plan.call.batch)?;
        Ok(pointer(list))
    }

    fn cholesky(
        &self,
        upper: bool,
        a: CUdeviceptr,
        factors: CUdeviceptr,
        info: CUdeviceptr,
    ) -> DeviceResult<()> {
        let LinalgCall { handles, plan, which, n, .. } = *self;
        self.copy(a, factors, self.matrix)?;
        let triangle = triangle(upper);
        if plan.batched {
            let list = self.list(plan.scratch.matrices, factors, self.matrix)?;
            // SAFETY: the handle is alive; lists, matrices and infos are as long as the batch says.
            let status = unsafe {
                (handles.api.potrf_batched[which])(
                    handles.solver,
                    triangle,
                    n,
                    list,
                    n,
                    pointer(info),
                    self.batch,
                )
            };
            return handles.check("cusolverDnPotrfBatched", status);
        }
        let workspace = pointer(self.scratch + plan.scratch.workspace);
        self.each(|at| {
            // SAFETY: the handle is alive; `at` is below the batch, whose matrices and infos are as long as
            // it says; the workspace is as large as cuSOLVER requires.
            let status = unsafe {
                (handles.api.potrf[which])(
                    handles.solver,
                    triangle,
                    n,
                    pointer(factors + at * self.matrix),
                    n,
                    workspace,
                    plan.workspace,
                    pointer(info + at * INT),
                )
            };
            handles.check("cusolverDnPotrf", status)
        })
    }

    /// Replaces matrices by their LU factors.
    fn factor(&self, factors: CUdeviceptr, pivots: CUdeviceptr, info: CUdeviceptr) -> DeviceResult<()> {
        let LinalgCall { handles, plan, which, n, .. } = *self;
        if plan.batched {
            let list = self.list(plan.scratch.matrices, factors, self.matrix)?;
            // SAFETY: the handle is alive; lists, matrices, pivots and infos are as long as the batch says.
            let status = unsafe {
                let (pivots, info) = (pointer(pivots), pointer(info));
                (handles.api.getrf_batched[which])(handles.blas, n, list, n, pivots, info, self.batch)
            };
            return handles.check("cublasGetrfBatched", status);
        }
        let workspace = pointer(self.scratch + plan.scratch.workspace);
        self.each(|at| {
            // SAFETY: the handle is alive; `at` is below the batch, whose matrices, pivots and infos are as
            // long as it says; the workspace is as large as cuSOLVER requires.
            let status = unsafe {
                (handles.api.getrf[which])(
                    handles.solver,
                    n,
                    n,
                    pointer(factors + at * self.matrix),
                    n,
                    workspace,
                    pointer(pivots + at * self.pivots),
                    pointer(info + at * INT),
                )
            };
            handles.check("cusolverDnGetrf", status)
        })
    }

    fn solve(&self, a: CUdeviceptr, b: CUdeviceptr, x: CUdeviceptr, info: CUdeviceptr) -> DeviceResult<()> {
        let LinalgCall { handles, plan, which, n, columns, scratch, .. } = *self;
        let (factors, pivots) = (scratch + plan.scratch.factors, scratch + plan.scratch.pivots);
        self.copy(a, factors, self.matrix)?;
        self.copy(b, x, self.sides)?;
        self.factor(factors, pivots, info)?;
        if plan.batched {
            // `factor` wrote the list of matrices.
            let list = pointer(scratch + plan.scratch.matrices);
            let sides = self.list(plan.scratch.sides, x, self.sides)?;
            let mut wrong = 0;
            // SAFETY: the handle is alive; lists, factors, pivots and right-hand sides are as long as the
            // batch says; `wrong` is written during the call.
            let status = unsafe {
                (handles.api.getrs_batched[which])(
                    handles.blas,
                    TRANSPOSED,
                    n,
                    columns,
                    list,
                    n,
                    pointer(pivots),
                    sides,
                    n,
                    &mut wrong,
                    self.batch,
                )
            };
            return handles.check("cublasGetrsBatched", if status == 0 { wrong } else { status });
        }
        self.each(|at| {
            // SAFETY: the handle is alive; `at` is below the batch, whose factors, pivots and right-hand
            // sides are as long as it says; the status is an int of scratch memory.
            let status = unsafe {
                (handles.api.getrs[which])(
                    handles.solver,
                    TRANSPOSED,
                    n,
                    columns,
                    pointer(factors + at * self.matrix),
                    n,
                    pointer(pivots + at * self.pivots),
                    pointer(x + at * self.sides),
                    n,
                    pointer(scratch + plan.scratch.status),
                )
            };
            handles.check("cusolverDnGetrs", status)
        })
    }

    fn solve_triangular(&self, a: CUdeviceptr, b: CUdeviceptr, x: CUdeviceptr) -> DeviceResult<()> {
        let LinalgCall { handles, plan, which, n, columns, .. } = *self;
        let LinalgProblem::TriangularSolve { lower, transposed, unit_diagonal, .. } = plan.call.problem
        else {
            return Ok(());
        };
        self.copy(b, x, self.sides)?;
        let triangle = triangle(!lower);
        let transposed = if transposed { AS_IT_IS } else { TRANSPOSED };
        let diagonal = if unit_diagonal { UNIT } else { NON_UNIT };
        let (one, one_wide) = (1f32, 1f64);
        let alpha: *const c_void =
            if which == 0 { ptr::from_ref(&one).cast() } else { ptr::from_ref(&one_wide).cast() };
        if plan.batched {
            let list = self.list(plan.scratch.matrices, a, self.matrix)?;
            let sides = self.list(plan.scratch.sides, x, self.sides)?;
            // SAFETY: the handle is alive; lists, matrices and right-hand sides are as long as the batch
            // says; `alpha` is read during the call.
            let status = unsafe {
                (handles.api.trsm_batched[which])(
                    handles.blas,
                    LEFT,
                    triangle,
                    transposed,
                    diagonal,
                    n,
                    columns,
                    alpha,
                    list,
                    n,
                    sides,
                    n,
                    self.batch,
                )
            };
            return handles.check("cublasTrsmBatched", status);
        }
        self.each(|at| {
            // SAFETY: the handle is alive; `at` is below the batch, whose matrices and right-hand sides are
            // as long as it says; `alpha` is read during the call.
            let status = unsafe {
                (handles.api.trsm[which])(
                    handles.blas,
                    LEFT,
                    triangle,
                    transposed,
                    diagonal,
                    n,
                    columns,
                    alpha,
                    pointer(a + at * self.matrix),
                    n,
                    pointer(x + at * self.sides),
                    n,
                )
            };
            handles.check("cublasTrsm", status)
        })
    }
}
