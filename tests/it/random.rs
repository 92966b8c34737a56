//! Random draws: their distributions, the forms of their sizes, and wrong parameters.

use workalike::ops::like;
use workalike::prelude::*;

/// The values of a draw, as float64.
fn drawn(draw: Variable) -> Vec<f64> {
    let f = function(()).output(draw).compile().unwrap();
    f.call(args![]).unwrap()[0].to_f64s()
}

/// The largest distance between the sample's distribution and `below`, times the root of its size (Kolmogorov
/// and Smirnov): above 1.95 for one in a thousand samples.
fn distance(mut sample: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let off = |(i, x): (usize, &f64)| {
        let p = below(*x);
        (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs())
    };
    sample.iter().enumerate().map(off).fold(0.0, f64::max) * n.sqrt()
}

/// Pearson's statistic of counts against probabilities, over its degrees of freedom.
fn misfit(sample: &[f64], probabilities: &[f64]) -> f64 {
    let n = sample.len() as f64;
    let term = |(value, p): (usize, &f64)| {
        let count = sample.iter().filter(|x| **x == value as f64).count() as f64;
        (count - n * p).powi(2) / (n * p)
    };
    assert!(sample.iter().all(|x| *x >= 0.0 && *x < probabilities.len() as f64 && x.fract() == 0.0));
    probabilities.iter().enumerate().map(term).sum::<f64>() / (probabilities.len() - 1) as f64
}

const MANY: [usize; 2] = [100, 200];

#[test]
fn floats_have_their_distributions() {
    let streams = RandomStreams::new(2026);
    let x = vector::<f64>("x");
    let normal = function([&x]).output((&x / 2f64.sqrt()).erf() / 2.0 + 0.5).compile().unwrap();
    let below = |x: f64| normal.call(args![vec![x]]).unwrap()[0].to_f64s()[0];
    for (name, sample, limit) in [
        ("float32", drawn(streams.normal::<f32>([2000])), 1.95),
        ("float64", drawn(streams.normal::<f64>([2000])), 1.95),
        ("float16", drawn(streams.normal::<half::f16>([2000])), 1.95),
    ] {
        let off = distance(sample, below);
        assert!(off < limit, "normal {name}: {off}");
    }
    for sample in [drawn(streams.uniform::<f32>(MANY)), drawn(streams.uniform::<f64>(MANY))] {
        assert!(sample.iter().all(|u| (0.0..1.0).contains(u)));
        let off = distance(sample, |u| u);
        assert!(off < 1.95, "uniform: {off}");
    }
    let scale = constant(3f64);
    for sample in
        [drawn(streams.exponential::<f32>(3.0, MANY)), drawn(streams.exponential::<f64>(scale, MANY))]
    {
        assert!(sample.iter().all(|x| *x >= 0.0 && x.is_finite()));
        let off = distance(sample, |x| 1.0 - (-x / 3.0).exp());
        assert!(off < 1.95, "exponential: {off}");
    }
    // A parameter broadcasts to the size.
    let scales = constant(ndarray::array![[1f32], [100.0]]);
    let sample = drawn(streams.exponential::<f32>(scales, [2, 10_000]));
    let means = sample.chunks(10_000).map(|row| row.iter().sum::<f64>() / 10_000.0).collect::<Vec<_>>();
    assert!((means[0] - 1.0).abs() < 0.04 && (means[1] - 100.0).abs() < 4.0, "{means:?}");
}

