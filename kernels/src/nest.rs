//! The Nest: the computation of one kernel as axes, phases, scalar SSA and index maps.
//!
//! A Nest iterates over *grid* axes, whose points are independent of each other, and at each grid point over
//! *inner* axes. Its phases run in order at each grid point:
//!
//! | phase | visits | may |
//! |---|---|---|
//! | [`Point`](PhaseKind::Point) | the grid point, once | store |
//! | [`Map`](PhaseKind::Map) | every inner point, in any order | store |
//! | [`Reduce`](PhaseKind::Reduce) | every inner point, in any order | fold values with a [`Fold`], store |
//! | [`Ordered`](PhaseKind::Ordered) | every inner point, in row-major order | store, and read its stores |
//!
//! So an elementwise op is one Point phase over a grid; a sum is a Reduce and a Point; softmax is Reduce,
//! Reduce, Map; a gather loads at a computed index; a deterministic scatter is an Ordered phase. In any other
//! phase, only the point that stored an element may read it in the same phase.
//!
//! A store replaces the element, or adds to it ([`Store::add`]). An operand that stores add to is initialized
//! before the Nest runs, and is neither loaded nor replaced in it. Any points, of any phase, may therefore
//! add to the same element, and integer sums do not depend on their order. A scatter whose rounding may
//! differ from run to run uses such stores.
//!
//! Each phase has a [`Block`] of scalar SSA: value `i` is what instruction `i` defines. Loads and stores name
//! an operand and give one [`Index`] per dimension of it: `offset + sum(coefficient * axis) + dynamic`.
//! Extents and strides are constants here (they are the signature of a compiled Program); values that vary
//! from call to call are loaded.
//!
//! The value that a computed index names decides what happens out of range:
//!
//! | the value | out of range |
//! |---|---|
//! | [`Position`](Inst::Position), [`Clamp`](IndexMode::Clamp) | the nearest position |
//! | `Position`, [`Wrap`](IndexMode::Wrap) | the position modulo the extent |
//! | `Position`, [`FromEnd`](IndexMode::FromEnd) | negative integers count from the end, then as `Clamp` |
//! | `Position`, [`Report`](IndexMode::Report) | as `FromEnd`; the node's number is in the status word |
//! | any other: the index is exact | the builder has proved that it is not |
//!
//! A `Position` is a value like any other: fusion computes with it. It reports at each point that its phase
//! visits, whether or not anything uses it. [`IndexMode::position`] is the definition;
//! [`bounds`](crate::bounds) writes a `Position` out in other instructions for devices whose kernels are
//! printed.

mod affine;
mod linear;
mod mode;
mod rewrite;
mod writer;

pub use affine::Affine;
pub use linear::{Channels, LinearForm};
pub use mode::IndexMode;
pub use writer::BlockWriter;

use crate::custom::ScalarFunction;
use crate::dtype::DType;
use crate::ops::{self, ScalarOp};
use crate::scalar::Scalar;
use std::sync::Arc;

/// A value of a [`Block`]: the position of the instruction that defines it.
pub type Value = u32;

/// One compute step. See the [module](self) for its meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nest {
    /// A name for people, made from the names of the ops that the Nest was lowered and fused from; any text.
    pub name: String,
    /// Extents of all axes: the grid axes, then the inner axes.
    pub axes: Vec<u64>,
    /// How many of `axes` are grid axes.
    pub grid: usize,
    /// The buffers the Nest reads and writes; a launch binds one memory region to each, in this order.
    pub operands: Vec<Operand>,
    /// The phases, in the order in which they run at each grid point.
    pub phases: Vec<Phase>,
}

/// A buffer as a Nest sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The stored element type.
    pub dtype: DType,
    /// Extent of each dimension. Every index is within it.
    pub shape: Vec<u64>,
    /// Elements from one index to the next, per dimension. Operands that are written have distinct addresses
    /// for distinct indices.
    pub strides: Vec<i64>,
    /// Whether the Nest stores to it. An operand may be both loaded and stored.
    pub written: bool,
}

/// One phase of a Nest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phase {
    /// Which points it visits, and in which order.
    pub kind: PhaseKind,
    /// The computation at each point.
    pub block: Block,
    /// Values folded over the inner points; only in a Reduce phase. Later phases see fold `k` of phase `p` as
    /// [`Inst::Folded`].
    pub folds: Vec<FoldOf>,
    /// The stores at each point, in this order.
    pub stores: Vec<Store>,
}

/// See the table of the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhaseKind {
    /// Once per grid point. Inner axes do not exist here.
    Point,
    /// Each inner point, any order.
    Map,
    /// Each inner point, any order, folding.
    Reduce,
    /// Each inner point in row-major order.
    Ordered,
}

