//! The first few of long rows, and few known places of them, without a sort of the whole.
//!
//! A group counts the digits of a row's keys, from the most significant one on, and goes on among the keys
//! with the digit in which the wanted place lies, until what is left fits its memory, where it is sorted
//! (radix selection: T. Alabi et al., "Fast k-Selection Algorithms for Graphics Processing Units", 2012). The
//! digits of equal keys are those of their positions, so that the order is that of a stable sort, whatever
//! the timing. Where there are few rows, groups take the first of a part of a row each, and one more group
//! for each row those of the parts.
//!
//! Of a few first elements a bound is known sooner: each item finds the first of the elements that it loads,
//! and as many elements as are wanted come no later than that many of these. Mostly few others do, so that
//! the row is read twice and nothing is counted.

use super::{OperandPart, RoutineKernel, RoutineWriter, Size, aligned, size32};
use crate::dtype::DType;
use crate::library::Sorting;
use crate::print::{Dialect, Target};

/// Elements that a group sorts in its memory.
const CAPACITY: u64 = 2048;
/// Bits of a digit.
const DIGIT: u32 = 11;
/// Items of groups, for rows from a length on; each has kernels of its own.
const GROUPS: [(u64, u64); 2] = [(1 << 14, 512), (0, 256)];
/// Elements that an item loads before it counts them.
const AHEAD: u64 = 4;
/// The most first elements that are selected.
const MOST: u64 = 1024;
/// Shorter rows are sorted.
const SHORT: u64 = 1024;
/// Rows up to this length are sorted in the memory of a group, at the cost of a selection of one place.
const SORTED: u64 = 8192;
/// The names of the arguments that are places.
const PLACES: [&str; 4] = ["r0", "r1", "r2", "r3"];
/// A part of a row has at least this many elements, and [`SHRINKS`] times the number of elements kept of it.
const PART: u64 = 4096;
const SHRINKS: u64 = 8;

/// The division of a selection into groups.
#[derive(Clone, Debug)]
pub(super) struct SelectPlan {
    /// Keys, as unsigned integers, and their significant bits.
    key: DType,
    bits: u32,
    rows: u64,
    n: u64,
    kept: u64,
    /// The only places that are wanted; none: the first `kept`.
    places: Vec<u64>,
    /// Parts of a row.
    parts: u64,
    group: u64,
}

/// How the rows that a launch takes are loaded and where results go; the texts name operands.
struct RowAccess<'a> {
    /// Declares `row`, the number of elements `m` and what the other texts use; `v` is the group's number.
    line: &'a str,
    /// The key and the position of element `at`.
    key: &'a str,
    position: &'a str,
    /// Stores key `k` with position `p` as element `at` of the results.
    put: &'a str,
    /// Fills the slots of elements that the row lacks.
    fills: bool,
}

impl SelectPlan {
    /// `None` where a sort is as fast, or rows are not contiguous.
    pub(super) fn of(call: &Sorting, key: DType, target: &Target) -> Option<SelectPlan> {
        let [rows, n, inner] = call.shape;
        let occupies = |group: u64| target.lanes / group;
        let bytes = CAPACITY * (key.size() as u64 + 4) + 4 * (1 << DIGIT) + 4 * 1024 + 64;
        if target.cpu || inner != 1 || rows == 0 || n < SHORT || bytes > target.local_memory {
            return None;
        }
        let places = call.only.clone().unwrap_or_default();
        let pays = match &call.only {
            Some(_) => {
                !places.is_empty() && places.len() <= PLACES.len() && n > SORTED && 4 * rows >= occupies(1024)
            }
            None => call.kept <= MOST && 4 * call.kept <= n,
        };
        let most = (n / PART.max(SHRINKS * call.kept)).max(1);
        let wanted = (occupies(1024) / rows).max(1);
        let parts = if call.only.is_some() { 1 } else { wanted.min(most) };
        let length = n.div_ceil(parts);
        let parts = n.div_ceil(length);
        let largest = u64::from(target.max_group);
        let group = GROUPS.into_iter().find(|(from, items)| length >= *from && *items <= largest)?.1;
        let bits = 8 * call.dtype.size() as u32;
        pays.then_some(SelectPlan { key, bits, rows, n, kept: call.kept, places, parts, group })
    }

    /// Bytes of the keys of parts of rows, and of their positions.
    fn sizes(&self) -> [u64; 2] {
        let elements = self.rows * self.parts * self.kept;
        [aligned(elements * self.key.size() as u64), aligned(elements * 4)]
    }

