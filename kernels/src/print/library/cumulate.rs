//! Cumulative folds as kernels.
//!
//! Along the last axis a group takes a tile: loads are coalesced, each item folds neighbours, the group scans
//! the totals of its items, and stores are coalesced. If there are many rows, a group goes along its row. If
//! there are few, rows are divided into parts, whose totals are computed and scanned first. Along other axes
//! an item takes a column, or a part of one.

use super::{
    OperandPart, Routine, RoutineKernel, RoutineWriter, Size, aligned, fold_helpers, index_type, size32,
    size64,
};
use crate::dtype::DType;
use crate::library::Cumulate;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

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
    fn operands(&self) -> [(DType, OperandPart); 4] {
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
        let ([outer, n, _], parts, dialect) = (self.call.shape, self.parts, writer.target.dialect);
        let [source, result, totals, before] = self.operands();
        // Parts of rows are whole tiles.
        let tile = self.group * self.items;
        let sizes = |n: u64, parts: u64| {
            [size64("n", n), size32("parts", parts), size64("along", n.div_ceil(tile).div_ceil(parts) * tile)]
        };
        let own =
            TiledScan { memory: [self.from, self.stored], reverse: self.call.reverse, what: ScanPass::Alone };
        let mut launch =
            |name: &str, groups: u64, operands: &[(DType, OperandPart)], sizes: &[Size], tiles: TiledScan| {
                let body = self.tiles(dialect, &tiles);
                writer
                    .launch(groups, &RoutineKernel { name, group: self.group, operands, sizes, body: &body });
            };
        let along = sizes(n, parts);
        if parts == 1 {
            return launch("rows", outer, &[source, result], &along, own);
        }
        let scan = TiledScan { memory: [self.acc; 2], reverse: false, what: ScanPass::Exclusive };
        launch(
            "totals",
            outer * parts,
            &[source, totals],
            &along,
            TiledScan { what: ScanPass::Total, ..own },
        );
        launch("carry", outer, &[before, totals], &sizes(parts, 1), scan);
        let after = TiledScan { what: ScanPass::After, ..own };
        launch("rows", outer * parts, &[source, result, before], &along, after);
    }

    fn launch_columns(&self, writer: &mut RoutineWriter) {
        let ([outer, n, inner], parts, dialect) = (self.call.shape, self.parts, writer.target.dialect);
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
        let mut launch = |name: &str, items: u64, operands: &[(DType, OperandPart)], body: String| {
            let kernel = RoutineKernel { name, group: self.group, operands, sizes: &sizes, body: &body };
            writer.launch(items.div_ceil(self.group), &kernel);
        };
        let body = |what| self.columns(dialect, index, what);
        if parts == 1 {
            return launch("columns", columns, &[source, result], body(ScanPass::Alone));
        }
        launch("totals", columns * parts, &[source, totals], body(ScanPass::Total));
        launch("carry", columns, &[totals], self.carry(dialect, index));
        launch("columns", columns * parts, &[source, result, before], body(ScanPass::After));
    }

    /// The body of a kernel over rows of `n` elements, in `parts` parts of `along` elements, in tiles.
    fn tiles(&self, dialect: Dialect, t: &TiledScan) -> String {
        let (g, items) = (self.group, self.items);
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let (item, group) = (dialect.item_index("u32"), dialect.group_index("u32"));
        let place = if t.reverse { "row * n + (n - 1 - at)" } else { "row * n + at" };
        let load = dialect.load(t.memory[0], "b0", place);
        let mut body = format!(
            "enum {{ G = {g}, ITEMS = {items} }};\n{local} A sums[G];\n\
             const u32 group = {group};\nconst u32 item = {item};\n\
             const u64 row = group / parts, from = group % parts * along;\n\
             const u64 to = from + along < n ? from + along : n;\n"
        );
        if t.what == ScanPass::Total {
            body += &format!(
                "A sum = NONE;\nfor (u64 at = from + item; at < to; at += G) sum = join(sum, (A)({load}));\n\
                 sums[item] = sum;\n{barrier}\n\
                 for (u32 half_ = G / 2; half_ > 0; half_ /= 2) {{\n\
                 if (item < half_) sums[item] = join(sums[item], sums[item + half_]);\n{barrier}\n}}\n\
                 if (item == 0) b1[group] = sums[0];\n"
            );
            return body;
        }
        let store = dialect.store(t.memory[1], "b1", place, "tile[k * G + item + (k * G + item) / ITEMS]");
        let before = if t.what == ScanPass::After { "b2[group]" } else { "NONE" };
        // Compensated summation of floats. Without a rounding error the compensation is not added, so that
        // infinities and the sign of zeros are kept.
        let (add, so_far) = match self.is_compensated() {
            true => (
                "{ const A x = sums[G - 1], next = carry + x, back = next - carry; \
                 lost += (carry - (next - back)) + (x - back); carry = next; }",
                "(lost < 0 || lost > 0 ? carry + lost : carry)",
            ),
            false => ("carry = join(carry, sums[G - 1]);", "carry"),
        };
        let result = match t.what {
            ScanPass::Exclusive => "k == 0 ? before : join(before, own[k - 1])",
            _ => "join(before, own[k])",
        };
        body += &format!(
            "{local} A tile[G * ITEMS + G];\nA carry = {before}, lost = 0;\n(void)lost;\n\
             for (u64 first = from; first < to; first += G * ITEMS) {{\n\
             for (u32 k = 0; k < ITEMS; k++) {{\n\
             const u64 at = first + k * G + item;\n\
             tile[k * G + item + (k * G + item) / ITEMS] = at < to ? (A)({load}) : NONE;\n}}\n{barrier}\n\
             A own[ITEMS];\nA sum = tile[item * (ITEMS + 1)];\nown[0] = sum;\n\
             for (u32 k = 1; k < ITEMS; k++) {{ sum = join(sum, tile[item * (ITEMS + 1) + k]); own[k] = sum; }}\n\
             sums[item] = sum;\n{barrier}\n\
             for (u32 step = 1; step < G; step *= 2) {{\n\
             const A other = item >= step ? sums[item - step] : NONE;\n{barrier}\n\
             if (item >= step) sums[item] = join(other, sums[item]);\n{barrier}\n}}\n\
             const A all = {so_far};\nconst A before = item > 0 ? join(all, sums[item - 1]) : all;\n{add}\n\
             for (u32 k = 0; k < ITEMS; k++) tile[item * (ITEMS + 1) + k] = {result};\n{barrier}\n\
             for (u32 k = 0; k < ITEMS; k++) {{\nconst u64 at = first + k * G + item;\nif (at < to) {{ {store} }}\n}}\n{barrier}\n}}\n"
        );
        body
    }

    /// Whether the rounding errors of sums are added too.
    fn is_compensated(&self) -> bool {
        self.call.fold == Fold::Sum && self.acc.is_float()
    }

    /// The running fold of columns, or of parts of them of `length` elements.
    fn columns(&self, dialect: Dialect, index: DType, what: ScanPass) -> String {
        let at = if self.call.reverse { "(n - 1 - step)" } else { "step" };
        let place = format!("first + {at} * inner");
        let load = dialect.load(self.from, "b0", &place);
        // Compensated summation of floats. Without a rounding error the compensation is not added, so that
        // infinities and the sign of zeros are kept.
        let (step, value) = match self.is_compensated() {
            true => (
                "{ const A next = all + x; const A back = next - all; lost += (all - (next - back)) + (x - back); all = next; }",
                "(lost < 0 || lost > 0 ? all + lost : all)",
            ),
            false => ("all = join(all, x);", "all"),
        };
        let before = if what == ScanPass::After { "b2[part * columns + column]" } else { "NONE" };
        let (store, last) = match what {
            ScanPass::Total => (String::new(), format!("b1[part * columns + column] = {value};\n")),
            _ => (dialect.store(self.stored, "b1", &place, value), String::new()),
        };
        let number = self.number(dialect, index);
        let index = index.short();
        format!(
            "{number}if (number >= columns * parts) return;\n\
             const {index} column = number % columns, part = number / columns;\n\
             const {index} first = column / inner * n * inner + column % inner;\n\
             const {index} to = (part + 1) * length < n ? (part + 1) * length : n;\n\
             A all = {before}, lost = 0;\n(void)lost;\n\
             for ({index} step = part * length; step < to; step++) {{\nconst A x = (A)({load});\n{step}\n{store}\n}}\n{last}"
        )
    }

    /// Replaces the total of each part of a column by the fold of the parts before it.
    fn carry(&self, dialect: Dialect, index: DType) -> String {
        let number = self.number(dialect, index);
        let index = index.short();
        format!(
            "{number}if (number >= columns) return;\nA all = NONE;\n\
             for ({index} part = 0; part < parts; part++) {{\n\
             const A x = b0[part * columns + number];\nb0[part * columns + number] = all;\nall = join(all, x);\n}}\n"
        )
    }

    /// The number of the item.
    fn number(&self, dialect: Dialect, index: DType) -> String {
        let index = index.short();
        let (item, group) = (dialect.item_index(index), dialect.group_index(index));
        format!("const {index} number = {group} * {}u + {item};\n", self.group)
    }
}

/// The pass of an item over its part of a row or column.
#[derive(Clone, Copy, PartialEq)]
enum ScanPass {
    /// Computes the total of the part.
    Total,
    /// Starts from the fold of the parts before.
    After,
    /// The part is the whole.
    Alone,
    /// The part is the whole, and each result excludes its own element.
    Exclusive,
}

/// A pass over rows in tiles.
#[derive(Clone, Copy)]
struct TiledScan {
    /// The dtypes of the input and of the output.
    memory: [DType; 2],
    reverse: bool,
    what: ScanPass,
}
