//! Derivatives of digamma: `(-1)^(n + 1) n!` times Hurwitz' zeta function of order `n + 1`, by the formula of
//! Euler and Maclaurin (Abramowitz and Stegun, 6.4.10 and 23.1.30).

use super::super::super::real::ReferenceF64;
use super::super::digamma;
use super::TERMS;
use super::double_double::DoubleDouble;

/// `B(2k) / (2k)!`.
const BERNOULLI: [f64; 12] = [
    0.08333333333333333,
    -0.001388888888888889,
    3.306878306878307e-05,
    -8.267195767195768e-07,
    2.08767569878681e-08,
    -5.284190138687493e-10,
    1.3382536530684679e-11,
    -3.3896802963225827e-13,
    8.586062056277845e-15,
    -2.174868698558062e-16,
    5.5090028283602295e-18,
    -1.3954464685812522e-19,
];

/// The derivative of order `n` of digamma.
pub(crate) fn polygamma(n: f64, x: f64) -> f64 {
    if !(n >= 0.0 && n.fract() == 0.0) || x.is_nan() {
        return f64::NAN;
    }
    if n == 0.0 {
        return digamma(ReferenceF64(x)).0;
    }
    let odd = n % 2.0 != 0.0;
    let signed = |magnitude: f64| if odd { magnitude } else { -magnitude };
    if x > 0.0 {
        return signed(zeta(n, DoubleDouble::from(x)));
    }
    if x.fract() == 0.0 || x == f64::NEG_INFINITY {
        return signed(f64::INFINITY);
    }
    // The sum over x + k is a sum to the right of 0, and one to its left without the terms beyond x.
    let [past, before] = [DoubleDouble::sum(x, -x.floor()), DoubleDouble::sum(x.ceil(), -x)];
    let [right, left] = [past, before].map(|x| zeta(n, x));
    // In case of overflow, the nearer pole decides.
    if right.max(left) == f64::INFINITY {
        return signed(if odd || past.value() < 0.5 { f64::INFINITY } else { f64::NEG_INFINITY });
    }
    let left = left - zeta(n, DoubleDouble::sum(1.0, -x));
    signed(if odd { right + left } else { right - left })
}

/// `n!` times the sum of `(x + k)^-(n + 1)` over k from 0; positive.
fn zeta(n: f64, x: DoubleDouble) -> f64 {
    let s = n + 1.0;
    if x.value() == f64::INFINITY {
        return 0.0;
    }
    match in_first_terms(s, x.value()) {
        Some(sum) => (DoubleDouble::from(s).ln_gamma() - x.ln() * s).exp() * sum,
        None => f64::NAN,
    }
}

/// The sum of `(q / (q + k))^s`.
fn in_first_terms(s: f64, q: f64) -> Option<f64> {
    let mut sum = 0.0;
    for k in 0..TERMS {
        let at = q + f64::from(k);
        let term = (q / at).powf(s);
        if at > s + 20.0 {
            return Some(sum + term * rest(s, at));
        }
        sum += term;
        if k > 0 && term <= f64::EPSILON * 0.125 * sum {
            return Some(sum);
        }
    }
    None
}

/// The sum from a term on, divided by that term: the integral, half the term, and derivatives.
fn rest(s: f64, at: f64) -> f64 {
    let inverse = 1.0 / at;
    let mut factor = s * inverse;
    let mut sum = at / (s - 1.0) + 0.5;
    for (k, b) in BERNOULLI.iter().enumerate() {
        sum += b * factor;
        let next = s + (2 * k) as f64;
        factor *= (next + 1.0) * inverse * ((next + 2.0) * inverse);
    }
    sum
}
