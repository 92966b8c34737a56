//! The functions for f64 against exact values: for arguments of all magnitudes, near zeros, multiples of pi /
//! 2 and overflow, and for those with the largest known errors.

use super::super::Vector;
use super::each;
use crate::level::{SimdLoop, run};

/// Each line has a function's name, the bits of its arguments, the bits of the number nearest to the exact
/// result, and the exact result less that number, in ulp.
const GOLDEN: &str = include_str!("golden.txt");

struct Golden {
    x: f64,
    y: f64,
    want: f64,
    rest: f64,
}

fn golden(name: &str) -> Vec<Golden> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let bits = |at: usize| f64::from_bits(u64::from_str_radix(words[at], 16).unwrap());
        let last = words.len() - 1;
        let (x, y, want) = (bits(1), bits(last - 2), bits(last - 1));
        (words[0] == name).then(|| Golden { x, y, want, rest: words[last].parse().unwrap() })
    };
    let all: Vec<Golden> = GOLDEN.lines().filter_map(of).collect();
    assert!(all.len() > 150, "{name}: {} values", all.len());
    all
}

/// The error of `got` in ulp of the exact value.
fn error(got: f64, exact: &Golden) -> f64 {
    let want = exact.want.abs();
    let ulp = if want == f64::MAX { want - want.next_down() } else { want.next_up() - want };
    // Where the nearest number is a power of two, the exact value may be in the binade below.
    let below = (exact.rest * exact.want < 0.0) & (want.to_bits() << 12 == 0) & (want > f64::MIN_POSITIVE);
    let ulp = if below { 0.5 * ulp } else { ulp };
    ((got - exact.want) / ulp - exact.rest).abs()
}

macro_rules! worst {
    ($name:literal, |$x:ident, $y:ident| $e:expr) => {{
        let all = golden($name);
        let xs: Vec<f64> = all.iter().map(|g| g.x).collect();
        let ys: Vec<f64> = all.iter().map(|g| g.y).collect();
        let got = each!(f64, |$x, $y| $e, &xs, &ys);
        let mut worst = (0.0, 0.0, 0.0);
        for (got, exact) in got.iter().zip(&all) {
            let error = error(*got, exact);
            assert!(!error.is_nan(), "{} of {:e} and {:e} is {got}", $name, exact.x, exact.y);
            if error > worst.0 {
                worst = (error, exact.x, exact.y);
            }
        }
        println!("f64 {}: {:.2} ulp at {:e}, {:e}", $name, worst.0, worst.1, worst.2);
        worst.0
    }};
}

#[test]
fn f64_logarithms_powers_and_errors_are_as_exact_values() {
    assert!(worst!("log2", |x, _y| Vector::log2(x)) < 1.0);
    assert!(worst!("log10", |x, _y| Vector::log10(x)) < 1.0);
    assert!(worst!("cbrt", |x, _y| Vector::cbrt(x)) < 1.2);
    assert!(worst!("pow", |x, y| Vector::pow(x, y)) < 1.2);
    assert!(worst!("hypot", |x, y| Vector::hypot(x, y)) < 1.2);
    assert!(worst!("erf", |x, _y| Vector::erf(x)) < 1.5);
    assert!(worst!("erfc", |x, _y| Vector::erfc(x)) < 1.8);
}

#[test]
fn f64_trigonometric_and_hyperbolic_functions_are_as_exact_values() {
    assert!(worst!("tan", |x, _y| Vector::tan(x)) < 1.2);
    assert!(worst!("asin", |x, _y| Vector::asin(x)) < 1.0);
    assert!(worst!("acos", |x, _y| Vector::acos(x)) < 1.3);
    assert!(worst!("atan", |x, _y| Vector::atan(x)) < 1.0);
    assert!(worst!("atan2", |x, y| Vector::atan2(x, y)) < 1.3);
    assert!(worst!("sinh", |x, _y| Vector::sinh(x)) < 1.4);
    assert!(worst!("cosh", |x, _y| Vector::cosh(x)) < 1.5);
    assert!(worst!("asinh", |x, _y| Vector::asinh(x)) < 1.2);
    assert!(worst!("acosh", |x, _y| Vector::acosh(x)) < 1.2);
    assert!(worst!("atanh", |x, _y| Vector::atanh(x)) < 1.2);
}
