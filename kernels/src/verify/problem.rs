//! What can be wrong with a Nest.

use crate::dtype::DType;
use crate::nest::Value;
use crate::ops::ScalarOp;

/// Why a Nest is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Nest `{nest}`{}: {problem}", .phase.map(|p| format!(", phase {p}")).unwrap_or_default())]
pub struct VerifyError {
    /// The Nest's name.
    pub nest: String,
    /// The phase with the problem, if it is in one phase.
    pub phase: Option<usize>,
    /// The problem.
    pub problem: NestProblem,
}

/// What can be wrong with a Nest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NestProblem {
    /// More grid axes than axes.
    #[error("{grid} grid axes, but only {axes} axes in all")]
    Grid {
        /// [`Nest::grid`](crate::nest::Nest::grid).
        grid: usize,
        /// The number of axes.
        axes: usize,
    },
    /// Extents or addresses do not fit 64 bits.
    #[error("{0} does not fit in 63 bits")]
    TooLarge(String),
    /// Shape and strides of an operand differ in length, or a stride is negative.
    #[error("operand {0} needs one stride for each dimension, none of them negative")]
    Strides(usize),
    /// A complex operand or value: kernels compute with pairs of reals.
    #[error("{0} is complex; kernels compute with real and imaginary parts")]
    Complex(String),
    /// There is no phase of this number (only [`dtypes`](super::dtypes) returns this).
    #[error("there are only {0} phases")]
    NoPhase(usize),
    /// A value is used before it is defined.
    #[error("value {0} is used before it is defined")]
    Undefined(Value),
    /// An axis that does not exist, or not in this phase.
    #[error("axis {0} does not exist here")]
    Axis(usize),
    /// An operand that does not exist.
    #[error("operand {0} does not exist")]
    Operand(usize),
    /// Number of indices and rank of the operand differ.
    #[error("operand {operand} has {rank} dimensions, but {given} indices are given")]
    Rank {
        /// The operand.
        operand: usize,
        /// Its rank.
        rank: usize,
        /// The number of indices.
        given: usize,
    },
    /// The terms of an index are not sorted by axis, or one is zero.
    #[error("the terms of an index of operand {0} are not sorted, or one is zero")]
    Terms(usize),
    /// An index leaves its dimension.
    #[error(
        "operand {operand}, dimension {dimension}: the index runs from {low} to {high}, the extent is {extent}"
    )]
    Bounds {
        /// The operand.
        operand: usize,
        /// The dimension.
        dimension: usize,
        /// The least index.
        low: i128,
        /// The greatest index.
        high: i128,
        /// The dimension's extent.
        extent: u64,
    },
    /// A computed index into a dimension that has no elements, at points that are visited.
    #[error("operand {operand}, dimension {dimension}: it is empty, and no computed index is within it")]
    Empty {
        /// The operand.
        operand: usize,
        /// The dimension.
        dimension: usize,
    },
    /// A composition, which the builder of a block has to expand into other ops.
    #[error("{0:?} is a composition; only primitives may stand in a block")]
    Composition(ScalarOp),
    /// The arguments do not have the dtypes that the op computes in.
    #[error("{op:?} does not take {given:?} as they are")]
    Arguments {
        /// The op.
        op: ScalarOp,
        /// The dtypes of its arguments.
        given: Vec<DType>,
    },
    /// A function of a user has another number of arguments than parameters.
    #[error("a function of {expected} parameters has {given} arguments")]
    Count {
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        given: usize,
    },
    /// A user's function in a Nest that may only contain ops of the table.
    #[error("a function of a user, which only generated kernels call")]
    Function,
    /// A value of the wrong dtype.
    #[error("{what} is {given}, and should be {expected}")]
    Type {
        /// Which value.
        what: &'static str,
        /// The expected dtype.
        expected: DType,
        /// The dtype found.
        given: DType,
    },
    /// A store to an operand that is not marked as written.
    #[error("operand {0} is stored to, but is not marked as written")]
    NotWritten(usize),
    /// Folds outside of a Reduce phase.
    #[error("only a Reduce phase has folds")]
    Folds,
    /// ArgMax and ArgMin need an index, the other folds have none.
    #[error("fold {0}: ArgMax and ArgMin have an index value, the other folds have none")]
    FoldIndex(usize),
    /// A fold that does not exist, or belongs to a later phase.
    #[error("fold {fold} of phase {phase} does not exist, or comes later")]
    Folded {
        /// The phase that is named.
        phase: usize,
        /// The fold that is named.
        fold: usize,
    },
    /// A phase may read an element that another point of it stores.
    #[error(
        "operand {0} is both loaded and stored, at different elements or computed ones; only an Ordered phase may"
    )]
    Race(usize),
    /// A store adds to elements of a dtype without atomic adds.
    #[error("operand {operand} is {dtype}, and stores add to 32- and 64-bit numbers only")]
    Adds {
        /// The operand.
        operand: usize,
        /// Its dtype.
        dtype: DType,
    },
    /// An operand that stores add to is loaded or replaced in the same Nest.
    #[error("operand {0} is added to, and may not be loaded or stored to otherwise in the same Nest")]
    AddedTo(usize),
    /// Indices are reported to an operand that is not a status word.
    #[error("operand {0} takes reports; expected a written int64 of rank 0 that the phase does not load")]
    Status(usize),
    /// While interpreting: wrong number of buffers, or one of the wrong size.
    #[error("the buffers given do not fit the operands: {0}")]
    Buffers(String),
    /// While interpreting: a computed index left its dimension.
    #[error(
        "operand {operand}, dimension {dimension}: computed index {index} is outside of the extent {extent}"
    )]
    Dynamic {
        /// The operand.
        operand: usize,
        /// The dimension.
        dimension: usize,
        /// The index.
        index: i128,
        /// The dimension's extent.
        extent: u64,
    },
}
