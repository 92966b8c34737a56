//! Radix sorts for CUDA: rows that fit a group's memory in one launch, longer ones a tile at a time, a launch
//! for each digit.
//!
//! A pass over tiles reads and writes each element once: it finds the digit counts of the preceding tiles by
//! decoupled look-back (D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
//! look-back", 2016; A. Adinets and D. Merrill, "Onesweep", 2022). Counts are integers, so results do not
//! depend on timing.

use super::{
    KernelTemplate, NamedPart, OperandPart, RoutineWriter, Size, TypedPart, aligned, clear_text, fill,
    size32, size64,
};
use crate::dtype::DType;
use std::fmt::Display;

/// Maximum number of elements of an item.
const ITEMS: u64 = 16;
/// Numbers of elements of an item. Each has kernels of its own, so they are few.
const ITEM_CLASSES: [u64; 4] = [4, 8, 12, ITEMS];
/// Minimum number of elements of an item, where a row is cut into tiles.
const FEWEST: u64 = 4;
/// Bits of a digit.
const DIGIT: u32 = 8;
const DIGITS: u64 = 1 << DIGIT;
/// Sizes of a group that sorts a whole row.
const ROW_GROUPS: [u64; 2] = [256, 512];
/// Size of a group that sorts a tile.
const TILE_GROUP: u64 = 384;
/// Bytes of a group's memory for elements.
const MOVED: u64 = 28 << 10;
/// Fewest elements of a row that may be in order already.
const WORTH_ASKING: u64 = 1 << 15;
/// Maximum number of groups of the counting launch, for all rows together.
const COUNTING: u64 = 528;

/// A sort of rows of elements by some bits of their keys. With `positions`, the position of each element in
/// its row is moved along with the element.
#[derive(Clone, Debug)]
pub(super) struct Radix {
    /// Elements, as unsigned integers of their size.
    element: DType,
    /// Significant bits of keys.
    bits: u32,
    rows: u64,
    n: u64,
    positions: bool,
    group: u64,
    items: u64,
    /// Whether the passes do nothing if the keys are in order already: then readers take the source.
    skips: bool,
}

/// The scratch memory of a sort in tiles.
struct RadixScratch {
    /// Elements, and their positions if these are sorted too. A pass reads one buffer and writes the other.
    buffers: [Vec<TypedPart>; 2],
    /// Digit counts for each row and pass, a tile counter for each pass, and a word for disorder.
    counts: TypedPart,
    /// A word for each digit of each tile, for the look-back. A pass uses one array and clears the other.
    lookback: [TypedPart; 2],
}

impl RadixScratch {
    fn buffer(&self, which: usize, written: bool) -> Vec<NamedPart<'static>> {
        let names =
            if written { ["to_elements", "to_positions"] } else { ["from_elements", "from_positions"] };
        let parts = self.buffers[which].iter().map(|&(dtype, part)| (dtype, part.written(written)));
        names.into_iter().zip(parts).collect()
    }
}

impl Radix {
    /// `None` if a row is too long to be counted in 30 bits, if there are no rows, or if there are too many
    /// tiles.
    ///
    /// Tiles are small enough to occupy most of the device's `lanes`, if there are enough elements.
    pub(super) fn of(
        element: DType,
        bits: u32,
        [rows, n]: [u64; 2],
        positions: bool,
        lanes: u64,
    ) -> Option<Radix> {
        let size = element.size() as u64;
        if n >= 1 << 30 || rows == 0 {
            return None;
        }
        let most = |group: u64| ITEMS.min(MOVED / size.max(4) / group);
        let alone = ROW_GROUPS.into_iter().find(|&group| n <= group * most(group));
        let group = alone.unwrap_or(TILE_GROUP);
        let least = if alone.is_some() { 1 } else { FEWEST };
        let wanted = if alone.is_some() { 1 } else { lanes / (4 * group * rows) };
        let tiles = n.div_ceil(group * most(group)).max(wanted).max(1);
        let items = n.div_ceil(tiles * group).clamp(least.min(most(group)), most(group)).max(1);
        let class = ITEM_CLASSES.into_iter().find(|class| items <= *class);
        let items = class.unwrap_or(ITEMS).min(most(group)).max(1);
        (rows * tiles < 1 << 31).then_some(Radix {
            element,
            bits,
            rows,
            n,
            positions,
            group,
            items,
            skips: false,
        })
    }

