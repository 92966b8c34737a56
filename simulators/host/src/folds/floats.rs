//! Rows of floats folded in vector registers: sums, products, sums of products and extremes.
//!
//! Explicit vectors, for the code that the compiler generates from loops over arrays varies from type to
//! type. A sum has [`CHAINS`] vectors of accumulators, each of which adds up to [`SEQUENCE`] elements in
//! sequence; longer rows add such blocks in a binary tree, so that the error of a sum grows with the
//! logarithm of its length.

#[cfg(target_arch = "x86_64")]
use super::super::vector::{Avx2, Avx512};
use super::super::vector::{Plain, Vector};
use super::strided_reduce::{Along, Rows};
use bytemuck::{AnyBitPattern, NoUninit};
use std::mem::MaybeUninit;
use std::ops::Mul;
use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Accumulators of a row: enough vectors to hide the latency of an addition.
const CHAINS: usize = 8;
/// Accumulators of a dot product: its two loads are the bottleneck, and several rows share a factor.
const DOT_CHAINS: usize = 4;
/// The most elements that a lane of an accumulator adds in sequence: few enough for the error bound of sums.
const SEQUENCE: usize = 16;
/// Lanes of the widest vectors.
const WIDEST: usize = 16;
/// Levels of the tree of a row of any length.
const DEPTH: usize = usize::BITS as usize - 8;

/// A row's elements.
#[derive(Clone, Copy)]
struct Row<T> {
    value: *const T,
    n: usize,
}

impl<T> Row<T> {
    /// # Safety
    /// `from + n` must be within the row.
    #[inline(always)]
    unsafe fn part(self, from: usize, n: usize) -> Row<T> {
        // SAFETY: the caller guarantees that this part is within the row.
        unsafe { Row { value: self.value.add(from), n } }
    }
}

/// The sum of a part of a row, as a vector of sums; `SKIP`: NaNs count as 0.
///
/// # Safety
/// The row must be readable, and the processor must have the vectors.
#[inline(always)]
unsafe fn block<V: Vector, const SKIP: bool>(row: Row<V::Item>) -> V {
    // SAFETY: all loads end at `n`.
    unsafe {
        let (n, l) = (row.n, V::LANES);
        let number = |x: V| if SKIP { x.number_or_zero() } else { x };
        let take = |sum: V, at: usize| sum.add(number(V::load(row.value.add(at))));
        let mut sums = [V::zero(); CHAINS];
        let mut at = 0;
        while n - at >= CHAINS * l {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = take(*sum, at + k * l);
            }
            at += CHAINS * l;
        }
        for sum in &mut sums[..CHAINS - 1] {
            if n - at >= l {
                *sum = take(*sum, at);
                at += l;
            }
        }
        if at < n {
            let mask = V::mask(n - at);
            sums[CHAINS - 1] = sums[CHAINS - 1].add(number(V::load_part(row.value.add(at), mask)));
        }
        let [a, b, c, d, e, f, g, h] = sums;
        a.add(e).add(c.add(g)).add(b.add(f).add(d.add(h)))
    }
}

/// The sum of a row.
///
/// # Safety
/// Same as [`block`].
#[inline(always)]
unsafe fn sum<V: Vector, const SKIP: bool>(row: Row<V::Item>) -> V::Item {
    let most = CHAINS * V::LANES * SEQUENCE;
    // SAFETY: the caller guarantees row and processor; parts end at `n`, and the stack below `height` was
    // written.
    unsafe {
        if row.n <= most {
            return block::<V, SKIP>(row).sum();
        }
        // A stack of sums, each of twice as many blocks as the next one: one per bit of the number of blocks.
        // It is initialized up to `height` only, which is faster for short rows.
        let mut stack = [MaybeUninit::<V>::uninit(); DEPTH];
        let mut height = 0;
        for (at, from) in (0..row.n).step_by(most).enumerate() {
            stack[height].write(block::<V, SKIP>(row.part(from, most.min(row.n - from))));
            height += 1;
            for _ in 0..(at + 1).trailing_zeros() {
                height -= 1;
                let both = stack[height - 1].assume_init().add(stack[height].assume_init());
                stack[height - 1].write(both);
            }
        }
        let first = stack[height - 1].assume_init();
        stack[..height - 1].iter().rev().fold(first, |all, one| one.assume_init().add(all)).sum()
    }
}

