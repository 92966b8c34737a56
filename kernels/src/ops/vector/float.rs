//! What the functions need of f32 and f64: arithmetic, the bits of the format, and shared constants.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// f32 or f64.
pub(crate) trait MachineFloat:
    Copy
    + 'static
    + PartialOrd
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// Whether it is f64, whose functions also carry rounding errors that f32 can neglect.
    const IS_F64: bool;
    const ZERO: Self;
    const HALF: Self;
    const ONE: Self;
    const TWO: Self;
    const NAN: Self;
    const INFINITY: Self;
    const MIN_POSITIVE: Self;
    /// log2(e).
    const LOG2_E: Self;
    /// ln 2 in two parts.
    const LN2: [Self; 2];
    /// Added to a number of magnitude below 2^22 (f64: 2^51), it leaves the nearest integer in the low bits;
    /// subtracted again, it leaves that integer. A `rounded` number is one to which it was added.
    const ROUND: Self;
    /// Added to a divisor of 0 or more, it avoids a division by zero.
    const TINY: Self;

    /// The nearest number to `value`.
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    fn floor(self) -> Self;
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_sign_negative(self) -> bool;
    /// Whether it is positive, normal and finite.
    fn is_usual(self) -> bool;
    /// 2 to the power of the integer in a rounded number plus `more`, if that is the exponent of a normal
    /// number.
    fn power(rounded: Self, more: i8) -> Self;
    /// `self * 2^k` for a normal result; k is in the rounded number.
    fn times_power(self, rounded: Self) -> Self;
    /// `self * 2^k`, rounded once, for a number near 1, down to underflow to 0; k is in the rounded number.
    fn scale(self, rounded: Self) -> Self;
    /// Whether the integer in a rounded number, plus `more`, is odd.
    fn is_odd(rounded: Self, more: u8) -> bool;
    /// The negative number if the second lowest bit of that integer is set.
    fn negate_by(self, rounded: Self, more: u8) -> Self;
}

/// Methods of the type itself.
macro_rules! forward {
    ($t:ty: $($method:ident($($argument:ident: $of:ty),*) -> $result:ty),+) => {
        $(#[inline(always)]
        fn $method(self $(, $argument: $of)*) -> $result {
            <$t>::$method(self $(, $argument)*)
        })+
    };
}

/// Implements [`MachineFloat`]; `$halved` is the integer `$k` divided by two, rounded down.
macro_rules! float {
    ($t:ident, $bits:ty, $int:ty; |$k:ident| $halved:expr; $($constants:tt)*) => {
        const _: () = {
            const MANTISSA: u32 = <$t>::MANTISSA_DIGITS - 1;

            /// 2 to the power of an integer, for a normal result.
            #[inline(always)]
            fn power(k: $int) -> $t {
                <$t>::from_bits((k.wrapping_add(<$t>::MAX_EXP as $int - 1) << MANTISSA) as $bits)
            }

            /// The integer in a rounded number.
            #[inline(always)]
            fn integer(rounded: $t) -> $int {
                (rounded.to_bits() as $int).wrapping_sub(<$t>::ROUND.to_bits() as $int)
            }

            impl MachineFloat for $t {
                const ZERO: $t = 0.0;
                const HALF: $t = 0.5;
                const ONE: $t = 1.0;
                const TWO: $t = 2.0;
                const NAN: $t = <$t>::NAN;
                const INFINITY: $t = <$t>::INFINITY;
                const MIN_POSITIVE: $t = <$t>::MIN_POSITIVE;
                const LOG2_E: $t = std::$t::consts::LOG2_E;
                $($constants)*

                #[inline(always)]
                fn of(value: f64) -> $t {
                    value as $t
                }
                #[inline(always)]
                fn to_f64(self) -> f64 {
                    f64::from(self)
                }
                forward! {
                    $t: abs() -> $t, sqrt() -> $t, floor() -> $t, mul_add(factor: $t, summand: $t) -> $t,
                    copysign(sign: $t) -> $t, is_nan() -> bool, is_sign_negative() -> bool
                }
                #[inline(always)]
                fn is_usual(self) -> bool {
                    const FIRST: $bits = <$t>::MIN_POSITIVE.to_bits();
                    self.to_bits().wrapping_sub(FIRST) < <$t>::INFINITY.to_bits() - FIRST
                }
                #[inline(always)]
                fn power(rounded: $t, more: i8) -> $t {
                    power(integer(rounded).wrapping_add(<$int>::from(more)))
                }
                #[inline(always)]
                fn times_power(self, rounded: $t) -> $t {
                    <$t>::from_bits(self.to_bits().wrapping_add(rounded.to_bits() << MANTISSA))
                }
                #[inline(always)]
                fn scale(self, rounded: $t) -> $t {
                    // Two factors, because the result may be subnormal.
                    let $k = integer(rounded);
                    let half = $halved;
                    self * power(half) * power($k.wrapping_sub(half))
                }
                #[inline(always)]
                fn is_odd(rounded: $t, more: u8) -> bool {
                    rounded.to_bits().wrapping_add(<$bits>::from(more)) & 1 != 0
                }
                #[inline(always)]
                fn negate_by(self, rounded: $t, more: u8) -> $t {
                    let bit = rounded.to_bits().wrapping_add(<$bits>::from(more)) & 2;
                    <$t>::from_bits(self.to_bits() ^ (bit << (<$bits>::BITS - 2)))
                }
            }
        };
    };
}

float! {
    f32, u32, i32; |k| k >> 1;
    const IS_F64: bool = false;
    const LN2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
    const ROUND: f32 = 12_582_912.0;
    const TINY: f32 = 1e-30;
}
// There is no arithmetic shift of 64 bits before AVX-512: the sum keeps the shifted number positive.
float! {
    f64, u64, i64; |k| (k.wrapping_add(2048) as u64 >> 1) as i64 - 1024;
    const IS_F64: bool = true;
    const LN2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const TINY: f64 = 1e-300;
}

/// Selects one of two numbers, both computed. With a branch, LLVM might duplicate the code that follows.
#[inline(always)]
pub(super) fn choose<T>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

/// x limited to a range; NaN stays NaN.
#[inline(always)]
pub(super) fn limited<T: MachineFloat>(x: T, low: T, high: T) -> T {
    let x = choose(x > high, high, x);
    choose(x < low, low, x)
}

/// `c[0] + x * (c[1] + x * (..))`. A plain loop over a constant, which compilers unroll before they look for
/// vectors.
#[inline(always)]
pub(super) fn horner<T: MachineFloat>(x: T, c: &[T]) -> T {
    let mut i = c.len() - 1;
    let mut sum = c[i];
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// The same as two sums, of the even and of the odd powers: half the steps depend on each other, which is
/// faster from about twenty terms on.
#[inline(always)]
pub(super) fn by_halves<T: MachineFloat>(x: T, c: &[T]) -> T {
    let z = x * x;
    let mut i = c.len() - 2;
    let (mut sum, mut other) = (c[i + 1], c[i]);
    while i > 0 {
        i -= 1;
        let next = sum.mul_add(z, c[i]);
        sum = other;
        other = next;
    }
    sum.mul_add(x, other)
}

/// The rounding error of `sum`, which is `large + small`; `large` has the larger magnitude.
#[inline(always)]
pub(super) fn lost<T: MachineFloat>(large: T, small: T, sum: T) -> T {
    (large - sum) + small
}
