//! Initial values of weights, drawn from [`RandomStreams`]: host arrays for
//! [`shared`](crate::graph::shared()). Equal seeds give equal values, in the order they are drawn.
//!
//! Shapes are `(inputs, outputs)`, as in `x.dot(&w)`. Axes before the last two are a receptive field: both
//! fans are multiplied by their product, as in Keras. A vector has its length as both fans.
//!
//! ```
//! use workalike::initializers::{glorot_uniform, orthogonal};
//! use workalike::prelude::*;
//! let streams = RandomStreams::new(42);
//! let w = shared("w", glorot_uniform::<f32>(&streams, &[784, 100])?);
//! let u = shared("u", orthogonal::<f32>(&streams, &[100, 100])?);
//! # let _ = (w, u);
//! # Ok::<(), workalike::Error>(())
//! ```

use crate::error::{Error, Result, shape_text};
use crate::ops::RandomStreams;
use crate::value::{Element, Value};

/// Numbers of inputs and of outputs of one unit.
fn fans(shape: &[usize]) -> (f64, f64) {
    match shape {
        [] => (1.0, 1.0),
        &[n] => (n as f64, n as f64),
        &[ref field @ .., inputs, outputs] => {
            let field: f64 = field.iter().map(|&n| n as f64).product();
            (inputs as f64 * field, outputs as f64 * field)
        }
    }
}

/// Float64 numbers as an array of another float dtype.
fn array<T: Element>(shape: &[usize], numbers: Vec<f64>) -> Result<Value> {
    if !T::DTYPE.is_float() {
        return Err(Error::mismatch("initial value", "a float dtype", T::DTYPE.name()));
    }
    Value::from_vec(shape, numbers)?.cast(T::DTYPE)
}

/// Uniform between `-limit` and `limit`.
fn uniform<T: Element>(streams: &RandomStreams, shape: &[usize], limit: f64) -> Result<Value> {
    let draws = streams.draw_uniform::<f64>(shape)?.to_vec::<f64>()?;
    array::<T>(shape, draws.into_iter().map(|u| (2.0 * u - 1.0) * limit).collect())
}

/// Normal with mean 0, not truncated.
fn normal<T: Element>(streams: &RandomStreams, shape: &[usize], deviation: f64) -> Result<Value> {
    let draws = streams.draw_normal::<f64>(shape)?.to_vec::<f64>()?;
    array::<T>(shape, draws.into_iter().map(|z| z * deviation).collect())
}

/// Uniform with variance `2 / (inputs + outputs)`, for tanh and softmax: between plus and minus `sqrt(6 /
/// (inputs + outputs))` (X. Glorot and Y. Bengio, "Understanding the difficulty of training deep feedforward
/// neural networks", 2010).
///
/// # Errors
/// If the dtype is no float, or there is no memory.
pub fn glorot_uniform<T: Element>(streams: &RandomStreams, shape: &[usize]) -> Result<Value> {
    let (inputs, outputs) = fans(shape);
    uniform::<T>(streams, shape, (6.0 / (inputs + outputs)).sqrt())
}

/// Normal with variance `2 / (inputs + outputs)`; see [`glorot_uniform`].
///
/// # Errors
/// If the dtype is no float, or there is no memory.
pub fn glorot_normal<T: Element>(streams: &RandomStreams, shape: &[usize]) -> Result<Value> {
    let (inputs, outputs) = fans(shape);
    normal::<T>(streams, shape, (2.0 / (inputs + outputs)).sqrt())
}

/// Uniform with variance `2 / inputs`, for rectifiers: between plus and minus `sqrt(6 / inputs)` (K. He et
/// al., "Delving deep into rectifiers", 2015).
///
/// # Errors
/// If the dtype is no float, or there is no memory.
pub fn he_uniform<T: Element>(streams: &RandomStreams, shape: &[usize]) -> Result<Value> {
    uniform::<T>(streams, shape, (6.0 / fans(shape).0).sqrt())
}

/// Normal with variance `2 / inputs`; see [`he_uniform`].
///
/// # Errors
/// If the dtype is no float, or there is no memory.
pub fn he_normal<T: Element>(streams: &RandomStreams, shape: &[usize]) -> Result<Value> {
    normal::<T>(streams, shape, (2.0 / fans(shape).0).sqrt())
}

