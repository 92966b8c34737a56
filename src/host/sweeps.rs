//! Loops that fold numbers where they lie in memory: each of several rows into one number, or several rows into one.
//!
//! A row is contiguous. Sums keep several accumulators, and long ones fold blocks that meet in a binary tree, as
//! [`fold`](super::fold) does with tiles.

use super::first::truth;
use super::fold::{By, Dot, Factor, Max, Min, Product, Rule, Sum, Take};
use super::traffic::ask;
use crate::dtype::DType;
use crate::kernels::level::{Loop, run};
use crate::kernels::nest::Fold;
use crate::kernels::ops::{lanes, lanes_mut};
use bytemuck::{AnyBitPattern, NoUninit};
use std::marker::PhantomData;

/// Where rows lie: the address of each one's first element, in elements from `base`.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) base: *const u8,
    pub(super) at: &'a [i64],
    /// Whether they are many, so that those to come are asked for.
    pub(super) far: bool,
}

/// Bytes ahead of a row that are asked for.
const AHEAD: usize = 16 << 10;

impl Rows<'_> {
    /// # Safety
    /// The row must hold `n` elements of `T`, aligned, which nobody writes while the slice lives.
    #[inline(always)]
    pub(super) unsafe fn row<'m, T>(&self, row: usize, n: usize) -> &'m [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.cast::<T>().offset(self.at[row] as isize), n) }
    }
}

/// Folds each row of `n` elements of `value` (or of its products with those of `other`), into a lane of `out` each.
///
/// # Safety
/// Rows must hold `n` elements, aligned, which nobody writes meanwhile.
pub(super) type Along = unsafe fn(out: &mut [u64], value: Rows<'_>, other: Rows<'_>, n: usize, identity: u64);

/// Folds the first `n` lanes of `into` (of `fresh`, if it is given) with those of at most [`GROUP`] rows.
///
/// # Safety
/// As of [`Along`]; the rows of a spread `other` hold one element.
pub(super) type Down =
    unsafe fn(into: &mut [u64], fresh: Option<u64>, value: Rows<'_>, other: Rows<'_>, n: usize);

/// Rows that [`Down`] takes at once, so that an accumulator is read and written once for all of them.
pub(super) const GROUP: usize = 8;

/// The loops of one fold.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    pub(super) along: Along,
    pub(super) down: Down,
    /// Each row of `other` is one number.
    pub(super) down_spread: Down,
}

/// Lanes that are folded one after the other before the tree takes over.
const BLOCK: usize = 8192;
/// Accumulators of a row. Loops over so many lanes, or a number that is not known, become vectors; loops over few lanes are
/// unrolled first, and then seldom do.
const WIDE: usize = 128;

/// Folds several rows into one. Each is an argument of its own, for then the compiler knows that `into` is none of them.
macro_rules! takes {
    ($name:ident: $($value:ident $other:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, R: Take<T>, const FMA: bool>(into: &mut [T], $($value: &[T], $other: &[T]),+) {
            let n = into.len();
            $(let ($value, $other) = (&$value[..n], &$other[..n]);)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = R::take::<FMA>(sum, $value[i], $other[i]);)+
                into[i] = sum;
            }
        }
    };
}
takes!(take_one: a ao);
takes!(take_two: a ao, b bo);
takes!(take_four: a ao, b bo, c co, d d_o);
takes!(take_eight: a ao, b bo, c co, d d_o, e eo, f fo, g go, h ho);

/// Folds rows into one; of `other`, each is one number.
macro_rules! takes_spread {
    ($name:ident: $($value:ident $other:ident),+) => {
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        fn $name<T: Copy, R: Take<T>, const FMA: bool>(into: &mut [T], $($value: &[T], $other: T),+) {
            let n = into.len();
            $(let $value = &$value[..n];)+
            for i in 0..n {
                let mut sum = into[i];
                $(sum = R::take::<FMA>(sum, $value[i], $other);)+
                into[i] = sum;
            }
        }
    };
}
takes_spread!(take_one_spread: a ao);
takes_spread!(take_eight_spread: a ao, b bo, c co, d d_o, e eo, f fo, g go, h ho);

