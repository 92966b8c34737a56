//! Sums of integers, and counts of elements that pass a test, lane by lane down rows: those of some rows meet in numbers hardly wider
//! than the elements, and only what they come to is converted.

use super::mapped_loops::Element;
use super::strided_reduce::{GROUP, Rows};
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;
use workalike_kernels::DType;
use workalike_kernels::level::{Loop, run};
use workalike_kernels::ops::lanes_mut;

/// Adds what rows of `n` elements come to, at most [`GROUP`] of them, lane by lane, to lanes that begin with `fresh` if it is given; the
/// ends of the range that is tested for come last but one.
///
/// # Safety
/// Rows must hold `n` elements, aligned, which nobody writes meanwhile.
pub(crate) type TotalDown =
    unsafe fn(into: &mut [u64], fresh: Option<u64>, rows: Rows<'_>, ends: (u64, u64), n: usize);

/// What an element counts.
trait Counts<T> {
    /// Holds what [`GROUP`] elements count.
    type Few: Copy;
    type Ends: Copy;
    const NONE: Self::Few;
    fn ends(low: u64, high: u64) -> Self::Ends;
    fn add(few: Self::Few, x: T, ends: Self::Ends) -> Self::Few;
}

/// Itself.
struct Itself;
/// One, if it lies in the range (`INSIDE`) or outside of it.
struct One<const INSIDE: bool>;

macro_rules! itself {
    ($($t:ty, $few:ty;)*) => { $(impl Counts<$t> for Itself {
        type Few = $few;
        type Ends = ();
        const NONE: $few = 0;
        #[inline(always)]
        fn ends(_: u64, _: u64) {}
        #[inline(always)]
        fn add(few: $few, x: $t, (): ()) -> $few {
            few + <$few>::from(x)
        }
    })* };
}
itself! { i8, i16; i16, i32; i32, i64; u8, u16; u16, u32; u32, u64; }

macro_rules! one {
    ($($t:ty, $few:ty;)*) => { $(impl<const INSIDE: bool> Counts<$t> for One<INSIDE> {
        type Few = $few;
        type Ends = ($t, $t);
        const NONE: $few = 0;
        #[inline(always)]
        fn ends(low: u64, high: u64) -> ($t, $t) {
            (<$t as Element>::from_word(low), <$t as Element>::from_word(high))
        }
        #[inline(always)]
        fn add(few: $few, x: $t, (low, high): ($t, $t)) -> $few {
            few + <$few>::from(x.within(low, high) == INSIDE)
        }
    })* };
}
one! { u8, u8; u16, u16; u32, u32; u64, u64; f32, u32; f64, u64; }

/// A lane of a sum.
trait Lane<F> {
    fn plus(self, few: F) -> Self;
}

macro_rules! lanes {
    ($($few:ty),*) => { $(
        impl Lane<$few> for i64 {
            #[inline(always)]
            fn plus(self, few: $few) -> i64 { self.wrapping_add(few as i64) }
        }
        impl Lane<$few> for f64 {
            #[inline(always)]
            fn plus(self, few: $few) -> f64 { self + few as f64 }
        }
        impl Lane<$few> for f32 {
            #[inline(always)]
            fn plus(self, few: $few) -> f32 { self + few as f32 }
        }
    )* };
}
lanes!(i16, i32, i64, u8, u16, u32, u64);

struct DownLoop<'a, T, L, C> {
    into: &'a mut [L],
    fresh: Option<L>,
    rows: Rows<'a>,
    ends: (u64, u64),
    what: PhantomData<(T, C)>,
}

/// Takes several rows. Each is an argument of its own, for then the compiler knows that `into` is none of them.
macro_rules! takes {
    ($name:ident: $($row:ident)+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, L: Lane<C::Few> + Copy, C: Counts<T>>(into: &mut [L], ends: C::Ends, $($row: &[T]),+) {
            let n = into.len();
            $(let $row = &$row[..n];)+
            for i in 0..n {
                let mut few = C::NONE;
                $(few = C::add(few, $row[i], ends);)+
                into[i] = into[i].plus(few);
            }
        }
    };
}
takes!(take_one: a);
takes!(take_eight: a b c d e f g h);

impl<T: Copy, L: Lane<C::Few> + Copy, C: Counts<T>> Loop for DownLoop<'_, T, L, C> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let DownLoop { into, fresh, rows, ends: (low, high), .. } = self;
        if let Some(fresh) = fresh {
            into.fill(fresh);
        }
        let (n, ends) = (into.len(), C::ends(low, high));
        // SAFETY: the promise of `down`'s caller.
        let row = |at: usize| unsafe { rows.row::<T>(at, n) };
        if rows.at.len() == GROUP {
            let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(row);
            return take_eight::<T, L, C>(into, ends, a, b, c, d, e, f, g, h);
        }
        (0..rows.at.len()).for_each(|at| take_one::<T, L, C>(into, ends, row(at)));
    }
}

/// # Safety
/// See [`TotalDown`].
unsafe fn down<T: Copy, L: Lane<C::Few> + AnyBitPattern + NoUninit, C: Counts<T>>(
    into: &mut [u64],
    fresh: Option<u64>,
    rows: Rows<'_>,
    ends: (u64, u64),
    n: usize,
) {
    let into = &mut lanes_mut::<L>(into)[..n];
    let fresh = fresh.map(|mut word| lanes_mut::<L>(std::slice::from_mut(&mut word))[0]);
    run(DownLoop::<T, L, C> { into, fresh, rows, ends, what: PhantomData });
}

/// Into lanes of a dtype; others go through tiles.
macro_rules! into {
    ($dtype:expr, $t:ty, $counts:ty) => {
        match $dtype {
            DType::I64 | DType::U64 => Some(down::<$t, i64, $counts> as TotalDown),
            DType::F64 => Some(down::<$t, f64, $counts> as TotalDown),
            DType::F32 => Some(down::<$t, f32, $counts> as TotalDown),
            _ => None,
        }
    };
}

/// The loop that sums integers of `stored` as numbers of `dtype`.
pub(crate) fn summed_down(stored: DType, dtype: DType) -> Option<TotalDown> {
    match stored {
        DType::I8 => into!(dtype, i8, Itself),
        DType::I16 => into!(dtype, i16, Itself),
        DType::I32 => into!(dtype, i32, Itself),
        DType::U8 => into!(dtype, u8, Itself),
        DType::U16 => into!(dtype, u16, Itself),
        DType::U32 => into!(dtype, u32, Itself),
        _ => None,
    }
}

/// The loop that counts elements of `stored` inside or outside of a range, as numbers of `dtype`.
pub(crate) fn counted_down(stored: DType, dtype: DType, inside: bool) -> Option<TotalDown> {
    macro_rules! sided {
        ($t:ty) => {
            if inside { into!(dtype, $t, One<true>) } else { into!(dtype, $t, One<false>) }
        };
    }
    match stored {
        DType::Bool | DType::I8 | DType::U8 => sided!(u8),
        DType::I16 | DType::U16 => sided!(u16),
        DType::I32 | DType::U32 => sided!(u32),
        DType::I64 | DType::U64 => sided!(u64),
        DType::F32 => sided!(f32),
        DType::F64 => sided!(f64),
        DType::F16 | DType::BF16 => None,
    }
}
