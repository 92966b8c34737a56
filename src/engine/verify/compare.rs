//! Two arrays, element by element.

use super::type_text;
use crate::value::Value;
use std::fmt;
use workalike_kernels::{DType, Scalar};

/// The worst of the elements that exceed the tolerance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its index; empty for a 0-d array, or where dtype or shape differ.
    pub index: Vec<usize>,
    /// The value of the reference.
    pub expected: String,
    /// The value of the device.
    pub got: String,
    /// The number of elements that exceed the tolerance.
    pub count: usize,
    /// The number of elements.
    pub of: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { index, expected, got, count, of } = self;
        write!(f, "{count} of {of} elements; at {index:?} expected {expected}, got {got}")
    }
}

/// Relative tolerance of a float; `None` for dtypes that must be equal.
fn tolerance(dtype: DType) -> Option<f64> {
    match dtype {
        DType::F64 => Some(1024.0 * f64::EPSILON),
        DType::F32 => Some(1024.0 * f64::from(f32::EPSILON)),
        DType::F16 => Some(16.0 / 1024.0),
        DType::BF16 => Some(16.0 / 128.0),
        _ => None,
    }
}

/// The largest difference as a fraction of the tolerance, or the worst element that exceeds it.
pub(super) fn compare(want: &Value, got: &Value, slack: f64) -> Result<f64, Difference> {
    let types_differ =
        || Difference { index: vec![], expected: type_text(want), got: type_text(got), count: 1, of: 1 };
    if want.dtype() != got.dtype() || want.shape() != got.shape() {
        return Err(types_differ());
    }
    let (Ok(want), Ok(got)) = (want.contiguous(), got.contiguous()) else { return Err(types_differ()) };
    let dtype = want.dtype();
    let bytes = |value: &Value| value.contiguous_bytes().unwrap_or(&[]).to_vec();
    let (w, g) = (bytes(&want), bytes(&got));
    let scalar = |bytes: &[u8], at: usize| {
        let size = dtype.size();
        Scalar::from_le_bytes(dtype, &bytes[at * size..(at + 1) * size])
    };
    let (worst_at, worst, count) = match tolerance(dtype) {
        Some(relative) => floats(&want.to_f64s(), &got.to_f64s(), relative * slack),
        None => {
            let elements = w.chunks_exact(dtype.size()).zip(g.chunks_exact(dtype.size()));
            let mut unequal = elements.enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at);
            match unequal.next() {
                Some(first) => (first, f64::INFINITY, 1 + unequal.count()),
                None => (0, 0.0, 0),
            }
        }
    };
    if count == 0 {
        return Ok(worst);
    }
    let text = |bytes: &[u8]| {
        scalar(bytes, worst_at).map_or("?".into(), |s| match dtype {
            d if d.is_float() => format!("{:e}", s.to_f64()),
            _ => s.to_i128().to_string(),
        })
    };
    let index = unravel(worst_at, want.shape());
    Err(Difference { index, expected: text(&w), got: text(&g), count, of: want.len() })
}

/// Position and size (as a fraction of the tolerance) of the largest difference, and the number of elements
/// that exceed the tolerance.
fn floats(want: &[f64], got: &[f64], relative: f64) -> (usize, f64, usize) {
    let finite = want.iter().filter(|w| w.is_finite());
    let (squares, n) = finite.fold((0.0, 0usize), |(sum, n), w| (sum + w * w, n + 1));
    let typical = (squares / n.max(1) as f64).sqrt();
    let (mut at, mut worst, mut count) = (0, 0.0, 0);
    for (position, (&w, &g)) in want.iter().zip(got).enumerate() {
        let part = if w == g || (w.is_nan() && g.is_nan()) {
            0.0
        } else {
            let part = (w - g).abs() / (relative * w.abs().max(typical));
            if part.is_nan() { f64::INFINITY } else { part }
        };
        count += usize::from(part > 1.0);
        if part > worst {
            (at, worst) = (position, part);
        }
    }
    (at, worst, count)
}

fn unravel(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (i, &extent) in index.iter_mut().zip(shape).rev() {
        *i = position % extent.max(1);
        position /= extent.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_may_differ_a_little_and_integers_not_at_all() {
        let a = Value::from(vec![1.0f32, -2.0, f32::NAN, f32::INFINITY, 0.0]);
        assert_eq!(compare(&a, &a, 1.0), Ok(0.0));
        let near = Value::from(vec![1.00001f32, -2.0, f32::NAN, f32::INFINITY, 1e-5]);
        assert!(compare(&a, &near, 1.0).is_ok_and(|w| w > 0.0));
        assert!(compare(&a, &near, 1e-3).is_err());
        let far = Value::from(vec![1.0f32, -2.5, f32::NAN, f32::INFINITY, 0.0]);
        let worst = compare(&a, &far, 1.0).expect_err("-2.5 is not -2");
        assert_eq!((worst.index, worst.count, worst.got.as_str()), (vec![1], 1, "-2.5e0"));
        let other = Value::from(vec![1.0f32, -2.0, 0.0, f32::INFINITY, 0.0]);
        assert_eq!(compare(&a, &other, 1.0).expect_err("0 is no NaN").index, [2]);

        let (a, b) = (Value::from(vec![i64::MAX, 1]), Value::from(vec![i64::MAX - 1, 1]));
        let worst = compare(&a, &b, 1.0).expect_err("they differ by 1");
        assert_eq!(worst.got, "9223372036854775806");
        assert!(compare(&a, &Value::from(vec![1i32]), 1.0).expect_err("types").got.contains("int32"));
    }

    #[test]
    fn indices_are_row_major() {
        assert_eq!(unravel(7, &[2, 2, 3]), [1, 0, 1]);
        assert_eq!(unravel(0, &[]), [0usize; 0]);
    }
}
