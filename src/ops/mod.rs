//! Ops: one file per family, with typing, shapes, gradient and the reference `perform` of each, all in one
//! place.
//!
//! An [`Op`] is what an Apply node applies. Elementwise ops are rows of one table (`workalike_kernels::ops`);
//! every other op is a struct in one of the files here. Its device form is in its `lower.rs`, in terms of
//! [`crate::lower`].

mod advanced;
mod advanced_fold;
mod along_axis;
mod assert;
mod axes;
pub(crate) mod backpropagate;
pub(crate) mod batching;
pub mod complex;
mod compress;
pub(crate) mod contract;
mod convolution;
mod convolutions;
mod creation;
mod cumulative;
mod einsum;
pub mod elemwise;
pub mod fft;
mod functions;
mod gradient_rules;
mod in_bounds;
mod index_expression;
mod indexing;
mod join;
mod kernel_op;
pub mod linalg;
pub mod loops;
pub(crate) mod methods;
mod nonzero;
pub(crate) mod op_from_graph;
mod operators;
mod pad;
mod pool;
mod positions;
mod print;
mod product;
mod products;
mod quantile;
mod random;
mod reduce;
mod registry;
mod search;
mod segments;
mod shape;
mod shapes;
mod size;
mod softmax;
mod sort;
mod special;
pub(crate) mod specify_shape;
mod statistics;
mod stored_op;
mod subtensor;
mod sum_like;
mod tensor_methods;
mod transfer;
pub(crate) mod uniform;
mod unique;
mod weak;
mod windows;

pub use crate::op::{
    Attr, AttrGraph, Attributes, AxisRead, Batch, Batched, BatchedOutputs, Gradient, Holds, Known, Narrowed,
    Op,
};
pub use advanced::{AdvancedIncSubtensor, AdvancedSubtensor};
pub use advanced_fold::AdvancedFold;
pub use assert::Assert;
pub use axes::{Axes, Choices, Over, over};
pub use complex::{
    ComplexOf, ImagPart, RealPart, ViewAsComplex, ViewAsReal, complex, from_polar, view_as_complex,
    view_as_real,
};
pub use compress::Compress;
pub use convolution::{Convolution, ConvolutionRole};
pub use convolutions::{Conv, Padding};
pub use creation::{ARange, arange, arange_between, full, full_like, linspace, ones_like, zeros_like};
pub use cumulative::CumOp;
pub use einsum::{einsum, try_einsum};
pub use elemwise::{Cast, Elemwise};
pub use fft::{FourierOp, Transform};
pub use functions::{elementwise, where_};
pub use gradient_rules::{Passes, WithGradient, consider_constant, grad_clip, grad_scale, zero_grad};
pub use in_bounds::InBounds;
pub use index_expression::{ELLIPSIS, Ix, NEWAXIS, range};
pub use join::{Join, concatenate, stack};
pub use kernel_op::{Grid, GridSize, Kernel, KernelOp, LaunchInput, Local};
pub use linalg::{Cholesky, Cofactors, Det, SlogDet, Solve, SolveTriangular};
pub use loops::{BranchOp, ScanOp, WhileOp};
pub use methods::Method;
pub use nonzero::NonZero;
pub use op_from_graph::{OpFromGraph, SubGraph};
pub use pad::Pad;
pub use pool::Pool;
pub use positions::{CheckIndex, Mode, ravel_multi_index, unravel_index};
pub use print::{Print, PrintHook, set_print_hook};
pub use product::Dot;
pub use products::{TensordotAxes, multi_dot, try_multi_dot};
pub use random::{RandomStreams, fold_in, split};
pub use reduce::{ArgReduce, Reduce};
pub use registry::{Registry, ids};
pub use search::{SearchSorted, Side};
pub use segments::Bins;
pub use shape::{BroadcastLike, BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
pub use shapes::{eye, meshgrid, tri};
pub use size::{IntoSize, Size, like};
pub use softmax::{Softmax, categorical_crossentropy, log_softmax, softmax};
pub use sort::{Sort, Sorted};
pub use special::{betainc, gammainc, gammaincc, hyp2f1, iv, ive, jv, kve, owens_t, polygamma};
pub use specify_shape::{EqualExtents, SpecifyShape};
pub use stored_op::StoredOp;
pub use subtensor::{Bound, IncSubtensor, Slot, Subtensor};
pub use sum_like::SumLike;
pub use transfer::{Transfer, transfer};
pub use unique::{Unique, UniqueOp};
pub use windows::{WindowSum, Windows};

use crate::error::Result;
use std::fmt;

/// The methods of Variables, by family.
pub fn methods() -> [(&'static str, &'static [Method]); 19] {
    [
        ("elementwise functions", functions::METHODS),
        ("complex numbers", complex::METHODS),
        ("reductions", statistics::METHODS),
        ("running folds", cumulative::METHODS),
        ("sorting", sort::METHODS),
        ("shape", shapes::METHODS),
        ("padding", pad::METHODS),
        ("conversion, axes and indexing", tensor_methods::METHODS),
        ("indexing along an axis", along_axis::METHODS),
        ("positions", positions::METHODS),
        ("searching", search::METHODS),
        ("segments", segments::METHODS),
        ("products", products::METHODS),
        ("convolution", convolutions::METHODS),
        ("windows and pooling", pool::METHODS),
        ("while it runs", assert::METHODS),
        ("while it runs", in_bounds::METHODS),
        ("while it runs", print::METHODS),
        ("contexts", transfer::METHODS),
    ]
}
