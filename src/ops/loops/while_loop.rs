//! Loops that go on while a condition holds (Theano's `scan` with `until`, JAX's `while_loop`).

use super::closed::{Closed, broken, captured, closed};
use super::pack::Pack;
use super::states::States;
use crate::dtype::DType;
use crate::error::{Error, Result, shape_text};
use crate::graph::shapes::Shapes;
use crate::graph::{Apply, Def, FunctionGraph, Kind, Node, TensorType, Variable, evaluate, place};
use crate::kernels::nest::PhaseKind;
use crate::kernels::ops as scalar;
use crate::lower::{Lowered, Lowering, NestBuilder, View};
use crate::ops::methods::fail;
use crate::ops::{Attr, AttrGraph, Attributes, Gradient, Known, Op, StoredOp, expect_inputs};
use crate::value::Value;
use std::any::Any;
use std::sync::Arc;

/// Iterations of a loop without a limit of its own.
const MOST: i64 = 1 << 20;

/// The carried values when the condition no longer holds: JAX's `while_loop`.
///
/// `condition(x)` gives a 0-d bool, `body(x)` the next values. If the condition does not hold at first, the
/// result is `initial`. On a device, the values stay there; a condition that holds after 2^20 iterations is
/// an error of the call: see [`While::at_most`]. There is no gradient through it, since the values on the way
/// are not kept: use [`scan`](super::scan) for that.
///
/// ```
/// use workalike::loops::while_loop;
/// use workalike::prelude::*;
/// // Newton's square root.
/// let a = scalar::<f64>("a");
/// let root = while_loop(&a, |x| (x * x - &a).abs().greater(1e-12 * &a), |x| (&x + &a / &x) * 0.5);
/// let f = function([&a]).output(&root).compile()?;
/// assert!((f.call(args![2.0])?[0].item::<f64>()? - 2f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), workalike::Error>(())
/// ```
#[track_caller]
#[must_use]
pub fn while_loop<C: Pack, R: Pack>(
    initial: C,
    condition: impl Fn(&C::Variables) -> Variable,
    body: impl FnOnce(C::Variables) -> R,
) -> C::Variables {
    let _scope = place::enter();
    While::new().run(initial, condition, body).0
}

/// A loop with a condition, under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct While {
    name: String,
    most: i64,
}

impl Default for While {
    fn default() -> While {
        While::new()
    }
}

impl While {
    /// A loop of at most 2^20 iterations.
    pub fn new() -> While {
        While { name: "while_loop".into(), most: MOST }
    }

    /// A name for messages and listings.
    pub fn named(mut self, name: &str) -> While {
        self.name = name.into();
        self
    }

    /// The most iterations. If the condition still holds after them, it is an error of the call.
    pub fn at_most(mut self, iterations: u32) -> While {
        self.most = iterations.into();
        self
    }

    /// The carried values when the condition no longer holds, and the number of iterations, an int64: see
    /// [`while_loop`]. Both closures are called to make expressions, the condition twice.
    #[track_caller]
    pub fn run<C: Pack, R: Pack>(
        self,
        initial: C,
        condition: impl Fn(&C::Variables) -> Variable,
        body: impl FnOnce(C::Variables) -> R,
    ) -> (C::Variables, Variable) {
        let _scope = place::enter();
        let initial = initial.into_list();
        let count = initial.len();
        let made = self.made::<C, R>(initial, condition, body);
        let (values, steps) = made.unwrap_or_else(|error| {
            let poison = Variable::poison(error);
            (vec![poison.clone(); count], poison)
        });
        (C::unpack_poisoned(values), steps)
    }

