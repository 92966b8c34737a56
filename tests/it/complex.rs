//! Complex numbers: values of `num_complex`, gradients, views, files, state, loops, and what is refused.

use workalike::ops::{from_polar, view_as_complex, view_as_real};
use workalike::prelude::*;
use workalike::{Error, Result};

type C = Complex<f64>;

fn c(re: f64, im: f64) -> C {
    Complex::new(re, im)
}

/// Points in all quadrants, on both axes, large and small.
fn points() -> Vec<C> {
    let parts = [-3.5, -1.0, -0.25, -0.0, 0.0, 0.5, 1.0, 2.75];
    let all = parts.iter().flat_map(|&re| parts.map(|im| c(re, im)));
    all.chain([c(1e-200, 2e-200), c(3e150, -4e150), c(-1e-9, 1e9)]).collect()
}

fn call(outputs: &[&Variable], inputs: &[(&Variable, Value)]) -> Vec<Value> {
    let variables: Vec<Variable> = inputs.iter().map(|(variable, _)| (*variable).clone()).collect();
    let f = function(&variables).outputs(outputs.iter().copied()).compile().unwrap();
    let args = || inputs.iter().fold(Args::new(), |args, (_, value)| args.with(value));
    let (fast, plain) = (f.call(args()).unwrap(), f.call_reference(args()).unwrap());
    let (fast, plain) = (fast.into_values(), plain.into_values());
    for (fast, plain) in fast.iter().zip(&plain) {
        assert_eq!((fast.dtype(), fast.shape()), (plain.dtype(), plain.shape()));
        let error = if fast.dtype().real() == DType::F32 { 2e-6 } else { 1e-13 };
        for (a, b) in numbers(fast).into_iter().zip(numbers(plain)) {
            assert!(near(a, b, error), "{a} on the host, {b} by the reference");
        }
    }
    fast
}

fn numbers(value: &Value) -> Vec<C> {
    value.cast(DType::C128).unwrap().to_vec().unwrap()
}

/// Equal up to a part of the magnitude; NaN is equal to NaN.
fn near(a: C, b: C, error: f64) -> bool {
    let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    (same(a.re, b.re) && same(a.im, b.im)) || (a - b).norm() <= error * b.norm().max(1e-290)
}

#[track_caller]
fn assert_near(given: &[C], want: &[C], error: f64, of: &str) {
    assert_eq!(given.len(), want.len(), "{of}");
    for (at, (&a, &b)) in given.iter().zip(want).enumerate() {
        assert!(near(a, b, error), "{of}, element {at}: {a}, expected {b}");
    }
}

#[test]
fn functions_have_the_values_of_num_complex() {
    type Symbolic = fn(&Variable) -> Variable;
    type Known = fn(C) -> C;
    let functions: [(&str, Symbolic, Known); 17] = [
        ("exp", |z| z.exp(), |z| z.exp()),
        ("log", |z| z.log(), |z| z.ln()),
        ("sqrt", |z| z.sqrt(), |z| z.sqrt()),
        ("sin", |z| z.sin(), |z| z.sin()),
        ("cos", |z| z.cos(), |z| z.cos()),
        ("tan", |z| z.tan(), |z| z.tan()),
        ("sinh", |z| z.sinh(), |z| z.sinh()),
        ("cosh", |z| z.cosh(), |z| z.cosh()),
        ("tanh", |z| z.tanh(), |z| z.tanh()),
        ("sqr", |z| z.sqr(), |z| z * z),
        ("reciprocal", |z| z.reciprocal(), |z| 1.0 / z),
        ("negative", |z| -z, |z| -z),
        ("conj", |z| z.conj(), |z| z.conj()),
        ("abs", |z| z.abs(), |z| c(z.norm(), 0.0)),
        ("angle", |z| z.angle(), |z| c(z.arg(), 0.0)),
        ("cube", |z| z.pow(3), |z| z * z * z),
        ("power", |z| z.pow(0.5), |z| z.sqrt()),
    ];
    // Where the functions neither overflow nor divide by 0.
    let usual: Vec<C> = points().into_iter().filter(|z| z.norm() > 1e-3 && z.norm() < 100.0).collect();
    for dtype in [DType::C64, DType::C128] {
        let error = if dtype == DType::C64 { 1e-5 } else { 1e-13 };
        let given = Value::from(usual.clone()).cast(dtype).unwrap();
        let z = Variable::input("z", TensorType::of_rank(dtype, 1));
        for (name, symbolic, known) in functions {
            let output = symbolic(&z);
            let want: Vec<C> = numbers(&given).into_iter().map(known).collect();
            let got = call(&[&output], &[(&z, given.clone())]).swap_remove(0);
            let real = matches!(name, "abs" | "angle");
            assert_eq!(got.dtype(), if real { dtype.real() } else { dtype }, "{name}");
            // The imaginary part of the power's logarithm is 0 or pi, of num_complex's root too.
            assert_near(&numbers(&got), &want, error, name);
        }
    }
}

