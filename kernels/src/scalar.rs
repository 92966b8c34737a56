//! One typed constant.

use crate::dtype::DType;
use half::{bf16, f16};
use std::fmt;

/// A constant of any dtype. Two scalars are equal when dtype and bits are (so `-0.0 != 0.0`, and a NaN equals
/// itself), as merging and hashing require.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scalar {
    dtype: DType,
    bits: u128,
}

macro_rules! from_numbers {
    ($($t:ty => $dtype:ident as $bits:expr),* $(,)?) => { $(impl From<$t> for Scalar {
        fn from(number: $t) -> Scalar {
            let bits: fn($t) -> u64 = $bits;
            Scalar::of_bits(DType::$dtype, bits(number))
        }
    })* };
}
from_numbers!(
    bool => Bool as |x| u64::from(x),
    i8 => I8 as |x| u64::from(x.cast_unsigned()),
    i16 => I16 as |x| u64::from(x.cast_unsigned()),
    i32 => I32 as |x| u64::from(x.cast_unsigned()),
    i64 => I64 as i64::cast_unsigned,
    u8 => U8 as u64::from,
    u16 => U16 as u64::from,
    u32 => U32 as u64::from,
    u64 => U64 as |x| x,
    f16 => F16 as |x| u64::from(x.to_bits()),
    bf16 => BF16 as |x| u64::from(x.to_bits()),
    f32 => F32 as |x| u64::from(x.to_bits()),
    f64 => F64 as f64::to_bits,
);

impl Scalar {
    fn of_bits(dtype: DType, bits: u64) -> Scalar {
        Scalar { dtype, bits: bits.into() }
    }

    /// A complex number of this complex type, each part rounded to it.
    pub fn from_parts(dtype: DType, [re, im]: [f64; 2]) -> Scalar {
        let [re, im] = [re, im].map(|part| Scalar::from_f64(dtype.real(), part).bits);
        Scalar { dtype, bits: re | im << (8 * dtype.real().size()) }
    }

    /// The real and the imaginary part; the latter is 0 if the type is not complex.
    pub fn parts(self) -> [f64; 2] {
        match self.dtype {
            DType::C64 => [self.bits, self.bits >> 32].map(|part| f64::from(f32::from_bits(part as u32))),
            DType::C128 => [self.bits, self.bits >> 64].map(|part| f64::from_bits(part as u64)),
            _ => [self.to_f64(), 0.0],
        }
    }

    /// The value converted as C would: floats truncate toward zero into integers, out of range saturates.
    pub fn from_f64(dtype: DType, value: f64) -> Scalar {
        let bits = match dtype {
            DType::Bool => u64::from(value != 0.0),
            DType::I8 => value as i8 as u8 as u64,
            DType::I16 => value as i16 as u16 as u64,
            DType::I32 => value as i32 as u32 as u64,
            DType::I64 => value as i64 as u64,
            DType::U8 => value as u8 as u64,
            DType::U16 => value as u16 as u64,
            DType::U32 => value as u32 as u64,
            DType::U64 => value as u64,
            DType::F16 => f16::from_f32(round_to_odd(value)).to_bits() as u64,
            DType::BF16 => bf16::from_f32(round_to_odd(value)).to_bits() as u64,
            DType::F32 => (value as f32).to_bits() as u64,
            DType::F64 => value.to_bits(),
            DType::C64 | DType::C128 => return Scalar::from_parts(dtype, [value, 0.0]),
        };
        Scalar::of_bits(dtype, bits)
    }

    /// The value wrapped into an integer type, or rounded into a float type.
    pub fn from_i128(dtype: DType, value: i128) -> Scalar {
        match dtype {
            // Directly from the integer, so that it is rounded once.
            DType::F32 => return Scalar::of_bits(dtype, (value as f32).to_bits() as u64),
            DType::F64 => return Scalar::from_f64(dtype, value as f64),
            DType::C64 | DType::C128 => {
                let re = Scalar::from_i128(dtype.real(), value);
                return Scalar { dtype, bits: re.bits };
            }
            // Integers of up to 53 bits are exact in f64, and larger ones overflow an f16. For a bf16,
            // rounding to odd makes the second rounding correct.
            DType::F16 | DType::BF16 => return Scalar::from_f64(dtype, int_to_odd(value)),
            _ => {}
        }
        let mask = if dtype.size() == 8 { u64::MAX } else { (1 << (8 * dtype.size())) - 1 };
        let bits = if dtype == DType::Bool { u64::from(value != 0) } else { value as u64 & mask };
        Scalar::of_bits(dtype, bits)
    }

    /// Reads the little-endian bytes of one stored element; `None` unless there are exactly `dtype.size()`.
    pub fn from_le_bytes(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
        if bytes.len() != dtype.size() {
            return None;
        }
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        Some(Scalar { dtype, bits: u128::from_le_bytes(wide) })
    }

    /// The first `dtype.size()` of the result are the little-endian bytes of the stored element.
    pub fn to_le_bytes(self) -> [u8; 16] {
        self.bits.to_le_bytes()
    }

    /// The element type.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The stored bits, zero-extended; of a complex128 those of its real part.
    pub fn bits(self) -> u64 {
        self.bits as u64
    }

