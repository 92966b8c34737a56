//! Corner cases in which results must equal those of NumPy: zeros, infinities, empty arrays, numbers out of
//! range, extents known only at run time.

use workalike::ops::{Bins, Pad, einsum, ones_like, over, unravel_index};
use workalike::prelude::*;

/// Shape and elements of the first output; device and reference must agree.
#[track_caller]
fn value(inputs: &[(&Variable, Value)], output: &Variable) -> (Vec<usize>, Vec<f64>) {
    try_value(inputs, output).unwrap()
}

#[track_caller]
fn try_value(inputs: &[(&Variable, Value)], output: &Variable) -> workalike::Result<(Vec<usize>, Vec<f64>)> {
    let f = function(inputs.iter().map(|i| i.0)).output(output).allow_unused_inputs().compile()?;
    let args = || inputs.iter().fold(Args::new(), |args, (_, value)| args.with(value));
    let (fast, plain) = (f.call(args()), f.call_reference(args()));
    assert_eq!(fast.is_ok(), plain.is_ok(), "{fast:?} {plain:?}");
    let (fast, plain) = (fast?, plain?);
    assert_eq!(fast[0].shape(), plain[0].shape());
    assert_eq!(format!("{:?}", fast[0].to_f64s()), format!("{:?}", plain[0].to_f64s()));
    Ok((plain[0].shape().to_vec(), plain[0].to_f64s()))
}

/// The same for one vector; a NaN equals itself.
#[track_caller]
fn gives<T: workalike::value::Element>(x: Vec<T>, of: impl Fn(&Variable) -> Variable, want: &[f64]) {
    let variable = vector::<T>("x");
    let got = value(&[(&variable, Value::from(x))], &of(&variable)).1;
    assert_eq!(format!("{got:?}"), format!("{want:?}"));
}

