//! Scatters as kernels: positions are sorted, and what goes to one row of the table is folded by those who have it.
//!
//! Sorted, all that goes to a row is a *run*. It is cut at every [`CHUNK`]-th point: an item folds an element of what a chunk has of each
//! run. A run within a chunk goes to the table at once; the parts of a longer one wait in scratch memory for the item that has its
//! first, which folds them in order. How a run is cut depends on positions alone, and so do results.

use super::sort;
use super::{Part, Routine, Writer, aligned, fold_helpers};
use crate::call::{Scatter, Sorting};
use crate::dtype::DType;
use crate::nest::Fold;
use crate::print::{Dialect, Target};

/// Points of a chunk.
const CHUNK: u64 = 32;
/// Points whose rows are read before any of them is folded: a store might be to the same memory, so that no compiler could do so.
const AHEAD: u64 = 8;
/// Items of a group.
const GROUP: u64 = 256;

/// How a scatter is cut.
pub(super) struct Plan {
    call: Scatter,
    sort: sort::Plan,
    /// The dtype of elements in memory: bools are bytes, and what is only moved is bits.
    stored: DType,
    /// The dtype that is folded in.
    acc: DType,
}

impl Plan {
    pub(super) fn of(call: &Scatter, target: &Target) -> Option<Plan> {
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
            None => match call.dtype.size() {
                1 => DType::U8,
                2 => DType::U16,
                4 => DType::U32,
                _ => DType::U64,
            },
        };
        let sorting = Sorting {
            dtype: DType::U32,
            shape: [1, call.points, 1],
            kept: call.points,
            descending: false,
            values: true,
            indices: true,
        };
        let sort = sort::Plan::of(&sorting, target)?.narrowed(call.rows.max(2).next_power_of_two().ilog2());
        Some(Plan { call: call.clone(), sort, stored, acc: stored.register() })
    }

    fn chunks(&self) -> u64 {
        self.call.points.div_ceil(CHUNK)
    }

    /// Bytes of: sorted positions, where each was, parts of runs that chunks begin with, and that they end with.
    fn sizes(&self) -> [u64; 4] {
        let parts = match self.call.fold {
            Some(_) => aligned(self.chunks() * self.call.width * self.acc.size() as u64),
            None => 0,
        };
        [aligned(self.call.points * 4), aligned(self.call.points * 8), parts, parts]
    }

    pub(super) fn scratch(&self) -> u64 {
        self.sizes().iter().sum::<u64>() + self.sort.scratch()
    }

    pub(super) fn print(&self, target: &Target) -> Routine {
        let Scatter { points, rows, width, fold, .. } = self.call;
        let size = self.stored.size() as u64;
        let mut writer = Writer::new(target, self.stored == DType::F64);
        if points * width == 0 {
            return writer.finish("", 0);
        }
        let dialect = target.dialect;
        const SCRATCH: usize = 3;
        let [keys, order, firsts, lasts] = self.sizes();
        let part = |dtype: DType, offset: u64, bytes: u64, written: bool| {
            (dtype, Part { arg: SCRATCH, offset, bytes, written })
        };
        let positions = (DType::U32, Part::whole(0, points * 4, false));
        let sorted =
            |written: bool| [part(DType::U32, 0, keys, written), part(DType::I64, keys, order, written)];
        let after = keys + order + firsts + lasts;
        let sorting = self.sort.launches(&mut writer, positions, sorted(true).to_vec(), (SCRATCH, after));
        let moved = (self.stored, Part::whole(1, points * width * size, false));
        let table = (self.stored, Part::whole(2, rows * width * size, true));
        let groups = |items: u64| (items * width).div_ceil(GROUP);
        let group = GROUP as u32;
        let [key, order] = sorted(false);
        let Some(fold) = fold else {
            writer.kernel("last", groups(points), group, &[key, order, moved, table], &self.last(dialect));
            return writer.finish(&sorting, self.scratch());
        };
        let parts = |written: bool| {
            let from = keys + order.1.bytes;
            [part(self.acc, from, firsts, written), part(self.acc, from + firsts, lasts, written)]
        };
        let [first, last] = parts(true);
        let operands = [key, order, moved, table, first, last];
        writer.kernel("chunks", groups(self.chunks()), group, &operands, &self.chunk(dialect));
        let [first, last] = parts(false);
        let operands = [key, table, first, last];
        writer.kernel("runs", groups(self.chunks()), group, &operands, &self.run(dialect));
        writer.finish(&(sorting + &fold_helpers(dialect, fold, self.acc)), self.scratch())
    }

    /// The item's number as an element of what there are `count` of.
    fn which(&self, dialect: Dialect, name: &str, count: u64) -> String {
        let (item, number) = (dialect.item_index("u64"), dialect.group_index("u64"));
        let width = self.call.width;
        format!(
            "const u64 id = {number} * {GROUP}u + {item};\nconst u64 {name} = id / {width}u, column = id % {width}u;\n\
             if ({name} >= {count}u) return;\n"
        )
    }

    /// An element of the table, which is operand `table`, in row `key`.
    fn of_table(&self, dialect: Dialect, table: usize, key: &str) -> String {
        let at = format!("(u64){key} * {}u + column", self.call.width);
        format!("(A)({})", dialect.load(self.stored, &format!("b{table}"), &at))
    }

    /// `old` of the table folded with `all` goes back to it.
    fn put_back(&self, dialect: Dialect, table: usize, old: &str) -> String {
        let at = format!("(u64)key * {}u + column", self.call.width);
        dialect.store(self.stored, &format!("b{table}"), &at, &format!("join({old}, all)"))
    }

    /// Without a fold, the last of each run goes to the table.
    fn last(&self, dialect: Dialect) -> String {
        let Scatter { points, width, .. } = self.call;
        let which = self.which(dialect, "at", points);
        format!(
            "{which}const u32 key = b0[at];\nif (at + 1 < {points}u && b0[at + 1] == key) return;\n\
             b3[(u64)key * {width}u + column] = b2[(u64)b1[at] * {width}u + column];\n"
        )
    }

    /// What a chunk has of each run.
    fn chunk(&self, dialect: Dialect) -> String {
        let Scatter { points, width, .. } = self.call;
        let which = self.which(dialect, "chunk", self.chunks());
        let value = dialect.load(self.stored, "b2", &format!("places[j] * {width}u + column"));
        let (old, put) = (self.of_table(dialect, 3, "keys[j]"), self.put_back(dialect, 3, "old"));
        format!(
            "{which}const u64 from = chunk * {CHUNK}u;\n\
             const u64 to = from + {CHUNK}u < {points}u ? from + {CHUNK}u : {points}u;\n\
             u32 key = b0[from];\nint begun = from > 0 && b0[from - 1] == key;\nA all = NONE, old = NONE;\n\
             for (u64 some = from; some < to; some += {AHEAD}u) {{\nu32 keys[{AHEAD}];\nu64 places[{AHEAD}];\nA xs[{AHEAD}], olds[{AHEAD}];\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nconst u64 at = some + j < to ? some + j : to - 1;\n\
             keys[j] = b0[at];\nplaces[j] = (u64)b1[at];\n}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) xs[j] = (A)({value});\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nif (j == 0 || keys[j] != keys[j - 1]) olds[j] = {old};\n}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nif (some + j >= to) break;\n\
             if (keys[j] != key) {{\nif (begun) b4[id] = all; else {{ {put} }}\nkey = keys[j];\nbegun = 0;\nall = NONE;\n}}\n\
             if (j == 0 || keys[j] != keys[j - 1]) old = olds[j];\nall = join(all, xs[j]);\n}}\n}}\n\
             if (begun) b4[id] = all;\nelse if (to < {points}u && b0[to] == key) b5[id] = all;\nelse {{ {put} }}\n"
        )
    }

    /// Who has the first part of a run that is cut folds all of them.
    fn run(&self, dialect: Dialect) -> String {
        let Scatter { points, width, fold, .. } = self.call;
        let which = self.which(dialect, "chunk", self.chunks());
        // What a sum of floats loses is carried along, but of infinities nothing is lost.
        let compensated = fold == Some(Fold::Sum) && self.acc.is_float();
        let step = if compensated {
            "{ const A next = all + x; const A back = next - all; lost += (all - (next - back)) + (x - back); all = next; }"
        } else {
            "all = join(all, x);"
        };
        let sum = if compensated { "all = lost == lost ? all + lost : all;\n" } else { "" };
        let put = self.put_back(dialect, 1, &self.of_table(dialect, 1, "key"));
        format!(
            "{which}const u64 from = chunk * {CHUNK}u, to = from + {CHUNK}u;\nif (to >= {points}u) return;\n\
             const u32 key = b0[to - 1];\nif (b0[to] != key) return;\n\
             if (b0[from] == key && from > 0 && b0[from - 1] == key) return;\n\
             u64 low = to, high = {points}u;\n\
             while (low < high) {{\nconst u64 middle = low + (high - low) / 2;\n\
             if (b0[middle] == key) low = middle + 1; else high = middle;\n}}\n\
             A all = b3[id], lost = 0;\n#pragma unroll 8\n\
             for (u64 next = chunk + 1; next * {CHUNK}u < low; next++) {{\n\
             const A x = b2[next * {width}u + column];\n{step}\n}}\n(void)lost;\n{sum}{put}\n"
        )
    }
}
