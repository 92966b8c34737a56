//! Errors of the functions, over all magnitudes and at the ends of the range.

use super::Vector;
use crate::level::{SimdLoop, run};

mod cases;
mod golden;
mod halves;

/// A function of each of some numbers, compiled as the host's loops are:
/// `each!(f32, |x| Vector::exp(x), &xs)`.
macro_rules! each {
    ($t:ty, |$x:ident| $e:expr, $xs:expr) => {
        each!($t, |$x, _y| $e, $xs, $xs)
    };
    ($t:ty, |$x:ident, $y:ident| $e:expr, $xs:expr, $ys:expr) => {{
        struct Each<'a>(&'a [$t], &'a [$t], &'a mut [$t]);
        impl SimdLoop for Each<'_> {
            type Out = ();
            #[inline(always)]
            fn run<const FMA: bool>(self) {
                self.2.iter_mut().zip(self.0).zip(self.1).for_each(|((t, x), y)| {
                    let ($x, $y) = (*x, *y);
                    *t = $e;
                });
            }
        }
        let (xs, ys): (&[$t], &[$t]) = ($xs, $ys);
        let mut got = vec![0.0; xs.len()];
        run(Each(xs, ys, &mut got));
        got
    }};
}
use each;

/// Bit patterns from one f32 to another of the same sign, at regular steps, and the ends.
fn some32() -> Vec<f32> {
    let mut all: Vec<f32> = (0..=u32::MAX).step_by(4099).map(f32::from_bits).collect();
    let edges = [
        0.0,
        1e-45,
        f32::MIN_POSITIVE,
        0.5,
        0.999_999_94,
        1.0,
        1.000_000_1,
        88.72284,
        88.8,
        87.33,
        103.97,
        103.98,
        104.1,
        126.0,
        127.99,
        128.0,
        149.0,
        149.5,
        150.0,
        9.0,
        9.1,
        10.0,
        17.3,
        f32::MAX,
        f32::INFINITY,
    ];
    all.extend(edges.iter().flat_map(|e| [*e, -e]));
    // Numbers of moderate size, and numbers next to multiples of pi / 2.
    all.extend((0..200_000).map(|i| (i as f32 - 100_000.0) * 1.1e-3));
    all.extend((-3000..3000).map(|i| (i as f64 * 10.0 * std::f64::consts::FRAC_PI_2) as f32));
    all
}

fn some64() -> Vec<f64> {
    let mut all: Vec<f64> =
        (0..1u64 << 18).map(|i| f64::from_bits(i << 46 | (i.wrapping_mul(0x9e37_79b9_7f4a)) >> 18)).collect();
    let edges = [
        0.0,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        0.5,
        0.624_999_9,
        0.625,
        1.0,
        709.78,
        709.79,
        708.3,
        745.13,
        745.14,
        1023.99,
        1024.0,
        1074.0,
        1075.5,
        22.0,
        37.5,
        f64::MAX,
        f64::INFINITY,
    ];
    all.extend(edges.iter().flat_map(|e| [*e, -e]));
    all.extend((0..400_000).map(|i| (i as f64 - 200_000.0) * 1.1e-4));
    all.extend((-3000..3000).map(|i| i as f64 * 100.0 * std::f64::consts::FRAC_PI_2));
    all
}

/// The largest error of `fast`, in ulp of `want`, with its argument and result.
macro_rules! worst {
    ($t:ty, $all:expr, |$x:ident| $fast:expr, $want:expr) => {{
        let all: Vec<$t> = $all;
        let got = each!($t, |$x| $fast, &all);
        let mut worst = (0.0, 0.0, 0.0);
        for (x, y) in all.iter().zip(&got) {
            let want: f64 = $want(f64::from(*x));
            let rounded = want as $t;
            if rounded.is_nan() || rounded.is_infinite() || rounded == 0.0 {
                let same = y.is_nan() && rounded.is_nan()
                    || *y == rounded && y.is_sign_negative() == rounded.is_sign_negative()
                    || rounded.is_infinite() && (*y as f64).abs() >= <$t>::MAX as f64 && want.is_finite()
                    || rounded == 0.0 && want != 0.0 && y.abs() <= <$t>::from_bits(1);
                assert!(same, "{} at {x:e}: {y:e}, not {rounded:e}", stringify!($fast));
                continue;
            }
            let above = <$t>::from_bits(rounded.abs().to_bits() + 1);
            let ulp = if above.is_finite() {
                f64::from(above) - f64::from(rounded.abs())
            } else {
                <$t>::MAX as f64 * 0.5
            };
            let error = (f64::from(*y) - want).abs() / ulp;
            assert!(!error.is_nan(), "{} at {x:e}: {y:e}, not {want:e}", stringify!($fast));
            if error > worst.0 {
                worst = (error, f64::from(*x), f64::from(*y));
            }
        }
        println!("{} {}: {:.2} ulp at {:e}", stringify!($t), stringify!($fast), worst.0, worst.1);
        worst.0
    }};
}