#[test]
fn edges() {
    let z = vector::<C>("z");
    let at = |f: fn(&Variable) -> Variable, given: C| {
        numbers(&call(&[&f(&z)], &[(&z, Value::from(vec![given]))])[0])[0]
    };
    assert_eq!(at(|z| z.sqrt(), c(0.0, 0.0)), c(0.0, 0.0));
    assert_eq!(at(|z| z.sqrt(), c(-4.0, 0.0)), c(0.0, 2.0));
    assert_eq!(at(|z| z.sqrt(), c(-4.0, -0.0)), c(0.0, -2.0));
    assert_eq!(at(|z| z.pow(0.0), c(0.0, 0.0)), c(1.0, 0.0));
    assert_eq!(at(|z| z.pow(2.5), c(0.0, 0.0)), c(0.0, 0.0));
    assert_eq!(at(|z| z.pow(-1), c(0.0, 2.0)), c(0.0, -0.5));
    assert!(near(at(|z| z.abs(), c(3e200, -4e200)), c(5e200, 0.0), 1e-15));
    assert_eq!(at(|z| z / c(3e200, 4e200), c(3e200, 4e200)), c(1.0, 0.0));
    assert_eq!(at(|z| 1.0 / z, c(0.0, 1e-200)), c(0.0, -1e200));
    assert_eq!(at(|z| z.tanh(), c(800.0, 1.0)), c(1.0, 0.0));
    assert_eq!(at(|z| z.sign(), c(0.0, 0.0)), c(0.0, 0.0));
    assert!(at(|z| z.isnan(), c(0.0, f64::NAN)).re == 1.0 && at(|z| z.isfinite(), c(1.0, 2.0)).re == 1.0);
}

