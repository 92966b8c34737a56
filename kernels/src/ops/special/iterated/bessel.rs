//! Bessel functions of any order. The power series in double-double if it is exact enough, Hankel's
//! expansion for arguments large beside the order (Abramowitz and Stegun, 9.1.10, 9.2.5, 9.6.10, 9.7.1), and
//! between them D. E. Amos' algorithms (ACM TOMS 644) as the crate `complex-bessel` has them. The function of
//! the second kind is the integral of `exp(-x cosh t + order t) / 2`, summed at equal steps, which converges
//! as fast as steps get shorter (9.6.24; N. M. Temme, "Numerical methods for special functions", 2007, 5.4).

use super::TERMS;
use super::double_double::DoubleDouble;
use super::hypergeometric::ln_gamma;
use complex_bessel::{Error, besseli_scaled, besselj};
use num_complex::Complex;
use std::f64::consts::{FRAC_2_PI, PI};

/// The Bessel function of the first kind.
pub(crate) fn jv(order: f64, x: f64) -> f64 {
    first_kind(order, x, true, |order, x| {
        if is_far(order, x) {
            waves(order, x)
        } else if x <= 30.0 || x * x <= 40.0 * order {
            let (sign, scale, sum) = series(order, x, -1.0);
            sign * scale.exp() * sum.value()
        } else {
            besselj(order, Complex::new(x, 0.0)).map_or(f64::NAN, |value| value.re)
        }
    })
}

/// The modified Bessel function of the first kind.
pub(crate) fn iv(order: f64, x: f64) -> f64 {
    if x.abs() == f64::INFINITY && !order.is_nan() {
        return match order.rem_euclid(2.0) {
            _ if x > 0.0 => x,
            0.0 => -x,
            1.0 => x,
            _ => f64::NAN,
        };
    }
    first_kind(order, x, false, |order, x| {
        if is_near(order, x) {
            grown(order, x, 0.0)
        } else {
            // Half the exponent twice, so that it does not overflow before it is scaled.
            let half = (0.5 * x).exp();
            scaled(order, x) * half * half
        }
    })
}

/// `exp(-|x|)` times [`iv`].
pub(crate) fn ive(order: f64, x: f64) -> f64 {
    first_kind(
        order,
        x,
        false,
        |order, x| {
            if is_near(order, x) { grown(order, x, x) } else { scaled(order, x) }
        },
    )
}

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// For larger orders no digits of the result are correct.
const LARGEST_ORDER: f64 = 1e9;