/// Sums of the products of parts of `R` rows with another row, each as a vector of sums; the loads of the
/// other row are shared. No sum depends on `R`.
///
/// # Safety
/// The rows must be readable for `n` elements, and the processor must have the vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Loops over constant ranges unroll into registers.
unsafe fn products_of_rows<V: Vector, const R: usize>(
    rows: [*const V::Item; R],
    other: *const V::Item,
    n: usize,
) -> [V; R] {
    // SAFETY: all loads end at `n`.
    unsafe {
        let l = V::LANES;
        let mut sums = [[V::zero(); DOT_CHAINS]; R];
        let mut at = 0;
        while n - at >= DOT_CHAINS * l {
            for k in 0..DOT_CHAINS {
                let shared = V::load(other.add(at + k * l));
                for r in 0..R {
                    sums[r][k] = sums[r][k].add_product(V::load(rows[r].add(at + k * l)), shared);
                }
            }
            at += DOT_CHAINS * l;
        }
        for k in 0..DOT_CHAINS - 1 {
            if n - at >= l {
                let shared = V::load(other.add(at));
                for r in 0..R {
                    sums[r][k] = sums[r][k].add_product(V::load(rows[r].add(at)), shared);
                }
                at += l;
            }
        }
        if at < n {
            let mask = V::mask(n - at);
            let shared = V::load_part(other.add(at), mask);
            for r in 0..R {
                let last = &mut sums[r][DOT_CHAINS - 1];
                *last = last.add_product(V::load_part(rows[r].add(at), mask), shared);
            }
        }
        let mut all = [V::zero(); R];
        for r in 0..R {
            let [a, b, c, d] = sums[r];
            all[r] = a.add(c).add(b.add(d));
        }
        all
    }
}

/// The sums of the products of `R` rows with another row.
///
/// # Safety
/// Same as [`products_of_rows`].
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Loops over constant ranges unroll into registers.
unsafe fn dots<V: Vector, const R: usize>(
    rows: [*const V::Item; R],
    other: *const V::Item,
    total: usize,
) -> [V::Item; R] {
    let most = DOT_CHAINS * V::LANES * SEQUENCE;
    // SAFETY: the caller guarantees rows of `total` elements and the processor; parts end there.
    unsafe {
        let mut all = [V::Item::default(); R];
        if total <= most {
            let sums = products_of_rows::<V, R>(rows, other, total);
            for r in 0..R {
                all[r] = sums[r].sum();
            }
            return all;
        }
        // A stack of sums as in [`sum`].
        let mut stack = [MaybeUninit::<[V; R]>::uninit(); DEPTH];
        let (mut height, mut from, mut blocks) = (0, 0, 0usize);
        loop {
            let (mut parts, n) = (rows, most.min(total - from));
            for part in &mut parts {
                *part = part.add(from);
            }
            stack[height].write(products_of_rows::<V, R>(parts, other.add(from), n));
            height += 1;
            blocks += 1;
            from += n;
            let done = n < most || from == total;
            // At the end all remaining sums are added, from the top.
            let merges = if done { height - 1 } else { blocks.trailing_zeros() as usize };
            for _ in 0..merges {
                height -= 1;
                let (below, top) = (stack[height - 1].assume_init(), stack[height].assume_init());
                stack[height - 1].write(std::array::from_fn(|r| below[r].add(top[r])));
            }
            if done {
                break;
            }
        }
        let last = stack[0].assume_init();
        for r in 0..R {
            all[r] = last[r].sum();
        }
        all
    }
}

/// The product of a row.
///
/// # Safety
/// Same as [`block`].
#[inline(always)]
unsafe fn product<V: Vector>(row: Row<V::Item>, start: V::Item) -> V::Item
where
    V::Item: Number,
{
    // SAFETY: all loads end at `n`.
    unsafe {
        let (n, l) = (row.n, V::LANES);
        let mut products = [V::splat(V::Item::ONE); CHAINS];
        let mut at = 0;
        while n - at >= CHAINS * l {
            for (k, product) in products.iter_mut().enumerate() {
                *product = product.mul(V::load(row.value.add(at + k * l)));
            }
            at += CHAINS * l;
        }
        for product in &mut products[..CHAINS - 1] {
            if n - at >= l {
                *product = product.mul(V::load(row.value.add(at)));
                at += l;
            }
        }
        let mut all = (at..n).fold(start, |all, i| all * *row.value.add(i));
        if n >= l {
            let [a, b, c, d, e, f, g, h] = products;
            let mut each = [V::Item::ONE; WIDEST];
            a.mul(e).mul(c.mul(g)).mul(b.mul(f).mul(d.mul(h))).store(each.as_mut_ptr());
            all = each[..l].iter().fold(all, |all, x| all * *x);
        }
        all
    }
}

