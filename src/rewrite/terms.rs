//! The view of an expression that a local rule has. It is the same for the DAG of Variables that `grad`
//! differentiates and for the FunctionGraph that `compile` rewrites, so that each rule is written once.

use crate::error::{Error, Result};
use crate::graph::{Def, FunctionGraph, TensorType, VarId, Variable};
use crate::op::Op;
use crate::ops::complex::{ImagPart, RealPart};
use crate::ops::elemwise::{Cast, Elemwise};
use crate::ops::splat::uniform_by;
use crate::ops::{Bound, BroadcastLike, DimShuffle, Slot, Subtensor};
use crate::value::Value;
use std::collections::HashSet;
use std::sync::Arc;
use workalike_kernels::ops::ScalarOp;
use workalike_kernels::{DType, Scalar};

/// An op and its inputs.
pub(super) type Owner<V> = (Arc<dyn Op>, Vec<V>);

/// All of an axis.
pub(super) const WHOLE: Slot = Slot::Slice { start: Bound::Open, stop: Bound::Open, step: 1 };

/// Maximum number of ops that are traced back from a Variable to where an extent of it comes from.
const TRACED_BACK: usize = 32;

/// A part of complex numbers.
fn is_part(op: &dyn Op) -> bool {
    op.downcast::<RealPart>().is_some() || op.downcast::<ImagPart>().is_some()
}

/// An axis further back whose extent that axis of `v` has.
fn origin<T: Terms + ?Sized>(terms: &T, v: &T::V, axis: usize, steps: &mut usize) -> (T::V, usize) {
    let here = || (v.clone(), axis);
    let Some((op, inputs)) = terms.owner(v).filter(|_| *steps > 0) else { return here() };
    *steps -= 1;
    if let Some(shuffle) = op.downcast::<DimShuffle>() {
        return match shuffle.order.get(axis).copied().flatten() {
            Some(from) => origin(terms, &inputs[0], from, steps),
            None => here(),
        };
    }
    if op.downcast::<BroadcastLike>().is_some() {
        return origin(terms, &inputs[1], axis, steps);
    }
    if let Some(read) = op.downcast::<Subtensor>() {
        let whole = read.slots.iter().all(|slot| matches!(slot, Slot::Slice { .. }))
            && read.slots.get(axis).is_none_or(|slot| *slot == WHOLE);
        return if whole { origin(terms, &inputs[0], axis, steps) } else { here() };
    }
    if !(op.downcast::<Cast>().is_some() || op.downcast::<Elemwise>().is_some() || is_part(op.as_ref())) {
        return here();
    }
    // The extent of every input that does not broadcast.
    let mut long = inputs.iter().filter(|i| terms.ty(i).shape.get(axis) != Some(&Some(1)));
    let Some(first) = long.next() else { return here() };
    let found = origin(terms, first, axis, steps);
    if long.all(|other| other == first || origin(terms, other, axis, steps) == found) {
        found
    } else {
        here()
    }
}

/// Expressions that can be inspected and built.
pub(super) trait Terms {
    /// A tensor.
    type V: Clone + PartialEq;

    /// Its type.
    fn ty(&self, v: &Self::V) -> TensorType;
    /// The op that made it and the op's inputs, if the op has one output.
    fn owner(&self, v: &Self::V) -> Option<Owner<Self::V>>;
    /// Its value, if it is a constant.
    fn value(&self, v: &Self::V) -> Option<Value>;
    /// Makes a constant.
    fn constant(&mut self, value: Value) -> Self::V;
    /// Applies an op with one output.
    fn apply(&mut self, op: Arc<dyn Op>, inputs: Vec<Self::V>) -> Result<Self::V>;

    /// The elementwise op that made it, and its arguments.
    fn elemwise(&self, v: &Self::V) -> Option<(ScalarOp, Vec<Self::V>)> {
        let (op, inputs) = self.owner(v)?;
        op.downcast::<Elemwise>().map(|e| (e.op, inputs))
    }

    /// The argument of `op`, if it has one argument and made this.
    fn argument(&self, v: &Self::V, op: ScalarOp) -> Option<Self::V> {
        let (made_by, mut inputs) = self.elemwise(v)?;
        if made_by == op && inputs.len() == 1 { inputs.pop() } else { None }
    }

