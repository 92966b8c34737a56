//! A product in tiles on a CPU: each item has one tile, and goes through it in blocks that fit the registers.
//!
//! For some hundred inner points at a time, both sides' parts are evaluated into arrays that fit the caches:
//! columns in panels as wide as a vector, rows as they lie in memory. Then each block of a few rows and one
//! panel is summed in registers, one vector for each row. Blocks of inner points are added up in memory, so
//! that long sums have small errors.

use super::super::kernel::Printer;
use crate::dtype::DType;
use crate::nest::PhaseKind;
use crate::schedule::tile::{Contraction, ContractionFactor, CpuTile};

/// The names of the arrays of a side.
const ARRAYS: [&str; 2] = ["left", "right"];

impl Printer<'_> {
    pub(super) fn cpu_tiles(&mut self, c: &Contraction, b: &CpuTile) {
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
    fn element(
        &mut self,
        c: &Contraction,
        side: usize,
        part: &ContractionFactor,
        uniform: &[String],
        target: &str,
    ) {
        self.positions(&c.sides[side].walks, "i");
        self.positions(&self.walks.inner.clone(), "k");
        let value = self.part(c, part, uniform);
        let cast = if part.dtype.is_float() { String::new() } else { format!("({})", unsigned(part.dtype)) };
        self.line(&format!("{target} = {cast}{value};"));
    }

    /// Evaluates the rows of a tile. Rows that pad the last block are copies of the last row; their results
    /// are not stored.
    fn evaluate_rows(
        &mut self,
        c: &Contraction,
        b: &CpuTile,
        uniform: &[String],
        (at, part): (usize, &ContractionFactor),
    ) {
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
        b: &CpuTile,
        uniform: &[String],
        (at, part): (usize, &ContractionFactor),
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
    fn multiply_blocks(&mut self, c: &Contraction, b: &CpuTile, types: &[DType]) {
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
    fn finish_tile(&mut self, c: &Contraction, b: &CpuTile, types: &[DType]) {
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

/// The index of an element of a row, at the inner point `d` of the block.
fn row_place(b: &CpuTile, part: &ContractionFactor, row: &str) -> String {
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
