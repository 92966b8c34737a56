//! Losses, layers and schedules against their formulas, computed in float64 without the library.

use workalike::prelude::*;
use workalike::{losses, schedules};

fn numbers(expression: Variable) -> Vec<f64> {
    function(()).output(expression).compile().unwrap().call(args![]).unwrap()[0].to_f64s()
}

#[track_caller]
fn near(got: &[f64], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len());
    let all = got.iter().zip(want).all(|(a, b)| (a - b).abs() <= bound * b.abs().max(1.0));
    assert!(all, "{got:?}, not {want:?}");
}

/// The slopes of an expression are those of its differences.
#[track_caller]
fn smooth(expression: impl Fn(&Variable) -> Variable, at: &[f64]) {
    verify_grad(|v| expression(&v[0]), &[Value::from(at.to_vec())], 1e-6).unwrap();
}

#[test]
fn losses_of_logits_do_not_overflow() {
    let z = [0.0, 2.0, -3.0, 1000.0, -1000.0];
    let y = [1.0, 0.0, 0.25, 1.0, 1.0];
    let want = z.iter().zip(y).map(|(z, y): (&f64, f64)| z.max(0.0) + (-z.abs()).exp().ln_1p() - y * z);
    let loss = losses::binary_crossentropy_with_logits(constant(z.to_vec()), constant(y.to_vec()));
    near(&numbers(loss), &want.collect::<Vec<_>>(), 1e-15);
    let of_bools =
        losses::binary_crossentropy_with_logits(constant(vec![1f32, 1.0]), constant(vec![true, false]));
    assert_eq!(of_bools.dtype(), DType::F32);
    near(&numbers(of_bools), &[(-1f64).exp().ln_1p(), 1f64.exp().ln_1p()], 1e-6);
    let p = losses::binary_crossentropy(constant(vec![0.25, 0.9]), 1);
    near(&numbers(p), &[4f64.ln(), -0.9f64.ln()], 1e-15);
    smooth(|z| losses::binary_crossentropy_with_logits(z, 0.3), &[-2.0, 0.0, 5.0]);
}

#[test]
fn cross_entropy_takes_labels_and_distributions() {
    let logits = ndarray::array![[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]];
    let log = |row: usize, class: usize| {
        let z = logits.row(row);
        let max = z.fold(f64::MIN, |a, b| a.max(*b));
        z[class] - max - z.mapv(|v| (v - max).exp()).sum().ln()
    };
    let labels = constant(vec![2i64, 1]);
    let of_labels = losses::categorical_crossentropy_with_logits(constant(&logits), &labels);
    near(&numbers(of_labels), &[-log(0, 2), -log(1, 1)], 1e-14);
    let smooth = losses::smooth_labels(&labels, 3, 0.3, DType::F64);
    near(&numbers(smooth.clone()), &[0.1, 0.1, 0.8, 0.1, 0.8, 0.1], 1e-15);
    let of_smooth = losses::categorical_crossentropy_with_logits(constant(&logits), smooth);
    let want = |row: usize, label: usize| {
        -(0..3).map(|c| if c == label { 0.8 } else { 0.1 } * log(row, c)).sum::<f64>()
    };
    near(&numbers(of_smooth), &[want(0, 2), want(1, 1)], 1e-13);
    // Labels of a sequence, for each sample and time.
    let many = tensor3::<f32>("many");
    let y = matrix::<i32>("y");
    let loss = losses::categorical_crossentropy_with_logits(&many, &y);
    let f = function([&many, &y]).output(loss).compile().unwrap();
    let zeros = Value::zeros(DType::F32, &[2, 5, 4]).unwrap();
    let out = f.call(args![zeros, Value::zeros(DType::I32, &[2, 5]).unwrap()]).unwrap();
    assert_eq!(out[0].shape(), [2, 5]);
    near(&out[0].to_f64s(), &[4f64.ln(); 10], 1e-6);
}

/// A number of Rust takes the dtype of what it is compared with, like any operand.
#[test]
fn numbers_as_targets_take_the_dtype_of_the_prediction() {
    let x = vector::<f32>("x");
    let losses = [
        huber(&x, 1.0),
        huber(&x, 1),
        binary_crossentropy(&x, 1.0),
        binary_crossentropy_with_logits(&x, 0.5),
    ];
    assert!(losses.iter().all(|loss| loss.dtype() == DType::F32), "{losses:?}");
    assert_eq!(huber(&x, constant(1f64)).dtype(), DType::F64);
}

#[test]
fn huber_is_a_parabola_with_tangents() {
    let d = [-3.0, -0.5, 0.0, 1.0, 10.0];
    let want = [2.5, 0.125, 0.0, 0.5, 9.5];
    near(&numbers(huber(constant(d.to_vec()), 1)), &want, 1e-15);
    near(&numbers(huber(constant(d.map(|d| d as f32).to_vec()), constant(1f32))), &want, 1e-7);
    smooth(|d| huber(d, 2.0), &[-3.0, -0.5, 0.3, 10.0]);
}

