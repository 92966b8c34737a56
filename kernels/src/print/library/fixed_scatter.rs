//! Sums of floats in any order, to the same bits: each element of the table has a fixed-point accumulator,
//! whose scale is that of the largest magnitude that is added to it.
//!
//! One pass over the points finds the largest magnitudes, one adds the values as 64-bit integers, both by
//! atomic operations, and the sums go to the table. Integer sums do not depend on the order. A value
//! keeps 62 - log2(number of points) bits below the largest magnitude: the error of n such roundings is far
//! below that of n float additions. The idea is that of indexed sums (Demmel and
//! Nguyen, Fast reproducible floating-point summation, ARITH 2013), with one accumulator, since the scale is
//! known.
//!
//! Where there are fewer points than rows of the table, the points have the accumulators: all points of one
//! position share the first one's.

use super::atomic_points::{self, AtomicPoints, GROUP, Tables};
use super::folded_rows::brought;
use super::grouped_scatter;
use super::{OperandPart, Routine, RoutineKernel, RoutineWriter, Size, aligned, function, size32};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;

/// Bits of a sum: those of an `i64` but for the sign, and one more, since values are rounded.
const SUM_BITS: u32 = 62;
/// Bits of a float's significand.
const SIGNIFICAND: u32 = 24;
/// As many points are sorted in one launch.
const FEW: u64 = 4096;
/// Number of the operand that is scratch memory.
const SCRATCH: usize = 3;

/// The division of such a scatter into launches.
pub(crate) struct FixedScatterPlan {
    call: Scatter,
    /// Rows of accumulators.
    slots: u64,
    /// Whether these are points, rather than rows of the table.
    by_points: bool,
    /// Groups with magnitudes of their own, and with sums of their own.
    tables: [Option<Tables>; 2],
}

impl FixedScatterPlan {
    pub(crate) fn of(call: &Scatter, target: &Target) -> Option<FixedScatterPlan> {
        let Scatter { points, rows, width, .. } = *call;
        let elements = points.checked_mul(width)?.max(rows.checked_mul(width)?);
        let fits = elements < 1 << 30 && u64::from(target.max_group) >= GROUP;
        let is_sum = call.fold == Some(Fold::Sum) && call.dtype.register() == DType::F32;
        if target.cpu || !is_sum || !fits || elements == 0 || points == 0 {
            return None;
        }
        let by_points = points * width * 12 + rows * 4 < rows * width * 12;
        let plan = FixedScatterPlan {
            call: call.clone(),
            slots: if by_points { points } else { rows },
            by_points,
            tables: [4, 8].map(|bytes| atomic_points::tables(call, bytes, target)),
        };
        plan.is_cheaper(target).then_some(plan)
    }

    /// Whether it is estimated to take less time than grouping the points, or sorting them. The figures are
    /// nanoseconds for a thousand, from a grid of points, rows and widths on an H200 (docs/adr/0035): atomic
    /// operations go by points and elements, accumulators beyond the cache by what they are, and sorts by
    /// points.
    fn is_cheaper(&self, target: &Target) -> bool {
        let Scatter { points, rows, width, .. } = self.call;
        let thousands = |n: u64| n as f64 / 1e3;
        let here = 12e3
            + 23.0 * thousands(points)
            + 4.0 * thousands(points * width)
            + 24.0 * thousands(self.slots * width);
        if grouped_scatter::GroupedScatterPlan::of(&self.call, target).is_some() {
            return here < grouped_scatter::GroupedScatterPlan::nanoseconds(&self.call);
        }
        let digits = f64::from(rows.next_power_of_two().ilog2().div_ceil(8));
        // Without the radix sort, which CUDA has, sorts take several times as long.
        let slower = if target.dialect == Dialect::CudaCpp { 1.0 } else { 4.0 };
        let start = if points > FEW { 15e3 + 5e3 * digits } else { 12e3 };
        here < slower * (start + 45.0 * thousands(points)) + 1.8 * thousands(points * width)
    }

    /// Sizes in bytes of the sums, the largest magnitudes, and the first points of rows.
    fn sizes(&self) -> [u64; 3] {
        let elements = self.slots * self.call.width;
        let firsts = if self.by_points { aligned(self.call.rows * 4) } else { 0 };
        [aligned(elements * 8), aligned(elements * 4), firsts]
    }

    pub(crate) fn scratch(&self) -> u64 {
        self.sizes().iter().sum()
    }

