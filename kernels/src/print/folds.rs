//! Folds: accumulators and long float sums.

use super::cpu_lanes::AccumulatorLayout;
use super::expr;
use super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::{Fold, FoldOf, Inst, Value};

/// A float sum of more terms is a sum of partial sums of this many terms, on up to three levels: its error
/// grows with the logarithm of the length, as that of a pairwise sum.
const RUN: u64 = 128;

impl Printer<'_> {
    /// Number of levels of partial sums of a fold, if an item folds `count` values.
    fn levels(&self, fold: &FoldOf, dtype: DType, count: u64) -> usize {
        match fold.fold {
            Fold::Sum if dtype.is_float() => 1 + usize::from(count > RUN) + usize::from(count > RUN * RUN),
            _ => 1,
        }
    }

    /// The number of values that an item folds, which decides the levels of its sums. In a kernel for any
    /// size it is unknown.
    pub(super) fn folded(&self, count: u64) -> u64 {
        if self.any_size { u64::MAX } else { count }
    }

    /// An accumulator of a fold; `part` distinguishes the accumulators of one fold.
    fn accumulator(&self, phase: usize, fold: usize, part: &str) -> String {
        match self.side {
            AccumulatorLayout::Alone => format!("f{phase}_{fold}{part}"),
            AccumulatorLayout::Inner(_) => format!("s{phase}_{fold}{part}[l]"),
            AccumulatorLayout::Grid(_) => format!("f{phase}_{fold}{part}[l]"),
        }
    }

    /// Declares variables of one type: initialized scalars, or arrays with an element for each lane. For
    /// arrays it returns the statements that initialize a lane.
    fn declare(&mut self, register: &str, names: &[String], start: &str) -> Vec<String> {
        let Some(width) = self.side.width() else {
            let each: Vec<String> = names.iter().map(|name| format!("{name} = {start}")).collect();
            self.line(&format!("{register} {};", each.join(", ")));
            return Vec::new();
        };
        let arrays: Vec<String> =
            names.iter().map(|name| name.replace("[l]", &format!("[{width}]"))).collect();
        self.line(&format!("{register} {};", arrays.join(", ")));
        names.iter().map(|name| format!("{name} = {start};")).collect()
    }

    /// Declares the accumulators of a phase in which each item, or each of its lanes, folds `count` values.
    pub(super) fn declare_folds(&mut self, phase: usize, count: u64) {
        let (mut most, mut starts) = (1, Vec::new());
        for (at, fold) in self.nest.phases[phase].folds.iter().enumerate() {
            let dtype = self.dtypes[phase][fold.value as usize];
            let register = dtype.register().short();
            let start = expr::literal(self.dialect, fold.fold.identity(dtype));
            if fold.fold.has_index() {
                let last = expr::literal(self.dialect, crate::Scalar::from_i128(DType::I64, i64::MAX.into()));
                let (best, index) = (self.accumulator(phase, at, "v"), self.accumulator(phase, at, ""));
                starts.extend(self.declare(register, &[best], &start));
                starts.extend(self.declare("i64", &[index], &last));
                continue;
            }
            let levels = self.levels(fold, dtype, count);
            most = most.max(levels);
            let parts = ["", "b", "c"];
            let names: Vec<String> =
                parts.iter().take(levels).map(|part| self.accumulator(phase, at, part)).collect();
            starts.extend(self.declare(register, &names, &start));
        }
        self.each_lane(&starts);
        if most > 1 {
            self.line(&format!("u32 n{phase} = 0u;"));
        }
    }

    /// Folds the values of one point.
    pub(super) fn accumulate(&mut self, phase: usize, names: &[String], count: u64) {
        for (at, fold) in self.nest.phases[phase].folds.iter().enumerate() {
            let dtype = self.dtypes[phase][fold.value as usize];
            let levels = self.levels(fold, dtype, count);
            let target = self.accumulator(phase, at, if levels > 1 { "b" } else { "" });
            let best = self.accumulator(phase, at, "v");
            let value = &names[fold.value as usize];
            match fold.index {
                Some(index) if self.ascends(phase, index) => {
                    self.combine_later(fold.fold, dtype, (&target, &best), value, &names[index as usize]);
                }
                index => {
                    let index = index.map(|i| names[i as usize].as_str());
                    self.combine(fold, dtype, (&target, &best), value, index);
                }
            }
        }
    }

    /// Whether this index ascends along the inner loop.
    fn ascends(&self, phase: usize, index: Value) -> bool {
        let inner = &self.walks.inner;
        matches!(&self.nest.phases[phase].block.insts[index as usize],
            Inst::Axis(axis) if inner.len() == 1 && inner[0].axis == *axis)
    }

    /// Folds a value whose index is greater than all before: it wins if it is better, or the first.
    fn combine_later(
        &mut self,
        fold: Fold,
        dtype: DType,
        (target, best): (&str, &str),
        value: &str,
        index: &str,
    ) {
        let (better, worse) = if fold == Fold::ArgMax { (">", "<=") } else { ("<", ">=") };
        // NaN beats all numbers, and the first NaN is kept.
        let wins = match dtype.is_float() {
            true => format!("!({value} {worse} {best}) && {best} == {best}"),
            false => format!("{value} {better} {best}"),
        };
        let none = expr::literal(self.dialect, crate::Scalar::from_i128(DType::I64, i64::MAX.into()));
        self.open("");
        self.line(&format!("const bool wins = ({wins}) || {target} == {none};"));
        self.line(&format!("{best} = wins ? {value} : {best};"));
        self.line(&format!("{target} = wins ? {index} : {target};"));
        self.close();
    }

    /// Printed after a point: adds full partial sums to the next level.
    pub(super) fn carry(&mut self, phase: usize, count: u64) {
        let (mut carries, mut carries_above) = (Vec::new(), Vec::new());
        for (at, fold) in self.nest.phases[phase].folds.iter().enumerate() {
            let levels = self.levels(fold, self.dtypes[phase][fold.value as usize], count);
            let [first, b, c] = ["", "b", "c"].map(|part| self.accumulator(phase, at, part));
            if levels > 1 {
                let above = if levels > 2 { &c } else { &first };
                carries.extend([format!("{above} += {b};"), format!("{b} = 0;")]);
            }
            if levels > 2 {
                carries_above.extend([format!("{first} += {c};"), format!("{c} = 0;")]);
            }
        }
        if carries.is_empty() {
            return;
        }
        self.open(&format!("if ((++n{phase} & {}u) == 0u)", RUN - 1));
        self.each_lane(&carries);
        if !carries_above.is_empty() {
            self.open(&format!("if ((n{phase} & {}u) == 0u)", RUN * RUN - 1));
            self.each_lane(&carries_above);
            self.close();
        }
        self.close();
    }

    /// Adds up the levels of long sums.
    pub(super) fn finish_folds(&mut self, phase: usize, count: u64) {
        let mut sums = Vec::new();
        for (at, fold) in self.nest.phases[phase].folds.iter().enumerate() {
            let [first, b, c] = ["", "b", "c"].map(|part| self.accumulator(phase, at, part));
            match self.levels(fold, self.dtypes[phase][fold.value as usize], count) {
                1 => {}
                2 => sums.push(format!("{first} += {b};")),
                _ => sums.push(format!("{first} += {c} + {b};")),
            }
        }
        self.each_lane(&sums);
    }

    /// Folds the accumulators of all lanes, in order, into the item's own.
    pub(super) fn fold_lanes(&mut self, phase: usize, width: u32) {
        self.open_lanes(width);
        for (at, fold) in self.nest.phases[phase].folds.iter().enumerate() {
            let dtype = self.dtypes[phase][fold.value as usize];
            let (target, lane) = (format!("f{phase}_{at}"), format!("s{phase}_{at}[l]"));
            if fold.fold.has_index() {
                let best = format!("s{phase}_{at}v[l]");
                self.combine(fold, dtype, (&target, &format!("{target}v")), &best, Some(&lane));
            } else {
                self.combine(fold, dtype, (&target, ""), &lane, None);
            }
        }
        self.close();
    }

    /// Folds one value, with its index if there is one, into an accumulator: `target` is the result, `best`
    /// the best value if the result is an index.
    pub(super) fn combine(
        &mut self,
        fold: &FoldOf,
        dtype: DType,
        (target, best): (&str, &str),
        value: &str,
        index: Option<&str>,
    ) {
        let Some(index) = index else {
            let text = expr::op(self.dialect, fold.fold.combine(), dtype, dtype, &[target, value]);
            self.line(&format!("{target} = {text};"));
            return;
        };
        let sign = if fold.fold == Fold::ArgMax { ">" } else { "<" };
        let nan = if dtype.is_float() {
            format!(" || ({value} != {value} && ({best} == {best} || {index} < {target}))")
        } else {
            String::new()
        };
        let wins = format!("{value} {sign} {best} || ({value} == {best} && {index} < {target}){nan}");
        if self.side != AccumulatorLayout::Alone {
            // Selections become vector code, branches do not.
            self.open("");
            self.line(&format!("const bool wins = {wins};"));
            self.line(&format!("{best} = wins ? {value} : {best};"));
            self.line(&format!("{target} = wins ? {index} : {target};"));
            self.close();
            return;
        }
        self.open(&format!("if ({wins})"));
        self.line(&format!("{best} = {value};"));
        self.line(&format!("{target} = {index};"));
        self.close();
    }
}
