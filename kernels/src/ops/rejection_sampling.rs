//! Draws whose number of random bits is not known before: by rejection, or by a search.
//!
//! Element after element, in a loop of its own. A draw at `(key, counter)` uses the Philox blocks whose third
//! counter word is the number of the trial and whose fourth is 1, which `philox` does not use. All is
//! computed in f64, so that a trial that one device accepts and another does not is as good as never seen:
//! draws of integers are equal on all devices. `print/draws.rs` has the same in C.

use super::host_loops::{LoopBody, lanes, lanes_mut};
use super::philox::philox4x32_10;
use std::f64::consts::{PI, TAU};

/// Trials, each accepted with a probability of 0.7 at the least: the last one fails once in 10^33.
const TRIALS: u32 = 64;

/// The random bits of a trial.
fn block(key: u64, counter: u64, trial: u32) -> [u32; 4] {
    philox4x32_10([counter as u32, (counter >> 32) as u32, trial, 1], [key as u32, (key >> 32) as u32])
}

/// A number in (0, 1), of 52 bits.
fn wide(low: u32, high: u32) -> f64 {
    (((u64::from(low) | u64::from(high) << 32) >> 12) as f64 + 0.5) * 2f64.powi(-52)
}

/// A number in (0, 1), of 32 bits.
fn narrow(word: u32) -> f64 {
    (f64::from(word) + 0.5) * 2f64.powi(-32)
}

/// The logarithm of a gamma variable with this shape and scale 1: G. Marsaglia and W. W. Tsang, "A simple
/// method for generating gamma variables", 2000. Of a shape below 1, `G(a) = G(a + 1) u^(1 / a)`; as a
/// logarithm it does not underflow where the shape is small.
pub(super) fn log_gamma(key: u64, counter: u64, shape: f64) -> f64 {
    // NaN of NaN and what is negative, minus infinity of 0.
    if shape.is_nan() || shape <= 0.0 || shape.is_infinite() {
        return shape.ln();
    }
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (3.0 * d.sqrt());
    let mut log = d.ln();
    for trial in 1..=TRIALS {
        let w = block(key, counter, trial);
        let x = (-2.0 * wide(w[0], w[1]).ln()).sqrt() * (TAU * narrow(w[2])).cos();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let log_v = 3.0 * root.ln();
        if narrow(w[3]).ln() < 0.5 * x * x + d - d * root * root * root + d * log_v {
            log += log_v;
            break;
        }
    }
    if shape < 1.0 {
        let w = block(key, counter, 0);
        log += wide(w[0], w[1]).ln() / shape;
    }
    log
}

/// What Stirling's formula lacks: `ln k! - (k + 1/2) ln(k + 1) + (k + 1) - ln(2 pi) / 2`.
fn stirling_tail(k: f64) -> f64 {
    let n = k + 1.0;
    if k < 10.0 {
        let mut factorial = 1.0;
        let mut i = 2.0;
        while i <= k {
            factorial *= i;
            i += 1.0;
        }
        return f64::ln(factorial) - (k + 0.5) * n.ln() + n - 0.5 * TAU.ln();
    }
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - s / 1680.0) * s) * s) / n
}

/// A Poisson variable with this mean, as a whole f64. Means below 10 by a search from 0, larger ones by W.
/// Hoermann's algorithm PTRS ("The transformed rejection method for generating Poisson random variables",
/// 1993).
pub(super) fn poisson(key: u64, counter: u64, mean: f64) -> f64 {
    if mean.is_nan() || mean < 0.0 {
        return f64::NAN;
    }
    if mean < 10.0 {
        let w = block(key, counter, 0);
        let u = wide(w[0], w[1]);
        let (mut k, mut p) = (0.0, (-mean).exp());
        let mut below = p;
        while u > below {
            k += 1.0;
            p *= mean / k;
            // In the far tail the sum has no more digits.
            if below + p == below {
                break;
            }
            below += p;
        }
        return k;
    }
    if mean == f64::INFINITY {
        return mean;
    }
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let sure = 0.9277 - 3.6224 / (b - 2.0);
    for trial in 1..=TRIALS {
        let w = block(key, counter, trial);
        let (u, v) = (wide(w[0], w[1]) - 0.5, narrow(w[2]));
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + mean + 0.43).floor();
        if edge >= 0.07 && v <= sure {
            return k;
        }
        if k < 0.0 || (edge < 0.013 && v > edge) {
            continue;
        }
        let n = k + 1.0;
        let density = k * (mean / n).ln() - 0.5 * (2.0 * PI * n).ln() + (n - mean) - stirling_tail(k);
        if (v * inverse_alpha / (a / (edge * edge) + b)).ln() <= density {
            return k;
        }
    }
    mean.floor()
}

