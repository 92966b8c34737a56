//! Fourier transforms by library ops, where the device has them.

use super::op::{FourierOp, Transform};
use super::transform;
use crate::graph::Node;
use crate::lower::{At, Lowered, Lowering, NestBuilder, View};
use workalike_kernels::library::{Fourier, InMemory};
use workalike_kernels::nest::PhaseKind;
use workalike_kernels::{DType, ops as scalar};

pub(super) fn lower(op: &FourierOp, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
    let (dtype, shape) = (to.dtype(node.outputs[0]), to.shape(node.outputs[0]));
    if shape.contains(&0) {
        return Ok(vec![View::whole(to.temp(dtype, &shape), &shape)]);
    }
    let reals = match op.transform {
        Transform::Forward | Transform::Inverse => &shape[..shape.len() - 1],
        Transform::RealForward => &inputs[0].shape[..],
        Transform::RealInverse(_) => &shape[..],
    };
    let (batch, extents) = reals.split_at(reals.len() - op.axes);
    let call = Fourier {
        dtype,
        transform: op.transform.in_library(),
        batch: batch.iter().product(),
        extents: extents.to_vec(),
        in_memory: InMemory(Some(transform::define)),
    };
    // No step is appended where the device has no such library.
    if !to.abilities.has(&call) {
        return Err("the device has no library for Fourier transforms".into());
    }
    let input = match (op.transform, extents) {
        (Transform::RealInverse(_), &[points]) => hermitian(to, &inputs[0], points),
        _ => inputs[0].clone(),
    };
    let input = to.whole(&input);
    let results = to.library(call, vec![(input, 0)], &[&shape]);
    results.ok_or_else(|| "the device has no library for Fourier transforms".into())
}

/// Complex numbers without the imaginary parts that those of `points` real numbers do not have. Libraries do
/// not agree on what such parts do.
fn hermitian(to: &mut Lowering<'_>, view: &View, points: u64) -> View {
    let (dtype, rank) = (to.program.buffers[view.buffer].dtype, view.shape.len());
    let target = to.temp(dtype, &view.shape);
    let mut nest = NestBuilder::new("hermitian", &view.shape, &[]);
    let mut point = nest.phase(PhaseKind::Point, &to.program);
    let value = point.load(view, &At::axes(rank));
    let (position, part) = (point.axis(rank - 2), point.axis(rank - 1));
    let mut number = |value: u64| point.number(DType::I64, i128::from(value));
    let (zero, one, middle) = (number(0), number(1), number(points / 2));
    let mut end = point.apply(scalar::EQ, &[position, zero]);
    if points.is_multiple_of(2) {
        let is_middle = point.apply(scalar::EQ, &[position, middle]);
        end = point.apply(scalar::OR, &[end, is_middle]);
    }
    let imaginary = point.apply(scalar::EQ, &[part, one]);
    let absent = point.apply(scalar::AND, &[end, imaginary]);
    let nothing = point.number(dtype, 0);
    let value = point.apply(scalar::WHERE, &[absent, nothing, value]);
    point.store(target, &view.shape, &At::axes(rank), value, None);
    point.finish();
    to.push(nest);
    View::whole(target, &view.shape)
}
