//! Products through cuBLAS, where cuBLASLt is missing or has no way for one.
//!
//! No f32 product goes through TF32, and halves accumulate in f32 throughout. The workspace is the caller's,
//! so that a captured product allocates nothing and gives the same bits each time.

use super::plan::{At, Call, Factor};
use crate::context::{OrDriver, Queue};
use crate::memory::CudaMemory;
use cudarc::cublas::{result, sys};
use cudarc::driver::sys::{CUstream, cuMemcpyDtoDAsync_v2};
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory};
use workalike_kernels::DType;

/// The cuBLAS handle of one device object.
pub(super) struct Blas {
    handle: sys::cublasHandle_t,
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
}

// SAFETY: a handle may be used from any thread, by one at a time: all its uses are made under a lock of its
// owner.
unsafe impl Send for Blas {}

impl Blas {
    /// A new handle, for memory of a queue. cuBLAS must be present and the context current.
    pub(super) fn new(queue: &Arc<Queue>, workspace: &Arc<CudaMemory>) -> DeviceResult<Blas> {
        let handle = {
            let _apart = queue.context.capture();
            result::create_handle().map_err(|e| DeviceError::driver(queue.id(), "cublasCreate", e))?
        };
        let blas = Blas { handle, queue: queue.clone(), workspace: workspace.clone() };
        let mode = sys::cublasMath_t::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
        // SAFETY: the handle is alive.
        blas.check("cublasSetMathMode", unsafe { sys::cublasSetMathMode(blas.handle, mode) })?;
        Ok(blas)
    }

    /// From now on products are enqueued there.
    pub(super) fn set_queue(&self, queue: &Queue) -> DeviceResult<()> {
        // SAFETY: handle and stream are alive; the driver's and cuBLAS's stream types are the same.
        let set = unsafe { sys::cublasSetStream_v2(self.handle, queue.stream.cu_stream().cast()) };
        self.check("cublasSetStream", set)?;
        // Setting the stream takes the workspace away again.
        let bytes = self.workspace.bytes() as usize;
        // SAFETY: the workspace holds that many bytes and lives as long as the handle and as every recording
        // made with it.
        let set = unsafe {
            sys::cublasSetWorkspace_v2(self.handle, self.workspace.pointer() as *mut c_void, bytes)
        };
        self.check("cublasSetWorkspace", set)
    }

    /// Enqueues products without a bias on a stream, that of the queue set last. The addresses are of memory
    /// of the queue, as long as the call reaches.
    pub(super) fn run(&self, call: &Call, at: At, stream: CUstream) -> DeviceResult<()> {
        use sys::cublasComputeType_t::{
            CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F,
        };
        use sys::cudaDataType_t::{CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, CUDA_R_64F};
        let (stored, computed) = match call.dtype {
            DType::F64 => (CUDA_R_64F, CUBLAS_COMPUTE_64F),
            DType::F16 => (CUDA_R_16F, CUBLAS_COMPUTE_32F),
            DType::BF16 => (CUDA_R_16BF, CUBLAS_COMPUTE_32F),
            _ if call.fast => (CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32),
            _ => (CUDA_R_32F, CUBLAS_COMPUTE_32F),
        };
        let At { a, b, result: c, added, alpha, beta, .. } = at;
        if let Some(added) = added.filter(|added| *added != c) {
            // cuBLAS adds in place alone.
            let bytes = call.result_bytes() as usize;
            // SAFETY: both are of memory of the queue, that long, and apart from each other.
            unsafe { cuMemcpyDtoDAsync_v2(c, added, bytes, stream) }
                .or_driver(self.queue.id(), "cuMemcpyDtoDAsync")?;
        }
        // alpha and beta are read during the call, at the computing type.
        let double = [alpha, beta];
        let single = double.map(|by| by as f32);
        let [alpha, beta]: [*const c_void; 2] = if call.dtype == DType::F64 {
            [(&raw const double[0]).cast(), (&raw const double[1]).cast()]
        } else {
            [(&raw const single[0]).cast(), (&raw const single[1]).cast()]
        };
        let operation = |f: Factor| match f.transposed {
            false => sys::cublasOperation_t::CUBLAS_OP_N,
            true => sys::cublasOperation_t::CUBLAS_OP_T,
        };
        let algorithm = sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        let Call { count, m, n, k, a: left, b: right, .. } = *call;
        if count == 1 {
            // SAFETY: the addresses cover what the call reads and writes; alpha and beta are of the computing
            // type.
            let status = unsafe {
                sys::cublasGemmEx(
                    self.handle,
                    operation(right),
                    operation(left),
                    n,
                    m,
                    k,
                    alpha,
                    b as *const c_void,
                    stored,
                    right.leading,
                    a as *const c_void,
                    stored,
                    left.leading,
                    beta,
                    c as *mut c_void,
                    stored,
                    n,
                    computed,
                    algorithm,
                )
            };
            return self.check("cublasGemmEx", status);
        }
        // SAFETY: as above.
        let status = unsafe {
            sys::cublasGemmStridedBatchedEx(
                self.handle,
                operation(right),
                operation(left),
                n,
                m,
                k,
                alpha,
                b as *const c_void,
                stored,
                right.leading,
                right.step,
                a as *const c_void,
                stored,
                left.leading,
                left.step,
                beta,
                c as *mut c_void,
                stored,
                n,
                i64::from(m) * i64::from(n),
                count,
                computed,
                algorithm,
            )
        };
        self.check("cublasGemmStridedBatchedEx", status)
    }

    fn check(&self, call: &str, status: sys::cublasStatus_t) -> DeviceResult<()> {
        status.result().map_err(|e| DeviceError::driver(self.queue.id(), call, e))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            // Destroying waits for the whole context.
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks what the handle held; nobody depends on
            // it.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}
