//! The regularized incomplete gamma functions: the power series of the lower one, the continued fraction of
//! the upper one (Abramowitz and Stegun, 6.5.29 and 6.5.31), a series of the upper one where it is small
//! though `x` is (A. R. DiDonato and A. H. Morris, ACM TOMS 12, 1986), and where `a` is large and `x` near it
//! N. M. Temme's uniform expansion ("On the computation of the incomplete gamma functions for large values of
//! the parameters", 1987).

use super::super::super::real::ReferenceF64;
use super::super::erfcx;
use super::TERMS;
use super::double_double::DoubleDouble;
use std::f64::consts::TAU;

/// `P(a, x)`, the lower function.
pub(crate) fn gammainc(a: f64, x: f64) -> f64 {
    match part(a, x) {
        IncompleteGamma::Lower(p) => p,
        IncompleteGamma::Upper(q) => 1.0 - q,
    }
}

/// `Q(a, x) = 1 - P(a, x)`, the upper function.
pub(crate) fn gammaincc(a: f64, x: f64) -> f64 {
    match part(a, x) {
        IncompleteGamma::Lower(p) => 1.0 - p,
        IncompleteGamma::Upper(q) => q,
    }
}

/// The function that is computed: of the two, the smaller, or one not much larger.
enum IncompleteGamma {
    Lower(f64),
    Upper(f64),
}
use IncompleteGamma::{Lower, Upper};

fn part(a: f64, x: f64) -> IncompleteGamma {
    if !(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0) || (a == f64::INFINITY && x == f64::INFINITY) {
        Lower(f64::NAN)
    } else if x == 0.0 || a == f64::INFINITY {
        Lower(0.0)
    } else if a == 0.0 || x == f64::INFINITY {
        Upper(0.0)
    } else if a >= 30.0 && (x - a).abs() <= 0.4 * a {
        uniform(a, x)
    } else if x > 1.1 {
        if x < a { Lower(series(a, x)) } else { Upper(fraction(a, x)) }
    } else if a > if x <= 0.5 { -0.4 / x.ln() } else { x / 1.1 } {
        Lower(series(a, x))
    } else {
        Upper(small(a, x))
    }
}

/// `x^a exp(-x) / gamma(a + 1)`.
fn power(a: f64, x: f64) -> f64 {
    (DoubleDouble::from(x).ln() * a - x - DoubleDouble::sum(a, 1.0).ln_gamma()).exp()
}

fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for n in 1..TERMS {
        term *= x / (a + f64::from(n));
        sum += term;
        if term <= sum * f64::EPSILON * 0.25 {
            return power(a, x) * sum;
        }
    }
    f64::NAN
}

/// The continued fraction of the upper function, by Lentz's method.
fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut value = d;
    for n in 1..TERMS {
        let n = f64::from(n);
        let over = n * (a - n);
        b += 2.0;
        d = 1.0 / (over * d + b);
        c = b + over / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            return power(a, x) * a * value;
        }
    }
    f64::NAN
}

/// For small `a` and `x`: `1 - x^a / gamma(a + 1)`, and the other terms of the power series.
fn small(a: f64, x: f64) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    const ZETA_2: f64 = 1.644_934_066_848_226_4;
    const ZETA_3: f64 = 1.202_056_903_159_594_3;
    let log = DoubleDouble::from(x).ln() * a;
    let exponent = if a < 1e-6 {
        log + a * (EULER - a * (ZETA_2 / 2.0 - a * ZETA_3 / 3.0))
    } else {
        log - DoubleDouble::sum(a, 1.0).ln_gamma()
    };
    let (mut term, mut sum) = (1.0, 0.0);
    for n in 1..TERMS {
        term *= -x / f64::from(n);
        let part = term * (a / (a + f64::from(n)));
        sum += part;
        if part.abs() <= f64::EPSILON * 0.25 * sum.abs() {
            break;
        }
    }
    -exponent.expm1() - exponent.exp() * sum
}

/// Taylor coefficients, in eta, of `eta / (lambda - 1)`, where `eta^2 / 2 = lambda - 1 - log(lambda)`.
const EXPANSION: [f64; 28] = [
    1.0,
    -0.3333333333333333,
    0.08333333333333333,
    -0.014814814814814815,
    0.0011574074074074073,
    0.0003527336860670194,
    -0.0001787551440329218,
    3.919263178522438e-05,
    -2.185448510679992e-06,
    -1.85406221071516e-06,
    8.296711340953087e-07,
    -1.7665952736826078e-07,
    6.707853543401498e-09,
    1.0261809784240309e-08,
    -4.382036018453353e-09,
    9.14769958223679e-10,
    -2.5514193994946248e-11,
    -5.830772132550426e-11,
    2.4361948020667415e-11,
    -5.0276692801141755e-12,
    1.1004392031956135e-13,
    3.371763262400985e-13,
    -1.392388722418162e-13,
    2.8534893807047445e-14,
    -5.139111834242572e-16,
    -1.9752288294349442e-15,
    8.099521156704561e-16,
    -1.6522531216398162e-16,
];

fn uniform(a: f64, x: f64) -> IncompleteGamma {
    let mu = DoubleDouble::sum(x, -a) / DoubleDouble::from(a);
    let half_square = mu.less_ln_1p();
    let eta = (2.0 * half_square.value()).sqrt().copysign(mu.value());
    // b[n] = (n + 2) b[n + 2] / a + f[n + 1], from the last one down.
    let mut b = [0.0; EXPANSION.len() + 1];
    for n in (0..EXPANSION.len() - 1).rev() {
        b[n] = (n + 2) as f64 * b[n + 2] / a + EXPANSION[n + 1];
    }
    let sum = b.iter().rev().fold(0.0, |sum, b| sum * eta + b) / (1.0 + b[1] / a);
    let exponent = half_square * a;
    let main = 0.5 * erfcx(ReferenceF64(exponent.value().sqrt())).0;
    let rest = sum / (TAU * a).sqrt();
    let scale = (-exponent).exp();
    if x < a { Lower(scale * (main - rest)) } else { Upper(scale * (main + rest)) }
}
