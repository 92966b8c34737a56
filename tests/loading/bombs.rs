//! Files whose tables claim far more than the file holds. Each kind once took time or memory quadratic in the
//! size of the file.

use super::tables::*;

const F32: u8 = 11;
const U8: u8 = 5;

pub(crate) const KINDS: &[&str] = &[
    "tensors",
    "overlap",
    "shared",
    "transient",
    "functions",
    "unknown functions",
    "axes",
    "many axes",
    "constants",
    "vars",
    "nodes",
    "wide",
    "wrong outputs",
    "chain",
    "join",
    "ops",
    "attributes",
    "labels",
    "numbers",
    "outputs",
    "inputs",
    "shares",
    "updates",
    "text",
    "empty tensors",
    "graphs",
    "defaults",
    "states",
    "borrowed",
];

fn ty(dtype: u8, shape: &[i64]) -> TypeRow {
    TypeRow { dtype, shape: shape.to_vec() }
}

fn op(id: &str, attributes: Vec<AttributeRow>) -> OpRow {
    OpRow { id: id.into(), version: 1, attributes }
}

fn attribute(name: &str, kind: u8, numbers: Vec<i64>, text: &str) -> AttributeRow {
    AttributeRow { name: name.into(), kind, numbers, text: text.into() }
}

fn var(ty: TypeRow, kind: u8, a: u32) -> VarRow {
    VarRow { ty, name: None, kind, a, b: 0 }
}

fn tensor(shape: &[u64], offset: usize) -> TensorRow {
    TensorRow { dtype: U8, shape: shape.to_vec(), offset: offset as u64 }
}

fn shared(id: usize, ty: TypeRow, tensor: u32) -> SharedRow {
    SharedRow { id: (0, id as u64), name: String::new(), ty, tensor }
}

fn input(ty: TypeRow) -> InputRow {
    InputRow { name: None, ty, default: None }
}

/// A Function that returns its only input.
fn function(name: &str) -> FunctionRow {
    let inputs = vec![input(ty(F32, &[-1]))];
    FunctionRow { name: name.into(), graph: 0, inputs, outputs: vec![None], shared: vec![] }
}

fn identity() -> GraphRow {
    let vars = vec![var(ty(F32, &[-1]), 0, 0)];
    GraphRow { vars, inputs: vec![0], outputs: vec![0], ..GraphRow::default() }
}

/// A chain of `count` nodes of the first op.
fn chain(count: usize) -> GraphRow {
    let mut graph = identity();
    for i in 0..count as u32 {
        graph.vars.push(var(ty(F32, &[-1]), 3, i));
        graph.nodes.push(NodeRow { op: 0, inputs: vec![i], outputs: vec![i + 1] });
    }
    graph.outputs = vec![count as u32];
    graph
}

/// A file of about `n` bytes.
pub(crate) fn bomb(kind: &str, n: usize) -> Vec<u8> {
    let mut tables =
        Tables { graphs: vec![identity()], functions: vec![function("main")], ..Tables::default() };
    let mut tensors = vec![7u8; 64];
    match kind {
        "text" => return long_text(n, &tables, &tensors),
        "states" | "borrowed" => return options(kind, n, tables),
        _ => {}
    }
    let t = &mut tables;
    let known = tensor_tables(kind, n, t, &mut tensors) || op_tables(kind, n, t) || lists(kind, n, t);
    assert!(known, "unknown kind {kind}");
    file(&bytes(&tables), &tensors)
}

/// Tensors, and what refers to them: constants, shared variables and defaults. False for other kinds.
fn tensor_tables(kind: &str, n: usize, t: &mut Tables, tensors: &mut Vec<u8>) -> bool {
    match kind {
        "tensors" => {
            *tensors = vec![7; n / 2];
            t.tensors = (0..n / 6).map(|_| tensor(&[n as u64 / 2], 0)).collect();
        }
        "overlap" => {
            *tensors = vec![7; n / 2];
            t.tensors = (0..n / 12).map(|i| tensor(&[(n / 4) as u64], i)).collect();
        }
        "shared" => {
            *tensors = vec![7; n / 2];
            t.tensors = vec![tensor(&[n as u64 / 2], 0)];
            t.shared = (0..n / 16).map(|i| shared(i, ty(U8, &[-1]), 0)).collect();
        }
        "transient" => {
            let huge = [i64::MAX >> 1, -1];
            t.shared = (0..n / 24).map(|i| shared(i, ty(U8, &huge), u32::MAX)).collect();
        }
        "axes" => {
            t.tensors = vec![tensor(&vec![1; n / 2], 0)];
            t.graphs[0].vars.extend((0..n / 12).map(|_| var(ty(U8, &[]), 2, 0)));
        }
        "constants" => {
            t.tensors = vec![tensor(&[1; 64], 0)];
            t.graphs[0].vars.extend((0..n / 6).map(|_| var(ty(U8, &[]), 2, 0)));
        }
        "shares" => {
            let count = n / 24;
            *tensors = vec![0; count];
            t.tensors = (0..count).map(|i| tensor(&[], i)).collect();
            t.shared = (0..count).map(|i| shared(i, ty(U8, &[]), i as u32)).collect();
            t.graphs[0].vars.extend((0..count).map(|i| var(ty(U8, &[]), 1, i as u32)));
            t.graphs[0].shared = (1..=count as u32).collect();
            t.functions[0].shared = (0..count as u32).collect();
        }
        "empty tensors" => t.tensors = (0..n / 4).map(|_| tensor(&[0], 0)).collect(),
        "defaults" => {
            *tensors = vec![0; n / 2];
            t.tensors = vec![TensorRow { dtype: F32, shape: vec![n as u64 / 8], offset: 0 }];
            t.functions = (0..n / 30).map(|i| function(&format!("{i:05x}"))).collect();
            t.functions.iter_mut().for_each(|f| f.inputs[0].default = Some(0));
        }
        _ => return false,
    }
    true
}

