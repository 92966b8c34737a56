//! Functions of two arguments for f32, and the results that IEEE 754 and NumPy define for zeros, infinities
//! and NaN.

use super::super::Vector;
use super::{each, some32, some64};
use crate::level::{SimdLoop, run};

const SPECIAL: [f64; 29] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-45,
    -1e-45,
    1.2e-38,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    -2.5,
    1e30,
    -1e30,
    1e-30,
    -1e-30,
    3.4e38,
    -3.4e38,
    16_777_217.0,
    -16_777_217.0,
    9_007_199_254_740_991.0,
    -9_007_199_254_740_991.0,
    40.0,
];

/// The difference of `got` and `want` in ulp of `$t`; infinite if zeros, infinities, signs or NaN differ.
macro_rules! ulps {
    ($t:ty, $got:expr, $want:expr) => {{
        let (got, want): ($t, f64) = ($got, $want);
        let nearest = want as $t;
        let ulp = f64::from(nearest.abs().next_up()) - f64::from(nearest.abs());
        if nearest.is_nan() | got.is_nan() {
            if nearest.is_nan() & got.is_nan() { 0.0 } else { f64::INFINITY }
        } else if nearest.is_sign_negative() != got.is_sign_negative() {
            f64::INFINITY
        } else if nearest.is_infinite() | (want == 0.0) {
            if got == nearest { 0.0 } else { f64::INFINITY }
        } else {
            (f64::from(got) - want).abs() / ulp
        }
    }};
}

/// The largest error of a function of two numbers.
macro_rules! worst {
    ($t:ty, $pairs:expr, |$x:ident, $y:ident| $e:expr, $want:expr) => {{
        let (xs, ys): (Vec<$t>, Vec<$t>) = $pairs.into_iter().unzip();
        let got = each!($t, |$x, $y| $e, &xs, &ys);
        let mut worst = (0.0, 0.0 as $t, 0.0 as $t);
        for ((x, y), got) in xs.iter().zip(&ys).zip(&got) {
            let error = ulps!($t, *got, $want(f64::from(*x), f64::from(*y)));
            if error > worst.0 {
                worst = (error, *x, *y);
            }
        }
        println!("{} {}: {:.2} ulp at {:e}, {:e}", stringify!($t), stringify!($e), worst.0, worst.1, worst.2);
        worst.0
    }};
}

fn grid() -> Vec<(f64, f64)> {
    SPECIAL.iter().flat_map(|x| SPECIAL.iter().map(move |y| (*x, *y))).collect()
}

/// Pairs of numbers of all magnitudes: with their mirror image in the list, and with numbers of similar
/// magnitude.
fn pairs32() -> Vec<(f32, f32)> {
    let all = some32();
    let mirrored = all.iter().zip(all.iter().rev()).map(|(x, y)| (*x, *y));
    let like = all.iter().enumerate().map(|(i, x)| (*x, *x * (i % 1000) as f32 * 0.004));
    let special = grid().into_iter().map(|(x, y)| (x as f32, y as f32));
    mirrored.chain(like).chain(special).collect()
}

/// Bases with exponents whose powers cover all numbers, underflow and overflow.
fn powers32() -> Vec<(f32, f32)> {
    let bases = [
        1e-38f32,
        0.003,
        0.71,
        0.75,
        0.9,
        0.999_999,
        1.000_001,
        1.1,
        1.413_369_4,
        1.4143,
        1.5,
        1.9,
        40.0,
        1e9,
        3e38,
    ];
    let each = |base: f32| {
        let y = move |i: i32| (f64::from(i) * 0.0047 / f64::from(base).log2()) as f32;
        (-33_000..28_000).map(move |i| (base, y(i)))
    };
    let negative = (-150..150).map(|y| (-1.7f32, y as f32));
    bases.into_iter().flat_map(each).chain(negative).collect()
}

/// Bases between 1/4 and 4 with exponents whose powers cover all numbers: errors of the logarithm's series
/// are largest there.
fn powers_near_one() -> Vec<(f32, f32)> {
    let mut state = 3u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let pair = |_| {
        let log = 4.0 * random() - 2.0;
        (log.exp2() as f32, ((250.0 * random() - 125.0) / log) as f32)
    };
    (0..1_000_000).map(pair).collect()
}

#[test]
fn f32_functions_of_two_numbers_are_accurate() {
    assert!(worst!(f32, pairs32(), |y, x| Vector::atan2(y, x), f64::atan2) < 2.5);
    assert!(worst!(f32, pairs32(), |x, y| Vector::hypot(x, y), f64::hypot) < 1.0);
    assert!(worst!(f32, pairs32(), |x, y| Vector::pow(x, y), f64::powf) < 3.0);
    assert!(worst!(f32, powers32(), |x, y| Vector::pow(x, y), f64::powf) < 3.0);
    assert!(worst!(f32, powers_near_one(), |x, y| Vector::pow(x, y), f64::powf) < 7.0);
}

