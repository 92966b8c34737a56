//! Elementary functions for CPUs in OpenCL C. The drivers' functions are calls with branches, which compilers
//! do not vectorise: a loop over them is ten times slower. These are the host's functions
//! ([`crate::ops::vector`]) in C, with the same constants.
//!
//! A kernel calls `log(x)` as on other devices; a macro redirects the call if the processor has a fused
//! multiply-add. Sines are the driver's: large arguments need a branch.

use super::prelude::has_fma;
use crate::ops::vector::{Exponential, Hyperbolic, Logarithm, MachineFloat};

/// Name and definition of each function, for f32, and for f64 if the kernels use that.
pub(super) fn functions(f64: bool) -> Vec<(&'static str, String)> {
    let both = |single: String, double: fn() -> String| match f64 {
        true => single + &double(),
        false => single,
    };
    // Without a true fused multiply-add the argument reduction would not be exact.
    let fma = has_fma("FP_FAST_FMAF");
    let overload = |name: &str, text: String| format!("{text}{fma}\n#define {name} wide_{name}\n#endif\n");
    let log_reduced = both(log_reduced_single(), log_reduced_double);
    let exp_tail = both(exp_tail_single(), exp_tail_double);
    vec![
        ("wide_log_reduced", log_reduced),
        ("wide_exp_tail", exp_tail),
        ("log", overload("log", both(log_single(), log_double))),
        ("log1p", overload("log1p", both(log1p_single(), log1p_double))),
        ("exp", overload("exp", both(exp_single(), exp_double))),
        ("expm1", overload("expm1", both(expm1_single(), expm1_double))),
        ("tanh", overload("tanh", both(tanh_single(), tanh_double))),
    ]
}

/// `c[0] + x * (c[1] + x * (..))`, each step rounded once.
fn horner<T: std::fmt::LowerExp + Copy>(x: &str, c: &[T], of: &str) -> String {
    let suffix = if of == "f32" { "f" } else { "" };
    let text = |c: T| format!("{c:e}{suffix}");
    let (Some(last), rest) = (c.last(), &c[..c.len().saturating_sub(1)]) else { return "0".into() };
    rest.iter().rev().fold(text(*last), |sum, c| format!("fma_{of}({sum}, {x}, {})", text(*c)))
}

fn log_reduced_single() -> String {
    let series = horner("f", f32::LOG_SERIES, "f32");
    let [high, low] = f32::LN2;
    format!(
        "$fn f32 $any wide_log_reduced(f32 f, f32 e) {{
    const f32 z = f * f;
    const f32 p = {series};
    const f32 low = fma_f32(z * f, p, e * {low:e}f);
    return fma_f32(e, {high:e}f, fma_f32(z, -0.5f, low) + f);
}}
"
    )
}

fn log_reduced_double() -> String {
    let series = horner("z", f64::LOG_SERIES, "f64");
    let [high, low] = f64::LN2;
    format!(
        "$fn f64 $any wide_log_reduced(f64 f, f64 e) {{
    const f64 half_square = 0.5 * f * f;
    const f64 s = f / (2.0 + f);
    const f64 z = s * s;
    const f64 r = z * {series};
    const f64 low = fma_f64(s, half_square + r, e * {low:e});
    return fma_f64(e, {high:e}, f - (half_square - low));
}}
"
    )
}

fn exp_tail_single() -> String {
    format!(
        "$fn f32 $any wide_exp_tail(f32 r) {{\n    return r * r * {};\n}}\n",
        horner("r", f32::EXP_SERIES, "f32")
    )
}

fn exp_tail_double() -> String {
    format!(
        "$fn f64 $any wide_exp_tail(f64 r) {{\n    return r * r * {};\n}}\n",
        horner("r", f64::EXP_SERIES, "f64")
    )
}

/// The parts of a positive normal number: `m` between sqrt(1/2) and sqrt(2), and the exponent `k`.
fn split_single(of: &str) -> String {
    let root_half = f32::ROOT_HALF.to_bits();
    format!(
        "    const u32 bits = as_uint({of}) - {root_half}u;
    const f32 m = as_float((bits & 0x007fffffu) + {root_half}u);
    const i32 k = (i32)bits >> 23;
"
    )
}

