//! Fourier transforms: NumPy's values, lengths and norms, gradients, files and errors.

use workalike::ops::fft::Norm;
use workalike::prelude::*;
use workalike::{Error, Result};

fn numbers(x: &Variable) -> Vec<f64> {
    let parts = if x.dtype().is_complex() { view_as_real(x) } else { x.clone() };
    let f = function(()).output(parts.cast(DType::F64)).compile().unwrap();
    f.call(args![]).unwrap()[0].to_vec().unwrap()
}

#[track_caller]
fn assert_near(given: &[f64], want: &[f64]) {
    assert_eq!(given.len(), want.len(), "{given:?} {want:?}");
    for (x, y) in given.iter().zip(want) {
        assert!((x - y).abs() < 1e-12 * (1.0 + y.abs()), "{given:?} {want:?}");
    }
}

/// `sum over j of z[j] exp(sign 2 pi i j k / n)`, by definition.
fn by_definition(z: &[f64], sign: f64) -> Vec<f64> {
    let n = z.len() / 2;
    let element = |k: usize| {
        let terms = (0..n).map(|j| {
            let angle = sign * std::f64::consts::TAU * (j * k % n) as f64 / n as f64;
            let (re, im, sin, cos) = (z[2 * j], z[2 * j + 1], angle.sin(), angle.cos());
            [re * cos - im * sin, re * sin + im * cos]
        });
        terms.fold([0.0; 2], |[a, b], [re, im]| [a + re, b + im])
    };
    (0..n).flat_map(element).collect()
}

fn wave(count: usize) -> Vec<f64> {
    (0..count).map(|at| (at as f64 * 1.7 + 0.3).sin()).collect()
}

#[test]
fn transforms_are_those_of_the_definition() {
    for n in [1, 2, 3, 4, 5, 8, 12, 17, 64, 97] {
        let z = wave(2 * n);
        let given = view_as_complex(constant(ArrayD::from_shape_vec(vec![n, 2], z.clone()).unwrap()));
        let scaled: Vec<f64> = by_definition(&z, 1.0).iter().map(|y| y / n as f64).collect();
        assert_near(&numbers(&fft::fft(&given)), &by_definition(&z, -1.0));
        assert_near(&numbers(&fft::ifft(&given)), &scaled);
        let x = wave(n);
        let padded: Vec<f64> = x.iter().flat_map(|&re| [re, 0.0]).collect();
        let half = by_definition(&padded, -1.0)[..(n / 2 + 1) * 2].to_vec();
        let spectrum = fft::rfft(constant(x.clone()));
        assert_near(&numbers(&spectrum), &half);
        assert_near(&numbers(&fft::over([-1]).lengths([n as i64]).irfft(&spectrum)), &x);
    }
}

