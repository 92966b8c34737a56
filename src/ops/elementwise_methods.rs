//! Elementwise functions as methods of Variables: each is a row of the scalar op table, applied with NumPy's
//! rules.

use super::elemwise::{cast, elemwise};
use super::methods::{binary, fail, methods, unary};
use crate::error::Result;
use crate::graph::{IntoOperand, Operand, Variable};
use workalike_kernels::DType;
use workalike_kernels::ops::{self as scalar, ScalarOp};

methods! {
    /// `e` to the power of each element.
    exp / try_exp(x) { unary(scalar::EXP, x) }
    /// Natural logarithm.
    log / try_log(x) { unary(scalar::LOG, x) }
    /// `log(1 + x)`, exact near 0.
    log1p / try_log1p(x) { unary(scalar::LOG1P, x) }
    /// `exp(x) - 1`, exact near 0.
    expm1 / try_expm1(x) { unary(scalar::EXPM1, x) }
    /// Hyperbolic tangent.
    tanh / try_tanh(x) { unary(scalar::TANH, x) }
    /// `1 / (1 + exp(-x))`.
    sigmoid / try_sigmoid(x) { unary(scalar::SIGMOID, x) }
    /// `x * x`.
    #[doc(alias("square"))]
    sqr / try_sqr(x) { unary(scalar::SQR, x) }
    /// Square root.
    sqrt / try_sqrt(x) { unary(scalar::SQRT, x) }
    /// Sine.
    sin / try_sin(x) { unary(scalar::SIN, x) }
    /// Cosine.
    cos / try_cos(x) { unary(scalar::COS, x) }
    /// Logical not.
    not / try_not(x) { unary(scalar::NOT, x) }
    /// The larger of two, NaN if either is.
    maximum / try_maximum(x, other: impl IntoOperand) { binary(scalar::MAXIMUM, x, other) }
    /// The smaller of two, NaN if either is.
    minimum / try_minimum(x, other: impl IntoOperand) { binary(scalar::MINIMUM, x, other) }
    /// `x == other`, elementwise.
    #[doc(alias("eq"))]
    equal / try_equal(x, other: impl IntoOperand) { binary(scalar::EQ, x, other) }
    /// `x != other`, elementwise.
    #[doc(alias("neq", "ne"))]
    not_equal / try_not_equal(x, other: impl IntoOperand) { binary(scalar::NE, x, other) }
    /// `x < other`, elementwise.
    #[doc(alias("lt"))]
    less / try_less(x, other: impl IntoOperand) { binary(scalar::LT, x, other) }
    /// `x <= other`, elementwise.
    #[doc(alias("le"))]
    less_equal / try_less_equal(x, other: impl IntoOperand) { binary(scalar::LE, x, other) }
    /// `x > other`, elementwise.
    #[doc(alias("gt"))]
    greater / try_greater(x, other: impl IntoOperand) { binary(scalar::GT, x, other) }
    /// `x >= other`, elementwise.
    #[doc(alias("ge"))]
    greater_equal / try_greater_equal(x, other: impl IntoOperand) { binary(scalar::GE, x, other) }
    /// Both are true.
    and / try_and(x, other: impl IntoOperand) { binary(scalar::AND, x, other) }
    /// Either is true.
    or / try_or(x, other: impl IntoOperand) { binary(scalar::OR, x, other) }
    /// `x + other`.
    plus / try_add(x, other: impl IntoOperand) { binary(scalar::ADD, x, other) }
    /// `x - other`.
    minus / try_sub(x, other: impl IntoOperand) { binary(scalar::SUB, x, other) }
    /// `x * other`.
    times / try_mul(x, other: impl IntoOperand) { binary(scalar::MUL, x, other) }
    /// `x / other` in floats.
    over / try_div(x, other: impl IntoOperand) { binary(scalar::DIV, x, other) }
    /// Logarithm to base 2.
    log2 / try_log2(x) { unary(scalar::LOG2, x) }
    /// Logarithm to base 10.
    log10 / try_log10(x) { unary(scalar::LOG10, x) }
    /// 2 to the power of each element.
    exp2 / try_exp2(x) { unary(scalar::EXP2, x) }
    /// `log(1 - exp(x))` for x below 0.
    log1mexp / try_log1mexp(x) { unary(scalar::LOG1MEXP, x) }
    /// The magnitude.
    abs / try_abs(x) { unary(scalar::ABS, x) }
    /// -1, 0 or 1; NaN of NaN.
    sign / try_sign(x) { unary(scalar::SIGN, x) }
    /// `1 / x`; of integers toward 0.
    reciprocal / try_reciprocal(x) { unary(scalar::RECIPROCAL, x) }
    /// Cube root, of negative numbers too.
    cbrt / try_cbrt(x) { unary(scalar::CBRT, x) }
    /// The largest integer not above; integers stay as they are.
    floor / try_floor(x) { unary(scalar::FLOOR, x) }
    /// The least integer not below; integers stay as they are.
    ceil / try_ceil(x) { unary(scalar::CEIL, x) }
    /// The integer part; integers stay as they are.
    trunc / try_trunc(x) { unary(scalar::TRUNC, x) }
    /// The nearest integer, half to even.
    rint / try_rint(x) { unary(scalar::RINT, x) }
    /// The nearest integer, half away from 0.
    round_half_away / try_round_half_away(x) { unary(scalar::ROUND_AWAY, x) }
    /// Tangent.
    tan / try_tan(x) { unary(scalar::TAN, x) }
    /// The angle from -pi/2 to pi/2 with this sine.
    #[doc(alias("asin"))]
    arcsin / try_arcsin(x) { unary(scalar::ARCSIN, x) }
    /// The angle from 0 to pi with this cosine.
    #[doc(alias("acos"))]
    arccos / try_arccos(x) { unary(scalar::ARCCOS, x) }
    /// The angle from -pi/2 to pi/2 with this tangent.
    #[doc(alias("atan"))]
    arctan / try_arctan(x) { unary(scalar::ARCTAN, x) }
    /// Hyperbolic sine.
    sinh / try_sinh(x) { unary(scalar::SINH, x) }
    /// Hyperbolic cosine.
    cosh / try_cosh(x) { unary(scalar::COSH, x) }
    /// Inverse hyperbolic sine.
    arcsinh / try_arcsinh(x) { unary(scalar::ARCSINH, x) }
    /// Inverse hyperbolic cosine.
    arccosh / try_arccosh(x) { unary(scalar::ARCCOSH, x) }
    /// Inverse hyperbolic tangent.
    arctanh / try_arctanh(x) { unary(scalar::ARCTANH, x) }
    /// Degrees as radians.
    deg2rad / try_deg2rad(x) { unary(scalar::DEG2RAD, x) }
    /// Radians as degrees.
    rad2deg / try_rad2deg(x) { unary(scalar::RAD2DEG, x) }
    /// `log(1 + exp(x))`, without overflow.
    #[doc(alias("logaddexp"))]
    softplus / try_softplus(x) { unary(scalar::SOFTPLUS, x) }
    /// `x / (1 + |x|)`.
    softsign / try_softsign(x) { unary(scalar::SOFTSIGN, x) }
    /// `0.2 x + 0.5` between 0 and 1.
    hard_sigmoid / try_hard_sigmoid(x) { unary(scalar::HARD_SIGMOID, x) }
    /// Whether each element is no number.
    isnan / try_isnan(x) { unary(scalar::ISNAN, x) }
    /// Whether each element is infinite.
    isinf / try_isinf(x) { unary(scalar::ISINF, x) }
    /// Whether each element is a finite number.
    isfinite / try_isfinite(x) { unary(scalar::ISFINITE, x) }
    /// Whether the sign is minus, of 0 and NaN too.
    signbit / try_signbit(x) { unary(scalar::SIGNBIT, x) }
    /// Every bit the other way; not, for bool.
    invert / try_invert(x) { unary(scalar::INVERT, x) }
    /// The error function.
    erf / try_erf(x) { unary(scalar::ERF, x) }
    /// `1 - erf(x)`, accurate for small results.
    erfc / try_erfc(x) { unary(scalar::ERFC, x) }
    /// `exp(x * x) * erfc(x)`.
    erfcx / try_erfcx(x) { unary(scalar::ERFCX, x) }
    /// The number whose `erf` is x.
    erfinv / try_erfinv(x) { unary(scalar::ERFINV, x) }
    /// The number whose `erfc` is x.
    erfcinv / try_erfcinv(x) { unary(scalar::ERFCINV, x) }
    /// The number below which a standard normal variable lies with probability x.
    ndtri / try_ndtri(x) { unary(scalar::NDTRI, x) }
    /// The gamma function.
    gamma / try_gamma(x) { unary(scalar::GAMMA, x) }
    /// `log |gamma(x)|`.
    gammaln / try_gammaln(x) { unary(scalar::GAMMALN, x) }
    /// The derivative of `gammaln`.
    digamma / try_digamma(x) { unary(scalar::DIGAMMA, x) }
    /// The derivative of `digamma`.
    trigamma / try_trigamma(x) { unary(scalar::TRIGAMMA, x) }
    /// The modified Bessel function of the first kind, order 0.
    i0 / try_i0(x) { unary(scalar::I0, x) }
    /// The modified Bessel function of the first kind, order 1.
    i1 / try_i1(x) { unary(scalar::I1, x) }
    /// The Bessel function of the first kind, order 0.
    j0 / try_j0(x) { unary(scalar::J0, x) }
    /// The Bessel function of the first kind, order 1.
    j1 / try_j1(x) { unary(scalar::J1, x) }
    /// `x * log(x)`; 0 at 0.
    xlogx / try_xlogx(x) { unary(scalar::XLOGX, x) }
    /// The largest integer not above `x / other`, as a number; integers by 0 give 0.
    #[doc(alias("int_div"))]
    floor_divide / try_floor_divide(x, other: impl IntoOperand) { binary(scalar::FLOOR_DIVIDE, x, other) }
    /// `x - other * floor_divide(x, other)`, with the sign of `other` (also `%`).
    remainder / try_remainder(x, other: impl IntoOperand) { binary(scalar::REMAINDER, x, other) }
    /// `x - other * trunc(x / other)`, with the sign of x.
    fmod / try_fmod(x, other: impl IntoOperand) { binary(scalar::FMOD, x, other) }
    /// `x` to the power `other`; integers stay integers.
    pow / try_pow(x, other: impl IntoOperand) { binary(scalar::POW, x, other) }
    /// `sqrt(x * x + other * other)`, without overflow between.
    hypot / try_hypot(x, other: impl IntoOperand) { binary(scalar::HYPOT, x, other) }
    /// The angle of the point `(other, x)`, from -pi to pi.
    #[doc(alias("atan2"))]
    arctan2 / try_arctan2(x, other: impl IntoOperand) { binary(scalar::ARCTAN2, x, other) }
    /// `log(exp(x) + exp(other))`, without overflow.
    logaddexp / try_logaddexp(x, other: impl IntoOperand) { binary(scalar::LOGADDEXP, x, other) }
    /// The larger of two, NaN only if both are.
    fmax / try_fmax(x, other: impl IntoOperand) { binary(scalar::FMAX, x, other) }
    /// The smaller of two, NaN only if both are.
    fmin / try_fmin(x, other: impl IntoOperand) { binary(scalar::FMIN, x, other) }
    /// One is true and the other is not.
    xor / try_xor(x, other: impl IntoOperand) { binary(scalar::XOR, x, other) }
    /// `x & other`, bit by bit.
    bitwise_and / try_bitwise_and(x, other: impl IntoOperand) { binary(scalar::BITWISE_AND, x, other) }
    /// `x | other`, bit by bit.
    bitwise_or / try_bitwise_or(x, other: impl IntoOperand) { binary(scalar::BITWISE_OR, x, other) }
    /// `x ^ other`, bit by bit.
    bitwise_xor / try_bitwise_xor(x, other: impl IntoOperand) { binary(scalar::BITWISE_XOR, x, other) }
    /// `x << other`; 0 where nothing is left.
    left_shift / try_left_shift(x, other: impl IntoOperand) { binary(scalar::LEFT_SHIFT, x, other) }
    /// `x >> other`; the sign alone where nothing is left.
    right_shift / try_right_shift(x, other: impl IntoOperand) { binary(scalar::RIGHT_SHIFT, x, other) }
    /// The magnitude of x with the sign of `other`.
    copysign / try_copysign(x, other: impl IntoOperand) { binary(scalar::COPYSIGN, x, other) }
    /// The float next to x toward `other`; of float32 and float64.
    nextafter / try_nextafter(x, other: impl IntoOperand) { binary(scalar::NEXTAFTER, x, other) }
    /// `x * log(other)`; 0 where x is 0.
    xlogy / try_xlogy(x, other: impl IntoOperand) { binary(scalar::XLOGY, x, other) }
    /// `x * log(1 + other)`; 0 where x is 0.
    xlog1py / try_xlog1py(x, other: impl IntoOperand) { binary(scalar::XLOG1PY, x, other) }
    /// x, but not below `low` and not above `high`; NaN if one of them is.
    #[doc(alias("clamp"))]
    clip / try_clip(x, low: impl IntoOperand, high: impl IntoOperand) {
        elemwise(scalar::CLIP, vec![Operand::Variable(x.clone()), low.into_operand(), high.into_operand()])
    }
    /// The nearest integer, half to even; integers stay as they are (NumPy's `round`).
    round / try_round(x) {
        if x.dtype().is_integer() { Ok(x.clone()) } else { unary(scalar::RINT, x) }
    }
    /// Whether two numbers are near: `|x - other| <= atol + rtol |other|`, infinities only if they are equal,
    /// NaN never.
    isclose / try_isclose(x, other: impl IntoOperand, rtol: f64, atol: f64) {
        let other = match other.into_operand() {
            Operand::Int(n) => Operand::Float(n as f64),
            other => other,
        };
        let other = Operand::resolve(vec![Operand::Variable(x.clone()), other]).swap_remove(1);
        // Differences of integers wrap.
        let dtype = x.dtype().promote(other.checked()?.dtype());
        let dtype = if dtype.real().is_float() { dtype } else { DType::F64 };
        let (x, other) = (&cast(x, dtype)?, &cast(&other, dtype)?);
        let near = (x - other).try_abs()?.try_less_equal(other.abs() * rtol + atol)?;
        near.try_and(other.isfinite())?.try_or(x.equal(other))
    }
    /// `1 / sqrt(x)`.
    rsqrt / try_rsqrt(x) { unary(scalar::SQRT, x)?.try_reciprocal() }
    /// The rectifier: the larger of `x` and 0. NaN stays NaN. Its slope at 0 is 0.
    #[doc(alias("rectifier"))]
    relu / try_relu(x) {
        // The row's integers are what `maximum` with an integer gives.
        let dtype = if x.dtype() == DType::Bool { DType::I64 } else { x.dtype() };
        unary(scalar::RELU, &cast(x, dtype)?)
    }
    /// `x` times the probability that a standard normal variable is below it (D. Hendrycks and K. Gimpel,
    /// "Gaussian error linear units", 2016): `x erfc(-x / sqrt(2)) / 2`, exact where it is small.
    gelu / try_gelu(x) {
        let below = x.try_mul(-std::f64::consts::FRAC_1_SQRT_2)?.try_erfc()?;
        x.try_mul(below.try_mul(0.5)?)
    }
    /// `x sigmoid(x)` (also called swish).
    #[doc(alias("swish"))]
    silu / try_silu(x) { x.try_mul(x.try_sigmoid()?) }
    /// The number of bits that are 1, of negative numbers in their absolute value, as uint8 (NumPy's
    /// `bitwise_count`).
    bitwise_count / try_bitwise_count(x) {
        if !x.dtype().is_integer() {
            return Err(fail("bitwise_count", format!("expected integers, got {}", x.ty())));
        }
        // Sums of neighbouring bits, pairs and fours, then of all bytes by a product (H. Warren, "Hacker's
        // Delight", 5-1).
        let word = |bits: u64| Variable::constant(bits);
        // In 64 bits, where the smallest of a narrower dtype has an absolute value.
        let wide = if x.dtype().is_signed() { cast(x, DType::I64)? } else { x.clone() };
        let mut n = cast(&wide.try_abs()?, DType::U64)?;
        n = n.try_sub(n.try_right_shift(word(1))?.try_bitwise_and(word(0x5555_5555_5555_5555))?)?;
        let pairs = word(0x3333_3333_3333_3333);
        n = n.try_bitwise_and(&pairs)?.try_add(n.try_right_shift(word(2))?.try_bitwise_and(&pairs)?)?;
        n = n.try_add(n.try_right_shift(word(4))?)?.try_bitwise_and(word(0x0f0f_0f0f_0f0f_0f0f))?;
        cast(&n.try_mul(word(0x0101_0101_0101_0101))?.try_right_shift(word(56))?, DType::U8)
    }
    /// Any elementwise op of one argument, by its row.
    elementwise / try_elementwise(x, op: ScalarOp) { unary(op, x) }
}

/// Any elementwise op, by its row; arguments are promoted and broadcast by NumPy's rules.
///
/// # Errors
/// If they are not as many as the row takes, or of dtypes that it refuses, or their shapes do not broadcast.
#[track_caller]
pub fn elementwise(op: ScalarOp, args: impl IntoIterator<Item = impl IntoOperand>) -> Result<Variable> {
    elemwise(op, args.into_iter().map(IntoOperand::into_operand).collect())
}

/// `yes` where `condition`, else `no` (NumPy's `where`).
#[track_caller]
pub fn where_(condition: impl IntoOperand, yes: impl IntoOperand, no: impl IntoOperand) -> Variable {
    let operands = vec![condition.into_operand(), yes.into_operand(), no.into_operand()];
    elemwise(scalar::WHERE, operands).unwrap_or_else(Variable::poison)
}
