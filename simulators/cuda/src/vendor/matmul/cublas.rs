//! Products through cuBLAS, where cuBLASLt is missing or has no algorithm for one.
//!
//! Only fast products of f32 use TF32, and halves accumulate in f32. The workspace is the caller's, so that a
//! captured product allocates nothing and gives the same bits each time.

use super::column_major::{ColumnMajorFactor, MatmulAddresses, MatmulCall};
use crate::context::{OrDriver, Queue};
use crate::memory::CudaMemory;
use cudarc::cublas::{result, sys};
use cudarc::driver::sys::{CUstream, cuMemcpyDtoDAsync_v2};
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory};
use workalike_kernels::DType;

const GEMM_ALGORITHM: sys::cublasGemmAlgo_t = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;

/// How the elements of factors and of the result are stored, and how products are summed.
fn types(call: &MatmulCall) -> ([sys::cudaDataType_t; 2], sys::cublasComputeType_t) {
    use sys::cublasComputeType_t as Compute;
    use sys::cudaDataType_t::{CUDA_R_8I, CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_32I, CUDA_R_64F};
    match call.dtype {
        DType::F64 => ([CUDA_R_64F; 2], Compute::CUBLAS_COMPUTE_64F),
        DType::F16 => ([CUDA_R_16F; 2], Compute::CUBLAS_COMPUTE_32F),
        DType::BF16 => ([CUDA_R_16BF; 2], Compute::CUBLAS_COMPUTE_32F),
        DType::I8 => ([CUDA_R_8I, CUDA_R_32I], Compute::CUBLAS_COMPUTE_32I),
        _ if call.fast => ([CUDA_R_32F; 2], Compute::CUBLAS_COMPUTE_32F_FAST_TF32),
        _ => ([CUDA_R_32F; 2], Compute::CUBLAS_COMPUTE_32F),
    }
}

fn operation(factor: ColumnMajorFactor) -> sys::cublasOperation_t {
    match factor.transposed {
        false => sys::cublasOperation_t::CUBLAS_OP_N,
        true => sys::cublasOperation_t::CUBLAS_OP_T,
    }
}

/// The cuBLAS handle of one device object.
pub(super) struct Cublas {
    handle: sys::cublasHandle_t,
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
}

// SAFETY: a handle may be used from any thread, by one at a time, which the lock around its library ensures.
unsafe impl Send for Cublas {}

impl Cublas {
    /// A new handle, for memory of a queue. cuBLAS must be present and the context current.
    pub(super) fn new(queue: &Arc<Queue>, workspace: &Arc<CudaMemory>) -> DeviceResult<Cublas> {
        let handle = {
            let _apart = queue.context.capture();
            result::create_handle().map_err(|e| DeviceError::driver(queue.id(), "cublasCreate", e))?
        };
        let cublas = Cublas { handle, queue: queue.clone(), workspace: workspace.clone() };
        let mode = sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: the handle is alive.
        cublas.check("cublasSetMathMode", unsafe { sys::cublasSetMathMode(cublas.handle, mode) })?;
        Ok(cublas)
    }

    /// Enqueues products without a bias. The addresses must be of memory of the stream's device, as long as
    /// the call reaches.
    pub(super) fn run(&self, call: &MatmulCall, at: MatmulAddresses, stream: CUstream) -> DeviceResult<()> {
        self.set_stream(stream)?;
        if let Some(added) = at.added.filter(|added| *added != at.result) {
            // cuBLAS only adds in place.
            let bytes = call.result_bytes() as usize;
            // SAFETY: both are memory of the queue, `bytes` long, and do not overlap.
            unsafe { cuMemcpyDtoDAsync_v2(at.result, added, bytes, stream) }
                .or_driver(self.queue.id(), "cuMemcpyDtoDAsync")?;
        }
        if call.count == 1 { self.gemm(call, at) } else { self.gemm_batched(call, at) }
    }

    fn set_stream(&self, stream: CUstream) -> DeviceResult<()> {
        // SAFETY: handle and stream are alive; the driver's and cuBLAS's stream types are the same.
        let set = unsafe { sys::cublasSetStream_v2(self.handle, stream.cast()) };
        self.check("cublasSetStream", set)?;
        // Setting the stream resets the workspace.
        let bytes = self.workspace.bytes() as usize;
        // SAFETY: the workspace holds that many bytes and lives as long as the handle and as every recording
        // made with it.
        let set = unsafe {
            sys::cublasSetWorkspace_v2(self.handle, self.workspace.pointer() as *mut c_void, bytes)
        };
        self.check("cublasSetWorkspace", set)
    }

    fn gemm(&self, call: &MatmulCall, at: MatmulAddresses) -> DeviceResult<()> {
        let ([stored, result], computed) = types(call);
        let scales = at.scales(call.dtype);
        let [alpha, beta] = scales.pointers();
        let MatmulCall { m, n, k, a, b, .. } = *call;
        // SAFETY: the addresses cover what the call reads and writes; `scales`, which holds alpha and beta at
        // the computing type, lives until the call returns.
        let status = unsafe {
            sys::cublasGemmEx(
                self.handle,
                operation(b),
                operation(a),
                n,
                m,
                k,
                alpha,
                at.b as *const c_void,
                stored,
                b.leading,
                at.a as *const c_void,
                stored,
                a.leading,
                beta,
                at.result as *mut c_void,
                result,
                n,
                computed,
                GEMM_ALGORITHM,
            )
        };
        self.check("cublasGemmEx", status)
    }

    fn gemm_batched(&self, call: &MatmulCall, at: MatmulAddresses) -> DeviceResult<()> {
        let ([stored, result], computed) = types(call);
        let scales = at.scales(call.dtype);
        let [alpha, beta] = scales.pointers();
        let MatmulCall { count, m, n, k, a, b, .. } = *call;
        // SAFETY: the addresses cover what the call reads and writes, `count` matrices each; `scales`, which
        // holds alpha and beta at the computing type, lives until the call returns.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
                self.handle,
                operation(b),
                operation(a),
                n,
                m,
                k,
                alpha,
                at.b as *const c_void,
                stored,
                b.leading,
                b.step,
                at.a as *const c_void,
                stored,
                a.leading,
                a.step,
                beta,
                at.result as *mut c_void,
                result,
                n,
                i64::from(m) * i64::from(n),
                count,
                computed,
                GEMM_ALGORITHM,
            )
        };
        self.check("cublasGemmStridedBatchedEx", status)
    }

    fn check(&self, call: &str, status: sys::cublasStatus_t) -> DeviceResult<()> {
        status.result().map_err(|e| DeviceError::driver(self.queue.id(), call, e))
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks the resources of the handle, on which
            // nothing depends.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}
