//! Plans a Nest: which points are the lanes of a tile, and the instructions on each tile.
//!
//! Lanes are either grid points (every phase loops over the inner points, with a tile of adjacent grid
//! points: maps, column sums, many short rows) or inner points (a loop over grid points, with tiles of inner
//! points: few or long rows). The plan with the lower estimated time is chosen; the estimate considers sizes
//! and strides only.
//!
//! - `prepare`: rewrites of a Nest before it is planned. `facts`, `patterns`: its analysis.
//! - `kept`: values that several phases need. `rows`: values that are uniform in a row.
//! - `compile`: a phase's instructions and registers.

pub(super) mod compile;
pub(super) mod facts;
pub(super) mod kept;
pub(super) mod patterns;
pub(super) mod prepare;
pub(super) mod rows;

use super::affine::{Lanes, Map, Strides};
use super::cache_hints::{BYTE, PREFETCH_FROM};
use super::cast::CastFn;
use super::chain::Chain;
use super::folds::stream::{self, Stream};
use super::folds::tiles::{Cascade, Kernel};
use super::rows::Runs;
use super::tile_io::fill;
use compile::Compiler;
use facts::{Facts, Planned, Touch, facts};
use kept::Kept;
use prepare::{Prepared, Update, prepare};
use rows::{Rows, Through};
use std::borrow::Cow;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::cost::position_flops;
use workalike_kernels::nest::{Inst, Nest, PhaseKind};
use workalike_kernels::ops::TileFn;
use workalike_kernels::verify::Verified;

/// Where the lanes of a value are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Reg(u32),
    Const(u32),
    Folded(u32),
    /// A load's register, or the operand's memory itself.
    Load(u32),
    /// Kept from phase to phase.
    Kept(u32),
}

/// A value as an instruction's argument: its slot, and the bytes of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arg {
    pub(super) slot: Slot,
    pub(super) size: u8,
}

/// The target of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out {
    pub(super) reg: u32,
    pub(super) size: u8,
    /// A store of the phase whose value this is, unchanged: the result may go to its memory directly.
    pub(super) store: Option<u32>,
    /// `reg` is the number of a kept value.
    pub(super) kept: bool,
}

/// The most arguments an op has.
pub(super) const MAX_ARITY: usize = 4;

/// One instruction on tiles.
pub(super) enum Work {
    Load {
        access: u32,
    },
    Iota {
        map: Map,
        out: u32,
    },
    Broadcast {
        fold: u32,
        out: u32,
        size: u8,
    },
    /// Broadcasts the value of each row of lanes to all of them.
    Repeat {
        arg: Arg,
        out: u32,
    },
    Cast {
        cast: CastFn,
        arg: Arg,
        out: Out,
    },
    Tile {
        tile: TileFn,
        args: [Arg; MAX_ARITY],
        arity: u8,
        out: Out,
    },
    Chain(Box<ChainPlan>),
}

/// A chain; its places are these arguments and results.
pub(super) struct ChainPlan {
    pub(super) chain: Chain,
    /// Each with whether it is uniform, so that its first lanes suffice.
    pub(super) args: Vec<(Arg, bool)>,
    pub(super) outs: Vec<Out>,
}

/// A load or store, ready to run.
pub(super) struct Access {
    pub(super) touch: Touch,
    pub(super) map: Map,
    /// The strides of a load and its register, or of a register and its store.
    pub(super) strides: Strides,
    pub(super) dynamic: Vec<Dynamic>,
    /// Where computed indices are uniform, so that elements are copied a run at a time.
    pub(super) runs: Runs,
    /// Of a load whose only user is a store.
    pub(super) through: Option<Through>,
    /// A load's register.
    pub(super) reg: u32,
    pub(super) phase: usize,
    pub(super) store: bool,
    /// The store updates the elements in place.
    pub(super) updates: bool,
    pub(super) visited: bool,
}

/// A dynamic index, ready to run.
pub(super) struct Dynamic {
    pub(super) value: Arg,
    pub(super) map: Map,
    /// Added to a negative value.
    pub(super) wraps: i64,
    pub(super) extent: i64,
    pub(super) stride: i64,
}

