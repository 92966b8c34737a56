//! What an op with kernels consists of.

use super::kernel::Kernel;
use super::launches::Launches;
use crate::graph::shapes::{self, Demand, infer, output_values};
use crate::graph::{FunctionGraph, TensorType};
use crate::lower::Abilities;
use crate::op::Known;
use crate::value::Value;
use std::sync::Arc;
use workalike_kernels::DType;
use workalike_kernels::custom::ScalarFunction;

/// An op with kernels. It names no device.
#[derive(Clone, Debug)]
pub(super) struct KernelOpBody {
    pub(super) name: String,
    /// From its inputs to its outputs.
    pub(super) reference: Arc<FunctionGraph>,
    /// For each output, its extents, if they do not follow from the reference.
    pub(super) rules: Vec<Option<ShapeRule>>,
    pub(super) gradient: Option<GivenGradient>,
    pub(super) code: DeviceCode,
    /// Whether its code may run: it was written here, or loaded from a file that is trusted.
    pub(super) allowed: bool,
}

/// The code for devices.
#[derive(Clone, Debug)]
pub(super) enum DeviceCode {
    /// One function for each output, made from statements that set all of them.
    Elementwise { functions: Vec<Arc<ScalarFunction>>, operation: String },
    /// Launches of kernels.
    Launches(Arc<Launches>),
}

/// The inputs, and the outputs, of an elementwise op at most.
const MOST_OPERANDS: usize = 32;

/// A shape rule: the extents of an output, from the inputs.
#[derive(Clone, Debug)]
pub(super) struct ShapeRule {
    pub(super) graph: Arc<FunctionGraph>,
}

/// A given gradient: from inputs, outputs and the outputs' gradients to the gradients of some inputs.
#[derive(Clone, Debug)]
pub(super) struct GivenGradient {
    pub(super) graph: Arc<FunctionGraph>,
    /// The inputs whose gradients are the graph's outputs.
    pub(super) of: Vec<usize>,
}

/// A reference may contain any public op that has no effect, but no kernels.
pub(super) fn check_reference(reference: &FunctionGraph) -> Result<(), String> {
    for node in &reference.nodes {
        // A label's length is decided by the file, so it is made only for an error.
        if node.op.has_effect() {
            return Err(format!("its reference has {}, which has an effect", node.op.label()));
        }
        if node.op.id() == Kernel::ID {
            let label = node.op.label();
            return Err(format!(
                "its reference has {label}, which has kernels; a reference is of public ops"
            ));
        }
    }
    match reference.shared.is_empty() && reference.updates.is_empty() {
        true => Ok(()),
        false => Err("its reference has shared variables".into()),
    }
}

/// One function for each output of an elementwise reference.
pub(super) fn functions(
    name: &str,
    reference: &FunctionGraph,
    operation: &str,
) -> Result<Vec<Arc<ScalarFunction>>, String> {
    let typed = |ids: &[u32]| -> Result<Vec<(String, DType)>, String> {
        let named = |&id: &u32| {
            let var = reference.var(id);
            let unnamed = || format!("{} has no name; the operation names it", reference.describe(id));
            Ok((var.name.clone().ok_or_else(unnamed)?, var.ty.dtype))
        };
        ids.iter().map(named).collect()
    };
    // Each output has a function with all of the text.
    for (what, count) in [("inputs", reference.inputs.len()), ("outputs", reference.outputs.len())] {
        if count > MOST_OPERANDS {
            return Err(format!(
                "an elementwise op has {count} {what}; there may be at most {MOST_OPERANDS}"
            ));
        }
    }
    let (inputs, outputs) = (typed(&reference.inputs)?, typed(&reference.outputs)?);
    let function =
        |at| ScalarFunction::new(name, inputs.clone(), outputs.clone(), at, operation).map(Arc::new);
    (0..outputs.len()).map(function).collect()
}

impl KernelOpBody {
    pub(super) fn new(name: &str, reference: FunctionGraph, code: DeviceCode) -> KernelOpBody {
        let rules = vec![None; reference.outputs.len()];
        let reference = Arc::new(reference);
        KernelOpBody { name: name.into(), reference, rules, gradient: None, code, allowed: true }
    }

