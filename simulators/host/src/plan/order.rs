//! The order of a phase's instructions: what is hoisted, what is fused to chains, where values are last used.

use super::super::chain::{Group, chains};
use super::compile::Scope;
use super::patterns::ends;
use workalike_kernels::nest::Inst;

/// The instructions of a phase that are needed, in order.
pub(crate) struct Order {
    pub(crate) groups: Vec<Group>,
    /// The number of groups that run before the others: once per chunk, or once per row.
    pub(crate) hoists: usize,
    /// Whether only chains read uniform values; they read only the first lanes.
    pub(crate) few: bool,
    /// Per root, the position of the last group that uses it; `usize::MAX` if a store, a fold or the loop
    /// does.
    pub(crate) last: Vec<usize>,
    /// Per root.
    pub(crate) uses: Vec<usize>,
}

impl Order {
    pub(crate) fn new(scope: &Scope<'_>) -> Order {
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
        let computed = |i: usize| scope.found(i).is_none();
        let used = |i: usize, then: &mut dyn FnMut(usize)| scope.each_used(i, then);
        let mut groups = chains(insts, scope.facts, &before, (&computed, &used), |_| false);
        let hoists = groups.len();
        groups.extend(chains(insts, scope.facts, &body, (&computed, &used), uniform));

        let mut few = !ends.iter().any(|root| uniform(*root));
        for group in &groups[hoists..] {
            if let Group::One(i) = group {
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
        Order { groups, hoists, few, last, uses }
    }
}
