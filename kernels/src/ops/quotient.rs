//! Vectorised division of integers, through floats: processors have no vector division of integers.

use super::divide::Integer;

/// [`Integer`]'s divisions, without a branch.
pub(super) trait BranchlessDivide: Integer {
    /// The quotient rounded toward 0, and the remainder; 0 and `self` for a divisor of 0.
    fn divide(self, by: Self) -> (Self, Self);
    /// As [`Integer::floor_divide`].
    fn floor_divide(self, by: Self) -> Self;
    /// As [`Integer::trunc_divide`].
    fn trunc_divide(self, by: Self) -> Self;
    /// As [`Integer::remainder`].
    fn remainder(self, by: Self) -> Self;
    /// As [`Integer::fmod`].
    fn fmod(self, by: Self) -> Self;
}

macro_rules! vectors {
    ($t:ty, |$a:ident, $b:ident| $quotient:expr) => {
        impl BranchlessDivide for $t {
            #[inline(always)]
            fn divide(self, by: $t) -> ($t, $t) {
                let $a = self;
                let $b = if by == 0 { 1 } else { by };
                let quotient: $t = $quotient;
                let quotient = if by == 0 { 0 } else { quotient };
                (quotient, self.wrapping_sub(quotient.wrapping_mul(by)))
            }
            #[inline(always)]
            fn floor_divide(self, by: $t) -> $t {
                let (quotient, rest) = self.divide(by);
                let down = (by != 0) & (rest != 0) & (rest.is_below_zero() != by.is_below_zero());
                quotient.wrapping_sub(<$t>::from(down))
            }
            #[inline(always)]
            fn trunc_divide(self, by: $t) -> $t {
                self.divide(by).0
            }
            #[inline(always)]
            fn remainder(self, by: $t) -> $t {
                let (_, rest) = self.divide(by);
                let down = (rest != 0) & (rest.is_below_zero() != by.is_below_zero());
                let rest = if down { rest.wrapping_add(by) } else { rest };
                if by == 0 { 0 } else { rest }
            }
            #[inline(always)]
            fn fmod(self, by: $t) -> $t {
                let (_, rest) = self.divide(by);
                if by == 0 { 0 } else { rest }
            }
        }
    };
}

/// Division in a float type that represents all numbers of the integer type, converted to a wider integer.
/// Rounding never moves a quotient past an integer: a quotient that is no integer differs from the nearest
/// one by at least 1 / divisor, which is more than the rounding error.
macro_rules! by_float {
    ($($t:ty: $float:ty => $wide:ty),*) => { $(
        // SAFETY: `vectors!` passes a `b` other than 0, so the quotient is finite and its magnitude at most
        // that of `a`, which the wider integer holds.
        vectors!($t, |a, b| unsafe { (a as $float / b as $float).to_int_unchecked::<$wide>() } as $t);
    )* };
}
by_float!(i8: f32 => i32, i16: f32 => i32, u8: f32 => i32, u16: f32 => i32, u32: f64 => i64);

// The least integer divided by -1 overflows: that divisor is handled apart.
vectors!(i32, |a, b| {
    let c = if b == -1 { 1 } else { b };
    // SAFETY: `vectors!` passes a `b` other than 0, so `c` is neither 0 nor -1. The quotient is finite, and
    // an i32 holds it: its magnitude is at most that of `a`, and 2^31 is only reached by a divisor of -1.
    let quotient = unsafe { (f64::from(a) / f64::from(c)).to_int_unchecked::<i32>() };
    if b == -1 { a.wrapping_neg() } else { quotient }
});
vectors!(u64, |a, b| whole_quotient(a, b));
vectors!(i64, |a, b| {
    let quotient = whole_quotient(a.unsigned_abs(), b.unsigned_abs()) as i64;
    if (a < 0) != (b < 0) { quotient.wrapping_neg() } else { quotient }
});

/// The quotient of 64-bit integers; `b` is not 0. The first division gives all but the last 12 bits, the
/// second divides the remainder.
#[inline(always)]
fn whole_quotient(a: u64, b: u64) -> u64 {
    // Makes the reciprocal smaller by more than all rounding errors, so that no quotient is too large.
    const LESS: f64 = 1.0 - 1.0 / (1u64 << 50) as f64;
    let inverse = LESS / b as f64;
    // SAFETY: `a as f64` is at most 2^64, and `inverse` at most 1 - 2^-50 because `b` is not 0. The product
    // is from 0 to below 2^64.
    let first = unsafe { (a as f64 * inverse).to_int_unchecked::<u64>() };
    let rest = a.wrapping_sub(first.wrapping_mul(b));
    // SAFETY: `rest as f64` is at most 2^64 too, so this product is also from 0 to below 2^64.
    let second = unsafe { (rest as f64 * inverse).to_int_unchecked::<u64>() };
    let last = rest.wrapping_sub(second.wrapping_mul(b));
    // The sum is at most one too small.
    first.wrapping_add(second).wrapping_add(u64::from(last >= b))
}

#[cfg(test)]
mod tests {
    use super::BranchlessDivide;
    use crate::ops::divide::Integer;

    macro_rules! all {
        ($t:ty, $values:expr) => {
            let values: Vec<$t> = $values;
            for &a in &values {
                for &b in &values {
                    assert_eq!(
                        BranchlessDivide::floor_divide(a, b),
                        Integer::floor_divide(a, b),
                        "{a} by {b}"
                    );
                    assert_eq!(
                        BranchlessDivide::trunc_divide(a, b),
                        Integer::trunc_divide(a, b),
                        "{a} by {b}"
                    );
                    assert_eq!(BranchlessDivide::remainder(a, b), Integer::remainder(a, b), "{a} by {b}");
                    assert_eq!(BranchlessDivide::fmod(a, b), Integer::fmod(a, b), "{a} by {b}");
                }
            }
        };
    }

    /// Numbers around powers of two and multiples, where a quotient is rounded up if it can be.
    macro_rules! some {
        ($t:ty) => {{
            let mut values: Vec<$t> = vec![0, <$t>::MIN, <$t>::MAX, <$t>::MIN + 1, <$t>::MAX - 1];
            let mut state = 88_172_645_463_325_252u64;
            for bit in 0..<$t>::BITS {
                let power = (1 as $t) << bit;
                for near in [power, power.wrapping_sub(1), power.wrapping_add(1)] {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let random = (state >> 7) as $t;
                    let part = random >> (random as u32 % <$t>::BITS);
                    let multiple = near.wrapping_mul(random | 1);
                    let more = [near, random, part, multiple, multiple.wrapping_sub(1)];
                    values.extend(more.iter().flat_map(|v| [*v, v.wrapping_neg()]));
                }
            }
            values
        }};
    }

    #[test]
    fn vectors_divide_as_the_processor_does() {
        all!(i8, (i8::MIN..=i8::MAX).collect());
        all!(u8, (u8::MIN..=u8::MAX).collect());
        all!(i16, some!(i16));
        all!(u16, some!(u16));
        all!(i32, some!(i32));
        all!(u32, some!(u32));
        all!(i64, some!(i64));
        all!(u64, some!(u64));
    }
}