#[test]
fn activations_agree_with_published_values() {
    // SciPy: x * norm.cdf(x).
    let x = constant(vec![-10.0, -3.0, -1.0, 0.0, 1.0, 3.0]);
    let want = [
        -7.619853024160527e-23,
        -0.00404969409489031,
        -0.15865525393145707,
        0.0,
        0.8413447460685429,
        2.99595030590511,
    ];
    let got = numbers(x.gelu());
    assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-14 * b.abs()), "{got:?}");
    near(&numbers(x.silu())[2..5], &[-0.2689414213699951, 0.0, 0.7310585786300049], 1e-15);
    smooth(|x| x.gelu() + x.silu(), &[-2.0, 0.0, 0.5]);
}

#[test]
fn dropout_keeps_the_mean() {
    let (x, rate) = (vector::<f32>("x"), scalar::<f64>("rate"));
    let streams = RandomStreams::new(5);
    let f = function([&x, &rate]).output(dropout(&x, &rate, &streams)).compile().unwrap();
    let ones = vec![1f32; 40_000];
    for rate in [0.0, 0.2, 0.9] {
        let y = f.call(args![&ones, rate]).unwrap()[0].to_f64s();
        let kept = 1.0 / (1.0 - rate);
        assert!(y.iter().all(|y| *y == 0.0 || (y - kept).abs() < 1e-5), "rate {rate}");
        let mean = y.iter().sum::<f64>() / 40_000.0;
        assert!((mean - 1.0).abs() < 5.0 * (rate / (1.0 - rate) / 40_000.0).sqrt() + 1e-6, "{rate}: {mean}");
    }
    assert!(f.call(args![&ones, 1.0]).unwrap()[0].to_f64s().iter().all(|y| *y == 0.0));
    // Its slope is a number, also where nothing is kept.
    for rate in [0.0, 0.5, 1.0] {
        let slope = grad(dropout(&x, rate, &streams).sum(..), [&x]).unwrap();
        let slope = function([&x]).output(&slope[0]).compile().unwrap().call(args![vec![1f32; 50]]).unwrap();
        let kept = if rate == 1.0 { 0.0 } else { 1.0 / (1.0 - rate) };
        assert!(slope[0].to_f64s().iter().all(|s| *s == 0.0 || *s == kept), "{rate}: {:?}", slope[0]);
    }
    for (wrong, want) in [
        (dropout(&x, 1.5, &streams), "dropout: the rate 1.5 is not in 0 to 1"),
        (dropout(constant(1i64), 0.5, &streams), "dropout: expected floats, got int64()"),
    ] {
        let error = function([&x]).allow_unused_inputs().output(wrong).compile().unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}

#[test]
fn rows_are_normalized() {
    let x = constant(ndarray::array![[1.0, 2.0, 3.0], [-5.0, -5.0, 7.0]]);
    let (scale, shift) = (constant(vec![1.0, 2.0, 1.0]), constant(vec![0.0, 0.5, 0.0]));
    let root = |v: f64| (v + 1e-5).sqrt();
    let (a, b) = (root(2.0 / 3.0), root(32.0));
    let want = [-1.0 / a, 0.5, 1.0 / a, -4.0 / b, 2.0 * -4.0 / b + 0.5, 8.0 / b];
    near(&numbers(layer_norm(&x, &scale, &shift, 1e-5)), &want, 1e-14);
    let half = layer_norm(x.cast(DType::F16), &scale, &shift, 1e-5);
    assert_eq!(half.dtype(), DType::F16);
    smooth(|x| layer_norm(x, constant(vec![1.0, 3.0]), constant(vec![0.0; 2]), 0.1).sqr(), &[0.3, 0.9]);
}

#[test]
fn channels_are_normalized_by_batch_and_by_running_averages() {
    let x = tensor::<f64>("x", [None; 4]);
    let vectors = || [constant(vec![2.0, 1.0]), constant(vec![0.0, -1.0])];
    let (mean, variance) = (shared("mean", [0.0, 1.0]), shared("variance", [1.0, 4.0]));
    let norm = BatchNormalization { rate: 0.25, ..BatchNormalization::default() };
    let [scale, shift] = vectors();
    let (y, updates) = norm.train(&x, &scale, &shift, &mean, &variance).unwrap();
    let train = function([&x]).output(y).updates(updates).compile().unwrap();
    let infer = norm.infer(&x, &scale, &shift, &*mean, &*variance);
    let infer = function([&x]).output(infer).compile().unwrap();
    // Two samples of two channels of 1 x 2.
    let data = Value::from_vec(&[2, 2, 1, 2], vec![1.0, 3.0, 0.0, 0.0, 5.0, 7.0, 2.0, 2.0]).unwrap();
    let serve = infer.call(args![&data]).unwrap()[0].to_f64s();
    near(&serve[..4], &[2.0, 6.0, -0.5 - 1.0, -0.5 - 1.0], 1e-4);
    let y = train.call(args![&data]).unwrap()[0].to_f64s();
    // Mean and variance 4 and 5 of the first channel, 1 and 1 of the second.
    let (a, b) = ((5f64 + 1e-5).sqrt(), (1f64 + 1e-5).sqrt());
    let want =
        [-6.0 / a, -2.0 / a, -1.0 / b - 1.0, -1.0 / b - 1.0, 2.0 / a, 6.0 / a, 1.0 / b - 1.0, 1.0 / b - 1.0];
    near(&y, &want, 1e-14);
    near(&mean.get_value().unwrap().to_f64s(), &[1.0, 1.0], 1e-14);
    let sample = [0.75 + 0.25 * 5.0 * 4.0 / 3.0, 3.0 + 0.25 * 4.0 / 3.0];
    near(&variance.get_value().unwrap().to_f64s(), &sample, 1e-14);
    let error = norm.train(vector::<f32>("v"), &scale, &shift, &mean, &variance).unwrap_err().to_string();
    assert!(error.contains("expected floats (n, channels, ..), got float32(?,)"), "{error}");
}

#[test]
fn rates_follow_their_schedules() {
    let step = scalar::<i64>("step");
    let rates = [
        schedules::linear(1.0, 0.5, &step, 10),
        schedules::cosine(2.0, &step, 10),
        schedules::exponential_decay(1.0, &step, 10, 0.5),
        schedules::warm_up(3.0, &step, 10),
        schedules::piecewise(1.0, &step, [(5, 0.1), (10, 0.01)]),
        schedules::warm_up(constant(1f64), &step, 0),
    ];
    assert!(rates.iter().all(|rate| rate.dtype() == DType::F32 && rate.ndim() == 0));
    let f = function([&step]).outputs(rates).compile().unwrap();
    for (at, want) in [
        (0i64, [1.0, 2.0, 1.0, 0.0, 1.0, 0.0]),
        (5, [0.75, 1.0, 0.5f64.sqrt(), 1.5, 0.1, 1.0]),
        (10, [0.5, 0.0, 0.5, 3.0, 0.01, 1.0]),
        (30, [0.5, 0.0, 0.125, 3.0, 0.01, 1.0]),
    ] {
        let out = f.call(args![at]).unwrap();
        near(&(0..6).map(|i| out[i].to_f64s()[0]).collect::<Vec<_>>(), &want, 1e-6);
    }
    let error = function(()).output(schedules::cosine(constant(vec![1f32]), 1, 3)).compile().unwrap_err();
    assert!(error.to_string().contains("cosine: expected a number, got float32(1,)"), "{error}");
}

/// Layers own their variables; what trains them takes lists of references, or one handle.
#[test]
fn parameters_are_lists_of_any_kind() {
    let x = matrix::<f32>("x");
    let mut model = Parameters::new();
    let w = model.shared("w", Value::from_vec(&[2, 2], vec![1f32, 2.0, 3.0, 4.0]).unwrap());
    let b = model.shared("b", [0f32; 2]);
    let cost = (x.dot(&w) + &b).sqr().mean(..);
    let references: Vec<&SharedVariable> = vec![&w, &b];
    let of_references = adam(&references, grad(&cost, &references).unwrap(), 0.1).unwrap();
    let of_handle = adam(&model, grad(&cost, &model).unwrap(), 0.1).unwrap();
    let of_owned = adam([w.clone(), b.clone()], grad(&cost, [w.clone(), b.clone()]).unwrap(), 0.1).unwrap();
    let trained = [of_references, of_handle, of_owned].map(|updates| {
        let f = function([&x]).updates(updates).compile().unwrap().fork().unwrap();
        f.call(args![ndarray::array![[1f32, 2.0]]]).unwrap();
        f.cells().iter().map(|cell| cell.get_value().unwrap()).collect::<Vec<_>>()
    });
    assert!(trained[0] == trained[1] && trained[1] == trained[2]);
    assert_eq!(get_values(&references).unwrap(), get_values(&model).unwrap());
    set_values([(&&w, Value::zeros(DType::F32, &[2, 2]).unwrap())]).unwrap();
    assert_eq!(model.get("w").unwrap().get_value().unwrap().to_f64s(), [0.0; 4]);
    assert_eq!(model.values().unwrap()[1].0, "b");
    assert!(model.get("v").is_none() && model.len() == 2 && !model.is_empty());
}
