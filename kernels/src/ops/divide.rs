//! Division with remainder, shifts and powers, as in NumPy: nothing traps, nothing is undefined.
//!
//! Division by 0 gives NaN or an infinity for floats, 0 for integers. The least integer divided by -1 is
//! itself, as in wrapping negation.

/// Integer arithmetic of the host loops.
pub(super) trait Integer: Copy {
    /// The magnitude, wrapping.
    fn absolute(self) -> Self;
    /// -1, 0 or 1.
    fn sign(self) -> Self;
    /// Whether it is negative.
    fn is_below_zero(self) -> bool;
    /// The quotient rounded down.
    fn floor_divide(self, by: Self) -> Self;
    /// The quotient rounded toward 0.
    fn trunc_divide(self, by: Self) -> Self;
    /// The remainder of [`Integer::floor_divide`].
    fn remainder(self, by: Self) -> Self;
    /// The remainder of [`Integer::trunc_divide`].
    fn fmod(self, by: Self) -> Self;
    /// The power, wrapping. A negative power is 0, except of 1 and -1.
    fn power(self, by: Self) -> Self;
    /// 0 if all bits are shifted out, or the count is negative.
    fn left_shift(self, by: Self) -> Self;
    /// The sign bits only if all others are shifted out, or the count is negative.
    fn right_shift(self, by: Self) -> Self;
}

macro_rules! shared {
    ($t:ty) => {
        #[inline(always)]
        fn trunc_divide(self, by: $t) -> $t {
            if by == 0 { 0 } else { self.wrapping_div(by) }
        }
        #[inline(always)]
        fn fmod(self, by: $t) -> $t {
            if by == 0 { 0 } else { self.wrapping_rem(by) }
        }
        #[inline(always)]
        fn left_shift(self, by: $t) -> $t {
            u32::try_from(by).ok().and_then(|by| self.checked_shl(by)).unwrap_or(0)
        }
    };
}

macro_rules! signed {
    ($($t:ty)*) => { $(
        impl Integer for $t {
            shared!($t);
            #[inline(always)]
            fn absolute(self) -> $t {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn sign(self) -> $t {
                <$t>::from(self > 0) - <$t>::from(self < 0)
            }
            #[inline(always)]
            fn is_below_zero(self) -> bool {
                self < 0
            }
            #[inline(always)]
            fn floor_divide(self, by: $t) -> $t {
                let rest = self.fmod(by);
                self.trunc_divide(by).wrapping_sub(<$t>::from(rest != 0 && (rest < 0) != (by < 0)))
            }
            #[inline(always)]
            fn remainder(self, by: $t) -> $t {
                let rest = self.fmod(by);
                if rest != 0 && (rest < 0) != (by < 0) { rest.wrapping_add(by) } else { rest }
            }
            #[inline(always)]
            fn power(self, by: $t) -> $t {
                match (self, by) {
                    (1, _) => 1,
                    (-1, by) => if by & 1 == 0 { 1 } else { -1 },
                    (_, by) if by < 0 => 0,
                    // `by` is not negative, so the cast is exact.
                    (base, by) => power(by as u64, base, 1, <$t>::wrapping_mul),
                }
            }
            #[inline(always)]
            fn right_shift(self, by: $t) -> $t {
                let sign = self >> (<$t>::BITS - 1);
                u32::try_from(by).ok().and_then(|by| self.checked_shr(by)).unwrap_or(sign)
            }
        }
    )* };
}

macro_rules! unsigned {
    ($($t:ty)*) => { $(
        impl Integer for $t {
            shared!($t);
            #[inline(always)]
            fn absolute(self) -> $t {
                self
            }
            #[inline(always)]
            fn sign(self) -> $t {
                <$t>::from(self != 0)
            }
            #[inline(always)]
            fn is_below_zero(self) -> bool {
                false
            }
            #[inline(always)]
            fn floor_divide(self, by: $t) -> $t {
                self.trunc_divide(by)
            }
            #[inline(always)]
            fn remainder(self, by: $t) -> $t {
                self.fmod(by)
            }
            #[inline(always)]
            fn power(self, by: $t) -> $t {
                power(u64::from(by), self, 1, <$t>::wrapping_mul)
            }
            #[inline(always)]
            fn right_shift(self, by: $t) -> $t {
                u32::try_from(by).ok().and_then(|by| self.checked_shr(by)).unwrap_or(0)
            }
        }
    )* };
}

signed!(i8 i16 i32 i64);
unsigned!(u8 u16 u32 u64);

/// `base` to a power, by squaring.
#[inline(always)]
fn power<T: Copy>(mut by: u64, mut base: T, one: T, times: fn(T, T) -> T) -> T {
    let mut result = one;
    while by > 0 {
        if by & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        by >>= 1;
    }
    result
}

/// Float division of the host loops.
pub(super) trait Float: Copy {
    /// The exact quotient rounded down; NaN for an infinity by a number other than 0.
    fn floor_divide(self, by: Self) -> Self;
    /// The exact quotient rounded toward 0.
    fn trunc_divide(self, by: Self) -> Self;
    /// The remainder of [`Float::floor_divide`], with the sign of the divisor.
    fn remainder(self, by: Self) -> Self;
}

/// The rounded quotient, the nearest integer to it, and the dividend less that many divisors. The sign of
/// this rest says whether the integer is above the exact quotient. The rest is exact: its magnitude is at
/// most that of the divisor. It is 0 where the quotient is too large to have a fraction.
macro_rules! divide {
    ($t:ty, $a:expr, $b:expr) => {{
        const EXACT: $t = (1u64 << <$t>::MANTISSA_DIGITS) as $t;
        let quotient = $a / $b;
        let nearest = quotient.round_ties_even();
        // The product of 0 and an infinite divisor would be NaN.
        let rest = if nearest == 0.0 { $a } else { nearest.mul_add(-$b, $a) };
        (quotient, nearest, if nearest.abs() <= EXACT { rest } else { 0.0 })
    }};
}

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Float for $t {
            #[inline(always)]
            fn floor_divide(self, by: $t) -> $t {
                let (quotient, nearest, rest) = divide!($t, self, by);
                let above = (rest != 0.0) & ((rest < 0.0) != (by < 0.0));
                let floor = if above { nearest - 1.0 } else { nearest };
                let none = self.is_infinite() & (by != 0.0);
                if none { <$t>::NAN } else { floor.copysign(quotient) }
            }
            #[inline(always)]
            fn trunc_divide(self, by: $t) -> $t {
                let (quotient, nearest, rest) = divide!($t, self, by);
                let above = (rest != 0.0) & ((rest < 0.0) != (self < 0.0));
                let less = nearest.abs() - 1.0;
                (if above { less } else { nearest }).copysign(quotient)
            }
            #[inline(always)]
            fn remainder(self, by: $t) -> $t {
                let rest = self % by;
                if rest == 0.0 {
                    return rest.copysign(by);
                }
                if (rest < 0.0) != (by < 0.0) { rest + by } else { rest }
            }
        }
    )* };
}

float!(f32 f64);

#[cfg(test)]
mod tests;
