//! Points of a scatter, each folded into a table by an atomic operation: the text of one launch.
//!
//! An item folds a few neighbouring points, and goes to memory where the position changes: sorted positions
//! take few atomic operations. Where many points share a small table, each group folds into a table of its
//! own in group memory, and adds it to the whole one at the end.

use super::{Size, index_type};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

/// Items of a group.
pub(super) const GROUP: u64 = 256;
/// Items of a group with a table of its own, at most: the more, the fewer tables go to the whole one.
const TABLE_GROUP: u64 = 1024;
/// Neighbouring points that an item folds.
const EACH: u64 = 4;
/// Bytes that a table of a group may have. Each size has a kernel of its own, so they are few.
const TABLES: [u64; 2] = [4 << 10, 32 << 10];
/// Fewer groups with tables of their own than this leave the device idle.
const FEWEST: u64 = 32;

/// Groups with tables of their own.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    /// How many there are.
    groups: u64,
    /// Items of each.
    items: u64,
    /// Elements of each table.
    elements: u64,
}

/// The tables of groups, if they pay. An element has `bytes` bytes.
pub(super) fn tables(call: &Scatter, bytes: u64, target: &Target) -> Option<Tables> {
    let entries = call.rows * call.width;
    let holds = |table: &u64| entries * bytes <= *table && *table <= target.local_memory;
    let table = TABLES.into_iter().find(holds)?;
    let items = if u64::from(target.max_group) >= TABLE_GROUP { TABLE_GROUP } else { GROUP };
    // What the groups' tables take at the end should be little beside the points.
    let groups = (target.lanes / (2 * items)).min(call.points * call.width / (2 * entries));
    (groups >= FEWEST).then_some(Tables { groups, items, elements: table / bytes })
}

/// The type of element and item numbers.
pub(super) fn index(call: &Scatter) -> DType {
    let items = call.points.max(call.rows).saturating_mul(call.width);
    index_type(items.saturating_add(1 << 20))
}

/// Declares the item's number.
pub(super) fn item(dialect: Dialect, index: DType) -> String {
    let at = index.short();
    let (item, number) = (dialect.item_index(at), dialect.group_index(at));
    format!("const {at} id = {number} * {GROUP}u + {item};\n")
}

/// Adds `x` to the 64-bit integer at `at`. Such additions are native to CUDA's memory; elsewhere they are two
/// of 32 bits, the lower one with a carry.
pub(super) fn add_wide(dialect: Dialect, space: &str, to_memory: bool) -> String {
    let (volatile, add) = match dialect {
        Dialect::CudaCpp if to_memory => {
            return "atomicAdd((unsigned long long*)at, (unsigned long long)x);\n".into();
        }
        Dialect::CudaCpp => ("", "atomicAdd"),
        Dialect::OpenClC => ("volatile ", "atomic_add"),
    };
    format!(
        "{volatile}{space}u32* word = ({volatile}{space}u32*)at;\n\
         const u32 low = (u32)x;\nu32 high = (u32)((u64)x >> 32);\n\
         if (low != 0u) high += {add}(word, low) > 0xffffffffu - low ? 1u : 0u;\n\
         if (high != 0u) {add}(word + 1, high);\n"
    )
}

/// What an item adds up of its points, and where it goes. Positions are `b0`.
pub(super) struct AtomicPoints<'a> {
    pub(super) dialect: Dialect,
    pub(super) index: DType,
    /// The C type of values, the value that changes nothing, and the function that joins two.
    pub(super) acc: [&'a str; 3],
    /// The value of the point `place` in this `column`; its position is `keys[j]`.
    pub(super) value: &'a str,
    /// The row of the table for the position `key`.
    pub(super) row: &'a str,
    /// The table, and the functions that fold a value into an element of it, or of a group's.
    pub(super) table: &'a str,
    pub(super) into_memory: &'a str,
    pub(super) into_table: &'a str,
}

impl AtomicPoints<'_> {
    /// The sizes that the text names, for rows of `width` columns.
    pub(super) fn sizes(&self, call: &Scatter, width: u64) -> Vec<Size> {
        let size = |name: &'static str, n: u64| (name, Scalar::from_i128(self.index, n.into()));
        vec![
            size("points", call.points),
            size("last", call.rows - 1),
            size("width", width),
            size("items", call.points.div_ceil(EACH) * width),
        ]
    }

    /// The number of groups, the items of each, and the text.
    pub(super) fn launch(&self, points: u64, width: u64, tables: Option<Tables>) -> ([u64; 2], String) {
        match tables {
            Some(tables) => ([tables.groups, tables.items], self.in_tables(tables)),
            None => ([(points.div_ceil(EACH) * width).div_ceil(GROUP), GROUP], self.directly()),
        }
    }

    /// Each item folds its points into the table.
    fn directly(&self) -> String {
        format!(
            "{}if (id >= items) return;\n{}",
            item(self.dialect, self.index),
            self.points(self.into_memory, self.table)
        )
    }

    /// Each group folds its points into a table of its own, and that into the whole one.
    fn in_tables(&self, Tables { elements, items, .. }: Tables) -> String {
        let (dialect, at, [acc, none, _]) = (self.dialect, self.index.short(), self.acc);
        let (item, number) = (dialect.item_index(at), dialect.group_index(at));
        let groups = match dialect {
            Dialect::CudaCpp => format!("({at})gridDim.x"),
            Dialect::OpenClC => format!("({at})get_num_groups(0)"),
        };
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let (into_memory, table) = (self.into_memory, self.table);
        format!(
            "{local} {acc} own[{elements}];\nconst {at} item = {item}, entries = (last + 1) * width;\n\
             for ({at} i = item; i < entries; i += {items}u) own[i] = {none};\n{barrier}\n\
             for ({at} id = {number} * {items}u + item; id < items; id += {groups} * {items}u) {{\n{}}}\n{barrier}\n\
             for ({at} i = item; i < entries; i += {items}u) {{\n\
             const {acc} x = own[i];\nif (x != {none}) {into_memory}(&{table}[i], x);\n}}\n",
            self.points(self.into_table, "own")
        )
    }

    /// Folds the points of item `id`: all are loaded first.
    fn points(&self, fold_into: &str, table: &str) -> String {
        let (at, [acc, _, join], value) = (self.index.short(), self.acc, self.value);
        let put = format!("{fold_into}(&{table}[({at})({}) * width + column], all);", self.row);
        format!(
            "const {at} from = id / width * {EACH}u, column = id % width;\n\
             const {at} to = from + {EACH}u < points ? from + {EACH}u : points;\nu32 keys[{EACH}];\n{acc} xs[{EACH}];\n\
             #pragma unroll\nfor (u32 j = 0; j < {EACH}u; j++) {{\n\
             const {at} place = from + j < to ? from + j : to - 1;\nkeys[j] = b0[place];\nxs[j] = {value};\n}}\n\
             u32 key = keys[0];\n{acc} all = xs[0];\n\
             #pragma unroll\nfor (u32 j = 1; j < {EACH}u; j++) {{\nif (from + j >= to) break;\n\
             if (keys[j] == key) {{ all = {join}(all, xs[j]); continue; }}\n{put}\nkey = keys[j];\nall = xs[j];\n}}\n{put}\n"
        )
    }
}