fn split_double(of: &str) -> String {
    let (shift, root_half) = (1f64.to_bits() - f64::ROOT_HALF.to_bits(), f64::ROOT_HALF.to_bits());
    format!(
        "    const u64 bits = as_ulong({of}) + {shift}UL;
    const f64 m = as_double((bits & 0x000fffffffffffffUL) + {root_half}UL);
    const f64 k = as_double((bits >> 52) | 0x4330000000000000UL) - (4503599627370496.0 + 1023.0);
"
    )
}

fn log_single() -> String {
    format!(
        "$fn f32 $any wide_log(f32 x) {{
    const bool tiny = x < 0x1p-126f;
    const f32 y = tiny ? x * 8388608.0f : x;
{}    const f32 usual = wide_log_reduced(m - 1.0f, (f32)k - (tiny ? 23.0f : 0.0f));
    const f32 special = x == 0.0f ? -INFINITY : (x > 0.0f ? x : NAN);
    return (x > 0.0f) & (x < INFINITY) ? usual : special;
}}
",
        split_single("y")
    )
}

fn log_double() -> String {
    format!(
        "$fn f64 $any wide_log(f64 x) {{
    const bool tiny = x < 0x1p-1022;
    const f64 y = tiny ? x * 18014398509481984.0 : x;
{}    const f64 usual = wide_log_reduced(m - 1.0, k - (tiny ? 54.0 : 0.0));
    const f64 special = x == 0.0 ? -(f64)INFINITY : (x > 0.0 ? x : (f64)NAN);
    return (x > 0.0) & (x < (f64)INFINITY) ? usual : special;
}}
",
        split_double("y")
    )
}

fn log1p_single() -> String {
    format!(
        "$fn f32 $any wide_log1p(f32 x) {{
    const f32 sum = 1.0f + x;
    const f32 rest = x - (sum - 1.0f);
{}    const i32 near = k < 120 ? k : 120;
    const f32 f = fma_f32(rest, as_float((u32)(127 - near) << 23), m - 1.0f);
    const f32 usual = wide_log_reduced(f, (f32)k);
    const f32 special = x == -1.0f ? -INFINITY : (x > -1.0f ? x : NAN);
    return (x > -1.0f) & (x < INFINITY) & (x != 0.0f) ? usual : special;
}}
",
        split_single("sum")
    )
}

fn log1p_double() -> String {
    format!(
        "$fn f64 $any wide_log1p(f64 x) {{
    const f64 sum = 1.0 + x;
    const f64 rest = x - (sum - 1.0);
{}    const f64 near = k < 1000.0 ? k : 1000.0;
    const f64 f = fma_f64(rest, as_double((u64)(1023 - (i32)near) << 52), m - 1.0);
    const f64 usual = wide_log_reduced(f, k);
    const f64 special = x == -1.0 ? -(f64)INFINITY : (x > -1.0 ? x : (f64)NAN);
    return (x > -1.0) & (x < (f64)INFINITY) & (x != 0.0) ? usual : special;
}}
",
        split_double("sum")
    )
}

fn expm1_single() -> String {
    format!(
        "$fn f32 $any wide_expm1(f32 a) {{
    const f32 b = a > 89.0f ? 89.0f : a;
    const f32 x = b < -18.0f ? -18.0f : b;
{}    const f32 s = as_float((as_uint(rounded) - as_uint({:e}f) + 126u) << 23);
    const f32 y = fma_f32(s, wide_exp_tail(r), fma_f32(s, r, s - 0.5f)) * 2.0f;
    return a == 0.0f ? a : y;
}}
",
        reduced_single("x"),
        f32::ROUND
    )
}

fn expm1_double() -> String {
    let [high, low] = f64::LN2;
    format!(
        "$fn f64 $any wide_expm1(f64 a) {{
    const f64 b = a > 710.0 ? 710.0 : a;
    const f64 x = b < -38.0 ? -38.0 : b;
{}    const f64 low = fma_f64(n, {:e}, fma_f64(n, {:e}, x) - r);
    const f64 s = as_double((as_ulong(rounded) - as_ulong({:e}) + 1022UL) << 52);
    const f64 y = fma_f64(s, wide_exp_tail(r) + low, fma_f64(s, r, s - 0.5)) * 2.0;
    return a == 0.0 ? a : y;
}}
",
        reduced_double("x"),
        -low,
        -high,
        f64::ROUND
    )
}