/// How many of `n` trials succeed, each with probability `p`, as a whole f64. Means below 10 by a search from
/// 0, larger ones by W. Hoermann's algorithm BTRS ("The generation of binomial random variates", 1993).
pub(super) fn binomial(key: u64, counter: u64, n: f64, p: f64) -> f64 {
    if n.is_nan() || n < 0.0 || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let k = rarer(key, counter, n, if p > 0.5 { 1.0 - p } else { p });
    if p > 0.5 { n - k } else { k }
}

/// [`binomial`] with `p` to one half.
fn rarer(key: u64, counter: u64, n: f64, p: f64) -> f64 {
    let odds = p / (1.0 - p);
    if n * p < 10.0 {
        let w = block(key, counter, 0);
        let u = wide(w[0], w[1]);
        let (mut k, mut f) = (0.0, (n * (-p).ln_1p()).exp());
        let mut below = f;
        while u > below && k < n {
            f *= odds * (n - k) / (k + 1.0);
            k += 1.0;
            if below + f == below {
                break;
            }
            below += f;
        }
        return k;
    }
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let sure = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((n + 1.0) * p).floor();
    let at_mode = (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln()
        + stirling_tail(mode)
        + stirling_tail(n - mode);
    for trial in 1..=TRIALS {
        let w = block(key, counter, trial);
        let (u, v) = (wide(w[0], w[1]) - 0.5, narrow(w[2]));
        let edge = 0.5 - u.abs();
        let k = ((2.0 * a / edge + b) * u + n * p + 0.5).floor();
        if k < 0.0 || k > n {
            continue;
        }
        if edge >= 0.07 && v <= sure {
            return k;
        }
        let rest = n - k + 1.0;
        let density =
            at_mode + (n + 1.0) * ((n - mode + 1.0) / rest).ln() + (k + 0.5) * (odds * rest / (k + 1.0)).ln()
                - stirling_tail(k)
                - stirling_tail(n - k);
        if (v * alpha / (a / (edge * edge) + b)).ln() <= density {
            return k;
        }
    }
    mode
}

/// The loops of draws: two u64 and parameters of f64 to one f64.
pub(super) struct LogGamma;
pub(super) struct Poisson;
pub(super) struct Binomial;

/// Calls a draw of keys, counters and the parameters that follow.
#[inline(always)]
fn each<const N: usize>(args: &[&[u8]], out: &mut [u8], n: usize, draw: impl Fn(u64, u64, [f64; N]) -> f64) {
    let (keys, counters) = (lanes::<u64>(args[0]), lanes::<u64>(args[1]));
    let parameters: [&[f64]; N] = std::array::from_fn(|at| lanes(args[2 + at]));
    for (i, out) in lanes_mut::<f64>(out)[..n].iter_mut().enumerate() {
        *out = draw(keys[i], counters[i], parameters.map(|lane| lane[i]));
    }
}

impl LoopBody for LogGamma {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        each(args, out, n, |key, counter, [shape]| log_gamma(key, counter, shape));
    }
}

impl LoopBody for Poisson {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        each(args, out, n, |key, counter, [mean]| poisson(key, counter, mean));
    }
}

impl LoopBody for Binomial {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        each(args, out, n, |key, counter, [n, p]| binomial(key, counter, n, p));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stirling_lacks_is_smooth_where_the_table_ends() {
        for k in 0..200 {
            let k = f64::from(k);
            let exact: f64 = (2..=k as u32).map(|i| f64::from(i).ln()).sum();
            let formula = (k + 0.5) * (k + 1.0).ln() - (k + 1.0) + 0.5 * TAU.ln() + stirling_tail(k);
            assert!((exact - formula).abs() < 1e-11 * exact.max(1.0), "{k}: {exact}, {formula}");
        }
    }

    #[test]
    fn parameters_at_the_edges() {
        for counter in 0..100 {
            assert_eq!(poisson(1, counter, 0.0), 0.0);
            assert_eq!(binomial(1, counter, 40.0, 1.0), 40.0);
            assert_eq!(binomial(1, counter, 1e6, 0.0), 0.0);
            assert_eq!(binomial(1, counter, 0.0, 0.3), 0.0);
            assert_eq!(log_gamma(1, counter, 0.0), f64::NEG_INFINITY);
            let large =
                [poisson(1, counter, 1e300), binomial(1, counter, 1e15, 0.25), log_gamma(1, counter, 1e300)];
            assert!((large[0] / 1e300 - 1.0).abs() < 1e-3, "{large:?}");
            assert!(
                (large[1] / 2.5e14 - 1.0).abs() < 1e-6 && (large[2] / 1e300f64.ln() - 1.0).abs() < 1e-3,
                "{large:?}"
            );
            assert!(log_gamma(1, counter, 1e-300) < 0.0);
            assert!(poisson(1, counter, f64::NAN).is_nan() && poisson(1, counter, -1.0).is_nan());
            assert!(binomial(1, counter, 3.0, 1.5).is_nan() && binomial(1, counter, -1.0, 0.5).is_nan());
        }
    }
}