    fn made<C: Pack, R: Pack>(
        self,
        initial: Vec<Variable>,
        condition: impl Fn(&C::Variables) -> Variable,
        body: impl FnOnce(C::Variables) -> R,
    ) -> Result<(Vec<Variable>, Variable)> {
        let wrong = |message: String| fail(&self.name, message);
        for variable in &initial {
            variable.checked()?;
        }
        let form = |list: &[Variable]| {
            C::unpack(list.to_vec())
                .ok_or_else(|| wrong("the carried values are not as many as were given".into()))
        };
        let holds = |list: &[Variable]| {
            let given = form(list)?;
            let holds = {
                let _own = place::leave();
                condition(&given)
            };
            match holds.checked()? {
                holds if holds.dtype() == DType::Bool && holds.ndim() == 0 => Ok(holds.clone()),
                other => Err(wrong(format!("the condition is a 0-d bool, got {}", other.ty()))),
            }
        };
        let count = initial.len();
        let values: Vec<Variable> = initial.iter().map(stand_in).collect();
        let then = Apply::now();
        let next = {
            let given = form(&values)?;
            let _own = place::leave();
            body(given).into_list()
        };
        if next.len() != count {
            let given = next.len();
            return Err(wrong(format!("the body returns {given} values for {count} carried ones")));
        }
        // The loop carries whether the condition holds, and how many iterations there were.
        let (held, steps) = (holds(&initial)?, stand_in(&Variable::constant(0i64)));
        let (holds, more) = (holds(&next)?, steps.try_add(1i64)?);
        let goes_on = |holds: &Variable, steps: &Variable| holds.try_bitwise_and(steps.try_less(self.most)?);
        let outputs: Vec<Variable> = [vec![goes_on(&holds, &more)?, holds, more], next].concat();
        let (states, mut outputs) = States::of(outputs, then)?;
        outputs.extend(states.next);
        let inputs: Vec<Variable> = [vec![stand_in(&held), steps], values, states.inputs].concat();
        let carried = inputs.len();
        let constants = captured(&outputs, &inputs);
        let (more, outputs) = closed(&outputs, &constants)?;
        let body = Closed::new([inputs, more].concat(), outputs)?;
        let op = body
            .and_then(|body| WhileOp::of(&self.name, [carried, self.most as usize], body))
            .map_err(wrong)?;
        let op = WhileOp { states: states.shared.clone(), ..op };
        let zero = Variable::constant(0i64);
        let first = goes_on(&held, &zero)?;
        let given: Vec<Variable> = [vec![first, held, zero], initial, states.shared, constants].concat();
        let results = Variable::apply_at(Arc::new(op), &given, place::here())?;
        let steps = results.get(1).ok_or_else(|| broken("number of iterations"))?.clone();
        Ok((results[2..2 + count].to_vec(), steps))
    }
}

/// What the body gets in place of a value.
fn stand_in(of: &Variable) -> Variable {
    Variable::with_kind(Kind::Input, of.ty().clone(), of.name().map(Into::into))
}

/// A body that runs while a condition holds.
///
/// Inputs: whether it runs at all, a 0-d bool; the values before the first iteration, of which the first says
/// whether the condition holds and the second counts iterations; the constants. Outputs: the carried values
/// after the last iteration.
///
/// The body's inputs are the carried values and the constants; its outputs are whether there is another
/// iteration, then the carried values.
#[derive(Clone, Debug)]
pub struct WhileOp {
    name: String,
    carried: usize,
    /// The most iterations.
    most: usize,
    body: Arc<Closed>,
    /// The shared variables that it carries last, where it was written.
    states: Vec<Variable>,
}

impl WhileOp {
    fn of(name: &str, [carried, most]: [usize; 2], body: Closed) -> Result<WhileOp, String> {
        if body.graph.outputs.len() != carried + 1 || carried > body.graph.inputs.len() || carried == 0 {
            return Err("the parts of the body are not as many as its inputs and outputs".into());
        }
        if let Some(flag) = [0, 1].map(|at| body.output_type(at)).iter().find(|flag| !is_flag(flag)) {
            return Err(format!("the condition is a 0-d bool, got {flag}"));
        }
        let op = WhileOp { name: name.into(), carried, most, body: Arc::new(body), states: vec![] };
        for at in 0..carried {
            op.body.check_carried(at, at + 1, &op.carried_name(at))?;
        }
        op.body.check_shapes(|input| input < carried)?;
        Ok(op)
    }

    /// The op that a file describes.
    ///
    /// # Errors
    /// If the attributes contradict each other.
    pub(in crate::ops) fn decode(op: &StoredOp) -> Result<Arc<dyn Op>, String> {
        let count = |name: &str| usize::try_from(op.int(name)?).map_err(|e| format!("attribute {name}: {e}"));
        let numbers = [count("carried")?, count("most")?];
        if u32::try_from(numbers[1]).is_err() {
            return Err(format!("{} iterations are too many", numbers[1]));
        }
        let body = Closed::stored(op.graph("body")?.clone())?;
        Ok(Arc::new(WhileOp::of(op.text("name")?, numbers, body)?))
    }

