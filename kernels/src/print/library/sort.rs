//! Sorts as kernels: a network for short rows on GPUs ([`super::network`]), a selection for a few of long
//! rows ([`super::select`]), a radix sort for long rows on CUDA ([`super::radix`]), else a merge sort: groups
//! sort tiles in their memory, and items merge runs, twice as long each time. Networks and merges compare
//! unsigned keys, and positions if keys are equal, so they are stable.

mod keys;

use super::network;
use super::radix::{ElementAccess, Radix};
use super::select::SelectPlan;
use super::{
    OperandPart, Routine, RoutineKernel, RoutineWriter, Size, aligned, index_type, moved_as, size32,
};
use crate::dtype::DType;
use crate::library::Sorting;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

/// Capacities of the groups that sort tiles, in elements. Each has kernels of its own, so they are few; a
/// group of the smallest that holds a row has few idle items.
const CAPACITIES: [u64; 3] = [64, 256, 1024];
/// The capacity that processors do without: they lose little by idle items.
const FOR_GPUS: u64 = 256;
/// Maximum number of elements that a group sorts.
const TILE: u64 = 1024;
/// Elements that an item merges.
const MERGED: u64 = 8;
/// Items of a group that merges.
const GROUP: u64 = 128;
/// Maximum length of rows without a radix sort.
const SHORT: u64 = 512;

/// The division of a sort into tiles and launches.
pub(crate) struct SortPlan {
    call: Sorting,
    /// Keys, as unsigned integers.
    key: DType,
    /// Elements as unsigned integers of their size.
    bits: DType,
    /// Elements of the memory of a group that sorts a tile.
    capacity: u64,
    tile: u64,
    tiles: u64,
    radix: Option<Radix>,
    /// The length of the network that sorts a row.
    network: Option<u64>,
    select: Option<SelectPlan>,
}

/// The plan of a sort; `None` if there are no kernels for it, or if a few places are wanted and it is as well
/// to sort the whole.
pub(crate) fn plan(sorting: &Sorting, target: &Target) -> Option<SortPlan> {
    SortPlan::of(sorting, target).filter(|plan| sorting.only.is_none() || plan.select.is_some())
}

impl SortPlan {
    pub(super) fn of(call: &Sorting, target: &Target) -> Option<SortPlan> {
        let bits = moved_as(call.dtype);
        let [outer, n, inner] = call.shape;
        if n >= 1 << 31 || outer * inner * n >= 1 << 40 {
            return None;
        }
        let key = if bits == DType::U64 { DType::U64 } else { DType::U32 };
        let tile = n.next_power_of_two().clamp(2, TILE);
        let holds = |capacity: &u64| tile <= *capacity && !(target.cpu && *capacity == FOR_GPUS);
        let capacity = CAPACITIES.into_iter().find(holds)?;
        // The number of groups of a launch is limited.
        if outer * inner * n.div_ceil(tile).max(n.div_ceil(MERGED * GROUP)) >= 1 << 31 {
            return None;
        }
        let radix = (target.dialect == Dialect::CudaCpp && n > SHORT)
            .then(|| Radix::of(bits, 8 * bits.size() as u32, [outer * inner, n], call.indices, target.lanes))
            .flatten();
        let network = network::length(n, key.size() as u64).filter(|_| !target.cpu);
        let select = SelectPlan::of(call, key, target);
        let (call, tiles) = (call.clone(), n.div_ceil(tile));
        Some(SortPlan { call, key, bits, capacity, tile, tiles, radix, network, select })
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
        if let Some(select) = &self.select {
            return select.scratch();
        }
        if let Some(radix) = &self.radix {
            return radix.scratch();
        }
        if self.tiles > 1 { 2 * self.sizes().iter().sum::<u64>() } else { 0 }
    }

    /// The same sort for keys below `2^bits`.
    pub(super) fn narrowed(mut self, bits: u32) -> SortPlan {
        self.radix = self.radix.map(|radix| radix.narrowed(bits));
        self
    }

    /// The same sort of one row, which leaves the outputs as they are if the elements are in order already
    /// and the sort finds it out.
    pub(super) fn skipping(mut self) -> SortPlan {
        self.radix = self.radix.map(Radix::skipping);
        self
    }

