//! Positions of elements that are not zero: by a library op where the device has it, else in parallel by
//! counts of blocks, where each block's positions begin, and the positions.

use crate::graph::Node;
use crate::lower::program::BufferId;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use workalike_kernels::library::{Cumulate, LibraryNonZero};
use workalike_kernels::nest::{Fold, PhaseKind, Value};
use workalike_kernels::{DType, ops as scalar};

/// The host has counted the elements for the shape; the device checks its own count against that.
pub(crate) fn lower(_: &crate::ops::NonZero, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let mask = to.whole(&inputs[0]);
    let len: u64 = inputs[0].shape.iter().product();
    let shape = to.shape(node.outputs[0]);
    let target = to.temp(DType::I64, &shape);
    let found = View::whole(target, &shape);
    if len == 0 {
        return Ok(vec![found]);
    }
    let mask = View::whole(mask, &[len]);
    if to.find_by_library(&mask, len, target, &shape) {
        return Ok(vec![found]);
    }
    if let Some(counts) = to.running_counts(&mask, len) {
        to.place_by_counts(&mask, (&counts, len), target, &shape);
        return Ok(vec![found]);
    }
    MaskBlocks::new(mask, len).find(to, target, &shape);
    Ok(vec![found])
}

/// The mask cut into blocks, whose positions are found in parallel.
struct MaskBlocks {
    mask: View,
    len: u64,
    /// The number of blocks, and the elements of each.
    shape: [u64; 2],
}

impl MaskBlocks {
    fn new(mask: View, len: u64) -> MaskBlocks {
        // As many blocks as elements in each, so that neither is long.
        let block = (len as f64).sqrt().ceil().max(16.0) as u64;
        MaskBlocks { mask, len, shape: [len.div_ceil(block), block] }
    }

    fn find(&self, to: &mut Lowering<'_>, target: BufferId, shape: &[u64]) {
        let counts = self.counts(to);
        let begin = self.starts(to, &counts);
        self.check_count(to, &counts, &begin, shape[0]);
        if shape[0] > 0 {
            self.positions(to, &begin, target, shape);
        }
    }

    /// Whether the element at a point is there and not zero, and its position.
    fn element(&self, phase: &mut PhaseBuilder) -> (Value, Value) {
        let (outer, inner) = (phase.axis(0), phase.axis(1));
        let size = phase.number(DType::I64, self.shape[1].into());
        let start = phase.apply(scalar::MUL, &[outer, size]);
        let at = phase.apply(scalar::ADD, &[start, inner]);
        let end = phase.number(DType::I64, self.len.into());
        let inside = phase.apply(scalar::LT, &[at, end]);
        let kept = phase.nearest(at, self.len);
        let value = phase.load(&self.mask, &[At::Value(kept)]);
        let there = phase.convert(value, DType::Bool);
        (phase.apply(scalar::AND, &[there, inside]), at)
    }

    /// The positions that each block has.
    fn counts(&self, to: &mut Lowering<'_>) -> View {
        let [blocks, block] = self.shape;
        let counts = to.temp(DType::I64, &[blocks]);
        let mut nest = NestBuilder::new("count", &[blocks], &[block]);
        let mut phase = nest.phase(PhaseKind::Reduce, &to.program);
        let (there, _) = self.element(&mut phase);
        let one = phase.convert(there, DType::I64);
        let fold = phase.fold(Fold::Sum, one, None);
        let at = phase.finish();
        let mut phase = nest.phase(PhaseKind::Point, &to.program);
        let count = phase.folded(at, fold, DType::I64);
        phase.store(counts, &[blocks], &[At::Axis(0)], count, None);
        phase.finish();
        to.push(nest);
        View::whole(counts, &[blocks])
    }

    /// Where each block's positions begin: what the blocks before it have.
    fn starts(&self, to: &mut Lowering<'_>, counts: &View) -> View {
        let blocks = self.shape[0];
        let starts = to.temp(DType::I64, &[blocks]);
        to.program.buffers[starts].mutable = true;
        let begin = View::whole(starts, &[blocks]);
        let mut nest = NestBuilder::new("offsets", &[], &[blocks]);
        let mut phase = nest.phase(PhaseKind::Ordered, &to.program);
        let (here, zero, one) = (phase.axis(0), phase.number(DType::I64, 0), phase.number(DType::I64, 1));
        let before = phase.apply(scalar::SUB, &[here, one]);
        let before = phase.apply(scalar::MAXIMUM, &[before, zero]);
        let start = phase.load(&begin, &[At::Value(before)]);
        let count = phase.load(counts, &[At::Value(before)]);
        let sum = phase.apply(scalar::ADD, &[start, count]);
        let first = phase.apply(scalar::EQ, &[here, zero]);
        let start = phase.apply(scalar::WHERE, &[first, zero, sum]);
        phase.store_view(&begin, &[At::Axis(0)], start);
        phase.finish();
        to.push(nest);
        begin
    }

