//! Gauss' hypergeometric function: the power series up to 1/2, and from there to 1 Taylor series of its
//! differential equation, each halving the distance to 1; negative arguments by Pfaff's transformation, and
//! Euler's if the function grows at 1 (Abramowitz and Stegun, 15.1.1, 15.1.20, 15.3.3, 15.3.4, 15.5.1). All
//! in double-double arithmetic, so that parameters may differ by integers or nearly so.

use super::double_double::DoubleDouble;
use std::f64::consts::PI;

/// Largest acceptable ratio of a term to the sum: half of all digits are then left.
const LOST: f64 = 1e13;
/// Maximum number of terms: with parameters that need more, all digits cancel.
const LONGEST: i32 = 2000;

/// `F(a, b; c; z)`. Beyond 1 it is complex, and the result is infinite, except for polynomials and for
/// products of a polynomial with a real power. NaN if the sum cancels so much that no digits are correct.
pub(crate) fn hyp2f1(a: f64, b: f64, c: f64, z: f64) -> f64 {
    if a.is_nan() || b.is_nan() || c.is_nan() || z.is_nan() {
        return f64::NAN;
    }
    if z == 0.0 || ((a == 0.0 || b == 0.0) && c != 0.0) {
        return 1.0;
    }
    if c.is_infinite() && [a, b, z].iter().all(|p| p.is_finite()) {
        return 1.0;
    }
    if [a, b, c].iter().any(|p| p.is_infinite()) {
        return f64::NAN;
    }
    // If c is a pole, in SciPy only the first parameter cancels it, not the second.
    if a == c || (b == c && !is_pole(c)) {
        let exponent = if a == c { -b } else { -a };
        return real_power(z, exponent.into());
    }
    let degree = [a, b].into_iter().filter(|&p| is_pole(p)).map(|p| -p).fold(f64::INFINITY, f64::min);
    if is_pole(c) && -c < degree {
        return f64::INFINITY;
    }
    let [ta, tb, tc] = [a, b, c].map(DoubleDouble::from);
    if degree.is_finite() {
        return polynomial(degree, ta, tb, tc, z);
    }
    let d = tc - ta - tb;
    if z == 1.0 && d.value() > 0.0 {
        return at_one(ta, tb, tc, d);
    }
    if z == 1.0 {
        // It is unbounded there, with this sign.
        return f64::INFINITY * [ta, tb, tc].map(|p| ln_gamma(p).0).iter().product::<f64>();
    }
    if z.is_infinite() {
        return if z > 0.0 { z } else { f64::NAN };
    }
    let (ca, cb) = (tc - ta, tc - tb);
    let euler = [ca, cb].into_iter().filter(|p| is_whole(*p) && is_pole(p.value())).map(|p| -p.value());
    let degree = euler.fold(f64::INFINITY, f64::min);
    if degree.is_finite() {
        return real_power(z, d) * polynomial(degree, ca, cb, tc, z);
    }
    if z > 1.0 {
        return f64::INFINITY;
    }
    if z.abs() <= 0.5 {
        Solution::at(ta, tb, tc, z.into()).value()
    } else if z < 0.0 {
        // The sum of the new parameters is at most `c`: the function is bounded at 1.
        let (least, other) = if a <= b { (ta, cb) } else { (tb, ca) };
        let rest = DoubleDouble::from(1.0) / one_less(z);
        power(rest, least) * near_one(least, other, tc, rest)
    } else if d.value() >= 0.0 {
        near_one(ta, tb, tc, one_less(z))
    } else {
        power(one_less(z), d) * near_one(ca, cb, tc, one_less(z))
    }
}

fn one_less(z: f64) -> DoubleDouble {
    DoubleDouble::sum(1.0, -z)
}

/// Whether the gamma function has a pole at `x`.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x.fract() == 0.0
}

fn is_whole(x: DoubleDouble) -> bool {
    (x - x.value()).value() == 0.0
}

/// `base` to this power, `base` above 0.
fn power(base: DoubleDouble, exponent: DoubleDouble) -> f64 {
    (base.ln() * exponent).exp()
}

/// `1 - z` to this power; infinite if that is not real.
fn real_power(z: f64, exponent: DoubleDouble) -> f64 {
    if z < 1.0 && z.is_finite() {
        return power(one_less(z), exponent);
    }
    let power = (1.0 - z).powf(exponent.value());
    if power.is_nan() { f64::INFINITY } else { power }
}

/// The sum of a series that is a polynomial of this degree.
fn polynomial(degree: f64, a: DoubleDouble, b: DoubleDouble, c: DoubleDouble, z: f64) -> f64 {
    if degree > f64::from(LONGEST) {
        return f64::NAN;
    }
    let (mut term, mut sum) = (DoubleDouble::from(1.0), DoubleDouble::from(1.0));
    let (mut plain, mut largest) = (1.0, 1f64);
    for k in 0..degree as i32 {
        let k = f64::from(k);
        let ratio = (a + k) * (b + k) / ((c + k) * (k + 1.0));
        term = term * ratio * z;
        plain *= ratio.value() * z;
        sum = sum + term;
        largest = largest.max(term.value().abs());
    }
    if plain.is_infinite() {
        return plain;
    }
    unless_cancelled(sum, largest)
}

