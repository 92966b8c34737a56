//! Lowering, also called instruction selection: a FunctionGraph at concrete shapes becomes a Program of
//! unfused steps, op by op, by [`Op::lower`](crate::ops::Op::lower). This module holds the types of that
//! method, for ops of this crate and of any other.
//!
//! **Views.** A [`View`] says how the elements of a tensor lie in a buffer. Transposing, broadcasting,
//! slicing and most reshapes only change the View, and cost no kernel. `lower` gets a View of each input that
//! the device reads ([`Op::read_inputs`](crate::ops::Op::read_inputs)) and returns one for each output: a
//! part of an input, or a buffer of its own ([`Lowering::temp`]), of which every element must have been
//! stored.
//!
//! **Nests.** A [`NestBuilder`] makes a loop nest in phases (see [`workalike_kernels::nest`]), a
//! [`PhaseBuilder`] the scalar code of one phase: it loads through views, computes with any elementwise op,
//! folds and stores. [`Lowering::push`] appends the Nest. Fusion joins it with the Nests of neighbouring ops.
//!
//! **Library ops.** [`Lowering::library`] appends a [`LibraryOp`] where the device has it: where
//! [`Abilities::has`] it. Elsewhere an op has Nests that compute the same, or an `Err`.
//!
//! **Refusals.** An `Err` says why the device has no form for the op. The op then runs on the host, by
//! [`Op::perform`](crate::ops::Op::perform), and its steps are dropped; strict mode reports the text, and
//! [`Simulator::explain`](crate::engine::Simulator::explain) shows it. Mistakes refuse the op as well: a view
//! with too few axes, a value of another phase, a Nest that [`verify`](workalike_kernels::verify::verify)
//! refuses, a buffer that another op made. The builders record the first mistake instead of returning a
//! `Result`.
//!
//! **Index modes.** A computed index ([`At::Value`]) must lie within its axis. [`PhaseBuilder::position`]
//! applies NumPy's rule for indices, [`PhaseBuilder::nearest`] takes the nearest position,
//! [`PhaseBuilder::wrapped`] the position modulo the extent. Any other value is taken as it is; where it is
//! out of range, some element of the buffer is read or written.
//!
//! **Reports.** An op whose index may be out of range calls [`Lowering::check_index_of`], and gives
//! `position` the status word that it returns, with [`Lowering::report`]. The call then fails at this node
//! with [`Op::trouble`](crate::ops::Op::trouble), and stores no updates. An op that reports names its indices
//! in [`Op::index_inputs`](crate::ops::Op::index_inputs). Other conditions store that number in
//! [`Lowering::status`] where they fail. [`Lowering::report_first`] also reports which part of an input is
//! wrong.
//!
//! ```
//! use workalike::graph::Node;
//! use workalike::kernels::nest::{Fold, PhaseKind};
//! use workalike::kernels::ops as scalar;
//! use workalike::lower::{At, Lowered, Lowering, NestBuilder, View};
//!
//! /// The largest magnitude of each row of a matrix.
//! fn largest(to: &mut Lowering, node: &Node, inputs: &[View]) -> Lowered {
//!     let x = &inputs[0];
//!     let (rows, columns) = (x.shape()[0], x.shape()[1]);
//!     let dtype = to.dtype(node.outputs[0]);
//!     let target = to.temp(dtype, &[rows]);
//!     // A grid point for each row, an inner point for each of its elements.
//!     let mut nest = NestBuilder::new("largest", &[rows], &[columns]);
//!     let mut reduce = nest.phase(PhaseKind::Reduce, to.program());
//!     let value = reduce.load(x, &At::axes(2));
//!     let value = reduce.apply(scalar::ABS, &[value]);
//!     let fold = reduce.fold(Fold::Max, value, None);
//!     let phase = reduce.finish();
//!     let mut point = nest.phase(PhaseKind::Point, to.program());
//!     let most = point.folded(phase, fold, dtype);
//!     point.store(target, &[rows], &At::axes(1), most, None);
//!     point.finish();
//!     to.push(nest);
//!     Ok(vec![View::whole(target, &[rows])])
//! }
//! # let _ = largest;
//! ```