pub(super) struct StorePlan {
    pub(super) access: u32,
    pub(super) value: Arg,
    pub(super) when: Option<Arg>,
    /// `when` is not a bool but an int64: the store is made where it is out of range as an index of this many
    /// elements.
    pub(super) outside: Option<i64>,
    /// Done once per row of lanes.
    pub(super) once: bool,
    /// How it updates the elements; `None` replaces them.
    pub(super) update: Option<Update>,
}

pub(super) struct FoldPlan {
    pub(super) kernel: Kernel,
    pub(super) dtype: DType,
    pub(super) identity: Scalar,
    pub(super) value: Arg,
    pub(super) index: Option<Arg>,
    /// The fold is over products of `value` and this.
    pub(super) factor: Option<Arg>,
    /// Words of an accumulator's lanes; those of the index follow them.
    pub(super) value_words: usize,
    pub(super) tile_words: usize,
    /// Word offsets in a frame: the stack of accumulators within a chunk, the stack of chunks, the result.
    pub(super) stack: usize,
    pub(super) chunk_stack: usize,
    pub(super) out: usize,
}

impl FoldPlan {
    /// Lanes of an accumulator: only one if tiles are folded to one lane.
    pub(super) fn lanes(&self, side: Option<Side>, full: usize) -> usize {
        if side == Some(Side::Inner) && self.kernel.goes_across() { 1 } else { full }
    }

    /// The identity as the first lane of a word.
    pub(super) fn identity_word(&self) -> u64 {
        let mut word = [0];
        fill(&mut word, self.identity, 1);
        word[0]
    }
}

/// The location of a kept value.
pub(super) struct KeptPlan {
    pub(super) size: u8,
    /// Word offset in a frame, and words from one grid point to the next.
    pub(super) at: usize,
    pub(super) row: usize,
}

/// Which points are lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Grid,
    Inner,
}

pub(super) struct PhasePlan {
    pub(super) kind: PhaseKind,
    /// Which points are lanes in this phase; `None`: it has one lane.
    pub(super) side: Option<Side>,
    /// Runs once per chunk: hoisted instructions. In a Point phase with rows, once per row.
    pub(super) before: Vec<Work>,
    /// Rows of lanes in which some values are uniform.
    pub(super) rows: Option<Rows>,
    /// Lanes of `before` that are needed.
    pub(super) before_lanes: usize,
    pub(super) body: Vec<Work>,
    pub(super) folds: std::ops::Range<usize>,
    pub(super) stores: Vec<StorePlan>,
    /// Its folds, if they read memory in place and the phase does nothing else.
    pub(super) streams: Option<Vec<Stream>>,
    /// Steps at each grid tile (tiles or inner points; of a stream, elements of a row), and steps of a chunk.
    pub(super) steps: u64,
    pub(super) chunk: u64,
}

/// How to run a Nest. Nothing in it depends on the number of threads.
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) extents: Vec<u64>,
    pub(super) grid: usize,
    pub(super) grid_points: u64,
    pub(super) inner_points: u64,
    pub(super) side: Side,
    /// Lanes of a full tile.
    pub(super) width: usize,
    /// Grid points that run through the phases together.
    pub(super) together: usize,
    pub(super) operands: Vec<(DType, bool)>,
    pub(super) phases: Vec<PhasePlan>,
    pub(super) accesses: Vec<Access>,
    pub(super) folds: Vec<FoldPlan>,
    pub(super) consts: Vec<Vec<u64>>,
    pub(super) kept: Vec<KeptPlan>,
    /// Word offsets in a frame.
    pub(super) regs: Vec<usize>,
    pub(super) addresses: usize,
    pub(super) positions: usize,
    pub(super) staging: usize,
    pub(super) frame_words: usize,
    /// Estimated nanoseconds of one run on one thread.
    pub(super) nanoseconds: f64,
    /// The overhead per tile among these.
    pub(super) overhead: f64,
}

