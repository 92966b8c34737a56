//! Running a plan: instructions over tiles of lanes, tile by tile.
//!
//! Why the raw memory access here is sound. A Nest was [verified](workalike_kernels::verify::Verified), so
//! its indices stay within its operands. The recording locks operands' memory while it runs, so no other
//! recording and no host copy touches it. `bind` has proven that every address lies in its operand's region,
//! and lets threads share a run only if no thread loads or stores what another stores. A frame belongs to one
//! thread; its registers, accumulators and scratch tiles are disjoint parts of one allocation, laid out by
//! the plan, each with room for a full tile. The caller of [`Run::new`] guarantees this for the lifetime of
//! the [`Run`]; methods that need more are `unsafe` themselves.

use super::affine::Lanes;
use super::bind::Bound;
use super::cache_hints;
use super::chain::{PLACES, Place};
use super::folds::tiles::Cascade;
use super::plan::{Access, Arg, ChainPlan, FoldPlan, MAX_ARITY, Out, PhasePlan, Plan, Side, Slot, Work};
use super::tile_io;
use workalike_device::{DeviceResult, HostMemory};
use workalike_kernels::nest::PhaseKind;

/// One thread's registers and scratch, for all steps of a recording.
pub(super) struct Frame {
    block: HostMemory,
    pub(super) coordinates: Vec<u64>,
    /// The lanes of each load of the current plan.
    loaded: Vec<*const u8>,
    /// Which stores of the current phase an instruction has already done.
    pub(super) stored: Vec<bool>,
    /// The lane of fold results that belongs to the current grid point.
    lane: usize,
    /// The current step of a phase, which addresses kept values.
    step: usize,
}

// SAFETY: `loaded` points into this frame or into memory that the recording locks; only the thread that runs
// the frame uses it.
unsafe impl Send for Frame {}

impl Frame {
    /// A frame for any of these plans.
    pub(super) fn new<'a>(plans: impl Iterator<Item = &'a Plan>) -> DeviceResult<Frame> {
        let (mut words, mut axes, mut loads, mut stores) = (8, 0, 0, 0);
        for plan in plans {
            words = words.max(plan.frame_words);
            axes = axes.max(plan.extents.len());
            loads = loads.max(plan.accesses.len());
            stores = stores.max(plan.phases.iter().map(|p| p.stores.len()).max().unwrap_or(0));
        }
        Ok(Frame {
            block: HostMemory::new(words as u64 * 8)?,
            coordinates: vec![0; axes],
            loaded: vec![std::ptr::null(); loads],
            stored: vec![false; stores],
            lane: 0,
            step: 0,
        })
    }

    pub(super) fn base(&self) -> *mut u64 {
        self.block.start().cast()
    }

    /// The lanes of a load.
    pub(super) fn loaded(&self, access: u32) -> *const u8 {
        self.loaded[access as usize]
    }

    pub(super) fn at(&self, word: usize) -> *mut u64 {
        self.base().wrapping_add(word)
    }
}

/// # Safety
/// `at` must be aligned and readable for `count` elements, and nothing may write them while the slice
/// lives.
pub(super) unsafe fn view<'a, T>(at: *const T, count: usize) -> &'a [T] {
    // SAFETY: the caller guarantees what a slice needs: alignment, `count` readable elements, and no writes.
    unsafe { std::slice::from_raw_parts(at, count) }
}

/// # Safety
/// `at` must be aligned and writable for `count` elements, and no other reference or thread uses them while
/// the slice lives.
pub(super) unsafe fn view_mut<'a, T>(at: *mut T, count: usize) -> &'a mut [T] {
    // SAFETY: the caller guarantees what a mutable slice needs: alignment, `count` writable elements, no
    // other use.
    unsafe { std::slice::from_raw_parts_mut(at, count) }
}

pub(super) fn words(n: usize, size: usize) -> usize {
    (n * size).div_ceil(8)
}

/// Row-major coordinates of a point over these axes.
fn locate(mut point: u64, extents: &[u64], out: &mut [u64]) {
    for (at, &extent) in out.iter_mut().zip(extents).rev() {
        *at = point % extent;
        point /= extent;
    }
}

