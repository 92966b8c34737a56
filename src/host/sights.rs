//! Folds of what is made of each element as it is read: how many pass a test, whether any or all do, sums of integers in a wider dtype,
//! extremes as if NaNs were not there. Such values need no tiles: rows are read in place, as by any other [stream](super::stream).

use super::facts::Facts;
use super::floats;
use super::sweeps::{Along, Rows};
use crate::dtype::DType;
use crate::kernels::Scalar;
use crate::kernels::level::{Loop, run};
use crate::kernels::nest::{Fold, FoldOf, Inst, Phase, Value};
use crate::kernels::ops::{self, ScalarOp, lanes_mut};
use bytemuck::AnyBitPattern;
use std::marker::PhantomData;

/// What becomes of the elements that a fold reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sight {
    /// Whether it passes a test.
    Test(Test),
    /// The integer itself, in another dtype.
    Wide,
    /// The number itself; what is folded in place of a NaN changes nothing.
    Number,
}

/// Whether an element lies in a range, or outside of it; there also lies NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Test {
    /// The lower end. Its bits, and those of the other one.
    low: u64,
    /// The upper end of a range of floats; how far it is from the lower one, of integers.
    high: u64,
    inside: bool,
}

/// What phase's fold reads, if that is one load and what is made of it is known here.
pub(super) fn sight(phase: &Phase, facts: &Facts, fold: &FoldOf) -> Option<(Value, Sight)> {
    let insts = &phase.block.insts;
    let dtype = facts.dtypes[fold.value as usize];
    let root = facts.roots[fold.value as usize];
    if fold.index.is_some() || dtype != dtype.register() || plain_load(insts, facts, root).is_some() {
        return None;
    }
    if dtype == DType::Bool {
        return test(insts, facts, root).map(|(load, test)| (load, Sight::Test(test)));
    }
    match (&insts[root], fold.fold) {
        (Inst::Cast { value, .. }, Fold::Sum) => {
            let from = facts.roots[*value as usize];
            if facts.dtypes[*value as usize] == DType::Bool {
                return test(insts, facts, from).map(|(load, test)| (load, Sight::Test(test)));
            }
            let (load, stored) = plain_load(insts, facts, from)?;
            totals(stored)?;
            Some((load, Sight::Wide))
        }
        (Inst::Op { op: ops::WHERE, args }, Fold::Max | Fold::Min) if dtype.is_float() => {
            let [when, yes, no] = [0, 1, 2].map(|k| facts.roots[args[k] as usize]);
            let (load, is_nan) = nan_test(insts, facts, when)?;
            let (number, instead) = if is_nan { (no, yes) } else { (yes, no) };
            let Inst::Const(instead) = insts[instead] else { return None };
            let nothing = instead == fold.fold.identity(dtype);
            (nothing && number == load as usize).then_some((load, Sight::Number))
        }
        _ => None,
    }
}

/// A load of elements that are in memory as in a register, and their dtype.
fn plain_load(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, DType)> {
    let Inst::Load { .. } = &insts[root] else { return None };
    let dtype = facts.loads[root].as_ref()?.dtype;
    (dtype == dtype.register() && dtype == facts.dtypes[root]).then_some((root as Value, dtype))
}

/// Whether a value says that a loaded one is NaN, or (`false`) that it is not.
fn nan_test(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, bool)> {
    let Inst::Op { op, args } = &insts[root] else { return None };
    match *op {
        ops::NOT => nan_test(insts, facts, facts.roots[args[0] as usize]).map(|(load, is)| (load, !is)),
        ops::NE | ops::EQ => {
            let [a, b] = [0, 1].map(|k| facts.roots[args[k] as usize]);
            let (load, dtype) = plain_load(insts, facts, a)?;
            (a == b && dtype.is_float()).then_some((load, *op == ops::NE))
        }
        _ => None,
    }
}