/// Bytes of registers that should stay in the L1 cache.
const CACHE: usize = 24 << 10;
const WIDTHS: (usize, usize) = (128, 1024);
/// A tile may have more than `WIDTHS.1` lanes if its widest value takes at most this many bytes: narrow
/// values take less time per lane.
const WIDE: usize = 8 << 10;
/// Tile size in bytes for a prefetched operand (one tile ahead, per operand). With whole pages the processor
/// waits for them before it computes; much smaller prefetches come late.
const PREFETCH_TILE: usize = 2 << 10;
/// The most instructions of a Nest with such small tiles, whose overhead is per tile.
const FEW: usize = 3;
/// The most lanes, and bytes, of an accumulator of rows.
const STREAM_WIDTH: (usize, usize) = (4096, 16 << 10);
/// Grid points that run through the phases together if the inner points are lanes, and the most inner points
/// for which several do: the next phase then finds in the cache what the last one read.
const TOGETHER: (u64, u64) = (256, 4096);
/// Elements of one chunk of a long inner range.
const CHUNK: u64 = 1 << 16;
/// Estimated cost of an instruction per tile, apart from its lanes.
const OVERHEAD: f64 = 8.0;
/// Estimated nanoseconds of a computed index.
const COMPUTED: f64 = 2.0;

/// Plans a Nest.
pub(super) fn plan(nest: &Verified) -> Planned<Plan> {
    let nest: &Nest = nest;
    let prepared = prepare(nest)?;
    let walks = nest.phases.iter().any(|p| p.kind != PhaseKind::Point);
    let on = |side: Side| with(&prepared, side, &lane_order(nest, &prepared.facts, 0..nest.grid));
    let mut plan = on(Side::Grid)?;
    if walks {
        let other = on(Side::Inner)?;
        if other.nanoseconds < plan.nanoseconds {
            plan = other;
        }
    }
    Ok(plan)
}

/// Plans an elementwise Nest whose grid points are requested in small row-major ranges.
pub(super) fn row_major(nest: &Verified) -> Planned<Plan> {
    let nest: &Nest = nest;
    let facts = facts(nest)?;
    let order: Vec<usize> = (0..nest.grid).collect();
    let best = lane_order(nest, &facts, 0..nest.grid);
    // Axes of one point may be anywhere in the order.
    let long = best.iter().filter(|a| nest.axes[**a] != 1);
    if !nest.is_map() || (nest.grid_points() > 0 && !long.is_sorted()) {
        return Err("its points go another way through memory".into());
    }
    let tiled = vec![None; nest.phases.len()];
    with(&Prepared { nest: Cow::Borrowed(nest), facts, tiled }, Side::Grid, &order)
}

