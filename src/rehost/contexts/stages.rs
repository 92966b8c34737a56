//! A Function cut into stages, each on one device.

use super::placement::Placement;
use crate::error::{Error, Result};
use crate::function::{Function, InputSpec};
use crate::graph::{Cell, Def, FunctionGraph, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The source of an input of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The Function's input at this position.
    Input(usize),
    /// The value of a Var, from an earlier stage.
    Value(VarId),
}

/// A part of a Function that one device runs without others.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) device: usize,
    pub(super) function: Function,
    pub(super) inputs: Vec<Source>,
    /// The Vars whose values its outputs are.
    pub(super) outputs: Vec<VarId>,
}

/// A Function as stages.
#[derive(Debug)]
pub(super) struct Cut {
    /// In an order in which they can run.
    pub(super) stages: Vec<Stage>,
    /// The last stages: new values of shared variables to where they live. None fails but by its device.
    pub(super) commits: Vec<Stage>,
}

/// When and where: a stage's place in the order, and its device.
type Slot = (usize, usize);

/// The cut of a Function. All stages read the old values of shared variables; the last ones write.
///
/// # Errors
/// If the graph is ill-formed.
pub(super) fn cut(function: &Function, placement: &Placement) -> Result<Cut> {
    let graph = function.graph();
    let nodes = slots(graph, placement);
    let mut wanted: BTreeMap<Slot, BTreeSet<VarId>> = BTreeMap::new();
    let mut members: BTreeMap<Slot, Vec<usize>> = BTreeMap::new();
    let slot_of = |id: VarId| match graph.var(id).def {
        Def::Output { node, .. } => nodes[node as usize],
        Def::Shared(at) => (0, placement.shared[at as usize]),
        Def::Input(_) | Def::Constant(_) => (0, 0),
    };
    for (position, node) in graph.nodes.iter().enumerate() {
        let own = nodes[position];
        members.entry(own).or_default().push(position);
        for &id in &node.inputs {
            let (from, needs) = (
                slot_of(id),
                match graph.var(id).def {
                    Def::Input(_) | Def::Constant(_) => false,
                    // A shared variable is read in place by every stage of its device.
                    Def::Shared(_) => slot_of(id).1 != own.1,
                    Def::Output { .. } => slot_of(id) != own,
                },
            );
            if needs {
                wanted.entry(from).or_default().insert(id);
            }
        }
    }
    for id in graph.roots() {
        wanted.entry(slot_of(id)).or_default().insert(id);
    }
    let slots: BTreeSet<Slot> = wanted.keys().chain(members.keys()).copied().collect();
    let none = (vec![], BTreeSet::new());
    let stages = slots.into_iter().enumerate().map(|(number, slot)| {
        let nodes = members.get(&slot).unwrap_or(&none.0);
        let outputs = wanted.get(&slot).unwrap_or(&none.1).iter().copied().collect();
        let name = format!("{}/{number}", function.name());
        Part::new(function, placement, slot.1).stage(&name, nodes, outputs)
    });
    let stages = stages.collect::<Result<_>>()?;
    Ok(Cut { stages, commits: commits(function, placement)? })
}

/// When and where each node runs: after what it reads of other devices.
fn slots(graph: &FunctionGraph, placement: &Placement) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::with_capacity(graph.nodes.len());
    for (node, &device) in graph.nodes.iter().zip(&placement.nodes) {
        let after = |&id: &VarId| match graph.var(id).def {
            Def::Output { node, .. } => {
                let (turn, on) = slots[node as usize];
                turn + usize::from(on != device)
            }
            Def::Shared(at) => usize::from(placement.shared[at as usize] != device),
            Def::Input(_) | Def::Constant(_) => 0,
        };
        slots.push((node.inputs.iter().map(after).max().unwrap_or(0), device));
    }
    slots
}

