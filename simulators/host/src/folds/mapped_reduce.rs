//! Folds over tests of elements: any, all, and counts. They need no tiles: rows are read in place, as by any
//! other [stream](crate::folds::memory_reduce). Any and all of bools are such folds, too.

use super::rules::Take;
use super::strided_reduce::{StridedLoops, loops};
use crate::plan::analysis::Facts;
use workalike_kernels::DType;
use workalike_kernels::Scalar;
use workalike_kernels::nest::{Fold, FoldOf, Inst, Phase, Value};
use workalike_kernels::ops::{self, ScalarOp};

/// Whether an element lies in a range, or outside of it; NaN is outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Test {
    /// The bits of the lower end.
    low: u64,
    /// The bits of the upper end of a range of floats; for integers, its distance from the lower end.
    high: u64,
    inside: bool,
}

impl Test {
    /// Whether an integer or a bool is not 0.
    pub(crate) const NOT_ZERO: Test = Test { low: 0, high: 0, inside: false };
}

/// The load that a phase's fold reads and the test of its elements, if it folds bools or counts them.
pub(crate) fn element_test(phase: &Phase, facts: &Facts, fold: &FoldOf) -> Option<(Value, Test)> {
    let insts = &phase.block.insts;
    let root = facts.roots[fold.value as usize];
    if fold.index.is_some() || plain_load(insts, facts, root).is_some() {
        return None;
    }
    match (&insts[root], facts.dtypes[fold.value as usize]) {
        (_, DType::Bool) => test(insts, facts, root),
        (Inst::Cast { value, .. }, DType::I64)
            if fold.fold == Fold::Sum && facts.dtypes[*value as usize] == DType::Bool =>
        {
            test(insts, facts, facts.roots[*value as usize])
        }
        _ => None,
    }
}

/// A load of elements that memory holds in their register form, and their dtype.
fn plain_load(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, DType)> {
    let Inst::Load { .. } = &insts[root] else { return None };
    let dtype = facts.loads[root].as_ref()?.dtype;
    (dtype == dtype.register() && dtype == facts.dtypes[root]).then_some((root as Value, dtype))
}

/// The test of a loaded element that a bool is.
fn test(insts: &[Inst], facts: &Facts, root: usize) -> Option<(Value, Test)> {
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
                // Only NaN differs from itself.
                (Some((load, dtype)), _)
                    if a == b && dtype.is_float() && matches!(*op, ops::EQ | ops::NE) =>
                {
                    let all = [f64::NEG_INFINITY, f64::INFINITY];
                    let [low, high] = all.map(|x| Scalar::from_f64(dtype, x).bits());
                    return Some((load, Test { low, high, inside: *op == ops::EQ }));
                }
                (Some((load, _)), None) => (load, *op, b),
                (None, Some((load, _))) => (load, swapped(*op)?, a),
                _ => return None,
            };
            let Inst::Const(constant) = insts[other] else { return None };
            (constant.dtype() == facts.dtypes[load as usize]).then_some((load, range(op, constant)?))
        }
        _ => None,
    }
}

/// The comparison with its arguments swapped.
fn swapped(op: ScalarOp) -> Option<ScalarOp> {
    Some(match op {
        ops::EQ | ops::NE => op,
        ops::LT => ops::GT,
        ops::LE => ops::GE,
        ops::GT => ops::LT,
        ops::GE => ops::LE,
        _ => return None,
    })
}

/// The range of numbers that pass a comparison with a constant.
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
    // Bools are 0 and 1.
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
        // An empty range is the complement of all.
        let all = Scalar::from_i128(dtype, least);
        return Some(Test { low: all.bits(), high: (most - least) as u64, inside: !inside });
    }
    ends(Scalar::from_i128(dtype, low), (high - low) as u64)
}

/// An element that can be tested.
trait TestedElement: Copy {
    fn from_word(word: u64) -> Self;
    fn within(self, low: Self, high: Self) -> bool;
}

macro_rules! elements {
    (int $($i:ty),*; float $($f:ty: $bits:ty),*) => {
        $(impl TestedElement for $i {
            fn from_word(word: u64) -> $i {
                word as $i
            }
            #[inline(always)]
            fn within(self, low: $i, high: $i) -> bool {
                self.wrapping_sub(low) <= high
            }
        })*
        $(impl TestedElement for $f {
            fn from_word(word: u64) -> $f {
                <$f>::from_bits(word as $bits)
            }
            #[inline(always)]
            fn within(self, low: $f, high: $f) -> bool {
                (self >= low) & (self <= high)
            }
        })*
    };
}
elements!(int u8, u16, u32, u64; float f32: u32, f64: u64);

