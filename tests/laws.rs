//! Laws of the portable passes: one line each, checked for equal graph and for equal value.

#![allow(clippy::unwrap_used)]

use workalike::graph::FunctionGraph;
use workalike::prelude::*;
use workalike::rewrite::{PASSES, rewrite};

/// Labels of the nodes that are left.
fn ops(graph: &FunctionGraph) -> Vec<String> {
    graph.nodes.iter().map(|n| n.op.label()).collect()
}

/// `law!(name, (inputs), expression => ["ops", "left"])`: the expression, compiled, has these nodes in this order, and every pass
/// keeps graph and value.
macro_rules! law {
    ($name:ident, ($($x:ident = $value:expr),*), $expression:expr => $left:expr) => {
        #[test]
        fn $name() {
            $(let $x = Variable::input(stringify!($x), {
                let value = Value::from($value);
                TensorType::of_rank(value.dtype(), value.ndim())
            });)*
            let expression: Variable = $expression;
            let inputs = [$(&$x),*];
            let plain: Vec<Variable> = inputs.iter().map(|v| (*v).clone()).collect();
            let (mut graph, _) = FunctionGraph::import(&plain, std::slice::from_ref(&expression), &[]).unwrap();
            for (_, pass) in PASSES {
                graph = pass(&graph).unwrap();
                workalike::graph::verify(&graph).unwrap();
            }
            assert_eq!(ops(&graph), $left as [&str; _]);
            assert_eq!(ops(&rewrite(graph).unwrap()), $left as [&str; _], "the passes find nothing more the second time");
            let f = function(inputs).output(&expression).allow_unused_inputs().compile().unwrap();
            let args = || args![$($value),*];
            let (fast, plain) = (f.call(args()).unwrap(), f.call_reference(args()).unwrap());
            for (a, b) in fast[0].to_f64s().iter().zip(plain[0].to_f64s()) {
                assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0) || (a.is_nan() && b.is_nan()), "{a} {b}");
            }
        }
    };
}

law!(log_of_softmax_is_log_softmax, (x = array![[1f32, 2.], [3., 5.]]), softmax(&x, 1).log() => ["log_softmax[1]"]);
law!(softmax_stays_where_it_is_used_twice, (x = array![[1f32, 2.]]), softmax(&x, 1).log() + softmax(&x, 1)
    => ["softmax[1]", "log_softmax[1]", "add"]);
law!(equal_expressions_are_computed_once, (x = array![1f32, 2.]), x.exp() + x.exp() => ["exp", "add"]);
law!(equal_constants_are_one, (x = array![1f32, 2.]), (&x + 1.0).exp() * (&x + 1.0).exp() => ["add", "exp", "multiply"]);
law!(constants_fold, (x = array![1f32, 2.]), &x * (constant(2f32) + constant(3f32)).exp() => ["multiply"]);
law!(known_extents_fold, (x = array![1f32, 2.]), &x * constant(array![1f32, 2., 3.]).extent(0).cast(DType::F32) => ["multiply"]);
law!(nothing_unused_is_kept, (x = array![1f32, 2.]), { let _ = x.exp(); &x + 1.0 } => ["add"]);

#[test]
fn a_large_broadcast_is_not_folded() {
    let x = vector::<f32>("x");
    let big = constant(1f32).broadcast_to([1 << 20]);
    let f = function([&x]).output(&x + &big).compile().unwrap();
    assert!(f.graph().nodes.iter().any(|n| n.op.label().starts_with("broadcast")));
}

/// Build, differentiate, rewrite, save and load 100,000 nodes: no pass recurses, none is quadratic.
#[test]
fn a_graph_of_a_hundred_thousand_nodes_is_ordinary() {
    let x = vector::<f32>("x");
    let mut y = x.clone();
    for i in 0..25_000 {
        y = (&y * (1.0 + f64::from(i) * 1e-9)).maximum(&x);
    }
    let cost = y.sum(..);
    let g = grad(&cost, [&x]).unwrap();
    let f = function([&x]).output(&cost).output(&g[0]).compile().unwrap();
    assert!(f.graph().nodes.len() > 100_000, "{}", f.graph().nodes.len());
    let bytes = Bundle::new().with("f", &f).to_bytes().unwrap();
    let back = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(back["f"].graph().nodes.len(), f.graph().nodes.len());
}
