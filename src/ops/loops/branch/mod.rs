//! Branches: of several sub-graphs one is computed (Theano's `ifelse`, JAX's `cond` and `switch`).

mod batch;

use super::agreement::of_branch;
use super::closed::{Closed, broken};
use super::pack::Pack;
use crate::error::{Result, shape_text};
use crate::graph::shapes::Shapes;
use crate::graph::{
    Apply, FunctionGraph, Node, TensorType, Variable, ancestors, carried_states, evaluate, rebuild,
    source_location,
};
use crate::lower::program::nearest;
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, AttrGraph, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, expect_inputs};
use crate::ops::backpropagate::slopes;
use crate::ops::creation::{int_scalar, zeros_like};
use crate::ops::methods::fail;
use crate::ops::op_from_graph::{pairs, replaced, stand_ins};
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;
use workalike_kernels::DType;

/// A branch under construction.
type Arm<'a> = Box<dyn FnOnce() -> Vec<Variable> + 'a>;

/// What `then` makes where the condition holds, else what `otherwise` makes; only one of them is computed.
/// The condition is a 0-d bool. What a closure makes is computed in its branch; what was made before, in any
/// case. Both give as many values, of equal dtypes and shapes.
///
/// [`where_`](crate::ops::where_) chooses element by element, and computes both.
///
/// ```
/// use workalike::loops::if_else;
/// use workalike::prelude::*;
/// let (x, c) = (vector::<f64>("x"), scalar::<bool>("c"));
/// let y = if_else(&c, || x.exp(), || &x * 2.0);
/// let f = function([&x, &c]).output(&y).output(&grad(&y.sum(..), [&x])?[0]).compile()?;
/// let results = f.call(args![vec![1.0, 2.0], false])?;
/// assert_eq!(results[0].to_vec::<f64>()?, [2.0, 4.0]);
/// assert_eq!(results[1].to_vec::<f64>()?, [2.0, 2.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[track_caller]
#[must_use]
pub fn if_else<R: Pack, S: Pack>(
    condition: impl Into<Variable>,
    then: impl FnOnce() -> R,
    otherwise: impl FnOnce() -> S,
) -> R::Variables {
    let _scope = source_location::enter();
    let condition = condition.into();
    let index = || {
        let condition = condition.checked()?;
        if condition.dtype() != DType::Bool || condition.ndim() != 0 {
            return Err(fail("if_else", format!("the condition is a 0-d bool, got {}", condition.ty())));
        }
        condition.try_cast(DType::I64)
    };
    // False is 0.
    let arms: Vec<Arm<'_>> =
        vec![Box::new(move || otherwise().into_list()), Box::new(move || then().into_list())];
    R::unpack_poisoned(results(index(), "if_else", arms))
}

/// What the closure at position `index` makes; only that is computed. `index` is a 0-d integer; out of
/// range it means the first or the last, as in JAX. All give as many values, of equal dtypes and shapes.
///
/// ```
/// use workalike::loops::switch;
/// use workalike::prelude::*;
/// let (x, i) = (scalar::<f64>("x"), scalar::<i64>("i"));
/// let power = switch(&i, (0..4).map(|n| { let x = x.clone(); move || x.pow(f64::from(n)) }));
/// let f = function([&x, &i]).output(&power).compile()?;
/// assert_eq!(f.call(args![2.0, 3i64])?[0].item::<f64>()?, 8.0);
/// # Ok::<(), workalike::Error>(())
/// ```
#[track_caller]
#[must_use]
pub fn switch<R: Pack, F: FnOnce() -> R>(
    index: impl Into<Variable>,
    branches: impl IntoIterator<Item = F>,
) -> R::Variables {
    let _scope = source_location::enter();
    let branches: Vec<F> = branches.into_iter().collect();
    let arm = |branch: F| -> Arm<'_> { Box::new(move || branch().into_list()) };
    let arms = branches.into_iter().map(arm).collect();
    let index = int_scalar("switch", index.into());
    R::unpack_poisoned(results(index, "switch", arms))
}

fn results(index: Result<Variable>, name: &str, arms: Vec<Arm<'_>>) -> Vec<Variable> {
    index.and_then(|index| branch(name, &index, arms)).unwrap_or_else(|error| vec![Variable::poison(error)])
}

