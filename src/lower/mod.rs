//! Instruction selection: a FunctionGraph at concrete shapes becomes a Program of unfused steps, op by op.
//!
//! Views (dimshuffle, broadcast, slices, most reshapes) cost nothing: they change how later Nests index a
//! buffer. An op without [`Op::lower`](crate::ops::Op::lower), or that needs f64 or an op that the device
//! lacks, becomes a host node. Fusion comes later and knows nothing of ops.
//!
//! - here: the state of [`Lowering`], which ops are given, and what it may ask of a device;
//! - [`program`]: what comes out; `view`: how a Var's elements lie in a buffer; `build`: Nests in the making;
//! - `checks`, `index_check`: indices out of range, on the device and before a call; `bounds_reports`: which points have
//!   to be visited for that;
//! - `tidy`: Nests without what nothing uses.

pub(crate) mod bounds_reports;
mod build;
pub(crate) mod checks;
pub(crate) mod index_check;
pub mod program;
pub(crate) mod tidy;
mod view;

pub(crate) use build::{At, NestBuilder, PhaseBuilder};
pub(crate) use view::View;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::shapes::Shapes;
use crate::graph::{Def, FunctionGraph, Node, VarId};
use crate::kernels::nest::{Inst, PhaseKind};
use crate::kernels::ops::ScalarOp;
use crate::value::Value;
use index_check::Trusted;
use program::{BufferId, HostNode, LibraryStep, Program, Role, Step};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use workalike_device::{Device, LibraryOp, Properties};

/// What lowering may ask of a device, as far as the options of a Simulator let it go.
pub(crate) struct Abilities<'d> {
    pub(crate) device: &'d dyn Device,
    /// Products may be fast rather than exact.
    pub(crate) fast: bool,
    /// Results must not depend on the order in which work items run.
    pub(crate) deterministic: bool,
}

impl Abilities<'_> {
    pub(crate) fn properties(&self) -> &Properties {
        self.device.properties()
    }

    /// Whether the device has atomic adds for this dtype whose results are deterministic, if they have to be.
    pub(crate) fn adds_to(&self, dtype: DType) -> bool {
        // Sums of integers do not depend on the order.
        (!self.deterministic || dtype.is_integer()) && self.device.adds_to(dtype)
    }

    /// Whether the device computes this op by code of its own.
    pub(crate) fn has(&self, op: &dyn LibraryOp) -> bool {
        self.device.library(op, None).is_some()
    }
}

/// Why an op has no device form.
pub(crate) type Refusal = String;

/// What a rule gives: the views of the node's outputs, or why there is none.
pub(crate) type Lowered = Result<Vec<View>, Refusal>;

/// The state of lowering one graph.
pub struct Lowering<'a> {
    pub(crate) graph: &'a FunctionGraph,
    pub(crate) shapes: &'a Shapes,
    pub(crate) abilities: &'a Abilities<'a>,
    pub(crate) program: Program,
    views: Vec<Option<View>>,
    pub(crate) node: usize,
    /// Which Vars' data must be computed.
    pub(crate) needed: Vec<bool>,
    /// For each node, how many of its inputs it reads, the first so many.
    reads: Vec<usize>,
    /// A node runs on the host that was not said to read all of its inputs: lower again with
    /// [`Lowering::reads`].
    incomplete: bool,
    /// For each Var, the nodes that read it; made when it is first asked for.
    readers: OnceCell<Vec<Vec<usize>>>,
    /// For positions that are not worked out, because all who read them can do with the mask: the mask.
    pub(crate) masks: HashMap<VarId, BufferId>,
    /// What holds only indices in range.
    pub(crate) trusted: &'a Trusted,
    /// There are updates, which must not be stored if an index is out of range.
    pub(crate) transactional: bool,
    /// Indices, and the extents within which they are, that a Nest of their own checks.
    checked: Vec<(VarId, u64)>,
    /// What the numbers of nodes count from in reports.
    report_base: i128,
}

/// Lowers a graph at concrete shapes. What is `trusted` holds indices in range; the Program says in which ranges. A node that finds
/// something wrong reports `report_base` and its number plus one.
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
            masks: HashMap::new(),
            trusted,
            transactional: own_updates(graph).next().is_some(),
            checked: vec![],
            report_base,
        };
        state.run()?;
        if !state.incomplete {
            return Ok(state.program);
        }
        // That a node runs on the host, which reads all of its inputs, shows only once it was tried.
        reads = state.reads;
    }
}

