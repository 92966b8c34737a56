//! Host loops of the primitives: one function per op and register dtype, over tiles of lanes.
//!
//! A tile is a slice of bytes: whole lanes of the register dtype (bool as `u8` 0 or 1, the halves as `f32`),
//! aligned for one lane only, so that any contiguous part of an array is a tile. With the macros, a row gives
//! one expression for all floats and one for all integers.

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, cast_slice_mut};

/// Reads the tiles of the arguments and writes the first `n` lanes of the result.
pub type TileFn = fn(args: &[&[u8]], out: &mut [u8], n: usize);

/// A tile, or words that hold one, viewed as lanes of `T`. It must be aligned for `T` and as long as whole
/// lanes.
pub fn lanes<T: AnyBitPattern>(tile: &[impl NoUninit]) -> &[T] {
    cast_slice(tile)
}

/// A tile, or words that hold one, viewed as writable lanes of `T`, as [`lanes`].
pub fn lanes_mut<T: AnyBitPattern + NoUninit>(tile: &mut [impl AnyBitPattern + NoUninit]) -> &mut [T] {
    cast_slice_mut(tile)
}

/// The loops of an op in one dtype.
#[derive(Clone, Copy)]
pub struct HostLoops {
    /// The fastest loop: uses the processor's vector instructions and the functions of
    /// [`Vector`](crate::ops::vector::Vector).
    pub fast: TileFn,
    /// The reference: uses the functions of `std`, which define the op.
    pub plain: TileFn,
}

/// A loop with its tiles.
pub(super) struct TileLoop<'a, B> {
    pub(super) args: &'a [&'a [u8]],
    pub(super) out: &'a mut [u8],
    pub(super) n: usize,
    pub(super) body: std::marker::PhantomData<B>,
}

/// The body of a loop: written once, compiled for each level of the processor.
pub(super) trait LoopBody {
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize);
}

impl<B: LoopBody> crate::level::SimdLoop for TileLoop<'_, B> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        B::run::<FMA>(self.args, self.out, self.n);
    }
}

/// Both loops of a body.
pub(super) fn tiles<B: LoopBody>() -> HostLoops {
    HostLoops {
        fast: |args, out, n| {
            crate::level::run(TileLoop::<B> { args, out, n, body: std::marker::PhantomData })
        },
        plain: |args, out, n| B::run::<false>(args, out, n),
    }
}

/// One loop: lanes of `$t` to lanes of `$r`. `$fast`, if given, replaces `$e` if `FMA` is true.
macro_rules! tile {
    ($t:ty => $r:ty; |$($a:ident),+| $e:expr) => { tile!($t => $r; |$($a),+| $e; $e) };
    ($t:ty => $r:ty; |$($a:ident),+| $e:expr; $fast:expr) => {{
        struct Each;
        impl $crate::ops::host_loops::LoopBody for Each {
            #[inline(always)]
            fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
                let out = &mut lanes_mut::<$r>(out)[..n];
                tile!(@views args, n, $t, 0; $($a)+);
                for i in 0..n {
                    $(let $a: $t = $a[i];)+
                    out[i] = if FMA { $fast } else { $e };
                }
            }
        }
        $crate::ops::host_loops::tiles::<Each>()
    }};
    (@views $args:ident, $n:ident, $t:ty, $at:expr; $a:ident $($rest:ident)*) => {
        let $a = &lanes::<$t>($args[$at])[..$n];
        tile!(@views $args, $n, $t, $at + 1; $($rest)*);
    };
    (@views $args:ident, $n:ident, $t:ty, $at:expr;) => {};
}

/// `floats!(|a| a.sqrt())`: loops for f32 and f64. `floats!(|a| a.exp(); Vector::exp(a))`: with a function of
/// [`Vector`](crate::ops::vector::Vector) for the fast loop.
macro_rules! floats {
    (|$($a:ident),+| $e:expr $(; $fast:expr)?) => {
        |dtype| match dtype {
            DType::F32 => Some(tile!(f32 => f32; |$($a),+| $e $(; $fast)?)),
            DType::F64 => Some(tile!(f64 => f64; |$($a),+| $e $(; $fast)?)),
            _ => None,
        }
    };
}

