//! Sorts as kernels: a radix sort for long rows on CUDA ([`super::radix`]), else a merge sort: groups sort
//! tiles in their memory, and items merge runs, twice as long each time. The merge sort compares unsigned
//! keys, and positions if keys are equal, so it is stable.

use super::radix::{End, Radix};
use super::{Part, Routine, Writer, aligned, function};
use crate::dtype::DType;
use crate::library::Sorting;
use crate::print::{Dialect, Target};

/// Maximum number of elements that a group sorts.
const TILE: u64 = 1024;
/// Elements that an item merges.
const MERGED: u64 = 8;
/// Items of a group that merges.
const GROUP: u64 = 128;
/// Maximum length of rows without a radix sort.
const SHORT: u64 = 512;

/// The division of a sort into tiles and launches.
pub(crate) struct Plan {
    call: Sorting,
    /// Keys, as unsigned integers.
    key: DType,
    /// Elements as unsigned integers of their size.
    bits: DType,
    tile: u64,
    tiles: u64,
    radix: Option<Radix>,
}

/// The plan of a sort; `None` if there are no kernels for it. Kernels sort whole rows: there are none for
/// selections.
pub(crate) fn plan(sorting: &Sorting, target: &Target) -> Option<Plan> {
    if sorting.only.is_none() { Plan::of(sorting, target) } else { None }
}

impl Plan {
    pub(super) fn of(call: &Sorting, target: &Target) -> Option<Plan> {
        let bits = match call.dtype.size() {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            _ => DType::U64,
        };
        let [outer, n, inner] = call.shape;
        if n >= 1 << 31 || outer * inner * n >= 1 << 40 {
            return None;
        }
        let key = if bits == DType::U64 { DType::U64 } else { DType::U32 };
        let tile = n.next_power_of_two().clamp(2, TILE);
        // The number of groups of a launch is limited.
        if outer * inner * n.div_ceil(tile).max(n.div_ceil(MERGED * GROUP)) >= 1 << 31 {
            return None;
        }
        let radix = (target.dialect == Dialect::CudaCpp && n > SHORT)
            .then(|| Radix::of(bits, 8 * bits.size() as u32, [outer * inner, n], call.indices, target.lanes))
            .flatten();
        Some(Plan { call: call.clone(), key, bits, tile, tiles: n.div_ceil(tile), radix })
    }

    fn rows(&self) -> u64 {
        self.call.shape[0] * self.call.shape[2]
    }

    /// Bytes of all keys, and of all positions, each a part of scratch memory.
    fn sizes(&self) -> [u64; 2] {
        let elements = self.rows() * self.call.shape[1];
        [aligned(elements * self.key.size() as u64), aligned(elements * 4)]
    }

    pub(crate) fn scratch(&self) -> u64 {
        if let Some(radix) = &self.radix {
            return radix.scratch();
        }
        if self.tiles > 1 { 2 * self.sizes().iter().sum::<u64>() } else { 0 }
    }

    /// The same sort for keys below `2^bits`.
    pub(super) fn narrowed(mut self, bits: u32) -> Plan {
        self.radix = self.radix.map(|radix| radix.narrowed(bits));
        self
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let s = &self.call;
        let [outer, n, inner] = s.shape;
        let mut writer = Writer::new(target, false);
        let count = outer * s.kept * inner;
        if count == 0 || n == 0 {
            return writer.finish("", 0);
        }
        let mut outputs = Vec::new();
        if s.values {
            outputs.push((self.bits, Part::whole(1, count * self.bits.size() as u64, true)));
        }
        if s.indices {
            let at = 1 + usize::from(s.values);
            outputs.push((DType::I64, Part::whole(at, count * 8, true)));
        }
        let arg = 1 + outputs.len();
        let source = (self.bits, Part::whole(0, outer * n * inner * self.bits.size() as u64, false));
        let helpers = self.launches(&mut writer, source, outputs, (arg, 0));
        writer.finish(&helpers, self.scratch())
    }

