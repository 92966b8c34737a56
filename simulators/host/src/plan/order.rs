//! The order of a phase's instructions: what is hoisted, what is fused to chains, where values are last used.

use super::super::chain::{InstGroup, chains};
use super::super::plan::LaneAxes;
use super::analysis::Facts;
use super::compile::PhaseScope;
use super::patterns::{ends, product};
use workalike_kernels::nest::{FoldOf, Inst, Phase};

/// The instructions of a phase that are needed, in order.
pub(crate) struct InstOrder {
    pub(crate) groups: Vec<InstGroup>,
    /// The number of groups that run before the others: once per chunk, or once per row.
    pub(crate) hoists: usize,
    /// Whether only chains read uniform values; they read only the first lanes.
    pub(crate) few: bool,
    /// Per root, the position of the last group that uses it; `usize::MAX` if a store, a fold or the loop
    /// does.
    pub(crate) last: Vec<usize>,
    /// Per root.
    pub(crate) uses: Vec<usize>,
    /// Per fold of the phase: whether a chain folds.
    pub(crate) folds: Vec<bool>,
    /// Per root: whether only chains read it.
    pub(crate) chained: Vec<bool>,
}

impl InstOrder {
    pub(crate) fn new(scope: &PhaseScope<'_>) -> InstOrder {
        let insts = &scope.phase.block.insts;
        let ends = ends(scope.phase, scope.facts);
        let mut needed = vec![false; insts.len()];
        ends.iter().for_each(|root| needed[*root] = true);
        for i in (0..insts.len()).rev() {
            if needed[i] {
                scope.each_used(i, &mut |root| needed[root] = true);
            }
        }
        let hoisted = |i: usize| scope.same[i];
        let (before, body): (Vec<usize>, Vec<usize>) =
            (0..insts.len()).filter(|i| needed[*i]).partition(|i| hoisted(*i));
        // Constants are filled in advance.
        let uniform = |i: usize| scope.uniform[i] && !matches!(insts[i], Inst::Const(_));
        let computed = |i: usize| scope.load_slot(i).is_none();
        let used = |i: usize, then: &mut dyn FnMut(usize)| scope.each_used(i, then);
        let mut groups = chains(insts, scope.facts, &before, (&computed, &used), |_| false);
        let hoists = groups.len();
        groups.extend(chains(insts, scope.facts, &body, (&computed, &used), uniform));

        let folds = add_folds(scope, &mut groups[hoists..]);

        let mut few = !ends.iter().any(|root| uniform(*root));
        for group in &groups[hoists..] {
            if let InstGroup::One(i) = group {
                scope.each_used(*i, &mut |root| few &= !uniform(root));
            }
        }
        let (mut last, mut uses) = (vec![0; insts.len()], vec![0; insts.len()]);
        for root in ends {
            last[root] = usize::MAX;
            uses[root] += 1;
        }
        for (position, group) in groups.iter().enumerate() {
            let use_at = |root: usize| {
                let at = if position >= hoists && hoisted(root) { usize::MAX } else { position };
                last[root] = last[root].max(at);
                uses[root] += 1;
            };
            scope.each_used_by(group, use_at);
        }
        let mut elsewhere = uses.clone();
        for group in &groups {
            if let InstGroup::Chain(members) = group {
                members.iter().flat_map(|m| &m.args).for_each(|root| elsewhere[*root] -= 1);
            }
        }
        let chained = elsewhere.iter().map(|uses| *uses == 0).collect();
        InstOrder { groups, hoists, few, last, uses, folds, chained }
    }
}

/// Adds folds to the chains that compute their values, where lanes are grid points: then a value goes from
/// its register to the accumulator. Says which folds were added.
fn add_folds(scope: &PhaseScope<'_>, groups: &mut [InstGroup]) -> Vec<bool> {
    let (phase, facts) = (scope.phase, scope.facts);
    let insts = &phase.block.insts;
    let add = |(at, fold): (usize, &FoldOf)| {
        if scope.lane_axes != Some(LaneAxes::Grid) || fold.index.is_some() {
            return false;
        }
        let args = folded(phase, facts, fold);
        let computes = |group: &InstGroup| {
            let mut found = false;
            group.each(|i| found |= args.contains(&i) && scope.load_slot(i).is_none());
            found
        };
        let last = groups.iter_mut().rev().find(|group| computes(group));
        last.is_some_and(|group| group.add_fold((insts, facts), (fold.fold, insts.len() + at), &args))
    };
    phase.folds.iter().enumerate().map(add).collect()
}

/// The roots of what a fold takes: a value, or the factors of a product.
fn folded(phase: &Phase, facts: &Facts, fold: &FoldOf) -> Vec<usize> {
    let values = product(phase, facts, fold).map_or(vec![fold.value], Vec::from);
    values.into_iter().map(|value| facts.roots[value as usize]).collect()
}
