//! Loops that fold elements in memory: each of several rows to a number, or several rows to one row.
//!
//! A row is contiguous. The loops are written once, for every rule and type; only [`floats`] folds rows of
//! floats.

use super::floats;
use super::mapped_reduce::{Test, test_loops};
use super::rules::{By, DotRule, FoldRule, Max, Min, MulAdd, Product, Sum, Take};
use bytemuck::{AnyBitPattern, NoUninit};
use workalike_kernels::DType;
use workalike_kernels::level::{SimdLoop, run};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Rows in memory: `at` has the address of each one's first element, in elements from `base`.
#[derive(Clone, Copy)]
pub(crate) struct RowAddresses<'a> {
    pub(crate) base: *const u8,
    pub(crate) at: &'a [i64],
}

impl RowAddresses<'_> {
    /// # Safety
    /// The row must hold `n` elements of `T`, aligned, and nothing may write them while the slice lives.
    #[inline(always)]
    pub(crate) unsafe fn row<'m, T>(&self, row: usize, n: usize) -> &'m [T] {
        // SAFETY: the caller guarantees `n` aligned elements there, and no writes.
        unsafe { std::slice::from_raw_parts(self.base.cast::<T>().offset(self.at[row] as isize), n) }
    }
}

/// What a fold reads: rows of `n` elements, and those of `other` if it is a sum of products.
#[derive(Clone, Copy)]
pub(crate) struct FoldOperands<'a> {
    pub(crate) value: RowAddresses<'a>,
    pub(crate) other: RowAddresses<'a>,
    pub(crate) n: usize,
}

/// Folds each row into a lane of `out`.
///
/// # Safety
/// Rows must hold `n` elements, aligned, and no other thread may write them.
pub(crate) type Along = unsafe fn(out: &mut [u64], from: FoldOperands<'_>, identity: u64, test: Test);

/// Folds the first `n` lanes of `into` (of `fresh`, if it is given) with those of all rows.
///
/// # Safety
/// Same as [`Along`]; the rows of a broadcast `other` hold one element.
pub(crate) type Down = unsafe fn(into: &mut [u64], fresh: Option<u64>, from: FoldOperands<'_>, test: Test);

/// Rows that [`Down`] folds at once, if it has that many: the accumulator is read and written once for all.
pub(crate) const GROUP: usize = 8;

/// The loops of one fold.
#[derive(Clone, Copy)]
pub(crate) struct StridedLoops {
    pub(crate) along: Along,
    pub(crate) down: Down,
    /// Each row of `other` is one number.
    pub(crate) down_broadcast: Down,
    /// The argument of all three, which only folds over a test read.
    pub(crate) test: Test,
}

/// Folds several rows into one. Each is its own argument, so that the compiler knows that `into` overlaps
/// none. `BROADCAST`: each other row is one number.
macro_rules! takes {
    ($name:ident: $($value:ident $other:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, R: Take<T>, const BROADCAST: bool, const FMA: bool>(
            rule: R,
            into: &mut [R::Acc],
            $($value: &[T], $other: &[T]),+
        ) {
            let n = into.len();
            if n == 0 {
                return;
            }
            let others = if BROADCAST { 1 } else { n };
            $(let ($value, $other) = (&$value[..n], (&$other[..others], $other[0]));)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = rule.take::<FMA>(sum, $value[i], if BROADCAST { $other.1 } else { $other.0[i] });)+
                into[i] = sum;
            }
        }
    };
}
takes!(take_one: a ao);
takes!(take_eight: a ao, b bo, c co, d d_o, e eo, f fo, g go, h ho);

struct AlongLoop<'a, T: Copy, R: Take<T>> {
    out: &'a mut [R::Acc],
    from: FoldOperands<'a>,
    identity: R::Acc,
    rule: R,
}

impl<T: Copy, R: Take<T>> SimdLoop for AlongLoop<'_, T, R> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let AlongLoop { out, from, identity, rule } = self;
        for (at, out) in out.iter_mut().enumerate() {
            // SAFETY: only `along` makes these, and its caller guarantees such rows.
            let value = unsafe { from.value.row::<T>(at, from.n) };
            // SAFETY: only `along` makes these, and its caller guarantees such rows of both.
            let other = if R::TWO { unsafe { from.other.row::<T>(at, from.n) } } else { value };
            *out = rule.row::<FMA>(identity, value, other);
        }
    }
}