#[test]
fn integers_have_their_distributions() {
    let streams = RandomStreams::new(7);
    // Of 6 degrees of freedom, above 3.75 for one in a thousand.
    let sevenths = [1.0 / 7.0; 7];
    let shifted: Vec<f64> = drawn(streams.integers(-3, 4, MANY)).iter().map(|x| x + 3.0).collect();
    for sample in [shifted, drawn(streams.integers(0, 7u8, MANY)), drawn(streams.choice(7, MANY))] {
        let off = misfit(&sample, &sevenths);
        assert!(off < 3.75, "{off}");
    }
    let wide = drawn(streams.integers(i64::MIN, i64::MAX, [2000]));
    let off = distance(wide, |x| x / 2f64.powi(64) + 0.5);
    assert!(off < 1.95, "the whole range: {off}");

    // Bounds that float64 does not tell apart.
    let last = function(()).output(streams.integers(i64::MAX - 1, i64::MAX, [3])).compile().unwrap();
    assert_eq!(last.call(args![]).unwrap()[0].to_vec::<i64>().unwrap(), [i64::MAX - 1; 3]);

    let p = constant(ndarray::array![[0.1f32], [0.5], [1.0], [0.0]]);
    let coins = drawn(streams.bernoulli(p, [4, 20_000]));
    for (row, p) in coins.chunks(20_000).zip([0.1, 0.5, 1.0, 0.0]) {
        let (mean, deviation) = (row.iter().sum::<f64>() / 2e4, f64::sqrt(p * (1.0 - p) / 2e4));
        assert!((mean - p).abs() <= 4.0 * deviation, "{mean}, not {p}");
    }

    let weights = ndarray::array![1f32, 0.0, 4.0, 3.0];
    let probabilities = [0.125, 1e-300, 0.5, 0.375];
    let rows = constant(weights.broadcast((20_000, 4)).unwrap().to_owned());
    for sample in [drawn(streams.choice_by_weight(constant(weights), MANY)), drawn(streams.categorical(rows))]
    {
        let off = misfit(&sample, &probabilities);
        assert!(off < 5.42, "by weight: {off}");
    }
}

#[test]
fn orders_are_equally_likely() {
    let streams = RandomStreams::new(11);
    let (order, pair) = (streams.permutation(3), streams.choice_without_replacement(4, 2));
    let f = function(()).output(&order).output(&pair).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let (mut orders, mut pairs) = (vec![], vec![]);
    for _ in 0..6000 {
        let out = sim.call(args![]).unwrap();
        let order = out[0].to_vec::<i64>().unwrap();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2]);
        // The place of an order among the six.
        orders.push((order[0] * 2 + i64::from(order[1] > order[2])) as f64);
        let pair = out[1].to_vec::<i64>().unwrap();
        assert!(pair[0] != pair[1] && pair.iter().all(|i| (0..4).contains(i)));
        pairs.push((pair[0] * 3 + pair[1] - i64::from(pair[1] > pair[0])) as f64);
    }
    let (off, of_pairs) = (misfit(&orders, &[1.0 / 6.0; 6]), misfit(&pairs, &[1.0 / 12.0; 12]));
    assert!(off < 4.1 && of_pairs < 2.85, "{off}, {of_pairs}");
}

#[test]
fn a_size_may_be_known_at_the_call() {
    let (x, n) = (matrix::<f32>("x"), scalar::<i64>("n"));
    let draws = |streams: RandomStreams, by_shape: bool| {
        let wide = match by_shape {
            true => streams.normal::<f32>(like(&x)),
            false => streams.normal::<f32>([3, 5]),
        };
        let rows =
            if by_shape { streams.integers(0, &n + 1, (&n, 2)) } else { streams.integers(0, 5, (4, 2)) };
        let order = if by_shape { streams.permutation(x.extent(1)) } else { streams.permutation(5usize) };
        let one = streams.uniform::<f64>(());
        function([&x, &n]).allow_unused_inputs().outputs([wide, rows, order, one]).compile().unwrap()
    };
    let [by_shape, fixed] = [true, false].map(|by_shape| draws(RandomStreams::new(5), by_shape));
    let data = Value::zeros(DType::F32, &[3, 5]).unwrap();
    let mut sim = by_shape.optimize(Host::threads(1)).unwrap();
    let saved = Function::from_bytes(&by_shape.to_bytes().unwrap());
    let saved = saved.unwrap().optimize(Host::threads(1));
    let mut saved = saved.unwrap();
    // The streams move on by as much as they drew.
    for _ in 0..3 {
        let want = fixed.call(args![&data, 4]).unwrap();
        for got in [sim.call(args![&data, 4]).unwrap(), saved.call(args![&data, 4]).unwrap()] {
            (0..4).for_each(|i| assert_eq!(got[i], want[i], "output {i}"));
        }
    }
    let larger = sim.call(args![Value::zeros(DType::F32, &[2, 70]).unwrap(), 0]).unwrap();
    assert_eq!([larger[0].shape(), larger[1].shape(), larger[2].shape()], [&[2, 70][..], &[0, 2], &[70]]);
    let error = sim.call(args![&data, -1]).unwrap_err().to_string();
    assert!(error.contains("-1"), "{error}");
    sim.call(args![&data, 1]).unwrap();

    let sizes = vec![2usize, 3];
    let streams = RandomStreams::new(1);
    for draw in [
        streams.uniform::<f32>(&sizes),
        streams.uniform::<f32>(&sizes[..]),
        streams.uniform::<f32>(sizes.clone()),
        streams.uniform::<f32>((2i64, 3u8)),
    ] {
        assert_eq!(draw.ty().to_string(), "float32(2, 3)");
    }
}

