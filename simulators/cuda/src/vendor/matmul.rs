//! Matrix products through cuBLASLt, else cuBLAS.
//!
//! `column_major` maps a row-major product to the libraries' column-major form; `cublaslt` (with its
//! `descriptors`) and `cublas` call one library each; `algorithm` chooses one of cuBLASLt's algorithms.
//!
//! All products of a device object share one workspace, so that a captured product allocates nothing and
//! gives the same bits each time.

mod algorithm;
mod column_major;
mod cublas;
mod cublaslt;
mod descriptors;

use super::VendorLibrary;
use super::bind;
use super::lazy::Lazy;
use super::streams::{Streams, fill};
use crate::context::OrDriver;
use crate::dependencies::AddressRange;
use crate::memory::CudaMemory;
use crate::preflight::{self, Absent};
use algorithm::MatmulTrial;
use column_major::{ColumnMajorMatmul, MatmulAddresses, MatmulCall, plan};
use cublas::Cublas;
use cublaslt::{Algorithm, CublasLt};
use cudarc::driver::result;
use cudarc::driver::sys::CUstream;
use std::collections::HashMap;
use std::sync::Arc;
use workalike_device::{ByteMatmul, DeviceError, DeviceResult, LibraryOp, Matmul, Memory};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Channels, LinearForm, Nest};

/// How a call is computed.
#[derive(Clone, Copy, Debug)]
enum Implementation {
    CublasLt(Algorithm),
    Cublas,
    /// Without its bias, which a second product adds: a column of ones times the bias as a row.
    SeparateBias,
}

/// The libraries' handles, their workspace, and the implementation chosen for each call.
pub(super) struct MatmulLibrary {
    workspace: Arc<CudaMemory>,
    cublas_lt: Option<CublasLt>,
    /// Made at the first use.
    cublas: Option<Cublas>,
    implementations: HashMap<MatmulCall, Implementation>,
    /// See [`MatmulLibrary::ones`].
    ones: Vec<(DType, Arc<CudaMemory>)>,
    /// Dropped after the handles, which are set to them.
    streams: Streams,
}

/// How a product is computed.
pub(super) enum MatmulPlan {
    /// No elements or sums over nothing, of so many bytes.
    Zeros(u64),
    Calls(ColumnMajorMatmul),
}

/// The Nest as an epilogue of a product, which is its operand `own`; `None` if the libraries have no such
/// epilogue. They take no bias of f64.
fn epilogue(product: &Matmul, nest: &Nest, own: usize) -> Option<LinearForm> {
    let elements = product.batch.checked_mul(product.m)?.checked_mul(product.n)?;
    if !product.dtype.is_float() {
        return None;
    }
    let columns = Channels { channels: product.n, plane: 1, elements };
    let form = LinearForm::of(nest, own, product.dtype, columns)?;
    let biased = product.batch == 1 && product.dtype != DType::F64;
    (!form.relu && (form.bias.is_none() || biased)).then_some(form)
}

impl VendorLibrary for MatmulLibrary {
    type Call = Matmul;
    type Plan = MatmulPlan;

    fn installed() -> Result<(), Absent> {
        preflight::products()
    }

    fn epilogue(op: &dyn LibraryOp, nest: &Nest, own: usize) -> Option<LinearForm> {
        let product = op.downcast::<Matmul>()?;
        let form = epilogue(product, nest, own).filter(|_| plan(product).is_some())?;
        // Only cuBLASLt adds a bias.
        (form.bias.is_none() || preflight::cublas_lt().is_ok()).then_some(form)
    }

    fn call(op: &dyn LibraryOp, _: Option<&LinearForm>) -> Option<Matmul> {
        let of_floats = op.downcast::<Matmul>().filter(|product| product.dtype.is_float());
        of_floats.or_else(|| op.downcast::<ByteMatmul>().map(|product| &product.0)).cloned()
    }

    fn open(streams: &Streams) -> DeviceResult<MatmulLibrary> {
        MatmulLibrary::with(streams, preflight::cublas_lt().is_ok())
    }

    fn plan(library: &Lazy<MatmulLibrary>, product: &Matmul) -> DeviceResult<Option<MatmulPlan>> {
        let Matmul { dtype, batch, m, n, k, .. } = *product;
        if [batch, m, n, k].contains(&0) {
            let bytes = [batch, m, n].iter().fold(dtype.size() as u64, |all, e| all.saturating_mul(*e));
            return Ok(dtype.is_float().then_some(MatmulPlan::Zeros(bytes)));
        }
        let Some(plan) = plan(product) else { return Ok(None) };
        // The handles are needed when the Program is recorded, after its kernels were compiled.
        let first = plan.clone();
        library.begin(move |products| products.load_heuristics(&first));
        Ok(Some(MatmulPlan::Calls(plan)))
    }