    pub(crate) fn print(&self, target: &Target) -> Routine {
        let Scatter { dtype, points, rows, width, .. } = self.call;
        let (dialect, size) = (target.dialect, dtype.size() as u64);
        let [sums, most, firsts] = self.sizes();
        let part = |dtype: DType, offset: u64, bytes: u64| {
            move |written: bool| (dtype, OperandPart { arg: SCRATCH, offset, bytes, written })
        };
        let (zeros, sums) = (part(DType::U32, 0, sums + most), part(DType::U64, 0, sums));
        let most = part(DType::U32, self.sizes()[0], most);
        let firsts = part(DType::U32, self.sizes()[0] + self.sizes()[1], firsts);
        let positions = (DType::U32, OperandPart::whole(0, points * 4, false));
        let values = (dtype, OperandPart::whole(1, self.call.brought() * size, false));
        let table = (dtype, OperandPart::whole(2, rows * width * size, true));
        let by_points = |operand| self.by_points.then_some(operand);
        let mut writer = RoutineWriter::new(target, false);

        let index = atomic_points::index(&self.call).short();
        let value = dialect.load(dtype, "b1", &brought(&self.call, "place"));
        let magnitude = format!("felt({value})");
        let most_of_key = format!("b3[({index})({}) * width + column]", self.slot("keys[j]", 4));
        let fixed = format!("fixed({value}, {most_of_key}, spare)");
        let [magnitudes, totals] = self.tables;

        self.clear(&mut writer, [zeros(true)].into_iter().chain(by_points(firsts(true))).collect());
        if self.by_points {
            let (acc, row) = (["u32", "0xffffffffu", "first"], clamped("key"));
            let pass = self.pass(dialect, acc, "(u32)place", &row, "b1");
            self.points(&mut writer, "firsts", vec![positions, firsts(true)], &pass, (1, None));
        }
        let row = self.slot("key", 3);
        let pass = self.pass(dialect, ["u32", "0u", "most"], &magnitude, &row, "b2");
        let operands = [positions, values, most(true)].into_iter().chain(by_points(firsts(false)));
        self.points(&mut writer, "magnitudes", operands.collect(), &pass, (width, magnitudes));
        let row = self.slot("key", 4);
        let pass = self.pass(dialect, ["u64", "0", "total"], &fixed, &row, "b2");
        let operands = [positions, values, sums(true), most(false)];
        let operands = operands.into_iter().chain(by_points(firsts(false)));
        self.points(&mut writer, "sums", operands.collect(), &pass, (width, totals));
        let operands = [sums(false), most(false), table].into_iter();
        let operands = operands.chain(by_points(positions)).chain(by_points(firsts(false)));
        self.put(&mut writer, operands.collect());
        writer.finish(&helpers(dialect), self.scratch())
    }

    /// Sets sums and magnitudes to zero, and the first points of rows to none.
    fn clear(&self, writer: &mut RoutineWriter<'_>, operands: Vec<(DType, OperandPart)>) {
        let [sums, most, firsts] = self.sizes();
        let (words, rows) = ((sums + most) / 4, firsts / 4);
        let firsts = if self.by_points { "if (id < rows) b1[id] = 0xffffffffu;\n" } else { "" };
        let body = format!(
            "{}if (id < words) b0[id] = 0u;\n{firsts}",
            atomic_points::item(writer.target.dialect, atomic_points::index(&self.call))
        );
        let sizes = [self.size("words", words), self.size("rows", rows)];
        let (groups, operands) = (words.max(rows).div_ceil(GROUP), &operands);
        writer.launch(
            groups,
            &RoutineKernel { name: "clear", group: GROUP, operands, sizes: &sizes, body: &body },
        );
    }

    /// A pass over the points that folds values into `table`. `acc` is the C type, the value that changes
    /// nothing, and the function that joins two.
    fn pass<'a>(
        &self,
        dialect: Dialect,
        acc: [&'a str; 3],
        value: &'a str,
        row: &'a str,
        table: &'a str,
    ) -> AtomicPoints<'a> {
        let [into_memory, into_table] = match acc[2] {
            "first" => ["first_into_memory", "first_into_table"],
            "most" => ["most_into_memory", "most_into_table"],
            _ => ["total_into_memory", "total_into_table"],
        };
        let index = atomic_points::index(&self.call);
        AtomicPoints { dialect, index, acc, value, row, table, into_memory, into_table }
    }

    /// The launch of a pass over rows of `width` columns.
    fn points(
        &self,
        writer: &mut RoutineWriter<'_>,
        name: &'static str,
        operands: Vec<(DType, OperandPart)>,
        pass: &AtomicPoints<'_>,
        (width, tables): (u64, Option<Tables>),
    ) {
        let ([groups, group], body) = pass.launch(self.call.points, width, tables);
        let mut sizes = pass.sizes(&self.call, width);
        sizes.push(size32("spare", self.spare().into()));
        let (operands, sizes, body) = (&operands, &sizes, &body);
        writer.launch(groups, &RoutineKernel { name, group, operands, sizes, body });
    }

    /// Adds the sums to the table.
    fn put(&self, writer: &mut RoutineWriter<'_>, operands: Vec<(DType, OperandPart)>) {
        let (dialect, dtype) = (writer.target.dialect, self.call.dtype);
        let at = atomic_points::index(&self.call).short();
        // An accumulator of a point that is not the first one of its row holds nothing.
        let (to, which) = match self.by_points {
            true => (
                format!("({at})row * width + id % width"),
                format!(
                    "const {at} slot = id / width;\nconst u32 row = {};\nif (b4[row] != slot) return;\n",
                    clamped("b3[slot]")
                ),
            ),
            false => ("id".to_string(), String::new()),
        };
        let old = dialect.load(dtype, "b2", "to");
        let put = dialect.store(dtype, "b2", "to", &format!("{old} + sum_of(b0[id], most, spare)"));
        let body = format!(
            "{}if (id >= items) return;\n{which}const u32 most = b1[id];\nif (most == 0u) return;\n\
             const {at} to = {to};\n{put}\n",
            atomic_points::item(dialect, atomic_points::index(&self.call))
        );
        let Scatter { rows, width, .. } = self.call;
        let items = self.slots * width;
        let sizes = [
            self.size("items", items),
            self.size("last", rows - 1),
            self.size("width", width),
            size32("spare", self.spare().into()),
        ];
        let (groups, operands) = (items.div_ceil(GROUP), &operands);
        writer.launch(
            groups,
            &RoutineKernel { name: "put", group: GROUP, operands, sizes: &sizes, body: &body },
        );
    }

    /// Bits of an accumulator below those of the largest significand.
    fn spare(&self) -> u32 {
        SUM_BITS - SIGNIFICAND - self.call.points.next_power_of_two().ilog2()
    }

    fn size(&self, name: &'static str, n: u64) -> Size {
        (name, Scalar::from_i128(atomic_points::index(&self.call), n.into()))
    }

    /// The row of accumulators for a position; `firsts` is the number of the operand with the first points.
    fn slot(&self, key: &str, firsts: usize) -> String {
        if self.by_points { format!("b{firsts}[{}]", clamped(key)) } else { clamped(key) }
    }
}

