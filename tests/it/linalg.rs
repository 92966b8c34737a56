//! Linear algebra as users write it: literal values, types, a likelihood and its gradient, and where it runs.

use workalike::engine::device::Interpreter;
use workalike::ops::linalg::SolveTriangular;
use workalike::prelude::*;

fn numbers(output: &Variable) -> Vec<f64> {
    let f = function(()).output(output).compile().unwrap();
    let (fast, plain) = (f.call(args![]).unwrap(), f.call_reference(args![]).unwrap());
    assert_eq!(fast[0], plain[0]);
    plain[0].to_f64s()
}

fn assert_near(got: &[f64], want: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * (1.0 + b.abs());
    assert!(got.len() == want.len() && got.iter().zip(want).all(near), "{got:?}, not {want:?}");
}

#[test]
fn literal_values() {
    let a = &constant(array![[4.0, 2.0], [2.0, 5.0]]);
    assert_near(&numbers(&linalg::cholesky(a)), &[2.0, 0.0, 1.0, 2.0]);
    assert_near(&numbers(&linalg::cholesky_upper(a)), &[2.0, 1.0, 0.0, 2.0]);
    assert_near(&numbers(&linalg::inv(a)), &[0.3125, -0.125, -0.125, 0.25]);
    assert_near(&numbers(&linalg::det(a)), &[16.0]);
    assert_near(&numbers(&linalg::solve(a, constant(vec![8.0, 12.0]))), &[1.0, 2.0]);
    let exchanged = constant(array![[0.0, 2.0], [3.0, 1.0]]);
    let [sign, logarithm] = linalg::slogdet(&exchanged);
    assert_near(&numbers(&sign), &[-1.0]);
    assert_near(&numbers(&logarithm), &[6f64.ln()]);
    let b = constant(vec![2.0, 9.0]);
    for (triangle, want) in [
        (SolveTriangular::LOWER, [0.5, 1.6]),
        (SolveTriangular::UPPER, [-0.4, 1.8]),
        (SolveTriangular::LOWER.transposed(), [-0.4, 1.8]),
        (SolveTriangular::UPPER.transposed(), [0.5, 1.6]),
        (SolveTriangular::LOWER.unit_diagonal(), [2.0, 5.0]),
        (SolveTriangular::UPPER.unit_diagonal(), [-16.0, 9.0]),
    ] {
        assert_near(&numbers(&linalg::solve_triangular(a, &b, triangle)), &want);
    }
}

#[test]
fn the_other_triangle_and_symmetry_are_not_looked_at() {
    let a = &constant(array![[4.0, f64::NAN], [2.0, 5.0]]);
    assert_near(&numbers(&linalg::cholesky(a)), &[2.0, 0.0, 1.0, 2.0]);
    assert_near(
        &numbers(&linalg::solve_triangular(a, constant(vec![2.0, 9.0]), SolveTriangular::LOWER)),
        &[0.5, 1.6],
    );
}

#[test]
fn only_exactly_singular_matrices_are_refused() {
    let nearly = constant(array![[1.0, 2.0], [2.0, 4.0 + 4.0 * f64::EPSILON]]);
    assert_eq!(numbers(&linalg::solve(&nearly, constant(vec![0.0, 0.0]))), [0.0, 0.0]);
    let singular = constant(array![[1.0, 2.0], [2.0, 4.0]]);
    assert_eq!(numbers(&linalg::det(&singular)), [0.0]);
    let f = function(()).output(linalg::inv(&singular)).compile().unwrap();
    let error = f.call(args![]).unwrap_err().to_string();
    assert!(error.contains("singular matrix") && !error.contains("batch"), "{error}");
}

/// The first matrix of a batch that is refused: devices and the reference call it by the same words.
#[test]
fn errors_name_the_matrix_of_the_batch() {
    let (a, b) = (tensor3::<f64>("a"), constant(vec![1.0, 2.0]));
    let (good, bad) = ([4.0, 1.0, 1.0, 3.0], [0.0; 4]);
    let batches = [(vec![bad], 0), (vec![good, good, bad, good, bad], 2), (vec![bad, good, bad], 0)];
    for (output, trouble) in [
        (linalg::cholesky(&a), "matrix is not positive definite"),
        (linalg::cholesky_upper(&a), "matrix is not positive definite"),
        (linalg::solve(&a, &b), "singular matrix"),
        (linalg::inv(&a), "singular matrix"),
        (linalg::solve_triangular(&a, &b, SolveTriangular::UPPER), "singular matrix"),
    ] {
        let f = function([&a]).output(&output).compile().unwrap();
        let (host, interpreter) = (f.optimize(Host::threads(2).strict()), f.optimize(Interpreter.strict()));
        let mut simulators = [host.unwrap(), interpreter.unwrap()];
        for (matrices, first) in &batches {
            let given = Value::from_vec(&[matrices.len(), 2, 2], matrices.concat()).unwrap();
            let mut errors = vec![f.call_reference(args![&given]).unwrap_err().to_string()];
            errors.extend(simulators.iter_mut().map(|s| s.call(args![&given]).unwrap_err().to_string()));
            let matrix = format!("matrix {first} of the batch");
            for error in errors {
                assert!(error.contains(trouble) && error.contains(&matrix), "{matrix}: {error}");
            }
        }
    }
}

