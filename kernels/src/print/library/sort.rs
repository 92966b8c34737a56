//! Sorts as kernels: a network for short rows on GPUs ([`super::sorting_network`]), a selection for a few of
//! long rows ([`super::radix_select`]), a radix sort for long rows on CUDA ([`super::radix`]), else a merge
//! sort: groups sort tiles in their memory, and items merge runs, twice as long each time. Networks and
//! merges compare unsigned keys, and positions if keys are equal, so they are stable.

use super::radix::Radix;
use super::radix_select::SelectPlan;
use super::{
    KernelTemplate, NamedPart, OperandPart, Routine, RoutineWriter, Size, TypedPart, aligned, fill,
    index_type, moved_as, size32, sorting_network,
};
use crate::dtype::DType;
use crate::library::Sorting;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;
use std::fmt::Display;

/// A sort in the memory of a group.
const BITONIC: &str = include_str!("sort/bitonic.c");

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
        let network = sorting_network::length(n, key.size() as u64).filter(|_| !target.cpu);
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
    pub(super) fn disorder(&self, arg: usize, from: u64) -> Option<(TypedPart, u64)> {
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
        source: TypedPart,
        outputs: Vec<TypedPart>,
        (arg, start): (usize, u64),
    ) -> String {
        let names = [(self.call.values, "values"), (self.call.indices, "indices")];
        let names = names.into_iter().filter_map(|(has, name)| has.then_some(name));
        let (source, outputs): (_, Vec<_>) = (("source", source), names.zip(outputs).collect());
        let head = self.head(writer.target.dialect);
        let sizes = self.sizes_of_rows();
        if let Some(select) = &self.select {
            select.launches(writer, source, &outputs, &sizes, (arg, start));
            return head + BITONIC + &select.helpers();
        }
        if let Some(radix) = &self.radix {
            radix.launches(writer, source, &outputs, &sizes, (arg, start));
            return head + &radix.helpers();
        }
        let [keys, positions] = self.sizes();
        let buffer = |which: u64, written: bool| {
            let offset = start + which * (keys + positions);
            let names = if written { ["to_keys", "to_positions"] } else { ["from_keys", "from_positions"] };
            [
                (names[0], (self.key, OperandPart { arg, offset, bytes: keys, written })),
                (
                    names[1],
                    (DType::U32, OperandPart { arg, offset: offset + keys, bytes: positions, written }),
                ),
            ]
        };
        let done = self.tiles == 1;
        if let Some(length) = self.network {
            self.launch_rows(writer, &[vec![source], outputs].concat(), length);
            return head;
        }
        let sorted = if done { outputs.clone() } else { buffer(0, true).to_vec() };
        self.launch_tiles(writer, &[vec![source], sorted].concat(), done);
        if !done {
            self.launch_merges(writer, source, &outputs, buffer);
        }
        head + BITONIC
    }

    /// The launch in which each item sorts a row.
    fn launch_rows(&self, writer: &mut RoutineWriter, operands: &[NamedPart], length: u64) {
        let group = GROUP.min(writer.target.max_group.into());
        let each = |call: &str| (0..length).map(|at| format!("{call}({at}) ")).collect::<String>();
        let words: [(&str, &dyn Display); 3] = [
            ("loads", &each("LOAD")),
            ("exchanges", &sorting_network::exchanges(length)),
            ("puts", &each("PUT")),
        ];
        let mut sizes = self.sizes_of_rows();
        sizes.push(super::size64("rows", self.rows()));
        let text = &fill(include_str!("sort/rows.c"), &words);
        let kernel = KernelTemplate { name: "rows", group, operands, sizes: &sizes, text };
        writer.add(self.rows().div_ceil(group), &kernel);
    }

    /// The launch in which each group sorts a tile.
    fn launch_tiles(&self, writer: &mut RoutineWriter, operands: &[NamedPart], done: bool) {
        let group = (self.capacity / 2).min(256).min(writer.target.max_group.into());
        let mut sizes = self.sizes_of_rows();
        sizes.extend([size32("length", self.tile), size32("tiles", self.tiles)]);
        let text = &fill(include_str!("sort/tiles.c"), &[("capacity", &self.capacity), ("put", &put(done))]);
        let kernel = KernelTemplate { name: "tiles", group, operands, sizes: &sizes, text };
        writer.add(self.rows() * self.tiles, &kernel);
    }

    /// The launches that merge runs, from one buffer to the other, and at last to the outputs. Rows of two
    /// tiles have no merge from buffer to buffer, whose kernel is in the text nonetheless.
    fn launch_merges(
        &self,
        writer: &mut RoutineWriter,
        source: NamedPart<'static>,
        outputs: &[NamedPart<'static>],
        buffer: impl Fn(u64, bool) -> [NamedPart<'static>; 2],
    ) {
        let n = self.call.shape[1];
        let group = GROUP.min(writer.target.max_group.into());
        let each = n.div_ceil(MERGED);
        let index = index_type(self.rows() * each);
        let texts = [false, true].map(|done| {
            let words: [(&str, &dyn Display); 3] =
                [("index", &index.short()), ("merged", &MERGED), ("put", &put(done))];
            fill(include_str!("sort/merge.c"), &words)
        });
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
                KernelTemplate { name: "merge", group, operands: &passed, sizes: &sizes, text: &texts[0] };
            let last = KernelTemplate { operands: &finished, text: &texts[1], ..pass };
            writer.declare(&pass);
            let groups = (self.rows() * each).div_ceil(group);
            writer.add(groups, if done { &last } else { &pass });
            if done {
                return;
            }
            run *= 2;
            from = 1 - from;
        }
    }

    /// The arguments that say where rows lie: their length, that of rows of results, the distance of
    /// elements.
    fn sizes_of_rows(&self) -> Vec<Size> {
        let [_, n, inner] = self.call.shape;
        let mut sizes = vec![size32("n", n), size32("kept", self.call.kept)];
        sizes.extend(self.is_strided().then(|| size32("inner", inner)));
        sizes
    }

    /// Whether elements of a row are not neighbours.
    fn is_strided(&self) -> bool {
        self.call.shape[2] > 1
    }

    /// What all sorts begin with: `head.c`.
    fn head(&self, dialect: Dialect) -> String {
        let dtype = self.call.dtype;
        let bits = 8 * dtype.size();
        let long = if bits == 64 { format!("U{}", dialect.long()) } else { "u".into() };
        let (all, top) = (u64::MAX >> (64 - bits), 1u64 << (bits - 1));
        let infinity: u64 = match dtype {
            DType::F16 => 0x7c00,
            DType::BF16 => 0x7f80,
            DType::F32 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        let [top, rest, infinity, all] = [top, all ^ top, infinity, all].map(|n| format!("{n}{long}"));
        let values = if self.call.values { "values[RESULT(at)] = element; " } else { "" };
        let indices = if self.call.indices { "indices[RESULT(at)] = (i64)(p); " } else { "" };
        let sorted = if self.select.is_none() && self.radix.is_some() { self.bits } else { self.key };
        let words: [(&str, &dyn Display); 12] = [
            ("sorted", &sorted.short()),
            ("key", &self.key.short()),
            ("element", &self.bits.short()),
            ("float", &u8::from(dtype.is_float())),
            ("signed", &u8::from(dtype.is_signed())),
            ("descending", &u8::from(self.call.descending)),
            ("strided", &u8::from(self.is_strided())),
            ("top", &top),
            ("rest", &rest),
            ("infinity", &infinity),
            ("all", &all),
            ("stores", &format!("{values}{indices}")),
        ];
        fill(include_str!("sort/head.c"), &words)
    }
}

/// Stores key `k` with position `p` as element `at` of the row: to the results, or to a buffer.
fn put(done: bool) -> &'static str {
    match done {
        true => "STORE(at, source[ELEMENT(p)], p)",
        false => "to_keys[row * n + at] = k; to_positions[row * n + at] = p;",
    }
}
