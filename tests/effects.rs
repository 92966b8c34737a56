//! Side effects of a Function: assertions and printed values.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use workalike::loops::Scan;
use workalike::ops::{SubGraph, set_print_hook};
use workalike::prelude::*;

fn text<T: std::fmt::Debug>(result: workalike::Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// A rule may remove the use of the checked number; the assertion is kept.
#[test]
fn rules_that_cancel_a_number_keep_its_assertion() {
    let (x, y) = (scalar::<f64>("x"), tensor::<f64>("y", [Some(3), Some(2)]));
    let checked = x.assert(x.greater(0.0), "x is positive");
    let zeros =
        constant(array![[0f64, 0., 0.], [0., 0., 0.]]).dot(y.assert(y.sum(..).greater(0.0), "y is positive"));
    let y_bad = array![[-1f64, 0.], [0., 0.], [0., 0.]];
    for (expression, message) in [
        (&checked - &checked, "x is positive"),
        (&checked / &checked, "x is positive"),
        (zeros, "y is positive"),
    ] {
        let f = function([&x, &y]).output(&expression).allow_unused_inputs().compile().unwrap();
        let given = || args![-1f64, y_bad.clone()];
        let mut simulator = f.optimize(Host::auto()).unwrap();
        for error in [text(f.call(given())), text(f.call_reference(given())), text(simulator.call(given()))] {
            assert!(error.contains(message), "{error}");
        }
    }
}

#[test]
fn an_assertion_passes_or_fails_with_its_message() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.assert(x.greater(0.0), "x is positive") * 2.0).compile().unwrap();
    let f = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap())
        .unwrap()
        .get("f")
        .unwrap()
        .clone();
    let mut simulator = f.optimize(Host::auto().strict()).unwrap();
    for _ in 0..2 {
        assert_eq!(f.call(args![vec![1f32, 2.]]).unwrap()[0].to_vec::<f32>().unwrap(), [2., 4.]);
        assert_eq!(f.call(args![Vec::<f32>::new()]).unwrap()[0].to_vec::<f32>().unwrap(), []);
        for bad in [vec![1f32, 0.], vec![f32::NAN], vec![-1f32; 1000]] {
            let errors = [
                text(f.call(args![bad.clone()])),
                text(f.call_reference(args![bad.clone()])),
                text(simulator.call(args![bad.clone()])),
                text(simulator.run_n(3, args![bad])),
            ];
            for error in errors {
                assert!(error.contains("assert (node #") && error.contains("x is positive"), "{error}");
            }
        }
    }
}

#[test]
fn a_condition_is_a_number_or_many() {
    let (x, n) = (vector::<f64>("x"), scalar::<i64>("n"));
    let f = function([&x, &n]).output(x.assert(&n, "n is not 0").sum(..)).compile().unwrap();
    assert_eq!(f.call(args![vec![1.0, 2.0], -3i64]).unwrap()[0].item::<f64>().unwrap(), 3.0);
    assert!(text(f.call(args![vec![1.0], 0i64])).contains("n is not 0"));
    let f = function([&x]).output(x.assert(x.extent(0).less(3i64), "at most two")).compile().unwrap();
    assert!(text(f.call(args![vec![1.0; 3]])).contains("at most two"));
    assert!(f.call(args![vec![1.0; 2]]).is_ok());
}

#[test]
fn known_conditions_are_simplified() {
    let x = vector::<f32>("x");
    let error = x.try_assert(constant(array![[true, true], [true, false]]), "never").unwrap_err().to_string();
    assert!(error.contains("never") && error.contains("(1, 1)") && error.contains("effects.rs"), "{error}");
    let f = function([&x]).output(x.assert(constant(true), "always").exp()).compile().unwrap();
    assert_eq!(f.graph().nodes.len(), 1);
    // The condition becomes a constant only in a pass.
    let known = Variable::input("known", TensorType::fixed(DType::F32, &[3]));
    let three = known.exp().index(workalike::idx![1..]).reshape([-1]);
    let f = function([&known]).output(three.assert(three.extent(0).equal(2i64), "two")).compile().unwrap();
    assert!(f.graph().nodes.iter().all(|n| n.op.label() != "assert"), "{f:?}");
}

#[test]
fn an_assertion_holds_though_only_a_shape_is_read() {
    let x = vector::<f32>("x");
    let f = function([&x]).output(zeros_like(x.assert(x.greater(0.0), "positive"))).compile().unwrap();
    assert!(f.call(args![vec![1f32]]).is_ok());
    assert!(text(f.call(args![vec![-1f32]])).contains("positive"));
    assert!(text(f.call_reference(args![vec![-1f32]])).contains("positive"));
}