/// `r` and `rounded`, whose low bits are the power of two, of the exponent `x`.
fn reduced(of: &str, x: &str, [high, low]: [String; 2], round: &str, log2_e: &str) -> String {
    format!(
        "    const {of} rounded = fma_{of}({x}, {log2_e}, {round});
    const {of} n = rounded - {round};
    const {of} r = fma_{of}(n, {low}, fma_{of}(n, {high}, {x}));
"
    )
}

fn reduced_single(x: &str) -> String {
    let ([high, low], round, log2_e) = (f32::LN2, f32::ROUND, std::f32::consts::LOG2_E);
    let text = |c: f32| format!("{c:e}f");
    reduced("f32", x, [text(-high), text(-low)], &text(round), &text(log2_e))
}

fn reduced_double(x: &str) -> String {
    let ([high, low], round, log2_e) = (f64::LN2, f64::ROUND, std::f64::consts::LOG2_E);
    let text = |c: f64| format!("{c:e}");
    reduced("f64", x, [text(-high), text(-low)], &text(round), &text(log2_e))
}

fn exp_single() -> String {
    format!(
        "$fn f32 $any wide_exp(f32 a) {{
    const f32 b = a > 89.0f ? 89.0f : a;
    const f32 x = b < -104.0f ? -104.0f : b;
{}    const f32 p = (wide_exp_tail(r) + r) + 1.0f;
    const i32 k = (i32)(as_uint(rounded) - as_uint({:e}f));
    const i32 half_k = k >> 1;
    return p * as_float((u32)(half_k + 127) << 23) * as_float((u32)(k - half_k + 127) << 23);
}}
",
        reduced_single("x"),
        f32::ROUND
    )
}

fn exp_double() -> String {
    format!(
        "$fn f64 $any wide_exp(f64 a) {{
    const f64 b = a > 710.0 ? 710.0 : a;
    const f64 x = b < -746.0 ? -746.0 : b;
{}    const f64 p = (wide_exp_tail(r) + r) + 1.0;
    const i64 k = (i64)(as_ulong(rounded) - as_ulong({:e}));
    const i64 half_k = (i64)((u64)(k + 2048) >> 1) - 1024;
    return p * as_double((u64)(half_k + 1023) << 52) * as_double((u64)(k - half_k + 1023) << 52);
}}
",
        reduced_double("x"),
        f64::ROUND
    )
}

fn tanh_single() -> String {
    let series = horner("z", f32::TANH, "f32");
    format!(
        "$fn f32 $any wide_tanh(f32 a) {{
    const f32 magnitude = fabs(a);
    const f32 z = a * a;
    const f32 near = fma_f32(a * z, {series}, a);
    const f32 twice = 2.0f * magnitude;
    const f32 x = twice > 20.0f ? 20.0f : twice;
{}    const f32 e = ((wide_exp_tail(r) + r) + 1.0f) * as_float((as_uint(rounded) - as_uint({:e}f) + 127u) << 23);
    const f32 far = 1.0f - 2.0f / (e + 1.0f);
    return copysign(magnitude < {:e}f ? near : far, a);
}}
",
        reduced_single("x"),
        f32::ROUND,
        f32::TANH_FAR[0]
    )
}

fn tanh_double() -> String {
    let (top, bottom) = (horner("z", f64::TANH, "f64"), horner("z", f64::TANH_BOTTOM, "f64"));
    format!(
        "$fn f64 $any wide_tanh(f64 a) {{
    const f64 magnitude = fabs(a);
    const bool small = magnitude < 0.625;
    const f64 z = a * a;
    const f64 top = a * z * {top};
    const f64 bottom = {bottom};
    const f64 twice = 2.0 * magnitude;
    const f64 x = twice > 44.0 ? 44.0 : twice;
{}    const f64 e = ((wide_exp_tail(r) + r) + 1.0) * as_double((as_ulong(rounded) - as_ulong({:e}) + 1023UL) << 52);
    const f64 quotient = (small ? top : -2.0) / (small ? bottom : e + 1.0);
    return copysign((small ? a : 1.0) + quotient, a);
}}
",
        reduced_double("x"),
        f64::ROUND
    )
}