/// Values of NumPy 2.4.
#[test]
fn values_of_numpy() {
    let x = constant(array![[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]);
    // numpy.fft.rfft2(x)
    let want = [22.0, 0.0, -3.5, 2.598076211353316, -10.0, 0.0, 0.5, -0.8660254037844386];
    assert_near(&numbers(&fft::rfftn(&x)), &want);
    // numpy.fft.irfft([1 + 5j, 2 - 1j, 3 + 9j]): the imaginary parts of the ends are not read.
    let z = view_as_complex(constant(array![[1.0, 5.0], [2.0, -1.0], [3.0, 9.0]]));
    // numpy.fft.fft([1, 2, 4])
    let of_reals = numbers(&fft::fft(constant(vec![1.0, 2.0, 4.0])));
    assert_near(&of_reals, &[7.0, 0.0, -2.0, 1.7320508075688772, -2.0, -1.7320508075688772]);
    assert_near(&numbers(&fft::irfft(&z)), &[2.0, 0.0, 0.0, -1.0]);
    assert_near(&numbers(&fft::fftfreq(5, 0.5)), &[0.0, 0.4, 0.8, -0.8, -0.4]);
    assert_near(&numbers(&fft::fftfreq(4, 1.0)), &[0.0, 0.25, -0.5, -0.25]);
    assert_near(&numbers(&fft::rfftfreq(5, 0.5)), &[0.0, 0.4, 0.8]);
}

#[test]
fn zeros_keep_their_signs_and_squares_their_range() {
    let negative = complex(constant(vec![-0.0, 1.0]), constant(-0.0));
    assert!(numbers(&negative)[..2].iter().all(|part| part.is_sign_negative()), "zeros keep their signs");
    assert_near(&numbers(&constant(Complex::new(1.0, 2.0)).conj()), &[1.0, -2.0]);
    let product = constant(Complex::new(1.0, 2.0)) * Complex::new(3.0, -1.0);
    assert_near(&numbers(&product), &[5.0, 5.0]);
    let z = constant(vec![Complex::new(3e200, 4e200), Complex::new(0.0, 0.0)]);
    let slope = Grad::of(&z.abs().sum(..)).wrt([&z]).unwrap().swap_remove(0);
    // The squares are beyond the range of float64.
    assert_near(&numbers(&(z.abs() * 1e-200)), &[5.0, 0.0]);
    assert_near(&numbers(&slope), &[0.6, 0.8, 0.0, 0.0]);
}

#[test]
fn norms_scale_and_lengths_cut_and_fill() {
    let x = constant(vec![1.0, 2.0, 3.0, 6.0]);
    let first = |norm| numbers(&fft::over([-1]).norm(norm).rfft(&x))[0];
    assert_eq!([Norm::Backward, Norm::Ortho, Norm::Forward].map(first), [12.0, 6.0, 3.0]);
    for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
        let of = fft::over([0]).norm(norm);
        assert_near(&numbers(&of.irfft(of.rfft(&x))), &[1.0, 2.0, 3.0, 6.0]);
        let z = complex(&x, &x * 0.5);
        assert_near(&numbers(&of.ifft(of.fft(&z)).real()), &[1.0, 2.0, 3.0, 6.0]);
    }
    let of = |n: i64| fft::over([-1]).lengths([n]);
    assert_near(&numbers(&of(2).rfft(&x)), &[3.0, 0.0, -1.0, 0.0]);
    assert_near(
        &numbers(&of(6).rfft(&x)),
        &numbers(&fft::rfft(constant(vec![1.0, 2.0, 3.0, 6.0, 0.0, 0.0]))),
    );
    assert_eq!(of(5).irfft(fft::rfft(&x)).ty().shape[0], Some(5));
}

/// Extents that are known at the call only.
#[test]
fn lengths_may_be_known_at_the_call() {
    let (x, n) = (vector::<f64>("x"), scalar::<i64>("n"));
    let spectrum = fft::over([-1]).lengths([&n]).norm(Norm::Ortho).rfft(&x);
    let back = fft::over([-1]).lengths([&n]).norm(Norm::Ortho).irfft(&spectrum);
    let slope = Grad::of(&spectrum.abs().sqr().sum(..)).wrt([&x]).unwrap().swap_remove(0);
    let outputs = [&view_as_real(&spectrum), &back, &fft::irfft(fft::rfft(&x)), &slope];
    let f = function([&x, &n]).outputs(outputs).compile().unwrap();
    for (count, n) in [(4usize, 4i64), (4, 6), (6, 5), (7, 7)] {
        let x = wave(count);
        let outputs = f.call(args![x.clone(), n]).unwrap();
        let known = fft::over([-1]).lengths([n]).norm(Norm::Ortho).rfft(constant(x.clone()));
        assert_near(&outputs[0].to_vec::<f64>().unwrap(), &numbers(&known));
        let whole: Vec<f64> = x.iter().copied().chain([0.0; 8]).take(n as usize).collect();
        assert_near(&outputs[1].to_vec::<f64>().unwrap(), &whole);
        assert_eq!(outputs[2].shape(), [count / 2 * 2]);
        assert_eq!(outputs[3].shape(), [count]);
    }
    assert!(f.call(args![wave(4), -1i64]).is_err());
    assert!(f.call(args![wave(4), 0i64]).is_err());
    f.call(args![wave(4), 4i64]).unwrap();
}

