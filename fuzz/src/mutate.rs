//! Mutants of a file: changes of its bytes, its tables and its tensors. Most changes of tables may pass the
//! checks of the library, because those are the mutants that run.

use crate::random::Random;
use crate::wire::{GraphRow, NodeRow, OpRow, Parts, Tables, TensorRow, TypeRow, VarRow, mend};
use std::sync::Arc;
use workalike::DType;
use workalike::graph::TensorType;
use workalike::ops::{Attr, Op, Registry, StoredOp};

/// The material for mutants: every op of the seed files with its number of inputs, and every text.
#[derive(Default)]
pub(crate) struct Pool {
    ops: Vec<(OpRow, usize)>,
    texts: Vec<String>,
}

impl Pool {
    pub(crate) fn add(&mut self, tables: &Tables) {
        for node in tables.graphs.iter().flat_map(|g| &g.nodes) {
            let Some(op) = tables.ops.get(node.op as usize) else { continue };
            let arity = node.inputs.len();
            if !self.ops.iter().any(|known| known.1 == arity && known.0 == *op) {
                self.ops.push((op.clone(), arity));
            }
        }
        let texts = tables.ops.iter().flat_map(|op| &op.attributes).map(|a| &a.text);
        for text in texts.filter(|text| !text.is_empty()) {
            if !self.texts.contains(text) {
                self.texts.push(text.clone());
            }
        }
    }
}

/// A mutant of a valid file.
pub(crate) fn mutant(r: &mut Random, file: &[u8], pool: &Pool) -> Vec<u8> {
    let Some(mut parts) = Parts::of(file).filter(|_| !r.percent(8)) else {
        return of_bytes(r, file.to_vec());
    };
    for _ in 0..1 + r.below(5) {
        change(r, &mut parts, pool);
    }
    if r.percent(70) {
        for g in 0..parts.tables.graphs.len() {
            // Stops at the first node whose op refuses its inputs.
            let _ = retype(&mut parts.tables, g);
        }
        refit(&mut parts.tables);
    }
    let file = parts.file();
    if r.percent(5) { of_bytes(r, file) } else { file }
}

/// Changes, truncates or extends bytes; the checksums are mostly valid.
fn of_bytes(r: &mut Random, mut file: Vec<u8>) -> Vec<u8> {
    for _ in 0..1 + r.below(4) {
        let at = r.below(file.len());
        match r.below(5) {
            0 => file.truncate(at),
            1 => file.resize(file.len() + r.below(200), r.bits() as u8),
            2 => file[at] ^= 1 << r.below(8),
            3 => file[at] = r.bits() as u8,
            _ => {
                let number = r.number().to_le_bytes();
                let end = (at + 8).min(file.len());
                file[at..end].copy_from_slice(&number[..end - at]);
            }
        }
        if file.is_empty() {
            break;
        }
    }
    if r.percent(85) {
        mend(&mut file);
    }
    file
}

/// One change.
fn change(r: &mut Random, parts: &mut Parts, pool: &Pool) {
    let Parts { tables, tensors } = parts;
    let g = r.below(tables.graphs.len());
    let Some(graph) = tables.graphs.get_mut(g) else { return };
    match r.below(20) {
        0..=2 => {
            let at = r.below(tables.ops.len());
            tables.ops.get_mut(at).into_iter().for_each(|op| attribute(r, op, pool));
        }
        3 => other_op(r, tables, g, pool),
        4..=5 => rewire(r, graph),
        6..=7 => {
            let at = r.below(graph.vars.len());
            graph.vars.get_mut(at).into_iter().for_each(|var| of_type(r, &mut var.ty));
        }
        8 => tensor_row(r, tables, tensors.len()),
        9..=10 => elements(r, tensors),
        11 => lists(r, tables, g),
        12 => shared_rows(r, tables),
        13 => functions(r, tables),
        14 => {
            let (at, to) = (r.below(graph.vars.len()), r.below(graph.vars.len() + 1) as u32);
            let Some(var) = graph.vars.get_mut(at) else { return };
            match r.below(3) {
                0 => var.kind = r.below(5) as u8,
                1 => var.a = to,
                _ => var.b = r.below(4) as u32,
            }
        }
        _ => grow(r, parts, g, pool),
    }
}

