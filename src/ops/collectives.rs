//! Collectives: the members of a group, each of which runs the same Function, exchange arrays.
//!
//! A graph names a group and knows no more of it: neither its members nor what carries the arrays. Both are
//! known when the Function is re-hosted as a member, by [`group`](crate::engine::group) or
//! [`member`](crate::engine::member). Everywhere else a Function is the only member of all its groups, rank
//! 0 of 1, and each collective is the identity.
//!
//! - here: the op [`CollectiveOp`] and the methods that apply it; [`GroupPlace`]: ranks and sizes as values;
//! - [`OwnPart`]: a member's part of an array that each has; [`EqualParts`]: parts that do not broadcast;
//!   `gradient`: gradients; `lower`: library ops.

mod equal_parts;
mod gradient;
mod lower;
mod part;
mod place;

pub use equal_parts::EqualParts;
pub use part::OwnPart;
pub(crate) use part::{divided_input, own_part, own_part_or_one};
pub use place::{GroupPlace, PlaceKind, group_rank, group_size};
pub use workalike_device::group::{CollectiveKind, Route};

use super::array_manipulation::axis_of;
use super::batching::only;
use super::methods::{fail, methods};
use super::reduce::fold_name;
use super::stored_op::StoredOp;
use crate::error::{Error, Result};
use crate::graph::{Node, TensorType, Variable};
use crate::lower::{Lowered, Lowering, View};
use crate::op::{Attr, Attributes, Batch, BatchedOutputs, Gradient, Known, Op, OpGroup, Seat, expect_inputs};
use crate::value::Value;
use std::sync::Arc;
use workalike_device::group::{Collective as Exchange, CollectiveArray, GroupError};
use workalike_kernels::DType;
use workalike_kernels::nest::Fold;

/// How the members' arrays are combined, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their mean: the sum divided by the number of members, float64 for integers.
    Mean,
    /// The largest element; a NaN if there is one.
    Max,
    /// The smallest element; a NaN if there is one.
    Min,
}

/// What the member gets when the members of a group exchange its input: see [`Variable::all_reduce`] and the
/// methods beside it. Parts of arrays are those of axis 0.
#[derive(Clone, Debug)]
pub struct CollectiveOp {
    /// What each member gets.
    pub kind: CollectiveKind,
    /// The group.
    pub group: OpGroup,
}

impl CollectiveOp {
    /// A collective of a group of this name.
    pub fn new(kind: CollectiveKind, group: &str) -> CollectiveOp {
        CollectiveOp { kind, group: OpGroup::new(group) }
    }

    #[track_caller]
    pub(super) fn apply(kind: CollectiveKind, group: &str, x: &Variable) -> Result<Variable> {
        if group.is_empty() {
            return Err(fail(kind.name(), "expected the name of a group, got none".into()));
        }
        Variable::apply1(CollectiveOp::new(kind, group), std::slice::from_ref(x))
    }

    /// The exchange of so many elements, which has something to exchange.
    fn exchange(&self, dtype: DType, elements: u64) -> Option<Exchange> {
        let Seat { group, number } = self.group.seat.as_ref()?;
        let array = CollectiveArray { kind: self.kind.clone(), dtype, elements };
        let collective = Exchange { arrays: vec![array], group: group.clone(), number: *number };
        // A permutation may leave its only member without an array.
        (group.size() > 1).then_some(collective)
    }

    fn failed(&self, error: &GroupError) -> Error {
        Error::Expression {
            op: self.label(),
            message: error.to_string(),
            place: crate::graph::source_location::here(),
        }
    }
}

