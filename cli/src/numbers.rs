//! Numbers as text and as JSON: elements of Values, durations, sizes.

use serde_json::Value as Json;
use workalike::kernels::Scalar;
use workalike::{DType, Value};
use workalike_cli_common::report::Result;

/// The number of elements that are shown of an array.
pub(crate) const FEW: usize = 8;

/// The first elements of an array, row-major.
pub(crate) fn first(value: &Value, count: usize) -> Result<Vec<Scalar>> {
    let whole = value.contiguous()?;
    let size = value.dtype().size();
    let elements = whole.contiguous_bytes().unwrap_or(&[]).chunks_exact(size).take(count);
    Ok(elements.filter_map(|bytes| Scalar::from_le_bytes(value.dtype(), bytes)).collect())
}

/// The value as JSON: numbers, `true` and `false`, and the strings `"nan"`, `"inf"` and `"-inf"`, for which
/// JSON has no numbers.
pub(crate) fn json(scalar: Scalar) -> Json {
    let dtype = scalar.dtype();
    if dtype == DType::Bool {
        return Json::from(scalar.bits() != 0);
    }
    if !dtype.is_float() {
        let whole = scalar.to_i128();
        return i64::try_from(whole).map_or_else(|_| Json::from(whole as u64), Json::from);
    }
    let number = shortest(scalar);
    match serde_json::Number::from_f64(number) {
        Some(number) => Json::Number(number),
        None if number.is_nan() => "nan".into(),
        None if number > 0.0 => "inf".into(),
        None => "-inf".into(),
    }
}

/// The f64 with the same shortest decimal form as the float: 0.1 for a float32 of 0.1.
fn shortest(scalar: Scalar) -> f64 {
    let number = scalar.to_f64();
    match scalar.dtype() {
        DType::F64 => number,
        _ => (number as f32).to_string().parse().unwrap_or(number),
    }
}

/// The first elements as text, followed by dots if there are more.
pub(crate) fn text(value: &Value) -> Result<String> {
    let mut words: Vec<String> =
        first(value, FEW)?.into_iter().map(|s| json(s).to_string().replace('"', "")).collect();
    if value.len() > FEW {
        words.push("...".into());
    }
    Ok(words.join(" "))
}

/// Extents as JSON.
pub(crate) fn shape(shape: &[usize]) -> Json {
    shape.iter().map(|&e| Json::from(e as u64)).collect()
}

/// A duration with a readable unit.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.999_5e-3 => format!("{:.1} us", s * 1e6),
        s if s < 0.999_5 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A number of bytes with a readable unit.
pub(crate) fn bytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_each_kind() {
        let one = |value: Value| json(first(&value, 1).unwrap()[0]).to_string();
        assert_eq!(one(Value::from(true)), "true");
        assert_eq!(one(Value::from(-3i8)), "-3");
        assert_eq!(one(Value::from(u64::MAX)), "18446744073709551615");
        assert_eq!(one(Value::from(0.1f32)), "0.1");
        assert_eq!(one(Value::from(0.1f64)), "0.1");
        assert_eq!(one(Value::from(f32::NAN)), "\"nan\"");
        assert_eq!(one(Value::from(f64::NEG_INFINITY)), "\"-inf\"");
    }

    #[test]
    fn text_says_that_there_is_more() {
        assert_eq!(text(&Value::from(vec![1i32; 9])).unwrap(), "1 1 1 1 1 1 1 1 ...");
        assert_eq!(text(&Value::from(vec![1.5f64, 2.0])).unwrap(), "1.5 2.0");
    }
    #[test]
    fn durations() {
        assert_eq!(seconds(12.34e-6), "12.3 us");
        assert_eq!(seconds(0.0123), "12.30 ms");
        assert_eq!(seconds(2.5), "2.50 s");
    }
}
