//! The end of a tile: adds up the slices of each sum, and runs the phases after the product.
//!
//! The results go through group memory, all at once or a row of each item at a time. There the slices of a
//! sum are added up, and neighbouring items take neighbouring results through the phases after the product.

use crate::dtype::DType;
use crate::nest::PhaseKind;
use crate::print::kernel::Printer;
use crate::print::tile::Contraction;
use crate::schedule::tile::GpuTile;

/// Along a side of the tile, the index of the `n`-th result of item `item`. Each item has runs of `vector`
/// neighbours; `across` items lie along the side.
fn nth(n: &str, item: &str, vector: u32, across: u32) -> String {
    match vector {
        1 => format!("{n} * {across}u + {item}"),
        _ => format!("{n} / {vector}u * {}u + {item} * {vector}u + {n} % {vector}u", vector * across),
    }
}

impl Printer<'_> {
    /// Adds up the slices, and runs the phases after the product for each result.
    pub(super) fn epilogue(&mut self, c: &Contraction, s: &GpuTile, carried: bool) {
        let barrier = self.dialect.barrier(false);
        if carried {
            let each = |at| format!("s{at}[i][j] += whole{at}[i][j];");
            let statements: Vec<String> = (0..c.folds.len()).map(each).collect();
            self.each_result(s, &statements);
        }
        self.put_sums(c, s);
        self.line(barrier);
        self.open_results(c, s);
        self.add_slices(c, s);
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
        if !s.at_once() {
            self.line(barrier);
        }
        self.close();
    }

    /// Stores an item's sums to group memory, in a block that stays open: the loop over rows, if the sums do
    /// not fit at once.
    fn put_sums(&mut self, c: &Contraction, s: &GpuTile) {
        let columns = s.tile[1];
        let place = if s.at_once() {
            self.open("");
            self.unrolled("i", s.each[0]);
            nth("i", "y", s.vector(c, 0), s.across(0))
        } else {
            self.line("#pragma unroll 1");
            self.open(&format!("for (u32 row = 0u; row < {}u; ++row)", s.each[0]));
            self.unrolled("i", s.each[0]);
            // A computed index would move the array out of registers.
            self.line("if (i != row) continue;");
            "y".into()
        };
        let slice =
            if s.slices > 1 { format!("z * {}u + ", s.rows_at_once() * columns) } else { String::new() };
        self.unrolled("j", s.each[1]);
        let column = nth("j", "x", s.vector(c, 1), s.across(1));
        for at in 0..c.folds.len() {
            let place = format!("[{slice}({place}) * {columns}u + {column}]");
            self.line(&format!("l_s{at}{place} = s{at}[i][j];"));
            if self.finds_place(at) {
                self.line(&format!("l_p{at}{place} = p{at}[i][j];"));
            }
        }
        self.close();
        self.close();
    }

    /// Opens the loop over the results in group memory that an item takes, and the block of results that lie
    /// within the product. Declares the positions of a result.
    fn open_results(&mut self, c: &Contraction, s: &GpuTile) {
        let (index, columns) = (self.index, s.tile[1]);
        self.open(&format!("for (u32 e = t; e < {}u; e += {}u)", s.rows_at_once() * columns, s.items()));
        let row = format!("e / {columns}u");
        let row = if s.at_once() { row } else { nth("row", &row, s.vector(c, 0), s.across(0)) };
        self.line(&format!(
            "const {index} i = row0 + ({index})({row}), j = column0 + ({index})(e % {columns}u);"
        ));
        let mut within = Vec::new();
        for (side, name) in ["i", "j"].into_iter().enumerate() {
            if self.any_size || !c.sides[side].extent.is_multiple_of(s.tile[side].into()) {
                let extent = self.index_at(&format!("end of {name}"), c.sides[side].extent);
                within.push(format!("{name} < {extent}"));
            }
        }
        self.open(&if within.is_empty() { String::new() } else { format!("if ({})", within.join(" && ")) });
        self.positions(&c.sides[0].walks, "i");
        self.positions(&c.sides[1].walks, "j");
    }

    /// Loads the sums of a result from group memory and adds up their slices; likewise for extremes.
    fn add_slices(&mut self, c: &Contraction, s: &GpuTile) {
        let size = s.rows_at_once() * s.tile[1];
        for (at, dtype) in self.sum_types(c).into_iter().enumerate() {
            let fold = self.nest.phases[0].folds[at].clone();
            let register = dtype.short();
            let nonzero = if dtype == DType::Bool { " != 0" } else { "" };
            let (result, best) = (format!("f0_{at}"), format!("f0_{at}v"));
            let value = if self.finds_place(at) { &best } else { &result };
            self.line(&format!("{register} {value} = l_s{at}[e]{nonzero};"));
            if self.finds_place(at) {
                self.line(&format!("i64 {result} = l_p{at}[e];"));
            }
            if s.slices > 1 {
                self.line("#pragma unroll");
                self.open(&format!("for (u32 n = 1u; n < {}u; ++n)", s.slices));
                self.line(&format!("const {register} o = l_s{at}[n * {size}u + e]{nonzero};"));
                if self.finds_place(at) {
                    self.line(&format!("const i64 at = l_p{at}[n * {size}u + e];"));
                }
                let index = self.finds_place(at).then_some("at");
                self.combine(&fold, dtype, (&result, &best), "o", index);
                self.close();
            }
        }
    }
}
