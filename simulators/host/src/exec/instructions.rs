//! Instructions on tiles of lanes.

use super::{Frame, ThreadRun, view, view_mut, words};
use crate::affine::LanePattern;
use crate::chain::{LanePointer, PLACES};
use crate::plan::{ChainPlan, MAX_ARITY, PhasePlan, TileInst, TileOperand, TileResult, ValueLocation};
use crate::tile_io;
use workalike_kernels::ops::TileFn;

/// Lanes of the widest vectors of f32.
pub(crate) const VECTOR: usize = 16;

impl ThreadRun<'_> {
    /// Runs instructions over lanes `start..start + n`.
    pub(crate) fn work(&self, frame: &mut Frame, phase: &PhasePlan, list: &[TileInst], start: u64, n: usize) {
        for work in list {
            match work {
                TileInst::Load { access } => self.load(frame, *access, start, n),
                TileInst::Tile { tile, args, arity, out } => {
                    self.tile(frame, phase, (*tile, &args[..*arity as usize], *out), start, n);
                }
                TileInst::Chain(work) => self.chain(frame, phase, work, start, n),
                TileInst::Repeat { arg, out } => self.repeat(frame, phase, (*arg, *out), start, n),
                TileInst::Iota { map, out } => {
                    // SAFETY: the register is a tile of this frame.
                    let out = unsafe { view_mut(frame.at(self.plan.regs[*out as usize]), n) };
                    let base = map.base(&frame.coordinates);
                    tile_io::iota(&map.lanes, base, start, n, bytemuck::cast_slice_mut(out));
                }
                TileInst::Broadcast { fold, out, size } => {
                    let size = *size as usize;
                    let (lane, folded) = (frame.lane, self.folded(frame, *fold));
                    // SAFETY: a fold's result has a lane for each grid point of a tile, and is no register.
                    let (from, out) = unsafe {
                        let out = frame.at(self.plan.regs[*out as usize]);
                        (view(folded, words(lane + 1, size)), view_mut(out, words(n, size)))
                    };
                    tile_io::broadcast(from, lane, out, size, n);
                }
            }
        }
    }

    /// Runs the loop of an op or conversion.
    #[inline]
    fn tile(
        &self,
        frame: &mut Frame,
        phase: &PhasePlan,
        (tile, args, out): (TileFn, &[TileOperand], TileResult),
        start: u64,
        n: usize,
    ) {
        let n = self.whole(args, out, n);
        // SAFETY: this instruction runs now, and the slice ends with it.
        let out = unsafe { self.out(frame, phase, out, start, n) };
        let mut values: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
        for (value, arg) in values.iter_mut().zip(args) {
            // SAFETY: the plan orders instructions, so the argument's ran before; `out` overlaps no argument.
            *value = unsafe { self.value(frame, *arg, n) };
        }
        tile(&values[..args.len()], out, n);
    }

    /// Lanes to compute where `n` are needed: rounded up to a whole vector, which is faster than a scalar
    /// remainder. The extra lanes are unused, and only registers have them.
    #[inline]
    fn whole(&self, args: &[TileOperand], out: TileResult, n: usize) -> usize {
        let ours = |arg: &TileOperand| matches!(arg.slot, ValueLocation::Reg(_) | ValueLocation::Const(_));
        let whole = n.next_multiple_of(VECTOR);
        if out.store.is_none() && !out.kept && whole <= self.plan.width && args.iter().all(ours) {
            whole
        } else {
            n
        }
    }

    /// Runs a chain over lanes `start..start + n`.
    #[inline(never)]
    fn chain(&self, frame: &mut Frame, phase: &PhasePlan, work: &ChainPlan, start: u64, n: usize) {
        let mut places = [LanePointer { at: std::ptr::null_mut(), size: 0 }; PLACES];
        let (given, rest) = places.split_at_mut(work.args.len());
        for (place, (arg, same)) in given.iter_mut().zip(&work.args) {
            let same =
                *same || matches!(arg.slot, ValueLocation::Load(access) if frame.uniform[access as usize]);
            // SAFETY: the plan orders instructions, so the argument's ran before; the slice ends here.
            let at = unsafe { self.value(frame, *arg, n) }.as_ptr().cast_mut().cast();
            *place = LanePointer { at, size: if same { 0 } else { arg.size as usize } };
        }
        let (accumulators, rest) = rest.split_at_mut(work.folds.len());
        for (place, fold) in accumulators.iter_mut().zip(&work.folds) {
            let fold = &self.plan.folds[*fold];
            *place = LanePointer {
                at: self.accumulator(frame, fold).0.cast(),
                size: fold.dtype.register().size(),
            };
        }
        for (place, out) in rest.iter_mut().zip(&work.outs) {
            // SAFETY: this instruction runs now; the slice ends here.
            let at = unsafe { self.out(frame, phase, *out, start, n) }.as_mut_ptr().cast();
            *place = LanePointer { at, size: out.size as usize };
        }
        // SAFETY: values and results are views of `n` lanes; uniform arguments have `n` or `UNIFORM` lanes.
        // Accumulators have room for a tile, `steps` started them, and they are disjoint from all else in the
        // frame. Liveness gave no result the register of an argument.
        unsafe { work.chain.run(&mut places, n) };
    }

    /// The target of an instruction: its register, or the memory of a direct store.
    ///
    /// # Safety
    /// `out` must be a result of an instruction of `phase` that runs now at lanes `start..start + n`. The
    /// slice may live until the instruction is done, and no other slice of the same result may exist.
    unsafe fn out<'a>(
        &self,
        frame: &mut Frame,
        phase: &PhasePlan,
        out: TileResult,
        start: u64,
        n: usize,
    ) -> &'a mut [u8] {
        let bytes = n * out.size as usize;
        if let Some(position) = out.store {
            let id = phase.stores[position as usize].access as usize;
            let access = &self.plan.accesses[id];
            if self.bound.direct[id] && !self.bound.hinted[id] && access.map.lanes == LanePattern::Line(1) {
                let at = self.address(frame, access, start);
                frame.stored[position as usize] = true;
                // SAFETY: elements of the operand, whose range `bind` checked; only loads that are done by
                // now touch the memory of a direct store.
                return unsafe { view_mut(at, bytes) };
            }
        }
        let at = match out.kept {
            true => self.kept_tile(frame, out.reg),
            false => frame.at(self.plan.regs[out.reg as usize]),
        };
        // SAFETY: a tile of this thread's frame. Liveness gave the register to no argument of the
        // instruction; only its own instruction writes a kept value. The caller has no other slice of the
        // result.
        unsafe { view_mut(at.cast(), bytes) }
    }

    /// The lanes of a value, aligned for its dtype.
    ///
    /// # Safety
    /// The value's instruction must have run at these `n` lanes in this frame. Nothing may write its
    /// register, fold result or operand elements while the slice lives.
    #[inline]
    pub(crate) unsafe fn value<'a>(&'a self, frame: &Frame, arg: TileOperand, n: usize) -> &'a [u8] {
        let plan = self.plan;
        let at = match arg.slot {
            ValueLocation::Reg(reg) => frame.at(plan.regs[reg as usize]).cast_const().cast(),
            ValueLocation::Const(at) => return bytemuck::cast_slice(&plan.consts[at as usize]),
            ValueLocation::Load(access) => frame.loaded(access),
            ValueLocation::Folded(fold) => self.folded(frame, fold).cast(),
            ValueLocation::Kept(number) => self.kept_tile(frame, number).cast_const().cast(),
        };
        // SAFETY: a register or result tile of a frame, which has room for a tile, or elements of an operand,
        // whose range `bind` checked. The caller guarantees that they were written, and are not while the
        // slice lives.
        unsafe { view(at, n * arg.size as usize) }
    }

    /// The tile of a kept value at the current step.
    #[inline(never)]
    fn kept_tile(&self, frame: &Frame, number: u32) -> *mut u64 {
        let kept = &self.plan.kept[number as usize];
        let tile = frame.step * self.plan.width * kept.size as usize / 8;
        frame.at(kept.at + frame.lane * kept.row + tile)
    }

    fn folded(&self, frame: &Frame, fold: u32) -> *const u64 {
        let plan = &self.plan.folds[fold as usize];
        let base = if self.folded.is_null() { frame.base().cast_const() } else { self.folded };
        base.wrapping_add(plan.out + if plan.index.is_some() { plan.value_words } else { 0 })
    }
}
