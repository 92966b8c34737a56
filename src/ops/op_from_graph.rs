//! Ops made of expressions: a named part of a graph that is applied repeatedly, with a gradient of its own if
//! it is given one.
//!
//! Where it is applied, it is one node of the expression. `compile` replaces it by the body's nodes, so
//! passes, files and devices see public ops only.

use super::creation::zeros_like;
use super::methods::fail;
use super::sum_like::{may_repeat, sum_to};
use crate::error::{Error, Result};
use crate::graph::shapes::{Demand, ShapeInputs, infer};
use crate::graph::source_location;
use crate::graph::{FunctionGraph, Kind, TensorType, Variable, ancestors, evaluate, rebuild};
use crate::op::{Attr, Attributes, Gradient, Known, Op, expect_inputs};
use crate::ops::backpropagate::slopes;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

type ByKey = HashMap<(usize, usize), Variable>;

/// A reusable op made of a sub-graph (PyTensor's `OpFromGraph`).
///
/// ```
/// use workalike::ops::OpFromGraph;
/// use workalike::prelude::*;
/// let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
/// // A product that doubles the gradient of x and has none for y.
/// let product = OpFromGraph::new([&x, &y], [&x * &y])?
///     .grad(|inputs, output_grads| vec![Some(&output_grads[0] * &inputs[1] * 2.0), None])?;
/// let (a, b) = (vector::<f64>("a"), vector::<f64>("b"));
/// let c = &product.apply([&a, &b])[0];
/// let g = grad(&c.sum(..), [&a])?;
/// let f = function([&a, &b]).output(c).output(&g[0]).compile()?;
/// let results = f.call(args![vec![1.0, 2.0], vec![3.0, 4.0]])?;
/// assert_eq!(results[0].to_vec::<f64>()?, [3.0, 8.0]);
/// assert_eq!(results[1].to_vec::<f64>()?, [6.0, 8.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpFromGraph {
    body: Arc<OpDefinition>,
    inline: bool,
}

#[derive(Clone, Debug)]
struct OpDefinition {
    name: String,
    inputs: Vec<Variable>,
    /// The shared variables that it reads: inputs that a user does not give.
    captured: Vec<Variable>,
    outputs: Vec<Variable>,
    gradient: Option<Override>,
    /// The body as a flat graph; shared variables are inputs after the others.
    graph: FunctionGraph,
}

/// A given gradient: of each input, in terms of the body's inputs and of these inputs, the gradients of its
/// outputs.
#[derive(Clone, Debug)]
struct Override {
    output_grads: Vec<Variable>,
    grads: Vec<Option<Variable>>,
}

/// The op that [`OpFromGraph::apply`] makes. It is in expressions only: `compile` replaces it by the body.
#[derive(Clone, Debug)]
pub struct SubGraph {
    body: Arc<OpDefinition>,
}

impl OpFromGraph {
    /// The op that computes `outputs` from `inputs`, which are input Variables. Shared variables are read as
    /// they are; everything else that is not computed must be among the inputs.
    ///
    /// # Errors
    /// If an expression is ill-typed, an input is none or is given twice, or another input is used.
    #[track_caller]
    pub fn new(
        inputs: impl IntoIterator<Item = impl Into<Variable>>,
        outputs: impl IntoIterator<Item = impl Into<Variable>>,
    ) -> Result<OpFromGraph> {
        let inputs: Vec<Variable> = inputs.into_iter().map(Into::into).collect();
        let outputs: Vec<Variable> = outputs.into_iter().map(Into::into).collect();
        let _scope = source_location::enter();
        for (position, input) in inputs.iter().enumerate() {
            let repeated = inputs[..position].iter().any(|i| i.key() == input.key());
            if !matches!(input.checked()?.kind(), Kind::Input) || repeated {
                let what = if repeated { "is given twice" } else { "is no input Variable" };
                return Err(fail("op_from_graph", format!("input {position}, {input:?}, {what}")));
            }
        }
        if outputs.is_empty() {
            return Err(fail("op_from_graph", "there are no outputs".into()));
        }
        let body = OpDefinition::new("op_from_graph".into(), inputs, outputs, None)?;
        Ok(OpFromGraph { body: Arc::new(body), inline: false })
    }

    /// Another name, for people.
    #[must_use]
    pub fn named(mut self, name: &str) -> OpFromGraph {
        Arc::make_mut(&mut self.body).name = name.into();
        self
    }

    /// Whether the body's nodes replace the op at once rather than in `compile`. Then stable forms for `grad`
    /// are found across its borders. An op with a gradient of its own stays one node until it is compiled.
    #[must_use]
    pub fn inline(mut self, inline: bool) -> OpFromGraph {
        self.inline = inline;
        self
    }

