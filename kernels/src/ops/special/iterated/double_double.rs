//! Numbers of twice the digits of an f64, for sums that cancel: a sum of two f64 that do not overlap (T. J.
//! Dekker, "A floating-point technique for extending the available precision", 1971).

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `high + low`, `low` at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct DoubleDouble {
    high: f64,
    low: f64,
}

const LN_2: DoubleDouble = DoubleDouble { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
/// `log(2 pi) / 2`.
const HALF_LN_TAU: DoubleDouble =
    DoubleDouble { high: 0.918_938_533_204_672_8, low: -3.878_294_158_067_241_4e-17 };
/// `B(2k) / (2k (2k - 1))`, as fractions.
const STIRLING: [(f64, f64); 12] = [
    (1.0, 12.0),
    (-1.0, 360.0),
    (1.0, 1260.0),
    (-1.0, 1680.0),
    (1.0, 1188.0),
    (-691.0, 360_360.0),
    (1.0, 156.0),
    (-3617.0, 122_400.0),
    (43_867.0, 244_188.0),
    (-174_611.0, 125_400.0),
    (77_683.0, 5796.0),
    (-236_364_091.0, 1_506_960.0),
];

impl DoubleDouble {
    /// The sum of two f64, exactly.
    pub(super) fn sum(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        let part = high - a;
        DoubleDouble { high, low: (a - (high - part)) + (b - part) }
    }

    /// The exact sum of two f64; the first must have the larger magnitude.
    fn ordered(a: f64, b: f64) -> DoubleDouble {
        let high = a + b;
        DoubleDouble { high, low: b - (high - a) }
    }

    /// The product of two f64, exactly.
    pub(super) fn product(a: f64, b: f64) -> DoubleDouble {
        let high = a * b;
        DoubleDouble { high, low: a.mul_add(b, -high) }
    }

    /// Rounded to an f64.
    pub(super) fn value(self) -> f64 {
        self.high
    }

    /// `1 / n` for an f64.
    fn inverse(n: f64) -> DoubleDouble {
        let high = 1.0 / n;
        DoubleDouble { high, low: -high.mul_add(n, -1.0) / n }
    }

    /// The square root.
    pub(super) fn sqrt(self) -> DoubleDouble {
        let root = self.high.sqrt();
        DoubleDouble::from(root) + (self - DoubleDouble::product(root, root)).high / (2.0 * root)
    }

    /// `exp(self)`, as an f64.
    pub(super) fn exp(self) -> f64 {
        let e = self.high.exp();
        if e.is_finite() { self.low.mul_add(e, e) } else { e }
    }

    /// `exp(self) - 1`, as an f64.
    pub(super) fn expm1(self) -> f64 {
        self.high.exp_m1() + self.low * self.high.exp()
    }

    /// `1/3 + z/5 + z^2/7 + ..`, for z below 0.03: `(atanh(s) - s) / s^3` at `z = s^2`.
    fn tail(z: DoubleDouble) -> DoubleDouble {
        let mut rest = 0.0;
        for k in (11..23).rev() {
            rest = rest * z.high + 1.0 / f64::from(2 * k + 3);
        }
        (0..11)
            .rev()
            .fold(DoubleDouble::from(rest), |sum, k| sum * z + DoubleDouble::inverse(f64::from(2 * k + 3)))
    }

    /// Natural logarithm of a positive number.
    pub(super) fn ln(self) -> DoubleDouble {
        let (mut mantissa, mut exponent) = libm::frexp(self.high);
        if mantissa < std::f64::consts::FRAC_1_SQRT_2 {
            (mantissa, exponent) = (mantissa * 2.0, exponent - 1);
        }
        let m = DoubleDouble { high: mantissa, low: libm::ldexp(self.low, -exponent) };
        let s = (m - 1.0) / (m + 1.0);
        let z = s * s;
        let atanh = s + s * z * DoubleDouble::tail(z);
        LN_2 * f64::from(exponent) + atanh + atanh
    }

    /// `self - log(1 + self)` for numbers above -1, exact near 0.
    pub(super) fn less_ln_1p(self) -> DoubleDouble {
        if self.high.abs() > 0.25 {
            return self - (self + 1.0).ln();
        }
        let s = self / (self + 2.0);
        let z = s * s;
        s * (self - z * DoubleDouble::tail(z) * 2.0)
    }

    /// The logarithm of the gamma function of a positive number, by Stirling's series.
    pub(super) fn ln_gamma(self) -> DoubleDouble {
        let (mut x, mut product) = (self, DoubleDouble::from(1.0));
        while x.high < 32.0 {
            product = product * x;
            x = x + 1.0;
        }
        let inverse = DoubleDouble::from(1.0) / x;
        let square = inverse * inverse;
        let terms = STIRLING.iter().rev();
        let series = terms.fold(DoubleDouble::from(0.0), |sum, &(over, under)| {
            sum * square + DoubleDouble::from(over) / DoubleDouble::from(under)
        });
        let main = (x - 0.5) * x.ln() - x + HALF_LN_TAU + series * inverse;
        if product.high == 1.0 && product.low == 0.0 { main } else { main - product.ln() }
    }
}

impl From<f64> for DoubleDouble {
    fn from(high: f64) -> Self {
        DoubleDouble { high, low: 0.0 }
    }
}

impl Neg for DoubleDouble {
    type Output = Self;
    fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}
impl Add for DoubleDouble {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = (DoubleDouble::sum(self.high, other.high), DoubleDouble::sum(self.low, other.low));
        let sum = DoubleDouble::ordered(high.high, high.low + low.high);
        DoubleDouble::ordered(sum.high, sum.low + low.low)
    }
}
impl Sub for DoubleDouble {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}
impl Mul for DoubleDouble {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = DoubleDouble::product(self.high, other.high);
        DoubleDouble::ordered(product.high, product.low + (self.high * other.low + self.low * other.high))
    }
}
impl Div for DoubleDouble {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first;
        let second = rest.high / other.high;
        let rest = rest - other * second;
        DoubleDouble::ordered(first, second) + rest.high / other.high
    }
}

macro_rules! with_f64 {
    ($($trait:ident $method:ident $sign:tt),*) => { $(
        impl $trait<f64> for DoubleDouble {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                self $sign DoubleDouble::from(other)
            }
        }
    )* };
}
with_f64!(Add add +, Sub sub -, Mul mul *, Div div /);
