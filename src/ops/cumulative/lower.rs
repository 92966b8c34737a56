//! Running folds: a library op of the device, or an Ordered phase a row.

use super::CumOp;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use crate::ops::sort::lower::about;
use workalike_kernels::library::Cumulate;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

/// In 32 bits where all sums fit and each number is converted exactly, as those of bools do. Readers widen
/// what they read; a result of the graph would be widened by a step of its own.
pub(crate) fn lower(op: &CumOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let (x, given) = (&inputs[0], to.dtype(node.outputs[0]));
    let (dtype_of, narrow) = (|view: &View, to: &Lowering| to.program.buffers[view.buffer].dtype, DType::I32);
    let before = to.before_cast(x);
    let fits = to.stays_within(node.outputs[0], i32::MIN.into(), i128::from(i32::MAX) + 1);
    let sources: Vec<View> = before.into_iter().chain([x.clone()]).collect();
    let is_narrow = |view: &&View| dtype_of(view, to).promote(narrow) == narrow;
    let is_result = to.graph.roots().any(|id| id == node.outputs[0]);
    if let Some(source) = sources.iter().find(is_narrow)
        && given.size() > narrow.size()
        && fits
        && !is_result
    {
        let sums = running(op, to, std::slice::from_ref(source), narrow)?;
        return Ok(vec![to.converted(&sums, given)]);
    }
    Ok(vec![running(op, to, &sources, given)?])
}

/// The running folds, in this dtype, of the first of the views that the device converts, else of the last,
/// which a step converts if the device folds numbers of that dtype.
fn running(op: &CumOp, to: &mut Lowering<'_>, sources: &[View], dtype: DType) -> Result<View, String> {
    let Some(x) = sources.last() else { return Err("nothing to fold".into()) };
    let shape = x.shape.clone();
    let dtype_of = |view: &View, to: &Lowering| to.program.buffers[view.buffer].dtype;
    let fold =
        |from| Cumulate { fold: op.fold, dtype, from, shape: about(&shape, op.axis), reverse: op.reverse };
    let found = sources.iter().find(|source| to.abilities.has(&fold(dtype_of(source, to))));
    let source = match found {
        Some(source) => source.clone(),
        None if to.abilities.has(&fold(dtype)) => to.converted(x, dtype),
        None => return in_order(op, to, x, dtype),
    };
    let (input, fold) = (to.whole(&source), fold(dtype_of(&source, to)));
    let views = to.library(fold, vec![(input, 0)], &[&shape]);
    views.and_then(|views| views.into_iter().next()).ok_or_else(|| "a running fold has no result".into())
}

/// The running folds as an Ordered phase a row.
fn in_order(op: &CumOp, to: &mut Lowering<'_>, x: &View, dtype: DType) -> Result<View, String> {
    let shape = x.shape.clone();
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
    Ok(if acc == dtype { all } else { to.converted(&all, dtype) })
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
