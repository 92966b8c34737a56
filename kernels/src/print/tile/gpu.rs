//! A product in tiles on a GPU: each group has one tile, each item some of its rows and columns in registers.
//!
//! The group goes through the inner points in steps. For each step, its items evaluate both sides' parts,
//! every element once, and store them to group memory; they fetch the next step while they compute with this
//! one. `epilogue` prints what follows the last step.

mod epilogue;

use super::{Contraction, ContractionFactor};
use crate::dtype::DType;
use crate::nest::Fold;
use crate::print::kernel::Printer;
use crate::print::{Dialect, expr};
use crate::schedule::tile::{GpuTile, PACK, RUN};

/// The letters of rows and columns in names of variables.
const LETTERS: [&str; 2] = ["r", "c"];
/// A float sum of more terms than this is a sum of partial sums, so that its error stays small.
const LONG: u64 = 4096;

/// The name of a part's array in group memory.
fn slab(side: usize, part: usize) -> String {
    format!("l_{}{part}", LETTERS[side])
}

impl Printer<'_> {
    pub(super) fn group_tiles(&mut self, c: &Contraction, s: &GpuTile) {
        for side in [0, 1] {
            for (at, part) in c.sides[side].parts.iter().enumerate() {
                let elements = s.buffers * s.depth * s.stride(side);
                self.group_array(part.dtype, &slab(side, at), elements);
            }
        }
        for (at, dtype) in self.sum_types(c).into_iter().enumerate() {
            self.group_array(dtype, &format!("l_s{at}"), s.sums());
            if self.finds_place(at) {
                self.group_array(self.place_type(), &format!("l_p{at}"), s.sums());
            }
        }
        self.places(c, s);
        let uniform = self.uniform_values(c);
        let carried = self.declare_sums(c, s);
        self.steps(c, s, &uniform, carried);
        self.epilogue(c, s, carried);
    }

    fn group_array(&mut self, dtype: DType, name: &str, elements: u32) {
        let stored = stored(dtype);
        self.line(&match self.dialect {
            Dialect::OpenClC => format!("__local {stored} {name}[{elements}] __attribute__((aligned(16)));"),
            Dialect::CudaCpp => format!("__shared__ alignas(16) {stored} {name}[{elements}];"),
        });
    }

    /// Whether a fold finds a place along the inner points, beside a value.
    fn finds_place(&self, fold: usize) -> bool {
        self.nest.phases[0].folds[fold].fold.has_index()
    }

    /// The type of such places.
    fn place_type(&self) -> DType {
        if self.walks.fits_31_bits { DType::I32 } else { DType::I64 }
    }

    /// The register type of each fold.
    fn sum_types(&self, c: &Contraction) -> Vec<DType> {
        c.folds.iter().map(|fold| c.sides[0].parts[fold[0]].dtype).collect()
    }

    /// Declares the position of the tile, and of the item in it.
    fn places(&mut self, c: &Contraction, s: &GpuTile) {
        let (index, count) = (self.index, self.count);
        self.line(&format!("const u32 t = {};", self.dialect.item_index("u32")));
        let (x, y) = (s.across(1), s.across(0));
        let mut places = format!("const u32 x = t % {x}u, y = t / {x}u");
        if s.slices > 1 {
            places += &format!(" % {y}u, z = t / {}u", x * y);
        }
        self.line(&format!("{places};"));
        self.line(&format!("const {count} tile = {};", self.dialect.group_index(count)));
        let tiles = [0, 1].map(|side| s.tiles(c, side));
        let (across, all) = (self.count_at("tiles across", tiles[1]), tiles[0] * tiles[1]);
        let down = if c.batch.is_empty() {
            format!("tile / {across}")
        } else {
            format!("tile / {across} % {}", self.count_at("tiles down", tiles[0]))
        };
        self.line(&format!("const {index} row0 = ({index})({down}) * {};", s.tile[0]));
        self.line(&format!("const {index} column0 = ({index})(tile % {across}) * {};", s.tile[1]));
        self.positions_above(&c.batch, "tile", all);
    }

    /// Declares the accumulators of an item, and returns whether there are partial sums.
    fn declare_sums(&mut self, c: &Contraction, s: &GpuTile) -> bool {
        let [rows, columns] = s.each;
        let is_long = c.sums && c.inner / u64::from(s.slices) > LONG;
        let carried = is_long && self.sum_types(c).iter().any(|d| d.is_float());
        let prefixes: &[&str] = if carried { &["s", "whole"] } else { &["s"] };
        let mut statements = Vec::new();
        for (at, dtype) in self.sum_types(c).into_iter().enumerate() {
            let names: Vec<String> =
                prefixes.iter().map(|prefix| format!("{prefix}{at}[{rows}][{columns}]")).collect();
            self.line(&format!("{} {};", dtype.short(), names.join(", ")));
            let none = match self.nest.phases[0].folds[at].fold {
                Fold::Sum => "0".into(),
                fold => expr::literal(self.dialect, fold.identity(dtype)),
            };
            statements.extend(prefixes.iter().map(|prefix| format!("{prefix}{at}[i][j] = {none};")));
            if self.finds_place(at) {
                self.line(&format!("{} p{at}[{rows}][{columns}];", self.place_type().short()));
                statements.push(format!("p{at}[i][j] = {};", if s.slices > 1 { "z" } else { "0" }));
            }
        }
        self.each_result(s, &statements);
        carried
    }

    /// Prints statements for each result of an item.
    fn each_result(&mut self, s: &GpuTile, statements: &[String]) {
        self.unrolled("i", s.each[0]);
        self.unrolled("j", s.each[1]);
        for statement in statements {
            self.line(statement);
        }
        self.close();
        self.close();
    }

    fn unrolled(&mut self, name: &str, times: u32) {
        self.line("#pragma unroll");
        self.open(&format!("for (u32 {name} = 0u; {name} < {times}u; ++{name})"));
    }

    /// Prints the steps through the inner points: each fetches one and computes with the one before.
    fn steps(&mut self, c: &Contraction, s: &GpuTile, uniform: &[String], carried: bool) {
        let barrier = self.dialect.barrier(false);
        let index = self.index;
        let rounds = c.inner.div_ceil(s.depth.into());
        for side in [0, 1] {
            for (at, part) in c.sides[side].parts.iter().enumerate() {
                let fetches = (s.tile[side] * s.depth).div_ceil(s.items());
                self.line(&format!("{} {}{at}[{fetches}];", part.dtype.short(), LETTERS[side]));
            }
        }
        if rounds == 1 && !self.any_size {
            self.line(&format!("const {index} k0 = 0;"));
            self.each_part(c, |this, side, at, part| this.fetch(c, s, uniform, (side, at, part)));
            self.each_part(c, |this, side, at, part| this.put(s, (side, at, part)));
            self.line(barrier);
            self.multiply(c, s, "0");
            return;
        }
        self.line("u32 now = 0u;");
        if carried {
            self.line("u32 terms = 0u;");
        }
        let last = self.index_at("inner points in steps", rounds * u64::from(s.depth));
        self.open(&format!("for ({index} k0 = 0; k0 <= {last}; k0 += {})", s.depth));
        self.open(&format!("if (k0 < {last})"));
        self.each_part(c, |this, side, at, part| this.fetch(c, s, uniform, (side, at, part)));
        self.close();
        self.open("if (k0 > 0)");
        self.multiply(c, s, &format!("k0 - {}", s.depth));
        if carried {
            let steps = (1024 * u64::from(s.slices) / u64::from(s.depth)).max(1);
            self.open(&format!("if (++terms % {steps}u == 0u)"));
            let each = |at| [format!("whole{at}[i][j] += s{at}[i][j];"), format!("s{at}[i][j] = 0;")];
            let statements: Vec<String> = (0..c.folds.len()).flat_map(each).collect();
            self.each_result(s, &statements);
            self.close();
        }
        self.close();
        self.line("now ^= 1u;");
        self.open(&format!("if (k0 < {last})"));
        self.each_part(c, |this, side, at, part| this.put(s, (side, at, part)));
        self.close();
        self.line(barrier);
        self.close();
    }

    fn each_part(
        &mut self,
        c: &Contraction,
        mut each: impl FnMut(&mut Self, usize, usize, &ContractionFactor),
    ) {
        for side in [0, 1] {
            for (at, part) in c.sides[side].parts.iter().enumerate() {
                each(self, side, at, part);
            }
        }
    }

    /// Opens the loop over the elements of a part that an item fetches, and declares the position of an
    /// element in the step. Neighbouring items have neighbouring addresses.
    fn open_fetches(&mut self, s: &GpuTile, (side, part): (usize, &ContractionFactor)) {
        let (extent, elements) = (s.tile[side], s.tile[side] * s.depth);
        self.unrolled("e", elements.div_ceil(s.items()));
        self.line(&format!("const u32 at = t + e * {}u;", s.items()));
        let (deep, along) = if part.along_inner {
            let block = RUN * extent;
            (format!("at / {block}u * {RUN}u + at % {RUN}u"), format!("at / {RUN}u % {extent}u"))
        } else {
            (format!("at / {extent}u"), format!("at % {extent}u"))
        };
        self.line(&format!("const u32 deep = {deep}, along = {along};"));
    }

    /// Evaluates an item's elements of a part into registers. Beyond the inner points they are 0 for sums,
    /// and those of the last point for extremes, which do not change by it; beyond the rows or columns they
    /// are unused. Out of range another element is loaded instead: with a branch, loads would not overlap.
    fn fetch(
        &mut self,
        c: &Contraction,
        s: &GpuTile,
        uniform: &[String],
        part: (usize, usize, &ContractionFactor),
    ) {
        let (side, at, part) = part;
        let (index, letter) = (self.index, LETTERS[side]);
        let extent = c.sides[side].extent;
        let deepest = self.index_at("last inner point", c.inner - 1);
        self.open_fetches(s, (side, part));
        let whole = (s.tile[side] * s.depth).is_multiple_of(s.items());
        let is_ragged = |extent: u64, by: u32| self.any_size || !extent.is_multiple_of(by.into());
        let (ragged, last) = (is_ragged(extent, s.tile[side]), is_ragged(c.inner, s.depth));
        let within = |text: String, most: &str, clamp: bool| {
            if clamp { format!("min({text}, ({index}){most})") } else { text }
        };
        let origin = ["row", "column"][side];
        let edge = self.index_at(&format!("last {origin}"), extent - 1);
        let i = within(format!("{origin}0 + ({index})along"), &edge, ragged);
        let k = within(format!("k0 + ({index})deep"), &deepest, last || !whole);
        self.line(&format!("const {index} i = {i}, k = {k};"));
        self.positions(&c.sides[side].walks, "i");
        let value = match c.packed {
            Some(_) => self.pack_of(c, part, uniform),
            None => {
                self.positions(&self.walks.inner.clone(), "k");
                self.part(c, part, uniform)
            }
        };
        self.line(&match last && c.sums {
            true => format!("{letter}{at}[e] = k0 + ({index})deep > {deepest} ? 0 : {value};"),
            false => format!("{letter}{at}[e] = {value};"),
        });
        self.close();
    }

    /// Evaluates the bytes of pack `k` of a part into one word, and returns its name.
    fn pack_of(&mut self, c: &Contraction, part: &ContractionFactor, uniform: &[String]) -> String {
        let index = self.index;
        self.line("u32 pack = 0u;");
        self.unrolled("byte", PACK as u32);
        self.line(&format!("const {index} point = k * {PACK} + ({index})byte;"));
        self.positions(&self.walks.inner.clone(), "point");
        let value = self.part(c, part, uniform);
        self.line(&format!("pack |= ((u32){value} & 255u) << (8u * byte);"));
        self.close();
        "(i32)pack".into()
    }

    /// Stores the fetched elements to group memory.
    fn put(&mut self, s: &GpuTile, (side, at, part): (usize, usize, &ContractionFactor)) {
        let elements = s.tile[side] * s.depth;
        self.open_fetches(s, (side, part));
        let buffer = buffer(s, side);
        let text = format!(
            "{}[{buffer}deep * {}u + along] = {}{at}[e];",
            slab(side, at),
            s.stride(side),
            LETTERS[side]
        );
        let partly = !elements.is_multiple_of(s.items());
        self.line(&if partly { format!("if (at < {elements}u) {text}") } else { text });
        self.close();
    }

    /// Prints the products of one step, whose first inner point is `first`, folded into an item's results.
    fn multiply(&mut self, c: &Contraction, s: &GpuTile, first: &str) {
        let steps = s.depth / s.slices;
        let results = s.each[0] * s.each[1];
        let most = if results > 16 { 8 } else { 16 };
        let at_once = (1..=most).rev().find(|n| steps.is_multiple_of(*n)).unwrap_or(1);
        self.line(&format!("#pragma unroll {at_once}"));
        self.open(&format!("for (u32 q = 0u; q < {steps}u; ++q)"));
        let deep = if s.slices > 1 { format!("(q * {}u + z)", s.slices) } else { "q".into() };
        if c.places > 0 {
            let place = self.place_type().short();
            self.line(&format!("const {place} here = {first} + ({place}){deep};"));
        }
        self.each_part(c, |this, side, at, part| {
            let (vector, letter) = (s.vector(c, side), LETTERS[side]);
            let (each, item) = (s.each[side], if side == 0 { "y" } else { "x" });
            let register = part.dtype.short();
            this.line(&format!("{register} m{letter}{at}[{each}];"));
            let base = format!("{}{deep} * {}u", buffer(s, side), s.stride(side));
            for chunk in 0..each / vector {
                let from = format!("{base} + {item} * {vector}u + {}u", chunk * vector * s.across(side));
                let name = slab(side, at);
                if vector == 1 {
                    let nonzero = if part.dtype == DType::Bool { " != 0" } else { "" };
                    this.line(&format!("m{letter}{at}[{chunk}] = {name}[{from}]{nonzero};"));
                    continue;
                }
                let wide = wide(this.dialect, part.dtype, vector);
                let space = if this.dialect == Dialect::OpenClC { "__local " } else { "" };
                this.line(&format!(
                    "const {wide} w{letter}{at}_{chunk} = *(const {space}{wide}*)&{name}[{from}];"
                ));
                let lanes = ["x", "y", "z", "w"].iter().take(vector as usize).enumerate();
                let set: Vec<String> = lanes
                    .map(|(l, lane)| {
                        format!(
                            "m{letter}{at}[{}] = w{letter}{at}_{chunk}.{lane};",
                            chunk * vector + l as u32
                        )
                    })
                    .collect();
                this.line(&set.join(" "));
            }
        });
        let statements: Vec<String> = (0..c.folds.len())
            .map(|fold| {
                let [left, right] = c.folds[fold];
                let parts = [format!("mr{left}[i]"), format!("mc{right}[j]"), format!("s{fold}[i][j]")];
                self.fold_parts(
                    c,
                    fold,
                    [&parts[0], &parts[1], &parts[2]],
                    [&format!("p{fold}[i][j]"), "here"],
                )
            })
            .collect();
        self.each_result(s, &statements);
        self.close();
    }
}

/// The offset of the current buffer.
fn buffer(s: &GpuTile, side: usize) -> String {
    if s.buffers == 1 { String::new() } else { format!("now * {}u + ", s.depth * s.stride(side)) }
}

/// The type of a register in group memory.
fn stored(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "u8" } else { dtype.short() }
}

/// A vector of registers.
fn wide(dialect: Dialect, dtype: DType, lanes: u32) -> String {
    let name = match (dtype, dialect) {
        (DType::F32, _) => "float",
        (DType::F64, _) => "double",
        (DType::I32, _) => "int",
        (DType::U32, _) => "uint",
        (DType::I64, Dialect::OpenClC) => "long",
        (DType::U64, Dialect::OpenClC) => "ulong",
        (DType::I64, Dialect::CudaCpp) => "longlong",
        _ => "ulonglong",
    };
    format!("{name}{lanes}")
}
