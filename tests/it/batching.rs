//! Batching rules: Jacobians of vectors of unknown length, for which each op of the backward pass must have
//! one.

use workalike::grad::Disconnected;
use workalike::ops::linalg::SolveTriangular;
use workalike::prelude::*;

/// A vector made of a vector `x` and a matrix `w`.
type Of = fn(&Variable, &Variable) -> Variable;

/// Images `(2, groups, 1, elements)` of rows, and filters `(2, 1, 1, elements of w)`: convolved, as a vector.
fn convolved(x: &Variable, w: &Variable, options: Conv) -> Variable {
    let images = (w * x).reshape([2, 2, 1, -1]);
    let filters = x.index(idx![..2]).reshape([2, 1, 1, 1]) * w.index(idx![0, ..3]);
    images.conv2d(filters, options.groups(2)).reshape([-1])
}

/// The same with one group: images `(2, 2, 1, elements)`, filters `(1, 2, 1, 3)`.
fn in_one_group(x: &Variable, w: &Variable, options: Conv) -> Variable {
    let images = (w * x).reshape([2, 2, 1, -1]);
    let filters = x.index(idx![..2]).reshape([1, 2, 1, 1]) * w.index(idx![0, ..3]);
    images.conv2d(filters, options).reshape([-1])
}

/// Jacobians by `x` and `w`, row by row beside those of gradients of single elements.
fn check(name: &str, of: Of, x: &Value, w: &Value) {
    let given = (vector::<f64>("x"), matrix::<f64>("w"));
    let y = of(&given.0, &given.1);
    let wrt = [&given.0, &given.1];
    let row = scalar::<i64>("row");
    let slopes = Grad::of(&y.index(idx![&row])).disconnected(Disconnected::Zero).wrt(wrt).unwrap();
    let one = function([wrt[0], wrt[1], &row]).outputs(&slopes).allow_unused_inputs().compile().unwrap();
    let jacobians = jacobian(&y, wrt).unwrap_or_else(|e| panic!("{name}: {e}"));
    let all = function(wrt).output(&y).outputs(&jacobians).allow_unused_inputs().compile().unwrap();
    for outputs in [all.call(args![x, w]), all.call_reference(args![x, w])] {
        let outputs = outputs.unwrap_or_else(|e| panic!("{name}: {e}"));
        let rows = outputs[0].shape()[0];
        for at in 0..rows {
            let want = one.call_reference(args![x, w, at as i64]).unwrap();
            for which in 0..2 {
                let (whole, want) = (outputs[which + 1].to_f64s(), want[which].to_f64s());
                let got = &whole[at * want.len()..(at + 1) * want.len()];
                let near = got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-10 * (1.0 + b.abs()));
                assert!(
                    whole.len() == rows * want.len() && near,
                    "{name}, row {at} of {which}: {got:?}, not {want:?}"
                );
            }
        }
    }
}

#[test]
fn rules_give_the_rows_that_gradients_give() {
    let x = Value::from([0.5, -1.25, 2.0, 0.75]);
    let w = Value::from([
        [2.2, -0.4, 1.0, 0.3],
        [0.5, 3.1, -0.7, 0.6],
        [0.9, 0.8, 2.3, -0.1],
        [0.4, 0.5, -0.2, 1.7],
    ]);
    let cases: [(&str, Of); 11] = [
        ("solve", |x, w| linalg::solve(w, x).sqr()),
        ("inverse", |x, w| linalg::inv(w).dot(x)),
        ("lower triangle", |x, w| linalg::solve_triangular(w, x, SolveTriangular::LOWER)),
        ("upper triangle", |x, w| linalg::solve_triangular(w, x * x, SolveTriangular::UPPER)),
        ("cholesky", |x, w| linalg::cholesky(w.dot(w.t())).dot(x)),
        ("determinant", |x, w| x * linalg::det(w)),
        ("logarithm of the determinant", |x, w| x * &linalg::slogdet(w)[1]),
        ("convolution", |x, w| in_one_group(x, w, Conv::default())),
        ("convolution with padding", |x, w| in_one_group(x, w, Conv::default().padding([(1, 0), (2, 1)]))),
        ("strided convolution", |x, w| in_one_group(x, w, Conv::default().stride([1, 2]))),
        ("sort", |x, w| w.dot(x).sort(0) * x),
    ];
    for (name, of) in cases {
        check(name, of, &x, &w);
    }
}

