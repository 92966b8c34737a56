//! Owen's function: a Gaussian quadrature of its integral up to 1, and its symmetry beyond (M. Patefield and
//! D. Tandy, "Fast and accurate calculation of Owen's T function", Journal of Statistical Software 5, 2000).

use super::double_double::DoubleDouble;
use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// Nodes and weights of Gauss and Legendre's rule of 24 points: the positive half.
const RULE: [(f64, f64); 12] = [
    (0.9951872199970213, 0.0123412297999872),
    (0.9747285559713095, 0.028531388628933663),
    (0.9382745520027328, 0.04427743881741981),
    (0.8864155270044011, 0.05929858491543678),
    (0.820001985973903, 0.0733464814110803),
    (0.7401241915785544, 0.08619016153195327),
    (0.6480936519369755, 0.09761865210411388),
    (0.5454214713888396, 0.10744427011596563),
    (0.4337935076260451, 0.1155056680537256),
    (0.3150426796961634, 0.12167047292780339),
    (0.1911188674736163, 0.1258374563468283),
    (0.06405689286260563, 0.12793819534675216),
];

/// The integral of `exp(-h^2 (1 + t^2) / 2) / (2 pi (1 + t^2))` over t from 0 to `a`.
pub(crate) fn owens_t(h: f64, a: f64) -> f64 {
    if h.is_nan() || a.is_nan() {
        return f64::NAN;
    }
    let (height, slope) = (h.abs(), a.abs());
    let magnitude = if height == 0.0 {
        slope.atan() / TAU
    } else if height == f64::INFINITY {
        0.0
    } else if slope == f64::INFINITY {
        0.5 * beyond(height)
    } else if slope <= 1.0 {
        within(height, slope)
    } else {
        let ah = height * slope;
        let other = within(ah, 1.0 / slope);
        if ah <= 0.67 {
            0.25 - 0.25 * libm::erf(height * FRAC_1_SQRT_2) * libm::erf(ah * FRAC_1_SQRT_2) - other
        } else {
            let (p, q) = (beyond(height), beyond(ah));
            0.5 * (p + q) - p * q - other
        }
    };
    magnitude.copysign(a)
}

/// The probability that a standard normal variable lies above `h`.
fn beyond(h: f64) -> f64 {
    let y = h * FRAC_1_SQRT_2;
    // h^2 / 2 less the square of y: it matters where the exponential of the square falls fast.
    let lacks = (DoubleDouble::product(h, h) * 0.5 - DoubleDouble::product(y, y)).value();
    0.5 * libm::erfc(y) * if y > 1.0 && y < 30.0 { 1.0 - lacks } else { 1.0 }
}

/// For `a` from 0 to 1.
fn within(h: f64, a: f64) -> f64 {
    if h > 40.0 {
        return 0.0;
    }
    // Beyond this bound the integrand is negligible.
    let half = 0.5 * a.min(8.7 / h);
    let mut sum = 0.0;
    for (node, weight) in RULE {
        for t in [half * (1.0 - node), half * (1.0 + node)] {
            let square = t * t;
            sum += weight * (-0.5 * h * h * square).exp() / (1.0 + square);
        }
    }
    let scale = (DoubleDouble::product(h, h) * -0.5).exp();
    scale * half * sum / TAU
}
