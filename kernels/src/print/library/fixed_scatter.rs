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
use super::{
    KernelTemplate, NamedPart, OperandPart, Routine, RoutineWriter, Size, aligned, clear_text, fill,
    folded_rows, grouped_scatter, size32,
};
use crate::dtype::DType;
use crate::library::Scatter;
use crate::nest::Fold;
use crate::print::{Dialect, Target};
use crate::scalar::Scalar;
use std::fmt::Display;

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
        let positions = ("positions", (DType::U32, OperandPart::whole(0, points * 4, false)));
        let values = ("x", (dtype, OperandPart::whole(1, self.call.brought() * size, false)));
        let table = ("table", (dtype, OperandPart::whole(2, rows * width * size, true)));
        let firsts = |written| self.by_points.then_some(("firsts", firsts(written)));
        let mut writer = RoutineWriter::new(target, false);

        self.clear(&mut writer, [("zeros", zeros(true))].into_iter().chain(firsts(true)).collect());
        if let Some(firsts) = firsts(true) {
            let pass = self.pass(["u32", "0xffffffffu", "first"], "(u32)place", "ROW(key)", "firsts");
            self.points(&mut writer, "firsts", vec![positions, firsts], &pass, (1, None));
        }
        let value = format!("load_{}(x, BROUGHT(place))", dtype.short());
        let [magnitudes, totals] = self.tables;
        let magnitude = format!("felt({value})");
        let pass = self.pass(["u32", "0u", "most"], &magnitude, "SLOT(key)", "magnitudes");
        let operands = [positions, values, ("magnitudes", most(true))].into_iter().chain(firsts(false));
        self.points(&mut writer, "magnitudes", operands.collect(), &pass, (width, magnitudes));
        let fixed = format!("fixed({value}, magnitudes[($index)SLOT(keys[j]) * width + column], spare)");
        let pass = self.pass(["u64", "0", "total"], &fixed, "SLOT(key)", "sums");
        let operands = [positions, values, ("sums", sums(true)), ("magnitudes", most(false))];
        let operands = operands.into_iter().chain(firsts(false));
        self.points(&mut writer, "sums", operands.collect(), &pass, (width, totals));
        let operands = [("sums", sums(false)), ("magnitudes", most(false)), table].into_iter();
        let positions = self.by_points.then_some(positions);
        self.put(&mut writer, operands.chain(positions).chain(firsts(false)).collect());
        writer.finish(&self.helpers(dialect), self.scratch())
    }

    /// Sets sums and magnitudes to zero, and the first points of rows to none.
    fn clear(&self, writer: &mut RoutineWriter<'_>, operands: Vec<NamedPart>) {
        let [sums, most, firsts] = self.sizes();
        let (words, rows) = ((sums + most) / 4, firsts / 4);
        let firsts = if self.by_points { "\n    if (id < rows) firsts[id] = 0xffffffffu;" } else { "" };
        let index = atomic_points::index(&self.call).short();
        let text = &clear_text(index, &format!("if (id < words) zeros[id] = 0;{firsts}"));
        let sizes = &[self.size("words", words), self.size("rows", rows)];
        let kernel = KernelTemplate { name: "clear", group: GROUP, operands: &operands, sizes, text };
        writer.add(words.max(rows).div_ceil(GROUP), &kernel);
    }

    /// A pass over the points that folds values into `table`. `acc` is the C type, the value that changes
    /// nothing, and the function that joins two.
    fn pass<'a>(&self, acc: [&'a str; 3], value: &'a str, row: &'a str, table: &'a str) -> AtomicPoints<'a> {
        AtomicPoints { index: atomic_points::index(&self.call), acc, value, row, table }
    }

    /// The launch of a pass over rows of `width` columns.
    fn points(
        &self,
        writer: &mut RoutineWriter<'_>,
        name: &'static str,
        operands: Vec<NamedPart>,
        pass: &AtomicPoints<'_>,
        (width, tables): (u64, Option<Tables>),
    ) {
        let ([groups, group], text) = pass.launch(self.call.points, width, tables);
        let mut sizes = pass.sizes(&self.call, width);
        sizes.push(size32("spare", self.spare().into()));
        let (operands, sizes, text) = (&operands, &sizes, &text);
        writer.add(groups, &KernelTemplate { name, group, operands, sizes, text });
    }

    /// Adds the sums to the table.
    fn put(&self, writer: &mut RoutineWriter<'_>, operands: Vec<NamedPart>) {
        let words: [(&str, &dyn Display); 3] = [
            ("index", &atomic_points::index(&self.call).short()),
            ("by_points", &u8::from(self.by_points)),
            ("stored", &self.call.dtype.short()),
        ];
        let text = &fill(include_str!("fixed_scatter/put.c"), &words);
        let Scatter { rows, width, .. } = self.call;
        let items = self.slots * width;
        let sizes = &[
            self.size("items", items),
            self.size("last", rows - 1),
            self.size("width", width),
            size32("spare", self.spare().into()),
        ];
        let kernel = KernelTemplate { name: "put", group: GROUP, operands: &operands, sizes, text };
        writer.add(items.div_ceil(GROUP), &kernel);
    }

    /// Bits of an accumulator below those of the largest significand.
    fn spare(&self) -> u32 {
        SUM_BITS - SIGNIFICAND - self.call.points.next_power_of_two().ilog2()
    }

    fn size(&self, name: &'static str, n: u64) -> Size {
        (name, Scalar::from_i128(atomic_points::index(&self.call), n.into()))
    }

    /// The functions of the passes, and the row of accumulators for a position.
    fn helpers(&self, dialect: Dialect) -> String {
        let slot = if self.by_points { "firsts[ROW(key)]" } else { "ROW(key)" };
        let atomics = |(space, into): (&str, &str)| {
            let (first, most) = (format!("first_{into}"), format!("most_{into}"));
            let words: [(&str, &dyn Display); 3] = [("space", &space), ("first", &first), ("most", &most)];
            fill(include_str!("fixed_scatter/atomics.c"), &words)
        };
        folded_rows::points(&self.call, atomic_points::index(&self.call))
            + &format!("#define SLOT(key) ({slot})\n")
            + include_str!("fixed_scatter/functions.c")
            + &atomic_points::add_wide(dialect)
            + &atomic_points::SPACES.map(atomics).concat()
    }
}
