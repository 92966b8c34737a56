//! A product in tiles on a CPU: each item has one tile, and goes through it in blocks that fit the registers.
//!
//! For some hundred inner points at a time, both sides' parts are evaluated into arrays that fit the caches:
//! columns in panels as wide as a vector, rows as they lie in memory. Then each block of a few rows and one
//! panel is summed in registers, one vector for each row. Blocks of inner points are added up in memory, so
//! that long sums have small errors.

use super::super::Target;
use super::super::kernel::Printer;
use super::{Contraction, Part};
use crate::dtype::DType;
use crate::nest::PhaseKind;

/// A tile, and the blocks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Rows and columns of the tile: whole blocks.
    pub(super) tile: [u32; 2],
    /// Rows in registers at a time.
    pub(super) rows: u32,
    /// Columns in registers at a time: one vector.
    pub(super) lanes: u32,
    /// Inner points in arrays at a time.
    pub(super) depth: u32,
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

/// The names of the arrays of a side.
const ARRAYS: [&str; 2] = ["left", "right"];

impl Blocks {
    /// The blocks for a CPU, if its group memory holds a tile.
    pub(super) fn choose(contraction: &Contraction, any_size: bool, target: &Target) -> Option<Blocks> {
        let parts = || contraction.sides.iter().flat_map(|side| &side.parts);
        if parts().any(|part| part.dtype == DType::Bool) {
            return None;
        }
        let size = parts().map(|part| part.dtype.size() as u32).max()?;
        let lanes = (VECTOR / size).min(16);
        if any_size {
            let [rows, depth] = [4, DEPTH as u32];
            return Blocks { tile: [6 * rows, 4 * lanes], rows, lanes, depth }.within(contraction, target);
        }
        let [m, n] = contraction.sides.each_ref().map(|side| side.extent);
        let gain = |(rows, gain): (u32, f64)| gain * m as f64 / m.next_multiple_of(rows.into()) as f64;
        let (rows, _) = ROWS.into_iter().max_by(|a, b| gain(*a).total_cmp(&gain(*b)))?;
        let whole = |extent: u64, block: u32| {
            (extent.min(TILE.into()) as u32).next_multiple_of(block).min(TILE / block * block)
        };
        let depth = contraction.inner.min(DEPTH) as u32;
        let mut blocks = Blocks { tile: [whole(m, rows), whole(n, lanes)], rows, lanes, depth };
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
    fn within(mut self, contraction: &Contraction, target: &Target) -> Option<Blocks> {
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
    fn tiles(&self, contraction: &Contraction, side: usize) -> u64 {
        contraction.sides[side].extent.div_ceil(self.tile[side].into())
    }

    /// Number of groups, one for each tile.
    pub(super) fn groups(&self, contraction: &Contraction) -> u64 {
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

impl Printer<'_> {
    pub(super) fn cpu_tiles(&mut self, c: &Contraction, b: &Blocks) {
        let types: Vec<DType> = c.folds.iter().map(|fold| c.sides[0].parts[fold[0]].dtype).collect();
        for side in [0, 1] {
            for (at, part) in c.sides[side].parts.iter().enumerate() {
                self.cpu_array(part.dtype, &format!("{}{at}", ARRAYS[side]), b.tile[side] * b.depth);
            }
        }
        for (at, dtype) in types.iter().enumerate() {
            self.cpu_array(*dtype, &format!("sums{at}"), b.tile[0] * b.tile[1]);
        }
        let (index, count) = (self.index, self.count);
        self.line(&format!("const {count} tile = {};", self.dialect.group_index(count)));
        let tiles = [0, 1].map(|side| b.tiles(c, side));
        let (across, all) = (self.count_at("tiles across", tiles[1]), tiles[0] * tiles[1]);
        let down = format!("tile / {across}");
        let down = if c.batch.is_empty() {
            down
        } else {
            format!("{down} % {}", self.count_at("tiles down", tiles[0]))
        };
        for (side, (name, at)) in
            [("row", format!("({down})")), ("column", format!("(tile % {across})"))].into_iter().enumerate()
        {
            let (extent, tile) = (self.index_at(name, c.sides[side].extent), b.tile[side]);
            self.line(&format!("const {index} {name}0 = ({index}){at} * {tile};"));
            self.line(&format!("const {index} {name}s = min({extent} - {name}0, ({index}){tile});"));
        }
        self.positions_above(&c.batch, "tile", all);
        let uniform = self.uniform_values(c);
        let (rows, lanes) = (b.rows, b.lanes);
        self.line(&format!("const {index} blocks = (rows + {}) / {rows};", rows - 1));
        self.line(&format!("const {index} panels = (columns + {}) / {lanes};", lanes - 1));
        self.open(&format!("for ({index} e = 0; e < blocks * {rows} * {}; ++e)", b.tile[1]));
        for at in 0..types.len() {
            self.line(&format!("sums{at}[e] = 0;"));
        }
        self.close();
        let inner = self.index_at("inner points", c.inner);
        self.open(&format!("for ({index} k0 = 0; k0 < {inner}; k0 += {})", b.depth));
        self.line(&format!("const {index} depth = min({inner} - k0, ({index}){});", b.depth));
        for (at, part) in c.sides[0].parts.iter().enumerate() {
            self.evaluate_rows(c, b, &uniform, (at, part));
        }
        for (at, part) in c.sides[1].parts.iter().enumerate() {
            self.evaluate_columns(c, b, &uniform, (at, part));
        }
        self.multiply_blocks(c, b, &types);
        self.close();
        self.finish_tile(c, b, &types);
    }

    fn cpu_array(&mut self, dtype: DType, name: &str, elements: u32) {
        self.line(&format!("__local {} {name}[{elements}] __attribute__((aligned(64)));", unsigned(dtype)));
    }

    /// One element of a part, at the positions `i` and `k`.
    fn element(&mut self, c: &Contraction, side: usize, part: &Part, uniform: &[String], target: &str) {
        self.positions(&c.sides[side].walks, "i");
        self.positions(&self.walks.inner.clone(), "k");
        let value = self.part(c, part, uniform);
        let cast = if part.dtype.is_float() { String::new() } else { format!("({})", unsigned(part.dtype)) };
        self.line(&format!("{target} = {cast}{value};"));
    }

    /// Evaluates the rows of a tile. Rows that pad the last block are copies of the last row; their results
    /// are not stored.
    fn evaluate_rows(&mut self, c: &Contraction, b: &Blocks, uniform: &[String], (at, part): (usize, &Part)) {
        let index = self.index;
        let heads = [
            format!("for ({index} y = 0; y < blocks * {}; ++y)", b.rows),
            format!("for ({index} d = 0; d < depth; ++d)"),
        ];
        let [outer, inner] = if part.along_inner { [0, 1] } else { [1, 0] };
        self.open(&heads[outer]);
        self.open(&heads[inner]);
        self.line(&format!("const {index} i = row0 + min(y, rows - 1), k = k0 + d;"));
        self.element(c, 0, part, uniform, &format!("left{at}[{}]", row_place(b, part, "y")));
        self.close();
        self.close();
    }

    /// Evaluates the columns of a tile, in panels. Columns that pad the last panel are 0.
    fn evaluate_columns(
        &mut self,
        c: &Contraction,
        b: &Blocks,
        uniform: &[String],
        (at, part): (usize, &Part),
    ) {
        let (index, lanes) = (self.index, b.lanes);
        self.open(&format!("for ({index} panel = 0; panel < panels; ++panel)"));
        self.line(&format!("const {index} first = column0 + panel * {lanes};"));
        self.line(&format!("const {index} n = min(columns - panel * {lanes}, ({index}){lanes});"));
        let target = format!("right{at}[(panel * {} + d) * {lanes} + l]", b.depth);
        // The compiler vectorises loops of constant length.
        for ragged in [false, true] {
            self.open(if ragged { "else" } else { if lanes == 16 { "if (n == 16)" } else { "if (n == 8)" } });
            let lane = format!(
                "for ({index} l = 0; l < {}; ++l)",
                if ragged { "n".into() } else { lanes.to_string() }
            );
            let deep = format!("for ({index} d = 0; d < depth; ++d)");
            let [outer, inner] = if part.along_inner { [&lane, &deep] } else { [&deep, &lane] };
            self.open(outer);
            self.open(inner);
            self.line(&format!("const {index} i = first + l, k = k0 + d;"));
            self.element(c, 1, part, uniform, &target);
            self.close();
            self.close();
            if ragged {
                self.open(&deep);
                self.open(&format!("for ({index} l = n; l < {lanes}; ++l)"));
                self.line(&format!("{target} = 0;"));
                self.close();
                self.close();
            }
            self.close();
        }
        self.close();
    }

    /// Adds the products of one block of inner points to the sums of the tile.
    fn multiply_blocks(&mut self, c: &Contraction, b: &Blocks, types: &[DType]) {
        let (index, rows, lanes) = (self.index, b.rows, b.lanes);
        self.open(&format!("for ({index} panel = 0; panel < panels; ++panel)"));
        self.open(&format!("for ({index} y = 0; y < blocks * {rows}; y += {rows})"));
        for (fold, [left, right]) in c.folds.iter().enumerate() {
            let (dtype, part) = (types[fold], &c.sides[0].parts[*left]);
            let vector = vector(dtype, lanes);
            self.open("");
            let sums: Vec<String> = (0..rows).map(|row| format!("s{row} = 0")).collect();
            self.line(&format!("{vector} {};", sums.join(", ")));
            self.open(&format!("for ({index} d = 0; d < depth; ++d)"));
            let place = format!("right{right}[(panel * {} + d) * {lanes}]", b.depth);
            self.line(&format!("const {vector} w = *(const __local {vector}*)&{place};"));
            for row in 0..rows {
                let factor = format!("({vector})left{left}[{}]", row_place(b, part, &format!("(y + {row})")));
                self.line(&match dtype.is_float() {
                    true => format!("s{row} = fma_{}({factor}, w, s{row});", dtype.short()),
                    false => format!("s{row} += {factor} * w;"),
                });
            }
            self.close();
            for row in 0..rows {
                let place = format!("sums{fold}[(y + {row}) * {} + panel * {lanes}]", b.tile[1]);
                self.line(&format!("*(__local {vector}*)&{place} += s{row};"));
            }
            self.close();
        }
        self.close();
        self.close();
    }

    /// Prints the phases after the product, for each result of the tile.
    fn finish_tile(&mut self, c: &Contraction, b: &Blocks, types: &[DType]) {
        let index = self.index;
        self.open(&format!("for ({index} y = 0; y < rows; ++y)"));
        self.line(&format!("const {index} i = row0 + y;"));
        self.positions(&c.sides[0].walks, "i");
        self.open(&format!("for ({index} x = 0; x < columns; ++x)"));
        self.line(&format!("const {index} j = column0 + x;"));
        self.positions(&c.sides[1].walks, "j");
        for (at, dtype) in types.iter().enumerate() {
            let register = dtype.short();
            self.line(&format!("const {register} f0_{at} = ({register})sums{at}[y * {} + x];", b.tile[1]));
        }
        for phase in 1..self.nest.phases.len() {
            debug_assert_eq!(self.nest.phases[phase].kind, PhaseKind::Point);
            // Values of different phases share names.
            self.open("");
            let names = self.block(phase);
            self.stores(phase, &names);
            self.close();
        }
        self.close();
        self.close();
    }
}

/// Half of an extent, in whole blocks.
fn half(extent: u32, block: u32) -> u32 {
    (extent / 2).next_multiple_of(block)
}

/// The index of an element of a row, at the inner point `d` of the block.
fn row_place(b: &Blocks, part: &Part, row: &str) -> String {
    if part.along_inner { format!("{row} * {} + d", b.depth) } else { format!("d * {} + {row}", b.tile[0]) }
}

/// The type of sums: for integers the unsigned type of the same size, which wraps.
fn unsigned(dtype: DType) -> &'static str {
    match dtype {
        DType::I8 => "u8",
        DType::I16 => "u16",
        DType::I32 => "u32",
        DType::I64 => "u64",
        other => other.short(),
    }
}

/// A vector of that type.
fn vector(dtype: DType, lanes: u32) -> String {
    let name = match unsigned(dtype) {
        "u8" => "uchar",
        "u16" => "ushort",
        "u32" => "uint",
        "u64" => "ulong",
        "f32" => "float",
        _ => "double",
    };
    format!("{name}{lanes}")
}