    fn scratch(_: &MatmulPlan) -> u64 {
        0
    }

    fn shared(&self) -> Option<AddressRange> {
        Some(AddressRange { start: self.workspace.pointer(), bytes: self.workspace.bytes() })
    }

    /// Chooses the implementation of a product, by its addresses: their alignment matters.
    fn prepare(&mut self, product: &MatmulPlan, at: &bind::OperandAddresses) -> DeviceResult<()> {
        match product {
            MatmulPlan::Zeros(_) => Ok(()),
            MatmulPlan::Calls(plan) => {
                plan.calls(self.at(at)?).try_for_each(|(call, at)| self.prepare_call(&call, at))
            }
        }
    }

    fn enqueue(
        &mut self,
        product: &MatmulPlan,
        at: &bind::OperandAddresses,
        stream: CUstream,
    ) -> DeviceResult<()> {
        let at = self.at(at)?;
        match product {
            MatmulPlan::Zeros(bytes) => fill(self.streams.queue.id(), at.result, 0, *bytes, stream),
            MatmulPlan::Calls(plan) => {
                plan.calls(at).try_for_each(|(call, at)| self.enqueue_call(stream, &call, at))
            }
        }
    }
}

impl MatmulLibrary {
    /// With cuBLASLt, or with cuBLAS alone.
    fn with(streams: &Streams, cublas_lt: bool) -> DeviceResult<MatmulLibrary> {
        let queue = &streams.queue;
        // NVIDIA's recommendation: 32 MiB from Hopper on, 4 MiB before.
        let bytes = if queue.context.capability >= 90 { 32 << 20 } else { 4 << 20 };
        let workspace = CudaMemory::new(queue, bytes)?;
        let mut products = MatmulLibrary {
            cublas_lt: if cublas_lt { Some(CublasLt::new(queue, &workspace)?) } else { None },
            streams: streams.clone(),
            workspace,
            cublas: None,
            implementations: HashMap::new(),
            ones: Vec::new(),
        };
        if !cublas_lt {
            products.cublas()?;
        }
        Ok(products)
    }

    /// Makes cuBLASLt load its heuristics, which takes about 0.1 s. Errors are ignored here: the first
    /// product returns them.
    fn load_heuristics(&self, plan: &ColumnMajorMatmul) {
        let Some(cublas_lt) = &self.cublas_lt else { return };
        // For operands with the best alignment, which is likely.
        let Some((call, _)) = plan.calls(MatmulAddresses::plain([0; 3])).next() else { return };
        drop(MatmulTrial::load_heuristics(cublas_lt, &self.streams, &call));
    }

    /// The addresses of a product.
    fn at(&self, at: &bind::OperandAddresses) -> DeviceResult<MatmulAddresses> {
        let &[a, b, result] = &at.operands[..] else {
            let message = format!("{} operands of a product", at.operands.len());
            return Err(DeviceError::driver(self.streams.queue.id(), "record", message));
        };
        let bind::OperandAddresses { added, bias, alpha, beta, .. } = *at;
        Ok(MatmulAddresses { a, b, result, added, bias, alpha, beta })
    }

    fn prepare_call(&mut self, call: &MatmulCall, at: MatmulAddresses) -> DeviceResult<()> {
        if self.implementations.contains_key(call) {
            return Ok(());
        }
        let implementation = self.choose(call, at)?;
        self.implementations.insert(*call, implementation);
        Ok(())
    }

    fn choose(&mut self, call: &MatmulCall, at: MatmulAddresses) -> DeviceResult<Implementation> {
        let scratch = self.scratch(call)?.map(|scratch| (at.into(scratch.pointer()), scratch));
        if let Some(cublas_lt) = &self.cublas_lt
            && let Some(algorithm) =
                MatmulTrial::choose(cublas_lt, &self.streams, call, scratch.as_ref().map(|s| s.0))?
        {
            return Ok(Implementation::CublasLt(algorithm));
        }
        if call.bias.is_some() {
            for (call, at) in self.split_bias(call, at)? {
                self.prepare_call(&call, at)?;
            }
            return Ok(Implementation::SeparateBias);
        }
        let stream = self.streams.queue.stream.cu_stream();
        let cublas = self.cublas()?;
        // Without scratch memory the kernels are loaded in the capture, which fails if they cannot be.
        scratch.map_or(Ok(()), |(at, _scratch)| cublas.run(call, at, stream))?;
        Ok(Implementation::Cublas)
    }

