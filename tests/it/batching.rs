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
