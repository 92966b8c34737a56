//! What an op is: the trait [`Op`], and what its methods take and give. The ops themselves are in
//! [`crate::ops`].

mod arguments;
mod attributes;
mod batch;
mod sharding;
mod unknown;

pub use arguments::{AxisRead, Gradient, Holds, Known, Narrowed, OpGroup, Seat};
pub(crate) use attributes::ints;
pub use attributes::{Attr, AttrGraph, Attributes};
pub use batch::{Batch, Batched, BatchedOutputs};
pub(crate) use sharding::TermOp;
pub use sharding::{MemberArray, ShardedOutputs, Sharding, Shards};
pub(crate) use unknown::UnknownOp;

use crate::error::Result;
use crate::graph::shapes::Shapes;
use crate::graph::{FunctionGraph, Node, TensorType, Variable};
use crate::lower::{Abilities, Lowered, Lowering, View};
use crate::value::Value;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use workalike_kernels::interval::Interval;

/// An operation on tensors. An op is a value: two ops with equal id, version and attributes are the same op.
pub trait Op: Any + fmt::Debug + Send + Sync {
    /// The stable name of the family; with version and attributes it is what a file holds.
    fn id(&self) -> &'static str;

    /// The version of the op's meaning; a change of the meaning increments it.
    fn version(&self) -> u32 {
        1
    }

    /// The parameters of the op.
    fn attributes(&self) -> Attributes {
        Vec::new()
    }

    /// The op's name in messages.
    fn label(&self) -> String {
        self.id().to_string()
    }

    /// The types of the outputs.
    ///
    /// # Errors
    /// What was expected and what was given.
    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String>;

