//! What the tables of a file mean: flat rows with u32 ids, to and from Bundles.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::function::{Bundle, Function, InputSpec};
use crate::graph::{Cell, CellSet, Def, FunctionGraph, Node, TensorType, Var, verify};
use crate::ops::{self, Attr, Attributes};
use crate::value::{Value, checked_len};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Tensors start at multiples of this within their section.
const ALIGNMENT: usize = 64;

#[derive(Serialize, Deserialize, Default)]
pub(super) struct Tables {
    ops: Vec<OpRow>,
    graphs: Vec<GraphRow>,
    functions: Vec<FunctionRow>,
    shared: Vec<SharedRow>,
    tensors: Vec<TensorRow>,
}

/// Stable id, version, tagged attributes.
#[derive(Serialize, Deserialize, PartialEq, Eq, Hash, Clone)]
struct OpRow {
    id: String,
    version: u32,
    attributes: Vec<AttributeRow>,
}

/// Kind 0: one number; 1: numbers; 2: text; 3: a dtype's code.
#[derive(Serialize, Deserialize, PartialEq, Eq, Hash, Clone)]
struct AttributeRow {
    name: String,
    kind: u8,
    numbers: Vec<i64>,
    text: String,
}

#[derive(Serialize, Deserialize)]
struct GraphRow {
    vars: Vec<VarRow>,
    nodes: Vec<NodeRow>,
    inputs: Vec<u32>,
    shared: Vec<u32>,
    outputs: Vec<u32>,
    updates: Vec<(u32, u32)>,
}

/// Kind 0: input `a`; 1: shared `a`; 2: constant tensor `a`; 3: output `b` of node `a`.
#[derive(Serialize, Deserialize)]
struct VarRow {
    ty: TypeRow,
    name: Option<String>,
    kind: u8,
    a: u32,
    b: u32,
}

/// An unknown extent is -1.
#[derive(Serialize, Deserialize)]
struct TypeRow {
    dtype: u8,
    shape: Vec<i64>,
}

