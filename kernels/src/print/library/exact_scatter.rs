//! Scatters whose folds give the same result in any order, as atomic operations: sums of integers, and
//! extremes of numbers.
//!
//! An item folds a few neighbouring points, and goes to memory where the position changes: sorted positions
//! take few atomic operations. Where many points meet in a small table, each group has a table of its own in
//! its memory, which goes to the whole one at the end.

use super::scatter::brought;
use super::{Kernel, Part, Routine, Size, Writer, fold_helpers, index_type};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

/// Items of a group.
const GROUP: u64 = 256;
/// Neighbouring points that an item folds.
const EACH: u64 = 4;
/// Bytes that a table of a group may have. Each size has a kernel of its own, so they are few.
const TABLES: [u64; 2] = [4 << 10, 32 << 10];
/// Fewer groups with tables of their own than this leave the device idle.
const FEWEST: u64 = 32;

/// The division of such a scatter.
pub(crate) struct Plan {
    call: Scatter,
    fold: Fold,
    /// Groups with tables of their own, and the elements of each.
    tables: Option<[u64; 2]>,
}

impl Plan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<Plan> {
        let dtype = call.dtype;
        let is_exact = match call.fold? {
            Fold::Sum => dtype.is_integer(),
            Fold::Max | Fold::Min => true,
            _ => false,
        };
        // OpenCL C has 64-bit operations by an extension only.
        let sizes = if target.dialect == Dialect::CudaCpp { 4..=8 } else { 4..=4 };
        let elements = call.points.checked_mul(call.width)?.max(call.rows.checked_mul(call.width)?);
        let fits =
            sizes.contains(&dtype.size()) && elements < 1 << 38 && u64::from(target.max_group) >= GROUP;
        let empty = elements == 0 || call.points == 0;
        if target.cpu || !is_exact || !fits || empty {
            return None;
        }
        let (entries, bytes) = (call.rows * call.width, dtype.size() as u64);
        let holds = |table: &u64| entries * bytes <= *table && *table <= target.local_memory;
        let table = TABLES.into_iter().find(holds);
        // What the groups' tables take at the end should be little beside the points.
        let groups = (target.lanes / (2 * GROUP)).min(call.points * call.width / (4 * entries));
        let tables = table.filter(|_| groups >= FEWEST).map(|table| [groups, table / bytes]);
        Some(Plan { call: call.clone(), fold: call.fold?, tables })
    }

    /// The type of element and item numbers.
    fn index(&self) -> DType {
        let items = self.call.points.max(self.call.rows).saturating_mul(self.call.width);
        index_type(items.saturating_add(1 << 20))
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { dtype, points, rows, width, .. } = self.call;
        let size = dtype.size() as u64;
        let mut writer = Writer::new(target, dtype == DType::F64);
        let operands = [
            (DType::U32, Part::whole(0, points * 4, false)),
            (dtype, Part::whole(1, self.call.brought() * size, false)),
            (dtype, Part::whole(2, rows * width * size, true)),
        ];
        let number = |n: u64| Scalar::from_i128(self.index(), n.into());
        let sizes: Vec<Size> = vec![
            ("points", number(points)),
            ("last", number(rows - 1)),
            ("width", number(width)),
            ("items", number(points.div_ceil(EACH) * width)),
        ];
        let (dialect, items) = (target.dialect, points.div_ceil(EACH) * width);
        let (name, groups, body) = match self.tables {
            Some([groups, elements]) => ("tables", groups, self.in_tables(dialect, elements)),
            None => ("direct", items.div_ceil(GROUP), self.directly(dialect)),
        };
        let kernel = Kernel { name, group: GROUP, operands: &operands, sizes: &sizes, body: &body };
        writer.launch(groups, &kernel);
        writer.finish(&(fold_helpers(dialect, self.fold, dtype) + &self.atomics(dialect)), 0)
    }

    /// Each item folds its points into the table.
    fn directly(&self, dialect: Dialect) -> String {
        let at = self.index().short();
        let (item, number) = (dialect.item_index(at), dialect.group_index(at));
        format!(
            "const {at} id = {number} * {GROUP}u + {item};\nif (id >= items) return;\n{}",
            self.points("fold_into_memory", "b2")
        )
    }

    /// Each group folds its points into a table of its own, and that into the whole one.
    fn in_tables(&self, dialect: Dialect, elements: u64) -> String {
        let at = self.index().short();
        let (item, number) = (dialect.item_index(at), dialect.group_index(at));
        let groups = match dialect {
            Dialect::CudaCpp => format!("({at})gridDim.x"),
            Dialect::OpenClC => format!("({at})get_num_groups(0)"),
        };
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        format!(
            "{local} A own[{elements}];\nconst {at} item = {item}, entries = (last + 1) * width;\n\
             for ({at} i = item; i < entries; i += {GROUP}u) own[i] = NONE;\n{barrier}\n\
             for ({at} id = {number} * {GROUP}u + item; id < items; id += {groups} * {GROUP}u) {{\n{}}}\n{barrier}\n\
             for ({at} i = item; i < entries; i += {GROUP}u) {{\nconst A x = own[i];\nif (x != NONE) fold_into_memory(&b2[i], x);\n}}\n",
            self.points("fold_into_table", "own")
        )
    }

    /// Folds the points of item `id`: all are loaded first.
    fn points(&self, fold_into: &str, table: &str) -> String {
        let at = self.index().short();
        let brought = brought(&self.call, "place");
        // A position beyond the table stands for the last row, so that nothing outside of it is written.
        let put = format!("{fold_into}(&{table}[({at})(key < last ? key : last) * width + column], all);");
        format!(
            "const {at} from = id / width * {EACH}u, column = id % width;\n\
             const {at} to = from + {EACH}u < points ? from + {EACH}u : points;\nu32 keys[{EACH}];\nA xs[{EACH}];\n\
             #pragma unroll\nfor (u32 j = 0; j < {EACH}u; j++) {{\n\
             const {at} place = from + j < to ? from + j : to - 1;\nkeys[j] = b0[place];\nxs[j] = b1[{brought}];\n}}\n\
             u32 key = keys[0];\nA all = xs[0];\n\
             #pragma unroll\nfor (u32 j = 1; j < {EACH}u; j++) {{\nif (from + j >= to) break;\n\
             if (keys[j] == key) {{ all = join(all, xs[j]); continue; }}\n{put}\nkey = keys[j];\nall = xs[j];\n}}\n{put}\n"
        )
    }

    /// The functions that fold a value into an element of the table, or of a group's.
    fn atomics(&self, dialect: Dialect) -> String {
        let wide = self.call.dtype.size() == 8;
        let (signed, unsigned) = match (dialect, wide) {
            (Dialect::CudaCpp, true) => ("long long", "unsigned long long"),
            _ => ("int", "unsigned int"),
        };
        let name = |op: &str| match dialect {
            Dialect::CudaCpp => format!("atomic{}{}", op[..1].to_uppercase(), &op[1..]),
            Dialect::OpenClC => format!("atomic_{op}"),
        };
        let spaces: &[(&str, &str)] = match dialect {
            Dialect::CudaCpp => &[("fold_into_memory", ""), ("fold_into_table", "")],
            Dialect::OpenClC => &[("fold_into_memory", "__global "), ("fold_into_table", "__local ")],
        };
        let volatile = if dialect == Dialect::CudaCpp { "" } else { "volatile " };
        let function = super::function(dialect);
        let one = |&(own, space): &(&str, &str)| {
            let call = |op: &str, of: &str, value: &str| {
                format!("{}(({volatile}{space}{of}*)at, ({of}){value});", name(op),)
            };
            let is_float = self.call.dtype.is_float();
            let body = match self.fold {
                Fold::Sum => call("add", unsigned, "x"),
                fold if is_float => self.float_extreme(dialect, fold, [signed, unsigned], &call),
                fold => {
                    let of = if self.call.dtype.is_signed() { signed } else { unsigned };
                    call(if fold == Fold::Min { "min" } else { "max" }, of, "x")
                }
            };
            // What is there may be a NaN with either sign, which stays. Most values change nothing. Of zeros the
            // integers decide, so that their order does not.
            let (better, worse) = if self.fold == Fold::Min { ("<", ">") } else { (">", "<") };
            let stays = match (self.fold, is_float) {
                (Fold::Sum, _) => String::new(),
                (_, true) => {
                    format!("if (old != old || x {worse} old || (x == old && x != 0)) return;\n")
                }
                (_, false) => format!("if (!(x {better} old)) return;\n"),
            };
            let old = if stays.is_empty() {
                String::new()
            } else {
                format!("const A old = *(volatile {space}A*)at;\n")
            };
            format!("{function} void {own}({space}A* at, A x) {{\n{old}{stays}{body}\n}}\n")
        };
        spaces.iter().map(one).collect()
    }

    /// Floats of one sign are ordered as integers, those below zero the other way around; the NaN that is
    /// stored is beyond all.
    fn float_extreme(
        &self,
        dialect: Dialect,
        fold: Fold,
        [signed, unsigned]: [&str; 2],
        call: &dyn Fn(&str, &str, &str) -> String,
    ) -> String {
        let bits = match (dialect, self.call.dtype) {
            (Dialect::OpenClC, _) => "as_int(x)",
            (_, DType::F64) => "__double_as_longlong(x)",
            _ => "__float_as_int(x)",
        };
        let (nan, above, below) = match fold {
            Fold::Min => (format!("({signed})-1"), "min", "max"),
            _ => (format!("({signed})(~({unsigned})0 >> 1)"), "max", "min"),
        };
        format!(
            "const {signed} bits = x != x ? {nan} : {bits};\nif (bits >= 0) {}\nelse {}",
            call(above, signed, "bits"),
            call(below, unsigned, "bits")
        )
    }
}