    pub(super) fn scratch(&self) -> u64 {
        if self.parts > 1 { self.sizes().iter().sum() } else { 0 }
    }

    /// Adds the launches. Scratch memory is an argument, from some byte on. `line` declares where `row` lies,
    /// and `put` stores element `at` of its results to the operands from a number on.
    pub(super) fn launches(
        &self,
        writer: &mut RoutineWriter,
        source: (DType, OperandPart),
        outputs: &[(DType, OperandPart)],
        (line, of_rows): (&str, &[Size]),
        put: &dyn Fn(usize) -> String,
        (arg, start): (usize, u64),
    ) {
        let [keys, positions] = self.sizes();
        let kept = |written: bool| {
            let part = |offset: u64, bytes: u64| OperandPart { arg, offset, bytes, written };
            [(self.key, part(start, keys)), (DType::U32, part(start + keys, positions))]
        };
        let parts = format!(
            "const u64 row = v / parts;\n{line}const u32 begin = (u32)(v % parts) * length;\n\
             const u32 m = n - begin < length ? n - begin : length;\n"
        );
        let whole = self.parts == 1;
        let first = RowAccess {
            line: &parts,
            key: "key_of(b0[line + begin + at])",
            position: "(begin + at)",
            put: &if whole { put(1) } else { "b1[v * kept + at] = k; b2[v * kept + at] = p;".into() },
            fills: !whole,
        };
        let sizes = [of_rows, &self.own_sizes()].concat();
        let to = if whole { outputs.to_vec() } else { kept(true).to_vec() };
        let operands = [vec![source], to].concat();
        self.launch(writer, self.rows * self.parts, &first, &operands, &sizes);
        if !whole {
            let last = RowAccess {
                line: &format!("const u64 row = v;\n{line}const u32 m = parts * kept;\n"),
                key: "b1[row * m + at]",
                position: "b2[row * m + at]",
                put: &put(3),
                fills: false,
            };
            let operands = [&[source], &kept(false)[..], outputs].concat();
            self.launch(writer, self.rows, &last, &operands, &sizes);
        }
    }

    fn launch(
        &self,
        writer: &mut RoutineWriter,
        groups: u64,
        ends: &RowAccess<'_>,
        operands: &[(DType, OperandPart)],
        sizes: &[Size],
    ) {
        let body = self.body(writer.target.dialect, ends);
        writer.launch(
            groups,
            &RoutineKernel { name: "select", group: self.group, operands, sizes, body: &body },
        );
    }

    /// The arguments beside those of rows: how rows are divided, the bits of positions, the wanted places.
    fn own_sizes(&self) -> Vec<Size> {
        let bits = u64::BITS - self.n.leading_zeros();
        let mut sizes = vec![
            size32("parts", self.parts),
            size32("length", self.n.div_ceil(self.parts)),
            size32("position_bits", bits.into()),
        ];
        sizes.extend(PLACES.into_iter().zip(&self.places).map(|(name, &place)| size32(name, place)));
        sizes
    }

    /// The body of a kernel: for each wanted place, the elements around it.
    fn body(&self, dialect: Dialect, ends: &RowAccess<'_>) -> String {
        let (local, item) = (dialect.local(), dialect.item_index("u32"));
        let number = dialect.group_index("u64");
        let (group, bins) = (self.group, 1 << DIGIT);
        let begin = format!(
            "{local} K keys[{CAPACITY}];\n{local} u32 positions[{CAPACITY}];\n{local} u32 bins[{bins}];\n\
             {local} u32 sums[{group}];\n{local} u32 found[4];\n\
             const u32 item = {item};\nconst u64 v = {number};\n{}",
            ends.line
        );
        let around = self.narrow(dialect, ends) + &self.gather(dialect, ends, &self.is_around(ends.position));
        let sort = sort(dialect, group);
        if self.places.is_empty() {
            let (near, put) = (self.gather_near(dialect, ends), self.put_first(ends));
            return format!(
                "{begin}const u32 wanted = (kept < m ? kept : m) - 1u;\nu32 taken = m;\nint near = 0;\n\
                 {near}if (!near) {{\n{around}}}\n{sort}{put}"
            );
        }
        // Places that are among the elements around an earlier one are there already.
        let mut text = format!("{begin}u32 covered = 0u;\n");
        for name in &PLACES[..self.places.len()] {
            text += &format!(
                "if ({name} >= covered) {{\nconst u32 wanted = {name};\nu32 taken = m;\n{around}{sort}{}\
                 covered = before + taken;\n{}\n}}\n",
                self.put_places(ends),
                dialect.barrier(false)
            );
        }
        text
    }