#[track_caller]
fn refuses<T: workalike::value::Element>(of: impl Fn(&Variable) -> Variable, parts: &[&str]) {
    let message = of(&vector::<T>("x")).checked().unwrap_err().to_string();
    parts.iter().for_each(|part| assert!(message.contains(part), "{message:?} does not say {part:?}"));
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[test]
fn numbers_out_of_range_compare_correctly() {
    gives(vec![3u8], |x| x.greater(-1i64), &[1.0]);
    gives(vec![100i8], |x| x.less(200), &[1.0]);
    gives(vec![200u8], |x| x.equal(-56i64), &[0.0]);
    gives(vec![i64::MAX], |x| x.less(u64::MAX), &[1.0]);
    gives(vec![0u64], |x| x.greater_equal(-1i64), &[1.0]);
    gives(vec![1u8, 3, 5], |x| x.searchsorted(-1i64, workalike::ops::Side::Left), &[0.0]);
}

#[test]
fn a_number_that_a_dtype_does_not_have_is_refused_in_arithmetic() {
    refuses::<u8>(|x| x.maximum(-1i64), &["maximum", "-1 is out of range for uint8"]);
    refuses::<u8>(|x| x + 300, &["add", "300 is out of range for uint8"]);
    refuses::<i8>(|x| where_(x.greater(0), 128, x), &["128 is out of range for int8"]);
    refuses::<u8>(|x| x.set_index(idx![0], -1), &["-1 is out of range for uint8"]);
    gives(vec![3u8], |x| x + 252u8, &[255.0]);
    gives(vec![3u8], |x| x + 0.5, &[3.5]);
}

#[test]
fn medians_beside_infinity() {
    gives(vec![1.0, 2.0, INF], |x| x.median(..), &[2.0]);
    gives(vec![1.0, INF], |x| x.median(..), &[INF]);
    gives(vec![-INF, 1.0], |x| x.median(..), &[-INF]);
    gives(vec![-INF, INF], |x| x.median(..), &[NAN]);
    gives(vec![1.0, 2.0, INF, NAN], |x| x.nanmedian(..), &[2.0]);
    gives(vec![1.0, 3.0], |x| x.quantile(0.25, ..), &[1.5]);
}

#[test]
fn powers_of_any_exponent() {
    gives(vec![-0.0, -INF, 4.0], |x| x.pow(0.5), &[0.0, INF, 2.0]);
    gives(vec![-0.0, -INF, 4.0], |x| x.pow(-0.5), &[INF, 0.0, 0.5]);
    gives(vec![1e200, -0.0, 0.5], |x| x.pow(-2.0), &[0.0, INF, 4.0]);
    let x = vector::<f32>("x");
    let f = function([&x]).output(x.cast(DType::F16).pow(-2.0).cast(DType::F32)).compile().unwrap();
    for got in [f.call(args![vec![300f32]]), f.call_reference(args![vec![300f32]])] {
        let got = got.unwrap()[0].to_f64s()[0];
        assert!((got - 1.11e-5).abs() < 1e-7, "{got}");
    }
}

#[test]
fn degrees_of_freedom_at_or_above_the_count() {
    gives(vec![1.0, 2.0], |x| x.var(over(..).ddof(3)), &[INF]);
    gives(vec![1.0, 2.0], |x| x.var(over(..).ddof(2)), &[INF]);
    for ddof in [2, 3] {
        gives(vec![1.0, 2.0, NAN], |x| x.nanvar(over(..).ddof(ddof)), &[NAN]);
    }
    gives(vec![1.0, 2.0, NAN], |x| x.nanvar(over(..).ddof(1)), &[0.5]);
}

#[test]
fn a_mean_accumulates_in_the_dtype_that_is_asked_for() {
    let list = vec![16777216f32, 1.0, 1.0, 1.0];
    gives(list.clone(), |x| x.mean(over(..).dtype(DType::F64)), &[4194304.75]);
    gives(list, |x| x.var(over(..).dtype(DType::F64)), &[52776551841792.19]);
}

#[test]
fn nearness_of_integers() {
    gives(vec![100u8], |x| x.isclose(constant(vec![200u8]), 0.0, 1.0), &[0.0]);
    gives(vec![-128i8], |x| x.isclose(constant(vec![127i8]), 0.0, 2.0), &[0.0]);
    gives(vec![255u8], |x| x.isclose(256, 0.0, 1.0), &[1.0]);
}

#[test]
fn the_logarithm_of_a_sum_of_nothing() {
    let x = matrix::<f64>("x");
    let y = x.exp().sum(1).log();
    assert_eq!(value(&[(&x, Value::zeros(DType::F64, &[2, 0]).unwrap())], &y).1, [-INF, -INF]);
    let g = grad(y.sum(..), [&x]).unwrap();
    assert_eq!(value(&[(&x, Value::zeros(DType::F64, &[2, 0]).unwrap())], &g[0]).0, [2, 0]);
    assert!(try_value(&[(&x, Value::zeros(DType::F64, &[2, 0]).unwrap())], &x.max(1)).is_err());
}

#[test]
fn diagonals_of_nothing() {
    let x = vector::<f64>("x");
    let empty = [(&x, Value::from(Vec::<f64>::new()))];
    assert_eq!(value(&empty, &x.diag(1)), (vec![1, 1], vec![0.0]));
    assert_eq!(value(&empty, &x.diag(0)), (vec![0, 0], vec![]));
    let two = [(&x, Value::from(vec![5.0, -0.0]))];
    let below = vec![0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0, -0.0, 0.0];
    let got = value(&two, &x.diag(-1));
    assert_eq!(format!("{got:?}"), format!("{:?}", (vec![3, 3], below)));
    let m = matrix::<f64>("m");
    for offset in [i64::MIN, i64::MAX] {
        assert_eq!(value(&[(&m, Value::from(array![[1.0]]))], &m.diagonal(offset, 0, 1)).0, [0]);
    }
    verify_grad(|x| x[0].diag(1), &[Value::from(vec![1.0, 2.0, 3.0])], 1e-8).unwrap();
}

#[test]
fn bounds_beyond_int64() {
    gives(vec![1.0, 2.0], |x| x.index(idx![..usize::MAX]), &[1.0, 2.0]);
    gives(vec![1.0, 2.0], |x| x.index(idx![0..usize::MAX]), &[1.0, 2.0]);
    gives(vec![1.0, 2.0], |x| x.index(idx![usize::MAX..]), &[]);
    refuses::<f64>(|x| x.index(idx![usize::MAX]), &["18446744073709551615", "int64"]);
    assert!(arange(u64::MAX).checked().is_err());
    assert!(arange(constant(u64::MAX)).checked().is_err());
}

#[test]
fn sizes_that_cannot_be_counted() {
    refuses::<i64>(|x| unravel_index(x, [1i64 << 40, 1 << 40]).swap_remove(0), &["too large"]);
    let wide = || tensor::<f64>("w", [Some(1 << 40), Some(1 << 40)]);
    assert!(wide().flatten().checked().is_err());
    assert!(wide().kron(wide()).checked().is_err());
    assert!(wide().try_split([usize::MAX, 2], 0).is_err());
}

#[test]
fn topk_needs_enough_elements() {
    let x = vector::<f64>("x");
    let three = x.topk(3, 0);
    assert!(try_value(&[(&x, Value::from(vec![1.0, 2.0]))], &three).is_err());
    assert_eq!(value(&[(&x, Value::from(vec![1.0, 3.0, 2.0]))], &three).1, [3.0, 2.0, 1.0]);
    assert!(constant(vec![1.0, 2.0]).topk(3, 0).checked().is_err());
}

#[test]
fn filled_operands_keep_their_shapes() {
    let (m, x) = (vector::<f64>("m"), vector::<f64>("x"));
    let at = |m_len: usize, x_len: usize| {
        [(&m, Value::from(vec![7.0; m_len])), (&x, Value::from(vec![0.0; x_len]))]
    };
    let one = &ones_like(&m);
    for expression in [
        (one + x.exp()).log(),
        (one - x.exp()).log1p(),
        one - x.sigmoid(),
        x.exp() - one,
        one / (x.exp() + 1.0),
        x.exp() / (one + x.exp()),
        one / (one + x.exp()),
    ] {
        assert!(try_value(&at(3, 4), &expression).is_err(), "{expression:?}");
        assert_eq!(value(&at(3, 1), &expression).0, [3], "{expression:?}");
    }
    assert!(try_value(&at(3, 5), &x.reshape([4]).reshape([2, -1])).is_err());
}

#[test]
fn equal_lengths_do_not_broadcast() {
    let (x, m) = (vector::<i64>("x"), matrix::<f64>("m"));
    let w = vector::<f64>("w");
    let ids = |list: &[i64]| Value::from(list.to_vec());
    let counted = x.bincount(Some(&w), Bins::Exactly(3));
    assert!(try_value(&[(&x, ids(&[0, 1, 2])), (&w, Value::from(vec![1.0]))], &counted).is_err());
    assert!(x.try_bincount(Some(&constant(vec![1.0])), Bins::Exactly(3)).is_ok(), "x may be of length 1");
    let folded = m.segment_sum(&x, 3);
    assert!(try_value(&[(&x, ids(&[0, 1])), (&m, Value::from(array![[1.0]]))], &folded).is_err());
    assert_eq!(
        value(&[(&x, ids(&[0, 2])), (&m, Value::from(array![[1.0], [2.0]]))], &folded).1,
        [1.0, 0.0, 2.0]
    );
    let cost = categorical_crossentropy(&m, &x);
    let p = Value::from(array![[0.5, 0.5], [0.5, 0.5]]);
    assert!(try_value(&[(&x, ids(&[0])), (&m, p.clone())], &cost).is_err());
    assert!(try_value(&[(&x, ids(&[0, 1])), (&m, p)], &cost).is_ok());
    let trace = einsum("ii->i", [&m]);
    assert!(try_value(&[(&m, Value::from(array![[1.0, 2.0, 3.0]]))], &trace).is_err());
    assert_eq!(value(&[(&m, Value::from(array![[1.0, 2.0], [3.0, 4.0]]))], &trace).1, [1.0, 4.0]);
}

#[test]
fn ramps_equal_numpys() {
    let x = constant(vec![55i64]);
    let ramp = value(&[], &x.pad([[11, 0]], Pad::LinearRamp(0.0))).1;
    assert_eq!(ramp, [0., 5., 10., 15., 20., 25., 30., 35., 40., 45., 50., 55.]);
}

#[test]
fn nothing_but_a_constant_extends_an_empty_axis() {
    let modes = [Pad::Edge, Pad::LinearRamp(0.0), Pad::Maximum, Pad::Mean, Pad::Median, Pad::Minimum];
    let modes = modes.into_iter().chain([Pad::Reflect, Pad::Symmetric, Pad::Wrap]);
    let (x, none) = (vector::<f64>("x"), constant(Vec::<f64>::new()));
    for mode in modes {
        let message = none.pad([[1, 1]], mode).checked().unwrap_err().to_string();
        assert!(message.contains("empty"), "{message}");
        let given = Value::from(Vec::<f64>::new());
        assert!(try_value(&[(&x, given)], &x.pad([[1, 1]], mode)).is_err(), "{mode:?}");
    }
    assert_eq!(value(&[], &none.pad([[1, 1]], Pad::Constant(2.0))).1, [2., 2.]);
    for width in [1 << 63, usize::MAX] {
        refuses::<f64>(|x| x.pad([[width, 0]], Pad::Wrap), &["pad"]);
        refuses::<f64>(|x| x.repeat(width as u64, 0), &["repeat"]);
        refuses::<f64>(|x| x.tile([width]), &["tile"]);
    }
}

#[test]
fn counts_of_repeats() {
    let (x, counts) = (vector::<f64>("x"), vector::<i64>("counts"));
    let y = x.repeat(&counts, 0);
    let at = |c: Vec<i64>| try_value(&[(&x, Value::from(vec![1.5, 2.5])), (&counts, Value::from(c))], &y);
    assert_eq!(at(vec![2, 1]).unwrap().1, [1.5, 1.5, 2.5]);
    assert_eq!(at(vec![0, 0]).unwrap().0, [0]);
    assert!(at(vec![1, -1]).unwrap_err().to_string().contains("negative"));
    assert!(at(vec![1, 1, 1]).is_err() && at(vec![1]).is_err());
    refuses::<f64>(|x| x.repeat(-1, 0), &["repeat", "-1"]);
    refuses::<f64>(|x| x.repeat(1.5, 0), &["repeat"]);
    refuses::<f64>(|x| x.repeat(constant(array![[1i64]]), 0), &["vector of integers"]);
    refuses::<f64>(|x| x.repeat(constant(vec![1.0, 2.0]), 0), &["vector of integers"]);
}

#[test]
fn ranges_of_floats_follow_numpy() {
    let (x, n) = (scalar::<f32>("x"), scalar::<i64>("n"));
    let f = function([&x]).output(arange(&x)).output(arange_between(1, &x, 0.5)).compile().unwrap();
    let outputs = f.call(args![2.7]).unwrap();
    assert_eq!(outputs[0].to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0]);
    assert_eq!(outputs[1].to_vec::<f32>().unwrap(), [1.0, 1.5, 2.0, 2.5]);
    assert_eq!(f.call(args![-1.0]).unwrap()[0].shape(), [0]);
    let all = [arange(constant(2.7)), arange_between(3.0, 0, -1), arange_between(&n, 5.5, 2)];
    let f = function([&n]).outputs(&all).compile().unwrap();
    let outputs = f.call(args![1]).unwrap();
    assert_eq!(outputs[0].to_vec::<f64>().unwrap(), [0.0, 1.0, 2.0]);
    assert_eq!(outputs[1].to_vec::<f64>().unwrap(), [3.0, 2.0, 1.0]);
    assert_eq!(outputs[2].to_vec::<f64>().unwrap(), [1.0, 3.0, 5.0]);
}

