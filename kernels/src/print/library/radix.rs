//! Radix sorts for CUDA: rows that fit a group's memory in one launch, longer ones a tile at a time, a launch
//! for each digit.
//!
//! A pass over tiles reads and writes each element once: it finds the digit counts of the preceding tiles by
//! decoupled look-back (D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled
//! look-back", 2016; A. Adinets and D. Merrill, "Onesweep", 2022). Counts are integers, so results do not
//! depend on timing. The device functions are in `radix.cu`.

use super::{OperandPart, RoutineKernel, RoutineWriter, Size, aligned, size32, size64};
use crate::dtype::DType;

const FUNCTIONS: &str = include_str!("radix.cu");
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

/// The source or the sink of elements: operands, and text that uses them as `b{first}` and so on.
pub(super) struct ElementAccess<'a> {
    pub(super) operands: Vec<(DType, OperandPart)>,
    /// Takes the number of the first operand. The text of a source is the element at `at` of `row`; the text
    /// of a sink is statements that store `x`, whose position was `p`, at `at` of `row`.
    pub(super) text: &'a dyn Fn(usize) -> String,
}

/// The scratch memory of a sort in tiles.
struct RadixScratch {
    /// Elements, and their positions if these are sorted too. A pass reads one buffer and writes the other.
    buffers: [Vec<(DType, OperandPart)>; 2],
    /// Digit counts for each row and pass, a tile counter for each pass, and a word for disorder.
    counts: (DType, OperandPart),
    /// A word for each digit of each tile, for the look-back. A pass uses one array and clears the other.
    lookback: [(DType, OperandPart); 2],
}

