//! From the tables of a file to a Bundle. The tables are flat rows with u32 ids; `encode` writes them.
//!
//! Time and memory are linear in the file. Every count, id, shape and offset is checked before it is used,
//! and every allocation is counted against a [`Budget`] first.

mod ops;
mod tensors;

use super::bad;
use super::codec::{Budget, Decoder};
use super::common_state::in_common;
use super::encode::NO_TENSOR;
use crate::error::Result;
use crate::fallible;
use crate::function::{Bundle, Function, InputSpec};
use crate::graph::{Cell, Def, FunctionGraph, Node, TensorType, Var, VarId, verify};
use crate::op::{Op, UnknownOp};
use crate::ops::{Registry, SumLike};
use crate::value::{MAX_RANK, Value, checked_len};
use ops::{OpRow, op_row, set_ops};
use std::sync::Arc;
use tensors::{Tensors, tensor_row};
use workalike_kernels::DType;

/// Bytes of a shared variable besides its name and value.
const PER_SHARED: usize = 768;

/// The source of values.
pub(super) enum TensorSource<'a> {
    /// The tensors of a file.
    File(&'a [u8]),
    /// A Bundle that was just encoded, whose tables are checked: its tensors and shared variables, row by
    /// row.
    Known(&'a [Value], &'a [Arc<Cell>]),
}

/// A graph before its constants and some ops are set: pairs of Var and tensor, and of node and row of the
/// op.
struct GraphDraft {
    graph: FunctionGraph,
    constants: Vec<(VarId, u32)>,
    ops: Vec<(u32, u32)>,
}

struct FunctionDraft {
    name: String,
    graph: u32,
    inputs: Vec<InputSpec>,
    /// Pairs of input and tensor.
    defaults: Vec<(u32, u32)>,
    outputs: Vec<Option<String>>,
    /// For each shared variable of the graph, its row.
    shared: Vec<u32>,
}

struct SharedRow {
    id: u128,
    name: String,
    ty: TensorType,
    tensor: u32,
}

/// The Bundle that the tables describe, and the rest of the budget.
pub(super) fn decode(
    tables: &[u8],
    contents: &TensorSource,
    registry: &Registry,
    budget: Budget,
) -> Result<(Bundle, Budget)> {
    let mut from = Decoder::new(tables, budget);
    let mut ops = from.list(3, |from| op_row(from, registry))?;
    let graphs = from.list(6, |from| graph(from, &ops))?;
    let functions = from.list(5, function)?;
    let shared = from.list(6, shared_row)?;
    let tensors = from.list(3, tensor_row)?;
    let mut budget = from.finish()?;
    let mut tensors = Tensors::new(tensors, contents, &mut budget)?;
    let cells = cells(shared, &mut tensors, contents, &mut budget)?;
    let mut finished = fallible::with_capacity(graphs.len())?;
    for draft in graphs {
        let depth = set_ops(&draft, &mut ops, &finished, registry, &mut budget)?;
        finished.push(DecodedGraph::new(draft, &ops, depth, &mut tensors, &mut budget)?);
    }
    budget.take_each(functions.len(), Bundle::PER_FUNCTION)?;
    let mut bundle = Bundle::with_capacity(functions.len())?;
    let mut seen = fallible::filled(u32::MAX, cells.len())?;
    for (position, draft) in functions.into_iter().enumerate() {
        let graph = row(&finished, draft.graph, "graph")?;
        let own = own_cells(&draft, graph, &cells, &mut seen, position as u32)?;
        let function = assembled(draft, graph, own, &mut tensors, &mut budget)?;
        if let Err(twice) = bundle.push(function, graph.readable) {
            return bad(format!("two functions are called {}", twice.name()));
        }
    }
    Ok((bundle, budget))
}

fn row<'a, T>(rows: &'a [T], id: u32, what: &str) -> Result<&'a T> {
    match rows.get(id as usize) {
        Some(row) => Ok(row),
        None => bad(format!("{what} {id} of {} is named", rows.len())),
    }
}

fn dtype(from: &mut Decoder) -> Result<DType> {
    let code = from.byte()?;
    match DType::from_code(code) {
        Some(dtype) => Ok(dtype),
        None => bad(format!("unknown dtype {code}")),
    }
}

/// A list of extents, of at most [`MAX_RANK`] axes.
fn shape<T>(from: &mut Decoder, extent: impl FnMut(&mut Decoder) -> Result<T>) -> Result<Vec<T>> {
    match from.count(1)? {
        axes @ 0..=MAX_RANK => from.items(axes, extent),
        axes => bad(format!("an array of {axes} axes; there may be at most {MAX_RANK}")),
    }
}