/// A stream in a loop over a batch whose extent is an input.
#[test]
fn a_size_may_depend_on_a_loop_around_it() {
    let x = vector::<f64>("x");
    let streams = RandomStreams::new(3);
    let noisy = fori(4, &x, |_, y| &y + streams.uniform::<f64>(like(&y)));
    let f = function([&x]).output(noisy).compile().unwrap();
    let draws = RandomStreams::new(3).uniform::<f64>([4, 5]).sum(0);
    let want = function(()).output(draws).compile().unwrap().call(args![]).unwrap()[0].to_f64s();
    let got = f.call(args![vec![0f64; 5]]).unwrap()[0].to_f64s();
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?}, not {want:?}");
}

#[test]
fn wrong_parameters_are_refused() {
    let streams = RandomStreams::new(1);
    let draws: Vec<(Variable, &str)> = vec![
        (streams.bernoulli(1.5, [3]), "bernoulli: probability 1.5 is not in 0 to 1"),
        (streams.bernoulli(-0.5, [3]), "bernoulli: probability -0.5 is not in 0 to 1"),
        (streams.exponential::<f32>(-1.0, [3]), "exponential: scale -1 is below 0"),
        (streams.exponential::<f32>(f64::NAN, [3]), "exponential: scale NaN is below 0"),
        (streams.integers(5, 5, [3]), "integers: there is none from 5 to below 5"),
        (streams.integers(0, 2.5, [3]), "integers: a bound is float64"),
        (streams.integers(0, u64::MAX, [3]), "integers: 18446744073709551615 is out of range for int64"),
        (streams.choice_without_replacement(3, 4), "choice: 4 different ones of 3"),
        (
            streams.choice_by_weight(constant(ndarray::array![[1f32]]), [3]),
            "a vector of weights, got float32(1, 1)",
        ),
        (streams.categorical(constant(1f32)), "categorical: expected weights along an axis, got float32()"),
        (streams.categorical(constant(vec![1i64])), "got int64(1,)"),
        (streams.gamma::<f32>(-1.0, 1.0, [3]), "gamma: shape -1 is below 0"),
        (streams.gamma::<f32>(1.0, -2, [3]), "gamma: scale -2 is below 0"),
        (streams.gamma::<i32>(1.0, 1.0, [3]), "expected a float dtype, got int32"),
        (streams.beta::<f32>(1.0, f64::NAN, [3]), "beta: parameter NaN is below 0"),
        (streams.dirichlet::<f32>(constant(1f32)), "dirichlet: expected alpha along an axis, got float32()"),
        (streams.standard_t::<f32>(-1.0, [3]), "standard_t: number of degrees -1 is below 0"),
        (streams.poisson(-0.5, [3]), "poisson: mean -0.5 is below 0"),
        (streams.binomial(-1, 0.5, [3]), "binomial: -1 trials are less than none"),
        (streams.binomial(2.5, 0.5, [3]), "binomial: the number of trials is float64(), which is no integer"),
        (streams.binomial(3, 1.01, [3]), "binomial: probability 1.01 is not in 0 to 1"),
        (streams.multinomial(3, constant(vec![1i64])), "multinomial: expected weights along an axis"),
        (streams.multinomial(-3, constant(vec![1f64])), "multinomial: -3 trials"),
        (
            streams.poisson(constant(ndarray::array![[1f32]]), [3]),
            "a parameter float32(1, 1) has more axes than the size",
        ),
        (streams.exponential::<f32>(constant(vec![1f32, 2.0]), [3]), "cannot broadcast float32(2,)"),
        (streams.permutation(-2), "extent -2 is negative"),
        (streams.permutation(vector::<i64>("n")), "expected a whole number or a 0-d integer"),
        (streams.uniform::<f32>([-1]), "extent -1 is negative"),
        (streams.uniform::<i64>([3]), "expected a float dtype, got int64"),
        (streams.uniform::<f32>([usize::MAX, 3]), "draw"),
    ];
    for (draw, want) in &draws {
        let error = function(()).output(draw).compile().unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("tests/it/random.rs:"), "{error}: not {want}");
    }
}