#[test]
fn filters_in_groups_go_row_by_row() {
    let (x, w) = (vector::<f64>("x"), matrix::<f64>("w"));
    let y = convolved(&x, &w, Conv::default());
    let error = jacobian(&y, [&x]).unwrap_err().to_string();
    assert!(error.contains("convolution") && error.contains("specify_shape"), "{error}");
    assert!(jacobian(&y.specify_shape([Some(8)]), [&x]).is_ok());
    // Images alone are folded whatever the groups are.
    let filters = constant(array![0.5, -1.0, 2.0]).reshape([1, 1, 1, 3]).broadcast_to([2, 1, 1, 3]);
    let y = (&w * &x).reshape([2, 2, 1, -1]).conv2d(filters, Conv::default().groups(2)).reshape([-1]);
    assert!(jacobian(&y, [&x]).is_ok());
}

/// Gradients of a user's own may use ops that no gradient of the library does.
#[test]
fn ops_that_are_not_linear_have_rules_too() {
    type Case = (&'static str, fn(&Variable) -> Variable);
    let cases: [Case; 5] = [
        ("sort", |g| g.sort(0)),
        ("softmax", |g| softmax(g, 0)),
        ("position", |g| g * g.argmax(..).cast(DType::F64)),
        ("running maximum", |g| g.cummax(0)),
        ("solve", |g| linalg::solve(eye(3, 3, 0, DType::F64) * (g.sqr() + 1.0), g)),
    ];
    for (name, gradient) in cases {
        let v = vector::<f64>("v");
        let op = OpFromGraph::new([&v], [v.sqr()]).unwrap();
        let op = op.grad(|_, g| vec![Some(gradient(&g[0]))]).unwrap();
        let (x, weights) = (vector::<f64>("x"), vector::<f64>("weights"));
        let y = &op.apply([&x])[0] * &weights;
        let j = jacobian(&y, [&x]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let f = function([&x, &weights]).output(&j[0]).allow_unused_inputs().compile().unwrap();
        let numbers = [2.0, -1.0, 0.5];
        let got = f.call(args![vec![1.0, 2.0, 3.0], numbers]).unwrap()[0].to_f64s();
        let g = vector::<f64>("g");
        let of_row = function([&g]).output(gradient(&g)).compile().unwrap();
        for row in 0..3 {
            let mut cotangent = vec![0.0; 3];
            cotangent[row] = numbers[row];
            let want = of_row.call(args![cotangent]).unwrap()[0].to_f64s();
            let near = got[row * 3..row * 3 + 3].iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(near, "{name}, row {row}: {got:?}, not {want:?}");
        }
    }
}

/// The values of both ways, which are the same.
#[track_caller]
fn as_map_gives(x: &Variable, value: &Value, body: impl Fn(Variable) -> Variable) -> (Value, Function) {
    let all = vmap(x, &body);
    let one_by_one = workalike::loops::map(x, &body);
    let f = function([x]).allow_unused_inputs().output(&all).compile().unwrap();
    let g = function([x]).allow_unused_inputs().output(one_by_one).compile().unwrap();
    let (got, want) = (f.call(args![value]).unwrap()[0].clone(), g.call(args![value]).unwrap()[0].clone());
    assert_eq!(got.shape(), want.shape());
    let near =
        got.to_f64s().iter().zip(want.to_f64s()).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0));
    assert!(near, "{got:?}, not {want:?}");
    (got, f)
}

#[test]
fn a_body_on_all_slices_gives_what_map_gives() {
    let numbers: Vec<f64> = (0..24).map(|i| f64::from(i * 7 % 11) - 4.5).collect();
    let value = Value::from_vec(&[4, 3, 2], numbers).unwrap();
    let (w, streams) = (shared("w", ndarray::array![[1.0, 2.0], [3.0, -1.0]]), RandomStreams::new(1));
    let noise = streams.uniform::<f64>([3]).sum(..) * 0.0;
    for x in [tensor::<f64>("x", [Some(4), Some(3), Some(2)]), tensor3::<f64>("x")] {
        let bodies: [(&str, &dyn Fn(Variable) -> Variable); 9] = [
            ("elementwise", &|x| (x.sqr() + 1.0).log()),
            ("folds", &|x| x.sum(0) / x.max(..)),
            ("product", &|x| x.dot(&w).tanh()),
            ("view", &|x| x.t().reshape([-1]).flip(0)),
            ("the same for all", &|_| w.sum(..)),
            ("from outside", &|x| x.sum(..) + &noise),
            ("sorted", &|x| x.sort(0)),
            ("running", &|x| x.cumsum(1)),
            ("a loop", &|x| fori(3, x.index(idx![0]), |_, h| h * 0.5 + x.sum(0))),
        ];
        for (name, body) in bodies {
            println!("{name}");
            let (_, f) = as_map_gives(&x, &value, body);
            assert!(name == "a loop" || !format!("{f:?}").contains("vmap"), "{name}: {f:?}");
        }
    }
}