// The parts:
// - here: the state of `Lowering`; `append`: its methods for ops; `abilities`: what the device offers;
// - `program`: the result; `view`: the layout of a Var in a buffer; `build`: construction of Nests;
// - `casts`: casts that a reader does by itself;
// - `verify`: checks that the steps and views of an op are well-formed;
// - `readers`: what the readers of a Var need of it;
// - `loops`: bodies, and the rows that their iterations read and write;
// - `replace`: ops that have no form on a device;
// - `bounds_check`, `index_bounds`: indices out of range, on the device and before a call; `bounds_reports`:
//   the points that must be visited for that; `part_reports`: which part of an input is wrong;
// - `exchange_order`: the order in which nodes are lowered;
// - `dead_code`: removal of unused operands and values.

mod abilities;
mod append;
pub(crate) mod bounds_check;
pub(crate) mod bounds_reports;
mod build;
mod casts;
pub(crate) mod dead_code;
pub(crate) mod exchange_order;
pub(crate) mod index_bounds;
mod intervals;
mod loops;
mod monotonicity;
pub(crate) mod part_reports;
pub mod program;
mod readers;
pub(crate) mod replace;
mod verify;
mod view;

pub use abilities::Abilities;
pub(crate) use abilities::Promised;
pub use build::{At, NestBuilder, PhaseBuilder};
pub(crate) use loops::RowArray;
pub use program::{Buffer, BufferId, Role};
pub use view::View;
pub use workalike_device::LibraryOp;

use crate::error::{Error, Result};
use crate::graph::node_numbers::NodeNumbers;
use crate::graph::shapes::Shapes;
use crate::graph::{Def, FunctionGraph, Node, VarId};
use crate::value::Value;
use index_bounds::Trusted;
use program::{HostNode, Program, Step};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use workalike_kernels::interval::Interval;
use workalike_kernels::nest::{Inst, Nest};
use workalike_kernels::ops::ScalarOp;

/// Why an op has no device form.
pub type Refusal = String;

/// The result of [`Op::lower`](crate::ops::Op::lower): the views of the node's outputs, or why there is none.
pub type Lowered = Result<Vec<View>, Refusal>;

/// The state of lowering one graph, and what an op appends its steps to.
pub struct Lowering<'a> {
    pub(crate) graph: &'a FunctionGraph,
    pub(crate) shapes: &'a Shapes,
    pub(crate) abilities: &'a Abilities<'a>,
    pub(crate) program: Program,
    views: Vec<Option<View>>,
    pub(crate) node: usize,
    /// Which Vars' data must be computed.
    pub(crate) needed: Vec<bool>,
    /// For each node, the number of its leading inputs that it reads.
    reads: Vec<usize>,
    /// A node reads what was not computed: it has no form on the device without it, or none at all. Lower
    /// again with [`Lowering::reads`].
    incomplete: bool,
    /// For each Var, the nodes that read it; computed on first use.
    readers: OnceCell<Vec<Vec<usize>>>,
    /// A range for each Var; computed on first use.
    intervals: OnceCell<Vec<Interval>>,
    /// What holds only indices in range.
    pub(crate) trusted: &'a Trusted,
    /// There are updates, which must not be stored if an index is out of range.
    pub(crate) transactional: bool,
    /// Indices that a separate Nest checks, and the extents of the axes that they index.
    checked: Vec<(VarId, u64)>,
    /// The numbers of nodes in reports.
    numbers: NodeNumbers,
    /// The first buffer of the current node.
    first_buffer: BufferId,
    /// The buffers that steps of the current node wrote.
    written: HashSet<BufferId>,
    /// The views of the outputs of later nodes that steps of earlier ones compute, by node.
    given: HashMap<usize, Vec<View>>,
    /// The first mistake of the current node's op.
    mistake: Option<Refusal>,
}

impl std::fmt::Debug for Lowering<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lowering").field("node", &self.node).finish_non_exhaustive()
    }
}

/// Lowers a graph at concrete shapes. The `trusted` inputs and shared variables hold indices in range; the
/// Program records the ranges. A node that finds an error reports its number, above `report_base`.
///
/// # Errors
/// If the graph is inconsistent, which `verify` would have found.
pub(crate) fn lower(
    graph: &FunctionGraph,
    shapes: &Shapes,
    abilities: &Abilities<'_>,
    trusted: &Trusted,
    report_base: i128,
) -> Result<Program> {
    lower_numbered(graph, shapes, abilities, trusted, NodeNumbers::of(graph, report_base))
}

