//! The error function and its complement.

use super::super::double;
use super::exponential::exp_near_one;
use super::{LN2, ROUND, choose, horner, integer, power};

/// `erf(x) / x - 1` in `x^2`, to 1.
const NEAR: [f32; 7] = [
    0.128_379_17,
    -0.376_126_3,
    0.112_836_18,
    -0.026_855_126,
    0.005_190_733_4,
    -0.000_803_075_03,
    7.920_303e-5,
];
/// `-log(erfc(x))` in `x - 1`, from 1 to where `erf` is 1.
const FAR: [f32; 7] = [
    1.849_605_6,
    2.638_967_8,
    0.843_088_1,
    0.041_668_624,
    -0.010_231_025,
    0.002_107_011_4,
    -0.000_265_082_75,
];
/// `(1 + 2 x) exp(x^2) erfc(x)` in `(x - 2.5) / (x + 2.5)`.
const SCALED: [f64; 11] = [
    1.264_838_181_150_326_2,
    -0.122_356_701_913_739_12,
    -0.099_024_198_158_314_1,
    0.157_627_956_875_198_48,
    -0.102_973_569_406_653_52,
    0.032_776_549_140_055_546,
    0.000_979_254_371_978_521_3,
    -0.004_418_637_601_396_668,
    0.000_344_207_045_312_724_4,
    0.000_613_278_635_988_139_8,
    7.856_472_693_354_461e-5,
];
/// `exp(r)`, for r up to ln 2 / 2.
const EXP_SERIES: [f64; 7] = [
    1.000_000_000_553_977_5,
    1.000_000_036_335_062_5,
    0.499_999_920_841_114_1,
    0.166_664_200_976_600_23,
    0.041_668_224_364_891_725,
    0.008_374_822_304_505_867,
    0.001_383_692_698_177_963,
];

/// The error function.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let a = x.abs();
    let near = a.mul_add(horner(a * a, NEAR), a);
    // 1 - exp(-p).
    let end = choose(a > 3.95, 3.95, a);
    let p = horner(end - 1.0, FAR);
    let rounded = p.mul_add(-std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2[1], n.mul_add(-LN2[0], -p));
    let far = power(integer(rounded)).mul_add(-exp_near_one(r), 1.0);
    (choose(a < 1.0, near, far)).copysign(x)
}

/// `1 - erf(x)`. In f64, the square of x needs no second part.
#[inline(always)]
pub(super) fn erfc(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let a = choose(a > 10.2, 10.2, a);
    let (bottom, line) = (a + 2.5, a.mul_add(2.0, 1.0));
    let inverse = 1.0 / (bottom * line);
    let g = double::horner((a - 2.5) * (line * inverse), SCALED);
    let square = a * a;
    let rounded = square.mul_add(-std::f64::consts::LOG2_E, double::ROUND);
    let r = (rounded - double::ROUND).mul_add(-double::LN2[0], -square);
    let e = double::horner(r, EXP_SERIES) * double::power(double::integer(rounded));
    let y = g * (bottom * inverse) * e;
    (choose(x < 0.0, 2.0 - y, y)) as f32
}