fn attribute(r: &mut Random, op: &mut OpRow, pool: &Pool) {
    let at = r.below(op.attributes.len());
    let Some(attribute) = op.attributes.get_mut(at) else { return };
    let numbers = &mut attribute.numbers;
    let place = r.below(numbers.len());
    match attribute.kind {
        0 => *numbers = vec![r.number()],
        1 if numbers.is_empty() || r.percent(15) => numbers.insert(place, r.number()),
        1 if r.percent(20) => drop(numbers.remove(place)),
        1 if r.percent(20) => numbers.swap(0, place),
        1 => numbers[place] = r.number(),
        2 => attribute.text = r.pick(&pool.texts).cloned().unwrap_or_default(),
        _ => *numbers = vec![r.below(14) as i64],
    }
}

fn other_op(r: &mut Random, tables: &mut Tables, g: usize, pool: &Pool) {
    let at = r.below(tables.graphs[g].nodes.len());
    let Some(node) = tables.graphs[g].nodes.get_mut(at) else { return };
    let same: Vec<&(OpRow, usize)> = pool.ops.iter().filter(|op| op.1 == node.inputs.len()).collect();
    if let Some((op, _)) = r.pick(&same) {
        node.op = tables.ops.len() as u32;
        tables.ops.push(op.clone());
    }
}

fn rewire(r: &mut Random, graph: &mut GraphRow) {
    let beyond = usize::from(r.percent(5));
    let (at, to) = (r.below(graph.nodes.len()), r.below(graph.vars.len() + beyond) as u32);
    let Some(node) = graph.nodes.get_mut(at) else { return };
    let input = r.below(node.inputs.len());
    match r.below(10) {
        0 => node.inputs.push(to),
        1 if !node.inputs.is_empty() => drop(node.inputs.remove(input)),
        _ => node.inputs.get_mut(input).into_iter().for_each(|input| *input = to),
    }
}

fn of_type(r: &mut Random, ty: &mut TypeRow) {
    let at = r.below(ty.shape.len());
    match r.below(8) {
        0 => ty.dtype = r.below(14) as u8,
        1 => ty.shape.push(if r.percent(50) { -1 } else { 1 }),
        2 if !ty.shape.is_empty() => drop(ty.shape.remove(at)),
        3..=5 => ty.shape.get_mut(at).into_iter().for_each(|extent| *extent = -1),
        _ => ty.shape.get_mut(at).into_iter().for_each(|extent| *extent = r.number()),
    }
}

fn tensor_row(r: &mut Random, tables: &mut Tables, bytes: usize) {
    let at = r.below(tables.tensors.len());
    let Some(row) = tables.tensors.get_mut(at) else { return };
    let place = r.below(row.shape.len());
    match r.below(6) {
        0 => row.dtype = r.below(14) as u8,
        1 => row.offset = if r.percent(50) { r.below(bytes + 1) as u64 } else { r.number() as u64 },
        2 => row.shape.push(1),
        3 if !row.shape.is_empty() => drop(row.shape.remove(place)),
        4 if !row.shape.is_empty() => row.shape.swap(0, place),
        _ => row.shape.get_mut(place).into_iter().for_each(|extent| *extent = r.number() as u64),
    }
}

/// Writes indices out of range, NaN, and bools that are neither 0 nor 1.
fn elements(r: &mut Random, tensors: &mut [u8]) {
    for _ in 0..1 + r.below(4) {
        let from = r.below(tensors.len()) & !7;
        let bytes = if r.percent(80) { r.number() as u64 } else { r.bits() }.to_le_bytes();
        tensors[from..].iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    }
}

fn set(r: &mut Random, list: &mut [u32], value: u32) {
    let at = r.below(list.len());
    list.get_mut(at).into_iter().for_each(|entry| *entry = value);
}