/// Folds lanes into the accumulators.
#[inline(always)]
fn block<T: Copy, R: Take<T>, const FMA: bool>(into: &mut [T; WIDE], value: &[T], other: &[T], far: bool) {
    let part = |at: usize, k: usize| {
        let from = at + k * WIDE;
        (&value[from..from + WIDE], &other[from..from + WIDE])
    };
    let (n, mut at) = (value.len(), 0);
    while n - at >= 8 * WIDE {
        if far {
            // Eight places that advance a little are no stream that the processor would see by itself.
            ask(value[at..].as_ptr().cast::<u8>().wrapping_add(AHEAD), 8 * WIDE * size_of::<T>());
        }
        let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(|k| part(at, k));
        take_eight::<T, R, FMA>(
            into, a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1, h.0, h.1,
        );
        at += 8 * WIDE;
    }
    if n - at >= 4 * WIDE {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| part(at, k));
        take_four::<T, R, FMA>(into, a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1);
        at += 4 * WIDE;
    }
    if n - at >= 2 * WIDE {
        let [a, b] = [0, 1].map(|k| part(at, k));
        take_two::<T, R, FMA>(into, a.0, a.1, b.0, b.1);
        at += 2 * WIDE;
    }
    while at < n {
        let to = n.min(at + WIDE);
        take_one::<T, R, FMA>(&mut into[..to - at], &value[at..to], &other[at..to]);
        at = to;
    }
}

/// Folds lanes into one.
#[inline(always)]
fn row<T: Copy, R: Take<T>, const FMA: bool>(value: &[T], other: &[T], identity: T, far: bool) -> T {
    let n = value.len();
    if n < WIDE / 2 {
        // Too few for many accumulators: their folding would take longer than that of the row.
        let mut four = [identity; 4];
        let (values, others) = (value.chunks_exact(4), other.chunks_exact(4));
        for (sum, (value, other)) in four.iter_mut().zip(values.remainder().iter().zip(others.remainder())) {
            *sum = R::take::<FMA>(*sum, *value, *other);
        }
        for (value, other) in values.zip(others) {
            for i in 0..4 {
                four[i] = R::take::<FMA>(four[i], value[i], other[i]);
            }
        }
        return R::merge(R::merge(four[0], four[2]), R::merge(four[1], four[3]));
    }
    let mut all = [identity; WIDE];
    if n <= BLOCK {
        block::<T, R, FMA>(&mut all, value, other, far);
    } else {
        // As many sums as the count of blocks has bits, each of twice as many blocks as the next one.
        let mut stack = [[identity; WIDE]; usize::BITS as usize - BLOCK.ilog2() as usize + 1];
        let mut height = 0;
        for (at, (value, other)) in value.chunks(BLOCK).zip(other.chunks(BLOCK)).enumerate() {
            stack[height] = [identity; WIDE];
            block::<T, R, FMA>(&mut stack[height], value, other, far);
            height += 1;
            for _ in 0..(at + 1).trailing_zeros() {
                height -= 1;
                let top = stack[height];
                stack[height - 1].iter_mut().zip(&top).for_each(|(a, b)| *a = R::merge(*a, *b));
            }
        }
        for one in stack[..height].iter().rev() {
            all.iter_mut().zip(one).for_each(|(a, b)| *a = R::merge(*a, *b));
        }
    }
    let mut width = WIDE / 2;
    while width > 0 {
        let (low, high) = all.split_at_mut(width);
        low.iter_mut().zip(high).for_each(|(a, b)| *a = R::merge(*a, *b));
        width /= 2;
    }
    all[0]
}

/// Rows that are folded side by side: one accumulator of [`NARROW`] bytes for each, all in the processor's registers.
const TOGETHER: usize = 4;
const NARROW: usize = 64;
/// Elements that an accumulator's lane takes one after the other, at most, in rows that are folded so.
const SEQUENCE: usize = 64;

