//! Nests that are products of matrices, in tiles: each loaded element is used for a whole tile of results.
//!
//! A [`Contraction`] is detected in the Nest itself: a Reduce phase that sums products of a part that does
//! not depend on the column and a part that does not depend on the row. On a GPU it may also fold another
//! function of the two parts, such as the squares of their differences, and take the largest or the smallest,
//! or its place: a product over another semiring, as that of maximum and sum. The parts may be any scalar
//! expressions (ops fused into the inputs of the product), and so may the phases after it (the fused
//! epilogue). [`gpu_tile`] chooses tiles for GPUs, [`cpu_tile`] for CPUs.

mod cpu_tile;
mod gpu_tile;
mod parts;

pub(crate) use cpu_tile::CpuTile;
pub(crate) use gpu_tile::{GpuTile, RUN};

use super::access::{Address, Walk, Walks};
use crate::dtype::DType;
use crate::nest::{Fold, Inst, Nest, Phase, PhaseKind, Value};
use crate::target::{Dialect, Target};
use parts::{dependences, needs, parts};

/// Minimum number of rows and of columns, and minimum length of the sums, for tiles.
const FEWEST: (u64, u64) = (4, 8);
/// On GPUs, if a side has at most this number of rows or columns and the sums are longer than the second
/// number, items share each sum rather than a tile.
const NARROW: (u64, u64) = (16, 64);

/// Bytes of a word.
pub(crate) const PACK: u64 = 4;

/// A Nest to be printed in tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContractionTile {
    pub(crate) contraction: Contraction,
    pub(crate) form: TileForm,
}

/// The device-specific form of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileForm {
    /// On a GPU.
    Group(GpuTile),
    /// On a CPU.
    Cpu(CpuTile),
}

/// A Nest as a product: `folds[rows, columns] = sum over the inner points of left[rows, inner] * right[inner,
/// columns]`, for each point of the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contraction {
    /// The loops that only left parts depend on, and the loops that only right parts depend on.
    pub(crate) sides: [ContractionSide; 2],
    /// All other loops over the grid.
    pub(crate) batch: Vec<Walk>,
    /// Number of inner points, or of packs of them.
    pub(crate) inner: u64,
    /// Four neighbouring inner points are one word of bytes of this dtype, which one instruction multiplies
    /// and adds.
    pub(crate) packed: Option<DType>,
    /// For each fold, the numbers of its left and its right part.
    pub(crate) folds: Vec<[usize; 2]>,
    /// Whether the folds are sums; else they take extremes.
    pub(crate) sums: bool,
    /// The folds that find a place along the inner points, as well as a value.
    pub(crate) places: usize,
    /// For each fold, the values computed from its parts up to the folded one, in order; empty for a product.
    pub(crate) between: Vec<Vec<Value>>,
    /// Whether each value of the Reduce phase is uniform in a tile.
    pub(crate) uniform: Vec<bool>,
}

/// The rows, or the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContractionSide {
    pub(crate) walks: Vec<Walk>,
    pub(crate) extent: u64,
    pub(crate) parts: Vec<ContractionFactor>,
}

/// One factor of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContractionFactor {
    pub(crate) value: Value,
    /// The dtype of its register.
    pub(crate) dtype: DType,
    /// Values of the block that it is computed from.
    pub(crate) needs: Vec<bool>,
    /// Neighbours along the inner points are neighbours in memory.
    pub(crate) along_inner: bool,
}

