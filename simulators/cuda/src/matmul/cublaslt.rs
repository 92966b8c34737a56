//! Products through cuBLASLt, which computes one in any of several ways and lets the caller say in which.
//!
//! No f32 product goes through TF32, and halves accumulate in f32 throughout: where a product is cut along k,
//! the parts of a half's are summed in f32 as well. Only ways that give the same bits each time are allowed:
//! parts are written side by side into the workspace and summed in a fixed order, never added to the result
//! as they come.

use super::descriptors::{Preference, Words, reductions};
use super::plan::{At, Call};
use crate::context::Queue;
use crate::memory::CudaMemory;
use cudarc::cublaslt::{result, sys};
use std::ffi::c_void;
use std::sync::Arc;
use workalike_device::{DeviceError, DeviceResult, Memory};
use workalike_kernels::DType;

/// Ways asked for at most. The library rarely has more than eight to offer.
const MOST: usize = 32;

/// A way to compute a product, in the library's own words. They mean the same to every process with this
/// version of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm(pub(super) [u64; 8]);

impl Algorithm {
    fn raw(self) -> sys::cublasLtMatmulAlgo_t {
        sys::cublasLtMatmulAlgo_t { data: self.0 }
    }
}

/// The cuBLASLt handle of one device object.
pub(super) struct Light {
    handle: sys::cublasLtHandle_t,
    queue: Arc<Queue>,
    workspace: Arc<CudaMemory>,
}

// SAFETY: a handle may be used from any thread; here by one at a time, under a lock of its owner.
unsafe impl Send for Light {}
// SAFETY: as above.
unsafe impl Sync for Light {}

impl Light {
    /// A new handle, for memory of a queue. cuBLASLt must be present and the context current.
    pub(super) fn new(queue: &Arc<Queue>, workspace: &Arc<CudaMemory>) -> DeviceResult<Light> {
        let _apart = queue.context.capture();
        let handle =
            result::create_handle().map_err(|e| DeviceError::driver(queue.id(), "cublasLtCreate", e))?;
        Ok(Light { handle, queue: queue.clone(), workspace: workspace.clone() })
    }

    /// The library's version.
    pub(super) fn version(&self) -> usize {
        // SAFETY: cuBLASLt is present; no preconditions.
        unsafe { sys::cublasLtGetVersion() }
    }

    /// Ways to compute a call within the workspace, what the library takes for the fastest first. None if it
    /// has none.
    pub(super) fn candidates(&self, call: &Call) -> DeviceResult<Vec<Algorithm>> {
        let words = Words::of(self.queue.id(), call, somewhere(call))?;
        let preference = Preference::of(self.queue.id(), call, self.workspace.bytes())?;
        // SAFETY: plain data, for which zeros are a value.
        let mut found: [sys::cublasLtMatmulHeuristicResult_t; MOST] = unsafe { std::mem::zeroed() };
        let mut count = 0;
        let [first, second, result] = words.layouts();
        // Asking may load what the library's kernels are chosen from.
        let _apart = self.queue.context.capture();
        // SAFETY: everything is alive; as many results are written as there is room for.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                words.operation(),
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

    /// Whether the library still takes an algorithm for a call, and the algorithm is one of those allowed.
    pub(super) fn accepts(&self, call: &Call, algorithm: Algorithm) -> DeviceResult<bool> {
        let words = Words::of(self.queue.id(), call, somewhere(call))?;
        let [first, second, result] = words.layouts();
        let raw = algorithm.raw();
        // SAFETY: plain data, for which zeros are a value.
        let mut found: sys::cublasLtMatmulHeuristicResult_t = unsafe { std::mem::zeroed() };
        let _apart = self.queue.context.capture();
        // SAFETY: everything is alive; one result is written.
        let status = unsafe {
            sys::cublasLtMatmulAlgoCheck(
                self.handle,
                words.operation(),
                first,
                second,
                result,
                result,
                &raw,
                &mut found,
            )
        };
        // The answer need not repeat what was asked about.
        found.algo = raw;
        Ok(status == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS && self.allows(call, &found))
    }

    /// Enqueues a call on a stream. The addresses are of memory of the queue, as long as the call reaches.
    pub(super) fn run(
        &self,
        call: &Call,
        algorithm: Algorithm,
        at: At,
        stream: cudarc::driver::sys::CUstream,
    ) -> DeviceResult<()> {
        let words = Words::of(self.queue.id(), call, at.bias.unwrap_or(0))?;
        let [first, second, result] = words.layouts();
        // Read during the call, at the computing type.
        let double = [at.alpha, at.beta];
        let single = double.map(|by| by as f32);
        let [alpha, beta]: [*const c_void; 2] = if call.dtype == DType::F64 {
            [(&raw const double[0]).cast(), (&raw const double[1]).cast()]
        } else {
            [(&raw const single[0]).cast(), (&raw const single[1]).cast()]
        };
        let raw = algorithm.raw();
        // SAFETY: everything is alive; the addresses cover what the layouts reach, and the workspace what the
        // algorithm was allowed; the driver's and cuBLASLt's stream types are the same.
        let status = unsafe {
            sys::cublasLtMatmul(
                self.handle,
                words.operation(),
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

    /// Whether an answer is one that may be used.
    fn allows(&self, call: &Call, found: &sys::cublasLtMatmulHeuristicResult_t) -> bool {
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

/// An address that stands for that of a bias where the library only asks how it is aligned.
fn somewhere(call: &Call) -> u64 {
    call.bias.map_or(0, u64::from)
}

impl Drop for Light {
    fn drop(&mut self) {
        let context = &self.queue.context;
        if context.enter_drop() {
            let _apart = context.capture();
            // SAFETY: created once, destroyed once. A failure leaks what the handle held; nobody depends on
            // it.
            let _ = unsafe { result::destroy_handle(self.handle) };
        }
    }
}
