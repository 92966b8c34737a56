//! The part of cuDNN's C interface that convolutions use, loaded at run time.
//!
//! Enumerations are plain integers: a newer library may return values that this crate does not know.
//! Source: NVIDIA, "cuDNN API reference", functions for convolution.

use std::ffi::{c_int, c_void};

/// A handle or a descriptor.
pub(super) type Raw = *mut c_void;
/// `cudnnStatus_t`; 0 is success.
pub(super) type Status = c_int;

/// Properties of an algorithm: `cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t`, which have one layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Perf {
    pub(super) algorithm: c_int,
    pub(super) status: Status,
    pub(super) time: f32,
    pub(super) memory: usize,
    pub(super) deterministic: c_int,
    pub(super) math: c_int,
    reserved: [c_int; 3],
}

/// `cudnnConvolutionForward` and the gradients: handle, alpha, two operands, convolution, algorithm,
/// workspace, beta, result.
pub(super) type Run = unsafe extern "C" fn(
    Raw,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    c_int,
    Raw,
    usize,
    *const c_void,
    Raw,
    Raw,
) -> Status;

/// `cudnnConvolutionBiasActivationForward`: handle, alpha, two operands, convolution, algorithm, workspace,
/// the factor of the addend, the addend, bias, activation, result.
pub(super) type RunWithEpilogue = unsafe extern "C" fn(
    Raw,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    c_int,
    Raw,
    usize,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    *const c_void,
    Raw,
    Raw,
    Raw,
) -> Status;

/// `cudnnGetConvolutionForwardAlgorithm_v7` and the gradients': handle, descriptors of two operands, of the
/// convolution and of the result, number of algorithms requested, number returned, algorithms.
pub(super) type Algorithms =
    unsafe extern "C" fn(Raw, Raw, Raw, Raw, Raw, c_int, *mut c_int, *mut Perf) -> Status;

/// `cudnnGetConvolutionForwardWorkspaceSize` and the gradients'.
pub(super) type Workspace = unsafe extern "C" fn(Raw, Raw, Raw, Raw, Raw, c_int, *mut usize) -> Status;

functions! {
    /// The functions of cuDNN. The types are those of the headers of cuDNN 8 and 9, which keep the interface.
    Api of "cuDNN";
    version = "cudnnGetVersion": unsafe extern "C" fn() -> usize;
    create = "cudnnCreate": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy = "cudnnDestroy": unsafe extern "C" fn(Raw) -> Status;
    set_stream = "cudnnSetStream": unsafe extern "C" fn(Raw, Raw) -> Status;
    create_tensor = "cudnnCreateTensorDescriptor": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy_tensor = "cudnnDestroyTensorDescriptor": unsafe extern "C" fn(Raw) -> Status;
    set_tensor = "cudnnSetTensorNdDescriptor": unsafe extern "C" fn(Raw, c_int, c_int, *const c_int, *const c_int) -> Status;
    create_filter = "cudnnCreateFilterDescriptor": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy_filter = "cudnnDestroyFilterDescriptor": unsafe extern "C" fn(Raw) -> Status;
    set_filter = "cudnnSetFilterNdDescriptor": unsafe extern "C" fn(Raw, c_int, c_int, c_int, *const c_int) -> Status;
    create_convolution = "cudnnCreateConvolutionDescriptor": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy_convolution = "cudnnDestroyConvolutionDescriptor": unsafe extern "C" fn(Raw) -> Status;
    set_convolution = "cudnnSetConvolutionNdDescriptor": unsafe extern "C" fn(Raw, c_int, *const c_int, *const c_int, *const c_int, c_int, c_int) -> Status;
    set_groups = "cudnnSetConvolutionGroupCount": unsafe extern "C" fn(Raw, c_int) -> Status;
    set_math = "cudnnSetConvolutionMathType": unsafe extern "C" fn(Raw, c_int) -> Status;
    forward_algorithms = "cudnnGetConvolutionForwardAlgorithm_v7": Algorithms;
    forward_workspace = "cudnnGetConvolutionForwardWorkspaceSize": Workspace;
    forward = "cudnnConvolutionForward": Run;
    forward_with_epilogue = "cudnnConvolutionBiasActivationForward": RunWithEpilogue;
    create_activation = "cudnnCreateActivationDescriptor": unsafe extern "C" fn(*mut Raw) -> Status;
    destroy_activation = "cudnnDestroyActivationDescriptor": unsafe extern "C" fn(Raw) -> Status;
    set_activation = "cudnnSetActivationDescriptor": unsafe extern "C" fn(Raw, c_int, c_int, f64) -> Status;
    input_algorithms = "cudnnGetConvolutionBackwardDataAlgorithm_v7": Algorithms;
    input_workspace = "cudnnGetConvolutionBackwardDataWorkspaceSize": Workspace;
    input_gradient = "cudnnConvolutionBackwardData": Run;
    filter_algorithms = "cudnnGetConvolutionBackwardFilterAlgorithm_v7": Algorithms;
    filter_workspace = "cudnnGetConvolutionBackwardFilterWorkspaceSize": Workspace;
    filter_gradient = "cudnnConvolutionBackwardFilter": Run;
}

/// `cudnnDataType_t`.
pub(super) const FLOAT: c_int = 0;
/// `cudnnDataType_t`.
pub(super) const DOUBLE: c_int = 1;
/// `cudnnDataType_t`.
pub(super) const HALF: c_int = 2;
/// `cudnnDataType_t`.
pub(super) const BFLOAT16: c_int = 9;
/// `cudnnTensorFormat_t`: batch, channels, space.
pub(super) const NCHW: c_int = 0;
/// `cudnnConvolutionMode_t`.
pub(super) const CROSS_CORRELATION: c_int = 1;
/// `cudnnMathType_t`: float32 may be rounded to TF32.
pub(super) const DEFAULT_MATH: c_int = 0;
/// `cudnnMathType_t`: tensor cores for halves.
pub(super) const TENSOR_OP_MATH: c_int = 1;
/// `cudnnMathType_t`: no tensor cores.
pub(super) const FMA_MATH: c_int = 3;
/// `cudnnConvolutionFwdAlgo_t`: `FFT`, `FFT_TILING`, `WINOGRAD`, `WINOGRAD_NONFUSED`.
pub(super) const FORWARD_TRANSFORMS: [c_int; 4] = [4, 5, 6, 7];
/// `cudnnConvolutionBwdDataAlgo_t`, the same.
pub(super) const INPUT_TRANSFORMS: [c_int; 4] = [2, 3, 4, 5];
/// `cudnnConvolutionBwdFilterAlgo_t`, the same.
pub(super) const FILTER_TRANSFORMS: [c_int; 4] = [2, 4, 5, 6];
/// `cudnnDeterminism_t`.
pub(super) const DETERMINISTIC: c_int = 1;
/// `cudnnActivationMode_t`.
pub(super) const RELU: c_int = 1;
/// `cudnnActivationMode_t`.
pub(super) const IDENTITY: c_int = 5;
/// `cudnnNanPropagation_t`.
pub(super) const PROPAGATE_NAN: c_int = 1;
/// `cudnnConvolutionFwdAlgo_t`: the one that has an epilogue without ReLU.
pub(super) const IMPLICIT_PRECOMP_GEMM: c_int = 1;
