//! The choice of cuDNN's algorithm for a convolution: the one stored on disk, else the fastest.
//!
//! cuDNN documents neither which algorithms a capture allows, nor which have an epilogue. So each candidate
//! is run and captured once on scratch memory. Some activations replace a NaN by a number; their algorithms
//! are rejected.

use super::descriptors::Descriptors;
use super::{At, Candidate, Cudnn, Form, LARGEST_WORKSPACE, Plan, candidates, result_bytes};
use crate::capture::instantiate;
use crate::context::OrDriver;
use crate::cudnn::{self, Api, Raw};
use crate::matmul::Place;
use crate::memory::CudaMemory;
use crate::timing::{Events, Timer};
use cudarc::driver::{result, sys};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workalike_device::DeviceResult;
use workalike_device::cache::{KernelCache, Key};
use workalike_kernels::Scalar;
use workalike_kernels::library::{Convolution, LibraryOp};

/// Runs of each candidate in a row in a trial.
const REPEATS: usize = 3;
/// Number of trials; the best time of each candidate counts.
const ROUNDS: usize = 3;
/// Maximum number of bytes of a result that are checked for NaN. A multiple of the size of every dtype.
const LOOKED_AT: u64 = 1 << 16;

/// Scratch memory for the operands of a trial.
struct Scratch {
    at: At,
    bias_bytes: u64,
    result_bytes: u64,
    _memory: Vec<Arc<CudaMemory>>,
}

impl Cudnn {
    /// A plan with the algorithm stored on disk, else the fastest, else the first that passes its trial;
    /// `None` if there is none. Only a timed choice is stored.
    pub(super) fn choose(
        &self,
        api: &'static Api,
        handle: Raw,
        call: &Convolution,
        form: Option<Form>,
    ) -> DeviceResult<Option<Plan>> {
        let Some(descriptors) = Descriptors::new(api, call, form) else { return Ok(None) };
        let candidates = {
            let _apart = self.queue.context.capture();
            candidates(api, handle, call, &descriptors)
        };
        let mut plan = Plan {
            call: call.clone(),
            form,
            candidates,
            descriptors,
            algorithm: 0,
            workspace: 0,
            ready: Mutex::new(false),
        };
        if form.is_some_and(|form| !form.relu) {
            plan.candidates.retain(|candidate| candidate.algorithm == cudnn::IMPLICIT_PRECOMP_GEMM);
        }
        let cache = KernelCache::of_process();
        let keeps = cache.folder().is_some() && cache.trouble().is_none();
        // SAFETY: `cudnnGetVersion` takes no arguments and changes nothing.
        let version = unsafe { (api.version)() };
        let place = Place::of(&self.queue.context, version, LARGEST_WORKSPACE)?;
        let what = match form {
            None => "cuda convolution, captured".to_string(),
            Some(form) => format!("cuda convolution, captured, with {form:?}"),
        };
        let key = Key::of(&[what.as_str(), &format!("{place:?}"), &format!("{call:?}")]);
        let kept = |plan: &Plan| -> Option<Candidate> {
            let algorithm = c_int::from_le_bytes(cache.load(&key)?.try_into().ok()?);
            plan.candidates.iter().find(|candidate| candidate.algorithm == algorithm).copied()
        };
        if let Some(known) = kept(&plan) {
            plan.select(known);
            return Ok(Some(plan));
        }
        if plan.candidates.is_empty() {
            return Ok(None);
        }
        let scratch = self.scratch(&plan)?;
        self.retain_able(api, handle, &mut plan, &scratch)?;
        let Some(&first) = plan.candidates.first() else { return Ok(None) };
        let mut chosen = first;
        if keeps
            && plan.candidates.len() > 1
            && let Some(fastest) = self.fastest(api, handle, &mut plan, &scratch)?
        {
            cache.store(&key, &fastest.to_le_bytes());
            // Later processes find what is on disk now.
            chosen = kept(&plan).unwrap_or(first);
        }
        plan.select(chosen);
        Ok(Some(plan))
    }

    /// Drops the candidates that do not run, cannot be captured, or do not compute the epilogue as the Nest
    /// does.
    fn retain_able(
        &self,
        api: &'static Api,
        handle: Raw,
        plan: &mut Plan,
        scratch: &Scratch,
    ) -> DeviceResult<()> {
        for candidate in std::mem::take(&mut plan.candidates) {
            plan.select(candidate);
            // The first run loads the kernels, which a capture may not do.
            let ran = match plan.form {
                Some(_) => self.gives_nan(api, handle, plan, scratch)?,
                None => self.runs(api, handle, plan, scratch)?,
            };
            if ran && self.is_captured(api, handle, plan, scratch)? {
                plan.candidates.push(candidate);
            }
        }
        Ok(())
    }

    /// Runs a candidate once. Returns whether cuDNN accepted it.
    fn runs(&self, api: &'static Api, handle: Raw, plan: &Plan, scratch: &Scratch) -> DeviceResult<bool> {
        let ran = self.run(api, handle, plan, scratch.at, self.queue.stream.cu_stream()).is_ok();
        // An error on the device is an error whatever cuDNN returned.
        self.queue.synchronize()?;
        Ok(ran)
    }