    /// The value of all its elements, if it is known.
    fn uniform(&self, v: &Self::V) -> Option<f64> {
        uniform_by(v.clone(), |v| self.value(v), |v| self.owner(v))
    }

    /// Whether the extents of `a` and `b` along an axis are known to be equal: by their types, or because
    /// both come from the same Variable.
    fn equal_extents(&self, a: &Self::V, b: &Self::V, axis: usize) -> bool {
        let known = |v: &Self::V| self.ty(v).shape[axis];
        if a == b || known(a).is_some() || known(b).is_some() {
            return known(a) == known(b);
        }
        origin(self, a, axis, &mut TRACED_BACK.clone()) == origin(self, b, axis, &mut TRACED_BACK.clone())
    }

    /// Whether an elementwise result of both has the shape of `x`: along each axis, the other has extent 1 or
    /// that of `x`.
    fn adds_no_extent(&self, x: &Self::V, other: &Self::V) -> bool {
        let (rank, shape) = (self.ty(x).ndim(), self.ty(other).shape);
        rank == shape.len()
            && (0..rank).all(|axis| shape[axis] == Some(1) || self.equal_extents(x, other, axis))
    }

    /// Whether at most one node reads it; false if that is not known.
    fn is_read_once(&self, _: &Self::V) -> bool {
        false
    }

    /// Whether all its elements are this number.
    fn is(&self, v: &Self::V, number: f64) -> bool {
        self.uniform(v) == Some(number)
    }

    /// The other of two inputs, if one of them is this number everywhere and does not extend the other's
    /// shape.
    fn beside(&self, inputs: &[Self::V], number: f64) -> Option<Self::V> {
        let [a, b] = inputs else { return None };
        let pair = [(a, b), (b, a)]
            .into_iter()
            .find(|(kept, other)| self.is(other, number) && self.adds_no_extent(kept, other));
        pair.map(|(kept, _)| kept.clone())
    }

    /// A number that broadcasts against `like`.
    fn number(&mut self, like: &Self::V, number: f64) -> Result<Self::V> {
        let ty = self.ty(like);
        self.number_of_rank(ty.dtype, ty.ndim(), number)
    }

    /// A number with `rank` axes of extent 1.
    fn number_of_rank(&mut self, dtype: DType, rank: usize, number: f64) -> Result<Self::V> {
        let value = Value::scalar(Scalar::from_f64(dtype, number)).reshaped(&vec![1; rank])?;
        Ok(self.constant(value))
    }

    /// `x` with the shape of `whole`, an elementwise result of `x` and of `gone`, which is no longer read.
    fn filled(&mut self, x: &Self::V, gone: &Self::V, whole: &Self::V) -> Result<Self::V> {
        if self.adds_no_extent(x, gone) {
            return Ok(x.clone());
        }
        self.apply(Arc::new(BroadcastLike), vec![x.clone(), whole.clone()])
    }

    /// This number with the type and shape of `like`.
    fn number_like(&mut self, like: &Self::V, number: f64) -> Result<Self::V> {
        let number = self.number(like, number)?;
        self.apply(Arc::new(BroadcastLike), vec![number, like.clone()])
    }

    /// Applies an elementwise op.
    fn make(&mut self, op: ScalarOp, inputs: &[&Self::V]) -> Result<Self::V> {
        self.apply(Arc::new(Elemwise { op }), inputs.iter().map(|v| (*v).clone()).collect())
    }
}

impl Terms for FunctionGraph {
    type V = VarId;

    fn ty(&self, v: &VarId) -> TensorType {
        self.var(*v).ty.clone()
    }

    fn owner(&self, v: &VarId) -> Option<Owner<VarId>> {
        let Def::Output { node, .. } = self.var(*v).def else { return None };
        let node = &self.nodes[node as usize];
        (node.outputs.len() == 1).then(|| (node.op.clone(), node.inputs.clone()))
    }

    fn value(&self, v: &VarId) -> Option<Value> {
        FunctionGraph::constant(self, *v).cloned()
    }

    fn constant(&mut self, value: Value) -> VarId {
        self.add_var(TensorType::fixed(value.dtype(), value.shape()), None, Def::Constant(value))
    }