/// Plans a Nest with these lanes.
fn with(prepared: &Prepared<'_>, side: Side, order: &[usize]) -> Planned<Plan> {
    let (nest, facts) = (&*prepared.nest, &prepared.facts[..]);
    let inner = lane_order(nest, facts, nest.grid..nest.axes.len());
    // Where both sides have lanes, fold results of inner lanes become grid lanes: in the order of the points.
    let grid = match side {
        Side::Grid => order.to_vec(),
        Side::Inner => (0..nest.grid).collect(),
    };
    let kept = kept::find(nest, facts, side);
    let mut compiler = Compiler::new(nest, side, (&grid, &inner), &kept, &prepared.tiled);
    for (at, facts) in facts.iter().enumerate() {
        compiler.phase(at, facts)?;
    }
    let Compiler { reg_sizes, by_lane, consts, accesses, folds, phases, .. } = compiler;
    let fold_bytes = |f: &FoldPlan| f.dtype.register().size() + if f.index.is_some() { 8 } else { 0 };
    let plain = |a: &Access| {
        let dtype = a.touch.dtype;
        a.map.lanes == Lanes::Line(1) && a.dynamic.is_empty() && !dtype.is_half()
    };
    // A register of a load that is read in place is used only briefly.
    let in_place = |reg: u32| {
        let loads = accesses.iter().filter(|a| !a.store && a.reg == reg);
        let loaded = loads.clone().count() > 0 && loads.clone().all(plain);
        loaded && !writes(&phases, reg)
    };
    let registers = reg_sizes.iter().enumerate().filter(|(at, _)| by_lane[*at] && !in_place(*at as u32));
    // Chains read only the first lanes of a constant, and some accumulators have few lanes.
    let bytes: usize = registers.map(|(_, s)| *s as usize).sum::<usize>()
        + folds.iter().filter(|f| f.lanes(Some(side), 1 << 20) == 1 << 20).map(fold_bytes).sum::<usize>()
        + (0..consts.len())
            .filter(|c| fills_tiles(&phases, *c as u32))
            .map(|c| consts[c].dtype().register().size())
            .sum::<usize>();
    let (grid_points, inner_points) = (nest.grid_points(), nest.inner_points());
    let mut walks = phases.iter().filter(|p| p.kind != PhaseKind::Point);
    let together = match walks.clone().count() {
        _ if side == Side::Grid => u64::MAX,
        0 | 1 => TOGETHER.0,
        _ => (TOGETHER.1 / inner_points.max(1)).clamp(1, TOGETHER.0),
    };
    let lanes = if side == Side::Grid { grid_points } else { inner_points.max(together.min(grid_points)) };
    let lanes = lanes.clamp(1, 1 << 20) as usize;
    let stored = accesses.iter().map(|a| a.touch.dtype.register().size());
    let wide = reg_sizes.iter().zip(&by_lane).filter(|(_, by_lane)| **by_lane).map(|(s, _)| *s as usize);
    let widest = wide.chain(stored).max().unwrap_or(1);
    let (cache, most) = match walks.all(|p| p.streams.is_some()) && side == Side::Grid && !folds.is_empty() {
        true => (STREAM_WIDTH.1 * bytes / folds.iter().map(fold_bytes).max().unwrap_or(1), STREAM_WIDTH.0),
        false => (CACHE, (WIDE / widest.max(1)).clamp(WIDTHS.1, WIDE)),
    };
    // Only without folds: then each lane is computed once, and memory is the bottleneck.
    let prefetched =
        accesses.iter().filter(|a| !a.store && side == Side::Grid && folds.is_empty() && plain(a));
    // Gathers of single elements wait for memory anyway.
    let lookups = accesses.iter().any(|a| !a.dynamic.is_empty() && a.runs == Runs::Not);
    let prefetched = prefetched
        .map(|a| a.touch.dtype.size())
        .filter(|size| grid_points.saturating_mul(*size as u64) >= PREFETCH_FROM);
    let few = phases.iter().all(|p| p.body.iter().filter(|w| !matches!(w, Work::Load { .. })).count() <= FEW);
    let most =
        prefetched.max().filter(|_| few && !lookups).map_or(most, |size| most.min(PREFETCH_TILE / size));
    let width = (cache / bytes.max(1) / 64 * 64).clamp(WIDTHS.0, most).min(lanes.next_multiple_of(16));
    // Rows are divided evenly, for the overhead of a short last tile is the same.
    let width = match side {
        Side::Inner if inner_points > width as u64 => {
            let tiles = inner_points.div_ceil(width as u64);
            (inner_points.div_ceil(tiles) as usize).next_multiple_of(64).min(width)
        }
        _ => width,
    };
    let together = together.min(width as u64) as usize;
    let (nanoseconds, overhead) = estimate(nest, facts, side, (&grid, &inner), &phases, &kept);

    let mut plan = Plan {
        name: nest.name.clone(),
        extents: nest.axes.clone(),
        grid: nest.grid,
        grid_points,
        inner_points,
        side,
        width,
        together,
        operands: nest.operands.iter().map(|o| (o.dtype, o.written)).collect(),
        phases,
        accesses,
        folds,
        consts: Vec::new(),
        kept: kept.sizes.iter().map(|&size| KeptPlan { size, at: 0, row: 0 }).collect(),
        regs: Vec::new(),
        addresses: 0,
        positions: 0,
        staging: 0,
        frame_words: 0,
        nanoseconds,
        overhead,
    };
    for scalar in consts {
        let mut words = vec![0; width * scalar.dtype().register().size() / 8];
        fill(&mut words, scalar, width);
        plan.consts.push(words);
    }
    plan.lay_out(&reg_sizes);
    Ok(plan)
}

/// Whether an instruction reads the whole tile of a constant.
fn fills_tiles(phases: &[PhasePlan], constant: u32) -> bool {
    let before = |p: &PhasePlan| if p.rows.is_some() { 0 } else { p.before.len() };
    let mut work = phases.iter().flat_map(|p| p.before[..before(p)].iter().chain(&p.body));
    let is_it = |arg: &Arg| matches!(arg.slot, Slot::Const(c) if c == constant);
    work.any(|work| match work {
        Work::Cast { arg, .. } => is_it(arg),
        Work::Tile { args, arity, .. } => args[..*arity as usize].iter().any(is_it),
        Work::Repeat { arg, .. } => is_it(arg),
        Work::Load { .. } | Work::Iota { .. } | Work::Broadcast { .. } | Work::Chain(_) => false,
    })
}

