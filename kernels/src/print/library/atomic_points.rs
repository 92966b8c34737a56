//! Points of a scatter, each folded into a table by an atomic operation: the text of one launch.
//!
//! An item folds a few neighbouring points, and goes to memory where the position changes: sorted positions
//! take few atomic operations. Where many points share a small table, each group folds into a table of its
//! own in group memory, and adds it to the whole one at the end.

use super::{Size, fill, index_type};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;
use std::fmt::Display;

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

/// The address spaces of the table and of a group's, and the names of functions that fold into an element of
/// them.
pub(super) const SPACES: [(&str, &str); 2] = [("GLOBAL_MEM", "into_memory"), ("LOCAL_MEM_ARG", "into_table")];

/// The functions that add to 64-bit integers: `add_wide.c`.
pub(super) fn add_wide(dialect: Dialect) -> String {
    let one = |(space, into): (&str, &str)| {
        let native = dialect == Dialect::CudaCpp && into == "into_memory";
        let words: [(&str, &dyn Display); 3] =
            [("space", &space), ("add_wide", &format!("total_{into}")), ("native", &u8::from(native))];
        fill(include_str!("atomic_points/add_wide.c"), &words)
    };
    SPACES.map(one).concat()
}

/// What an item adds up of its points, and where it goes. Positions are the operand `positions`.
pub(super) struct AtomicPoints<'a> {
    pub(super) index: DType,
    /// The C type of values, the value that changes nothing, and the function that joins two. With
    /// `_into_memory` and `_into_table` behind its name, it folds a value into an element.
    pub(super) acc: [&'a str; 3],
    /// The value of the point `place` in this `column`; its position is `keys[j]`.
    pub(super) value: &'a str,
    /// The row of the table for the position `key`.
    pub(super) row: &'a str,
    /// The table.
    pub(super) table: &'a str,
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
        let (file, into, to) = match tables {
            Some(_) => (include_str!("atomic_points/in_tables.c"), "into_table", "own"),
            None => (include_str!("atomic_points/directly.c"), "into_memory", self.table),
        };
        let [acc, none, join] = self.acc;
        let words: [(&str, &dyn Display); 13] = [
            ("points", &include_str!("atomic_points/points.c")),
            ("index", &self.index.short()),
            ("acc", &acc),
            ("none", &none),
            ("join", &join),
            ("fold_into", &format!("{join}_{into}")),
            ("fold_into_memory", &format!("{join}_into_memory")),
            ("value", &self.value),
            ("row", &self.row),
            ("table", &self.table),
            ("to", &to),
            ("each", &EACH),
            ("elements", &tables.map_or(0, |tables| tables.elements)),
        ];
        let launch = match tables {
            Some(tables) => [tables.groups, tables.items],
            None => [(points.div_ceil(EACH) * width).div_ceil(GROUP), GROUP],
        };
        (launch, fill(file, &words))
    }
}
