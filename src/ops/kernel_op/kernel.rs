//! The op in a graph.

use super::body::{GivenGradient, KernelOpBody};
use super::lower;
use super::serialization;
use crate::error::{Error, Result};
use crate::graph::{FunctionGraph, Node, TensorType, Variable, evaluate};
use crate::lower::{Abilities, Lowered, Lowering, View};
use crate::op::{Attributes, Gradient, Known, Op, expect_inputs};
use crate::ops::backpropagate::slopes;
use crate::ops::creation::zeros_like;
use crate::ops::op_from_graph::{pairs, replaced, stand_ins};
use crate::ops::sum_like::{may_repeat, sum_to};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The op that [`KernelOp::apply`](super::KernelOp::apply) makes.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) body: Arc<KernelOpBody>,
}

impl Kernel {
    /// [`Op::id`].
    pub(super) const ID: &str = "kernel";

    /// Whether its kernels may run: it was written here, or loaded from a file that is trusted.
    pub fn is_allowed(&self) -> bool {
        self.body.allowed
    }

    fn reference(&self) -> &FunctionGraph {
        &self.body.reference
    }

    /// The gradient that was given.
    fn given_gradient(&self, given: &GivenGradient, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let output_grad =
            |(g, output): (&Option<Variable>, &Variable)| g.clone().unwrap_or_else(|| zeros_like(output));
        let output_grads = at.output_grads.iter().zip(at.outputs).map(output_grad);
        let all: Vec<Variable> = at.inputs.iter().chain(at.outputs).cloned().chain(output_grads).collect();
        let made = given.graph.expressions(&all, &[], &given.graph.outputs)?;
        let mut grads = vec![None; at.inputs.len()];
        for (&of, g) in given.of.iter().zip(made) {
            // An input may have been broadcast to the others.
            let input = &at.inputs[of];
            grads[of] = Some(sum_to(&g, input, |axis| may_repeat(input, &g, axis))?);
        }
        Ok(grads)
    }

    /// The gradient of the reference.
    fn reference_gradient(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        // In terms of stand-ins, so that no walk goes beyond the reference.
        let inputs = stand_ins(at.inputs);
        let reference = self.reference();
        let outputs = reference.expressions(&inputs, &[], &reference.outputs)?;
        let seeds = stand_ins(&outputs);
        let mut known: HashMap<_, _> = pairs(&inputs, at.inputs);
        let mut pairs = Vec::new();
        for ((output, seed), g) in outputs.iter().zip(&seeds).zip(at.output_grads) {
            if let Some(g) = g.as_ref().filter(|_| output.dtype().is_float()) {
                known.insert(seed.key(), g.clone());
                pairs.push((output, seed));
            }
        }
        replaced(&slopes(pairs, &inputs)?, &mut known)
    }
}

impl Op for Kernel {
    fn id(&self) -> &'static str {
        Kernel::ID
    }

    fn attributes(&self) -> Attributes {
        serialization::attributes(&self.body)
    }

    fn label(&self) -> String {
        self.body.name.clone()
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        let reference = self.reference();
        expect_inputs(inputs.len(), reference.inputs.len())?;
        for (given, &id) in inputs.iter().zip(&reference.inputs) {
            let declared = &reference.var(id).ty;
            if !declared.includes(given) {
                return Err(format!("{}: expected {declared}, got {given}", reference.describe(id)));
            }
        }
        Ok(reference.outputs.iter().map(|&id| reference.var(id).ty.clone()).collect())
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        self.body.shapes(inputs)
    }

    fn shape_values(&self) -> Vec<usize> {
        self.body.shape_values()
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        match &self.body.gradient {
            Some(given) => self.given_gradient(given, at),
            None => self.reference_gradient(at),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let values = evaluate(self.reference(), inputs, &[])?;
        let outputs = self.reference().outputs.iter().map(|id| values.get(id).cloned());
        let missing = || Error::Internal("an output of a reference has no value".into());
        outputs.collect::<Option<_>>().ok_or_else(missing)
    }

    fn replacement(&self, device: &Abilities<'_>) -> Option<(&FunctionGraph, String)> {
        let why = self.body.refusal(device)?;
        Some((self.reference(), why))
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(&self.body, to, node, inputs)
    }
}
