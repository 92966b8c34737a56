//! Compiles a phase's scalar SSA to instructions on tiles: registers are assigned by liveness, index maps
//! flattened, loop-invariant instructions hoisted.

use super::super::chain::{InstGroup, UNIFORM};
use super::super::folds::mapped_reduce::element_test;
use super::super::folds::tiles;
use super::super::plan::{
    AccessPlan, FoldPlan, LaneAxes, PhasePlan, StorePlan, TileInst, TileOperand, ValueLocation,
};
use super::analysis::{Facts, IndexReport, Planned, Touch};
use super::lane_rows::LaneRows;
use super::order::InstOrder;
use super::patterns::{counted, each_used, product};
use super::reused_values::ReusedValues;
use crate::folds::memory_reduce;
use crate::folds::memory_reduce::Stream;
use crate::folds::read_modify_write::Update;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{FoldOf, Nest, Phase, PhaseKind, Value};

/// The state of planning across phases.
pub(crate) struct NestCompiler<'a> {
    pub(crate) nest: &'a Nest,
    pub(crate) lane_axes: LaneAxes,
    pub(crate) grid: &'a [usize],
    pub(crate) inner: &'a [usize],
    pub(crate) kept: &'a ReusedValues,
    /// See [`Prepared`](super::prepare::Prepared).
    tiled: &'a [Option<Vec<Option<Update>>>],
    /// Bytes of a lane of each register.
    pub(crate) reg_sizes: Vec<u8>,
    /// Per register: whether it has more than a lane per row.
    pub(crate) by_lane: Vec<bool>,
    pub(crate) consts: Vec<Scalar>,
    pub(crate) accesses: Vec<AccessPlan>,
    pub(crate) folds: Vec<FoldPlan>,
    pub(crate) phases: Vec<PhasePlan>,
}

/// The state of one phase.
pub(crate) struct PhaseScope<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) facts: &'a Facts,
    kept: &'a ReusedValues,
    pub(crate) at: usize,
    pub(crate) lane_axes: Option<LaneAxes>,
    /// Rows of lanes, if some values are computed once per row.
    pub(crate) rows: Option<LaneRows>,
    /// Per instruction: whether it is hoisted out of the loop, or runs once per row.
    pub(crate) same: Vec<bool>,
    /// Which values are uniform: inner points are lanes, and the value does not vary along the inner axes.
    pub(crate) uniform: Vec<bool>,
    /// Per value, by root.
    pub(crate) slots: Vec<Option<ValueLocation>>,
    /// Whether the instructions being emitted run once per row.
    pub(crate) by_row: bool,
    /// Per value that is uniform in a row: the slot with its value for every lane.
    pub(crate) repeated: Vec<Option<ValueLocation>>,
    /// Registers that hold no value.
    pub(crate) free: Vec<u32>,
}

impl PhaseScope<'_> {
    /// Whether the computed indices of an access have a value per row.
    fn found_by_row(&self, touch: &Touch) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.found_by_row(touch))
    }

    /// The number of a value that an earlier phase kept.
    pub(crate) fn load_slot(&self, value: usize) -> Option<u32> {
        self.kept.load_slot(self.at, value)
    }

    /// The number under which this phase keeps a value.
    pub(crate) fn store_slot(&self, value: usize) -> Option<u32> {
        self.kept.store_slot(self.at, value)
    }

    /// Calls `then` with the root of every value that an instruction uses here.
    pub(crate) fn each_used(&self, i: usize, then: &mut dyn FnMut(usize)) {
        if self.load_slot(i).is_none() {
            each_used(&self.phase.block.insts, self.facts, i, then);
        }
    }

    /// Likewise, for all instructions of a group.
    pub(crate) fn each_used_by(&self, group: &InstGroup, mut then: impl FnMut(usize)) {
        group.each(|i| self.each_used(i, &mut then));
    }

    /// A value as an argument.
    pub(crate) fn arg(&self, value: Value) -> Planned<TileOperand> {
        let root = self.facts.roots[value as usize];
        let repeated = if self.by_row { None } else { self.repeated[root] };
        let slot = repeated.or(self.slots[root]).ok_or("a value is used before it is computed")?;
        Ok(TileOperand { slot, size: self.size(root) })
    }

    /// Bytes of a lane of a value.
    pub(crate) fn size(&self, root: usize) -> u8 {
        dtype_size(self.facts.dtypes[root])
    }
}