    /// The shapes of the outputs.
    pub(super) fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|k| k.shape.to_vec()).collect();
        let input_values = |i: usize| inputs.get(i).and_then(|k| k.value.cloned());
        let given = shapes::ShapeInputs {
            inputs: &shapes,
            shared: &[],
            input_values: &input_values,
            shared_values: &|_| None,
        };
        let of_reference = match self.rules.iter().all(Option::is_some) {
            true => None,
            false => {
                let reference = &self.reference;
                Some(infer(reference, &Demand::of(reference), &given).map_err(|e| e.to_string())?)
            }
        };
        let outputs = self.reference.outputs.iter().zip(&self.rules);
        let shape = |(&output, rule): (&u32, &Option<ShapeRule>)| match (rule, &of_reference) {
            (Some(rule), _) => rule.extents(&given),
            (None, Some(found)) => Ok(found.shapes[output as usize].clone()),
            (None, None) => Err("an output without a shape".into()),
        };
        outputs.map(shape).collect()
    }

    /// The inputs whose values decide shapes.
    pub(super) fn shape_values(&self) -> Vec<usize> {
        let rules = self.rules.iter().flatten();
        let mut inputs: Vec<usize> = rules.flat_map(|rule| Demand::of_outputs(&rule.graph).inputs).collect();
        if self.rules.iter().any(Option::is_none) {
            inputs.extend(Demand::of(&self.reference).inputs);
        }
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Why its code does not run on a device.
    pub(super) fn refusal(&self, device: &Abilities<'_>) -> Option<String> {
        if !self.allowed {
            return Some("kernels of its file are not allowed: see LoadOptions::allow_kernels".into());
        }
        let doubles = |ids: &[u32]| ids.iter().any(|&id| self.reference.var(id).ty.dtype == DType::F64);
        if !device.properties().f64 && (doubles(&self.reference.inputs) || doubles(&self.reference.outputs)) {
            return Some("the device has no float64".into());
        }
        let takes = match &self.code {
            DeviceCode::Launches(launches) => launches.source_for(device).is_some(),
            DeviceCode::Elementwise { .. } => device.takes_functions(),
        };
        (!takes).then(|| "the device takes no kernels in its language".into())
    }
}

impl ShapeRule {
    fn extents(&self, given: &shapes::ShapeInputs<'_>) -> Result<Vec<usize>, String> {
        let demand = Demand::of_outputs(&self.graph);
        let values =
            output_values(&self.graph, &demand, given).map_err(|e| format!("its shape rule: {e}"))?;
        let extent = |value: &Value| {
            let number =
                value.cast(DType::I64).and_then(|value| value.item::<i64>()).map_err(|e| e.to_string())?;
            usize::try_from(number).map_err(|_| format!("its shape rule gives the extent {number}"))
        };
        values.iter().map(extent).collect()
    }

    /// The extents are integers of these inputs.
    pub(super) fn check(&self, reference: &FunctionGraph, output: usize) -> Result<(), String> {
        let rank = reference.outputs.get(output).map_or(0, |&id| reference.var(id).ty.ndim());
        check_no_kernels(&self.graph)?;
        check_inputs(&self.graph, [&reference.inputs], reference)?;
        let integer = |ty: &TensorType| ty.ndim() == 0 && ty.dtype.is_integer();
        let extents = &self.graph.outputs;
        match extents.len() == rank && extents.iter().all(|&id| integer(&self.graph.var(id).ty)) {
            true => Ok(()),
            false => Err(format!("the shape rule of output {output} does not give {rank} integers")),
        }
    }
}

impl GivenGradient {
    /// It has the right inputs, and each gradient has dtype and rank of its input.
    pub(super) fn check(&self, reference: &FunctionGraph) -> Result<(), String> {
        let lists = [&reference.inputs, &reference.outputs, &reference.outputs];
        check_inputs(&self.graph, lists, reference)?;
        if self.of.len() != self.graph.outputs.len() || !self.of.is_sorted_by(|a, b| a < b) {
            return Err("its gradient has another number of results".into());
        }
        for (&of, &id) in self.of.iter().zip(&self.graph.outputs) {
            let Some(&input) = reference.inputs.get(of) else {
                return Err(format!("a gradient of input {of}, which does not exist"));
            };
            let (expected, given) = (&reference.var(input).ty, &self.graph.var(id).ty);
            if expected.dtype != given.dtype || expected.ndim() != given.ndim() {
                return Err(format!("a gradient of {given} for {} of {expected}", reference.describe(input)));
            }
        }
        Ok(())
    }
}

/// A graph of extents or sizes has no kernels: shape inference walks it, and those within it.
pub(super) fn check_no_kernels(graph: &FunctionGraph) -> Result<(), String> {
    match graph.nodes.iter().any(|node| node.op.id() == Kernel::ID) {
        true => Err("an extent or a size has an op with kernels; they are of public ops".into()),
        false => Ok(()),
    }
}

/// A graph's inputs must have the types of these Vars of the reference; it has no shared variables.
pub(super) fn check_inputs<const N: usize>(
    graph: &FunctionGraph,
    lists: [&Vec<u32>; N],
    reference: &FunctionGraph,
) -> Result<(), String> {
    let expected = lists.into_iter().flatten().map(|&id| &reference.var(id).ty);
    let given = graph.inputs.iter().map(|&id| &graph.var(id).ty);
    let own = graph.shared.is_empty() && graph.updates.is_empty();
    match own && expected.eq(given) {
        true => Ok(()),
        false => Err("a graph of it has other inputs than expected".into()),
    }
}
