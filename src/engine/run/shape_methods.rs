//! Values that decide shapes, computed on the device: where a loop leads to them, the reference would take
//! long, and might find another number of iterations than the device does; where a reduction of given arrays
//! does, as the number of elements that a mask keeps, they are where the arrays are.
//!
//! A method with such values has a method beside it, whose outputs they are. It runs before each call.

use super::Engine;
use crate::engine::compile::ShapeMethod;
use crate::engine::storage::{CallInput, renumbered};
use crate::error::{Error, Result};
use crate::graph::shapes::Demand;
use crate::graph::{FunctionGraph, Node, VarId};
use crate::ops::{Assert, Reduce};
use crate::rewrite::extract_subgraph;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

impl Engine {
    /// Adds the method beside a method, if loops or reductions decide shapes in it, in place of the one at
    /// `slot`.
    pub(super) fn put_deciding(&mut self, method: usize, slot: Option<usize>) {
        let definition = self.methods[method].definition.clone();
        let demand = demand_of(&definition.graph);
        let any = !demand.known.is_empty();
        let (part, nodes) =
            if any { extract_subgraph(&definition.graph, &demand.known) } else { Default::default() };
        // The reference can compute an op without its effect, a device cannot.
        let acts = |node: &Node| node.op.has_effect() && node.op.downcast::<Assert>().is_none();
        if !any || part.nodes.iter().any(acts) {
            if let Some(slot) = slot {
                // What it held is freed.
                self.put_method(Some(slot), None, "", Arc::default(), vec![]);
                self.spare.push(slot);
            }
            return;
        }
        let slot = slot.or_else(|| self.spare.pop());
        let states = definition.states.clone();
        let method = self.put_method(slot, None, &definition.name, Arc::new(part), states);
        definition.deciding.get_or_init(|| ShapeMethod { method, demand, nodes, refused: OnceLock::new() });
    }

    /// The values that loops and reductions of a method decide shapes with; `None` if the reference has to
    /// compute them.
    pub(crate) fn decided(
        &mut self,
        method: usize,
        args: &[CallInput],
    ) -> Result<Option<HashMap<VarId, Value>>> {
        let definition = self.methods[method].definition.clone();
        let Some(deciding) = definition.deciding.get().filter(|own| own.refused.get().is_none()) else {
            return Ok(None);
        };
        match self.call(deciding.method, args) {
            Ok(values) => Ok(Some(deciding.demand.known.iter().copied().zip(values).collect())),
            Err(Error::Strict(_)) => {
                deciding.refused.get_or_init(|| ());
                Ok(None)
            }
            Err(Error::Run { op, node, message }) => {
                Err(Error::Run { op, node: renumbered(&node, &deciding.nodes), message })
            }
            Err(error) => Err(error),
        }
    }
}

/// The values that decide shapes, where the device computes loops without effects, and reductions of what
/// inputs and shared variables hold. Extents decide the others.
fn demand_of(graph: &FunctionGraph) -> Demand {
    let mut given = vec![false; graph.vars.len()];
    graph.inputs.iter().chain(&graph.shared).for_each(|&id| given[id as usize] = true);
    for node in &graph.nodes {
        let read = node.op.read_inputs(node.inputs.len()).min(node.inputs.len());
        let reads_given = node.inputs[..read].iter().any(|&id| given[id as usize]);
        node.outputs.iter().for_each(|&id| given[id as usize] = reads_given);
    }
    let reduces = |node: &Node| {
        let folds = node.op.downcast::<Reduce>().is_some();
        folds && node.inputs.first().is_some_and(|&id| given[id as usize])
    };
    let loops = |node: &Node| !node.op.bodies().is_empty() && !node.op.has_effect();
    Demand::knowing(graph, |node| loops(node) || reduces(node))
}