#[test]
fn eye_takes_run_time_extents_and_refuses_invalid_ones() {
    let [n, m, k] = ["n", "m", "k"].map(scalar::<i64>);
    let f = function([&n, &m, &k]).output(eye(&n, &m, &k, DType::F32)).compile().unwrap();
    let mut simulator = f.optimize(Host::threads(1)).unwrap();
    for (n, m, k) in [(2i64, 3i64, 1i64), (3, 2, -1), (3, 3, 7), (0, 4, 0)] {
        let expected: Vec<f32> =
            (0..n).flat_map(|i| (0..m).map(move |j| f32::from(u8::from(i + k == j)))).collect();
        let results =
            [f.call_reference(args![n, m, k]), f.call(args![n, m, k]), simulator.call(args![n, m, k])];
        for outputs in results {
            let value = outputs.unwrap()[0].clone();
            assert_eq!(
                (value.shape(), value.to_vec().unwrap()),
                (&[n as usize, m as usize][..], expected.clone())
            );
        }
    }
    assert!(f.call_reference(args![-1i64, 2i64, 0i64]).is_err());
    assert!(f.call(args![-1i64, 2i64, 0i64]).is_err());
    let says = |x: Variable, what: &str| {
        let text = x.checked().unwrap_err().to_string();
        assert!(text.contains(what), "{what} is not in: {text}");
    };
    says(eye(-1, 2, 0, DType::F32), "extent -1 is negative");
    says(eye(constant(2.9), 2, 0, DType::F32), "expected a whole number or a 0-d integer, got float64()");
    says(full([-1], 1.0), "extent -1 is negative");
    says(full([constant(2.5)], 1.0), "expected a whole number or a 0-d integer, got float64()");
    assert!(grad(&(eye(&n, 3, 0, DType::F64).sum(..) * n.cast(DType::F64)), [&n]).is_err());
}

