//! Interval arithmetic: what range the results of an op lie in, given the ranges of its arguments
//! (R. E. Moore, *Interval Analysis*, 1966). It proves that computed indices are in range.
//!
//! Bounds are float64, and exact where it matters: integers beyond 2^53 are bounded by their dtype alone. A
//! result that may not fit into its integer dtype may wrap, so it may be anything there. Floats in float32
//! are rounded as the device rounds them; where an op's result may differ in the last bits from device to
//! device, its row has no rule.

pub(crate) mod rules;

use crate::dtype::DType;
use crate::scalar::Scalar;

/// All integers up to it are float64s, and no greater one is rounded to it.
const EXACT: f64 = ((1u64 << 53) - 1) as f64;

/// A range that holds all values of an array of a dtype, but NaN, which no float is known not to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The dtype of the values.
    pub dtype: DType,
    /// No value is below it.
    pub low: f64,
    /// No value is above it.
    pub high: f64,
    /// All values that are finite are integers.
    pub whole: bool,
}

impl Interval {
    /// All values of a dtype.
    pub fn of_dtype(dtype: DType) -> Interval {
        let (low, high) = match dtype {
            DType::Bool => (0.0, 1.0),
            d if d.real().is_float() => (f64::NEG_INFINITY, f64::INFINITY),
            d => {
                let values = 2f64.powi(8 * d.size() as i32);
                if d.is_signed() { (-values / 2.0, values / 2.0 - 1.0) } else { (0.0, values - 1.0) }
            }
        };
        Interval { dtype, low, high, whole: !dtype.real().is_float() }
    }

    /// The values of a dtype from `low` to `high`, both included. All values of the dtype, if it has no such
    /// bounds, or if float64 may not hold them exactly and they are not the dtype's own.
    pub fn new(dtype: DType, low: f64, high: f64) -> Interval {
        let all = Interval::of_dtype(dtype);
        let exact = |bound: f64, own: f64| dtype.is_float() || bound.abs() <= EXACT || bound == own;
        let fits = low <= high && all.low <= low && high <= all.high;
        if fits && exact(low, all.low) && exact(high, all.high) { Interval { low, high, ..all } } else { all }
    }

    /// One value.
    pub fn of(value: Scalar) -> Interval {
        let number = value.to_f64();
        let one = Interval::new(value.dtype(), number, number);
        Interval { whole: number.trunc() == number, ..one }
    }

    /// Whether all values are in `low..high`; no float is known to be, since it may be NaN.
    pub fn is_within(&self, low: i128, high: i128) -> bool {
        // Integers this large are float64s, or the bound is that of a dtype, whose least value is one.
        !self.dtype.is_float() && low <= self.low as i128 && (self.high as i128) < high
    }

    /// The values that are in one of two.
    pub fn or(self, other: Interval) -> Interval {
        if self.dtype != other.dtype {
            return Interval::of_dtype(self.dtype);
        }
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        Interval { low, high, whole: self.whole && other.whole, ..self }
    }

    /// The values converted to a dtype: integers wrap, floats truncate toward zero into integers and
    /// saturate, and NaN becomes 0.
    pub fn cast(self, to: DType) -> Interval {
        let all = Interval::of_dtype(to);
        if to == self.dtype {
            return self;
        }
        if to == DType::Bool {
            return all;
        }
        if to.is_float() {
            return Interval { whole: self.whole, ..rounded(to, self.low, self.high) };
        }
        if self.dtype.is_float() {
            let clamped = |bound: f64| bound.trunc().clamp(all.low, all.high);
            return Interval::new(to, clamped(self.low).min(0.0), clamped(self.high).max(0.0));
        }
        Interval::new(to, self.low, self.high)
    }

    /// Sums of `count` of the values, in any order.
    pub fn sum(self, count: f64) -> Interval {
        let (low, high) = ((self.low * count).min(0.0), (self.high * count).max(0.0));
        // A bound that float64 rounds may be one beyond that of the dtype.
        if self.dtype.is_float() || low < -EXACT || high > EXACT {
            return Interval::of_dtype(self.dtype);
        }
        Interval::new(self.dtype, low, high)
    }
}

/// Floats between results of one rounded operation, whose exact value is between these float64s.
fn rounded(dtype: DType, low: f64, high: f64) -> Interval {
    match dtype {
        DType::F64 => Interval::new(dtype, low, high),
        // Rounding twice, to float64 and then to float32, gives what rounding once does for + - * / and
        // square roots (S. A. Figueroa, "When is double rounding innocuous?", 1995).
        DType::F32 => Interval::new(dtype, f64::from(low as f32), f64::from(high as f32)),
        // Devices compute with halves in float32, and round when they store them.
        _ => Interval::of_dtype(dtype),
    }
}

#[cfg(test)]
mod tests;