/// Bytes of a lane of this dtype.
pub(crate) fn dtype_size(dtype: DType) -> u8 {
    dtype.register().size() as u8
}

impl<'a> NestCompiler<'a> {
    pub(crate) fn new(
        nest: &'a Nest,
        lane_axes: LaneAxes,
        (grid, inner): (&'a [usize], &'a [usize]),
        kept: &'a ReusedValues,
        tiled: &'a [Option<Vec<Option<Update>>>],
    ) -> NestCompiler<'a> {
        NestCompiler {
            nest,
            lane_axes,
            grid,
            inner,
            kept,
            tiled,
            reg_sizes: Vec::new(),
            by_lane: Vec::new(),
            consts: Vec::new(),
            accesses: Vec::new(),
            folds: Vec::new(),
            phases: Vec::new(),
        }
    }

    /// Adds the plan of phase `at`.
    pub(crate) fn phase(&mut self, at: usize, facts: &Facts) -> Planned<()> {
        let mut scope = self.scope(at, facts);
        let order = InstOrder::new(&scope);
        let (before, mut body) = self.instructions(&mut scope, &order)?;
        let first_fold = self.folds.len();
        for (fold, chained) in scope.phase.folds.iter().zip(&order.folds) {
            self.folds.push(fold_plan(&scope, fold, *chained)?);
        }
        for (root, slot) in scope.slots.iter().enumerate() {
            if let Some(ValueLocation::Load(access)) = slot {
                // What is loaded once per row is then repeated.
                let by_row = scope.rows.is_some() && scope.same[root];
                self.accesses[*access as usize].few = order.chained[root] && !by_row;
            }
        }
        let stores = self.stores(&mut scope, &mut body)?;
        self.store_directly(&scope, &order, &mut body);
        let keeps = (0..scope.slots.len()).any(|i| scope.store_slot(i).is_some());
        let only_folds = before.is_empty() && stores.is_empty() && !keeps && facts.visits;
        let few = order.few && scope.lane_axes == Some(LaneAxes::Inner);
        let streams = if only_folds { self.streams(&scope, first_fold) } else { None };
        self.phases.push(PhasePlan {
            streams,
            kind: scope.phase.kind,
            lane_axes: scope.lane_axes,
            before,
            rows: scope.rows,
            before_lanes: if few { UNIFORM } else { usize::MAX },
            body,
            folds: first_fold..self.folds.len(),
            stores,
            steps: 0,
            chunk: 0,
        });
        Ok(())
    }

    fn scope<'s>(&self, at: usize, facts: &'s Facts) -> PhaseScope<'s>
    where
        'a: 's,
    {
        let phase = &self.nest.phases[at];
        let values = phase.block.insts.len();
        let point = phase.kind == PhaseKind::Point;
        let lane_axes = match (self.lane_axes, phase.kind) {
            (LaneAxes::Grid, _) => Some(LaneAxes::Grid),
            (LaneAxes::Inner, PhaseKind::Point) => Some(LaneAxes::Grid),
            (LaneAxes::Inner, PhaseKind::Ordered) if self.tiled[at].is_none() => None,
            (LaneAxes::Inner, _) => Some(LaneAxes::Inner),
        };
        let rows = match lane_axes {
            Some(LaneAxes::Grid) if point => LaneRows::find(self.nest, &phase.block, facts, self.grid),
            _ => None,
        };
        PhaseScope {
            phase,
            facts,
            kept: self.kept,
            at,
            lane_axes,
            same: match &rows {
                Some(rows) => rows.same.clone(),
                None => facts.inner.iter().map(|inner| !point && !inner).collect(),
            },
            rows,
            uniform: facts.inner.iter().map(|inner| lane_axes == Some(LaneAxes::Inner) && !inner).collect(),
            slots: vec![None; values],
            by_row: false,
            repeated: vec![None; values],
            free: (0..self.reg_sizes.len() as u32).collect(),
        }
    }

    /// The instructions before the loop, and in it.
    fn instructions(
        &mut self,
        scope: &mut PhaseScope<'_>,
        order: &InstOrder,
    ) -> Planned<(Vec<TileInst>, Vec<TileInst>)> {
        let (mut before, mut body) = (Vec::new(), Vec::new());
        for (position, group) in order.groups.iter().enumerate() {
            let hoisted = position < order.hoists;
            let work = if hoisted { &mut before } else { &mut body };
            scope.by_row = scope.rows.is_some() && hoisted;
            if scope.rows.is_some() && !hoisted {
                let mut used = Vec::new();
                group.each(|i| match &scope.facts.loads[i] {
                    Some(touch) if scope.found_by_row(touch) => {}
                    _ => scope.each_used(i, &mut |root| used.push(root)),
                });
                used.into_iter().for_each(|root| self.repeat(scope, root, work));
            }
            match group {
                InstGroup::One(i) => self.emit(scope, *i, work)?,
                InstGroup::Chain(members) => self.emit_chain(scope, members, &order.uses, work)?,
            }
            let mut done = Vec::new();
            scope.each_used_by(group, |root| {
                if order.last[root] == position && !done.contains(&root) {
                    done.push(root);
                }
            });
            let done: Vec<u32> =
                done.into_iter().filter_map(|root| self.register(scope.slots[root])).collect();
            scope.free.extend(done);
        }
        scope.by_row = false;
        Ok((before, body))
    }

    fn register(&self, slot: Option<ValueLocation>) -> Option<u32> {
        match slot? {
            ValueLocation::Reg(reg) => Some(reg),
            ValueLocation::Load(access) => Some(self.accesses[access as usize].reg),
            ValueLocation::Const(_) | ValueLocation::Folded(_) | ValueLocation::Kept(_) => None,
        }
    }

    /// The stores of a phase, then its reports.
    fn stores(&mut self, scope: &mut PhaseScope<'_>, work: &mut Vec<TileInst>) -> Planned<Vec<StorePlan>> {
        let (phase, facts) = (scope.phase, scope.facts);
        // Of several reports to a word, the one of the last access wins: a conditional store before an index.
        let mut reports = Vec::with_capacity(facts.reports.len());
        for report in &facts.reports {
            let IndexReport { value, extent, node, touch } = report;
            let (access, once) = self.target(scope, touch, (*value, None), work)?;
            let (when, outside) = (Some(scope.arg(*value)?), Some(*extent));
            reports.push(StorePlan { access, value: self.number(*node), when, outside, once, update: None });
        }
        let updates = self.tiled[scope.at].as_deref().unwrap_or(&[]);
        let mut stores = Vec::with_capacity(phase.stores.len() + reports.len());
        for (position, (store, touch)) in phase.stores.iter().zip(&facts.stores).enumerate() {
            let (access, once) = self.target(scope, touch, (store.value, store.when), work)?;
            let update = updates.get(position).copied().flatten();
            self.accesses[access as usize].updates = update.is_some();
            let when = store.when.map(|when| scope.arg(when)).transpose()?;
            stores.push(StorePlan {
                access,
                value: scope.arg(store.value)?,
                when,
                outside: None,
                once,
                update,
            });
        }
        stores.extend(reports);
        scope.by_row = false;
        Ok(stores)
    }

    /// The access of a store, and whether it is done once per row.
    fn target(
        &mut self,
        scope: &mut PhaseScope<'_>,
        touch: &Touch,
        (value, when): (Value, Option<Value>),
        work: &mut Vec<TileInst>,
    ) -> Planned<(u32, bool)> {
        let once = scope.rows.as_ref().is_some_and(|rows| rows.stores_once(touch, value, when));
        scope.by_row = once;
        if !once {
            let facts = scope.facts;
            let used = [value].into_iter().chain(when).chain(touch.dynamic.iter().map(|d| d.value));
            used.for_each(|value| self.repeat(scope, facts.roots[value as usize], work));
        }
        Ok((self.access(scope, touch, true)?, once))
    }

    /// Lets a value that is only stored go to memory directly: from where it is loaded, or from the
    /// instruction that computes it.
    fn store_directly(&mut self, scope: &PhaseScope<'_>, order: &InstOrder, body: &mut [TileInst]) {
        let point = scope.phase.kind == PhaseKind::Point;
        let stores = &scope.phase.stores;
        for (position, (store, touch)) in stores.iter().zip(&scope.facts.stores).enumerate() {
            let root = scope.facts.roots[store.value as usize];
            let alone = stores.iter().filter(|s| s.operand == store.operand).count() == 1;
            let plain = store.when.is_none() && touch.dynamic.is_empty() && !touch.dtype.is_half();
            let by_row = scope.rows.is_some() && scope.same[root];
            if !alone || !plain || by_row || order.uses[root] != 1 {
                continue;
            }
            match scope.slots[root] {
                Some(ValueLocation::Load(load)) if point => {
                    self.accesses[load as usize].through = self.through(scope, load, touch, position);
                }
                Some(ValueLocation::Reg(reg)) if point || scope.facts.inner[root] => {
                    // The last instruction that writes this register computes the value that is live at the
                    // end.
                    let last = body.iter_mut().rev().find(|work| work.writes(reg));
                    if let Some(out) = last.and_then(|work| work.out_in(reg)) {
                        out.store = Some(position as u32);
                    }
                }
                _ => {}
            }
        }
    }

    /// The folds of a phase that does nothing else, if all of them can read memory in place.
    fn streams(&self, scope: &PhaseScope<'_>, first_fold: usize) -> Option<Vec<Stream>> {
        let mapped = |f: &FoldOf| {
            let (load, test) = element_test(scope.phase, scope.facts, f)?;
            Some((scope.arg(load).ok()?, test))
        };
        let known: Vec<memory_reduce::Known> =
            scope.phase.folds.iter().map(|f| (f.fold, mapped(f))).collect();
        let (axes, grid) = (&self.nest.axes[..], self.nest.grid);
        // The inner axes in the order in which they are read.
        let natural: Vec<usize> = (grid..axes.len()).collect();
        let inner = if self.lane_axes == LaneAxes::Inner { self.inner } else { &natural };
        let index = counted(scope.phase, scope.facts, axes, inner);
        let folds = (first_fold, &self.folds[first_fold..]);
        memory_reduce::streams(self.lane_axes, &known, folds, &self.accesses, (axes, grid), index)
    }
}

/// `chained`: a chain folds.
fn fold_plan(scope: &PhaseScope<'_>, fold: &FoldOf, chained: bool) -> Planned<FoldPlan> {
    let factors = product(scope.phase, scope.facts, fold);
    let dtype = scope.facts.dtypes[fold.value as usize];
    let kernel = if factors.is_some() { tiles::dot(dtype) } else { tiles::kernel(fold.fold, dtype) };
    let arg = |value: Value| if chained { Ok(None) } else { scope.arg(value).map(Some) };
    Ok(FoldPlan {
        kernel: kernel.ok_or("a fold of this dtype has no loops")?,
        factor: factors.map_or(Ok(None), |two| arg(two[1]))?,
        dtype,
        identity: fold.fold.identity(dtype),
        value: arg(factors.map_or(fold.value, |two| two[0]))?,
        index: fold.index.map(|index| scope.arg(index)).transpose()?,
        value_words: 0,
        tile_words: 0,
        stack: 0,
        chunk_stack: 0,
        out: 0,
    })
}
