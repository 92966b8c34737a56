//! What a product costs on a wide device, by its library and by a Nest.
//!
//! Rates are those of one of the device's units, so that a device with more of them is faster. They were
//! fitted to 117 products of float32 and float16 on an H200 (2026-11-27): m from 64 to 8192, n from 2 to 128,
//! k from 16 to 4096, batches of small ones and a few long sums. Four of five estimates are within a third of
//! the measured time; what counts is that the cheaper form is found where one is much cheaper.

use super::factors::ProductCall;
use workalike_kernels::DType;

/// Bytes that a unit moves to or from memory in a microsecond.
const MEMORY: f64 = 23e3;
/// Bytes that a unit reads from the caches in a microsecond.
const CACHES: f64 = 53e3;
/// Flops of a unit in a microsecond in a library's product.
const LIBRARY: f64 = 0.37e6;
/// The same of halves, by the units for matrices.
const LIBRARY_HALF: f64 = 4e6;
/// The same of bytes, which was measured with less care.
const LIBRARY_BYTES: f64 = 6e6;
/// Flops of a unit in a microsecond in a Nest that goes by tiles; four bytes are multiplied at a time.
const TILES: f64 = 0.18e6;
const TILES_OF_BYTES: f64 = 0.65e6;
/// Rows and columns of a tile; a smaller product costs a whole one.
const TILE: u64 = 64;
/// Of at most so many rows or columns, items share a sum rather than a tile if it is longer than the second
/// number (`kernels/src/schedule/tile/mod.rs`).
const NARROW: (u64, u64) = (16, 64);
/// Microseconds that a single tile takes for each position along k, how many more each of several tiles does,
/// which then are larger, and how many tiles are several.
const STEP: f64 = 5e-3;
const MORE: f64 = 9e-3;
const SEVERAL: f64 = 12.0;
/// Microseconds that a kernel, and a call of the library, take in any case.
const KERNEL: f64 = 2.0;
const CALL: f64 = 5.0;
/// Bytes of a factor that stay in a unit's own cache, whatever the order in which they are read, and bytes of
/// the sectors that one sum reads, which stay there for the sums beside it.
const OWN_CACHE: f64 = 192.0 * 1024.0;
const OF_A_SUM: f64 = 64.0 * 1024.0;
/// Bytes that are read if one is.
const SECTOR: f64 = 32.0;
/// Microseconds that a library must save, since a Nest may compute what is around the product.
const FUSED: f64 = 3.0;

/// A product on a device with so many units.
pub(super) struct ProductCost<'a> {
    pub(super) call: &'a ProductCall,
    pub(super) dtype: DType,
    pub(super) units: u32,
}

