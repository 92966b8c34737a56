//! Joins loops over the same iterations that do not depend on each other (Theano's `ScanMerge`): one loop
//! computes what they do. What they have in common is computed once, and steps of one can be fused with those
//! of another.

use super::mirror::Mirror;
use super::{Rebuilt, merge};
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{FunctionGraph, Node, NodeId, TensorType, VarId};
use crate::ops::Transfer;
use crate::ops::loops::{LoopParts, ScanOp};
use std::collections::{BTreeSet, HashMap};

/// The pass.
///
/// # Errors
/// If the new graph is ill-formed, which is a bug.
pub fn join_loops(graph: &FunctionGraph) -> Result<FunctionGraph> {
    let mut whole = graph.clone();
    if graph.nodes.iter().any(|node| node.op.downcast::<Transfer>().is_some()) {
        // Loops of different contexts run beside each other.
        return Ok(whole);
    }
    // Each round leaves fewer loops.
    while let Some(order) = LoopLevels::of_groups(&whole) {
        whole = with_groups(&whole, &order)?;
    }
    Ok(whole)
}

/// What loops have in common that can be one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LoopKey {
    steps: Steps,
    backwards: bool,
    truncated: Option<usize>,
}

/// A number of iterations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Steps {
    Known(usize),
    Value(VarId),
}

impl LoopKey {
    /// That of a node; `None` if it is no loop, or one with effects, whose order would change.
    fn of(graph: &FunctionGraph, node: &Node) -> Option<LoopKey> {
        let scan = node.op.downcast::<ScanOp>().filter(|_| !node.op.has_effect())?;
        let given: Vec<&TensorType> = node.inputs.iter().map(|&input| &graph.var(input).ty).collect();
        let steps = match scan.known_steps(&given) {
            Some(steps) => Steps::Known(steps),
            None => Steps::Value(*node.inputs.last()?),
        };
        Some(LoopKey { steps, backwards: scan.backwards(), truncated: scan.truncated() })
    }
}

/// An order of a graph's nodes in which loops that can be joined are neighbours.
struct LoopLevels {
    /// All nodes, each after those it depends on.
    nodes: Vec<NodeId>,
    /// For each loop of a [`LoopKey`], how many such loops the longest chain has that it depends on. Where
    /// the numbers are equal, loops do not depend on each other.
    levels: HashMap<NodeId, usize>,
}

impl LoopLevels {
    /// The order for the first kind that has loops to join.
    fn of_groups(graph: &FunctionGraph) -> Option<LoopLevels> {
        let kinds: BTreeSet<LoopKey> =
            graph.nodes.iter().filter_map(|node| LoopKey::of(graph, node)).collect();
        kinds.iter().map(|kind| LoopLevels::of(graph, kind)).find(LoopLevels::has_groups)
    }

    fn of(graph: &FunctionGraph, kind: &LoopKey) -> LoopLevels {
        let mut behind = vec![0usize; graph.vars.len()];
        let mut levels = HashMap::new();
        let mut keys = Vec::with_capacity(graph.nodes.len());
        for (at, node) in graph.nodes.iter().enumerate() {
            let level = node.inputs.iter().map(|&input| behind[input as usize]).max().unwrap_or(0);
            let own = LoopKey::of(graph, node).as_ref() == Some(kind);
            if own {
                levels.insert(at as NodeId, level);
            }
            node.outputs.iter().for_each(|&output| behind[output as usize] = level + usize::from(own));
            keys.push((level, own));
        }
        let mut nodes: Vec<NodeId> = (0..graph.nodes.len() as NodeId).collect();
        nodes.sort_by_key(|&at| keys[at as usize]);
        LoopLevels { nodes, levels }
    }

    /// Whether there are loops to join.
    fn has_groups(&self) -> bool {
        let different: BTreeSet<usize> = self.levels.values().copied().collect();
        different.len() < self.levels.len()
    }

