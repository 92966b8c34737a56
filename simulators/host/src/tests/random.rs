//! Random Nests: axes, layouts, folds and phases in random combination.

use super::*;

struct Maker {
    numbers: Numbers,
    axes: Vec<u64>,
    operands: Vec<Operand>,
}

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        self.numbers.next() as usize % n
    }

    /// An operand over some of these axes in some order, with gaps or padding, and its index.
    fn operand(&mut self, axes: &[usize], all: bool, dtype: DType) -> (usize, Vec<Index>) {
        let mut dims: Vec<usize> = axes.to_vec();
        if !all {
            dims.retain(|_| !self.numbers.next().is_multiple_of(4));
        }
        for i in (1..dims.len()).rev() {
            let j = self.below(i + 1);
            dims.swap(i, j);
        }
        let (mut shape, mut index) = (Vec::new(), Vec::new());
        for &axis in &dims {
            let extent = self.axes[axis];
            let mut one = Index::axis(axis);
            let (step, pad) = (1 + self.below(5) / 4, self.below(4) / 3);
            one.terms[0].1 = step as i64;
            one.offset = pad as i64;
            let length = extent.max(1) * step as u64 + pad as u64;
            if self.below(5) == 0 && extent > 0 {
                one.offset += (extent as i64 - 1) * step as i64;
                one.terms[0].1 = -(step as i64);
            }
            shape.push(length);
            index.push(one);
        }
        let operand = Operand::contiguous(dtype, &shape, all);
        self.operands.push(operand);
        (self.operands.len() - 1, index)
    }

    fn load(&mut self, w: &mut Writer, axes: &[usize], dtype: DType) -> Value {
        let stored =
            [DType::F16, DType::BF16, DType::F32, DType::I32, DType::Bool, DType::U8, dtype][self.below(7)];
        let (operand, index) = self.operand(axes, false, stored);
        let value = w.inst(Inst::Load { operand, index });
        w.cast(dtype, value)
    }

    fn expression(
        &mut self,
        w: &mut Writer,
        axes: &[usize],
        dtype: DType,
        folds: &[(usize, usize)],
    ) -> Value {
        let mut value = self.load(w, axes, dtype);
        for &(phase, fold) in folds {
            let folded = w.inst(Inst::Folded { phase, fold });
            let folded = w.cast(dtype, folded);
            value = w.op(ops::MAXIMUM, &[value, folded]);
        }
        for _ in 0..self.below(4) {
            let other = match self.below(4) {
                0 => w.constant(dtype, 2.0),
                1 => {
                    let axis = axes.first().copied();
                    let at = match axis {
                        Some(axis) => w.inst(Inst::Axis(axis)),
                        None => w.constant(DType::I64, 3.0),
                    };
                    w.cast(dtype, at)
                }
                _ => self.load(w, axes, dtype),
            };
            let op = [ops::ADD, ops::SUB, ops::MINIMUM, ops::MAXIMUM][self.below(4)];
            value = w.op(op, &[value, other]);
        }
        value
    }

    fn store(&mut self, w: &mut Writer, axes: &[usize], dtype: DType, value: Value) {
        let (operand, index) = self.operand(axes, true, dtype);
        let zero = w.constant(dtype, 0.0);
        let when = (self.below(4) == 0).then(|| w.op(ops::GT, &[value, zero]));
        w.0.stores.push(Store { operand, index, value, when, add: false });
    }
}

fn make(seed: u64) -> Nest {
    let mut m = Maker { numbers: Numbers(seed), axes: Vec::new(), operands: Vec::new() };
    m.numbers.next();
    let (grid, inner) = (m.below(4), m.below(3));
    let small = m.below(3) == 0;
    for _ in 0..grid + inner {
        let choice = [1, 2, 3, 5, 8, 17, 33, 70, 130];
        let extent = choice[m.below(if small { 5 } else { choice.len() })];
        let room = 30_000 / m.axes.iter().product::<u64>().max(1);
        let empty = m.below(60) == 0;
        m.axes.push(if empty { 0 } else { extent.min(room.max(1)) });
    }
    let outer: Vec<usize> = (0..grid).collect();
    let every: Vec<usize> = (0..grid + inner).collect();
    // Sums of these are exact in i64 and f64, and so is the comparison.
    let dtype = [DType::F64, DType::I64, DType::I32][m.below(3)];
    let mut phases: Vec<Writer> = Vec::new();
    let mut folds: Vec<(usize, usize)> = Vec::new();
    for at in 0..1 + m.below(4) {
        let kind =
            [PhaseKind::Point, PhaseKind::Map, PhaseKind::Reduce, PhaseKind::Reduce, PhaseKind::Ordered]
                [m.below(5)];
        let mut w = Writer::new(kind);
        let axes = if kind == PhaseKind::Point { &outer } else { &every };
        let value = m.expression(&mut w, axes, dtype, &folds);
        if kind == PhaseKind::Reduce {
            let fold = [Fold::Sum, Fold::Max, Fold::Min, Fold::ArgMax, Fold::ArgMin][m.below(5)];
            let index = fold.has_index().then(|| match (inner, m.below(3)) {
                (0, _) | (_, 0) => w.constant(DType::I64, 4.0),
                _ => w.inst(Inst::Axis(grid + inner - 1)),
            });
            w.fold(fold, value, index);
            folds.push((at, 0));
        }
        if kind != PhaseKind::Reduce || m.below(3) == 0 {
            m.store(&mut w, axes, dtype, value);
        }
        phases.push(w);
    }
    let mut end = Writer::new(PhaseKind::Point);
    let value = m.expression(&mut end, &outer, dtype, &folds);
    m.store(&mut end, &outer, dtype, value);
    phases.push(end);
    let (axes, operands) = (m.axes.clone(), m.operands);
    nest(&axes, grid, operands, phases)
}

#[test]
fn random_nests() {
    let (mut sides, mut points) = ([0; 2], 0);
    for seed in 0..400 {
        let nest = make(seed * 7919 + 1);
        let buffers: Vec<Vec<u8>> = nest
            .operands
            .iter()
            .enumerate()
            .map(|(i, o)| random(o.dtype, o.shape.iter().product::<u64>() as usize, seed + i as u64))
            .collect();
        let args: Vec<usize> = (0..buffers.len()).collect();
        agrees(&nest, &buffers, &args, 1e-9);
        sides[(plan(&nest).unwrap().lane_axes == plan::LaneAxes::Inner) as usize] += 1;
        points += nest.grid_points() * nest.inner_points();
    }
    // Both sides were planned.
    assert!(sides.iter().all(|s| *s > 20) && points > 100_000, "{sides:?} {points}");
}