/// Handles signs and the ends of the range. For a negative integer order the result is that of the positive
/// order; with `alternates`, its sign alternates with the order.
fn first_kind(order: f64, x: f64, alternates: bool, function: impl Fn(f64, f64) -> f64) -> f64 {
    let whole = order.fract() == 0.0;
    if order.is_nan() || x.is_nan() || (x < 0.0 && !whole) {
        return f64::NAN;
    }
    if x.abs() == f64::INFINITY || order.abs() > LARGEST_ORDER {
        return 0.0;
    }
    let odd = order % 2.0 != 0.0;
    let minus = whole && odd && ((x < 0.0) != (alternates && order < 0.0));
    let order = if whole { order.abs() } else { order };
    let magnitude = match x.abs() {
        0.0 if order == 0.0 => 1.0,
        0.0 if order > 0.0 => 0.0,
        // The sign is that of gamma(order + 1).
        0.0 => {
            if order.floor() % 2.0 == 0.0 {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        x => function(order, x),
    };
    if minus { -magnitude } else { magnitude }
}

/// Sign, logarithm `l` and sum; the product of the sign, `exp(l)` and the sum is the sum of
/// `sign^k (x / 2)^(order + 2k) / (k! gamma(order + k + 1))`.
fn series(order: f64, x: f64, sign: f64) -> (f64, DoubleDouble, DoubleDouble) {
    let quarter = DoubleDouble::product(x, x) * (0.25 * sign);
    let (mut term, mut sum) = (DoubleDouble::from(1.0), DoubleDouble::from(1.0));
    for k in 1..TERMS {
        let k = f64::from(k);
        term = term * quarter / (DoubleDouble::sum(order, k) * k);
        sum = sum + term;
        if term.value().abs() <= 1e-20 * sum.value().abs() && k > -order {
            let (sign, gamma) = ln_gamma(DoubleDouble::sum(order, 1.0));
            return (sign, (DoubleDouble::from(x).ln() - DoubleDouble::from(2.0).ln()) * order - gamma, sum);
        }
    }
    (1.0, f64::NAN.into(), sum)
}

/// `exp(-less)` times the series without signs, which may still be negative for negative orders.
fn grown(order: f64, x: f64, less: f64) -> f64 {
    let (sign, scale, sum) = series(order, x, 1.0);
    let (sign, sum) = if sum.value() < 0.0 { (-sign, -sum) } else { (sign, sum) };
    if sum.value() == 0.0 { 0.0 } else { sign * (scale + sum.ln() - less).exp() }
}

/// Whether the power series without signs is short.
fn is_near(order: f64, x: f64) -> bool {
    x <= 30.0 || (x <= 700.0 && !is_far(order, x))
}

/// Whether Hankel's expansion is exact to the last digits.
fn is_far(order: f64, x: f64) -> bool {
    x > 30.0 && x > order * order * 0.5
}

/// The significant terms of Hankel's expansion, with their signs for the function of the second kind.
fn hankel(order: f64, x: f64) -> impl Iterator<Item = f64> {
    let square = 4.0 * order * order;
    let next = move |&(k, term): &(f64, f64)| {
        let odd = 2.0 * k - 1.0;
        Some((k + 1.0, term * ((square - odd * odd) / (8.0 * k * x))))
    };
    std::iter::successors(Some((1.0, 1.0)), next).map(|(_, term)| term).take(32)
}

fn waves(order: f64, x: f64) -> f64 {
    let (mut even, mut odd) = (0.0, 0.0);
    for (k, term) in hankel(order, x).enumerate() {
        let term = if k % 4 < 2 { term } else { -term };
        if k % 2 == 0 { even += term } else { odd += term }
    }
    let turn = (order * 0.5 + 0.25) % 2.0 * PI;
    let ((sin, cos), (sin_turn, cos_turn)) = (x.sin_cos(), turn.sin_cos());
    (FRAC_2_PI / x).sqrt()
        * ((cos * cos_turn + sin * sin_turn) * even - (sin * cos_turn - cos * sin_turn) * odd)
}

/// `exp(-x)` times the modified function, of `x` too large for the series.
fn scaled(order: f64, x: f64) -> f64 {
    if is_far(order, x) {
        let sum: f64 =
            hankel(order, x).enumerate().map(|(k, term)| if k % 2 == 0 { term } else { -term }).sum();
        return sum / (2.0 * PI * x).sqrt();
    }
    match besseli_scaled(order, Complex::new(x, 0.0)) {
        Ok(value) => value.re,
        Err(Error::Overflow) => f64::INFINITY,
        Err(_) => f64::NAN,
    }
}

/// `exp(x)` times the modified function of the second kind.
pub(crate) fn kve(order: f64, x: f64) -> f64 {
    let order = order.abs();
    if order.is_nan() || x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x == 0.0 || order > LARGEST_ORDER {
        f64::INFINITY
    } else if x == f64::INFINITY {
        0.0
    } else if is_far(order, x) {
        (PI / 2.0 / x).sqrt() * hankel(order, x).sum::<f64>()
    } else if x < 1e-100 && order < 1e-8 {
        let log = std::f64::consts::LN_2 - x.ln() - EULER;
        if order == 0.0 { log } else { (order * log).sinh() / order }
    } else {
        integral(order, x)
    }
}

/// About the peak of the integrand, where `x sinh t` is the order. With `u = t - peak` and `r^2 = x^2 +
/// order^2` the exponent lies below that of the peak by `r (cosh u - 1) + order (sinh u - u)`, both of
/// them at least 0 to the right; to its left by `(r - order)(cosh u - 1) + order (exp(u) - 1 - u)`.
fn integral(order: f64, x: f64) -> f64 {
    let r = (DoubleDouble::product(x, x) + DoubleDouble::product(order, order)).sqrt();
    let far = r.value();
    let beyond = x * (x / (far + order));
    let step = (0.48 / far.sqrt()).min(0.16);
    let mut sum = 1.0;
    for right in [true, false] {
        for k in 1..TERMS {
            let u = f64::from(k) * step;
            let half = (0.5 * u).sinh();
            let cosh = 2.0 * half * half;
            let below =
                if right { far * cosh + order * sinh_less(u) } else { beyond * cosh + order * exp_less(u) };
            let term = (-below).exp();
            sum += term;
            if term <= 1e-18 * sum {
                break;
            }
            if k == TERMS - 1 {
                return f64::NAN;
            }
        }
    }
    let peak = ((r + order) / DoubleDouble::from(x)).ln() * order - (r - x);
    0.5 * step * sum * peak.exp()
}

/// `sinh(u) - u`, all digits near 0 too.
fn sinh_less(u: f64) -> f64 {
    if u >= 1.0 {
        return u.sinh() - u;
    }
    let square = u * u;
    let rest = (2..11).rev().fold(1.0, |sum, k| 1.0 + sum * square / f64::from(2 * k * (2 * k + 1)));
    u * square / 6.0 * rest
}

/// `exp(-u) - 1 + u`, all digits near 0 too.
fn exp_less(u: f64) -> f64 {
    if u >= 1.0 {
        return (-u).exp_m1() + u;
    }
    let rest = (3..20).rev().fold(1.0, |sum, k| 1.0 - sum * u / f64::from(k));
    u * u * 0.5 * rest
}