/// `waves!(|a| a.sin(); Vector::sin(a))`: as `floats`, but arguments beyond the fast function's range are
/// recomputed with the first expression.
macro_rules! waves {
    (|$a:ident| $e:expr; $fast:expr) => {
        |dtype| match dtype {
            DType::F32 => Some(waves!(@of f32; |$a| $e; $fast)),
            DType::F64 => Some(waves!(@of f64; |$a| $e; $fast)),
            _ => None,
        }
    };
    (@of $t:ty; |$a:ident| $e:expr; $fast:expr) => {{
        struct Each;
        impl $crate::ops::host_loops::LoopBody for Each {
            #[inline(always)]
            fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
                let (all, out) = (&lanes::<$t>(args[0])[..n], &mut lanes_mut::<$t>(out)[..n]);
                let mut near = FMA;
                for i in 0..n {
                    let $a: $t = all[i];
                    out[i] = if FMA { $fast } else { $e };
                    near &= $a.abs() <= <$t as Vector>::FAR;
                }
                if FMA && !near {
                    for i in (0..n).filter(|i| all[*i].abs() > <$t as Vector>::FAR) {
                        let $a: $t = all[i];
                        out[i] = $e;
                    }
                }
            }
        }
        $crate::ops::host_loops::tiles::<Each>()
    }};
}

/// Lanes that `usually!` recomputes together.
pub(super) const BLOCK: usize = 128;

/// `usually!(|a| plain; all; quick)`: as `floats`, with a function of [`Vector`](crate::ops::vector::Vector)
/// for all arguments, and a quicker one that also returns whether its result is valid. If it is invalid for
/// any lane of a block, the block is recomputed by the function for all arguments. Valid results of both are
/// bitwise equal, so that no lane depends on its neighbours.
macro_rules! usually {
    (|$($a:ident),+| $e:expr; $all:expr; $quick:expr) => {
        |dtype| match dtype {
            DType::F32 => Some(usually!(@of f32; |$($a),+| $e; $all; $quick)),
            DType::F64 => Some(usually!(@of f64; |$($a),+| $e; $all; $quick)),
            _ => None,
        }
    };
    (@of $t:ty; |$($a:ident),+| $e:expr; $all:expr; $quick:expr) => {{
        struct Each;
        impl $crate::ops::host_loops::LoopBody for Each {
            #[inline(always)]
            fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
                let all = &mut lanes_mut::<$t>(out)[..n];
                for from in (0..n).step_by($crate::ops::host_loops::BLOCK) {
                    let n = $crate::ops::host_loops::BLOCK.min(n - from);
                    let out = &mut all[from..from + n];
                    usually!(@views args, from, n, $t, 0; $($a)+);
                    let mut holds = FMA;
                    if FMA {
                        for i in 0..n {
                            $(let $a: $t = $a[i];)+
                            let (value, held) = $quick;
                            out[i] = value;
                            holds &= held;
                        }
                    }
                    if !holds {
                        for i in 0..n {
                            $(let $a: $t = $a[i];)+
                            out[i] = if FMA { $all } else { $e };
                        }
                    }
                }
            }
        }
        $crate::ops::host_loops::tiles::<Each>()
    }};
    (@views $args:ident, $from:ident, $n:ident, $t:ty, $at:expr; $a:ident $($rest:ident)*) => {
        let $a = &lanes::<$t>($args[$at])[$from..$from + $n];
        usually!(@views $args, $from, $n, $t, $at + 1; $($rest)*);
    };
    (@views $args:ident, $from:ident, $n:ident, $t:ty, $at:expr;) => {};
}

