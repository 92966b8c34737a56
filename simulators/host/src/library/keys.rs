//! Elements as unsigned integers in sort order.

use half::{bf16, f16};
use std::ops::Not;

/// The function `f::<T>` for the elements of a dtype, or `f::<T, FLAG>`; bools are bytes.
macro_rules! by_dtype {
    ($dtype:expr, $f:ident $(, $flag:literal)?) => {{
        use workalike_kernels::DType;
        match $dtype {
            DType::Bool | DType::U8 => $f::<u8 $(, $flag)?>,
            DType::U16 => $f::<u16 $(, $flag)?>,
            DType::U32 => $f::<u32 $(, $flag)?>,
            DType::U64 => $f::<u64 $(, $flag)?>,
            DType::I8 => $f::<i8 $(, $flag)?>,
            DType::I16 => $f::<i16 $(, $flag)?>,
            DType::I32 => $f::<i32 $(, $flag)?>,
            DType::I64 => $f::<i64 $(, $flag)?>,
            DType::F16 => $f::<half::f16 $(, $flag)?>,
            DType::BF16 => $f::<half::bf16 $(, $flag)?>,
            DType::F32 => $f::<f32 $(, $flag)?>,
            // Checked ops have no complex operands.
            DType::F64 | DType::C64 | DType::C128 => $f::<f64 $(, $flag)?>,
        }
    }};
}
pub(super) use by_dtype;

/// An unsigned integer that represents an element. All bit patterns are valid.
pub(super) trait SortKey: Copy + Default + Ord + Not<Output = Self> {
    /// A key with its position in the row in the low bits, as one number. Equal keys are ordered by their
    /// positions.
    type Placed: Copy + Ord;
    fn at(self, position: u32) -> Self::Placed;
    fn position(placed: Self::Placed) -> usize;
    /// The key as an index into a table of all keys; only keys of at most 16 bits have one.
    fn index(self) -> usize;
}

macro_rules! keys { ($($key:ty, $placed:ty;)*) => { $(
    impl SortKey for $key {
        type Placed = $placed;
        #[inline(always)]
        fn at(self, position: u32) -> $placed { <$placed>::from(self) << 32 | <$placed>::from(position) }
        #[inline(always)]
        fn position(placed: $placed) -> usize { placed as u32 as usize }
        #[inline(always)]
        fn index(self) -> usize { self as usize }
    }
)* }; }
keys! { u8, u64; u16, u64; u32, u64; u64, u128; }

/// An element that has a key.
pub(super) trait Sortable: Copy + 'static {
    type Key: SortKey;
    /// The key of zeros, if zeros of both signs have the same one.
    const ZERO_KEY: Option<Self::Key> = None;
    /// All NaNs have the greatest key.
    fn key(self) -> Self::Key;
    /// An element with this key.
    fn of(key: Self::Key) -> Self;
}

macro_rules! integers { ($($t:ty, $k:ty, $flip:expr;)*) => { $(
    impl Sortable for $t {
        type Key = $k;
        #[inline(always)]
        fn key(self) -> $k { self as $k ^ $flip }
        #[inline(always)]
        fn of(key: $k) -> $t { (key ^ $flip) as $t }
    }
)* }; }
integers! {
    u8, u8, 0; u16, u16, 0; u32, u32, 0; u64, u64, 0;
    i8, u8, 1 << 7; i16, u16, 1 << 15; i32, u32, 1 << 31; i64, u64, 1 << 63;
}

macro_rules! floats { ($($t:ty, $k:ty, $i:ty, $infinity:expr;)*) => { $(
    impl Sortable for $t {
        type Key = $k;
        const ZERO_KEY: Option<$k> = Some(1 << (<$k>::BITS - 1));
        /// Both zeros have the key of the positive one.
        #[inline(always)]
        fn key(self) -> $k {
            const TOP: $k = 1 << (<$k>::BITS - 1);
            let bits = self.to_bits();
            let bits = if bits == TOP { 0 } else { bits };
            let key = bits ^ ((((bits as $i) >> (<$k>::BITS - 1)) as $k) | TOP);
            if bits & !TOP > $infinity { <$k>::MAX } else { key }
        }
        #[inline(always)]
        fn of(key: $k) -> $t {
            const TOP: $k = 1 << (<$k>::BITS - 1);
            <$t>::from_bits(if key & TOP != 0 { key ^ TOP } else { !key })
        }
    }
)* }; }
floats! {
    f16, u16, i16, 0x7c00;
    bf16, u16, i16, 0x7f80;
    f32, u32, i32, 0x7f80_0000;
    f64, u64, i64, 0x7ff0_0000_0000_0000;
}

/// A key in the direction of the sort.
#[inline(always)]
pub(super) fn directed<K: SortKey>(key: K, descending: bool) -> K {
    if descending { !key } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_numbers() {
        let ordered = [f64::NEG_INFINITY, -2.5, -1e-310, 0.0, 1e-310, 1.0, f64::INFINITY, f64::NAN];
        assert!(ordered.windows(2).all(|w| w[0].key() < w[1].key()));
        assert_eq!((-0.0f32).key(), 0.0f32.key());
        assert_eq!(f32::ZERO_KEY, Some(0.0f32.key()));
        assert_eq!(bf16::ZERO_KEY, Some(bf16::ZERO.key()));
        assert_eq!((-f32::NAN).key(), f32::NAN.key());
        for x in [-3.5f32, 0.0, 7.25, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(f32::of(x.key()), x);
        }
        assert!(f32::of(f32::NAN.key()).is_nan());
        assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|x| i64::of(x.key())), [i64::MIN, -1, 0, i64::MAX]);
        assert!((-1i8).key() < 0i8.key());
    }

    #[test]
    fn equal_keys_are_in_the_order_of_their_positions() {
        assert!(7u8.at(u32::MAX) < 8u8.at(0) && 7u8.at(1) < 7u8.at(2));
        assert!(u64::MAX.at(1) < u64::MAX.at(2) && (u64::MAX - 1).at(u32::MAX) < u64::MAX.at(0));
        assert_eq!(u64::position(u64::MAX.at(5)), 5);
    }
}
