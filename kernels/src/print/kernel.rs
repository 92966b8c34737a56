//! One Nest as one kernel: the loops of its schedule, and the phases inside.

use super::cpu_lanes::AccumulatorLayout;
use super::sizes::SizeArguments;
use super::vectorize::PackState;
use super::{Dialect, ForSizes, KernelEntry, Target};
use crate::bounds::explicit_bounds;
use crate::dtype::DType;
use crate::nest::{Nest, PhaseKind};
use crate::schedule::access::{Walk, Walks};
use crate::schedule::interior::Interior;
use crate::schedule::points::{CpuLanes, Points};
use crate::schedule::register_cache::RegisterCache;
use crate::schedule::{Schedule, ScheduleKind};
use crate::verify::{Verified, VerifyError, all_dtypes};

/// A kernel being printed.
pub(super) struct Printer<'a> {
    pub(super) nest: &'a Nest,
    pub(super) dialect: Dialect,
    pub(super) walks: Walks,
    /// The dtype of each value of each phase.
    pub(super) dtypes: Vec<Vec<DType>>,
    /// The type of positions and addresses.
    pub(super) index: &'static str,
    /// The accumulators of the phase being printed.
    pub(super) side: AccumulatorLayout,
    /// Values that phases keep in registers for later ones.
    pub(super) kept: RegisterCache,
    /// The element of kept arrays that belongs to the point or the first point of the pack being printed.
    pub(super) slot: String,
    /// The packs of the phase being printed.
    pub(super) pack: Option<PackState>,
    /// Loops over packs are unrolled by the compiler.
    pub(super) unroll: bool,
    /// The type of linear point numbers.
    pub(super) count: &'static str,
    /// The suffix of its literals.
    suffix: String,
    /// Loops are those of a kernel for any size.
    pub(super) any_size: bool,
    /// Boxes in which packs are computed by a simpler Nest, with the dtypes of its values.
    interiors: Vec<(&'a Interior, Vec<Vec<DType>>)>,
    /// Extents, strides and offsets.
    pub(super) sizes: SizeArguments,
    text: String,
    indent: usize,
}

/// Maximum size of a kernel's arguments in bytes: every OpenCL device takes them.
const ARGUMENTS: usize = 1024;

/// Prints a kernel.
pub(super) fn kernel(
    nest: &Verified,
    name: &str,
    target: &Target,
    text: &mut String,
) -> Result<KernelEntry, VerifyError> {
    let nest = &*explicit_bounds(nest);
    let before = text.len();
    let entry = print(nest, name, target, text)?;
    let sizes = entry.sizes.iter().map(|size| size.dtype().size());
    if target.sizes == ForSizes::Any && 16 * nest.operands.len() + sizes.sum::<usize>() > ARGUMENTS {
        text.truncate(before);
        return print(nest, name, &Target { sizes: ForSizes::OneOfAny, ..target.clone() }, text);
    }
    Ok(entry)
}

fn print(nest: &Nest, name: &str, target: &Target, text: &mut String) -> Result<KernelEntry, VerifyError> {
    let dtypes = all_dtypes(nest)?;
    let schedule = Schedule::choose(nest, &dtypes, target);
    let (groups, group) = schedule.launch();
    let Schedule { form, walks, kept, any_size, interiors } = schedule;
    let inside = interiors.iter().map(|interior| Ok((interior, all_dtypes(&interior.nest)?)));
    let inside = inside.collect::<Result<Vec<_>, VerifyError>>()?;
    let narrow =
        walks.fits_31_bits && interiors.iter().all(|interior| Walks::new(&interior.nest).fits_31_bits);
    let dialect = target.dialect;
    let mut printer = Printer {
        nest,
        dialect,
        walks,
        dtypes,
        index: if narrow { "i32" } else { "i64" },
        side: AccumulatorLayout::Alone,
        kept,
        slot: String::new(),
        pack: None,
        unroll: !target.cpu,
        count: if narrow { "u32" } else { "u64" },
        suffix: if narrow { "u".into() } else { format!("U{}", dialect.long()) },
        any_size,
        interiors: inside,
        sizes: SizeArguments::new(target.sizes == ForSizes::Any),
        text: String::new(),
        indent: 1,
    };
    if groups > 0 {
        printer.body(form);
    }
    let operands =
        nest.operands.iter().enumerate().map(|(at, o)| dialect.parameter(o.dtype, o.written, &names(at)));
    let parameters: Vec<String> = operands.chain(printer.sizes.parameters()).collect();
    *text +=
        &format!("\n{}({}) {{\n{}}}\n", dialect.kernel(name, group), parameters.join(", "), printer.text);
    Ok(KernelEntry { name: name.into(), groups, group, sizes: printer.sizes.values() })
}

