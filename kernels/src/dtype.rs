//! Element types, named and promoted as NumPy does.

use std::fmt;

/// The type of one tensor element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// One byte, 0 or 1.
    Bool,
    /// 8-bit signed.
    I8,
    /// 16-bit signed.
    I16,
    /// 32-bit signed.
    I32,
    /// 64-bit signed.
    I64,
    /// 8-bit unsigned.
    U8,
    /// 16-bit unsigned.
    U16,
    /// 32-bit unsigned.
    U32,
    /// 64-bit unsigned.
    U64,
    /// IEEE binary16; stored so, computed in f32.
    F16,
    /// bfloat16; stored so, computed in f32.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A complex number of two binary32, its real part first.
    C64,
    /// A complex number of two binary64, its real part first.
    C128,
}

/// The size of one stored element. An enum, so that no code takes one size for another by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    Bits8,
    /// Two bytes.
    Bits16,
    /// Four bytes.
    Bits32,
    /// Eight bytes.
    Bits64,
    /// Sixteen bytes.
    Bits128,
}

use DType::*;

impl DType {
    /// All types, in the order of their on-disk codes.
    pub const ALL: [DType; 15] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128];

    /// The types that kernels compute with: all but the complex ones, which are pairs of reals there.
    pub const REAL: [DType; 13] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64];

    /// The stable code used in files: the position in [`DType::ALL`].
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The inverse of [`DType::code`].
    pub fn from_code(code: u8) -> Option<DType> {
        Self::ALL.get(code as usize).copied()
    }

    /// NumPy's name, e.g. `"float32"`.
    pub fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            I8 => "int8",
            I16 => "int16",
            I32 => "int32",
            I64 => "int64",
            U8 => "uint8",
            U16 => "uint16",
            U32 => "uint32",
            U64 => "uint64",
            F16 => "float16",
            BF16 => "bfloat16",
            F32 => "float32",
            F64 => "float64",
            C64 => "complex64",
            C128 => "complex128",
        }
    }

    /// Parses NumPy's name, or the short one (`f32`, `i64`, ...).
    pub fn parse(name: &str) -> Option<DType> {
        Self::ALL.into_iter().find(|d| d.name() == name || d.short() == name)
    }

    /// The short name used in generated code, e.g. `"f32"`.
    pub fn short(self) -> &'static str {
        match self {
            Bool => "bool",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            F16 => "f16",
            BF16 => "bf16",
            F32 => "f32",
            F64 => "f64",
            C64 => "c64",
            C128 => "c128",
        }
    }

    /// Bytes of one stored element.
    pub fn size(self) -> usize {
        match self.width() {
            Width::Bits8 => 1,
            Width::Bits16 => 2,
            Width::Bits32 => 4,
            Width::Bits64 => 8,
            Width::Bits128 => 16,
        }
    }

    /// The size of one stored element.
    pub fn width(self) -> Width {
        match self {
            Bool | I8 | U8 => Width::Bits8,
            I16 | U16 | F16 | BF16 => Width::Bits16,
            I32 | U32 | F32 => Width::Bits32,
            I64 | U64 | F64 | C64 => Width::Bits64,
            C128 => Width::Bits128,
        }
    }

    /// c64 or c128.
    pub fn is_complex(self) -> bool {
        matches!(self, C64 | C128)
    }

    /// The type of the real and of the imaginary part of a complex type; itself for all others.
    pub fn real(self) -> DType {
        match self {
            C64 => F32,
            C128 => F64,
            real => real,
        }
    }

    /// The complex type to which NumPy promotes this type.
    pub fn complex(self) -> DType {
        self.promote(C64)
    }

    /// f16, bf16, f32 or f64.
    pub fn is_float(self) -> bool {
        matches!(self, F16 | BF16 | F32 | F64)
    }

    /// f16 or bf16: stored in two bytes, computed in f32.
    pub fn is_half(self) -> bool {
        matches!(self, F16 | BF16)
    }

    /// Any integer type; bool is not one.
    pub fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// i8 to i64.
    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// u8 to u64.
    pub fn is_unsigned(self) -> bool {
        matches!(self, U8 | U16 | U32 | U64)
    }

    /// The dtype in which values of this dtype are computed: f32 for the halves, itself otherwise.
    pub fn register(self) -> DType {
        if self.is_half() { F32 } else { self }
    }

    /// NumPy's `promote_types`. In its lattice bfloat16 is placed as float16 is; the two promote to float32.
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        if self.is_complex() || other.is_complex() {
            return if F32.promote(self.real()).promote(other.real()) == F32 { C64 } else { C128 };
        }
        let (a, b) = if self.is_float() { (self, other) } else { (other, self) };
        if a.is_float() && b.is_float() {
            return if a.is_half() && b.is_half() { F32 } else { a.max(b) };
        }
        if a.is_float() {
            return match b {
                Bool | I8 | U8 => a,
                I16 | U16 => a.max(F32),
                _ => F64,
            };
        }
        if a == Bool || b == Bool {
            return if a == Bool { b } else { a };
        }
        if a.is_signed() == b.is_signed() {
            return a.max(b);
        }
        let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
        if signed.size() > unsigned.size() {
            return signed;
        }
        match unsigned {
            U8 => I16,
            U16 => I32,
            U32 => I64,
            _ => F64,
        }
    }

    /// The float type in which NumPy's float-only functions (`exp`, `sqrt`) compute this type; complex types
    /// compute as they are.
    pub fn to_float(self) -> DType {
        match self {
            Bool | I8 | U8 => F16,
            I16 | U16 => F32,
            I32 | U32 | I64 | U64 => F64,
            float => float,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion_is_numpys() {
        for (a, b, want) in [
            (I8, U8, I16),
            (I64, U64, F64),
            (I32, F32, F64),
            (F16, I16, F32),
            (Bool, I8, I8),
            (F16, BF16, F32),
            (I8, BF16, BF16),
            (U32, I32, I64),
            (F32, F64, F64),
        ] {
            assert_eq!(a.promote(b), want, "{a} {b}");
            assert_eq!(b.promote(a), want, "{b} {a}");
        }
    }

    #[test]
    fn codes_and_names_round_trip() {
        for d in DType::ALL {
            assert_eq!(DType::from_code(d.code()), Some(d));
            assert_eq!(DType::parse(d.name()), Some(d));
            assert_eq!(DType::parse(d.short()), Some(d));
        }
    }
}
