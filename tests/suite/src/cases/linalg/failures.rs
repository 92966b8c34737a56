//! Matrices that are singular, not positive definite, or have NaN.

use crate::stage::{Stage, ensure, equal, fails};
use workalike::ops::linalg::SolveTriangular;
use workalike::prelude::*;
use workalike::{Error, Result, idx};

/// A batch of two matrices that is refused, and the words of the error; the second list is for the reference.
struct Refused {
    output: Variable,
    matrices: Value,
    words: [&'static str; 2],
}

/// The first matrix is valid, the second is not: the call is an error on every device, and changes nothing.
pub(super) fn failures(stage: &Stage) -> Result<()> {
    let a = tensor3::<f64>("a");
    let b = constant(vec![1.0, 2.0]);
    let batch = |second: [f64; 4]| Value::from_vec(&[2, 2, 2], [[2.0, 1.0, 1.0, 2.0], second].concat());
    let refused =
        |output: Variable, second, words| Ok::<_, Error>(Refused { output, matrices: batch(second)?, words });
    let definite = ["matrix is not positive definite", "a leading minor of order 2"];
    let singular = ["singular matrix", "0 at diagonal 1"];
    let twice = [1.0, 2.0, 2.0, 4.0];
    for Refused { output, matrices, words } in [
        refused(linalg::cholesky(&a), [1.0, 9.0, 2.0, 1.0], definite)?,
        refused(linalg::cholesky_upper(&a), [1.0, 2.0, 9.0, 1.0], definite)?,
        refused(linalg::solve(&a, &b), twice, singular)?,
        refused(linalg::inv(&a), twice, singular)?,
        refused(linalg::solve_triangular(&a, &b, SolveTriangular::LOWER), [1.0, 0.0, 2.0, 0.0], singular)?,
        refused(grad(linalg::slogdet(&a)[1].sum(..), [&a])?.swap_remove(0), twice, singular)?,
    ] {
        let calls = shared("calls", 0i64);
        let f = function([&a]).output(&output).update(&calls, &calls + 1i64).compile()?;
        let f = stage.function(&f)?;
        let mut simulator = f.optimize(stage.open()?)?;
        let what = format!("{output:?}");
        // A device says which matrix of which node is wrong, and not at which pivot.
        let brief = [words[0], "matrix 1 of the batch", "node"];
        fails(&what, simulator.call(args![&matrices]), &brief)?;
        fails(&what, simulator.run_n(2, args![&matrices]), &brief)?;
        let words = [words[0], words[1], "matrix 1 of the batch", "node"];
        fails(&what, f.call_reference(args![&matrices]), &words)?;
        let good = args![batch([4.0, 1.0, 1.0, 3.0])?];
        ensure(simulator.call(good.clone())?[0].to_f64s().iter().all(|v| v.is_finite()), || what.clone())?;
        simulator.call(good)?;
        equal(&what, &simulator.get_value("calls")?, 2i64)?;
    }
    let f = function([&a]).output(linalg::det(&a)).outputs(linalg::slogdet(&a)).compile()?;
    let outputs = stage.function(&f)?.optimize(stage.open()?)?.call(args![batch(twice)?])?;
    ensure(outputs[0].to_f64s()[1] == 0.0, || "det of a singular matrix".into())?;
    equal("its sign", &outputs[1], vec![1.0, 0.0])?;
    ensure(outputs[2].to_f64s()[1] == f64::NEG_INFINITY, || "its logarithm".into())
}

/// A matrix with NaN is not singular, and all its results are NaN; but it is not positive definite.
pub(super) fn nan(stage: &Stage) -> Result<()> {
    let (a, b) = (matrix::<f32>("a"), vector::<f32>("b"));
    let lower = linalg::solve_triangular(&a, &b, SolveTriangular::LOWER);
    let all = function([&a, &b])
        .outputs([linalg::solve(&a, &b), linalg::det(&a), lower.index(idx![1])])
        .outputs(linalg::slogdet(&a));
    let all = stage.function(&all.compile()?)?;
    let with_zero = stage.function(&function([&a, &b]).output(linalg::solve(&a, &b)).compile()?)?;
    let positive = Value::from(array![[1f32, 1.0], [f32::NAN, 1.0]]);
    let zero = Value::from(array![[0f32, 1.0], [f32::NAN, 1.0]]);
    for (f, matrix) in [(all, &positive), (with_zero, &zero)] {
        let given = || args![matrix, vec![1f32, 2.0]];
        for outputs in [f.optimize(stage.open()?)?.call(given())?, f.call_reference(given())?] {
            for value in outputs.into_values() {
                let all = value.to_f64s().into_iter().all(f64::is_nan);
                ensure(all, || format!("expected NaN, got {value:?}"))?;
            }
        }
    }
    let f = stage.function(&function([&a]).output(linalg::cholesky(&a)).compile()?)?;
    let failed = f.optimize(stage.open()?)?.call(args![&positive]);
    fails("cholesky", failed, &["not positive definite"])
}

/// The factor of a matrix that is not positive definite is NaN, those of its neighbours in the batch are not.
pub(super) fn indefinite(stage: &Stage) -> Result<()> {
    let a = tensor3::<f64>("a");
    let l = linalg::cholesky_or_nan(&a);
    let f = function([&a]).output(&l).output(grad(l.sum(..), [&a])?.swap_remove(0)).compile()?;
    let f = stage.function(&f)?;
    let (good, nan) = ([4.0, 9.0, 2.0, 2.0], f64::NAN);
    let given =
        [good, [1.0, 0.0, 2.0, 1.0], [1.0, 0.0, nan, 1.0], [0.0, 0.0, 0.0, 0.0], [nan, 0.0, 0.0, 1.0], good];
    let given = Value::from_vec(&[6, 2, 2], given.concat())?;
    for outputs in [f.optimize(stage.open()?)?.call(args![&given])?, f.call_reference(args![&given])?] {
        let factors = outputs[0].to_f64s();
        for at in [0, 5] {
            ensure(factors[4 * at..4 * at + 4] == [2.0, 0.0, 1.0, 1.0], || {
                format!("factors are {factors:?}")
            })?;
        }
        ensure(factors[4..20].iter().all(|v| v.is_nan()), || format!("factors are {factors:?}"))?;
        let slopes = outputs[1].to_f64s();
        ensure(slopes[4].is_nan() && slopes[0].is_finite(), || format!("gradients are {slopes:?}"))?;
    }
    Ok(())
}