/// What two draws share would be the same in both.
#[test]
fn keys_are_values() {
    let key = scalar::<u64>("key");
    let streams = RandomStreams::from_key(&key);
    let draws = [streams.bits([4]), streams.bits([4]), split(&key, 3), fold_in(&key, 1), fold_in(&key, 7i32)];
    let f = function([&key]).outputs(draws).compile().unwrap();
    assert_eq!(f.cells().len(), 0);
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    let (first, again, other) =
        (sim.call(args![5u64]).unwrap(), sim.call(args![5u64]).unwrap(), sim.call(args![6u64]).unwrap());
    for i in 0..5 {
        assert_eq!(first[i], again[i]);
        assert_ne!(first[i], other[i]);
    }
    assert_ne!(first[0], first[1]);
    let keys = first[2].to_vec::<u64>().unwrap();
    assert_eq!(keys[1], first[3].item::<u64>().unwrap());
    assert!(!first[0].to_vec::<u64>().unwrap().contains(&keys[0]));

    // In a loop that carries its key.
    let walk = fori(3, (&key, constant(0f64)), |_, (key, x): (Variable, Variable)| {
        let step = RandomStreams::from_key(&key).uniform::<f64>(());
        (fold_in(&key, 0), x + step)
    });
    let f = function([&key]).output(&walk.0).output(&walk.1).compile().unwrap();
    let out = f.call(args![5u64]).unwrap();
    let (mut last, mut sum) = (5u64, 0.0);
    let one =
        function([&key]).output(fold_in(&key, 0)).output(RandomStreams::from_key(&key).uniform::<f64>(()));
    let one = one.compile().unwrap();
    for _ in 0..3 {
        let step = one.call(args![last]).unwrap();
        (last, sum) = (step[0].item().unwrap(), sum + step[1].item::<f64>().unwrap());
    }
    assert_eq!((out[0].item::<u64>().unwrap(), out[1].item::<f64>().unwrap()), (last, sum));
    for (wrong, want) in [
        (split(constant(vec![1u64]), 2), "expected a 0-d uint64, got uint64(1,)"),
        (fold_in(constant(1i64), 2), "expected a 0-d uint64, got int64()"),
        (split(-1, 2), "-1 is no uint64"),
        (fold_in(&key, 0.5), "expected integers, got float64()"),
        (split(&key, -1), "extent -1 is negative"),
        (RandomStreams::from_key(vector::<u64>("v")).bits([2]), "expected a 0-d uint64"),
    ] {
        let error = function([&key]).allow_unused_inputs().output(wrong).compile().unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("tests/it/random.rs:"), "{error}: not {want}");
    }
}

#[test]
fn a_seed_begins_again() {
    let streams = RandomStreams::new(1);
    let f = function(()).outputs([streams.normal::<f32>([3]), streams.bits([2])]).compile().unwrap();
    let fresh = RandomStreams::new(9);
    let want = function(()).outputs([fresh.normal::<f32>([3]), fresh.bits([2])]).compile().unwrap();
    let want = want.call(args![]).unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    f.call(args![]).unwrap();
    sim.call(args![]).unwrap();
    streams.seed(9).unwrap();
    assert_eq!(streams.states().len(), 2);
    for state in streams.states() {
        sim.set(&state, state.get_value().unwrap()).unwrap();
    }
    for got in [f.call(args![]).unwrap(), sim.call(args![]).unwrap()] {
        assert!((0..2).all(|i| got[i] == want[i]));
    }
    // A stream that is written later has the new seed, as the third of them.
    let third = |streams: &RandomStreams| streams.draw_bits([2]).unwrap();
    let fresh = RandomStreams::new(9);
    fresh.bits(());
    fresh.bits(());
    assert_eq!(third(&streams), third(&fresh));
    RandomStreams::from_key(1).seed(3).unwrap();
}