/// The folding of a method's reduction, and the input in a dtype that has it.
fn folding(x: &Variable, reduction: Reduction) -> Result<(Fold, Variable)> {
    let fold = match reduction {
        Reduction::Sum | Reduction::Mean => Fold::Sum,
        Reduction::Max => Fold::Max,
        Reduction::Min => Fold::Min,
    };
    let x = match x.dtype() {
        DType::Bool if fold == Fold::Sum => x.try_cast(DType::I64)?,
        // A sum of halves may be out of their range where the mean is not.
        dtype if dtype.is_half() && reduction == Reduction::Mean => x.try_cast(DType::F32)?,
        _ => x.clone(),
    };
    Ok((fold, x))
}

/// A sum over the members as the reduction of `x` wants it.
fn finished(x: &Variable, sum: Variable, reduction: Reduction, group: &str) -> Result<Variable> {
    if reduction != Reduction::Mean {
        return Ok(sum);
    }
    let size = group_size(group);
    let dtype =
        if sum.dtype().is_float() || sum.dtype().is_complex() { sum.dtype().real() } else { DType::F64 };
    let mean = sum.try_div(size.try_cast(dtype)?)?;
    if x.dtype().is_half() { mean.try_cast(x.dtype()) } else { Ok(mean) }
}

methods! {
    /// The members' arrays combined, element by element: all members get the same bits (MPI's `Allreduce`,
    /// JAX's `psum`, `pmean`, `pmax` and `pmin`). Arrays have equal shapes. A sum of bools counts them, in
    /// int64; complex numbers have sums and means only. It folds in the order of ranks.
    ///
    /// The gradient is that of the sum of all members' costs.
    all_reduce / try_all_reduce(x, reduction: Reduction, group: &str) {
        let (fold, own) = folding(x, reduction)?;
        finished(x, CollectiveOp::apply(CollectiveKind::AllReduce(fold), group, &own)?, reduction, group)
    }

    /// The members' arrays joined along an axis, in the order of ranks: all members get all (MPI's
    /// `Allgather`, JAX's `all_gather` with `tiled=True`). Arrays have equal shapes; the extent of the axis
    /// is multiplied by the number of members. A scalar is gathered as a vector of one element.
    all_gather / try_all_gather(x, axis: isize, group: &str) {
        if x.ndim() == 0 {
            return x.try_dimshuffle([None])?.try_all_gather(axis, group);
        }
        let axis = axis_of("all_gather", axis, x)? as isize;
        let front = x.try_moveaxis(axis, 0)?;
        CollectiveOp::apply(CollectiveKind::AllGather, group, &front)?.try_moveaxis(0, axis)
    }

    /// The member's part of an array that each member has: the axis is divided into as many equal parts as
    /// there are members, and rank `r` gets part `r`. Nothing is exchanged. Its extent must be a multiple of
    /// the number of members. [`Variable::all_gather`] is the way back.
    own_part / try_own_part(x, axis: isize, group: &str) {
        own_part(x, axis_of("own_part", axis, x)?, group)
    }

    /// The member's part of the combined arrays (MPI's `Reduce_scatter_block`, JAX's `psum_scatter` with
    /// `tiled=True`): the axis is divided into as many equal parts as there are members, and rank `r` gets
    /// part `r` of [`Variable::all_reduce`], without the cost of the others. Its extent must be a multiple of
    /// the number of members.
    reduce_scatter / try_reduce_scatter(x, reduction: Reduction, axis: isize, group: &str) {
        let axis = axis_of("reduce_scatter", axis, x)? as isize;
        let (fold, own) = folding(x, reduction)?;
        let front = own.try_moveaxis(axis, 0)?;
        let part = CollectiveOp::apply(CollectiveKind::ReduceScatter(fold), group, &front)?;
        finished(x, part.try_moveaxis(0, axis)?, reduction, group)
    }

    /// The array of one member, for all (MPI's `Bcast`). The others' arrays have its shape, and are not read.
    broadcast_from / try_broadcast_from(x, root: usize, group: &str) {
        CollectiveOp::apply(CollectiveKind::Broadcast { root }, group, x)
    }

    /// The array of another member, along a route (XLA's `CollectivePermute`, JAX's `ppermute`): with a
    /// number `k` the member gets the array of the member `k` ranks before it, cyclically; with pairs
    /// `[(from, to), ..]` member `to` gets that of `from`, and a member that is no pair's `to` gets zeros.
    /// Arrays have equal shapes.
    collective_permute / try_collective_permute(x, route: impl Into<Route>, group: &str) {
        CollectiveOp::apply(CollectiveKind::Permute(route.into()), group, x)
    }
}