    /// How messages name a carried value.
    fn carried_name(&self, at: usize) -> String {
        let name = self.body.input_name(at);
        name.map_or_else(|| format!("carried value {at}"), |name| format!("the carried value {name}"))
    }

    fn inner_shapes(&self, inputs: &[Known]) -> Result<Shapes, String> {
        let given = inputs.get(1..).unwrap_or_default();
        let shapes: Vec<Vec<usize>> = given.iter().map(|known| known.shape.to_vec()).collect();
        let value = |at: usize| given.get(at).filter(|_| at >= self.carried)?.value.cloned();
        self.body.shapes(&shapes, &value)
    }

    /// The body with its carried values as shared variables, which it updates.
    fn in_place(&self) -> FunctionGraph {
        let mut graph = self.body.graph.as_ref().clone();
        let constants = graph.inputs.split_off(self.carried);
        graph.shared = std::mem::replace(&mut graph.inputs, constants);
        for (at, &id) in graph.shared.iter().enumerate() {
            graph.vars[id as usize].def = Def::Shared(at as u32);
        }
        for (at, &id) in graph.inputs.iter().enumerate() {
            graph.vars[id as usize].def = Def::Input(at as u32);
        }
        let new = graph.outputs.split_off(1);
        graph.updates = new.into_iter().enumerate().map(|(at, id)| (at as u32, id)).collect();
        graph
    }
}

