//! Scatters as kernels: positions are sorted, and the points with the same position are folded.
//!
//! Positions that are in order already are not moved. After sorting, the points for a row of the table are a
//! *run*. Points are divided into chunks of [`CHUNK`]: an item folds one column of each run in a chunk. The
//! fold of a run within a chunk goes to the table at once. The parts of a longer run go to scratch memory,
//! and the item with the first part folds them in order. The division of runs depends on positions alone, so
//! results are deterministic.

use super::folded_rows::{self, FoldedRows};
use super::{
    KernelTemplate, NamedPart, OperandPart, Routine, RoutineWriter, Size, aligned, fill, fold_helpers,
    moved_as, sort,
};
use crate::dtype::DType;
use crate::library::{Scatter, Sorting};
use crate::nest::Fold;
use crate::print::Target;
use crate::scalar::Scalar;
use std::fmt::Display;

/// Points of a chunk.
const CHUNK: u64 = 32;
/// Points whose rows are read before any of them is folded. Stores might be to the same memory, so no
/// compiler could reorder the loads.
const AHEAD: u64 = 8;
/// Widest rows for which it is found out whether positions are in order: of wider ones the sort is a small
/// part, and to choose where positions are read costs more.
const ASKED: u64 = 32;
/// Maximum number of items of a group.
const GROUP: u64 = 256;

/// The division of a scatter into launches.
pub(crate) struct SortedScatterPlan {
    call: Scatter,
    sort: sort::SortPlan,
    /// The dtype of elements in memory: an unsigned integer of the same size if they are only moved.
    stored: DType,
    rows: FoldedRows,
    /// Items of a group.
    group: u64,
}