/// Scalar SSA: instruction `i` defines value `i` and uses only values below `i`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Block {
    /// The instructions.
    pub insts: Vec<Inst>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Inst {
    /// A constant.
    Const(Scalar),
    /// The position along an axis, as i64.
    Axis(usize),
    /// The operand's element at an index, one [`Index`] per dimension.
    Load {
        /// Position in [`Nest::operands`].
        operand: usize,
        /// The index of the element.
        index: Vec<Index>,
    },
    /// A conversion, as C converts: floats truncate toward zero into integers, nonzero is true.
    Cast {
        /// The new dtype.
        to: DType,
        /// The value to convert.
        value: Value,
    },
    /// A primitive of the table; arguments have exactly the dtypes of `op.signature(..).args`.
    Op {
        /// The op. Never a composition: the block's builder expands compositions.
        op: ScalarOp,
        /// Its arguments.
        args: Vec<Value>,
    },
    /// A function of a user; only the printers have it. Arguments have exactly the dtypes of its parameters.
    Call {
        /// The function.
        function: Arc<ScalarFunction>,
        /// Its arguments.
        args: Vec<Value>,
    },
    /// The result of a fold of an earlier Reduce phase.
    Folded {
        /// The phase.
        phase: usize,
        /// The position in its `folds`.
        fold: usize,
    },
    /// An integer converted to a position along a dimension, as i64: below `extent`, or 0 if `extent` is 0.
    Position {
        /// An i64.
        value: Value,
        /// Number of positions.
        extent: u64,
        /// Which position an integer out of range names.
        mode: IndexMode,
    },
}

/// The index along one dimension of an operand: `offset + sum(coefficient * axis) + dynamic`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Index {
    /// The constant part.
    pub offset: i64,
    /// `(axis, coefficient)`, sorted by axis, each axis once, no zero coefficients.
    pub terms: Vec<(usize, i64)>,
    /// An i64 value of the block, added. The block's builder guarantees that the sum stays within the
    /// dimension: the value is exact, or an [`Inst::Position`]. If it does not, devices access some other
    /// element of the operand, but no memory beyond the operand.
    pub dynamic: Option<Value>,
}

/// A store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// Position in [`Nest::operands`].
    pub operand: usize,
    /// The element to store to, one [`Index`] per dimension.
    pub index: Vec<Index>,
    /// The value to store, of the operand's dtype (a half is rounded as it is stored).
    pub value: Value,
    /// Condition: store only if this bool value is true.
    pub when: Option<Value>,
    /// Add the value to the element (integers wrap), atomically if other points add to it too.
    pub add: bool,
}

impl Store {
    /// Whether a store may add to elements of this dtype: 32- and 64-bit numbers, for which processors have
    /// atomic operations.
    pub fn can_add_to(dtype: DType) -> bool {
        use DType::*;
        matches!(dtype, I32 | U32 | I64 | U64 | F32 | F64)
    }
}

/// A value folded over the inner points of each grid point.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FoldOf {
    /// The operator.
    pub fold: Fold,
    /// The value to fold, already of the accumulator's dtype.
    pub value: Value,
    /// For ArgMax and ArgMin: the i64 index of the point. The result is the index of the extreme.
    pub index: Option<Value>,
}

/// An associative, commutative fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// Sum; for bool, or.
    Sum,
    /// Product; for bool, and.
    Product,
    /// Maximum; NaN if there is one. Its identity is the least value of the dtype.
    Max,
    /// Minimum; NaN if there is one. Its identity is the greatest value of the dtype.
    Min,
    /// The index of the maximum, or of a NaN if there is one; the least index among equals.
    ArgMax,
    /// The index of the minimum, likewise.
    ArgMin,
}

impl Fold {
    /// Whether it has an index as well as a value: ArgMax and ArgMin.
    pub fn has_index(self) -> bool {
        matches!(self, Fold::ArgMax | Fold::ArgMin)
    }

    /// The fold of the values alone: Max for ArgMax, Min for ArgMin.
    pub fn of_values(self) -> Fold {
        match self {
            Fold::ArgMax => Fold::Max,
            Fold::ArgMin => Fold::Min,
            _ => self,
        }
    }

    /// The op that folds two values: for bool its row has "or" and "and". For ArgMax and ArgMin, that of the
    /// values beside the indices.
    pub fn combine(self) -> ScalarOp {
        match self {
            Fold::Sum => ops::ADD,
            Fold::Product => ops::MUL,
            Fold::Max | Fold::ArgMax => ops::MAXIMUM,
            Fold::Min | Fold::ArgMin => ops::MINIMUM,
        }
    }