    /// Adds the launches, and returns the text before their kernels. Scratch memory is an argument, from some
    /// byte on.
    pub(super) fn launches(
        &self,
        writer: &mut Writer,
        source: (DType, Part),
        outputs: Vec<(DType, Part)>,
        (arg, start): (usize, u64),
    ) -> String {
        let (n, dialect) = (self.call.shape[1], writer.target.dialect);
        if let Some(radix) = &self.radix {
            let load = |first: usize| format!("b{first}[{}]", self.place(n, "at"));
            let store = |first: usize| self.result(dialect, first, "at", "x");
            let (source, sink) =
                (End { operands: vec![source], text: &load }, End { operands: outputs, text: &store });
            radix.launches(writer, &source, &sink, (arg, start));
            return radix.helpers(&self.key_text(dialect));
        }
        let [keys, positions] = self.sizes();
        let buffer = |which: u64, written: bool| {
            let offset = start + which * (keys + positions);
            [
                (self.key, Part { arg, offset, bytes: keys, written }),
                (DType::U32, Part { arg, offset: offset + keys, bytes: positions, written }),
            ]
        };
        let most = u64::from(writer.target.max_group);
        let group = (self.tile / 2).min(256).min(most);
        let mut operands = vec![source];
        let done = self.tiles == 1;
        operands.extend(if done { outputs.clone() } else { buffer(0, true).to_vec() });
        let body = self.tile_body(dialect, group, &self.put(dialect, done, 1));
        writer.kernel("tiles", self.rows() * self.tiles, group as u32, &operands, &body);
        let (mut run, mut from) = (self.tile, 0);
        while run < n {
            let done = 2 * run >= n;
            let mut operands = vec![source];
            operands.extend(buffer(from, false));
            operands.extend(if done { outputs.clone() } else { buffer(1 - from, true).to_vec() });
            let each = n.div_ceil(MERGED);
            let group = GROUP.min(most);
            let body = self.merge_body(dialect, group, run, &self.put(dialect, done, 3));
            writer.kernel("merge", (self.rows() * each).div_ceil(group), group as u32, &operands, &body);
            run *= 2;
            from = 1 - from;
        }
        let (key, function) = (self.key.short(), function(dialect));
        format!(
            "typedef {key} K;\n{function} K key_of({} x) {{\n{}}}\n",
            self.bits.short(),
            self.key_text(dialect)
        )
    }

    /// The key of an element.
    fn key_text(&self, dialect: Dialect) -> String {
        let bits = 8 * self.call.dtype.size();
        let long = if bits == 64 { format!("U{}", dialect.long()) } else { "u".into() };
        let all = u64::MAX >> (64 - bits);
        let top = 1u64 << (bits - 1);
        let mut text = "K k = x;\n".to_string();
        if self.call.dtype.is_float() {
            let infinity: u64 = match self.call.dtype {
                DType::F16 => 0x7c00,
                DType::BF16 => 0x7f80,
                DType::F32 => 0x7f80_0000,
                _ => 0x7ff0_0000_0000_0000,
            };
            let rest = all ^ top;
            text += &format!(
                "if (k == {top}{long}) k = 0;\n\
                 k = (k & {rest}{long}) > {infinity}{long} ? {all}{long} : k ^ ((k & {top}{long}) ? {all}{long} : {top}{long});\n"
            );
        } else if self.call.dtype.is_signed() {
            text += &format!("k ^= {top}{long};\n");
        }
        if self.call.descending {
            text += &format!("k = k ^ {all}{long};\n");
        }
        text + "return k;\n"
    }

    /// The index of a row's element.
    fn place(&self, extent: u64, at: &str) -> String {
        let inner = self.call.shape[2];
        format!("row / {inner}u * {}u + (u64)({at}) * {inner}u + row % {inner}u", extent * inner)
    }

    /// Stores key `k` with position `p` at `at` of the row: to the results, or to the operands from `first`
    /// on.
    fn put(&self, dialect: Dialect, done: bool, first: usize) -> String {
        let s = &self.call;
        let n = s.shape[1];
        if !done {
            let (second, at) = (first + 1, format!("row * {n}u + at"));
            return format!("b{first}[{at}] = k; b{second}[{at}] = p;");
        }
        self.result(dialect, first, "at", &format!("b0[{}]", self.place(n, "p")))
    }