    /// A call with a bias as calls without one: the call without its bias, then `ones @ bias`, added in
    /// place.
    fn split_bias(
        &mut self,
        call: &MatmulCall,
        at: MatmulAddresses,
    ) -> DeviceResult<Vec<(MatmulCall, MatmulAddresses)>> {
        let mut calls = vec![(MatmulCall { bias: None, ..*call }, MatmulAddresses { bias: None, ..at })];
        if let Some(bias) = at.bias {
            let (m, n) = (u64::from(call.m.unsigned_abs()), u64::from(call.n.unsigned_abs()));
            let (a, b) = ([0, 1, 1], [0, i64::from(call.n), 1]);
            // Not fast: TF32 would round the bias.
            let rows = Matmul { dtype: call.dtype, batch: 1, m, n, k: 1, a, b, fast: false };
            let ones = self.ones(call.dtype, m)?;
            let at = MatmulAddresses {
                added: Some(at.result),
                beta: 1.0,
                ..MatmulAddresses::plain([ones, bias, at.result])
            };
            let rows = plan(&rows).ok_or_else(|| {
                DeviceError::driver(
                    self.streams.queue.id(),
                    "record",
                    format!("{call:?} has rows without a layout"),
                )
            })?;
            calls.extend(rows.calls(at));
        }
        Ok(calls)
    }

    /// The address of at least `count` ones, valid as long as `self` lives.
    fn ones(&mut self, dtype: DType, count: u64) -> DeviceResult<u64> {
        let one = &Scalar::from_f64(dtype, 1.0).to_le_bytes()[..dtype.size()];
        let bytes = one.repeat(usize::try_from(count).unwrap_or(usize::MAX / 8));
        let enough =
            |(of, memory): &&(DType, Arc<CudaMemory>)| *of == dtype && memory.bytes() >= bytes.len() as u64;
        if let Some((_, memory)) = self.ones.iter().find(enough) {
            return Ok(memory.pointer());
        }
        let memory = CudaMemory::new(&self.streams.queue, bytes.len() as u64)?;
        let (pointer, stream) = (memory.pointer(), self.streams.queue.stream.cu_stream());
        // SAFETY: the memory holds `bytes.len()` bytes, and was allocated on this stream; `bytes` lives until
        // the stream is synchronized below.
        let copied = unsafe { result::memcpy_htod_async(pointer, &bytes, stream) };
        self.streams.queue.synchronize()?;
        copied.or_driver(self.streams.queue.id(), "cuMemcpyHtoDAsync")?;
        self.ones.push((dtype, memory));
        Ok(pointer)
    }

    /// Memory for a call's result; `None` if the device has none left.
    fn scratch(&self, call: &MatmulCall) -> DeviceResult<Option<Arc<CudaMemory>>> {
        match CudaMemory::new(&self.streams.queue, call.result_bytes()) {
            Ok(scratch) => Ok(Some(scratch)),
            Err(DeviceError::OutOfMemory { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// cuBLAS, made if it was not made yet.
    fn cublas(&mut self) -> DeviceResult<&Cublas> {
        if self.cublas.is_none() {
            preflight::cublas().map_err(|absent| absent.on(self.streams.queue.id()))?;
        }
        Ok(match &mut self.cublas {
            Some(cublas) => cublas,
            none => none.insert(Cublas::new(&self.streams.queue, &self.workspace)?),
        })
    }

    fn enqueue_call(&mut self, stream: CUstream, call: &MatmulCall, at: MatmulAddresses) -> DeviceResult<()> {
        let implementation = self.implementations.get(call).copied();
        match (implementation, &self.cublas_lt) {
            (Some(Implementation::CublasLt(algorithm)), Some(cublas_lt)) => {
                cublas_lt.run(call, algorithm, at, stream)
            }
            (Some(Implementation::Cublas), _) => self.cublas()?.run(call, at, stream),
            (Some(Implementation::SeparateBias), _) => {
                // One level deep: neither part has a bias.
                let mut parts = self.split_bias(call, at)?.into_iter();
                parts.try_for_each(|(call, at)| self.enqueue_call(stream, &call, at))
            }
            _ => {
                let message = format!("{call:?} was not prepared");
                Err(DeviceError::driver(self.streams.queue.id(), "record", message))
            }
        }
    }
}

#[cfg(test)]
mod tests;
