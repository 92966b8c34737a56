//! A method's graph cut into stages, each on one device.

use super::placement::Placement;
use crate::graph::{Def, FunctionGraph, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The source of an input of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StageInput {
    /// The method's input at this position.
    Input(usize),
    /// The value of a Var, from an earlier stage.
    Value(VarId),
}

/// A part of a graph that one device runs without others.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) device: usize,
    pub(crate) name: String,
    pub(crate) graph: Arc<FunctionGraph>,
    pub(crate) inputs: Vec<StageInput>,
    /// The Vars whose values its outputs are.
    pub(crate) outputs: Vec<VarId>,
    /// Its shared variables, as positions among the whole graph's.
    pub(crate) shared: Vec<usize>,
    /// Its nodes, as positions in the whole graph.
    pub(crate) nodes: Vec<usize>,
}

/// A graph as stages.
#[derive(Debug)]
pub(super) struct StagePartition {
    /// In an order in which they can run.
    pub(super) stages: Vec<Stage>,
    /// The last stages: new values of shared variables to where they live. None fails but by its device.
    pub(super) commits: Vec<Stage>,
}

/// When and where: a stage's place in the order, and its device.
type Slot = (usize, usize);

/// The cut of a method's graph. All stages read the old values of shared variables; the last ones write.
pub(super) fn cut(name: &str, graph: &FunctionGraph, placement: &Placement) -> StagePartition {
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
        StageBuilder::new(graph, placement, slot.1).stage(format!("{name}/{number}"), nodes, outputs)
    });
    let stages = stages.collect();
    StagePartition { stages, commits: commits(name, graph, placement) }
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

/// For each device with updates, a stage that takes the new values.
fn commits(name: &str, graph: &FunctionGraph, placement: &Placement) -> Vec<Stage> {
    let devices: BTreeSet<usize> =
        graph.updates.iter().map(|(shared, _)| placement.shared[*shared as usize]).collect();
    let commit = |device: usize| {
        let mut part = StageBuilder::new(graph, placement, device);
        for &(shared, id) in &graph.updates {
            if placement.shared[shared as usize] == device {
                let new = part.input(StageInput::Value(id), id);
                part.var(graph.shared[shared as usize]);
                let position = part.shared.iter().position(|known| *known == shared as usize).unwrap_or(0);
                part.graph.updates.push((position as u32, new));
            }
        }
        part.stage(format!("{name}/commit"), &[], vec![])
    };
    devices.into_iter().map(commit).collect()
}

/// A stage in the making.
struct StageBuilder<'f> {
    whole: &'f FunctionGraph,
    placement: &'f Placement,
    device: usize,
    graph: FunctionGraph,
    /// Maps Vars of the whole graph to Vars of the stage.
    known: HashMap<VarId, VarId>,
    inputs: Vec<StageInput>,
    /// Its shared variables, as positions among the whole graph's.
    shared: Vec<usize>,
}

impl<'f> StageBuilder<'f> {
    fn new(whole: &'f FunctionGraph, placement: &'f Placement, device: usize) -> StageBuilder<'f> {
        let (graph, known, inputs, shared) = (FunctionGraph::default(), HashMap::new(), vec![], vec![]);
        StageBuilder { whole, placement, device, graph, known, inputs, shared }
    }

    /// A new input for a Var.
    fn input(&mut self, source: StageInput, id: VarId) -> VarId {
        let var = self.whole.var(id);
        let new =
            self.graph.add_var(var.ty.clone(), var.name.as_deref(), Def::Input(self.inputs.len() as u32));
        self.inputs.push(source);
        self.graph.inputs.push(new);
        new
    }

    /// The stage's Var for one of the whole graph's.
    fn var(&mut self, id: VarId) -> VarId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let var = self.whole.var(id);
        let new = match &var.def {
            Def::Constant(_) => self.graph.add_var(var.ty.clone(), var.name.as_deref(), var.def.clone()),
            Def::Shared(at) if self.placement.shared[*at as usize] == self.device => {
                let position = self.shared.len() as u32;
                let new = self.graph.add_var(var.ty.clone(), var.name.as_deref(), Def::Shared(position));
                self.graph.shared.push(new);
                self.shared.push(*at as usize);
                new
            }
            Def::Input(at) => self.input(StageInput::Input(*at as usize), id),
            Def::Shared(_) | Def::Output { .. } => self.input(StageInput::Value(id), id),
        };
        self.known.insert(id, new);
        new
    }

    /// The stage of these nodes, with these outputs.
    fn stage(mut self, name: String, nodes: &[usize], outputs: Vec<VarId>) -> Stage {
        for &position in nodes {
            let node = &self.whole.nodes[position];
            let inputs = node.inputs.iter().map(|&id| self.var(id)).collect();
            let types = node.outputs.iter().map(|&id| self.whole.var(id).ty.clone()).collect();
            self.graph.place = node.place;
            let made = self.graph.add_node(node.op.clone(), inputs, types);
            for (&id, new) in node.outputs.iter().zip(made) {
                self.graph.vars[new as usize].name.clone_from(&self.whole.var(id).name);
                self.known.insert(id, new);
            }
        }
        for &id in &outputs {
            let new = self.var(id);
            self.graph.outputs.push(new);
        }
        let StageBuilder { device, graph, inputs, shared, .. } = self;
        Stage { device, name, graph: Arc::new(graph), inputs, outputs, shared, nodes: nodes.to_vec() }
    }
}
