//! Scatters as kernels: positions are sorted, and the points with the same position are folded.
//!
//! Positions that are in order already are not moved. After sorting, the points for a row of the table are a
//! *run*. Points are divided into chunks of [`CHUNK`]: an item folds one column of each run in a chunk. The
//! fold of a run within a chunk goes to the table at once. The parts of a longer run go to scratch memory,
//! and the item with the first part folds them in order. The division of runs depends on positions alone, so
//! results are deterministic.

use super::folded_rows::FoldedRows;
use super::sort;
use super::{OperandPart, Routine, RoutineKernel, RoutineWriter, Size, aligned, fold_helpers, moved_as};
use crate::dtype::DType;
use crate::library::{Scatter, Sorting};
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

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
        let moved = (self.stored, OperandPart::whole(1, self.call.brought() * size, false));
        let table = (self.stored, OperandPart::whole(2, rows * width * size, true));
        let mut launch =
            |name: &str, rows: u64, each: u64, operands: &[(DType, OperandPart)], body: String| {
                let sizes = self.launch_sizes(rows);
                let kernel = RoutineKernel { name, group: self.group, operands, sizes: &sizes, body: &body };
                writer.launch((rows * width / each).div_ceil(self.group), &kernel);
            };
        let [key, order] = sorted(false);
        // If positions are in order already, they are read where they are given.
        let given: Vec<(DType, OperandPart)> = match self.sort.disorder(SCRATCH, after) {
            Some((word, _)) => vec![positions, word],
            None => vec![],
        };
        let with_given = |operands: &[(DType, OperandPart)]| [operands, &given].concat();
        let Some(fold) = fold else {
            launch("last", points, 1, &with_given(&[key, order, moved, table]), self.last(dialect));
            return writer.finish(&sorting, self.scratch());
        };
        let parts = |written: bool| {
            let from = keys + order.1.bytes;
            [part(self.rows.acc, from, firsts, written), part(self.rows.acc, from + firsts, lasts, written)]
        };
        let [first, last] = parts(true);
        let operands = with_given(&[key, order, moved, table, first, last]);
        launch("chunks", self.chunks(), self.rows.each, &operands, self.chunk(dialect));
        let [first, last] = parts(false);
        launch("runs", self.chunks(), 1, &with_given(&[key, table, first, last]), self.run(dialect));
        let helpers = sorting + &fold_helpers(dialect, fold, self.rows.acc) + &self.rows.helpers(dialect);
        writer.finish(&helpers, self.scratch())
    }

    /// The arguments of a launch for `rows` rows of items.
    fn launch_sizes(&self, rows: u64) -> Vec<Size> {
        let Scatter { points, rows: table, width, .. } = self.call;
        let size = |name: &'static str, n: u64| (name, Scalar::from_i128(self.rows.index(), n.into()));
        // A position beyond the table stands for the last row, so that nothing outside of the table is
        // written.
        let last = table.saturating_sub(1);
        let mut sizes =
            vec![size("points", points), size("last", last), size("width", width), size("rows", rows)];
        if let Some((_, at)) = self.sort.disorder(0, 0) {
            sizes.push(size("disorder", at));
        }
        sizes
    }

    /// Declares the sorted positions as `sorted`; `given` is the number of the operand of those given.
    fn sorted(&self, given: usize) -> String {
        match self.sort.disorder(0, 0) {
            Some(_) => format!(
                "const int in_order = b{}[disorder] == 0u;\nconst u32* sorted = in_order ? b{given} : b0;\n",
                given + 1
            ),
            None => String::new(),
        }
    }

    /// The name of the sorted positions.
    fn keys(&self) -> &'static str {
        if self.sort.disorder(0, 0).is_some() { "sorted" } else { "b0" }
    }

    /// The place of a sorted point among those given.
    fn place(&self, at: &str) -> String {
        let index = self.rows.index().short();
        match self.sort.disorder(0, 0) {
            Some(_) => format!("(in_order ? {at} : ({index})b1[{at}])"),
            None => format!("({index})b1[{at}]"),
        }
    }

    /// Declares the item's row, of `rows`, and its column; an item has `each` neighbouring elements.
    fn which(&self, dialect: Dialect, name: &str, each: u64) -> String {
        let at = self.rows.index().short();
        let (item, number) = (dialect.item_index(at), dialect.group_index(at));
        let (items, column) = match each {
            1 => ("width".to_string(), String::new()),
            _ => (format!("(width / {each}u)"), format!(" * {each}u")),
        };
        format!(
            "const {at} id = {number} * {}u + {item};\n\
             const {at} {name} = id / {items}, column = id % {items}{column};\nif ({name} >= rows) return;\n",
            self.group
        )
    }

    /// Without a fold: the last point of each run goes to the table.
    fn last(&self, dialect: Dialect) -> String {
        let (which, sorted, keys) = (self.which(dialect, "at", 1), self.sorted(4), self.keys());
        format!(
            "{which}{sorted}const u32 key = {keys}[at];\nif (at + 1 < points && {keys}[at + 1] == key) return;\n\
             b3[{}] = b2[{}];\n",
            self.rows.in_table("key"),
            self.rows.brought(&self.place("at"))
        )
    }

    /// Folds the points of each run in a chunk.
    fn chunk(&self, dialect: Dialect) -> String {
        let (each, index) = (self.rows.each, self.rows.index().short());
        let (sorted, keys, place) = (self.sorted(6), self.keys(), self.place("at"));
        let which = self.which(dialect, "chunk", each);
        let (x, old) = (
            self.rows.read(dialect, "b2", &self.rows.brought("places[j]"), "xs[j]"),
            self.rows.read(dialect, "b3", &self.rows.in_table("keys[j]"), "olds[j]"),
        );
        let put = self.rows.put_back(dialect, "b3");
        let part = |of: &str| self.rows.each_of(&format!("{of}[chunk * width + column + v] = all[v];"));
        let (first, last) = (part("b4"), part("b5"));
        let (none, join) =
            (self.rows.each_of("all[v] = NONE;"), self.rows.each_of("all[v] = join(all[v], xs[j][v]);"));
        let take = self.rows.each_of("old[v] = olds[j][v];");
        format!(
            "{which}{sorted}const {index} from = chunk * {CHUNK}u;\n\
             const {index} to = from + {CHUNK}u < points ? from + {CHUNK}u : points;\n\
             u32 key = {keys}[from];\nint begun = from > 0 && {keys}[from - 1] == key;\nA all[{each}], old[{each}];\n{none}\
             for ({index} some = from; some < to; some += {AHEAD}u) {{\n\
             u32 keys[{AHEAD}];\n{index} places[{AHEAD}];\nA xs[{AHEAD}][{each}], olds[{AHEAD}][{each}];\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nconst {index} at = some + j < to ? some + j : to - 1;\n\
             keys[j] = {keys}[at];\nplaces[j] = {place};\n}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\n{x}}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nif (j == 0 || keys[j] != keys[j - 1]) {{\n{old}}}\n}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nif (some + j >= to) break;\n\
             if (keys[j] != key) {{\nif (begun) {{\n{first}}} else {{\n{put}}}\nkey = keys[j];\nbegun = 0;\n{none}}}\n\
             if (j == 0 || keys[j] != keys[j - 1]) {{\n{take}}}\n{join}}}\n}}\n\
             if (begun) {{\n{first}}} else if (to < points && {keys}[to] == key) {{\n{last}}} else {{\n{put}}}\n"
        )
    }

    /// The item with the first part of a divided run folds all its parts. Most runs end in the next chunk, so
    /// the end of a run is searched in steps that double.
    fn run(&self, dialect: Dialect) -> String {
        let (which, index, at) =
            (self.which(dialect, "chunk", 1), self.rows.index().short(), self.rows.in_table("key"));
        let (sorted, keys) = (self.sorted(4), self.keys());
        // Compensated summation of floats. Without a rounding error the compensation is not added, so that
        // infinities and the sign of zeros are kept.
        let compensated = self.rows.compensates();
        let step = if compensated {
            "{ const A next = all + x; const A back = next - all; lost += (all - (next - back)) + (x - back); all = next; }"
        } else {
            "all = join(all, x);"
        };
        let sum = if compensated { "all = lost < 0 || lost > 0 ? all + lost : all;\n" } else { "" };
        let old = format!("(A)({})", dialect.load(self.stored, "b1", &at));
        let put = dialect.store(self.stored, "b1", &at, &format!("join({old}, all)"));
        format!(
            "{which}{sorted}const {index} from = chunk * {CHUNK}u, to = from + {CHUNK}u;\nif (to >= points) return;\n\
             const u32 key = {keys}[to - 1];\nif ({keys}[to] != key) return;\n\
             if ({keys}[from] == key && from > 0 && {keys}[from - 1] == key) return;\n\
             {index} low = chunk + 1, high = low;\n\
             for ({index} step = 1; high * {CHUNK}u < points && {keys}[high * {CHUNK}u] == key; step *= 2) {{\nlow = high;\nhigh += step;\n}}\n\
             while (high - low > 1) {{\nconst {index} middle = low + (high - low) / 2;\n\
             if (middle * {CHUNK}u < points && {keys}[middle * {CHUNK}u] == key) low = middle; else high = middle;\n}}\n\
             A all = b3[id], lost = 0;\n#pragma unroll 8\n\
             for ({index} next = chunk + 1; next < high; next++) {{\n\
             const A x = b2[next * width + column];\n{step}\n}}\n(void)lost;\n{sum}{put}\n"
        )
    }
}