fn lists(r: &mut Random, tables: &mut Tables, g: usize) {
    let graph = &mut tables.graphs[g];
    let beyond = usize::from(r.percent(10));
    let id = r.below(graph.vars.len() + beyond) as u32;
    match r.below(6) {
        0 => set(r, &mut graph.inputs, id),
        1 => set(r, &mut graph.shared, id),
        2 => set(r, &mut graph.outputs, id),
        3 => graph.outputs.push(id),
        4 => graph.updates.push((r.below(graph.shared.len() + 1) as u32, id)),
        _ => {
            let at = r.below(graph.updates.len());
            graph.updates.get_mut(at).into_iter().for_each(|update| update.1 = id);
        }
    }
}

fn shared_rows(r: &mut Random, tables: &mut Tables) {
    let (at, from) = (r.below(tables.shared.len()), r.below(tables.shared.len()));
    let (id, tensor) = (tables.shared.get(from).map(|row| row.id), r.below(tables.tensors.len() + 1) as u32);
    let Some(row) = tables.shared.get_mut(at) else { return };
    match r.below(4) {
        0 => row.id = id.unwrap_or((0, 0)),
        1 => row.tensor = tensor,
        2 => row.id = (0, r.bits()),
        _ => of_type(r, &mut row.ty),
    }
}

fn functions(r: &mut Random, tables: &mut Tables) {
    let (graphs, shared, tensors) = (tables.graphs.len(), tables.shared.len(), tables.tensors.len());
    let at = r.below(tables.functions.len());
    let Some(row) = tables.functions.get_mut(at) else { return };
    match r.below(6) {
        0 => row.graph = r.below(graphs + 1) as u32,
        1 => {
            let to = r.below(shared + 1) as u32;
            set(r, &mut row.shared, to);
        }
        2 => {
            let input = r.below(row.inputs.len());
            let default = r.below(tensors + 1) as u32;
            row.inputs.get_mut(input).into_iter().for_each(|input| input.default = Some(default));
        }
        3 => row.shared.reverse(),
        4 => row.outputs.push(Some("more".into())),
        _ => {
            let again = tables.functions[at].clone();
            let name = format!("again{at}");
            tables.functions.push(crate::wire::FunctionRow { name, ..again });
        }
    }
}

/// The op of a row.
fn decoded(row: &OpRow) -> Option<Arc<dyn Op>> {
    let attributes = row.attributes.iter().map(|a| {
        let attribute = match (a.kind, &a.numbers[..]) {
            (0, &[number]) => Attr::Int(number),
            (1, numbers) => Attr::Ints(numbers.to_vec()),
            (2, []) => Attr::Text(a.text.clone()),
            (3, &[code]) => Attr::Type(DType::from_code(u8::try_from(code).ok()?)?),
            _ => return None,
        };
        Some((a.name.clone(), attribute))
    });
    let attributes = attributes.collect::<Option<Vec<_>>>()?;
    Registry::default().decode(&StoredOp::new(&row.id, row.version, &attributes)).ok()
}

fn type_of(row: &TypeRow) -> Option<TensorType> {
    let extent = |extent: &i64| match extent {
        -1 => Some(None),
        extent => usize::try_from(*extent).ok().map(Some),
    };
    let shape = row.shape.iter().map(extent).collect::<Option<Vec<_>>>()?;
    Some(TensorType::new(DType::from_code(row.dtype)?, shape))
}

/// The output types of an op for these Vars; `None` if it refuses them.
fn outputs(graph: &GraphRow, op: &OpRow, inputs: &[u32]) -> Option<Vec<TypeRow>> {
    let types = inputs.iter().map(|&id| type_of(&graph.vars.get(id as usize)?.ty));
    let types: Vec<TensorType> = types.collect::<Option<_>>()?;
    let given = decoded(op)?.types(&types.iter().collect::<Vec<_>>()).ok()?;
    let row = |ty: &TensorType| TypeRow {
        dtype: ty.dtype.code(),
        shape: ty.shape.iter().map(|extent| extent.map_or(-1, |e| e as i64)).collect(),
    };
    Some(given.iter().map(row).collect())
}