#[test]
fn means_take_axes_and_rectifiers_and_roots_are_methods() {
    let x = matrix::<f32>("x");
    let all = [x.mean(..), x.mean(0), x.mean([-1]), x.mean(over(1usize).keepdims()), x.relu(), x.rsqrt()];
    let outputs =
        function([&x]).outputs(&all).compile().unwrap().call(args![[[1f32, 4.0], [-1.0, 16.0]]]).unwrap();
    let floats = |at: usize| outputs[at].to_vec::<f32>().unwrap();
    assert_eq!((floats(0), floats(1), floats(2)), (vec![5.0], vec![0.0, 10.0], vec![2.5, 7.5]));
    assert_eq!((outputs[3].shape(), floats(4)), (&[2, 1][..], vec![1.0, 4.0, 0.0, 16.0]));
    assert_eq!((floats(5)[1], floats(5)[3]), (0.5, 0.25));
}

#[test]
fn initial_values_are_drawn_as_a_call_draws_them() {
    let (a, b) = (RandomStreams::new(5), RandomStreams::new(5));
    let first = a.draw_normal::<f32>(&[3, 4]).unwrap();
    let none: [&Variable; 0] = [];
    let f = function(none).output(b.normal::<f32>([3, 4])).compile().unwrap();
    assert_eq!(first, f.call(args![]).unwrap()[0]);
    assert_ne!(first, a.draw_normal::<f32>(&[3, 4]).unwrap());
    assert_eq!(a.draw_bits([2]).unwrap().dtype(), DType::U64);
    let unit = a.draw_uniform::<f64>(&[1000]).unwrap().to_vec::<f64>().unwrap();
    assert!(unit.iter().all(|u| (0.0..1.0).contains(u)));
    assert!(a.draw_uniform::<i32>(&[2]).is_err());
}

