//! Rows of floats folded in vector registers: sums, products, extremes, and sums of products.
//!
//! Explicit vectors, for the code that the compiler generates from loops over arrays varies from type to
//! type. A fold has several vectors of accumulators, each of which takes up to [`SEQUENCE`] elements in
//! sequence; longer rows fold such blocks in a binary tree, so that the error of a sum grows with the
//! logarithm of its length.

#[cfg(target_arch = "x86_64")]
use super::super::vector::{Avx2, Avx512};
use super::super::vector::{PortableVector, Vector};
use super::mapped_reduce::Test;
use super::rules::{FoldRule, Max, Min, Product, Sum};
use super::strided_reduce::{Along, FoldOperands, RowAddresses};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use workalike_kernels::DType;
use workalike_kernels::level::{Level, level};
use workalike_kernels::nest::Fold;
use workalike_kernels::ops::{lanes, lanes_mut};

/// Accumulators of a row: enough vectors to hide the latency of an addition.
const CHAINS: usize = 8;
/// Accumulators of a dot product: its two loads are the bottleneck, and several rows share a factor.
const DOT_CHAINS: usize = 4;
/// The most elements that a lane of an accumulator folds in sequence: few enough for the error bound of sums.
const SEQUENCE: usize = 16;
/// Lanes of the widest vectors.
const WIDEST: usize = 16;
/// Levels of the tree of a row of any length.
const DEPTH: usize = usize::BITS as usize - 8;

/// A fold of vectors.
trait VectorRule<V: Vector>: Copy {
    /// Lane by lane.
    ///
    /// # Safety
    /// The processor must have the vectors.
    unsafe fn fold(all: V, x: V) -> V;

    /// All lanes of a vector.
    ///
    /// # Safety
    /// Same as [`VectorRule::fold`].
    unsafe fn across(all: V) -> V::Item;
}

/// Folds the lanes of a vector, halves of them at a time.
///
/// # Safety
/// The processor must have the vectors.
#[inline(always)]
unsafe fn halved<V: Vector, R: FoldRule<V::Item>>(all: V) -> V::Item {
    let mut each = [V::Item::default(); WIDEST];
    // SAFETY: no vector has more lanes, and the caller guarantees the processor.
    unsafe { all.store(each.as_mut_ptr()) };
    let mut n = V::LANES;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            each[i] = R::fold(each[i], each[i + n]);
        }
    }
    each[0]
}

macro_rules! vector_rules {
    ($($rule:ident: $all:ident $x:ident => $fold:expr, $across:expr;)*) => { $(
        impl<V: Vector> VectorRule<V> for $rule
        where
            $rule: FoldRule<V::Item>,
        {
            #[inline(always)]
            unsafe fn fold($all: V, $x: V) -> V {
                // SAFETY: the caller guarantees a processor of the level.
                unsafe { $fold }
            }
            #[inline(always)]
            unsafe fn across($all: V) -> V::Item {
                // SAFETY: the caller guarantees a processor of the level.
                unsafe { $across }
            }
        }
    )* };
}
// A NaN stays. Which of two zeros a maximum or minimum is, is unspecified.
vector_rules! {
    Sum: all x => all.add(x), all.sum();
    Product: all x => all.mul(x), halved::<V, Product>(all);
    Max: all x => x.max(all), halved::<V, Max>(all);
    Min: all x => x.min(all), halved::<V, Min>(all);
}

/// What is folded in blocks of elements.
trait BlockFold: Copy {
    /// The fold of some elements.
    type Folded: Copy;
    /// Elements of a block.
    const MOST: usize;

    /// Folds elements `from..from + n`.
    ///
    /// # Safety
    /// They must be readable, and the processor must have the vectors.
    unsafe fn block(self, from: usize, n: usize) -> Self::Folded;

    /// # Safety
    /// The processor must have the vectors.
    unsafe fn join(a: Self::Folded, b: Self::Folded) -> Self::Folded;
}