impl ContractionTile {
    /// The tiles of a Nest, if it is a product and large enough.
    pub(crate) fn choose(
        nest: &Nest,
        walks: &Walks,
        dtypes: &[Vec<DType>],
        any_size: bool,
        target: &Target,
    ) -> Option<ContractionTile> {
        let mut contraction = Contraction::of(nest, walks, dtypes)?;
        if target.dialect == Dialect::CudaCpp && !any_size {
            contraction.pack(nest, &dtypes[0]);
        }
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
                true => GpuTile::choose_for_any_size(&contraction, target),
                false => GpuTile::choose(&contraction, target),
            };
            TileForm::Group(shape?)
        } else if target.dialect == Dialect::OpenClC {
            contraction.widen();
            TileForm::Cpu(CpuTile::choose(&contraction, any_size, target)?)
        } else {
            return None;
        };
        Some(ContractionTile { contraction, form })
    }

    /// Number of groups, and items per group.
    pub(crate) fn launch(&self) -> (u64, u32) {
        match &self.form {
            TileForm::Group(shape) => (shape.groups(&self.contraction), shape.items()),
            TileForm::Cpu(blocks) => (blocks.groups(&self.contraction), 1),
        }
    }
}

impl Contraction {
    /// Detects the product in a Nest.
    fn of(nest: &Nest, walks: &Walks, dtypes: &[Vec<DType>]) -> Option<Contraction> {
        let (reduce, points) = nest.phases.split_first().filter(|_| may_be_product(nest))?;
        let depends = dependences(nest, reduce);
        let grid = mask(&walks.grid);
        let (factors, between): (Vec<_>, Vec<_>) =
            parts(nest, reduce, &dtypes[0], &depends, grid)?.into_iter().unzip();
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
            ContractionSide { extent: walks.iter().map(|w| w.extent).product(), walks, parts: Vec::new() }
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
        let sums = reduce.folds.iter().all(|fold| fold.fold == Fold::Sum);
        let places = reduce.folds.iter().filter(|fold| fold.fold.has_index()).count();
        Some(Contraction {
            sides,
            batch,
            inner: nest.inner_points(),
            packed: None,
            folds,
            sums,
            places,
            between,
            uniform,
        })
    }

    /// Packs the inner points if all parts are bytes of one dtype, and what is summed are products in int32.
    fn pack(&mut self, nest: &Nest, dtypes: &[DType]) {
        let bytes = |part: &ContractionFactor| match nest.phases[0].block.insts[part.value as usize] {
            Inst::Cast { to: DType::I32, value } => Some(dtypes[value as usize]),
            _ => None,
        };
        let mut parts = self.sides.iter().flat_map(|side| &side.parts).map(bytes);
        let first = parts.next().flatten().filter(|dtype| matches!(dtype, DType::I8 | DType::U8));
        let products = self.sums && self.between.iter().all(Vec::is_empty);
        if products && first.is_some() && parts.all(|dtype| dtype == first) && self.inner.is_multiple_of(PACK)
        {
            (self.packed, self.inner) = (first, self.inner / PACK);
        }
    }

    /// Swaps rows and columns if there are fewer columns than half the lanes of a vector.
    fn widen(&mut self) {
        let [rows, columns] = self.sides.each_ref().map(|side| side.extent);
        if columns < 8 && rows > columns {
            self.sides.swap(0, 1);
            self.folds.iter_mut().for_each(|fold| fold.swap(0, 1));
        }
    }

    /// Registers for a result.
    pub(crate) fn words(&self) -> usize {
        self.folds.len() + self.places
    }

    /// Number of products.
    pub(crate) fn batches(&self) -> u64 {
        self.batch.iter().map(|w| w.extent).product()
    }
}

impl ContractionSide {
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
        self.parts.push(ContractionFactor { value, dtype, needs, along_inner: votes > 0 });
        self.parts.len() - 1
    }
}

/// Whether a Nest folds once, from what it does not write, and visits each point of its grid after that.
fn may_be_product(nest: &Nest) -> bool {
    let Some((reduce, points)) = nest.phases.split_first() else { return false };
    let plain = reduce.kind == PhaseKind::Reduce && reduce.stores.is_empty() && !reduce.folds.is_empty();
    let loads_written = reduce
        .block
        .insts
        .iter()
        .any(|inst| matches!(inst, Inst::Load { operand, .. } if nest.operands[*operand].written));
    let empty = nest.grid_points() == 0 || nest.axes.len() > 64;
    plain && !loads_written && !empty && points.iter().all(|p| p.kind == PhaseKind::Point)
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

#[cfg(test)]
mod tests;
