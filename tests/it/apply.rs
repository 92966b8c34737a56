//! Functions in expressions: loaded Functions are composed, differentiated, trained and compiled again.

use workalike::Result;
use workalike::ops::{concatenate, grad_scale};
use workalike::prelude::*;

/// Saves and loads the Function, as another process would.
fn reloaded(f: &Function) -> Function {
    Bundle::from_bytes(&Bundle::new().with("f", f).to_bytes().unwrap()).unwrap()["f"].clone()
}

fn close(a: &Value, b: &Value, slack: f64) {
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
    for (a, b) in a.to_f64s().into_iter().zip(b.to_f64s()) {
        assert!((a - b).abs() <= slack * (1.0 + b.abs()), "{a} is not {b}");
    }
}

fn weights() -> (SharedVariable, SharedVariable) {
    let w = Array2::from_shape_fn((4, 3), |(i, j)| ((3 * i + j) as f64).sin() * 0.5);
    (shared("w", w), shared("b", vec![0.1, -0.2, 0.3]))
}

fn digits() -> (Array2<f64>, Vec<i64>) {
    let x = Array2::from_shape_fn((8, 4), |(i, j)| ((7 * i + 5 * j) as f64).cos());
    (x, (0..8).map(|i| i % 3).collect())
}

#[test]
fn a_loaded_classifier_is_trained_further() {
    let ((w, b), (xs, ys)) = (weights(), digits());
    let x = matrix::<f64>("x");
    let predict = function([&x]).output_named("p", softmax(x.dot(&w) + &b, -1)).compile().unwrap();
    let loaded = reloaded(&predict);

    let train = |p: &Variable, x: &Variable, w: &SharedVariable, b: &SharedVariable| -> Result<Function> {
        let y = vector::<i64>("y");
        let cost = categorical_crossentropy(p, &y).mean(..);
        let g = grad(&cost, [w, b])?;
        function([x, &y]).output(&cost).updates([(w, &**w - 0.5 * &g[0]), (b, &**b - 0.5 * &g[1])]).compile()
    };
    let written = train(&softmax(x.dot(&w) + &b, -1), &x, &w, &b).unwrap();
    let x2 = matrix::<f64>("x");
    let (w2, b2) = (loaded.shared("w").unwrap(), loaded.shared("b").unwrap());
    let again = train(&loaded.apply([&x2]).unwrap()[0], &x2, &w2, &b2).unwrap();

    let mut costs = vec![];
    for _ in 0..50 {
        let one = written.call(args![&xs, ys.clone()]).unwrap();
        let other = again.call(args![&xs, ys.clone()]).unwrap();
        close(&other[0], &one[0], 1e-12);
        costs.push(other[0].item::<f64>().unwrap());
    }
    assert!(costs[49] < costs[0] - 0.1, "{costs:?}");
    close(&w2.get_value().unwrap(), &w.get_value().unwrap(), 1e-11);
    // The loaded Function sees the trained weights, also after another save and load.
    let p = predict.call(args![&xs]).unwrap();
    close(&loaded.call(args![&xs]).unwrap()["p"], &p[0], 1e-11);
    let saved = reloaded(&again);
    let mut sim = saved.optimize(Host::auto()).unwrap();
    close(
        &sim.call(args![&xs, ys.clone()]).unwrap()[0],
        &written.call(args![&xs, ys.clone()]).unwrap()[0],
        1e-11,
    );
}

#[test]
fn loaded_functions_are_composed() {
    let (x, scale) = (vector::<f64>("x"), shared("scale", 3.0));
    let f = reloaded(&function([&x]).output(x.tanh() * &scale).compile().unwrap());
    let (h, shift) = (vector::<f64>("h"), scalar::<f64>("shift"));
    let g = function((&h, In::new(&shift).default(1.0))).output_named("sum", (&h + &shift).sum(..));
    let g = reloaded(&g.compile().unwrap());

    let y = vector::<f64>("y");
    let through = &g.apply(f.apply([&y]).unwrap()).unwrap()[0];
    let both = function([&y]).output(through).compile().unwrap();
    let want: f64 = [0.5f64, -2.0].iter().map(|x| x.tanh() * 3.0 + 1.0).sum();
    close(&both.call(args![vec![0.5, -2.0]]).unwrap()[0], &Value::from(want), 1e-12);
    // The same Function twice, over one state, saved and loaded again.
    let twice = (&f.apply([&y]).unwrap()[0], &f.apply([&(&y * 2.0)]).unwrap()[0]);
    let difference = reloaded(&function([&y]).output(twice.1 - twice.0).compile().unwrap());
    assert_eq!(difference.cells().len(), 1);
    let want = vec![3.0 * (1f64.tanh() - 0.5f64.tanh())];
    close(&difference.call(args![vec![0.5]]).unwrap()[0], &Value::from(want), 1e-12);
}

