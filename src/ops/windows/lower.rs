//! Windows are views. Their sums, padding and spreading are gathers.

use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, PhaseBuilder, View};
use crate::ops::windows::{WindowSum, Windows};
use workalike_kernels::nest::{Fold, PhaseKind, Value};
use workalike_kernels::{DType, ops as scalar};

/// How positions of windows map to elements along one axis: element `position * stride + offset * dilation`.
#[derive(Clone, Copy)]
struct Axis {
    elements: i64,
    positions: i64,
    offsets: i64,
    stride: i64,
    dilation: i64,
}

impl Axis {
    /// The number of pairs of position and offset that are tried for an element.
    fn taps(&self) -> u64 {
        let taps = if self.dilation == 1 { self.offsets.div_euclid(self.stride) } else { self.offsets };
        let rest = self.dilation == 1 && self.offsets % self.stride != 0;
        u64::try_from(taps + i64::from(rest)).unwrap_or(0)
    }

    /// The position and the offset that make an element, by the number of the pair, and whether there are
    /// any.
    fn pair(&self, phase: &mut PhaseBuilder, element: Value, tap: Option<Value>) -> [Value; 3] {
        let number = |phase: &mut PhaseBuilder, n: i64| phase.number(DType::I64, n.into());
        let tap = tap.unwrap_or_else(|| number(phase, 0));
        let stride = number(phase, self.stride);
        let zero = number(phase, 0);
        let (position, offset, exact) = if self.dilation == 1 {
            let last = phase.apply(scalar::TRUNC_DIVIDE, &[element, stride]);
            let position = phase.apply(scalar::SUB, &[last, tap]);
            let start = phase.apply(scalar::MUL, &[position, stride]);
            let offset = phase.apply(scalar::SUB, &[element, start]);
            let offsets = number(phase, self.offsets);
            (position, offset, phase.apply(scalar::LT, &[offset, offsets]))
        } else {
            let dilation = number(phase, self.dilation);
            let within = phase.apply(scalar::MUL, &[tap, dilation]);
            let start = phase.apply(scalar::SUB, &[element, within]);
            let position = phase.apply(scalar::TRUNC_DIVIDE, &[start, stride]);
            let back = phase.apply(scalar::MUL, &[position, stride]);
            let exact = phase.apply(scalar::EQ, &[back, start]);
            let after = phase.apply(scalar::GE, &[start, zero]);
            (position, tap, phase.apply(scalar::AND, &[exact, after]))
        };
        let positions = number(phase, self.positions);
        let below = phase.apply(scalar::LT, &[position, positions]);
        let after = phase.apply(scalar::GE, &[position, zero]);
        let there = phase.apply(scalar::AND, &[below, after]);
        let there = phase.apply(scalar::AND, &[there, exact]);
        // Extents are not negative.
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        let position = phase.nearest(position, count(self.positions));
        [position, phase.nearest(offset, count(self.offsets)), there]
    }
}

/// How the elements of an array are spread along one axis of a longer one, with zeros between and around
/// them: element `i` at `before + i * step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Zeros before the first element; where negative, elements that are left out.
    pub(crate) before: i64,
    /// From one element to the next.
    pub(crate) step: u64,
    /// The extent of the longer array.
    pub(crate) extent: u64,
}

pub(crate) fn windows(op: &Windows, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let (x, shape) = (&inputs[0], to.shape(node.outputs[0]));
    Ok(vec![windows_of(x, op, &shape)])
}

