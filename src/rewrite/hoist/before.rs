//! Products of slices of sequences, before the loop.

use super::outside::{IterationValues, Key, Outside, is_cheap, is_product, read, values_read};
use crate::error::Result;
use crate::graph::{Apply, Variable, ancestors, rebuild};
use crate::op::Batched;
use crate::ops::Dot;
use crate::ops::loops::{LoopArgument, LoopParts};
use crate::ops::op_from_graph::{pairs, stand_ins};
use std::collections::HashSet;
use std::slice;

/// How many times larger than its factor the product of a slice may be: those of all iterations are kept.
const MOST_GROWTH: usize = 8;

/// The loop without such products, which it gets as sequences; `None` if there are none.
pub(super) fn taken(whole: &LoopParts) -> Result<Option<LoopParts>> {
    let next = whole.recurrences.iter().map(|own| &own.next);
    let outputs: Vec<Variable> = next.chain(&whole.results).cloned().collect();
    let products = products(&outputs, whole);
    if products.is_empty() {
        return Ok(None);
    }
    let all = IterationValues::before(whole).whole(&products)?;
    let slices = stand_ins(&products);
    let mut outputs = rebuild(&outputs, &mut pairs(&products, &slices), |_, _| Ok(None))?;
    let mut parts = whole.clone();
    parts.results = outputs.split_off(parts.recurrences.len());
    parts.recurrences.iter_mut().zip(outputs).for_each(|(own, next)| own.next = next);
    let sequence = |(within, all): (Variable, Batched)| LoopArgument { within, outside: all.variable };
    parts.sequences.extend(slices.into_iter().zip(all).map(sequence));
    Ok(Some(parts))
}

/// The products that depend on sequences alone. One that only another of them reads is a part of that one.
fn products(outputs: &[Variable], parts: &LoopParts) -> Vec<Variable> {
    let outside = Outside::before(parts);
    let takes = |apply: &Apply| is_cheap(apply) || is_product(apply);
    let hoisted = |v: &Variable| {
        let product = v.owner().is_some_and(|(apply, _)| is_product(apply) && is_small(apply, &outside));
        product && outside.varies(v) && outside.has(v, &[], takes) && fits(v, parts)
    };
    let all: Vec<Variable> = read(outputs, |_| false).into_iter().filter(hoisted).collect();
    let keys: HashSet<Key> = all.iter().map(Variable::key).collect();
    let others = read(outputs, |v| keys.contains(&v.key()));
    let inputs = others.iter().filter_map(Variable::owner).flat_map(|(apply, _)| values_read(apply));
    let used: HashSet<Key> = inputs.chain(outputs).map(Variable::key).collect();
    all.into_iter().filter(|v| used.contains(&v.key())).collect()
}

/// Whether the sequences that something depends on are known to be equally long. The loop checks one alone.
fn fits(product: &Variable, parts: &LoopParts) -> bool {
    let all: HashSet<Key> =
        ancestors(slice::from_ref(product), |_| false).iter().map(Variable::key).collect();
    let own: Vec<&LoopArgument> =
        parts.sequences.iter().filter(|own| all.contains(&own.within.key())).collect();
    own.len() == 1 || own.iter().all(|own| parts.is_as_long(own))
}

/// Whether a product is not much larger than a factor of it that differs from iteration to iteration, as far
/// as extents are known.
fn is_small(product: &Apply, outside: &Outside) -> bool {
    let (Some(dot), [a, b]) = (product.op.downcast::<Dot>(), &product.inputs[..]) else {
        return false;
    };
    let count = |extents: &[Option<usize>]| {
        extents.iter().try_fold(1usize, |all, extent| Some(all.saturating_mul((*extent)?)))
    };
    let (left, sums) = a.ty().shape[dot.batch..].split_at(a.ndim() - dot.batch - dot.contracted);
    let (same, right) = b.ty().shape[dot.batch..].split_at(dot.contracted);
    let sums: Vec<Option<usize>> = sums.iter().zip(same).map(|(sum, same)| sum.or(*same)).collect();
    let sums = count(&sums);
    let grows = |more: &[Option<usize>]| match (count(more), sums) {
        (Some(more), Some(sums)) => more > sums.saturating_mul(MOST_GROWTH),
        _ => false,
    };
    (outside.varies(a) && !grows(right)) || (outside.varies(b) && !grows(left))
}
