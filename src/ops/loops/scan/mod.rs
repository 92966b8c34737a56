//! Scans: loops with a number of iterations that is known before they run.
//!
//! - here: the op; `builder`: [`Scan`], how it is made; `scanned`: [`Scanned`], its results; `until`: the
//!   number of iterations until a condition holds; `body`: its sub-graph; `perform`: its reference;
//! - `grad`: its gradient; `checkpoint`: with less memory; `batch`: the op for a batch of inputs; `shard`: by
//!   members of a group; `prune_outputs`: the op without what is not read; `parts`: what rewrites see of it;
//! - `lower`: its device form; `serialization`: how a file holds it.

mod batch;
mod body;
mod builder;
mod checkpoint;
mod grad;
mod lower;
mod parts;
mod perform;
mod prune_outputs;
mod scanned;
mod serialization;
mod shard;
mod until;

pub use builder::Scan;
pub(crate) use parts::{LoopArgument, LoopParts, Recurrence};
pub use scanned::Scanned;
pub(in crate::ops) use serialization::decode;

use super::agreement::of_scan;
use super::closed::broken;
use crate::error::{Result, shape_text};
use crate::graph::shapes::Shapes;
use crate::graph::source_location;
use crate::graph::{FunctionGraph, Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attributes, Batch, BatchedOutputs, Gradient, Known, Narrowed, Op, ShardedOutputs, Shards, expect_inputs,
};
use crate::ops::index_expression::Ix;
use crate::value::Value;
use body::{BodyInput, ScanBody};
use std::sync::Arc;
use workalike_kernels::{DType, Scalar};

/// A body that runs a number of times (Theano's and PyTensor's `Scan`).
///
/// Inputs: the sequences, each with a slice for each iteration along its first axis; for each recurrence the
/// values before the first iteration, as many as its farthest tap looks back; the constants; the number of
/// iterations, a 0-d int64.
///
/// Outputs: for each recurrence all its values, those before the first iteration among them; then, stacked,
/// the body's other results. Those of a loop that goes backwards are where the slices of their iterations
/// are, the last iteration's first; values of recurrences are in the order of iterations in any case.
#[derive(Clone, Debug)]
pub struct ScanOp {
    pub(super) body: Arc<ScanBody>,
    /// The number of iterations, if it is always the same.
    steps: Option<usize>,
    /// The gradient flows through so many iterations, the last.
    truncated: Option<usize>,
    /// The sequences are known to be as long as there are iterations.
    lockstep: bool,
    /// The sequences are taken from their last slice to the first, and so are the results that are not
    /// carried.
    backwards: bool,
    /// The shared variables that it carries in its last recurrences, where it was written.
    pub(super) states: Vec<Variable>,
}

/// What a loop is given.
#[derive(Clone, Debug)]
struct ScanInputs {
    sequences: Vec<Variable>,
    /// For each recurrence, the values before the first iteration.
    initial: Vec<Variable>,
    constants: Vec<Variable>,
    steps: Variable,
}

impl ScanInputs {
    /// The inputs of the op.
    fn list(&self) -> Vec<Variable> {
        let ScanInputs { sequences, initial, constants, steps } = self;
        sequences.iter().chain(initial).chain(constants).chain([steps]).cloned().collect()
    }

    /// The number of iterations, if it is always the same.
    fn known_steps(&self) -> Option<usize> {
        let steps = self.steps.constant_value().and_then(Value::to_scalar)?;
        usize::try_from(steps.to_i128()).ok()
    }
}

impl ScanOp {
    /// The loop on these inputs, whose first `carried` recurrences are of interest.
    fn on(self, given: ScanInputs, carried: usize) -> Result<Scanned> {
        let recurrences = self.body.lags.len();
        let depths: Vec<usize> = (0..carried).map(|r| self.body.depth(r)).collect();
        let mut traces = Variable::apply_at(Arc::new(self), &given.list(), source_location::here())?;
        let stacked = traces.split_off(recurrences);
        traces.truncate(carried);
        Ok(Scanned::new(traces, depths, stacked, given.steps))
    }

    /// The position among the inputs of the first initial value.
    fn first_initial(&self) -> usize {
        self.body.sequences
    }

    /// The position among the inputs of the first constant.
    fn first_constant(&self) -> usize {
        self.body.sequences + self.body.lags.len()
    }

    /// The position among the inputs of the number of iterations.
    fn steps_at(&self) -> usize {
        self.first_constant() + self.body.constants()
    }

    /// The input of the op that the body's part is taken from.
    fn source(&self, part: BodyInput) -> usize {
        match part {
            BodyInput::Sequence(at) => at,
            BodyInput::Tap(recurrence, _) => self.first_initial() + recurrence,
            BodyInput::Constant(at) => self.first_constant() + at,
        }
    }

    /// Whether it takes its sequences from the last slice to the first.
    pub(crate) fn backwards(&self) -> bool {
        self.backwards
    }

