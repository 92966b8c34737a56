//! Nests that are products of matrices, in tiles: each loaded element is used for a whole tile of results.
//!
//! A [`Contraction`] is detected in the Nest itself: a Reduce phase that sums products of a part that does
//! not depend on the column and a part that does not depend on the row. On a GPU it may also sum another
//! function of the two parts, such as the squares of their differences. The parts may be any scalar
//! expressions (ops fused into the inputs of the product), and so may the phases after it (the fused
//! epilogue). `shape` chooses tiles for GPUs, `group` prints them, and `cpu` does both for CPUs.
//!
//! Each sum is taken in the order of the inner points, or of slices of them: results are deterministic.

mod cpu;
mod group;
mod parts;
mod shape;

use super::access::{Address, Walk, Walks};
use super::kernel::Printer;
use super::{Dialect, Target, expr};
use crate::dtype::DType;
use crate::nest::{Inst, Nest, Phase, PhaseKind, Value};
use crate::ops;
use cpu::Blocks;
use parts::{dependences, needs, parts};
use shape::Shape;
use std::collections::HashMap;

/// Minimum number of rows and of columns, and minimum length of the sums, for tiles.
const FEWEST: (u64, u64) = (4, 8);
/// On GPUs, if a side has at most this number of rows or columns and the sums are longer than the second
/// number, items share each sum rather than a tile.
const NARROW: (u64, u64) = (16, 64);

/// A Nest to be printed in tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    contraction: Contraction,
    form: Form,
}

/// The device-specific form of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// On a GPU.
    Group(Shape),
    /// On a CPU.
    Cpu(Blocks),
}

/// A Nest as a product: `folds[rows, columns] = sum over the inner points of left[rows, inner] * right[inner,
/// columns]`, for each point of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contraction {
    /// The loops that only left parts depend on, and the loops that only right parts depend on.
    sides: [Side; 2],
    /// All other loops over the grid.
    batch: Vec<Walk>,
    /// Number of inner points.
    inner: u64,
    /// For each fold, the numbers of its left and its right part.
    folds: Vec<[usize; 2]>,
    /// For each fold, the values between its parts and what it sums, in order; none if that is their product.
    between: Vec<Vec<Value>>,
    /// Whether each value of the Reduce phase is uniform in a tile.
    uniform: Vec<bool>,
}

/// The rows, or the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    walks: Vec<Walk>,
    extent: u64,
    parts: Vec<Part>,
}

/// One factor of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    value: Value,
    /// The dtype of its register.
    dtype: DType,
    /// Values of the block that it is computed from.
    needs: Vec<bool>,
    /// Neighbours along the inner points are neighbours in memory.
    along_inner: bool,
}

impl Tile {
    /// The tiles of a Nest, if it is a product and large enough.
    pub(super) fn choose(
        nest: &Nest,
        walks: &Walks,
        dtypes: &[Vec<DType>],
        any_size: bool,
        target: &Target,
    ) -> Option<Tile> {
        let mut contraction = Contraction::of(nest, walks, dtypes)?;
        let any_below = |most: u64| contraction.sides.iter().any(|side| side.extent < most);
        let narrow = !target.cpu && !any_size && contraction.inner > NARROW.1 && any_below(NARROW.0 + 1);
        if any_below(if any_size { 2 } else { FEWEST.0 }) || narrow || contraction.inner < FEWEST.1 {
            return None;
        }
        if target.cpu && contraction.between.iter().any(|values| !values.is_empty()) {
            return None;
        }
        let form = if !target.cpu {
            let shape = match any_size {
                true => Shape::choose_for_any_size(&contraction, target),
                false => Shape::choose(&contraction, target),
            };
            Form::Group(shape?)
        } else if target.dialect == Dialect::OpenClC {
            contraction.widen();
            Form::Cpu(Blocks::choose(&contraction, any_size, target)?)
        } else {
            return None;
        };
        Some(Tile { contraction, form })
    }

    /// Number of groups, and items per group.
    pub(super) fn launch(&self) -> (u64, u32) {
        match &self.form {
            Form::Group(shape) => (shape.groups(&self.contraction), shape.items()),
            Form::Cpu(blocks) => (blocks.groups(&self.contraction), 1),
        }
    }
}

impl Contraction {
    /// Detects the product in a Nest.
    fn of(nest: &Nest, walks: &Walks, dtypes: &[Vec<DType>]) -> Option<Contraction> {
        let (reduce, points) = nest.phases.split_first()?;
        let plain = reduce.kind == PhaseKind::Reduce && reduce.stores.is_empty() && !reduce.folds.is_empty();
        let loads_written = reduce
            .block
            .insts
            .iter()
            .any(|inst| matches!(inst, Inst::Load { operand, .. } if nest.operands[*operand].written));
        let empty = nest.grid_points() == 0 || nest.axes.len() > 64;
        if !plain || loads_written || empty || points.iter().any(|p| p.kind != PhaseKind::Point) {
            return None;
        }
        let depends = dependences(nest, reduce);
        let grid = mask(&walks.grid);
        let (factors, between): (Vec<_>, Vec<_>) =
            parts(reduce, &dtypes[0], &depends, grid)?.into_iter().unzip();
        let first = factors.first()?.map(|value| depends[value as usize] & grid);
        let mut own = [first[0] & !first[1], first[1] & !first[0]];
        if own.contains(&0) {
            return None;
        }
        // The contiguous axis of the results is the column axis.
        if columns_first(nest, walks, points, own) {
            own.swap(0, 1);
        }
        let mut sides = own.map(|own| {
            let walks: Vec<Walk> = walks.grid.iter().filter(|w| own >> w.axis & 1 != 0).cloned().collect();
            Side { extent: walks.iter().map(|w| w.extent).product(), walks, parts: Vec::new() }
        });
        let mut folds = Vec::new();
        for [left, right] in factors {
            let fits =
                |l: Value, r: Value| depends[l as usize] & own[1] == 0 && depends[r as usize] & own[0] == 0;
            let pair = match (fits(left, right), fits(right, left)) {
                (true, _) => [left, right],
                (_, true) => [right, left],
                _ => return None,
            };
            let mut places = [0; 2];
            for (place, (side, value)) in places.iter_mut().zip(sides.iter_mut().zip(pair)) {
                *place = side.part(nest, walks, &dtypes[0], value);
            }
            folds.push(places);
        }
        let all = grid | mask(&walks.inner);
        let batch: Vec<Walk> =
            walks.grid.iter().filter(|w| (own[0] | own[1]) >> w.axis & 1 == 0).cloned().collect();
        let within = all & !mask(&batch);
        let uniform = depends.iter().map(|d| d & within == 0).collect();
        Some(Contraction { sides, batch, inner: nest.inner_points(), folds, between, uniform })
    }