    /// A loop of the item over its elements: `text` is for key `k` of element `at`.
    fn each_element(&self, ends: &RowAccess<'_>, text: &str) -> String {
        let (group, key) = (self.group, ends.key);
        format!(
            "for (u32 start = item; start < m; start += {ahead}u) {{\nK own[{AHEAD}];\n\
             #pragma unroll\nfor (u32 j = 0u; j < {AHEAD}u; j++) {{\n\
             const u32 next = start + j * {group}u, at = next < m ? next : item;\nown[j] = {key};\n}}\n\
             #pragma unroll\nfor (u32 j = 0u; j < {AHEAD}u; j++) {{\n\
             const u32 at = start + j * {group}u;\nif (at >= m) continue;\nconst K k = own[j];\n{text}}}\n}}\n",
            ahead = AHEAD * group,
        )
    }

    /// Takes the elements up to a bound that holds the wanted ones; sets `near` if they are few enough.
    fn gather_near(&self, dialect: Dialect, ends: &RowAccess<'_>) -> String {
        let (group, barrier) = (self.group, dialect.barrier(false));
        let first = self.each_element(ends, "least = k < least ? k : least;\n");
        let order = order(dialect, group, &format!("{group}u"));
        let gather = self.gather(dialect, ends, "k <= bound");
        format!(
            "if (2u * kept <= {group}u && m >= {AHEAD}u * {group}u) {{\nK least = ~(K)0;\n{first}\
             keys[item] = least;\npositions[item] = item;\n{barrier}\n{order}\
             const K bound = keys[wanted];\n{barrier}\n{gather}taken = found[3];\n\
             near = taken <= {CAPACITY}u;\n{barrier}\n}}\n"
        )
    }

    /// Narrows what may be at the `wanted` place down to the keys (and positions, if these are equal) that
    /// begin with a prefix, of which `left` bits are not known yet.
    fn narrow(&self, dialect: Dialect, ends: &RowAccess<'_>) -> String {
        let (group, bins, bits) = (self.group, 1u64 << DIGIT, self.bits);
        let (barrier, add) = (dialect.barrier(false), add_to_group(dialect));
        let total = if self.places.is_empty() { "before + found[2]" } else { "found[2]" };
        let count = format!(
            "u32 d;\nif (by_place) {{\nconst u32 p = {};\n\
             if (k != prefix || (!whole && (p >> left) != place)) continue;\nd = p >> shift;\n\
             }} else {{\nif (!whole && (k >> left) != prefix) continue;\nd = (u32)(k >> shift);\n}}\n\
             d &= (1u << width) - 1u;\n\
             if (d != digit) {{\nif (run > 0u) {add}(&bins[digit], run);\ndigit = d;\nrun = 0u;\n}}\nrun++;\n",
            ends.position
        );
        format!(
            "K prefix = 0;\nu32 place = 0u, left = {bits}u, before = 0u;\nint by_place = 0;\ntaken = m;\n\
             while (taken > {CAPACITY}u || (left == {bits}u && !by_place && taken > 512u)) {{\n\
             if (left == 0u) {{ by_place = 1; left = position_bits; }}\n\
             const u32 width = left < {DIGIT}u ? left : {DIGIT}u, shift = left - width;\n\
             const int whole = by_place ? left == position_bits : left == {bits}u;\n\
             for (u32 i = item; i < {bins}u; i += {group}u) bins[i] = 0u;\n{barrier}\n\
             u32 digit = 0u, run = 0u;\n{each}\
             if (run > 0u) {add}(&bins[digit], run);\n{barrier}\n{scan}\
             before += found[1];\ntaken = {total};\n\
             if (by_place) place = whole ? found[0] : (place << width) | found[0];\n\
             else prefix = whole ? (K)found[0] : (prefix << width) | (K)found[0];\n\
             left = shift;\n{barrier}\n}}\n\
             const int all = !by_place && left == {bits}u;\n",
            each = self.each_element(ends, &count),
            scan = self.scan(barrier),
        )
    }