#[test]
fn inputs_are_constants_defaults_and_names() {
    let (x, a, b) = (vector::<f64>("x"), scalar::<f64>("a"), scalar::<f64>("b"));
    let f = function((&x, In::new(&a).default(10.0), In::new(&b).default(100.0)));
    let f = reloaded(&f.output(&x * &a + &b).compile().unwrap());
    let y = vector::<f64>("y");
    let value = |given: Result<Vec<Variable>>| {
        let made = function([&y]).output(&given.unwrap()[0]).allow_unused_inputs().compile().unwrap();
        reloaded(&made).call(args![vec![1.0, 2.0]]).unwrap()[0].to_vec::<f64>().unwrap()
    };
    assert_eq!(value(f.apply([&y])), [110.0, 120.0]);
    assert_eq!(value(f.apply((&y, constant(2.0)))), [102.0, 104.0]);
    assert_eq!(value(f.apply([("x", &y), ("b", &constant(0i64))])), [10.0, 20.0]);
    assert_eq!(value(f.apply((&y, ("b", shared("mine", 5.0))))), [15.0, 25.0]);
    assert_eq!(value(f.apply([constant(vec![7.0])])), [170.0]);
    // Dtypes are converted if nothing is lost, as in a call.
    assert_eq!(value(f.apply([&y.cast(DType::F32)])), [110.0, 120.0]);
}

#[test]
fn refused_arguments_name_the_line() {
    let (x, n) = (tensor::<f32>("x", [None, Some(3)]), scalar::<i64>("n"));
    let f = function([&x, &n]).name("net").output(&x * n.cast(DType::F32)).compile().unwrap();
    let two = scalar::<i64>("two");
    let cases: [(Result<Vec<Variable>>, u32, &str); 8] = [
        (f.apply([&matrix::<f32>("m")]), line!(), "input n (int64()) is missing"),
        (f.apply((&vector::<f32>("v"), &two)), line!(), "input x: expected float32(?, 3), got float32(?,)"),
        (f.apply((&tensor::<f32>("t", [None, Some(4)]), &two)), line!(), "input x: expected"),
        (f.apply((&matrix::<f64>("d"), &two)), line!(), "convert it first"),
        (f.apply((&matrix::<f32>("m"), &two, &two)), line!(), "takes 2 inputs"),
        (f.apply((&matrix::<f32>("m"), ("x", &matrix::<f32>("m")))), line!(), "input x is given twice"),
        (f.apply([("y", &two)]), line!(), "no input y; its inputs are x, n"),
        (f.apply((&matrix::<f32>("m").sum(5), &two)), line!(), "sum"),
    ];
    for (outcome, line, part) in cases {
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
        assert!(text.contains(&format!("tests/it/apply.rs:{line}:")), "{text}, line {line}");
    }
    // Declared extents are checked at each call, unless they are static.
    let m = matrix::<f32>("m");
    let g = function([&m]).output(&f.apply((&m, constant(2i64))).unwrap()[0]).compile().unwrap();
    assert_eq!(g.call(args![Array2::<f32>::ones((2, 3))]).unwrap()[0].shape(), [2, 3]);
    assert!(g.call(args![Array2::<f32>::ones((2, 4))]).is_err());
}

/// Scalar expressions of a vector and a matrix.
fn costs(x: &Variable, m: &Variable) -> Vec<Variable> {
    let rows = x.index(idx![constant(vec![2i64, 0, 0])]);
    vec![
        (x.exp().sum(..)).log() + m.sum(..),
        softmax(x, -1).log().index(idx![1]) * m.max(..),
        log_softmax(m.dot(x), 0).index(idx![0]),
        (1.0 + x.exp()).log().sum(..) * (m.t().dot(m)).sum(..),
        (x.sigmoid().log() - (-x).tanh()).sum(..) + m.sqr().mean(..),
        where_(x.greater(0.3), x.sqr(), x.abs()).sum(..) + m.var(0).sum(..),
        (rows * 2.0).prod(..) + m.index(idx![1, ..]).dot(x),
        x.sort(0).index(idx![0]) * x.cumsum(0).sum(..) + einsum("ij,j->i", &[m.clone(), x.clone()]).sum(..),
        concatenate(&[x.clone(), m.reshape([-1])], 0).sqr().sum(..).sqrt(),
        (consider_constant(x.exp()) * x).sum(..)
            + (zero_grad(x) * grad_clip(m.dot(x).sqr(), -0.5, 0.25).sum(..)).sum(..),
        grad_scale(softmax(x, -1), -3.0).index(idx![1]) * m.max(..),
        m.set_index(idx![0], x).sqr().sum(..) + m.inc_index(idx![.., 1], 1.0).log().sum(..),
    ]
}

