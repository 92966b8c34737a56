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
law!(equal_constants_are_one, (x = array![1f32, 2.]), (&x + 1.0).exp() * (&x + 1.0).exp() => ["add", "exp", "sqr"]);
law!(constants_fold, (x = array![1f32, 2.]), &x * (constant(2f32) + constant(3f32)).exp() => ["multiply"]);
law!(known_extents_fold, (x = array![1f32, 2.]), &x * constant(array![1f32, 2., 3.]).extent(0).cast(DType::F32) => ["multiply"]);
law!(nothing_unused_is_kept, (x = array![1f32, 2.]), { let _ = x.exp(); &x + 1.0 } => ["add"]);

// Stability.
law!(log_of_one_and_more, (x = array![1e-20f64, 2.]), (&x + 1.0).log() => ["log1p"]);
law!(log_of_one_less, (x = array![1e-20f64, 0.5]), (1.0 - &x).log() => ["negative", "log1p"]);
law!(exp_less_one, (x = array![1e-20f64, 2.]), x.exp() - 1.0 => ["expm1"]);
law!(minus_one_and_exp, (x = array![1e-20f64, 2.]), -1.0 + x.exp() => ["expm1"]);
law!(log_of_exp, (x = array![1e5f64, -2.]), x.exp().log() => []);
law!(softplus_is_found, (x = array![1e4f64, -50., 0.3]), (x.exp() + 1.0).log() => ["softplus"]);
law!(softplus_of_log1p, (x = array![1e4f64, -50., 0.3]), x.exp().log1p() => ["softplus"]);
law!(log_of_sigmoid, (x = array![1e4f64, -1e4, 0.3]), x.sigmoid().log() => ["negative", "softplus", "negative"]);
law!(log_of_one_less_sigmoid, (x = array![1e4f64, -1e4, 0.3]), (1.0 - x.sigmoid()).log() => ["softplus", "negative"]);
law!(log1p_of_minus_sigmoid, (x = array![1e4f64, -1e4, 0.3]), (-x.sigmoid()).log1p() => ["softplus", "negative"]);
law!(sigmoid_is_found, (x = array![1e4f64, -1e4, 0.3]), 1.0 / ((-&x).exp() + 1.0) => ["sigmoid"]);
law!(sigmoid_of_exp, (x = array![1e4f64, -1e4, 0.3]), x.exp() / (x.exp() + 1.0) => ["sigmoid"]);
law!(one_less_sigmoid, (x = array![50f64, -1e4, 0.3]), 1.0 - x.sigmoid() => ["negative", "sigmoid"]);
law!(one_less_erf, (x = array![6f64, -1.]), 1.0 - x.erf() => ["erfc"]);
law!(log_of_one_less_exp, (x = array![-1e-20f64, -2.]), (1.0 - x.exp()).log() => ["log1mexp"]);
law!(log_sum_exp_does_not_overflow, (x = array![[1e4f64, 1.], [-1e4, -1e4]]), x.exp().sum(1).log() =>
    ["max[1]", "absolute", "less", "where", "dimshuffle[0,x]", "subtract", "exp", "sum[1]", "log", "add"]);
law!(log_of_root, (x = array![1e-300f64, 2.]), x.sqrt().log() => ["log", "multiply"]);

// Algebra.
law!(minus_minus, (x = array![1f64, 2.]), -(-&x) => []);
law!(adding_a_negative, (x = array![1f64], y = array![2f64]), &x + -&y => ["subtract"]);
law!(taking_a_negative, (x = array![1f64], y = array![2f64]), &x - -&y => ["add"]);
law!(two_negatives, (x = array![1f64], y = array![2f64]), -&x * -&y => ["multiply"]);
law!(quotient_of_negatives, (x = array![1f64], y = array![2f64]), -&x / -&y => ["true_divide"]);
law!(times_one, (x = array![1f64, 2.]), &x * 1.0 => []);
law!(by_one, (x = array![1f64, 2.]), &x / 1.0 => []);
law!(minus_nothing, (x = array![1f64, -0.]), &x - 0.0 => []);
law!(plus_nothing, (x = array![1i64, 2]), 0i64 + &x => []);
law!(plus_zero_makes_zeros_positive, (x = array![1f64, -0.]), &x + 0.0 => ["add"]);
law!(itself_twice, (x = array![3f64, 2.]), &x * &x => ["sqr"]);
law!(to_the_second, (x = array![3f64, 2.]), x.pow(2i64) => ["sqr"]);
law!(to_the_third, (x = array![3f64, 2.]), x.pow(3i64) => ["sqr", "multiply"]);
law!(to_the_fourth, (x = array![3i64, 2]), x.pow(4i64) => ["sqr", "sqr"]);
law!(to_a_half, (x = array![3f64, 2.]), x.pow(0.5) => ["sqrt"]);
law!(to_minus_one, (x = array![3f64, 2.]), x.pow(-1.0) => ["reciprocal"]);
law!(to_nothing, (x = array![3f64, 2.]), x.pow(0.0) => ["broadcast_like"]);
law!(root_of_square, (x = array![-3f64, 2.]), x.sqr().sqrt() => ["absolute"]);
law!(magnitude_of_negative, (x = array![-3f64, 2.]), (-&x).abs() => ["absolute"]);
law!(square_of_magnitude, (x = array![-3f64, 2.]), x.abs().sqr() => ["sqr"]);
law!(choice_that_is_none, (x = array![-3f64, 2.]), where_(constant(true), &x, 1.0) => []);
law!(the_same_either_way, (c = array![true, false], x = array![-3f64, 2.]), where_(constant(array![[true]]).squeeze([0, 1]), x.maximum(&x), &x) + where_(&c, &x, 0.0) =>
    ["where", "add"]);
law!(there_and_back, (x = array![-3f32, 2.]), x.cast(DType::F64).cast(DType::F32) => []);
law!(wide_and_wider, (x = array![-3i8, 2]), x.cast(DType::I32).cast(DType::I64) => ["cast_int64"]);
law!(what_loses_digits_stays, (x = array![-3.5f64, 2.]), x.cast(DType::F32).cast(DType::F64) => ["cast_float32", "cast_float64"]);
law!(sum_of_negatives, (x = array![[1f64, 2.]]), (-&x).sum(0) => ["sum[0]", "negative"]);
law!(sum_of_sums, (x = array![[1f64, 2.], [3., 4.]]), x.sum(1).sum(0) => ["sum[0, 1]"]);
law!(gradient_rules_are_gone, (x = array![1f64]), zero_grad(consider_constant(grad_clip(&x, 0.0, 1.0))).exp() => ["exp"]);

// Layout.
law!(transposed_twice, (x = array![[1f64, 2.]]), x.t().t() => []);
law!(views_of_views, (x = array![[1f64, 2.]]), x.t().expand_dims(0) => ["dimshuffle[x,1,0]"]);
law!(reshaped_twice, (x = array![[1f64, 2., 3., 4.]]), x.reshape([4]).reshape([2, 2]).exp() => ["reshape[2, 2]", "exp"]);

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
