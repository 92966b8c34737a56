//! The table of elementwise ops. One op is one row; see the parent module for what follows from it.

use super::divide::{Float as _, Integer};
use super::host_loops::{
    HostLoops, WhereLoop as Choose, bools, compare, floats, hosted, integers, lanes, lanes_mut, numbers,
    tests, tile, tiles, usually, waves, written, written_waves,
};
use super::philox::philox_u64;
use super::powers::powers;
use super::quotient::BranchlessDivide;
use super::real::Real;
use super::rejection_sampling;
use super::term::{FLAT, Term, UNKNOWN, compose, slopes};
use super::vector::Vector;
use super::{CForm, Derivative, OpBody, OpTableRow, RangeRule, ScalarOp, TypeRule, special};
use crate::dtype::{DType, Width};
use crate::interval::rules as interval;
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI, SQRT_2};

/// Declares the table and one constant per row.
macro_rules! rows {
    ($($name:ident = $row:expr;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        enum Position { $($name),* }
        $(
            #[doc = concat!("The row `", stringify!($name), "`.")]
            pub const $name: ScalarOp = ScalarOp(Position::$name as u16);
        )*
        /// Every elementwise op.
        pub static TABLE: &[OpTableRow] = &[$($row),*];
    };
}

const fn row(
    name: &'static str,
    doc: &'static str,
    arity: usize,
    types: TypeRule,
    body: OpBody,
) -> OpTableRow {
    OpTableRow {
        name,
        doc,
        arity,
        types,
        body,
        derivative: None,
        flops: 1,
        ulp: 0,
        scale: None,
        jumps: false,
        interval: None,
    }
}

const fn primitive(host: fn(DType) -> Option<HostLoops>, c: CForm) -> OpBody {
    OpBody::Primitive { host, c }
}

impl OpTableRow {
    const fn derivative(self, derivative: Derivative) -> OpTableRow {
        OpTableRow { derivative: Some(derivative), ..self }
    }
    const fn costs(self, flops: u32, ulp: u32) -> OpTableRow {
        OpTableRow { flops, ulp, ..self }
    }
    /// The range of results follows from those of the arguments by this rule. Compositions need none.
    const fn range(self, rule: RangeRule) -> OpTableRow {
        OpTableRow { interval: Some(rule), ..self }
    }
    /// A step function, or one that is put together of steps.
    const fn jumps(self) -> OpTableRow {
        OpTableRow { jumps: true, ..self }
    }
    /// A special function: its error is bounded by so many ulp of the result or of `scale`, whichever is
    /// larger.
    const fn special(self, flops: u32, ulp: u32, scale: f64) -> OpTableRow {
        OpTableRow { flops, ulp, scale: Some(scale), ..self }
    }
}

/// A function of f64, of either float.
#[inline(always)]
fn wide(a: impl Into<f64>, function: fn(f64) -> f64) -> f64 {
    function(a.into())
}

/// The loops of a draw.
fn drawn<B: super::host_loops::LoopBody>(dtype: DType) -> Option<HostLoops> {
    (dtype == DType::F64).then(tiles::<B>)
}

/// `libm`'s gives numbers below -1.
fn acosh(a: f64) -> f64 {
    if a < 1.0 { f64::NAN } else { libm::acosh(a) }
}

/// The derivative of `gammainc`.
fn gamma_density<'s, 'b>(a: Term<'s, 'b>, x: Term<'s, 'b>) -> Term<'s, 'b> {
    let density = ((a - 1.0).with(XLOGY, [x]) - x - a.then(GAMMALN)).exp();
    let outside = x.below(0.0).choose(x.of(f64::NAN), density);
    x.is(f64::INFINITY).choose(x.of(0.0), outside)
}

use CForm::{By, Call, Helper, Infix, Prefix, Template};
use OpBody::Composition;
use TypeRule::{
    Bits, Compare, Draw, Float, Integral, IntegralOrI8, Logical, Number, NumberOrI8, Same, Select,
    TrueDivide, Wide,
};

/// The C function of a float; an integer is itself.
macro_rules! of_float {
    ($name:literal) => {
        By(|dtype| if dtype.is_float() { Call($name) } else { Template("{0}") })
    };
}

/// The text for floats, for signed integers, and for what is never negative.
macro_rules! of_kinds {
    ($float:literal, $signed:literal, $unsigned:literal) => {
        By(|dtype| match dtype {
            d if d.is_float() => Template($float),
            d if d.is_signed() => Template($signed),
            _ => Template($unsigned),
        })
    };
}

rows! {
    // Arithmetic.
    ADD = row("add", "a + b; or, for bool", 2, Same,
        primitive(numbers!(float |a, b| a + b; int |a, b| a.wrapping_add(b); bool |a, b| a | b), Infix("+")))
        .derivative(slopes!(|a, b; y, g| [g, g])).range(interval::add);
    SUB = row("subtract", "a - b", 2, Number,
        primitive(numbers!(float |a, b| a - b; int |a, b| a.wrapping_sub(b)), Infix("-")))
        .derivative(slopes!(|a, b; y, g| [g, -g])).range(interval::sub);
    MUL = row("multiply", "a * b; and, for bool", 2, Same,
        primitive(numbers!(float |a, b| a * b; int |a, b| a.wrapping_mul(b); bool |a, b| a & b), Infix("*")))
        .derivative(slopes!(|a, b; y, g| [g * b, g * a])).range(interval::mul);
    DIV = row("true_divide", "a / b in floats", 2, TrueDivide, primitive(floats!(|a, b| a / b), Infix("/")))
        .derivative(slopes!(|a, b; y, g| let da = g / b; [da, -da * y])).costs(4, 3);
    FLOOR_DIVIDE = row("floor_divide", "the largest integer not above the exact a / b; of integers divided by 0, 0", 2, NumberOrI8,
        primitive(numbers!(float |a, b| a.floor_divide(b); int |a, b| Integer::floor_divide(a, b) => BranchlessDivide::floor_divide(a, b)), Helper("floor_divide")))
        .costs(12, 0).jumps().range(interval::floor_divide);
    REMAINDER = row("remainder", "a - b * floor_divide(a, b), with the sign of b; of integers divided by 0, 0", 2, NumberOrI8,
        primitive(numbers!(float |a, b| a.remainder(b); int |a, b| Integer::remainder(a, b) => BranchlessDivide::remainder(a, b)), Helper("remainder")))
        .derivative(slopes!(|a, b; y, g| [g, -(g * a.with(FLOOR_DIVIDE, [b]))])).costs(12, 0).jumps().range(interval::remainder);
    FMOD = row("fmod", "a - b * trunc_divide(a, b), with the sign of a; of integers divided by 0, 0", 2, NumberOrI8,
        primitive(numbers!(float |a, b| a % b; int |a, b| Integer::fmod(a, b) => BranchlessDivide::fmod(a, b)), Helper("fmod")))
        .derivative(slopes!(|a, b; y, g| [g, -(g * a.with(TRUNC_DIVIDE, [b]))])).costs(12, 0).jumps().range(interval::fmod);
    NEG = row("negative", "-a", 1, Number,
        primitive(numbers!(float |a| -a; int |a| a.wrapping_neg()), Prefix("-")))
        .derivative(slopes!(|a; y, g| [-g])).range(interval::neg);
    ABS = row("absolute", "the magnitude; the least integer has none and stays", 1, Same,
        primitive(numbers!(float |a| a.abs(); int |a| Integer::absolute(a); bool |a| a),
            By(|d| match d { d if d.is_float() => Call("fabs"), d if d.is_signed() => Helper("absolute"), _ => Template("{0}") })))
        .derivative(slopes!(|a; y, g| [g * a.then(SIGN)])).range(interval::abs);
    SIGN = row("sign", "-1, 0 or 1; NaN of NaN", 1, Number,
        primitive(numbers!(float |a| if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else if a == 0.0 { 0.0 } else { a }; int |a| Integer::sign(a)),
            of_kinds!("({0} != {0}) ? {0} : ({0} > 0) - ({0} < 0)", "({0} > 0) - ({0} < 0)", "{0} != 0"))).jumps().range(interval::sign);
    RECIPROCAL = row("reciprocal", "1 / a; of integers toward 0, of 0 itself 0", 1, NumberOrI8, Composition(compose!(|a| {
            let one = a.of(1.0);
            if a.is_float() { one / a } else { one.with(TRUNC_DIVIDE, [a]) }
        })))
        .derivative(slopes!(|a; y, g| [-(g * y * y)])).costs(4, 3);
    TRUNC_DIVIDE = row("trunc_divide", "the exact a / b rounded toward 0; of integers divided by 0, 0", 2, NumberOrI8,
        primitive(numbers!(float |a, b| a.trunc_divide(b); int |a, b| Integer::trunc_divide(a, b) => BranchlessDivide::trunc_divide(a, b)), Helper("trunc_divide")))
        .costs(12, 0).jumps().range(interval::trunc_divide);
    SQR = row("sqr", "a * a", 1, NumberOrI8,
        primitive(numbers!(float |a| a * a; int |a| a.wrapping_mul(a)), Template("{0} * {0}")))
        .derivative(slopes!(|a; y, g| [g * (a * 2.0)])).range(interval::squared);
    SQRT = row("sqrt", "square root", 1, Float, primitive(floats!(|a| a.sqrt()), Call("sqrt")))
        .derivative(slopes!(|a; y, g| [g * 0.5 / y])).costs(4, 3);
    CBRT = row("cbrt", "cube root, of negative numbers too", 1, Float, primitive(usually!(|a| a.cbrt(); Vector::cbrt(a); Vector::quick_cbrt(a)), Call("cbrt")))
        .derivative(slopes!(|a; y, g| [g / (y * y * 3.0)])).costs(20, 4);
    POW = row("power", "a to the power b; integers wrap, and to a negative power are 0 but for 1 and -1", 2, NumberOrI8,
        primitive(|dtype| match dtype {
                DType::F32 | DType::F64 => usually!(|a, b| a.powf(b); Vector::pow(a, b); Vector::quick_pow(a, b))(dtype),
                _ => powers(dtype),
            }, By(|d| if d.is_float() { Call("pow") } else { Helper("power") })))
        .derivative(slopes!(|a, b; y, g|
            let one = a.of(1.0);
            // To the power 0 everything is 1: the slope is 0 where 1 / a is infinite or NaN, too.
            let regular = (one / a).abs().below(f64::INFINITY);
            let base = b.is(0.0).choose(regular.choose(a, one), a);
            // 0 and infinity have powers that stay 0.
            let still = (a.is(0.0) & !b.below(0.0)) | (a.is(f64::INFINITY) & b.below(0.0));
            [g * b * base.with(POW, [b - 1.0]), g * still.choose(one, a).log() * y])).costs(40, 16).jumps();
    HYPOT = row("hypot", "sqrt(a * a + b * b), without overflow between", 2, Float, primitive(floats!(|a, b| a.hypot(b); Vector::hypot(a, b)), Call("hypot")))
        .derivative(slopes!(|a, b; y, g|
            // 0 at the origin, like that of a magnitude; a single infinity is the result.
            let radius = y.is(0.0).choose(y.of(1.0), y);
            let (left, right) = (a.then(ISINF) & b.then(ISFINITE), b.then(ISINF) & a.then(ISFINITE));
            [g * left.choose(a.then(SIGN), a / radius), g * right.choose(b.then(SIGN), b / radius)])).costs(12, 4);
    CLIP = row("clip", "a, but not below b and not above c; NaN if one is", 3, Same,
        Composition(compose!(|a, low, high| a.with(MAXIMUM, [low]).with(MINIMUM, [high]))))
        .derivative(slopes!(|a, low, high; y, g|
            let zero = g.of(0.0);
            let over = high.less(a) | high.less(low);
            let under = a.less(low) & !over;
            [over.choose(zero, under.choose(zero, g)), under.choose(g, zero), over.choose(g, zero)]));

    // Rounding.
    FLOOR = row("floor", "the largest integer not above; integers are themselves", 1, Same,
        primitive(numbers!(float |a| a.floor(); int |a| a; bool |a| a), of_float!("floor"))).jumps().range(interval::floor);
    CEIL = row("ceil", "the least integer not below; integers are themselves", 1, Same,
        primitive(numbers!(float |a| a.ceil(); int |a| a; bool |a| a), of_float!("ceil"))).jumps().range(interval::ceil);
    TRUNC = row("trunc", "the integer part; integers are themselves", 1, Same,
        primitive(numbers!(float |a| a.trunc(); int |a| a; bool |a| a), of_float!("trunc"))).jumps().range(interval::trunc);
    RINT = row("rint", "the nearest integer, half to even", 1, Float, primitive(floats!(|a| a.round_ties_even()), Call("rint"))).jumps().range(interval::rint);
    ROUND_AWAY = row("round_half_away_from_zero", "the nearest integer, half away from 0", 1, Float,
        primitive(floats!(|a| a.round()), Call("round"))).jumps().range(interval::round_away);
    // Exponentials and logarithms.
    EXP = row("exp", "e to the power a", 1, Float, primitive(floats!(|a| a.exp(); Vector::exp(a)), Call("exp")))
        .derivative(slopes!(|a; y, g| [g * y])).costs(8, 4);
    EXP2 = row("exp2", "2 to the power a", 1, Float, primitive(usually!(|a| a.exp2(); Vector::exp2(a); Vector::quick_exp2(a)), Call("exp2")))
        .derivative(slopes!(|a; y, g| [g * y * LN_2])).costs(8, 4);
    EXPM1 = row("expm1", "exp(a) - 1, exact near 0", 1, Float, primitive(floats!(|a| a.exp_m1(); Vector::expm1(a)), Call("expm1")))
        .derivative(slopes!(|a; y, g| [g * (y + 1.0)])).costs(10, 4);
    LOG = row("log", "natural logarithm", 1, Float, primitive(usually!(|a| a.ln(); Vector::log(a); Vector::quick_log(a)), Call("log")))
        .derivative(slopes!(|a; y, g| [g / a])).costs(8, 4);
    LOG2 = row("log2", "logarithm to base 2", 1, Float, primitive(usually!(|a| a.log2(); Vector::log2(a); Vector::quick_log2(a)), Call("log2")))
        .derivative(slopes!(|a; y, g| [g / (a * LN_2)])).costs(8, 4);
    LOG10 = row("log10", "logarithm to base 10", 1, Float, primitive(usually!(|a| a.log10(); Vector::log10(a); Vector::quick_log10(a)), Call("log10")))
        .derivative(slopes!(|a; y, g| [g / (a * LN_10)])).costs(8, 4);
    LOG1P = row("log1p", "log(1 + a), exact near 0", 1, Float, primitive(floats!(|a| a.ln_1p(); Vector::log1p(a)), Call("log1p")))
        .derivative(slopes!(|a; y, g| [g / (a + 1.0)])).costs(8, 4);
    LOG1MEXP = row("log1mexp", "log(1 - exp(a)) for a below 0", 1, Float, Composition(compose!(|a| {
            // Of the smallest numbers expm1 keeps too few digits, and is the number itself.
            let near = a.above(-1e-30).choose(-a, -a.expm1()).log();
            a.above(0.0).choose(a.of(f64::NAN), a.below(-LN_2).choose((-a.exp()).log1p(), near))
        })))
        .derivative(slopes!(|a; y, g| [-(g / (a.of(0.0) - a).expm1())])).costs(20, 8);
    LOGADDEXP = row("logaddexp", "log(exp(a) + exp(b)), without overflow", 2, Float, Composition(compose!(|a, b| {
            // Infinities of one sign have no difference.
            let rest = a.same(b).choose(a.of(0.0), -(a - b).abs());
            a.with(MAXIMUM, [b]) + rest.exp().log1p()
        })))
        .derivative(slopes!(|a, b; y, g|
            // Equal infinities have no difference: each has half of the slope.
            let apart = (a.same(b) & a.then(ISINF)).choose(a.of(0.0), a - b);
            [g * apart.then(SIGMOID), g * (-apart).then(SIGMOID)])).special(20, 8, 1.0);

    // Trigonometry.
    SIN = row("sin", "sine", 1, Float, primitive(waves!(|a| a.sin(); Vector::sin(a)), Call("sin")))
        .derivative(slopes!(|a; y, g| [g * a.cos()])).costs(16, 4);
    COS = row("cos", "cosine", 1, Float, primitive(waves!(|a| a.cos(); Vector::cos(a)), Call("cos")))
        .derivative(slopes!(|a; y, g| [g * -a.sin()])).costs(16, 4);
    TAN = row("tan", "tangent", 1, Float, primitive(waves!(|a| a.tan(); Vector::tan(a)), Call("tan")))
        .derivative(slopes!(|a; y, g| [g * (y * y + 1.0)])).costs(20, 5);
    ARCSIN = row("arcsin", "the angle from -pi/2 to pi/2 with this sine", 1, Float, primitive(floats!(|a| a.asin(); Vector::asin(a)), Call("asin")))
        .derivative(slopes!(|a; y, g| [g / (-(a * a) + 1.0).sqrt()])).costs(16, 4);
    ARCCOS = row("arccos", "the angle from 0 to pi with this cosine", 1, Float, primitive(floats!(|a| a.acos(); Vector::acos(a)), Call("acos")))
        .derivative(slopes!(|a; y, g| [-(g / (-(a * a) + 1.0).sqrt())])).costs(16, 4);
    ARCTAN = row("arctan", "the angle from -pi/2 to pi/2 with this tangent", 1, Float, primitive(floats!(|a| a.atan(); Vector::atan(a)), Call("atan")))
        .derivative(slopes!(|a; y, g| [g / (a * a + 1.0)])).costs(16, 5);
    ARCTAN2 = row("arctan2", "the angle of the point (b, a), from -pi to pi", 2, Float, primitive(floats!(|a, b| a.atan2(b); Vector::atan2(a, b)), Call("atan2")))
        .derivative(slopes!(|a, b; y, g|
            let radius = a.with(HYPOT, [b]);
            // 0 at the origin, which has no angle, and at infinity; NaN of NaN.
            let end = radius.is(0.0) | radius.is(f64::INFINITY);
            let (r, none) = (end.choose(a.of(1.0), radius), y * 0.0);
            [g * (end.choose(none, b) / r) / r, -(g * (end.choose(none, a) / r) / r)])).costs(24, 6);
    SINH = row("sinh", "hyperbolic sine", 1, Float, primitive(floats!(|a| a.sinh(); Vector::sinh(a)), Call("sinh")))
        .derivative(slopes!(|a; y, g| [g * a.then(COSH)])).costs(16, 4);
    COSH = row("cosh", "hyperbolic cosine", 1, Float, primitive(floats!(|a| a.cosh(); Vector::cosh(a)), Call("cosh")))
        .derivative(slopes!(|a; y, g| [g * a.then(SINH)])).costs(16, 4);
    TANH = row("tanh", "hyperbolic tangent", 1, Float, primitive(floats!(|a| a.tanh(); Vector::tanh(a)), Call("tanh")))
        .derivative(slopes!(|a; y, g| [g * (a.of(1.0) - y * y)])).costs(16, 5);
    ARCSINH = row("arcsinh", "inverse hyperbolic sine", 1, Float,
        primitive(floats!(|a| wide(a, libm::asinh) as _; Vector::asinh(a)), Call("asinh")))
        .derivative(slopes!(|a; y, g| [g / a.with(HYPOT, [a.of(1.0)])])).costs(20, 4);
    ARCCOSH = row("arccosh", "inverse hyperbolic cosine", 1, Float,
        primitive(floats!(|a| wide(a, acosh) as _; Vector::acosh(a)), Call("acosh")))
        .derivative(slopes!(|a; y, g| [g / ((a - 1.0).sqrt() * (a + 1.0).sqrt())])).costs(20, 4);
    ARCTANH = row("arctanh", "inverse hyperbolic tangent", 1, Float,
        primitive(floats!(|a| wide(a, libm::atanh) as _; Vector::atanh(a)), Call("atanh")))
        .derivative(slopes!(|a; y, g| [g / ((a.of(1.0) - a) * (a + 1.0))])).costs(20, 5);
    DEG2RAD = row("deg2rad", "degrees as radians", 1, Float, Composition(compose!(|a| a * (PI / 180.0))))
        .derivative(slopes!(|a; y, g| [g * (PI / 180.0)])).costs(1, 1);
    RAD2DEG = row("rad2deg", "radians as degrees", 1, Float, Composition(compose!(|a| a * (180.0 / PI))))
        .derivative(slopes!(|a; y, g| [g * (180.0 / PI)])).costs(1, 1);

    // Of networks.
    SIGMOID = row("sigmoid", "1 / (1 + exp(-a)), without overflow", 1, Float, Composition(compose!(|a| {
            // exp of minus |a| stays in (0, 1]; the two halves of the curve share it.
            let one = a.of(1.0);
            let minus = -a;
            let magnitude = a.with(MAXIMUM, [minus]);
            let e = (-magnitude).exp();
            a.below(0.0).choose(e, one) / (one + e)
        })))
        .derivative(slopes!(|a; y, g| [g * (y * (a.of(1.0) - y))])).costs(20, 8);
    SOFTPLUS = row("softplus", "log(1 + exp(a)), without overflow", 1, Float,
        Composition(compose!(|a| a.with(MAXIMUM, [a.of(0.0)]) + (-a.abs()).exp().log1p())))
        .derivative(slopes!(|a; y, g| [g * a.then(SIGMOID)])).costs(20, 8);
    SOFTSIGN = row("softsign", "a / (1 + |a|)", 1, Float, Composition(compose!(|a| a / (a.abs() + 1.0))))
        .derivative(slopes!(|a; y, g|
            let bottom = a.abs() + 1.0;
            [g / (bottom * bottom)])).costs(6, 4);
    HARD_SIGMOID = row("hard_sigmoid", "0.2 * a + 0.5 between 0 and 1", 1, Float,
        Composition(compose!(|a| (a * 0.2 + 0.5).with(CLIP, [a.of(0.0), a.of(1.0)]))))
        .derivative(slopes!(|a; y, g| [(y.above(0.0) & y.below(1.0)).choose(g * 0.2, g.of(0.0))])).special(4, 4, 1.0);

    RELU = row("relu", "a, but not below 0; NaN of NaN", 1, Number, Composition(compose!(|a| a.with(MAXIMUM, [a.of(0.0)]))))
        .derivative(slopes!(|a; y, g| [y.is(0.0).choose(g.of(0.0), g)]));

    // Comparison and choice.
    MAXIMUM = row("maximum", "the larger; NaN if either is", 2, Same,
        primitive(numbers!(float |a, b| if a > b || a.is_nan() { a } else { b }; int |a, b| a.max(b); bool |a, b| a | b),
            Template("({0} > {1} || {0} != {0}) ? {0} : {1}")))
        .derivative(slopes!(|a, b; y, g|
            // Equal ones share it; NaN has all of it, as both have if both are NaN.
            let (zero, share) = (g.of(0.0), a.same(b).choose(g * 0.5, g));
            [a.less(b).choose(zero, share), b.less(a).choose(zero, share)])).range(interval::maximum);
    MINIMUM = row("minimum", "the smaller; NaN if either is", 2, Same,
        primitive(numbers!(float |a, b| if a < b || a.is_nan() { a } else { b }; int |a, b| a.min(b); bool |a, b| a & b),
            Template("({0} < {1} || {0} != {0}) ? {0} : {1}")))
        .derivative(slopes!(|a, b; y, g|
            // Equal ones share it; NaN has all of it, as both have if both are NaN.
            let (zero, share) = (g.of(0.0), a.same(b).choose(g * 0.5, g));
            [b.less(a).choose(zero, share), a.less(b).choose(zero, share)])).range(interval::minimum);
    FMAX = row("fmax", "the larger; NaN only if both are", 2, Same,
        primitive(numbers!(float |a, b| if a >= b || b.is_nan() { a } else { b }; int |a, b| a.max(b); bool |a, b| a | b),
            Template("({0} >= {1} || {1} != {1}) ? {0} : {1}")))
        .derivative(slopes!(|a, b; y, g|
            let (zero, first, tie) = (g.of(0.0), a.same(y), a.same(b));
            let share = tie.choose(g * 0.5, g);
            [first.choose(share, zero), (first & !tie).choose(zero, share)])).range(interval::fmaximum);
    FMIN = row("fmin", "the smaller; NaN only if both are", 2, Same,
        primitive(numbers!(float |a, b| if a <= b || b.is_nan() { a } else { b }; int |a, b| a.min(b); bool |a, b| a & b),
            Template("({0} <= {1} || {1} != {1}) ? {0} : {1}")))
        .derivative(slopes!(|a, b; y, g|
            let (zero, first, tie) = (g.of(0.0), a.same(y), a.same(b));
            let share = tie.choose(g * 0.5, g);
            [first.choose(share, zero), (first & !tie).choose(zero, share)])).range(interval::fminimum);
    EQ = row("equal", "a == b", 2, Compare, primitive(compare!(|a, b| a == b), Infix("=="))).jumps();
    NE = row("not_equal", "a != b", 2, Compare, primitive(compare!(|a, b| a != b), Infix("!="))).jumps();
    LT = row("less", "a < b", 2, Compare, primitive(compare!(|a, b| a < b), Infix("<"))).jumps();
    LE = row("less_equal", "a <= b", 2, Compare, primitive(compare!(|a, b| a <= b), Infix("<="))).jumps();
    GT = row("greater", "a > b", 2, Compare, primitive(compare!(|a, b| a > b), Infix(">"))).jumps();
    GE = row("greater_equal", "a >= b", 2, Compare, primitive(compare!(|a, b| a >= b), Infix(">="))).jumps();
    ISNAN = row("isnan", "whether it is no number", 1, Compare, Composition(compose!(|a| a.with(NE, [a]))));
    ISINF = row("isinf", "whether it is infinite", 1, Compare,
        primitive(tests!(float |a| a.is_infinite(); int |_a| false), of_kinds!("isinf({0}) != 0", "{0} != {0}", "{0} != {0}"))).jumps();
    ISFINITE = row("isfinite", "whether it is a finite number", 1, Compare,
        primitive(tests!(float |a| a.is_finite(); int |_a| true), of_kinds!("isfinite({0}) != 0", "{0} == {0}", "{0} == {0}"))).jumps();
    SIGNBIT = row("signbit", "whether the sign is minus, of 0 and NaN too", 1, Compare,
        primitive(tests!(float |a| a.is_sign_negative(); int |a| Integer::is_below_zero(a)), of_kinds!("signbit({0}) != 0", "{0} < 0", "{0} != {0}")));
    AND = row("logical_and", "both are nonzero", 2, Logical, primitive(bools!(|a, b| a & b), Infix("&&")));
    OR = row("logical_or", "either is nonzero", 2, Logical, primitive(bools!(|a, b| a | b), Infix("||")));
    XOR = row("logical_xor", "one is nonzero and the other is not", 2, Logical, primitive(bools!(|a, b| a ^ b), Infix("!=")));
    NOT = row("logical_not", "is zero", 1, Logical, primitive(bools!(|a| a ^ 1), Prefix("!")));
    WHERE = row("where", "the second argument where the first is true, else the third", 3, Select,
        primitive(|dtype| Some(match dtype.register().width() {
            Width::Bits8 => tiles::<Choose<u8>>(),
            Width::Bits16 => tiles::<Choose<u16>>(),
            Width::Bits32 => tiles::<Choose<u32>>(),
            Width::Bits64 => tiles::<Choose<u64>>(),
            Width::Bits128 => return None,
        }), Template("{0} ? {1} : {2}")))
        .derivative(slopes!(|c, a, b; y, g|
            let zero = g.of(0.0);
            [FLAT, c.choose(g, zero), c.choose(zero, g)])).range(interval::choice);
    // Bits.
    BITWISE_AND = row("bitwise_and", "a & b", 2, Integral, primitive(integers!(int |a, b| a & b; bool |a, b| a & b), Infix("&"))).range(interval::both_bits);
    BITWISE_OR = row("bitwise_or", "a | b", 2, Integral, primitive(integers!(int |a, b| a | b; bool |a, b| a | b), Infix("|")));
    BITWISE_XOR = row("bitwise_xor", "a ^ b", 2, Integral, primitive(integers!(int |a, b| a ^ b; bool |a, b| a ^ b), Infix("^")));
    INVERT = row("invert", "every bit the other way; not, for bool", 1, Integral,
        primitive(integers!(int |a| !a; bool |a| a ^ 1), By(|d| if d == DType::Bool { Prefix("!") } else { Prefix("~") })));
    LEFT_SHIFT = row("left_shift", "a << b; 0 if b is negative or leaves nothing", 2, IntegralOrI8,
        primitive(integers!(int |a, b| Integer::left_shift(a, b)), Helper("left_shift")));
    RIGHT_SHIFT = row("right_shift", "a >> b; the sign alone if b is negative or leaves nothing", 2, IntegralOrI8,
        primitive(integers!(int |a, b| Integer::right_shift(a, b)), Helper("right_shift"))).range(interval::shifted_right);
    COPYSIGN = row("copysign", "the magnitude of a with the sign of b", 2, Float, primitive(floats!(|a, b| a.copysign(b)), Call("copysign")))
        .derivative(slopes!(|a, b; y, g| [g * a.of(1.0).with(COPYSIGN, [b]) * a.then(SIGN), FLAT]));
    NEXTAFTER = row("nextafter", "the float next to a toward b; of float32 and float64", 2, Wide,
        primitive(|dtype| match dtype {
            DType::F32 => Some(tile!(f32 => f32; |a, b| libm::nextafterf(a, b))),
            DType::F64 => Some(tile!(f64 => f64; |a, b| libm::nextafter(a, b))),
            _ => None,
        }, Call("nextafter"))).derivative(slopes!(|a, b; y, g| [g, FLAT]));
    PHILOX = row("philox", "64 random bits: words 2*lane and 2*lane+1 of Philox4x32-10 at (key, counter)", 3, Bits,
        primitive(|dtype| match dtype {
            DType::U64 => Some(tile!(u64 => u64; |key, counter, lane| philox_u64(key, counter, lane))),
            _ => None,
        }, Helper("philox"))).costs(60, 0);
    DRAW_LOG_GAMMA = row("draw_log_gamma", "the logarithm of a gamma variable with shape c and scale 1, drawn at (key, counter)", 3, Draw,
        primitive(drawn::<rejection_sampling::LogGamma>, Helper("draw_log_gamma"))).derivative(slopes!(|key, counter, shape; y, g| [FLAT, FLAT, UNKNOWN])).costs(400, 64).jumps();
    DRAW_POISSON = row("draw_poisson", "a Poisson variable with mean c, drawn at (key, counter)", 3, Draw,
        primitive(drawn::<rejection_sampling::Poisson>, Helper("draw_poisson"))).costs(400, 0).jumps();
    DRAW_BINOMIAL = row("draw_binomial", "how many of c trials succeed, each with probability d, drawn at (key, counter)", 4, Draw,
        primitive(drawn::<rejection_sampling::Binomial>, Helper("draw_binomial"))).costs(400, 0).jumps();

    // Special functions.
    XLOGX = row("xlogx", "a * log(a); 0 at 0", 1, Float, Composition(compose!(|a| a.is(0.0).choose(a.of(0.0), a * a.log()))))
        .derivative(slopes!(|a; y, g| [g * (a.log() + 1.0)])).costs(10, 5);
    XLOGY = row("xlogy", "a * log(b); 0 where a is 0 and b a number", 2, Float,
        Composition(compose!(|a, b| (a.is(0.0) & b.same(b)).choose(a.of(0.0), a * b.log()))))
        .derivative(slopes!(|a, b; y, g|
            let none = a.is(0.0) & b.is(0.0);
            [g * none.choose(a.of(0.0), b.log()), g * none.choose(a.of(0.0), a / b)])).costs(10, 5);
    XLOG1PY = row("xlog1py", "a * log(1 + b); 0 where a is 0 and b a number", 2, Float,
        Composition(compose!(|a, b| (a.is(0.0) & b.same(b)).choose(a.of(0.0), a * b.log1p()))))
        .derivative(slopes!(|a, b; y, g|
            let none = a.is(0.0) & b.is(-1.0);
            [g * none.choose(a.of(0.0), b.log1p()), g * none.choose(a.of(0.0), a / (b + 1.0))])).costs(10, 5);
    ERF = row("erf", "the error function", 1, Float, primitive(floats!(|a| wide(a, libm::erf) as _; Vector::erf(a)), Call("erf")))
        .derivative(slopes!(|a; y, g| [g * ((-(a * a)).exp() * FRAC_2_SQRT_PI)])).costs(30, 16);
    ERFC = row("erfc", "1 - erf(a), exact where that is small", 1, Float, primitive(floats!(|a| wide(a, libm::erfc) as _; Vector::erfc(a)), Call("erfc")))
        .derivative(slopes!(|a; y, g| [-(g * ((-(a * a)).exp() * FRAC_2_SQRT_PI))])).costs(30, 16);
    ERFCX = row("erfcx", "exp(a * a) * erfc(a)", 1, Float, written!(special::erfcx))
        .derivative(slopes!(|a; y, g|
            // Beyond 20 the difference cancels: the first terms of its asymptotic series (DLMF 7.12.1).
            let far = a.with(MAXIMUM, [a.of(20.0)]);
            let u = a.of(1.0) / (far * far);
            let tail = ((((u * 324.84375 - 59.0625) * u + 13.125) * u - 3.75) * u + 1.5) * u - 1.0;
            [g * a.above(20.0).choose(u * tail * (FRAC_2_SQRT_PI / 2.0), a * y * 2.0 - FRAC_2_SQRT_PI)])).special(80, 16, 0.0);
    ERFINV = row("erfinv", "the number whose erf is a", 1, Float, written!(special::erfinv))
        .derivative(slopes!(|a; y, g| [g * ((y * y).exp() / FRAC_2_SQRT_PI)])).special(160, 16, 0.0);
    ERFCINV = row("erfcinv", "the number whose erfc is a", 1, Float, written!(special::erfcinv))
        .derivative(slopes!(|a; y, g| [-(g * ((y * y).exp() / FRAC_2_SQRT_PI))])).special(160, 16, 0.0);
    NDTRI = row("ndtri", "the number below which a standard normal variable lies with probability a", 1, Float, written!(special::ndtri))
        .derivative(slopes!(|a; y, g| [g * ((y * y * 0.5).exp() * (2.0 * SQRT_2 / FRAC_2_SQRT_PI))])).special(160, 16, 0.0);
    GAMMA = row("gamma", "the gamma function", 1, Float, primitive(super::vector::gamma::loops, Helper("gamma_function")))
        .derivative(slopes!(|a; y, g| [g * y * a.then(DIGAMMA)])).special(80, 16, 0.0);
    GAMMALN = row("gammaln", "log |gamma(a)|", 1, Float, written!(special::gammaln))
        .derivative(slopes!(|a; y, g| [g * a.then(DIGAMMA)])).special(140, 64, 1.0);
    DIGAMMA = row("digamma", "the derivative of log gamma", 1, Float, written!(special::digamma))
        .derivative(slopes!(|a; y, g| [g * a.then(TRIGAMMA)])).special(120, 16, 1.0);
    TRIGAMMA = row("trigamma", "the derivative of digamma", 1, Float, written!(special::trigamma))
        .derivative(slopes!(|a; y, g| [g * a.of(2.0).with(POLYGAMMA, [a])])).special(120, 16, 0.0);
    I0 = row("i0", "the modified Bessel function of order 0", 1, Float, written!(special::i0))
        .derivative(slopes!(|a; y, g| [g * a.then(I1)])).special(160, 16, 0.0);
    I1 = row("i1", "the modified Bessel function of order 1", 1, Float, written!(special::i1))
        .derivative(slopes!(|a; y, g| [g * (a.then(I0) - a.is(0.0).choose(a.of(0.5), a.then(ISINF).choose(a.of(0.0), y / a)))])).special(160, 16, 0.0);
    J0 = row("j0", "the Bessel function of order 0", 1, Float, written_waves!(special::j0))
        .derivative(slopes!(|a; y, g| [-(g * a.then(J1))])).special(160, 16, 1.0);
    J1 = row("j1", "the Bessel function of order 1", 1, Float, written_waves!(special::j1))
        .derivative(slopes!(|a; y, g| [g * (a.then(J0) - a.is(0.0).choose(a.of(0.5), y / a))])).special(160, 16, 1.0);
    POLYGAMMA = row("polygamma", "the derivative of order a of digamma, at b; NaN where a is no integer from 0", 2, Float,
        hosted!(|a, b| special::polygamma))
        .derivative(slopes!(|a, b; y, g| [UNKNOWN, g * (a + 1.0).with(POLYGAMMA, [b])])).special(600, 32, 1.0);
    GAMMAINC = row("gammainc", "the regularized lower incomplete gamma function of a, from 0 to b", 2, Float,
        hosted!(|a, b| special::gammainc))
        .derivative(slopes!(|a, b; y, g| [UNKNOWN, g * gamma_density(a, b)])).special(1500, 32, 0.0);
    GAMMAINCC = row("gammaincc", "the regularized upper incomplete gamma function of a, from b", 2, Float,
        hosted!(|a, b| special::gammaincc))
        .derivative(slopes!(|a, b; y, g| [UNKNOWN, -(g * gamma_density(a, b))])).special(1500, 64, 0.0);
    BETAINC = row("betainc", "the regularized incomplete beta function of a and b, from 0 to c", 3, Float,
        hosted!(|a, b, c| special::betainc))
        .derivative(slopes!(|a, b, c; y, g|
            let beta = a.then(GAMMALN) + b.then(GAMMALN) - (a + b).then(GAMMALN);
            let density = (a - 1.0).with(XLOGY, [c]) + (b - 1.0).with(XLOG1PY, [-c]) - beta;
            let outside = c.below(0.0) | c.above(1.0);
            [UNKNOWN, UNKNOWN, g * outside.choose(c.of(f64::NAN), density.exp())])).special(2500, 32, 0.0);
    JV = row("jv", "the Bessel function of the first kind of order a, at b", 2, Float, hosted!(|a, b| special::jv))
        .derivative(slopes!(|a, b; y, g| [UNKNOWN, g * ((a - 1.0).with(JV, [b]) - (a + 1.0).with(JV, [b])) * 0.5])).special(1000, 64, 1.0);
    IV = row("iv", "the modified Bessel function of the first kind of order a, at b", 2, Float, hosted!(|a, b| special::iv))
        .derivative(slopes!(|a, b; y, g| [UNKNOWN, g * ((a - 1.0).with(IV, [b]) + (a + 1.0).with(IV, [b])) * 0.5])).special(1000, 32, 0.0);
    IVE = row("ive", "exp(-|b|) times the modified Bessel function of the first kind of order a, at b", 2, Float, hosted!(|a, b| special::ive))
        .derivative(slopes!(|a, b; y, g|
            let mean = ((a - 1.0).with(IVE, [b]) + (a + 1.0).with(IVE, [b])) * 0.5;
            [UNKNOWN, g * (mean - b.then(SIGN) * y)])).special(1000, 32, 0.0);
    KVE = row("kve", "exp(b) times the modified Bessel function of the second kind of order a, at b", 2, Float, hosted!(|a, b| special::kve))
        .derivative(slopes!(|a, b; y, g|
            let mean = ((a - 1.0).with(KVE, [b]) + (a + 1.0).with(KVE, [b])) * 0.5;
            // At 0 both are infinite, and the mean more so.
            [UNKNOWN, g * b.is(0.0).choose(-mean, y - mean)])).special(1000, 32, 0.0);
    OWENS_T = row("owens_t", "Owen's T function: the probability that a standard normal X is above a, and another between 0 and b X", 2, Float,
        hosted!(|a, b| special::owens_t))
        .derivative(slopes!(|a, b; y, g|
            let height = (a * a * -0.5).exp() * (FRAC_2_SQRT_PI / (4.0 * SQRT_2));
            let slope = b * b + 1.0;
            [-(g * height * (a * b * (SQRT_2 / 2.0)).then(ERF)), g * (a * a * slope * -0.5).exp() / (slope * (2.0 * PI))])).special(400, 16, 0.0);
    HYP2F1 = row("hyp2f1", "Gauss' hypergeometric function F(a, b; c; d), for d to 1", 4, Float, hosted!(|a, b, c, d| special::hyp2f1))
        .derivative(slopes!(|a, b, c, d; y, g|
            // Constant if a or b is 0.
            let k = a * b / c;
            [UNKNOWN, UNKNOWN, UNKNOWN, g * k.is(0.0).choose(k, k * (a + 1.0).with(HYP2F1, [b + 1.0, c + 1.0, d]))])).special(4000, 16, 0.0);
}