/// The reduction, root or route of a kind, as an attribute.
fn argument(kind: &CollectiveKind) -> Option<(String, Attr)> {
    let (name, value) = match kind {
        CollectiveKind::AllReduce(fold) | CollectiveKind::ReduceScatter(fold) => {
            ("fold", Attr::Text(fold_name(*fold).into()))
        }
        CollectiveKind::AllGather => return None,
        CollectiveKind::Broadcast { root } => ("root", Attr::Int(*root as i64)),
        CollectiveKind::Permute(Route::Shift(by)) => ("shift", Attr::Int(*by)),
        CollectiveKind::Permute(Route::Pairs(pairs)) => {
            let ends = pairs.iter().flat_map(|&(from, to)| [from as i64, to as i64]);
            ("pairs", Attr::Ints(ends.collect()))
        }
    };
    Some((name.into(), value))
}

impl CollectiveOp {
    /// The op that a file holds.
    pub(super) fn decode(stored: &StoredOp) -> Result<CollectiveOp, String> {
        let rank = |rank: i64| usize::try_from(rank).map_err(|_| format!("{rank} is no member's rank"));
        let kind = match stored.text("kind")? {
            "all_reduce" => CollectiveKind::AllReduce(stored.fold()?),
            "reduce_scatter" => CollectiveKind::ReduceScatter(stored.fold()?),
            "all_gather" => CollectiveKind::AllGather,
            "broadcast" => CollectiveKind::Broadcast { root: rank(stored.int("root")?)? },
            "permute" => CollectiveKind::Permute(match stored.find("pairs") {
                Ok(_) => {
                    let (pairs, []) = stored.ints("pairs")?.as_chunks::<2>() else {
                        return Err("pairs of a route are two members each".into());
                    };
                    let pair = |&[from, to]: &[i64; 2]| Ok((rank(from)?, rank(to)?));
                    Route::Pairs(pairs.iter().map(pair).collect::<Result<_, String>>()?)
                }
                Err(_) => Route::Shift(stored.int("shift")?),
            }),
            other => return Err(format!("unknown collective {other}")),
        };
        Ok(CollectiveOp { kind, group: stored.group()? })
    }
}

