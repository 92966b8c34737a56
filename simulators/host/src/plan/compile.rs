//! Compiles a phase's scalar SSA to instructions on tiles: registers are assigned by liveness, index maps
//! flattened, loop-invariant instructions hoisted.

use super::super::affine::{Affine, Lanes, Map, Strides};
use super::super::cast;
use super::super::chain;
use super::super::folds::mapped_reduce::{Test, element_test};
use super::super::folds::stream;
use super::super::folds::tiles;
use super::super::plan::{
    Access, Arg, ChainPlan, Dynamic, FoldPlan, MAX_ARITY, Out, PhasePlan, Side, Slot, StorePlan, Work,
};
use super::super::rows::Runs;
use super::facts::{DynamicIndex, Facts, IndexReport, Planned, Touch};
use super::kept::Kept;
use super::patterns::{Joined, counted, each_used, ends, joined, product};
use super::prepare::Update;
use super::rows::{Rows, Through, differing};
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{FoldOf, Inst, Nest, Phase, PhaseKind, Value};

/// Elements of a row from which it is copied as a whole.
const RUN: u64 = 8;

/// The state of planning across phases.
pub(crate) struct Compiler<'a> {
    nest: &'a Nest,
    side: Side,
    grid: &'a [usize],
    inner: &'a [usize],
    kept: &'a Kept,
    /// See [`Prepared`](super::prepare::Prepared).
    tiled: &'a [Option<Vec<Option<Update>>>],
    /// Bytes of a lane of each register.
    pub(crate) reg_sizes: Vec<u8>,
    /// Per register: whether it has more than a lane per row.
    pub(crate) by_lane: Vec<bool>,
    pub(crate) consts: Vec<Scalar>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) folds: Vec<FoldPlan>,
    pub(crate) phases: Vec<PhasePlan>,
}

/// The state of one phase.
struct Scope<'a> {
    facts: &'a Facts,
    at: usize,
    side: Option<Side>,
    /// Per value, by root.
    slots: Vec<Option<Slot>>,
    /// The position of the last instruction that uses each root; `usize::MAX` if a store, a fold or the loop
    /// does.
    last: Vec<usize>,
    uses: Vec<usize>,
    /// Which values are uniform: inner points are lanes, and the value does not vary along the inner axes.
    uniform: Vec<bool>,
    /// Rows of lanes, if some values are computed once per row.
    rows: Option<Rows>,
    /// Whether the instructions being emitted run once per row.
    by_row: bool,
    /// Per value that is uniform in a row: the slot with its value for every lane.
    repeated: Vec<Option<Slot>>,
    /// Per instruction, the ones fused into its loop.
    joined: Vec<Option<Joined>>,
    free: Vec<u32>,
}