    /// The result of an empty fold, and the initial value of every partial fold. For ArgMax and ArgMin, the
    /// identity of the value; the index starts from `i64::MAX`, so that the first real point wins ties.
    pub fn identity(self, dtype: DType) -> Scalar {
        let extreme = |low: bool| match dtype {
            d if d.is_float() => Scalar::from_f64(d, if low { f64::NEG_INFINITY } else { f64::INFINITY }),
            DType::Bool => Scalar::from_i128(dtype, i128::from(!low)),
            d => {
                let bits = 8 * d.size() as u32;
                let (min, max) = if d.is_signed() {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, (1i128 << bits) - 1)
                };
                Scalar::from_i128(d, if low { min } else { max })
            }
        };
        match self {
            Fold::Sum => Scalar::from_i128(dtype, 0),
            Fold::Product => Scalar::from_i128(dtype, 1),
            Fold::Max | Fold::ArgMax => extreme(true),
            Fold::Min | Fold::ArgMin => extreme(false),
        }
    }
}

impl Index {
    /// A constant index.
    pub fn constant(offset: i64) -> Index {
        Index { offset, ..Index::default() }
    }

    /// The index along one axis.
    pub fn axis(axis: usize) -> Index {
        Index { terms: vec![(axis, 1)], ..Index::default() }
    }

    /// Adds `coefficient * axis`, keeping the terms sorted and without zeros.
    pub fn add_term(&mut self, axis: usize, coefficient: i64) {
        match self.terms.binary_search_by_key(&axis, |t| t.0) {
            Ok(at) => {
                self.terms[at].1 += coefficient;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            Err(at) if coefficient != 0 => self.terms.insert(at, (axis, coefficient)),
            Err(_) => {}
        }
    }

    /// The static part of an index over old axes, over new ones: `coordinates` gives the position of each old
    /// axis.
    #[must_use]
    pub fn over(&self, coordinates: &[Index]) -> Index {
        let mut result = Index::constant(self.offset);
        for &(axis, coefficient) in &self.terms {
            let at = &coordinates[axis];
            result.offset += coefficient * at.offset;
            at.terms.iter().for_each(|&(a, c)| result.add_term(a, coefficient * c));
        }
        result
    }
}

impl Operand {
    /// A contiguous row-major operand.
    pub fn contiguous(dtype: DType, shape: &[u64], written: bool) -> Operand {
        let mut strides = vec![0; shape.len()];
        let mut stride = 1i64;
        for (s, &extent) in strides.iter_mut().zip(shape).rev() {
            *s = stride;
            stride = stride.saturating_mul(extent.max(1) as i64);
        }
        Operand { dtype, shape: shape.to_vec(), strides, written }
    }
}

impl Nest {
    /// A copy of a whole array, operand 0, to another one, operand 1.
    pub fn copy(dtype: DType, shape: &[u64]) -> Nest {
        let here = || (0..shape.len()).map(Index::axis).collect();
        let block = Block { insts: vec![Inst::Load { operand: 0, index: here() }] };
        let stores = vec![Store { operand: 1, index: here(), value: 0, when: None, add: false }];
        let phases = vec![Phase { kind: PhaseKind::Point, block, folds: vec![], stores }];
        let operands = [false, true].map(|written| Operand::contiguous(dtype, shape, written)).to_vec();
        Nest { name: "copy".into(), axes: shape.to_vec(), grid: shape.len(), operands, phases }
    }

    /// Whether it computes with f64, or moves it as such.
    pub fn uses_f64(&self) -> bool {
        let mut insts = self.phases.iter().flat_map(|phase| &phase.block.insts);
        self.operands.iter().any(|operand| operand.dtype == DType::F64)
            || insts.any(|inst| match inst {
                Inst::Const(scalar) => scalar.dtype() == DType::F64,
                Inst::Cast { to, .. } => *to == DType::F64,
                Inst::Call { function, .. } => function.uses_f64(),
                _ => false,
            })
    }

    /// Number of grid points; 0 if any grid axis is empty.
    pub fn grid_points(&self) -> u64 {
        self.axes[..self.grid].iter().product()
    }

    /// Number of inner points of each grid point; 1 without inner axes.
    pub fn inner_points(&self) -> u64 {
        self.axes[self.grid..].iter().product()
    }

    /// Whether the Nest is one Point phase: an elementwise op, a gather, a copy.
    pub fn is_map(&self) -> bool {
        self.phases.len() == 1 && self.phases[0].kind == PhaseKind::Point
    }
}

impl Block {
    /// Appends an instruction and returns its value; an equal instruction already there is returned instead,
    /// unless it is a load (which an Ordered phase may have to repeat).
    pub fn push(&mut self, inst: Inst) -> Value {
        if !matches!(inst, Inst::Load { .. })
            && let Some(at) = self.insts.iter().position(|i| *i == inst)
        {
            return at as Value;
        }
        self.insts.push(inst);
        (self.insts.len() - 1) as Value
    }
}
