//! Running folds: a library op of the device, or an Ordered phase a row.

use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::ops::CumOp;
use crate::ops::sort::lower::about;
use workalike_kernels::DType;
use workalike_kernels::library::Cumulate;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::ops as scalar;

pub(crate) fn lower(op: &CumOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let (x, dtype) = (&inputs[0], to.dtype(node.outputs[0]));
    let shape = x.shape.clone();
    let own = to.program.buffers[x.buffer].dtype;
    let fold =
        |from| Cumulate { fold: op.fold, dtype, from, shape: about(&shape, op.axis), reverse: op.reverse };
    // The device converts what it reads, where it can.
    let before = to.before_cast(x).map(|view| (to.program.buffers[view.buffer].dtype, view));
    for (from, view) in before.into_iter().chain([(own, x.clone())]) {
        if !to.abilities.has(&fold(from)) {
            continue;
        }
        let input = to.whole(&view);
        if let Some(views) = to.library(fold(from), vec![(input, 0)], &[&shape]) {
            return Ok(views);
        }
    }
    let acc = dtype.register();
    let target = to.temp(acc, &shape);
    let grid: Vec<u64> = (0..shape.len()).filter(|&a| a != op.axis).map(|a| shape[a]).collect();
    let n = shape[op.axis] as i128;
    let mut nest = NestBuilder::new(&format!("cum{:?}", op.fold).to_lowercase(), &grid, &[shape[op.axis]]);
    let mut phase = nest.phase(PhaseKind::Ordered, &to.program);
    let at = |along: At| -> Vec<At> {
        let other = |a: usize| At::Axis(if a < op.axis { a } else { a - 1 });
        (0..shape.len()).map(|a| if a == op.axis { along } else { other(a) }).collect()
    };
    let (step, zero) = (phase.axis(grid.len()), phase.number(DType::I64, 0));
    let one = phase.number(DType::I64, 1);
    let before = phase.apply(scalar::SUB, &[step, one]);
    let before = phase.apply(scalar::MAXIMUM, &[before, zero]);
    let [here, before] = [step, before].map(|at| {
        if op.reverse {
            let last = phase.number(DType::I64, n - 1);
            phase.apply(scalar::SUB, &[last, at])
        } else {
            at
        }
    });
    let value = phase.load(x, &at(At::Value(here)));
    let value = phase.convert(value, acc);
    let old = phase.load(&View::whole(target, &shape), &at(At::Value(before)));
    if op.fold.has_index() {
        return Err(format!("{:?} is no running fold", op.fold));
    }
    let both = phase.apply(op.fold.combine(), &[old, value]);
    let first = phase.apply(scalar::EQ, &[step, zero]);
    let value = phase.apply(scalar::WHERE, &[first, value, both]);
    phase.store(target, &shape, &at(At::Value(here)), value, None);
    phase.finish();
    to.push(nest);
    let all = View::whole(target, &shape);
    Ok(vec![if acc == dtype { all } else { to.converted(&all, dtype) }])
}

impl Lowering<'_> {
    /// A view's elements in another dtype, in a new buffer.
    fn converted(&mut self, view: &View, dtype: DType) -> View {
        let target = self.temp(dtype, &view.shape);
        let at = At::axes(view.shape.len());
        let mut nest = NestBuilder::new("cast", &view.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(view, &at);
        point.store(target, &view.shape, &at, value, None);
        point.finish();
        self.push(nest);
        View::whole(target, &view.shape)
    }
}