    /// See [`Radix::disorder`].
    pub(super) fn disorder(&self, arg: usize, from: u64) -> Option<((DType, OperandPart), u64)> {
        self.radix.as_ref().and_then(|radix| radix.disorder(arg, from))
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let s = &self.call;
        let [outer, n, inner] = s.shape;
        let mut writer = RoutineWriter::new(target, false);
        let count = outer * s.kept * inner;
        if count == 0 || n == 0 {
            return writer.finish("", 0);
        }
        let mut outputs = Vec::new();
        if s.values {
            outputs.push((self.bits, OperandPart::whole(1, count * self.bits.size() as u64, true)));
        }
        if s.indices {
            let at = 1 + usize::from(s.values);
            outputs.push((DType::I64, OperandPart::whole(at, count * 8, true)));
        }
        let arg = 1 + outputs.len();
        let source = (self.bits, OperandPart::whole(0, outer * n * inner * self.bits.size() as u64, false));
        let helpers = self.launches(&mut writer, source, outputs, (arg, 0));
        writer.finish(&helpers, self.scratch())
    }

    /// Adds the launches, and returns the text before their kernels. Scratch memory is an argument, from some
    /// byte on.
    pub(super) fn launches(
        &self,
        writer: &mut RoutineWriter,
        source: (DType, OperandPart),
        outputs: Vec<(DType, OperandPart)>,
        (arg, start): (usize, u64),
    ) -> String {
        let dialect = writer.target.dialect;
        if let Some(select) = &self.select {
            let put = |first: usize| self.result(dialect, first, &format!("b0[{}]", self.element("p")));
            let (line, sizes) = (self.line(), self.sizes_of_rows());
            select.launches(writer, source, &outputs, (&line, &sizes), &put, (arg, start));
            return self.key_function(dialect);
        }
        if let Some(radix) = &self.radix {
            let load = |first: usize| format!("b{first}[{}]", self.element("at"));
            let store = |first: usize| self.result(dialect, first, "x");
            let (line, sizes) = (self.line(), self.sizes_of_rows());
            let source = ElementAccess { operands: vec![source], text: &load };
            let sink = ElementAccess { operands: outputs, text: &store };
            radix.launches(writer, &source, &sink, (&line, &sizes), (arg, start));
            return radix.helpers(&self.key_text(dialect));
        }
        let [keys, positions] = self.sizes();
        let buffer = |which: u64, written: bool| {
            let offset = start + which * (keys + positions);
            [
                (self.key, OperandPart { arg, offset, bytes: keys, written }),
                (DType::U32, OperandPart { arg, offset: offset + keys, bytes: positions, written }),
            ]
        };
        let done = self.tiles == 1;
        if let Some(length) = self.network {
            self.launch_rows(writer, &[vec![source], outputs].concat(), length);
            return self.key_function(dialect);
        }
        let sorted = if done { outputs.clone() } else { buffer(0, true).to_vec() };
        self.launch_tiles(writer, &[vec![source], sorted].concat(), done);
        if !done {
            self.launch_merges(writer, source, &outputs, buffer);
        }
        self.key_function(dialect)
    }

    /// The launch in which each item sorts a row.
    fn launch_rows(&self, writer: &mut RoutineWriter, operands: &[(DType, OperandPart)], length: u64) {
        let dialect = writer.target.dialect;
        let group = GROUP.min(writer.target.max_group.into());
        let (item, number) = (dialect.item_index("u64"), dialect.group_index("u64"));
        let mut body = format!(
            "const u64 row = {number} * {group}u + {item};\nif (row >= rows) return;\n{}",
            self.line()
        );
        // What fills up the row comes after equal keys.
        for at in 0..length {
            let element = self.element(&format!("{at}u < n ? {at}u : 0u"));
            body += &format!("K k{at} = {at}u < n ? key_of(b0[{element}]) : ~(K)0;\nu32 p{at} = {at}u;\n");
        }
        body += &network::text(length);
        for at in 0..length {
            let put = self.put(dialect, true, 1);
            body += &format!("{{ const u32 at = {at}u, p = p{at};\nif (at < n) {{ {put} }} }}\n");
        }
        let mut sizes = self.sizes_of_rows();
        sizes.push(super::size64("rows", self.rows()));
        let kernel = RoutineKernel { name: "rows", group, operands, sizes: &sizes, body: &body };
        writer.launch(self.rows().div_ceil(group), &kernel);
    }