    /// The value as a float; 64-bit integers round. Of a complex number its real part.
    pub fn to_f64(self) -> f64 {
        match self.dtype {
            DType::F16 => f16::from_bits(self.bits as u16).to_f64(),
            DType::BF16 => bf16::from_bits(self.bits as u16).to_f64(),
            DType::F32 => f32::from_bits(self.bits as u32) as f64,
            DType::F64 => f64::from_bits(self.bits as u64),
            DType::C64 | DType::C128 => self.parts()[0],
            _ => self.to_i128() as f64,
        }
    }

    /// The value as an integer; floats truncate toward zero and saturate.
    pub fn to_i128(self) -> i128 {
        match self.dtype {
            DType::I8 => self.bits as u8 as i8 as i128,
            DType::I16 => self.bits as u16 as i16 as i128,
            DType::I32 => self.bits as u32 as i32 as i128,
            DType::I64 => self.bits as i64 as i128,
            dtype if dtype.is_float() || dtype.is_complex() => self.to_f64() as i128,
            _ => self.bits as i128,
        }
    }

    /// The same number in another dtype: integers wrap into integers, other conversions round once. Complex
    /// numbers lose their imaginary part, except into bool, which is whether either part is not 0.
    pub fn cast(self, dtype: DType) -> Scalar {
        if dtype == self.dtype {
            self
        } else if self.dtype.is_complex() && dtype.is_complex() {
            Scalar::from_parts(dtype, self.parts())
        } else if self.dtype.is_complex() && dtype == DType::Bool {
            Scalar::from(self.parts().iter().any(|&part| part != 0.0))
        } else if self.dtype.is_complex() || self.dtype.is_float() {
            Scalar::from_f64(dtype, self.to_f64())
        } else {
            Scalar::from_i128(dtype, self.to_i128())
        }
    }
}

/// `value` as f32, an inexact result made odd in its last bit: rounding that to fewer digits then rounds
/// `value` once (Boldo and Melquiond, "Emulation of a FMA and correctly-rounded sums: proved algorithms using
/// rounding to odd", 2008).
fn round_to_odd(value: f64) -> f32 {
    let near = value as f32;
    if near.is_nan() || near as f64 == value {
        return near;
    }
    // An infinity that is due to rounding becomes the largest finite number, which is odd.
    let toward_zero = if (near as f64).abs() > value.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

/// Likewise from an integer to f64.
fn int_to_odd(value: i128) -> f64 {
    let near = value as f64;
    if near as i128 == value {
        return near;
    }
    let beyond = (near as i128).unsigned_abs() > value.unsigned_abs();
    let toward_zero = if beyond { near.to_bits() - 1 } else { near.to_bits() };
    f64::from_bits(toward_zero | 1)
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::Bool => write!(f, "{}", self.bits != 0),
            d if d.is_float() => write!(f, "{:?}", self.to_f64()),
            d if d.is_complex() => {
                let [re, im] = self.parts();
                write!(f, "{re:?}{im:+?}i")
            }
            _ => write!(f, "{}", self.to_i128()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_numbers_are_their_bytes() {
        for dtype in [DType::C64, DType::C128] {
            let number = Scalar::from_parts(dtype, [1.5, -0.25]);
            let bytes = &number.to_le_bytes()[..dtype.size()];
            assert_eq!(Scalar::from_le_bytes(dtype, bytes), Some(number));
            assert_eq!((number.parts(), number.to_string().as_str()), ([1.5, -0.25], "1.5-0.25i"));
            assert_eq!(number.cast(dtype.real()).to_f64(), 1.5);
            assert_eq!(Scalar::from(3i64).cast(dtype).parts(), [3.0, 0.0]);
            assert_eq!(Scalar::from_parts(dtype, [0.0, 1.0]).cast(DType::Bool), Scalar::from(true));
            assert_eq!(number.cast(DType::C128).cast(dtype), number);
        }
    }

    #[test]
    fn halves_round_once() {
        // Above the tie between two bf16 neighbours by less than an f32 can represent.
        let tie = 1.0 + 2f64.powi(-8);
        let above = tie + 2f64.powi(-40);
        assert_eq!(Scalar::from_f64(DType::BF16, tie).to_f64(), 1.0);
        assert_eq!(Scalar::from_f64(DType::BF16, above).to_f64(), 1.0 + 2f64.powi(-7));
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(Scalar::from_f64(DType::F16, tie).to_f64(), 1.0);
        assert_eq!(Scalar::from_f64(DType::F16, tie + 2f64.powi(-40)).to_f64(), 1.0 + 2f64.powi(-10));
        assert_eq!(Scalar::from_f64(DType::F16, 1e300).to_f64(), f64::INFINITY);
        assert_eq!(Scalar::from_f64(DType::BF16, -1e-300).to_f64(), 0.0);
        assert_eq!(
            Scalar::from_i128(DType::BF16, (1 << 60) + (1 << 52) + 1).to_f64(),
            2f64.powi(60) + 2f64.powi(53)
        );
        assert_eq!(
            Scalar::from_i128(DType::F32, (1 << 60) + (1 << 36) + 1).to_f64(),
            2f64.powi(60) + 2f64.powi(37)
        );
    }
}