#[test]
fn gradients_through_a_loaded_function_equal_those_of_the_source() {
    let (xs, ms) = (vec![0.2, -0.7, 0.9], Array2::from_shape_fn((4, 3), |(i, j)| 0.5 + (i * 3 + j) as f64));
    let (x, m) = (vector::<f64>("x"), matrix::<f64>("m"));
    for (number, cost) in costs(&x, &m).into_iter().enumerate() {
        let loaded = reloaded(&function([&x, &m]).output(&cost).compile().unwrap());
        let inner = &loaded.apply([&x, &m]).unwrap()[0];
        let (written, through) = (grad(&cost, [&x, &m]).unwrap(), grad(inner, [&x, &m]).unwrap());
        let f = function([&x, &m]).outputs(written).outputs(through).compile().unwrap();
        let outputs = f.call(args![xs.clone(), &ms]).unwrap();
        for at in 0..2 {
            println!("cost {number}, gradient {at}");
            close(&outputs[2 + at], &outputs[at], 1e-10);
        }
    }
}

#[test]
fn ops_without_a_gradient_are_an_error() {
    let (x, order) = (scalar::<f64>("x"), scalar::<f64>("order"));
    let f = reloaded(&function([&x, &order]).output(polygamma(&order, &x)).compile().unwrap());
    let inner = f.apply([&x, &order]).unwrap();
    let error = grad(&inner[0], [&order]).unwrap_err().to_string();
    assert!(error.contains("no formula for the gradient"), "{error}");
    let rounded = reloaded(&function([&x]).output(x.floor()).compile().unwrap());
    assert!(
        grad(&rounded.apply([&x]).unwrap()[0], [&x]).is_ok_and(|g| g.len() == 1) || {
            // The output does not depend on it smoothly.
            grad(&rounded.apply([&x]).unwrap()[0], [&x]).unwrap_err().to_string().contains("smoothly")
        }
    );
}

#[test]
fn updates_come_along_when_asked_for() {
    let (total, x) = (shared("total", 0i64), scalar::<i64>("x"));
    let draw = RandomStreams::new(3).uniform::<f64>([4]);
    let f = function([&x]).output_named("draw", &draw).output_named("was", &total);
    let f = reloaded(&f.update(&total, &total + &x).compile().unwrap());
    let y = scalar::<i64>("y");
    let still = function([&y]).outputs(f.apply([&y]).unwrap()).allow_unused_inputs().compile().unwrap();
    let first = still.call(args![3i64]).unwrap();
    assert_eq!(first[0], still.call(args![3i64]).unwrap()[0]);
    assert_eq!(first[1].item::<i64>().unwrap(), 0);

    let applied = f.apply_with_updates([&(&y * 10i64)]).unwrap();
    assert!(applied.get("nothing").is_none() && applied.updates.len() == 2);
    let moving = function([&y]).output(&applied["draw"]).output(&applied[1]).updates(applied.updates);
    let moving = moving.compile().unwrap();
    assert_eq!(moving.call(args![2i64]).unwrap()[0], first[0]);
    assert_ne!(moving.call(args![2i64]).unwrap()[0], first[0]);
    assert_eq!(f.shared("total").unwrap().get_value().unwrap().item::<i64>().unwrap(), 40);
}

#[test]
fn long_graphs_are_applied_without_recursion() {
    let x = scalar::<f64>("x");
    let long = (0..50_000).fold(x.clone(), |y, _| (y.sin() * 1.001).tanh());
    let f = reloaded(&function([&x]).output(&long).compile().unwrap());
    assert!(f.graph().nodes.len() > 99_999);
    let y = scalar::<f64>("y");
    let applied = f.apply([&y]).unwrap();
    let g = grad(&applied[0], [&y]).unwrap();
    assert_eq!(g[0].dtype(), DType::F64);
}