#[test]
fn a_gradient_passes_both() {
    let x = vector::<f64>("x");
    let y = x.assert(x.greater(0.0), "positive").print("gradient").sqr().sum(..);
    let g = grad(&y, [&x]).unwrap();
    let f = function([&x]).output(&g[0]).compile().unwrap();
    assert_eq!(f.call(args![vec![3.0]]).unwrap()[0].to_vec::<f64>().unwrap(), [6.0]);
    assert!(text(f.call(args![vec![-3.0]])).contains("positive"));
}

/// A value that leads to the number of iterations of a loop; `taken` is what was printed.
fn is_printed_once_if_a_loop_decides(taken: &dyn Fn() -> Vec<String>) {
    let n = scalar::<i64>("n");
    let limit = n.print("n");
    let doubled = Scan::new().steps(20).recurrent(constant(1i64)).run_until(|v| {
        let next = &v[0] * 2i64;
        (vec![next.clone()], next.greater(&limit))
    });
    let l = function([&n]).output(doubled.history(0)).compile().unwrap();
    let mut simulator = l.optimize(Host::auto()).unwrap();
    for result in [l.call(args![5i64]).unwrap(), simulator.call(args![5i64]).unwrap()] {
        assert_eq!(result[0].to_vec::<i64>().unwrap(), [2, 4, 8]);
    }
    assert_eq!(taken(), ["n int64()[5]"; 2]);
}

/// One test, because the hook is global to the process.
#[test]
fn values_are_printed_at_each_call() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = seen.clone();
    let hook = move |label: &str, value: &Value| {
        if label != "gradient" {
            sink.lock().unwrap().push(format!("{label} {value:?}"));
        }
    };
    set_print_hook(Some(Arc::new(hook)));
    let taken = || std::mem::take(&mut *seen.lock().unwrap());
    let (x, total) = (matrix::<f32>("x"), shared("total", 1f32));
    let y = x.print("x").t().print("x.T");
    let f = function([&x])
        .output(y.exp().sum(0))
        .update(&total, &total + total.print("total"))
        .compile()
        .unwrap();
    let f = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap())
        .unwrap()
        .get("f")
        .unwrap()
        .clone();
    assert!(taken().is_empty(), "compile prints nothing");
    let value = Value::from_vec(&[1, 2], vec![1f32, 2.0]).unwrap();
    let mut simulator = f.optimize(Host::auto().strict()).unwrap();
    for call in 0..2 {
        simulator.call(args![&value]).unwrap();
        let told = [
            "x float32(1, 2)[1.0, 2.0]".to_string(),
            "x.T float32(2, 1)[1.0, 2.0]".into(),
            format!("total float32()[{}.0]", 1 << call),
        ];
        let mut got = taken();
        got.sort();
        let mut want = told.to_vec();
        want.sort();
        assert_eq!(got, want);
    }
    simulator.run_n(3, args![&value]).unwrap();
    assert_eq!(
        taken().iter().filter(|t| t.starts_with("total")).collect::<Vec<_>>(),
        ["total float32()[4.0]", "total float32()[8.0]", "total float32()[16.0]"]
    );
    assert_eq!(simulator.get_value("total").unwrap().item::<f32>().unwrap(), 32.0);
    f.call_reference(args![&value]).unwrap();
    assert_eq!(taken().len(), 3);
    // Constants, values that determine shapes, values whose shape alone is read, and unused values.
    let n = scalar::<i64>("n");
    let g = function([&n]).output(arange(n.print("n")) + constant(1i64).print("one")).compile().unwrap();
    assert_eq!(g.call(args![2i64]).unwrap()[0].to_vec::<i64>().unwrap(), [1, 2]);
    let mut got = taken();
    got.sort();
    assert_eq!(got, ["n int64()[2]", "one int64()[1]"]);
    let h = function([&x]).output(zeros_like(x.print("x"))).compile().unwrap();
    h.call(args![Value::zeros(DType::F32, &[0, 2]).unwrap()]).unwrap();
    assert_eq!(taken(), ["x float32(0, 2)[]"]);
    is_printed_once_if_a_loop_decides(&taken);
    set_print_hook(None);
}

fn row(x: &Variable, y: &Variable) -> [Variable; 2] {
    [(x * y).exp(), x - y]
}

