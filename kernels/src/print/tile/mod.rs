//! Products of matrices in tiles: `gpu` prints those of GPUs, `cpu` those of CPUs.
//!
//! Each sum is taken in the order of the inner points, or of slices of them: results are deterministic.

mod cpu;
mod gpu;

use super::kernel::Printer;
use super::{Dialect, expr};
use crate::dtype::DType;
use crate::nest::{Fold, Inst, Value};
use crate::ops;
use crate::schedule::tile::{Contraction, ContractionFactor, ContractionTile, TileForm};
use std::collections::HashMap;

impl Printer<'_> {
    /// Prints a whole product.
    pub(super) fn tiled(&mut self, tile: &ContractionTile) {
        match &tile.form {
            TileForm::Group(shape) => self.group_tiles(&tile.contraction, shape),
            TileForm::Cpu(blocks) => self.cpu_tiles(&tile.contraction, blocks),
        }
    }

    /// The sum of an accumulator and a product; for floats a fused multiply-add, if the device has one.
    fn multiply_add(&self, dtype: DType, [left, right, sum]: [&str; 3]) -> String {
        if dtype.is_float() {
            return match self.dialect {
                Dialect::OpenClC => format!("fma_{}({left}, {right}, {sum})", dtype.short()),
                Dialect::CudaCpp => format!("{}({left}, {right}, {sum})", self.dialect.math("fma", dtype)),
            };
        }
        let product = expr::op(self.dialect, ops::MUL, dtype, dtype, &[left, right]);
        expr::op(self.dialect, ops::ADD, dtype, dtype, &[sum, &format!("({product})")])
    }

    /// The statement that folds what a fold takes of its two parts into an accumulator. The accumulator of a
    /// place is the value, `place` is beside it and `here` the place of the parts.
    fn fold_parts(
        &self,
        c: &Contraction,
        fold: usize,
        [left, right, sum]: [&str; 3],
        [place, here]: [&str; 2],
    ) -> String {
        let [row, column] = c.folds[fold];
        let (row, column) = (&c.sides[0].parts[row], &c.sides[1].parts[column]);
        let Some((&last, before)) = c.between[fold].split_last() else {
            match c.packed {
                Some(DType::U8) => {
                    return format!("{sum} = (i32)__dp4a((u32){left}, (u32){right}, (u32){sum});");
                }
                Some(_) => return format!("{sum} = __dp4a({left}, {right}, {sum});"),
                None => {}
            }
            return format!("{sum} = {};", self.multiply_add(row.dtype, [left, right, sum]));
        };
        let insts = &self.nest.phases[0].block.insts;
        let mut names: HashMap<Value, String> =
            [(row.value, left.into()), (column.value, right.into())].into_iter().collect();
        let dtype = row.dtype;
        let args_of = |names: &HashMap<Value, String>, value: Value| match &insts[value as usize] {
            Inst::Op { op, args } => {
                (*op, args.iter().map(|arg| names.get(arg).cloned().unwrap_or_default()).collect())
            }
            // All values between are ops.
            _ => (ops::ADD, vec![]),
        };
        let text = |op, args: &[String]| {
            expr::op(self.dialect, op, dtype, dtype, &args.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let mut statement = String::from("{ ");
        for &value in before {
            let (op, args) = args_of(&names, value);
            statement += &format!("const {} v{value} = {}; ", dtype.short(), text(op, &args));
            names.insert(value, format!("v{value}"));
        }
        let (op, args): (_, Vec<String>) = args_of(&names, last);
        let kind = self.nest.phases[0].folds[fold].fold;
        if kind.has_index() {
            // As `combine_later` does: places ascend, and NaN beats all numbers.
            let worse = if kind == Fold::ArgMax { "<=" } else { ">=" };
            return statement
                + &format!("const {} v = {}; ", dtype.short(), text(op, &args))
                + &format!("const bool wins = !(v {worse} {sum}) && {sum} == {sum}; ")
                + &format!("{sum} = wins ? v : {sum}; {place} = wins ? {here} : {place}; }}");
        }
        let sum_of = match args.as_slice() {
            args if !c.sums => self.extreme(kind, dtype, [&text(op, args), sum]),
            [a] if op == ops::SQR => self.multiply_add(dtype, [a, a, sum]),
            [a, b] if op == ops::MUL => self.multiply_add(dtype, [a, b, sum]),
            args => format!("{sum} + ({})", text(op, args)),
        };
        statement + &format!("{sum} = {sum_of}; }}")
    }

    /// The larger or the smaller of a value and what is there; NaN if either is.
    fn extreme(&self, fold: Fold, dtype: DType, [a, b]: [&str; 2]) -> String {
        match (self.dialect, dtype, fold) {
            (Dialect::CudaCpp, DType::F32, Fold::Max) => format!("larger_f32({a}, {b})"),
            (Dialect::CudaCpp, DType::F32, Fold::Min) => format!("smaller_f32({a}, {b})"),
            _ => expr::op(self.dialect, fold.combine(), dtype, dtype, &[b, &format!("({a})")]),
        }
    }

    /// Prints the values that are uniform in a tile, and returns their names.
    fn uniform_values(&mut self, contraction: &Contraction) -> Vec<String> {
        let mut names = vec![String::new(); contraction.uniform.len()];
        let parts = || contraction.sides.iter().flat_map(|side| &side.parts);
        self.block_where(0, &mut names, |at| contraction.uniform[at] && parts().any(|p| p.needs[at]));
        names
    }

    /// Prints the values that a part needs, at positions that are declared already, and returns its name.
    fn part(&mut self, contraction: &Contraction, part: &ContractionFactor, uniform: &[String]) -> String {
        let mut names = uniform.to_vec();
        self.block_where(0, &mut names, |at| part.needs[at] && !contraction.uniform[at]);
        names[part.value as usize].clone()
    }
}
