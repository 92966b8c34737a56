//! Sorting along an axis, and what is read off a sorted axis: the largest, medians and quantiles.

pub(crate) mod lower;

use super::advanced_indexing::{AdvancedIncSubtensor, AdvancedSubtensor};
use super::axes::{Axes, normalize_axis};
use super::creation::zeros_like;
use super::cumulative::{about, positions};
use super::methods::{fail, methods};
use super::quantile::quantile;
use crate::error::{Error, Result};
use crate::fallible;
use crate::graph::source_location;
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{
    Attr, Attributes, Batch, BatchedOutputs, Gradient, Holds, Known, Op, ShardedOutputs, Shards,
    expect_inputs,
};
use crate::value::Value;
use std::cmp::Ordering;
use workalike_kernels::interval::Interval;
use workalike_kernels::{DType, Scalar};

/// What a [`Sort`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sorted {
    /// The elements in order.
    Values,
    /// Where each was, as int64.
    Indices,
    /// The elements, and where each was.
    Both,
}

/// The elements along an axis in ascending order, equal ones in the order they were in. NaN is greater than
/// all numbers, and zeros of either sign are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Along which axis.
    pub axis: usize,
    /// In descending order instead; equal ones still in the order they were in.
    pub descending: bool,
    /// Only so many of the first; there must be as many.
    pub first: Option<usize>,
    /// What it gives.
    pub gives: Sorted,
}

impl Sorted {
    const NAMES: [(Sorted, &str); 3] =
        [(Sorted::Values, "values"), (Sorted::Indices, "indices"), (Sorted::Both, "both")];

    fn name(self) -> &'static str {
        Sorted::NAMES.iter().find(|n| n.0 == self).map_or("", |n| n.1)
    }

    pub(super) fn named(name: &str) -> Result<Sorted, String> {
        let found = Sorted::NAMES.iter().find(|n| n.1 == name);
        found.map(|n| n.0).ok_or_else(|| format!("a sort gives no {name}"))
    }

    /// Whether the elements are among what it gives.
    pub fn values(self) -> bool {
        self != Sorted::Indices
    }

    /// Whether the positions are among what it gives.
    pub fn indices(self) -> bool {
        self != Sorted::Values
    }
}

/// The order of sorting.
fn compare(a: Scalar, b: Scalar) -> Ordering {
    if a.dtype().is_float() {
        let (a, b) = (a.to_f64(), b.to_f64());
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    } else {
        a.to_i128().cmp(&b.to_i128())
    }
}

impl Sort {
    /// The extent of the result.
    fn kept(&self, n: usize) -> Result<usize, String> {
        match self.first {
            Some(k) if k > n => Err(format!("the first {k} of {n} along axis {}", self.axis)),
            first => Ok(first.unwrap_or(n)),
        }
    }

    /// The elements of `x` at these positions along the axis.
    fn picked(&self, x: &Variable, indices: &Variable) -> Result<Variable> {
        Variable::apply1(AdvancedSubtensor, &self.at(vec![x.clone()], x, indices)?)
    }

    /// Indices of all axes, behind `first`.
    fn at(&self, mut first: Vec<Variable>, x: &Variable, indices: &Variable) -> Result<Vec<Variable>> {
        for axis in 0..x.ndim() {
            first.push(if axis == self.axis { indices.clone() } else { positions(x, axis)? });
        }
        Ok(first)
    }
}

