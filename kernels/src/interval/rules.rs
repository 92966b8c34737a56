//! The rules of rows: a range of the results, from arguments of the computing dtype and the results' dtype.

use super::{EXACT, Interval, rounded};
use crate::dtype::DType;

/// The range between the extremes of the results at the bounds, for functions whose other results lie
/// between.
fn hull(dtype: DType, whole: bool, ends: &[f64]) -> Interval {
    let inexact = |end: &f64| !dtype.is_float() && end.abs() > EXACT;
    // 0 * infinity and the like; and integers that float64 rounds, so that one that wraps may not show.
    if ends.iter().any(|end| end.is_nan() || inexact(end)) {
        return Interval { whole: whole || !dtype.is_float(), ..Interval::of_dtype(dtype) };
    }
    let (low, high) = ends
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &end| (low.min(end), high.max(end)));
    let range = if dtype.is_float() { rounded(dtype, low, high) } else { Interval::new(dtype, low, high) };
    Interval { whole: whole || !dtype.is_float(), ..range }
}

/// Whether all values are integers that float32 holds, with room for a sum.
fn is_small(arg: &Interval) -> bool {
    let small = |bound: f64| bound.abs() <= (1u32 << 22) as f64;
    arg.whole && small(arg.low) && small(arg.high)
}

/// A term of a sum of floats. A device may fuse the sum with a product before it, whose rounding, of half a
/// unit in its last place, is then left out.
fn term(arg: &Interval) -> Interval {
    if !arg.dtype.is_float() || is_small(arg) {
        return *arg;
    }
    let (low, high) = match arg.dtype {
        DType::F32 => (f64::from((arg.low as f32).next_down()), f64::from((arg.high as f32).next_up())),
        _ => (arg.low.next_down(), arg.high.next_up()),
    };
    Interval { low, high, ..*arg }
}

pub(crate) fn add(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    if dtype == DType::Bool {
        return Interval::of_dtype(dtype);
    }
    let (a, b) = (term(a), term(b));
    hull(dtype, a.whole && b.whole, &[a.low + b.low, a.high + b.high])
}

pub(crate) fn sub(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    let (a, b) = (term(a), term(b));
    hull(dtype, a.whole && b.whole, &[a.low - b.high, a.high - b.low])
}

pub(crate) fn mul(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    let ends = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
    hull(dtype, a.whole && b.whole, &ends)
}

pub(crate) fn neg(args: &[Interval], dtype: DType) -> Interval {
    let [a] = args else { return Interval::of_dtype(dtype) };
    hull(dtype, a.whole, &[-a.low, -a.high])
}

pub(crate) fn abs(args: &[Interval], dtype: DType) -> Interval {
    let [a] = args else { return Interval::of_dtype(dtype) };
    // The least integer has no magnitude in its dtype: the range does not fit then.
    hull(dtype, a.whole, &magnitudes(a))
}

pub(crate) fn sign(args: &[Interval], dtype: DType) -> Interval {
    let [a] = args else { return Interval::of_dtype(dtype) };
    let sign = |bound: f64| {
        if bound > 0.0 {
            1.0
        } else if bound < 0.0 {
            -1.0
        } else {
            0.0
        }
    };
    hull(dtype, true, &[sign(a.low), sign(a.high)])
}

/// The remainder has the sign of the divisor, and is smaller in magnitude.
pub(crate) fn remainder(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    // The remainder of whole floats is exact; one that is not may be rounded to the divisor.
    let exact = !dtype.is_float() || (a.whole && is_small(b));
    let inside = |bound: f64| if exact { bound - bound.signum() } else { bound };
    let whole = a.whole && b.whole;
    if b.low > 0.0 {
        // Numbers that are there already stay.
        let stays = a.low >= 0.0 && a.high <= inside(b.low) && exact;
        return if stays { *a } else { hull(dtype, whole, &[0.0, inside(b.high)]) };
    }
    if b.high < 0.0 {
        return hull(dtype, whole, &[inside(b.low), 0.0]);
    }
    // Integers divided by 0 give 0, which lies between; of floats it is NaN.
    hull(dtype, whole, &[b.low, b.high])
}

/// The remainder has the sign of the dividend, and is smaller than the divisor in magnitude.
pub(crate) fn fmod(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    let most = b.low.abs().max(b.high.abs());
    let inside = if dtype.is_float() { most } else { (most - 1.0).max(0.0) };
    let (low, high) = (a.low.min(0.0).max(-inside), a.high.max(0.0).min(inside));
    hull(dtype, a.whole && b.whole, &[low, high])
}