#[test]
fn an_op_from_a_graph_equals_its_body() {
    let (x, y, w) = (vector::<f64>("x"), vector::<f64>("y"), shared("w", 3f64));
    let [p, q] = row(&x, &y);
    let op = OpFromGraph::new([&x, &y], [p, q * &w]).unwrap().named("row");
    let (a, b) = (vector::<f64>("a"), vector::<f64>("b"));
    for op in [op.clone(), op.inline(true)] {
        let [p, q] = &op.apply([&a.exp(), &b])[..] else { panic!("two outputs") };
        // Twice, and nested.
        let [r, s] = &op.apply([q, p])[..] else { panic!("two outputs") };
        let cost = (r + s).tanh().sum(..);
        let [p2, q2] = row(&a.exp(), &b);
        let q2 = q2 * &w;
        let [r2, s2] = row(&q2, &p2);
        let plain = (r2 + s2 * &w).tanh().sum(..);
        let outputs = |cost: &Variable| {
            let mut all = grad(cost, [a.clone(), b.clone(), (*w).clone()]).unwrap();
            all.push(hvp(cost, [&a], [&b]).unwrap().swap_remove(0));
            all.push(cost.clone());
            function([&a, &b]).outputs(all).compile().unwrap()
        };
        let (f, g) = (outputs(&cost), outputs(&plain));
        assert!(f.graph().nodes.iter().all(|n| n.op.id() != "op_from_graph"));
        let f = Bundle::from_bytes(&Bundle::new().with("f", &f).to_bytes().unwrap())
            .unwrap()
            .get("f")
            .unwrap()
            .clone();
        let args = || args![vec![-0.5, -1.0], vec![0.2, 0.3]];
        let (got, want) = (f.call(args()).unwrap(), g.call(args()).unwrap());
        for ((_, got), (_, want)) in got.iter().zip(want.iter()) {
            for (a, b) in got.to_f64s().iter().zip(want.to_f64s()) {
                assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-3), "{a} {b}");
            }
        }
    }
}

#[test]
fn an_op_from_a_graph_checks_its_inputs() {
    let (x, y) = (vector::<f32>("x"), vector::<f32>("y"));
    assert!(text(OpFromGraph::new([&x], [&x + &y])).contains('y'));
    assert!(text(OpFromGraph::new([x.exp()], [&x + 1.0])).contains("no input Variable"));
    assert!(text(OpFromGraph::new([&x, &x], [&x + 1.0])).contains("twice"));
    let op = OpFromGraph::new([&x, &y], [&x + &y]).unwrap().named("sum");
    assert!(text(op.try_apply([&x])).contains("2 inputs"));
    assert!(text(op.try_apply([&x, &matrix::<f32>("m")])).contains("sum"));
    assert!(text(op.try_apply([&x, &vector::<f64>("d")])).contains("float64"));
    assert!(text(op.clone().grad(|_, g| vec![Some(g[0].clone())])).contains("1 gradients for 2"));
    assert!(text(op.clone().grad(|_, g| vec![Some(g[0].sum(..)), None])).contains("float32()"));
    let z = vector::<f32>("z");
    assert!(text(op.grad(|_, g| vec![Some(&g[0] * &z), None])).contains('z'));
}

/// An input of static extent 1 broadcasts, and its gradient is summed.
#[test]
fn an_op_from_a_graph_uses_static_extents() {
    let (x, y) = (vector::<f64>("x"), vector::<f64>("y"));
    let doubled = OpFromGraph::new([&x, &y], [&x * &y])
        .unwrap()
        .grad(|inputs, g| vec![Some(&g[0] * &inputs[1] * 2.0), Some(&g[0] * &inputs[0])])
        .unwrap();
    let plain = OpFromGraph::new([&x, &y], [&x * &y]).unwrap();
    let one = Variable::input("one", TensorType::fixed(DType::F64, &[1]));
    let product = &plain.apply([&one, &y])[0];
    let g = grad(product.sum(..), [&one]).unwrap();
    let f = function([&one, &y]).output(product).output(&g[0]).compile().unwrap();
    let got = f.call(args![vec![2.0], vec![3.0, 4.0]]).unwrap();
    assert_eq!(got[0].to_vec::<f64>().unwrap(), [6.0, 8.0]);
    assert_eq!(got[1].to_vec::<f64>().unwrap(), [7.0]);
    let three = Variable::input("three", TensorType::fixed(DType::F64, &[3]));
    let product = &doubled.apply([&three, &three.exp()])[0];
    assert_eq!(product.ty(), three.ty());
    let g = grad(product.sum(..), [&three]).unwrap();
    let f = function([&three]).output(&g[0]).compile().unwrap();
    // Twice exp(x), and x exp(x) from the other input.
    assert_eq!(f.call(args![vec![0.0; 3]]).unwrap()[0].to_vec::<f64>().unwrap(), [2.0; 3]);
    let call = product.owner().unwrap().0;
    assert!(call.op.downcast::<SubGraph>().is_some());
}

#[test]
fn a_random_stream_in_a_body_moves_on() {
    let x = vector::<f64>("x");
    let streams = RandomStreams::new(7);
    let noise = streams.uniform::<f64>([2]);
    let op = OpFromGraph::new([&x], [&x + &noise]).unwrap();
    let f = function([&x]).output(&op.apply([&x])[0]).compile().unwrap();
    let draw = || f.call(args![vec![0.0; 2]]).unwrap()[0].to_vec::<f64>().unwrap();
    assert_ne!(draw(), draw());
}
