//! Error bounds. docs/architecture.md lists them; a change needs an ADR.
//!
//! - *Exact*: integers, bool, data movement, raw random bits, and ops that round correctly.
//! - *Ulp*: one elementary op; the row's own bound, OpenCL C's full-profile table, or 4 ulp, whichever is
//!   largest; 2 ulp for f64 on the host.
//! - *Special*: a special function; the row's own bound, in ulp of the result or of the row's scale
//!   (functions with roots away from 0), in f64 on the host as well.
//! - *Within*: a bound per element that the case works out from its inputs: [`sum`] and [`matmul`], and for
//!   compositions the bounds of their steps, carried through to the result.

use workalike::kernels::ops::{self as scalar, ScalarOp};
use workalike::prelude::*;

/// The required accuracy of a result.
#[derive(Clone, Debug)]
pub enum Tier {
    /// Bit for bit; any NaN equals any NaN.
    Exact,
    /// Within the bound of one elementary op.
    Op(ScalarOp),
    /// Within these absolute errors: float64, of the result's shape, evaluated by the reference.
    Within(Variable),
}

/// A [`Tier`] with its numbers.
#[derive(Clone, Debug)]
pub enum Bound {
    /// See [`Tier::Exact`].
    Exact,
    /// A number of units in the last place (ulp) of the result.
    Ulp(f64),
    /// A number of ulp of the result or of another number, whichever is larger.
    Special(f64, f64),
    /// Absolute errors, element by element.
    Within(Value),
}

/// The difference between 1 and the next larger number.
pub fn eps(dtype: DType) -> f64 {
    let digits = format(dtype).0;
    (1.0 - f64::from(digits)).exp2()
}

/// Binary digits, and the exponent of the least normal number.
fn format(dtype: DType) -> (i32, i32) {
    match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        DType::F32 => (24, -126),
        _ => (53, -1022),
    }
}

/// The largest finite number.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(half::bf16::MAX),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// The ulp of a number in a dtype.
pub fn ulp(value: f64, dtype: DType) -> f64 {
    let (digits, least) = format(dtype);
    let exponent = if value == 0.0 || !value.is_finite() { least } else { exponent(value).max(least) };
    f64::from(exponent - (digits - 1)).exp2()
}

