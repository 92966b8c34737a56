//! Steps on a device: a Nest for an elementwise op, which fuses, or the launches as a library op.

use super::body::{DeviceCode, KernelOpBody};
use super::launches::{LaunchExtents, Launches};
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use std::sync::Arc;
use workalike_kernels::custom::ScalarFunction;
use workalike_kernels::nest::{Operand, PhaseKind};

pub(super) fn lower(body: &KernelOpBody, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    if let Some(why) = body.refusal(to.abilities()) {
        return Err(why);
    }
    match &body.code {
        DeviceCode::Elementwise { functions, .. } => elementwise(body, functions, to, node, inputs),
        DeviceCode::Launches(launches) => library(launches, to, node, inputs),
    }
}

/// One Nest over the elements. All outputs have one shape, to which the inputs broadcast.
fn elementwise(
    body: &KernelOpBody,
    functions: &[Arc<ScalarFunction>],
    to: &mut Lowering<'_>,
    node: &Node,
    inputs: &[View],
) -> Lowered {
    let shape = to.shape(*node.outputs.first().ok_or("the node has no output")?);
    let fits = |view: &View| -> bool {
        let mut pairs = view.shape().iter().rev().zip(shape.iter().rev());
        view.shape().len() <= shape.len() && pairs.all(|(own, all)| own == all || *own == 1)
    };
    if node.outputs.iter().any(|&id| to.shape(id) != shape) || !inputs.iter().all(fits) {
        return Err("inputs and outputs of an elementwise kernel differ in shape".into());
    }
    let targets: Vec<_> = node.outputs.iter().map(|&id| to.temp(to.dtype(id), &shape)).collect();
    let mut nest = NestBuilder::new(&body.name, &shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, to.program());
    let values: Vec<_> = inputs.iter().map(|view| point.load(view, &broadcast(view, &shape))).collect();
    for (&target, function) in targets.iter().zip(functions) {
        let value = point.call(function, &values);
        point.store(target, &shape, &At::axes(shape.len()), value, None);
    }
    point.finish();
    to.push(nest);
    Ok(targets.iter().map(|&target| View::whole(target, &shape)).collect())
}

/// Positions along a view's axes, which are the last ones of `shape`.
fn broadcast(view: &View, shape: &[u64]) -> Vec<At> {
    let first = shape.len() - view.shape().len();
    let along = |(axis, &extent): (usize, &u64)| match extent == 1 && shape[first + axis] != 1 {
        true => At::First,
        false => At::Axis(first + axis),
    };
    view.shape().iter().enumerate().map(along).collect()
}

/// The launches, over contiguous arrays.
fn library(launches: &Launches, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let source = launches.source_for(to.abilities()).ok_or("the device takes no kernels in its language")?;
    let narrow = |shape: &[u64]| -> Vec<usize> { shape.iter().map(|&e| e as usize).collect() };
    let given: Vec<Vec<usize>> = inputs.iter().map(|view| narrow(view.shape())).collect();
    let results: Vec<Vec<u64>> = node.outputs.iter().map(|&id| to.shape(id)).collect();
    let outputs: Vec<Vec<usize>> = results.iter().map(|shape| narrow(shape)).collect();
    let sizes = launches.sizes_at(&LaunchExtents { inputs: &given, outputs: &outputs })?;
    let scratch = launches.scratch_at(&sizes)?;
    let mut arrays = Vec::new();
    for (&id, view) in node.inputs.iter().zip(inputs) {
        arrays.push(Operand::contiguous(to.dtype(id), view.shape(), false));
    }
    for (&id, shape) in node.outputs.iter().zip(&results) {
        arrays.push(Operand::contiguous(to.dtype(id), shape, true));
    }
    for (dtype, shape) in &scratch {
        arrays.push(Operand::contiguous(*dtype, shape, true));
    }
    let op = launches.custom(source, &sizes, arrays, to.abilities().properties())?;
    let shapes: Vec<&[u64]> =
        results.iter().chain(scratch.iter().map(|(_, shape)| shape)).map(Vec::as_slice).collect();
    let whole = inputs.iter().map(|view| (to.whole(view), 0)).collect();
    let mut views = to.library(op, whole, &shapes).ok_or("the device refuses the kernels")?;
    views.truncate(results.len());
    Ok(views)
}
