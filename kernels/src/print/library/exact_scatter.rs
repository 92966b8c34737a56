//! Scatters whose folds give the same result in any order, as atomic operations: sums of integers, and
//! extremes of numbers.

use super::atomic_points::{self, AtomicPoints, GROUP, Tables};
use super::folded_rows::brought;
use super::{OperandPart, Routine, RoutineKernel, RoutineWriter, fold_helpers};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};

/// The division of such a scatter.
pub(crate) struct ExactScatterPlan {
    call: Scatter,
    fold: Fold,
    tables: Option<Tables>,
}

impl ExactScatterPlan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<ExactScatterPlan> {
        let dtype = call.dtype;
        let is_exact = match call.fold? {
            Fold::Sum => dtype.is_integer(),
            Fold::Max | Fold::Min => true,
            _ => false,
        };
        // OpenCL C has 64-bit operations by an extension only; a sum is two of 32 bits.
        let wide = target.dialect == Dialect::CudaCpp || call.fold == Some(Fold::Sum);
        let sizes = if wide { 4..=8 } else { 4..=4 };
        let elements = call.points.checked_mul(call.width)?.max(call.rows.checked_mul(call.width)?);
        let fits =
            sizes.contains(&dtype.size()) && elements < 1 << 38 && u64::from(target.max_group) >= GROUP;
        let empty = elements == 0 || call.points == 0;
        if target.cpu || !is_exact || !fits || empty {
            return None;
        }
        let tables = atomic_points::tables(call, dtype.size() as u64, target);
        Some(ExactScatterPlan { call: call.clone(), fold: call.fold?, tables })
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { dtype, points, rows, width, .. } = self.call;
        let (size, dialect) = (dtype.size() as u64, target.dialect);
        let mut writer = RoutineWriter::new(target, dtype == DType::F64);
        let operands = [
            (DType::U32, OperandPart::whole(0, points * 4, false)),
            (dtype, OperandPart::whole(1, self.call.brought() * size, false)),
            (dtype, OperandPart::whole(2, rows * width * size, true)),
        ];
        let pass = AtomicPoints {
            dialect,
            index: atomic_points::index(&self.call),
            acc: ["A", "NONE", "join"],
            value: &format!("b1[{}]", brought(&self.call, "place")),
            // A position beyond the table stands for the last row, so that nothing outside of it is written.
            row: "key < last ? key : last",
            table: "b2",
            into_memory: "fold_into_memory",
            into_table: "fold_into_table",
        };
        let ([groups, group], body) = pass.launch(points, width, self.tables);
        let name = if self.tables.is_some() { "tables" } else { "direct" };
        let sizes = pass.sizes(&self.call, width);
        let kernel = RoutineKernel { name, group, operands: &operands, sizes: &sizes, body: &body };
        writer.launch(groups, &kernel);
        writer.finish(&(fold_helpers(dialect, self.fold, dtype) + &self.atomics(dialect)), 0)
    }

    /// The functions that fold a value into an element of the table, or of a group's.
    fn atomics(&self, dialect: Dialect) -> String {
        let wide = self.call.dtype.size() == 8;
        let (signed, unsigned) = match (dialect, wide) {
            (Dialect::CudaCpp, true) => ("long long", "unsigned long long"),
            _ => ("int", "unsigned int"),
        };
        let name = |op: &str| match dialect {
            Dialect::CudaCpp => format!("atomic{}{}", op[..1].to_uppercase(), &op[1..]),
            Dialect::OpenClC => format!("atomic_{op}"),
        };
        let spaces: &[(&str, &str)] = match dialect {
            Dialect::CudaCpp => &[("fold_into_memory", ""), ("fold_into_table", "")],
            Dialect::OpenClC => &[("fold_into_memory", "__global "), ("fold_into_table", "__local ")],
        };
        let volatile = if dialect == Dialect::CudaCpp { "" } else { "volatile " };
        let function = super::function(dialect);
        let one = |&(own, space): &(&str, &str)| {
            let call = |op: &str, of: &str, value: &str| {
                format!("{}(({volatile}{space}{of}*)at, ({of}){value});", name(op),)
            };
            let is_float = self.call.dtype.is_float();
            let body = match self.fold {
                Fold::Sum if wide => atomic_points::add_wide(dialect, space, own == "fold_into_memory"),
                Fold::Sum => call("add", unsigned, "x"),
                fold if is_float => self.float_extreme(dialect, fold, [signed, unsigned], &call),
                fold => {
                    let of = if self.call.dtype.is_signed() { signed } else { unsigned };
                    call(if fold == Fold::Min { "min" } else { "max" }, of, "x")
                }
            };
            // What is there may be a NaN with either sign, which stays. Most values change nothing. Of zeros
            // the integers decide, so that their order does not.
            let (better, worse) = if self.fold == Fold::Min { ("<", ">") } else { (">", "<") };
            let stays = match (self.fold, is_float) {
                (Fold::Sum, _) => String::new(),
                (_, true) => {
                    format!("if (old != old || x {worse} old || (x == old && x != 0)) return;\n")
                }
                (_, false) => format!("if (!(x {better} old)) return;\n"),
            };
            let old = if stays.is_empty() {
                String::new()
            } else {
                format!("const A old = *(volatile {space}A*)at;\n")
            };
            format!("{function} void {own}({space}A* at, A x) {{\n{old}{stays}{body}\n}}\n")
        };
        spaces.iter().map(one).collect()
    }

    /// Floats of one sign are ordered as integers, those below zero the other way around; the NaN that is
    /// stored is beyond all.
    fn float_extreme(
        &self,
        dialect: Dialect,
        fold: Fold,
        [signed, unsigned]: [&str; 2],
        call: &dyn Fn(&str, &str, &str) -> String,
    ) -> String {
        let bits = match (dialect, self.call.dtype) {
            (Dialect::OpenClC, _) => "as_int(x)",
            (_, DType::F64) => "__double_as_longlong(x)",
            _ => "__float_as_int(x)",
        };
        let (nan, above, below) = match fold {
            Fold::Min => (format!("({signed})-1"), "min", "max"),
            _ => (format!("({signed})(~({unsigned})0 >> 1)"), "max", "min"),
        };
        format!(
            "const {signed} bits = x != x ? {nan} : {bits};\nif (bits >= 0) {}\nelse {}",
            call(above, signed, "bits"),
            call(below, unsigned, "bits")
        )
    }
}
