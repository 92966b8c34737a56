//! Index expressions: the entries that [`crate::idx!`] collects, before the ops for them are chosen.

use super::creation::int_scalar;
use super::subtensor::{Bound, Slot};
use crate::error::{Error, Result};
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, SharedVariable, Variable};
use crate::value::Value;
use workalike_kernels::DType;

/// One entry of an index expression, collected by [`crate::idx!`].
#[derive(Clone, Debug)]
pub enum Ix {
    /// One position, an integer array of positions, or a boolean mask.
    At(Variable),
    /// A slice.
    Slice {
        /// Where it starts.
        start: Option<Variable>,
        /// Where it stops.
        stop: Option<Variable>,
        /// Not 0.
        step: i64,
    },
    /// A new axis of extent 1 (NumPy's `newaxis`).
    NewAxis,
    /// Whole slices for all axes that the other entries leave over (NumPy's `...`).
    Ellipsis,
}

/// A new axis of extent 1 in an index expression: `x.index(idx![.., NEWAXIS])`.
pub const NEWAXIS: Ix = Ix::NewAxis;

/// All axes that the other entries of an index expression leave over: `x.index(idx![ELLIPSIS, 0])`.
pub const ELLIPSIS: Ix = Ix::Ellipsis;

impl Ix {
    /// The same slice with another step.
    #[must_use]
    pub fn step(self, step: i64) -> Ix {
        match self {
            Ix::Slice { start, stop, .. } => Ix::Slice { start, stop, step },
            at => at,
        }
    }

    /// The whole of an axis.
    pub(super) fn whole() -> Ix {
        Ix::Slice { start: None, stop: None, step: 1 }
    }

    /// Whether it takes the whole of an axis.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Ix::Slice { start: None, stop: None, step: 1 })
    }

    /// The number of axes of the array that it indexes; 0 for [`Ix::Ellipsis`].
    pub(super) fn axes(&self) -> usize {
        match self {
            Ix::At(v) if v.dtype() == DType::Bool => v.ndim(),
            Ix::At(_) | Ix::Slice { .. } => 1,
            Ix::NewAxis | Ix::Ellipsis => 0,
        }
    }
}

/// The slice from `start` to before `stop`, each a number or an integer Variable.
#[track_caller]
pub fn range(start: impl IntoOperand, stop: impl IntoOperand) -> Ix {
    let _scope = source_location::enter();
    let bound = |operand: Operand| {
        // Slices end at the end of the axis, however large their bounds are.
        let operand = match operand {
            Operand::Int(n) => Operand::Int(n.clamp(i128::from(i64::MIN), i128::from(i64::MAX))),
            other => other,
        };
        Some(int_scalar("range", operand).unwrap_or_else(Variable::poison))
    };
    Ix::Slice { start: bound(start.into_operand()), stop: bound(stop.into_operand()), step: 1 }
}

macro_rules! ix_from {
    ($($t:ty),*) => { $(
        impl From<$t> for Ix {
            #[track_caller]
            fn from(at: $t) -> Ix {
                let _scope = source_location::enter();
                Ix::At(int_scalar("index", at).unwrap_or_else(Variable::poison))
            }
        }
        impl From<std::ops::Range<$t>> for Ix {
            #[track_caller]
            fn from(r: std::ops::Range<$t>) -> Ix {
                range(r.start, r.end)
            }
        }
        impl From<std::ops::RangeFrom<$t>> for Ix {
            #[track_caller]
            fn from(r: std::ops::RangeFrom<$t>) -> Ix {
                match range(r.start, 0) {
                    Ix::Slice { start, .. } => Ix::Slice { start, stop: None, step: 1 },
                    other => other,
                }
            }
        }
        impl From<std::ops::RangeTo<$t>> for Ix {
            #[track_caller]
            fn from(r: std::ops::RangeTo<$t>) -> Ix {
                match range(0, r.end) {
                    Ix::Slice { stop, .. } => Ix::Slice { start: None, stop, step: 1 },
                    other => other,
                }
            }
        }
    )* };
}
ix_from!(i32, i64, isize, usize);

impl From<std::ops::RangeFull> for Ix {
    fn from(_: std::ops::RangeFull) -> Ix {
        Ix::whole()
    }
}
macro_rules! ix_from_list {
    ($($t:ty),*) => { $(
        impl From<Vec<$t>> for Ix {
            fn from(list: Vec<$t>) -> Ix {
                Ix::At(Variable::constant(list))
            }
        }
        impl<const N: usize> From<[$t; N]> for Ix {
            fn from(list: [$t; N]) -> Ix {
                Ix::from(list.to_vec())
            }
        }
    )* };
}
ix_from_list!(i64, bool);
impl From<Variable> for Ix {
    fn from(at: Variable) -> Ix {
        Ix::At(at)
    }
}
impl From<&Variable> for Ix {
    fn from(at: &Variable) -> Ix {
        Ix::At(at.clone())
    }
}
impl From<&SharedVariable> for Ix {
    fn from(at: &SharedVariable) -> Ix {
        Ix::At((**at).clone())
    }
}

/// Splits basic index entries into slots and the Variables that bound them.
pub(super) fn slots_of(entries: &[Ix]) -> Result<(Vec<Slot>, Vec<Variable>)> {
    let mut inputs = Vec::new();
    let mut bound = |v: &Variable| -> Result<Bound> {
        let v = int_scalar("index", v)?;
        if let Some(scalar) = v.constant_value().and_then(Value::to_scalar) {
            return Ok(Bound::At(scalar.to_i128() as i64));
        }
        inputs.push(v);
        Ok(Bound::Input(inputs.len() - 1))
    };
    let mut slots = Vec::new();
    for entry in entries {
        slots.push(match entry {
            Ix::At(v) => Slot::Index(bound(v)?),
            Ix::Slice { start, stop, step } => {
                let mut side = |v: &Option<Variable>| v.as_ref().map_or(Ok(Bound::Open), &mut bound);
                Slot::Slice { start: side(start)?, stop: side(stop)?, step: *step }
            }
            // Arrays, new axes and the ellipsis were taken out of the expression before.
            Ix::NewAxis | Ix::Ellipsis => {
                return Err(Error::Internal(format!("{entry:?} is not a slot of a basic index")));
            }
        });
    }
    Ok((slots, inputs))
}
