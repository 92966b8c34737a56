//! The table of ops.

use super::{DecodedGraph, GraphDraft};
use crate::error::Result;
use crate::fallible;
use crate::format::bad;
use crate::format::codec::{Budget, Decoder};
use crate::op::{Attr, AttrGraph, Attributes, Op, UnknownOp};
use crate::ops::{Registry, StoredOp};
use std::sync::Arc;
use workalike_kernels::DType;

/// Bytes of memory for an op besides its text and numbers: the op, its row, and the error if it is unknown.
const PER_OP: usize = 512;
/// Bytes per number of an op: in the file's attributes, and in the op.
const PER_NUMBER: usize = 48;
/// Upper bound for the copies of an op's text in memory: in the file's attributes, in the op, and in the
/// error if it is unknown.
const COPIES_OF_TEXT: usize = 4;
/// Counted for each node of a graph that an op names.
const PER_NODE: usize = 16;
/// The most graphs that are within one another.
const MAX_NESTING: usize = 8;
/// Bytes of memory for each byte of text of an op with graphs: kernels in the text, and their parameters.
const PER_BYTE_OF_CODE: usize = 32;

/// A row of the table of ops.
pub(super) enum OpRow {
    /// An op; `depth` graphs are within one another among its attributes.
    Op { op: Arc<dyn Op>, depth: usize },
    /// An op with graphs among its attributes, which are set once the graphs are read: pairs of attribute
    /// and row of the graph.
    Draft { id: String, version: u32, attributes: Attributes, graphs: Vec<(usize, u32)> },
}

/// A graph's row is a number until the graph is read.
fn attribute(from: &mut Decoder) -> Result<(String, Attr, Option<u32>)> {
    let name = from.text()?;
    let kind = from.byte()?;
    let numbers = from.list(1, Decoder::signed)?;
    let text = from.text()?;
    from.budget.take(numbers.len().saturating_mul(PER_NUMBER))?;
    from.budget.take(text.len().saturating_mul(COPIES_OF_TEXT))?;
    let mut graph = None;
    let attr = match (kind, numbers.as_slice()) {
        (0, &[n]) => Attr::Int(n),
        (1, _) => Attr::Ints(numbers),
        (2, []) => Attr::Text(text),
        (3, &[code]) => match u8::try_from(code).ok().and_then(DType::from_code) {
            Some(dtype) => Attr::Type(dtype),
            None => return bad(format!("unknown dtype {code}")),
        },
        (4, &[row]) => match u32::try_from(row) {
            Ok(id) => {
                graph = Some(id);
                Attr::Int(row)
            }
            Err(_) => return bad(format!("graph {row} is named")),
        },
        _ => return bad(format!("attribute {name} is of an unknown kind")),
    };
    Ok((name, attr, graph))
}

/// One row.
pub(super) fn op_row(from: &mut Decoder, registry: &Registry) -> Result<OpRow> {
    let id = from.text()?;
    from.budget.take(PER_OP)?;
    from.budget.take(id.len().saturating_mul(COPIES_OF_TEXT))?;
    let version = from.id()?;
    let list = from.list(4, attribute)?;
    let mut attributes: Attributes = fallible::with_capacity(list.len())?;
    from.budget.take(list.len().saturating_mul(size_of::<(String, Attr)>() + size_of::<(usize, u32)>()))?;
    let mut graphs = fallible::with_capacity(list.len())?;
    for (at, (name, attr, graph)) in list.into_iter().enumerate() {
        attributes.push((name, attr));
        graphs.extend(graph.map(|graph| (at, graph)));
    }
    if graphs.is_empty() {
        return Ok(OpRow::Op { op: decoded(id, version, attributes, registry), depth: 0 });
    }
    for (_, attr) in &attributes {
        if let Attr::Text(text) = attr {
            from.budget.take(text.len().saturating_mul(PER_BYTE_OF_CODE))?;
        }
    }
    Ok(OpRow::Draft { id, version, attributes, graphs })
}

/// An op, or an [`UnknownOp`], which makes only the Functions that contain it unreadable.
fn decoded(id: String, version: u32, attributes: Attributes, registry: &Registry) -> Arc<dyn Op> {
    match registry.decode(&StoredOp::new(&id, version, &attributes)) {
        Ok(op) => op,
        Err(why) => Arc::new(UnknownOp { id, version, attributes, why }),
    }
}

/// Makes the ops of a graph that have graphs among their attributes; returns how many graphs are within one
/// another, with this one.
pub(super) fn set_ops(
    draft: &GraphDraft,
    ops: &mut [OpRow],
    finished: &[DecodedGraph],
    registry: &Registry,
    budget: &mut Budget,
) -> Result<usize> {
    let mut deepest = 0;
    for &(_, row) in &draft.ops {
        let row = &mut ops[row as usize];
        if let OpRow::Draft { id, version, attributes, graphs } = row {
            *row = finished_op(
                std::mem::take(id),
                *version,
                std::mem::take(attributes),
                graphs,
                finished,
                registry,
                budget,
            )?;
        }
        if let OpRow::Op { depth, .. } = row {
            deepest = deepest.max(*depth);
        }
    }
    match deepest + 1 {
        depth @ ..=MAX_NESTING => Ok(depth),
        _ => bad(format!("more than {MAX_NESTING} graphs are within one another")),
    }
}

/// An op with its graphs. A graph may name earlier ones only, so that none contains itself.
fn finished_op(
    id: String,
    version: u32,
    mut attributes: Attributes,
    graphs: &[(usize, u32)],
    finished: &[DecodedGraph],
    registry: &Registry,
    budget: &mut Budget,
) -> Result<OpRow> {
    let (mut depth, mut why) = (0, None);
    for &(attribute, graph) in graphs {
        let Some(graph) = finished.get(graph as usize) else {
            return bad(format!("op {id} names graph {graph} of {}", finished.len()));
        };
        depth = depth.max(graph.depth);
        // The op looks at each node. Many ops that name one large graph are refused, or the file is padded.
        budget.take(graph.graph.nodes.len().saturating_mul(PER_NODE))?;
        if let Some(unknown) = UnknownOp::first_of(&graph.graph) {
            why = Some(format!("a graph of op {id} has an unknown op: {}", unknown.why));
        }
        attributes[attribute].1 = Attr::Graph(AttrGraph(graph.graph.clone()));
    }
    let op: Arc<dyn Op> = match why {
        Some(why) => Arc::new(UnknownOp { id, version, attributes, why }),
        None => decoded(id, version, attributes, registry),
    };
    Ok(OpRow::Op { op, depth })
}