/// The updates that change something.
fn own_updates(graph: &FunctionGraph) -> impl Iterator<Item = (u32, VarId)> {
    graph.updates.iter().copied().filter(|&(shared, id)| graph.shared[shared as usize] != id)
}

/// Which Vars' data must be computed: not those of which only the shape is read.
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

/// Whether a node's work must be done: something reads what it computes, or it does more than compute.
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
        for (position, node) in graph.nodes.iter().enumerate() {
            if !is_done(node, self.shapes, &self.needed) {
                continue;
            }
            self.node = position;
            let views = self.lower_or_host(node)?;
            for (&output, view) in node.outputs.iter().zip(views) {
                let role = &self.program.buffers[view.buffer].role;
                let keep = !roots[output as usize] || (*role == Role::Temp && view.is_whole());
                self.views[output as usize] = Some(if keep { view } else { self.own_copy(&view) });
            }
        }
        self.program.outputs = graph.outputs.iter().map(|&id| self.root(id)).collect::<Result<_>>()?;
        let updates = updates.iter().map(|&(shared, id)| Ok((shared as usize, self.root(id)?)));
        self.program.updates = updates.collect::<Result<_>>()?;
        Ok(())
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
        let dtype = self.graph.var(id).ty.dtype;
        let shape = wide(&self.shapes.shapes[id as usize]);
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
        self.program.constants.push(value.clone());
        let role = Role::Constant(self.program.constants.len() - 1);
        self.program.buffer(value.dtype(), &wide(value.shape()), role)
    }

    /// For each Var, the nodes that read it.
    pub(crate) fn readers(&self) -> &[Vec<usize>] {
        self.readers.get_or_init(|| {
            let mut readers = vec![vec![]; self.graph.vars.len()];
            for (at, node) in self.graph.nodes.iter().enumerate() {
                node.inputs.iter().for_each(|&id| readers[id as usize].push(at));
            }
            readers
        })
    }

    /// What the current node reports.
    pub(crate) fn report(&self) -> i128 {
        self.report_base + self.node as i128 + 1
    }

    pub(crate) fn shape(&self, id: VarId) -> Vec<u64> {
        wide(&self.shapes.shapes[id as usize])
    }

    pub(crate) fn dtype(&self, id: VarId) -> DType {
        self.graph.var(id).ty.dtype
    }

    pub(crate) fn temp(&mut self, dtype: DType, shape: &[u64]) -> BufferId {
        self.program.buffer(dtype, shape, Role::Temp)
    }

    /// Appends a Nest, unless there is nothing to do. Where there is no result, indices are looked at all the same.
    pub(crate) fn push(&mut self, nest: NestBuilder) {
        let NestBuilder { nest, buffers } = nest;
        let nests = match nest.grid_points() {
            0 => bounds_reports::alone(&self.program, &nest, &buffers),
            _ => vec![(nest, buffers)],
        };
        self.program.steps.extend(nests.into_iter().map(|(nest, buffers)| Step::Nest { nest, buffers }));
    }

    /// A buffer that is this view: its own, or a copy.
    pub(crate) fn whole(&mut self, view: &View) -> BufferId {
        if view.is_whole() { view.buffer } else { self.own_copy(view).buffer }
    }

    /// A view's elements in a new buffer, in order.
    pub(crate) fn own_copy(&mut self, view: &View) -> View {
        let dtype = self.program.buffers[view.buffer].dtype;
        let target = self.temp(dtype, &view.shape);
        let mut nest = NestBuilder::new("copy", &view.shape, &[]);
        let mut point = nest.phase(PhaseKind::Point, &self.program);
        let value = point.load(view, &At::axes(view.shape.len()));
        point.store(target, &view.shape, &At::axes(view.shape.len()), value, None);
        point.finish();
        if !self.abilities.properties().f64 {
            // Moving float64 needs no arithmetic on it.
            let doubles = nest.nest.operands.iter_mut().filter(|o| o.dtype == DType::F64);
            doubles.for_each(|o| o.dtype = DType::I64);
        }
        self.push(nest);
        View::whole(target, &view.shape)
    }

    /// The node's outputs on the device if there is a rule, else by a host node.
    fn lower_or_host(&mut self, node: &Node) -> Result<Vec<View>> {
        let inputs = self.input_views(node)?;
        let (steps, buffers) = (self.program.steps.len(), self.program.buffers.len());
        let checked = self.checked.len();
        let lowered = node.op.lower(self, node, &inputs).and_then(|views| {
            let steps = &self.program.steps[steps..];
            if !self.abilities.properties().every_op
                && let Some(op) = steps.iter().find_map(host_only)
            {
                Err(format!("only the host computes {op:?}"))
            } else if steps.iter().any(uses_f64) && !self.abilities.properties().f64 {
                Err("the device has no float64".into())
            } else {
                Ok(views)
            }
        });
        let why = match lowered {
            Ok(views) => return Ok(views),
            Err(why) => why,
        };
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
        let host = HostNode { op: node.op.clone(), node: self.node, why, inputs, outputs: outputs.clone() };
        self.program.steps.push(Step::Host(host));
        Ok(outputs.iter().zip(&node.outputs).map(|(&b, &o)| View::whole(b, &self.shape(o))).collect())
    }

    /// Views of the inputs that are read.
    fn input_views(&mut self, node: &Node) -> Result<Vec<View>> {
        node.inputs[..self.reads[self.node]].iter().map(|&i| self.view(i)).collect()
    }

    /// Appends a library op on these inputs, each with the position of its first element, if the device has it; its
    /// outputs are new buffers of these extents.
    pub(crate) fn library(
        &mut self,
        op: impl LibraryOp,
        inputs: Vec<(BufferId, u64)>,
        shapes: &[&[u64]],
    ) -> Option<Vec<View>> {
        let scratch = self.abilities.device.library(&op, None)?;
        let results = (&op as &dyn LibraryOp).outputs();
        let outputs: Vec<BufferId> =
            results.iter().zip(shapes).map(|(result, shape)| self.temp(result.dtype, shape)).collect();
        let views = outputs.iter().zip(shapes).map(|(&buffer, shape)| View::whole(buffer, shape)).collect();
        self.push_library(Arc::new(op), inputs, outputs, scratch);
        Some(views)
    }

    /// The same, into buffers that are there.
    pub(crate) fn library_into(
        &mut self,
        op: impl LibraryOp,
        inputs: Vec<(BufferId, u64)>,
        outputs: Vec<BufferId>,
    ) -> Option<()> {
        let scratch = self.abilities.device.library(&op, None)?;
        self.push_library(Arc::new(op), inputs, outputs, scratch);
        Some(())
    }

    fn push_library(
        &mut self,
        op: Arc<dyn LibraryOp>,
        inputs: Vec<(BufferId, u64)>,
        outputs: Vec<BufferId>,
        scratch: u64,
    ) {
        if outputs.iter().all(|&output| self.program.buffers[output].is_empty()) {
            return;
        }
        let scratch = (scratch > 0).then(|| self.temp(DType::U8, &[scratch]));
        let step = LibraryStep { op, inputs, outputs, scratch, epilogue: None };
        self.program.steps.push(Step::Library(step));
    }
}

/// An op in a step that no device language has.
fn host_only(step: &Step) -> Option<ScalarOp> {
    let Step::Nest { nest, .. } = step else { return None };
    nest.phases.iter().flat_map(|p| &p.block.insts).find_map(|inst| match inst {
        Inst::Op { op, .. } if op.is_host_only() => Some(*op),
        _ => None,
    })
}

fn uses_f64(step: &Step) -> bool {
    match step {
        Step::Nest { nest, .. } => {
            let insts = || nest.phases.iter().flat_map(|p| &p.block.insts);
            nest.operands.iter().any(|o| o.dtype == DType::F64)
                || insts().any(|i| matches!(i, Inst::Cast { to: DType::F64, .. }))
                || insts().any(|i| matches!(i, Inst::Const(s) if s.dtype() == DType::F64))
        }
        // A device that has the op has it in this dtype.
        Step::Library(_) | Step::Host(_) => false,
    }
}