/// Whether an instruction other than a load writes a register.
fn writes(phases: &[PhasePlan], reg: u32) -> bool {
    let mut work = phases.iter().flat_map(|p| p.before.iter().chain(&p.body));
    work.any(|work| match work {
        Work::Load { .. } => false,
        Work::Iota { out, .. } | Work::Broadcast { out, .. } | Work::Repeat { out, .. } => *out == reg,
        Work::Cast { out, .. } | Work::Tile { out, .. } => out.reg == reg && !out.kept,
        Work::Chain(chain) => chain.outs.iter().any(|out| out.reg == reg && !out.kept),
    })
}

impl Plan {
    /// Divides the phases into chunks and a frame into registers and accumulators. The width is a multiple of
    /// 8 lanes, so that every tile is whole words; 8 words between tiles avoid cache set conflicts.
    fn lay_out(&mut self, reg_sizes: &[u8]) {
        let mut words = 0;
        let width = self.width;
        let mut take = |lanes: usize, size: usize| {
            let at = words;
            words += (lanes * size).div_ceil(8).next_multiple_of(8) + 8;
            at
        };
        self.regs = reg_sizes.iter().map(|s| take(width, *s as usize)).collect();
        let conditions = self.phases.iter().flat_map(|p| &p.stores).any(|s| s.when.is_some());
        if conditions || self.accesses.iter().any(|a| !a.dynamic.is_empty()) {
            self.addresses = take(width, 8);
            self.positions = take(width, 8);
        }
        self.staging = take(width, 2);
        let (tiles, rows) = match self.side {
            Side::Grid => (self.inner_points as usize, 1),
            Side::Inner => ((self.inner_points as usize).div_ceil(width), self.together),
        };
        for kept in &mut self.kept {
            kept.row = tiles * width * kept.size as usize / 8;
            kept.at = take(rows * tiles * width, kept.size as usize);
        }
        for phase in &mut self.phases {
            let lanes = match phase.side {
                Some(Side::Grid) => self.grid_points.clamp(1, width as u64),
                _ => width as u64,
            };
            phase.steps = match (phase.kind, phase.side) {
                (PhaseKind::Point, _) => 1,
                (_, Some(Side::Inner)) => self.inner_points.div_ceil(width as u64),
                _ => self.inner_points,
            };
            phase.chunk =
                if phase.kind == PhaseKind::Ordered { phase.steps } else { (CHUNK / lanes).max(16) };
            phase.chunk = phase.chunk.max(1);
            if phase.streams.is_some() {
                (phase.steps, phase.chunk) = stream::steps(self.side, self.inner_points, lanes);
            }
            for fold in &mut self.folds[phase.folds.clone()] {
                let chunks = phase.steps.div_ceil(phase.chunk);
                fold.value_words = (width * fold.dtype.register().size()).div_ceil(8);
                fold.tile_words = fold.value_words + if fold.index.is_some() { width } else { 0 };
                let steps = phase.chunk.min(phase.steps);
                let depth = match phase.streams {
                    Some(_) => stream::depth(self.side, fold, steps),
                    None => Cascade::depth(steps, fold.kernel.block),
                };
                fold.stack = take(depth * fold.tile_words, 8);
                fold.chunk_stack = take(Cascade::depth(chunks, 0) * fold.tile_words, 8);
                fold.out = take(fold.tile_words, 8);
            }
        }
        self.frame_words = words;
    }

    /// The inner axes.
    pub(super) fn inner_axes(&self) -> std::ops::Range<usize> {
        self.grid..self.extents.len()
    }
}

/// The order in which tiles visit these axes: natural, but innermost the axis along which most memory
/// accesses are contiguous.
fn lane_order(nest: &Nest, facts: &[Facts], axes: std::ops::Range<usize>) -> Vec<usize> {
    let mut best: (f64, Vec<usize>) = (f64::INFINITY, Vec::new());
    for last in axes.clone().rev().filter(|a| nest.axes[*a] > 1) {
        let mut order: Vec<usize> = axes.clone().filter(|a| *a != last).collect();
        order.push(last);
        let cost = facts.iter().flat_map(|f| f.loads.iter().flatten().chain(&f.stores));
        let cost: f64 = cost.map(|t| lane_cost(nest, t, &order)).sum();
        if cost < best.0 - 1e-9 {
            best = (cost, order);
        }
    }
    if best.1.is_empty() { axes.collect() } else { best.1 }
}