    /// The launch in which each group sorts a tile.
    fn launch_tiles(&self, writer: &mut RoutineWriter, operands: &[(DType, OperandPart)], done: bool) {
        let dialect = writer.target.dialect;
        let group = (self.capacity / 2).min(256).min(writer.target.max_group.into());
        let mut sizes = self.sizes_of_rows();
        sizes.extend([size32("length", self.tile), size32("tiles", self.tiles)]);
        let body = self.tile_body(dialect, group, &self.put(dialect, done, 1));
        let kernel = RoutineKernel { name: "tiles", group, operands, sizes: &sizes, body: &body };
        writer.launch(self.rows() * self.tiles, &kernel);
    }

    /// The launches that merge runs, from one buffer to the other, and at last to the outputs. Rows of two
    /// tiles have no merge from buffer to buffer, whose kernel is in the text nonetheless.
    fn launch_merges(
        &self,
        writer: &mut RoutineWriter,
        source: (DType, OperandPart),
        outputs: &[(DType, OperandPart)],
        buffer: impl Fn(u64, bool) -> [(DType, OperandPart); 2],
    ) {
        let (n, dialect) = (self.call.shape[1], writer.target.dialect);
        let group = GROUP.min(writer.target.max_group.into());
        let each = n.div_ceil(MERGED);
        let index = index_type(self.rows() * each);
        let bodies =
            [false, true].map(|done| self.merge_body(dialect, group, index, &self.put(dialect, done, 3)));
        let (mut run, mut from) = (self.tile, 0);
        loop {
            let done = 2 * run >= n;
            let mut sizes = self.sizes_of_rows();
            sizes.push(("items", Scalar::from_i128(index, (self.rows() * each).into())));
            sizes.extend([size32("each", each), size32("run", run)]);
            let read = [vec![source], buffer(from, false).to_vec()].concat();
            let passed = [&read[..], &buffer(1 - from, true)].concat();
            let finished = [&read[..], outputs].concat();
            let pass =
                RoutineKernel { name: "merge", group, operands: &passed, sizes: &sizes, body: &bodies[0] };
            let last = RoutineKernel { operands: &finished, body: &bodies[1], ..pass };
            writer.define(&pass);
            let groups = (self.rows() * each).div_ceil(group);
            writer.launch(groups, if done { &last } else { &pass });
            if done {
                return;
            }
            run *= 2;
            from = 1 - from;
        }
    }

    /// Whether elements of a row are not neighbours.
    fn is_strided(&self) -> bool {
        self.call.shape[2] > 1
    }

    /// The arguments that say where rows lie: their length, that of rows of results, the distance of
    /// elements.
    fn sizes_of_rows(&self) -> Vec<Size> {
        let [_, n, inner] = self.call.shape;
        let mut sizes = vec![size32("n", n), size32("kept", self.call.kept)];
        sizes.extend(self.is_strided().then(|| size32("inner", inner)));
        sizes
    }

    /// Declares where row `row` and its results begin.
    fn line(&self) -> String {
        if !self.is_strided() {
            return "const u64 line = row * n, results = row * kept;\n".into();
        }
        "const u64 before = (u32)row / inner * (u64)inner, column = (u32)row % inner;\n\
         const u64 line = before * n + column, results = before * kept + column;\n"
            .into()
    }

    /// The index of an element of the row.
    fn element(&self, at: &str) -> String {
        if self.is_strided() { format!("line + (u64)({at}) * inner") } else { format!("line + ({at})") }
    }

    /// Stores key `k` with position `p` at `at` of the row: to the results, or to the operands from `first`
    /// on.
    fn put(&self, dialect: Dialect, done: bool, first: usize) -> String {
        if !done {
            return format!("b{first}[row * n + at] = k; b{}[row * n + at] = p;", first + 1);
        }
        self.result(dialect, first, &format!("b0[{}]", self.element("p")))
    }

