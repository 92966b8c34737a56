//! Cumulative folds as kernels.
//!
//! Along the last axis a group takes a tile: loads are coalesced, each item folds neighbours, the group scans
//! the totals of its items, and stores are coalesced. If there are many rows, a group goes along its row. If
//! there are few, rows are divided into parts, whose totals are computed and scanned first. Along other axes
//! an item takes a column, or a part of one.

use super::{Part, Routine, Writer, aligned, fold_helpers};
use crate::dtype::DType;
use crate::library::Cumulate;
use crate::nest::Fold;
use crate::print::{Dialect, Target};

/// Maximum number of items of a group.
const GROUP: u64 = 256;
/// Maximum number of elements of an item.
const ITEMS: u64 = 16;
/// Minimum number of elements in a part of a column.
const COLUMN: u64 = 64;
/// Maximum number of parts of a column.
const PARTS: u64 = 256;

/// The division of a fold into parts and tiles.
pub(crate) struct Plan {
    call: Cumulate,
    /// The dtype of elements in memory: bools are bytes.
    stored: DType,
    /// The dtype of the accumulator.
    acc: DType,
    group: u64,
    items: u64,
    /// Parts of each row or column.
    parts: u64,
}

impl Plan {
    pub(crate) fn of(call: &Cumulate, target: &Target) -> Option<Plan> {
        let stored = if call.dtype == DType::Bool { DType::U8 } else { call.dtype };
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
        let widest = 1 << GROUP.min(u64::from(target.max_group)).max(1).ilog2();
        if inner > 1 {
            let columns = outer * inner;
            let wanted = (2 * lanes).div_ceil(columns.max(1));
            let parts = wanted.min(n.div_ceil(COLUMN)).clamp(1, PARTS);
            return Some(Plan { call: call.clone(), stored, acc, group: widest.min(128), items: 1, parts });
        }
        let group = n.div_ceil(ITEMS).next_power_of_two().clamp(32.min(widest), widest);
        let mut items = n.div_ceil(group).clamp(1, ITEMS);
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
        Some(Plan { call: call.clone(), stored, acc, group, items, parts })
    }

    fn totals(&self) -> u64 {
        self.call.shape[0] * self.call.shape[2] * self.parts
    }

    pub(crate) fn scratch(&self) -> u64 {
        if self.parts > 1 { aligned(self.totals() * self.acc.size() as u64) } else { 0 }
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let [outer, n, inner] = self.call.shape;
        let size = self.stored.size() as u64;
        let elements = outer * n * inner;
        let source = (self.stored, Part::whole(0, elements * size, false));
        let result = (self.stored, Part::whole(1, elements * size, true));
        let totals = (self.acc, Part::whole(2, self.totals() * self.acc.size() as u64, true));
        let before = (self.acc, totals.1.written(false));
        let mut writer = Writer::new(target, [self.stored, self.acc].contains(&DType::F64));
        if elements == 0 {
            return writer.finish("", 0);
        }
        let dialect = target.dialect;
        if inner > 1 {
            let groups = |parts: u64| (outer * inner * parts).div_ceil(self.group);
            let group = self.group as u32;
            let length = n.div_ceil(self.parts);
            if self.parts > 1 {
                let total = self.columns(dialect, length, Column::Total);
                writer.kernel("totals", groups(self.parts), group, &[source, totals], &total);
                writer.kernel("carry", groups(1), group, &[totals], &self.carry(dialect));
                let body = self.columns(dialect, length, Column::After);
                writer.kernel("columns", groups(self.parts), group, &[source, result, before], &body);
            } else {
                let body = self.columns(dialect, n, Column::Alone);
                writer.kernel("columns", groups(1), group, &[source, result], &body);
            }
        } else {
            let group = self.group as u32;
            let of_row = |parts: u64, total: bool, carry: bool| {
                let (source, target, reverse) = (self.stored, self.stored, self.call.reverse);
                Tiles { n, parts, source, target, reverse, exclusive: false, carry, total }
            };
            if self.parts > 1 {
                let body = self.tiles(dialect, &of_row(self.parts, true, false));
                writer.kernel("totals", outer * self.parts, group, &[source, totals], &body);
                let over = Tiles {
                    n: self.parts,
                    parts: 1,
                    source: self.acc,
                    target: self.acc,
                    reverse: false,
                    exclusive: true,
                    carry: false,
                    total: false,
                };
                writer.kernel("carry", outer, group, &[before, totals], &self.tiles(dialect, &over));
                let body = self.tiles(dialect, &of_row(self.parts, false, true));
                writer.kernel("rows", outer * self.parts, group, &[source, result, before], &body);
            } else {
                let body = self.tiles(dialect, &of_row(1, false, false));
                writer.kernel("rows", outer, group, &[source, result], &body);
            }
        }
        writer.finish(&fold_helpers(dialect, self.call.fold, self.acc), self.scratch())
    }

