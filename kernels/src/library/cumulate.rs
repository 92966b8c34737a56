//! Running folds.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::{Fold, Operand};
use crate::print::Target;
use crate::print::library::{Routine, cumulate};

/// Running folds along the middle axis, of the input converted to the dtype of the output; halves accumulate
/// in float32 or wider. Floats may be folded in any fixed order, so a partial product may leave the range of
/// the accumulator though the whole product would not. One operand is read; one of the same shape is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cumulate {
    /// Sum, Product, Max or Min; for bool only Max and Min.
    pub fold: Fold,
    /// The dtype of the output.
    pub dtype: DType,
    /// The dtype of the input: the same, or one of which every number is one of it too.
    pub from: DType,
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
        vec![read(self.from, &self.shape), written(self.dtype, &self.shape)]
    }

    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        check.size("shape", self.dtype, &self.shape)?;
        let texts = || (format!("{} or a part of it", self.dtype), self.from);
        check.require(self.from == self.dtype || is_part(self.from, self.dtype), "from", texts)?;
        check.fold(Some(self.fold), self.dtype)
    }

    fn flops(&self) -> f64 {
        self.shape.iter().product::<u64>() as f64
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        cumulate::CumulatePlan::of(self, target).map(|plan| plan.scratch())
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        cumulate::CumulatePlan::of(self, target).map(|plan| plan.print(target))
    }
}

/// Whether every number of a dtype is one of another.
fn is_part(of: DType, whole: DType) -> bool {
    let wider = of.size() < whole.size();
    match (of.is_float(), whole.is_float()) {
        (true, true) => wider,
        (false, false) => of == DType::Bool || wider && (whole.is_signed() || !of.is_signed()),
        _ => false,
    }
}