impl Op for WhileOp {
    fn id(&self) -> &'static str {
        "while"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("name".into(), Attr::Text(self.name.clone())),
            ("body".into(), Attr::Graph(AttrGraph(self.body.graph.clone()))),
            ("carried".into(), Attr::Int(self.carried as i64)),
            ("most".into(), Attr::Int(self.most as i64)),
        ]
    }

    fn label(&self) -> String {
        self.name.clone()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1 + self.body.graph.inputs.len())?;
        if !is_flag(inputs[0]) {
            return Err(format!("the condition is a 0-d bool, got {}", inputs[0]));
        }
        for (at, given) in inputs[1..].iter().enumerate() {
            let declared = self.body.input_type(at);
            if !declared.includes(given) {
                return Err(format!("{} is {given}, expected {declared}", self.carried_name(at)));
            }
        }
        let result = |at: usize| {
            let (before, mut ty) = (inputs[1 + at], self.body.output_type(1 + at).clone());
            ty.shape.iter_mut().zip(&before.shape).for_each(|(extent, before)| *extent = extent.or(*before));
            ty
        };
        Ok((0..self.carried).map(result).collect())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let inner = self.inner_shapes(inputs)?;
        let shape = |at: usize| {
            let (before, after) =
                (inputs[1 + at].shape, &inner.shapes[self.body.graph.outputs[1 + at] as usize]);
            if before == after.as_slice() {
                return Ok(before.to_vec());
            }
            let (what, before, after) = (self.carried_name(at), shape_text(before), shape_text(after));
            Err(format!("{what} has shape {before} before an iteration, and {after} after it"))
        };
        (0..self.carried).map(shape).collect()
    }

    fn shape_values(&self) -> Vec<usize> {
        self.body.demand.inputs.iter().map(|at| at + 1).collect()
    }

    fn bodies(&self) -> Vec<&Arc<FunctionGraph>> {
        vec![&self.body.graph]
    }

    fn states_after(&self, outputs: &[Variable]) -> Result<Vec<(Variable, Variable)>> {
        let last = outputs.iter().skip(outputs.len().saturating_sub(self.states.len()));
        Ok(self.states.iter().cloned().zip(last.cloned()).collect())
    }

    fn with_bodies(&self, bodies: Vec<Arc<FunctionGraph>>) -> Option<Arc<dyn Op>> {
        let body = Closed::stored(bodies.into_iter().next()?).ok()?;
        Some(Arc::new(WhileOp { body: Arc::new(body), ..self.clone() }))
    }

    fn body_shapes(&self, inputs: &[Known]) -> Result<Vec<Shapes>, String> {
        Ok(vec![self.inner_shapes(inputs)?])
    }

    fn trouble(&self) -> String {
        format!("after {} iterations the condition still holds (see While::at_most)", self.most)
    }

    fn has_effect(&self) -> bool {
        self.body.graph.nodes.iter().any(|node| node.op.has_effect())
    }

    fn grad(&self, _: &Gradient) -> Result<Vec<Option<Variable>>> {
        let why = "there is no gradient through a loop with a condition, which does not keep its values; a scan has one";
        Err(fail(&self.name, why.into()))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let holds = |flag: &Value| flag.to_scalar().is_some_and(|flag| flag.to_i128() != 0);
        let given = inputs.get(1..).unwrap_or_default();
        let (mut carried, constants) = (given[..self.carried].to_vec(), &given[self.carried..]);
        let mut goes_on = inputs.first().is_some_and(holds);
        for _ in 0..self.most {
            if !goes_on {
                break;
            }
            let all = [&carried[..], constants].concat();
            let values = evaluate(&self.body.graph, &all, &[])?;
            let outputs = self.body.graph.outputs.iter().map(|id| values.get(id).cloned());
            let mut outputs = outputs.collect::<Option<Vec<Value>>>().ok_or_else(|| broken("such output"))?;
            goes_on = holds(&outputs.remove(0));
            carried = outputs;
        }
        if carried.first().is_some_and(holds) {
            return Err(Error::mismatch(
                &self.name,
                "a condition that does not hold at the end",
                self.trouble(),
            ));
        }
        Ok(carried)
    }

    fn lower(&self, to: &mut Lowering<'_>, _: &Node, inputs: &[View]) -> Lowered {
        let program = to.body(0, &self.in_place(), to.body_shapes(0)?)?;
        let flag = to.own_copy(&inputs[0]);
        let carried: Vec<View> = inputs[1..=self.carried].iter().map(|view| to.own_copy(view)).collect();
        let constants = inputs[1 + self.carried..].iter().map(|view| to.read_whole(view)).collect();
        let homes = carried.iter().map(View::buffer).collect();
        to.push_while(&self.name, program, (flag.buffer(), self.most as u64), homes, constants);
        report_endless(to, &carried[0]);
        Ok(carried)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Reports a condition that holds after the most iterations, unless the loop ended for another error.
fn report_endless(to: &mut Lowering<'_>, holds: &View) {
    let (status, number) = (to.status(), to.report());
    let mut nest = NestBuilder::new("endless", &[], &[]);
    let mut point = nest.phase(PhaseKind::Point, to.program());
    let holds = point.load(holds, &[]);
    let before = point.load(&View::whole(status, &[]), &[]);
    let zero = point.number(DType::I64, 0);
    let none = point.apply(scalar::EQ, &[before, zero]);
    let endless = point.apply(scalar::BITWISE_AND, &[holds, none]);
    let number = point.number(DType::I64, number);
    point.store(status, &[], &[], number, Some(endless));
    point.finish();
    to.push(nest);
}

fn is_flag(ty: &TensorType) -> bool {
    ty.dtype == DType::Bool && ty.ndim() == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::loops::if_else;
    use crate::ops::Registry;
    use crate::prelude::*;

    fn decoded(op: &dyn Op, attributes: &Attributes) -> Result<Arc<dyn Op>, String> {
        Registry::default().decode(&StoredOp::new(op.id(), 1, attributes))
    }

    /// A loop and a branch.
    fn ops() -> [Arc<dyn Op>; 2] {
        let (x, c) = (vector::<f32>("x"), scalar::<bool>("c"));
        let doubled = while_loop(&x, |x| x.max(..).less(9.0), |x| x * 2.0);
        let chosen = if_else(&c, || x.exp(), || x.clone());
        [doubled, chosen].map(|v| v.owner().unwrap().0.op.clone())
    }

    #[test]
    fn they_come_back_from_their_attributes() {
        for op in ops() {
            let attributes = op.attributes();
            assert_eq!(decoded(op.as_ref(), &attributes).unwrap().attributes(), attributes);
        }
    }

    #[test]
    fn attributes_that_do_not_fit_are_errors() {
        let numbers = |name: &str| [-1, 0, 7, i64::MAX].map(|n| (name.to_string(), Attr::Int(n)));
        for op in ops() {
            for (name, attr) in numbers("carried").into_iter().chain(numbers("branches")) {
                let mut list = op.attributes();
                let Some(own) = list.iter_mut().find(|(own, _)| *own == name) else { continue };
                own.1 = attr.clone();
                assert!(decoded(op.as_ref(), &list).is_err(), "{name} {attr:?}");
            }
        }
    }
}