    /// Captures a candidate once. Returns whether that gave a graph.
    fn is_captured(
        &self,
        api: &'static Api,
        handle: Raw,
        plan: &Plan,
        scratch: &Scratch,
    ) -> DeviceResult<bool> {
        let enqueue = |stream| self.run(api, handle, plan, scratch.at, stream);
        let Ok(graph) = instantiate(&self.queue, &self.capture, enqueue) else { return Ok(false) };
        // SAFETY: the graph is ours, was never launched, and is not used again.
        unsafe { result::graph::exec_destroy(graph) }.or_driver(self.queue.id(), "cuGraphExecDestroy")?;
        Ok(true)
    }

    /// Runs a candidate once with a bias of NaN. Returns whether cuDNN accepted it and all results are NaN.
    fn gives_nan(
        &self,
        api: &'static Api,
        handle: Raw,
        plan: &Plan,
        scratch: &Scratch,
    ) -> DeviceResult<bool> {
        let (at, id, stream) = (scratch.at, self.queue.id(), self.queue.stream.cu_stream());
        // All bits set are a NaN of every dtype.
        for (target, byte, bytes) in
            [(at.bias, 0xff, scratch.bias_bytes), (at.result, 0, scratch.result_bytes)]
        {
            // SAFETY: `target` is scratch memory of the queue, of `bytes` bytes.
            unsafe { sys::cuMemsetD8Async(target, byte, bytes as usize, stream) }
                .or_driver(id, "cuMemsetD8Async")?;
        }
        let ran = self.run(api, handle, plan, at, stream).is_ok();
        let mut got = vec![0u8; scratch.result_bytes.min(LOOKED_AT) as usize];
        // SAFETY: the result is at least as long, and `got` lives until the stream has passed.
        let copied =
            unsafe { sys::cuMemcpyDtoHAsync_v2(got.as_mut_ptr().cast(), at.result, got.len(), stream) };
        self.queue.synchronize()?;
        copied.or_driver(id, "cuMemcpyDtoHAsync")?;
        let dtype = plan.call.dtype;
        let nan = |bytes: &[u8]| Scalar::from_le_bytes(dtype, bytes).is_some_and(|v| v.to_f64().is_nan());
        Ok(ran && got.chunks(dtype.size()).all(nan))
    }

    /// The candidate with the least measured time, of several runs of each in one graph; `None` if that graph
    /// cannot be captured.
    fn fastest(
        &self,
        api: &'static Api,
        handle: Raw,
        plan: &mut Plan,
        scratch: &Scratch,
    ) -> DeviceResult<Option<c_int>> {
        let able = plan.candidates.clone();
        let events = Events::new(&self.queue, able.len())?;
        let graph = instantiate(&self.queue, &self.capture, |stream| {
            for (position, candidate) in able.iter().enumerate() {
                events.capture(position, stream)?;
                plan.select(*candidate);
                for _ in 0..REPEATS {
                    self.run(api, handle, plan, scratch.at, stream)?;
                }
            }
            events.capture(able.len(), stream)
        });
        let Ok(graph) = graph else { return Ok(None) };
        let mut timer = Timer::new(graph, events);
        let mut best = vec![Duration::MAX; able.len()];
        for _ in 0..ROUNDS {
            best.iter_mut().zip(timer.run()?).for_each(|(best, took)| *best = took.min(*best));
        }
        let fastest = able.iter().zip(best).min_by_key(|(_, took)| *took);
        Ok(fastest.map(|(candidate, _)| candidate.algorithm))
    }

    /// Memory for a trial of every candidate.
    fn scratch(&self, plan: &Plan) -> DeviceResult<Scratch> {
        let workspace = plan.candidates.iter().map(|candidate| candidate.workspace).max().unwrap_or(0);
        let operands = plan.call.operands();
        let size = plan.call.dtype.size() as u64;
        let result_bytes = result_bytes(&plan.call);
        let bias_bytes = if plan.form.is_some() { plan.call.filters.saturating_mul(size) } else { 0 };
        let added_bytes = if plan.form.is_some_and(|form| form.added) { result_bytes } else { 0 };
        let bytes = operands.iter().map(|o| o.shape.iter().product::<u64>().saturating_mul(size));
        let memory = bytes
            .chain([workspace, bias_bytes, added_bytes])
            .map(|bytes| CudaMemory::new(&self.queue, bytes))
            .collect::<DeviceResult<Vec<_>>>()?;
        let start = |at: usize| memory.get(at).map_or(0, |memory: &Arc<CudaMemory>| memory.pointer());
        let at = At {
            inputs: [start(0), start(1)],
            result: start(2),
            workspace: start(3),
            bias: start(4),
            added: start(5),
        };
        Ok(Scratch { at, bias_bytes, result_bytes, _memory: memory })
    }
}