/// `floor(log2(abs(value)))` of a finite nonzero number.
fn exponent(value: f64) -> i32 {
    let bits = |v: f64| ((v.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if value.abs() < f64::MIN_POSITIVE { bits(value * 2f64.powi(60)) - 60 } else { bits(value) }
}

/// The error bound of one elementary op, in ulp of its result; 0 is exact.
pub fn ulps(op: ScalarOp, dtype: DType, on_host: bool) -> f64 {
    let row = op.row();
    if row.ulp == 0 {
        return 0.0;
    }
    if on_host && dtype == DType::F64 {
        return 2.0;
    }
    // OpenCL C 1.2, table of relative errors, full profile.
    let table = match op {
        scalar::DIV => 2.5,
        scalar::SQRT | scalar::EXP | scalar::LOG => 3.0,
        scalar::SIN | scalar::COS => 4.0,
        scalar::TANH => 5.0,
        _ => 4.0,
    };
    f64::from(row.ulp).max(table).max(4.0)
}

/// The bound of a sum of `n` elements, given the sum of their absolute values (float64): `2 log2(n) eps
/// sum|x|`, plus one rounding to the result's dtype if the accumulator is of another dtype.
pub fn sum(n: usize, accumulator: DType, result: DType, magnitude: &Variable) -> Tier {
    let steps = 2.0 * (n.max(1) as f64).log2() * eps(accumulator);
    let rounding = if accumulator == result { 0.0 } else { eps(result) };
    Tier::Within(magnitude * (steps + rounding))
}

/// The bound of a product over `k` elements, given `|A| @ |B|` (float64): `k eps |A||B|`, with eps of the
/// accumulator, plus one rounding of the result.
pub fn matmul(k: usize, dtype: DType, magnitude: &Variable) -> Tier {
    Tier::Within(magnitude * (k as f64 * eps(dtype.register()) + eps(dtype)))
}

impl Tier {
    /// The bound for a result of this dtype.
    pub fn bound(&self, dtype: DType, on_host: bool, within: Option<&Value>) -> Bound {
        match (self, within) {
            (Tier::Within(_), Some(value)) => Bound::Within(value.clone()),
            (Tier::Op(op), _) if dtype.is_float() && op.row().scale.is_some() => {
                Bound::Special(op.row().ulp.into(), op.row().scale.unwrap_or(0.0))
            }
            (Tier::Op(op), _) if dtype.is_float() => match ulps(*op, dtype, on_host) {
                0.0 => Bound::Exact,
                ulps => Bound::Ulp(ulps),
            },
            _ => Bound::Exact,
        }
    }
}

/// Checks that `got` is within the bound of `want`, which has the same dtype, or is float64 for a narrower
/// float.
///
/// # Errors
/// The number of wrong elements, and the first of them.
pub fn compare(got: &Value, want: &Value, bound: &Bound) -> Result<(), String> {
    if got.shape() != want.shape() {
        return Err(format!("shape: expected {:?}, got {:?}", want.shape(), got.shape()));
    }
    let dtype = got.dtype();
    let wide = want.dtype() != dtype;
    if wide && !(dtype.is_float() && want.dtype() == DType::F64) {
        return Err(format!("dtype: expected {}, got {dtype}", want.dtype()));
    }
    let exact = matches!(bound, Bound::Exact);
    let rounded = if exact && wide { want.cast(dtype) } else { Ok(want.clone()) };
    let rounded = rounded.map_err(|e| e.to_string())?;
    if exact && *got == rounded {
        return Ok(());
    }
    let (numbers, wanted) = (got.to_f64s(), rounded.to_f64s());
    let same_bits = exact.then(|| equal_bits(got, &rounded));
    let within = match bound {
        Bound::Within(value) if value.shape() != got.shape() => {
            return Err(format!("the bound has shape {:?}, not {:?}", value.shape(), got.shape()));
        }
        Bound::Within(value) => value.to_f64s(),
        _ => Vec::new(),
    };
    let near = |i: usize| match bound {
        Bound::Exact => {
            (numbers[i].is_nan() && wanted[i].is_nan()) || same_bits.as_ref().is_some_and(|same| same[i])
        }
        Bound::Ulp(ulps) => near(numbers[i], wanted[i], ulps * ulp(wanted[i], dtype), dtype, *ulps),
        Bound::Special(ulps, scale) => {
            near(numbers[i], wanted[i], ulps * ulp(wanted[i], dtype).max(ulp(*scale, dtype)), dtype, *ulps)
        }
        Bound::Within(_) => near(numbers[i], wanted[i], within[i], dtype, 1.0),
    };
    let off: Vec<usize> = (0..numbers.len()).filter(|&i| !near(i)).collect();
    let Some(&first) = off.first() else { return Ok(()) };
    let (g, w) = (numbers[first], wanted[first]);
    let allowed = match bound {
        Bound::Exact => "exactly".to_string(),
        Bound::Ulp(ulps) => {
            format!("within {ulps} ulp, off by {:.1}", (g - w).abs() / ulp(w, dtype))
        }
        Bound::Special(ulps, scale) => {
            let unit = ulp(w, dtype).max(ulp(*scale, dtype));
            format!("within {ulps} ulp of it or of {scale}, off by {:.1}", (g - w).abs() / unit)
        }
        Bound::Within(_) => format!("within {:e}, off by {:e}", within[first], (g - w).abs()),
    };
    Err(format!(
        "{} of {} elements are off; element {first} of {dtype}{:?}: expected {w:e} {allowed}, got {g:e}",
        off.len(),
        numbers.len(),
        got.shape()
    ))
}

fn near(got: f64, want: f64, allowed: f64, dtype: DType, ulps: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    if got == want {
        return true;
    }
    let top = largest(dtype);
    if want.abs() > top || got.is_infinite() {
        // At the limit of overflow both infinity and the largest finite numbers are accepted.
        let edge = top - ulps * ulp(top, dtype);
        return want.signum() == got.signum() && want.abs() >= edge && got.abs() >= edge && want.is_finite();
    }
    (got - want).abs() <= allowed
}

fn equal_bits(a: &Value, b: &Value) -> Vec<bool> {
    let size = a.dtype().size();
    match (a.contiguous(), b.contiguous()) {
        (Ok(a), Ok(b)) => {
            let (a, b) = (a.contiguous_bytes().unwrap_or(&[]), b.contiguous_bytes().unwrap_or(&[]));
            a.chunks_exact(size).zip(b.chunks_exact(size)).map(|(a, b)| a == b).collect()
        }
        _ => vec![false; a.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_agree_with_the_format() {
        assert_eq!(ulp(1.0, DType::F32), f64::from(f32::EPSILON));
        assert_eq!(ulp(1.5, DType::F64), f64::EPSILON);
        assert_eq!(ulp(0.0, DType::F32), f64::from(f32::from_bits(1)));
        assert_eq!(ulp(1e-310, DType::F64), f64::from_bits(1));
        assert_eq!(ulp(65504.0, DType::F16), 32.0);
        assert_eq!(eps(DType::BF16), 2f64.powi(-7));
    }

    #[test]
    fn comparison_tells_near_from_far() {
        let want = Value::from(vec![1f32, f32::NAN, -0.0, f32::INFINITY]);
        assert!(compare(&want, &want, &Bound::Exact).is_ok());
        let zero = Value::from(vec![1f32, f32::NAN, 0.0, f32::INFINITY]);
        assert!(compare(&zero, &want, &Bound::Exact).is_err());
        assert!(compare(&zero, &want, &Bound::Ulp(1.0)).is_ok());
        let off = Value::from(vec![1f32 + 3.0 * f32::EPSILON, f32::NAN, 0.0, f32::INFINITY]);
        assert!(compare(&off, &want, &Bound::Ulp(2.0)).is_err());
        assert!(compare(&off, &want, &Bound::Ulp(3.0)).is_ok());
        let finite = Value::from(vec![1f32, f32::NAN, 0.0, 1.0]);
        assert!(compare(&finite, &want, &Bound::Ulp(4.0)).is_err());
        let wide = Value::from(vec![1f64 + 1e-9, f64::NAN, 0.0, f64::INFINITY]);
        assert!(compare(&zero, &wide, &Bound::Ulp(1.0)).is_ok());
    }
}