#[test]
fn bits_are_counted_as_numpy_counts_them() {
    // NumPy: np.bitwise_count(np.array([...])).
    let counted = |x: Variable| {
        let f = function(()).output(x.bitwise_count()).compile().unwrap();
        f.call(args![]).unwrap()[0].to_vec::<u8>().unwrap()
    };
    assert_eq!(counted(constant(vec![0i64, 1, -1, 255, i64::MIN, i64::MAX])), [0, 1, 1, 8, 1, 63]);
    assert_eq!(counted(constant(vec![u64::MAX, 0x8000_0000_0000_0001])), [64, 2]);
    assert_eq!(counted(constant(vec![i8::MIN, -3, 127])), [1, 2, 7]);
    assert_eq!(counted(constant(vec![u16::MAX])), [16]);
}

#[test]
fn a_sort_gives_values_and_positions() {
    let x = constant(ndarray::array![[3f32, 1.0, 2.0], [0.0, f32::NAN, -1.0]]);
    let [values, positions] = x.sort_both(1);
    let f = function(()).output(values).output(positions).compile().unwrap();
    let out = f.call(args![]).unwrap();
    assert_eq!(out[1].to_vec::<i64>().unwrap(), [1, 2, 0, 2, 0, 1]);
    assert_eq!(out[0].to_vec::<f32>().unwrap()[..5], [1.0, 2.0, 3.0, -1.0, 0.0]);
}