    /// A gradient in place of what follows from the body: given the inputs and the gradients of the outputs
    /// (zeros where nothing depends on one), the gradient of each input, `None` where there is no smooth
    /// dependence. It is called once, here, and makes expressions, which are differentiated again for second
    /// derivatives. Shared variables that the body reads get no gradient then: make them inputs if they need
    /// one.
    ///
    /// # Errors
    /// If there is not one for each input, one is of another dtype or rank than its input, or uses other
    /// inputs than those given.
    #[track_caller]
    pub fn grad(
        mut self,
        gradient: impl FnOnce(&[Variable], &[Variable]) -> Vec<Option<Variable>>,
    ) -> Result<OpFromGraph> {
        let _scope = source_location::enter();
        let body = &self.body;
        let output_grads = stand_ins(&body.outputs);
        let grads = {
            // Expressions of the closure have the closure's own source lines.
            let _own = source_location::leave();
            gradient(&body.inputs, &output_grads)
        };
        let refuse = |message: String| Err(fail("op_from_graph", message));
        if grads.len() != body.inputs.len() {
            return refuse(format!("{} gradients for {} inputs", grads.len(), body.inputs.len()));
        }
        for (input, g) in body.inputs.iter().zip(&grads) {
            let Some(g) = g else { continue };
            if g.checked()?.dtype() != input.dtype() || g.ndim() != input.ndim() {
                return refuse(format!("a gradient of {} for {input:?}", g.ty()));
            }
        }
        let given: Vec<Variable> = grads.iter().flatten().cloned().collect();
        let known = |v: &Variable| body.inputs.iter().chain(&output_grads).any(|i| i.key() == v.key());
        if let Some(other) =
            ancestors(&given, |_| false).iter().find(|v| matches!(v.kind(), Kind::Input) && !known(v))
        {
            return refuse(format!("the gradient uses {other:?}, which is not among its arguments"));
        }
        Arc::make_mut(&mut self.body).gradient = Some(Override { output_grads, grads });
        Ok(self)
    }

    /// The outputs for these inputs.
    ///
    /// # Errors
    /// If the number or the types of inputs do not fit, or the body is ill-typed for the types of these
    /// inputs.
    #[track_caller]
    pub fn try_apply(&self, inputs: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Vec<Variable>> {
        let inputs: Vec<Variable> = inputs.into_iter().map(Into::into).collect();
        let _scope = source_location::enter();
        let body = &self.body;
        if inputs.len() != body.inputs.len() {
            return Err(fail(
                &body.name,
                format!("it takes {} inputs, got {}", body.inputs.len(), inputs.len()),
            ));
        }
        for (given, declared) in inputs.iter().zip(&body.inputs) {
            if !declared.ty().includes(given.checked()?.ty()) {
                return Err(fail(&body.name, format!("expected {declared:?}, got {}", given.ty())));
            }
        }
        if self.inline && body.gradient.is_none() {
            let mut known: ByKey = pairs(&body.inputs, &inputs);
            return rebuild(&body.outputs, &mut known, |_, _| Ok(None));
        }
        let as_declared = inputs.iter().zip(&body.inputs).all(|(a, b)| a.ty() == b.ty());
        let body = if as_declared { body.clone() } else { Arc::new(body.specialized(&inputs)?) };
        let inputs: Vec<Variable> = inputs.into_iter().chain(body.captured.iter().cloned()).collect();
        Variable::apply_at(Arc::new(SubGraph { body }), &inputs, source_location::here())
    }

    /// [`OpFromGraph::try_apply`], with errors in the results.
    #[track_caller]
    #[must_use]
    pub fn apply(&self, inputs: impl IntoIterator<Item = impl Into<Variable>>) -> Vec<Variable> {
        let count = self.body.outputs.len();
        self.try_apply(inputs).unwrap_or_else(|e| vec![Variable::poison(e); count])
    }
}

pub(crate) fn pairs(from: &[Variable], to: &[Variable]) -> ByKey {
    from.iter().zip(to).map(|(a, b)| (a.key(), b.clone())).collect()
}

/// New inputs of the same types.
pub(crate) fn stand_ins(of: &[Variable]) -> Vec<Variable> {
    let new = |v: &Variable| Variable::with_kind(Kind::Input, v.ty().clone(), v.name().map(Into::into));
    of.iter().map(new).collect()
}

impl OpDefinition {
    fn new(
        name: String,
        inputs: Vec<Variable>,
        outputs: Vec<Variable>,
        gradient: Option<Override>,
    ) -> Result<OpDefinition> {
        for output in &outputs {
            output.checked()?;
        }
        let all = ancestors(&outputs, |_| false);
        let captured: Vec<Variable> =
            all.into_iter().filter(|v| matches!(v.kind(), Kind::Shared(_))).collect();
        let instead = stand_ins(&captured);
        let roots = rebuild(&outputs, &mut pairs(&captured, &instead), |_, _| Ok(None))?;
        let given: Vec<Variable> = inputs.iter().cloned().chain(instead).collect();
        let (graph, _) = FunctionGraph::import(&given, &roots, &[])?;
        Ok(OpDefinition { name, inputs, captured, outputs, gradient, graph })
    }