    /// Stores an element, and its position `p`, to place `at` of the results, which are the operands from
    /// `first` on.
    fn result(&self, dialect: Dialect, first: usize, element: &str) -> String {
        let s = &self.call;
        let to = if self.is_strided() { "results + (u64)at * inner" } else { "results + at" };
        let mut text = "if (at < kept) { ".to_string();
        if s.values {
            text += &dialect.store(self.bits, &format!("b{first}"), to, element);
        }
        if s.indices {
            text += &dialect.store(DType::I64, &format!("b{}", first + usize::from(s.values)), to, "(i64)p");
        }
        text + " }"
    }

    /// A bitonic sort of `length` elements in group memory.
    fn tile_body(&self, dialect: Dialect, group: u64, put: &str) -> String {
        let (capacity, line) = (self.capacity, self.line());
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let (item, number) = (dialect.item_index("u32"), dialect.group_index("u32"));
        let element = self.element("first + i");
        format!(
            "{local} K keys[{capacity}];\n{local} u32 positions[{capacity}];\n\
             const u32 number = {number}, item = {item};\n\
             const u64 row = number / tiles;\nconst u32 first = number % tiles * length;\n{line}\
             for (u32 i = item; i < length; i += {group}u) {{\n\
             const int inside = first + i < n;\n\
             keys[i] = inside ? key_of(b0[inside ? {element} : 0]) : ~(K)0;\n\
             positions[i] = inside ? first + i : 0xffffffffu;\n}}\n{barrier}\n\
             for (u32 size = 2; size <= length; size *= 2) {{\n\
             for (u32 step = size / 2; step > 0; step /= 2) {{\n\
             for (u32 i = item; i < length / 2; i += {group}u) {{\n\
             const u32 a = 2 * i - (i & (step - 1)), b = a + step;\n\
             const K ka = keys[a], kb = keys[b];\nconst u32 pa = positions[a], pb = positions[b];\n\
             const int after = ka > kb || (ka == kb && pa > pb);\n\
             if (after == ((a & size) == 0)) {{ keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }}\n}}\n{barrier}\n}}\n}}\n\
             for (u32 i = item; i < length; i += {group}u) {{\n\
             const u32 at = first + i;\nif (at < n) {{ const K k = keys[i]; const u32 p = positions[i]; (void)k; {put} }}\n}}\n"
        )
    }

    /// A merge of runs of `run` elements: each item finds the start of its results in both runs, and merges
    /// from there. Runs are a power of two long.
    fn merge_body(&self, dialect: Dialect, group: u64, index: DType, put: &str) -> String {
        let (index, line) = (index.short(), self.line());
        let (item, number) = (dialect.item_index(index), dialect.group_index(index));
        format!(
            "const {index} number = {number} * {group}u + {item};\nif (number >= items) return;\n\
             const u64 row = number / each;\nconst u32 start = (u32)(number % each) * {MERGED}u;\n{line}\
             const u32 base = start & ~(2 * run - 1);\n\
             const u32 middle = base + run < n ? base + run : n;\n\
             const u32 end = n - base < 2 * run ? n : base + 2 * run;\n\
             const u64 here = row * n;\n\
             const u32 left = middle - base, right = end - middle, skip = start - base;\n\
             u32 low = skip > right ? skip - right : 0, high = skip < left ? skip : left;\n\
             while (low < high) {{\n\
             const u32 mid = (low + high) / 2;\n\
             if (b1[here + base + mid] <= b1[here + middle + (skip - 1 - mid)]) low = mid + 1; else high = mid;\n}}\n\
             u32 a = base + low, b = middle + (skip - low);\n\
             const u32 stop = n - start < {MERGED}u ? n : start + {MERGED}u;\n\
             K ka = a < middle ? b1[here + a] : 0, kb = b < end ? b1[here + b] : 0;\n\
             for (u32 at = start; at < stop; at++) {{\n\
             const int first = a < middle && (b >= end || ka <= kb);\n\
             const K k = first ? ka : kb;\nconst u32 p = b2[here + (first ? a : b)];\n(void)k;\n{put}\n\
             if (first) {{ a++; ka = a < middle ? b1[here + a] : 0; }} else {{ b++; kb = b < end ? b1[here + b] : 0; }}\n}}\n"
        )
    }
}
