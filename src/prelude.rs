//! What most programs need: `use workalike::prelude::*;`.

#[cfg(feature = "cuda-any")]
pub use crate::cuda::Cuda;
pub use crate::format::common_state;
pub use crate::function::{Arg, Args, Bundle, Function, In, LoadOptions, Out, Outputs};
pub use crate::function::{each, function, of_shape};
pub use crate::grad::{Grad, grad, hessian, hvp, jacobian, jvp, verify_grad, vjp};
pub use crate::graph::{Parameters, SharedVariable, TensorType, Variable};
pub use crate::graph::{constant, matrix, scalar, shared, shared_dynamic, tensor, tensor3, vector};
pub use crate::graph::{get_values, set_values};
#[cfg(feature = "host")]
pub use crate::host::Host;
pub use crate::initializers::{glorot_normal, glorot_uniform, he_normal, he_uniform, orthogonal};
pub use crate::layers::{BatchNormalization, dropout, layer_norm};
pub use crate::losses::{binary_crossentropy, binary_crossentropy_with_logits};
pub use crate::losses::{categorical_crossentropy_with_logits, huber, smooth_labels};
#[cfg(feature = "opencl")]
pub use crate::opencl::OpenCl;
pub use crate::ops::loops::{fori, if_else, scan, vmap, while_loop};
pub use crate::ops::{Conv, Padding, Pool};
pub use crate::ops::{ELLIPSIS, NEWAXIS, Pad, RandomStreams, fold_in, like, over, split};
pub use crate::ops::{OpFromGraph, Registry, einsum, fft, linalg, multi_dot};
pub use crate::ops::{arange, arange_between, eye, full, full_like, linspace, ones_like, zeros_like};
pub use crate::ops::{betainc, gammainc, gammaincc, hyp2f1, iv, ive, jv, kve, owens_t, polygamma};
pub use crate::ops::{categorical_crossentropy, log_softmax, range, softmax, where_};
pub use crate::ops::{complex, from_polar, view_as_complex, view_as_real};
pub use crate::ops::{concatenate, stack};
pub use crate::ops::{consider_constant, grad_clip, transfer, zero_grad};
pub use crate::optimizers::{Adam, RmsProp, adam, clip_norm, momentum, nesterov, rmsprop, sgd};
pub use crate::rehost::{
    Backend, DeviceArray, DeviceView, Keep, MethodHandle, Open, Options, Probe, Profile,
};
pub use crate::rehost::{Simulator, Sizes, Tuned, contexts};
pub use crate::{DType, Selector, Value, args, device, idx};
pub use ndarray::{Array, Array0, Array1, Array2, Array3, ArrayD, array};
pub use num_complex::Complex;