    /// Stores an element, and its position `p`, to a place of the results, which are the operands from
    /// `first` on.
    fn result(&self, dialect: Dialect, first: usize, at: &str, element: &str) -> String {
        let (s, to) = (&self.call, self.place(self.call.kept, at));
        let mut text = format!("if (at < {}u) {{ ", s.kept);
        if s.values {
            text += &dialect.store(self.bits, &format!("b{first}"), &to, element);
        }
        if s.indices {
            text += &dialect.store(DType::I64, &format!("b{}", first + usize::from(s.values)), &to, "(i64)p");
        }
        text + " }"
    }

    /// A bitonic sort in group memory.
    fn tile_body(&self, dialect: Dialect, group: u64, put: &str) -> String {
        let (n, tile, tiles) = (self.call.shape[1], self.tile, self.tiles);
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let (item, number) = (dialect.item_index("u64"), dialect.group_index("u64"));
        let element = self.place(n, "first + i");
        format!(
            "{local} K keys[{tile}];\n{local} u32 positions[{tile}];\n\
             const u64 number = {number};\nconst u32 item = (u32)({item});\n\
             const u64 row = number / {tiles}u, first = number % {tiles}u * {tile}u;\n\
             for (u32 i = item; i < {tile}u; i += {group}u) {{\n\
             const int inside = first + i < {n}u;\n\
             keys[i] = inside ? key_of(b0[inside ? {element} : 0]) : ~(K)0;\n\
             positions[i] = inside ? (u32)(first + i) : 0xffffffffu;\n}}\n{barrier}\n\
             for (u32 size = 2; size <= {tile}u; size *= 2) {{\n\
             for (u32 step = size / 2; step > 0; step /= 2) {{\n\
             for (u32 i = item; i < {tile}u / 2; i += {group}u) {{\n\
             const u32 a = i / step * 2 * step + i % step, b = a + step;\n\
             const K ka = keys[a], kb = keys[b];\nconst u32 pa = positions[a], pb = positions[b];\n\
             const int after = ka > kb || (ka == kb && pa > pb);\n\
             if (after == ((a & size) == 0)) {{ keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }}\n}}\n{barrier}\n}}\n}}\n\
             for (u32 i = item; i < {tile}u; i += {group}u) {{\n\
             const u64 at = first + i;\nif (at < {n}u) {{ const K k = keys[i]; const u32 p = positions[i]; (void)k; {put} }}\n}}\n"
        )
    }

    /// A merge: each item finds the start of its results in both runs, and merges from there.
    fn merge_body(&self, dialect: Dialect, group: u64, run: u64, put: &str) -> String {
        let n = self.call.shape[1];
        let each = n.div_ceil(MERGED);
        let (item, number) = (dialect.item_index("u64"), dialect.group_index("u64"));
        format!(
            "const u64 number = {number} * {group}u + {item};\nif (number >= {total}u) return;\n\
             const u64 row = number / {each}u;\nconst u32 start = (u32)(number % {each}u) * {MERGED}u;\n\
             const u32 base = (u32)(start / {run2}u * {run2}u);\n\
             const u32 middle = base + {run}u < {n}u ? base + {run}u : {n}u;\n\
             const u32 end = {n}u - base < {run2}u ? {n}u : base + (u32){run2}u;\n\
             const u64 here = row * {n}u;\n\
             const u32 left = middle - base, right = end - middle, skip = start - base;\n\
             u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;\n\
             while (low < high) {{\n\
             const u32 mid = (low + high) / 2;\n\
             if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;\n}}\n\
             u32 a = base + low, b = middle + (skip - low);\n\
             const u32 stop = {n}u - start < {MERGED}u ? {n}u : start + {MERGED}u;\n\
             K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;\n\
             for (u32 at = start; at < stop; at++) {{\n\
             const int first = a < middle && (b >= end || ka <= kb);\n\
             const K k = first ? ka : kb;\nconst u32 p = b2[here + (first ? a : b)];\n(void)k;\n{put}\n\
             if (first) {{ a++; ka = a < middle ? b1[here + a] : 0; }} else {{ b++; kb = b < end ? b1[here + b] : 0; }}\n}}\n",
            total = self.rows() * each,
            run2 = 2 * run,
        )
    }
}
