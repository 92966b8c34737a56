//! Scatters of rows to a table.

use super::{LibraryError, LibraryOp, ParameterCheck, read, written};
use crate::dtype::DType;
use crate::nest::{Fold, Operand};
use crate::print::Target;
use crate::print::library::{Routine, exact_scatter, fixed_scatter, grouped_scatter, last_scatter, scatter};

/// A scatter of rows to a table; positions may repeat. Two operands are read: positions as uint32, each a row
/// of the table, and the rows to scatter. The table is read and written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// The dtype of the rows and the table.
    pub dtype: DType,
    /// Sum, Product, Max or Min: a row of the table is folded with all rows for its position, in any fixed
    /// order. `None`: the last of them replaces it.
    pub fold: Option<Fold>,
    /// Number of rows to scatter.
    pub points: u64,
    /// Rows of the table.
    pub rows: u64,
    /// Elements of a row.
    pub width: u64,
    /// Whether each point has a row of its own, rather than all the same one.
    pub each_row: bool,
    /// Whether a row to scatter has `width` elements, rather than one that is broadcast.
    pub each_column: bool,
}

impl Scatter {
    /// Number of elements to scatter.
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

    /// More rows than a position can index are an error too.
    fn verify(&self) -> Result<(), LibraryError> {
        let check = ParameterCheck { op: self };
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

    /// At most the rows of the table with a position are read and written.
    fn touched(&self, operand: &Operand) -> u64 {
        let all = operand.shape.iter().product::<u64>();
        if operand.written { all.min(self.points * self.width) } else { all }
    }

    fn routine_scratch(&self, target: &Target) -> Option<u64> {
        ScatterPlan::of(self, target).map(|plan| plan.scratch())
    }

    fn routine(&self, target: &Target) -> Option<Routine> {
        ScatterPlan::of(self, target).map(|plan| plan.print(target))
    }
}

/// The kernels of a scatter: the first of these that it suits.
enum ScatterPlan {
    Exact(exact_scatter::ExactScatterPlan),
    Fixed(fixed_scatter::FixedScatterPlan),
    Last(last_scatter::LastScatterPlan),
    Grouped(grouped_scatter::GroupedScatterPlan),
    Sorted(Box<scatter::SortedScatterPlan>),
}

impl ScatterPlan {
    fn of(call: &Scatter, target: &Target) -> Option<ScatterPlan> {
        let exact = exact_scatter::ExactScatterPlan::of(call, target).map(ScatterPlan::Exact);
        let fixed = || fixed_scatter::FixedScatterPlan::of(call, target).map(ScatterPlan::Fixed);
        let last = || last_scatter::LastScatterPlan::of(call, target).map(ScatterPlan::Last);
        let grouped = || grouped_scatter::GroupedScatterPlan::of(call, target).map(ScatterPlan::Grouped);
        let sorted = || scatter::SortedScatterPlan::of(call, target).map(Box::new).map(ScatterPlan::Sorted);
        exact.or_else(fixed).or_else(last).or_else(grouped).or_else(sorted)
    }

    /// Bytes of scratch memory.
    fn scratch(&self) -> u64 {
        match self {
            ScatterPlan::Exact(_) => 0,
            ScatterPlan::Fixed(plan) => plan.scratch(),
            ScatterPlan::Last(plan) => plan.scratch(),
            ScatterPlan::Grouped(plan) => plan.scratch(),
            ScatterPlan::Sorted(plan) => plan.scratch(),
        }
    }

    fn print(&self, target: &Target) -> Routine {
        match self {
            ScatterPlan::Exact(plan) => plan.print(target),
            ScatterPlan::Fixed(plan) => plan.print(target),
            ScatterPlan::Last(plan) => plan.print(target),
            ScatterPlan::Grouped(plan) => plan.print(target),
            ScatterPlan::Sorted(plan) => plan.print(target),
        }
    }
}
