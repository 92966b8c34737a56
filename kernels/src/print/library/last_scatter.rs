//! Scatters that replace rows: of the points with the same position the last one is stored.
//!
//! An atomic maximum over the points finds the last one for each row of the table, whatever their order, and
//! each of these stores its row.

use super::atomic_points::{self, AtomicPoints, GROUP};
use super::folded_rows::brought;
use super::{OperandPart, Routine, RoutineKernel, RoutineWriter, aligned, function, moved_as};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

/// Rows of a table for each point, beyond which sorting the points takes less than clearing what each row
/// has.
const ROWS: u64 = 256;
/// Number of the operand that is scratch memory.
const SCRATCH: usize = 3;

/// The division of such a scatter into launches.
pub(crate) struct LastScatterPlan {
    call: Scatter,
    /// Elements as unsigned integers of their size.
    stored: DType,
}

impl LastScatterPlan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<LastScatterPlan> {
        let Scatter { points, rows, width, .. } = *call;
        let elements = points.checked_mul(width)?.max(rows.checked_mul(width)?);
        let fits = elements < 1 << 38 && points.max(rows) < 1 << 31 && u64::from(target.max_group) >= GROUP;
        let empty = elements == 0 || points == 0;
        if target.cpu || call.fold.is_some() || !fits || empty || rows > points.saturating_mul(ROWS) {
            return None;
        }
        Some(LastScatterPlan { call: call.clone(), stored: moved_as(call.dtype) })
    }

    pub(crate) fn scratch(&self) -> u64 {
        aligned(self.call.rows * 4)
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { points, rows, width, .. } = self.call;
        let (dialect, size) = (target.dialect, self.stored.size() as u64);
        let index = atomic_points::index(&self.call);
        let number = |name: &'static str, n: u64| (name, Scalar::from_i128(index, n.into()));
        let last = |written| {
            (DType::U32, OperandPart { arg: SCRATCH, offset: 0, bytes: aligned(rows * 4), written })
        };
        let positions = (DType::U32, OperandPart::whole(0, points * 4, false));
        let values = (self.stored, OperandPart::whole(1, self.call.brought() * size, false));
        let table = (self.stored, OperandPart::whole(2, rows * width * size, true));
        let mut writer = RoutineWriter::new(target, false);

        let item = atomic_points::item(dialect, index);
        let (operands, sizes) = (&[last(true)], &[number("rows", rows)]);
        let body = &format!("{item}if (id < rows) b0[id] = 0u;\n");
        writer.launch(
            rows.div_ceil(GROUP),
            &RoutineKernel { name: "clear", group: GROUP, operands, sizes, body },
        );

        let pass = AtomicPoints {
            dialect,
            index,
            acc: ["u32", "0u", "later"],
            value: "(u32)place + 1u",
            // A position beyond the table stands for the last row, so that nothing outside of it is written.
            row: "key < last ? key : last",
            table: "b1",
            into_memory: "later_into_memory",
            into_table: "later_into_table",
        };
        let ([groups, group], body) = pass.launch(points, 1, None);
        let (operands, sizes) = (&[positions, last(true)], &pass.sizes(&self.call, 1));
        writer.launch(groups, &RoutineKernel { name: "winners", group, operands, sizes, body: &body });

        let (operands, at) = (&[positions, values, table, last(false)], index.short());
        let sizes = &[number("items", points * width), number("last", rows - 1), number("width", width)];
        let body = &format!(
            "{item}if (id >= items) return;\nconst {at} place = id / width, column = id % width;\n\
             const u32 row = b0[place] < last ? b0[place] : last;\nif (b3[row] != (u32)place + 1u) return;\n\
             b2[({at})row * width + column] = b1[{}];\n",
            brought(&self.call, "place")
        );
        let groups = (points * width).div_ceil(GROUP);
        writer.launch(groups, &RoutineKernel { name: "put", group: GROUP, operands, sizes, body });
        writer.finish(&helpers(dialect), self.scratch())
    }
}

/// The later of two points, here and in memory. Most points of a row come before one that is there already.
fn helpers(dialect: Dialect) -> String {
    let f = function(dialect);
    let (space, max) = match dialect {
        Dialect::CudaCpp => ("", "atomicMax"),
        Dialect::OpenClC => ("__global ", "atomic_max"),
    };
    format!(
        "{f} u32 later(u32 a, u32 b) {{ return a > b ? a : b; }}\n\
         {f} void later_into_memory({space}u32* at, u32 x) {{\n\
         if (x > *(volatile {space}u32*)at) {max}(at, x);\n}}\n"
    )
}