/// A [`Test`] of elements of one type.
#[derive(Clone, Copy)]
struct RangeTest<T> {
    low: T,
    high: T,
    inside: bool,
}

impl<T: TestedElement> RangeTest<T> {
    fn new(test: Test) -> RangeTest<T> {
        RangeTest { low: T::from_word(test.low), high: T::from_word(test.high), inside: test.inside }
    }

    #[inline(always)]
    fn passes(self, x: T) -> bool {
        x.within(self.low, self.high) == self.inside
    }
}

/// Whether any element passes (`ANY`), or all do.
#[derive(Clone, Copy)]
struct Truth<T, const ANY: bool>(RangeTest<T>);

/// Elements that are tested before the loop along a row may stop.
const AT_ONCE: usize = 1024;

impl<T: TestedElement, const ANY: bool> Take<T> for Truth<T, ANY> {
    type Acc = u8;
    fn new(test: Test) -> Self {
        Truth(RangeTest::new(test))
    }
    #[inline(always)]
    fn take<const FMA: bool>(self, into: u8, value: T, _: T) -> u8 {
        let passes = u8::from(self.0.passes(value));
        if ANY { into | passes } else { into & passes }
    }
    #[inline(always)]
    fn row<const FMA: bool>(self, start: u8, value: &[T], _: &[T]) -> u8 {
        // An element that passes decides any, one that does not decides all. Loops over `|` vectorize; the
        // compiler would branch at each element for `&`.
        let decides = |x: &T| self.0.passes(*x) == ANY;
        let decided = |part: &[T]| part.iter().fold(false, |any, x| any | decides(x));
        if value.chunks(AT_ONCE).any(decided) { u8::from(ANY) } else { start }
    }
}

/// The number of elements that pass.
#[derive(Clone, Copy)]
struct CountPassing<T>(RangeTest<T>);

/// Elements that are counted in lanes of 32 bits.
const COUNTED: usize = 1 << 30;

impl<T: TestedElement> Take<T> for CountPassing<T> {
    type Acc = i64;
    fn new(test: Test) -> Self {
        CountPassing(RangeTest::new(test))
    }
    #[inline(always)]
    fn take<const FMA: bool>(self, into: i64, value: T, _: T) -> i64 {
        into + i64::from(self.0.passes(value))
    }
    #[inline(always)]
    fn row<const FMA: bool>(self, start: i64, value: &[T], _: &[T]) -> i64 {
        let mut all = start;
        for part in value.chunks(COUNTED) {
            all += i64::from(part.iter().fold(0u32, |sum, x| sum + u32::from(self.0.passes(*x))));
        }
        all
    }
}

/// The loops of a fold over tests of memory of dtype `stored`, with a result of `dtype`.
pub(crate) fn test_loops(fold: Fold, stored: DType, dtype: DType, test: Test) -> Option<StridedLoops> {
    fn of<T: TestedElement>(fold: Fold, dtype: DType, test: Test) -> Option<StridedLoops> {
        match (dtype, fold) {
            (DType::Bool, Fold::Sum | Fold::Max) => Some(loops::<T, Truth<T, true>>(test)),
            (DType::Bool, Fold::Product | Fold::Min) => Some(loops::<T, Truth<T, false>>(test)),
            (DType::I64, Fold::Sum) => Some(loops::<T, CountPassing<T>>(test)),
            _ => None,
        }
    }
    match stored {
        DType::Bool | DType::I8 | DType::U8 => of::<u8>(fold, dtype, test),
        DType::I16 | DType::U16 => of::<u16>(fold, dtype, test),
        DType::I32 | DType::U32 => of::<u32>(fold, dtype, test),
        DType::I64 | DType::U64 => of::<u64>(fold, dtype, test),
        DType::F32 => of::<f32>(fold, dtype, test),
        DType::F64 => of::<f64>(fold, dtype, test),
        DType::F16 | DType::BF16 | DType::C64 | DType::C128 => None,
    }
}