impl Op for CollectiveOp {
    fn id(&self) -> &'static str {
        "collective"
    }

    fn attributes(&self) -> Attributes {
        let kind = ("kind".into(), Attr::Text(self.kind.name().into()));
        std::iter::once(kind).chain(self.group.attributes()).chain(argument(&self.kind)).collect()
    }

    fn label(&self) -> String {
        format!("{}[{}]", self.kind.name(), self.group.name)
    }

    fn types(&self, inputs: &[&TensorType]) -> Result<Vec<TensorType>, String> {
        expect_inputs(inputs.len(), 1)?;
        let x = inputs[0];
        match self.kind.fold() {
            None | Some(Fold::Sum) => {}
            Some(Fold::Max | Fold::Min) if !x.dtype.is_complex() => {}
            Some(Fold::Max | Fold::Min) => return Err(format!("{} has no order", x.dtype)),
            Some(fold) => return Err(format!("members' arrays are not combined by {}", fold_name(fold))),
        }
        if self.kind == CollectiveKind::Permute(Route::Shift(i64::MIN)) {
            return Err("a shift has a way back, and this one is out of range".into());
        }
        let mut ty = x.clone();
        if matches!(self.kind, CollectiveKind::AllGather | CollectiveKind::ReduceScatter(_)) {
            // The number of members is not known before there are some.
            let first = ty.shape.first_mut();
            *first.ok_or_else(|| format!("{} has no axis to divide among members", inputs[0]))? = None;
        }
        Ok(vec![ty])
    }

    fn shapes(&self, inputs: &[Known]) -> Result<Vec<Vec<usize>>, String> {
        let mut shape = inputs[0].shape.to_vec();
        let size = self.group.size();
        self.kind.check(size).map_err(|error| error.to_string())?;
        if matches!(self.kind, CollectiveKind::AllGather | CollectiveKind::ReduceScatter(_)) {
            let rows = self.kind.result_elements(shape[0] as u64, size);
            let rows = rows.map_err(|error| error.to_string().replace("elements", "rows"))?;
            shape[0] = usize::try_from(rows).map_err(|_| format!("{rows} rows are too many"))?;
        }
        Ok(vec![shape])
    }

    fn takes_complex(&self) -> bool {
        true
    }

    fn group(&self) -> Option<&OpGroup> {
        Some(&self.group)
    }

    fn is_joint(&self) -> bool {
        true
    }

    /// Members of one group that have the same inputs have the same of what another group makes of them, if
    /// the groups are the rows and columns of a grid.
    fn agreement(&self, group: &str, inputs: &[bool], outputs: usize) -> Result<Vec<bool>, String> {
        use CollectiveKind::{AllGather, AllReduce, Broadcast};
        let same = matches!(self.kind, AllReduce(_) | AllGather | Broadcast { .. });
        let agree = same && (self.group.name == group || inputs.iter().all(|agrees| *agrees));
        Ok(vec![agree; outputs])
    }

    /// A device reports an exchange that was cut off.
    fn trouble(&self) -> String {
        let why = self.group.seat.as_ref().and_then(|seat| seat.group.closed());
        why.map_or_else(|| "the members' arrays were not exchanged".into(), |why| why.to_string())
    }

    fn in_group(&self, group: OpGroup) -> Option<Arc<dyn Op>> {
        Some(Arc::new(CollectiveOp { group, ..self.clone() }))
    }

    fn grad(&self, at: &Gradient) -> Result<Vec<Option<Variable>>> {
        gradient::gradient(self, at)
    }

    fn batch(&self, at: &Batch) -> BatchedOutputs {
        match self.kind {
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter(_) => {
                let front = at.with_axis(0)?.try_moveaxis(0, 1)?;
                let result = Variable::apply1(self.clone(), &[front])?;
                only(result.try_moveaxis(1, 0))
            }
            _ => at.broadcast(self.clone()),
        }
    }

    fn perform(&self, inputs: &[Value]) -> Result<Vec<Value>> {
        let shape = self.shapes(&[Known::of(&inputs[0])]).map_err(|message| fail(&self.label(), message))?;
        let Some(result) = shape.first() else { return Ok(vec![]) };
        let (x, whole) = (&inputs[0], inputs[0].contiguous()?.as_reals());
        let Some(exchange) = self.exchange(whole.dtype(), whole.len() as u64) else {
            return match self.leaves_nothing() {
                true => Ok(vec![Value::zeros(x.dtype(), result)?]),
                false => Ok(vec![x.clone()]),
            };
        };
        let given = whole.contiguous_bytes().unwrap_or(&[]);
        let value = Value::try_filled(x.dtype(), result, |bytes| {
            exchange.group.exchange(&exchange, &[given], &mut [bytes]).map_err(|error| self.failed(&error))
        })?;
        Ok(vec![value])
    }

    fn lower(&self, to: &mut Lowering<'_>, node: &Node, inputs: &[View]) -> Lowered {
        lower::lower(self, to, node, inputs)
    }
}

impl CollectiveOp {
    /// Whether the only member of a group gets no array.
    fn leaves_nothing(&self) -> bool {
        matches!(&self.kind, CollectiveKind::Permute(route) if route.source(0, 1).is_none())
    }
}
