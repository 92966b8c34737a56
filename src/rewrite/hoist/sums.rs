//! Sums of products over all iterations, after the loop. The gradient of a weight is such a sum: a loop
//! backwards carries it, and adds a product to it in each iteration. Instead the loop hands out the factors,
//! and one product over all iterations adds them up.
//!
//! Of two factors one is at hand in any case, and the other is about as large, so that the loop keeps about
//! as much as it is given.

use super::Left;
use super::outside::{IterationValues, Outside, is_cheap, is_product};
use crate::error::{Error, Result};
use crate::graph::{Apply, Variable, ancestors};
use crate::ops::batching::repeated;
use crate::ops::contract::{Label, contract};
use crate::ops::elemwise::Elemwise;
use crate::ops::loops::Recurrence;
use crate::ops::specify_shape::EqualExtents;
use crate::ops::{DimShuffle, Dot, Ix, Reduce, SumLike};
use crate::value::Value;
use std::slice;
use workalike_kernels::ops as scalar;

/// Takes such sums out of a loop, which gets their factors as results; returns the positions of their
/// recurrences in the whole loop, and the terms.
pub(super) fn take(left: &mut Left<'_>) -> Vec<(usize, Variable)> {
    let mut taken: Vec<(usize, Variable)> = Vec::new();
    if !left.parts.flows_through() {
        return taken;
    }
    let terms: Vec<(usize, Variable)> =
        (0..left.recurrences.len()).filter_map(|at| Some((at, term(left, at)?))).collect();
    let mut outside = Outside::after(left);
    // What needs no factor of its own comes after what does.
    for only_products in [true, false] {
        for (at, term) in &terms {
            let mut more = Vec::new();
            let known = taken.iter().any(|(own, _)| own == at);
            if !known && adds_up(&outside, term, only_products, &mut more) {
                outside.at_hand.extend(more.iter().map(Variable::key));
                left.parts.results.extend(more);
                taken.push((*at, term.clone()));
            }
        }
    }
    for (at, _) in &taken {
        if let Some(place) = left.recurrences[*at].take() {
            left.parts.recurrences.remove(place);
            left.recurrences.iter_mut().flatten().filter(|own| **own > place).for_each(|own| *own -= 1);
        }
    }
    taken
}

/// The term that each iteration adds to a recurrence, if only its last value is read, and nothing in the loop
/// reads it.
fn term(left: &Left<'_>, at: usize) -> Option<Variable> {
    let own = left.parts.recurrences.get(at).filter(|_| left.reads_last(at))?;
    let [(1, tap)] = &own.taps[..] else { return None };
    let (apply, _) = own.next.owner()?;
    let is_sum = apply.op.downcast::<Elemwise>()?.op == scalar::ADD;
    let [a, b] = &apply.inputs[..] else { return None };
    let term = if a.key() == tap.key() { b } else { a };
    let others =
        left.parts.recurrences.iter().map(|other| &other.next).filter(|next| next.key() != own.next.key());
    let others: Vec<Variable> = others.chain(&left.parts.results).chain([term]).cloned().collect();
    let twice = left.parts.recurrences.iter().filter(|other| other.next.key() == own.next.key()).count() > 1;
    let read =
        ancestors(&others, |_| false).iter().any(|v| v.key() == tap.key() || v.key() == own.next.key());
    let plain = is_sum && a.ty() == b.ty() && (a.key() == tap.key() || b.key() == tap.key());
    (plain && !twice && !read && term.dtype().is_float()).then(|| term.clone())
}

/// Whether the sum of a term can be made after the loop; adds the factors that are not at hand yet.
fn adds_up(outside: &Outside, term: &Variable, only_products: bool, more: &mut Vec<Variable>) -> bool {
    match TermKind::of(term) {
        TermKind::Sum(terms) => terms.iter().all(|term| adds_up(outside, term, only_products, more)),
        TermKind::View(apply, of) => {
            let same = apply.inputs[1..].iter().all(|rest| !outside.varies(rest));
            same && adds_up(outside, of, only_products, more)
        }
        TermKind::Product(factors) | TermKind::Outer(factors) => {
            let at_hand = factors.iter().any(|factor| outside.has(factor, &[], is_kept));
            at_hand && factors.iter().all(|factor| outside.varies(factor) && keeps(outside, factor, more))
        }
        TermKind::Other => !only_products && outside.varies(term) && outside.has(term, more, is_cheap),
    }
}

/// Whether an op of a factor can be computed after the loop.
fn is_kept(apply: &Apply) -> bool {
    is_cheap(apply) || is_product(apply)
}

