//! The order of a Nest's instructions: each directly before the first that needs it, so that few values are
//! alive at once. A joined Nest has all instructions of the earlier Nest before those of the later, so that
//! every value that the later one reads would stay alive until then.

use workalike_kernels::nest::{Inst, Nest, Phase, Value};

/// Orders the instructions of every phase.
pub(super) fn schedule(nest: &mut Nest) {
    nest.phases.iter_mut().for_each(order);
}

/// Orders the instructions of a phase.
fn order(phase: &mut Phase) {
    let (order, _) = order_of(phase);
    // What nothing needs has no place.
    let mut place: Vec<Value> = vec![0; phase.block.insts.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as Value);
    let mut insts: Vec<Option<Inst>> = std::mem::take(&mut phase.block.insts).into_iter().map(Some).collect();
    phase.block.insts = order.into_iter().filter_map(|at| insts[at].take()).collect();
    phase.block.insts.iter_mut().for_each(|inst| inst.map_values(|value| place[value as usize]));
    phase.rename(&place);
}

/// The instructions that a phase needs, in an order in which few values are alive at once, and the most that
/// are.
pub(super) fn order_of(phase: &Phase) -> (Vec<usize>, usize) {
    let insts = &phase.block.insts;
    let reports = (0..insts.len()).filter(|&at| insts[at].status().is_some());
    let results = phase.results().map(|value| value as usize).chain(reports).collect();
    // Constants and axes need no register of their own.
    let is_free = |at: usize| matches!(insts[at], Inst::Const(_) | Inst::Axis(_));
    let order = ScheduleGraph {
        count: insts.len(),
        results,
        arguments: &|at, visit| insts[at].for_each_value(|argument| visit(argument as usize)),
        is_free: &is_free,
    }
    .order();
    let alive = alive(phase, &order);
    (order, alive)
}

/// The most values of a phase that are alive at once, if its instructions are in this order.
fn alive(phase: &Phase, order: &[usize]) -> usize {
    let insts = &phase.block.insts;
    // When each value is used last; stored and folded values, after all instructions.
    let mut ends = vec![0; insts.len()];
    for (time, &at) in order.iter().enumerate() {
        insts[at].for_each_value(|value| ends[value as usize] = time);
    }
    phase.results().for_each(|value| ends[value as usize] = order.len());
    let mut dying: Vec<usize> = vec![0; order.len() + 1];
    let (mut now, mut most) = (0usize, 0);
    for (time, &at) in order.iter().enumerate() {
        now -= dying[time];
        // Constants and axes need no register of their own.
        if ends[at] > time && !matches!(insts[at], Inst::Const(_) | Inst::Axis(_)) {
            now += 1;
            dying[ends[at]] += 1;
        }
        most = most.max(now);
    }
    most
}

/// Visits the arguments of a node.
pub(super) type Arguments<'a> = dyn Fn(usize, &mut dyn FnMut(usize)) + 'a;

/// A graph whose nodes are to be ordered.
pub(super) struct ScheduleGraph<'a> {
    /// The number of nodes.
    pub(super) count: usize,
    /// The nodes whose values are needed at the end.
    pub(super) results: Vec<usize>,
    pub(super) arguments: &'a Arguments<'a>,
    /// Whether a value costs nothing to keep.
    pub(super) is_free: &'a dyn Fn(usize) -> bool,
}

impl ScheduleGraph<'_> {
    /// The nodes that are found from the results, each behind its arguments: in the order of a walk, depth
    /// first, but a node that is the last to need some value comes as soon as it can. It replaces that value,
    /// which would have to be kept until then, so there are never more values than in the walk. Where two
    /// sums go over the same terms, the walk alone would finish one before the other, with all terms alive.
    pub(super) fn order(&self) -> Vec<usize> {
        let walked = self.walk();
        let mut ready = ReadyList::of(self, &walked);
        let mut order = Vec::with_capacity(walked.len());
        for node in walked {
            let mut next = vec![node];
            while let Some(node) = next.pop() {
                if !std::mem::replace(&mut ready.done[node], true) {
                    order.push(node);
                    ready.follow(self, node, &mut next);
                }
            }
        }
        order
    }

    /// The nodes that are found, depth first.
    fn walk(&self) -> Vec<usize> {
        let mut waiting: Vec<Visit> = self.results.iter().copied().map(Visit::Enter).collect();
        // The first result is visited first.
        waiting.reverse();
        let mut found = vec![false; self.count];
        let mut order: Vec<usize> = Vec::with_capacity(self.count);
        while let Some(visit) = waiting.pop() {
            match visit {
                Visit::Enter(node) if !found[node] => {
                    waiting.push(Visit::Leave(node));
                    let first = waiting.len();
                    (self.arguments)(node, &mut |argument| waiting.push(Visit::Enter(argument)));
                    waiting[first..].reverse();
                }
                Visit::Leave(node) if !found[node] => {
                    found[node] = true;
                    order.push(node);
                }
                _ => {}
            }
        }
        order
    }
}