    /// The same sort for keys below `2^bits`.
    pub(super) fn narrowed(self, bits: u32) -> Radix {
        Radix { bits: bits.min(self.bits), ..self }
    }

    /// The same sort of one row, which leaves the sink as it is if the keys are in order already. Short rows
    /// are sorted in little more time than it takes to find that out.
    pub(super) fn skipping(self) -> Radix {
        Radix { skips: self.rows == 1 && !self.alone() && self.n >= WORTH_ASKING, ..self }
    }

    /// Where the scratch memory, which is argument `arg` from byte `from` on, has the word that is 0 if the
    /// keys are in order already: the array and the position in it. None if that is not found out.
    pub(super) fn disorder(&self, arg: usize, from: u64) -> Option<(TypedPart, u64)> {
        let counts = self.divide_scratch(arg, from).counts;
        self.skips.then(|| ((counts.0, counts.1.written(false)), self.disorder_at()))
    }

    /// The argument of kernels that ask whether keys are in order.
    fn disorder_size(&self) -> Vec<Size> {
        if self.skips { vec![size64("disorder", self.disorder_at())] } else { vec![] }
    }

    fn disorder_at(&self) -> u64 {
        self.rows * self.passes() * DIGITS + self.passes()
    }

    fn tiles(&self) -> u64 {
        self.n.div_ceil(self.group * self.items).max(1)
    }

    fn alone(&self) -> bool {
        self.tiles() == 1
    }

    fn passes(&self) -> u64 {
        u64::from(self.bits.div_ceil(DIGIT)).max(1)
    }

    /// Sizes in bytes of the elements, the positions, the counts with the tile counters, and the look-back
    /// words.
    fn sizes(&self) -> [u64; 4] {
        let elements = self.rows * self.n;
        let positions = if self.positions { aligned(elements * 4) } else { 0 };
        [
            aligned(elements * self.element.size() as u64),
            positions,
            aligned(4 * (self.disorder_at() + 1)),
            aligned(4 * self.rows * self.tiles() * DIGITS),
        ]
    }

    pub(super) fn scratch(&self) -> u64 {
        let [elements, positions, counts, lookback] = self.sizes();
        if self.alone() { 0 } else { 2 * (elements + positions) + counts + 2 * lookback }
    }

    /// Functions of the kernels.
    pub(super) fn helpers(&self) -> String {
        let sizes = format!("enum {{ GROUP = {}, ITEMS = {} }};\n", self.group, self.items);
        sizes + include_str!("radix/functions.cu")
    }

