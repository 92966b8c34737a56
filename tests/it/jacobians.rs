//! Jacobians and Hessians of vectors whose length is known at run time only.

use workalike::grad::{Disconnected, Grad};
use workalike::prelude::*;

#[test]
fn there_is_a_tangent_for_each() {
    let x = tensor::<f64>("x", [Some(2)]);
    assert!(hvp(&x.sqr().sum(..), [&x], Vec::<Variable>::new()).is_err());
}

/// A function of a vector and a matrix.
type Of = fn(&Variable, &Variable) -> Variable;

#[test]
fn jacobians_of_any_length_have_the_rows_that_gradients_give() {
    let cases: [(&str, Of); 16] = [
        ("elementwise", |x, _| x.sqr() * x.sin()),
        ("with a sum", |x, _| x.exp() / x.exp().sum(..)),
        ("softmax", |x, _| workalike::ops::softmax(x, 0).log()),
        ("product", |x, w| w.dot(x).tanh()),
        ("products", |x, w| x.dot(w).dot(w.t()) * x),
        ("matrices", |x, w| (w * x).matmul(w.t()).sum(1)),
        ("batched", |x, w| (w.expand_dims(0) * x.reshape([-1, 1, 1])).matmul(w).sum([1, 2])),
        ("running sum", |x, _| x.cumsum(0).sqr()),
        ("slice", |x, _| x.index(workalike::idx![1..]) * x.index(workalike::idx![..-1])),
        ("gather", |x, _| x.index(workalike::idx![[2i64, 0, 2]]).sqr()),
        ("scatter", |x, _| x.inc_index(workalike::idx![[1i64, 1]], x.index(workalike::idx![0]).sqr())),
        ("set", |x, _| x.sqr().set_index(workalike::idx![0], x.sum(..))),
        ("join", |x, _| workalike::ops::concatenate([x.sqr(), x.flip(0)], 0)),
        ("reshape", |x, w| (w * x).reshape([-1]).sqr()),
        ("maximum", |x, _| x * x.max(..)),
        ("number", |x, _| x.sqr().sum(..)),
    ];
    let (x, w) = (vector::<f64>("x"), matrix::<f64>("w"));
    let at = Value::from([0.5, -1.25, 2.0, 0.75]);
    let weights = Value::from([
        [0.2, -0.4, 1.0, 0.3],
        [1.5, 0.1, -0.7, 0.6],
        [0.9, 0.8, 0.3, -1.1],
        [0.4, 0.5, -0.2, 0.7],
    ]);
    for (name, of) in cases {
        let y = of(&x, &w);
        let j = jacobian(&y, [&x, &w]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let f = function([&x, &w]).output(&y).outputs(&j).allow_unused_inputs().compile().unwrap();
        let row = scalar::<i64>("row");
        let one = if y.ndim() == 0 { y.clone() } else { y.index(workalike::idx![&row]) };
        let slopes = Grad::of(&one).disconnected(Disconnected::Zero).wrt([&x, &w]).unwrap();
        let g = function([&x, &w, &row]).outputs(&slopes).allow_unused_inputs().compile().unwrap();
        for outputs in [f.call_reference(args![&at, &weights]), f.call(args![&at, &weights])] {
            let outputs = outputs.unwrap_or_else(|e| panic!("{name}: {e}"));
            let rows = outputs[0].shape().first().copied();
            for which in [1, 2] {
                let all = outputs[which].to_vec::<f64>().unwrap();
                let size = all.len() / rows.unwrap_or(1);
                for at_row in 0..rows.unwrap_or(1) {
                    let want = g.call_reference(args![&at, &weights, at_row as i64]).unwrap()[which - 1]
                        .to_vec::<f64>()
                        .unwrap();
                    let got = &all[at_row * size..(at_row + 1) * size];
                    let near = got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
                    assert!(
                        got.len() == want.len() && near,
                        "{name}, row {at_row} of {which}: {got:?}, not {want:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn hessians_of_any_length() {
    let x = vector::<f64>("x");
    let cost = (x.sqr() * x.sum(..)).sum(..) + x.prod(..);
    let h = hessian(&cost, [&x]).unwrap();
    let f = function([&x]).output(&h[0]).compile().unwrap();
    // By hand, for three numbers: 2 (x_i + x_j) plus the third number off the diagonal, 2 s + 4 x_i on it.
    let at = [1.0, 2.0, -0.5];
    let s: f64 = at.iter().sum();
    let outputs = f.call(args![at]).unwrap();
    let got = outputs[0].to_vec::<f64>().unwrap();
    for i in 0..3 {
        for j in 0..3 {
            let rest: f64 = (0..3).filter(|k| *k != i && *k != j).map(|k| at[k]).product();
            let want = if i == j { 2.0 * s + 4.0 * at[i] } else { 2.0 * (at[i] + at[j]) + rest };
            assert!((got[i * 3 + j] - want).abs() < 1e-12, "{got:?}");
        }
    }
    assert_eq!(f.call(args![Vec::<f64>::new()]).unwrap()[0].shape(), [0, 0]);
}
