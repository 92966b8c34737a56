//! Rows that are folded into rows of a table: what an item reads, keeps and puts back, as text.
//!
//! An item has some neighbouring elements of a row, [`FoldedRows::each`], which it reads and stores at once.

use super::index_type;
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};

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

    /// The type in which an item reads its elements.
    pub(super) fn helpers(&self, dialect: Dialect) -> String {
        if self.each == 1 {
            return String::new();
        }
        let (align, stored) = (self.each * self.stored.size() as u64, dialect.stored(self.stored));
        format!("struct __align__({align}) Some {{ {stored} e[{}]; }};\n", self.each)
    }

    /// The index of the element in this column of row `key` of the table. A position beyond the table stands
    /// for the last row, so that nothing outside of the table is written.
    pub(super) fn in_table(&self, key: &str) -> String {
        format!("({})({key} < last ? {key} : last) * width + column", self.index().short())
    }

    /// The index of the element in this column of the point `place`.
    pub(super) fn brought(&self, place: &str) -> String {
        brought(&self.call, place)
    }

    /// The text for each of the item's elements; `v` is the element's number.
    pub(super) fn each_of(&self, text: &str) -> String {
        format!("#pragma unroll\nfor (u32 v = 0; v < {}u; v++) {text}\n", self.each)
    }

    /// Reads the item's elements at `at` of a buffer.
    pub(super) fn read(&self, dialect: Dialect, buffer: &str, at: &str, to: &str) -> String {
        let load =
            |buffer: &str, at: &str| format!("{to}[v] = (A)({});", dialect.load(self.stored, buffer, at));
        if self.each == 1 {
            return self.each_of(&load(buffer, at));
        }
        format!(
            "{{\nconst Some some_ = *(const Some*)({buffer} + ({at}));\n{}}}\n",
            self.each_of(&load("some_.e", "v"))
        )
    }

    /// Stores the item's elements `old` of the table, folded with `all`, to row `key`.
    pub(super) fn put_back(&self, dialect: Dialect, table: &str) -> String {
        let at = self.in_table("key");
        let store = |buffer: &str, at: &str| dialect.store(self.stored, buffer, at, "join(old[v], all[v])");
        if self.each == 1 {
            return self.each_of(&store(table, &at));
        }
        format!("Some some_;\n{}*(Some*)({table} + ({at})) = some_;\n", self.each_of(&store("some_.e", "v")))
    }

    /// Whether sums are compensated where many elements are added.
    pub(super) fn compensates(&self) -> bool {
        self.call.fold == Some(Fold::Sum) && self.acc.is_float()
    }
}

/// The index of the element to scatter in this column of the point `place`.
pub(super) fn brought(call: &Scatter, place: &str) -> String {
    let width = if call.each_column { "width" } else { "1u" };
    let row = call.each_row.then(|| format!("{place} * {width}"));
    let column = call.each_column.then(|| "column".to_string());
    let terms: Vec<String> = row.into_iter().chain(column).collect();
    if terms.is_empty() { "0".into() } else { terms.join(" + ") }
}
