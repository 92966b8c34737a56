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
    let order = order_of(phase);
    // What nothing needs has no place.
    let mut place: Vec<Value> = vec![0; phase.block.insts.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as Value);
    let mut insts: Vec<Option<Inst>> = std::mem::take(&mut phase.block.insts).into_iter().map(Some).collect();
    phase.block.insts = order.into_iter().filter_map(|at| insts[at].take()).collect();
    phase.block.insts.iter_mut().for_each(|inst| inst.map_values(|value| place[value as usize]));
    phase.rename(&place);
}

/// The instructions that a phase needs, in the order in which a walk from its results finds them, depth
/// first.
pub(super) fn order_of(phase: &Phase) -> Vec<usize> {
    let insts = &phase.block.insts;
    let reports = (0..insts.len()).filter(|&at| insts[at].status().is_some());
    let results = phase.results().map(|value| value as usize).chain(reports);
    depth_first(insts.len(), results, |at, visit| {
        insts[at].for_each_value(|argument| visit(argument as usize))
    })
}

/// The nodes of a graph that are found from `results`, each behind its arguments. `arguments` visits those of
/// a node.
pub(super) fn depth_first(
    count: usize,
    results: impl Iterator<Item = usize>,
    arguments: impl Fn(usize, &mut dyn FnMut(usize)),
) -> Vec<usize> {
    let mut waiting: Vec<Visit> = results.map(Visit::Enter).collect();
    // The first result is visited first.
    waiting.reverse();
    let mut found = vec![false; count];
    let mut order: Vec<usize> = Vec::with_capacity(count);
    while let Some(visit) = waiting.pop() {
        match visit {
            Visit::Enter(node) if !found[node] => {
                waiting.push(Visit::Leave(node));
                let first = waiting.len();
                arguments(node, &mut |argument| waiting.push(Visit::Enter(argument)));
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
}
