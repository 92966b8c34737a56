//! What of a loop's iterations is computed outside of the loop, for all of them at once.

use super::Left;
use crate::error::Result;
use crate::graph::{Apply, Variable, ancestors};
use crate::op::Batched;
use crate::ops::batching::{batched_by, repeated};
use crate::ops::elemwise::{Cast, Elemwise};
use crate::ops::loops::LoopParts;
use crate::ops::{DimShuffle, Dot, Ix, Join, Reduce, Subtensor, SumLike};
use std::collections::{HashMap, HashSet};
use std::slice;
use std::sync::Arc;

/// The key of a Variable.
pub(super) type Key = (usize, usize);

/// Which values of an iteration are known outside of the loop.
#[derive(Debug)]
pub(super) struct Outside {
    /// Values of each iteration that are at hand for all iterations.
    pub(super) at_hand: HashSet<Key>,
    /// Values that are known within an iteration alone.
    within: HashSet<Key>,
}

impl Outside {
    /// Before the loop: its sequences.
    pub(super) fn before(parts: &LoopParts) -> Outside {
        let sequences = parts.sequences.iter().map(|bound| bound.within.key());
        let taps = parts.recurrences.iter().flat_map(|own| own.taps.iter().map(|(_, tap)| tap.key()));
        Outside { at_hand: sequences.collect(), within: taps.collect() }
    }

    /// After the loop: the sequences that have a slice for each iteration, and what the loop keeps.
    pub(super) fn after(left: &Left<'_>) -> Outside {
        let mut outside = Outside::before(&left.parts);
        for own in left.parts.sequences.iter().filter(|own| !left.parts.is_as_long(own)) {
            outside.at_hand.remove(&own.within.key());
            outside.within.insert(own.within.key());
        }
        for own in left.kept() {
            for (_, tap) in &own.taps {
                outside.within.remove(&tap.key());
                outside.at_hand.insert(tap.key());
            }
            outside.at_hand.insert(own.next.key());
        }
        let kept = left.parts.results.iter().enumerate().filter(|(at, _)| left.keeps_result(*at));
        outside.at_hand.extend(kept.map(|(_, result)| result.key()));
        outside
    }

    /// Whether something differs from iteration to iteration.
    pub(super) fn varies(&self, variable: &Variable) -> bool {
        let changes = |v: &Variable| self.at_hand.contains(&v.key()) || self.within.contains(&v.key());
        changes(variable) || ancestors(slice::from_ref(variable), |_| false).iter().any(changes)
    }

    /// Whether something can be computed from what is at hand, `more` included, by ops that `takes` allows.
    pub(super) fn has(&self, of: &Variable, more: &[Variable], takes: impl Fn(&Apply) -> bool) -> bool {
        let own = ancestors(slice::from_ref(of), |v| self.is_at_hand(v, more));
        own.iter().all(|v| match v.owner() {
            Some((apply, _)) => takes(apply),
            None => !self.within.contains(&v.key()),
        })
    }

    /// The nodes between something and what is at hand, `more` included, whose values it takes.
    pub(super) fn made_of(&self, of: &Variable, more: &[Variable]) -> Vec<Arc<Apply>> {
        let read = read(slice::from_ref(of), |v| self.is_at_hand(v, more));
        read.iter().filter_map(|v| Some(v.owner()?.0.clone())).collect()
    }

    fn is_at_hand(&self, variable: &Variable, more: &[Variable]) -> bool {
        self.at_hand.contains(&variable.key()) || more.iter().any(|own| own.key() == variable.key())
    }
}

/// What has to be computed for `roots`, each after its dependences: without what gives a shape alone. The
/// walk stops at Variables for which `stop` holds; these are not listed.
pub(super) fn read(roots: &[Variable], stop: impl Fn(&Variable) -> bool) -> Vec<Variable> {
    let all = ancestors(roots, &stop);
    let mut read: HashSet<Key> = roots.iter().map(Variable::key).collect();
    for variable in all.iter().rev() {
        if let Some((apply, _)) = variable.owner().filter(|_| read.contains(&variable.key())) {
            read.extend(values_read(apply).iter().map(Variable::key));
        }
    }
    all.into_iter().filter(|v| read.contains(&v.key())).collect()
}

/// The inputs of a node whose values it reads.
pub(super) fn values_read(apply: &Apply) -> &[Variable] {
    &apply.inputs[..apply.op.read_inputs(apply.inputs.len()).min(apply.inputs.len())]
}

/// Whether an op takes no more time and memory for all iterations at once than in each.
pub(super) fn is_cheap(apply: &Apply) -> bool {
    let op = apply.op.as_ref();
    let by_element = op.downcast::<Elemwise>().is_some() || op.downcast::<Cast>().is_some();
    let view = op.downcast::<DimShuffle>().is_some() || op.downcast::<SumLike>().is_some();
    // A slice of fixed bounds.
    let slice = op.downcast::<Subtensor>().is_some() && apply.inputs.len() == 1;
    let moved = slice || op.downcast::<Join>().is_some() || op.downcast::<Reduce>().is_some();
    by_element || view || moved
}

pub(super) fn is_product(apply: &Apply) -> bool {
    apply.op.downcast::<Dot>().is_some()
}

/// The values of all iterations.
pub(super) struct IterationValues<'a> {
    /// Of Variables of an iteration, the values of all along a new first axis, or what is the same in all.
    values: HashMap<Key, Batched>,
    pub(super) count: &'a Variable,
}

impl IterationValues<'_> {
    /// Before a loop.
    pub(super) fn before(parts: &LoopParts) -> IterationValues<'_> {
        let each = parts.sequences.iter().map(|own| (own.within.key(), Batched::each(own.outside.clone())));
        let same = parts.constants.iter().map(|own| (own.within.key(), Batched::shared(own.outside.clone())));
        IterationValues { values: each.chain(same).collect(), count: &parts.steps }
    }

    /// Variables of an iteration for all of them.
    ///
    /// # Errors
    /// If an op has no batching rule.
    pub(super) fn whole(&self, of: &[Variable]) -> Result<Vec<Batched>> {
        batched_by(of, self.values.clone(), self.count)
    }

    /// The values of a Variable in all iterations, along a new first axis.
    pub(super) fn rows(&self, of: &Variable) -> Result<Variable> {
        let Batched { variable, batched } = self.whole(slice::from_ref(of))?.remove(0);
        if batched { Ok(variable) } else { repeated(&variable, self.count) }
    }
}

impl Left<'_> {
    /// After the loop that is left, whose outputs these are.
    pub(super) fn iterations<'p>(
        &self,
        whole: &'p LoopParts,
        traces: &[Variable],
        results: &[Variable],
    ) -> Result<IterationValues<'p>> {
        let mut iterations = IterationValues::before(whole);
        let mut insert = |own: &Variable, all: Variable| {
            // An output may be an input.
            iterations.values.entry(own.key()).or_insert(Batched::each(all));
        };
        for (own, trace) in self.parts.recurrences.iter().zip(traces) {
            let rows = |lag: usize| {
                let first = (own.depth() - lag) as i64;
                let rows = if lag == 0 { Ix::from(first..) } else { Ix::from(first..-(lag as i64)) };
                let rows = trace.try_index([rows])?;
                // In the order of the sequences.
                if whole.backwards() { rows.try_index([Ix::from(..).step(-1)]) } else { Ok(rows) }
            };
            for (lag, tap) in &own.taps {
                insert(tap, rows(*lag)?);
            }
            insert(&own.next, rows(0)?);
        }
        self.parts.results.iter().zip(results).for_each(|(own, all)| insert(own, all.clone()));
        Ok(iterations)
    }
}