    /// Through how many iterations, the last, its gradient flows; `None`: through all.
    pub(crate) fn truncated(&self) -> Option<usize> {
        self.truncated
    }

    /// The number of iterations, if these types of inputs tell.
    pub(crate) fn known_steps(&self, inputs: &[&TensorType]) -> Option<usize> {
        let sequences = inputs.iter().take(self.body.sequences);
        self.steps.or_else(|| sequences.filter_map(|ty| ty.shape.first().copied().flatten()).next())
    }

    /// How messages name an input.
    fn input_name(&self, part: BodyInput) -> String {
        match part {
            BodyInput::Sequence(at) => format!("sequence {at}"),
            BodyInput::Tap(recurrence, _) => self.body.recurrence_name(recurrence),
            BodyInput::Constant(at) => format!("constant {at}"),
        }
    }

    fn check_input(&self, position: usize, part: BodyInput, given: &TensorType) -> Result<(), String> {
        let declared = self.body.closed.input_type(position);
        let row = match part {
            BodyInput::Constant(_) => given.clone(),
            _ if given.ndim() == 0 => {
                return Err(format!("{} is {given}, which has no axis of iterations", self.input_name(part)));
            }
            _ => TensorType::new(given.dtype, given.shape[1..].to_vec()),
        };
        if !declared.includes(&row) {
            return Err(format!("{} is {row} in each iteration, expected {declared}", self.input_name(part)));
        }
        if let (BodyInput::Tap(recurrence, _), Some(Some(rows))) = (part, given.shape.first())
            && *rows != self.body.depth(recurrence)
        {
            let depth = self.body.depth(recurrence);
            let what = self.input_name(part);
            return Err(format!("{what} has {rows} initial values; its taps look back {depth} iterations"));
        }
        Ok(())
    }

    /// The number of iterations.
    fn trips(&self, inputs: &[Known]) -> Result<usize, String> {
        let steps = inputs.get(self.steps_at()).and_then(|k| k.value).and_then(Value::to_scalar);
        let steps = steps.map(Scalar::to_i128).ok_or("the number of iterations is not known on the host")?;
        usize::try_from(steps).map_err(|_| format!("{steps} iterations are asked"))
    }

    /// The shapes within the body.
    fn inner_shapes(&self, inputs: &[Known]) -> Result<Shapes, String> {
        let row = |part: BodyInput| {
            let whole = inputs.get(self.source(part)).map(|k| k.shape).unwrap_or_default();
            if matches!(part, BodyInput::Constant(_)) {
                whole.to_vec()
            } else {
                whole.get(1..).unwrap_or_default().to_vec()
            }
        };
        let shapes: Vec<Vec<usize>> = self.body.parts().map(row).collect();
        let value = |at: usize| {
            let part = self.body.parts().nth(at).filter(|part| matches!(part, BodyInput::Constant(_)))?;
            inputs.get(self.source(part))?.value.cloned()
        };
        self.body.closed.shapes(&shapes, &value)
    }

    fn check_extents(&self, inputs: &[Known], steps: usize) -> Result<(), String> {
        for (at, sequence) in inputs.iter().take(self.body.sequences).enumerate() {
            let slices = sequence.shape.first().copied().unwrap_or_default();
            if slices != steps {
                return Err(format!("sequence {at} has {slices} slices for {steps} iterations"));
            }
        }
        for recurrence in 0..self.body.lags.len() {
            let initial = inputs.get(self.first_initial() + recurrence);
            let rows = initial.and_then(|k| k.shape.first()).copied().unwrap_or_default();
            let depth = self.body.depth(recurrence);
            if rows != depth {
                let what = self.body.recurrence_name(recurrence);
                return Err(format!(
                    "{what} has {rows} initial values; its taps look back {depth} iterations"
                ));
            }
        }
        Ok(())
    }

    /// The shapes of the outputs, given those within the body.
    fn output_shapes(
        &self,
        inputs: &[Known],
        steps: usize,
        inner: &Shapes,
    ) -> Result<Vec<Vec<usize>>, String> {
        let outputs = self.body.closed.graph.outputs.iter().map(|&id| &inner.shapes[id as usize]);
        let shape = |(at, row): (usize, &Vec<usize>)| {
            if at >= self.body.lags.len() {
                return Ok(stacked(steps, row));
            }
            let before =
                inputs.get(self.first_initial() + at).and_then(|k| k.shape.get(1..)).unwrap_or_default();
            if before != row {
                let (what, before, after) =
                    (self.body.recurrence_name(at), shape_text(before), shape_text(row));
                return Err(format!("{what} has shape {before} before an iteration, and {after} after it"));
            }
            let rows = steps
                .checked_add(self.body.depth(at))
                .ok_or_else(|| format!("{steps} iterations are asked"))?;
            Ok(stacked(rows, row))
        };
        outputs.enumerate().map(shape).collect()
    }
}

fn stacked(rows: usize, row: &[usize]) -> Vec<usize> {
    std::iter::once(rows).chain(row.iter().copied()).collect()
}