#[test]
fn f32_functions_are_accurate() {
    assert!(worst!(f32, some32(), |x| Vector::exp(x), f64::exp) < 1.0);
    assert!(worst!(f32, some32(), |x| Vector::exp2(x), f64::exp2) < 1.0);
    assert!(worst!(f32, some32(), |x| Vector::expm1(x), f64::exp_m1) <= 2.0);
    assert!(worst!(f32, some32(), |x| Vector::log(x), f64::ln) < 1.5);
    assert!(worst!(f32, some32(), |x| Vector::log1p(x), f64::ln_1p) < 1.5);
    assert!(worst!(f32, some32(), |x| Vector::tanh(x), f64::tanh) < 1.5);
    let near = || some32().into_iter().filter(|x| x.is_nan() || x.abs() <= f32::FAR).collect::<Vec<_>>();
    assert!(worst!(f32, near(), |x| Vector::sin(x), f64::sin) < 2.0);
    assert!(worst!(f32, near(), |x| Vector::cos(x), f64::cos) < 2.0);
    assert!(worst!(f32, near(), |x| Vector::tan(x), f64::tan) < 2.0);
}

/// In steps through all numbers, and number by number where an error would show.
#[test]
fn tanh_is_monotonic_up_to_one() {
    let near = |x: f32| (x.to_bits() - 100_000..x.to_bits() + 100_000).map(f32::from_bits);
    let steps = (0..=f32::INFINITY.to_bits()).step_by(4001).map(f32::from_bits);
    let mut xs: Vec<f32> =
        steps.chain([0.5, 0.7, 1.0, 4.5, 7.132_764, 9.0].into_iter().flat_map(near)).collect();
    xs.extend([f32::MAX, f32::INFINITY]);
    xs.sort_by(f32::total_cmp);
    let got = each!(f32, |x| Vector::tanh(x), &xs);
    let falls = got.windows(2).position(|pair| pair[1] < pair[0]);
    assert_eq!(falls.map(|at| xs[at]), None, "tanh falls after this number");
    let from_minus = each!(f32, |x| -Vector::tanh(-x), &xs);
    assert_eq!(got, from_minus);
    for (x, y) in xs.iter().zip(&got) {
        assert_eq!(*y == 1.0, f64::from(*x).tanh() as f32 == 1.0, "tanh of {x}: {y}");
        assert!(*y <= 1.0, "tanh of {x}: {y}");
    }
    let mut xs: Vec<f64> = (0..600_000).map(|i| f64::from(i) * 5e-5).collect();
    xs.extend([f64::MAX, f64::INFINITY]);
    let got = each!(f64, |x| Vector::tanh(x), &xs);
    assert!(got.is_sorted() && got.last() == Some(&1.0));
    assert!(xs.iter().zip(&got).all(|(x, y)| (*y == 1.0) == (x.tanh() == 1.0)));
}

#[test]
fn f32_logarithms_roots_and_errors_are_accurate() {
    assert!(worst!(f32, some32(), |x| Vector::log2(x), f64::log2) < 2.5);
    assert!(worst!(f32, some32(), |x| Vector::log10(x), f64::log10) < 2.5);
    assert!(worst!(f32, some32(), |x| Vector::cbrt(x), f64::cbrt) < 1.5);
    assert!(worst!(f32, some32(), |x| Vector::erf(x), libm::erf) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::erfc(x), libm::erfc) < 1.5);
}

#[test]
fn f32_inverse_and_hyperbolic_functions_are_accurate() {
    assert!(worst!(f32, some32(), |x| Vector::asin(x), f64::asin) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::acos(x), f64::acos) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::atan(x), f64::atan) < 2.5);
    assert!(worst!(f32, some32(), |x| Vector::sinh(x), f64::sinh) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::cosh(x), f64::cosh) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::asinh(x), libm::asinh) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::acosh(x), f64::acosh) < 2.0);
    assert!(worst!(f32, some32(), |x| Vector::atanh(x), libm::atanh) < 2.0);
    // Every number around the point where the reduction first subtracts ln 2.
    let near: Vec<f32> = (0x3e2f_0000u32..0x3e31_0000).map(f32::from_bits).collect();
    assert!(worst!(f32, near, |x| Vector::atanh(x), libm::atanh) < 2.0);
}

/// Against `std`; the differences include its own errors of up to an ulp.
#[test]
fn f64_functions_are_accurate() {
    assert!(worst!(f64, some64(), |x| Vector::exp(x), f64::exp) < 1.5);
    assert!(worst!(f64, some64(), |x| Vector::exp2(x), f64::exp2) < 1.5);
    assert!(worst!(f64, some64(), |x| Vector::expm1(x), f64::exp_m1) <= 2.0);
    assert!(worst!(f64, some64(), |x| Vector::log(x), f64::ln) < 1.5);
    assert!(worst!(f64, some64(), |x| Vector::log1p(x), f64::ln_1p) < 1.5);
    assert!(worst!(f64, some64(), |x| Vector::tanh(x), f64::tanh) <= 2.0);
    let near = || some64().into_iter().filter(|x| x.is_nan() || x.abs() <= f64::FAR).collect::<Vec<_>>();
    assert!(worst!(f64, near(), |x| Vector::sin(x), f64::sin) < 2.0);
    assert!(worst!(f64, near(), |x| Vector::cos(x), f64::cos) < 2.0);
}
