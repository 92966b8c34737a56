//! Gradients of a loop's constants. Each is a sum over all iterations, which the loop backwards would carry
//! and add to. Where the terms are products, as for the weights of a recurrent network, the loop hands out
//! their factors instead, and one product over all iterations adds them up: the factors are as large as the
//! values that the gradient reads in any case, and one large product takes less time than many small ones.

use crate::error::{Error, Result};
use crate::grad::batched_by;
use crate::graph::{Apply, Variable, ancestors};
use crate::kernels::ops as scalar;
use crate::ops::contract::{Label, contract};
use crate::ops::{Batched, Cast, DimShuffle, Dot, Elemwise, Join, Reduce, Subtensor, SumLike, downcast};
use std::collections::{HashMap, HashSet};

/// The key of a Variable.
type Key = (usize, usize);

/// Which sums over iterations are made after the loop, and what of each iteration they need for that.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// For each term in question, whether its sum is made after the loop.
    pub(super) after: Vec<bool>,
    /// What the loop hands out of each iteration.
    pub(super) factors: Vec<Variable>,
}

/// What is known of the expressions of an iteration.
pub(super) struct Known {
    /// Values of each iteration that are at hand after the loop.
    pub(super) at_hand: HashSet<Key>,
    /// Values that are at hand in an iteration alone.
    pub(super) within: HashSet<Key>,
}

impl Sums {
    /// The sums of these terms.
    pub(super) fn of(terms: &[&Variable], mut known: Known) -> Sums {
        let mut sums = Sums { after: vec![false; terms.len()], factors: vec![] };
        // Sums that need no factor of their own come after those that do.
        for only_products in [true, false] {
            for (at, term) in terms.iter().enumerate() {
                let mut more = Vec::new();
                if !sums.after[at] && known.adds_up(term, only_products, &mut more) {
                    sums.after[at] = true;
                    known.at_hand.extend(more.iter().map(Variable::key));
                    sums.factors.extend(more);
                }
            }
        }
        sums
    }
}

impl Known {
    /// Whether the sum of a term can be made after the loop; adds the factors that are not at hand yet.
    fn adds_up(&self, term: &Variable, only_products: bool, more: &mut Vec<Variable>) -> bool {
        match Form::of(term) {
            Form::Sum([a, b]) => self.adds_up(a, only_products, more) && self.adds_up(b, only_products, more),
            Form::View(apply, of) => {
                let same = apply.inputs[1..].iter().all(|rest| !self.varies(rest));
                same && self.adds_up(of, only_products, more)
            }
            Form::Product(factors) | Form::Outer(factors) => {
                factors.iter().all(|factor| self.varies(factor) && self.keeps(factor, more))
            }
            Form::Other => !only_products && self.varies(term) && self.is_after(term, false, more),
        }
    }

    /// Whether something differs from iteration to iteration.
    fn varies(&self, variable: &Variable) -> bool {
        let changes = |v: &Variable| self.at_hand.contains(&v.key()) || self.within.contains(&v.key());
        changes(variable) || ancestors(std::slice::from_ref(variable), |_| false).iter().any(changes)
    }

    /// Sees to it that a factor is at hand after the loop.
    fn keeps(&self, factor: &Variable, more: &mut Vec<Variable>) -> bool {
        let of = unshuffled(factor);
        if self.is_after(of, true, more) {
            return true;
        }
        // The results of a loop within are not kept: it may be there to save memory.
        let own = ancestors(std::slice::from_ref(of), |v| self.at_hand.contains(&v.key()));
        let plain = own.iter().all(|v| v.owner().is_none_or(|(apply, _)| apply.op.bodies().is_empty()));
        if plain {
            more.push(of.clone());
        }
        plain
    }

    /// Whether something can be computed after the loop for all iterations at once, from what is at hand.
    fn is_after(&self, variable: &Variable, products: bool, more: &[Variable]) -> bool {
        let at_hand =
            |v: &Variable| self.at_hand.contains(&v.key()) || more.iter().any(|own| own.key() == v.key());
        let own = ancestors(std::slice::from_ref(variable), at_hand);
        own.iter().all(|v| match v.owner() {
            Some((apply, _)) => is_cheap(apply, products),
            None => !self.within.contains(&v.key()),
        })
    }
}

/// Whether an op takes the same time for all iterations at once as in each, and as much memory.
fn is_cheap(apply: &Apply, products: bool) -> bool {
    let op = apply.op.as_ref();
    let by_element = downcast::<Elemwise>(op).is_some() || downcast::<Cast>(op).is_some();
    let view = downcast::<DimShuffle>(op).is_some() || downcast::<SumLike>(op).is_some();
    // A slice of fixed bounds.
    let slice = downcast::<Subtensor>(op).is_some() && apply.inputs.len() == 1;
    let moved = slice || downcast::<Join>(op).is_some() || downcast::<Reduce>(op).is_some();
    by_element || view || moved || (products && downcast::<Dot>(op).is_some())
}