    fn apply(&mut self, op: Arc<dyn Op>, inputs: Vec<VarId>) -> Result<VarId> {
        let types: Vec<&TensorType> = inputs.iter().map(|&i| &self.var(i).ty).collect();
        let types = op
            .types(&types)
            .map_err(|m| Error::Internal(format!("rewriting made an ill-typed {}: {m}", op.label())))?;
        let outputs = self.add_node(op, inputs, types);
        outputs.first().copied().ok_or_else(|| Error::Internal("an op without output".into()))
    }
}

/// How often the Vars of a graph under construction are read, as known from the old graph.
pub(super) struct Reads {
    /// By Var of the old graph; 0 once the count was moved to the new Var.
    old: Vec<u32>,
    /// By Var of the new graph. A Var beyond the end was made by a rule, for one reader.
    new: Vec<u32>,
}

impl Reads {
    pub(super) fn of(graph: &FunctionGraph) -> Reads {
        Reads { old: graph.uses(), new: vec![] }
    }

    /// Notes that Vars of the old graph have become Vars of the new one.
    pub(super) fn became(&mut self, old: &[VarId], new: &[VarId]) {
        for (&old, &new) in old.iter().zip(new) {
            let (old, new) = (old as usize, new as usize);
            if self.new.len() <= new {
                self.new.resize(new + 1, 0);
            }
            self.new[new] = self.new[new].saturating_add(std::mem::take(&mut self.old[old]));
        }
    }
}

/// A graph under construction, with the number of reads of each Var.
pub(super) struct CountedGraph<'g> {
    pub(super) graph: &'g mut FunctionGraph,
    pub(super) reads: &'g Reads,
}

impl Terms for CountedGraph<'_> {
    type V = VarId;

    fn ty(&self, v: &VarId) -> TensorType {
        self.graph.ty(v)
    }

    fn owner(&self, v: &VarId) -> Option<Owner<VarId>> {
        self.graph.owner(v)
    }

    fn value(&self, v: &VarId) -> Option<Value> {
        self.graph.value(v)
    }

    fn constant(&mut self, value: Value) -> VarId {
        <FunctionGraph as Terms>::constant(self.graph, value)
    }

    fn apply(&mut self, op: Arc<dyn Op>, inputs: Vec<VarId>) -> Result<VarId> {
        self.graph.apply(op, inputs)
    }

    fn is_read_once(&self, v: &VarId) -> bool {
        self.reads.new.get(*v as usize).is_none_or(|&count| count <= 1)
    }
}

/// The DAG of Variables.
pub(super) struct Dag<'a> {
    /// Keys of Variables that must not be looked into: the caller of `grad` named them, as inputs of the
    /// gradient.
    pub(super) closed: &'a HashSet<(usize, usize)>,
}

/// A Variable, compared by identity.
#[derive(Clone)]
pub(super) struct Same(pub(super) Variable);

impl PartialEq for Same {
    fn eq(&self, other: &Same) -> bool {
        self.0.key() == other.0.key()
    }
}

impl Terms for Dag<'_> {
    type V = Same;

    fn ty(&self, v: &Same) -> TensorType {
        v.0.ty().clone()
    }

    fn owner(&self, v: &Same) -> Option<Owner<Same>> {
        let (apply, _) = v.0.owner().filter(|_| !self.closed.contains(&v.0.key()))?;
        (apply.types.len() == 1).then(|| (apply.op.clone(), apply.inputs.iter().cloned().map(Same).collect()))
    }

    fn value(&self, v: &Same) -> Option<Value> {
        v.0.constant_value().cloned()
    }

    fn constant(&mut self, value: Value) -> Same {
        Same(Variable::constant(value))
    }

    fn apply(&mut self, op: Arc<dyn Op>, inputs: Vec<Same>) -> Result<Same> {
        let inputs: Vec<Variable> = inputs.into_iter().map(|v| v.0).collect();
        let mut outputs = Variable::apply_at(op, &inputs, crate::graph::source_location::here())?;
        if outputs.is_empty() {
            Err(Error::Internal("an op without output".into()))
        } else {
            Ok(Same(outputs.swap_remove(0)))
        }
    }
}