/// A position beyond the table stands for the last row, so that nothing outside of it is written.
fn clamped(key: &str) -> String {
    format!("({key} < last ? {key} : last)")
}

/// The functions of the passes. Magnitudes are the bits of floats without the sign, which are in the order of
/// the floats, NaN above all. A positive zero is felt as the smallest number, since it makes a negative zero
/// of the table positive; a negative one changes nothing.
fn helpers(dialect: Dialect) -> String {
    let (bits, float, ldexp) = match dialect {
        Dialect::CudaCpp => ("__float_as_uint", "__uint_as_float", "ldexpf"),
        Dialect::OpenClC => ("as_uint", "as_float", "ldexp"),
    };
    let f = function(dialect);
    let values = format!(
        "{f} u32 magnitude(f32 x) {{ return {bits}(x) & 0x7fffffffu; }}\n\
         {f} u32 felt(f32 x) {{ return {bits}(x) == 0u ? 1u : magnitude(x); }}\n\
         {f} u32 first(u32 a, u32 b) {{ return a < b ? a : b; }}\n\
         {f} u32 most(u32 a, u32 b) {{ return a > b ? a : b; }}\n\
         {f} u64 total(u64 a, u64 b) {{ return a + b; }}\n\
         /* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are\n\
            counted, those below zero in the upper half. */\n\
         {f} u64 fixed(f32 x, u32 most, u32 spare) {{\n\
         const u32 size = magnitude(x), below = {bits}(x) >> 31;\n\
         if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);\n\
         const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;\n\
         u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);\n\
         const int shift = (int)spare - (int)(top - own);\n\
         whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;\n\
         return below ? (u64)0 - whole : whole;\n}}\n\
         {f} f32 sum_of(u64 all, u32 most, u32 spare) {{\n\
         if (most >= 0x7f800000u) {{\n\
         const int above = (u32)all != 0u, below = (u32)(all >> 32) != 0u;\n\
         return {float}(most > 0x7f800000u || (above && below) ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);\n}}\n\
         const int top = most >> 23 ? most >> 23 : 1;\n\
         return {ldexp}((f32)(i64)all, top - 150 - (int)spare);\n}}\n"
    );
    let spaces: [(&str, &str); 2] = match dialect {
        Dialect::CudaCpp => [("memory", ""), ("table", "")],
        Dialect::OpenClC => [("memory", "__global "), ("table", "__local ")],
    };
    values + &spaces.map(|(name, space)| atomics(dialect, name, space)).concat()
}

/// The functions that fold a value into an element of memory, or of a group's table.
fn atomics(dialect: Dialect, name: &str, space: &str) -> String {
    let f = function(dialect);
    let [max, min] = match dialect {
        Dialect::CudaCpp => ["atomicMax", "atomicMin"],
        Dialect::OpenClC => ["atomic_max", "atomic_min"],
    };
    let volatile = if dialect == Dialect::CudaCpp { "" } else { "volatile " };
    let sum = atomic_points::add_wide(dialect, space, name == "memory");
    format!(
        "{f} void first_into_{name}({space}u32* at, u32 x) {{ {min}(({volatile}{space}u32*)at, x); }}\n\
         {f} void most_into_{name}({space}u32* at, u32 x) {{\n\
         if (x > *(volatile {space}u32*)at) {max}(({volatile}{space}u32*)at, x);\n}}\n\
         {f} void total_into_{name}({space}u64* at, u64 x) {{\n{sum}}}\n"
    )
}