#[test]
fn bodies_of_several_arrays_nest_and_have_gradients() {
    let (x, y) = (matrix::<f64>("x"), matrix::<f64>("y"));
    // All products of rows: JAX's vmap(vmap(f, (None, 0)), (0, None)).
    let pairs = vmap(&x, |a| vmap(&y, |b| a.dot(&b)));
    let [sums, differences] = vmap([&x, &x], |[a, b]| [(&a + &b).sum(..), a - b]);
    let slope = grad(pairs.sqr().sum(..), [&x]).unwrap();
    let f = function([&x, &y]).outputs([pairs, sums, differences, slope[0].clone()]).compile().unwrap();
    let (a, b) =
        (ndarray::array![[1.0, 2.0], [3.0, 4.0]], ndarray::array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
    let out = f.call(args![&a, &b]).unwrap();
    let want = a.dot(&b.t());
    assert_eq!(out[0].to_f64s(), want.iter().copied().collect::<Vec<_>>());
    assert_eq!((out[1].to_f64s(), out[2].to_f64s()), (vec![6.0, 14.0], vec![0.0; 4]));
    assert_eq!(out[3].to_f64s(), (2.0 * want.dot(&b)).into_iter().collect::<Vec<_>>());
}

#[test]
fn wrong_arrays_and_bodies_are_refused() {
    let (x, y) = (matrix::<f64>("x"), tensor::<f64>("y", [Some(3), Some(2)]));
    let fixed = tensor::<f64>("fixed", [Some(4), Some(2)]);
    for (wrong, want) in [
        (vmap(scalar::<f64>("s"), |x| x), "which has no slices"),
        (workalike::loops::map(scalar::<f64>("s"), |x| x), "s"),
        (vmap([&y, &fixed], |[a, b]| a + b), "vmap"),
        (
            vmap(&x, |a| {
                a.dot(vector::<i64>("k").sum(..).expand_dims(0).reshape([1, 1]).t()).index(idx![0, 0, 0])
            }),
            "index",
        ),
        (vmap(Vec::<Variable>::new(), |_| constant(1.0)), "there are no"),
    ] {
        let error = wrong.checked().unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("batching.rs:"), "{error}: not {want}");
    }
    // Found in the call.
    let f = function([&x, &y]).output(vmap([&x, &y], |[a, b]| a + b)).compile().unwrap();
    assert!(
        f.call(args![ndarray::Array2::<f64>::ones((2, 2)), ndarray::Array2::<f64>::ones((3, 2))]).is_err()
    );
    assert_eq!(
        f.call(args![ndarray::Array2::<f64>::ones((3, 2)), ndarray::Array2::<f64>::ones((3, 2))]).unwrap()[0]
            .len(),
        6
    );
}

/// Of a draw in the body there is one for all slices, also where the body runs slice by slice.
#[test]
fn draws_of_a_body_are_the_same_for_all_slices() {
    let x = vector::<f64>("x");
    for by_slice in [false, true] {
        let streams = RandomStreams::new(1);
        let noisy = vmap(&x, |x| {
            let noise = streams.uniform::<f64>(()) + streams.uniform::<f64>(like(&x));
            // A loop that decides when it ends has no rule for batches.
            match by_slice {
                true => while_loop(&x, |h| h.less(0.0), |h| h + 1.0) + noise,
                false => x + noise,
            }
        });
        let f = function([&x]).output(noisy).compile().unwrap();
        let mut sim = f.optimize(Host::threads(1)).unwrap();
        let calls = [0; 3].map(|_| sim.call(args![vec![0.5; 4]]).unwrap()[0].to_f64s());
        assert!(calls.iter().all(|draws| draws.iter().all(|d| *d == draws[0])), "{by_slice}: {calls:?}");
        assert!(calls[0] != calls[1] && calls[1] != calls[2], "the streams move on: {calls:?}");
    }
}

#[test]
fn there_may_be_no_slices() {
    let x = tensor3::<f64>("x");
    let bodies: [&dyn Fn(Variable) -> Variable; 4] =
        [&|x| x.reshape([-1]), &|x| x.reshape([2, -1]), &|x| x.sum(..), &|x| x.dot(constant([1.0, 2.0]))];
    for (at, body) in bodies.into_iter().enumerate() {
        let f = function([&x]).output(vmap(&x, body)).compile().unwrap();
        for slices in [0, 3] {
            let out = f.call(args![Value::zeros(DType::F64, &[slices, 4, 2]).unwrap()]);
            let out = out.unwrap_or_else(|e| panic!("body {at} of {slices} slices: {e}"));
            assert_eq!(out[0].shape()[0], slices, "body {at}");
        }
    }
}