/// Which nodes can come next.
struct ReadyList {
    done: Vec<bool>,
    /// The nodes that need each value.
    users: Vec<Vec<usize>>,
    /// How many of them are still to come; results are needed once more.
    uses: Vec<usize>,
    /// The number of arguments that are still to come.
    missing: Vec<usize>,
}

impl ReadyList {
    fn of(graph: &ScheduleGraph, found: &[usize]) -> ReadyList {
        let mut ready = ReadyList {
            done: vec![false; graph.count],
            users: vec![vec![]; graph.count],
            uses: vec![0; graph.count],
            missing: vec![0; graph.count],
        };
        for &node in found {
            for argument in arguments(graph, node) {
                ready.users[argument].push(node);
                ready.uses[argument] += 1;
                ready.missing[node] += 1;
            }
        }
        graph.results.iter().for_each(|&result| ready.uses[result] += 1);
        ready
    }

    /// Adds the nodes that may come at once, now that a node is done.
    fn follow(&mut self, graph: &ScheduleGraph, node: usize, next: &mut Vec<usize>) {
        for user in std::mem::take(&mut self.users[node]) {
            self.missing[user] -= 1;
            if self.missing[user] == 0 && self.replaces(graph, user) {
                next.push(user);
            }
            self.users[node].push(user);
        }
        for argument in arguments(graph, node) {
            self.uses[argument] -= 1;
            if self.uses[argument] == 1 {
                let last = self.users[argument].iter().find(|user| !self.done[**user]);
                next.extend(last.filter(|last| self.missing[**last] == 0 && !(graph.is_free)(argument)));
            }
        }
    }

    /// Whether a node is the last to need some value.
    fn replaces(&self, graph: &ScheduleGraph, node: usize) -> bool {
        arguments(graph, node).into_iter().any(|a| self.uses[a] == 1 && !(graph.is_free)(a))
    }
}

/// The arguments of a node, each once.
fn arguments(graph: &ScheduleGraph, node: usize) -> Vec<usize> {
    let mut list = Vec::new();
    (graph.arguments)(node, &mut |argument| list.push(argument));
    list.sort_unstable();
    list.dedup();
    list
}

enum Visit {
    /// Its arguments come first.
    Enter(usize),
    Leave(usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use workalike_kernels::DType;
    use workalike_kernels::Scalar;
    use workalike_kernels::nest::{Block, Index, PhaseKind, Store};
    use workalike_kernels::ops::{ADD, MUL};

    #[test]
    fn values_are_computed_where_they_are_needed() {
        let op = |op, a, b| Inst::Op { op, args: vec![a, b] };
        let load = |operand| Inst::Load { operand, index: vec![Index::axis(0)] };
        // Two products, which the sum behind them needs one by one, and a value that nothing needs.
        let insts = vec![
            load(0),
            load(1),
            Inst::Const(Scalar::from_f64(DType::F32, 2.0)),
            op(MUL, 0, 2),
            op(MUL, 1, 2),
            op(ADD, 0, 0),
            op(ADD, 3, 0),
            op(ADD, 6, 4),
        ];
        let store = Store { operand: 2, index: vec![Index::axis(0)], value: 7, when: None, add: false };
        let block = Block { insts };
        let mut phase = Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] };
        order(&mut phase);
        let expected = vec![
            load(0),
            Inst::Const(Scalar::from_f64(DType::F32, 2.0)),
            op(MUL, 0, 1),
            op(ADD, 2, 0),
            load(1),
            op(MUL, 4, 1),
            op(ADD, 3, 5),
        ];
        assert_eq!((phase.block.insts, phase.stores[0].value), (expected, 6));
    }

    /// Two sums over the same terms: a term and two sums are alive, where the walk would keep every term.
    #[test]
    fn two_sums_of_the_same_terms_go_side_by_side() {
        let load = |operand| Inst::Load { operand, index: vec![Index::axis(0)] };
        let op = |op, a, b| Inst::Op { op, args: vec![a, b] };
        let mut insts = vec![load(0), op(MUL, 0, 0)];
        let (mut sum, mut square) = (0, 1);
        for term in 1..9 {
            let next = insts.len() as Value;
            insts.extend([load(term), op(MUL, next, next), op(ADD, sum, next), op(ADD, square, next + 1)]);
            (sum, square) = (next + 2, next + 3);
        }
        let value = insts.len() as Value;
        insts.push(op(ADD, sum, square));
        let store = Store { operand: 9, index: vec![Index::axis(0)], value, when: None, add: false };
        let block = Block { insts };
        let phase = Phase { kind: PhaseKind::Point, block, folds: vec![], stores: vec![store] };
        let (order, alive) = order_of(&phase);
        assert!(order.len() == phase.block.insts.len() && alive <= 4, "{alive} {order:?}");
    }
}