    /// The loops beside this one, itself among them.
    fn group(&self, node: NodeId) -> Vec<NodeId> {
        let Some(level) = self.levels.get(&node) else { return vec![] };
        let mut group: Vec<NodeId> =
            self.levels.iter().filter(|(_, own)| *own == level).map(|(&node, _)| node).collect();
        group.sort_unstable();
        group
    }
}

/// The graph with each group as one loop.
fn with_groups(graph: &FunctionGraph, order: &LoopLevels) -> Result<FunctionGraph> {
    let mut copy = Rebuilt::new(graph);
    let mut mirror = Mirror::default();
    let mut joined: HashMap<NodeId, Vec<VarId>> = HashMap::new();
    for &at in &order.nodes {
        let group = order.group(at);
        if group.len() > 1 && !joined.contains_key(&at) {
            let nodes: Vec<&Node> = group.iter().map(|&at| &graph.nodes[at as usize]).collect();
            let outputs = one_loop(&mut copy, &mut mirror, &nodes)?;
            for (node, outputs) in nodes.iter().zip(&outputs) {
                keep_types(&mut copy, node, outputs);
            }
            joined.extend(group.into_iter().zip(outputs));
        }
        let node = &graph.nodes[at as usize];
        let inputs = copy.inputs(node);
        copy.put(node, inputs, joined.remove(&at));
    }
    Ok(copy.finish())
}

/// What was known of a node's outputs holds for what replaces them.
fn keep_types(copy: &mut Rebuilt<'_>, node: &Node, outputs: &[VarId]) {
    for (&old, &new) in node.outputs.iter().zip(outputs) {
        let known = &copy.old.var(old).ty.shape;
        let extents = &mut copy.new.vars[new as usize].ty.shape;
        extents.iter_mut().zip(known).for_each(|(extent, known)| *extent = extent.or(*known));
    }
}

