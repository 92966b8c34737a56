//! From a Bundle to the tables of a file: flat rows with u32 ids. Equal rows are stored once.
//!
//! ```text
//! ops        id, version, attributes: name; kind; numbers; text
//!            kind 0: one number, 1: numbers, 2: text, 3: a dtype's code, 4: an earlier row of graphs
//! graphs     vars: type, name; kind; a, b
//!            kind 0: input a, 1: shared a, 2: constant tensor a, 3: output b of node a
//!            nodes: op, inputs, outputs; then inputs, shared, outputs, updates
//! functions  name, graph, inputs (name, type, tensor of the default), names of outputs,
//!            rows of shared variables
//! shared     id (high, low), name, type, tensor
//! tensors    dtype, shape, offset in their section
//! ```

use super::codec::Encoder;
use crate::error::{Error, Result};
use crate::fallible;
use crate::function::{Bundle, Function};
use crate::graph::{Cell, CellSet, Def, FunctionGraph, TensorType};
use crate::op::{Attr, AttrGraph, Attributes, Op, UnknownOp};
use crate::ops::{Registry, StoredOp};
use crate::value::Value;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// In the place of a tensor's row: the shared variable is transient.
pub(super) const NO_TENSOR: u32 = u32::MAX;

/// Tensors start at multiples of this within their section.
pub(super) const ALIGNMENT: usize = 64;

/// A Bundle as tables and tensors.
#[derive(Default)]
pub(super) struct Encoded {
    pub(super) tables: Vec<u8>,
    /// In the order of their rows; each starts at the next multiple of [`ALIGNMENT`].
    pub(super) tensors: Vec<Value>,
    /// The shared variables, in the order of their rows.
    pub(super) cells: Vec<Arc<Cell>>,
}

/// Rows of one kind.
#[derive(Default)]
struct TableRows {
    count: u32,
    bytes: Encoder,
}

impl TableRows {
    /// Begins a row; returns its id.
    fn begin(&mut self) -> Result<u32> {
        let id = self.count;
        let next = id.checked_add(1);
        self.count = next.ok_or_else(|| Error::Compile("save: there are more than 2^32 rows".into()))?;
        Ok(id)
    }
}

struct BundleWriter<'r> {
    registry: &'r Registry,
    ops: TableRows,
    graphs: TableRows,
    functions: TableRows,
    shared: TableRows,
    tensors: TableRows,
    /// Bytes of the tensors so far.
    length: usize,
    encoded: Encoded,
    /// Rows of ops, by their bytes, with the op's Rust type.
    known_ops: HashMap<Vec<u8>, (u32, TypeId)>,
    /// By address; the Bundle keeps them alive.
    known_graphs: HashMap<*const FunctionGraph, u32>,
    known_cells: HashMap<*const Cell, u32>,
    /// By address of the first element; `encoded` keeps the memory alive.
    known_tensors: HashMap<(usize, usize), u32>,
}

/// The tables and tensors of a Bundle.
///
/// # Errors
/// If `registry` cannot decode an op, or there is no memory.
pub(super) fn encode(bundle: &Bundle, registry: &Registry) -> Result<Encoded> {
    let mut writer = BundleWriter {
        registry,
        ops: TableRows::default(),
        graphs: TableRows::default(),
        functions: TableRows::default(),
        shared: TableRows::default(),
        tensors: TableRows::default(),
        length: 0,
        encoded: Encoded::default(),
        known_ops: HashMap::new(),
        known_graphs: HashMap::new(),
        known_cells: HashMap::new(),
        known_tensors: HashMap::new(),
    };
    writer.cells(bundle)?;
    for function in bundle.all() {
        writer.function(function)?;
    }
    let BundleWriter { ops, graphs, functions, shared, tensors, mut encoded, .. } = writer;
    let mut tables = Encoder::default();
    for rows in [ops, graphs, functions, shared, tensors] {
        tables.number(rows.count.into())?;
        tables.bytes(&rows.bytes.0)?;
    }
    encoded.tables = tables.0;
    Ok(encoded)
}

