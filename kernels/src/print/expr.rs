//! Constants, conversions and ops as C expressions.
//!
//! A register has the type named by [`DType::short`] of its register dtype (`bool` for bool). Signed integers
//! wrap, so ring arithmetic on them is done in the unsigned type.

use super::prelude::{odd_name, saturating_name};
use super::{Dialect, formula};
use crate::dtype::DType;
use crate::ops::{CForm, OpBody, ScalarOp};
use crate::scalar::Scalar;

/// A constant that can stand as an operand of any operator.
pub(crate) fn literal(dialect: Dialect, value: Scalar) -> String {
    let dtype = value.dtype();
    let long = dialect.long();
    match dtype {
        DType::Bool => if value.bits() != 0 { "true" } else { "false" }.into(),
        DType::U64 => format!("{}U{long}", value.bits()),
        DType::U32 => format!("{}u", value.bits()),
        DType::U8 | DType::U16 => format!("({}){}", dtype.short(), value.bits()),
        d if d.is_integer() => {
            let number = value.to_i128();
            match d {
                DType::I64 if number == i128::from(i64::MIN) => format!("(i64)0x8000000000000000U{long}"),
                DType::I32 if number == i128::from(i32::MIN) => "(i32)0x80000000u".into(),
                DType::I64 => parenthesized(format!("{number}{long}")),
                DType::I32 => parenthesized(number.to_string()),
                _ => format!("({})({number})", d.short()),
            }
        }
        _ => float_literal(dialect, dtype.register(), value.to_f64()),
    }
}

fn parenthesized(text: String) -> String {
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// Decimal if that is short and exact, else hexadecimal.
fn float_literal(dialect: Dialect, register: DType, x: f64) -> String {
    let suffix = if register == DType::F32 { "f" } else { "" };
    if !x.is_finite() {
        let bits = if register == DType::F32 { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        return dialect.float_bits(register, bits);
    }
    if x.abs() < 1e6 && (x * 64.0).fract() == 0.0 {
        return parenthesized(format!("{x:?}{suffix}"));
    }
    let sign = if x < 0.0 { "-" } else { "" };
    let (mut exponent, mut fraction) = ((x.to_bits() >> 52 & 0x7ff) as i64, x.to_bits() & ((1 << 52) - 1));
    let lead = u64::from(exponent != 0);
    exponent = exponent.max(1) - 1023;
    let mut digits = 13;
    while digits > 1 && fraction & 0xf == 0 {
        fraction >>= 4;
        digits -= 1;
    }
    parenthesized(format!("{sign}0x{lead}.{fraction:0digits$x}p{exponent:+}{suffix}"))
}

/// A register converted to another dtype.
pub(super) fn cast(from: DType, to: DType, value: &str) -> String {
    let (source, register) = (from.register(), to.register());
    if from == to {
        return value.into();
    }
    if to == DType::Bool {
        return format!("{value} != 0");
    }
    if to.is_integer() {
        return if from.is_float() {
            format!("{}({value})", saturating_name(source, to))
        } else {
            format!("({}){value}", to.short())
        };
    }
    let wide = matches!(source, DType::F64 | DType::I32 | DType::U32 | DType::I64 | DType::U64);
    match to {
        DType::F16 | DType::BF16 => {
            let f32 = if wide {
                format!("{}({value})", odd_name(source))
            } else if source == DType::F32 {
                value.into()
            } else {
                format!("(f32){value}")
            };
            format!("round_{}({f32})", to.short())
        }
        _ if source == register => value.into(),
        _ => format!("({}){value}", register.short()),
    }
}

/// An op applied to registers of the dtype that it computes in (except the condition of `where`, which is
/// bool).
pub(super) fn op(dialect: Dialect, op: ScalarOp, computing: DType, result: DType, args: &[&str]) -> String {
    let register = computing.register();
    let OpBody::Primitive { c, .. } = &op.row().body else {
        // Verified Nests have none; the text does not compile.
        return format!("{}_is_a_composition", op.row().name);
    };
    let c = &match c {
        CForm::By(form) => form(register),
        c => *c,
    };
    let ring = match c {
        CForm::Infix(text) | CForm::Prefix(text) | CForm::Template(text) => is_ring(text),
        CForm::Written(_) => return format!("{}({})", formula::name(op, register), args.join(", ")),
        CForm::Call(_) | CForm::Helper(_) | CForm::By(_) | CForm::HostOnly => false,
    };
    // Narrow unsigned types are promoted to int, where a product may overflow.
    let unsigned = match register {
        DType::I64 => Some("u64"),
        DType::U32 | DType::U64 => None,
        d if d.is_integer() => Some("u32"),
        _ => None,
    };
    match unsigned.filter(|_| ring) {
        None => form(dialect, *c, register, args),
        Some(unsigned) => {
            let args: Vec<String> = args.iter().map(|a| format!("({unsigned}){a}")).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            format!("({})({})", result.short(), form(dialect, *c, register, &args))
        }
    }
}

/// Whether an expression consists of operations that commute with wrapping around.
fn is_ring(text: &str) -> bool {
    let mut rest = text;
    while let (Some(from), Some(to)) = (rest.find('{'), rest.find('}')) {
        if rest[..from].chars().any(|c| !" +-*&|^~()".contains(c)) {
            return false;
        }
        rest = &rest[to + 1..];
    }
    // `&&` and `||` are not ring operations.
    !text.contains("&&") && !text.contains("||") && rest.chars().all(|c| " +-*&|^~()".contains(c))
}

fn form(dialect: Dialect, c: CForm, register: DType, args: &[&str]) -> String {
    match c {
        CForm::Infix(sign) => args.join(&format!(" {sign} ")),
        CForm::Prefix(sign) => format!("{sign}{}", args.join(", ")),
        CForm::Call(name) => format!("{}({})", dialect.math(name, register), args.join(", ")),
        CForm::Helper(name) => format!("{name}_{}({})", register.short(), args.join(", ")),
        // These are resolved before, or lowered to a host node; the text does not compile.
        CForm::By(_) | CForm::Written(_) | CForm::HostOnly => "no_form".into(),
        CForm::Template(text) => args
            .iter()
            .enumerate()
            .fold(text.to_string(), |text, (at, arg)| text.replace(&format!("{{{at}}}"), arg)),
    }
}
