//! Elementwise ops of complex numbers, as expressions of real and imaginary parts.
//!
//! Formulas are those of C99 (annex G) without its special cases of infinities, unless a source is named. A
//! real operand beside a complex one stays real, as in C: it scales both parts.

use super::{Part, joined, no_cast, part};
use crate::error::Result;
use crate::graph::Variable;
use crate::ops::creation::zeros_like;
use crate::ops::elementwise_methods::where_;
use crate::ops::elemwise::cast;
use crate::ops::gradient_modifiers::consider_constant;
use crate::ops::methods::fail;
use crate::ops::shape::BroadcastLike;
use workalike_kernels::DType;
use workalike_kernels::ops::*;

/// A complex number as its parts; without an imaginary part it is real.
struct Parts {
    re: Variable,
    im: Option<Variable>,
}

impl Parts {
    /// The parts of a Variable, of this dtype.
    fn of(x: &Variable, dtype: DType) -> Result<Parts> {
        let im = x.dtype().is_complex().then(|| cast(&part(x, Part::Imaginary)?, dtype));
        Ok(Parts { re: cast(&part(x, Part::Real)?, dtype)?, im: im.transpose()? })
    }

    /// The imaginary part, zeros if there is none.
    fn im(&self) -> Variable {
        self.im.clone().unwrap_or_else(|| zeros_like(&self.re))
    }
}

/// An elementwise op on operands of which at least one is complex.
pub(crate) fn elementwise(op: ScalarOp, inputs: &[Variable]) -> Result<Variable> {
    if op == WHERE {
        return choice(inputs);
    }
    let complex = inputs.iter().map(Variable::dtype).reduce(DType::promote).unwrap_or(DType::C128);
    let parts: Vec<Parts> =
        inputs.iter().map(|input| Parts::of(input, complex.real())).collect::<Result<_>>()?;
    match parts.as_slice() {
        [z] => unary(op, z),
        [a, b] => binary(op, a, b, inputs),
        _ => Err(refused(op)),
    }
}

fn refused(op: ScalarOp) -> crate::error::Error {
    let why = match op {
        LT | LE | GT | GE | MAXIMUM | MINIMUM | FMAX | FMIN | CLIP => "complex numbers have no order",
        _ => "there is no such function of complex numbers here",
    };
    fail(op.row().name, format!("{why}; use real(), imag(), abs() or angle()"))
}

/// Where the first is true the second, else the third.
fn choice(inputs: &[Variable]) -> Result<Variable> {
    let [condition, a, b] = inputs else { return Err(refused(WHERE)) };
    if condition.dtype().is_complex() {
        return Err(fail("where", "expected a condition that is real, got complex numbers".into()));
    }
    let dtype = a.dtype().promote(b.dtype()).real();
    let (a, b) = (Parts::of(a, dtype)?, Parts::of(b, dtype)?);
    joined(&where_(condition, &a.re, &b.re), &where_(condition, a.im(), b.im()))
}

fn unary(op: ScalarOp, z: &Parts) -> Result<Variable> {
    let (x, y) = (&z.re, &z.im());
    let (re, im) = match op {
        NEG => (-x, -y),
        ABS => return x.try_hypot(y),
        SQR => (x * x - y * y, 2.0 * (x * y)),
        RECIPROCAL => return binary(DIV, &Parts { re: crate::ops::full_like(x, 1.0), im: None }, z, &[]),
        EXP => {
            let scale = x.exp();
            (&scale * y.cos(), scale * y.sin())
        }
        LOG => (x.try_hypot(y)?.log(), y.try_arctan2(x)?),
        SQRT => return square_root(x, y),
        SIN => (x.sin() * y.cosh(), x.cos() * y.sinh()),
        COS => (x.cos() * y.cosh(), -(x.sin() * y.sinh())),
        SINH => (x.sinh() * y.cos(), x.cosh() * y.sin()),
        COSH => (x.cosh() * y.cos(), x.sinh() * y.sin()),
        TANH => tangent(x, y),
        TAN => {
            // tan z = -i tanh(iz)
            let (re, im) = tangent(&-y, x);
            (im, -re)
        }
        SIGN => {
            let radius = x.try_hypot(y)?;
            let radius = where_(radius.equal(0.0), 1.0, &radius);
            (x / &radius, y / &radius)
        }
        ISNAN => return x.isnan().try_or(y.isnan()),
        ISINF => return x.isinf().try_or(y.isinf()),
        ISFINITE => return x.isfinite().try_and(y.isfinite()),
        _ => return Err(refused(op)),
    };
    joined(&re, &im)
}