/// Advances to the next point.
fn advance(extents: &[u64], at: &mut [u64]) {
    for (at, &extent) in at.iter_mut().zip(extents).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}

/// Lanes of the widest vectors of f32.
const VECTOR: usize = 16;

/// A bound plan, as one thread runs it. Only [`Run::new`] makes one.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) bound: &'a Bound,
    /// The frame whose fold results all threads read while they share the phases of a grid tile; null: each
    /// thread reads its own.
    pub(super) folded: *const u64,
    /// Of an epilogue: the address of the product of grid point `first`; the products of the next points
    /// follow.
    pub(super) product: (*const u8, u64),
}

impl<'a> Run<'a> {
    /// See the fields for the arguments.
    ///
    /// # Safety
    /// Until its last use the caller guarantees:
    /// - The memory that `bound` was bound to is locked, and only Runs of `bound` touch it.
    /// - Runs on other threads take other grid points, or other chunks of one phase, and only where `bound`
    ///   allows it.
    /// - It is given grid points, phases and chunks of the plan only, at most a tile of points at a time
    ///   unless `bound` is contiguous, and frames that were made for the plan.
    /// - `folded` is null, or the start of a frame of the plan in which no thread writes fold results.
    /// - If an operand has no memory, `product` points to its elements at these grid points, row-major,
    ///   aligned for their dtype and readable up to the next multiple of 8 bytes, and no other thread writes
    ///   them.
    pub(super) unsafe fn new(bound: &'a Bound, folded: *const u64, product: (*const u8, u64)) -> Run<'a> {
        Run { plan: &bound.plan, bound, folded, product }
    }
}

impl Run<'_> {
    /// Runs all phases at `n` grid points from `first` on, at most a tile unless the plan is bound
    /// [contiguous](Bound::contiguous).
    pub(super) fn block(&self, frame: &mut Frame, first: u64, n: u64) {
        (0..self.plan.phases.len()).for_each(|p| self.phase(frame, p, first, n as usize));
    }

    fn phase(&self, frame: &mut Frame, p: usize, point: u64, n: usize) {
        let phase = &self.plan.phases[p];
        if phase.kind == PhaseKind::Point {
            return self.point(frame, phase, point, n);
        }
        if phase.side == Some(Side::Grid) {
            return self.chunks(frame, p, point, n);
        }
        match &phase.streams {
            Some(streams) if phase.steps <= phase.chunk => {
                self.along_rows(frame, streams, (point, n), (0, phase.steps), false);
            }
            _ => {
                for lane in 0..n {
                    frame.lane = lane;
                    self.chunks(frame, p, point + lane as u64, 1);
                }
                frame.lane = 0;
            }
        }
    }

    /// Runs all chunks of a phase at a grid tile.
    #[inline(never)]
    fn chunks(&self, frame: &mut Frame, p: usize, point: u64, n: usize) {
        let phase = &self.plan.phases[p];
        let chunks = phase.steps.div_ceil(phase.chunk);
        if chunks == 1 {
            self.chunk(frame, p, point, n, 0);
            for fold in &self.plan.folds[phase.folds.clone()] {
                self.finish(frame, fold, fold.stack, self.kept(phase, n));
            }
            return;
        }
        for chunk in 0..chunks {
            self.chunk(frame, p, point, n, chunk);
            for fold in &self.plan.folds[phase.folds.clone()] {
                // SAFETY: `chunk` left its result at the bottom of the fold's stack, which is disjoint from
                // the stack of chunks.
                unsafe { self.push_partial(frame, fold, chunk, frame.at(fold.stack), self.kept(phase, n)) };
            }
        }
        self.store_results(frame, p, n);
    }

