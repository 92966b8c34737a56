//! Functions of members of groups.

use super::callable::Function;
use crate::error::{Error, Result};
use crate::graph::FunctionGraph;
use crate::graph::node_numbers::NodeNumbers;
use crate::op::{Op, OpGroup, Seat};
use std::sync::Arc;
use workalike_device::group::Group;

/// The groups in which a member has a seat, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seats {
    list: Vec<(String, Arc<dyn Group>)>,
    /// Whether the member is given its own parts of inputs.
    of_parts: bool,
}

impl Seats {
    /// A further seat.
    ///
    /// # Errors
    /// If there is one in a group of this name.
    pub(crate) fn add(&mut self, name: &str, group: Arc<dyn Group>) -> Result<()> {
        if self.list.iter().any(|(known, _)| known == name) {
            return Err(Error::mismatch("groups of a member", "names that differ", format!("{name} twice")));
        }
        self.list.push((name.into(), group));
        Ok(())
    }

    /// The same seats, of a member that is given its own parts of inputs or is not.
    pub(crate) fn with_own_parts(&self, of_parts: bool) -> Seats {
        Seats { of_parts, ..self.clone() }
    }

    /// The same seats, in groups that something else may carry.
    pub(crate) fn carried_by(
        &self,
        carrier: impl Fn(&str, &Arc<dyn Group>) -> Result<Arc<dyn Group>>,
    ) -> Result<Seats> {
        let carried = self.list.iter().map(|(name, group)| Ok((name.clone(), carrier(name, group)?)));
        Ok(Seats { list: carried.collect::<Result<_>>()?, of_parts: self.of_parts })
    }

    /// The groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&str, &Arc<dyn Group>)> {
        self.list.iter().map(|(name, group)| (name.as_str(), group))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The Function that the member runs, before its ops have seats.
    pub(crate) fn own_parts(&self, function: &Function) -> Result<Function> {
        let groups = self.list.iter().filter(|_| self.of_parts);
        groups.map(|(name, _)| name).try_fold(function.clone(), |f, name| Ok(f.of_parts(name)?.function))
    }

    /// A graph whose ops have seats in these groups. Without groups it is the graph as it is.
    ///
    /// # Errors
    /// If it names another group: says which node.
    pub(crate) fn seated(&self, graph: &FunctionGraph) -> Result<FunctionGraph> {
        let seat = |of: &OpGroup, number| Ok(OpGroup { seat: Some(self.seat(of, number)?), ..of.clone() });
        if self.is_empty() { Ok(graph.clone()) } else { with_groups(graph, &seat) }
    }

    fn seat(&self, of: &OpGroup, number: u64) -> Result<Seat, String> {
        let found = self.list.iter().find(|(known, _)| *known == of.name);
        found.map(|(_, group)| Seat { group: group.clone(), number }).ok_or_else(|| {
            let known: Vec<&str> = self.list.iter().map(|(name, _)| name.as_str()).collect();
            format!("expected one of the member's groups, {}; found {}", known.join(", "), of.name)
        })
    }
}

impl Function {
    /// The same Function, whose ops have seats in these groups. Without groups it is the Function as it is.
    ///
    /// # Errors
    /// If it names another group: says which node.
    pub(crate) fn seated(&self, seats: &Seats) -> Result<Function> {
        if seats.is_empty() {
            return Ok(self.clone());
        }
        self.graph().check_exchanges()?;
        let graph = seats.seated(self.graph())?;
        Ok(self.rebuilt(graph, self.cells().to_vec(), self.source().cloned()))
    }
}

/// What becomes of an op's group, given the number of the op's node, from 0.
type GroupChange<'c> = &'c dyn Fn(&OpGroup, u64) -> Result<OpGroup, String>;

/// A graph, with its bodies, whose ops are in other groups.
pub(super) fn with_groups(graph: &FunctionGraph, change: GroupChange<'_>) -> Result<FunctionGraph> {
    changed(graph, change, &NodeNumbers::of(graph, 0))
}

fn changed(graph: &FunctionGraph, change: GroupChange<'_>, numbers: &NodeNumbers) -> Result<FunctionGraph> {
    let mut result = graph.clone();
    for (position, node) in graph.nodes.iter().enumerate() {
        let number = (numbers.number(position) - 1) as u64;
        let moved = moved(&node.op, |group| change(group, number));
        let mut op = moved.map_err(|message| node.failed(position, &message))?;
        if !op.bodies().is_empty() {
            let bodies = op.bodies().into_iter().enumerate().map(|(at, body)| {
                Ok(Arc::new(changed(body, change, &numbers.of_body(graph, position, at))?))
            });
            let bodies = bodies.collect::<Result<Vec<_>>>()?;
            let without = || node.failed(position, "the op takes no members' bodies");
            op = op.with_bodies(bodies).ok_or_else(without)?;
        }
        result.nodes[position].op = op;
    }
    Ok(result)
}

/// An op in the group that becomes of its own.
fn moved(
    op: &Arc<dyn Op>,
    change: impl Fn(&OpGroup) -> Result<OpGroup, String>,
) -> Result<Arc<dyn Op>, String> {
    let Some(group) = op.group() else { return Ok(op.clone()) };
    let changed = change(group)?;
    op.in_group(changed).ok_or_else(|| format!("{} cannot join the group {}", op.label(), group.name))
}
