//! The operators of C on registers, as functions that are chosen by type when a text is compiled.
//!
//! A register has 64 bits: integers are extended by their sign or by zeros, a float is its bits.

use crate::dtype::DType;

/// A function of one register, of two, and of three.
pub(super) type Fn1 = fn(u64) -> u64;
pub(super) type Fn2 = fn(u64, u64) -> u64;
pub(super) type Fn3 = fn(u64, u64, u64) -> u64;

/// A number that a register holds.
pub(super) trait Register: Copy {
    fn get(bits: u64) -> Self;
    fn put(self) -> u64;
}

macro_rules! registers {
    ($($t:ty: $get:expr, $put:expr;)*) => { $(impl Register for $t {
        #[inline(always)]
        fn get(bits: u64) -> $t {
            let get: fn(u64) -> $t = $get;
            get(bits)
        }
        #[inline(always)]
        fn put(self) -> u64 {
            let put: fn($t) -> u64 = $put;
            put(self)
        }
    })* };
}
registers! {
    bool: |bits| bits != 0, u64::from;
    i8: |bits| bits as i8, |x| i64::from(x).cast_unsigned();
    i16: |bits| bits as i16, |x| i64::from(x).cast_unsigned();
    i32: |bits| bits as i32, |x| i64::from(x).cast_unsigned();
    i64: u64::cast_signed, i64::cast_unsigned;
    u8: |bits| bits as u8, u64::from;
    u16: |bits| bits as u16, u64::from;
    u32: |bits| bits as u32, u64::from;
    u64: |bits| bits, |x| x;
    f32: |bits| f32::from_bits(bits as u32), |x| u64::from(x.to_bits());
    f64: f64::from_bits, f64::to_bits;
}

/// An operator of two numbers of one type, which is promoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Less,
    LessEqual,
    Equal,
    Unequal,
}

macro_rules! compare {
    ($t:ty, $op:expr) => {
        match $op {
            Operator::Less => |a, b| u64::from(<$t>::get(a) < <$t>::get(b)),
            Operator::LessEqual => |a, b| u64::from(<$t>::get(a) <= <$t>::get(b)),
            Operator::Equal => |a, b| u64::from(<$t>::get(a) == <$t>::get(b)),
            Operator::Unequal => |a, b| u64::from(<$t>::get(a) != <$t>::get(b)),
            _ => return None,
        }
    };
}

macro_rules! integer {
    ($t:ty, $op:expr) => {{
        let function: Fn2 = match $op {
            Operator::Add => |a, b| <$t>::get(a).wrapping_add(<$t>::get(b)).put(),
            Operator::Subtract => |a, b| <$t>::get(a).wrapping_sub(<$t>::get(b)).put(),
            Operator::Multiply => |a, b| <$t>::get(a).wrapping_mul(<$t>::get(b)).put(),
            // The machine reports a divisor of 0 before it calls them.
            Operator::Divide => |a, b| match <$t>::get(b) {
                0 => 0,
                b => <$t>::get(a).wrapping_div(b).put(),
            },
            Operator::Remainder => |a, b| match <$t>::get(b) {
                0 => 0,
                b => <$t>::get(a).wrapping_rem(b).put(),
            },
            Operator::And => |a, b| (<$t>::get(a) & <$t>::get(b)).put(),
            Operator::Or => |a, b| (<$t>::get(a) | <$t>::get(b)).put(),
            Operator::Xor => |a, b| (<$t>::get(a) ^ <$t>::get(b)).put(),
            // It also reports counts that are too large.
            Operator::ShiftLeft => |a, b| <$t>::get(a).wrapping_shl(b as u32).put(),
            Operator::ShiftRight => |a, b| <$t>::get(a).wrapping_shr(b as u32).put(),
            other => compare!($t, other),
        };
        function
    }};
}

macro_rules! float {
    ($t:ty, $op:expr) => {{
        let function: Fn2 = match $op {
            Operator::Add => |a, b| (<$t>::get(a) + <$t>::get(b)).put(),
            Operator::Subtract => |a, b| (<$t>::get(a) - <$t>::get(b)).put(),
            Operator::Multiply => |a, b| (<$t>::get(a) * <$t>::get(b)).put(),
            Operator::Divide => |a, b| (<$t>::get(a) / <$t>::get(b)).put(),
            other => compare!($t, other),
        };
        function
    }};
}

/// The operator in a type; `None` if floats do not have it.
pub(super) fn binary(op: Operator, dtype: DType) -> Option<Fn2> {
    Some(match dtype {
        DType::I32 => integer!(i32, op),
        DType::U32 => integer!(u32, op),
        DType::I64 => integer!(i64, op),
        DType::U64 => integer!(u64, op),
        DType::F32 => float!(f32, op),
        DType::F64 => float!(f64, op),
        _ => return None,
    })
}