/// Valid results of the quick function equal those of the function for all arguments, bit for bit.
macro_rules! holds {
    ($t:ty, $xs:expr, $ys:expr; $($name:literal: |$x:ident, $y:ident| $all:expr, $quick:expr;)*) => { $(
        let (xs, ys): (&[$t], &[$t]) = ($xs, $ys);
        let all = each!($t, |$x, $y| $all, xs, ys);
        let quick = each!($t, |$x, $y| $quick.0, xs, ys);
        let held = each!($t, |$x, $y| if $quick.1 { 1.0 } else { 0.0 }, xs, ys);
        for i in 0..xs.len() {
            let same = held[i] == 0.0 || all[i].to_bits() == quick[i].to_bits();
            assert!(same, "{} of {:e}, {:e}: {:e}, not {:e}", $name, xs[i], ys[i], quick[i], all[i]);
        }
        let count = held.iter().filter(|h| **h != 0.0).count();
        assert!(count > xs.len() / 8 && count < xs.len(), "{}: {count} of {}", $name, xs.len());
    )* };
}

#[test]
fn quick_functions_are_those_for_all() {
    let all = pairs32().into_iter().chain(powers32()).chain(powers_near_one());
    let (xs, ys): (Vec<f32>, Vec<f32>) = all.unzip();
    holds! { f32, &xs, &ys;
        "exp2": |x, _y| Vector::exp2(x), Vector::quick_exp2(x);
        "log": |x, _y| Vector::log(x), Vector::quick_log(x);
        "log2": |x, _y| Vector::log2(x), Vector::quick_log2(x);
        "log10": |x, _y| Vector::log10(x), Vector::quick_log10(x);
        "cbrt": |x, _y| Vector::cbrt(x), Vector::quick_cbrt(x);
        "pow": |x, y| Vector::pow(x, y), Vector::quick_pow(x, y);
    }
    let xs: Vec<f64> = some64();
    let ys: Vec<f64> =
        xs.iter().enumerate().map(|(i, x)| x.abs().log2().recip() * (i % 2000) as f64).collect();
    holds! { f64, &xs, &ys;
        "exp2": |x, _y| Vector::exp2(x), Vector::quick_exp2(x);
        "log": |x, _y| Vector::log(x), Vector::quick_log(x);
        "log2": |x, _y| Vector::log2(x), Vector::quick_log2(x);
        "log10": |x, _y| Vector::log10(x), Vector::quick_log10(x);
        "cbrt": |x, _y| Vector::cbrt(x), Vector::quick_cbrt(x);
        "pow": |x, y| Vector::pow(x, y), Vector::quick_pow(x, y);
    }
}

/// `std` follows the standard; the differences include its own error.
#[test]
fn f64_functions_of_two_numbers_follow_the_standard() {
    assert!(worst!(f64, grid(), |y, x| Vector::atan2(y, x), f64::atan2) < 2.0);
    assert!(worst!(f64, grid(), |x, y| Vector::hypot(x, y), f64::hypot) < 2.0);
    assert!(worst!(f64, grid(), |x, y| Vector::pow(x, y), f64::powf) < 2.0);
}

/// The special cases, written out.
#[test]
fn powers_and_angles_of_zeros_and_infinities() {
    let (inf, nan, pi) = (f64::INFINITY, f64::NAN, std::f64::consts::PI);
    let powers = [
        (nan, 0.0, 1.0),
        (nan, -0.0, 1.0),
        (1.0, nan, 1.0),
        (1.0, -inf, 1.0),
        (-1.0, inf, 1.0),
        (0.0, -3.0, inf),
        (-0.0, -3.0, -inf),
        (-0.0, -2.0, inf),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.5, 0.0),
        (0.5, -inf, inf),
        (0.5, inf, 0.0),
        (-2.0, inf, inf),
        (-inf, 3.0, -inf),
        (-inf, -3.0, -0.0),
        (-inf, 2.5, inf),
        (-8.0, 1.0 / 3.0, nan),
        (-2.0, 3.0, -8.0),
        (-2.0, 1023.0, -(2f64.powi(1023))),
        (2.0, -1074.0, f64::from_bits(1)),
        (2.0, 1024.0, inf),
        (-3.0, -9_999.0, -0.0),
        (10.0, 22.0, 1e22),
    ];
    let angles = [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, pi),
        (-0.0, -0.0, -pi),
        (0.0, -1.0, pi),
        (-0.0, 1.0, -0.0),
        (1.0, 0.0, pi / 2.0),
        (-1.0, -0.0, -pi / 2.0),
        (inf, inf, pi / 4.0),
        (-inf, -inf, -3.0 * pi / 4.0),
        (inf, -inf, 3.0 * pi / 4.0),
        (inf, -1.0, pi / 2.0),
        (1.0, inf, 0.0),
        (-1.0, inf, -0.0),
        (-1.0, -inf, -pi),
        (nan, inf, nan),
        (0.0, nan, nan),
    ];
    let lengths =
        [(inf, nan, inf), (nan, -inf, inf), (nan, 0.0, nan), (3e200, -4e200, 5e200), (0.0, -0.0, 0.0)];
    let same = |got: f64, want: f64| {
        got.is_nan() & want.is_nan() || got == want && got.is_sign_negative() == want.is_sign_negative()
    };
    for (x, y, want) in powers {
        let got = each!(f64, |x, y| Vector::pow(x, y), &[x], &[y])[0];
        assert!(same(got, want), "{x} to the power {y}: {got}");
        if x as f32 as f64 == x && (want as f32 == want as f32 || want.is_nan()) {
            let got = each!(f32, |x, y| Vector::pow(x, y), &[x as f32], &[y as f32])[0];
            assert!(same(f64::from(got), f64::from(want as f32)), "{x} to the power {y} in f32: {got}");
        }
    }
    for (y, x, want) in angles {
        let got = each!(f64, |y, x| Vector::atan2(y, x), &[y], &[x])[0];
        assert!(same(got, want), "angle of x {x}, y {y}: {got}");
        let got = each!(f32, |y, x| Vector::atan2(y, x), &[y as f32], &[x as f32])[0];
        assert!(same(f64::from(got), f64::from(want as f32)), "angle of x {x}, y {y} in f32: {got}");
    }
    // Subnormal coordinates have the angle of their ratio.
    for (y, x) in [(1f32, 2f32), (2.0, 1.0), (3.0, 7.0), (-5.0, 4.0)] {
        let least = f32::from_bits(1);
        let got = each!(f32, |y, x| Vector::atan2(y, x), &[y * least], &[x * least])[0];
        let want = y.atan2(x);
        assert!((got - want).abs() <= 3.0 * f32::EPSILON * want.abs(), "{y}, {x}: {got}, not {want}");
    }
    for (x, y, want) in lengths {
        let got = each!(f64, |x, y| Vector::hypot(x, y), &[x], &[y])[0];
        let near = (got - want).abs() <= 2.0 * f64::EPSILON * want;
        assert!(near | (got == want) | (got.is_nan() & want.is_nan()), "hypot of {x} and {y}: {got}");
    }
}

