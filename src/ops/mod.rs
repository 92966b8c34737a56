//! Ops: one file per family, with typing, shapes, gradient and the reference `perform` of each, all in one
//! place.
//!
//! An [`Op`] is what an Apply node applies. Elementwise ops are rows of one table (`workalike_kernels::ops`);
//! every other op is a struct in one of the files here. Its device form is in its `lower.rs`, in terms of
//! [`crate::lower`].

mod advanced_fold;
mod advanced_indexing;
mod along_axis;
mod array_manipulation;
mod assert;
mod axes;
pub(crate) mod backpropagate;
pub(crate) mod batching;
mod collectives;
pub mod complex;
mod compress;
pub(crate) mod contract;
mod conv_methods;
mod convolution;
mod creation;
mod cumulative;
mod dot;
mod einsum;
mod elementwise_methods;
pub mod elemwise;
pub mod fft;
mod gradient_modifiers;
mod in_bounds;
mod index_expression;
mod index_routines;
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
mod print;
mod quantile;
mod random;
mod reduce;
mod reduction_methods;
mod registry;
mod search;
mod segments;
mod shape;
mod shape_argument;
mod sharding;
mod softmax;
mod sort;
mod special;
pub(crate) mod specify_shape;
pub(crate) mod splat;
mod stored_op;
mod subtensor;
mod sum_like;
mod tensor_methods;
mod tensor_products;
mod transfer;
mod type_promotion;
mod unique;
mod windows;

pub use crate::op::{
    Attr, AttrGraph, Attributes, AxisRead, Batch, Batched, BatchedOutputs, Gradient, Holds, Known,
    MemberArray, Narrowed, Op, OpGroup, Seat, ShardedOutputs, Sharding, Shards,
};
pub use advanced_fold::AdvancedFold;
pub use advanced_indexing::{AdvancedIncSubtensor, AdvancedSubtensor};
pub use array_manipulation::{eye, meshgrid, tri};
pub use assert::Assert;
pub use axes::{Axes, Choices, Over, over};
pub(crate) use collectives::divided_input;
pub use collectives::{
    CollectiveKind, CollectiveOp, EqualParts, GroupPlace, OwnPart, PlaceKind, Reduction, Route, group_rank,
    group_size,
};
pub use complex::{
    ComplexOf, ImagPart, RealPart, ViewAsComplex, ViewAsReal, complex, from_polar, view_as_complex,
    view_as_real,
};
pub use compress::Compress;
pub use conv_methods::{Conv, Padding};
pub use convolution::{Convolution, ConvolutionRole};
pub use creation::{ARange, arange, arange_between, full, full_like, linspace, ones_like, zeros_like};
pub use cumulative::CumOp;
pub use dot::Dot;
pub use einsum::{einsum, try_einsum};
pub use elementwise_methods::{elementwise, where_};
pub use elemwise::{Cast, Elemwise};
pub use fft::{FourierOp, Transform};
pub use gradient_modifiers::{Passes, WithGradient, consider_constant, grad_clip, grad_scale, zero_grad};
pub use in_bounds::InBounds;
pub use index_expression::{ELLIPSIS, Ix, NEWAXIS, range};
pub use index_routines::{CheckIndex, Mode, ravel_multi_index, unravel_index};
pub use join::{Join, concatenate, stack};
pub use kernel_op::{Grid, GridSize, Kernel, KernelOp, LaunchInput, Local};
pub use linalg::{Cholesky, Cofactors, Det, SlogDet, Solve, SolveTriangular};
pub use loops::{BranchOp, ScanOp, WhileOp};
pub use methods::Method;
pub use nonzero::NonZero;
pub use op_from_graph::{OpFromGraph, SubGraph};
pub use pad::Pad;
pub use pool::Pool;
pub use print::{Print, PrintHook, set_print_hook};
pub use random::{RandomStreams, fold_in, split};
pub use reduce::{ArgReduce, Reduce};
pub use registry::{Registry, ids};
pub use search::{SearchSorted, Side};
pub use segments::Bins;
pub use shape::{BroadcastLike, BroadcastTo, DimShuffle, Extent, Reshape, ShapeOf};
pub use shape_argument::{IntoSize, Size, like};
pub(crate) use sharding::{sharded, with_extents};
pub use softmax::{Softmax, categorical_crossentropy, log_softmax, softmax};
pub use sort::{Sort, Sorted};
pub use special::{betainc, gammainc, gammaincc, hyp2f1, iv, ive, jv, kve, owens_t, polygamma};
pub use specify_shape::{EqualExtents, SpecifyShape};
pub use stored_op::StoredOp;
pub use subtensor::{Bound, IncSubtensor, Slot, Subtensor};
pub use sum_like::SumLike;
pub use tensor_products::{TensordotAxes, multi_dot, try_multi_dot};
pub use transfer::{Transfer, transfer};
pub use unique::{Unique, UniqueOp};
pub use windows::{WindowSum, Windows};

use crate::error::Result;
use std::fmt;

/// The methods of Variables, by family.
pub fn methods() -> [(&'static str, &'static [Method]); 20] {
    [
        ("elementwise functions", elementwise_methods::METHODS),
        ("complex numbers", complex::METHODS),
        ("reductions", reduction_methods::METHODS),
        ("running folds", cumulative::METHODS),
        ("sorting", sort::METHODS),
        ("shape", array_manipulation::METHODS),
        ("padding", pad::METHODS),
        ("conversion, axes and indexing", tensor_methods::METHODS),
        ("indexing along an axis", along_axis::METHODS),
        ("positions", index_routines::METHODS),
        ("searching", search::METHODS),
        ("segments", segments::METHODS),
        ("products", tensor_products::METHODS),
        ("convolution", conv_methods::METHODS),
        ("windows and pooling", pool::METHODS),
        ("while it runs", assert::METHODS),
        ("while it runs", in_bounds::METHODS),
        ("while it runs", print::METHODS),
        ("contexts", transfer::METHODS),
        ("groups", collectives::METHODS),
    ]
}