fn lower_numbered(
    graph: &FunctionGraph,
    shapes: &Shapes,
    abilities: &Abilities<'_>,
    trusted: &Trusted,
    numbers: NodeNumbers,
) -> Result<Program> {
    let reads = |node: &Node| node.op.read_inputs(node.inputs.len()).min(node.inputs.len());
    let mut reads: Vec<usize> = graph.nodes.iter().map(reads).collect();
    loop {
        let mut state = Lowering {
            graph,
            shapes,
            abilities,
            program: Program::default(),
            views: vec![None; graph.vars.len()],
            node: 0,
            needed: needed(graph, shapes, &reads),
            reads,
            incomplete: false,
            readers: OnceCell::new(),
            intervals: OnceCell::new(),
            trusted,
            transactional: own_updates(graph).next().is_some(),
            checked: vec![],
            numbers,
            first_buffer: 0,
            written: HashSet::new(),
            given: HashMap::new(),
            mistake: None,
        };
        state.run()?;
        if !state.incomplete {
            return Ok(state.program);
        }
        // That a node needs all of its inputs, as on the host, shows only once it was tried.
        reads = state.reads;
    }
}

/// The updates that change something.
fn own_updates(graph: &FunctionGraph) -> impl Iterator<Item = (u32, VarId)> {
    graph.updates.iter().copied().filter(|&(shared, id)| graph.shared[shared as usize] != id)
}

/// The Vars whose data must be computed, not only their shape.
fn needed(graph: &FunctionGraph, shapes: &Shapes, reads: &[usize]) -> Vec<bool> {
    let mut needed = vec![false; graph.vars.len()];
    graph.roots().for_each(|id| needed[id as usize] = true);
    for (node, &read) in graph.nodes.iter().zip(reads).rev() {
        if is_done(node, shapes, &needed) {
            node.inputs[..read].iter().for_each(|&i| needed[i as usize] = true);
        }
    }
    needed
}

/// Whether a node must run: one of its results is read, or it has an effect.
pub(crate) fn is_done(node: &Node, shapes: &Shapes, needed: &[bool]) -> bool {
    let read = |&o: &VarId| needed[o as usize] && shapes.fixed[o as usize].is_none();
    node.op.has_effect() || node.outputs.iter().any(read)
}

pub(crate) fn wide(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&e| e as u64).collect()
}

