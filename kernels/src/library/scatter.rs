//! Rows that go to rows of a table.

use super::{Check, LibraryError, LibraryOp, read, written};
use crate::dtype::DType;
use crate::nest::{Fold, Operand};
use crate::print::Target;
use crate::print::library::{Routine, scatter};

/// Rows that go to rows of a table, of which some are named repeatedly. Two operands are read: positions as
/// uint32, each a row of the table, and the rows that go there. The table is read and written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// Of the rows and the table.
    pub dtype: DType,
    /// Sum, Product, Max or Min: a row of the table is folded with all that go there, in any fixed order.
    /// Else the last one stays.
    pub fold: Option<Fold>,
    /// Rows that go somewhere.
    pub points: u64,
    /// Rows of the table.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
    /// Whether each point brings a row of its own, rather than all the same one.
    pub each_row: bool,
    /// Whether a row that is brought has all elements, rather than one for all.
    pub each_column: bool,
}

impl Scatter {
    /// Elements that are brought.
    pub fn brought(&self) -> u64 {
        (if self.each_row { self.points } else { 1 }) * (if self.each_column { self.width } else { 1 })
    }
}

impl LibraryOp for Scatter {
    fn name(&self) -> String {
        "scatter".into()
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn extents(&self) -> Vec<u64> {
        vec![1, self.points, self.width]
    }

    fn operands(&self) -> Vec<Operand> {
        let table = [self.rows, self.width];
        vec![
            read(DType::U32, &[self.points]),
            read(self.dtype, &[self.brought()]),
            written(self.dtype, &table),
        ]
    }

    fn reads_outputs(&self) -> bool {
        true
    }

    /// Rows that no position can name are errors too.
    fn verify(&self) -> Result<(), LibraryError> {
        let check = Check { op: self };
        check.size("points", DType::I64, &[self.points])?;
        check.size("rows and width", self.dtype, &[self.rows, self.width])?;
        check.size("points and width", self.dtype, &[self.points, self.width])?;
        let rows = u64::from(self.points > 0)..=1 << 32;
        check.require(rows.contains(&self.rows), "rows", || (format!("{rows:?}"), self.rows))?;
        check.fold(self.fold, self.dtype)
    }

    fn flops(&self) -> f64 {
        f64::from(u8::from(self.fold.is_some())) * self.points as f64 * self.width as f64
    }

    /// The table is read and written where something goes, at most.
    fn touched(&self, operand: &Operand) -> u64 {
        let all = operand.shape.iter().product::<u64>();
        if operand.written { all.min(self.points * self.width) } else { all }
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        scatter::Plan::of(self, target).map(|plan| plan.scratch())
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        scatter::Plan::of(self, target).map(|plan| plan.print(target))
    }
}