#[test]
fn operators_broadcast_and_promote() {
    let (z, w) = (vector::<C>("z"), matrix::<Complex<f32>>("w"));
    let (x, k) = (vector::<f64>("x"), vector::<i32>("k"));
    let given = [
        (&z, Value::from(vec![c(1.0, 2.0), c(-3.0, 0.5), c(0.25, -1.0)])),
        (&w, Value::from([[Complex::new(2f32, -1.0); 3], [Complex::new(0.5, 4.0); 3]])),
        (&x, Value::from(vec![2.0, -0.5, 3.0])),
        (&k, Value::from(vec![1, 2, 3])),
    ];
    let outputs = [
        &z + &w,
        &z - &w,
        &z * &w,
        &z / &w,
        &x * &z,
        &z / &x,
        &x / &z,
        &k + &z,
        &z - 1,
        2.0 * &z,
        &z * c(0.0, 1.0),
        z.equal(x.cast(DType::C128)),
        1.0 - &z,
        z.pow(&w),
    ];
    let got = call(&outputs.iter().collect::<Vec<_>>(), &given);
    let zs = [c(1.0, 2.0), c(-3.0, 0.5), c(0.25, -1.0)];
    let (xs, ks) = ([2.0, -0.5, 3.0], [1.0, 2.0, 3.0]);
    let by_row = |f: fn(C, C) -> C| -> Vec<C> {
        [c(2.0, -1.0), c(0.5, 4.0)].iter().flat_map(|&w| zs.map(|z| f(z, w))).collect()
    };
    let by = |f: &dyn Fn(usize) -> C| -> Vec<C> { (0..3).map(f).collect() };
    let want: [Vec<C>; 14] = [
        by_row(|z, w| z + w),
        by_row(|z, w| z - w),
        by_row(|z, w| z * w),
        by_row(|z, w| z / w),
        by(&|i| zs[i] * xs[i]),
        by(&|i| zs[i] / xs[i]),
        by(&|i| xs[i] / zs[i]),
        by(&|i| zs[i] + ks[i]),
        by(&|i| zs[i] - 1.0),
        by(&|i| zs[i] * 2.0),
        by(&|i| zs[i] * c(0.0, 1.0)),
        by(&|_| c(0.0, 0.0)),
        by(&|i| 1.0 - zs[i]),
        by_row(|z, w| z.powc(w)),
    ];
    for (at, (got, want)) in got.iter().zip(&want).enumerate() {
        assert_near(&numbers(got), want, 1e-13, &format!("output {at}"));
    }
    assert_eq!((2.0 * matrix::<Complex<f32>>("v")).dtype(), DType::C64);
    assert_eq!((vector::<f32>("v") * c(0.0, 1.0)).dtype(), DType::C64);
    assert_eq!((vector::<i32>("v") * c(0.0, 1.0)).dtype(), DType::C128);
    assert_eq!((matrix::<Complex<f32>>("v") + &x).dtype(), DType::C128);
}

/// A real cost of complex numbers, whose gradient is compared with differences along both parts.
#[track_caller]
fn check_gradient(name: &str, cost: fn(&Variable) -> Variable) {
    let values = Array::from_shape_fn((5, 2), |(row, part)| (row * 2 + part) as f64 * 0.37 - 1.55);
    let checked = verify_grad(|x| cost(&view_as_complex(&x[0])), &[Value::from(&values)], 1e-6);
    checked.unwrap_or_else(|e| panic!("{name}: {e}"));
    // The gradient with respect to the complex numbers is that of the pairs.
    let (pairs, z) = (matrix::<f64>("pairs"), vector::<C>("z"));
    let slope = grad(cost(&z), [&z]).unwrap().swap_remove(0);
    let of_pairs = grad(cost(&view_as_complex(&pairs)), [&pairs]).unwrap().swap_remove(0);
    let given = Value::from(&values);
    let zs = call(&[&view_as_complex(&pairs)], &[(&pairs, given.clone())]).swap_remove(0);
    let slope = call(&[&view_as_real(slope)], &[(&z, zs)]).swap_remove(0);
    let want = call(&[&of_pairs], &[(&pairs, given)]).swap_remove(0);
    assert_near(&numbers(&slope), &numbers(&want), 1e-12, name);
}

#[test]
fn gradients_are_those_of_the_parts() {
    check_gradient("abs", |z| z.abs().sqr().sum(..));
    check_gradient("exp", |z| z.exp().real().sum(..));
    check_gradient("log", |z| (z.log() * z.conj()).imag().sum(..));
    check_gradient("sqrt", |z| z.sqrt().real().sum(..));
    check_gradient("quotient", |z| (1.0 / (z + 3.0) + z / (z.sqr() + 7.0)).imag().sum(..));
    check_gradient("power", |z| z.pow(c(1.5, 0.5)).real().sum(..));
    check_gradient("angle", |z| z.angle().sin().sum(..));
    check_gradient("trigonometric", |z| (z.sin() * z.cosh() + z.tanh()).real().sum(..));
    check_gradient("polar", |z| (from_polar(z.real(), z.imag()) * z).imag().sum(..));
    check_gradient("dot", |z| z.dot(z.conj() * z).real());
    check_gradient("moved", |z| (z.index(idx![1..]) * z.index(idx![..-1]).conj()).real().sum(..));
    check_gradient("fft", |z| (fft::fft(z) * z.conj()).real().sum(..));
    check_gradient("where", |z| where_(z.real().less(0.0), z.sqr(), z * c(0.0, 1.0)).imag().sum(..));
}