    /// Finds the bin in which the wanted place lies: `found` is the bin, how many elements lie in the bins
    /// before it, and in it.
    fn scan(&self, barrier: &str) -> String {
        let (group, each) = (self.group, (1 << DIGIT) / self.group);
        format!(
            "u32 own_sum = 0u;\n#pragma unroll\n\
             for (u32 j = 0u; j < {each}u; j++) own_sum += bins[item * {each}u + j];\n\
             u32 until = own_sum;\n\
             for (u32 step = 1u; step < {group}u; step *= 2u) {{\n\
             sums[item] = until;\n{barrier}\nconst u32 other = item >= step ? sums[item - step] : 0u;\n{barrier}\n\
             until += other;\n}}\n\
             u32 here = before + until - own_sum;\n\
             if (wanted >= here && wanted - here < own_sum) {{\n\
             for (u32 j = 0u; j < {each}u; j++) {{\nconst u32 count = bins[item * {each}u + j];\n\
             if (wanted - here < count) {{\n\
             found[0] = item * {each}u + j;\nfound[1] = here - before;\nfound[2] = count;\nbreak;\n}}\n\
             here += count;\n}}\n}}\n{barrier}\n"
        )
    }

    /// Whether an element has the prefix, or comes before it if the first are wanted.
    fn is_around(&self, position: &str) -> String {
        let (less, as_far) = if self.places.is_empty() { ("k < prefix || ", "<=") } else { ("", "==") };
        format!(
            "by_place ? {less}(k == prefix && ({position} >> left) {as_far} place) : all || (k >> left) {as_far} prefix"
        )
    }

    /// Collects elements in the group's memory, in any order; `found` is their number.
    fn gather(&self, dialect: Dialect, ends: &RowAccess<'_>, inside: &str) -> String {
        let (barrier, add) = (dialect.barrier(false), add_to_group(dialect));
        let take = format!(
            "if ({inside}) {{\nconst u32 slot = {add}(&found[3], 1u);\n\
             if (slot < {CAPACITY}u) {{ keys[slot] = k; positions[slot] = {}; }}\n}}\n",
            ends.position
        );
        format!("if (item == 0u) found[3] = 0u;\n{barrier}\n{}{barrier}\n", self.each_element(ends, &take))
    }

    /// Stores the first elements; what a part lacks comes after all elements.
    fn put_first(&self, ends: &RowAccess<'_>) -> String {
        let (group, put) = (self.group, ends.put);
        let (end, lacks) = if ends.fills { ("kept", true) } else { ("(kept < m ? kept : m)", false) };
        let [key, position] = match lacks {
            true => ["at <= wanted ? keys[at] : ~(K)0", "at <= wanted ? positions[at] : n"],
            false => ["keys[at]", "positions[at]"],
        };
        format!(
            "for (u32 at = item; at < {end}; at += {group}u) {{\n\
             const K k = {key};\nconst u32 p = {position};\n(void)k;\n{put}\n}}\n"
        )
    }

    /// Stores the wanted places that the elements around one cover.
    fn put_places(&self, ends: &RowAccess<'_>) -> String {
        let each = PLACES[..self.places.len()].iter().enumerate().map(|(number, name)| {
            format!(
                "if (item == {number}u && {name} >= before && {name} - before < taken) {{\n\
                 const u32 at = {name}, p = positions[at - before];\n{}\n}}\n",
                ends.put
            )
        });
        each.collect()
    }
}

/// Adds to an integer in a group's memory, and returns what was there.
fn add_to_group(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::CudaCpp => "atomicAdd",
        Dialect::OpenClC => "atomic_add",
    }
}

/// Sorts the `taken` elements in group memory.
fn sort(dialect: Dialect, group: u64) -> String {
    let barrier = dialect.barrier(false);
    format!(
        "u32 filled = 2u;\nwhile (filled < taken) filled *= 2u;\n\
         for (u32 i = taken + item; i < filled; i += {group}u) {{ keys[i] = ~(K)0; positions[i] = 0xffffffffu; }}\n\
         {barrier}\n{}",
        order(dialect, group, "filled")
    )
}

/// A bitonic sort of so many elements in group memory, a power of two.
fn order(dialect: Dialect, group: u64, length: &str) -> String {
    let barrier = dialect.barrier(false);
    format!(
        "for (u32 size = 2u; size <= {length}; size *= 2u) {{\nfor (u32 step = size / 2u; step > 0u; step /= 2u) {{\n\
         for (u32 i = item; i < {length} / 2u; i += {group}u) {{\n\
         const u32 a = 2u * i - (i & (step - 1u)), b = a + step;\n\
         const K ka = keys[a], kb = keys[b];\nconst u32 pa = positions[a], pb = positions[b];\n\
         const int after = ka > kb || (ka == kb && pa > pb);\n\
         if (after == ((a & size) == 0u)) {{ keys[a] = kb; keys[b] = ka; positions[a] = pb; positions[b] = pa; }}\n\
         }}\n{barrier}\n}}\n}}\n"
    )
}