impl Lowering<'_> {
    fn run(&mut self) -> Result<()> {
        let graph = self.graph;
        let updates: Vec<(u32, VarId)> = own_updates(graph).collect();
        let mut roots = vec![false; graph.vars.len()];
        for id in graph.outputs.iter().copied().chain(updates.iter().map(|u| u.1)) {
            roots[id as usize] = true;
            let made_by_node =
                matches!(graph.var(id).def, Def::Output { .. }) && self.shapes.fixed[id as usize].is_none();
            if !made_by_node {
                // Old values are copied before anything can write over them.
                let view = self.view(id)?;
                self.views[id as usize] = Some(self.own_copy(&view));
            }
        }
        for position in exchange_order::order(graph, self.shapes) {
            let node = &graph.nodes[position];
            if !is_done(node, self.shapes, &self.needed) {
                continue;
            }
            self.node = position;
            let views = match self.given.remove(&position) {
                Some(views) => views,
                None => self.lower_or_host(node)?,
            };
            for (&output, view) in node.outputs.iter().zip(views) {
                let role = &self.program.buffers[view.buffer].role;
                let keep = !roots[output as usize] || (*role == Role::Temp && view.is_whole());
                self.views[output as usize] = Some(if keep { view } else { self.own_copy(&view) });
            }
        }
        self.program.outputs = graph.outputs.iter().map(|&id| self.root(id)).collect::<Result<_>>()?;
        let updates = updates.iter().map(|&(shared, id)| Ok((shared as usize, self.root(id)?)));
        self.program.updates = updates.collect::<Result<_>>()?;
        self.mistake.take().map_or(Ok(()), |why| Err(Error::Internal(why)))
    }

    fn root(&self, id: VarId) -> Result<BufferId> {
        let view = self.views[id as usize].as_ref();
        view.map(|v| v.buffer).ok_or_else(|| Error::Internal("a root was not lowered".into()))
    }

    /// How a Var's elements lie.
    fn view(&mut self, id: VarId) -> Result<View> {
        if let Some(view) = &self.views[id as usize] {
            return Ok(view.clone());
        }
        let (dtype, shape) = (self.dtype(id), self.shape(id));
        let buffer = match (&self.shapes.fixed[id as usize], &self.graph.var(id).def) {
            (Some(value), _) => self.constant(value),
            (None, Def::Input(i)) => self.program.buffer(dtype, &shape, Role::Input(*i as usize)),
            (None, Def::Shared(i)) => self.program.buffer(dtype, &shape, Role::Shared(*i as usize)),
            (None, Def::Constant(value)) => self.constant(value),
            (None, Def::Output { .. }) => {
                let what = self.graph.describe(id);
                return Err(Error::Internal(format!("{what} is read before it is lowered")));
            }
        };
        let view = View::whole(buffer, &shape);
        self.views[id as usize] = Some(view.clone());
        Ok(view)
    }

    pub(crate) fn constant(&mut self, value: &Value) -> BufferId {
        let value = value.as_reals();
        self.program.constants.push(value.clone());
        let role = Role::Constant(self.program.constants.len() - 1);
        self.program.buffer(value.dtype(), &wide(value.shape()), role)
    }

    /// The node's outputs on the device if there is a rule, else by a host node.
    fn lower_or_host(&mut self, node: &Node) -> Result<Vec<View>> {
        let inputs = self.input_views(node)?;
        let (steps, buffers) = (self.program.steps.len(), self.program.buffers.len());
        let checked = self.checked.len();
        if let Some(why) = self.mistake.take() {
            return Err(Error::Internal(why));
        }
        self.first_buffer = buffers;
        self.written.clear();
        let lowered = node.op.lower(self, node, &inputs);
        let lowered = self.mistake.take().map_or(lowered, Err).and_then(|views| {
            self.check_outputs(node, &views)?;
            let nests = || self.program.steps[steps..].iter().flat_map(Step::nests);
            if !self.abilities.properties().every_op
                && let Some(op) = nests().find_map(host_only)
            {
                Err(format!("only the host computes {op:?}"))
            } else if !self.abilities.properties().f64 && nests().any(Nest::uses_f64) {
                Err("the device has no float64".into())
            } else {
                Ok(views)
            }
        });
        let why = match lowered {
            Ok(views) => return Ok(views),
            Err(why) => why,
        };
        self.written.clear();
        let first = buffers;
        self.given.retain(|_, views| views.iter().all(|view| view.buffer < first));
        self.program.steps.truncate(steps);
        self.checked.truncate(checked);
        self.program.buffers.truncate(buffers);
        self.program.status = self.program.status.filter(|&status| status < buffers);
        if inputs.len() < node.inputs.len() {
            self.reads[self.node] = node.inputs.len();
            self.incomplete = true;
        }
        let inputs = inputs.iter().map(|v| self.whole(v)).collect();
        let outputs: Vec<BufferId> = node
            .outputs
            .iter()
            .map(|&o| {
                let (dtype, shape) = (self.dtype(o), self.shape(o));
                self.temp(dtype, &shape)
            })
            .collect();
        self.mark_written(&outputs);
        let (op, node_at, exchange) = (node.op.clone(), self.node, None);
        let host = HostNode { op, node: node_at, why, inputs, outputs: outputs.clone(), exchange };
        self.program.steps.push(Step::Host(host));
        Ok(outputs.iter().zip(&node.outputs).map(|(&b, &o)| View::whole(b, &self.shape(o))).collect())
    }

    /// Views of the inputs that are read.
    fn input_views(&mut self, node: &Node) -> Result<Vec<View>> {
        node.inputs[..self.reads[self.node]].iter().map(|&i| self.view(i)).collect()
    }
}

/// An op in a Nest that no device language has.
fn host_only(nest: &Nest) -> Option<ScalarOp> {
    nest.phases.iter().flat_map(|p| &p.block.insts).find_map(|inst| match inst {
        Inst::Op { op, .. } if op.is_host_only() => Some(*op),
        _ => None,
    })
}
