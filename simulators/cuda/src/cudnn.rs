//! The part of cuDNN's C interface that convolutions use, loaded at run time.
//!
//! Enumerations are plain integers: a newer library may return values that this crate does not know.
//! Source: NVIDIA, "cuDNN API reference", functions for convolution.

use libloading::Library;
use std::ffi::{c_int, c_void};

/// A handle or a descriptor.
pub(crate) type Raw = *mut c_void;
/// `cudnnStatus_t`; 0 is success.
pub(crate) type Status = c_int;

/// Properties of an algorithm: `cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t`, which have one layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Perf {
    pub(crate) algorithm: c_int,
    pub(crate) status: Status,
    pub(crate) time: f32,
    pub(crate) memory: usize,
    pub(crate) deterministic: c_int,
    pub(crate) math: c_int,
    reserved: [c_int; 3],
}

/// `cudnnConvolutionForward` and the gradients: handle, alpha, two operands, convolution, algorithm,
/// workspace, beta, result.
pub(crate) type Run = unsafe extern "C" fn(
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
pub(crate) type RunWithEpilogue = unsafe extern "C" fn(
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
pub(crate) type Algorithms =
    unsafe extern "C" fn(Raw, Raw, Raw, Raw, Raw, c_int, *mut c_int, *mut Perf) -> Status;

/// `cudnnGetConvolutionForwardWorkspaceSize` and the gradients'.
pub(crate) type Workspace = unsafe extern "C" fn(Raw, Raw, Raw, Raw, Raw, c_int, *mut usize) -> Status;

macro_rules! api {
    ($($name:ident = $symbol:literal: $of:ty;)*) => {
        /// The functions of the library.
        pub(crate) struct Api {
            $(pub(crate) $name: $of,)*
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Api {
            /// Looks all functions up; the name of the first that is missing.
            pub(crate) fn new(library: Library) -> Result<Api, &'static str> {
                Ok(Api {
                    $($name: {
                        // SAFETY: the types are those of the header of cuDNN 8 and 9, which keep the
                        // interface.
                        let found = unsafe { library.get::<$of>($symbol.as_bytes()) };
                        *found.map_err(|_| $symbol)?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

api! {
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
pub(crate) const FLOAT: c_int = 0;
/// `cudnnDataType_t`.
pub(crate) const DOUBLE: c_int = 1;
/// `cudnnDataType_t`.
pub(crate) const HALF: c_int = 2;
/// `cudnnDataType_t`.
pub(crate) const BFLOAT16: c_int = 9;
/// `cudnnTensorFormat_t`: batch, channels, space.
pub(crate) const NCHW: c_int = 0;
/// `cudnnConvolutionMode_t`.
pub(crate) const CROSS_CORRELATION: c_int = 1;
/// `cudnnMathType_t`: float32 may be rounded to TF32.
pub(crate) const DEFAULT_MATH: c_int = 0;
/// `cudnnMathType_t`: tensor cores for halves.
pub(crate) const TENSOR_OP_MATH: c_int = 1;
/// `cudnnMathType_t`: no tensor cores.
pub(crate) const FMA_MATH: c_int = 3;
/// `cudnnConvolutionFwdAlgo_t`: `FFT`, `FFT_TILING`, `WINOGRAD`, `WINOGRAD_NONFUSED`.
pub(crate) const FORWARD_TRANSFORMS: [c_int; 4] = [4, 5, 6, 7];
/// `cudnnConvolutionBwdDataAlgo_t`, the same.
pub(crate) const INPUT_TRANSFORMS: [c_int; 4] = [2, 3, 4, 5];
/// `cudnnConvolutionBwdFilterAlgo_t`, the same.
pub(crate) const FILTER_TRANSFORMS: [c_int; 4] = [2, 4, 5, 6];
/// `cudnnDeterminism_t`.
pub(crate) const DETERMINISTIC: c_int = 1;
/// `cudnnActivationMode_t`.
pub(crate) const RELU: c_int = 1;
/// `cudnnActivationMode_t`.
pub(crate) const IDENTITY: c_int = 5;
/// `cudnnNanPropagation_t`.
pub(crate) const PROPAGATE_NAN: c_int = 1;
/// `cudnnConvolutionFwdAlgo_t`: the one that has an epilogue without ReLU.
pub(crate) const IMPLICIT_PRECOMP_GEMM: c_int = 1;