/// Folds `n` elements.
///
/// # Safety
/// They must be readable, and the processor must have the vectors.
#[inline(always)]
unsafe fn tree<B: BlockFold>(blocks: B, n: usize) -> B::Folded {
    // SAFETY: the caller guarantees elements and processor; blocks end at `n`, and the stack below `height`
    // was written.
    unsafe {
        if n <= B::MOST {
            return blocks.block(0, n);
        }
        // A stack of folds, one per bit of the number of blocks: each is of twice the blocks of the next. It
        // is initialized up to `height` only, which is faster for short rows.
        let mut stack = [MaybeUninit::<B::Folded>::uninit(); DEPTH];
        let (mut height, mut from, mut count) = (0, 0, 0usize);
        while from < n {
            stack[height].write(blocks.block(from, B::MOST.min(n - from)));
            height += 1;
            count += 1;
            from += B::MOST;
            // At the end all that remain are joined, from the top.
            let joins = if from < n { count.trailing_zeros() as usize } else { height - 1 };
            for _ in 0..joins {
                height -= 1;
                let both = B::join(stack[height - 1].assume_init(), stack[height].assume_init());
                stack[height - 1].write(both);
            }
        }
        stack[0].assume_init()
    }
}

/// A row, which is folded by `R` from `start`.
#[derive(Clone, Copy)]
struct RowFold<V: Vector, R> {
    at: *const V::Item,
    start: V,
    rule: PhantomData<R>,
}

impl<V: Vector, R: VectorRule<V>> BlockFold for RowFold<V, R> {
    type Folded = V;
    const MOST: usize = CHAINS * V::LANES * SEQUENCE;

    #[inline(always)]
    unsafe fn block(self, from: usize, n: usize) -> V {
        // SAFETY: the caller guarantees processor and elements; all loads end at `n`.
        unsafe {
            let (row, l) = (self.at.add(from), V::LANES);
            let mut all = [self.start; CHAINS];
            let mut at = 0;
            while n - at >= CHAINS * l {
                for (k, all) in all.iter_mut().enumerate() {
                    *all = R::fold(*all, V::load(row.add(at + k * l)));
                }
                at += CHAINS * l;
            }
            for all in &mut all[..CHAINS - 1] {
                if n - at >= l {
                    *all = R::fold(*all, V::load(row.add(at)));
                    at += l;
                }
            }
            if at < n {
                let mask = V::mask(n - at);
                let last = V::choose(mask, V::load_part(row.add(at), mask), self.start);
                all[CHAINS - 1] = R::fold(all[CHAINS - 1], last);
            }
            let [a, b, c, d, e, f, g, h] = all;
            let (even, odd) = (R::fold(R::fold(a, e), R::fold(c, g)), R::fold(R::fold(b, f), R::fold(d, h)));
            R::fold(even, odd)
        }
    }

    #[inline(always)]
    unsafe fn join(a: V, b: V) -> V {
        // SAFETY: the caller guarantees the processor.
        unsafe { R::fold(a, b) }
    }
}

/// `R` rows that are multiplied with another one, whose loads they share. No sum depends on `R`.
#[derive(Clone, Copy)]
struct DotRows<V: Vector, const R: usize> {
    rows: [*const V::Item; R],
    other: *const V::Item,
}