/// Folds each of four rows into one number. `L` lanes are [`NARROW`] bytes.
#[inline(always)]
fn four_rows<T: Copy, R: Take<T>, const L: usize, const FMA: bool>(
    values: [&[T]; TOGETHER],
    others: [&[T]; TOGETHER],
    identity: T,
) -> [T; TOGETHER] {
    let (mut a, mut b, mut c, mut d) = ([identity; L], [identity; L], [identity; L], [identity; L]);
    let n = values[0].len();
    let whole = n / L * L;
    let [va, vb, vc, vd] = values.map(|row| row[..whole].chunks_exact(L));
    let [oa, ob, oc, od] = others.map(|row| row[..whole].chunks_exact(L));
    for (((va, vb), (vc, vd)), ((oa, ob), (oc, od))) in
        va.zip(vb).zip(vc.zip(vd)).zip(oa.zip(ob).zip(oc.zip(od)))
    {
        for i in 0..L {
            a[i] = R::take::<FMA>(a[i], va[i], oa[i]);
        }
        for i in 0..L {
            b[i] = R::take::<FMA>(b[i], vb[i], ob[i]);
        }
        for i in 0..L {
            c[i] = R::take::<FMA>(c[i], vc[i], oc[i]);
        }
        for i in 0..L {
            d[i] = R::take::<FMA>(d[i], vd[i], od[i]);
        }
    }
    let mut out = [identity; TOGETHER];
    for (k, mut all) in [a, b, c, d].into_iter().enumerate() {
        let rest = values[k][whole..].iter().zip(&others[k][whole..]);
        for (sum, (value, other)) in all.iter_mut().zip(rest) {
            *sum = R::take::<FMA>(*sum, *value, *other);
        }
        let mut width = L / 2;
        while width > 0 {
            for i in 0..width {
                all[i] = R::merge(all[i], all[width + i]);
            }
            width /= 2;
        }
        out[k] = all[0];
    }
    out
}

struct AlongLoop<'a, T, R> {
    out: &'a mut [T],
    value: Rows<'a>,
    other: Rows<'a>,
    n: usize,
    identity: T,
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>> Loop for AlongLoop<'_, T, R> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rows = |at: usize| -> (&[T], &[T]) {
            // SAFETY: the promise of `along`'s caller.
            let value = unsafe { self.value.row::<T>(at, self.n) };
            // SAFETY: likewise.
            (value, if R::TWO { unsafe { self.other.row::<T>(at, self.n) } } else { value })
        };
        let lanes = NARROW / size_of::<T>();
        if (2 * lanes..=SEQUENCE * lanes).contains(&self.n) {
            let last = self.out.len().saturating_sub(1);
            for (group, out) in self.out.chunks_mut(TOGETHER).enumerate() {
                // The last row stands for those that are missing: each row is folded as if it were in any company.
                let four = [0, 1, 2, 3].map(|k| rows((group * TOGETHER + k).min(last)));
                let (values, others) = (four.map(|f| f.0), four.map(|f| f.1));
                let folded = match lanes {
                    8 => four_rows::<T, R, 8, FMA>(values, others, self.identity),
                    16 => four_rows::<T, R, 16, FMA>(values, others, self.identity),
                    32 => four_rows::<T, R, 32, FMA>(values, others, self.identity),
                    _ => four_rows::<T, R, 64, FMA>(values, others, self.identity),
                };
                out.copy_from_slice(&folded[..out.len()]);
            }
            return;
        }
        for (at, out) in self.out.iter_mut().enumerate() {
            let (value, other) = rows(at);
            *out = row::<T, R, FMA>(value, other, self.identity, self.value.far);
        }
    }
}

/// # Safety
/// See [`Along`].
unsafe fn along<T: AnyBitPattern + NoUninit, R: Take<T>>(
    out: &mut [u64],
    value: Rows<'_>,
    other: Rows<'_>,
    n: usize,
    identity: u64,
) {
    let out = &mut lanes_mut::<T>(out)[..value.at.len()];
    let identity = lanes::<T>(&[identity])[0];
    run(AlongLoop::<T, R> { out, value, other, n, identity, rule: PhantomData });
}

struct DownLoop<'a, T, R, const SPREAD: bool> {
    into: &'a mut [T],
    fresh: Option<T>,
    value: Rows<'a>,
    other: Rows<'a>,
    rule: PhantomData<R>,
}

