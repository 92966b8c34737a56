//! Index checks before a call: indices whose values the host knows need no check on the device.
//!
//! A Program that may find an index out of range must store its updates conditionally (see
//! [`super::commit`]). Most indices are labels, tokens or minibatch numbers that come from the host. Their
//! least and greatest element decide for a whole call whether any of them is out of range, so a Program is
//! planned on the assumption that they are not, and each call tests the assumption. If it does not hold, the
//! call runs the Program that checks on the device, which names the node.

use super::abilities::Promised;
use super::program::Role;
use crate::graph::{Def, FunctionGraph, Node, TensorType, VarId};
use crate::value::Value;
use workalike_kernels::DType;

/// The minimum and maximum of an integer array. Elements beyond int64 count as its maximum; of an empty
/// array, the minimum is above the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    min: i64,
    max: i64,
}

impl Bounds {
    /// The bounds of a Value; `None` if it holds no integers.
    pub(crate) fn of(value: &Value) -> Option<Bounds> {
        fn extremes<T: Copy + Ord + TryInto<i64> + bytemuck::AnyBitPattern>(bytes: &[u8]) -> Option<Bounds> {
            let size = size_of::<T>();
            // One pass without branches, so that it runs at the speed of memory.
            let all = || bytes.chunks_exact(size).map(bytemuck::pod_read_unaligned::<T>);
            let Some(first) = all().next() else { return Some(Bounds { min: i64::MAX, max: i64::MIN }) };
            let (min, max) = all().fold((first, first), |(min, max), x| (min.min(x), max.max(x)));
            let number = |x: T| x.try_into().unwrap_or(i64::MAX);
            Some(Bounds { min: number(min), max: number(max) })
        }
        let whole = value.contiguous().ok()?;
        let bytes = whole.contiguous_bytes()?;
        match value.dtype() {
            DType::I8 => extremes::<i8>(bytes),
            DType::I16 => extremes::<i16>(bytes),
            DType::I32 => extremes::<i32>(bytes),
            DType::I64 => extremes::<i64>(bytes),
            DType::U8 => extremes::<u8>(bytes),
            DType::U16 => extremes::<u16>(bytes),
            DType::U32 => extremes::<u32>(bytes),
            DType::U64 => extremes::<u64>(bytes),
            _ => None,
        }
    }

    /// The least and the greatest element, in this order unless there is none.
    pub(crate) fn ends(self) -> (i64, i64) {
        (self.min, self.max)
    }

    /// Whether each element is in `low..high`.
    pub(crate) fn within(self, low: i128, high: i128) -> bool {
        self.min > self.max || (low <= self.min.into() && i128::from(self.max) < high)
    }
}

/// The assumption that all elements of an input or shared variable are in `low..high`.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexBound {
    /// The input or shared variable.
    pub source: Role,
    /// The least element allowed.
    pub low: i128,
    /// One more than the greatest element allowed.
    pub high: i128,
}

impl IndexBound {
    pub(crate) fn holds(&self, bounds: Bounds) -> bool {
        bounds.within(self.low, self.high)
    }
}

/// The Var from which another one follows by views and widening integer conversions alone, so that its
/// elements are all that the other can hold.
pub(crate) fn origin(graph: &FunctionGraph, mut id: VarId) -> VarId {
    while let Some((_, before)) = before(graph, id) {
        id = before;
    }
    id
}

impl Promised {
    /// Whether it is promised that an index is in range.
    pub(crate) fn holds_of(self, graph: &FunctionGraph, index: VarId) -> bool {
        match self {
            Promised::None => false,
            Promised::Marked => is_promised(graph, index),
            Promised::All => true,
        }
    }
}

/// Whether a node that a Var follows from by views and widening conversions promises that it is in range.
fn is_promised(graph: &FunctionGraph, mut id: VarId) -> bool {
    while let Some((node, before)) = before(graph, id) {
        if node.op.promises_bounds() {
            return true;
        }
        id = before;
    }
    false
}

/// The node that a Var is a view or a widening conversion by, and of which Var.
fn before(graph: &FunctionGraph, id: VarId) -> Option<(&Node, VarId)> {
    let Def::Output { node, .. } = graph.var(id).def else { return None };
    let node = &graph.nodes[node as usize];
    node.inputs.first().filter(|_| passes_on(graph, node)).map(|&input| (node, input))
}

/// The input or shared variable that is the [`origin`] of a Var.
pub(crate) fn source(graph: &FunctionGraph, id: VarId) -> Option<Role> {
    match graph.var(origin(graph, id)).def {
        Def::Input(i) => Some(Role::Input(i as usize)),
        Def::Shared(i) => Some(Role::Shared(i as usize)),
        Def::Constant(_) | Def::Output { .. } => None,
    }
}

/// Whether each element of a node's output is an element of its first input.
fn passes_on(graph: &FunctionGraph, node: &Node) -> bool {
    let types: Vec<&TensorType> = node.inputs.iter().map(|&id| &graph.var(id).ty).collect();
    node.op.passes_elements_on(&types)
}

/// The inputs and shared variables of a graph that are used as indices and not promised to be in range, each
/// once.
pub(crate) fn sources(graph: &FunctionGraph, promised: Promised) -> Vec<Role> {
    let mut found: Vec<Role> = Vec::new();
    for node in &graph.nodes {
        for index in indices(node).filter(|&index| !promised.holds_of(graph, index)) {
            if let Some(role) = source(graph, index).filter(|role| !found.contains(role)) {
                found.push(role);
            }
        }
    }
    found
}

/// The inputs of a node at which an element out of range is an error.
fn indices(node: &Node) -> impl Iterator<Item = VarId> {
    node.op.index_inputs(node.inputs.len()).into_iter().filter_map(|at| node.inputs.get(at).copied())
}

/// The inputs and shared variables whose elements are known to be within the bounds that a Program assumes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Trusted(Vec<Role>);

impl Trusted {
    pub(crate) fn new(roles: Vec<Role>) -> Trusted {
        Trusted(roles)
    }

    pub(crate) fn contains(&self, role: &Role) -> bool {
        self.0.contains(role)
    }
}