/// One loop for several: the outputs of each.
fn one_loop(copy: &mut Rebuilt<'_>, mirror: &mut Mirror, nodes: &[&Node]) -> Result<Vec<Vec<VarId>>> {
    let _scope = nodes.first().and_then(|node| node.place).map(source_location::enter_at);
    let mut all: Option<LoopParts> = None;
    // How many recurrences and results each has.
    let mut counts = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(scan) = node.op.downcast::<ScanOp>() else { continue };
        let inputs = copy.inputs(node);
        let parts = LoopParts::of(scan, &mirror.variables(&copy.new, &inputs)?)?;
        counts.push([parts.recurrences.len(), parts.results.len()]);
        all = Some(match all {
            None => parts,
            Some(before) => before.beside(&parts)?,
        });
    }
    let made = all.map_or(Ok(vec![]), |all| all.outputs())?;
    let first = copy.new.nodes.len();
    let made = made.iter().map(|output| mirror.adopt(&mut copy.new, output)).collect::<Result<Vec<_>>>()?;
    for node in &mut copy.new.nodes[first..] {
        let bodies = node.op.bodies().into_iter().map(|body| Ok(merge(body)?.into()));
        let bodies = bodies.collect::<Result<Vec<_>>>()?;
        if let Some(op) = node.op.with_bodies(bodies) {
            node.op = op;
        }
    }
    let recurrences: usize = counts.iter().map(|[own, _]| own).sum();
    let (mut traces, mut results) = (made[..recurrences].iter(), made[recurrences..].iter());
    let outputs = counts.iter().map(|&[own, more]| {
        let own = traces.by_ref().take(own).copied();
        own.chain(results.by_ref().take(more).copied()).collect()
    });
    Ok(outputs.collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::ops::loops::{Scan, scan};
    use crate::prelude::*;

    /// Whether a Function of a matrix and a vector has so many loops, and each output is what it is alone.
    fn check(loops_left: usize, outputs: impl Fn(&Variable, &Variable) -> Vec<Variable>) {
        let (xs, h) = (tensor::<f64>("xs", [Some(3), Some(2)]), vector::<f64>("h"));
        let outputs = outputs(&xs, &h);
        let f = function([&xs, &h]).outputs(&outputs).compile().unwrap();
        assert_eq!(f.graph().nodes.iter().filter(|node| node.op.id() == "scan").count(), loops_left);
        let args = args![[[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]], [0.5, -0.5]];
        let got = f.call_reference(args.clone()).unwrap();
        for (output, got) in outputs.iter().zip(got.into_values()) {
            let alone = function([&xs, &h]).output(output).allow_unused_inputs().compile().unwrap();
            let want = alone.call_reference(args.clone()).unwrap();
            assert_eq!(got.to_vec::<f64>().unwrap(), want[0].to_vec::<f64>().unwrap());
        }
    }

    #[test]
    fn loops_beside_each_other_are_one() {
        check(1, |xs, h| {
            let sums = scan(xs, h, |x, h| x + h * 0.5);
            let products = Scan::new().sequence(xs).recurrent(h).run(|v| vec![&v[0] * &v[1], v[0].exp()]);
            vec![sums, products.result(0), products.history(0), scan(xs, h, |x, h| (x - h).sin())]
        });
    }

    #[test]
    fn a_loop_that_reads_another_stays_behind_it() {
        check(2, |xs, h| {
            let [first, second] = [1.0, 2.0].map(|by| scan(xs, h, |x, h| (x + h * by).sin()));
            let above = [&first, &second].map(|below| scan(below, h, |x, h| (x + h).cos()));
            vec![above[0].clone(), above[1].clone(), first, second]
        });
    }

    #[test]
    fn other_numbers_of_iterations_are_other_loops() {
        check(2, |xs, h| {
            let short = |by: f64| Scan::new().steps(2i64).recurrent(h).run(|v| vec![&v[0] * by]).history(0);
            vec![scan(xs, h, |x, h| x + h), short(0.5), short(0.25)]
        });
    }

    #[test]
    fn a_number_of_iterations_that_is_not_known_is_a_kind() {
        let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
        let loops = [0.5, 2.0].map(|by| scan(&xs, &h, |x, h| x + h * by));
        let other = scan(xs.index(idx![1..]), &h, |x, h| x + h);
        let f = function([&xs, &h]).outputs(&loops).output(other).compile().unwrap();
        assert_eq!(f.graph().nodes.iter().filter(|node| node.op.id() == "scan").count(), 2);
    }

    #[test]
    fn two_loops_of_one_closure_keep_apart() {
        check(2, |xs, h| {
            let double = |h: &Variable| scan(xs, h, |x, h| (x + h * 2.0).sin());
            // Behind the others is the loop of the gradient.
            vec![double(h), double(&(h + 1.0)), grad(double(h).sum(..), [h]).unwrap().remove(0)]
        });
    }

    #[test]
    fn a_gradient_of_one_does_not_reach_another() {
        let (xs, h) = (matrix::<f64>("xs"), vector::<f64>("h"));
        let [sums, roots] = [scan(&xs, &h, |x, h| x + h), scan(&xs, &h, |x, h| (x * h).sqrt())];
        let f = function([&xs, &h]).output(sums).output(roots).compile().unwrap();
        let applied = f.apply([&xs, &h]).unwrap();
        let slope = grad(applied[0].sum(..), [&xs]).unwrap();
        let g = function([&xs, &h]).output(&slope[0]).compile().unwrap();
        // The slope of the root is infinite here.
        let got = g.call(args![[[0.0, 0.0], [0.0, 0.0]], [1.0, 2.0]]).unwrap();
        assert_eq!(got[0].to_vec::<f64>().unwrap(), [2.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn loops_with_effects_are_left_alone() {
        check(2, |xs, h| {
            let checked = |most: f64| scan(xs, h, |x, h| (&x + h).assert(x.less(most).all(..), "too large"));
            vec![checked(9.0), checked(8.0)]
        });
    }
}
