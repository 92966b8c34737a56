//! Moves views before an op instead of after it: slices through elementwise ops and products, so that only
//! the elements that are read are computed, and transposes through products, which read their operands in
//! either order.

use super::terms::{Terms, WHOLE};
use super::transform;
use crate::error::Result;
use crate::graph::{Def, FunctionGraph, Node, VarId};
use crate::op::Op;
use crate::ops::elemwise::{Cast, Elemwise};
use crate::ops::{Bound, DimShuffle, Dot, Slot, Subtensor};
use std::collections::HashMap;
use std::sync::Arc;

/// The pass: `f(g(x), y)[i]` becomes `f(g(x[i]), y[i])`, `dot(a, b)[i, j]` `dot(a[i], b[.., j])` and `dot(a,
/// b).T` `dot(b.T, a.T)`, where the intermediate results have no other readers.
///
/// Where extents may turn out to broadcast or not to fit, nothing is moved, so that shapes and their errors
/// are kept.
///
/// # Errors
/// If the new graph is ill-formed, which is a bug.
pub fn lift(graph: &FunctionGraph) -> Result<FunctionGraph> {
    let uses = graph.uses();
    // From variables of the old graph to variables of the new one.
    let mut became: HashMap<VarId, VarId> = HashMap::new();
    transform(graph, |new, node, inputs| {
        became.extend(node.inputs.iter().copied().zip(inputs.iter().copied()));
        if let Some(product) = product_above(graph, &uses, node) {
            let [a, b] = [product.inputs[0], product.inputs[1]].map(|id| became[&id]);
            return through_product(new, &product.op, node.op.as_ref(), [a, b], &inputs[1..]);
        }
        let Some(read) = node.op.downcast::<Subtensor>() else { return Ok(None) };
        let above = above(graph, &uses, node.inputs[0], &read.slots);
        let Some(&last) = above.last() else { return Ok(None) };
        let mut parts: HashMap<VarId, VarId> = HashMap::new();
        for of in above {
            let Node { op, inputs: args, outputs, place } = of;
            new.place = *place;
            let mut part_of = |arg: &VarId| match parts.get(arg) {
                Some(part) => Ok(*part),
                None => {
                    let slots = narrowed(&read.slots, |axis| {
                        graph.var(*arg).ty.shape[axis] == Some(1)
                            && graph.var(outputs[0]).ty.shape[axis] != Some(1)
                    });
                    let part = taken(new, became[arg], &slots, &inputs[1..])?;
                    parts.insert(*arg, part);
                    Ok(part)
                }
            };
            let args = args.iter().map(&mut part_of).collect::<Result<Vec<_>>>()?;
            let part = new.apply(op.clone(), args)?;
            parts.insert(outputs[0], part);
        }
        Ok(parts.get(&last.outputs[0]).map(|part| vec![*part]))
    })
}

/// The elementwise nodes through which a slice of `id` can be moved, in order; they have no other readers.
fn above<'g>(graph: &'g FunctionGraph, uses: &[u32], id: VarId, slots: &[Slot]) -> Vec<&'g Node> {
    let (mut found, mut open) = (vec![], vec![id]);
    while let Some(id) = open.pop() {
        let Def::Output { node, .. } = graph.var(id).def else { continue };
        let at = &graph.nodes[node as usize];
        let by_element = at.op.downcast::<Elemwise>().is_some() || at.op.downcast::<Cast>().is_some();
        if !by_element || uses[id as usize] != 1 {
            continue;
        }
        let keeps = |axis: usize| {
            let mut long = at.inputs.iter().filter(|&&arg| graph.var(arg).ty.shape[axis] != Some(1));
            let first = long.next();
            long.all(|arg| first.is_some_and(|first| graph.equal_extents(first, arg, axis)))
        };
        if slots.iter().enumerate().all(|(axis, slot)| *slot == WHOLE || keeps(axis)) {
            found.push(node);
            open.extend(&at.inputs);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|node| &graph.nodes[node as usize]).collect()
}

/// The product of two matrices whose only reader is `node`, which takes a part or the transpose of it.
fn product_above<'g>(graph: &'g FunctionGraph, uses: &[u32], node: &Node) -> Option<&'g Node> {
    let id = *node.inputs.first().filter(|&&id| uses[id as usize] == 1)?;
    let Def::Output { node, .. } = graph.var(id).def else { return None };
    let product = &graph.nodes[node as usize];
    let dot = product.op.downcast::<Dot>()?;
    let matrices = product.inputs.iter().all(|&id| graph.var(id).ty.ndim() == 2);
    (matrices && (dot.batch, dot.contracted) == (0, 1)).then_some(product)
}

fn through_product(
    new: &mut FunctionGraph,
    dot: &Arc<dyn Op>,
    view: &dyn Op,
    [a, b]: [VarId; 2],
    bounds: &[VarId],
) -> Result<Option<Vec<VarId>>> {
    let operands = if let Some(read) = view.downcast::<Subtensor>() {
        if read.slots.iter().any(|slot| matches!(slot, Slot::Index(_))) {
            return Ok(None);
        }
        let of = |axis: usize| read.slots.get(axis).copied().unwrap_or(WHOLE);
        vec![taken(new, a, &[of(0)], bounds)?, taken(new, b, &[WHOLE, of(1)], bounds)?]
    } else if view.downcast::<DimShuffle>().is_some_and(|v| v.order == [Some(1), Some(0)]) {
        let mut turned =
            |v: VarId| new.apply(Arc::new(DimShuffle { order: vec![Some(1), Some(0)] }), vec![v]);
        vec![turned(b)?, turned(a)?]
    } else {
        return Ok(None);
    };
    new.apply(dot.clone(), operands).map(|product| Some(vec![product]))
}

/// The slots for an argument that broadcasts along some axes.
fn narrowed(slots: &[Slot], repeats: impl Fn(usize) -> bool) -> Vec<Slot> {
    let of = |(axis, slot): (usize, &Slot)| match slot {
        Slot::Index(_) if repeats(axis) => Slot::Index(Bound::At(0)),
        Slot::Slice { .. } if repeats(axis) => WHOLE,
        slot => *slot,
    };
    slots.iter().enumerate().map(of).collect()
}

/// `x[slots]`, where `bounds` are the bounds that the slots name; bounds that no slot names any longer are
/// dropped.
fn taken(graph: &mut FunctionGraph, x: VarId, slots: &[Slot], bounds: &[VarId]) -> Result<VarId> {
    if slots.iter().all(|slot| *slot == WHOLE) {
        return Ok(x);
    }
    let mut inputs = vec![x];
    let mut renamed = |bound: Bound| match bound {
        Bound::Input(i) => {
            inputs.push(bounds[i]);
            Bound::Input(inputs.len() - 2)
        }
        bound => bound,
    };
    let slots = slots
        .iter()
        .map(|slot| match *slot {
            Slot::Index(at) => Slot::Index(renamed(at)),
            Slot::Slice { start, stop, step } => {
                Slot::Slice { start: renamed(start), stop: renamed(stop), step }
            }
        })
        .collect();
    graph.apply(Arc::new(Subtensor { slots }), inputs)
}