/// The matrices are `(2, 1, 2, 2)` and the right-hand sides `(1, 3, 2, 1)`: six systems, but two matrices.
#[test]
fn errors_name_the_matrix_that_is_repeated() {
    let (a, b) = (tensor::<f64>("a", [None; 4]), tensor::<f64>("b", [None; 4]));
    let matrices = Value::from_vec(&[2, 1, 2, 2], vec![4.0, 1.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    let sides = Value::from_vec(&[1, 3, 2, 1], vec![1f64; 6]).unwrap();
    for output in [linalg::solve(&a, &b), linalg::solve_triangular(&a, &b, SolveTriangular::UPPER)] {
        let f = function([&a, &b]).output(&output).compile().unwrap();
        let mut sim = f.optimize(Host::threads(2).strict()).unwrap();
        let by_reference = f.call_reference(args![&matrices, &sides]).unwrap_err();
        let by_device = sim.call(args![&matrices, &sides]).unwrap_err();
        for error in [by_reference.to_string(), by_device.to_string()] {
            assert!(error.contains("matrix 1 of the batch"), "{error}");
        }
    }
}

#[test]
fn types_of_results() {
    let (a, b) =
        (tensor::<f32>("a", [None, Some(3), None]), tensor::<f64>("b", [Some(7), None, None, Some(2)]));
    let v = vector::<f32>("v");
    let extents = |x: Variable| x.checked().unwrap().ty().to_string();
    assert_eq!(extents(linalg::cholesky(&a)), "float32(?, 3, 3)");
    assert_eq!(extents(linalg::inv(&a)), "float32(?, 3, 3)");
    assert_eq!(extents(linalg::det(&a)), "float32(?,)");
    assert_eq!(extents(linalg::solve(&a, &v)), "float32(?, 3)");
    assert_eq!(extents(linalg::solve(&a, &b)), "float64(7, ?, 3, 2)");
    assert_eq!(extents(linalg::det(matrix::<i32>("i"))), "float64()");
}

/// The logarithm of a normal density has a determinant and a quadratic form; its gradient is known.
#[test]
fn the_gradient_of_a_normal_likelihood() {
    let (covariance, x) = (matrix::<f64>("covariance"), vector::<f64>("x"));
    let l = linalg::cholesky(&covariance);
    let z = linalg::solve_triangular(&l, &x, SolveTriangular::LOWER);
    let cost = (z.sqr().sum(..) + l.diagonal(0, 0, 1).log().sum(..) * 2.0) * 0.5;
    let direct = (x.dot(linalg::solve(&covariance, &x)) + &linalg::slogdet(&covariance)[1]) * 0.5;
    let by_factor = grad(&cost, [&covariance, &x]).unwrap();
    let directly = grad(&direct, [&covariance, &x]).unwrap();
    let f = function([&covariance, &x])
        .outputs([&cost, &direct])
        .outputs(&by_factor)
        .outputs(&directly)
        .compile()
        .unwrap();
    let outputs = f.call(args![array![[4.0, 2.0], [2.0, 5.0]], vec![2.0, 9.0]]).unwrap();
    let value = |at: usize| outputs[at].to_f64s();
    assert_near(&value(0), &value(1));
    assert_near(&value(3), &value(5));
    // One triangle is read: an element below the diagonal stands for two.
    let (lower, both) = (value(2), value(4));
    assert_near(&lower, &[both[0], 0.0, both[1] + both[2], both[3]]);
}

#[test]
fn the_host_has_steps_for_it() {
    let a = matrix::<f32>("a");
    let f = function([&a]).output(linalg::det(&a)).compile().unwrap();
    let given = || args![array![[4f32, 2.0], [2.0, 2.0]]];
    let mut simulator = f.optimize(Host::auto().strict()).unwrap();
    assert_eq!(simulator.call(given()).unwrap()[0].item::<f32>().unwrap(), 4.0);
    assert!(simulator.explain().contains("library lu"), "{}", simulator.explain());
}
