//! Emits the instructions of a phase: where their arguments are, and the registers of their results.

use super::super::chain;
use super::super::plan::{ChainPlan, LaneAxes, MAX_ARITY, TileInst, TileOperand, TileResult, ValueLocation};
use super::analysis::Planned;
use super::compile::{NestCompiler, PhaseScope, dtype_size};
use super::patterns::each_used;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Affine, Inst, Value};

impl NestCompiler<'_> {
    /// Emits one instruction.
    pub(crate) fn emit(
        &mut self,
        scope: &mut PhaseScope<'_>,
        i: usize,
        work: &mut Vec<TileInst>,
    ) -> Planned<()> {
        if let Some(number) = scope.load_slot(i) {
            scope.slots[i] = Some(ValueLocation::Kept(number));
            return Ok(());
        }
        let (phase, facts) = (scope.phase, scope.facts);
        match &phase.block.insts[i] {
            Inst::Const(scalar) => scope.slots[i] = Some(self.constant(*scalar)),
            Inst::Axis(axis) => {
                let mut affine = Affine::zero(self.nest.axes.len());
                affine.coefficients[*axis] = 1;
                let map = self.map(scope, &affine)?;
                work.push(TileInst::Iota { map, out: self.out_of(scope, i).reg });
            }
            Inst::Load { .. } => {
                let touch = facts.loads[i].as_ref().ok_or("a load without a map")?;
                let access = self.access(scope, touch, false)?;
                let size = scope.size(i);
                let reg = self.allocate(scope, size);
                self.accesses[access as usize].reg = reg;
                scope.slots[i] = Some(ValueLocation::Load(access));
                work.push(TileInst::Load { access });
            }
            Inst::Folded { phase, fold } => {
                let fold = (self.phases[*phase].folds.start + fold) as u32;
                if scope.lane_axes == Some(LaneAxes::Grid) {
                    scope.slots[i] = Some(ValueLocation::Folded(fold));
                } else {
                    let out = self.out_of(scope, i);
                    work.push(TileInst::Broadcast { fold, out: out.reg, size: out.size });
                }
            }
            inst => {
                let tile = facts.tiles[i].ok_or("an instruction without a loop")?;
                let mut given = Vec::new();
                each_used(&phase.block.insts, facts, i, |root| given.push(scope.arg(root as Value)));
                let mut given = given.into_iter().collect::<Planned<Vec<TileOperand>>>()?;
                if let Inst::Position { extent, .. } = inst {
                    let extent = i64::try_from(*extent).map_err(|_| "an extent beyond int64")?;
                    given.push(self.number(extent));
                }
                let arity = given.len();
                let mut args = [*given.first().ok_or("an op without arguments")?; MAX_ARITY];
                let room = args.get_mut(..arity).ok_or_else(|| format!("an op with {arity} arguments"))?;
                room.copy_from_slice(&given);
                let out = self.out_of(scope, i);
                work.push(TileInst::Tile { tile, args, arity: arity as u8, out });
            }
        }
        Ok(())
    }

    /// Emits instructions that are fused. `uses`: of each value, by root.
    pub(crate) fn emit_chain(
        &mut self,
        scope: &mut PhaseScope<'_>,
        members: &[chain::ChainMember],
        uses: &[usize],
        work: &mut Vec<TileInst>,
    ) -> Planned<()> {
        let within =
            |value: usize| members.iter().flat_map(|m| &m.args).filter(|used| **used == value).count();
        let outside = |value: usize| scope.store_slot(value).is_some() || uses[value] > within(value);
        let Some(built) = chain::build(members, outside, |value| scope.size(value)) else {
            let (first, rest) = members.split_at(members.len() / 2);
            self.emit_chain(scope, first, uses, work)?;
            return self.emit_chain(scope, rest, uses, work);
        };
        let chain::Built { chain, arguments, folds, results } = built;
        let mut args = Vec::new();
        for root in arguments {
            let arg = scope.arg(root as Value)?;
            args.push((arg, scope.uniform[root] || matches!(arg.slot, ValueLocation::Const(_))));
        }
        // The phase's folds are planned next, after those of the phases before.
        let first = self.folds.len();
        let folds = folds.iter().map(|id| first + id - scope.phase.block.insts.len()).collect();
        let outs = results.iter().map(|root| self.out_of(scope, *root)).collect();
        work.push(TileInst::Chain(Box::new(ChainPlan { chain, args, folds, outs })));
        Ok(())
    }

    fn constant(&mut self, scalar: Scalar) -> ValueLocation {
        let known = self.consts.iter().position(|c| *c == scalar).unwrap_or(self.consts.len());
        if known == self.consts.len() {
            self.consts.push(scalar);
        }
        ValueLocation::Const(known as u32)
    }

    /// An int64 constant as an argument.
    pub(crate) fn number(&mut self, number: i64) -> TileOperand {
        let slot = self.constant(Scalar::from_i128(DType::I64, number.into()));
        TileOperand { slot, size: dtype_size(DType::I64) }
    }

    /// The target of instruction `i`.
    fn out_of(&mut self, scope: &mut PhaseScope<'_>, i: usize) -> TileResult {
        let size = scope.size(i);
        let (slot, reg, kept) = match scope.store_slot(i) {
            Some(number) => (ValueLocation::Kept(number), number, true),
            None => {
                let reg = self.allocate(scope, size);
                (ValueLocation::Reg(reg), reg, false)
            }
        };
        scope.slots[i] = Some(slot);
        TileResult { reg, size, store: None, kept }
    }

    /// A free register with lanes of this size.
    fn allocate(&mut self, scope: &mut PhaseScope<'_>, size: u8) -> u32 {
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
    pub(crate) fn repeat(&mut self, scope: &mut PhaseScope<'_>, root: usize, work: &mut Vec<TileInst>) {
        let same = scope.rows.as_ref().is_some_and(|rows| rows.same[root]);
        let (true, None, Some(slot)) = (same, scope.repeated[root], scope.slots[root]) else { return };
        if !matches!(slot, ValueLocation::Const(_)) {
            let arg = TileOperand { slot, size: scope.size(root) };
            let out = self.allocate(scope, arg.size);
            scope.repeated[root] = Some(ValueLocation::Reg(out));
            work.push(TileInst::Repeat { arg, out });
        }
    }
}