/// The hyperbolic tangent of `x + iy`, by `(t + iu) / (1 + itu)` of both tangents, so that nothing overflows.
fn tangent(x: &Variable, y: &Variable) -> (Variable, Variable) {
    let (t, u) = (&x.tanh(), &y.tan());
    let scale = &(1.0 + (t * u).sqr());
    (t * (1.0 + u.sqr()) / scale, u * (1.0 - t.sqr()) / scale)
}

/// The principal square root: its real part is not negative, and its imaginary part has the sign of `y`.
/// (Kahan, "Branch cuts for complex elementary functions", 1987, without its scaling.)
fn square_root(x: &Variable, y: &Variable) -> Result<Variable> {
    let larger = ((x.try_hypot(y)? + x.abs()) * 0.5).sqrt();
    let is_zero = larger.equal(0.0);
    // Has no slope of its own, also where y is 0.
    let sign = &consider_constant(crate::ops::full_like(y, 1.0).try_copysign(y)?);
    let smaller = y * sign / (2.0 * where_(&is_zero, 1.0, &larger));
    let right = &x.greater_equal(0.0);
    joined(&where_(right, &larger, &smaller), &(where_(right, &smaller, &larger) * sign))
}

fn binary(op: ScalarOp, a: &Parts, b: &Parts, inputs: &[Variable]) -> Result<Variable> {
    let (x, u) = (&a.re, &b.re);
    let (re, im) = match (op, &a.im, &b.im) {
        (ADD, Some(y), None) | (ADD, None, Some(y)) => {
            let re = x + u;
            let im = BroadcastLike::of(y, &re)?;
            (re, im)
        }
        (ADD, _, _) => (x + u, a.im() + b.im()),
        (SUB, Some(y), None) => {
            let re = x - u;
            let im = BroadcastLike::of(y, &re)?;
            (re, im)
        }
        (SUB, _, _) => (x - u, a.im() - b.im()),
        (MUL, Some(y), None) => (x * u, y * u),
        (MUL, None, Some(v)) => (x * u, x * v),
        (MUL, _, _) => {
            let (y, v) = (&a.im(), &b.im());
            (x * u - y * v, x * v + y * u)
        }
        (DIV, Some(y), None) => (x / u, y / u),
        (DIV, y, _) => quotient(x, y.as_ref(), u, &b.im()),
        (POW, _, _) => return power(inputs),
        (EQ, _, _) => return x.equal(u).try_and(a.im().equal(b.im())),
        (NE, _, _) => return x.not_equal(u).try_or(a.im().not_equal(b.im())),
        _ => return Err(refused(op)),
    };
    joined(&re, &im)
}

/// `(x + iy) / (u + iv)`. The divisor is scaled, so that its square neither overflows nor vanishes. (The
/// quotient does not depend on the scale, whose gradient is therefore left out.)
fn quotient(x: &Variable, y: Option<&Variable>, u: &Variable, v: &Variable) -> (Variable, Variable) {
    let scale = consider_constant(u.abs().maximum(v.abs()));
    let (a, b) = (&(u / &scale), &(v / scale));
    let square = &(u * a + v * b);
    match y {
        Some(y) => ((x * a + y * b) / square, (y * a - x * b) / square),
        None => (x * a / square, -(x * b / square)),
    }
}

/// `a` to the power `b`: products for small whole exponents, else `exp(b log a)`; 0 to a power is 1 if the
/// exponent is 0, else 0.
fn power(inputs: &[Variable]) -> Result<Variable> {
    let [a, b] = inputs else { return Err(refused(POW)) };
    if let Some(exponent) = whole(b).filter(|n| (1..=8).contains(&n.abs())) {
        let mut product = a.clone();
        for _ in 1..exponent.abs() {
            product = product.try_mul(a)?;
        }
        return if exponent < 0 { product.try_reciprocal() } else { Ok(product) };
    }
    let dtype = a.dtype().promote(b.dtype());
    let a = converted(a, dtype)?;
    let at_zero = &a.try_equal(0.0)?;
    let general = where_(at_zero, 1.0, &a).try_log()?.try_mul(b)?.try_exp()?;
    let of_zero = where_(b.try_equal(0.0)?, 1.0, 0.0).try_cast(dtype.real())?;
    Ok(where_(at_zero, of_zero, general))
}

/// The whole number that a constant exponent is.
fn whole(exponent: &Variable) -> Option<i64> {
    let [re, im] = exponent.constant_value()?.to_scalar()?.parts();
    (im == 0.0 && re.trunc() == re && re.abs() <= 64.0).then_some(re as i64)
}

/// Numbers, real or complex, as a complex dtype, or complex numbers as another one.
pub(crate) fn converted(x: &Variable, dtype: DType) -> Result<Variable> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    if !dtype.is_complex() {
        return Err(no_cast(dtype));
    }
    let parts = Parts::of(x, dtype.real())?;
    joined(&parts.re, &parts.im())
}