/// Sees to it that a factor is at hand after the loop.
fn keeps(outside: &Outside, factor: &Variable, more: &mut Vec<Variable>) -> bool {
    if outside.has(factor, more, is_kept) {
        return true;
    }
    let of = viewed(factor);
    // The results of a loop within are not kept: it may be there to save memory.
    if outside.made_of(of, more).iter().any(|apply| !apply.op.bodies().is_empty()) {
        return false;
    }
    more.push(of.clone());
    outside.has(factor, more, is_kept)
}

/// How a term is made.
enum TermKind<'a> {
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

impl<'a> TermKind<'a> {
    fn of(term: &'a Variable) -> TermKind<'a> {
        let Some((apply, _)) = term.owner() else { return TermKind::Other };
        let op = apply.op.as_ref();
        match (&apply.inputs[..], op.downcast::<Elemwise>().map(|elemwise| elemwise.op)) {
            ([a, b], Some(op)) if op == scalar::ADD && a.ty() == b.ty() => TermKind::Sum([a, b]),
            ([a, b], Some(op)) if op == scalar::MUL && is_outer(a, b) => TermKind::Outer([a, b]),
            ([a, b], None) if op.downcast::<Dot>().is_some() => TermKind::Product([a, b]),
            ([x, ..], None)
                if op.downcast::<DimShuffle>().is_some() || op.downcast::<SumLike>().is_some() =>
            {
                TermKind::View(apply, x)
            }
            _ => TermKind::Other,
        }
    }
}

/// Whether each axis of the product is one of one factor alone, and both have some.
fn is_outer(a: &Variable, b: &Variable) -> bool {
    let pairs = || a.ty().shape.iter().zip(&b.ty().shape);
    let own = pairs().all(|(a, b)| (*a == Some(1)) != (*b == Some(1)));
    own && pairs().any(|(a, _)| *a == Some(1)) && pairs().any(|(_, b)| *b == Some(1)) && a.dtype().is_float()
}

/// What it is a view of.
fn viewed(mut x: &Variable) -> &Variable {
    while let TermKind::View(_, of) = TermKind::of(x) {
        x = of;
    }
    x
}

impl IterationValues<'_> {
    /// The values of a recurrence that adds a term in each iteration; all of them are the last one, which
    /// alone is read.
    ///
    /// # Errors
    /// If an op has no batching rule.
    pub(super) fn total(&self, own: &Recurrence, term: &Variable) -> Result<Variable> {
        let first = own.initial.try_index([Ix::from(0i64)])?;
        // A constant, so that the type tells the extent as it did before.
        let known = self.count.constant_value().and_then(Value::to_scalar);
        let rows = match known.and_then(|count| i64::try_from(count.to_i128()).ok()) {
            Some(count) => Variable::constant(count.saturating_add(1)),
            None => self.count.try_add(1i64)?,
        };
        let mut total = first.try_add(self.sum(term)?)?;
        // A carried value keeps its shape.
        for axis in 0..total.ndim() {
            total = EqualExtents::of("scan", (&total, axis), (&first, axis))?;
        }
        repeated(&total, &rows)
    }

    /// The sum of a term over all iterations.
    ///
    /// # Errors
    /// If an op has no batching rule.
    fn sum(&self, term: &Variable) -> Result<Variable> {
        match TermKind::of(term) {
            TermKind::Sum([a, b]) => self.sum(a)?.try_add(self.sum(b)?),
            TermKind::View(apply, of) => {
                let rest = self.whole(&apply.inputs[1..])?.into_iter().map(|rest| rest.variable);
                let inputs: Vec<Variable> = [self.sum(of)?].into_iter().chain(rest).collect();
                let mut outputs = Variable::apply_at(apply.op.clone(), &inputs, apply.place)?;
                outputs.pop().ok_or_else(|| Error::Internal("a view has no output".into()))
            }
            TermKind::Product([a, b]) => {
                let dot = term.owner().and_then(|(apply, _)| apply.op.downcast::<Dot>());
                let dot = dot.ok_or_else(|| Error::Internal("a product is none".into()))?;
                self.contracted([a, b], dot.labels(a.ndim(), b.ndim()))
            }
            TermKind::Outer([a, b]) => {
                let own = |x: &Variable| -> Vec<usize> {
                    (0..x.ndim()).filter(|&axis| x.ty().shape[axis] != Some(1)).collect()
                };
                let labels = |x: &Variable| own(x).into_iter().map(|axis| axis as Label).collect();
                let short = |x: &Variable| DimShuffle::of(x, own(x).into_iter().map(Some).collect());
                let all = (0..term.ndim() as Label).collect();
                self.contracted([&short(a)?, &short(b)?], [labels(a), labels(b), all])
            }
            TermKind::Other => {
                let whole = self.whole(slice::from_ref(term))?.remove(0).variable;
                Reduce::sum_in(&whole, &[0], whole.dtype())
            }
        }
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