/// dC/dx + i dC/dy, as Theano and PyTorch define it.
#[test]
fn the_gradient_points_uphill() {
    let z = scalar::<C>("z");
    let slopes = [z.abs().sqr(), z.real(), z.imag(), (&z * &z).real()];
    let slopes: Vec<Variable> = slopes.iter().map(|cost| grad(cost, [&z]).unwrap().swap_remove(0)).collect();
    let got = call(&slopes.iter().collect::<Vec<_>>(), &[(&z, Value::from(c(1.0, 2.0)))]);
    let want = [c(2.0, 4.0), c(1.0, 0.0), c(0.0, 1.0), c(2.0, -4.0)];
    assert_near(&got.iter().flat_map(numbers).collect::<Vec<_>>(), &want, 1e-15, "gradients");
    // With respect to an expression that a cost was made of.
    let (re, im) = (scalar::<f64>("re"), scalar::<f64>("im"));
    let z = complex(&re, &im);
    let slope = grad((&z * z.conj()).real(), [&z]).unwrap().swap_remove(0);
    let got = call(&[&slope], &[(&re, Value::from(3.0)), (&im, Value::from(-1.0))]);
    assert_near(&numbers(&got[0]), &[c(6.0, -2.0)], 1e-15, "of an expression");
}

#[test]
fn arrays_are_moved_summed_and_multiplied() {
    let z = matrix::<C>("z");
    let given = Array::from_shape_fn((3, 4), |(i, j)| c(i as f64 - 0.5, j as f64 * 2.0 - 3.0));
    let index = constant(vec![2i64, 0]);
    let w = vector::<C>("w");
    let weights = vec![c(1.0, -1.0), c(0.0, 2.0), c(3.0, 0.0)];
    let outputs = [
        z.t(),
        z.index(idx![.., 1..3]),
        z.index(idx![&index]),
        z.reshape([2, 6]),
        z.sum(0),
        z.mean(..),
        z.cumsum(1),
        z.t().dot(&w),
        concatenate([&z, &z.conj()], 0).index(idx![-1]),
        z.flip(0),
        z.std(..),
        z.set_index(idx![0], c(7.0, 1.0)),
        z.inc_index(idx![&index, 1], constant(c(1.0, 1.0))),
        z.repeat(2, 0).index(idx![1]),
        full_like(&z, c(0.0, 1.0)).index(idx![0, 0]),
        z.take(constant(1i64), 1),
    ];
    let got = call(
        &outputs.iter().collect::<Vec<_>>(),
        &[(&z, Value::from(&given)), (&w, Value::from(weights.clone()))],
    );
    let flat = |a: ArrayD<C>| a.iter().copied().collect::<Vec<C>>();
    let mut set = given.clone();
    set.row_mut(0).fill(c(7.0, 1.0));
    let mut increased = given.clone();
    increased[[2, 1]] += c(1.0, 1.0);
    increased[[0, 1]] += c(1.0, 1.0);
    let mut running = given.clone();
    for i in 0..3 {
        for j in 1..4 {
            running[[i, j]] = running[[i, j - 1]] + given[[i, j]];
        }
    }
    use ndarray::{Axis, s};
    let want: Vec<Vec<C>> = vec![
        flat(given.t().to_owned().into_dyn()),
        flat(given.slice(s![.., 1..3]).to_owned().into_dyn()),
        flat(given.select(Axis(0), &[2, 0]).into_dyn()),
        flat(given.clone().into_dyn()),
        flat(given.sum_axis(Axis(0)).into_dyn()),
        vec![given.sum() / 12.0],
        flat(running.into_dyn()),
        (0..4).map(|j| (0..3).map(|i| given[[i, j]] * weights[i]).sum()).collect(),
        given.row(2).iter().map(|z| z.conj()).collect(),
        flat(given.slice(s![..;-1, ..]).to_owned().into_dyn()),
        vec![c((given.mapv(|z| (z - given.sum() / 12.0).norm_sqr()).sum() / 12.0).sqrt(), 0.0)],
        flat(set.into_dyn()),
        flat(increased.into_dyn()),
        given.row(0).to_vec(),
        vec![c(0.0, 1.0)],
        given.column(1).to_vec(),
    ];
    for (at, (got, want)) in got.iter().zip(&want).enumerate() {
        assert_near(&numbers(got), want, 1e-14, &format!("output {at}"));
    }
}