    /// Stores fold results where later phases read them.
    pub(super) fn finish(&self, frame: &Frame, fold: &FoldPlan, from: usize, n: usize) {
        let size = fold.dtype.register().size();
        // SAFETY: results and accumulators are different tiles of this frame, and the lanes are within them.
        unsafe {
            let (from, to) = (frame.at(from), frame.at(fold.out));
            let lane = to.cast::<u8>().wrapping_add(frame.lane * size);
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), lane, n * size);
            if fold.index.is_some() {
                let (from, to) = (from.wrapping_add(fold.value_words), to.wrapping_add(fold.value_words));
                std::ptr::copy_nonoverlapping(from, to.wrapping_add(frame.lane), n);
            }
        }
    }

    /// Lanes of the results of this phase's folds.
    fn kept(&self, phase: &PhasePlan, n: usize) -> usize {
        if phase.side == Some(Side::Grid) { n } else { 1 }
    }

    /// Runs one chunk of a phase's steps at a grid tile. Each fold's partial result ends at the bottom of its
    /// stack.
    pub(super) fn chunk(&self, frame: &mut Frame, p: usize, point: u64, n: usize, chunk: u64) {
        let plan = self.plan;
        let phase = &plan.phases[p];
        let axes = plan.inner_axes();
        let from = chunk * phase.chunk;
        let to = (from + phase.chunk).min(phase.steps);
        match (&phase.streams, phase.side) {
            (Some(streams), Some(Side::Grid)) => {
                return self.down_rows(frame, streams, (point, n), (from, to));
            }
            (Some(streams), _) => return self.along_rows(frame, streams, (point, 1), (from, to), true),
            (None, _) => {}
        }
        if phase.side != Some(Side::Grid) {
            locate(point, &plan.extents[..plan.grid], &mut frame.coordinates[..plan.grid]);
        }
        if phase.kind == PhaseKind::Point {
            return self.point(frame, phase, point, n);
        }
        let (start, full) = match phase.side {
            Some(Side::Grid) => (point, n),
            Some(Side::Inner) => (0, plan.inner_points.min(plan.width as u64) as usize),
            None => (0, 1),
        };
        self.work(frame, phase, &phase.before, start, full.min(phase.before_lanes));
        if phase.side != Some(Side::Inner) {
            locate(from, &plan.extents[axes.clone()], &mut frame.coordinates[axes.clone()]);
        }
        let side = phase.side == Some(Side::Inner);
        for step in from..to {
            frame.step = step as usize;
            let (start, lanes) = if phase.side == Some(Side::Inner) {
                let start = step * plan.width as u64;
                (start, (plan.inner_points - start).min(plan.width as u64) as usize)
            } else {
                (start, full)
            };
            if phase.kind == PhaseKind::Ordered && side && self.bound.one_by_one {
                for lane in start..start + lanes as u64 {
                    self.work(frame, phase, &phase.body, lane, 1);
                    self.stores(frame, phase, lane, 1, false);
                }
                continue;
            }
            self.work(frame, phase, &phase.body, start, lanes);
            for fold in &plan.folds[phase.folds.clone()] {
                self.push(frame, fold, phase.side, step - from, full, lanes);
            }
            self.stores(frame, phase, start, lanes, false);
            if phase.side != Some(Side::Inner) {
                advance(&plan.extents[axes.clone()], &mut frame.coordinates[axes.clone()]);
            }
        }
        for fold in &plan.folds[phase.folds.clone()] {
            let height = Cascade::after(to - from).height(fold.kernel.block);
            let wide = fold.lanes(phase.side, full);
            self.merge(frame, fold, fold.stack, height.saturating_sub(1), height.saturating_sub(1), wide);
            if phase.side == Some(Side::Inner) && !fold.kernel.goes_across() {
                // SAFETY: the bottom accumulator is a tile of this frame; value and index are disjoint parts
                // of it.
                let (value, index) = unsafe { accumulator(frame.at(fold.stack), fold) };
                fold.kernel.horizontal(value, index, full);
            }
        }
    }

    /// Folds the current tile into the top of the fold's stack, after `count` tiles.
    fn push(&self, frame: &Frame, fold: &FoldPlan, side: Option<Side>, count: u64, full: usize, n: usize) {
        let full = fold.lanes(side, full);
        let block = fold.kernel.block;
        let (top, fresh) = Cascade::after(count).top(block);
        // SAFETY: accumulators are tiles of this frame that overlap no value.
        let (into, into_index) = unsafe { accumulator(frame.at(fold.stack + top * fold.tile_words), fold) };
        if fresh {
            tile_io::fill(into, fold.identity, full);
            if fold.index.is_some() {
                into_index[..full].fill(i64::MAX as u64);
            }
        }
        // SAFETY: the phase's instructions ran at these lanes; the accumulators that are written overlap no
        // value.
        let (value, other) = unsafe {
            let other = fold.index.or(fold.factor).map_or(&[][..], |i| self.value(frame, i, n));
            (self.value(frame, fold.value, n), other)
        };
        if side == Some(Side::Inner) && fold.kernel.goes_across() {
            fold.kernel.across(into, value, other, n);
        } else {
            fold.kernel.vertical(into, into_index, value, other, n);
        }
        let merges = Cascade::after(count).pushed(block);
        self.merge(frame, fold, fold.stack, top, merges, full);
    }

    /// Folds the accumulator at `top` into the one below, `merges` times.
    pub(super) fn merge(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        stack: usize,
        top: usize,
        merges: usize,
        n: usize,
    ) {
        for m in 0..merges {
            let at = |level: usize| frame.at(stack + level * fold.tile_words);
            // SAFETY: two different accumulators of this frame.
            let (into, from) =
                unsafe { (accumulator(at(top - m - 1), fold), accumulator(at(top - m), fold)) };
            let from = (bytemuck::cast_slice(from.0), bytemuck::cast_slice(from.1));
            fold.kernel.merge(into.0, into.1, from.0, from.1, n);
        }
    }

    /// Pushes the partial result of chunk `chunk`, at `partial`, onto the stack of chunks.
    ///
    /// # Safety
    /// At `partial` there must be `n` lanes of an accumulator of `fold`, outside of its stack of chunks,
    /// which no other thread writes.
    pub(super) unsafe fn push_partial(
        &self,
        frame: &Frame,
        fold: &FoldPlan,
        chunk: u64,
        partial: *const u64,
        n: usize,
    ) {
        let (top, _) = Cascade::after(chunk).top(0);
        // SAFETY: the caller guarantees `partial`; the target is a tile of the stack of chunks, in this
        // thread's frame.
        unsafe { copy_tile(partial, frame.at(fold.chunk_stack + top * fold.tile_words), fold, n) };
        self.merge(frame, fold, fold.chunk_stack, top, Cascade::after(chunk).pushed(0), n);
    }

    /// Stores the results of a phase's folds where later phases read them.
    pub(super) fn store_results(&self, frame: &Frame, p: usize, n: usize) {
        let phase = &self.plan.phases[p];
        let n = self.kept(phase, n);
        let chunks = phase.steps.div_ceil(phase.chunk);
        for fold in &self.plan.folds[phase.folds.clone()] {
            if chunks == 0 {
                // SAFETY: an accumulator of this frame.
                let (value, index) = unsafe { accumulator(frame.at(fold.chunk_stack), fold) };
                tile_io::fill(value, fold.identity, n);
                if fold.index.is_some() {
                    index[..n].fill(i64::MAX as u64);
                }
            } else {
                let height = Cascade::after(chunks).height(0);
                self.merge(frame, fold, fold.chunk_stack, height - 1, height - 1, n);
            }
            self.finish(frame, fold, fold.chunk_stack, n);
        }
    }

    /// The lanes of a value, aligned for its dtype.
    ///
    /// # Safety
    /// The value's instruction must have run at these `n` lanes in this frame. Nothing may write its
    /// register, fold result or operand elements while the slice lives.
    #[inline]
    pub(super) unsafe fn value<'a>(&'a self, frame: &Frame, arg: Arg, n: usize) -> &'a [u8] {
        let plan = self.plan;
        let at = match arg.slot {
            Slot::Reg(reg) => frame.at(plan.regs[reg as usize]).cast_const().cast(),
            Slot::Const(at) => return bytemuck::cast_slice(&plan.consts[at as usize]),
            Slot::Load(access) => frame.loaded(access),
            Slot::Folded(fold) => self.folded(frame, fold).cast(),
            Slot::Kept(number) => self.kept_tile(frame, number).cast_const().cast(),
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

    /// Runs instructions over lanes `start..start + n`.
    pub(super) fn work(&self, frame: &mut Frame, phase: &PhasePlan, list: &[Work], start: u64, n: usize) {
        for work in list {
            match work {
                Work::Repeat { arg, out } => self.repeat(frame, phase, (*arg, *out), start, n),
                Work::Load { access } => self.load(frame, *access, start, n),
                Work::Iota { map, out } => {
                    // SAFETY: the register is a tile of this frame.
                    let out = unsafe { view_mut(frame.at(self.plan.regs[*out as usize]), n) };
                    let base = map.base(&frame.coordinates);
                    tile_io::iota(&map.lanes, base, start, n, bytemuck::cast_slice_mut(out));
                }
                Work::Broadcast { fold, out, size } => {
                    let size = *size as usize;
                    let (lane, folded) = (frame.lane, self.folded(frame, *fold));
                    // SAFETY: a fold's result has a lane for each grid point of a tile, and is no register.
                    let (from, out) = unsafe {
                        let out = frame.at(self.plan.regs[*out as usize]);
                        (view(folded, words(lane + 1, size)), view_mut(out, words(n, size)))
                    };
                    tile_io::broadcast(from, lane, out, size, n);
                }
                Work::Cast { cast, arg, out } => {
                    // SAFETY: the plan orders instructions, so the argument's ran before; `out` overlaps no
                    // argument.
                    let (out, value) =
                        unsafe { (self.out(frame, phase, *out, start, n), self.value(frame, *arg, n)) };
                    cast(value, out, n);
                }
                Work::Tile { tile, args, arity, out } => {
                    let n = self.whole(&args[..*arity as usize], *out, n);
                    // SAFETY: this instruction runs now, and the slice ends with it.
                    let out = unsafe { self.out(frame, phase, *out, start, n) };
                    let mut values: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                    for (value, arg) in values.iter_mut().zip(&args[..*arity as usize]) {
                        // SAFETY: the plan orders instructions, so the argument's ran before; `out` overlaps
                        // no argument.
                        *value = unsafe { self.value(frame, *arg, n) };
                    }
                    tile(&values[..*arity as usize], out, n);
                }
                Work::Chain(work) => self.chain(frame, phase, work, start, n),
            }
        }
    }

    /// Lanes to compute where `n` are needed: rounded up to a whole vector, which is faster than a scalar
    /// remainder. The extra lanes are unused, and only registers have them.
    #[inline]
    fn whole(&self, args: &[Arg], out: Out, n: usize) -> usize {
        let ours = |arg: &Arg| matches!(arg.slot, Slot::Reg(_) | Slot::Const(_));
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
        let mut places = [Place { at: std::ptr::null_mut(), size: 0 }; PLACES];
        let (given, rest) = places.split_at_mut(work.args.len());
        for (place, (arg, same)) in given.iter_mut().zip(&work.args) {
            // SAFETY: the plan orders instructions, so the argument's ran before; the slice ends here.
            let at = unsafe { self.value(frame, *arg, n) }.as_ptr().cast_mut().cast();
            *place = Place { at, size: if *same { 0 } else { arg.size as usize } };
        }
        for (place, out) in rest.iter_mut().zip(&work.outs) {
            // SAFETY: this instruction runs now; the slice ends here.
            let at = unsafe { self.out(frame, phase, *out, start, n) }.as_mut_ptr().cast();
            *place = Place { at, size: out.size as usize };
        }
        // SAFETY: values and results are views of `n` lanes; uniform arguments have `n` or `UNIFORM` lanes.
        // Liveness gave no result the register of an argument.
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
        out: Out,
        start: u64,
        n: usize,
    ) -> &'a mut [u8] {
        let bytes = n * out.size as usize;
        if let Some(position) = out.store {
            let id = phase.stores[position as usize].access as usize;
            let access = &self.plan.accesses[id];
            if self.bound.direct[id] && !self.bound.hinted[id] && access.map.lanes == Lanes::Line(1) {
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

    /// The address of the first lane of a contiguous access.
    pub(super) fn address(&self, frame: &Frame, access: &Access, start: u64) -> *mut u8 {
        let base = self.bound.bases[access.touch.operand];
        if base.is_null() {
            let (product, first) = self.product;
            return product.cast_mut().wrapping_add((start - first) as usize * access.touch.dtype.size());
        }
        let element = access.map.base(&frame.coordinates) + start as i64;
        base.wrapping_offset(element as isize * access.touch.dtype.size() as isize)
    }

    fn load(&self, frame: &mut Frame, id: u32, start: u64, n: usize) {
        let access = &self.plan.accesses[id as usize];
        if access.through.as_ref().is_some_and(|through| self.through(frame, access, through, (start, n))) {
            return;
        }
        let at = if self.bound.direct[id as usize] && access.map.lanes == Lanes::Line(1) {
            let at = self.address(frame, access, start).cast_const();
            if self.bound.hinted[id as usize] && n <= self.plan.width {
                cache_hints::prefetch_next(at, n * access.touch.dtype.size());
            }
            at
        } else {
            self.load_tile(frame, access, start, n)
        };
        frame.loaded[id as usize] = at;
    }

    /// Runs the stores of a phase at lanes `start..start + n`: those done once per row if `once`, else the
    /// others.
    pub(super) fn stores(&self, frame: &mut Frame, phase: &PhasePlan, start: u64, n: usize, once: bool) {
        for (position, store) in phase.stores.iter().enumerate() {
            if store.once != once || std::mem::take(&mut frame.stored[position]) {
                continue;
            }
            let access = &self.plan.accesses[store.access as usize];
            if self.bound.hinted[store.access as usize] && store.when.is_none() {
                let (to, bytes) = (self.address(frame, access, start), n * access.touch.dtype.size());
                // SAFETY: the phase's instructions ran at these lanes. `to` are contiguous elements of the
                // operand, whose range `bind` checked; no other access of this Nest touches it.
                unsafe {
                    let from = self.value(frame, store.value, n).as_ptr().cast();
                    cache_hints::copy_nontemporal(from, to, bytes);
                }
                continue;
            }
            if let Some(when) = store.when {
                // Conditional stores are mostly error reports, and there is rarely an error.
                if !self.any(frame, store, when, n) {
                    continue;
                }
                if let Some(report) = &self.bound.reports[store.access as usize] {
                    let base = self.bound.bases[access.touch.operand].cast::<i64>();
                    let word = base.wrapping_offset(access.touch.affine.offset as isize);
                    // SAFETY: `bind` checked its range; this Nest touches it only through `report`.
                    unsafe { tile_io::report(word, report.number, &report.above) };
                    continue;
                }
            }
            // SAFETY: the phase's instructions ran at these lanes, at most a tile. Addresses and value are
            // used up by the update; `bind` checked its address range against the region, and threads share
            // no phase with updates.
            unsafe {
                match store.update {
                    Some(update) => {
                        let at = self.addresses(frame, access, start, n);
                        let value = self.value(frame, store.value, n);
                        update(self.bound.bases[access.touch.operand], at, value, n);
                    }
                    None => self.store_tile(frame, store, start, n),
                }
            }
        }
    }
}

/// The lanes and indices of an accumulator.
///
/// # Safety
/// `at` must be an accumulator of `fold` that nothing else uses while the slices live.
unsafe fn accumulator<'a>(at: *mut u64, fold: &FoldPlan) -> (&'a mut [u64], &'a mut [u64]) {
    // SAFETY: an accumulator has `tile_words` words, and the caller guarantees exclusive use; the plan lays
    // the index out behind the value, so the slices are disjoint.
    unsafe {
        let index = view_mut(at.wrapping_add(fold.value_words), fold.tile_words - fold.value_words);
        (view_mut(at, fold.value_words), index)
    }
}

/// Copies `n` lanes of an accumulator.
///
/// # Safety
/// Both must be accumulators of `fold` with room for `n` lanes, and different. No other thread may write
/// `from` or use `to`.
pub(super) unsafe fn copy_tile(from: *const u64, to: *mut u64, fold: &FoldPlan, n: usize) {
    // SAFETY: the caller guarantees two different accumulators, each with room for the values and, behind
    // them, the indices.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, words(n, fold.dtype.register().size()));
        if fold.index.is_some() {
            let at = fold.value_words;
            std::ptr::copy_nonoverlapping(from.wrapping_add(at), to.wrapping_add(at), n);
        }
    }
}