    /// The concrete shapes of the outputs. The default are those of [`Op::types`] for inputs of types whose
    /// extents are all known; an op needs its own where values decide extents.
    ///
    /// # Errors
    /// What does not fit, with the shapes.
    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let types: Vec<TensorType> = inputs.iter().map(Known::ty).collect();
        let results = self.types(&types.iter().collect::<Vec<_>>())?.into_iter();
        let shapes = results.map(|ty| ty.shape.into_iter().collect::<Option<Vec<usize>>>());
        let unknown = || "its types do not give the extents of its results, so it needs `Op::shapes`".into();
        shapes.collect::<Option<_>>().ok_or_else(unknown)
    }

    /// The inputs whose values (small integers) decide output shapes.
    fn shape_values(&self) -> Vec<usize> {
        Vec::new()
    }

    /// The outputs' values, if the inputs' shapes alone decide them.
    fn values_from_shapes(&self, inputs: &[&[usize]]) -> Option<Vec<Value>> {
        let _ = inputs;
        None
    }

    /// The number of leading inputs, of its `count`, that a device reads to compute it. Of the others only
    /// the shape is read, or the value before anything runs, as [`Op::shape_values`] says; [`Op::perform`] is
    /// given all.
    fn read_inputs(&self, count: usize) -> usize {
        count
    }

    /// Whether the results of [`Op::perform`] never share memory with its inputs, and the op keeps no
    /// reference to them.
    fn results_are_new(&self) -> bool {
        false
    }

    /// The positions of inputs, of `count`, at which an element that is out of range is an error of the call.
    fn index_inputs(&self, count: usize) -> Vec<usize> {
        let _ = count;
        Vec::new()
    }

    /// Whether its only result is its first input, unchanged, wherever it runs; it may check something.
    fn is_identity(&self) -> bool {
        false
    }

    /// Whether each element of its result is an element of its first input, unchanged.
    fn passes_elements_on(&self, inputs: &[&TensorType]) -> bool {
        let _ = inputs;
        self.is_identity()
    }

    /// Whether it promises that its results are in range where they are indices: they are not checked then.
    fn promises_bounds(&self) -> bool {
        false
    }

    /// A range in which all elements of an output lie, in its dtype. `elements` are the ranges of the inputs'
    /// elements, `shape` is that of the output. None if nothing is known but the dtype.
    ///
    /// It proves that indices are in range, so that nothing checks them. By default it is that of the first
    /// input, if the op [passes elements on](Op::passes_elements_on).
    fn element_bounds(
        &self,
        output: usize,
        inputs: &[Known],
        elements: &[Interval],
        shape: &[usize],
    ) -> Option<Interval> {
        let _ = shape;
        let types: Vec<TensorType> = inputs.iter().map(Known::ty).collect();
        let passes = output == 0 && self.passes_elements_on(&types.iter().collect::<Vec<_>>());
        elements.first().filter(|_| passes).copied()
    }

    /// The axes of inputs, as pairs of input and axis, that broadcast to this axis of the result and always
    /// have its extent if they agree. Empty if the extent follows from something else.
    fn axis_sources(&self, axis: usize, inputs: &[Variable]) -> Vec<(usize, usize)> {
        let _ = inputs;
        if self.is_identity() { vec![(0, axis)] } else { vec![] }
    }

    /// What it reads along an axis of an input. An op whose readers need a part of its result may compute
    /// only that. An input has a value where constants and extents determine it.
    fn axis_read(&self, input: usize, axis: usize, inputs: &[Known]) -> AxisRead {
        let _ = inputs;
        if self.is_identity() && input == 0 { AxisRead::Passed(axis) } else { AxisRead::All }
    }

    /// Whether the elements of an output that differ in their position along this axis alone are distinct.
    /// Where they are positions, a scatter to them needs no order.
    fn distinct_along(&self, output: usize, axis: usize) -> Holds {
        let _ = output;
        if self.is_identity() { Holds::As { input: 0, axis } } else { Holds::Unknown }
    }

    /// Whether no element of an output of integers is less than the one before it along this axis, where the
    /// elements of the inputs are in these ranges. Positions in order that are equal are neighbours.
    fn ascends_along(&self, output: usize, axis: usize, inputs: &[Known], elements: &[Interval]) -> Holds {
        let _ = (output, inputs, elements);
        if self.is_identity() { Holds::As { input: 0, axis } } else { Holds::Unknown }
    }

    /// The first element of its result, a vector of integers, and the difference from each to the next, where
    /// it is such a range.
    fn range(&self, inputs: &[Known]) -> Option<[i128; 2]> {
        let _ = inputs;
        None
    }

    /// The error message for a report of a device at a node of this op.
    fn trouble(&self) -> String {
        "an index is out of range".into()
    }

    /// What the error calls the part of the input that is wrong, where [`Lowering::report_first`] found it;
    /// `inputs` are the extents of the inputs. None if the error does not name it.
    fn trouble_part(&self, part: usize, inputs: &[&[usize]]) -> Option<String> {
        let _ = (part, inputs);
        None
    }

    /// The graphs that it runs as a part of itself, such as the body of a loop.
    fn bodies(&self) -> Vec<&Arc<FunctionGraph>> {
        Vec::new()
    }

    /// The same op with other graphs in place of [`Op::bodies`], of equal inputs and outputs, types at least
    /// as precise, and equal results. `None` if it takes no others.
    fn with_bodies(&self, bodies: Vec<Arc<FunctionGraph>>) -> Option<Arc<dyn Op>> {
        let _ = bodies;
        None
    }

    /// An op that computes only the outputs that are read, from fewer of these inputs or with less work; its
    /// outputs have types that are as precise. `None` if it can leave nothing out.
    fn narrowed(&self, read: &[bool], inputs: &[&TensorType]) -> Option<Narrowed> {
        let _ = (read, inputs);
        None
    }

    /// The shared variables that it carries by itself, such as the states of random streams, each with its
    /// value afterwards, given the outputs of the node that applies it. The value is the variable's update by
    /// default.
    ///
    /// # Errors
    /// If an expression is ill-typed.
    fn states_after(&self, outputs: &[Variable]) -> Result<Vec<(Variable, Variable)>> {
        let _ = outputs;
        Ok(Vec::new())
    }

    /// What is known within each of [`Op::bodies`].
    ///
    /// # Errors
    /// What does not fit, with the shapes.
    fn body_shapes(&self, inputs: &[Known]) -> Result<Vec<Shapes>, String> {
        let _ = inputs;
        Ok(Vec::new())
    }

    /// Whether its result is its first input, of which a part is changed.
    fn changes_part(&self) -> bool {
        false
    }

    /// The extents of the part of its first input that it changes, if [`Op::changes_part`].
    ///
    /// # Errors
    /// What does not fit, with the shapes.
    fn written_part(&self, inputs: &[Known]) -> Result<Option<Vec<usize>>, String> {
        let _ = inputs;
        Ok(None)
    }

    /// The graph that `compile` puts in place of its node: the op is in expressions only. `None` for all
    /// other ops.
    fn expansion(&self) -> Option<&FunctionGraph> {
        None
    }

    /// Whether it has an effect besides its result, so that it is performed even if its result is known or
    /// not read.
    fn has_effect(&self) -> bool {
        false
    }

    /// The result of `perform` without the effect, for values that are computed before a call.
    ///
    /// # Errors
    /// As `perform`.
    fn quietly(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        self.perform(inputs)
    }

    /// Whether inputs and outputs may be complex: it moves elements whole, or reads only extents. Lowering
    /// gives it [`View`]s of pairs of reals, with an axis of extent 2 behind the others.
    fn takes_complex(&self) -> bool {
        false
    }

    /// Its outputs for inputs of which some are complex, as expressions of their real and imaginary parts
    /// (see [`mod@crate::ops::complex`]). The default has none, and refuses complex inputs.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    fn on_complex(&self, inputs: &[Variable]) -> Result<Option<Vec<Variable>>> {
        let _ = inputs;
        Ok(None)
    }

    /// The group whose members it exchanges arrays with, or in which it asks for a place. Its value is not
    /// known before the Function is re-hosted.
    fn group(&self) -> Option<&OpGroup> {
        None
    }

    /// Whether the members of its [group](Op::group) wait for each other in it.
    fn is_joint(&self) -> bool {
        false
    }

    /// Which of its `outputs` are the same for all members of a group, given which inputs are. By default
    /// all, if all inputs are.
    ///
    /// # Errors
    /// If it runs a body in which members of the group exchange arrays only where an input says so that they
    /// may not share.
    fn agreement(&self, group: &str, inputs: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        let _ = group;
        Ok(vec![inputs.iter().all(|agree| *agree); outputs])
    }

    /// The same op in another [group](Op::group), such as one in which it has a seat.
    fn in_group(&self, group: OpGroup) -> Option<Arc<dyn Op>> {
        let _ = group;
        None
    }

    /// The gradient of each input; `None` where the output does not depend on it smoothly.
    ///
    /// # Errors
    /// If the gradient cannot be expressed.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>>;

    /// Its outputs for a whole batch of inputs (a batching rule, as in JAX's `vmap`). By default there is no
    /// rule, and [`jacobian`](crate::grad::jacobian) differentiates row by row.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    fn batch(&self, at: &Batch) -> BatchedOutputs {
        let _ = at;
        Ok(None)
    }

    /// Its outputs where the members of a group hold its inputs together (a sharding rule, as in GSPMD). By
    /// default there is no rule, and each member computes all of it from whole inputs.
    ///
    /// # Errors
    /// If the expression is ill-typed.
    fn shard(&self, at: &Shards) -> ShardedOutputs {
        let _ = at;
        Ok(None)
    }

    /// The reference implementation, on host arrays: it defines the op.
    ///
    /// # Errors
    /// If the values do not fit.
    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>>;

    /// Steps on a device that compute it, from views of the inputs it reads ([`Op::read_inputs`]) to views of
    /// its outputs: see [`crate::lower`]. The default has none, and the op runs on the host.
    ///
    /// # Errors
    /// Why it has no form on this device; then it runs on the host.
    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let _ = (to, node, inputs);
        Err(format!("no device rule for {}", self.label()))
    }

    /// A graph of other ops to compute in its place on a device where [`Op::lower`] has no form, and why
    /// it has none. The graph then fuses with what is around it.
    fn replacement(&self, device: &Abilities<'_>) -> Option<(&FunctionGraph, String)> {
        let _ = device;
        None
    }
}

impl dyn Op {
    /// The op as a `T`, if it is one.
    pub fn downcast<T: Op>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Checks the number of inputs.
pub(crate) fn expect_inputs(given: usize, expected: usize) -> Result<(), String> {
    if given == expected {
        return Ok(());
    }
    Err(format!("expected {expected} inputs, got {given}"))
}