impl Op for ScanOp {
    fn id(&self) -> &'static str {
        "scan"
    }

    fn version(&self) -> u32 {
        serialization::version(self)
    }

    fn attributes(&self) -> Attributes {
        serialization::attributes(self)
    }

    fn label(&self) -> String {
        self.body.name.clone()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), self.steps_at() + 1)?;
        for (position, part) in self.body.parts().enumerate() {
            self.check_input(position, part, inputs[self.source(part)])?;
        }
        let steps = inputs[self.steps_at()];
        if steps.dtype != DType::I64 || steps.ndim() != 0 {
            return Err(format!("the number of iterations is a 0-d int64, got {steps}"));
        }
        let steps = self.known_steps(inputs);
        let mut slices =
            inputs[..self.body.sequences].iter().filter_map(|ty| ty.shape.first().copied().flatten());
        if let (Some(steps), Some(other)) = (steps, slices.find(|other| Some(*other) != steps)) {
            return Err(format!("there are sequences of {other} slices for {steps} iterations"));
        }
        let ty = |at: usize| {
            let row = self.body.closed.output_type(at);
            let (rows, mut row) = match self.body.lags.get(at) {
                None => (steps, row.clone()),
                Some(_) => (steps.and_then(|n| n.checked_add(self.body.depth(at))), row.clone()),
            };
            if at < self.body.lags.len() {
                let before = &inputs[self.first_initial() + at].shape[1..];
                row.shape.iter_mut().zip(before).for_each(|(extent, before)| *extent = extent.or(*before));
            }
            row.shape.insert(0, rows);
            row
        };
        Ok((0..self.body.closed.graph.outputs.len()).map(ty).collect())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let steps = self.trips(inputs)?;
        if let Some(known) = self.steps.filter(|&known| known != steps) {
            return Err(format!("{steps} iterations are asked of a loop of {known}"));
        }
        self.check_extents(inputs, steps)?;
        let inner = self.inner_shapes(inputs)?;
        self.output_shapes(inputs, steps, &inner)
    }

    fn shape_values(&self) -> Vec<usize> {
        let constants = self
            .body
            .closed
            .demand
            .inputs
            .iter()
            .map(|&at| self.first_constant() + at - self.body.first_constant());
        constants.chain([self.steps_at()]).collect()
    }

    fn read_inputs(&self, count: usize) -> usize {
        count.saturating_sub(1)
    }

    fn results_are_new(&self) -> bool {
        true
    }

    fn bodies(&self) -> Vec<&Arc<FunctionGraph>> {
        vec![&self.body.closed.graph]
    }

    fn states_after(&self, outputs: &[Variable]) -> Result<Vec<(Variable, Variable)>> {
        let all = outputs.get(..self.body.lags.len()).unwrap_or_default();
        let traces = all.iter().skip(all.len().saturating_sub(self.states.len()));
        let last = |(shared, trace): (&Variable, &Variable)| {
            Ok((shared.clone(), trace.try_index([Ix::from(-1i64)])?))
        };
        self.states.iter().zip(traces).map(last).collect()
    }

    fn with_bodies(&self, bodies: Vec<Arc<FunctionGraph>>) -> Option<Arc<dyn Op>> {
        let ScanBody { name, sequences, lags, .. } = self.body.as_ref();
        let body = ScanBody::stored(name, *sequences, lags.clone(), bodies.into_iter().next()?).ok()?;
        Some(Arc::new(ScanOp { body: Arc::new(body), ..self.clone() }))
    }

    fn narrowed(&self, read: &[bool], inputs: &[&TensorType]) -> Option<Narrowed> {
        prune_outputs::narrow(self, read, inputs)
    }

    fn body_shapes(&self, inputs: &[Known]) -> Result<Vec<Shapes>, String> {
        Ok(vec![self.inner_shapes(inputs)?])
    }

    fn has_effect(&self) -> bool {
        self.body.closed.graph.nodes.iter().any(|node| node.op.has_effect())
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        grad::grad(self, at)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        batch::batch(self, at)
    }

    fn agreement(&self, group: &str, inputs: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        let counted = self.steps.is_some() || self.lockstep || inputs.get(self.steps_at()) == Some(&true);
        let same = |part| matches!(part, BodyInput::Constant(_)) && inputs[self.source(part)];
        of_scan(group, &self.body.closed.graph, counted, &self.body.parts().map(same).collect::<Vec<_>>())?;
        Ok(vec![inputs.iter().all(|agree| *agree); outputs])
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        shard::shard(self, at)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        perform::perform(self, inputs)
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

impl ScanOp {
    /// The shapes within the body and of the outputs for these values.
    fn shapes_of(&self, inputs: &[Value]) -> Result<(usize, Vec<Vec<usize>>)> {
        let known: Vec<Known> = inputs.iter().map(Known::of).collect();
        let steps = self.trips(&known).map_err(|message| broken(&message))?;
        let shapes = self.shapes(&known).map_err(|message| broken(&message))?;
        Ok((steps, shapes))
    }
}