/// The names of an operand and of the byte at which it starts.
fn names(at: usize) -> [String; 2] {
    [format!("b{at}"), format!("byte{at}")]
}

impl Printer<'_> {
    fn body(&mut self, form: ScheduleKind) {
        self.dialect.begin().into_iter().for_each(|begin| self.line(begin));
        for (at, operand) in self.nest.operands.iter().enumerate() {
            if let Some(start) = self.dialect.start(operand.dtype, operand.written, &names(at)) {
                self.line(&start);
            }
        }
        match form {
            ScheduleKind::Tile(tile) => self.tiled(&tile),
            ScheduleKind::Transpose(transpose) => self.transpose_tiles(&transpose),
            ScheduleKind::Points(points) => self.points(points),
        }
    }

    /// Appends a line.
    pub(super) fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.text += "    ";
        }
        self.text += line;
        self.text += "\n";
    }

    /// Opens a braced block.
    pub(super) fn open(&mut self, head: &str) {
        self.line(&if head.is_empty() { "{".to_string() } else { format!("{head} {{") });
        self.indent += 1;
    }

    /// Closes a braced block.
    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// A literal of the type of linear point numbers.
    pub(super) fn number(&self, n: u64) -> String {
        format!("{n}{}", self.suffix)
    }

    /// Declares the positions along `walks` of the linear point in `point`; the last walk varies fastest.
    pub(super) fn positions(&mut self, walks: &[Walk], point: &str) {
        self.positions_above(walks, point, 1);
    }

    /// The same for the quotient of the linear point and `below`.
    pub(super) fn positions_above(&mut self, walks: &[Walk], point: &str, mut below: u64) {
        for (at, walk) in walks.iter().enumerate().rev() {
            let mut text = point.to_string();
            if below > 1 {
                text =
                    format!("{text} / {}", self.count_at(&format!("below {} in {point}", walk.axis), below));
            }
            if at > 0 {
                let extent = self.count_at(&format!("extent of {}", walk.axis), walk.extent.max(1));
                text = format!("{text} % {extent}");
            }
            let simple = below == 1 && at == 0;
            let text = if simple { text } else { format!("({text})") };
            self.line(&format!("const {} a{} = ({}){text};", self.index, walk.axis, self.index));
            below = below.saturating_mul(walk.extent.max(1));
        }
    }

    fn points(&mut self, points: Points) {
        match points {
            Points::Strided { groups, group, width } => self.strided(groups, group, width),
            Points::Chunked { run, rows, lanes, .. } => self.chunked(run, rows, lanes),
            Points::Group(group) => self.group(group),
        }
    }

    fn strided(&mut self, groups: u64, group: u32, width: u32) {
        let (points, items) = (self.nest.grid_points(), groups * u64::from(group));
        let (packs, rest) = (points / u64::from(width), points % u64::from(width));
        let mut first = format!(
            "{} * {} + {}",
            self.dialect.group_index(self.count),
            self.number(group.into()),
            self.dialect.item_index(self.count)
        );
        let count = self.count;
        if rest > 0 {
            self.line(&format!("const {count} first = {first};"));
            first = "first".into();
        }
        if items >= packs && !self.sizes.are_arguments() {
            self.line(&format!("const {count} p = {first};"));
            self.open(&format!("if (p < {})", self.number(packs)));
        } else {
            let (last, step) = (self.count_at("points", packs), self.count_at("items", items));
            self.open(&format!("for ({count} p = {first}; p < {last}; p += {step})"));
        }
        let walks = self.walks.clone();
        self.positions_of_pack(&walks.grid, "p", width);
        if width > 1 {
            self.packs_by_box(&walks, width);
        } else {
            self.phases_alone(CpuLanes::One);
        }
        self.close();
        // Only a single walk leaves a rest.
        if let (Some(walk), 1..) = (walks.grid.last(), rest) {
            self.open(&format!("if (first < {})", self.number(rest)));
            let (index, axis) = (self.index, walk.axis);
            self.line(&format!("const {index} a{axis} = {} + ({index})first;", points - rest));
            self.phases_alone(CpuLanes::One);
            self.close();
        }
    }

    /// Prints all phases of a pack: those of the box that it lies in, or of the whole Nest.
    fn packs_by_box(&mut self, walks: &Walks, width: u32) {
        let (whole, own) = (self.nest, self.dtypes.clone());
        let interiors = self.interiors.clone();
        for (at, (interior, dtypes)) in interiors.iter().enumerate() {
            let lies_within = self.lies_within(interior, walks, width);
            self.open(&format!("{}if ({lies_within})", if at == 0 { "" } else { "else " }));
            (self.nest, self.dtypes) = (&interior.nest, dtypes.clone());
            self.phases_packed(walks, width);
            self.close();
        }
        (self.nest, self.dtypes) = (whole, own);
        if interiors.is_empty() {
            self.phases_packed(walks, width);
        } else {
            self.open("else");
            self.phases_packed(walks, width);
            self.close();
        }
    }

    /// Whether all points of a pack are in a box.
    fn lies_within(&self, interior: &Interior, walks: &Walks, width: u32) -> String {
        let mut tests = Vec::new();
        for (axis, (&(from, to), &extent)) in interior.within.iter().zip(&self.nest.axes).enumerate() {
            // A pack lies along the last loop.
            let beside = match walks.grid.last() {
                Some(walk) if walk.axis == axis => i64::from(width) - 1,
                _ => 0,
            };
            if from > 0 {
                tests.push(format!("a{axis} >= {from}"));
            }
            if to < extent as i64 - 1 {
                tests.push(format!("a{axis} <= {}", to - beside));
            }
        }
        if tests.is_empty() { "1".into() } else { tests.join(" && ") }
    }

    fn chunked(&mut self, run: u64, rows: bool, lanes: CpuLanes) {
        let mut walks = self.walks.grid.clone();
        let tiled = matches!(lanes, CpuLanes::Grid(_));
        let row = if rows || tiled { walks.pop() } else { None };
        let tiles = match (&row, lanes) {
            (Some(row), CpuLanes::Grid(width)) => row.extent.div_ceil(width.into()),
            _ => 1,
        };
        let units = walks.iter().map(|w| w.extent).product::<u64>() * tiles;
        let (count, run, units) = (self.count, self.count_at("run", run), self.count_at("units", units));
        self.line(&format!("const {count} first = {} * {run};", self.dialect.group_index(count)));
        self.line(&format!("const {count} last = first + {run} < {units} ? first + {run} : {units};"));
        self.open(&format!("for ({count} p = first; p < last; ++p)"));
        self.positions_above(&walks, "p", tiles);
        match (&row, lanes) {
            (Some(row), CpuLanes::Grid(width)) => {
                let tile = if walks.is_empty() {
                    "p".into()
                } else {
                    format!("(p % {})", self.count_at("tiles", tiles))
                };
                self.phases_tiled(row, &tile, width);
            }
            (Some(row), _) => {
                self.open_walk(row);
                self.phases_alone(lanes);
                self.close();
            }
            (None, _) => self.phases_alone(lanes),
        }
        self.close();
    }

    pub(super) fn open_walk(&mut self, walk: &Walk) {
        let (index, axis) = (self.index, walk.axis);
        let extent = self.index_at(&format!("extent of {axis}"), walk.extent);
        self.open(&format!("for ({index} a{axis} = 0; a{axis} < {extent}; ++a{axis})"));
    }

    /// Prints all phases of a grid point, for one item.
    fn phases_alone(&mut self, lanes: CpuLanes) {
        let count = self.folded(self.nest.inner_points());
        for phase in 0..self.nest.phases.len() {
            let kind = self.nest.phases[phase].kind;
            if let (CpuLanes::Inner(width), false) = (lanes, self.nest.phases[phase].folds.is_empty()) {
                self.reduce_in_lanes(phase, width);
                continue;
            }
            if kind == PhaseKind::Reduce {
                self.declare_folds(phase, count);
            }
            let walks = if kind == PhaseKind::Point { Vec::new() } else { self.walks.inner.clone() };
            for walk in &walks {
                self.open_walk(walk);
            }
            // Values of different phases share names.
            let scope = walks.is_empty() && self.nest.phases.len() > 1;
            if scope {
                self.open("");
            }
            self.point(phase, count);
            for _ in 0..walks.len() + usize::from(scope) {
                self.close();
            }
            self.finish_folds(phase, count);
        }
    }

    /// Prints a phase at one point.
    pub(super) fn point(&mut self, phase: usize, count: u64) {
        let names = self.block(phase);
        self.accumulate(phase, &names, count);
        self.carry(phase, count);
        self.stores(phase, &names);
    }
}