/// The outputs of the arm at a position.
fn branch(name: &str, index: &Variable, arms: Vec<Arm<'_>>) -> Result<Vec<Variable>> {
    let wrong = |message: String| fail(name, message);
    let mut made = arms.into_iter().map(Made::by).collect::<Result<Vec<Made>>>()?;
    let Some(count) = made.first().map(|arm| arm.outputs.len()) else {
        return Err(wrong("there are no branches".into()));
    };
    let states = distinct(made.iter().flat_map(|arm| arm.states.iter().map(|(shared, _)| shared)));
    for arm in &mut made {
        arm.leave(&states);
    }
    let read = distinct(made.iter().flat_map(|arm| &arm.read).chain(&states));
    let mut bodies = Vec::with_capacity(made.len());
    for arm in &made {
        let inputs = stand_ins(&read);
        let outputs = rebuild(&arm.outputs, &mut pairs(&read, &inputs), |_, _| Ok(None))?;
        bodies.push(Closed::new(inputs, outputs)?.map_err(wrong)?);
    }
    let op = BranchOp { states, ..BranchOp::of(name, bodies).map_err(wrong)? };
    let given: Vec<Variable> = std::iter::once(index.try_cast(DType::I64)?).chain(read).collect();
    let mut results = Variable::apply_at(Arc::new(op), &given, source_location::here())?;
    results.truncate(count);
    Ok(results)
}

/// What a closure made.
struct Made {
    outputs: Vec<Variable>,
    /// What was made before and is read.
    read: Vec<Variable>,
    /// The states that loops carry, as those of random streams, with their values after the last iteration.
    states: Vec<(Variable, Variable)>,
}

impl Made {
    fn by(arm: Arm<'_>) -> Result<Made> {
        let then = Apply::now();
        let outputs = {
            let _own = source_location::leave();
            arm()
        };
        outputs.iter().try_for_each(|output| output.checked().map(drop))?;
        let before = |v: &Variable| v.owner().is_some_and(|(apply, _)| !apply.is_since(then));
        let states = carried_states(&outputs, before)?;
        let roots: Vec<Variable> =
            outputs.iter().chain(states.iter().map(|(_, next)| next)).cloned().collect();
        // What was made in the closure counts as changing; all else that it reads is from outside.
        let outside = |v: &Variable| v.owner().is_none() || before(v);
        let inside: Vec<Variable> = ancestors(&roots, outside);
        let inputs = inside.iter().filter_map(Variable::owner).flat_map(|(apply, _)| apply.inputs.iter());
        let read = inputs.chain(&roots).filter(|v| outside(v) && v.constant_value().is_none());
        Ok(Made { read: distinct(read), outputs, states })
    }

    /// Has it give these states too: a state that it does not read stays as it is.
    fn leave(&mut self, states: &[Variable]) {
        for state in states {
            let next = self.states.iter().find(|(shared, _)| shared.key() == state.key());
            self.outputs.push(next.map_or(state, |(_, next)| next).clone());
        }
    }
}

/// The Variables of a list, each once.
fn distinct<'a>(list: impl Iterator<Item = &'a Variable>) -> Vec<Variable> {
    let mut seen = HashSet::new();
    list.filter(|variable| seen.insert(variable.key())).cloned().collect()
}

/// Of several bodies the one at a position.
///
/// Inputs: the position, a 0-d int64, where one out of range means the nearest; what the bodies read, the
/// same for each. Outputs: those of the body.
#[derive(Clone, Debug)]
pub struct BranchOp {
    name: String,
    bodies: Vec<Arc<Closed>>,
    /// The shared variables whose next values it gives last, where it was written.
    states: Vec<Variable>,
}

impl BranchOp {
    fn of(name: &str, bodies: Vec<Closed>) -> Result<BranchOp, String> {
        let Some(first) = bodies.first() else { return Err("there are no branches".into()) };
        for (at, body) in bodies.iter().enumerate() {
            let [outputs, inputs] = [body.graph.outputs.len(), body.graph.inputs.len()];
            if inputs != first.graph.inputs.len() {
                return Err("the branches do not read the same".into());
            }
            if outputs != first.graph.outputs.len() {
                let wanted = first.graph.outputs.len();
                return Err(format!("branch {at} gives {outputs} values, and the first {wanted}"));
            }
            for output in 0..outputs {
                let (own, other) = (body.output_type(output), first.output_type(output));
                let contradicts =
                    |(a, b): (&Option<usize>, &Option<usize>)| a.is_some() && b.is_some() && a != b;
                let differs = own.shape.iter().zip(&other.shape).any(contradicts);
                if own.dtype != other.dtype || own.ndim() != other.ndim() || differs {
                    return Err(format!("value {output} is {own} in branch {at}, and {other} in the first"));
                }
            }
        }
        Ok(BranchOp { name: name.into(), bodies: bodies.into_iter().map(Arc::new).collect(), states: vec![] })
    }