#[test]
fn axes_are_transformed_one_after_the_other() {
    let x = constant(ArrayD::from_shape_vec(vec![2, 3, 4, 5, 6], wave(720)).unwrap());
    let by_axes =
        |z: &Variable, axes: &[isize]| axes.iter().fold(z.clone(), |z, &axis| fft::over([axis]).fft(&z));
    let z = complex(&x, &x * 2.0);
    for axes in [&[0][..], &[1, -1], &[3, 0, 1], &[0, 1, 2, 3, 4], &[4, 2, 0, 1]] {
        let all = fft::over(axes.iter().copied());
        assert_near(&numbers(&all.fft(&z)), &numbers(&by_axes(&z, axes)));
        let (last, others) = axes.split_last().unwrap();
        let spectrum = all.rfft(&x);
        assert_near(&numbers(&spectrum), &numbers(&by_axes(&fft::over([*last]).rfft(&x), others)));
        let shape = x.ty().shape.clone();
        let lengths = axes.iter().map(|&axis| shape[(axis.rem_euclid(5)) as usize].unwrap() as i64);
        assert_near(&numbers(&all.clone().lengths(lengths).irfft(&spectrum)), &wave(720));
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let x = wave(30);
    let weight = |y: &Variable| y.sqr() * y + y;
    type Build = fn(&Variable) -> Variable;
    let builds: [(&str, Build); 8] = [
        ("fft", |x| view_as_real(fft::fft(view_as_complex(x.reshape([5, 3, 2]))))),
        ("fft of reals", |x| view_as_real(fft::fft(x.reshape([5, 6])))),
        ("ifft", |x| {
            let ortho = fft::over([0, 1]).norm(Norm::Ortho);
            view_as_real(ortho.ifft(view_as_complex(x.reshape([5, 3, 2]))))
        }),
        ("rfft, even", |x| view_as_real(fft::rfft(x.reshape([5, 6])))),
        ("rfft, odd", |x| view_as_real(fft::rfft(x.reshape([6, 5])))),
        ("rfftn", |x| view_as_real(fft::rfftn(x.reshape([3, 5, 2])))),
        ("irfft, even", |x| fft::irfft(view_as_complex(x.reshape([3, 5, 2])))),
        ("irfft, odd", |x| fft::over([0, 1]).lengths([4, 7]).irfft(view_as_complex(x.reshape([3, 5, 2])))),
    ];
    for (name, build) in builds {
        let cost = |inputs: &[Variable]| weight(&build(&inputs[0]));
        let at = [Value::from_vec(&[30], x.clone()).unwrap()];
        verify_grad(cost, &at, 1e-6).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_file_holds_them() -> Result<()> {
    let (x, n) = (matrix::<f32>("x"), scalar::<i64>("n"));
    let z = fft::over([0, 1]).lengths([&n, &n]).rfft(&x);
    let outputs = [&fft::fftn(&z), &fft::irfft(&z), &fft::over([0, 1]).lengths([3, 5]).irfft(&z)];
    let f = function([&x, &n]).outputs(outputs).compile()?;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.wkl");
    f.save(&file)?;
    let loaded = Function::load(&file)?;
    let given = || args![Value::from_vec(&[2, 3], vec![1f32, 2., 3., 4., 5., 6.]).unwrap(), 4i64];
    for (a, b) in f.call(given())?.iter().zip(loaded.call(given())?.iter()) {
        assert_eq!((a.1.dtype(), a.1.to_f64s()), (b.1.dtype(), b.1.to_f64s()));
    }
    Ok(())
}

#[test]
fn errors_say_what_does_not_fit() {
    let (x, h) = (matrix::<f32>("x"), vector::<half::f16>("h"));
    let z = matrix::<Complex<f32>>("z");
    for (wrong, part) in [
        (fft::fft(scalar::<f32>("s")), "axis -1 is out of range"),
        (fft::rfft(&z), "expected real numbers"),
        (fft::fft(&h), "cast it to float32"),
        (fft::rfft(scalar::<f32>("s")), "axis -1 is out of range"),
        (fft::rfft(&h), "cast it to float32"),
        (fft::over([0, -2]).rfft(&x), "axis 0 is given twice"),
        (fft::over([2]).rfft(&x), "axis 2 is out of range"),
        (fft::over([]).rfft(&x), "no axes"),
        (fft::over([0]).lengths([2, 3]).rfft(&x), "2 lengths for 1 axes"),
        (fft::over([0]).lengths([0]).rfft(&x), "a length of 0"),
        (fft::rfft(constant(Array::<f64, _>::zeros([2, 0]))), "0 elements"),
        (fft::irfft(constant(Array::<f64, _>::zeros([2, 1]))), "0 elements"),
    ] {
        let e = wrong.checked().map(|_| ()).unwrap_err();
        assert!(matches!(e, Error::Expression { .. }), "{e:?}");
        let text = e.to_string();
        assert!(text.contains(part) && text.contains("tests/it/fft.rs"), "{text}");
    }
    let f = function([&x]).output(fft::rfft(&x)).compile().unwrap();
    let none = f.call(args![Array::<f32, _>::zeros([0, 4])]).unwrap();
    assert_eq!(none[0].shape(), [0, 3]);
    let e = f.call(args![Array::<f32, _>::zeros([4, 0])]).unwrap_err().to_string();
    assert!(e.contains("0 elements") && e.contains("tests/it/fft.rs"), "{e}");
    f.call(args![Array::<f32, _>::zeros([4, 1])]).unwrap();
}

/// All rows at once, by the batching rule: the matrix of the transform.
#[test]
fn jacobians_are_the_matrices_of_the_transforms() {
    let n = 6usize;
    let angle = |k: usize, j: usize| std::f64::consts::TAU * (k * j % n) as f64 / n as f64;
    for x in [vector::<f64>("x"), tensor::<f64>("x", [Some(n)])] {
        let forward = jacobian(&view_as_real(fft::rfft(&x)).flatten(), [&x]).unwrap().swap_remove(0);
        let back = fft::over([-1]).lengths([x.extent(0)]);
        let round = jacobian(&back.irfft(fft::rfft(&x)), [&x]).unwrap().swap_remove(0);
        let f = function([&x]).outputs([&forward, &round]).allow_unused_inputs().compile().unwrap();
        let outputs = f.call(args![wave(n)]).unwrap();
        assert_eq!(outputs[0].shape(), [(n / 2 + 1) * 2, n]);
        let entries = (0..=n / 2).flat_map(|k| [0, 1].map(|part| (k, part)));
        let want = entries.flat_map(|(k, part)| {
            (0..n).map(move |j| if part == 0 { angle(k, j).cos() } else { -angle(k, j).sin() })
        });
        assert_near(&outputs[0].to_vec::<f64>().unwrap(), &want.collect::<Vec<_>>());
        let identity: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at / n == at % n))).collect();
        assert_near(&outputs[1].to_vec::<f64>().unwrap(), &identity);
    }
}