/// `numbers!(float |a, b| a + b; int |a, b| a.wrapping_add(b); bool |a, b| a | b)`: loops for every register
/// dtype; the bool clause is optional, for ops that refuse bool. An expression after `=>` replaces the one
/// before it if `FMA` is true.
macro_rules! numbers {
    (float |$($f:ident),+| $fe:expr $(=> $fast:expr)?; int |$($i:ident),+| $ie:expr $(=> $quick:expr)? $(; bool |$($b:ident),+| $be:expr)?) => {
        |dtype| match dtype {
            DType::F32 => Some(tile!(f32 => f32; |$($f),+| $fe $(; $fast)?)),
            DType::F64 => Some(tile!(f64 => f64; |$($f),+| $fe $(; $fast)?)),
            DType::I8 => Some(tile!(i8 => i8; |$($i),+| $ie $(; $quick)?)),
            DType::I16 => Some(tile!(i16 => i16; |$($i),+| $ie $(; $quick)?)),
            DType::I32 => Some(tile!(i32 => i32; |$($i),+| $ie $(; $quick)?)),
            DType::I64 => Some(tile!(i64 => i64; |$($i),+| $ie $(; $quick)?)),
            DType::U8 => Some(tile!(u8 => u8; |$($i),+| $ie $(; $quick)?)),
            DType::U16 => Some(tile!(u16 => u16; |$($i),+| $ie $(; $quick)?)),
            DType::U32 => Some(tile!(u32 => u32; |$($i),+| $ie $(; $quick)?)),
            DType::U64 => Some(tile!(u64 => u64; |$($i),+| $ie $(; $quick)?)),
            $(DType::Bool => Some(tile!(u8 => u8; |$($b),+| $be)),)?
            _ => None,
        }
    };
}

/// `compare!(|a, b| a < b)`: loops from every register dtype to bool.
macro_rules! compare {
    (|$($a:ident),+| $e:expr) => {
        |dtype| match dtype {
            DType::F32 => Some(tile!(f32 => u8; |$($a),+| u8::from($e))),
            DType::F64 => Some(tile!(f64 => u8; |$($a),+| u8::from($e))),
            DType::I8 => Some(tile!(i8 => u8; |$($a),+| u8::from($e))),
            DType::I16 => Some(tile!(i16 => u8; |$($a),+| u8::from($e))),
            DType::I32 => Some(tile!(i32 => u8; |$($a),+| u8::from($e))),
            DType::I64 => Some(tile!(i64 => u8; |$($a),+| u8::from($e))),
            DType::Bool | DType::U8 => Some(tile!(u8 => u8; |$($a),+| u8::from($e))),
            DType::U16 => Some(tile!(u16 => u8; |$($a),+| u8::from($e))),
            DType::U32 => Some(tile!(u32 => u8; |$($a),+| u8::from($e))),
            DType::U64 => Some(tile!(u64 => u8; |$($a),+| u8::from($e))),
            _ => None,
        }
    };
}

/// `tests!(float |a| a.is_nan(); int |a| false)`: as `compare`, with another clause for integers and bool.
macro_rules! tests {
    (float |$a:ident| $fe:expr; int |$i:ident| $ie:expr) => {
        |dtype| match dtype {
            DType::F32 => Some(tile!(f32 => u8; |$a| u8::from($fe))),
            DType::F64 => Some(tile!(f64 => u8; |$a| u8::from($fe))),
            DType::I8 => Some(tile!(i8 => u8; |$i| u8::from($ie))),
            DType::I16 => Some(tile!(i16 => u8; |$i| u8::from($ie))),
            DType::I32 => Some(tile!(i32 => u8; |$i| u8::from($ie))),
            DType::I64 => Some(tile!(i64 => u8; |$i| u8::from($ie))),
            DType::Bool | DType::U8 => Some(tile!(u8 => u8; |$i| u8::from($ie))),
            DType::U16 => Some(tile!(u16 => u8; |$i| u8::from($ie))),
            DType::U32 => Some(tile!(u32 => u8; |$i| u8::from($ie))),
            DType::U64 => Some(tile!(u64 => u8; |$i| u8::from($ie))),
            _ => None,
        }
    };
}

/// `bools!(|a, b| a & b)`: a loop over bool lanes, each 0 or 1.
macro_rules! bools {
    (|$($a:ident),+| $e:expr) => {
        |dtype| match dtype {
            DType::Bool => Some(tile!(u8 => u8; |$($a),+| $e)),
            _ => None,
        }
    };
}

