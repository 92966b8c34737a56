//! The twin of a method: the same, with updates of states that its inner probes record.

use super::{InnerProbe, Probed, named};
use crate::engine::executor::PlacedMethod;
use crate::engine::simulator::sync::Parent;
use crate::engine::simulator::{Hidden, Simulator, SimulatorMethod};
use crate::engine::storage::StateBinding;
use crate::error::Result;
use crate::graph::{Cell, Def, FunctionGraph, TensorType, Variable, fresh_id, verify};
use crate::value::Value;
use std::sync::Arc;

impl Simulator {
    /// Makes the state of an inner probe, where the Variable is computed, and the twin that updates it.
    pub(super) fn inner_probe(
        &mut self,
        method: usize,
        what: Probed,
        name: &str,
        ty: &TensorType,
    ) -> Result<InnerProbe> {
        // Unknown extents become those of the first iteration; until then there is no sample.
        let shape: Vec<usize> = ty.shape.iter().map(|e| e.unwrap_or(0)).collect();
        let value = Value::zeros(ty.dtype, &shape)?;
        let cell = Arc::new(Cell::new(fresh_id(), name, ty.clone(), &value, None)?);
        let inner = InnerProbe { what, cell, position: self.executor.state_count() };
        let mut all = self.inner_probes(method);
        all.push(inner.clone());
        let (graph, positions) = self.twin(method, &all)?;
        let known = |&position: &usize| (position != inner.position).then(|| self.executor.part_of(position));
        let homes: Vec<Option<usize>> = positions.iter().map(known).collect();
        let draft = self.executor.draft(&self.methods[method].name, &graph, &homes)?;
        let own = positions.iter().position(|position| *position == inner.position);
        let part = own.map_or(0, |own| draft.shared[own]);
        self.executor.add_state(part, StateBinding { name: name.into(), ty: ty.clone() }, &value)?;
        self.states.push(Parent::none());
        self.set_twin(method, (graph, positions), draft);
        Ok(inner)
    }

    pub(super) fn inner_probes(&self, method: usize) -> Vec<InnerProbe> {
        let own = self.probes.all.iter().flatten().filter(|e| e.method == method);
        own.filter_map(|e| e.inner.clone()).collect()
    }

    /// A method's graph with updates of the states of inner probes, and the positions of its states.
    pub(super) fn twin(&self, method: usize, inner: &[InnerProbe]) -> Result<(FunctionGraph, Vec<usize>)> {
        let function = &self.methods[method].function;
        let written: Vec<(Arc<Cell>, Variable)> = inner
            .iter()
            .filter_map(|i| match &i.what {
                Probed::Variable(variable) => Some((i.cell.clone(), variable.clone())),
                Probed::Name(_) => None,
            })
            .collect();
        let (mut graph, cells) = match function.source() {
            Some(source) if !written.is_empty() => {
                let (graph, cells) = source.with_updates(&written)?;
                (self.membership.seats.seated(&graph)?, cells)
            }
            _ => ((**function.graph()).clone(), function.cells().to_vec()),
        };
        let mut positions = Vec::new();
        for cell in &cells {
            let own = inner.iter().find(|i| i.cell.id() == cell.id()).map(|i| i.position);
            let position = own.or_else(|| self.position_of(method, cell)).ok_or_else(|| {
                let name = cell.name();
                self.refuse(
                    method,
                    format!("the probed Variable needs shared variable {name}, which no method has"),
                )
            });
            positions.push(position?);
        }
        for InnerProbe { what, cell, position } in inner {
            let Probed::Name(name) = what else { continue };
            let &[id] = named(&graph, name).as_slice() else {
                return Err(
                    self.refuse(method, format!("{name} is no longer one Variable: probe it by handle"))
                );
            };
            let shared = graph.shared.len() as u32;
            let own = graph.add_var(cell.ty().clone(), None, Def::Shared(shared));
            graph.shared.push(own);
            graph.updates.push((shared, id as u32));
            positions.push(*position);
        }
        verify(&graph)?;
        Ok((graph, positions))
    }

    pub(super) fn set_twin(
        &mut self,
        method: usize,
        (graph, positions): (FunctionGraph, Vec<usize>),
        draft: PlacedMethod,
    ) {
        let SimulatorMethod { name, function, .. } = &self.methods[method];
        let (name, function) = (format!("{name}, with what its probes record"), function.clone());
        let known = self.probes.twins.get(&method).copied();
        let twin = self.executor.put_twin(known, method, &name, (Arc::new(graph), positions), draft);
        if known.is_none() {
            let (parent, hidden) = (function.clone(), Some(Hidden::Twin));
            self.methods.push(SimulatorMethod { name, function, parent, hidden });
            self.probes.twins.insert(method, twin);
        }
    }
}
