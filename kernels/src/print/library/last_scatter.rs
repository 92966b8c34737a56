//! Scatters that replace rows: of the points with the same position the last one is stored.
//!
//! An atomic maximum over the points finds the last one for each row of the table, whatever their order, and
//! each of these stores its row.

use super::atomic_points::{self, AtomicPoints, GROUP};
use super::{
    KernelTemplate, OperandPart, Routine, RoutineWriter, aligned, clear_text, fill, folded_rows, moved_as,
};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::print::Target;
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
        let size = self.stored.size() as u64;
        let index = atomic_points::index(&self.call);
        let number = |name: &'static str, n: u64| (name, Scalar::from_i128(index, n.into()));
        let last = |written| {
            (DType::U32, OperandPart { arg: SCRATCH, offset: 0, bytes: aligned(rows * 4), written })
        };
        let positions = ("positions", (DType::U32, OperandPart::whole(0, points * 4, false)));
        let values = ("x", (self.stored, OperandPart::whole(1, self.call.brought() * size, false)));
        let table = ("table", (self.stored, OperandPart::whole(2, rows * width * size, true)));
        let mut writer = RoutineWriter::new(target, false);

        let text = &clear_text(index.short(), "if (id < rows) winners[id] = 0;");
        let (operands, sizes) = (&[("winners", last(true))], &[number("rows", rows)]);
        writer.add(
            rows.div_ceil(GROUP),
            &KernelTemplate { name: "clear", group: GROUP, operands, sizes, text },
        );

        let acc = ["u32", "0u", "later"];
        let pass = AtomicPoints { index, acc, value: "(u32)place + 1", row: "ROW(key)", table: "winners" };
        let ([groups, group], text) = pass.launch(points, 1, None);
        let (operands, sizes) = (&[positions, ("winners", last(true))], &pass.sizes(&self.call, 1));
        writer.add(groups, &KernelTemplate { name: "winners", group, operands, sizes, text: &text });

        let operands = &[positions, values, table, ("winners", last(false))];
        let sizes = &[number("items", points * width), number("last", rows - 1), number("width", width)];
        let text = &fill(include_str!("last_scatter/put.c"), &[("index", &index.short())]);
        let groups = (points * width).div_ceil(GROUP);
        writer.add(groups, &KernelTemplate { name: "put", group: GROUP, operands, sizes, text });
        let helpers = folded_rows::points(&self.call, index) + include_str!("last_scatter/later.c");
        writer.finish(&helpers, self.scratch())
    }
}