#[test]
fn views_copy_nothing_and_go_both_ways() -> Result<()> {
    let pairs = matrix::<f32>("pairs");
    let z = view_as_complex(&pairs);
    let f = function([&pairs]).outputs([&z, &view_as_real(&z), &view_as_real(z.conj())]).compile()?;
    let outputs = f.call(args![array![[1.0f32, 2.0], [3.0, -0.0]]])?;
    assert_eq!(outputs[0].to_vec::<Complex<f32>>()?, [Complex::new(1.0, 2.0), Complex::new(3.0, -0.0)]);
    assert_eq!(outputs[1].to_vec::<f32>()?, [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(outputs[2].to_vec::<f32>()?, [1.0, -2.0, 3.0, 0.0]);
    let triples = f.call(args![array![[1.0f32, 2.0, 3.0]]]).unwrap_err();
    assert!(triples.to_string().contains("pairs"), "{triples}");
    f.call(args![array![[1.0f32, 2.0]]])?;
    Ok(())
}

#[test]
fn state_files_and_loops_hold_complex_numbers() -> Result<()> {
    let state = shared("state", vec![c(1.0, 0.0), c(0.0, 1.0)]);
    let turn = scalar::<C>("turn");
    let step = function([&turn]).output(state.abs().sum(..)).update(&state, &state * &turn).compile()?;
    let bytes = Bundle::new().with("step", &step).to_bytes()?;
    let step = Bundle::from_bytes(&bytes)?["step"].clone();
    for _ in 0..3 {
        step.call(args![c(0.0, 1.0)])?;
    }
    let after: Vec<C> = step.shared("state")?.get_value()?.to_vec()?;
    assert_near(&after, &[c(0.0, -1.0), c(1.0, 0.0)], 1e-15, "state");
    let (z, steps) = (vector::<C>("z"), scalar::<i64>("steps"));
    let orbit = fori(&steps, &z, |_, z| z.sqr() + c(-0.5, 0.5));
    let outputs = call(&[&orbit], &[(&z, Value::from(vec![c(0.1, 0.2)])), (&steps, Value::from(3i64))]);
    let want = (0..3).fold(c(0.1, 0.2), |z, _| z * z + c(-0.5, 0.5));
    assert_near(&numbers(&outputs[0]), &[want], 1e-14, "orbit");
    Ok(())
}

/// What is refused names the op and the way out, and does not poison what follows.
#[test]
fn other_ops_refuse_complex_numbers() {
    let (z, x) = (vector::<C>("z"), vector::<f64>("x"));
    let refused: [(Variable, &str); 9] = [
        (z.less(1.0), "no order"),
        (z.maximum(&x), "no order"),
        (z.max(..), "real()"),
        (z.sort(0), "real()"),
        (z.erf(), "real()"),
        (z.floor(), "real()"),
        (z.cast(DType::F64), "real()"),
        (fft::rfft(&z), "fft is for complex"),
        (x.index(idx![&z]), "integer"),
    ];
    for (variable, expected) in refused {
        let error = variable.checked().unwrap_err();
        assert!(matches!(error, Error::Expression { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let cost = (&z * 2.0).sum(..);
    let error = grad(&cost, [&z]).unwrap_err().to_string();
    assert!(error.contains("complex128") && error.contains("real"), "{error}");
    let random = linalg::inv(matrix::<C>("a"));
    assert!(random.checked().unwrap_err().to_string().contains("real()"));
}
