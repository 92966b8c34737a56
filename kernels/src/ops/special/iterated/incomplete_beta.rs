//! The regularized incomplete beta function: power series (Abramowitz and Stegun, 26.5.4) and continued
//! fraction (A. R. DiDonato and A. H. Morris, "Significant digit computation of the incomplete beta function
//! ratios", ACM TOMS 18, 1992, theorem 2).

use super::TERMS;
use super::double_double::DoubleDouble;

/// `I_x(a, b)`.
pub(crate) fn betainc(a: f64, b: f64, x: f64) -> f64 {
    let infinite = f64::INFINITY;
    if !(a >= 0.0 && b >= 0.0 && (0.0..=1.0).contains(&x))
        || (a == 0.0 && b == 0.0)
        || (a == infinite && b == infinite)
    {
        f64::NAN
    } else if x == 0.0 || x == 1.0 {
        x
    } else if a == 0.0 || b == infinite {
        1.0
    } else if b == 0.0 || a == infinite {
        0.0
    } else {
        inner(a, b, DoubleDouble::from(x), DoubleDouble::sum(1.0, -x))
    }
}

fn inner(a: f64, b: f64, x: DoubleDouble, y: DoubleDouble) -> f64 {
    if b < 1.0 && y.value() <= 0.5 && a * y.value() <= 1.0 {
        complement(a, b, y)
    } else if is_short(b, x) || (a + b) * x.value() <= a {
        direct(a, b, x, y)
    } else {
        1.0 - direct(b, a, y, x)
    }
}

/// Whether the power series is short, and loses no digits.
fn is_short(b: f64, x: DoubleDouble) -> bool {
    (b - 1.0).max(1.0) * x.value() <= 0.7
}

/// Where `x` is not above the mean, or small.
fn direct(a: f64, b: f64, x: DoubleDouble, y: DoubleDouble) -> f64 {
    if is_short(b, x) {
        power(a, b, x, None) * series(a, b, x.value(), 1.0)
    } else {
        power(a, b, x, Some(y)) * a * fraction(a, b, x, y)
    }
}

/// `x^a y^b / (a B(a, b))`; without a `y`, of `x` alone.
fn power(a: f64, b: f64, x: DoubleDouble, y: Option<DoubleDouble>) -> f64 {
    let rest = y.map_or(DoubleDouble::from(0.0), |y| y.ln() * b);
    (exponent(a, b, x) + rest).exp()
}

/// `log(x^a / (a B(a, b)))`.
fn exponent(a: f64, b: f64, x: DoubleDouble) -> DoubleDouble {
    x.ln() * a - gamma_ratio(a, b) - DoubleDouble::sum(a, 1.0).ln_gamma()
}

/// `log(gamma(b) / gamma(a + b))`.
fn gamma_ratio(a: f64, b: f64) -> DoubleDouble {
    DoubleDouble::from(b).ln_gamma() - DoubleDouble::sum(a, b).ln_gamma()
}

/// `first + sum of a (1 - b)(2 - b)..(n - b) / (n! (a + n)) x^n`.
fn series(a: f64, b: f64, x: f64, first: f64) -> f64 {
    let (mut term, mut sum) = (1.0, first);
    for n in 1..TERMS {
        let n = f64::from(n);
        term *= (n - b) / n * x;
        let part = term * (a / (a + n));
        sum += part;
        if part.abs() <= f64::EPSILON * 0.125 * sum.abs() {
            return sum;
        }
    }
    f64::NAN
}

/// The factor of `x^a y^b / B(a, b)`: the continued fraction, by Lentz's method.
fn fraction(a: f64, b: f64, x: DoubleDouble, y: DoubleDouble) -> f64 {
    let lambda = (y * a - x * b).value();
    let (x, y) = (x.value(), y.value());
    let under = |n: f64| {
        let first = if n == 0.0 { 0.0 } else { n + n * (b - n) * x / (a + 2.0 * n - 1.0) };
        first + (a + n) * (lambda + 1.0 + n * (1.0 + y)) / (a + 2.0 * n + 1.0)
    };
    let mut value = under(0.0);
    let (mut c, mut d) = (value, 0.0);
    for n in 1..TERMS {
        let n = f64::from(n);
        let odd = a + 2.0 * n - 1.0;
        let over = (a + n - 1.0) / odd * ((a + b + n - 1.0) / odd) * (n * x) * ((b - n) * x);
        let b = under(n);
        d = 1.0 / (over * d + b);
        c = b + over / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return 1.0 / value;
        }
    }
    f64::NAN
}

/// `1 - I_y(b, a)` for small `b` and `y`, where `I_y` may be near 1: `1 - y^b / (b B(b, a))`, and the other
/// terms of the power series.
fn complement(a: f64, b: f64, y: DoubleDouble) -> f64 {
    let exponent = if b < 1e-8 {
        // log(gamma(a + b) / gamma(a)) is b digamma(a), and log(gamma(1 + b)) is -b times Euler's constant.
        let digamma = super::super::digamma(super::super::super::real::ReferenceF64(a)).0;
        y.ln() * b + b * (digamma + 0.577_215_664_901_532_9)
    } else {
        exponent(b, a, y)
    };
    -exponent.expm1() - exponent.exp() * series(b, a, y.value(), 0.0)
}
