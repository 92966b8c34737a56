//! Division with a rest, shifts and powers in C: the mirror of `ops/divide.rs`. C leaves undefined what traps
//! or overflows.

use super::{Dialect, expr};
use crate::dtype::DType;
use crate::scalar::Scalar;

/// Name and text of each, for every dtype, in an order in which each stands before its uses.
pub(super) fn functions(dialect: Dialect, f64: bool) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        integer(dtype, &mut all);
    }
    float(dialect, DType::F32, &mut all);
    if f64 {
        float(dialect, DType::F64, &mut all);
    }
    all
}

fn integer(dtype: DType, all: &mut Vec<(String, String)>) {
    let (t, bits) = (dtype.short(), 8 * dtype.size());
    let signed = dtype.is_signed();
    let u = if signed { format!("u{bits}") } else { t.to_string() };
    let mut add = |name: &str, parameters: &str, body: String| {
        let name = format!("{name}_{t}");
        let text = format!("$fn {t} {name}({parameters}) {{\n    {body}\n}}\n");
        all.push((name, text));
    };
    // What is not printed for a dtype is not called: unsigned numbers are their own magnitude.
    let choose =
        |signed_text: String, unsigned_text: String| if signed { signed_text } else { unsigned_text };
    let both = format!("{t} a, {t} b");
    if signed {
        add("absolute", &format!("{t} a"), format!("return a < 0 ? ({t})(0u - ({u})a) : a;"));
    }
    let minus_one =
        if signed { format!("if (b == -1) return ({t})(0u - ({u})a);\n    ") } else { String::new() };
    add("trunc_divide", &both, format!("if (b == 0) return 0;\n    {minus_one}return ({t})(a / b);"));
    let none = if signed { "b == 0 || b == -1" } else { "b == 0" };
    add("fmod", &both, format!("return {none} ? ({t})0 : ({t})(a % b);"));
    let other_side = format!(
        "const {t} rest = fmod_{t}(a, b);\n    const bool other = rest != 0 && (rest < 0) != (b < 0);\n    "
    );
    add(
        "floor_divide",
        &both,
        choose(
            format!("{other_side}return ({t})(({u})trunc_divide_{t}(a, b) - (other ? 1u : 0u));"),
            format!("return trunc_divide_{t}(a, b);"),
        ),
    );
    add(
        "remainder",
        &both,
        choose(
            format!("{other_side}return other ? ({t})(rest + b) : rest;"),
            format!("return fmod_{t}(a, b);"),
        ),
    );
    let special = if signed {
        format!(
            "if (a == 1) return 1;\n    if (a == -1) return (b & 1) ? ({t})-1 : ({t})1;\n    if (b < 0) return 0;\n    "
        )
    } else {
        String::new()
    };
    let loop_text = "while (rest) {\n        if (rest & 1) result *= base;\n        base *= base;\n        rest >>= 1;\n    }";
    // Products of narrow numbers in 32 bits: there they cannot overflow what C promotes them to.
    let wide = if bits < 32 { "u32" } else { &u };
    add(
        "power",
        &both,
        format!(
            "{special}{wide} base = ({wide})a, result = 1;\n    {u} rest = ({u})b;\n    {loop_text}\n    return ({t})result;"
        ),
    );
    let within = if signed { format!("b >= 0 && b < {bits}") } else { format!("b < {bits}") };
    add("left_shift", &both, format!("return {within} ? ({t})(({u})a << b) : ({t})0;"));
    let gone = choose(format!("({t})(a < 0 ? -1 : 0)"), format!("({t})0"));
    add("right_shift", &both, format!("return {within} ? ({t})(a >> b) : {gone};"));
}

fn float(dialect: Dialect, dtype: DType, all: &mut Vec<(String, String)>) {
    let t = dtype.short();
    let infinite = expr::literal(dialect, Scalar::from_f64(dtype, f64::INFINITY));
    let [fmod, floor, trunc, copysign] =
        ["fmod", "floor", "trunc", "copysign"].map(|name| dialect.math(name, dtype));
    let mut add = |name: &str, body: String| {
        let name = format!("{name}_{t}");
        let text = format!("$fn {t} {name}({t} a, {t} b) {{\n    {body}\n}}\n");
        all.push((name, text));
    };
    add("trunc_divide", format!("return {trunc}(a / b);"));
    // Some drivers make a NaN of what an infinite divisor leaves.
    add("fmod", format!("return fabs(b) == {infinite} && fabs(a) < {infinite} ? a : {fmod}(a, b);"));
    add(
        "floor_divide",
        format!(
            "if (b == 0) return a / b;
    const {t} rest = fmod_{t}(a, b);
    {t} quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return {copysign}(({t})0, a / b);
    const {t} whole = {floor}(quotient);
    return quotient - whole > ({t})0.5 ? whole + 1 : whole;"
        ),
    );
    add(
        "remainder",
        format!(
            "const {t} rest = fmod_{t}(a, b);
    if (rest == 0) return {copysign}(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;"
        ),
    );
}