impl RadixScratch {
    fn buffer(&self, which: usize, written: bool) -> Vec<(DType, OperandPart)> {
        self.buffers[which].iter().map(|&(dtype, part)| (dtype, part.written(written))).collect()
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
    pub(super) fn disorder(&self, arg: usize, from: u64) -> Option<((DType, OperandPart), u64)> {
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

    /// Text that stands before the kernels; `key` is the body of `key_of`, whose argument is `x`.
    pub(super) fn helpers(&self, key: &str) -> String {
        let element = self.element.short();
        let of_key = if self.element == DType::U64 { "u64" } else { "u32" };
        format!(
            "typedef {element} K;\nenum {{ GROUP = {}, ITEMS = {} }};\n\
             static __device__ __forceinline__ {of_key} key_of(K x) {{\n{key}}}\n{FUNCTIONS}",
            self.group, self.items
        )
    }

    /// The launches; scratch memory is argument `scratch`, from byte `from` on. `line` declares what the
    /// texts of the ends use, once `row` is known, with the sizes `of_rows`, of which `n` is one.
    pub(super) fn launches(
        &self,
        writer: &mut RoutineWriter,
        source: &ElementAccess,
        sink: &ElementAccess,
        (line, of_rows): (&str, &[Size]),
        (scratch, from): (usize, u64),
    ) {
        let group = self.group;
        if self.alone() {
            let operands = [&source.operands[..], &sink.operands].concat();
            let body = self.row(line, &(source.text)(0), &(sink.text)(source.operands.len()));
            let kernel =
                RoutineKernel { name: "rows", group, operands: &operands, sizes: of_rows, body: &body };
            return writer.launch(self.rows, &kernel);
        }
        let scratch = self.divide_scratch(scratch, from);
        self.launch_clear(writer, &scratch);
        let operands = [&source.operands[..], &[scratch.counts]].concat();
        let blocks = self.n.div_ceil(group * self.items).min(COUNTING.div_ceil(self.rows)).max(1);
        let sizes = [of_rows, &[size32("blocks", blocks)], &self.disorder_size()[..]].concat();
        let body = self.count(line, &(source.text)(0), source.operands.len());
        let kernel = RoutineKernel { name: "count", group, operands: &operands, sizes: &sizes, body: &body };
        writer.launch(self.rows * blocks, &kernel);
        for pass in 0..self.passes() {
            self.launch_pass(writer, pass, source, sink, (line, of_rows), &scratch);
        }
    }

    /// The launch that clears the counts and the first array of look-back words.
    fn launch_clear(&self, writer: &mut RoutineWriter, scratch: &RadixScratch) {
        let operands = [scratch.counts, scratch.lookback[0]];
        let [counts, lookback] = operands.map(|(_, part)| part.bytes / 4);
        let body = "const u64 at = (u64)blockIdx.x * 256u + threadIdx.x;\n\
                    if (at < counts) b0[at] = 0u;\nif (at < lookback) b1[at] = 0u;\n";
        let sizes = [size64("counts", counts), size64("lookback", lookback)];
        let kernel = RoutineKernel { name: "clear", group: 256, operands: &operands, sizes: &sizes, body };
        writer.launch(counts.max(lookback).div_ceil(256), &kernel);
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
        source: &ElementAccess,
        sink: &ElementAccess,
        (line, of_rows): (&str, &[Size]),
        scratch: &RadixScratch,
    ) {
        let (first, last) = (pass == 0, pass + 1 == self.passes());
        let own = pass as usize % 2;
        let mut operands = if first { source.operands.clone() } else { scratch.buffer(1 - own, false) };
        let counts = operands.len();
        operands.extend([scratch.counts, scratch.lookback[own], scratch.lookback[1 - own]]);
        let target = operands.len();
        operands.extend(if last { sink.operands.clone() } else { scratch.buffer(own, true) });
        let load = if first { (source.text)(0) } else { "b0[row * n + at]".into() };
        let position = if first || !self.positions { "at" } else { "b1[row * n + at]" };
        let store = if last {
            (sink.text)(target)
        } else {
            let second = format!(" b{}[row * n + at] = p;", target + 1);
            format!("b{target}[row * n + at] = x;{}", if self.positions { &second } else { "" })
        };
        let counters = self.rows * self.passes() * DIGITS;
        let own_sizes =
            [size32("tiles", self.tiles()), size32("pass", pass), size64("counter", counters + pass)];
        let sizes = [of_rows, &own_sizes, &self.disorder_size()[..]].concat();
        let body = self.pass(counts, line, &load, position, &store);
        let kernel = RoutineKernel {
            name: "pass",
            group: self.group,
            operands: &operands,
            sizes: &sizes,
            body: &body,
        };
        writer.launch(self.rows * self.tiles(), &kernel);
    }

    /// The body of the kernel in which each group sorts a row.
    fn row(&self, line: &str, load: &str, store: &str) -> String {
        let (top, positions) = (self.passes() * u64::from(DIGIT), self.positions);
        let moved = if positions && self.element.size() < 4 { "u32" } else { "K" };
        let with = |text: &str| if positions { text.to_string() } else { String::new() };
        format!(
            "__shared__ Counts counts;\n__shared__ u32 sums[8];\n__shared__ {moved} memory[TILE];\n\
             const u64 row = blockIdx.x;\nconst u32 item = threadIdx.x;\n{line}K own[ITEMS];\n{}\
             #pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\n\
             const u32 at = first_of(item) + i * 32u;\nown[i] = at < n ? {load} : (K)0;\n{}}}\n\
             #pragma unroll 1\nfor (u32 shift = 0; shift < {top}u; shift += {DIGIT}u) {{\n\
             u32 digit[ITEMS], place[ITEMS], total;\ndigits_of(own, digit, item, n, shift);\n\
             rank(digit, place, item, counts);\nsettle(item, counts, sums, total);\n\
             move(own, digit, place, item, counts, (K*)memory);\nfetch(own, item, (K*)memory);\n{}}}\n\
             #pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\n\
             const u32 at = first_of(item) + i * 32u;\nconst K x = own[i];\n{}if (at < n) {{ {store} }}\n}}\n",
            with("u32 position[ITEMS];\n"),
            with("position[i] = at;\n"),
            with(
                "move(position, digit, place, item, counts, (u32*)memory);\nfetch(position, item, (u32*)memory);\n"
            ),
            with("const u32 p = position[i];\n"),
        )
    }

    /// The body of the kernel that counts the elements of each row that have each digit, in `blocks` groups
    /// for each row.
    fn count(&self, line: &str, load: &str, counts: usize) -> String {
        let passes = self.passes();
        // Neighbours often have the same digit: `parts` counters for each digit reduce contention.
        let parts = if passes > 4 { 2 } else { 4 };
        let (begin, compare, note) = match self.skips {
            true => (
                "int falls = 0;\n".to_string(),
                format!(
                    "if (!falls) {{\nconst u32 here = at;\nconst u32 at = here + 1u < n ? here + 1u : here;\n\
                     falls |= key_of(x) > key_of({load});\n}}\n"
                ),
                format!("if (__syncthreads_or(falls) && item == 0u) b{counts}[disorder] = 1u;\n"),
            ),
            false => Default::default(),
        };
        format!(
            "__shared__ u32 bins[{passes}][DIGITS][{parts}];\nconst u32 item = threadIdx.x;\n\
             const u64 row = blockIdx.x / blocks;\n{line}\
             for (u32 i = item; i < {passes}u * DIGITS * {parts}u; i += GROUP) (&bins[0][0][0])[i] = 0u;\n__syncthreads();\n\
             {begin}#pragma unroll 8\nfor (u32 at = blockIdx.x % blocks * GROUP + item; at < n; at += blocks * GROUP) {{\n\
             const K x = {load};\n#pragma unroll\n\
             for (u32 pass = 0; pass < {passes}u; pass++) atomicAdd(&bins[pass][digit_of(x, pass * {DIGIT}u)][item % {parts}u], 1u);\n{compare}}}\n{note}\
             __syncthreads();\nfor (u32 i = item; i < {passes}u * DIGITS; i += GROUP) {{\nu32 sum = 0u;\n\
             for (u32 part = 0; part < {parts}u; part++) sum += bins[i / DIGITS][i % DIGITS][part];\n\
             if (sum > 0u) atomicAdd(&b{counts}[row * {} + i], sum);\n}}\n",
            passes * DIGITS,
        )
    }

    /// The body of the kernel in which each group sorts a tile by digit `pass`. `counts` is the number of the
    /// counts' operand; the two look-back arrays follow it.
    fn pass(&self, counts: usize, line: &str, load: &str, position: &str, store: &str) -> String {
        let (passes, positions) = (self.passes(), self.positions);
        let moved = if positions && self.element.size() < 4 { "u32" } else { "K" };
        let with = |text: &str| if positions { text.to_string() } else { String::new() };
        // Loaded while the tile's number is.
        let (ask, skip) = match self.skips {
            true => (
                format!("const u32 disordered = b{counts}[disorder];\n"),
                "if (disordered == 0u) return;\n".to_string(),
            ),
            false => Default::default(),
        };
        let (lookback, other) = (counts + 1, counts + 2);
        let puts = if positions {
            format!(
                "K xs[ITEMS];\n#pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\n\
                 const u32 j = i * GROUP + item;\nxs[i] = ((K*)memory)[j];\n\
                 to[i] = bases[j < here ? digit_of(xs[i], shift) : 0u] + j;\n}}\n__syncthreads();\n\
                 move(position, digit, place, item, counts, (u32*)memory);\n\
                 #pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\nconst u32 j = i * GROUP + item, at = to[i];\n\
                 const K x = xs[i];\nconst u32 p = ((u32*)memory)[j];\nif (j < here) {{ {store} }}\n}}\n"
            )
        } else {
            format!(
                "#pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\nconst u32 j = i * GROUP + item;\nif (j < here) {{\n\
                 const K x = ((K*)memory)[j];\nconst u32 at = bases[digit_of(x, shift)] + j;\n{store}\n}}\n}}\n"
            )
        };
        format!(
            "__shared__ Counts counts;\n__shared__ u32 sums[8], bases[DIGITS], numbered;\n__shared__ {moved} memory[TILE];\n\
             const u32 item = threadIdx.x, shift = pass * {DIGIT}u;\n{ask}\
             if (item == 0u) numbered = atomicAdd(&b{counts}[counter], 1u);\n__syncthreads();\n{skip}\
             const u32 number = numbered, tile = number % tiles;\nconst u64 row = number / tiles;\n{line}\
             const u32 start = tile * TILE, here = n - start < TILE ? n - start : TILE;\n\
             if (item < DIGITS) b{other}[(u64)number * DIGITS + item] = 0u;\n\
             K own[ITEMS];\n{}\
             #pragma unroll\nfor (u32 i = 0; i < ITEMS; i++) {{\n\
             const u32 at = start + first_of(item) + i * 32u;\nown[i] = at < n ? {load} : (K)0;\n{}}}\n\
             u32 digit[ITEMS], place[ITEMS], total;\n{}digits_of(own, digit, item, here, shift);\n\
             rank(digit, place, item, counts);\nconst u32 begins = settle(item, counts, sums, total);\n\
             move(own, digit, place, item, counts, (K*)memory);\n\
             const u32 before = item < DIGITS ? look_back(&b{lookback}[(u64)number * DIGITS + item], tile, total) : 0u;\n\
             const u32 base = sum_before(item < DIGITS ? b{counts}[(row * {passes}u + pass) * DIGITS + item] : 0u, item, sums);\n\
             if (item < DIGITS) bases[item] = base + before - begins;\n__syncthreads();\n{puts}",
            with("u32 position[ITEMS];\n"),
            with(&format!("position[i] = at < n ? {position} : 0u;\n")),
            with("u32 to[ITEMS];\n"),
        )
    }
}
