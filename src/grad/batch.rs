//! Many cotangents at once: an expression that depends on a Variable, for a whole batch of that Variable's
//! values.
//!
//! Each op that is met has a rule that gives it one more axis in front. Ops of other Variables are left as
//! they are.

use crate::error::Result;
use crate::graph::{Apply, Operand, Variable, ancestors, place};
use crate::kernels::nest::Fold;
use crate::ops::methods::fail;
use crate::ops::{
    AdvancedIncSubtensor, AdvancedSubtensor, Bound, BroadcastLike, BroadcastTo, Cast, CumOp, DimShuffle, Dot,
    Elemwise, Extent, IncSubtensor, Join, Op, Reduce, Reshape, ShapeOf, Slot, SpecifyShape, Subtensor,
    SumLike, WindowSum, Windows, WithGradient, downcast,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What stands for a Variable: with the batch's axis in front, or without it (an extent, say).
#[derive(Clone)]
struct Stand {
    variable: Variable,
    batched: bool,
}

/// `roots` for each of the values of `input` in `batch`, which has one more axis, in front, of extent
/// `count`; so have the results.
///
/// # Errors
/// If an op between has no rule: names it.
pub(super) fn batched(
    roots: &[Variable],
    input: &Variable,
    batch: &Variable,
    count: &Variable,
) -> Result<Vec<Variable>> {
    let mut stands: HashMap<(usize, usize), Stand> = HashMap::new();
    stands.insert(input.key(), Stand { variable: batch.clone(), batched: true });
    for variable in ancestors(roots, |_| false) {
        let Some((apply, _)) = variable.owner() else { continue };
        let depends = apply.inputs.iter().any(|i| stands.contains_key(&i.key()));
        if !depends || stands.contains_key(&variable.key()) {
            continue;
        }
        let _scope = place::enter_at(apply.place);
        let inputs: Vec<Stand> = apply
            .inputs
            .iter()
            .map(|i| stands.get(&i.key()).cloned().unwrap_or(Stand { variable: i.clone(), batched: false }))
            .collect();
        for (index, stand) in (Rule { count, apply, inputs }).outputs()?.into_iter().enumerate() {
            stands.insert(Variable::output(apply, index).key(), stand);
        }
    }
    let whole = |root: &Variable| match stands.get(&root.key()) {
        Some(Stand { variable, batched: true }) => Ok(variable.clone()),
        Some(Stand { variable, .. }) => repeated(variable, count),
        None => repeated(root, count),
    };
    roots.iter().map(whole).collect()
}

/// A new axis of extent 1 in front.
fn front(x: &Variable) -> Result<Variable> {
    DimShuffle::keep_dims(x, &[0])
}

/// The same for each of the batch.
fn repeated(x: &Variable, count: &Variable) -> Result<Variable> {
    let mut shape = vec![Operand::Variable(count.clone())];
    for axis in 0..x.ndim() {
        shape.push(Operand::Variable(ShapeOf::of(x, axis)?));
    }
    let (extents, further) = Extent::list("jacobian", shape.into_iter().map(constant_extent).collect())?;
    BroadcastTo::of(x, extents, &further)
}

/// A number where the extent is known.
fn constant_extent(extent: Operand) -> Operand {
    match &extent {
        Operand::Variable(v) => match v.constant_value().and_then(|v| v.to_scalar()) {
            Some(n) => Operand::Int(n.to_i128()),
            None => extent,
        },
        _ => extent,
    }
}

/// The first axis moved behind so many others, or back.
fn first_behind(x: &Variable, others: usize) -> Result<Variable> {
    x.try_moveaxis(0, others as isize)
}

/// A node that depends on the batch.
struct Rule<'a> {
    count: &'a Variable,
    apply: &'a Apply,
    inputs: Vec<Stand>,
}