/// The test of a loaded element that a truth value is.
fn test(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, Test)> {
    if let Some((load, is_nan)) = nan_test(insts, facts, root) {
        let dtype = facts.dtypes[load as usize];
        let [low, high] = [f64::NEG_INFINITY, f64::INFINITY].map(|x| Scalar::from_f64(dtype, x).bits());
        return Some((load, Test { low, high, inside: !is_nan }));
    }
    let zero = |dtype| Scalar::from_i128(dtype, 0);
    match &insts[root] {
        Inst::Load { .. } => {
            let (load, dtype) = plain_load(insts, facts, root)?;
            Some((load, range(ops::NE, zero(dtype))?))
        }
        Inst::Cast { to: DType::Bool, value } => {
            let (load, dtype) = plain_load(insts, facts, facts.roots[*value as usize])?;
            Some((load, range(ops::NE, zero(dtype))?))
        }
        Inst::Op { op: ops::NOT, args } => {
            let (load, test) = test(insts, facts, facts.roots[args[0] as usize])?;
            Some((load, Test { inside: !test.inside, ..test }))
        }
        Inst::Op { op, args } if args.len() == 2 => {
            let [a, b] = [0, 1].map(|k| facts.roots[args[k] as usize]);
            let (load, op, other) = match (plain_load(insts, facts, a), plain_load(insts, facts, b)) {
                (Some((load, _)), None) => (load, *op, b),
                (None, Some((load, _))) => (load, turned(*op)?, a),
                _ => return None,
            };
            let Inst::Const(constant) = insts[other] else { return None };
            (constant.dtype() == facts.dtypes[load as usize]).then_some((load, range(op, constant)?))
        }
        _ => None,
    }
}

/// The comparison with its arguments the other way round.
fn turned(op: ScalarOp) -> Option<ScalarOp> {
    Some(match op {
        ops::EQ | ops::NE => op,
        ops::LT => ops::GT,
        ops::LE => ops::GE,
        ops::GT => ops::LT,
        ops::GE => ops::LE,
        _ => return None,
    })
}

/// The numbers that compare so with a constant, as a range.
fn range(op: ScalarOp, constant: Scalar) -> Option<Test> {
    let dtype = constant.dtype();
    let (op, inside) = if op == ops::NE { (ops::EQ, false) } else { (op, true) };
    let ends = |low: Scalar, high: u64| Some(Test { low: low.bits(), high, inside });
    if dtype.is_float() {
        let c = constant.to_f64();
        let (next, before) = match dtype {
            DType::F32 => (f64::from((c as f32).next_up()), f64::from((c as f32).next_down())),
            _ => (c.next_up(), c.next_down()),
        };
        let (low, high) = match op {
            _ if c.is_nan() => (1.0, 0.0),
            ops::EQ => (c, c),
            ops::LT if c > f64::NEG_INFINITY => (f64::NEG_INFINITY, before),
            ops::LE => (f64::NEG_INFINITY, c),
            ops::GT if c < f64::INFINITY => (next, f64::INFINITY),
            ops::GE => (c, f64::INFINITY),
            ops::LT | ops::GT => (1.0, 0.0),
            _ => return None,
        };
        return ends(Scalar::from_f64(dtype, low), Scalar::from_f64(dtype, high).bits());
    }
    // Of bool, there are two.
    let (least, most) = match dtype {
        DType::Bool => (0, 1),
        _ => (Fold::Max.identity(dtype).to_i128(), Fold::Min.identity(dtype).to_i128()),
    };
    let c = constant.to_i128();
    let (low, high) = match op {
        ops::EQ => (c, c),
        ops::LT => (least, c - 1),
        ops::LE => (least, c),
        ops::GT => (c + 1, most),
        ops::GE => (c, most),
        _ => return None,
    };
    if low > high {
        // None: those that are outside of all.
        let all = Scalar::from_i128(dtype, least);
        return Some(Test { low: all.bits(), high: (most - least) as u64, inside: !inside });
    }
    ends(Scalar::from_i128(dtype, low), (high - low) as u64)
}

/// Sees the rows of `n` elements, into a number each.
///
/// # Safety
/// Rows must hold `n` elements, aligned, which nobody writes meanwhile.
type Look = unsafe fn(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64);

/// How such a fold is done.
#[derive(Clone, Copy)]
pub(super) enum Seen {
    /// A number for each row, of so many elements in a range, or a sum.
    Total { look: Look, low: u64, high: u64, inside: bool, into: DType },
    /// Whether a row has an element in or outside a range, or (`not`) has none.
    Truth { look: Look, low: u64, high: u64, not: bool },
    /// A number, as any other row.
    Along(Along),
}

/// The loops for a fold over memory of `stored`, in `dtype`.
pub(super) fn seen(sight: Sight, fold: Fold, stored: DType, dtype: DType) -> Option<Seen> {
    Some(match sight {
        Sight::Number => Seen::Along(floats::along(fold, stored, false, true)?),
        Sight::Wide => Seen::Total { look: totals(stored)?, low: 0, high: 0, inside: true, into: dtype },
        Sight::Test(Test { low, high, inside }) => {
            let look = tests(stored)?;
            match (dtype, fold) {
                (DType::Bool, Fold::Sum | Fold::Max) => {
                    Seen::Truth { look: look.any(inside), low, high, not: false }
                }
                (DType::Bool, Fold::Product | Fold::Min) => {
                    Seen::Truth { look: look.any(!inside), low, high, not: true }
                }
                (_, Fold::Sum) => Seen::Total { look: look.count, low, high, inside, into: dtype },
                _ => return None,
            }
        }
    })
}

