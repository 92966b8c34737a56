//! Scatters whose folds give the same result in any order, as atomic operations: sums of integers, and
//! extremes of numbers.

use super::atomic_points::{self, AtomicPoints, GROUP, Tables};
use super::{KernelTemplate, OperandPart, Routine, RoutineWriter, fill, fold_helpers, folded_rows};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use std::fmt::Display;

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
        let operands = &[
            ("positions", (DType::U32, OperandPart::whole(0, points * 4, false))),
            ("x", (dtype, OperandPart::whole(1, self.call.brought() * size, false))),
            ("table", (dtype, OperandPart::whole(2, rows * width * size, true))),
        ];
        let index = atomic_points::index(&self.call);
        let acc = ["A", "NONE", "join"];
        let pass = AtomicPoints { index, acc, value: "x[BROUGHT(place)]", row: "ROW(key)", table: "table" };
        let ([groups, group], text) = pass.launch(points, width, self.tables);
        let name = if self.tables.is_some() { "tables" } else { "direct" };
        let sizes = &pass.sizes(&self.call, width);
        writer.add(groups, &KernelTemplate { name, group, operands, sizes, text: &text });
        let points = folded_rows::points(&self.call, index);
        writer.finish(&(fold_helpers(dialect, self.fold, dtype) + &points + &self.atomics(dialect)), 0)
    }

    /// The functions that fold a value into an element of the table, or of a group's: `join_into.c`.
    fn atomics(&self, dialect: Dialect) -> String {
        let dtype = self.call.dtype;
        let (wide, sum, min) = (dtype.size() == 8, self.fold == Fold::Sum, self.fold == Fold::Min);
        let (signed, unsigned) = if wide { ("i64", "u64") } else { ("i32", "u32") };
        let bits = match (dialect, wide) {
            (Dialect::OpenClC, _) => "as_int",
            (_, true) => "__double_as_longlong",
            _ => "__float_as_int",
        };
        let nan = if min { "-1".to_string() } else { format!("(~({unsigned})0 >> 1)") };
        let [(better, above), (worse, below)] = match min {
            true => [("<", "ATOMIC_MIN"), (">", "ATOMIC_MAX")],
            false => [(">", "ATOMIC_MAX"), ("<", "ATOMIC_MIN")],
        };
        let one = |(space, into): (&str, &str)| {
            let add = if wide { format!("total_{into}") } else { "ATOMIC_ADD".into() };
            let words: [(&str, &dyn Display); 13] = [
                ("join_into", &format!("join_{into}")),
                ("space", &space),
                ("sum", &u8::from(sum)),
                ("float", &u8::from(dtype.is_float())),
                ("add", &add),
                ("signed", &signed),
                ("unsigned", &unsigned),
                ("bits", &bits),
                ("nan", &nan),
                ("better", &better),
                ("worse", &worse),
                ("above", &above),
                ("below", &below),
            ];
            fill(include_str!("exact_scatter/join_into.c"), &words)
        };
        let add_wide = if wide && sum { atomic_points::add_wide(dialect) } else { String::new() };
        add_wide + &atomic_points::SPACES.map(one).concat()
    }
}
