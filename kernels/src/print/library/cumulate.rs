//! Cumulative folds as kernels.
//!
//! Along the last axis a group takes a tile: loads are coalesced, each item folds neighbours, the group scans
//! the totals of its items, and stores are coalesced. If there are many rows, a group goes along its row. If
//! there are few, rows are divided into parts, whose totals are computed and scanned first. Along other axes
//! an item takes a column, or a part of one.

use super::{
    KernelTemplate, NamedPart, OperandPart, Routine, RoutineWriter, Size, TypedPart, aligned, fill,
    fold_helpers, index_type, size32, size64,
};
use crate::dtype::DType;
use crate::library::Cumulate;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;
use std::fmt::Display;

/// Classes of rows: the longest row, items of a group, elements of an item.
const CLASSES: [[u64; 3]; 5] =
    [[128, 32, 4], [512, 32, 16], [1024, 64, 16], [2048, 128, 16], [u64::MAX, 256, 16]];
/// Items of a group for columns.
const COLUMN_GROUP: u64 = 128;
/// Minimum number of elements in a part of a column.
const COLUMN: u64 = 64;
/// Maximum number of parts of a column.
const PARTS: u64 = 256;

/// The division of a fold into parts and tiles.
pub(crate) struct CumulatePlan {
    call: Cumulate,
    /// The dtype of elements in memory: bools of which results are bools are bytes. That of the input may be
    /// another.
    stored: DType,
    from: DType,
    /// The dtype of the accumulator.
    acc: DType,
    group: u64,
    items: u64,
    /// Parts of each row or column.
    parts: u64,
}

impl CumulatePlan {
    pub(crate) fn of(call: &Cumulate, target: &Target) -> Option<CumulatePlan> {
        let stored = if call.dtype == DType::Bool { DType::U8 } else { call.dtype };
        let from = if call.from == call.dtype { stored } else { call.from };
        // A product of some of the factors may leave the range of float32 though no result does.
        let acc = match (call.fold, stored.register(), target.dialect) {
            (Fold::Product, DType::F32, Dialect::CudaCpp) => DType::F64,
            (_, register, _) => register,
        };
        let [outer, n, inner] = call.shape;
        let elements = outer * n * inner;
        if call.fold.has_index() || elements >= 1 << 40 || outer >= 1 << 31 {
            return None;
        }
        let lanes = target.lanes.max(1);
        let widest = 1 << target.max_group.max(1).ilog2();
        if inner > 1 {
            let columns = outer * inner;
            let wanted = (2 * lanes).div_ceil(columns.max(1));
            let parts = wanted.min(n.div_ceil(COLUMN)).clamp(1, PARTS);
            let group = COLUMN_GROUP.min(widest);
            return Some(CumulatePlan { call: call.clone(), stored, from, acc, group, items: 1, parts });
        }
        let [_, group, mut items] = *CLASSES.iter().find(|class| n <= class[0])?;
        let group = group.min(widest);
        let memory = |items: u64| (group * items + 2 * group) * acc.size() as u64;
        while items > 1 && memory(items) > target.local_memory {
            items = items.div_ceil(2);
        }
        let tiles = n.div_ceil(group * items).max(1);
        // If there are enough rows, a group for each row keeps the device busy.
        let parts = if outer * group >= lanes / 2 { 1 } else { tiles };
        if outer * parts >= 1 << 31 || memory(items) > target.local_memory {
            return None;
        }
        Some(CumulatePlan { call: call.clone(), stored, from, acc, group, items, parts })
    }

    fn totals(&self) -> u64 {
        self.call.shape[0] * self.call.shape[2] * self.parts
    }

    pub(crate) fn scratch(&self) -> u64 {
        if self.parts > 1 { aligned(self.totals() * self.acc.size() as u64) } else { 0 }
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let elements = self.call.shape.iter().product::<u64>();
        let mut writer = RoutineWriter::new(target, [self.stored, self.from, self.acc].contains(&DType::F64));
        if elements == 0 {
            return writer.finish("", 0);
        }
        if self.call.shape[2] > 1 {
            self.launch_columns(&mut writer)
        } else {
            self.launch_rows(&mut writer)
        }
        writer.finish(&fold_helpers(target.dialect, self.call.fold, self.acc), self.scratch())
    }

