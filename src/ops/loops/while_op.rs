//! The op of a loop with a condition.

use super::agreement::of_while;
use super::closed::{Closed, broken};
use crate::error::{Error, Result, shape_text};
use crate::graph::shapes::Shapes;
use crate::graph::{FunctionGraph, Node, TensorType, Variable, evaluate};
use crate::lower::{Lowered, Lowering, NestBuilder, View};
use crate::op::{Attr, AttrGraph, Attributes, Gradient, Known, Op, expect_inputs};
use crate::ops::methods::fail;
use crate::ops::stored_op::StoredOp;
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

/// A body that runs while a condition holds.
///
/// Inputs: whether it runs at all, a 0-d bool; the carried values before the first iteration; the constants.
/// The first carried value says whether the condition holds, the second counts iterations. Outputs: the
/// carried values after the last iteration.
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
    pub(super) fn of(name: &str, [carried, most]: [usize; 2], body: Closed) -> Result<WhileOp, String> {
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

    /// Remembers the shared variables that it carries last.
    pub(super) fn with_states(self, states: Vec<Variable>) -> WhileOp {
        WhileOp { states, ..self }
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

    fn agreement(&self, group: &str, inputs: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        of_while(group, (&self.body.graph, self.carried), inputs, outputs)
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
    fn takes_complex(&self) -> bool {
        true
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
        let pairs: Vec<(usize, usize)> = (0..self.carried).map(|at| (at, at + 1)).collect();
        let program = to.body(0, &self.body.in_place(&pairs), to.body_shapes(0)?)?;
        let flag = to.own_copy(&inputs[0]);
        let carried: Vec<View> = inputs[1..=self.carried].iter().map(|view| to.own_copy(view)).collect();
        let constants = inputs[1 + self.carried..].iter().map(|view| to.read_whole(view)).collect();
        let homes = carried.iter().map(View::buffer).collect();
        to.push_while(&self.name, program, (flag.buffer(), self.most as u64), homes, constants);
        report_endless(to, &carried[0]);
        Ok(carried)
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
    use crate::ops::loops::branch::if_else;
    use crate::ops::registry::Registry;
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
