//! The size of tiles on a GPU and their division among the items of a group: the fastest shape by a small
//! cost model.
//!
//! The constants of the model were fitted to measurements of about a hundred shapes on one GPU (compute
//! capability 9.0), for a dozen products; only their ratios matter. They affect speed, never results.

use super::{Contraction, ContractionFactor};
use crate::dtype::Width;
use crate::target::{Dialect, Target};

/// A tile and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GpuTile {
    /// Rows and columns of the tile.
    pub(crate) tile: [u32; 2],
    /// Rows and columns of one item.
    pub(crate) each: [u32; 2],
    /// Inner points in group memory at a time.
    pub(crate) depth: u32,
    /// Number of items that share a result: each sums every `slices`-th of those points.
    pub(crate) slices: u32,
    /// Number of buffers of `depth` points in group memory: two if one is used while the next one is loaded.
    pub(crate) buffers: u32,
}

/// Maximum number of items of a group, if the device allows it, and of results of an item: they must fit the
/// registers.
const GROUPS: [(u32, u32); 4] = [(128, 64), (256, 64), (512, 32), (1024, 16)];
/// Items that a compute unit keeps in flight.
const UNIT: u64 = 2048;
/// Bytes of group memory that both languages allow by default, and that leave room for several groups on a
/// unit.
const LOCAL: u64 = 48 << 10;
/// Bytes of that memory that one unit has for all its groups.
const UNIT_LOCAL: u64 = 160 << 10;
/// Maximum number of results in group memory at once.
const AT_ONCE: u32 = 2048;
/// Inner points that neighbouring items load, if inner points are contiguous: a sector of memory.
pub(crate) const RUN: u32 = 8;

impl GpuTile {
    /// The fastest shape, if any fits.
    pub(crate) fn choose(contraction: &Contraction, target: &Target) -> Option<GpuTile> {
        let local = if target.dialect == Dialect::CudaCpp { LOCAL } else { u64::MAX };
        let local = local.min(target.local_memory).min(LOCAL);
        let units = target.lanes.div_ceil(UNIT).max(1);
        let mut best: Option<(f64, GpuTile)> = None;
        let [rows, columns] = [0, 1].map(|side| sizes(contraction.sides[side].extent));
        for &tile_rows in &rows {
            for &tile_columns in &columns {
                for each_rows in [2, 4, 8] {
                    for each_columns in [2, 4, 8] {
                        let (tile, each) = ([tile_rows, tile_columns], [each_rows, each_columns]);
                        // Beyond the device's limit, larger groups repeat the same shape.
                        for (group, results) in GROUPS {
                            let most = (group.min(target.max_group), results);
                            let Some(shape) = GpuTile::fit(contraction, tile, each, most, local) else {
                                continue;
                            };
                            let cost = shape.cost(contraction, units);
                            if best.is_none_or(|(least, _)| cost < least) {
                                best = Some((cost, shape));
                            }
                        }
                    }
                }
            }
        }
        best.map(|(_, shape)| shape)
    }

    /// The fastest shape for products of about this size: most sizes have the same.
    pub(crate) fn choose_for_any_size(contraction: &Contraction, target: &Target) -> Option<GpuTile> {
        let about = |extent: u64| if extent <= 64 { 32 } else { 1024 };
        let mut nominal = contraction.clone();
        nominal.sides.iter_mut().for_each(|side| side.extent = about(side.extent));
        nominal.inner = about(nominal.inner);
        nominal.batch.clear();
        Some(GpuTile { buffers: 2, ..GpuTile::choose(&nominal, target)? })
    }

    /// The shape of this tile, if it fits a group.
    fn fit(
        contraction: &Contraction,
        tile: [u32; 2],
        each: [u32; 2],
        (most, most_results): (u32, u32),
        local: u64,
    ) -> Option<GpuTile> {
        let divides = tile[0].is_multiple_of(each[0]) && tile[1].is_multiple_of(each[1]);
        let results = each[0] * each[1] * contraction.words() as u32;
        if !divides || results > most_results {
            return None;
        }
        let share = (tile[0] / each[0]) * (tile[1] / each[1]);
        // A slice has at least eight points.
        let longest = u32::try_from(contraction.inner.div_ceil(8)).unwrap_or(u32::MAX);
        let slices = previous_power_of_two((most / share).min(longest).min(32))?;
        let step = RUN.max(slices);
        let mut shape = GpuTile { tile, each, depth: step, slices, buffers: 2 };
        // The elements that an item fetches at a time stay in registers.
        let fetched = if results > 32 { 8 } else { 16 };
        let elements: u32 = [0, 1].map(|s| tile[s] * contraction.sides[s].parts.len() as u32).iter().sum();
        let sums = shape.sum_bytes(contraction);
        let row_bytes: u64 =
            [0, 1].map(|s| shape.slab_bytes(contraction, s)).iter().sum::<u64>() / u64::from(step);
        let fits = local.checked_sub(sums)? / (2 * row_bytes);
        let deepest = u64::from(shape.items() * fetched / elements).min(fits);
        let deepest = deepest / u64::from(step) * u64::from(step);
        if deepest == 0 {
            return None;
        }
        let rounds = contraction.inner.div_ceil(deepest);
        shape.depth = (contraction.inner.div_ceil(rounds) as u32).next_multiple_of(step);
        shape.buffers = if rounds > 1 { 2 } else { 1 };
        Some(shape)
    }

    /// Items per group.
    pub(crate) fn items(&self) -> u32 {
        self.slices * self.across(0) * self.across(1)
    }

    /// Items along the rows, or the columns, of a tile.
    pub(crate) fn across(&self, side: usize) -> u32 {
        self.tile[side] / self.each[side]
    }