/// The greatest (`MAX`) or the least of the elements of a row and `start`. NaN if there is one, unless they
/// are skipped.
///
/// # Safety
/// Same as [`block`].
#[inline(always)]
unsafe fn most<V: Vector, const MAX: bool, const SKIP: bool>(row: Row<V::Item>, start: V::Item) -> V::Item
where
    V::Item: Number,
{
    // SAFETY: all loads end at `n`.
    unsafe {
        let (n, l) = (row.n, V::LANES);
        let take = |best: V, x: V| if MAX { best.greater(x) } else { best.less(x) };
        let or_nan = |seen: V::Truth, a: V, b: V| if SKIP { seen } else { V::or_nan(seen, a, b) };
        let mut best = [V::splat(start); CHAINS];
        let mut seen = [V::never(); 2];
        let mut at = 0;
        while n - at >= CHAINS * l {
            for k in 0..CHAINS / 2 {
                let (a, b) =
                    (V::load(row.value.add(at + 2 * k * l)), V::load(row.value.add(at + (2 * k + 1) * l)));
                best[2 * k] = take(best[2 * k], a);
                best[2 * k + 1] = take(best[2 * k + 1], b);
                seen[k % 2] = or_nan(seen[k % 2], a, b);
            }
            at += CHAINS * l;
        }
        for best in &mut best[..CHAINS - 1] {
            if n - at >= l {
                let x = V::load(row.value.add(at));
                *best = take(*best, x);
                seen[0] = or_nan(seen[0], x, x);
                at += l;
            }
        }
        let mut nan = false;
        let pick = |best: V::Item, x: V::Item| {
            let ahead = if MAX { x > best } else { x < best };
            if ahead { x } else { best }
        };
        let mut all = start;
        if at < n && n >= l {
            // The last vector may overlap the one before.
            let x = V::load(row.value.add(n - l));
            best[CHAINS - 1] = take(best[CHAINS - 1], x);
            seen[1] = or_nan(seen[1], x, x);
        } else {
            for i in at..n {
                let x = *row.value.add(i);
                all = pick(all, x);
                nan |= !SKIP && x.is_nan();
            }
        }
        if n >= l {
            let [a, b, c, d, e, f, g, h] = best;
            let (a, b, c, d) = (take(a, e), take(b, f), take(c, g), take(d, h));
            let mut each = [start; WIDEST];
            take(take(a, c), take(b, d)).store(each.as_mut_ptr());
            all = each[..l].iter().fold(all, |best, x| pick(best, *x));
            nan |= V::any(seen[0]) | V::any(seen[1]);
        }
        if nan || start.is_nan() { V::Item::NAN } else { all }
    }
}

/// f32 or f64.
trait Number: AnyBitPattern + NoUninit + PartialOrd + Mul<Output = Self> {
    const ONE: Self;
    const NAN: Self;
    fn is_nan(self) -> bool;
}

macro_rules! numbers {
    ($($t:ty),*) => { $(impl Number for $t {
        const ONE: $t = 1.0;
        const NAN: $t = <$t>::NAN;
        #[inline(always)]
        fn is_nan(self) -> bool {
            <$t>::is_nan(self)
        }
    })* };
}
numbers!(f32, f64);