    /// The same body for inputs of more specific types.
    fn specialized(&self, given: &[Variable]) -> Result<OpDefinition> {
        let inputs: Vec<Variable> = self
            .inputs
            .iter()
            .zip(given)
            .map(|(i, g)| Variable::with_kind(Kind::Input, g.ty().clone(), i.name().map(Into::into)))
            .collect();
        let mut known = pairs(&self.inputs, &inputs);
        let outputs = rebuild(&self.outputs, &mut known, |_, _| Ok(None))?;
        let gradient = match &self.gradient {
            None => None,
            Some(old) => {
                let output_grads = stand_ins(&outputs);
                known.extend(pairs(&old.output_grads, &output_grads));
                Some(Override { grads: replaced(&old.grads, &mut known)?, output_grads })
            }
        };
        OpDefinition::new(self.name.clone(), inputs, outputs, gradient)
    }
}

/// Rebuilds the expressions that are there.
pub(super) fn replaced(list: &[Option<Variable>], known: &mut ByKey) -> Result<Vec<Option<Variable>>> {
    let there: Vec<Variable> = list.iter().flatten().cloned().collect();
    let mut new = rebuild(&there, known, |_, _| Ok(None))?.into_iter();
    Ok(list.iter().map(|v| v.as_ref().and_then(|_| new.next())).collect())
}

impl Op for SubGraph {
    fn id(&self) -> &'static str {
        "op_from_graph"
    }

    fn expansion(&self) -> Option<&FunctionGraph> {
        Some(&self.body.graph)
    }

    fn attributes(&self) -> Attributes {
        vec![("name".into(), Attr::Text(self.body.name.clone()))]
    }

    fn label(&self) -> String {
        self.body.name.clone()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let graph = &self.body.graph;
        expect_inputs(inputs.len(), graph.inputs.len())?;
        for (given, &id) in inputs.iter().zip(&graph.inputs) {
            let declared = &graph.var(id).ty;
            // An extent of 1 that the body's types do not know would broadcast, for which the body was not
            // written.
            let new_one = declared.shape.iter().zip(&given.shape).any(|(d, g)| d.is_none() && *g == Some(1));
            if !declared.includes(given) || new_one {
                return Err(format!("expected {declared}, got {given}"));
            }
        }
        Ok(self.body.outputs.iter().map(|o| o.ty().clone()).collect())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let graph = &self.body.graph;
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|k| k.shape.to_vec()).collect();
        let input_values = |i: usize| inputs.get(i).and_then(|k| k.value.cloned());
        let given = ShapeInputs {
            inputs: &shapes,
            shared: &[],
            input_values: &input_values,
            shared_values: &|_| None,
        };
        let all = infer(graph, &Demand::of(graph), &given).map_err(|e| e.to_string())?;
        Ok(graph.outputs.iter().map(|&o| all.shapes[o as usize].clone()).collect())
    }

    fn shape_values(&self) -> Vec<usize> {
        Demand::of(&self.body.graph).inputs
    }
    fn takes_complex(&self) -> bool {
        true
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let body = &self.body;
        let inner: Vec<Variable> = body.inputs.iter().chain(&body.captured).cloned().collect();
        let mut known = pairs(&inner, at.inputs);
        if let Some(given) = &body.gradient {
            for ((stand_in, g), output) in given.output_grads.iter().zip(at.output_grads).zip(at.outputs) {
                known.insert(stand_in.key(), g.clone().unwrap_or_else(|| zeros_like(output)));
            }
            let grads = replaced(&given.grads, &mut known)?;
            // An input may have been broadcast to the others.
            let whole = |(g, input): (Option<Variable>, &Variable)| {
                g.map(|g| sum_to(&g, input, |axis| may_repeat(input, &g, axis))).transpose()
            };
            let none = std::iter::repeat(None);
            return grads.into_iter().chain(none).zip(at.inputs).map(whole).collect();
        }
        // In terms of stand-ins, so that no walk goes beyond the body.
        let stand_ins = stand_ins(&body.outputs);
        let mut seeds = Vec::new();
        for ((output, stand_in), g) in body.outputs.iter().zip(&stand_ins).zip(at.output_grads) {
            if let Some(g) = g.as_ref().filter(|_| output.dtype().real().is_float()) {
                known.insert(stand_in.key(), g.clone());
                seeds.push((output, stand_in));
            }
        }
        replaced(&slopes(seeds, &inner)?, &mut known)
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let values = evaluate(&self.body.graph, inputs, &[])?;
        let outputs = self.body.graph.outputs.iter().map(|id| values.get(id).cloned());
        outputs
            .collect::<Option<_>>()
            .ok_or_else(|| Error::Internal("an output of a sub-graph has no value".into()))
    }
}
