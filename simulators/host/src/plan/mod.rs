//! Plans a Nest: which points are the lanes of a tile, and the instructions on each tile.
//!
//! Lanes are either grid points (every phase loops over the inner points, with a tile of adjacent grid
//! points: maps, column sums, many short rows) or inner points (a loop over grid points, with tiles of inner
//! points: few or long rows). The plan with the lower estimated time is chosen; the estimate considers sizes
//! and strides only.
//!
//! - `prepare`: rewrites of a Nest before it is planned. `analysis`, `patterns`: its analysis.
//! - `reused_values`: values that several phases need. `lane_rows`: values that are uniform in a row.
//! - `compile`: a phase. `order`: the order of its instructions. `emit`: instructions and registers.
//!   `access`: loads and stores.
//! - `cost`: estimated times. `width`: the lanes of a tile. `layout`: chunks, and the layout of a frame.

pub(super) mod access;
pub(super) mod analysis;
pub(super) mod compile;
pub(super) mod cost;
pub(super) mod emit;
pub(super) mod lane_rows;
pub(super) mod layout;
pub(super) mod order;
pub(super) mod patterns;
pub(super) mod prepare;
pub(super) mod reused_values;
pub(super) mod width;

use super::affine::{Map, Strides};
use super::chain::Chain;
use super::folds::tiles::TileFold;
use super::tile_io::fill;
use crate::folds::memory_reduce::Stream;
use crate::folds::read_modify_write::Update;
use crate::uniform_rows::Runs;
use analysis::{Planned, Touch, facts};
use compile::NestCompiler;
use cost::{estimate, lane_order};
use lane_rows::{LaneRows, Through};
use prepare::{Prepared, prepare};
use std::borrow::Cow;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Nest, PhaseKind};
use workalike_kernels::ops::TileFn;
use workalike_kernels::verify::Verified;

/// Where the lanes of a value are.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueLocation {
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
pub(super) struct TileOperand {
    pub(super) slot: ValueLocation,
    pub(super) size: u8,
}

/// The target of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileResult {
    pub(super) reg: u32,
    pub(super) size: u8,
    /// A store of the phase whose value this is, unchanged: the result may go to its memory directly.
    pub(super) store: Option<u32>,
    /// `reg` is the number of a kept value.
    pub(super) kept: bool,
}

impl TileResult {
    fn is_in(&self, reg: u32) -> bool {
        self.reg == reg && !self.kept
    }
}

/// The most arguments an op has.
pub(super) const MAX_ARITY: usize = 4;

/// One instruction on tiles.
pub(super) enum TileInst {
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
        arg: TileOperand,
        out: u32,
    },
    Tile {
        tile: TileFn,
        args: [TileOperand; MAX_ARITY],
        arity: u8,
        out: TileResult,
    },
    Chain(Box<ChainPlan>),
}

impl TileInst {
    /// Whether an instruction, other than a load, writes a register.
    pub(super) fn writes(&self, reg: u32) -> bool {
        match self {
            TileInst::Load { .. } => false,
            TileInst::Iota { out, .. } | TileInst::Broadcast { out, .. } | TileInst::Repeat { out, .. } => {
                *out == reg
            }
            TileInst::Tile { out, .. } => out.is_in(reg),
            TileInst::Chain(chain) => chain.outs.iter().any(|out| out.is_in(reg)),
        }
    }

    /// The result in a register, if it can go elsewhere.
    pub(super) fn out_in(&mut self, reg: u32) -> Option<&mut TileResult> {
        match self {
            TileInst::Tile { out, .. } => Some(out).filter(|out| out.is_in(reg)),
            TileInst::Chain(chain) => chain.outs.iter_mut().find(|out| out.is_in(reg)),
            TileInst::Load { .. }
            | TileInst::Iota { .. }
            | TileInst::Broadcast { .. }
            | TileInst::Repeat { .. } => None,
        }
    }
}

/// A chain; its places are these arguments, accumulators and results.
pub(super) struct ChainPlan {
    pub(super) chain: Chain,
    /// Each with whether it is uniform, so that its first lanes suffice.
    pub(super) args: Vec<(TileOperand, bool)>,
    /// Folds that it does itself.
    pub(super) folds: Vec<usize>,
    pub(super) outs: Vec<TileResult>,
}

/// A load or store, ready to run.
pub(super) struct AccessPlan {
    pub(super) touch: Touch,
    pub(super) map: Map,
    /// The strides of a load and its register, or of a register and its store.
    pub(super) strides: Strides,
    pub(super) dynamic: Vec<Dynamic>,
    /// Where computed indices are uniform, so that elements are copied a run at a time.
    pub(super) runs: Runs,
    /// Of a load whose only user is a store.
    pub(super) through: Option<Through>,
    /// Only chains read the lanes of this load: where all are one element, they read the first ones.
    pub(super) few: bool,
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
    pub(super) value: TileOperand,
    pub(super) map: Map,
    /// Added to a negative value.
    pub(super) wraps: i64,
    pub(super) extent: i64,
    pub(super) stride: i64,
}

pub(super) struct StorePlan {
    pub(super) access: u32,
    pub(super) value: TileOperand,
    pub(super) when: Option<TileOperand>,
    /// `when` is not a bool but an int64: the store is made where it is out of range as an index of this many
    /// elements.
    pub(super) outside: Option<i64>,
    /// Done once per row of lanes.
    pub(super) once: bool,
    /// How it updates the elements; `None` replaces them.
    pub(super) update: Option<Update>,
}

