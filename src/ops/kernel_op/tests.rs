//! An op with kernels comes back from its attributes, and attributes that contradict each other are refused.

use super::*;
use crate::graph::{scalar, vector};
use crate::op::{Attr, AttrGraph, Attributes, Op};
use crate::ops::registry::Registry;
use crate::ops::stored_op::StoredOp;

/// An op with everything that attributes hold.
fn op() -> KernelOp {
    let (x, k, part) = (vector::<f32>("x"), scalar::<i64>("k"), vector::<f32>("part"));
    let (y, z) = (&x * 2.0, x.sum(0) + &k);
    let text = "KERNEL void first(GLOBAL_MEM const f32 *x, GLOBAL_MEM type_p *part, LOCAL_MEM_ARG f32 *t, u32 n) {}
                KERNEL void second(GLOBAL_MEM const f32 *part, GLOBAL_MEM f32 *y, GLOBAL_MEM f64 *z, f32 by) {}";
    let source = KernelSource::new(
        workalike_kernels::custom::Language::Dialect,
        text,
        &[("p", workalike_kernels::DType::F32)],
    )
    .unwrap();
    let source = source.constant("table", &[0.1f32, -0.0]).unwrap().constant("odd", &[i64::MIN]).unwrap();
    let n = x.extent(0);
    KernelOp::new("all", source, [&x, &k], [&y, &z])
        .unwrap()
        .shape(&y, [&(&n + 0)])
        .unwrap()
        .scratch(&part, [&n])
        .unwrap()
        .launch("first", Grid::items([&n]), (&x, &part, Local(64), &n))
        .unwrap()
        .launch("second", Grid::groups([&n, &n], [8, 4]), (&part, &y, &z, 0.5))
        .unwrap()
        .grad(|_, _, g| vec![Some(&g[0] * 2.0), None])
        .unwrap()
}

fn attributes_of(op: &KernelOp) -> Attributes {
    serialization::attributes(&op.body)
}

fn decoded(attributes: &Attributes, allowed: bool) -> Result<Arc<dyn Op>, String> {
    Registry::default().with_kernels(allowed).decode(&StoredOp::new("kernel", 1, attributes))
}

#[test]
fn it_comes_back_from_its_attributes() {
    let attributes = attributes_of(&op());
    let names: Vec<&str> = attributes.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "name",
        "reference",
        "shape0",
        "gradient",
        "gradient_of",
        "language0",
        "source0",
        "types0",
        "constants0",
        "sizes",
        "scratch0",
        "kernel0",
        "launch0",
        "kernel1",
        "launch1",
    ];
    assert_eq!(names, expected);
    for allowed in [false, true] {
        let back = decoded(&attributes, allowed).unwrap();
        assert_eq!((back.attributes(), back.label()), (attributes.clone(), "all".into()));
        assert!(format!("{back:?}").contains(&format!("allowed: {allowed}")));
    }
    let (x, y) = (vector::<f32>("x"), vector::<f32>("x").named("y"));
    let elementwise = KernelOp::elementwise("e", [&x], [(&x + 1.0).named("y")], "y = x + 1").unwrap();
    let attributes = attributes_of(&elementwise);
    assert_eq!(decoded(&attributes, false).unwrap().attributes(), attributes);
    assert!(y.name().is_some());
}

#[test]
fn contradictions_are_refused() {
    let good = attributes_of(&op());
    let refused = |name: &str, attr: Attr, words: &str| {
        let mut bad = good.clone();
        bad.iter_mut().find(|(known, _)| known == name).unwrap().1 = attr;
        let error = decoded(&bad, true).err().unwrap_or_default();
        assert!(error.contains(words), "{name}: {error}");
    };
    let graph = |name: &str| good.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let ints = |list: &[i64]| Attr::Ints(list.to_vec());
    refused("name", Attr::Int(1), "expected text");
    refused("reference", Attr::Text("x".into()), "expected a graph");
    refused("reference", graph("sizes"), "other inputs");
    refused("shape0", graph("reference"), "does not give 1 integers");
    refused("gradient", graph("reference"), "other inputs");
    refused("gradient_of", ints(&[5]), "input 5");
    refused("gradient_of", ints(&[0, 1]), "another number");
    refused("gradient_of", ints(&[-1]), "gradient_of");
    refused("language0", Attr::Text("fortran".into()), "unknown language fortran");
    refused("source0", Attr::Text("int main() {}".into()), "expected a kernel");
    refused("types0", Attr::Text("p".into()), "without a dtype");
    refused("types0", Attr::Text("p:float99".into()), "unknown dtype float99");
    refused("constants0", Attr::Text("a:float32".into()), "damaged");
    refused("constants0", Attr::Text("a:float32:zz".into()), "constant a");
    refused("constants0", Attr::Text("a:float32:7f800000".into()), "finite");
    refused("constants0", Attr::Text("a-b:float32:0".into()), "a name of C");
    refused("sizes", graph("shape0"), "other inputs");
    refused("scratch0", ints(&[]), "without a dtype");
    refused("scratch0", ints(&[1000, 0]), "unknown dtype");
    refused("scratch0", ints(&[7, 99]), "does not exist");
    refused("launch0", ints(&[0, 0, 0]), "damaged");
    refused("launch0", ints(&[9, 0, 0, 0, 0, 0, 0]), "damaged");
    refused("launch0", ints(&[0, 99, 0, 0, 0, 0, 0]), "does not exist");
    refused("launch0", ints(&[0, 0, 0, 0, 0, 0, 0, 0, 7]), "does not exist");
    refused("launch0", ints(&[0, 0, 0, 0, 0, 0, 0, 9, 0]), "damaged");
    refused("launch1", ints(&[1, 0, 0, 0, i64::MAX, 1, 1]), "damaged");
    // Extents and sizes have no kernels, whose own extents would be asked for.
    let x = vector::<f32>("x");
    let inner = op();
    let count = inner.apply([&x, &scalar::<i64>("k")]);
    assert!(inner.shape(&count[0], [&count[0].extent(0)]).is_err());
    // Sizes must not depend on values.
    let (x, k) = (vector::<f32>("x"), scalar::<i64>("k"));
    let (y, z) = (vector::<f32>("y"), scalar::<f64>("z"));
    let (by_value, _) = FunctionGraph::import(&[x, k.clone(), y, z], &vec![k; 8], &[]).unwrap();
    refused("sizes", Attr::Graph(AttrGraph(Arc::new(by_value))), "value of k");
}
