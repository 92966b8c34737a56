//! A convolution as cuDNN's objects: descriptors of its operands and of the convolution.

use super::EpilogueForm;
use super::cudnn::{self, Api, Raw, Status};
use std::ffi::c_int;
use std::ptr;
use workalike_kernels::DType;
use workalike_kernels::library::{ConvolutionDirection, LibraryConvolution, LibraryOp};

/// Descriptors of input, filters and output, of the convolution, and of its epilogue.
pub(super) struct Descriptors {
    input: Descriptor,
    filters: Descriptor,
    output: Descriptor,
    pub(super) convolution: Descriptor,
    pub(super) epilogue: Option<EpilogueDescriptors>,
}

/// The additional descriptors of an epilogue. The addend has the output's descriptor.
pub(super) struct EpilogueDescriptors {
    pub(super) bias: Descriptor,
    pub(super) activation: Descriptor,
}

/// One of cuDNN's descriptors.
pub(super) struct Descriptor {
    pub(super) raw: Raw,
    destroy: unsafe extern "C" fn(Raw) -> Status,
}

// SAFETY: descriptors are plain data, which does not change once it is set.
unsafe impl Send for Descriptor {}
// SAFETY: cuDNN only reads descriptors that are set, which several threads may do at once.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// A new descriptor; `None` if it cannot be created, or `set` fails.
    fn new(
        create: unsafe extern "C" fn(*mut Raw) -> Status,
        destroy: unsafe extern "C" fn(Raw) -> Status,
        set: impl FnOnce(Raw) -> Status,
    ) -> Option<Descriptor> {
        let mut raw = ptr::null_mut();
        // SAFETY: cuDNN writes a descriptor to `raw`.
        if unsafe { create(&mut raw) } != 0 {
            return None;
        }
        let made = Descriptor { raw, destroy };
        (set(raw) == 0).then_some(made)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.raw) };
    }
}

impl Descriptors {
    /// The descriptors of a convolution; `None` where cuDNN cannot describe it.
    pub(super) fn new(
        api: &'static Api,
        call: &LibraryConvolution,
        form: Option<EpilogueForm>,
    ) -> Option<Descriptors> {
        let dtype = match call.dtype {
            DType::F32 => cudnn::FLOAT,
            DType::F64 => cudnn::DOUBLE,
            DType::F16 => cudnn::HALF,
            DType::BF16 => cudnn::BFLOAT16,
            _ => return None,
        };
        if call.operands().iter().any(|operand| operand.shape.contains(&0)) || call.input.len() > 3 {
            return None;
        }
        let each = call.channels / call.groups.max(1);
        let extents = shape([call.filters, each], &call.window)?;
        let set_filters = |raw| {
            let rank = extents.len() as c_int;
            // SAFETY: `extents` has `rank` elements.
            unsafe { (api.set_filter)(raw, dtype, cudnn::NCHW, rank, extents.as_ptr()) }
        };
        let epilogue = match form {
            Some(form) => Some(EpilogueDescriptors::new(api, call, form, dtype)?),
            None => None,
        };
        Some(Descriptors {
            input: tensor(api, dtype, &shape([call.batch, call.channels], &call.input)?)?,
            filters: Descriptor::new(api.create_filter, api.destroy_filter, set_filters)?,
            output: tensor(api, dtype, &shape([call.batch, call.filters], &call.output)?)?,
            convolution: convolution(api, call)?,
            epilogue,
        })
    }

    /// Two operands and the result, in the order of the arguments of cuDNN's function for `role`.
    pub(super) fn in_order(&self, role: ConvolutionDirection) -> [Raw; 3] {
        let [x, w, y] = [self.input.raw, self.filters.raw, self.output.raw];
        match role {
            ConvolutionDirection::Forward => [x, w, y],
            ConvolutionDirection::InputGradient => [w, y, x],
            ConvolutionDirection::FilterGradient => [x, y, w],
        }
    }
}

impl EpilogueDescriptors {
    fn new(
        api: &'static Api,
        call: &LibraryConvolution,
        form: EpilogueForm,
        dtype: c_int,
    ) -> Option<EpilogueDescriptors> {
        let ones = vec![1; call.output.len()];
        let mode = if form.relu { cudnn::RELU } else { cudnn::IDENTITY };
        // SAFETY: the activation takes no pointers.
        let set = |raw| unsafe { (api.set_activation)(raw, mode, cudnn::PROPAGATE_NAN, 0.0) };
        Some(EpilogueDescriptors {
            bias: tensor(api, dtype, &shape([1, call.filters], &ones)?)?,
            activation: Descriptor::new(api.create_activation, api.destroy_activation, set)?,
        })
    }
}

/// Values along the spatial axes, padded to at least two axes with `fill`.
fn spatial(extents: &[u64], fill: u64) -> Option<Vec<c_int>> {
    let missing = 2usize.saturating_sub(extents.len());
    let all = std::iter::repeat_n(fill, missing).chain(extents.iter().copied());
    all.map(|extent| c_int::try_from(extent).ok()).collect()
}

/// A shape of two extents and the spatial ones.
fn shape(first: [u64; 2], extents: &[u64]) -> Option<Vec<c_int>> {
    let first = first.map(|extent| c_int::try_from(extent).ok());
    first.into_iter().chain(spatial(extents, 1)?.into_iter().map(Some)).collect()
}

/// A contiguous tensor.
fn tensor(api: &'static Api, dtype: c_int, shape: &[c_int]) -> Option<Descriptor> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = shape[axis].checked_mul(strides[axis])?;
    }
    let rank = shape.len() as c_int;
    // SAFETY: both lists have `rank` elements.
    let set = |raw| unsafe { (api.set_tensor)(raw, dtype, rank, shape.as_ptr(), strides.as_ptr()) };
    Descriptor::new(api.create_tensor, api.destroy_tensor, set)
}

fn convolution(api: &'static Api, call: &LibraryConvolution) -> Option<Descriptor> {
    let lists = [spatial(&call.padding, 0)?, spatial(&call.stride, 1)?, spatial(&call.dilation, 1)?];
    let compute = if call.dtype == DType::F64 { cudnn::DOUBLE } else { cudnn::FLOAT };
    let math = match call.dtype {
        DType::F32 if call.fast => cudnn::DEFAULT_MATH,
        half if half.is_half() => cudnn::TENSOR_OP_MATH,
        _ => cudnn::FMA_MATH,
    };
    let groups = c_int::try_from(call.groups).ok()?;
    let set = |raw| {
        let [padding, stride, dilation] = lists.each_ref().map(|list| list.as_ptr());
        let axes = lists[0].len() as c_int;
        // SAFETY: each list has `axes` elements.
        unsafe {
            let mode = cudnn::CROSS_CORRELATION;
            let set = (api.set_convolution)(raw, axes, padding, stride, dilation, mode, compute);
            [set, (api.set_groups)(raw, groups), (api.set_math)(raw, math)].into_iter().max().unwrap_or(0)
        }
    };
    Descriptor::new(api.create_convolution, api.destroy_convolution, set)
}
