//! Examples of what fusion makes of chains, of arrays in parts and of distances.

use super::Example;
use workalike::Result;
use workalike::prelude::*;

/// How often the iterates of Mandelbrot's map stay small.
fn escapes(x: &Variable, iterations: usize) -> Variable {
    let [mut a, mut b, mut count] = [x.clone(), x * 0.5, zeros_like(x)];
    for _ in 0..iterations {
        (a, b) = (&a * &a - &b * &b + x, 2.0 * &a * &b + x);
        count = count + (&a * &a + &b * &b).less(4.0);
    }
    count
}

/// A step of Jacobi's method for Laplace's equation on a torus.
fn relaxed(x: &Variable) -> Variable {
    (x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1)) * 0.25
}

/// The examples.
///
/// # Errors
/// If one is ill-typed.
pub(super) fn examples() -> Result<Vec<Example>> {
    let x = matrix::<f32>("x");
    let rows = |r, c| Value::zeros(DType::F32, &[r, c]);
    Ok(vec![
        Example::new(
            "recurrence",
            function([&x]).output(escapes(&x, 40)).compile(),
            args![rows(2048, 2048)?],
        )?,
        Example::new(
            "assembly",
            function([&x])
                .output(&x + (x.roll(1, 0) + x.roll(-1, 1)) * 0.5)
                .output(stack((0..9).map(|k| x.index(idx![k / 3..k / 3 + 62, k % 3..k % 3 + 62])), 0))
                .output(&x + x.set_index(idx![1..5, ..], x.index(idx![2..6, ..])).tanh())
                .compile(),
            args![rows(64, 64)?],
        )?,
        Example::new(
            "jacobi",
            function([&x]).output(relaxed(&relaxed(&x))).compile(),
            args![rows(1024, 1024)?],
        )?,
        Example::new(
            "distances",
            function([&x]).output((x.expand_dims(1) - x.expand_dims(0)).sqr().sum(-1).sqrt()).compile(),
            args![rows(150, 37)?],
        )?,
    ])
}
