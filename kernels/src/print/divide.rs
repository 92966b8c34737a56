//! Division with remainder, shifts and powers in C: the counterpart of `ops/divide.rs`. In C the cases that
//! trap or overflow are undefined.

use super::{Dialect, expr};
use crate::dtype::DType;
use crate::scalar::Scalar;

/// Name and text of each function, for every dtype, each before its uses.
pub(super) fn functions(dialect: Dialect, f64: bool) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for dtype in DType::REAL.into_iter().filter(|d| d.is_integer()) {
        all.extend(integer(dtype));
    }
    float(dialect, DType::F32, &mut all);
    if f64 {
        float(dialect, DType::F64, &mut all);
    }
    all
}

/// The C functions of one integer dtype.
struct IntegerFunctions {
    /// The name of the dtype.
    t: &'static str,
    /// The name of the unsigned dtype of the same size.
    u: String,
    bits: usize,
    signed: bool,
    /// Name and text of each function so far.
    functions: Vec<(String, String)>,
}

fn integer(dtype: DType) -> Vec<(String, String)> {
    let (t, bits, signed) = (dtype.short(), 8 * dtype.size(), dtype.is_signed());
    let u = if signed { format!("u{bits}") } else { t.to_string() };
    let mut printed = IntegerFunctions { t, u, bits, signed, functions: Vec::new() };
    printed.divisions();
    printed.power();
    printed.shifts();
    printed.functions
}

impl IntegerFunctions {
    fn add(&mut self, name: &str, parameters: &str, body: &str) {
        let t = self.t;
        let name = format!("{name}_{t}");
        let text = format!("$fn {t} {name}({parameters}) {{\n    {body}\n}}\n");
        self.functions.push((name, text));
    }

    /// Adds a function of `a` and `b`.
    fn binary(&mut self, name: &str, body: &str) {
        let t = self.t;
        self.add(name, &format!("{t} a, {t} b"), body);
    }

    /// The text for signed or for unsigned dtypes.
    fn choose(&self, signed_text: String, unsigned_text: String) -> String {
        if self.signed { signed_text } else { unsigned_text }
    }

    /// The magnitude, quotients and remainders.
    fn divisions(&mut self) {
        let (t, u, signed) = (self.t, self.u.clone(), self.signed);
        // An unsigned number is its own magnitude: `ops::ABS` prints no call.
        if signed {
            self.add("absolute", &format!("{t} a"), &format!("return a < 0 ? ({t})(0u - ({u})a) : a;"));
        }
        let minus_one =
            if signed { format!("if (b == -1) return ({t})(0u - ({u})a);\n    ") } else { String::new() };
        self.binary("trunc_divide", &format!("if (b == 0) return 0;\n    {minus_one}return ({t})(a / b);"));
        let none = if signed { "b == 0 || b == -1" } else { "b == 0" };
        self.binary("fmod", &format!("return {none} ? ({t})0 : ({t})(a % b);"));
        let other_side = format!(
            "const {t} rest = fmod_{t}(a, b);\n    const bool other = rest != 0 && (rest < 0) != (b < 0);\n    "
        );
        let floor_divide = self.choose(
            format!("{other_side}return ({t})(({u})trunc_divide_{t}(a, b) - (other ? 1u : 0u));"),
            format!("return trunc_divide_{t}(a, b);"),
        );
        self.binary("floor_divide", &floor_divide);
        let remainder = self.choose(
            format!("{other_side}return other ? ({t})(rest + b) : rest;"),
            format!("return fmod_{t}(a, b);"),
        );
        self.binary("remainder", &remainder);
    }

    /// The power, by repeated squaring.
    fn power(&mut self) {
        let (t, u) = (self.t, self.u.clone());
        let special = if self.signed {
            format!(
                "if (a == 1) return 1;\n    if (a == -1) return (b & 1) ? ({t})-1 : ({t})1;\n    if (b < 0) return 0;\n    "
            )
        } else {
            String::new()
        };
        let loop_text = "while (rest) {\n        if (rest & 1) result *= base;\n        base *= base;\n        rest >>= 1;\n    }";
        // C promotes narrow integers to int, whose overflow is undefined: multiply in u32.
        let wide = if self.bits < 32 { "u32" } else { &u };
        self.binary(
            "power",
            &format!(
                "{special}{wide} base = ({wide})a, result = 1;\n    {u} rest = ({u})b;\n    {loop_text}\n    return ({t})result;"
            ),
        );
    }

    fn shifts(&mut self) {
        let (t, u, bits) = (self.t, self.u.clone(), self.bits);
        let within = if self.signed { format!("b >= 0 && b < {bits}") } else { format!("b < {bits}") };
        self.binary("left_shift", &format!("return {within} ? ({t})(({u})a << b) : ({t})0;"));
        let gone = self.choose(format!("({t})(a < 0 ? -1 : 0)"), format!("({t})0"));
        self.binary("right_shift", &format!("return {within} ? ({t})(a >> b) : {gone};"));
    }
}

fn float(dialect: Dialect, dtype: DType, all: &mut Vec<(String, String)>) {
    let t = dtype.short();
    let [infinite, nan, exact] = [f64::INFINITY, f64::NAN, if t == "f32" { 24f64 } else { 53.0 }.exp2()]
        .map(|x| expr::literal(dialect, Scalar::from_f64(dtype, x)));
    let [fmod, fma, rint, fabs, copysign] =
        ["fmod", "fma", "rint", "fabs", "copysign"].map(|name| dialect.math(name, dtype));
    let mut add = |name: &str, body: String| {
        let name = format!("{name}_{t}");
        let text = format!("$fn {t} {name}({t} a, {t} b) {{\n    {body}\n}}\n");
        all.push((name, text));
    };
    // As `ops/divide.rs`.
    let divide = format!(
        "const {t} quotient = a / b, nearest = {rint}(quotient);
    {t} rest = nearest == 0 ? a : {fma}(-nearest, b, a);
    rest = {fabs}(nearest) <= {exact} ? rest : 0;"
    );
    add(
        "trunc_divide",
        format!(
            "{divide}
    const bool above = rest != 0 && (rest < 0) != (a < 0);
    return {copysign}(above ? {fabs}(nearest) - 1 : nearest, quotient);"
        ),
    );
    add(
        "floor_divide",
        format!(
            "{divide}
    const bool above = rest != 0 && (rest < 0) != (b < 0);
    return {fabs}(a) == {infinite} && b != 0 ? {nan} : {copysign}(above ? nearest - 1 : nearest, quotient);"
        ),
    );
    // Some drivers return NaN for an infinite divisor.
    add("fmod", format!("return {fabs}(b) == {infinite} && {fabs}(a) < {infinite} ? a : {fmod}(a, b);"));
    add(
        "remainder",
        format!(
            "const {t} rest = fmod_{t}(a, b);
    if (rest == 0) return {copysign}(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;"
        ),
    );
}
