//! What most programs need: `use workalike::prelude::*;`.

#[cfg(feature = "cuda-any")]
pub use crate::cuda::Cuda;
pub use crate::engine::{
    Backend, DeviceArray, DeviceView, Keep, MethodHandle, Open, Options, Probe, Profile, Simulator, Sizes,
    Tuned, contexts, group, member,
};
pub use crate::format::common_state;
pub use crate::function::{
    Arg, Args, Bundle, Function, In, LoadOptions, Out, Outputs, each, function, of_shape,
};
pub use crate::grad::{Grad, grad, hessian, hvp, jacobian, jvp, verify_grad, vjp};
pub use crate::graph::{
    Parameters, SharedVariable, TensorType, Variable, constant, get_values, matrix, scalar, set_values,
    shared, shared_dynamic, tensor, tensor3, vector,
};
#[cfg(feature = "host")]
pub use crate::host::Host;
pub use crate::initializers::{glorot_normal, glorot_uniform, he_normal, he_uniform, orthogonal};
pub use crate::layers::{BatchNormalization, dropout, layer_norm};
pub use crate::losses::{
    binary_crossentropy, binary_crossentropy_with_logits, categorical_crossentropy_with_logits, huber,
    smooth_labels,
};
#[cfg(feature = "opencl")]
pub use crate::opencl::OpenCl;
pub use crate::ops::loops::{fori, if_else, scan, vmap, while_loop};
pub use crate::ops::{
    Conv, ELLIPSIS, NEWAXIS, OpFromGraph, Pad, Padding, Pool, RandomStreams, Reduction, Registry, arange,
    arange_between, betainc, categorical_crossentropy, complex, concatenate, consider_constant, einsum, eye,
    fft, fold_in, from_polar, full, full_like, gammainc, gammaincc, grad_clip, group_rank, group_size,
    hyp2f1, iv, ive, jv, kve, like, linalg, linspace, log_softmax, multi_dot, ones_like, over, owens_t,
    polygamma, range, softmax, split, stack, transfer, view_as_complex, view_as_real, where_, zero_grad,
    zeros_like,
};
pub use crate::optimizers::{Adam, RmsProp, adam, clip_norm, momentum, nesterov, rmsprop, sgd};
pub use crate::{DType, Selector, Value, args, device, idx};
pub use ndarray::{Array, Array0, Array1, Array2, Array3, ArrayD, array};
pub use num_complex::Complex;