impl Seen {
    /// Folds each row of `n` elements into a lane of `out`.
    ///
    /// # Safety
    /// As of [`Look`].
    pub(super) unsafe fn along(&self, out: &mut [u64], rows: Rows<'_>, n: usize, identity: u64) {
        let mut found = [0; super::stream::BATCH];
        let found = &mut found[..rows.at.len()];
        // SAFETY: the caller's promise.
        unsafe {
            match *self {
                Seen::Along(along) => along(out, rows, rows, n, identity),
                Seen::Truth { look, low, high, not } => {
                    look(found, rows, n, low, high);
                    lanes_mut::<u8>(out)
                        .iter_mut()
                        .zip(found)
                        .for_each(|(o, x)| *o = u8::from((*x != 0) != not));
                }
                Seen::Total { look, low, high, inside, into } => {
                    look(found, rows, n, low, high);
                    if !inside {
                        found.iter_mut().for_each(|x| *x = n as i64 - *x);
                    }
                    put(into, out, found);
                }
            }
        }
    }
}

/// Writes integers as lanes of a dtype.
fn put(dtype: DType, out: &mut [u64], from: &[i64]) {
    macro_rules! each {
        ($t:ty) => {
            lanes_mut::<$t>(out).iter_mut().zip(from).for_each(|(o, x)| *o = *x as $t)
        };
    }
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => each!(u8),
        DType::I16 | DType::U16 => each!(u16),
        DType::I32 | DType::U32 => each!(u32),
        DType::I64 | DType::U64 => each!(u64),
        DType::F16 | DType::BF16 | DType::F32 => each!(f32),
        DType::F64 => each!(f64),
    }
}

/// The loops of tests.
struct Tests {
    count: Look,
    /// Whether there is any inside.
    any: Look,
    /// Whether there is any outside.
    other: Look,
}

impl Tests {
    fn any(&self, inside: bool) -> Look {
        if inside { self.any } else { self.other }
    }
}

fn tests(dtype: DType) -> Option<Tests> {
    fn of<T: Element>() -> Option<Tests> {
        Some(Tests { count: look::<T, Count>, any: look::<T, Any<true>>, other: look::<T, Any<false>> })
    }
    match dtype {
        DType::Bool | DType::I8 | DType::U8 => of::<u8>(),
        DType::I16 | DType::U16 => of::<u16>(),
        DType::I32 | DType::U32 => of::<u32>(),
        DType::I64 | DType::U64 => of::<u64>(),
        DType::F32 => of::<f32>(),
        DType::F64 => of::<f64>(),
        DType::F16 | DType::BF16 => None,
    }
}

/// The loop that sums integers of so few bits that no sum overflows.
fn totals(dtype: DType) -> Option<Look> {
    match dtype {
        DType::I8 => Some(look::<i8, Total>),
        DType::I16 => Some(look::<i16, Total>),
        DType::I32 => Some(look::<i32, Total>),
        DType::U8 => Some(look::<u8, Total>),
        DType::U16 => Some(look::<u16, Total>),
        DType::U32 => Some(look::<u32, Total>),
        _ => None,
    }
}

/// What is found out about a row.
trait Found<T> {
    fn of(row: &[T], low: u64, high: u64) -> i64;
}

struct LookLoop<'a, T, F> {
    out: &'a mut [i64],
    rows: Rows<'a>,
    n: usize,
    low: u64,
    high: u64,
    what: PhantomData<(T, F)>,
}

impl<T, F: Found<T>> Loop for LookLoop<'_, T, F> {
    type Out = ();
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (at, out) in self.out.iter_mut().enumerate() {
            // SAFETY: the promise of `look`'s caller.
            let row = unsafe { self.rows.row::<T>(at, self.n) };
            *out = F::of(row, self.low, self.high);
        }
    }
}

/// # Safety
/// As of [`Look`].
unsafe fn look<T, F: Found<T>>(out: &mut [i64], rows: Rows<'_>, n: usize, low: u64, high: u64) {
    run(LookLoop::<T, F> { out, rows, n, low, high, what: PhantomData });
}