/// How a term is made.
enum Form<'a> {
    /// The sum of two of the same type.
    Sum([&'a Variable; 2]),
    /// A linear op with one argument that matters.
    View(&'a Apply, &'a Variable),
    /// A [`Dot`].
    Product([&'a Variable; 2]),
    /// A product of factors that broadcast along each other's axes.
    Outer([&'a Variable; 2]),
    Other,
}

impl<'a> Form<'a> {
    fn of(term: &'a Variable) -> Form<'a> {
        let Some((apply, _)) = term.owner() else { return Form::Other };
        let op = apply.op.as_ref();
        match (&apply.inputs[..], downcast::<Elemwise>(op).map(|elemwise| elemwise.op)) {
            ([a, b], Some(op)) if op == scalar::ADD && a.ty() == b.ty() => Form::Sum([a, b]),
            ([a, b], Some(op)) if op == scalar::MUL && is_outer(a, b) => Form::Outer([a, b]),
            ([a, b], None) if downcast::<Dot>(op).is_some() => Form::Product([a, b]),
            ([x, ..], None) if downcast::<DimShuffle>(op).is_some() || downcast::<SumLike>(op).is_some() => {
                Form::View(apply, x)
            }
            _ => Form::Other,
        }
    }
}

/// Whether each axis of the product is one of one factor alone, and both have some.
fn is_outer(a: &Variable, b: &Variable) -> bool {
    let pairs = || a.ty().shape.iter().zip(&b.ty().shape);
    let own = pairs().all(|(a, b)| (*a == Some(1)) != (*b == Some(1)));
    own && pairs().any(|(a, _)| *a == Some(1)) && pairs().any(|(_, b)| *b == Some(1)) && a.dtype().is_float()
}

/// Without changes of the axes.
fn unshuffled(mut x: &Variable) -> &Variable {
    while let Some((apply, _)) = x.owner()
        && downcast::<DimShuffle>(apply.op.as_ref()).is_some()
        && let Some(of) = apply.inputs.first()
    {
        x = of;
    }
    x
}

/// What is at hand after the loop, for all iterations.
pub(super) struct After<'a> {
    pub(super) values: HashMap<Key, Batched>,
    /// The number of iterations.
    pub(super) count: &'a Variable,
}

impl After<'_> {
    /// The sum of a term over all iterations.
    ///
    /// # Errors
    /// If an op has no batching rule.
    pub(super) fn sum(&self, term: &Variable) -> Result<Variable> {
        match Form::of(term) {
            Form::Sum([a, b]) => self.sum(a)?.try_add(self.sum(b)?),
            Form::View(apply, of) => {
                let rest = self.whole(&apply.inputs[1..])?.into_iter().map(|rest| rest.variable);
                let inputs: Vec<Variable> = [self.sum(of)?].into_iter().chain(rest).collect();
                let mut outputs = Variable::apply_at(apply.op.clone(), &inputs, apply.place)?;
                outputs.pop().ok_or_else(|| Error::Internal("a view has no output".into()))
            }
            Form::Product([a, b]) => {
                let dot = term.owner().and_then(|(apply, _)| downcast::<Dot>(apply.op.as_ref()));
                let dot = dot.ok_or_else(|| Error::Internal("a product is none".into()))?;
                self.contracted([a, b], dot.labels(a.ndim(), b.ndim()))
            }
            Form::Outer([a, b]) => {
                let own = |x: &Variable| -> Vec<usize> {
                    (0..x.ndim()).filter(|&axis| x.ty().shape[axis] != Some(1)).collect()
                };
                let labels = |x: &Variable| own(x).into_iter().map(|axis| axis as Label).collect();
                let short = |x: &Variable| DimShuffle::of(x, own(x).into_iter().map(Some).collect());
                let all = (0..term.ndim() as Label).collect();
                self.contracted([&short(a)?, &short(b)?], [labels(a), labels(b), all])
            }
            Form::Other => {
                let whole = self.whole(std::slice::from_ref(term))?.remove(0).variable;
                Reduce::sum_in(&whole, &[0], whole.dtype())
            }
        }
    }

    /// Variables of an iteration for all of them.
    fn whole(&self, of: &[Variable]) -> Result<Vec<Batched>> {
        batched_by(of, self.values.clone(), self.count)
    }

    /// The sum over all iterations of a product of factors with these axes.
    fn contracted(&self, [a, b]: [&Variable; 2], [la, lb, out]: [Vec<Label>; 3]) -> Result<Variable> {
        // A label that no axis has.
        let iterations = Label::MAX;
        let with = |labels: Vec<Label>| [vec![iterations], labels].concat();
        let factors = self.whole(&[a.clone(), b.clone()])?;
        contract((&factors[0].variable, &with(la)), (&factors[1].variable, &with(lb)), &out)
    }
}