/// Ops and nodes. False for other kinds.
fn op_tables(kind: &str, n: usize, t: &mut Tables) -> bool {
    let sin = || op("elemwise", vec![attribute("op", 2, vec![], "sin")]);
    match kind {
        "unknown functions" => {
            t.ops = vec![op(&"x".repeat(n / 2), vec![])];
            t.graphs = vec![chain(n / 40)];
            t.functions = (0..n / 28).map(|i| function(&format!("{i:05x}"))).collect();
        }
        "nodes" => {
            t.ops = vec![sin()];
            t.graphs[0].nodes = vec![NodeRow { op: 0, inputs: vec![], outputs: vec![] }; n / 3];
        }
        "wide" => {
            t.ops = vec![op("join", vec![attribute("axis", 0, vec![0], "")])];
            t.graphs = vec![chain(1)];
            t.graphs[0].nodes[0].inputs = vec![0; n];
        }
        "wrong outputs" => {
            t.ops = vec![sin()];
            t.graphs = vec![chain(1)];
            t.graphs[0].vars[1].ty.shape = vec![-1; 64];
            t.graphs[0].nodes[0].outputs = vec![1; n];
        }
        "chain" => {
            t.ops = vec![sin()];
            t.graphs = vec![chain(n / 20)];
        }
        "join" => {
            t.ops = vec![op("join", vec![attribute("axis", 0, vec![0], "")])];
            t.graphs = vec![chain(n / 1040)];
            t.graphs[0].nodes.iter_mut().for_each(|node| node.inputs = vec![node.inputs[0]; 1000]);
        }
        "ops" => {
            t.ops = (0..n / 30)
                .map(|i| op("reshape", vec![attribute("extents", 1, vec![i as i64], "")]))
                .collect()
        }
        "attributes" => t.ops = vec![op("x", vec![attribute("", 2, vec![], ""); n / 4])],
        "labels" => {
            t.ops = vec![op("print", vec![attribute("label", 2, vec![], &"x".repeat(n / 2))])];
            t.graphs = vec![chain(n / 40)];
        }
        "numbers" => {
            t.ops = vec![op("reshape", vec![attribute("extents", 1, vec![1; n / 2], "")])];
            t.graphs = vec![chain(n / 40)];
        }
        _ => return false,
    }
    true
}

/// Lists of graphs and Functions. False for other kinds.
fn lists(kind: &str, n: usize, t: &mut Tables) -> bool {
    match kind {
        "functions" => t.functions = (0..n / 14).map(|i| function(&format!("{i:05x}"))).collect(),
        "many axes" => t.graphs[0].vars.extend((0..n / 70).map(|_| var(ty(F32, &[-1; 64]), 3, 0))),
        "vars" => t.graphs[0].vars.extend((0..n / 6).map(|_| var(ty(F32, &[]), 3, 0))),
        "outputs" => {
            t.graphs[0].outputs = vec![0; n / 2];
            t.functions[0].outputs = vec![None; n / 2];
        }
        "inputs" => {
            t.graphs[0].inputs = vec![0; n / 5];
            t.functions[0].inputs = vec![input(ty(F32, &[-1])); n / 5];
        }
        "updates" => t.graphs[0].updates = vec![(0, 0); n / 2],
        "graphs" => t.graphs.extend(vec![GraphRow::default(); n / 6]),
        _ => return false,
    }
    true
}

/// Tables whose number of ops is replaced by one op with an id of 1 GiB, which the file does not have.
fn long_text(n: usize, tables: &Tables, tensors: &[u8]) -> Vec<u8> {
    let mut bytes = bytes(tables);
    bytes.splice(0..1, [1, 252, 0, 0, 0, 64]);
    bytes.resize(n, b'x');
    file(&bytes, tensors)
}

/// A Function with many updates and outputs, and more call options than it has.
fn options(kind: &str, n: usize, mut tables: Tables) -> Vec<u8> {
    let count = n / 100;
    let graph = &mut tables.graphs[0];
    graph.vars.extend((0..count).map(|i| var(ty(U8, &[]), 1, i as u32)));
    graph.shared = (1..=count as u32).collect();
    graph.updates = (0..count as u32).map(|i| (i, i + 1)).collect();
    graph.outputs = vec![0; count];
    tables.tensors = (0..count).map(|i| tensor(&[], i)).collect();
    tables.shared = (0..count).map(|i| shared(i, ty(U8, &[]), i as u32)).collect();
    tables.functions[0].shared = (0..count as u32).collect();
    tables.functions[0].outputs = vec![None; count];
    let (states, borrowed) = if kind == "states" { (n / 10, 0) } else { (count, n / 8) };
    // Version 1; one Function, "main"; its one input has no options.
    let mut options = b"\x01\x01\0\0\0\x04\0\0\0main\x01\0\0\0\0".to_vec();
    options.extend((states as u32).to_le_bytes());
    for at in 0..states as u32 {
        // No name; the shared variable; lossless.
        options.push(0);
        options.extend(at.to_le_bytes());
        options.push(0);
    }
    options.extend((borrowed as u32).to_le_bytes());
    options.extend((0..borrowed as u32).flat_map(u32::to_le_bytes));
    of_sections(&[(1, &bytes(&tables)), (2, &vec![0; count]), (3, &options)])
}