/// A matrix with orthonormal columns, or rows if these are fewer: the Q of a matrix of normal draws (A. Saxe
/// et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks", 2014).
/// Axes before the last count as rows. It takes `rows * columns * min(rows, columns)` steps in float64 on the
/// host.
///
/// # Errors
/// If the shape has fewer than two axes, the dtype is no float, or there is no memory.
pub fn orthogonal<T: Element>(streams: &RandomStreams, shape: &[usize]) -> Result<Value> {
    let [rows @ .., columns] = shape else {
        return Err(Error::mismatch("orthogonal", "a shape of two axes at least", shape_text(shape)));
    };
    if rows.is_empty() {
        return Err(Error::mismatch("orthogonal", "a shape of two axes at least", shape_text(shape)));
    }
    let draws = streams.draw_normal::<f64>(shape)?.to_vec::<f64>()?;
    if draws.is_empty() {
        return array::<T>(shape, draws);
    }
    let columns = *columns;
    let rows = draws.len() / columns;
    // The vectors that become orthonormal, each in one piece: rows, or the columns of a tall matrix.
    let tall = rows > columns;
    let (count, length) = if tall { (columns, rows) } else { (rows, columns) };
    let at = |vector: usize, i: usize| if tall { i * columns + vector } else { vector * columns + i };
    let mut vectors: Vec<Vec<f64>> =
        (0..count).map(|v| (0..length).map(|i| draws[at(v, i)]).collect()).collect();
    orthonormalize(&mut vectors);
    let mut numbers = draws;
    for (v, vector) in vectors.iter().enumerate() {
        for (i, &x) in vector.iter().enumerate() {
            numbers[at(v, i)] = x;
        }
    }
    array::<T>(shape, numbers)
}

/// The Gram-Schmidt process, done twice, which leaves only rounding errors. R's diagonal is positive, so Q is
/// uniformly distributed.
fn orthonormalize(vectors: &mut [Vec<f64>]) {
    for at in 0..vectors.len() {
        let (before, rest) = vectors.split_at_mut(at);
        let Some(vector) = rest.first_mut() else { return };
        for _ in 0..2 {
            for other in &*before {
                let along: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
            }
        }
        let norm = vector.iter().map(|a| a * a).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|a| *a /= norm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: &Value) -> Vec<f64> {
        value.to_f64s()
    }

    fn moments(list: &[f64]) -> (f64, f64, f64) {
        let n = list.len() as f64;
        let mean = list.iter().sum::<f64>() / n;
        let variance = list.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        (mean, variance, list.iter().fold(0.0, |most, x| most.max(x.abs())))
    }

    #[test]
    fn variances_are_those_of_the_papers() {
        type Draw = fn(&RandomStreams, &[usize]) -> Result<Value>;
        let cases: [(Draw, f64, Option<f64>); 4] = [
            (glorot_uniform::<f32>, 2.0 / 500.0, Some(6.0 / 500.0)),
            (glorot_normal::<f32>, 2.0 / 500.0, None),
            (he_uniform::<f32>, 2.0 / 200.0, Some(6.0 / 200.0)),
            (he_normal::<f32>, 2.0 / 200.0, None),
        ];
        for (draw, expected, limit) in cases {
            let value = draw(&RandomStreams::new(7), &[200, 300]).unwrap();
            let (mean, variance, most) = moments(&numbers(&value));
            // Six standard errors of 60,000 draws, for fixed seeds.
            assert!(mean.abs() < 6.0 * (expected / 60_000.0).sqrt(), "{mean}");
            assert!((variance / expected - 1.0).abs() < 6.0 * (2.0f64 / 60_000.0).sqrt(), "{variance}");
            assert!(limit.is_none_or(|limit| most <= limit.sqrt() * (1.0 + 1e-6)), "{most}");
        }
        assert_eq!(fans(&[3, 3, 16, 32]), (144.0, 288.0));
    }

    #[test]
    fn orthogonal_matrices_are_orthogonal() {
        let streams = RandomStreams::new(3);
        for (shape, rows, columns) in
            [(&[20usize, 20][..], 20, 20), (&[30, 7], 30, 7), (&[5, 40], 5, 40), (&[2, 5, 6], 10, 6)]
        {
            let q = numbers(&orthogonal::<f64>(&streams, shape).unwrap());
            let (count, length, tall) = (rows.min(columns), rows.max(columns), rows > columns);
            let of = |v: usize, i: usize| if tall { q[i * columns + v] } else { q[v * columns + i] };
            for a in 0..count {
                for b in 0..count {
                    let dot: f64 = (0..length).map(|i| of(a, i) * of(b, i)).sum();
                    assert!((dot - f64::from(u8::from(a == b))).abs() < 1e-12, "{shape:?} {a} {b}: {dot}");
                }
            }
        }
        assert!(orthogonal::<f64>(&streams, &[4]).is_err() && orthogonal::<f64>(&streams, &[]).is_err());
        assert_eq!(orthogonal::<f32>(&streams, &[0, 4]).unwrap().shape(), [0, 4]);
    }

    #[test]
    fn equal_seeds_give_equal_values() {
        let both = |seed| {
            let streams = RandomStreams::new(seed);
            [glorot_normal::<f32>(&streams, &[4, 5]).unwrap(), he_uniform::<f32>(&streams, &[4, 5]).unwrap()]
        };
        assert_eq!(both(1), both(1));
        assert_ne!(both(1), both(2));
        assert_ne!(both(1)[0], both(1)[1]);
        assert!(he_normal::<i32>(&RandomStreams::new(1), &[3, 3]).is_err());
    }
}