/// dtype and extents; an unknown extent is -1.
fn tensor_type(from: &mut Decoder) -> Result<TensorType> {
    let dtype = dtype(from)?;
    let shape = shape(from, |from| match from.signed()? {
        -1 => Ok(None),
        e => match usize::try_from(e) {
            Ok(e) => Ok(Some(e)),
            Err(_) => bad(format!("extent {e}")),
        },
    })?;
    // The product of the known extents must not overflow.
    let known: Vec<usize> = shape.iter().flatten().copied().collect();
    checked_len(&known, dtype)?;
    Ok(TensorType::new(dtype, shape))
}

fn graph(from: &mut Decoder, ops: &[OpRow]) -> Result<GraphDraft> {
    // The graph moves to an Arc in another list.
    from.budget.take(size_of::<FunctionGraph>() + 64)?;
    let mut constants = Vec::new();
    let mut count = 0;
    let vars = from.list(6, |from| {
        let (ty, name) = (tensor_type(from)?, from.option(Decoder::text)?);
        let (kind, a, b) = (from.byte()?, from.id()?, from.id()?);
        let def = match kind {
            0 => Def::Input(a),
            1 => Def::Shared(a),
            2 => {
                // Twice, since the list grows by doubling.
                from.budget.take(4 * size_of::<(VarId, u32)>())?;
                fallible::reserve(&mut constants, 1)?;
                constants.push((count, a));
                // A placeholder until the tensors are read.
                Def::Input(u32::MAX)
            }
            3 => Def::Output { node: a, index: b },
            kind => return bad(format!("a variable of unknown kind {kind}")),
        };
        count += 1;
        Ok(Var { ty, name, def })
    })?;
    // `verify` allocates a flag for each Var, and the types of one node.
    from.budget.take(vars.len())?;
    let mut widest = 0;
    let (mut drafts, mut position) = (Vec::new(), 0);
    // Any op: it is replaced.
    let placeholder: Arc<dyn Op> = Arc::new(SumLike);
    let nodes = from.list(3, |from| {
        let id = from.id()?;
        let op: Arc<dyn Op> = match row(ops, id, "op")? {
            OpRow::Op { op, .. } => op.clone(),
            OpRow::Draft { .. } => {
                from.budget.take(4 * size_of::<(u32, u32)>())?;
                fallible::reserve(&mut drafts, 1)?;
                drafts.push((position, id));
                placeholder.clone()
            }
        };
        position += 1;
        let (inputs, outputs) = (from.ids()?, from.ids()?);
        widest = widest.max(inputs.len() + outputs.len());
        Ok(Node { op, inputs, outputs, place: None })
    })?;
    from.budget.take(widest.saturating_mul(2 * size_of::<&TensorType>()))?;
    let (inputs, shared, outputs) = (from.ids()?, from.ids()?, from.ids()?);
    let updates = from.list(2, |from| Ok((from.id()?, from.id()?)))?;
    from.budget.take(shared.len())?;
    Ok(GraphDraft {
        graph: FunctionGraph { vars, nodes, inputs, shared, outputs, updates, place: None },
        constants,
        ops: drafts,
    })
}

fn function(from: &mut Decoder) -> Result<FunctionDraft> {
    let (name, graph) = (from.text()?, from.id()?);
    from.budget.take(name.len())?;
    let mut defaults = Vec::new();
    let mut count = 0;
    let inputs = from.list(4, |from| {
        let (name, ty) = (from.option(Decoder::text)?, tensor_type(from)?);
        if let Some(tensor) = from.option(Decoder::id)? {
            from.budget.take(4 * size_of::<(u32, u32)>())?;
            fallible::reserve(&mut defaults, 1)?;
            defaults.push((count, tensor));
        }
        count += 1;
        Ok(InputSpec::new(name, ty, None))
    })?;
    let outputs = from.list(1, |from| from.option(Decoder::text))?;
    let shared = from.ids()?;
    // The names move to shared memory; the rows become cells, and sets of cells to be locked.
    from.budget.take(outputs.len().saturating_mul(size_of::<Option<String>>()))?;
    from.budget.take_each(5, shared.len().saturating_mul(size_of::<usize>()))?;
    Ok(FunctionDraft { name, graph, inputs, defaults, outputs, shared })
}

fn shared_row(from: &mut Decoder) -> Result<SharedRow> {
    let id = u128::from(from.number()?) << 64 | u128::from(from.number()?);
    let (name, ty, tensor) = (from.text()?, tensor_type(from)?, from.id()?);
    // The name is copied into the cell.
    from.budget.take(PER_SHARED)?;
    from.budget.take(name.len())?;
    Ok(SharedRow { id, name, ty, tensor })
}

