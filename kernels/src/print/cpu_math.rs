//! Elementary functions for CPUs in OpenCL C. The drivers' functions are calls with branches, which compilers
//! do not vectorise: a loop over them is ten times slower. These are the host's functions
//! ([`crate::ops::vector`]) in C, with the same constants.
//!
//! A kernel calls `log(x)` as on other devices; a macro redirects the call if the processor has a fused
//! multiply-add. Sines are the driver's: large arguments need a branch.

use super::prelude::has_fma;
use crate::ops::vector::{Hyperbolic, Logarithm};
use std::fmt::{Display, LowerExp};

/// Name and definition of each function, for f32, and for f64 if the kernels use that.
pub(super) fn functions(f64: bool) -> Vec<(&'static str, String)> {
    let both = |[single, double]: [&str; 2]| match f64 {
        true => fill::<f32>(single) + &fill::<f64>(double),
        false => fill::<f32>(single),
    };
    // Without a true fused multiply-add the argument reduction would not be exact.
    let fma = has_fma("FP_FAST_FMAF");
    let overload = |name: &'static str, templates: [&str; 2]| {
        (name, format!("{}{fma}\n#define {name} wide_{name}\n#endif\n", both(templates)))
    };
    vec![
        ("wide_log_reduced", both(LOG_REDUCED)),
        ("wide_exp_tail", both([EXP_TAIL; 2])),
        overload("log", [LOG; 2]),
        overload("log1p", [LOG1P; 2]),
        overload("exp", [EXP; 2]),
        overload("expm1", [EXPM1; 2]),
        overload("tanh", TANH),
    ]
}

/// A float type: its constants, and their text.
trait Text: Hyperbolic + Display + LowerExp {}
impl Text for f32 {}
impl Text for f64 {}

/// A template with `@` words replaced by their [`meaning`] for a float type.
fn fill<T: Text>(template: &str) -> String {
    let mut parts = template.split('@');
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        text += &fill::<T>(&meaning::<T>(&part[..end]));
        text += &part[end..];
    }
    text
}

/// The meaning of a word of a template, which may have words itself.
fn meaning<T: Text>(word: &str) -> String {
    let pick = |words: [&str; 2]| words[usize::from(T::IS_F64)].to_string();
    let number = |c: T| format!("{c:e}@f");
    let short = |c: T| format!("{c:.1}@f");
    match word {
        "real" => pick(["f32", "f64"]),
        "int" => pick(["i32", "i64"]),
        "uint" => pick(["u32", "u64"]),
        "f" => pick(["f", ""]),
        "u" => pick(["u", "UL"]),
        "from_bits" => pick(["as_float", "as_double"]),
        "to_bits" => pick(["as_uint", "as_ulong"]),
        "infinity" => pick(["INFINITY", "(f64)INFINITY"]),
        "nan" => pick(["NAN", "(f64)NAN"]),
        "least" => pick(["0x1p-126f", "0x1p-1022"]),
        "mantissa" => pick(["23", "52"]),
        "bias" => pick(["127", "1023"]),
        "less_bias" => pick(["126", "1022"]),
        "split_y" => pick(SPLIT).replace("@of", "y"),
        "split_sum" => pick(SPLIT).replace("@of", "sum"),
        "k" => pick(["(f32)k", "k"]),
        "half_k" => pick(["k >> 1", "(i64)((u64)(k + 2048) >> 1) - 1024"]),
        "near" => pick(["i32 near = k < 120 ? k : 120", "f64 near = k < 1000.0 ? k : 1000.0"]),
        "minus_near" => pick(["127 - near", "1023 - (i32)near"]),
        "root_half" => pick([&f32::ROOT_HALF.to_bits().to_string(), &f64::ROOT_HALF.to_bits().to_string()]),
        "root_half_to_one" => (1f64.to_bits() - f64::ROOT_HALF.to_bits()).to_string(),
        "reduced" => REDUCED.into(),
        "power" => "@to_bits(rounded) - @to_bits(@round)".into(),
        "log2_e" => number(T::LOG2_E),
        "round" => number(T::ROUND),
        "ln2" => number(T::LN2[0]),
        "ln2_low" => number(T::LN2[1]),
        "minus_ln2" => number(-T::LN2[0]),
        "minus_ln2_low" => number(-T::LN2[1]),
        "log_series" => horner(&pick(["f", "z"]), T::LOG_SERIES),
        "normalise" => short(T::NORMALISE[0]),
        "normalise_exponent" => short(T::NORMALISE[1]),
        "exp_series" => horner("r", T::EXP_SERIES),
        "exp_least" => short(T::EXP_RANGE[0]),
        "exp_most" => short(T::EXP_RANGE[1]),
        "expm1_least" => short(T::EXPM1_LEAST),
        "expm1_low" => pick(["", EXPM1_LOW]),
        "plus_low" => pick(["", " + low"]),
        "tanh_power" => TANH_POWER.into(),
        "tanh_series" => horner("z", T::TANH),
        "tanh_bottom" => horner("z", T::TANH_BOTTOM),
        "tanh_far" => pick([&format!("{:e}f", T::TANH_FAR[0]), &T::TANH_FAR[0].to_string()]),
        "tanh_most" => short(T::TANH_FAR[1]),
        _ => unreachable!("a template has an unknown word, {word}"),
    }
}

/// `c[0] + x * (c[1] + x * (..))`, each step rounded once.
fn horner<T: Text>(x: &str, c: &[T]) -> String {
    let Some((last, rest)) = c.split_last() else { return "0".into() };
    rest.iter().rev().fold(format!("{last:e}@f"), |sum, c| format!("fma_@real({sum}, {x}, {c:e}@f)"))
}