#[test]
fn counts_add_up() {
    let streams = RandomStreams::new(1);
    let weights = constant(ndarray::array![[1f32, 0.0, 2.0, 0.0], [0.5, 0.25, 0.0, 0.25]]);
    let n = vector::<i32>("n");
    let f =
        function([&n]).output(streams.multinomial(&n, &weights)).output(streams.dirichlet::<f64>(&weights));
    let f = f.compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    for _ in 0..20 {
        let out = sim.call(args![vec![1000, 3]]).unwrap();
        let counts = out[0].to_vec::<i64>().unwrap();
        assert_eq!((counts[..4].iter().sum::<i64>(), counts[4..].iter().sum::<i64>()), (1000, 3));
        assert_eq!((counts[1], counts[3], counts[6]), (0, 0, 0), "{counts:?}");
        let shares = out[1].to_f64s();
        assert!((shares[4..].iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares[1] == 0.0, "{shares:?}");
    }
    let error = sim.call(args![vec![5, -1]]).unwrap_err().to_string();
    assert!(error.contains("multinomial: a number of trials is negative"), "{error}");
    assert!(sim.call(args![vec![5]]).is_ok(), "one number of trials for both");
}

/// What a call finds names the draw, and changes nothing; then a good call draws what it would have drawn.
#[test]
fn wrong_parameters_are_found_in_the_call() {
    let (n, scale) = (scalar::<i64>("n"), vector::<f32>("scale"));
    let streams = RandomStreams::new(1);
    let few = streams.choice_without_replacement(&n, 3);
    let f = function([&n]).output(few).compile().unwrap();
    assert!(f.call(args![2]).is_err());
    assert_eq!(f.call(args![3]).unwrap()[0].shape(), [3]);

    let f = function([&n]).output(streams.integers(0, &n, [5])).compile().unwrap();
    let want = f.fork().unwrap().call(args![10]).unwrap();
    for n in [0, -3] {
        let error = f.call(args![n]).unwrap_err().to_string();
        assert!(error.contains("integers: there is none below") && error.contains("random.rs"), "{error}");
    }
    assert_eq!(f.call(args![10]).unwrap()[0], want[0]);

    let f = function([&scale]).output(streams.exponential::<f32>(&scale, [2, 2])).compile().unwrap();
    let want = f.fork().unwrap().call(args![vec![1f32, 2.0]]).unwrap();
    for wrong in [[1f32, -1.0], [f32::NAN, 1.0]] {
        let error = f.call(args![wrong.to_vec()]).unwrap_err().to_string();
        assert!(error.contains("exponential: a scale is negative"), "{error}");
    }
    assert_eq!(f.call(args![vec![1f32, 2.0]]).unwrap()[0], want[0]);
    let coins = RandomStreams::new(1).bernoulli(&scale, [2]);
    let f = function([&scale]).output(coins).compile().unwrap();
    assert_eq!(f.call(args![vec![7f32, f32::NAN]]).unwrap()[0].to_vec::<bool>().unwrap(), [true, false]);

    // Bounds that follow from shapes cost no check.
    let x = matrix::<f32>("x");
    let rows = x.take(RandomStreams::new(1).integers(0, x.extent(0), [8]), 0);
    let f = function([&x]).output(rows).compile().unwrap();
    let mut sim = f.optimize(Host::threads(1)).unwrap();
    sim.call(args![Value::zeros(DType::F32, &[50, 3]).unwrap()]).unwrap();
    assert!(!sim.explain().contains("assert") && !sim.explain().contains("check"), "{}", sim.explain());
    assert!(sim.call(args![Value::zeros(DType::F32, &[0, 3]).unwrap()]).is_err());
}