#[derive(Serialize, Deserialize)]
struct NodeRow {
    op: u32,
    inputs: Vec<u32>,
    outputs: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct FunctionRow {
    name: String,
    graph: u32,
    inputs: Vec<InputRow>,
    outputs: Vec<Option<String>>,
    /// For each shared variable of the graph, its row.
    shared: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct InputRow {
    name: Option<String>,
    ty: TypeRow,
    default: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct SharedRow {
    id: (u64, u64),
    name: String,
    ty: TypeRow,
    tensor: u32,
}

#[derive(Serialize, Deserialize)]
struct TensorRow {
    dtype: u8,
    shape: Vec<u64>,
    offset: u64,
}

/// Collects rows, equal ones once.
#[derive(Default)]
struct Writer {
    tables: Tables,
    tensors: Vec<u8>,
    ops: HashMap<OpRow, u32>,
    /// The values of all cells, as they were at one moment.
    values: HashMap<*const Cell, Value>,
    shared: HashMap<u128, (u32, Value)>,
}

pub(super) fn to_wire(bundle: &Bundle) -> Result<(Tables, Vec<u8>)> {
    let cells: Vec<&Arc<Cell>> = bundle.iter().flat_map(|(_, f)| f.cells()).collect();
    let values = CellSet::of(cells.iter().copied()).snapshot()?.into_iter().map(|(value, _)| value);
    let values = cells.iter().map(|cell| Arc::as_ptr(cell)).zip(values).collect();
    let mut writer = Writer { values, ..Writer::default() };
    for (name, function) in bundle.iter() {
        let graph = writer.graph(function.graph())?;
        let shared = function.cells().iter().map(|c| writer.shared(c)).collect::<Result<_>>()?;
        let inputs = function.inputs().iter().map(|input| {
            let default = input.default.as_ref().map(|v| writer.tensor(v)).transpose()?;
            Ok(InputRow { name: input.name.clone(), ty: type_row(&input.ty), default })
        });
        let inputs = inputs.collect::<Result<_>>()?;
        let outputs = function.output_names().to_vec();
        writer.tables.functions.push(FunctionRow { name: name.into(), graph, inputs, outputs, shared });
    }
    Ok((writer.tables, writer.tensors))
}

fn type_row(ty: &TensorType) -> TypeRow {
    TypeRow { dtype: ty.dtype.code(), shape: ty.shape.iter().map(|e| e.map_or(-1, |e| e as i64)).collect() }
}

impl Writer {
    fn tensor(&mut self, value: &Value) -> Result<u32> {
        let whole = value.contiguous()?;
        self.tensors.resize(self.tensors.len().next_multiple_of(ALIGNMENT), 0);
        let shape = value.shape().iter().map(|&e| e as u64).collect();
        let row = TensorRow { dtype: value.dtype().code(), shape, offset: self.tensors.len() as u64 };
        self.tensors.extend_from_slice(whole.contiguous_bytes().unwrap_or(&[]));
        self.tables.tensors.push(row);
        Ok(self.tables.tensors.len() as u32 - 1)
    }

    fn shared(&mut self, cell: &Arc<Cell>) -> Result<u32> {
        cell.note_saved();
        let value = self.values.get(&Arc::as_ptr(cell)).cloned();
        let value = value.ok_or_else(|| Error::Internal("a shared variable without a value".into()))?;
        if let Some((row, known)) = self.shared.get(&cell.id()) {
            if *known != value {
                let message = format!(
                    "shared variable {} has different values in two Functions of the Bundle",
                    cell.name()
                );
                return Err(Error::Sync(message));
            }
            return Ok(*row);
        }
        let tensor = self.tensor(&value)?;
        let id = ((cell.id() >> 64) as u64, cell.id() as u64);
        self.tables.shared.push(SharedRow { id, name: cell.name().into(), ty: type_row(cell.ty()), tensor });
        let row = self.tables.shared.len() as u32 - 1;
        self.shared.insert(cell.id(), (row, value));
        Ok(row)
    }

    fn op(&mut self, op: &dyn ops::Op) -> u32 {
        let attributes = op.attributes().into_iter().map(|(name, attr)| {
            let (kind, numbers, text) = match attr {
                Attr::Int(n) => (0, vec![n], String::new()),
                Attr::Ints(list) => (1, list, String::new()),
                Attr::Text(text) => (2, vec![], text),
                Attr::Type(dtype) => (3, vec![dtype.code() as i64], String::new()),
            };
            AttributeRow { name, kind, numbers, text }
        });
        let row = OpRow { id: op.id().into(), version: op.version(), attributes: attributes.collect() };
        let ops = &mut self.tables.ops;
        *self.ops.entry(row).or_insert_with_key(|row| {
            ops.push(row.clone());
            ops.len() as u32 - 1
        })
    }

    fn graph(&mut self, graph: &FunctionGraph) -> Result<u32> {
        let vars = graph.vars.iter().map(|var| {
            let (kind, a, b) = match &var.def {
                Def::Input(i) => (0, *i, 0),
                Def::Shared(i) => (1, *i, 0),
                Def::Constant(value) => (2, self.tensor(value)?, 0),
                Def::Output { node, index } => (3, *node, *index),
            };
            Ok(VarRow { ty: type_row(&var.ty), name: var.name.clone(), kind, a, b })
        });
        let vars = vars.collect::<Result<_>>()?;
        let nodes = graph.nodes.iter().map(|node| {
            let op = self.op(node.op.as_ref());
            NodeRow { op, inputs: node.inputs.clone(), outputs: node.outputs.clone() }
        });
        let row = GraphRow {
            vars,
            nodes: nodes.collect(),
            inputs: graph.inputs.clone(),
            shared: graph.shared.clone(),
            outputs: graph.outputs.clone(),
            updates: graph.updates.clone(),
        };
        self.tables.graphs.push(row);
        Ok(self.tables.graphs.len() as u32 - 1)
    }
}

fn bad<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Format { what: "file".into(), message: message.into() })
}

fn row<'a, T>(rows: &'a [T], id: u32, what: &str) -> Result<&'a T> {
    match rows.get(id as usize) {
        Some(row) => Ok(row),
        None => bad(format!("{what} {id} of {} is named", rows.len())),
    }
}

fn dtype(code: u8) -> Result<DType> {
    match DType::from_code(code) {
        Some(dtype) => Ok(dtype),
        None => bad(format!("unknown dtype {code}")),
    }
}

fn tensor_type(row: &TypeRow) -> Result<TensorType> {
    let extents = row.shape.iter().map(|&e| match e {
        -1 => Ok(None),
        e => match usize::try_from(e) {
            Ok(e) => Ok(Some(e)),
            Err(_) => bad(format!("extent {e}")),
        },
    });
    Ok(TensorType::new(dtype(row.dtype)?, extents.collect::<Result<Vec<_>>>()?))
}

fn tensor(row: &TensorRow, section: &[u8]) -> Result<Value> {
    let dtype = dtype(row.dtype)?;
    let shape: Vec<usize> = row.shape.iter().map(|&e| usize::try_from(e).unwrap_or(usize::MAX)).collect();
    let bytes = checked_len(&shape, dtype)? * dtype.size();
    let start = usize::try_from(row.offset).unwrap_or(usize::MAX);
    match start.checked_add(bytes).and_then(|end| section.get(start..end)) {
        Some(bytes) => Value::from_bytes(dtype, &shape, bytes),
        None => bad("a tensor ends beyond its section"),
    }
}

fn attributes(rows: &[AttributeRow]) -> Result<Attributes> {
    rows.iter()
        .map(|row| {
            let attr = match (row.kind, row.numbers.as_slice()) {
                (0, &[n]) => Attr::Int(n),
                (1, list) => Attr::Ints(list.to_vec()),
                (2, []) => Attr::Text(row.text.clone()),
                (3, &[code]) => Attr::Type(dtype(u8::try_from(code).unwrap_or(u8::MAX))?),
                _ => return bad(format!("attribute {} is of an unknown kind", row.name)),
            };
            Ok((row.name.clone(), attr))
        })
        .collect()
}

