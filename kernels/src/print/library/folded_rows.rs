//! Rows that are folded into rows of a table: what an item reads, keeps and puts back.
//!
//! An item has some neighbouring elements of a row, [`FoldedRows::each`], which it reads and stores at once.

use super::{fill, index_type};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use std::fmt::Display;

/// Bytes that an item reads at once.
const VECTOR: u64 = 16;

/// How the rows of a scatter are read and folded.
#[derive(Clone)]
pub(super) struct FoldedRows {
    pub(super) call: Scatter,
    /// The dtype of elements in memory.
    pub(super) stored: DType,
    /// The dtype of the accumulator.
    pub(super) acc: DType,
    /// Neighbouring elements of an item.
    pub(super) each: u64,
}

impl FoldedRows {
    /// Those of a scatter that folds; `items` items would have one element each. None if the device cannot
    /// fold them.
    pub(super) fn of(call: &Scatter, items: u64, target: &Target) -> Option<FoldedRows> {
        let stored = call.dtype;
        // A product of factors may leave the range of float32 though the product with the table does not.
        let acc = match (call.fold, stored.register(), target.dialect) {
            (Some(Fold::Product), DType::F32, Dialect::CudaCpp) => DType::F64,
            (Some(Fold::Product), DType::F32, _) => return None,
            (_, register, _) => register,
        };
        let size = stored.size() as u64;
        let fits = |each: &u64| {
            call.width.is_multiple_of(*each) && each * size <= VECTOR && items / each >= target.lanes / 4
        };
        let side_by_side = target.dialect == Dialect::CudaCpp && call.each_column;
        let each = [8, 4, 2].into_iter().find(|each| side_by_side && fits(each)).unwrap_or(1);
        Some(FoldedRows { call: call.clone(), stored, acc, each })
    }

    /// The type of element and item numbers; there may be up to a group more items than needed.
    pub(super) fn index(&self) -> DType {
        index_type(self.call.points.max(self.call.rows).saturating_mul(self.call.width))
    }

    /// The definitions for kernels that fold the rows: `folded_rows.c`.
    pub(super) fn helpers(&self, dialect: Dialect) -> String {
        let words: [(&str, &dyn Display); 5] = [
            ("single", &u8::from(self.each == 1)),
            ("each", &self.each),
            ("align", &(self.each * self.stored.size() as u64)),
            ("type", &dialect.stored(self.stored)),
            ("stored", &self.stored.short()),
        ];
        fill(include_str!("scatter/folded_rows.c"), &words)
    }
}

/// The definitions for kernels that find the elements of points: `points.c`.
pub(super) fn points(call: &Scatter, index: DType) -> String {
    let width = if call.each_column { "width" } else { "1" };
    let row = call.each_row.then(|| format!("(place) * {width}"));
    let column = call.each_column.then(|| "column".to_string());
    let terms: Vec<String> = row.into_iter().chain(column).collect();
    let brought = if terms.is_empty() { "0".into() } else { terms.join(" + ") };
    fill(include_str!("scatter/points.c"), &[("index", &index.short()), ("brought", &brought)])
}