    /// Swaps rows and columns if there are fewer columns than half the lanes of a vector.
    fn widen(&mut self) {
        let [rows, columns] = self.sides.each_ref().map(|side| side.extent);
        if columns < 8 && rows > columns {
            self.sides.swap(0, 1);
            self.folds.iter_mut().for_each(|fold| fold.swap(0, 1));
        }
    }

    /// Number of products.
    fn batches(&self) -> u64 {
        self.batch.iter().map(|w| w.extent).product()
    }
}

impl Side {
    /// The number of a part of this side; adds the part if it is new.
    fn part(&mut self, nest: &Nest, walks: &Walks, dtypes: &[DType], value: Value) -> usize {
        if let Some(at) = self.parts.iter().position(|p| p.value == value) {
            return at;
        }
        let phase = &nest.phases[0];
        let needs = needs(phase, value);
        let step = |address: &Address, walk: Option<&Walk>| walk.map_or(0, |w| address.steps[w.axis].abs());
        let mut votes = 0;
        for (inst, _) in phase.block.insts.iter().zip(&needs).filter(|(_, needed)| **needed) {
            if let Inst::Load { operand, index } = inst {
                let address = Address::new(nest, *operand, index);
                votes += match (step(&address, self.walks.last()), step(&address, walks.inner.last())) {
                    (n, 1) if n != 1 => 1,
                    (1, n) if n != 1 => -1,
                    _ => 0,
                };
            }
        }
        let dtype = dtypes[value as usize].register();
        self.parts.push(Part { value, dtype, needs, along_inner: votes > 0 });
        self.parts.len() - 1
    }
}

fn mask(walks: &[Walk]) -> u64 {
    walks.iter().fold(0, |mask, w| mask | 1 << w.axis)
}

/// Whether the results are contiguous along the first of two sets of axes; if they are along neither, whether
/// the last grid loop is in the first set.
fn columns_first(nest: &Nest, walks: &Walks, points: &[Phase], own: [u64; 2]) -> bool {
    let mut votes = 0;
    for store in points.iter().flat_map(|p| &p.stores) {
        let address = Address::new(nest, store.operand, &store.index);
        let contiguous = |own: u64| {
            walks.grid.iter().any(|w| own >> w.axis & 1 != 0 && address.steps[w.axis].unsigned_abs() == 1)
        };
        votes += i32::from(contiguous(own[0])) - i32::from(contiguous(own[1]));
    }
    let last = walks.grid.iter().rev().find(|w| (own[0] | own[1]) >> w.axis & 1 != 0);
    votes > 0 || votes == 0 && last.is_some_and(|w| own[0] >> w.axis & 1 != 0)
}

impl Printer<'_> {
    /// Prints a whole product.
    pub(super) fn tiled(&mut self, tile: &Tile) {
        match &tile.form {
            Form::Group(shape) => self.group_tiles(&tile.contraction, shape),
            Form::Cpu(blocks) => self.cpu_tiles(&tile.contraction, blocks),
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

    /// The statement that adds to a sum what a fold sums of its two parts.
    fn add_to_sum(&self, c: &Contraction, fold: usize, [left, right, sum]: [&str; 3]) -> String {
        let [row, column] = c.folds[fold];
        let (row, column) = (&c.sides[0].parts[row], &c.sides[1].parts[column]);
        let Some((&last, before)) = c.between[fold].split_last() else {
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
        let sum_of = match args.as_slice() {
            [a] if op == ops::SQR => self.multiply_add(dtype, [a, a, sum]),
            [a, b] if op == ops::MUL => self.multiply_add(dtype, [a, b, sum]),
            args => format!("{sum} + ({})", text(op, args)),
        };
        statement + &format!("{sum} = {sum_of}; }}")
    }

    /// Prints the values that are uniform in a tile, and returns their names.
    fn uniform_values(&mut self, contraction: &Contraction) -> Vec<String> {
        let mut names = vec![String::new(); contraction.uniform.len()];
        let parts = || contraction.sides.iter().flat_map(|side| &side.parts);
        self.block_where(0, &mut names, |at| contraction.uniform[at] && parts().any(|p| p.needs[at]));
        names
    }

    /// Prints the values that a part needs, at positions that are declared already, and returns its name.
    fn part(&mut self, contraction: &Contraction, part: &Part, uniform: &[String]) -> String {
        let mut names = uniform.to_vec();
        self.block_where(0, &mut names, |at| part.needs[at] && !contraction.uniform[at]);
        names[part.value as usize].clone()
    }
}

#[cfg(test)]
mod tests;
