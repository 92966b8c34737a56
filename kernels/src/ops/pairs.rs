//! Several ops in one loop, so that what the first gives never leaves the processor's registers: two of floats, each of which rounds as
//! it does alone (the sum, difference, product and quotient of the table, which are the processor's own), and logical ones of numbers.

use super::host::{Body, TileFn, Tiles, lanes, lanes_mut, tile, tiles};
use super::{ADD, AND, DIV, MUL, NOT, OR, SUB, ScalarOp, XOR};
use crate::dtype::DType;
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Sub};

/// The loop of `second(first(a, b), c)`, or where `swapped`, of `second(c, first(a, b))`, over tiles of a, b and c; `None` if there is none.
pub fn pair(first: ScalarOp, second: ScalarOp, swapped: bool, dtype: DType) -> Option<TileFn> {
    match dtype {
        DType::F32 => of::<f32>(first, second, swapped),
        DType::F64 => of::<f64>(first, second, swapped),
        _ => None,
    }
}

/// A loop for each register dtype of numbers, over whether they are not 0.
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

/// The loop of a logical op over numbers of a register dtype, each taken for whether it is not 0; `None` if there is none.
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

trait Float: AnyBitPattern + NoUninit + Number {}
impl<T: AnyBitPattern + NoUninit + Number> Float for T {}

trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

trait Two {
    fn of<T: Number>(a: T, b: T) -> T;
}

macro_rules! twos {
    ($($name:ident: $sign:tt),+) => { $(
        struct $name;
        impl Two for $name {
            #[inline(always)]
            fn of<T: Number>(a: T, b: T) -> T {
                a $sign b
            }
        }
    )+ };
}
twos!(Sum: +, Difference: -, Product: *, Quotient: /);

struct Pair<T, F, S, const SWAPPED: bool>(PhantomData<(T, F, S)>);

impl<T: Float, F: Two, S: Two, const SWAPPED: bool> Body for Pair<T, F, S, SWAPPED> {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        let (a, b, c) = (&lanes::<T>(args[0])[..n], &lanes::<T>(args[1])[..n], &lanes::<T>(args[2])[..n]);
        let out = &mut lanes_mut::<T>(out)[..n];
        for i in 0..n {
            let first = F::of(a[i], b[i]);
            out[i] = if SWAPPED { S::of(c[i], first) } else { S::of(first, c[i]) };
        }
    }
}

fn of<T: Float>(first: ScalarOp, second: ScalarOp, swapped: bool) -> Option<TileFn> {
    match first {
        ADD => with::<T, Sum>(second, swapped),
        SUB => with::<T, Difference>(second, swapped),
        MUL => with::<T, Product>(second, swapped),
        DIV => with::<T, Quotient>(second, swapped),
        _ => None,
    }
}

fn with<T: Float, F: Two>(second: ScalarOp, swapped: bool) -> Option<TileFn> {
    let loops = match (second, swapped) {
        // The same either way.
        (ADD, _) => tiles::<Pair<T, F, Sum, false>>(),
        (MUL, _) => tiles::<Pair<T, F, Product, false>>(),
        (SUB, false) => tiles::<Pair<T, F, Difference, false>>(),
        (SUB, true) => tiles::<Pair<T, F, Difference, true>>(),
        (DIV, false) => tiles::<Pair<T, F, Quotient, false>>(),
        (DIV, true) => tiles::<Pair<T, F, Quotient, true>>(),
        _ => return None,
    };
    Some(loops.fast)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit for bit what the two rows give one after the other; NaN for NaN.
    #[test]
    fn a_pair_is_its_ops_one_after_the_other() {
        let values = [1.5f32, -0.0, 0.1, f32::INFINITY, f32::NAN, -3.7e-39, 2e38, -7.25, 0.3, 1.0 / 3.0];
        let tile = |shift: usize| -> Vec<u64> {
            let mut words = vec![0u64; 8];
            for (i, lane) in lanes_mut::<f32>(&mut words).iter_mut().enumerate() {
                *lane = values[(i * (shift + 1) + shift) % values.len()];
            }
            words
        };
        let (a, b, c) = (tile(0), tile(1), tile(3));
        let n = 15;
        let row = |op: ScalarOp, args: [&[u64]; 2]| {
            let mut out = vec![0u64; 8];
            let tiles = op.tiles(&op.signature(&[DType::F32, DType::F32]).unwrap()).unwrap();
            (tiles.fast)(&args.map(bytemuck::cast_slice), bytemuck::cast_slice_mut(&mut out), n);
            out
        };
        for first in [ADD, SUB, MUL, DIV] {
            for second in [ADD, SUB, MUL, DIV] {
                for swapped in [false, true] {
                    let mut out = vec![0u64; 8];
                    let both = pair(first, second, swapped, DType::F32).unwrap();
                    both(
                        &[&a, &b, &c].map(|tile| bytemuck::cast_slice(tile)),
                        bytemuck::cast_slice_mut(&mut out),
                        n,
                    );
                    let one = row(first, [&a, &b]);
                    let two = row(second, if swapped { [&c, &one] } else { [&one, &c] });
                    for (x, y) in lanes::<f32>(&out).iter().zip(lanes::<f32>(&two)) {
                        assert!(
                            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
                            "{first:?} {second:?}"
                        );
                    }
                }
            }
        }
        assert!(pair(ADD, super::super::MAXIMUM, false, DType::F32).is_none());
        assert!(pair(ADD, ADD, false, DType::I32).is_none());
    }
}
