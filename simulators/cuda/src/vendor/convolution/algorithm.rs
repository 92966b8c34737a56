//! The choice of cuDNN's algorithm for a convolution.
//!
//! cuDNN documents neither which algorithms a capture allows, nor which have an epilogue. So each candidate
//! is run and captured once on scratch memory. Some activations replace a NaN by a number; their algorithms
//! are rejected.

use super::descriptors::Descriptors;
use super::{
    AlgorithmCandidate, CANDIDATES, ConvolutionPlan, Cudnn, EpilogueForm, LARGEST_WORKSPACE, candidates,
    cudnn,
};
use crate::context::OrDriver;
use crate::memory::CudaMemory;
use crate::vendor::autotune;
use crate::vendor::autotune::{Tunable, TuningEnvironment};
use crate::vendor::bind::OperandAddresses;
use cudarc::driver::sys::{self, CUstream};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;
use workalike_device::DeviceResult;
use workalike_kernels::Scalar;
use workalike_kernels::library::{LibraryConvolution, LibraryOp};

/// Maximum number of bytes of a result that are checked for NaN. A multiple of the size of every dtype.
const LOOKED_AT: u64 = 1 << 16;

impl Cudnn {
    /// The plan of a convolution with an epilogue of this form; `None` if cuDNN has none.
    pub(super) fn choose(
        &self,
        call: &LibraryConvolution,
        form: Option<EpilogueForm>,
    ) -> DeviceResult<Option<ConvolutionPlan>> {
        let api = self.handle.api;
        let Some(descriptors) = Descriptors::new(api, call, form) else { return Ok(None) };
        let mut candidates = {
            let _apart = self.streams.queue.context.capture();
            candidates(api, self.handle.raw, call, &descriptors)
        };
        if form.is_some_and(|form| !form.relu) {
            candidates.retain(|candidate| candidate.algorithm == cudnn::IMPLICIT_PRECOMP_GEMM);
        }
        if candidates.is_empty() {
            return Ok(None);
        }
        // SAFETY: `cudnnGetVersion` takes no arguments and changes nothing.
        let version = unsafe { (api.version)() };
        let kind = match form {
            None => "cuda convolution, captured".to_string(),
            Some(form) => format!("cuda convolution, captured, with {form:?}"),
        };
        let place = TuningEnvironment::of(&self.streams.queue.context, version, LARGEST_WORKSPACE)?;
        let key = place.key(&kind, call);
        let plan = ConvolutionPlan { call: call.clone(), form, descriptors, algorithm: 0, workspace: 0 };
        let scratch = self.scratch(&plan, &candidates)?;
        let mut trial = ConvolutionTrial { cudnn: self, plan, candidates, scratch };
        let Some(chosen) = autotune::choose(&self.streams, &mut trial, key)? else { return Ok(None) };
        trial.plan.select(chosen);
        Ok(Some(trial.plan))
    }

    /// Memory for a trial of every candidate.
    fn scratch(
        &self,
        plan: &ConvolutionPlan,
        candidates: &[AlgorithmCandidate],
    ) -> DeviceResult<TrialScratch> {
        let workspace = candidates.iter().map(|candidate| candidate.workspace).max().unwrap_or(0);
        let size = plan.call.dtype.size() as u64;
        let bytes = |extents: &[u64]| extents.iter().fold(size, |all, extent| all.saturating_mul(*extent));
        let operands: Vec<u64> = plan.call.operands().iter().map(|o| bytes(&o.shape)).collect();
        let result_bytes = operands.last().copied().unwrap_or(0);
        let mut memory = Vec::new();
        let mut start = |bytes: u64| {
            memory.push(self.streams.memory(bytes)?);
            DeviceResult::Ok(memory.last().map_or(0, |memory: &Arc<CudaMemory>| memory.pointer()))
        };
        let operands = operands.into_iter().map(&mut start).collect::<DeviceResult<Vec<_>>>()?;
        let mut at = OperandAddresses::plain(operands, start(workspace)?);
        let bias_bytes = bytes(&[plan.call.filters]);
        if let Some(form) = plan.form {
            at.bias = Some(start(bias_bytes)?);
            at.added = if form.added { Some(start(result_bytes)?) } else { None };
        }
        Ok(TrialScratch { at, bias_bytes, result_bytes, _memory: memory })
    }
}