    /// The op that a file describes.
    ///
    /// # Errors
    /// If the attributes contradict each other.
    pub(in crate::ops) fn decode(op: &StoredOp) -> Result<Arc<dyn Op>, String> {
        let count = op.int("branches")?;
        let graphs = (0..count).map(|at| op.graph(&format!("body{at}")));
        let bodies = graphs.map(|graph| Closed::stored(graph?.clone())).collect::<Result<_, String>>()?;
        Ok(Arc::new(BranchOp::of(op.text("name")?, bodies)?))
    }

    fn inner_shapes(&self, inputs: &[Known]) -> Result<Vec<Shapes>, String> {
        let given = inputs.get(1..).unwrap_or_default();
        let shapes: Vec<Vec<usize>> = given.iter().map(|known| known.shape.to_vec()).collect();
        let value = |at: usize| given.get(at)?.value.cloned();
        self.bodies.iter().map(|body| body.shapes(&shapes, &value)).collect()
    }

    /// The gradients of the constants that have one, for each branch, given those of the outputs.
    fn slopes(&self, at: &Gradient) -> Result<Vec<Vec<Option<Variable>>>> {
        let constants = &at.inputs[1..];
        let mut all = Vec::new();
        for body in &self.bodies {
            let (inputs, outputs) = body.variables()?;
            let seeds = stand_ins(&outputs);
            let given = outputs.iter().zip(&seeds).zip(at.output_grads);
            let known =
                given.clone().filter(|((output, _), g)| g.is_some() && output.dtype().real().is_float());
            let slopes = slopes(known.map(|(pair, _)| pair), &inputs)?;
            let mut terms = pairs(&inputs, constants);
            for ((_, seed), g) in given {
                terms.extend(g.as_ref().map(|g| (seed.key(), g.clone())));
            }
            all.push(replaced(&slopes, &mut terms)?);
        }
        Ok(all)
    }
}