    /// Reports if there are not as many positions as the host has found.
    fn check_count(&self, to: &mut Lowering<'_>, counts: &View, begin: &View, expected: u64) {
        let status = to.status();
        let number = to.report();
        let mut nest = NestBuilder::new("check_count", &[], &[]);
        let mut phase = nest.phase(PhaseKind::Point, &to.program);
        let last = phase.number(DType::I64, i128::from(self.shape[0]) - 1);
        let start = phase.load(begin, &[At::Value(last)]);
        let count = phase.load(counts, &[At::Value(last)]);
        let total = phase.apply(scalar::ADD, &[start, count]);
        let expected = phase.number(DType::I64, expected.into());
        let other = phase.apply(scalar::NE, &[total, expected]);
        let number = phase.number(DType::I64, number);
        phase.store(status, &[], &[], number, Some(other));
        phase.finish();
        to.push(nest);
    }

    /// Each block visits its elements; `ranks` counts the elements found up to each.
    fn positions(&self, to: &mut Lowering<'_>, begin: &View, target: BufferId, shape: &[u64]) {
        let ranks = to.temp(DType::I64, &self.shape);
        // Read where it is stored, and nowhere else.
        to.program.buffers[ranks].mutable = true;
        let ranks = View::whole(ranks, &self.shape);
        let mut nest = NestBuilder::new("nonzero", &self.shape[..1], &self.shape[1..]);
        let mut phase = nest.phase(PhaseKind::Ordered, &to.program);
        let (there, position) = self.element(&mut phase);
        let (inner, zero, one) = (phase.axis(1), phase.number(DType::I64, 0), phase.number(DType::I64, 1));
        let before = phase.apply(scalar::SUB, &[inner, one]);
        let before = phase.apply(scalar::MAXIMUM, &[before, zero]);
        let start = phase.load(begin, &[At::Axis(0)]);
        let reached = phase.load(&ranks, &[At::Axis(0), At::Value(before)]);
        let first = phase.apply(scalar::EQ, &[inner, zero]);
        let place = phase.apply(scalar::WHERE, &[first, start, reached]);
        let kept = phase.nearest(place, shape[0]);
        let more = phase.convert(there, DType::I64);
        let after = phase.apply(scalar::ADD, &[place, more]);
        phase.store_view(&ranks, &At::axes(2), after);
        phase.store(target, shape, &[At::Value(kept)], position, Some(there));
        phase.finish();
        to.push(nest);
    }
}

impl Lowering<'_> {
    /// By a library op, if the device has it.
    fn find_by_library(&mut self, mask: &View, len: u64, target: BufferId, shape: &[u64]) -> bool {
        let dtype = self.program.buffers[mask.buffer].dtype;
        let find = LibraryNonZero { dtype, len, kept: shape[0], taken: None };
        if !self.abilities.has(&find) {
            return false;
        }
        let number = self.temp(DType::I64, &[]);
        if self.library_into(find, vec![(mask.buffer, 0)], vec![target, number]).is_none() {
            return false;
        }
        self.check_count(&View::whole(number, &[]), &[], shape[0]);
        true
    }

    /// Reports it, if what is found is not as many as were expected.
    pub(in crate::ops) fn check_count(&mut self, counts: &View, at: &[i128], expected: u64) {
        let status = self.status();
        let number = self.report();
        let mut nest = NestBuilder::new("check_count", &[], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let at: Vec<At> = at.iter().map(|&at| At::Value(point.number(DType::I64, at))).collect();
        let total = point.load(counts, &at);
        let total = point.convert(total, DType::I64);
        let expected = point.number(DType::I64, expected.into());
        let other = point.apply(scalar::NE, &[total, expected]);
        let number = point.number(DType::I64, number);
        point.store(status, &[], &[], number, Some(other));
        point.finish();
        self.push(nest);
    }

    /// How many elements are not zero up to each, by the device's own running sum: less to do than to count
    /// twice.
    fn running_counts(&mut self, mask: &View, len: u64) -> Option<View> {
        let dtype = if len <= i32::MAX as u64 { DType::I32 } else { DType::I64 };
        let running = |from| Cumulate { fold: Fold::Sum, dtype, from, shape: [1, len, 1], reverse: false };
        let from = [DType::Bool, dtype].into_iter().find(|&from| self.abilities.has(&running(from)))?;
        let ones = self.temp(from, &[len]);
        let mut nest = NestBuilder::new("ones", &[len], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(mask, &[At::Axis(0)]);
        let there = point.convert(value, DType::Bool);
        let one = point.convert(there, from);
        point.store(ones, &[len], &[At::Axis(0)], one, None);
        point.finish();
        self.push(nest);
        self.library(running(from), vec![(ones, 0)], &[&[len]])?.pop()
    }

    /// Each element that is not zero knows its place by the running count.
    fn place_by_counts(&mut self, mask: &View, (counts, len): (&View, u64), target: BufferId, shape: &[u64]) {
        self.check_count(counts, &[i128::from(len) - 1], shape[0]);
        if shape[0] == 0 {
            return;
        }
        let mut nest = NestBuilder::new("nonzero", &[len], &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(mask, &[At::Axis(0)]);
        let there = point.convert(value, DType::Bool);
        let count = point.load(counts, &[At::Axis(0)]);
        let (count, one) = (point.convert(count, DType::I64), point.number(DType::I64, 1));
        let place = point.apply(scalar::SUB, &[count, one]);
        let kept = point.nearest(place, shape[0]);
        let position = point.axis(0);
        point.store(target, shape, &[At::Value(kept)], position, Some(there));
        point.finish();
        self.push(nest);
    }
}
