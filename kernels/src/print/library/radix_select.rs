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

use super::{KernelTemplate, NamedPart, OperandPart, RoutineWriter, Size, aligned, fill, size32};
use crate::dtype::DType;
use crate::library::Sorting;
use crate::print::Target;
use std::fmt::Display;

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
    /// Whether a row is what its parts have kept, and not a part of the input.
    joins: bool,
    /// The key and the position of element `at`.
    key: &'a str,
    position: &'a str,
    /// Stores key `k` with position `p` as element `at` of the results.
    put: &'a str,
    /// Whether to fill the slots of elements that the row lacks.
    fills: bool,
}

/// Stores an element to the results of the row.
const STORE: &str = "STORE(at, source[ELEMENT(p)], p)";

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

    /// Functions of the kernels.
    pub(super) fn helpers(&self) -> String {
        fill(include_str!("radix_select/functions.c"), &[("group", &self.group), ("bins", &(1 << DIGIT))])
    }

    /// Adds the launches, for sizes `of_rows`. Scratch memory is an argument, from some byte on.
    pub(super) fn launches(
        &self,
        writer: &mut RoutineWriter,
        source: NamedPart<'static>,
        outputs: &[NamedPart<'static>],
        of_rows: &[Size],
        (arg, start): (usize, u64),
    ) {
        let [keys, positions] = self.sizes();
        let kept = |written: bool| {
            let part = |offset: u64, bytes: u64| OperandPart { arg, offset, bytes, written };
            [
                ("part_keys", (self.key, part(start, keys))),
                ("part_positions", (DType::U32, part(start + keys, positions))),
            ]
        };
        let whole = self.parts == 1;
        let first = RowAccess {
            joins: false,
            key: "key_of(source[ELEMENT(begin) + at])",
            position: "(begin + at)",
            put: if whole {
                STORE
            } else {
                "part_keys[v * kept + at] = k; part_positions[v * kept + at] = p;"
            },
            fills: !whole,
        };
        let sizes = [of_rows, &self.own_sizes()].concat();
        let mut launch = |groups, operands: &[NamedPart], rows| {
            let text = &self.text(rows);
            let kernel = KernelTemplate { name: "select", group: self.group, operands, sizes: &sizes, text };
            writer.add(groups, &kernel);
        };
        let to = if whole { outputs } else { &kept(true) };
        launch(self.rows * self.parts, &[&[source], to].concat(), &first);
        if !whole {
            let last = RowAccess {
                joins: true,
                key: "part_keys[row * m + at]",
                position: "part_positions[row * m + at]",
                put: STORE,
                fills: false,
            };
            launch(self.rows, &[&[source], &kept(false)[..], outputs].concat(), &last);
        }
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

    /// A kernel: the first elements, or for each wanted place the elements around it.
    fn text(&self, rows: &RowAccess<'_>) -> String {
        let firsts = self.places.is_empty();
        let elements = |each: &str| fill(include_str!("radix_select/elements.c"), &[("each", &each)]);
        let taken = elements(include_str!("radix_select/take.c"));
        let gather = |inside: &str| {
            fill(include_str!("radix_select/gather.c"), &[("elements", &taken), ("inside", &inside)])
        };
        // Whether an element has the prefix, or comes before it if the first are wanted.
        let (less, as_far) = if firsts { ("k < prefix || ", "<=") } else { ("", "==") };
        let by_place = format!("{less}(k == prefix && ($position >> left) {as_far} place)");
        let around = gather(&format!("by_place ? {by_place} : all || (k >> left) {as_far} prefix"));
        let places = &PLACES[..self.places.len()];
        let put = |(number, name): (u64, &&str)| {
            fill(include_str!("radix_select/put_place.c"), &[("number", &number), ("place", name)])
        };
        let around_place = |wanted: &&str| fill(include_str!("radix_select/place.c"), &[("wanted", wanted)]);
        let words: [(&str, &dyn Display); 18] = [
            ("gather_near", &gather("k <= bound")),
            ("gather_around", &around),
            ("narrow", &include_str!("radix_select/narrow.c")),
            ("count_elements", &elements(include_str!("radix_select/count.c"))),
            ("least_elements", &elements("                least = k < least ? k : least;\n")),
            ("places", &places.iter().map(around_place).collect::<String>()),
            ("puts", &(0..).zip(places).map(put).collect::<String>()),
            ("joins", &u8::from(rows.joins)),
            ("key", &rows.key),
            ("position", &rows.position),
            ("put", &rows.put),
            ("fills", &u8::from(rows.fills)),
            ("firsts", &u8::from(firsts)),
            ("bits", &self.bits),
            ("capacity", &CAPACITY),
            ("ahead", &AHEAD),
            ("digit", &DIGIT),
            ("bins", &(1 << DIGIT)),
        ];
        fill(
            if firsts { include_str!("radix_select/first.c") } else { include_str!("radix_select/places.c") },
            &words,
        )
    }
}