impl Rule<'_> {
    /// An input with the batch's axis, of extent 1 if it is the same for all.
    fn wide(&self, at: usize) -> Result<Variable> {
        let Stand { variable, batched } = &self.inputs[at];
        if *batched { Ok(variable.clone()) } else { front(variable) }
    }

    /// An input with the batch's axis and extent.
    fn whole(&self, at: usize) -> Result<Variable> {
        let Stand { variable, batched } = &self.inputs[at];
        if *batched { Ok(variable.clone()) } else { repeated(variable, self.count) }
    }

    /// Inputs from here on, which are the same for all of the batch.
    fn same(&self, from: usize) -> Result<impl Iterator<Item = Variable> + '_> {
        let rest = &self.inputs[from..];
        if rest.iter().any(|i| i.batched) {
            Err(self.refuse())
        } else {
            Ok(rest.iter().map(|i| i.variable.clone()))
        }
    }

    fn refuse(&self) -> crate::Error {
        let op = self.apply.op.label();
        fail(
            "jacobian",
            format!("{op} has no rule for many rows at once; specify_shape says an unknown length"),
        )
    }

    fn outputs(&self) -> Result<Vec<Stand>> {
        let op = self.apply.op.as_ref();
        if let Some(shape) = downcast::<ShapeOf>(op) {
            let variable = ShapeOf::of(&self.inputs[0].variable, shape.axis + 1)?;
            return Ok(vec![Stand { variable, batched: false }]);
        }
        let pointwise = downcast::<Elemwise>(op).is_some() || downcast::<Cast>(op).is_some();
        let made = if pointwise || downcast::<WithGradient>(op).is_some() {
            let inputs: Vec<Variable> =
                (0..self.inputs.len()).map(|i| self.wide(i)).collect::<Result<_>>()?;
            Variable::apply_at(Arc::clone(&self.apply.op), &inputs, self.apply.place)?
        } else {
            vec![self.shaped(op)?.map_or_else(|| self.indexed(op), Ok)?]
        };
        Ok(made.into_iter().map(|variable| Stand { variable, batched: true }).collect())
    }

    /// Ops that move, repeat, fold or multiply.
    fn shaped(&self, op: &dyn Op) -> Result<Option<Variable>> {
        let one = |op: Result<Variable>| op.map(Some);
        if let Some(DimShuffle { order }) = downcast(op) {
            let order = std::iter::once(Some(0)).chain(order.iter().map(|o| o.map(|axis| axis + 1)));
            return one(DimShuffle::of(&self.wide(0)?, order.collect()));
        }
        if let Some(reduce) = downcast::<Reduce>(op) {
            let axes = reduce.axes.iter().map(|axis| axis + 1).collect();
            return one(Variable::apply1(Reduce { axes, ..reduce.clone() }, &[self.wide(0)?]));
        }
        if let Some(cumulative) = downcast::<CumOp>(op).filter(|c| c.fold == Fold::Sum) {
            let axis = cumulative.axis + 1;
            return one(Variable::apply1(CumOp { axis, ..*cumulative }, &[self.wide(0)?]));
        }
        if let Some(dot) = downcast::<Dot>(op) {
            return one(self.product(dot));
        }
        if downcast::<BroadcastLike>(op).is_some() {
            return one(BroadcastLike::of(&self.wide(0)?, &self.whole(1)?));
        }
        if downcast::<SumLike>(op).is_some() {
            return one(Variable::apply1(SumLike, &[self.whole(0)?, self.whole(1)?]));
        }
        if let Some(windows) = downcast::<Windows>(op) {
            return one(Variable::apply1(windows.clone(), &[self.wide(0)?]));
        }
        if let Some(sum) = downcast::<WindowSum>(op) {
            return one(Variable::apply1(sum.clone(), &[self.whole(0)?, self.whole(1)?]));
        }
        if let Some(Reshape { extents }) = downcast(op) {
            let (extents, further) = self.extents(extents)?;
            return one(Reshape::of(&self.whole(0)?, extents, &further));
        }
        if let Some(BroadcastTo { extents }) = downcast(op) {
            let (extents, further) = self.extents(extents)?;
            return one(BroadcastTo::of(&self.wide(0)?, extents, &further));
        }
        if let Some(SpecifyShape { extents }) = downcast(op) {
            let extents = std::iter::once(None).chain(extents.iter().copied()).collect();
            return one(Variable::apply1(SpecifyShape { extents }, &[self.wide(0)?]));
        }
        if let Some(Join { axis }) = downcast(op) {
            let inputs: Vec<Variable> =
                (0..self.inputs.len()).map(|i| self.whole(i)).collect::<Result<_>>()?;
            return one(Variable::apply1(Join { axis: axis + 1 }, &inputs));
        }
        Ok(None)
    }

    /// The extents of a result, with the batch's in front, and the Variables among them.
    fn extents(&self, extents: &[Extent]) -> Result<(Vec<Extent>, Vec<Variable>)> {
        let mut further: Vec<Variable> = self.same(1)?.collect();
        let first = match constant_extent(Operand::Variable(self.count.clone())) {
            Operand::Int(n) => Extent::Fixed(n as usize),
            _ => {
                further.push(self.count.clone());
                Extent::Input(further.len() - 1)
            }
        };
        Ok((std::iter::once(first).chain(extents.iter().copied()).collect(), further))
    }

    /// The batch's axis is one of the left factor's own, or the right one's, where only that has it; else one
    /// more that both have.
    fn product(&self, dot: &Dot) -> Result<Variable> {
        let [a, b] = [0, 1].map(|at| self.inputs[at].variable.clone());
        match (self.inputs[0].batched, self.inputs[1].batched) {
            (true, false) if dot.batch == 0 => dot.of(&a, &b),
            (false, true) if dot.batch == 0 => {
                let left = a.ndim() - dot.contracted;
                let product = dot.of(&a, &first_behind(&b, dot.contracted)?)?;
                product.try_moveaxis(left as isize, 0)
            }
            _ => Dot { batch: dot.batch + 1, ..*dot }.of(&self.wide(0)?, &self.wide(1)?),
        }
    }

    /// Ops that take or write parts, at positions that do not depend on the batch.
    fn indexed(&self, op: &dyn Op) -> Result<Variable> {
        let whole = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };
        let behind = |slots: &[Slot]| std::iter::once(whole).chain(slots.iter().copied()).collect();
        if let Some(Subtensor { slots }) = downcast(op) {
            let inputs: Vec<Variable> = std::iter::once(self.wide(0)?).chain(self.same(1)?).collect();
            return Variable::apply1(Subtensor { slots: behind(slots) }, &inputs);
        }
        if let Some(IncSubtensor { slots, set }) = downcast(op) {
            let inputs: Vec<Variable> =
                [self.whole(0)?, self.wide(1)?].into_iter().chain(self.same(2)?).collect();
            return Variable::apply1(IncSubtensor { slots: behind(slots), set: *set }, &inputs);
        }
        let rank = |from: usize| self.inputs[from..].iter().map(|i| i.variable.ndim()).max().unwrap_or(0);
        if downcast::<AdvancedSubtensor>(op).is_some() {
            let x = first_behind(&self.wide(0)?, self.inputs.len() - 1)?;
            let inputs: Vec<Variable> = std::iter::once(x).chain(self.same(1)?).collect();
            return Variable::apply1(AdvancedSubtensor, &inputs)?.try_moveaxis(rank(1) as isize, 0);
        }
        if let Some(write) = downcast::<AdvancedIncSubtensor>(op) {
            let count = self.inputs.len() - 2;
            let first = [first_behind(&self.whole(0)?, count)?, first_behind(&self.wide(1)?, rank(2))?];
            let inputs: Vec<Variable> = first.into_iter().chain(self.same(2)?).collect();
            return Variable::apply1(*write, &inputs)?.try_moveaxis(count as isize, 0);
        }
        Err(self.refuse())
    }
}
