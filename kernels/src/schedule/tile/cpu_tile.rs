//! The blocks of a product on a CPU.

use super::Contraction;
use crate::dtype::DType;
use crate::target::Target;

/// A tile, and the blocks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuTile {
    /// Rows and columns of the tile: whole blocks.
    pub(crate) tile: [u32; 2],
    /// Rows in registers at a time.
    pub(crate) rows: u32,
    /// Columns in registers at a time: one vector.
    pub(crate) lanes: u32,
    /// Inner points in arrays at a time.
    pub(crate) depth: u32,
}

/// Bytes of a vector: the widest vector register, or several narrower ones.
const VECTOR: u32 = 64;
/// Default number of rows and of columns of a tile: an element is evaluated once and used this number of
/// times.
const TILE: u32 = 128;
/// Maximum number of inner points in arrays at a time: a panel of them fits the L1 cache.
const DEPTH: u64 = 256;
/// Tiles for each core, so that all cores finish at about the same time.
const TILES: u64 = 4;
/// Rows in registers, and how well they use the registers of common vector units.
const ROWS: [(u32, f64); 3] = [(6, 1.0), (5, 0.9), (4, 0.8)];

impl CpuTile {
    /// The blocks for a CPU, if its group memory holds a tile.
    pub(crate) fn choose(contraction: &Contraction, any_size: bool, target: &Target) -> Option<CpuTile> {
        let parts = || contraction.sides.iter().flat_map(|side| &side.parts);
        if parts().any(|part| part.dtype == DType::Bool) {
            return None;
        }
        let size = parts().map(|part| part.dtype.size() as u32).max()?;
        let lanes = (VECTOR / size).min(16);
        if any_size {
            let [rows, depth] = [4, DEPTH as u32];
            return CpuTile { tile: [6 * rows, 4 * lanes], rows, lanes, depth }.within(contraction, target);
        }
        let [m, n] = contraction.sides.each_ref().map(|side| side.extent);
        let gain = |(rows, gain): (u32, f64)| gain * m as f64 / m.next_multiple_of(rows.into()) as f64;
        let (rows, _) = ROWS.into_iter().max_by(|a, b| gain(*a).total_cmp(&gain(*b)))?;
        let whole = |extent: u64, block: u32| {
            (extent.min(TILE.into()) as u32).next_multiple_of(block).min(TILE / block * block)
        };
        let depth = contraction.inner.min(DEPTH) as u32;
        let mut blocks = CpuTile { tile: [whole(m, rows), whole(n, lanes)], rows, lanes, depth };
        // Tiles for all cores, but large enough that evaluating the parts costs less than the product.
        let wanted = TILES * target.lanes.max(1);
        while blocks.groups(contraction) < wanted {
            let [m, n] = blocks.tile;
            if n >= m && n > 4 * lanes {
                blocks.tile[1] = half(n, lanes);
            } else if m > 6 * rows {
                blocks.tile[0] = half(m, rows);
            } else {
                break;
            }
        }
        blocks.within(contraction, target)
    }

    /// Smaller blocks, if group memory does not hold these; `None` if it holds none.
    fn within(mut self, contraction: &Contraction, target: &Target) -> Option<CpuTile> {
        while self.bytes(contraction) > target.local_memory {
            let [m, n] = self.tile;
            match self.depth > 32 {
                true => self.depth /= 2,
                false if n > self.lanes => self.tile[1] = half(n, self.lanes),
                false if m > self.rows => self.tile[0] = half(m, self.rows),
                false => return None,
            }
        }
        Some(self)
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

    /// Bytes of group memory.
    fn bytes(&self, contraction: &Contraction) -> u64 {
        let part = |side: usize| {
            let size: usize = contraction.sides[side].parts.iter().map(|part| part.dtype.size()).sum();
            u64::from(self.tile[side] * self.depth) * size as u64
        };
        let left = &contraction.sides[0].parts;
        let size: usize = contraction.folds.iter().map(|fold| left[fold[0]].dtype.size()).sum();
        part(0) + part(1) + u64::from(self.tile[0] * self.tile[1]) * size as u64
    }
}

/// Half of an extent, in whole blocks.
fn half(extent: u32, block: u32) -> u32 {
    (extent / 2).next_multiple_of(block)
}