pub(super) fn from_wire(tables: Tables, section: &[u8]) -> Result<Bundle> {
    let decode = |row: &OpRow| match ops::decode(&row.id, row.version, &attributes(&row.attributes)?) {
        Ok(op) => Ok(op),
        Err(message) => bad(message),
    };
    let ops: Vec<Arc<dyn ops::Op>> = tables.ops.iter().map(decode).collect::<Result<_>>()?;
    let tensors: Vec<Value> = tables.tensors.iter().map(|t| tensor(t, section)).collect::<Result<_>>()?;
    let cells = tables.shared.iter().map(|shared| {
        let (ty, value) = (tensor_type(&shared.ty)?, row(&tensors, shared.tensor, "tensor")?);
        if !ty.admits(value.dtype(), value.shape()) {
            return bad(format!("the value of shared variable {} does not have its type {ty}", shared.name));
        }
        let id = (shared.id.0 as u128) << 64 | shared.id.1 as u128;
        Ok(Arc::new(Cell::new(id, &shared.name, ty, value, None)?))
    });
    let cells: Vec<Arc<Cell>> = cells.collect::<Result<_>>()?;
    let graphs = tables.graphs.iter().map(|g| {
        let graph = graph(g, &ops, &tensors)?;
        verify(&graph)?;
        Ok(Arc::new(graph))
    });
    let graphs: Vec<Arc<FunctionGraph>> = graphs.collect::<Result<_>>()?;
    let mut bundle = Bundle::new();
    for f in &tables.functions {
        if bundle.get(&f.name).is_some() {
            return bad(format!("two functions are called {}", f.name));
        }
        bundle = bundle.with(&f.name, &function(f, &graphs, &cells, &tensors)?);
    }
    Ok(bundle)
}

fn graph(g: &GraphRow, ops: &[Arc<dyn ops::Op>], tensors: &[Value]) -> Result<FunctionGraph> {
    let vars = g.vars.iter().map(|var| {
        let def = match var.kind {
            0 => Def::Input(var.a),
            1 => Def::Shared(var.a),
            2 => Def::Constant(row(tensors, var.a, "tensor")?.clone()),
            3 => Def::Output { node: var.a, index: var.b },
            kind => return bad(format!("a variable of unknown kind {kind}")),
        };
        Ok(Var { ty: tensor_type(&var.ty)?, name: var.name.clone(), def })
    });
    let vars = vars.collect::<Result<_>>()?;
    let nodes = g.nodes.iter().map(|node| {
        let op = row(ops, node.op, "op")?.clone();
        Ok(Node { op, inputs: node.inputs.clone(), outputs: node.outputs.clone(), place: None })
    });
    Ok(FunctionGraph {
        vars,
        nodes: nodes.collect::<Result<_>>()?,
        inputs: g.inputs.clone(),
        shared: g.shared.clone(),
        outputs: g.outputs.clone(),
        updates: g.updates.clone(),
        place: None,
    })
}

fn function(
    f: &FunctionRow,
    graphs: &[Arc<FunctionGraph>],
    cells: &[Arc<Cell>],
    tensors: &[Value],
) -> Result<Function> {
    let graph = row(graphs, f.graph, "graph")?.clone();
    let counts = f.inputs.len() == graph.inputs.len()
        && f.outputs.len() == graph.outputs.len()
        && f.shared.len() == graph.shared.len();
    if !counts {
        return bad(format!("function {} does not fit its graph", f.name));
    }
    let inputs = f.inputs.iter().zip(&graph.inputs).map(|(input, &id)| {
        let ty = tensor_type(&input.ty)?;
        let default = input.default.map(|d| row(tensors, d, "tensor").cloned()).transpose()?;
        if ty != graph.var(id).ty || default.as_ref().is_some_and(|d| !ty.admits_shape(d.shape())) {
            return bad(format!("an input of function {} does not fit its graph", f.name));
        }
        Ok(InputSpec::new(input.name.clone(), ty, default))
    });
    let inputs = inputs.collect::<Result<_>>()?;
    let mut own: Vec<Arc<Cell>> = Vec::new();
    for (&shared, &id) in f.shared.iter().zip(&graph.shared) {
        let cell = row(cells, shared, "shared variable")?.clone();
        // Locking a cell twice would block for ever.
        if *cell.ty() != graph.var(id).ty || own.iter().any(|c| Arc::ptr_eq(c, &cell)) {
            return bad(format!("a shared variable of function {} does not fit its graph", f.name));
        }
        own.push(cell);
    }
    Ok(Function::assemble(f.name.clone(), graph, inputs, f.outputs.clone(), own, None))
}
