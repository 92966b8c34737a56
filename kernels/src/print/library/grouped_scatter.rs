//! Scatters of some thousands of points, which are grouped by position in a hash table and not sorted. The
//! rows of a group are folded in the order of the points, so results do not depend on timing.
//!
//! Each point finds the slot of its position and its number there, both by atomic operations. The first few
//! points of a slot are its *members*, which an item sorts in registers and folds. Of a *large* slot, which
//! has more points, a group of items folds all: it marks them in a bitmap of all points, and each of its
//! *teams* takes a range of the bitmap.
//!
//! Open addressing as in Knuth, The art of computer programming, volume 3, section 6.4. The table is mostly
//! empty: the slowest of many searches counts, and each step of it is an atomic operation in memory.

use super::folded_rows::{self, FoldedRows};
use super::{
    KernelTemplate, NamedPart, OperandPart, Routine, RoutineWriter, aligned, clear_text, fill, fold_helpers,
    size32, sorting_network,
};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::Target;
use std::fmt::Display;

/// As many points are grouped; the bitmap has a bit for each.
const POINTS: u64 = 1 << 15;
/// Floats are summed in fixed point (`fixed_scatter`) in about the same time if rows are narrower, and in
/// less if the table has so few elements that groups of items have tables of their own.
const WIDTH: u64 = 4;
const SMALL: u64 = 1 << 13;
/// Points of a slot that are members.
const MEMBERS: u64 = 8;
/// Points that an item looks ahead before it marks one, and rows that it reads ahead before it folds one.
const AHEAD: u64 = 8;
/// A position is its own slot if the table has at most this many rows, and at most [`DIRECT_EACH`] per point.
const DIRECT: u64 = 1 << 19;
const DIRECT_EACH: u64 = 32;
/// Slots for each point, where they are found by hashing.
const SLOTS: u64 = 8;
/// Items of a group, and of one that folds where the device has such.
const GROUP: u64 = 256;
const FOLDING: u64 = 512;
/// Groups that fold large slots.
const LARGE: u64 = 256;
/// Number of the operand that is scratch memory.
const SCRATCH: usize = 3;

/// The division of such a scatter into launches.
pub(crate) struct GroupedScatterPlan {
    call: Scatter,
    rows: FoldedRows,
    /// Slots; a power of two if they are found by hashing.
    slots: u64,
    /// Whether slots are found by hashing; else a position is its slot.
    hashes: bool,
    /// Items of a group that folds.
    folding: u64,
}

/// Parts of the scratch memory, one behind the other, and their words.
#[derive(Clone, Copy)]
enum ScratchField {
    /// For each slot its number of points, then how many slots are large, and how many points are no members.
    Counts,
    /// The position of each slot.
    Keys,
    Members,
    /// The slot of each point; the highest bit tells the first point of a slot.
    Slots,
    /// Slots with more points than members.
    Large,
    /// The slot and the place of each point that is no member.
    Further,
}

