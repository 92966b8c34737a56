//! Optimizers against their formulas, computed in float64: by the reference and on the host device.

use workalike::optimizers::Updates;
use workalike::prelude::*;

const RATE: f64 = 0.1;
const STEPS: usize = 6;
const FIRST: [f64; 2] = [1.0, -2.5];

/// The gradient of the cost below.
fn slope(w: [f64; 2]) -> [f64; 2] {
    w.map(|w| 2.0 * w + w.cos())
}

/// Parameters after [`STEPS`] steps of an optimizer.
fn trained(make: impl Fn(&SharedVariable, Vec<Variable>) -> Updates, reference: bool) -> Vec<f64> {
    let w = shared("w", FIRST);
    let cost = (w.sqr() + w.sin()).sum(..);
    let none: [&Variable; 0] = [];
    let updates = make(&w, grad(&cost, [&w]).unwrap());
    let f = function(none).updates(updates).compile().unwrap();
    if reference {
        for _ in 0..STEPS {
            f.call_reference(args![]).unwrap();
        }
        return w.get_value().unwrap().to_vec().unwrap();
    }
    let mut simulator = f.optimize(Host::threads(1)).unwrap();
    simulator.run_n(STEPS as u64, args![]).unwrap();
    simulator.get_value("w").unwrap().to_vec().unwrap()
}

/// The same without the library: `step` returns the change of an element, given its state, its gradient and
/// the number of the step, from 1 on.
fn by_hand(step: impl Fn(&mut [f64; 2], f64, i32) -> f64) -> Vec<f64> {
    let (mut w, mut states) = (FIRST, [[0.0; 2]; 2]);
    for t in 1..=STEPS {
        let g = slope(w);
        for i in 0..2 {
            w[i] += step(&mut states[i], g[i], t as i32);
        }
    }
    w.to_vec()
}

#[track_caller]
fn agree(
    make: impl Fn(&SharedVariable, Vec<Variable>) -> Updates,
    step: impl Fn(&mut [f64; 2], f64, i32) -> f64,
) {
    let expected = by_hand(step);
    for reference in [true, false] {
        let got = trained(&make, reference);
        let near = got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
        assert!(near, "reference {reference}: got {got:?}, expected {expected:?}");
    }
}

#[test]
fn optimizers_follow_their_formulas() {
    agree(|w, g| sgd([w], g, RATE).unwrap(), |_, g, _| -RATE * g);
    agree(
        |w, g| momentum([w], g, RATE, 0.9).unwrap(),
        |s, g, _| {
            s[0] = 0.9 * s[0] - RATE * g;
            s[0]
        },
    );
    agree(
        |w, g| nesterov([w], g, RATE, 0.9).unwrap(),
        |s, g, _| {
            s[0] = 0.9 * s[0] - RATE * g;
            0.9 * s[0] - RATE * g
        },
    );
    agree(
        |w, g| rmsprop([w], g, RATE).unwrap(),
        |s, g, _| {
            s[0] = 0.99 * s[0] + 0.01 * g * g;
            -RATE * g / (s[0].sqrt() + 1e-8)
        },
    );
    agree(
        |w, g| adam([w], g, RATE).unwrap(),
        |s, g, t| {
            s[0] = 0.9 * s[0] + 0.1 * g;
            s[1] = 0.999 * s[1] + 0.001 * g * g;
            let (m, v) = (s[0] / (1.0 - 0.9f64.powi(t)), s[1] / (1.0 - 0.999f64.powi(t)));
            -RATE * m / (v.sqrt() + 1e-8)
        },
    );
}

#[test]
fn state_follows_the_parameter_and_is_named_after_it() {
    let (w, rate) = (shared("w", [0f32, 1.0]), scalar::<f64>("rate"));
    let b = shared("b", half::f16::from_f32(1.0));
    let cost = w.sqr().sum(..) + b.cast(DType::F32).sqr();
    let gradients = clip_norm(grad(&cost, [&w, &b]).unwrap(), 1.0).unwrap();
    let updates = adam([&w, &b], gradients, &rate).unwrap();
    let state: Vec<String> =
        updates.iter().map(|(s, new)| format!("{} {} {}", s.name().unwrap(), s.ty(), new.dtype())).collect();
    assert_eq!(
        state,
        [
            "w float32(2,) float32",
            "w.adam.m float32(2,) float32",
            "w.adam.v float32(2,) float32",
            "b float16() float16",
            "b.adam.m float32() float32",
            "b.adam.v float32() float32",
            "adam.t int64() int64"
        ]
    );
    let f = function([&rate]).updates(updates).compile().unwrap();
    f.call(args![0.5]).unwrap();
    // Adam's first step has the size of the rate.
    let after = w.get_value().unwrap().to_vec::<f32>().unwrap();
    assert!(after[0] == 0.0 && (after[1] - 0.5).abs() < 1e-6, "{after:?}");
    assert!((b.get_value().unwrap().item::<half::f16>().unwrap().to_f32() - 0.5).abs() < 1e-3);
}

#[test]
fn norms_are_clipped_together() {
    let none: [&Variable; 0] = [];
    let (a, b) = (constant([3f32, 0.0]), constant(4f32));
    let of = |most: f64| {
        let clipped = clip_norm([&a, &b], most).unwrap();
        let outputs = function(none).outputs(&clipped).compile().unwrap().call(args![]).unwrap();
        (outputs[0].to_vec::<f32>().unwrap(), outputs[1].item::<f32>().unwrap())
    };
    assert_eq!(of(10.0), (vec![3.0, 0.0], 4.0));
    assert_eq!(of(2.5), (vec![1.5, 0.0], 2.0));
    assert!(clip_norm([&constant(1i64)], 1.0).is_err());
}

#[test]
fn what_does_not_fit_is_refused() {
    let (w, n) = (shared("w", [0f32, 1.0]), shared("n", 0i64));
    let gradient = w.sqr();
    assert!(sgd([&w], [&gradient, &gradient], 0.1).is_err());
    assert!(sgd([&w], [&gradient.sum(..)], 0.1).is_err());
    assert!(sgd([&n], [&*n], 0.1).is_err());
    assert!(sgd([&w], [&gradient], &*w).is_err());
    assert!(Adam { beta2: 1.0, ..Adam::default() }.updates([&w], [&gradient], 0.1).is_err());
    assert!(adam([&w], [w.sum(3)], 0.1).is_err());
}