/// # Safety
/// See [`Along`].
unsafe fn along<T: Copy, R: Take<T>>(out: &mut [u64], from: FoldOperands<'_>, identity: u64, test: Test) {
    let out = &mut lanes_mut::<R::Acc>(out)[..from.value.at.len()];
    let identity = lanes::<R::Acc>(&[identity])[0];
    run(AlongLoop::<T, R> { out, from, identity, rule: R::new(test) });
}

struct DownLoop<'a, T: Copy, R: Take<T>, const BROADCAST: bool> {
    into: &'a mut [R::Acc],
    fresh: Option<R::Acc>,
    from: FoldOperands<'a>,
    rule: R,
}

impl<T: Copy, R: Take<T>, const BROADCAST: bool> SimdLoop for DownLoop<'_, T, R, BROADCAST> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let DownLoop { into, fresh, from, rule } = self;
        if let Some(identity) = fresh {
            into.fill(identity);
        }
        let (n, rows) = (into.len(), from.value.at.len());
        let of = |k: usize| -> (&[T], &[T]) {
            // SAFETY: only `down` makes these, and its caller guarantees such rows.
            let row = unsafe { from.value.row::<T>(k, n) };
            // SAFETY: only `down` makes these, and its caller guarantees such rows of both.
            (row, if R::TWO { unsafe { from.other.row::<T>(k, if BROADCAST { 1 } else { n }) } } else { row })
        };
        let mut done = 0;
        while rows - done >= GROUP {
            let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| of(done + k));
            take_eight::<T, R, BROADCAST, FMA>(
                rule, into, a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1, h.0, h.1,
            );
            done += GROUP;
        }
        for (value, other) in (done..rows).map(of) {
            take_one::<T, R, BROADCAST, FMA>(rule, into, value, other);
        }
    }
}

/// # Safety
/// See [`Down`].
unsafe fn down<T: Copy, R: Take<T>, const BROADCAST: bool>(
    into: &mut [u64],
    fresh: Option<u64>,
    from: FoldOperands<'_>,
    test: Test,
) {
    let into = &mut lanes_mut::<R::Acc>(into)[..from.n];
    let fresh = fresh.map(|word| lanes::<R::Acc>(&[word])[0]);
    run(DownLoop::<T, R, BROADCAST> { into, fresh, from, rule: R::new(test) });
}

/// The loops of a rule.
pub(crate) fn loops<T: Copy, R: Take<T>>(test: Test) -> StridedLoops {
    StridedLoops {
        along: along::<T, R>,
        down: down::<T, R, false>,
        // Only products have a second row.
        down_broadcast: if R::TWO { down::<T, R, true> } else { down::<T, R, false> },
        test,
    }
}

fn by_fold<T: AnyBitPattern + NoUninit + MulAdd>(fold: Fold, dot: bool) -> Option<StridedLoops>
where
    Sum: FoldRule<T>,
    Product: FoldRule<T>,
    Max: FoldRule<T>,
    Min: FoldRule<T>,
{
    let test = Test::NOT_ZERO;
    match fold {
        Fold::Sum if dot => Some(loops::<T, DotRule>(test)),
        _ if dot => None,
        Fold::Sum => Some(loops::<T, By<Sum>>(test)),
        Fold::Product => Some(loops::<T, By<Product>>(test)),
        Fold::Max => Some(loops::<T, By<Max>>(test)),
        Fold::Min => Some(loops::<T, By<Min>>(test)),
        Fold::ArgMax | Fold::ArgMin => None,
    }
}

/// The loops of a fold over memory of `dtype`, or of a sum of products if `dot`. `None`: it has to go through
/// tiles.
pub(crate) fn strided_loops(fold: Fold, dtype: DType, dot: bool) -> Option<StridedLoops> {
    // For bools Or is Sum and And is Product.
    if dtype == DType::Bool && !dot {
        return test_loops(fold, dtype, dtype, Test::NOT_ZERO);
    }
    let loops = with_number!(dtype, T => by_fold::<T>(fold, dot), else None)?;
    Some(match floats::along(fold, dtype, dot) {
        Some(along) => StridedLoops { along, ..loops },
        None => loops,
    })
}