/// Estimated nanoseconds per lane of a load or store.
fn lane_cost(nest: &Nest, touch: &Touch, order: &[usize]) -> f64 {
    let size = touch.dtype.size() as f64;
    let line = |step: i64| match step.unsigned_abs() {
        0 => 0.05,
        1 => BYTE * size,
        s if s as f64 * size < 64.0 => 0.5,
        _ => 1.2,
    };
    let lanes = Lanes::new(order.iter().map(|&a| (nest.axes[a], touch.affine.coefficients[a])));
    match lanes {
        Some(Lanes::Uniform) => line(0),
        Some(Lanes::Line(step)) => line(step),
        Some(Lanes::Rows(strides)) => {
            let (extent, step, _) = strides.innermost();
            line(step) + 4.0 / extent as f64
        }
        None => 100.0,
    }
}

/// Estimated nanoseconds of a run with these lanes, and the overhead per tile among them.
fn estimate(
    nest: &Nest,
    facts: &[Facts],
    side: Side,
    (grid, inner): (&[usize], &[usize]),
    plans: &[PhasePlan],
    kept: &Kept,
) -> (f64, f64) {
    let (g, n) = (nest.grid_points() as f64, nest.inner_points() as f64);
    let width = 512.0;
    let (mut total, mut overhead) = (0.0, 0.0);
    for (at, ((phase, facts), plan)) in nest.phases.iter().zip(facts).zip(plans).enumerate() {
        if let Some(streams) = &plan.streams {
            total += stream::nanoseconds(side, streams, g, n, 2.0 * width);
            continue;
        }
        let point = phase.kind == PhaseKind::Point;
        let points = if point { g } else { g * n };
        let (tiles, order): (f64, &[usize]) = match side {
            Side::Grid => ((g / width).ceil() * if point { 1.0 } else { n }, grid),
            Side::Inner if point => ((g / TOGETHER.0 as f64).ceil(), grid),
            Side::Inner if plan.side.is_none() => (g * n, &[]),
            Side::Inner => (g * (n / width).ceil(), inner),
        };
        let mut lanes = 0.0;
        let rows = plan.rows.as_ref();
        // Instructions that run once per row cost a fraction per lane.
        let share = |once: bool| rows.filter(|_| once).map_or(1.0, |rows| 1.0 / rows.lanes as f64);
        let loads = facts.loads.iter().enumerate().filter_map(|(i, touch)| Some((touch.as_ref()?, i)));
        let loads = loads.map(|(touch, i)| (touch, rows.is_some_and(|r| r.same[i])));
        let stores = facts.stores.iter().zip(&plan.stores).map(|(touch, store)| (touch, store.once));
        for (touch, once) in loads.chain(stores) {
            let computed = touch.dynamic.len() as f64 * COMPUTED;
            lanes += lane_cost(nest, touch, order) * share(once);
            lanes += computed * share(once || rows.is_some_and(|r| r.found_by_row(touch)));
        }
        for (i, inst) in phase.block.insts.iter().enumerate().filter(|(i, _)| kept.found(at, *i).is_none()) {
            let cost = match inst {
                Inst::Op { op, .. } => 0.2 * op.row().flops.max(1) as f64,
                Inst::Position { mode, .. } => 0.2 * position_flops(*mode) as f64,
                Inst::Cast { .. } => 0.2,
                _ => 0.0,
            };
            lanes += cost * share(rows.is_some_and(|r| r.same[i]));
        }
        lanes += 0.3 * phase.folds.len() as f64;
        let work = phase.block.insts.len() + phase.stores.len() + phase.folds.len();
        overhead += tiles * work as f64 * OVERHEAD;
        total += tiles * work as f64 * OVERHEAD + points * lanes;
        if side == Side::Inner {
            total += g * phase.folds.len() as f64 * (40.0 + n.min(width) * 0.2);
        }
    }
    (total, overhead)
}