/// For each device with updates, a Function that takes the new values.
fn commits(function: &Function, placement: &Placement) -> Result<Vec<Stage>> {
    let graph = function.graph();
    let devices: BTreeSet<usize> =
        graph.updates.iter().map(|(shared, _)| placement.shared[*shared as usize]).collect();
    let commit = |device: usize| {
        let mut part = Part::new(function, placement, device);
        for &(shared, id) in &graph.updates {
            if placement.shared[shared as usize] == device {
                let (new, old) = (part.input(Source::Value(id), id), graph.shared[shared as usize]);
                part.var(old)?;
                let position = part.shared.iter().position(|known| *known == old).unwrap_or(0);
                part.graph.updates.push((position as u32, new));
            }
        }
        part.stage(&format!("{}/commit", function.name()), &[], vec![])
    };
    devices.into_iter().map(commit).collect()
}

/// A stage in the making.
struct Part<'f> {
    function: &'f Function,
    placement: &'f Placement,
    device: usize,
    graph: FunctionGraph,
    /// From the Function's Vars to the stage's.
    known: HashMap<VarId, VarId>,
    inputs: Vec<Source>,
    /// The Function's Vars of the stage's shared variables.
    shared: Vec<VarId>,
    cells: Vec<Arc<Cell>>,
}

impl<'f> Part<'f> {
    fn new(function: &'f Function, placement: &'f Placement, device: usize) -> Part<'f> {
        let (graph, known) = (FunctionGraph::default(), HashMap::new());
        let (inputs, shared, cells) = (vec![], vec![], vec![]);
        Part { function, placement, device, graph, known, inputs, shared, cells }
    }

    /// A new input for a Var.
    fn input(&mut self, source: Source, id: VarId) -> VarId {
        let var = self.function.graph().var(id);
        let new =
            self.graph.add_var(var.ty.clone(), var.name.as_deref(), Def::Input(self.inputs.len() as u32));
        self.inputs.push(source);
        self.graph.inputs.push(new);
        new
    }

    /// The stage's Var for one of the Function's.
    fn var(&mut self, id: VarId) -> Result<VarId> {
        if let Some(known) = self.known.get(&id) {
            return Ok(*known);
        }
        let var = self.function.graph().var(id);
        let new = match &var.def {
            Def::Constant(_) => self.graph.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone()),
            Def::Shared(at) if self.placement.shared[*at as usize] == self.device => {
                let cell = self.function.cells().get(*at as usize);
                let cell = cell.ok_or_else(|| Error::Internal("a shared variable without a cell".into()))?;
                let position = self.shared.len() as u32;
                let new = self.graph.add_var(var.ty.clone(), var.name.as_deref(), Def::Shared(position));
                self.graph.shared.push(new);
                self.shared.push(id);
                self.cells.push(cell.clone());
                new
            }
            Def::Input(at) => self.input(Source::Input(*at as usize), id),
            Def::Shared(_) | Def::Output { .. } => self.input(Source::Value(id), id),
        };
        self.known.insert(id, new);
        Ok(new)
    }

    /// The stage of these nodes, with these outputs.
    fn stage(mut self, name: &str, nodes: &[usize], outputs: Vec<VarId>) -> Result<Stage> {
        let whole = self.function.graph();
        for &position in nodes {
            let node = &whole.nodes[position];
            let inputs = node.inputs.iter().map(|&id| self.var(id)).collect::<Result<Vec<_>>>()?;
            let types = node.outputs.iter().map(|&id| whole.var(id).ty.clone()).collect();
            self.graph.place = node.place;
            let made = self.graph.add_node(node.op.clone(), inputs, types);
            for (&id, new) in node.outputs.iter().zip(made) {
                self.graph.vars[new as usize].name.clone_from(&whole.var(id).name);
                self.known.insert(id, new);
            }
        }
        for &id in &outputs {
            let new = self.var(id)?;
            self.graph.outputs.push(new);
        }
        let spec = |id: &VarId| InputSpec::new(None, self.graph.var(*id).ty.clone(), None);
        let inputs = self.graph.inputs.iter().map(spec).collect();
        let Part { device, graph, inputs: sources, cells, .. } = self;
        let names = vec![None; outputs.len()];
        let function = Function::assemble(name.into(), Arc::new(graph), inputs, names, cells, None);
        Ok(Stage { device, function, inputs: sources, outputs })
    }
}