/// dtype and extents; an unknown extent is -1.
fn put_type(to: &mut Encoder, ty: &TensorType) -> Result<()> {
    to.byte(ty.dtype.code())?;
    to.list(ty.shape.iter(), |to, extent| to.signed(extent.map_or(-1, |e| e as i64)))
}

fn put_name(to: &mut Encoder, name: &Option<String>) -> Result<()> {
    to.option(name.as_deref(), Encoder::text)
}

/// An op's row; `row_of` gives the row of a graph among its attributes.
fn put_op(
    to: &mut Encoder,
    (id, version, attributes): (&str, u32, &Attributes),
    mut row_of: impl FnMut(&Arc<FunctionGraph>) -> Result<u32>,
) -> Result<()> {
    to.text(id)?;
    to.number(version.into())?;
    to.list(attributes.iter(), |to, (name, attr)| {
        let code;
        let (kind, numbers, text): (u8, &[i64], &str) = match attr {
            Attr::Graph(AttrGraph(graph)) => {
                code = i64::from(row_of(graph)?);
                (4, std::slice::from_ref(&code), "")
            }
            Attr::Int(n) => (0, std::slice::from_ref(n), ""),
            Attr::Ints(list) => (1, list, ""),
            Attr::Text(text) => (2, &[], text),
            Attr::Type(dtype) => {
                code = i64::from(dtype.code());
                (3, std::slice::from_ref(&code), "")
            }
        };
        to.text(name)?;
        to.byte(kind)?;
        to.list(numbers.iter(), |to, &n| to.signed(n))?;
        to.text(text)
    })
}