impl GroupedScatterPlan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<GroupedScatterPlan> {
        let Scatter { points, rows, width, .. } = *call;
        let elements = points.checked_mul(width)?.max(rows.checked_mul(width)?);
        let folds = call.fold.is_some_and(|fold| !fold.has_index()) && call.dtype != DType::Bool;
        let fits = elements < 1 << 31 && rows < 1 << 32 && u64::from(target.max_group) >= GROUP;
        let some = elements > 0 && (1..=POINTS).contains(&points);
        let fixed = call.fold == Some(Fold::Sum) && call.dtype.register() == DType::F32;
        if target.cpu || !folds || !fits || !some || fixed && (width < WIDTH || rows * width <= SMALL) {
            return None;
        }
        let hashes = rows > DIRECT.min(points * DIRECT_EACH);
        let slots = if hashes { (SLOTS * points).next_power_of_two() } else { rows };
        let folded = FoldedRows::of(call, points * width, target)?;
        let folding = if u64::from(target.max_group) >= FOLDING { FOLDING } else { GROUP };
        Some(GroupedScatterPlan { call: call.clone(), rows: folded, slots, hashes, folding })
    }

    /// About how long it takes, in nanoseconds: 13 us for 16,384 rows of 64 floats on an H200, most of it the
    /// three launches.
    pub(super) fn nanoseconds(call: &Scatter) -> f64 {
        9e3 + 0.1 * call.points as f64 + 0.004 * (call.points * call.width) as f64
    }

    fn words(&self, field: ScratchField) -> u64 {
        match field {
            ScratchField::Counts => self.slots + 2,
            ScratchField::Keys => self.slots,
            ScratchField::Members => self.slots * MEMBERS,
            ScratchField::Slots => self.call.points,
            ScratchField::Large => self.call.points.div_ceil(MEMBERS),
            ScratchField::Further => 2 * self.call.points,
        }
    }

    const FIELDS: [ScratchField; 6] = [
        ScratchField::Counts,
        ScratchField::Keys,
        ScratchField::Members,
        ScratchField::Slots,
        ScratchField::Large,
        ScratchField::Further,
    ];

    pub(crate) fn scratch(&self) -> u64 {
        GroupedScatterPlan::FIELDS.iter().map(|&field| aligned(self.words(field) * 4)).sum()
    }

    fn part(&self, field: ScratchField, written: bool) -> NamedPart<'static> {
        let name = ["counts", "keys", "members", "slots_of", "large_slots", "further"][field as usize];
        let before =
            GroupedScatterPlan::FIELDS[..field as usize].iter().map(|&field| aligned(self.words(field) * 4));
        let bytes = self.words(field) * 4;
        (name, (DType::U32, OperandPart { arg: SCRATCH, offset: before.sum(), bytes, written }))
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { points, rows, width, fold, .. } = self.call;
        let (dialect, size) = (target.dialect, self.rows.stored.size() as u64);
        let mut writer = RoutineWriter::new(target, [self.rows.stored, self.rows.acc].contains(&DType::F64));
        let Some(fold) = fold else { return writer.finish("", 0) };
        let lanes = width / self.rows.each;
        let sizes = [
            size32("points", points),
            size32("last", rows - 1),
            size32("width", width),
            size32("lanes", lanes),
            size32("slots", self.slots),
            size32("bits", self.slots.ilog2().into()),
            size32("large", LARGE.min(points / MEMBERS)),
        ];
        let positions = ("positions", (DType::U32, OperandPart::whole(0, points * 4, false)));
        let x = ("x", (self.rows.stored, OperandPart::whole(1, self.call.brought() * size, false)));
        let table = ("table", (self.rows.stored, OperandPart::whole(2, rows * width * size, true)));
        let mut launch = |name, (groups, group): (u64, u64), operands: &[NamedPart], text: &str| {
            writer.add(groups, &KernelTemplate { name, group, operands, sizes: &sizes, text });
        };
        let keys = |written| self.hashes.then(|| self.part(ScratchField::Keys, written));
        let operands: Vec<_> =
            [self.part(ScratchField::Counts, true)].into_iter().chain(keys(true)).collect();
        // Slots are empty, and nothing is large.
        let no_keys = if self.hashes { "\n    if (id < slots) keys[id] = 0xffffffffu;" } else { "" };
        let clear = clear_text("u32", &format!("if (id < slots + 2) counts[id] = 0;{no_keys}"));
        launch("clear", ((self.slots + 2).div_ceil(GROUP), GROUP), &operands, &clear);
        let found = [
            ScratchField::Counts,
            ScratchField::Members,
            ScratchField::Slots,
            ScratchField::Large,
            ScratchField::Further,
        ];
        let operands = [positions].into_iter().chain(found.map(|field| self.part(field, true)));
        let operands: Vec<_> = operands.chain(keys(true)).collect();
        let arrive = self.text(include_str!("grouped_scatter/arrive.c"));
        launch("arrive", (points.div_ceil(GROUP), GROUP), &operands, &arrive);
        let operands = found.map(|field| self.part(field, false)).into_iter().chain([positions, x, table]);
        let operands: Vec<_> = operands.chain(keys(false)).collect();
        let groups = (points * lanes).div_ceil(self.folding) + LARGE.min(points / MEMBERS);
        let fold_text = self.text(include_str!("grouped_scatter/fold.c"));
        launch("fold", (groups, self.folding), &operands, &fold_text);
        let helpers = folded_rows::points(&self.call, self.rows.index())
            + &fold_helpers(dialect, fold, self.rows.acc)
            + &self.rows.helpers(dialect)
            + &self.text(include_str!("grouped_scatter/functions.c"));
        writer.finish(&helpers, self.scratch())
    }

    /// A file with its words filled in.
    fn text(&self, file: &str) -> String {
        let members = |call: &str| (0..MEMBERS).map(|j| format!("{call}({j}) ")).collect::<String>();
        let words: [(&str, &dyn Display); 10] = [
            ("large", &include_str!("grouped_scatter/large.c")),
            ("fold_some", &include_str!("grouped_scatter/fold_some.c")),
            ("members", &MEMBERS),
            ("ahead", &AHEAD),
            ("words", &(POINTS / 32)),
            ("hashes", &u8::from(self.hashes)),
            ("key", &if self.hashes { "keys[slot]" } else { "slot" }),
            ("places", &members("PLACE")),
            ("exchanges", &sorting_network::exchanges(MEMBERS)),
            ("reads", &members("READ_MEMBER")),
        ];
        fill(file, &words)
    }
}