pub(crate) fn window_sum(op: &WindowSum, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let (g, shape, dtype) = (&inputs[0], to.shape(node.outputs[0]), to.dtype(node.outputs[0]));
    let outer = shape.len() - op.windows.window.len();
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let axes: Vec<Axis> = (0..op.windows.window.len())
        .map(|at| Axis {
            elements: signed(shape[outer + at]),
            positions: signed(g.shape[outer + at]),
            offsets: signed(op.windows.window[at] as u64),
            stride: signed(op.windows.stride[at] as u64),
            dilation: signed(op.windows.dilation[at] as u64),
        })
        .collect();
    debug_assert!(axes.iter().all(|axis| axis.elements >= axis.positions.min(axis.offsets)));
    let target = to.temp(dtype, &shape);
    let taps: Vec<u64> = axes.iter().map(Axis::taps).collect();
    // Windows that do not overlap have one pair for an element at most.
    let folds = taps.iter().any(|&taps| taps > 1);
    let inner: &[u64] = if folds { &taps } else { &[] };
    let mut nest = NestBuilder::new("window_sum", &shape, inner);
    let kind = if folds { PhaseKind::Reduce } else { PhaseKind::Point };
    let mut phase = nest.phase(kind, &to.program);
    let mut at = At::axes(outer);
    let (mut offsets, mut there) = (Vec::new(), Vec::new());
    for (number, axis) in axes.iter().enumerate() {
        let element = phase.axis(outer + number);
        let tap = folds.then(|| phase.axis(shape.len() + number));
        let [position, offset, known] = axis.pair(&mut phase, element, tap);
        at.push(At::Value(position));
        offsets.push(At::Value(offset));
        there.push(known);
    }
    at.extend(offsets);
    let value = guarded(&mut phase, g, &at, &there, dtype.register());
    if folds {
        let fold = phase.fold(Fold::Sum, value, None);
        let reduce = phase.finish();
        let mut point = nest.phase(PhaseKind::Point, &to.program);
        let value = point.folded(reduce, fold, dtype.register());
        point.store(target, &shape, &At::axes(shape.len()), value, None);
        point.finish();
    } else {
        phase.store(target, &shape, &At::axes(shape.len()), value, None);
        phase.finish();
    }
    to.push(nest);
    Ok(vec![View::whole(target, &shape)])
}

impl Lowering<'_> {
    /// The elements of a view spread along its last axes, as many as there are `axes`, in a new buffer;
    /// itself where nothing changes.
    pub(crate) fn spread(&mut self, x: &View, axes: &[Spread]) -> View {
        let first = x.shape.len() - axes.len();
        let same = |(axis, spread): (usize, &Spread)| {
            spread.before == 0
                && spread.extent == x.shape[first + axis]
                && (spread.step == 1 || spread.extent < 2)
        };
        if axes.iter().enumerate().all(same) {
            return x.clone();
        }
        let dtype = self.program.buffers[x.buffer].dtype;
        let shape: Vec<u64> = x.shape[..first].iter().copied().chain(axes.iter().map(|a| a.extent)).collect();
        let target = self.temp(dtype, &shape);
        let mut nest = NestBuilder::new("spread", &shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let (mut at, mut there) = (At::axes(first), Vec::new());
        let empty = x.shape.contains(&0);
        for (number, spread) in axes.iter().enumerate().filter(|_| !empty) {
            let elements = i64::try_from(x.shape[first + number]).unwrap_or(i64::MAX);
            let axis = point.axis(first + number);
            let before = point.number(DType::I64, spread.before.into());
            let start = point.apply(scalar::SUB, &[axis, before]);
            let (index, exact) = match spread.step {
                1 => (start, None),
                step => {
                    let step = point.number(DType::I64, step.into());
                    let index = point.apply(scalar::TRUNC_DIVIDE, &[start, step]);
                    let back = point.apply(scalar::MUL, &[index, step]);
                    (index, Some(point.apply(scalar::EQ, &[back, start])))
                }
            };
            let (zero, extent) = (point.number(DType::I64, 0), point.number(DType::I64, elements.into()));
            there.push(point.apply(scalar::GE, &[start, zero]));
            there.push(point.apply(scalar::LT, &[index, extent]));
            there.extend(exact);
            at.push(At::Value(point.nearest(index, x.shape[first + number])));
        }
        let value = if empty {
            let zero = point.number(DType::I64, 0);
            point.convert(zero, dtype)
        } else {
            guarded(&mut point, x, &at, &there, dtype)
        };
        point.store(target, &shape, &At::axes(shape.len()), value, None);
        point.finish();
        self.push(nest);
        View::whole(target, &shape)
    }
}

/// The windows over the last axes of a view, with the extents that shape inference found.
pub(crate) fn windows_of(x: &View, op: &Windows, shape: &[u64]) -> View {
    let outer = x.shape.len() - op.window.len();
    (0..op.window.len()).fold(x.clone(), |view, at| {
        let (stride, window) = (op.stride[at] as u64, op.window[at] as u64);
        view.windows(outer + at, [shape[outer + at], stride, window, op.dilation[at] as u64])
    })
}

/// The element of a view where all conditions hold, else 0, as a number of this dtype.
fn guarded(phase: &mut PhaseBuilder, x: &View, at: &[At], there: &[Value], dtype: DType) -> Value {
    let value = phase.load(x, at);
    let value = phase.convert(value, dtype);
    let all = there.iter().copied().reduce(|a, b| phase.apply(scalar::AND, &[a, b]));
    let Some(all) = all else { return value };
    let zero = phase.number(DType::I64, 0);
    let zero = phase.convert(zero, dtype);
    phase.apply(scalar::WHERE, &[all, value, zero])
}