/// The sum, or NaN if most of it cancelled.
fn unless_cancelled(sum: DoubleDouble, largest: f64) -> f64 {
    let value = sum.value();
    if value == 0.0 || largest <= LOST * value.abs() { value } else { f64::NAN }
}

/// The function at `1 - rest`, `rest` at most slightly above 1/2.
fn near_one(a: DoubleDouble, b: DoubleDouble, c: DoubleDouble, rest: DoubleDouble) -> f64 {
    if rest.value() >= 0.4 {
        return Solution::at(a, b, c, DoubleDouble::from(1.0) - rest).value();
    }
    let half = DoubleDouble::from(0.5);
    let mut solution = Solution::at(a, b, c, half);
    let mut at = half;
    while at.value() > rest.value() && solution.known.value().is_finite() {
        let next = if rest.value() >= 0.45 * at.value() { rest } else { at * 0.5 };
        solution.step(a, b, c, at, at - next);
        at = next;
    }
    solution.value()
}

/// A value of the function with its derivative.
struct Solution {
    known: DoubleDouble,
    slope: DoubleDouble,
    /// The largest term of all sums.
    largest: f64,
}

impl Solution {
    fn value(&self) -> f64 {
        unless_cancelled(self.known, self.largest)
    }

    /// By the power series.
    fn at(a: DoubleDouble, b: DoubleDouble, c: DoubleDouble, z: DoubleDouble) -> Solution {
        let (mut term, mut sum, mut slope) =
            (DoubleDouble::from(1.0), DoubleDouble::from(1.0), DoubleDouble::from(0.0));
        let mut largest = 1f64;
        // Before this term, factors may be small and grow again.
        let settled = [a, b, c].iter().fold(0.0, |most, p| f64::max(most, -p.value()));
        for k in 0..LONGEST {
            let k = f64::from(k);
            let ratio = (a + k) * (b + k) / ((c + k) * (k + 1.0));
            slope = slope + term * ratio * (k + 1.0);
            term = term * ratio * z;
            sum = sum + term;
            largest = largest.max(term.value().abs());
            if k > settled && term.value().abs() * (k + 1.0) <= 1e-26 * sum.value().abs() {
                return Solution { known: sum, slope, largest };
            }
            if !term.value().is_finite() {
                break;
            }
        }
        Solution { known: f64::NAN.into(), slope, largest }
    }

    /// Moves from `1 - rest` toward 1 by `by`, which is less than `rest`.
    fn step(
        &mut self,
        a: DoubleDouble,
        b: DoubleDouble,
        c: DoubleDouble,
        rest: DoubleDouble,
        by: DoubleDouble,
    ) {
        let z = DoubleDouble::from(1.0) - rest;
        let scale = by / (z * rest);
        let first = c - (a + b + 1.0) * z;
        let second = rest - z;
        // Coefficients times powers of `by`.
        let (mut last, mut term) = (self.known, self.slope * by);
        let (mut sum, mut slope) = (last + term, term);
        for k in 0..LONGEST {
            let k = f64::from(k);
            let next = (a + k) * (b + k) * last * by - (second * k + first) * (k + 1.0) * term;
            let next = next * scale / ((k + 1.0) * (k + 2.0));
            (last, term) = (term, next);
            sum = sum + term;
            slope = slope + term * (k + 2.0);
            self.largest = self.largest.max(term.value().abs());
            let small = |t: DoubleDouble| t.value().abs() * (k + 2.0) <= 1e-26 * sum.value().abs();
            if small(last) && small(term) {
                self.known = sum;
                self.slope = slope / by;
                return;
            }
        }
        self.known = f64::NAN.into();
    }
}

/// `gamma(c) gamma(d) / (gamma(c - a) gamma(c - b))`.
fn at_one(a: DoubleDouble, b: DoubleDouble, c: DoubleDouble, d: DoubleDouble) -> f64 {
    let (over, under) = ([c, d], [c - a, c - b]);
    if under.iter().any(|p| is_whole(*p) && is_pole(p.value())) {
        return 0.0;
    }
    let [(s0, c), (s1, d)] = over.map(ln_gamma);
    let [(s2, ca), (s3, cb)] = under.map(ln_gamma);
    s0 * s1 * s2 * s3 * (c + d - ca - cb).exp()
}

/// Sign and logarithm of the magnitude of the gamma function.
pub(super) fn ln_gamma(x: DoubleDouble) -> (f64, DoubleDouble) {
    if x.value() > 0.0 {
        return (1.0, x.ln_gamma());
    }
    let fraction = (x - x.value().round()).value();
    let sine = (fraction * PI).sin().abs() / PI;
    let sign = if x.value().floor() % 2.0 == 0.0 { 1.0 } else { -1.0 };
    (sign, -(DoubleDouble::from(sine).ln() + (DoubleDouble::from(1.0) - x).ln_gamma()))
}