impl Op for Sort {
    fn id(&self) -> &'static str {
        "sort"
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("axis".into(), Attr::Int(self.axis as i64)),
            ("descending".into(), Attr::Int(i64::from(self.descending))),
            ("first".into(), Attr::Int(self.first.map_or(-1, |k| k as i64))),
            ("gives".into(), Attr::Text(self.gives.name().into())),
        ]
    }

    fn label(&self) -> String {
        let name = match (self.first, self.gives) {
            (Some(_), _) => "topk",
            (None, Sorted::Indices) => "argsort",
            (None, _) => "sort",
        };
        format!("{name}[{}{}]", self.axis, if self.descending { ", descending" } else { "" })
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        if self.axis >= inputs[0].ndim() {
            return Err(format!("{} has no axis {}", inputs[0], self.axis));
        }
        let mut shape = inputs[0].shape.to_vec();
        shape[self.axis] = match shape[self.axis] {
            Some(n) => Some(self.kept(n)?),
            None => self.first,
        };
        let values = self.gives.values().then(|| TensorType::new(inputs[0].dtype, shape.clone()));
        let indices = self.gives.indices().then(|| TensorType::new(DType::I64, shape));
        Ok(values.into_iter().chain(indices).collect())
    }

    /// Elements move, and so do their gradients: back to where they were.
    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        let x = &at.inputs[0];
        let (true, Some(g)) = (self.gives.values() && x.dtype().is_float(), &at.output_grads[0]) else {
            return Ok(vec![None]);
        };
        let indices = match self.gives {
            Sorted::Both => at.outputs[1].clone(),
            _ => Variable::apply1(Sort { gives: Sorted::Indices, ..*self }, std::slice::from_ref(x))?,
        };
        if self.first.is_some() {
            let inputs = self.at(vec![zeros_like(x), g.clone()], x, &indices)?;
            return Ok(vec![Some(Variable::apply1(AdvancedIncSubtensor { set: false }, &inputs)?)]);
        }
        // The positions are a permutation, and sorting one gives its inverse.
        let back = Sort { axis: self.axis, descending: false, first: None, gives: Sorted::Indices };
        Ok(vec![Some(self.picked(g, &Variable::apply1(back, &[indices])?)?)])
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        at.broadcast(Sort { axis: self.axis + 1, ..*self })
    }

    fn shard(&self, at: &Shards) -> ShardedOutputs {
        at.along(*self, false, |axis| (axis != self.axis).then_some(axis))
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let (dtype, size) = (inputs[0].dtype(), inputs[0].dtype().size());
        let [outer, n, inner] = about(inputs[0].shape(), self.axis);
        let kept = self.kept(n).map_err(|m| Error::mismatch(self.label(), "as many elements", m))?;
        let mut shape = inputs[0].shape().to_vec();
        shape[self.axis] = kept;
        let x = inputs[0].try_map(|element| element)?;
        let count = if shape.contains(&0) { 0 } else { outer * kept * inner };
        let mut indices = fallible::filled(0i64, count)?;
        let mut values = fallible::filled(0u8, count * size)?;
        let mut order = fallible::with_capacity(if count == 0 { 0 } else { n })?;
        // Nothing is sorted however often.
        let outer = if indices.is_empty() { 0 } else { outer };
        for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
            let element = |k: usize| x[(o * n + k) * inner + i];
            order.clear();
            order.extend(0..n);
            // Positions make it stable: a sort that is stable by itself takes memory.
            order.sort_unstable_by(|&a, &b| {
                let ascending = compare(element(a), element(b));
                (if self.descending { ascending.reverse() } else { ascending }).then(a.cmp(&b))
            });
            for (k, &from) in order.iter().take(kept).enumerate() {
                let to = (o * kept + k) * inner + i;
                indices[to] = from as i64;
                values[to * size..(to + 1) * size].copy_from_slice(&element(from).to_le_bytes()[..size]);
            }
        }
        let mut outputs = Vec::new();
        if self.gives.values() {
            outputs.push(Value::from_bytes(dtype, &shape, &values)?);
        }
        if self.gives.indices() {
            outputs.push(Value::from_vec(&shape, indices)?);
        }
        Ok(outputs)
    }

    fn element_bounds(
        &self,
        output: usize,
        inputs: &[Known],
        elements: &[Interval],
        _: &[usize],
    ) -> Option<Interval> {
        if output == 0 && self.gives.values() {
            return elements.first().copied();
        }
        Some(Interval::new(DType::I64, 0.0, *inputs.first()?.shape.get(self.axis)? as f64 - 1.0))
    }

    fn distinct_along(&self, output: usize, axis: usize) -> Holds {
        let positions = self.gives.indices() && (output == 1 || !self.gives.values());
        if positions && axis == self.axis { Holds::Always } else { Holds::Unknown }
    }

    fn ascends_along(&self, output: usize, axis: usize, _: &[Known], _: &[Interval]) -> Holds {
        let values = self.gives.values() && output == 0;
        if values && !self.descending && axis == self.axis { Holds::Always } else { Holds::Unknown }
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

/// An op on one axis, and `x`; on `x` as one row, if all axes are asked for.
fn on_row(op: &str, x: &Variable, axes: &impl Axes) -> Result<(Variable, usize)> {
    let list = axes.axes(x.ndim()).map_err(|m| fail(op, m))?;
    match list[..] {
        [axis] => Ok((x.clone(), axis)),
        _ if list.len() == x.ndim() => Ok((x.try_flatten()?, 0)),
        _ => Err(fail(op, format!("one axis or all, not {list:?} of {}", x.ty()))),
    }
}

fn sorted(op: &str, x: &Variable, axes: &impl Axes, gives: Sorted) -> Result<Vec<Variable>> {
    let (x, axis) = on_row(op, x, axes)?;
    Variable::apply(Sort { axis, descending: false, first: None, gives }, &[x])
}

fn largest(x: &Variable, k: usize, axis: isize, gives: Sorted) -> Result<Vec<Variable>> {
    let axis = normalize_axis(axis, x.ndim()).map_err(|m| fail("topk", m))?;
    if x.ty().shape[axis].is_some_and(|n| k > n) {
        return Err(fail("topk", format!("the largest {k} along axis {axis} of {}", x.ty())));
    }
    Variable::apply(Sort { axis, descending: true, first: Some(k), gives }, std::slice::from_ref(x))
}

methods! {
    /// Elements in ascending order along an axis, or all in one row (`..`). Stable; NaN comes last, zeros of
    /// either sign are equal.
    sort / try_sort(x, axis: impl Axes) { first_of(sorted("sort", x, &axis, Sorted::Values)?) }
    /// The positions that [`Variable::sort`] takes the elements from, as int64.
    #[doc(alias("sort_indices"))]
    argsort / try_argsort(x, axis: impl Axes) { first_of(sorted("argsort", x, &axis, Sorted::Indices)?) }
    /// The `k` largest elements along an axis, the largest first. NaN counts as largest.
    #[doc(alias("top_k"))]
    topk / try_topk(x, k: usize, axis: isize) { first_of(largest(x, k, axis, Sorted::Values)?) }
    /// Where the `k` largest elements are, as int64; the first among equals.
    argtopk / try_argtopk(x, k: usize, axis: isize) { first_of(largest(x, k, axis, Sorted::Indices)?) }
    /// The middle of the sorted elements over axes, or the mean of the two middle ones; NaN if there is one.
    /// Of integers float64.
    median / try_median(x, axes: impl Axes) { quantile("median", x, 0.5, &axes, false) }
    /// The number below which the part `q` (0 to 1) of the sorted elements over axes is, by linear
    /// interpolation; NaN if there is one.
    quantile / try_quantile(x, q: f64, axes: impl Axes) { quantile("quantile", x, q, &axes, false) }
    /// [`Variable::median`] of what is not NaN; NaN if nothing is left.
    nanmedian / try_nanmedian(x, axes: impl Axes) { quantile("nanmedian", x, 0.5, &axes, true) }
    /// [`Variable::quantile`] of what is not NaN; NaN if nothing is left.
    nanquantile / try_nanquantile(x, q: f64, axes: impl Axes) { quantile("nanquantile", x, q, &axes, true) }
}

fn first_of(mut list: Vec<Variable>) -> Result<Variable> {
    match list.len() {
        0 => Err(crate::error::Error::Internal("a sort without results".into())),
        _ => Ok(list.swap_remove(0)),
    }
}

/// Values and positions of one sort, or its error twice.
fn both(made: Result<Vec<Variable>>) -> [Variable; 2] {
    let pair = made.and_then(|list| {
        let without = |_| crate::error::Error::Internal("a sort without two results".into());
        <[Variable; 2]>::try_from(list).map_err(without)
    });
    pair.unwrap_or_else(|error| [Variable::poison(error.clone()), Variable::poison(error)])
}

impl Variable {
    /// [`Variable::sort`] and [`Variable::argsort`], from one sort.
    #[must_use]
    #[track_caller]
    pub fn sort_both(&self, axis: impl Axes) -> [Variable; 2] {
        let _scope = source_location::enter();
        both(self.checked().and_then(|x| sorted("sort", x, &axis, Sorted::Both)))
    }

    /// [`Variable::topk`] and [`Variable::argtopk`], from one sort.
    #[must_use]
    #[track_caller]
    pub fn topk_both(&self, k: usize, axis: isize) -> [Variable; 2] {
        let _scope = source_location::enter();
        both(self.checked().and_then(|x| largest(x, k, axis, Sorted::Both)))
    }
}