impl Op for BranchOp {
    fn id(&self) -> &'static str {
        "branch"
    }

    fn attributes(&self) -> Attributes {
        let mut list = vec![
            ("name".into(), Attr::Text(self.name.clone())),
            ("branches".into(), Attr::Int(self.bodies.len() as i64)),
        ];
        let body = |(at, body): (usize, &Arc<Closed>)| {
            (format!("body{at}"), Attr::Graph(AttrGraph(body.graph.clone())))
        };
        list.extend(self.bodies.iter().enumerate().map(body));
        list
    }

    fn label(&self) -> String {
        self.name.clone()
    }

    fn agreement(&self, group: &str, inputs: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        of_branch(group, &self.bodies(), inputs, outputs)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let first = &self.bodies[0];
        expect_inputs(inputs.len(), 1 + first.graph.inputs.len())?;
        if inputs[0].dtype != DType::I64 || inputs[0].ndim() != 0 {
            return Err(format!("a branch has a position, a 0-d int64, got {}", inputs[0]));
        }
        for body in &self.bodies {
            for (at, given) in inputs[1..].iter().enumerate() {
                let declared = body.input_type(at);
                if !declared.includes(given) {
                    return Err(format!("input {at} of a branch is {given}, expected {declared}"));
                }
            }
        }
        let ty = |output: usize| {
            let mut ty = first.output_type(output).clone();
            for body in &self.bodies[1..] {
                // Extents that only one branch knows hold for all, since the shapes are equal.
                let other = &body.output_type(output).shape;
                ty.shape.iter_mut().zip(other).for_each(|(extent, other)| *extent = extent.or(*other));
            }
            ty
        };
        Ok((0..first.graph.outputs.len()).map(ty).collect())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let inner = self.inner_shapes(inputs)?;
        let of = |at: usize| -> Vec<&Vec<usize>> {
            self.bodies[at].graph.outputs.iter().map(|&id| &inner[at].shapes[id as usize]).collect()
        };
        let first = of(0);
        for at in 1..self.bodies.len() {
            if let Some((own, other)) = of(at).into_iter().zip(&first).find(|(own, other)| own != *other) {
                let (own, other) = (shape_text(own), shape_text(other));
                return Err(format!("branch {at} gives shape {own}, and the first {other}"));
            }
        }
        Ok(first.into_iter().cloned().collect())
    }

    fn shape_values(&self) -> Vec<usize> {
        let mut list: Vec<usize> =
            self.bodies.iter().flat_map(|body| body.demand.inputs.iter().map(|at| at + 1)).collect();
        list.sort_unstable();
        list.dedup();
        list
    }

    fn bodies(&self) -> Vec<&Arc<FunctionGraph>> {
        self.bodies.iter().map(|body| &body.graph).collect()
    }

    fn with_bodies(&self, bodies: Vec<Arc<FunctionGraph>>) -> Option<Arc<dyn Op>> {
        let bodies = bodies.into_iter().map(Closed::stored).collect::<Result<_, _>>().ok()?;
        Some(Arc::new(BranchOp { states: self.states.clone(), ..BranchOp::of(&self.name, bodies).ok()? }))
    }

    fn states_after(&self, outputs: &[Variable]) -> Result<Vec<(Variable, Variable)>> {
        let last = outputs.iter().skip(outputs.len().saturating_sub(self.states.len()));
        Ok(self.states.iter().cloned().zip(last.cloned()).collect())
    }

    fn body_shapes(&self, inputs: &[Known]) -> Result<Vec<Shapes>, String> {
        self.inner_shapes(inputs)
    }

    fn has_effect(&self) -> bool {
        self.bodies.iter().any(|body| body.graph.nodes.iter().any(|node| node.op.has_effect()))
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let constants = &at.inputs[1..];
        // Built once to learn which constants have a gradient in some branch.
        let known = self.slopes(at)?;
        let has = |input: usize| known.iter().any(|slopes| slopes[input].is_some());
        let list: Vec<usize> = (0..constants.len()).filter(|&input| has(input)).collect();
        let mut grads = vec![None; at.inputs.len()];
        if list.is_empty() {
            return Ok(grads);
        }
        let given: Vec<Variable> =
            constants.iter().chain(at.output_grads.iter().flatten()).cloned().collect();
        let instead = stand_ins(&given);
        let mut bodies = Vec::new();
        for slopes in &known {
            let each =
                |&input: &usize| slopes[input].clone().unwrap_or_else(|| zeros_like(&constants[input]));
            let outputs: Vec<Variable> = list.iter().map(each).collect();
            let outputs = rebuild(&outputs, &mut pairs(&given, &instead), |_, _| Ok(None))?;
            let body = Closed::new(instead.clone(), outputs)?;
            bodies.push(body.map_err(|message| fail(&self.name, message))?);
        }
        let name = format!("gradient of {}", self.name);
        let op = BranchOp::of(&name, bodies).map_err(|message| fail(&name, message))?;
        let all: Vec<Variable> = at.inputs[..1].iter().chain(&given).cloned().collect();
        let made = Variable::apply_at(Arc::new(op), &all, source_location::here())?;
        for (input, gradient) in list.into_iter().zip(made) {
            grads[1 + input] = Some(gradient);
        }
        Ok(grads)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        batch::batch(self, at)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let index = inputs.first().and_then(Value::to_scalar).ok_or_else(|| broken("position"))?;
        let body = &self.bodies[nearest(index.to_i128(), self.bodies.len())];
        let values = evaluate(&body.graph, &inputs[1..], &[])?;
        let outputs = body.graph.outputs.iter().map(|id| values.get(id).cloned());
        outputs.collect::<Option<_>>().ok_or_else(|| broken("such output"))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        let mut programs = Vec::new();
        for (at, body) in self.bodies.iter().enumerate() {
            programs.push(to.body(at, &body.graph, to.body_shapes(at)?)?);
        }
        let index = to.whole(&inputs[0]);
        let read: Vec<_> = inputs[1..].iter().map(|view| to.read_whole(view)).collect();
        let results: Vec<View> = node.outputs.iter().map(|&id| to.result(id)).collect();
        to.push_branch(&self.name, programs, index, &read, &results);
        Ok(results)
    }
}
