//! Running folds.

use super::{Check, LibraryError, LibraryOp, read, written};
use crate::dtype::DType;
use crate::nest::{Fold, Operand};
use crate::print::Target;
use crate::print::library::{Routine, cumulate};

/// Running folds along the middle axis, in the dtype of the input; halves accumulate in float32 or wider.
/// Floats may be folded in any fixed order, so a partial product may leave the range of the accumulator
/// though the whole product would not. One operand is read; one of the same shape is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cumulate {
    /// Sum, Product, Max or Min; for bool only Max and Min.
    pub fold: Fold,
    /// The dtype of input and output.
    pub dtype: DType,
    /// Extents before the axis, along it, and after it.
    pub shape: [u64; 3],
    /// Fold from the end.
    pub reverse: bool,
}

impl LibraryOp for Cumulate {
    fn name(&self) -> String {
        format!("cumulate_{:?}", self.fold).to_lowercase()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        self.shape.to_vec()
    }

    fn operands(&self) -> Vec<Operand> {
        vec![read(self.dtype, &self.shape), written(self.dtype, &self.shape)]
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = Check { op: self };
        check.size("shape", self.dtype, &self.shape)?;
        check.fold(Some(self.fold), self.dtype)
    }

    fn flops(&self) -> f64 {
        self.shape.iter().product::<u64>() as f64
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        cumulate::Plan::of(self, target).map(|plan| plan.scratch())
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        cumulate::Plan::of(self, target).map(|plan| plan.print(target))
    }
}