    /// Tiles along the rows, or the columns.
    pub(crate) fn tiles(&self, contraction: &Contraction, side: usize) -> u64 {
        contraction.sides[side].extent.div_ceil(self.tile[side].into())
    }

    /// Number of groups, one for each tile.
    pub(crate) fn groups(&self, contraction: &Contraction) -> u64 {
        let tiles = self.tiles(contraction, 0).saturating_mul(self.tiles(contraction, 1));
        tiles.saturating_mul(contraction.batches())
    }

    /// Number of neighbouring results of an item along a side: the elements that one load from group memory
    /// moves, of any part.
    pub(crate) fn vector(&self, contraction: &Contraction, side: usize) -> u32 {
        let fits = |part: &ContractionFactor| match part.dtype.width() {
            Width::Bits32 => 4,
            Width::Bits64 => 2,
            Width::Bits8 | Width::Bits16 | Width::Bits128 => 1,
        };
        contraction.sides[side].parts.iter().map(fits).min().unwrap_or(1).min(self.each[side])
    }

    /// Elements from one inner point to the next in group memory: an odd multiple of four. Eight neighbouring
    /// inner points of four rows then lie in 32 different banks, and vectors stay aligned.
    pub(crate) fn stride(&self, side: usize) -> u32 {
        4 * (self.tile[side].div_ceil(4) | 1)
    }

    /// Bytes of group memory for one buffer of a side.
    fn slab_bytes(&self, contraction: &Contraction, side: usize) -> u64 {
        let bytes = |part: &ContractionFactor| part.dtype.size() as u64;
        let size: u64 = contraction.sides[side].parts.iter().map(bytes).sum();
        u64::from(self.stride(side) * self.depth) * size
    }

    /// Whether all results go through group memory at once, rather than one row of each item at a time.
    pub(crate) fn at_once(&self) -> bool {
        self.slices * self.tile[0] * self.tile[1] <= AT_ONCE
    }

    /// Rows of the tile whose results are in group memory together.
    pub(crate) fn rows_at_once(&self) -> u32 {
        if self.at_once() { self.tile[0] } else { self.across(0) }
    }

    /// Elements of group memory for these results.
    pub(crate) fn sums(&self) -> u32 {
        self.slices * self.rows_at_once() * self.tile[1]
    }

    fn sum_bytes(&self, contraction: &Contraction) -> u64 {
        let right = &contraction.sides[1].parts;
        let values: usize = contraction.folds.iter().map(|fold| right[fold[1]].dtype.size()).sum();
        // A place takes eight bytes at most.
        (values + 8 * contraction.places) as u64 * u64::from(self.sums())
    }

    /// Estimated cycles on a device with `units` compute units.
    fn cost(&self, contraction: &Contraction, units: u64) -> f64 {
        let float = f64::from;
        let slices = float(self.slices);
        let rounds = contraction.inner.div_ceil(self.depth.into()) as f64;
        let deep = rounds * float(self.depth);
        let folds = contraction.words() as f64;
        let mine = self.groups(contraction).div_ceil(units) as f64;
        let items = float(self.items());
        // A group's memory traffic in cycles of a unit, and the instructions that each of its items issues.
        let (mut traffic, mut fetching, mut reads) = (0.0, 0.0, 0.0);
        for side in [0, 1] {
            for part in &contraction.sides[side].parts {
                let elements = float(self.tile[side]) * deep;
                let work = part.needs.iter().zip(&contraction.uniform).filter(|(n, u)| **n && !**u).count();
                let run = if part.along_inner { float(RUN) } else { float(self.tile[side]) };
                // A run of elements is not aligned to a sector.
                traffic += elements * part.dtype.size() as f64 / 32.0 * (1.0 + 2.0 / run);
                fetching += elements / items * (15.0 + 2.0 * work.saturating_sub(1) as f64);
                reads += float(self.each[side].div_ceil(self.vector(contraction, side)));
            }
        }
        let results = float(self.each[0] * self.each[1]) * folds;
        let computing = deep / slices * (results + 6.0 * reads + 8.0);
        let passes = float(self.tile[0] / self.rows_at_once());
        let taken = (float(self.rows_at_once() * self.tile[1]) / items).ceil();
        let ending = passes * taken * (20.0 + 6.0 * slices);
        // A unit has four schedulers, which interleave their warps; a single warp waits for its own results.
        let bytes = [0, 1].map(|s| self.slab_bytes(contraction, s)).iter().sum::<u64>()
            * u64::from(self.buffers)
            + self.sum_bytes(contraction);
        let registers = (results as u64 + 48) * u64::from(self.items());
        let room = (UNIT_LOCAL / bytes).min((64 << 10) / registers).min(UNIT / u64::from(self.items())).max(1)
            as f64;
        let together = mine.min(room);
        let turns = (together * items / 128.0).max(3.7);
        let issuing = (fetching + computing + ending) * turns;
        // Latency that nothing hides.
        let waiting = rounds * 1400.0 + passes * (80.0 + taken * (50.0 + 4.0 * slices));
        (mine / room).ceil() * issuing.max(waiting).max(together * traffic) + 0.1 * waiting.min(issuing)
    }
}

/// Extents that tiles may have along a side: powers of two, and all of a short side.
fn sizes(extent: u64) -> Vec<u32> {
    let whole = u32::try_from(extent.min(64).next_multiple_of(2)).unwrap_or(64);
    let mut sizes: Vec<u32> =
        [8, 16, 32, 64, 128].into_iter().filter(|&size| u64::from(size) < 2 * extent).collect();
    if extent <= 64 && !sizes.contains(&whole) {
        sizes.push(whole);
    }
    sizes
}

fn previous_power_of_two(n: u32) -> Option<u32> {
    (n > 0).then(|| 1 << n.ilog2())
}
