//! Products through cuBLASLt, which has several algorithms for each and lets the caller choose.
//!
//! Only fast products of f32 use TF32, and halves accumulate in f32: where a product is split along k
//! (split-K), its parts are summed in f32 as well. Only algorithms that give the same bits each time are
//! allowed: parts are written to the workspace and summed in a fixed order, never added to the result in the
//! order in which they finish.

use super::column_major::{MatmulAddresses, MatmulCall};
use super::descriptors::{MatmulDescriptors, Preference, reductions};
use crate::context::Queue;
use crate::memory::CudaMemory;
use cudarc::cublaslt::{result, sys};
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory};

/// Maximum number of algorithms requested. The library rarely offers more than eight.
const MOST: usize = 32;

/// `cublasLtMatmulAlgo_t`: its words mean the same to every process with this version of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm(pub(super) [u64; 8]);

impl Algorithm {
    fn raw(self) -> sys::cublasLtMatmulAlgo_t {
        sys::cublasLtMatmulAlgo_t { data: self.0 }
    }
}

/// The cuBLASLt handle of one device object.
pub(super) struct CublasLt {
    handle: sys::cublasLtHandle_t,
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
}

// SAFETY: a handle may be used from any thread, by one at a time, which the lock around its library ensures.
unsafe impl Send for CublasLt {}

impl CublasLt {
    /// A new handle, for memory of a queue. cuBLASLt must be present and the context current.
    pub(super) fn new(queue: &Arc<Queue>, workspace: &Arc<CudaMemory>) -> DeviceResult<CublasLt> {
        let _apart = queue.context.capture();
        let handle =
            result::create_handle().map_err(|e| DeviceError::driver(queue.id(), "cublasLtCreate", e))?;
        Ok(CublasLt { handle, queue: queue.clone(), workspace: workspace.clone() })
    }

    /// The library's version.
    pub(super) fn version(&self) -> usize {
        // SAFETY: cuBLASLt is present; no preconditions.
        unsafe { sys::cublasLtGetVersion() }
    }

    /// Maximum bytes of workspace of an algorithm.
    pub(super) fn workspace_bytes(&self) -> u64 {
        self.workspace.bytes()
    }

    /// Algorithms for a call within the workspace, in the order of the library's heuristics, fastest first.
    /// Empty if there is none.
    pub(super) fn candidates(&self, call: &MatmulCall) -> DeviceResult<Vec<Algorithm>> {
        let descriptors = MatmulDescriptors::of(self.queue.id(), call, bias_placeholder(call))?;
        let preference = Preference::of(self.queue.id(), call, self.workspace.bytes())?;
        // SAFETY: plain data, for which zeros are a value.
        let mut found: [sys::cublasLtMatmulHeuristicResult_t; MOST] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        let [first, second, result] = descriptors.layouts();
        // The query may load the library's heuristics; meanwhile no capture may run.
        let _apart = self.queue.context.capture();
        // SAFETY: handle, descriptors and preference are alive; at most `MOST` results are written.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                descriptors.operation(),
                first,
                second,
                result,
                result,
                preference.raw(),
                MOST as i32,
                found.as_mut_ptr(),
                &mut count,
            )
        };
        if status == sys::cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED {
            return Ok(Vec::new());
        }
        self.check("cublasLtMatmulAlgoGetHeuristic", status)?;
        let found = found.iter().take(usize::try_from(count).unwrap_or(0));
        Ok(found.filter(|f| self.allows(call, f)).map(|f| Algorithm(f.algo.data)).collect())
    }

    /// Whether the library still accepts an algorithm for a call, and [`CublasLt::allows`] it.
    pub(super) fn accepts(&self, call: &MatmulCall, algorithm: Algorithm) -> DeviceResult<bool> {
        let descriptors = MatmulDescriptors::of(self.queue.id(), call, bias_placeholder(call))?;
        let [first, second, result] = descriptors.layouts();
        let raw = algorithm.raw();
        // SAFETY: plain data, for which zeros are a value.
        let mut found: sys::cublasLtMatmulHeuristicResult_t = unsafe { std::mem::zeroed() };
        let _apart = self.queue.context.capture();
        // SAFETY: handle, descriptors and `raw` are alive; one result is written.
        let status = unsafe {
            sys::cublasLtMatmulAlgoCheck(
                self.handle,
                descriptors.operation(),
                first,
                second,
                result,
                result,
                &raw,
                &mut found,
            )
        };
        // The library need not fill in the algorithm that it was given.
        found.algo = raw;
        Ok(status == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS && self.allows(call, &found))
    }

    /// Enqueues a call on a stream. The addresses must be of memory of the queue, as long as the call
    /// reaches.
    pub(super) fn run(
        &self,
        call: &MatmulCall,
        algorithm: Algorithm,
        at: MatmulAddresses,
        stream: cudarc::driver::sys::CUstream,
    ) -> DeviceResult<()> {
        let descriptors = MatmulDescriptors::of(self.queue.id(), call, at.bias.unwrap_or(0))?;
        let [first, second, result] = descriptors.layouts();
        let scales = at.scales(call.dtype);
        let [alpha, beta] = scales.pointers();
        let raw = algorithm.raw();
        // SAFETY: handle, descriptors, `scales` and `raw` live until the call returns, and alpha and beta are
        // of the computing type; the addresses cover what the layouts reach, and the workspace what the
        // algorithm was allowed; the driver's and cuBLASLt's stream types are the same.
        let status = unsafe {
            sys::cublasLtMatmul(
                self.handle,
                descriptors.operation(),
                alpha,
                at.b as *const c_void,
                first,
                at.a as *const c_void,
                second,
                beta,
                at.added.unwrap_or(at.result) as *const c_void,
                result,
                at.result as *mut c_void,
                result,
                &raw,
                self.workspace.pointer() as *mut c_void,
                self.workspace.bytes() as usize,
                stream.cast(),
            )
        };
        self.check("cublasLtMatmul", status)
    }

    /// Whether an algorithm fits into the workspace and gives the same bits each time.
    fn allows(&self, call: &MatmulCall, found: &sys::cublasLtMatmulHeuristicResult_t) -> bool {
        use sys::cublasLtMatmulAlgoConfigAttributes_t::CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME;
        let (mut scheme, mut written) = (u32::MAX, 0);
        // SAFETY: writes one u32.
        let status = unsafe {
            sys::cublasLtMatmulAlgoConfigGetAttribute(
                &found.algo,
                CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                (&raw mut scheme).cast(),
                size_of::<u32>(),
                &mut written,
            )
        };
        let success = sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS;
        status == success
            && found.state == success
            && found.workspaceSize as u64 <= self.workspace.bytes()
            && scheme & !reductions(call.dtype) == 0
    }

    fn check(&self, call: &str, status: sys::cublasStatus_t) -> DeviceResult<()> {
        status.result().map_err(|e| DeviceError::driver(self.queue.id(), call, e))
    }
}

/// A stand-in for the address of the bias, where the library only looks at its alignment.
fn bias_placeholder(call: &MatmulCall) -> u64 {
    call.bias.map_or(0, u64::from)
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks the resources of the handle, on which
            // nothing depends.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}