/// Adds a node of a known op over Vars that it accepts, some of them new constants.
fn grow(r: &mut Random, parts: &mut Parts, g: usize, pool: &Pool) {
    for _ in 0..30 {
        let Some((mut op, arity)) = r.pick(&pool.ops).cloned() else { return };
        if r.percent(35) {
            attribute(r, &mut op, pool);
        }
        let vars = parts.tables.graphs[g].vars.len();
        // Prefers late Vars.
        let some =
            |r: &mut Random| if r.percent(60) { vars.saturating_sub(1 + r.below(8)) } else { r.below(vars) };
        let mut inputs: Vec<u32> = (0..arity).map(|_| some(r) as u32).collect();
        if arity > 1 && r.percent(30) {
            let at = 1 + r.below(arity - 1);
            inputs[at] = constant(r, parts, g);
        }
        let Some(types) = outputs(&parts.tables.graphs[g], &op, &inputs) else { continue };
        let tables = &mut parts.tables;
        let graph = &mut tables.graphs[g];
        let node = graph.nodes.len() as u32;
        let first = graph.vars.len() as u32;
        for (position, mut ty) in types.into_iter().enumerate() {
            ty.shape.iter_mut().filter(|_| r.percent(15)).for_each(|extent| *extent = -1);
            graph.vars.push(VarRow { ty, name: None, kind: 3, a: node, b: position as u32 });
        }
        let outputs: Vec<u32> = (first..graph.vars.len() as u32).collect();
        if r.percent(70) {
            graph.outputs.extend(outputs.last());
        }
        graph.nodes.push(NodeRow { op: tables.ops.len() as u32, inputs, outputs });
        tables.ops.push(op);
        return;
    }
}

/// A new constant of few elements.
fn constant(r: &mut Random, parts: &mut Parts, g: usize) -> u32 {
    use DType::{Bool, F32, F64, I32, I64, U8, U64};
    let dtype = r.pick(&[I64, I64, I64, I32, F32, Bool, U8, F64, U64]).copied().unwrap_or(I64);
    let extents = [0u64, 1, 1, 2, 3, 4, 5, 6, 17];
    let shape: Vec<u64> = (0..r.below(4)).map(|_| extents[r.below(extents.len())]).collect();
    let Parts { tables, tensors } = parts;
    tensors.resize(tensors.len().next_multiple_of(64), 0);
    tables.tensors.push(TensorRow {
        dtype: dtype.code(),
        shape: shape.clone(),
        offset: tensors.len() as u64,
    });
    for _ in 0..shape.iter().product::<u64>() {
        let number = if r.percent(75) { r.below(9) as i64 - 3 } else { r.number() };
        match dtype {
            F32 => tensors.extend((number as f32 * 0.5).to_le_bytes()),
            F64 => tensors.extend((number as f64 * 0.5).to_le_bytes()),
            Bool => tensors.push(u8::from(number > 0)),
            dtype => tensors.extend(&number.to_le_bytes()[..dtype.size()]),
        }
    }
    let shape = shape.iter().map(|&extent| if r.percent(20) { -1 } else { extent as i64 }).collect();
    let vars = &mut tables.graphs[g].vars;
    let ty = TypeRow { dtype: dtype.code(), shape };
    vars.push(VarRow { ty, name: None, kind: 2, a: tables.tensors.len() as u32 - 1, b: 0 });
    vars.len() as u32 - 1
}

/// Sets the declared types of a graph to the types that its ops infer, as far as they accept their inputs.
fn retype(tables: &mut Tables, g: usize) -> Option<()> {
    for at in 0..tables.graphs[g].nodes.len() {
        let graph = &tables.graphs[g];
        let node = &graph.nodes[at];
        let types = outputs(graph, tables.ops.get(node.op as usize)?, &node.inputs)?;
        for (id, ty) in node.outputs.clone().into_iter().zip(types) {
            tables.graphs[g].vars.get_mut(id as usize)?.ty = ty;
        }
    }
    Some(())
}

/// Makes Functions and shared variables agree with their graph.
fn refit(tables: &mut Tables) {
    for function in &mut tables.functions {
        let Some(graph) = tables.graphs.get(function.graph as usize) else { continue };
        let ty = |id: &u32| graph.vars.get(*id as usize).map(|var| var.ty.clone());
        for (input, id) in function.inputs.iter_mut().zip(&graph.inputs) {
            ty(id).into_iter().for_each(|ty| input.ty = ty);
        }
        function.outputs.resize(graph.outputs.len(), None);
    }
}