/// The parts of a positive normal number `@of`: `m` between sqrt(1/2) and sqrt(2), and the exponent `k`.
const SPLIT: [&str; 2] = [
    "    const u32 bits = as_uint(@of) - @root_half@u;
    const f32 m = as_float((bits & 0x007fffffu) + @root_half@u);
    const i32 k = (i32)bits >> 23;
",
    "    const u64 bits = as_ulong(@of) + @root_half_to_one@u;
    const f64 m = as_double((bits & 0x000fffffffffffffUL) + @root_half@u);
    const f64 k = as_double((bits >> 52) | 0x4330000000000000UL) - (4503599627370496.0 + 1023.0);
",
];

/// `x` as `n * ln 2 + r`; the low bits of `rounded` are n.
const REDUCED: &str = "    const @real rounded = fma_@real(x, @log2_e, @round);
    const @real n = rounded - @round;
    const @real r = fma_@real(n, @minus_ln2_low, fma_@real(n, @minus_ln2, x));
";

const LOG_REDUCED: [&str; 2] = [
    "$fn f32 $any wide_log_reduced(f32 f, f32 e) {
    const f32 z = f * f;
    const f32 p = @log_series;
    const f32 low = fma_f32(z * f, p, e * @ln2_low);
    return fma_f32(e, @ln2, fma_f32(z, -0.5f, low) + f);
}
",
    "$fn f64 $any wide_log_reduced(f64 f, f64 e) {
    const f64 half_square = 0.5 * f * f;
    const f64 s = f / (2.0 + f);
    const f64 z = s * s;
    const f64 r = z * @log_series;
    const f64 low = fma_f64(s, half_square + r, e * @ln2_low);
    return fma_f64(e, @ln2, f - (half_square - low));
}
",
];

const EXP_TAIL: &str = "$fn @real $any wide_exp_tail(@real r) {
    return r * r * @exp_series;
}
";

const LOG: &str = "$fn @real $any wide_log(@real x) {
    const bool tiny = x < @least;
    const @real y = tiny ? x * @normalise : x;
@split_y    const @real usual = wide_log_reduced(m - 1.0@f, @k - (tiny ? @normalise_exponent : 0.0@f));
    const @real special = x == 0.0@f ? -@infinity : (x > 0.0@f ? x : @nan);
    return (x > 0.0@f) & (x < @infinity) ? usual : special;
}
";

const LOG1P: &str = "$fn @real $any wide_log1p(@real x) {
    const @real sum = 1.0@f + x;
    const @real rest = x - (sum - 1.0@f);
@split_sum    const @near;
    const @real f = fma_@real(rest, @from_bits((@uint)(@minus_near) << @mantissa), m - 1.0@f);
    const @real usual = wide_log_reduced(f, @k);
    const @real special = x == -1.0@f ? -@infinity : (x > -1.0@f ? x : @nan);
    return (x > -1.0@f) & (x < @infinity) & (x != 0.0@f) ? usual : special;
}
";

const EXP: &str = "$fn @real $any wide_exp(@real a) {
    const @real b = a > @exp_most ? @exp_most : a;
    const @real x = b < @exp_least ? @exp_least : b;
@reduced    const @real p = (wide_exp_tail(r) + r) + 1.0@f;
    const @int k = (@int)(@power);
    const @int half_k = @half_k;
    return p * @from_bits((@uint)(half_k + @bias) << @mantissa) * \
@from_bits((@uint)(k - half_k + @bias) << @mantissa);
}
";

const EXPM1: &str = "$fn @real $any wide_expm1(@real a) {
    const @real b = a > @exp_most ? @exp_most : a;
    const @real x = b < @expm1_least ? @expm1_least : b;
@reduced@expm1_low    const @real s = @from_bits((@power + @less_bias@u) << @mantissa);
    const @real y = fma_@real(s, wide_exp_tail(r)@plus_low, fma_@real(s, r, s - 0.5@f)) * 2.0@f;
    return a == 0.0@f ? a : y;
}
";

/// The rounding error of `r`.
const EXPM1_LOW: &str = "    const f64 low = fma_f64(n, @minus_ln2_low, fma_f64(n, @minus_ln2, x) - r);\n";

/// `exp(2 * magnitude)`, as far as that matters.
const TANH_POWER: &str = "    const @real twice = 2.0@f * magnitude;
    const @real x = twice > @tanh_most ? @tanh_most : twice;
@reduced    const @real e = ((wide_exp_tail(r) + r) + 1.0@f) * @from_bits((@power + @bias@u) << @mantissa);
";

const TANH: [&str; 2] = [
    "$fn f32 $any wide_tanh(f32 a) {
    const f32 magnitude = fabs(a);
    const f32 z = a * a;
    const f32 near = fma_f32(a * z, @tanh_series, a);
@tanh_power    const f32 far = 1.0f - 2.0f / (e + 1.0f);
    return copysign(magnitude < @tanh_far ? near : far, a);
}
",
    "$fn f64 $any wide_tanh(f64 a) {
    const f64 magnitude = fabs(a);
    const bool small = magnitude < @tanh_far;
    const f64 z = a * a;
    const f64 top = a * z * @tanh_series;
    const f64 bottom = @tanh_bottom;
@tanh_power    const f64 quotient = (small ? top : -2.0) / (small ? bottom : e + 1.0);
    return copysign((small ? a : 1.0) + quotient, a);
}
",
];