/// Odd functions keep the sign of a zero and the smallest number; others have their value at the ends.
#[test]
fn ends_of_the_functions_of_one_number() {
    macro_rules! ends {
        ($t:ty) => {{
            let inf = <$t>::INFINITY;
            let tiny = <$t>::from_bits(1);
            let ends: [$t; 9] = [0.0, -0.0, tiny, -tiny, 1.0, -1.0, inf, -inf, <$t>::NAN];
            macro_rules! at {
                ($name:ident, $want:expr) => {{
                    let got = each!($t, |x| Vector::$name(x), &ends);
                    let want: [$t; 9] = $want;
                    for ((x, got), want) in ends.iter().zip(&got).zip(&want) {
                        let near = (got - want).abs() <= 2.0 * <$t>::EPSILON * want.abs();
                        let same = got == want && got.is_sign_negative() == want.is_sign_negative();
                        let both = got.is_nan() && want.is_nan();
                        assert!(
                            same || both || near && *want != 0.0,
                            "{} of {x:e}: {got}",
                            stringify!($name)
                        );
                    }
                }};
            }
            macro_rules! odd {
                ($name:ident, $one:expr, $inf:expr) => {
                    at!($name, [0.0, -0.0, tiny, -tiny, $one, -$one, $inf, -$inf, <$t>::NAN])
                };
            }
            let of = |exact: f64| exact as $t;
            let (nan, pi) = (<$t>::NAN, std::f64::consts::PI);
            odd!(asin, (pi / 2.0) as $t, nan);
            odd!(atan, (pi / 4.0) as $t, (pi / 2.0) as $t);
            odd!(sinh, of(1.175_201_193_643_801_5), inf);
            odd!(asinh, of(0.881_373_587_019_543), inf);
            odd!(atanh, inf, nan);
            let root = f64::from(tiny).cbrt() as $t;
            at!(cbrt, [0.0, -0.0, root, -root, 1.0, -1.0, inf, -inf, nan]);
            odd!(erf, of(0.842_700_792_949_714_9), 1.0);
            let half = (pi / 2.0) as $t;
            at!(acos, [half, half, half, half, 0.0, pi as $t, nan, nan, nan]);
            let cosh = of(1.543_080_634_815_243_7);
            at!(cosh, [1.0, 1.0, 1.0, 1.0, cosh, cosh, inf, inf, nan]);
            at!(acosh, [nan, nan, nan, nan, 0.0, nan, inf, nan, nan]);
            let erfc = of(1.842_700_792_949_714_8);
            at!(erfc, [1.0, 1.0, 1.0, 1.0, of(0.157_299_207_050_285_13), erfc, 0.0, 2.0, nan]);
            let least = (<$t>::MIN_EXP - <$t>::MANTISSA_DIGITS as i32) as $t;
            at!(log2, [-inf, -inf, least, nan, 0.0, nan, inf, nan, nan]);
            let least = (f64::from(least) * std::f64::consts::LOG10_2) as $t;
            at!(log10, [-inf, -inf, least, nan, 0.0, nan, inf, nan, nan]);
            let tan = each!($t, |x| Vector::tan(x), &ends[..4]);
            assert!(tan.iter().zip(&ends).all(|(t, x)| t.to_bits() == x.to_bits()), "tan of zeros: {tan:?}");
        }};
    }
    ends!(f32);
    ends!(f64);
}