    /// The launches, for sizes `of_rows`; scratch memory is argument `scratch`, from byte `from` on.
    pub(super) fn launches(
        &self,
        writer: &mut RoutineWriter,
        source: NamedPart<'static>,
        outputs: &[NamedPart<'static>],
        of_rows: &[Size],
        (scratch, from): (usize, u64),
    ) {
        let group = self.group;
        if self.alone() {
            let operands = &[&[source], outputs].concat();
            let text = &self.text(include_str!("radix/row.cu"), &[]);
            return writer
                .add(self.rows, &KernelTemplate { name: "rows", group, operands, sizes: of_rows, text });
        }
        let scratch = self.divide_scratch(scratch, from);
        self.launch_clear(writer, &scratch);
        let operands = &[source, ("totals", scratch.counts)];
        let blocks = self.n.div_ceil(group * self.items).min(COUNTING.div_ceil(self.rows)).max(1);
        let sizes = &[of_rows, &[size32("blocks", blocks)], &self.disorder_size()[..]].concat();
        let parts = if self.passes() > 4 { 2 } else { 4 };
        let text = &self.text(include_str!("radix/count.cu"), &[("parts", &parts)]);
        writer.add(self.rows * blocks, &KernelTemplate { name: "count", group, operands, sizes, text });
        for pass in 0..self.passes() {
            self.launch_pass(writer, pass, source, outputs, of_rows, &scratch);
        }
    }

    /// A file with what is the same in all of them, and these words, filled in.
    fn text(&self, file: &str, words: &[(&str, &dyn Display)]) -> String {
        let own: [(&str, &dyn Display); 6] = [
            ("moved", &if self.positions && self.element.size() < 4 { "u32" } else { "K" }),
            ("positions", &u8::from(self.positions)),
            ("skips", &u8::from(self.skips)),
            ("passes", &self.passes()),
            ("digit", &DIGIT),
            ("top", &(self.passes() * u64::from(DIGIT))),
        ];
        fill(&fill(file, words), &own)
    }

    /// The launch that clears the counts and the first array of look-back words.
    fn launch_clear(&self, writer: &mut RoutineWriter, scratch: &RadixScratch) {
        let operands = [("totals", scratch.counts), ("said", scratch.lookback[0])];
        let [counts, words] = operands.map(|(_, (_, part))| part.bytes / 4);
        let text = &clear_text("u64", "if (id < counts) totals[id] = 0;\n    if (id < words) said[id] = 0;");
        let sizes = [size64("counts", counts), size64("words", words)];
        let kernel = KernelTemplate { name: "clear", group: 256, operands: &operands, sizes: &sizes, text };
        writer.add(counts.max(words).div_ceil(256), &kernel);
    }

    /// The parts of scratch memory, which is argument `arg`, from byte `from` on.
    fn divide_scratch(&self, arg: usize, from: u64) -> RadixScratch {
        let [elements, positions, counts, lookback] = self.sizes();
        let part = |at: u64, bytes: u64| OperandPart { arg, offset: from + at, bytes, written: true };
        let buffer = |which: u64| {
            let at = which * (elements + positions);
            let mut parts = vec![(self.element, part(at, elements))];
            if self.positions {
                parts.push((DType::U32, part(at + elements, positions)));
            }
            parts
        };
        let held = 2 * (elements + positions);
        RadixScratch {
            buffers: [buffer(0), buffer(1)],
            counts: (DType::U32, part(held, counts)),
            lookback: [0, 1].map(|which| (DType::U32, part(held + counts + which * lookback, lookback))),
        }
    }

    /// The launch that sorts by one digit. Passes from buffer to buffer share a kernel.
    fn launch_pass(
        &self,
        writer: &mut RoutineWriter,
        pass: u64,
        source: NamedPart<'static>,
        outputs: &[NamedPart<'static>],
        of_rows: &[Size],
        scratch: &RadixScratch,
    ) {
        let (first, last) = (pass == 0, pass + 1 == self.passes());
        let own = pass as usize % 2;
        let from = if first { vec![source] } else { scratch.buffer(1 - own, false) };
        let words = [("said", scratch.lookback[own]), ("next_said", scratch.lookback[1 - own])];
        let to = if last { outputs.to_vec() } else { scratch.buffer(own, true) };
        let operands = &[&from[..], &[("totals", scratch.counts)], &words, &to].concat();
        let counters = self.rows * self.passes() * DIGITS;
        let own_sizes =
            [size32("tiles", self.tiles()), size32("pass", pass), size64("counter", counters + pass)];
        let sizes = &[of_rows, &own_sizes, &self.disorder_size()[..]].concat();
        let load = if first { "source[ELEMENT(at)]" } else { "from_elements[row * n + at]" };
        let position = if first || !self.positions { "at" } else { "from_positions[row * n + at]" };
        let store = match (last, self.positions) {
            (true, _) => "STORE(at, x, p)",
            (_, true) => "to_elements[row * n + at] = x; to_positions[row * n + at] = p;",
            (_, false) => "to_elements[row * n + at] = x;",
        };
        let words: [(&str, &dyn Display); 3] = [("load", &load), ("position", &position), ("store", &store)];
        let text = &self.text(include_str!("radix/pass.cu"), &words);
        let kernel = KernelTemplate { name: "pass", group: self.group, operands, sizes, text };
        writer.add(self.rows * self.tiles(), &kernel);
    }
}