/// An element that is tested.
trait Element: AnyBitPattern {
    fn from_word(word: u64) -> Self;
    fn within(self, low: Self, high: Self) -> bool;
    /// How many pass.
    fn count(row: &[Self], is: impl Fn(Self) -> bool) -> i64;
}

/// Elements of a row that are counted in lanes as narrow as they are, at most.
macro_rules! counted {
    ($is:ident, $row:ident, $lane:ty, $most:expr) => {
        $row.chunks($most)
            .map(|part| i64::from(part.iter().fold(0, |sum: $lane, x| sum + <$lane>::from($is(*x)))))
            .sum()
    };
}

macro_rules! elements {
    ($($t:ty, $low:ident $high:ident $x:ident $within:expr, $bits:expr, $lane:ty, $most:expr;)*) => { $(impl Element for $t {
        #[inline(always)]
        fn from_word(word: u64) -> $t {
            $bits(word)
        }
        #[inline(always)]
        fn within(self, $low: $t, $high: $t) -> bool {
            let $x = self;
            $within
        }
        #[inline(always)]
        fn count(row: &[$t], is: impl Fn($t) -> bool) -> i64 {
            counted!(is, row, $lane, $most)
        }
    })* };
}
elements! {
    u16, low high x x.wrapping_sub(low) <= high, |word| word as u16, u16, usize::from(u16::MAX);
    u32, low high x x.wrapping_sub(low) <= high, |word| word as u32, u32, 1 << 30;
    u64, low high x x.wrapping_sub(low) <= high, |word| word, u32, 1 << 30;
    f32, low high x (x >= low) & (x <= high), |word| f32::from_bits(word as u32), u32, 1 << 30;
    f64, low high x (x >= low) & (x <= high), f64::from_bits, u32, 1 << 30;
}

impl Element for u8 {
    #[inline(always)]
    fn from_word(word: u64) -> u8 {
        word as u8
    }
    #[inline(always)]
    fn within(self, low: u8, high: u8) -> bool {
        self.wrapping_sub(low) <= high
    }
    /// In so many lanes that they seldom have to be summed.
    #[inline(always)]
    fn count(row: &[u8], is: impl Fn(u8) -> bool) -> i64 {
        const LANES: usize = 64;
        let mut total = 0;
        for part in row.chunks(usize::from(u8::MAX) * LANES) {
            let mut lanes = [0u8; LANES];
            let groups = part.chunks_exact(LANES);
            let rest = groups.remainder().iter().fold(0u8, |sum, x| sum + u8::from(is(*x)));
            for group in groups {
                // By position, or the compiler makes no vectors of it.
                #[allow(clippy::needless_range_loop)]
                for i in 0..LANES {
                    lanes[i] = lanes[i].wrapping_add(u8::from(is(group[i])));
                }
            }
            total += lanes.iter().fold(u32::from(rest), |sum, lane| sum + u32::from(*lane)) as i64;
        }
        total
    }
}

/// How many elements are in the range.
struct Count;

impl<T: Element> Found<T> for Count {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        T::count(row, |x| x.within(low, high))
    }
}

/// Whether any element is in the range, or outside of it.
struct Any<const INSIDE: bool>;

/// Elements that are looked at before it is asked whether that settles it.
const AT_ONCE: usize = 256;

impl<T: Element, const INSIDE: bool> Found<T> for Any<INSIDE> {
    #[inline(always)]
    fn of(row: &[T], low: u64, high: u64) -> i64 {
        let (low, high) = (T::from_word(low), T::from_word(high));
        let settles = |part: &[T]| part.iter().fold(false, |any, x| any | (x.within(low, high) == INSIDE));
        i64::from(row.chunks(AT_ONCE).any(settles))
    }
}

/// The sum of integers.
struct Total;

macro_rules! totals {
    ($($t:ty, $wide:ty, $most:expr;)*) => { $(impl Found<$t> for Total {
        #[inline(always)]
        fn of(row: &[$t], _: u64, _: u64) -> i64 {
            let part = |part: &[$t]| part.iter().fold(0, |sum: $wide, x| sum.wrapping_add(<$wide>::from(*x))) as i64;
            row.chunks($most).map(part).fold(0, i64::wrapping_add)
        }
    })* };
}
totals! {
    i8, i32, 1 << 23;
    i16, i32, 1 << 15;
    i32, i64, usize::MAX;
    u8, u32, 1 << 23;
    u16, u32, 1 << 15;
    u32, u64, usize::MAX;
}
