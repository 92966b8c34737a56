//! Sorts and selections.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::Operand;
use crate::print::Target;
use crate::print::library::{Routine, sort};

/// A stable sort along the middle axis: NaN are equal to each other and greater than all numbers, zeros of
/// either sign are equal. One operand is read; the values and the indices are written, each if requested.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// The dtype of input and values.
    pub dtype: DType,
    /// Extents before the axis, along it, and after it.
    pub shape: [u64; 3],
    /// Number of first elements to write; at most the extent of the axis.
    pub kept: u64,
    /// From the greatest to the least; equal elements keep their order.
    pub descending: bool,
    /// Whether to write the elements.
    pub values: bool,
    /// Whether to write their former positions, as int64.
    pub indices: bool,
    /// The places along the axis of the results that are read, ascending; other places are not specified.
    /// `None`: all.
    pub only: Option<Vec<u64>>,
}

impl LibraryOp for Sorting {
    fn name(&self) -> String {
        match () {
            () if self.kept < self.shape[1] => "topk".into(),
            () if self.only.is_some() => "select".into(),
            () if self.values => "sort".into(),
            () => "argsort".into(),
        }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        self.shape.to_vec()
    }

    fn operands(&self) -> Vec<Operand> {
        let [outer, _, inner] = self.shape;
        let kept = [outer, self.kept, inner];
        let values = self.values.then(|| written(self.dtype, &kept));
        let indices = self.indices.then(|| written(DType::I64, &kept));
        [read(self.dtype, &self.shape)].into_iter().chain(values).chain(indices).collect()
    }

    /// Places that are not ascending or not along the axis are errors too.
    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
        let extent = self.shape[1];
        check.size("shape", self.dtype, &self.shape)?;
        check.size("indices", DType::I64, &self.shape)?;
        check.require(self.kept <= extent, "kept", || (format!("at most {extent}"), self.kept))?;
        let places = self.only.as_deref().unwrap_or(&[]);
        let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
        let along = places.last().is_none_or(|last| *last < extent);
        let texts = || (format!("ascending places below {extent}"), format!("{places:?}"));
        check.require(ascending && along, "only", texts)
    }

    /// `log2(n)` comparisons per element, or two for a selection.
    fn flops(&self) -> f64 {
        let each = if self.only.is_some() { 2.0 } else { (self.shape[1].max(2) as f64).log2() };
        each * self.shape.iter().product::<u64>() as f64
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        sort::plan(self, target).map(|plan| plan.scratch())
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        sort::plan(self, target).map(|plan| plan.print(target))
    }
}