    fn tiles(&self, dialect: Dialect, t: &Tiles) -> String {
        let (g, items) = (self.group, self.items);
        let &Tiles { n, parts, reverse, exclusive, carry, total, .. } = t;
        let tile = g * items;
        // Parts of rows are whole tiles.
        let along = n.div_ceil(tile).div_ceil(parts) * tile;
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let (item, group) = (dialect.item_index("u64"), dialect.group_index("u64"));
        let place =
            if reverse { format!("row * {n}u + ({n}u - 1 - at)") } else { format!("row * {n}u + at") };
        let load = dialect.load(t.source, "b0", &place);
        let store = dialect.store(t.target, "b1", &place, "tile[k * G + item + (k * G + item) / ITEMS]");
        let before = if carry { "b2[group]" } else { "NONE" };
        // Compensated summation of floats. Without a rounding error the compensation is not added, so that
        // infinities and the sign of zeros are kept.
        let (add, so_far) = match self.call.fold == Fold::Sum && self.acc.is_float() {
            true => (
                "{ const A x = sums[G - 1], next = carry + x, back = next - carry; \
                 lost += (carry - (next - back)) + (x - back); carry = next; }",
                "(lost < 0 || lost > 0 ? carry + lost : carry)",
            ),
            false => ("carry = join(carry, sums[G - 1]);", "carry"),
        };
        let mut body = format!(
            "enum {{ G = {g}, ITEMS = {items} }};\n{local} A sums[G];\n\
             const u64 group = {group};\nconst u32 item = (u32)({item});\n\
             const u64 row = group / {parts}u, from = group % {parts}u * {along}u;\n\
             const u64 to = from + {along}u < {n}u ? from + {along}u : {n}u;\n"
        );
        if total {
            body += &format!(
                "A sum = NONE;\nfor (u64 at = from + item; at < to; at += G) sum = join(sum, (A)({load}));\n\
                 sums[item] = sum;\n{barrier}\n\
                 for (u32 half_ = G / 2; half_ > 0; half_ /= 2) {{\n\
                 if (item < half_) sums[item] = join(sums[item], sums[item + half_]);\n{barrier}\n}}\n\
                 if (item == 0) b1[group] = sums[0];\n"
            );
            return body;
        }
        let result =
            if exclusive { "k == 0 ? before : join(before, own[k - 1])" } else { "join(before, own[k])" };
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

    /// The running fold of columns, or of parts of them.
    fn columns(&self, dialect: Dialect, length: u64, what: Column) -> String {
        let [outer, n, inner] = self.call.shape;
        let columns = outer * inner;
        let parts = if what == Column::Alone { 1 } else { self.parts };
        let at = if self.call.reverse { format!("({n}u - 1 - step)") } else { "step".into() };
        let place = "first + (u64)AT * INNER".replace("AT", &at).replace("INNER", &format!("{inner}u"));
        let load = dialect.load(self.stored, "b0", &place);
        let sum = self.call.fold == Fold::Sum && self.acc.is_float();
        // Compensated summation of floats. Without a rounding error the compensation is not added, so that
        // infinities and the sign of zeros are kept.
        let step = if sum {
            "{ const A next = all + x; const A back = next - all; lost += (all - (next - back)) + (x - back); all = next; }"
        } else {
            "all = join(all, x);"
        };
        let value = if sum { "(lost < 0 || lost > 0 ? all + lost : all)" } else { "all" };
        let before = if what == Column::After { "b2[part * COLUMNS + column]" } else { "NONE" };
        let store = match what {
            Column::Total => String::new(),
            _ => dialect.store(self.stored, "b1", &place, value),
        };
        let last = if what == Column::Total {
            format!("b1[part * COLUMNS + column] = {value};\n")
        } else {
            String::new()
        };
        let (item, group) = (dialect.item_index("u64"), dialect.group_index("u64"));
        format!(
            "const u64 number = {group} * {g}u + {item};\nif (number >= COLUMNS * {parts}u) return;\n\
             const u64 column = number % COLUMNS, part = number / COLUMNS;\n\
             const u64 first = column / {inner}u * {n}u * {inner}u + column % {inner}u;\n\
             const u64 to = (part + 1) * {length}u < {n}u ? (part + 1) * {length}u : {n}u;\n\
             A all = {before}, lost = 0;\n\
             for (u64 step = part * {length}u; step < to; step++) {{\nconst A x = (A)({load});\n{step}\n{store}\n}}\n{last}",
            g = self.group
        )
        .replace("COLUMNS", &format!("{columns}u"))
    }

    /// Replaces the total of each part of a column by the fold of the parts before it.
    fn carry(&self, dialect: Dialect) -> String {
        let columns = self.call.shape[0] * self.call.shape[2];
        let (item, group) = (dialect.item_index("u64"), dialect.group_index("u64"));
        format!(
            "const u64 column = {group} * {g}u + {item};\nif (column >= {columns}u) return;\nA all = NONE;\n\
             for (u32 part = 0; part < {parts}u; part++) {{\n\
             const A x = b0[part * (u64){columns}u + column];\nb0[part * (u64){columns}u + column] = all;\nall = join(all, x);\n}}\n",
            g = self.group,
            parts = self.parts
        )
    }
}

/// The pass of an item over its part of a column.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    /// Computes the total of the part.
    Total,
    /// Starts from the fold of the parts before.
    After,
    /// The part is the whole column.
    Alone,
}

/// A pass over rows in tiles.
struct Tiles {
    n: u64,
    parts: u64,
    source: DType,
    target: DType,
    reverse: bool,
    /// An exclusive scan: without the element itself.
    exclusive: bool,
    /// Start from the fold of the parts before.
    carry: bool,
    /// Compute only the total of each part.
    total: bool,
}
