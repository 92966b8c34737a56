//! Results that are products of what the loop keeps, after the loop.

use super::Left;
use super::outside::{Outside, is_cheap, is_product, read};
use crate::graph::{Apply, Variable};
use crate::ops::Reduce;
use std::collections::HashSet;
use std::sync::Arc;

/// Takes such results out of a loop; returns their positions among the results of the whole loop.
pub(super) fn take(left: &mut Left<'_>) -> Vec<(usize, Variable)> {
    let mut moved = Vec::new();
    if !left.parts.flows_through() {
        // Its gradient would no longer end where it should.
        return moved;
    }
    let mut outside = Outside::after(left);
    for at in 0..left.results.len() {
        let Some(place) = left.results[at] else { continue };
        let result = left.parts.results[place].clone();
        let next = left.parts.recurrences.iter().map(|own| &own.next);
        let results = left.parts.results.iter().enumerate().filter(|(other, _)| *other != place);
        let others: Vec<Variable> = next.chain(results.map(|(_, other)| other)).cloned().collect();
        if others.iter().any(|other| other.key() == result.key()) {
            continue;
        }
        let kept = outside.at_hand.remove(&result.key());
        if leaves(&outside, &result, &others) {
            left.parts.results.remove(place);
            left.results[at] = None;
            left.results.iter_mut().flatten().filter(|own| **own > place).for_each(|own| *own -= 1);
            moved.push((at, result));
        } else if kept {
            outside.at_hand.insert(result.key());
        }
    }
    moved
}

/// Whether a result is made of products that the loop does not need for `others`. What is summed up is
/// smaller than what it is made of, and stays.
fn leaves(outside: &Outside, result: &Variable, others: &[Variable]) -> bool {
    let made = outside.made_of(result, &[]);
    let products: HashSet<*const Apply> =
        made.iter().filter(|apply| is_product(apply)).map(Arc::as_ptr).collect();
    let is_reduction = |apply: &Apply| apply.op.downcast::<Reduce>().is_some();
    let takes = |apply: &Apply| is_product(apply) || (is_cheap(apply) && !is_reduction(apply));
    if products.is_empty() || !outside.has(result, &[], takes) {
        return false;
    }
    let needed = read(others, |_| false);
    let mut needed = needed.iter().filter_map(Variable::owner);
    !needed.any(|(apply, _)| products.contains(&Arc::as_ptr(apply)))
}