/// `integers!(int |a, b| a & b; bool |a, b| a & b)`: loops for every integer dtype; the bool clause is
/// optional.
macro_rules! integers {
    (int |$($i:ident),+| $ie:expr $(; bool |$($b:ident),+| $be:expr)?) => {
        |dtype| match dtype {
            DType::I8 => Some(tile!(i8 => i8; |$($i),+| $ie)),
            DType::I16 => Some(tile!(i16 => i16; |$($i),+| $ie)),
            DType::I32 => Some(tile!(i32 => i32; |$($i),+| $ie)),
            DType::I64 => Some(tile!(i64 => i64; |$($i),+| $ie)),
            DType::U8 => Some(tile!(u8 => u8; |$($i),+| $ie)),
            DType::U16 => Some(tile!(u16 => u16; |$($i),+| $ie)),
            DType::U32 => Some(tile!(u32 => u32; |$($i),+| $ie)),
            DType::U64 => Some(tile!(u64 => u64; |$($i),+| $ie)),
            $(DType::Bool => Some(tile!(u8 => u8; |$($b),+| $be)),)?
            _ => None,
        }
    };
}

/// `written!(f)`: an op of one argument that a formula over [`Real`](crate::ops::real::Real) defines.
macro_rules! written {
    ($f:path) => {
        primitive(
            |dtype| match dtype {
                DType::F32 => Some(tile!(f32 => f32; |a| $f($crate::ops::real::ReferenceF64(a.into())).0 as f32;
                    $f($crate::ops::real::Fast(a)).0)),
                DType::F64 => Some(tile!(f64 => f64; |a| $f($crate::ops::real::ReferenceF64(a)).0; $f($crate::ops::real::Fast(a)).0)),
                _ => None,
            },
            CForm::Written(compose!(|a| $f(a))),
        )
    };
}

/// `written_waves!(f)`: as `written`, but arguments beyond the range of the fast sine are recomputed.
macro_rules! written_waves {
    ($f:path) => {
        primitive(
            waves!(|a| $f($crate::ops::real::ReferenceF64(a.into())).0 as _; $f($crate::ops::real::Fast(a)).0),
            CForm::Written(compose!(|a| $f(a))),
        )
    };
}

/// `hosted!(|a, b| f)`: an op that a function of f64 defines, for the host only.
macro_rules! hosted {
    (|$($a:ident),+| $f:path) => {
        primitive(
            |dtype| match dtype {
                DType::F32 => Some(tile!(f32 => f32; |$($a),+| $f($($a.into()),+) as f32)),
                DType::F64 => Some(tile!(f64 => f64; |$($a),+| $f($($a),+))),
                _ => None,
            },
            CForm::HostOnly,
        )
    };
}

/// Lanes of one width, with a selection of one of two.
pub(super) trait LaneSelect: AnyBitPattern + NoUninit {
    /// `yes` if `condition` is not 0. It uses bit operations: LLVM turns a branch between two loads into a
    /// load from a selected address, which is a gather, lane by lane.
    fn choose(condition: u8, yes: Self, no: Self) -> Self;
}

macro_rules! choices {
    ($($t:ty),*) => { $(impl LaneSelect for $t {
        #[inline(always)]
        fn choose(condition: u8, yes: $t, no: $t) -> $t {
            let all = <$t>::from(condition != 0).wrapping_neg();
            (yes & all) | (no & !all)
        }
    })* };
}
choices!(u8, u16, u32, u64);

/// The loop of `where`: a bool lane chooses between lanes as wide as `T`.
pub(super) struct WhereLoop<T>(std::marker::PhantomData<T>);

impl<T: LaneSelect> LoopBody for WhereLoop<T> {
    #[inline(always)]
    fn run<const FMA: bool>(args: &[&[u8]], out: &mut [u8], n: usize) {
        let (condition, yes, no) =
            (&lanes::<u8>(args[0])[..n], &lanes::<T>(args[1])[..n], &lanes::<T>(args[2])[..n]);
        for (i, out) in lanes_mut::<T>(out)[..n].iter_mut().enumerate() {
            *out = T::choose(condition[i], yes[i], no[i]);
        }
    }
}

pub(super) use {
    bools, compare, floats, hosted, integers, numbers, tests, tile, usually, waves, written, written_waves,
};