impl BundleWriter<'_> {
    /// One row for each shared variable. Two with equal ids stay separate, as in memory.
    fn cells(&mut self, bundle: &Bundle) -> Result<()> {
        for cell in bundle.all().flat_map(Function::cells) {
            if let std::collections::hash_map::Entry::Vacant(place) =
                self.known_cells.entry(Arc::as_ptr(cell))
            {
                place.insert(self.encoded.cells.len() as u32);
                fallible::reserve(&mut self.encoded.cells, 1)?;
                self.encoded.cells.push(cell.clone());
            }
        }
        // All values are of one moment.
        let kept = self.encoded.cells.iter().filter(|cell| !cell.is_transient());
        let mut values = CellSet::of(kept).snapshot()?.into_iter();
        for at in 0..self.encoded.cells.len() {
            let cell = self.encoded.cells[at].clone();
            let mut tensor = NO_TENSOR;
            if !cell.is_transient()
                && let Some((value, _)) = values.next()
            {
                cell.note_saved();
                tensor = self.new_tensor(&value)?;
            }
            self.shared.begin()?;
            let to = &mut self.shared.bytes;
            to.number((cell.id() >> 64) as u64)?;
            to.number(cell.id() as u64)?;
            to.text(cell.name())?;
            put_type(to, cell.ty())?;
            to.number(tensor.into())?;
        }
        Ok(())
    }

    fn tensor(&mut self, value: &Value) -> Result<u32> {
        let whole = value.contiguous()?;
        let bytes = whole.contiguous_bytes().unwrap_or(&[]);
        let key = (bytes.as_ptr() as usize, bytes.len());
        match self.known_tensors.get(&key) {
            Some(&row) if !bytes.is_empty() && self.encoded.tensors[row as usize].is_same(&whole) => Ok(row),
            _ => {
                let row = self.new_tensor(&whole)?;
                self.known_tensors.insert(key, row);
                Ok(row)
            }
        }
    }

    fn new_tensor(&mut self, value: &Value) -> Result<u32> {
        let whole = value.contiguous()?;
        let to = &mut self.tensors.bytes;
        self.length = self.length.next_multiple_of(ALIGNMENT);
        to.byte(value.dtype().code())?;
        to.list(value.shape().iter(), |to, &e| to.number(e as u64))?;
        to.number(self.length as u64)?;
        self.length += whole.byte_len();
        fallible::reserve(&mut self.encoded.tensors, 1)?;
        self.encoded.tensors.push(whole);
        self.tensors.begin()
    }

    /// An op's row, after checking that the op can be decoded from it.
    fn op(&mut self, op: &dyn Op) -> Result<u32, String> {
        let unknown = UnknownOp::of(op);
        let mut row = Encoder::default();
        let attributes = unknown.map_or_else(|| op.attributes(), |u| u.attributes.clone());
        let (id, version) = unknown.map_or((op.id(), op.version()), |u| (u.id.as_str(), u.version));
        put_op(&mut row, (id, version, &attributes), |graph| self.graph(graph, op.id()))
            .map_err(|e| e.to_string())?;
        let own = (op as &dyn Any).type_id();
        let of_another_type = || Err(format!("the id {id} belongs to another op: choose an id of its own"));
        match self.known_ops.get(&row.0) {
            Some((known, ty)) if *ty == own => return Ok(*known),
            Some(_) => return of_another_type(),
            None => {}
        }
        if unknown.is_none() {
            let back = self.registry.decode(&StoredOp::new(id, version, &attributes))?;
            if (&*back as &dyn Any).type_id() != own {
                return of_another_type();
            }
            if (back.version(), back.attributes()) != (version, attributes) {
                return Err("its decoder gives an op with another version or other attributes".into());
            }
        }
        let at = self.ops.begin().map_err(|e| e.to_string())?;
        self.ops.bytes.bytes(&row.0).map_err(|e| e.to_string())?;
        self.known_ops.insert(row.0, (at, own));
        Ok(at)
    }

    /// A graph's row; `owner` is the Function or op that it is part of.
    fn graph(&mut self, graph: &Arc<FunctionGraph>, owner: &str) -> Result<u32> {
        if let Some(&row) = self.known_graphs.get(&Arc::as_ptr(graph)) {
            return Ok(row);
        }
        let mut to = Encoder::default();
        to.list(graph.vars.iter(), |to, var| {
            let (kind, a, b) = match &var.def {
                Def::Input(i) => (0, *i, 0),
                Def::Shared(i) => (1, *i, 0),
                Def::Constant(value) => (2, self.tensor(value)?, 0),
                Def::Output { node, index } => (3, *node, *index),
            };
            put_type(to, &var.ty)?;
            put_name(to, &var.name)?;
            to.byte(kind)?;
            to.number(a.into())?;
            to.number(b.into())
        })?;
        to.list(graph.nodes.iter().enumerate(), |to, (position, node)| {
            let op = self.op(node.op.as_ref()).map_err(|why| Error::Format {
                what: owner.into(),
                message: format!(
                    "op {} (node #{position}) cannot be saved: {why}. Save with save_with or to_bytes_with and a \
                     Registry that has the op",
                    node.op.label()
                ),
            })?;
            to.number(op.into())?;
            to.ids(&node.inputs)?;
            to.ids(&node.outputs)
        })?;
        for ids in [&graph.inputs, &graph.shared, &graph.outputs] {
            to.ids(ids)?;
        }
        to.list(graph.updates.iter(), |to, update| {
            to.number(update.0.into())?;
            to.number(update.1.into())
        })?;
        self.graphs.bytes.bytes(&to.0)?;
        let row = self.graphs.begin()?;
        self.known_graphs.insert(Arc::as_ptr(graph), row);
        Ok(row)
    }

    fn function(&mut self, function: &Function) -> Result<()> {
        let graph = self.graph(function.graph(), &format!("function {}", function.name()))?;
        let defaults =
            function.inputs().iter().map(|i| i.default.as_ref().map(|v| self.tensor(v)).transpose());
        let defaults = defaults.collect::<Result<Vec<_>>>()?;
        let to = &mut self.functions.bytes;
        to.text(function.name())?;
        to.number(graph.into())?;
        to.list(function.inputs().iter().zip(defaults), |to, (input, default)| {
            put_name(to, &input.name)?;
            put_type(to, &input.ty)?;
            to.option(default, |to, tensor| to.number(tensor.into()))
        })?;
        to.list(function.output_names().iter(), put_name)?;
        let cells = &self.known_cells;
        to.list(function.cells().iter(), |to, cell| {
            to.number(cells.get(&Arc::as_ptr(cell)).copied().unwrap_or(u32::MAX).into())
        })?;
        self.functions.begin().map(drop)
    }
}