impl Scope<'_> {
    /// Whether the computed indices of an access have a value per row.
    fn found_by_row(&self, touch: &Touch) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.found_by_row(touch))
    }
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(
        nest: &'a Nest,
        side: Side,
        (grid, inner): (&'a [usize], &'a [usize]),
        kept: &'a Kept,
        tiled: &'a [Option<Vec<Option<Update>>>],
    ) -> Compiler<'a> {
        Compiler {
            nest,
            side,
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
        let phase = &self.nest.phases[at];
        let insts = &phase.block.insts;
        let point = phase.kind == PhaseKind::Point;
        let side = match (self.side, phase.kind) {
            (Side::Grid, _) => Some(Side::Grid),
            (Side::Inner, PhaseKind::Point) => Some(Side::Grid),
            (Side::Inner, PhaseKind::Ordered) if self.tiled[at].is_none() => None,
            (Side::Inner, _) => Some(Side::Inner),
        };
        let mut scope = Scope {
            facts,
            at,
            side,
            slots: vec![None; insts.len()],
            last: vec![0; insts.len()],
            uses: vec![0; insts.len()],
            uniform: (0..insts.len()).map(|i| side == Some(Side::Inner) && !facts.inner[i]).collect(),
            rows: match side {
                Some(Side::Grid) if point => Rows::find(self.nest, &phase.block, facts, self.grid),
                _ => None,
            },
            by_row: false,
            repeated: vec![None; insts.len()],
            joined: vec![None; insts.len()],
            free: (0..self.reg_sizes.len() as u32).collect(),
        };

        let factors: Vec<Option<[Value; 2]>> =
            phase.folds.iter().map(|f| product(phase, facts, f.fold, f.value)).collect();
        // The values used at the end, and from there backwards all that are needed.
        let mut needed = vec![false; insts.len()];
        for root in ends(phase, facts) {
            needed[root] = true;
            scope.last[root] = usize::MAX;
            scope.uses[root] += 1;
        }
        let kept = self.kept;
        let mut uses = scope.uses.clone();
        for i in (0..insts.len()).rev().filter(|i| facts.roots[*i] == *i) {
            if needed[i] && kept.found(at, i).is_none() {
                each_used(insts, facts, i, |root| {
                    needed[root] = true;
                    uses[root] += 1;
                });
            }
        }
        let same: Vec<bool> = match &scope.rows {
            Some(rows) => rows.same.clone(),
            None => facts.inner.iter().map(|inner| !point && !inner).collect(),
        };
        let hoisted = |i: usize| same[i];
        let here = |i: usize| needed[i] && facts.roots[i] == i && kept.found(at, i).is_none();
        let joins = |i: usize, j: usize| {
            here(i) && here(j) && uses[i] == 1 && kept.made(at, i).is_none() && hoisted(i) == hoisted(j)
        };
        scope.joined = joined(insts, facts, joins);
        let together = scope.joined.clone();
        let each_used = |i: usize, then: &mut dyn FnMut(usize)| match &together[i] {
            _ if kept.found(at, i).is_some() => (),
            Some(joined) => joined.args.iter().for_each(|a| then(*a)),
            None => each_used(insts, facts, i, then),
        };
        let deferred: Vec<usize> = together.iter().flatten().flat_map(|j| &j.insts).copied().collect();
        let alive = (0..insts.len()).filter(|i| needed[*i] && facts.roots[*i] == *i && !deferred.contains(i));
        let (before, body): (Vec<usize>, Vec<usize>) = alive.partition(|i| hoisted(*i));
        let computed = |i: usize| kept.found(at, i).is_none();
        // Constants are filled in advance.
        let uniform = |i: usize| scope.uniform[i] && !matches!(insts[i], Inst::Const(_));
        let mut order = chain::chains(insts, facts, &before, (&computed, &each_used), |_| false);
        let hoists = order.len();
        order.extend(chain::chains(insts, facts, &body, (&computed, &each_used), uniform));
        // Chains read only the first lanes of a uniform value.
        let mut few = side == Some(Side::Inner) && !ends(phase, facts).into_iter().any(uniform);
        for group in &order[hoists..] {
            if let chain::Group::One(i) = group {
                each_used(*i, &mut |root| few &= !uniform(root));
            }
        }
        for (position, group) in order.iter().enumerate() {
            let in_body = position >= hoists;
            group.each(|i| {
                each_used(i, &mut |root| {
                    let last = if in_body && hoisted(root) { usize::MAX } else { position };
                    scope.last[root] = scope.last[root].max(last);
                    scope.uses[root] += 1;
                });
            });
        }

        let (mut work_before, mut work_body) = (Vec::new(), Vec::new());
        for (position, group) in order.iter().enumerate() {
            let work = if position < hoists { &mut work_before } else { &mut work_body };
            scope.by_row = scope.rows.is_some() && position < hoists;
            if scope.rows.is_some() && !scope.by_row {
                let mut used = Vec::new();
                group.each(|i| match &facts.loads[i] {
                    Some(touch) if scope.found_by_row(touch) => {}
                    _ => each_used(i, &mut |root| used.push(root)),
                });
                used.into_iter().for_each(|root| self.repeat(&mut scope, root, work));
            }
            match group {
                chain::Group::One(i) => self.emit(&mut scope, *i, work)?,
                chain::Group::Chain(members) => self.emit_chain(&mut scope, members, work)?,
            }
            let mut done = Vec::new();
            group.each(|i| {
                each_used(i, &mut |root| {
                    if scope.last[root] == position && !done.contains(&root) {
                        done.push(root);
                    }
                });
            });
            scope.free.extend(done.into_iter().filter_map(|root| self.register(scope.slots[root])));
        }

        scope.by_row = false;
        let first_fold = self.folds.len();
        for (f, factors) in phase.folds.iter().zip(&factors) {
            let value = arg(&scope, factors.map_or(f.value, |two| two[0]))?;
            let dtype = facts.dtypes[f.value as usize];
            let kernel = if factors.is_some() { tiles::dot(dtype) } else { tiles::kernel(f.fold, dtype) };
            self.folds.push(FoldPlan {
                kernel: kernel.ok_or("a fold of this dtype has no loops")?,
                factor: factors.map(|two| arg(&scope, two[1])).transpose()?,
                dtype,
                identity: f.fold.identity(dtype),
                value,
                index: f.index.map(|v| arg(&scope, v)).transpose()?,
                value_words: 0,
                tile_words: 0,
                stack: 0,
                chunk_stack: 0,
                out: 0,
            });
        }
        // Reports are in the order of the accesses, so the last access wins if several fail.
        let mut reports = Vec::with_capacity(facts.reports.len());
        for report in &facts.reports {
            reports.push(self.report(&mut scope, report, &mut work_body)?);
        }
        let mut stores = Vec::new();
        let updates = self.tiled[at].as_deref().unwrap_or(&[]);
        for (position, (store, touch)) in phase.stores.iter().zip(&facts.stores).enumerate() {
            let condition = store.when;
            let once = scope.rows.as_ref().is_some_and(|r| r.stores_once(touch, store.value, condition));
            scope.by_row = once;
            let used =
                [store.value].into_iter().chain(condition).chain(touch.dynamic.iter().map(|d| d.value));
            if scope.rows.is_some() && !once {
                let roots = used.map(|value| facts.roots[value as usize]);
                roots.for_each(|root| self.repeat(&mut scope, root, &mut work_body));
            }
            let access = self.access(&mut scope, touch, true)?;
            let when = condition.map(|v| arg(&scope, v)).transpose()?;
            let update = updates.get(position).copied().flatten();
            self.accesses[access as usize].updates = update.is_some();
            let value = arg(&scope, store.value)?;
            stores.push(StorePlan { access, value, when, outside: None, once, update });
        }
        stores.extend(reports);
        scope.by_row = false;
        for (position, store) in phase.stores.iter().enumerate() {
            let touch = &facts.stores[position];
            let alone = phase.stores.iter().filter(|s| s.operand == store.operand).count() == 1;
            let root = facts.roots[store.value as usize];
            let plain = store.when.is_none() && touch.dynamic.is_empty() && !touch.dtype.is_half();
            let plain = plain && !(scope.rows.is_some() && same[root]);
            if let (true, true, 1, Some(Slot::Load(load))) =
                (alone && point, plain, scope.uses[root], scope.slots[root])
            {
                self.accesses[load as usize].through = self.through(&scope, load, touch, position);
            }
            if let (true, true, 1, Some(Slot::Reg(of))) = (alone, plain, scope.uses[root], scope.slots[root])
            {
                // The last instruction that writes this register computes the value that is live at the end.
                let last = work_body.iter_mut().rev().find_map(|w| match w {
                    Work::Cast { out, .. } | Work::Tile { out, .. } if out.reg == of && !out.kept => {
                        Some(Some(out))
                    }
                    Work::Chain(chain) => {
                        chain.outs.iter_mut().find(|out| out.reg == of && !out.kept).map(Some)
                    }
                    // These cannot write elsewhere.
                    Work::Iota { out, .. } | Work::Broadcast { out, .. } | Work::Repeat { out, .. }
                        if *out == of =>
                    {
                        Some(None)
                    }
                    _ => None,
                });
                if let (Some(Some(out)), true) = (last, point || facts.inner[root]) {
                    out.store = Some(position as u32);
                }
            }
        }
        let known: Vec<stream::Known> =
            phase.folds.iter().map(|f| (f.fold, mapped_load(&scope, phase, f))).collect();
        let keeps = (0..insts.len()).any(|i| kept.made(at, i).is_some());
        let plain = work_before.is_empty() && stores.is_empty() && !keeps;
        let streams = || {
            let folds = (first_fold, &self.folds[first_fold..]);
            let extents = (&self.nest.axes[..], self.nest.grid);
            // The inner axes in the order in which they are read.
            let natural: Vec<usize> = (self.nest.grid..self.nest.axes.len()).collect();
            let inner = if self.side == Side::Inner { self.inner } else { &natural };
            let index = counted(phase, facts, &self.nest.axes, inner);
            stream::streams(self.side, &known, folds, &self.accesses, extents, index)
        };
        self.phases.push(PhasePlan {
            streams: if plain && facts.visits { streams() } else { None },
            kind: phase.kind,
            side,
            before: work_before,
            rows: scope.rows,
            before_lanes: if few { chain::UNIFORM } else { usize::MAX },
            body: work_body,
            folds: first_fold..self.folds.len(),
            stores,
            steps: 0,
            chunk: 0,
        });
        Ok(())
    }

    /// The store that reports an index out of range.
    fn report(
        &mut self,
        scope: &mut Scope<'_>,
        report: &IndexReport,
        work: &mut Vec<Work>,
    ) -> Planned<StorePlan> {
        let once = scope.rows.as_ref().is_some_and(|rows| rows.reports_once(report.value));
        scope.by_row = once;
        let root = scope.facts.roots[report.value as usize];
        if !once {
            self.repeat(scope, root, work);
        }
        let access = self.access(scope, &report.touch, true)?;
        let (when, outside) = (Some(arg(scope, report.value)?), Some(report.extent));
        let value = self.number(report.node);
        Ok(StorePlan { access, value, when, outside, once, update: None })
    }

    /// Emits one instruction.
    fn emit(&mut self, scope: &mut Scope<'_>, i: usize, work: &mut Vec<Work>) -> Planned<()> {
        let dtype = scope.facts.dtypes[i].register();
        if let Some(number) = self.kept.found(scope.at, i) {
            scope.slots[i] = Some(Slot::Kept(number));
            return Ok(());
        }
        let out_of = |this: &mut Self, scope: &mut Scope<'_>| this.out_of(scope, i);
        match &self.nest.phases[scope.at].block.insts[i] {
            Inst::Const(scalar) => scope.slots[i] = Some(self.constant(*scalar)),
            Inst::Axis(axis) => {
                let mut affine = Affine::zero(self.nest.axes.len());
                affine.coefficients[*axis] = 1;
                let map = self.map(scope, &affine)?;
                work.push(Work::Iota { map, out: out_of(self, scope).reg });
            }
            Inst::Load { .. } => {
                let touch = scope.facts.loads[i].as_ref().ok_or("a load without a map")?;
                let access = self.access(scope, touch, false)?;
                let reg = self.allocate(scope, dtype.size() as u8);
                self.accesses[access as usize].reg = reg;
                scope.slots[i] = Some(Slot::Load(access));
                work.push(Work::Load { access });
            }
            Inst::Cast { to, value } => {
                let from = scope.facts.dtypes[*value as usize];
                let (arg, out) = (arg(scope, *value)?, out_of(self, scope));
                work.push(Work::Cast { cast: cast::cast(from, *to), arg, out });
            }
            Inst::Op { .. } if scope.joined[i].is_some() => {
                let joined = scope.joined[i].as_ref().ok_or("a loop of several ops without one")?;
                let tile = joined.tile;
                let args: Vec<Arg> =
                    joined.args.iter().map(|a| arg(scope, *a as Value)).collect::<Planned<_>>()?;
                let mut all = [*args.first().ok_or("a loop without arguments")?; MAX_ARITY];
                all.iter_mut().zip(&args).for_each(|(slot, arg)| *slot = *arg);
                let out = out_of(self, scope);
                work.push(Work::Tile { tile, args: all, arity: args.len() as u8, out });
            }
            Inst::Op { args, op } => {
                let tile = scope.facts.tiles[i].ok_or("an op without a loop")?;
                if args.len() > MAX_ARITY || args.is_empty() {
                    return Err(format!("{op:?} has {} arguments", args.len()));
                }
                let mut all = [arg(scope, args[0])?; MAX_ARITY];
                for (slot, value) in all.iter_mut().zip(args) {
                    *slot = arg(scope, *value)?;
                }
                let out = out_of(self, scope);
                work.push(Work::Tile { tile, args: all, arity: args.len() as u8, out });
            }
            Inst::Position { value, extent, .. } => {
                let tile = scope.facts.tiles[i].ok_or("a position without a loop")?;
                let extent = i64::try_from(*extent).map_err(|_| "an extent beyond int64")?;
                let (given, extent) = (arg(scope, *value)?, self.number(extent));
                let mut args = [given; MAX_ARITY];
                args[1] = extent;
                let out = out_of(self, scope);
                work.push(Work::Tile { tile, args, arity: 2, out });
            }
            Inst::Folded { phase, fold } => {
                let fold = (self.phases[*phase].folds.start + fold) as u32;
                if scope.side != Some(Side::Grid) {
                    let out = out_of(self, scope);
                    work.push(Work::Broadcast { fold, out: out.reg, size: out.size });
                } else {
                    scope.slots[i] = Some(Slot::Folded(fold));
                }
            }
        }
        Ok(())
    }

    fn constant(&mut self, scalar: Scalar) -> Slot {
        let known = self.consts.iter().position(|c| *c == scalar).unwrap_or(self.consts.len());
        if known == self.consts.len() {
            self.consts.push(scalar);
        }
        Slot::Const(known as u32)
    }

    /// An int64 constant as an argument.
    fn number(&mut self, number: i64) -> Arg {
        let slot = self.constant(Scalar::from_i128(DType::I64, number.into()));
        Arg { slot, size: dtype_size(DType::I64) }
    }

    /// The target of instruction `i`.
    fn out_of(&mut self, scope: &mut Scope<'_>, i: usize) -> Out {
        let size = dtype_size(scope.facts.dtypes[i]);
        if let Some(number) = self.kept.made(scope.at, i) {
            scope.slots[i] = Some(Slot::Kept(number));
            return Out { reg: number, size, store: None, kept: true };
        }
        let reg = self.allocate(scope, size);
        scope.slots[i] = Some(Slot::Reg(reg));
        Out { reg, size, store: None, kept: false }
    }

    /// Emits instructions that are fused.
    fn emit_chain(
        &mut self,
        scope: &mut Scope<'_>,
        members: &[chain::Member],
        work: &mut Vec<Work>,
    ) -> Planned<()> {
        let within =
            |value: usize| members.iter().flat_map(|m| &m.args).filter(|used| **used == value).count();
        let (kept, at) = (self.kept, scope.at);
        let outside = |value: usize| kept.made(at, value).is_some() || scope.uses[value] > within(value);
        let size = |value: usize| dtype_size(scope.facts.dtypes[value]);
        let Some((chain, arguments, results)) = chain::build(members, outside, size) else {
            let (first, rest) = members.split_at(members.len() / 2);
            self.emit_chain(scope, first, work)?;
            return self.emit_chain(scope, rest, work);
        };
        let mut args = Vec::new();
        for root in arguments {
            let arg = arg(scope, root as Value)?;
            args.push((arg, scope.uniform[root] || matches!(arg.slot, Slot::Const(_))));
        }
        let outs = results.iter().map(|root| self.out_of(scope, *root)).collect();
        work.push(Work::Chain(Box::new(ChainPlan { chain, args, outs })));
        Ok(())
    }

    /// A free register with lanes of this size.
    fn allocate(&mut self, scope: &mut Scope<'_>, size: u8) -> u32 {
        let reg = match scope.free.iter().position(|r| self.reg_sizes[*r as usize] == size) {
            Some(at) => scope.free.swap_remove(at),
            None => {
                self.reg_sizes.push(size);
                self.by_lane.push(false);
                self.reg_sizes.len() as u32 - 1
            }
        };
        self.by_lane[reg as usize] |= !scope.by_row;
        reg
    }

    /// Broadcasts the value of each row to its lanes, unless that is done already.
    fn repeat(&mut self, scope: &mut Scope<'_>, root: usize, work: &mut Vec<Work>) {
        let same = scope.rows.as_ref().is_some_and(|rows| rows.same[root]);
        let (true, None, Some(slot)) = (same, scope.repeated[root], scope.slots[root]) else { return };
        if !matches!(slot, Slot::Const(_)) {
            let arg = Arg { slot, size: dtype_size(scope.facts.dtypes[root]) };
            let out = self.allocate(scope, arg.size);
            scope.repeated[root] = Some(Slot::Reg(out));
            work.push(Work::Repeat { arg, out });
        }
    }

    /// The copy from a load to its only user, a store.
    fn through(&self, scope: &Scope<'_>, load: u32, store: &Touch, position: usize) -> Option<Through> {
        let access = &self.accesses[load as usize];
        let touch = &access.touch;
        if scope.side != Some(Side::Grid) || touch.dtype.is_half() || touch.dtype.size() != store.dtype.size()
        {
            return None;
        }
        let row = match access.runs {
            Runs::Not if touch.dynamic.is_empty() => u64::MAX,
            Runs::Rows(row) => row,
            _ => return None,
        };
        let steps =
            |a: &usize| (self.nest.axes[*a], touch.affine.coefficients[*a], store.affine.coefficients[*a]);
        let strides = Strides::new(self.grid.iter().map(steps), row)?;
        Some(Through { store: position as u32, strides })
    }

    fn register(&self, slot: Option<Slot>) -> Option<u32> {
        match slot? {
            Slot::Reg(reg) => Some(reg),
            Slot::Load(access) => Some(self.accesses[access as usize].reg),
            Slot::Const(_) | Slot::Folded(_) | Slot::Kept(_) => None,
        }
    }

    /// The axes that are lanes.
    fn lanes<'s>(&'s self, scope: &'s Scope<'_>) -> &'s [usize] {
        match (scope.side, &scope.rows) {
            (_, Some(rows)) if scope.by_row => &rows.axes,
            (Some(Side::Grid), _) => self.grid,
            (Some(Side::Inner), _) => self.inner,
            (None, _) => &[],
        }
    }

    fn map(&self, scope: &Scope<'_>, affine: &Affine) -> Planned<Map> {
        Map::new(affine, &self.nest.axes, self.lanes(scope)).ok_or_else(|| "too many axes".into())
    }

    /// The lanes of a row, if the computed indices of a load are uniform in rows. See [`Access::runs`].
    fn in_runs(&self, scope: &Scope<'_>, touch: &Touch, map: &Map) -> Option<u64> {
        let lanes = self.lanes(scope);
        let extents = &self.nest.axes;
        // One row, or whole rows in sequence: the map merged no axes into a longer one.
        let along: &[usize] = match (&map.lanes, lanes.iter().rfind(|a| extents[**a] != 1)) {
            (Lanes::Line(_), _) => lanes,
            (Lanes::Rows(strides), Some(axis))
                if extents[*axis] >= RUN && extents[*axis] == strides.innermost().0 =>
            {
                std::slice::from_ref(axis)
            }
            _ => return None,
        };
        let along: Vec<usize> = along.iter().copied().filter(|a| extents[*a] > 1).collect();
        let moves = |affine: &Affine| along.iter().any(|&a| affine.coefficients[a] != 0);
        let differs = differing(self.nest, &self.nest.phases[scope.at].block, scope.facts, &along);
        let same = touch.dynamic.iter().all(|d| !moves(&d.affine) && !differs[d.value as usize]);
        // An index may depend on the axes only if it is uniform over the lanes.
        let fixed = |d: &DynamicIndex| lanes.iter().all(|&a| d.affine.coefficients[a] == 0);
        let row = along.iter().map(|a| extents[*a]).product::<u64>();
        (same && touch.dynamic.iter().all(fixed)).then_some(row)
    }

    fn access(&mut self, scope: &mut Scope<'_>, touch: &Touch, store: bool) -> Planned<u32> {
        let map = self.map(scope, &touch.affine)?;
        let runs = match &scope.rows {
            Some(rows) if !store && !scope.by_row && rows.found_by_row(touch) => Runs::Rows(rows.lanes),
            None if !store && !touch.dynamic.is_empty() => {
                self.in_runs(scope, touch, &map).map_or(Runs::Not, Runs::Lanes)
            }
            _ => Runs::Not,
        };
        let row = match runs {
            Runs::Not => u64::MAX,
            Runs::Lanes(row) | Runs::Rows(row) => row,
        };
        let steps = |a: &usize| (self.nest.axes[*a], touch.affine.coefficients[*a]);
        let strides = Strides::to_lanes(self.lanes(scope).iter().map(steps), row).ok_or("too many axes")?;
        let by_row = scope.by_row;
        scope.by_row |= matches!(runs, Runs::Rows(_));
        let mut dynamic = Vec::new();
        for d in &touch.dynamic {
            let map = self.map(scope, &d.affine)?;
            let value = arg(scope, d.value)?;
            dynamic.push(Dynamic { value, map, wraps: d.wraps, extent: d.extent, stride: d.stride });
        }
        scope.by_row = by_row;
        self.accesses.push(Access {
            runs,
            through: None,
            map,
            strides: if store { strides.swapped() } else { strides },
            touch: touch.clone(),
            dynamic,
            reg: 0,
            phase: scope.at,
            store,
            updates: false,
            visited: scope.facts.visits,
        });
        Ok(self.accesses.len() as u32 - 1)
    }
}

/// The load and the test of a fold over tests.
fn mapped_load(scope: &Scope<'_>, phase: &Phase, fold: &FoldOf) -> Option<(Arg, Test)> {
    let (load, test) = element_test(phase, scope.facts, fold)?;
    Some((arg(scope, load).ok()?, test))
}

fn arg(scope: &Scope<'_>, value: Value) -> Planned<Arg> {
    let root = scope.facts.roots[value as usize];
    let repeated = if scope.by_row { None } else { scope.repeated[root] };
    let slot = repeated.or(scope.slots[root]).ok_or("a value is used before it is computed")?;
    Ok(Arg { slot, size: dtype_size(scope.facts.dtypes[root]) })
}

fn dtype_size(dtype: DType) -> u8 {
    dtype.register().size() as u8
}