/// Transforms in the body of a loop, with their gradient, on a device.
#[test]
fn loops_transform() {
    let x = tensor::<f64>("x", [Some(4)]);
    let decay = constant(array![1.0, 0.5, 0.25]);
    let next = |u: &Variable| fft::irfft(fft::rfft(u) * &decay);
    let (looped, unrolled) = (fori(3, &x, |_, u| next(&u)), next(&next(&next(&x))));
    let slope = |y: &Variable| Grad::of(&(y.sqr() * y).sum(..)).wrt([&x]).unwrap().swap_remove(0);
    let slopes = [slope(&looped), slope(&unrolled)];
    let f = function([&x]).outputs([&looped, &unrolled]).outputs(slopes).compile().unwrap();
    let mut sim = f.optimize(Host::threads(2).strict()).unwrap();
    let [looped, unrolled, of_loop, of_rows] = [0, 1, 2, 3];
    for outputs in [f.call_reference(args![wave(4)]).unwrap(), sim.call(args![wave(4)]).unwrap()] {
        let numbers = |at: usize| outputs[at].to_vec::<f64>().unwrap();
        assert_near(&numbers(looped), &numbers(unrolled));
        assert_near(&numbers(of_loop), &numbers(of_rows));
        assert!(numbers(of_loop).iter().all(|slope| *slope != 0.0));
    }
}