/// The negative, in a promoted type.
pub(super) fn negate(dtype: DType) -> Option<Fn1> {
    Some(match dtype {
        DType::I32 => |a| i32::get(a).wrapping_neg().put(),
        DType::U32 => |a| u32::get(a).wrapping_neg().put(),
        DType::I64 => |a| i64::get(a).wrapping_neg().put(),
        DType::U64 => |a| u64::get(a).wrapping_neg().put(),
        DType::F32 => |a| (-f32::get(a)).put(),
        DType::F64 => |a| (-f64::get(a)).put(),
        _ => return None,
    })
}

/// All bits inverted, in a promoted type of integers.
pub(super) fn invert(dtype: DType) -> Option<Fn1> {
    Some(match dtype {
        DType::I32 => |a| (!i32::get(a)).put(),
        DType::U32 => |a| (!u32::get(a)).put(),
        DType::I64 | DType::U64 => |a| !a,
        _ => return None,
    })
}

/// 1 for zero, else 0.
pub(super) fn not(dtype: DType) -> Fn1 {
    match dtype.register() {
        DType::F32 => |a| u64::from(f32::get(a) == 0.0),
        DType::F64 => |a| u64::from(f64::get(a) == 0.0),
        _ => |a| u64::from(a == 0),
    }
}

macro_rules! cast {
    ($from:ty, $to:expr) => {{
        let function: Fn1 = match $to {
            DType::I8 => |x| (<$from>::get(x) as i8).put(),
            DType::I16 => |x| (<$from>::get(x) as i16).put(),
            DType::I32 => |x| (<$from>::get(x) as i32).put(),
            DType::I64 => |x| (<$from>::get(x) as i64).put(),
            DType::U8 => |x| (<$from>::get(x) as u8).put(),
            DType::U16 => |x| (<$from>::get(x) as u16).put(),
            DType::U32 => |x| (<$from>::get(x) as u32).put(),
            DType::U64 => |x| (<$from>::get(x) as u64).put(),
            DType::F64 => |x| (<$from>::get(x) as f64).put(),
            // Halves are f32 in registers.
            _ => |x| (<$from>::get(x) as f32).put(),
        };
        function
    }};
}

/// The conversion between two types, as registers hold them; `None` if no bit changes.
pub(super) fn convert(from: DType, to: DType) -> Option<Fn1> {
    let (from, to) = (from.register(), to.register());
    if to == DType::Bool {
        let function: Fn1 = match from {
            DType::Bool => return None,
            DType::F32 => |x| u64::from(f32::get(x) != 0.0),
            DType::F64 => |x| u64::from(f64::get(x) != 0.0),
            _ => |x| u64::from(x != 0),
        };
        return Some(function);
    }
    let integers = !from.is_float() && !to.is_float();
    // Extended registers hold the wider number already.
    let wider = to.size() > from.size() && (to.is_signed() || from.is_unsigned() || from == DType::Bool);
    let same_bits = to.size() == 8 && (from.size() == 8 || from.is_signed());
    if from == to || integers && (wider || same_bits || from == DType::Bool) {
        return None;
    }
    Some(match from {
        DType::F32 => cast!(f32, to),
        DType::F64 => cast!(f64, to),
        _ if from.is_signed() => cast!(i64, to),
        _ => cast!(u64, to),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_convert_as_rust_does() {
        let cast = |from, to, bits: u64| convert(from, to).map_or(bits, |function| function(bits));
        assert_eq!(cast(DType::I8, DType::U64, (-1i8).put()), u64::MAX);
        assert_eq!(cast(DType::I8, DType::U32, (-1i8).put()), 0xffff_ffff);
        assert_eq!(cast(DType::U32, DType::I64, u32::MAX.put()), i64::from(u32::MAX).put());
        assert_eq!(cast(DType::U32, DType::I32, u32::MAX.put()), (-1i32).put());
        assert_eq!(cast(DType::U64, DType::I8, 0x1ff), (-1i8).put());
        assert_eq!(cast(DType::F32, DType::I32, (-2.9f32).put()), (-2i32).put());
        assert_eq!(cast(DType::U64, DType::F32, u64::MAX), (u64::MAX as f32).put());
        assert_eq!(cast(DType::I32, DType::F64, (-7i32).put()), (-7f64).put());
        assert_eq!(cast(DType::F64, DType::Bool, 0.5f64.put()), 1);
        for from in DType::REAL {
            assert!(convert(from, from).is_none());
        }
    }
}