impl<T: Copy, R: Take<T>, const SPREAD: bool> Loop for DownLoop<'_, T, R, SPREAD> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (into, rows) = (self.into, self.value.at.len());
        if let Some(identity) = self.fresh {
            into.fill(identity);
        }
        let n = into.len();
        let of = |k: usize| -> (&[T], &[T]) {
            // SAFETY: the promise of `down`'s caller.
            let row = unsafe { self.value.row::<T>(k, n) };
            // SAFETY: likewise.
            (row, if R::TWO { unsafe { self.other.row::<T>(k, if SPREAD { 1 } else { n }) } } else { row })
        };
        if rows == GROUP {
            let [a, b, c, d, e, f, g, h] = [0, 1, 2, 3, 4, 5, 6, 7].map(of);
            if SPREAD {
                take_eight_spread::<T, R, FMA>(
                    into, a.0, a.1[0], b.0, b.1[0], c.0, c.1[0], d.0, d.1[0], e.0, e.1[0], f.0, f.1[0], g.0,
                    g.1[0], h.0, h.1[0],
                );
            } else {
                take_eight::<T, R, FMA>(
                    into, a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1, e.0, e.1, f.0, f.1, g.0, g.1, h.0, h.1,
                );
            }
            return;
        }
        for (value, other) in (0..rows).map(of) {
            if SPREAD {
                take_one_spread::<T, R, FMA>(into, value, other[0]);
            } else {
                take_one::<T, R, FMA>(into, value, other);
            }
        }
    }
}

/// # Safety
/// See [`Down`].
unsafe fn down<T: AnyBitPattern + NoUninit, R: Take<T>, const SPREAD: bool>(
    into: &mut [u64],
    fresh: Option<u64>,
    value: Rows<'_>,
    other: Rows<'_>,
    n: usize,
) {
    let into = &mut lanes_mut::<T>(into)[..n];
    let fresh = fresh.map(|word| lanes::<T>(&[word])[0]);
    run(DownLoop::<T, R, SPREAD> { into, fresh, value, other, rule: PhantomData });
}

fn sweep<T: AnyBitPattern + NoUninit, R: Take<T>>() -> Sweep {
    Sweep {
        along: along::<T, R>,
        down: down::<T, R, false>,
        // Only products have another row.
        down_spread: if R::TWO { down::<T, R, true> } else { down::<T, R, false> },
    }
}

fn by_fold<T: AnyBitPattern + NoUninit>(fold: Fold) -> Option<Sweep>
where
    Sum: Rule<T>,
    Product: Rule<T>,
    Max: Rule<T>,
    Min: Rule<T>,
{
    match fold {
        Fold::Sum => Some(sweep::<T, By<Sum>>()),
        Fold::Product => Some(sweep::<T, By<Product>>()),
        Fold::Max => Some(sweep::<T, By<Max>>()),
        Fold::Min => Some(sweep::<T, By<Min>>()),
        Fold::ArgMax | Fold::ArgMin => None,
    }
}

/// The loops of a fold over memory of `dtype`; of a sum of products if `dot`. `None`: it has to go through tiles.
pub(super) fn sweep_of(fold: Fold, dtype: DType, dot: bool) -> Option<Sweep> {
    fn products<T: AnyBitPattern + NoUninit + Factor>() -> Sweep {
        sweep::<T, Dot>()
    }
    match (dtype, dot) {
        (DType::F32, true) => Some(products::<f32>()),
        (DType::F64, true) => Some(products::<f64>()),
        (_, true) | (DType::F16 | DType::BF16, false) => None,
        // Or is the greater and and is the less.
        (DType::Bool, false) => match fold {
            Fold::Sum | Fold::Max => Some(Sweep { along: truth::<true>, ..by_fold::<u8>(Fold::Max)? }),
            Fold::Product | Fold::Min => Some(Sweep { along: truth::<false>, ..by_fold::<u8>(Fold::Min)? }),
            _ => None,
        },
        (DType::F32, false) => by_fold::<f32>(fold),
        (DType::F64, false) => by_fold::<f64>(fold),
        (DType::I8, false) => by_fold::<i8>(fold),
        (DType::I16, false) => by_fold::<i16>(fold),
        (DType::I32, false) => by_fold::<i32>(fold),
        (DType::I64, false) => by_fold::<i64>(fold),
        (DType::U8, false) => by_fold::<u8>(fold),
        (DType::U16, false) => by_fold::<u16>(fold),
        (DType::U32, false) => by_fold::<u32>(fold),
        (DType::U64, false) => by_fold::<u64>(fold),
    }
}
