//! Logical ops of numbers in one loop, which includes the conversion to bool.

use super::host::{TileFn, Tiles, lanes, lanes_mut, tile};
use super::{AND, NOT, OR, ScalarOp, XOR};
use crate::dtype::DType;

/// A loop for each register dtype of numbers; arguments are true if they are nonzero.
macro_rules! numbers {
    ($dtype:expr; |$($a:ident),+| $e:expr) => {
        match $dtype {
            DType::I8 => numbers!(i8; $($a),+; $e),
            DType::I16 => numbers!(i16; $($a),+; $e),
            DType::I32 => numbers!(i32; $($a),+; $e),
            DType::I64 => numbers!(i64; $($a),+; $e),
            DType::U8 => numbers!(u8; $($a),+; $e),
            DType::U16 => numbers!(u16; $($a),+; $e),
            DType::U32 => numbers!(u32; $($a),+; $e),
            DType::U64 => numbers!(u64; $($a),+; $e),
            DType::F32 => numbers!(f32; $($a),+; $e),
            DType::F64 => numbers!(f64; $($a),+; $e),
            _ => return None,
        }
    };
    ($t:ty; $($a:ident),+; $e:expr) => {
        tile!($t => u8; |$($a),+| {
            $(let $a = $a != <$t>::default();)+
            u8::from($e)
        })
    };
}

/// The loop of a logical op over numbers of a register dtype, which are true if nonzero; `None` if there is
/// no such loop.
pub fn truth(op: ScalarOp, dtype: DType) -> Option<TileFn> {
    let tiles: Tiles = match op {
        AND => numbers!(dtype; |a, b| a & b),
        OR => numbers!(dtype; |a, b| a | b),
        XOR => numbers!(dtype; |a, b| a ^ b),
        NOT => numbers!(dtype; |a| !a),
        _ => return None,
    };
    Some(tiles.fast)
}