/// Functions compiled for a level; `rows` are multiplied at a time, limited by the number of registers.
macro_rules! compiled {
    ($name:ident, $rows:literal rows $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            /// # Safety
            /// Same as [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(crate) unsafe fn sums<V: Vector<Item: Number>, const SKIP: bool>(
                out: &mut [u64],
                value: Rows<'_>,
                _: Rows<'_>,
                n: usize,
                _: u64,
            ) {
                let out = &mut lanes_mut::<V::Item>(out)[..value.at.len()];
                for (at, out) in out.iter_mut().enumerate() {
                    // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                    unsafe {
                        let row = value.row::<V::Item>(at, n).as_ptr();
                        *out = sum::<V, SKIP>(Row { value: row, n });
                    }
                }
            }

            /// # Safety
            /// See [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(crate) unsafe fn dots_of<V: Vector<Item: Number>>(
                out: &mut [u64],
                value: Rows<'_>,
                other: Rows<'_>,
                n: usize,
                _: u64,
            ) {
                let out = &mut lanes_mut::<V::Item>(out)[..value.at.len()];
                // Either may be the row that all share.
                let shared = |rows: &Rows<'_>| rows.at.iter().fold(0, |differ, at| differ | (at ^ rows.at[0])) == 0;
                let mut done = 0;
                let (value, other) = if shared(&value) { (other, value) } else { (value, other) };
                if value.at.len() >= $rows && shared(&other) {
                    for (group, out) in out.chunks_exact_mut($rows).enumerate() {
                        // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                        unsafe {
                            let row = |r: usize| value.row::<V::Item>(group * $rows + r, n).as_ptr();
                            let one = other.row::<V::Item>(0, n).as_ptr();
                            out.copy_from_slice(&dots::<V, $rows>(std::array::from_fn(row), one, n));
                        }
                        done += $rows;
                    }
                }
                for (at, out) in out.iter_mut().enumerate().skip(done) {
                    // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                    unsafe {
                        let [row, one] = [value, other].map(|rows| rows.row::<V::Item>(at, n).as_ptr());
                        [*out] = dots::<V, 1>([row], one, n);
                    }
                }
            }

            /// # Safety
            /// See [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(crate) unsafe fn products<V: Vector<Item: Number>>(
                out: &mut [u64],
                value: Rows<'_>,
                _: Rows<'_>,
                n: usize,
                identity: u64,
            ) {
                let start = lanes::<V::Item>(&[identity])[0];
                let out = &mut lanes_mut::<V::Item>(out)[..value.at.len()];
                for (at, out) in out.iter_mut().enumerate() {
                    // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                    unsafe {
                        let row = value.row::<V::Item>(at, n).as_ptr();
                        *out = product::<V>(Row { value: row, n }, start);
                    }
                }
            }

            /// # Safety
            /// See [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(crate) unsafe fn extremes<V: Vector<Item: Number>, const MAX: bool, const SKIP: bool>(
                out: &mut [u64],
                value: Rows<'_>,
                _: Rows<'_>,
                n: usize,
                identity: u64,
            ) {
                let start = lanes::<V::Item>(&[identity])[0];
                let out = &mut lanes_mut::<V::Item>(out)[..value.at.len()];
                for (at, out) in out.iter_mut().enumerate() {
                    // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                    unsafe {
                        let row = value.row::<V::Item>(at, n).as_ptr();
                        *out = most::<V, MAX, SKIP>(Row { value: row, n }, start);
                    }
                }
            }

            /// # Safety
            /// The processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(crate) unsafe fn extreme<V: Vector<Item: Number>, const MAX: bool>(
                start: V::Item,
                values: &[V::Item],
            ) -> V::Item {
                let value = values.as_ptr();
                // SAFETY: a slice is readable.
                unsafe { most::<V, MAX, false>(Row { value, n: values.len() }, start) }
            }
        }
    };
}
compiled!(baseline, 2 rows);
#[cfg(target_arch = "x86_64")]
compiled!(avx2, 2 rows, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
compiled!(avx512, 4 rows, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt");

/// A function for the best vectors of this processor.
macro_rules! best {
    ($dtype:expr, $function:ident, [$($way:literal),*]) => {
        match (level(), $dtype) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, DType::F32) => avx512::$function::<Avx512<std::arch::x86_64::__m512>, $($way),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, _) => avx512::$function::<Avx512<std::arch::x86_64::__m512d>, $($way),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, DType::F32) => avx2::$function::<Avx2<std::arch::x86_64::__m256>, $($way),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, _) => avx2::$function::<Avx2<std::arch::x86_64::__m256d>, $($way),*>,
            (_, DType::F32) => baseline::$function::<Plain<f32, 4>, $($way),*>,
            _ => baseline::$function::<Plain<f64, 2>, $($way),*>,
        }
    };
}

/// The loop of a fold over rows of floats, or of their products. `skip`: ignore NaNs.
pub(crate) fn along(fold: Fold, dtype: DType, dot: bool, skip: bool) -> Option<Along> {
    if !matches!(dtype, DType::F32 | DType::F64) {
        return None;
    }
    Some(match (fold, dot, skip) {
        (Fold::Sum, true, false) => best!(dtype, dots_of, []),
        (Fold::Sum, false, false) => best!(dtype, sums, [false]),
        (Fold::Sum, false, true) => best!(dtype, sums, [true]),
        (Fold::Product, false, false) => best!(dtype, products, []),
        (Fold::Max, false, false) => best!(dtype, extremes, [true, false]),
        (Fold::Min, false, false) => best!(dtype, extremes, [false, false]),
        (Fold::Max, false, true) => best!(dtype, extremes, [true, true]),
        (Fold::Min, false, true) => best!(dtype, extremes, [false, true]),
        _ => return None,
    })
}

/// The greatest or the least of some floats and of `start`; NaN if there is one.
pub(crate) trait Extreme: Sized {
    fn extreme<const MAX: bool>(start: Self, values: &[Self]) -> Self;
}

macro_rules! extremes {
    ($($t:ty, $plain:literal, $v256:ident, $v512:ident;)*) => { $(impl Extreme for $t {
        #[inline]
        fn extreme<const MAX: bool>(start: $t, values: &[$t]) -> $t {
            // SAFETY: the processor has the level.
            unsafe {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => avx512::extreme::<Avx512<std::arch::x86_64::$v512>, MAX>(start, values),
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => avx2::extreme::<Avx2<std::arch::x86_64::$v256>, MAX>(start, values),
                    _ => baseline::extreme::<Plain<$t, $plain>, MAX>(start, values),
                }
            }
        }
    })* };
}
extremes! {
    f32, 4, __m256, __m512;
    f64, 2, __m256d, __m512d;
}