impl ProductCost<'_> {
    /// Whether the library's product saves more than a Nest's fusion may: the result that is not stored and
    /// read again, and launches.
    pub(super) fn library_pays(&self) -> bool {
        let [batch, m, n, _] = self.extents();
        let result = 2.0 * batch * m * n * self.size() / self.all(MEMORY);
        self.nest() > self.library() + result + FUSED
    }

    fn extents(&self) -> [f64; 4] {
        self.call.extents.map(|extent| extent as f64)
    }

    fn size(&self) -> f64 {
        self.dtype.size() as f64
    }

    /// The rate of the whole device.
    fn all(&self, rate: f64) -> f64 {
        rate * f64::from(self.units)
    }

    /// Flops of whole tiles.
    fn flops(&self) -> f64 {
        let [batch, m, n, k] = self.call.extents;
        let whole = |extent: u64| (extent.div_ceil(TILE) * TILE) as f64;
        2.0 * batch as f64 * whole(m) * whole(n) * k as f64
    }

    /// Microseconds to move each element of the factors and the result once.
    fn once(&self) -> f64 {
        let [batch, m, n, k] = self.extents();
        batch * (m * k + k * n + m * n) * self.size() / self.all(MEMORY)
    }

    /// By the library, which reads each element once, and copies of factors that it cannot read in place.
    fn library(&self) -> f64 {
        let rate = match self.dtype {
            DType::I8 => LIBRARY_BYTES,
            dtype if dtype.is_half() => LIBRARY_HALF,
            _ => LIBRARY,
        };
        let copied = self.call.copied() as f64;
        let copies = if copied > 0.0 { KERNEL + 2.0 * copied * self.size() / self.all(MEMORY) } else { 0.0 };
        CALL + copies + self.once().max(self.flops() / self.all(rate))
    }

    /// By a Nest: in tiles, or with a group of items for each result, which reads a row and a column.
    fn nest(&self) -> f64 {
        let [_, m, n, length] = self.call.extents;
        let [batch, rows, columns, k] = self.extents();
        if m.min(n) > NARROW.0 || length <= NARROW.1 {
            let tiles = batch * rows * columns / (TILE * TILE) as f64;
            let steps = k * (STEP + MORE * (tiles / SEVERAL).min(1.0));
            let rate = if self.dtype == DType::I8 { TILES_OF_BYTES } else { TILES };
            let all = self.once().max(self.flops() / self.all(rate));
            // The longer one hides half of the other.
            return KERNEL + steps.max(all) + steps.min(all) / 2.0;
        }
        let read: f64 = (0..2).map(|side| self.read(side)).sum();
        KERNEL + self.once().max(batch * rows * columns * k * read / self.all(CACHES))
    }

    /// Bytes that are read for an element of a factor: more than it has if the next along k is elsewhere in
    /// memory and neither the factor nor the surroundings of a sum stay in the unit's own cache.
    fn read(&self, side: usize) -> f64 {
        let [_, m, n, k] = self.extents();
        let (along, others) = if side == 0 { (2, m) } else { (1, n) };
        let is_apart = self.call.steps(side)[along].unsigned_abs() > 1;
        let stays = others * k * self.size() <= OWN_CACHE || k * SECTOR <= OF_A_SUM;
        if is_apart && !stays { SECTOR.max(self.size()) } else { self.size() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::View;
    use crate::ops::dot::factors::ProductAxes;

    /// Whether a library pays for a product on a device of 132 units.
    fn pays_for(dtype: DType, [m, n]: [u64; 2], factors: &[View; 2]) -> bool {
        let axes = ProductAxes { batch: 0, left: 1, contracted: 1, shape: vec![m, n] };
        ProductCost { call: &axes.call(factors).unwrap(), dtype, units: 132 }.library_pays()
    }

    /// The same for contiguous factors.
    fn pays(dtype: DType, [m, n, k]: [u64; 3]) -> bool {
        pays_for(dtype, [m, n], &[View::whole(0, &[m, k]), View::whole(1, &[k, n])])
    }

    #[test]
    fn a_transposed_factor_costs_a_nest_more_only_where_its_sums_are_long() {
        let transposed = |[m, n, k]: [u64; 3]| {
            let left = View::whole(0, &[k, m]).dimshuffle(&[Some(1), Some(0)]);
            pays_for(DType::F32, [m, n], &[left, View::whole(1, &[k, n])])
        };
        assert!(!transposed([500, 10, 512]));
        assert!(transposed([4096, 8, 4096]));
    }

    /// Products where one form was measured to take less than half of the other's time, or to save more than
    /// a fused neighbour would.
    #[test]
    fn the_cheaper_form_is_found_where_one_is_much_cheaper() {
        for (dtype, product, library) in [
            (DType::F32, [8192, 2, 4096], false),
            (DType::F32, [8192, 2, 1024], false),
            (DType::F32, [64, 64, 16], false),
            (DType::F32, [1024, 32, 256], false),
            (DType::F32, [65536, 16, 16], false),
            (DType::F32, [20, 500, 784], false),
            (DType::F32, [128, 128, 128], false),
            (DType::F16, [1024, 8, 64], false),
            (DType::F32, [256, 256, 256], false),
            (DType::F32, [512, 512, 512], true),
            (DType::F32, [128, 512, 784], true),
            (DType::F32, [384, 100, 784], true),
            (DType::F32, [8192, 8, 1024], true),
            (DType::F32, [8192, 8, 4096], true),
            (DType::F32, [8, 4096, 4096], true),
            (DType::F32, [2, 512, 8192], true),
            (DType::F32, [64, 64, 65536], true),
            (DType::F32, [100, 100, 100_000], true),
            (DType::F32, [8192, 128, 4096], true),
            (DType::F32, [1024, 64, 4096], true),
            (DType::F16, [8192, 8, 1024], true),
            (DType::F16, [1024, 64, 1024], true),
            (DType::F16, [8192, 64, 1024], true),
        ] {
            assert_eq!(pays(dtype, product), library, "{dtype} {product:?}");
        }
    }
}