/// Scratch memory for the operands of a trial.
struct TrialScratch {
    at: OperandAddresses,
    bias_bytes: u64,
    result_bytes: u64,
    _memory: Vec<Arc<CudaMemory>>,
}

/// Trials of algorithms for a convolution.
struct ConvolutionTrial<'a> {
    cudnn: &'a Cudnn,
    plan: ConvolutionPlan,
    candidates: Vec<AlgorithmCandidate>,
    scratch: TrialScratch,
}

impl ConvolutionTrial<'_> {
    /// Runs the selected algorithm with a bias of NaN. Returns whether cuDNN accepted it and all results are
    /// NaN.
    fn gives_nan(&self) -> DeviceResult<bool> {
        let (streams, TrialScratch { at, bias_bytes, result_bytes, .. }) =
            (&self.cudnn.streams, &self.scratch);
        let (Some(bias), Some(&result)) = (at.bias, at.operands.last()) else { return Ok(false) };
        // All bits set are a NaN of every dtype.
        streams.fill(bias, 0xff, *bias_bytes)?;
        streams.fill(result, 0, *result_bytes)?;
        let ran = streams.runs(|stream| self.cudnn.run(&self.plan, at, stream))?;
        let mut got = vec![0u8; (*result_bytes).min(LOOKED_AT) as usize];
        let stream = streams.queue.stream.cu_stream();
        // SAFETY: the result is at least as long, and `got` lives until the stream has passed.
        let copied = unsafe { sys::cuMemcpyDtoHAsync_v2(got.as_mut_ptr().cast(), result, got.len(), stream) };
        streams.queue.synchronize()?;
        copied.or_driver(streams.queue.id(), "cuMemcpyDtoHAsync")?;
        let dtype = self.plan.call.dtype;
        let nan = |bytes: &[u8]| Scalar::from_le_bytes(dtype, bytes).is_some_and(|v| v.to_f64().is_nan());
        Ok(ran && got.chunks(dtype.size()).all(nan))
    }
}

impl Tunable for ConvolutionTrial<'_> {
    type Algorithm = AlgorithmCandidate;

    /// cuDNN loads large modules for some algorithms, and the choice matters much.
    const PATIENCE: Duration = Duration::from_secs(10);

    fn candidates(&mut self) -> DeviceResult<Vec<AlgorithmCandidate>> {
        Ok(self.candidates.clone())
    }

    fn admits(&mut self, candidate: AlgorithmCandidate) -> DeviceResult<bool> {
        self.plan.select(candidate);
        let run = |stream| self.cudnn.run(&self.plan, &self.scratch.at, stream);
        let right = match self.plan.form {
            Some(_) => self.gives_nan()?,
            None => self.cudnn.streams.runs(run)?,
        };
        Ok(right && self.cudnn.streams.captures(run)?)
    }

    fn enqueue(&mut self, candidate: AlgorithmCandidate, stream: CUstream) -> DeviceResult<()> {
        self.plan.select(candidate);
        self.cudnn.run(&self.plan, &self.scratch.at, stream)
    }

    /// All candidates, however long a run takes: algorithms differ by factors.
    fn trial(_: Duration) -> autotune::TrialOptions {
        autotune::TrialOptions { candidates: CANDIDATES, repeats: 3, rounds: 3 }
    }

    fn encode(candidate: AlgorithmCandidate) -> Vec<u8> {
        candidate.algorithm.to_le_bytes().to_vec()
    }

    fn decode(&self, bytes: &[u8]) -> Option<AlgorithmCandidate> {
        let algorithm = c_int::from_le_bytes(bytes.try_into().ok()?);
        self.candidates.iter().find(|candidate| candidate.algorithm == algorithm).copied()
    }
}