/// Quotients by a divisor of one sign, rounded; integers divided by 0 give 0.
fn divided(args: &[Interval], dtype: DType, round: fn(f64) -> f64) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    if b.low <= 0.0 || (dtype.is_float() && !(is_small(a) && is_small(b))) {
        return Interval { whole: true, ..Interval::of_dtype(dtype) };
    }
    let ends = [a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high];
    // Of integers below 2^53 a quotient that is no integer is not rounded to one.
    hull(dtype, true, &ends.map(round))
}

pub(crate) fn floor_divide(args: &[Interval], dtype: DType) -> Interval {
    divided(args, dtype, f64::floor)
}

pub(crate) fn trunc_divide(args: &[Interval], dtype: DType) -> Interval {
    divided(args, dtype, f64::trunc)
}

/// A rounding to integers keeps order.
fn whole(args: &[Interval], dtype: DType, round: fn(f64) -> f64) -> Interval {
    let [a] = args else { return Interval::of_dtype(dtype) };
    if dtype.is_half() {
        return Interval::of_dtype(dtype);
    }
    Interval { low: round(a.low), high: round(a.high), whole: true, ..*a }
}

pub(crate) fn floor(args: &[Interval], dtype: DType) -> Interval {
    whole(args, dtype, f64::floor)
}

pub(crate) fn ceil(args: &[Interval], dtype: DType) -> Interval {
    whole(args, dtype, f64::ceil)
}

pub(crate) fn trunc(args: &[Interval], dtype: DType) -> Interval {
    whole(args, dtype, f64::trunc)
}

pub(crate) fn rint(args: &[Interval], dtype: DType) -> Interval {
    whole(args, dtype, f64::round_ties_even)
}

pub(crate) fn round_away(args: &[Interval], dtype: DType) -> Interval {
    whole(args, dtype, f64::round)
}

pub(crate) fn maximum(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    Interval { whole: a.whole && b.whole, ..Interval::new(dtype, a.low.max(b.low), a.high.max(b.high)) }
}

pub(crate) fn minimum(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    Interval { whole: a.whole && b.whole, ..Interval::new(dtype, a.low.min(b.low), a.high.min(b.high)) }
}

/// The larger number, or the only one.
pub(crate) fn fmaximum(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    if dtype.is_float() { a.or(*b) } else { maximum(args, dtype) }
}

pub(crate) fn fminimum(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    if dtype.is_float() { a.or(*b) } else { minimum(args, dtype) }
}

pub(crate) fn choice(args: &[Interval], dtype: DType) -> Interval {
    let [_, a, b] = args else { return Interval::of_dtype(dtype) };
    a.or(*b)
}

/// The bits that are set in both: of numbers that are not negative at most the smaller one.
pub(crate) fn both_bits(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    match (a.low >= 0.0, b.low >= 0.0) {
        (true, true) => Interval::new(dtype, 0.0, a.high.min(b.high)),
        (true, false) => Interval::new(dtype, 0.0, a.high),
        (false, true) => Interval::new(dtype, 0.0, b.high),
        (false, false) => Interval::of_dtype(dtype),
    }
}

/// A number moved to the right: towards zero, or towards -1 if it is negative.
pub(crate) fn shifted_right(args: &[Interval], dtype: DType) -> Interval {
    let [a, b] = args else { return Interval::of_dtype(dtype) };
    let bits = 8.0 * dtype.size() as f64;
    if b.low < 0.0 || b.high >= bits {
        return Interval::of_dtype(dtype);
    }
    let moved = |bound: f64, by: f64| (bound / 2f64.powf(by)).floor();
    let low = moved(a.low, if a.low < 0.0 { b.low } else { b.high });
    Interval::new(dtype, low, moved(a.high, if a.high < 0.0 { b.high } else { b.low }))
}

pub(crate) fn squared(args: &[Interval], dtype: DType) -> Interval {
    let [a] = args else { return Interval::of_dtype(dtype) };
    hull(dtype, a.whole, &magnitudes(a).map(|end| end * end))
}

/// The least and the greatest magnitude.
fn magnitudes(a: &Interval) -> [f64; 2] {
    [a.low.max(-a.high).max(0.0), a.high.max(-a.low)]
}