fn cells(
    rows: Vec<SharedRow>,
    tensors: &mut Tensors,
    contents: &TensorSource,
    budget: &mut Budget,
) -> Result<Vec<Arc<Cell>>> {
    budget.take(rows.len().saturating_mul(size_of::<Arc<Cell>>() + size_of::<u32>()))?;
    let mut cells = fallible::with_capacity(rows.len())?;
    let mut taken = fallible::filled(false, tensors.len())?;
    for (position, shared) in rows.into_iter().enumerate() {
        if shared.tensor == NO_TENSOR {
            let SharedRow { id, name, ty, .. } = shared;
            cells.push(match contents {
                TensorSource::File(_) => in_common(Arc::new(Cell::absent(id, &name, ty)?), None)?,
                TensorSource::Known(_, cells) => row(cells, position as u32, "shared variable")?.clone(),
            });
            continue;
        }
        let value = tensors.take(shared.tensor, budget)?;
        let SharedRow { id, name, ty, tensor } = shared;
        if !ty.admits(value.dtype(), value.shape()) {
            return bad(format!("the value of shared variable {name} does not have its type {ty}"));
        }
        if std::mem::replace(&mut taken[tensor as usize], true) {
            return bad(format!("shared variable {name} has the tensor of another one"));
        }
        cells.push(match contents {
            TensorSource::File(_) => {
                in_common(Arc::new(Cell::new(id, &name, ty, &value, None)?), Some(&value))?
            }
            TensorSource::Known(_, cells) => row(cells, position as u32, "shared variable")?.clone(),
        });
    }
    Ok(cells)
}

/// A verified graph.
struct DecodedGraph {
    graph: Arc<FunctionGraph>,
    /// Whether all its ops are known.
    readable: bool,
    /// How many graphs are within one another, with this one.
    depth: usize,
}

impl DecodedGraph {
    fn new(
        draft: GraphDraft,
        rows: &[OpRow],
        depth: usize,
        tensors: &mut Tensors,
        budget: &mut Budget,
    ) -> Result<DecodedGraph> {
        let GraphDraft { mut graph, constants, ops } = draft;
        for (node, id) in ops {
            if let OpRow::Op { op, .. } = row(rows, id, "op")? {
                graph.nodes[node as usize].op = op.clone();
            }
        }
        for (var, tensor) in constants {
            graph.vars[var as usize].def = Def::Constant(tensors.get(tensor, budget)?);
        }
        verify(&graph)?;
        let readable = UnknownOp::first_of(&graph).is_none();
        Ok(DecodedGraph { graph: Arc::new(graph), readable, depth })
    }
}

/// The cells of a Function. `seen` holds, for each cell, the last Function that uses it.
fn own_cells(
    f: &FunctionDraft,
    graph: &DecodedGraph,
    cells: &[Arc<Cell>],
    seen: &mut [u32],
    position: u32,
) -> Result<Vec<Arc<Cell>>> {
    let graph = &graph.graph;
    let counts = f.inputs.len() == graph.inputs.len()
        && f.outputs.len() == graph.outputs.len()
        && f.shared.len() == graph.shared.len();
    if !counts {
        return bad(format!("function {} does not fit its graph", f.name));
    }
    let mut own = fallible::with_capacity(f.shared.len())?;
    for (&shared, &id) in f.shared.iter().zip(&graph.shared) {
        let cell: &Arc<Cell> = row(cells, shared, "shared variable")?;
        // Locking a cell twice would block for ever.
        let twice = std::mem::replace(&mut seen[shared as usize], position) == position;
        if twice || *cell.ty() != graph.var(id).ty {
            return bad(format!("a shared variable of function {} does not fit its graph", f.name));
        }
        own.push(cell.clone());
    }
    Ok(own)
}

fn assembled(
    f: FunctionDraft,
    graph: &DecodedGraph,
    cells: Vec<Arc<Cell>>,
    tensors: &mut Tensors,
    budget: &mut Budget,
) -> Result<Function> {
    let FunctionDraft { name, mut inputs, defaults, outputs, .. } = f;
    let graph = &graph.graph;
    for (input, tensor) in defaults {
        let value = tensors.get(tensor, budget)?;
        inputs[input as usize].default = Some(value);
    }
    let fits = |(input, &id): (&InputSpec, &VarId)| {
        let default = input.default.as_ref();
        input.ty == graph.var(id).ty && default.is_none_or(|d| input.ty.admits_shape(d.shape()))
    };
    if !inputs.iter().zip(&graph.inputs).all(fits) {
        return bad(format!("an input of function {name} does not fit its graph"));
    }
    Ok(Function::assemble(name, graph.clone(), inputs, outputs, cells, None))
}