pub(super) struct FoldPlan {
    pub(super) kernel: TileFold,
    pub(super) dtype: DType,
    pub(super) identity: Scalar,
    /// `None`: a chain folds it.
    pub(super) value: Option<TileOperand>,
    pub(super) index: Option<TileOperand>,
    /// The fold is over products of `value` and this.
    pub(super) factor: Option<TileOperand>,
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
    pub(super) fn lanes(&self, lane_axes: Option<LaneAxes>, full: usize) -> usize {
        if lane_axes == Some(LaneAxes::Inner) && self.kernel.folds_to_one_lane() { 1 } else { full }
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
pub(super) enum LaneAxes {
    Grid,
    Inner,
}

pub(super) struct PhasePlan {
    pub(super) kind: PhaseKind,
    /// Which points are lanes in this phase; `None`: it has one lane.
    pub(super) lane_axes: Option<LaneAxes>,
    /// Runs once per chunk: hoisted instructions. In a Point phase with rows, once per row.
    pub(super) before: Vec<TileInst>,
    /// Rows of lanes in which some values are uniform.
    pub(super) rows: Option<LaneRows>,
    /// Lanes of `before` that are needed.
    pub(super) before_lanes: usize,
    pub(super) body: Vec<TileInst>,
    pub(super) folds: std::ops::Range<usize>,
    pub(super) stores: Vec<StorePlan>,
    /// Its folds, if they read memory in place and the phase does nothing else.
    pub(super) streams: Option<Vec<Stream>>,
    /// Steps at each grid tile (tiles or inner points; of a stream, elements of a row), and steps of a chunk.
    pub(super) steps: u64,
    pub(super) chunk: u64,
}

/// How to run a Nest. Nothing in it depends on the number of threads.
pub(super) struct NestPlan {
    pub(super) name: String,
    pub(super) extents: Vec<u64>,
    pub(super) grid: usize,
    pub(super) grid_points: u64,
    pub(super) inner_points: u64,
    pub(super) lane_axes: LaneAxes,
    /// Lanes of a full tile.
    pub(super) width: usize,
    /// Grid points that run through the phases together.
    pub(super) together: usize,
    pub(super) operands: Vec<(DType, bool)>,
    pub(super) phases: Vec<PhasePlan>,
    pub(super) accesses: Vec<AccessPlan>,
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

impl NestPlan {
    /// The inner axes.
    pub(super) fn inner_axes(&self) -> std::ops::Range<usize> {
        self.grid..self.extents.len()
    }
}

/// Plans a Nest.
pub(super) fn plan(nest: &Verified) -> Planned<NestPlan> {
    let nest: &Nest = nest;
    let prepared = prepare(nest)?;
    let walks = nest.phases.iter().any(|p| p.kind != PhaseKind::Point);
    let on =
        |lane_axes: LaneAxes| with(&prepared, lane_axes, &lane_order(nest, &prepared.facts, 0..nest.grid));
    let mut plan = on(LaneAxes::Grid)?;
    if walks {
        let other = on(LaneAxes::Inner)?;
        if other.nanoseconds < plan.nanoseconds {
            plan = other;
        }
    }
    Ok(plan)
}

/// Plans an elementwise Nest whose grid points are requested in small row-major ranges.
pub(super) fn row_major(nest: &Verified) -> Planned<NestPlan> {
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
    with(&Prepared { nest: Cow::Borrowed(nest), facts, tiled }, LaneAxes::Grid, &order)
}

/// Plans a Nest with these lanes.
fn with(prepared: &Prepared<'_>, lane_axes: LaneAxes, order: &[usize]) -> Planned<NestPlan> {
    let (nest, facts) = (&*prepared.nest, &prepared.facts[..]);
    let inner = lane_order(nest, facts, nest.grid..nest.axes.len());
    // Where both sides have lanes, fold results of inner lanes become grid lanes: in the order of the points.
    let grid = match lane_axes {
        LaneAxes::Grid => order.to_vec(),
        LaneAxes::Inner => (0..nest.grid).collect(),
    };
    let kept = reused_values::find(nest, facts, lane_axes);
    let mut compiler = NestCompiler::new(nest, lane_axes, (&grid, &inner), &kept, &prepared.tiled);
    for (at, facts) in facts.iter().enumerate() {
        compiler.phase(at, facts)?;
    }
    let (width, together) = compiler.width();
    let (nanoseconds, overhead) = estimate(&compiler, facts);
    let NestCompiler { reg_sizes, consts, accesses, folds, phases, .. } = compiler;
    let constant = |scalar: Scalar| {
        let mut words = vec![0; width * scalar.dtype().register().size() / 8];
        fill(&mut words, scalar, width);
        words
    };
    let mut plan = NestPlan {
        name: nest.name.clone(),
        extents: nest.axes.clone(),
        grid: nest.grid,
        grid_points: nest.grid_points(),
        inner_points: nest.inner_points(),
        lane_axes,
        width,
        together,
        operands: nest.operands.iter().map(|o| (o.dtype, o.written)).collect(),
        phases,
        accesses,
        folds,
        consts: consts.into_iter().map(constant).collect(),
        kept: kept.sizes.iter().map(|&size| KeptPlan { size, at: 0, row: 0 }).collect(),
        regs: Vec::new(),
        addresses: 0,
        positions: 0,
        staging: 0,
        frame_words: 0,
        nanoseconds,
        overhead,
    };
    plan.lay_out(&reg_sizes);
    Ok(plan)
}
