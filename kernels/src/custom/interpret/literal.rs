//! Numbers as C writes them.

use crate::dtype::DType;

/// A number and its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NumberLiteral {
    pub(super) dtype: DType,
    /// As in a register.
    pub(super) bits: u64,
}

/// The number that a text is, or what is wrong with the text.
pub(super) fn literal(text: &str) -> Result<NumberLiteral, String> {
    let lower = text.to_ascii_lowercase();
    let found = match lower.strip_prefix("0x") {
        Some(digits) if digits.contains(['.', 'p']) => hex_float(digits),
        Some(digits) => integer(digits, 16),
        None if lower.contains(['.', 'e']) || (lower.ends_with('f')) => float(&lower),
        None if lower.starts_with("0b") => integer(&lower[2..], 2),
        None if lower.starts_with('0') && lower.len() > 1 => integer(&lower[1..], 8),
        None => integer(&lower, 10),
    };
    found.ok_or_else(|| format!("`{text}` is no number"))
}

fn integer(text: &str, radix: u32) -> Option<NumberLiteral> {
    let end = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (unsigned, long) = match suffix {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "lu" | "ull" | "llu" => (true, true),
        _ => return None,
    };
    // A single 0 of the octal form has no digits left; its suffix may follow.
    let value = if digits.is_empty() && radix == 8 { 0 } else { u64::from_str_radix(digits, radix).ok()? };
    // The first type that holds it; decimal numbers without `u` are signed.
    let any = unsigned || radix != 10;
    let dtype = match value {
        _ if !unsigned && !long && i32::try_from(value).is_ok() => DType::I32,
        _ if any && !long && u32::try_from(value).is_ok() => DType::U32,
        _ if !unsigned && i64::try_from(value).is_ok() => DType::I64,
        _ if any => DType::U64,
        _ => return None,
    };
    Some(NumberLiteral { dtype, bits: value })
}

fn of_float(value: f64, single: Option<f32>) -> NumberLiteral {
    match single {
        Some(single) => NumberLiteral { dtype: DType::F32, bits: u64::from(single.to_bits()) },
        None => NumberLiteral { dtype: DType::F64, bits: value.to_bits() },
    }
}

fn float(text: &str) -> Option<NumberLiteral> {
    let (digits, single) = text.strip_suffix('f').map_or((text, false), |digits| (digits, true));
    if !digits.contains(['.', 'e']) || digits.contains('_') {
        return None;
    }
    let value: f64 = digits.parse().ok()?;
    // Rounded once from the text.
    let single = if single { Some(digits.parse::<f32>().ok()?) } else { None };
    Some(of_float(value, single))
}

/// A mantissa of at most 13 hexadecimal digits, which is exact, times a power of two.
fn hex_float(text: &str) -> Option<NumberLiteral> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (exponent, single) =
        exponent.strip_suffix('f').map_or((exponent, false), |exponent| (exponent, true));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.len() > 13 || digits.is_empty() || digits.starts_with('+') {
        return None;
    }
    let exponent: i32 = exponent.parse().ok().filter(|exponent| (-5000..=5000).contains(exponent))?;
    let mantissa = u64::from_str_radix(&digits, 16).ok()? as f64;
    let value = libm::ldexp(mantissa, exponent - 4 * fraction.len() as i32);
    Some(of_float(value, single.then_some(value as f32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_first_type_that_holds_it() {
        let is =
            |text: &str, dtype, bits| assert_eq!(literal(text), Ok(NumberLiteral { dtype, bits }), "{text}");
        is("0", DType::I32, 0);
        is("017", DType::I32, 15);
        is("0u", DType::U32, 0);
        is("2147483648", DType::I64, 1 << 31);
        is("0x80000000", DType::U32, 1 << 31);
        is("0xffffffffffffffff", DType::U64, u64::MAX);
        is("1ULL", DType::U64, 1);
        is("0x1p-3f", DType::F32, u64::from(0.125f32.to_bits()));
        is("1e3", DType::F64, 1000f64.to_bits());
        is(".5f", DType::F32, u64::from(0.5f32.to_bits()));
        for text in ["08", "1uu", "18446744073709551615", "1.5q", "5f", "1__0", "0x", "0xp1", "1e"] {
            assert!(literal(text).is_err(), "{text}");
        }
    }
}