impl SortedScatterPlan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<SortedScatterPlan> {
        let folds = match call.fold {
            None => true,
            Some(Fold::Sum | Fold::Product | Fold::Max | Fold::Min) => call.dtype != DType::Bool,
            Some(_) => false,
        };
        let elements = call.points.checked_mul(call.width)?.max(call.rows.checked_mul(call.width)?);
        if target.cpu || !folds || call.rows >= 1 << 32 || elements >= 1 << 38 {
            return None;
        }
        let stored = match call.fold {
            Some(_) => call.dtype,
            None => moved_as(call.dtype),
        };
        let sorting = Sorting {
            dtype: DType::U32,
            shape: [1, call.points, 1],
            kept: call.points,
            descending: false,
            values: true,
            indices: true,
            only: None,
        };
        let bits = call.rows.max(2).next_power_of_two().ilog2();
        let sort = sort::SortPlan::of(&sorting, target)?.narrowed(bits);
        let sort = if call.width <= ASKED { sort.skipping() } else { sort };
        let rows = FoldedRows::of(call, call.points.div_ceil(CHUNK) * call.width, target)?;
        let group = 1 << GROUP.min(u64::from(target.max_group)).max(1).ilog2();
        Some(SortedScatterPlan { call: call.clone(), sort, stored, rows, group })
    }

    fn chunks(&self) -> u64 {
        self.call.points.div_ceil(CHUNK)
    }

    /// Sizes in bytes of the sorted positions, their former places, and the partial folds of the runs at the
    /// start and at the end of each chunk.
    fn sizes(&self) -> [u64; 4] {
        let parts = match self.call.fold {
            Some(_) => aligned(self.chunks() * self.call.width * self.rows.acc.size() as u64),
            None => 0,
        };
        [aligned(self.call.points * 4), aligned(self.call.points * 8), parts, parts]
    }

    pub(crate) fn scratch(&self) -> u64 {
        self.sizes().iter().sum::<u64>() + self.sort.scratch()
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { points, rows, width, fold, .. } = self.call;
        let size = self.stored.size() as u64;
        let mut writer = RoutineWriter::new(target, [self.stored, self.rows.acc].contains(&DType::F64));
        if points * width == 0 {
            return writer.finish("", 0);
        }
        let dialect = target.dialect;
        const SCRATCH: usize = 3;
        let [keys, order, firsts, lasts] = self.sizes();
        let part = |dtype: DType, offset: u64, bytes: u64, written: bool| {
            (dtype, OperandPart { arg: SCRATCH, offset, bytes, written })
        };
        let positions = (DType::U32, OperandPart::whole(0, points * 4, false));
        let sorted =
            |written: bool| [part(DType::U32, 0, keys, written), part(DType::I64, keys, order, written)];
        let after = keys + order + firsts + lasts;
        let sorting = self.sort.launches(&mut writer, positions, sorted(true).to_vec(), (SCRATCH, after));
        let x = ("x", (self.stored, OperandPart::whole(1, self.call.brought() * size, false)));
        let table = ("table", (self.stored, OperandPart::whole(2, rows * width * size, true)));
        // If positions are in order already, they are read where they are given.
        let (sorted_name, given) = match self.sort.disorder(SCRATCH, after) {
            Some((word, _)) => ("moved_positions", vec![("positions", positions), ("totals", word)]),
            None => ("sorted", vec![]),
        };
        let mut launch = |name, file: &str, (rows, each): (u64, u64), operands: &[NamedPart]| {
            let (operands, sizes) = (&[operands, &given].concat(), &self.launch_sizes(rows));
            let words: [(&str, &dyn Display); 4] = [
                ("index", &self.rows.index().short()),
                ("stored", &self.stored.short()),
                ("chunk", &CHUNK),
                ("ahead", &AHEAD),
            ];
            let kernel =
                KernelTemplate { name, group: self.group, operands, sizes, text: &fill(file, &words) };
            writer.add((rows * width / each).div_ceil(self.group), &kernel);
        };
        let [key, order] = sorted(false);
        let (key, order_part) = ((sorted_name, key), ("order", order));
        let helpers = sorting + &self.helpers();
        let Some(fold) = fold else {
            launch("last", include_str!("scatter/last.c"), (points, 1), &[key, order_part, x, table]);
            return writer.finish(&helpers, self.scratch());
        };
        let parts = |written: bool| {
            let from = keys + order.1.bytes;
            let [first, last] = [from, from + firsts].map(|at| part(self.rows.acc, at, firsts, written));
            [("firsts", first), ("lasts", last)]
        };
        let [first, last] = parts(true);
        let operands = [key, order_part, x, table, first, last];
        launch("chunks", include_str!("scatter/chunks.c"), (self.chunks(), self.rows.each), &operands);
        let [first, last] = parts(false);
        launch("runs", include_str!("scatter/runs.c"), (self.chunks(), 1), &[key, table, first, last]);
        let helpers = helpers + &fold_helpers(dialect, fold, self.rows.acc) + &self.rows.helpers(dialect);
        writer.finish(&helpers, self.scratch())
    }

    /// The arguments of a launch for `rows` rows of items.
    fn launch_sizes(&self, rows: u64) -> Vec<Size> {
        let Scatter { points, rows: table, width, .. } = self.call;
        let size = |name: &'static str, n: u64| (name, Scalar::from_i128(self.rows.index(), n.into()));
        let last = table.saturating_sub(1);
        let mut sizes =
            vec![size("points", points), size("last", last), size("width", width), size("rows", rows)];
        if let Some((_, at)) = self.sort.disorder(0, 0) {
            sizes.push(size("disorder", at));
        }
        sizes
    }

    /// The definitions for kernels that read the sorted positions: `points.c` and `sorted.c`.
    fn helpers(&self) -> String {
        let (index, asks) = (self.rows.index(), u8::from(self.sort.disorder(0, 0).is_some()));
        let words: [(&str, &dyn Display); 2] = [("index", &index.short()), ("asks", &asks)];
        folded_rows::points(&self.call, index) + &fill(include_str!("scatter/sorted.c"), &words)
    }
}
