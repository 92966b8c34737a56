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

use super::folded_rows::FoldedRows;
use super::{
    OperandPart, Routine, RoutineKernel, RoutineWriter, aligned, fold_helpers, function, network, size32,
};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};

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

    fn part(&self, field: ScratchField, written: bool) -> (DType, OperandPart) {
        let before =
            GroupedScatterPlan::FIELDS[..field as usize].iter().map(|&field| aligned(self.words(field) * 4));
        let bytes = self.words(field) * 4;
        (DType::U32, OperandPart { arg: SCRATCH, offset: before.sum(), bytes, written })
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
        let positions = (DType::U32, OperandPart::whole(0, points * 4, false));
        let values = (self.rows.stored, OperandPart::whole(1, self.call.brought() * size, false));
        let table = (self.rows.stored, OperandPart::whole(2, rows * width * size, true));
        let part = |field, written| self.part(field, written);
        let mut launch =
            |name, (groups, group): (u64, u64), operands: &[(DType, OperandPart)], body: String| {
                writer.launch(groups, &RoutineKernel { name, group, operands, sizes: &sizes, body: &body });
            };
        let keys = |written| self.hashes.then(|| part(ScratchField::Keys, written));
        let operands: Vec<_> = [part(ScratchField::Counts, true)].into_iter().chain(keys(true)).collect();
        launch("clear", ((self.slots + 2).div_ceil(GROUP), GROUP), &operands, self.clear(dialect));
        let found = [
            ScratchField::Counts,
            ScratchField::Members,
            ScratchField::Slots,
            ScratchField::Large,
            ScratchField::Further,
        ];
        let operands = [positions].into_iter().chain(found.map(|field| part(field, true)));
        let operands: Vec<_> = operands.chain(keys(true)).collect();
        launch("arrive", (points.div_ceil(GROUP), GROUP), &operands, self.arrive(dialect));
        let operands = found.map(|field| part(field, false)).into_iter().chain([positions, values, table]);
        let operands: Vec<_> = operands.chain(keys(false)).collect();
        let groups = (points * lanes).div_ceil(self.folding) + LARGE.min(points / MEMBERS);
        let body = format!(
            "{}if (number < large) {{\n{}return;\n}}\n{}",
            self.marks(dialect),
            self.large(dialect),
            self.members(dialect)
        );
        launch("fold", (groups, self.folding), &operands, body);
        let helpers =
            helpers(dialect) + &fold_helpers(dialect, fold, self.rows.acc) + &self.rows.helpers(dialect);
        writer.finish(&helpers, self.scratch())
    }

    /// The item's number.
    fn item(&self, dialect: Dialect) -> String {
        let (item, number) = (dialect.item_index("u32"), dialect.group_index("u32"));
        format!("const u32 item = {item}, id = {number} * {GROUP}u + item;\n")
    }

    /// Slots are empty, and nothing is large.
    fn clear(&self, dialect: Dialect) -> String {
        let keys = if self.hashes { "if (id < slots) b1[id] = 0xffffffffu;\n" } else { "" };
        format!("{}if (id < slots + 2u) b0[id] = 0u;\n{keys}", self.item(dialect))
    }

    /// Each point finds its slot and its number there.
    fn arrive(&self, dialect: Dialect) -> String {
        let (local, barrier) = (dialect.local(), dialect.barrier(false));
        let find = if self.hashes {
            // Fibonacci hashing: neighbouring positions are far apart.
            "slot = (key * 2654435769u) >> (32u - bits);\nfor (;;) {\n\
             const u32 there = exchange_if(&b6[slot], 0xffffffffu, key);\n\
             if (there == 0xffffffffu || there == key) break;\nslot = (slot + 1u) & (slots - 1u);\n}\n"
        } else {
            "slot = key;\n"
        };
        format!(
            "{local} u32 further, first;\n{}if (item == 0u) further = 0u;\n{barrier}\n\
             u32 slot = 0u, number = 0u, own = 0u;\nif (id < points) {{\n\
             const u32 key = b0[id] < last ? b0[id] : last;\n{find}number = add_one(&b1[slot]);\n\
             b3[id] = number == 0u ? slot | 0x80000000u : slot;\n\
             if (number < {MEMBERS}u) b2[slot * {MEMBERS}u + number] = id;\nelse own = add_own(&further, 1u);\n\
             if (number == {MEMBERS}u) b4[add_one(&b1[slots])] = slot;\n}}\n{barrier}\n\
             if (item == 0u && further > 0u) first = add_some(&b1[slots + 1u], further);\n{barrier}\n\
             if (id < points && number >= {MEMBERS}u) {{\nb5[2u * (first + own)] = slot;\nb5[2u * (first + own) + 1u] = id;\n}}\n",
            self.item(dialect)
        )
    }

    /// Memory of a group, and the numbers of the item and the group.
    fn marks(&self, dialect: Dialect) -> String {
        let (local, each, words) = (dialect.local(), self.rows.each, POINTS / 32);
        let folding = self.folding;
        let (item, number) = (dialect.item_index("u32"), dialect.group_index("u32"));
        format!(
            "{local} u32 marks[{words}];\n{local} A parts[{folding} * {each}];\n\
             const u32 item = {item}, number = {number};\n"
        )
    }

    /// Folds the points of slots that are not large.
    fn members(&self, dialect: Dialect) -> String {
        let (rows, folding) = (&self.rows, self.folding);
        let (each, index) = (rows.each, rows.index().short());
        let places: String = (0..MEMBERS)
            .map(|j| format!("u32 k{j} = {j}u < count ? b1[slot * {MEMBERS}u + {j}u] : 0xffffffffu;\n"))
            .collect();
        let read = |place: &str, to: &str| rows.read(dialect, "b6", &rows.brought(place), to);
        let read_member = |j| {
            let read = read("place", "xs[j]");
            format!("if ({j}u < count) {{ const {index} place = k{j}; const u32 j = {j}u;\n{read}}}\n")
        };
        let reads: String = (0..MEMBERS).map(read_member).collect();
        let old = rows.read(dialect, "b7", &rows.in_table("key"), "old");
        let first = rows.each_of("all[v] = xs[0][v];");
        let join = rows.each_of("all[v] = join(all[v], xs[j][v]);");
        format!(
            "const u32 id = (number - large) * {folding}u + item;\n\
             const u32 point = id / lanes, column = id % lanes * {each}u;\nif (point >= points) return;\n\
             const u32 mine = b2[point], slot = mine & 0x7fffffffu;\nif (mine == slot) return;\n\
             const u32 key = b5[point], count = b0[slot];\nA all[{each}], old[{each}], xs[{MEMBERS}][{each}];\n\
             {old}{}if (count > {MEMBERS}u) return;\nif (count > 1u) {{\n{places}{}{reads}{first}\
             #pragma unroll\nfor (u32 j = 1; j < {MEMBERS}u; j++) if (j < count) {{\n{join}}}\n}}\n{}",
            read("point", "all"),
            network::numbers(MEMBERS),
            rows.put_back(dialect, "b7"),
        )
    }

    /// Folds the points of large slots.
    fn large(&self, dialect: Dialect) -> String {
        let (rows, folding) = (&self.rows, self.folding);
        let (barrier, each) = (dialect.barrier(false), rows.each);
        let key = if self.hashes { "b8[slot]" } else { "slot" };
        let none = rows.each_of("{ all[v] = NONE; lost[v] = 0; }");
        let old = rows.read(dialect, "b7", &rows.in_table("key"), "old");
        format!(
            "const u32 used = (points + 31u) / 32u, further = b0[slots + 1u];\n\
             const u32 across = lanes < {folding}u ? lanes : {folding}u, teams = {folding}u / across, team = item / across;\n\
             for (u32 at = number; at < b0[slots]; at += large) {{\nconst u32 slot = b3[at], key = {key};\n\
             for (u32 w = item; w < used; w += {folding}u) marks[w] = 0u;\n{barrier}\n{}{barrier}\n\
             for (u32 block = 0; block < lanes; block += across) {{\n\
             const u32 lane = block + item % across, column = lane * {each}u;\n\
             A all[{each}], lost[{each}], old[{each}], xs[{AHEAD}][{each}];\n{none}\
             if (team < teams && lane < lanes) {{\n{}{}}}\n{}{barrier}\n\
             if (team == 0u && lane < lanes) {{\nfor (u32 t = 1u; t < teams; t++) {{\nconst u32 from = (t * across + item) * {each}u;\n{}}}\n\
             {}{old}{}}}\n{barrier}\n}}\n}}\n",
            self.mark_all(),
            self.fold_marked(dialect),
            self.whole(),
            rows.each_of(&format!("parts[item * {each}u + v] = all[v];")),
            self.step("parts[from + v]"),
            self.whole(),
            rows.put_back(dialect, "b7"),
        )
    }

    /// Marks the points of a slot.
    fn mark_all(&self) -> String {
        let folding = self.folding;
        format!(
            "if (item < {MEMBERS}u) mark(marks, b1[slot * {MEMBERS}u + item]);\n\
             for (u32 i = item; i < further; i += {folding}u * {AHEAD}u) {{\nu32 of[{AHEAD}], place[{AHEAD}];\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) {{\nconst u32 k = i + j * {folding}u;\n\
             of[j] = k < further ? b4[2u * k] : 0xffffffffu;\nplace[j] = k < further ? b4[2u * k + 1u] : 0u;\n}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) if (of[j] == slot) mark(marks, place[j]);\n}}\n"
        )
    }

    /// Folds the points that are marked in the team's range.
    fn fold_marked(&self, dialect: Dialect) -> String {
        let (rows, index) = (&self.rows, self.rows.index().short());
        let read = rows.read(dialect, "b6", &rows.brought("place"), "xs[j]");
        let fold = format!(
            "#pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) if (j < some) {{ const {index} place = places[j];\n{read}}}\n\
             #pragma unroll\nfor (u32 j = 0; j < {AHEAD}u; j++) if (j < some) {{\n{}}}\nsome = 0u;\n",
            self.step("xs[j][v]")
        );
        format!(
            "u32 places[{AHEAD}], some = 0u;\n\
             for (u32 w = team * used / teams; w < (team + 1u) * used / teams; w++) {{\nu32 left = marks[w];\n\
             while (left != 0u) {{\nplaces[some++] = w * 32u + lowest(left);\nleft &= left - 1u;\n\
             if (some == {AHEAD}u) {{\n{fold}}}\n}}\n}}\n{fold}"
        )
    }

    /// Folds `x` into each of the item's elements.
    fn step(&self, x: &str) -> String {
        self.rows.each_of(&if self.rows.compensates() {
            format!(
                "{{ const A x = {x}, next = all[v] + x, back = next - all[v];\n\
                 lost[v] += (all[v] - (next - back)) + (x - back); all[v] = next; }}"
            )
        } else {
            format!("all[v] = join(all[v], {x});")
        })
    }

    /// Adds what rounding has lost. Where it lost nothing, nothing is added, so that infinities and the sign
    /// of zeros are kept.
    fn whole(&self) -> String {
        let add = "{ if (lost[v] < 0 || lost[v] > 0) all[v] = all[v] + lost[v]; lost[v] = 0; }";
        if self.rows.compensates() { self.rows.each_of(add) } else { String::new() }
    }
}

/// Atomic operations, and those on bitmaps.
fn helpers(dialect: Dialect) -> String {
    let f = function(dialect);
    let (global, local, add, or, exchange, zeros) = match dialect {
        Dialect::CudaCpp => ("", "", "atomicAdd", "atomicOr", "atomicCAS", "__clz((int)(x & (0u - x)))"),
        Dialect::OpenClC => {
            ("__global ", "__local ", "atomic_add", "atomic_or", "atomic_cmpxchg", "clz(x & (0u - x))")
        }
    };
    format!(
        "{f} u32 add_some({global}u32* at, u32 n) {{ return {add}(at, n); }}\n\
         {f} u32 add_one({global}u32* at) {{ return {add}(at, 1u); }}\n\
         {f} u32 add_own({local}u32* at, u32 n) {{ return {add}(at, n); }}\n\
         {f} u32 exchange_if({global}u32* at, u32 old, u32 next) {{ return {exchange}(at, old, next); }}\n\
         {f} void mark({local}u32* marks, u32 place) {{ {or}(&marks[place / 32u], 1u << (place % 32u)); }}\n\
         {f} u32 lowest(u32 x) {{ return 31u - (u32){zeros}; }}\n"
    )
}