impl<V: Vector, const R: usize> BlockFold for DotRows<V, R> {
    type Folded = [V; R];
    const MOST: usize = DOT_CHAINS * V::LANES * SEQUENCE;

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Loops over constant ranges unroll into registers.
    unsafe fn block(self, from: usize, n: usize) -> [V; R] {
        // SAFETY: the caller guarantees processor and elements; all loads end at `n`.
        unsafe {
            let (mut rows, other, l) = (self.rows, self.other.add(from), V::LANES);
            for r in 0..R {
                rows[r] = rows[r].add(from);
            }
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

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // As above.
    unsafe fn join(mut a: [V; R], b: [V; R]) -> [V; R] {
        for r in 0..R {
            // SAFETY: the caller guarantees the processor.
            a[r] = unsafe { a[r].add(b[r]) };
        }
        a
    }
}

/// The sums of the products of `R` rows with another row, of `n` elements each.
///
/// # Safety
/// The rows must be readable, and the processor must have the vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // As above.
unsafe fn dots<V: Vector, const R: usize>(
    rows: [*const V::Item; R],
    other: *const V::Item,
    n: usize,
) -> [V::Item; R] {
    let mut all = [V::Item::default(); R];
    // SAFETY: the caller guarantees rows and processor.
    unsafe {
        let sums = tree(DotRows::<V, R> { rows, other }, n);
        for r in 0..R {
            all[r] = sums[r].sum();
        }
    }
    all
}

/// Functions compiled for a level; `rows` are multiplied at a time, limited by the number of registers.
macro_rules! compiled {
    ($name:ident, $rows:literal rows $(, $feature:literal)?) => {
        mod $name {
            use super::*;
            /// Folds rows of numbers.
            ///
            /// # Safety
            /// Same as [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn rows<V: Vector, R: VectorRule<V>>(
                out: &mut [u64],
                from: FoldOperands<'_>,
                identity: u64,
                _: Test,
            ) {
                let identity = lanes::<V::Item>(&[identity])[0];
                let out = &mut lanes_mut::<V::Item>(out)[..from.value.at.len()];
                for (at, out) in out.iter_mut().enumerate() {
                    // SAFETY: the caller guarantees rows of `n` elements and a processor of the level.
                    unsafe {
                        let row = from.value.row::<V::Item>(at, from.n).as_ptr();
                        let row = RowFold::<V, R> { at: row, start: V::splat(identity), rule: PhantomData };
                        *out = R::across(tree(row, from.n));
                    }
                }
            }

            /// Sums the products of rows with other ones.
            ///
            /// # Safety
            /// Same as [`Along`]; the processor must have the level.
            $(#[target_feature(enable = $feature)])?
            pub(super) unsafe fn dots_of<V: Vector>(
                out: &mut [u64],
                from: FoldOperands<'_>,
                _: u64,
                _: Test,
            ) {
                let FoldOperands { value, other, n } = from;
                let out = &mut lanes_mut::<V::Item>(out)[..value.at.len()];
                // Either may be the row that all share.
                let shared = |rows: &RowAddresses<'_>| rows.at.iter().fold(0, |differ, at| differ | (at ^ rows.at[0])) == 0;
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
    ($dtype:expr, $function:ident, [$($rule:ident),*]) => {
        match (level(), $dtype) {
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, DType::F32) => avx512::$function::<Avx512<std::arch::x86_64::__m512>, $($rule),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx512, _) => avx512::$function::<Avx512<std::arch::x86_64::__m512d>, $($rule),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, DType::F32) => avx2::$function::<Avx2<std::arch::x86_64::__m256>, $($rule),*>,
            #[cfg(target_arch = "x86_64")]
            (Level::Avx2, _) => avx2::$function::<Avx2<std::arch::x86_64::__m256d>, $($rule),*>,
            (_, DType::F32) => baseline::$function::<PortableVector<f32, 4>, $($rule),*>,
            _ => baseline::$function::<PortableVector<f64, 2>, $($rule),*>,
        }
    };
}

/// The loop of a fold over rows of floats, or of their products.
pub(crate) fn along(fold: Fold, dtype: DType, dot: bool) -> Option<Along> {
    if !matches!(dtype, DType::F32 | DType::F64) {
        return None;
    }
    Some(match (fold, dot) {
        (Fold::Sum, true) => best!(dtype, dots_of, []),
        (Fold::Sum, false) => best!(dtype, rows, [Sum]),
        (Fold::Product, false) => best!(dtype, rows, [Product]),
        (Fold::Max, false) => best!(dtype, rows, [Max]),
        (Fold::Min, false) => best!(dtype, rows, [Min]),
        _ => return None,
    })
}