    /// The operands: the input, the result, the totals of the parts as they are written, and as they are
    /// read.
    fn operands(&self) -> [TypedPart; 4] {
        let bytes = |dtype: DType| self.call.shape.iter().product::<u64>() * dtype.size() as u64;
        let totals = OperandPart::whole(2, self.totals() * self.acc.size() as u64, true);
        [
            (self.from, OperandPart::whole(0, bytes(self.from), false)),
            (self.stored, OperandPart::whole(1, bytes(self.stored), true)),
            (self.acc, totals),
            (self.acc, totals.written(false)),
        ]
    }

    fn launch_rows(&self, writer: &mut RoutineWriter) {
        let ([outer, n, _], parts) = (self.call.shape, self.parts);
        let [source, result, totals, before] = self.operands();
        // Parts of rows are whole tiles.
        let tile = self.group * self.items;
        let sizes = |n: u64, parts: u64| {
            [size64("n", n), size32("parts", parts), size64("along", n.div_ceil(tile).div_ceil(parts) * tile)]
        };
        let along = sizes(n, parts);
        let at = if self.call.reverse { "n - 1 - at" } else { "at" };
        let mut launch = |name, groups, operands: &[NamedPart], sizes: &[Size], at: &str, before, result| {
            let memory = |at: usize| operands[at].1.0.short();
            let words: [(&str, &dyn Display); 6] = [
                ("x", &memory(0)),
                ("y", &memory(1)),
                ("items", &self.items),
                ("at", &at),
                ("before", &before),
                ("result", &result),
            ];
            let file = if name == "totals" {
                include_str!("cumulate/totals.c")
            } else {
                include_str!("cumulate/rows.c")
            };
            let text = &fill(file, &words);
            writer.add(groups, &KernelTemplate { name, group: self.group, operands, sizes, text });
        };
        let (from, to, inclusive) = (("x", source), ("y", result), "join(before, own[k])");
        if parts == 1 {
            return launch("rows", outer, &[from, to], &along, at, "NONE", inclusive);
        }
        launch("totals", outer * parts, &[from, ("totals", totals)], &along, at, "", "");
        let exclusive = "k == 0 ? before : join(before, own[k - 1])";
        launch("carry", outer, &[("x", before), ("y", totals)], &sizes(parts, 1), "at", "NONE", exclusive);
        let operands = [from, to, ("totals", before)];
        launch("rows", outer * parts, &operands, &along, at, "totals[group]", inclusive);
    }

    fn launch_columns(&self, writer: &mut RoutineWriter) {
        let ([outer, n, inner], parts) = (self.call.shape, self.parts);
        let [source, result, totals, before] = self.operands();
        let (columns, index) = (outer * inner, index_type(outer * n * inner));
        let size = |name: &'static str, n: u64| (name, Scalar::from_i128(index, n.into()));
        let sizes = [
            size("columns", columns),
            size("inner", inner),
            size("n", n),
            size("parts", parts),
            size("length", n.div_ceil(parts)),
        ];
        let at = if self.call.reverse { "n - 1 - at" } else { "at" };
        let mut launch = |name, file, items: u64, operands: &[NamedPart], before: &str| {
            let words: [(&str, &dyn Display); 6] = [
                ("index", &index.short()),
                ("x", &self.from.short()),
                ("y", &self.stored.short()),
                ("at", &at),
                ("before", &before),
                ("total", &u8::from(name == "totals")),
            ];
            let text = &fill(file, &words);
            let kernel = KernelTemplate { name, group: self.group, operands, sizes: &sizes, text };
            writer.add(items.div_ceil(self.group), &kernel);
        };
        let [of_columns, carry] = [include_str!("cumulate/columns.c"), include_str!("cumulate/carry.c")];
        let (from, to) = (("x", source), ("y", result));
        if parts == 1 {
            return launch("columns", of_columns, columns, &[from, to], "NONE");
        }
        launch("totals", of_columns, columns * parts, &[from, ("totals", totals)], "NONE");
        launch("carry", carry, columns, &[("totals", totals)], "");
        let operands = [from, to, ("totals", before)];
        launch("columns", of_columns, columns * parts, &operands, "totals[part * columns + column]");
    }
}
