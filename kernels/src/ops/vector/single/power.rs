//! Powers and roots.

use super::super::double;
use super::{ROUND, choose, horner, integer, power};

/// `log2(m)` in `s = (m - 1) / (m + 1)`: over s, in `s^2`.
const LOG2_SERIES: [f64; 5] = [
    2.885_390_081_790_185_4,
    0.961_796_673_225_784_9,
    0.577_083_606_468_251_3,
    0.411_671_436_827_151_85,
    0.340_754_026_956_921_75,
];
/// 2 to the power of r, from -1/2 to 1/2.
const EXP2_SERIES: [f64; 7] = [
    1.000_000_000_553_535_9,
    0.693_147_205_730_563,
    0.240_226_468_949_800_96,
    0.055_503_287_854_927_02,
    0.009_618_488_534_784_227,
    0.001_339_992_842_368_427,
    0.000_153_459_135_469_986_65,
];
/// `m^(-1/3)` from 1 to 2, roughly.
const INVERSE_ROOT: [f32; 4] = [1.541_906_4, -0.810_004_5, 0.317_790_27, -0.049_944_89];
/// The cube roots of 1/2 and 2.
const ROOTS: [f32; 2] = [0.793_700_5, 1.259_921];

/// x to the power y. In f64, the logarithm needs no second part.
#[inline(always)]
pub(super) fn pow(x: f32, y: f32) -> f32 {
    let a = x.abs();
    // Beyond, every power but that of 1 is 0 or infinite.
    let limited = choose(y > 1e12, 1e12, y);
    let limited = choose(limited < -1e12, -1e12, limited);
    let (m, e) = double::split(f64::from(a));
    let s = (m - 1.0) / (m + 1.0);
    let log = s.mul_add(double::horner(s * s, LOG2_SERIES), e);
    let power = f64::from(limited) * log;
    let power = choose(power > 160.0, 160.0, power);
    let power = choose(power < -160.0, -160.0, power);
    let rounded = power + double::ROUND;
    let p = double::horner(power - (rounded - double::ROUND), EXP2_SERIES);
    // The integer in the low bits goes to the exponent, which is far from both ends here.
    let usual = f64::from_bits(p.to_bits().wrapping_add(rounded.to_bits() << 52)) as f32;
    // Of negative numbers: nothing, or by the parity of y. Zeros and infinities have no less.
    let integral = y.floor() == y;
    let odd = integral & ((0.5 * y).floor() != 0.5 * y);
    let usual = choose((x < 0.0) & !integral, f32::NAN, usual);
    let ends = choose((a == 0.0) == (y < 0.0), f32::INFINITY, 0.0);
    let usual = choose((a == 0.0) | (a == f32::INFINITY), ends, usual);
    let signed = choose(odd, usual.copysign(x), usual);
    let signed = choose(x.is_nan() | y.is_nan(), f32::NAN, signed);
    choose((x == 1.0) | (y == 0.0), 1.0, signed)
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt(x: f32) -> f32 {
    let a = x.abs();
    let tiny = a < f32::MIN_POSITIVE;
    let bits = (choose(tiny, a * 16_777_216.0, a)).to_bits();
    let e = ((bits >> 23) as i32).wrapping_sub(127) as f32;
    let m = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    // The exponent is 3 q + r, with r from -1 to 1; r goes to the mantissa.
    let rounded = e.mul_add(1.0 / 3.0, ROUND);
    let r = (rounded - ROUND).mul_add(-3.0, e);
    let t = horner(m, INVERSE_ROOT);
    let (m, t) = (choose(r > 0.0, 2.0 * m, m), choose(r > 0.0, ROOTS[0] * t, t));
    let (m, t) = (choose(r < 0.0, 0.5 * m, m), choose(r < 0.0, ROOTS[1] * t, t));
    // With h the error of the inverse root's cube: (1 - h)^(-2/3) corrects the root.
    let y = m * (t * t);
    let h = y.mul_add(-t, 1.0);
    let y = (y * h).mul_add(h.mul_add(5.0 / 9.0, 2.0 / 3.0), y);
    let k = integer(rounded).wrapping_sub(choose(tiny, 8, 0));
    let usual = (y * power(k)).copysign(x);
    choose((a > 0.0) & (a < f32::INFINITY), usual, x)
}

/// `sqrt(x^2 + y^2)`. In f64, no square overflows.
#[inline(always)]
pub(super) fn hypot(x: f32, y: f32) -> f32 {
    let (a, b) = (f64::from(x), f64::from(y));
    let usual = a.mul_add(a, b * b).sqrt() as f32;
    let endless = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
    choose(endless, f32::INFINITY, usual)
}
