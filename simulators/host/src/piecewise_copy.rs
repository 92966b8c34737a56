//! Rows whose lanes come from one place up to a position, and from another one from there on: a matrix cleared on one side of a diagonal,
//! say. Where the parts meet is worked out once a row, and each part is moved as a whole.

use super::affine::{Affine, MAX_AXES};
use super::exec::Run;
use super::plan::facts::{Facts, Touch};
use super::plan::patterns::affine;
use super::strided_copy::line;
use workalike_kernels::nest::{Inst, Nest, Phase, Value};
use workalike_kernels::ops::{self, ScalarOp};

/// Lanes of a row from which it pays to look where it parts.
const ROW: u64 = 16;

/// Where the number that tells the parts apart must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    /// Not above 0.
    Below,
    /// At 0.
    Zero,
}

/// Where the lanes of a part come from.
enum Source {
    /// An operand.
    Memory(usize),
    /// The bits of one number.
    Number(u64),
}

/// A phase that does nothing else.
pub(super) struct Parted {
    /// The operand that is stored to.
    to: usize,
    /// Bytes of an element.
    size: usize,
    test: Test,
    /// What is taken where the test holds, and elsewhere.
    sources: [Source; 2],
    /// Of the first lane: the number that is tested, the elements of both sources, the element that is stored.
    first: [i64; 4],
    /// From row to row, outermost first: how many there are, and how these change.
    outer: Vec<(u64, [i64; 4])>,
    /// From lane to lane of a row: likewise.
    row: (u64, [i64; 4]),
}

impl Parted {
    /// What a Point phase is, if its lanes are these grid axes.
    pub(super) fn find(nest: &Nest, phase: &Phase, facts: &Facts, lanes: &[usize]) -> Option<Parted> {
        let ([store], [place]) = (&phase.stores[..], &facts.stores[..]) else { return None };
        let plain = store.when.is_none() && !store.add && place.dynamic.is_empty();
        if !nest.is_map() || !plain || phase.reports() {
            return None;
        }
        let root = |value: Value| facts.roots[value as usize];
        let inst = |at: usize| &phase.block.insts[at];
        let mut chosen = root(store.value);
        // Halves that are only moved need not be rounded again.
        if let Inst::Cast { value, .. } = inst(chosen)
            && place.dtype.is_half()
        {
            chosen = root(*value);
        }
        let Inst::Op { op: ops::WHERE, args } = inst(chosen) else { return None };
        let (test, number, same) = tested(nest, phase, inst(root(args[0])))?;
        let source = |value: Value| -> Option<(Source, Affine)> {
            let at = root(value);
            if let Inst::Const(scalar) = inst(at) {
                return Some((
                    Source::Number(scalar.cast(place.dtype).bits()),
                    Affine::zero(nest.axes.len()),
                ));
            }
            let plain = |touch: &&Touch| touch.dynamic.is_empty() && touch.dtype == place.dtype;
            let touch = facts.loads[at].as_ref().filter(plain)?;
            Some((Source::Memory(touch.operand), touch.affine.clone()))
        };
        let (yes, no) = (source(args[1])?, source(args[2])?);
        let ((yes, from), (no, other)) = if same { (yes, no) } else { (no, yes) };
        let all = [&number, &from, &other, &place.affine];
        let mut merged: Vec<(u64, [i64; 4])> = Vec::new();
        for &axis in lanes.iter().filter(|a| nest.axes[**a] != 1) {
            let (extent, steps) = (nest.axes[axis], all.map(|map| map.coefficients[axis]));
            let spans = |outer: &[i64; 4]| {
                steps.iter().zip(outer).all(|(step, outer)| step.checked_mul(extent as i64) == Some(*outer))
            };
            match merged.last_mut() {
                Some(outer) if spans(&outer.1) => *outer = (outer.0 * extent, steps),
                _ => merged.push((extent, steps)),
            }
        }
        let row = merged.pop().filter(|row| row.0 >= ROW && merged.len() < MAX_AXES)?;
        Some(Parted {
            to: place.operand,
            size: place.dtype.size(),
            test,
            sources: [yes, no],
            first: all.map(|map| map.offset),
            outer: merged,
            row,
        })
    }

    /// Rough nanoseconds of so many lanes.
    pub(super) fn nanoseconds(&self, lanes: f64) -> f64 {
        lanes * (self.size as f64 * 2.0 * super::cache_hints::BYTE + 20.0 / self.row.0 as f64)
    }

    /// The lanes of a row, the number of the first of them being this, of which the test holds.
    fn holds(&self, number: i64, lanes: usize) -> (usize, usize) {
        let n = lanes as i64;
        let (from, to) = match (self.test, self.row.1[0]) {
            (Test::Below, 0) => (0, if number <= 0 { n } else { 0 }),
            (Test::Zero, 0) => (0, if number == 0 { n } else { 0 }),
            (Test::Below, step) if step > 0 => (0, (-number).div_euclid(step) + 1),
            (Test::Below, step) => (-(-number).div_euclid(-step), n),
            (Test::Zero, step) if number % step == 0 => (-number / step, -number / step + 1),
            (Test::Zero, _) => (0, 0),
        };
        let from = from.clamp(0, n);
        (from as usize, to.clamp(from, n) as usize)
    }
}

/// The test that a comparison of positions is, its number, and whether it must hold or fail.
fn tested(nest: &Nest, phase: &Phase, inst: &Inst) -> Option<(Test, Affine, bool)> {
    let Inst::Op { op, args } = inst else { return None };
    let of = |at: usize| affine(phase, args[at], nest.axes.len());
    // `a - b + more`, which cannot overflow.
    let minus = |a: Affine, b: Affine, more: i64| -> Option<Affine> {
        let small = |map: &Affine| {
            let (low, high) = map.range(&nest.axes);
            low > i128::from(i64::MIN >> 2) && high < i128::from(i64::MAX >> 2)
        };
        let coefficients = a.coefficients.iter().zip(&b.coefficients).map(|(a, b)| a.checked_sub(*b));
        let number = Affine {
            offset: a.offset.checked_sub(b.offset)?.checked_add(more)?,
            coefficients: coefficients.collect::<Option<_>>()?,
        };
        (small(&a) && small(&b) && small(&number)).then_some(number)
    };
    let known: [ScalarOp; 6] = [ops::LE, ops::LT, ops::GE, ops::GT, ops::EQ, ops::NE];
    if !known.contains(op) {
        return None;
    }
    let (a, b) = (of(0)?, of(1)?);
    Some(match *op {
        ops::LE => (Test::Below, minus(a, b, 0)?, true),
        ops::LT => (Test::Below, minus(a, b, 1)?, true),
        ops::GE => (Test::Below, minus(b, a, 0)?, true),
        ops::GT => (Test::Below, minus(b, a, 1)?, true),
        ops::EQ => (Test::Zero, minus(a, b, 0)?, true),
        _ => (Test::Zero, minus(a, b, 0)?, false),
    })
}

impl Run<'_> {
    /// Moves `n` lanes from `start` on.
    pub(super) fn parted(&self, parted: &Parted, start: u64, n: usize) {
        let Parted { size, outer, row: (length, steps), .. } = parted;
        let bytes = |elements: i64| elements as isize * *size as isize;
        let to = self.bound.bases[parted.to];
        // Of a number that takes part in no step, every lane is the first.
        let source = |source: &Source| match source {
            Source::Memory(operand) => self.bound.bases[*operand].cast_const(),
            Source::Number(bits) => {
                let skipped = if cfg!(target_endian = "big") { 8 - size } else { 0 };
                std::ptr::from_ref(bits).cast::<u8>().wrapping_add(skipped)
            }
        };
        let from = [source(&parted.sources[0]), source(&parted.sources[1])];
        let mut at = [0u64; MAX_AXES];
        let (mut rest, mut column) = (start / length, start % length);
        let mut first = parted.first;
        let add = |first: &mut [i64; 4], steps: &[i64; 4], times: i64| {
            first.iter_mut().zip(steps).for_each(|(first, step)| *first += times * step);
        };
        for (at, (extent, steps)) in at.iter_mut().zip(outer).rev() {
            *at = rest % extent;
            rest /= extent;
            add(&mut first, steps, *at as i64);
        }
        let mut lane = 0;
        while lane < n {
            let count = (length - column).min((n - lane) as u64) as usize;
            let mut here = first;
            add(&mut here, steps, column as i64);
            let (begin, end) = parted.holds(here[0], count);
            for (part, which) in [(0..begin, 1), (begin..end, 0), (end..count, 1)] {
                if part.is_empty() {
                    continue;
                }
                let lane = part.start as i64;
                let (a, b) = (here[1 + which] + lane * steps[1 + which], here[3] + lane * steps[3]);
                // SAFETY: the address ranges were checked against the regions, which do not overlap, or the Nest would not be
                // bound so. A number is as long as the longest element.
                unsafe {
                    let (from, to) = (from[which].wrapping_offset(bytes(a)), to.wrapping_offset(bytes(b)));
                    line(from, to, *size, part.len(), (steps[1 + which], steps[3]));
                }
            }
            lane += count;
            column = 0;
            for (at, (extent, steps)) in at[..outer.len()].iter_mut().zip(outer).rev() {
                *at += 1;
                add(&mut first, steps, 1);
                if *at < *extent {
                    break;
                }
                add(&mut first, steps, -(*extent as i64));
                *at = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_hold_where_each_number_passes() {
        for test in [Test::Below, Test::Zero] {
            for step in [-7i64, -2, -1, 0, 1, 3, 100] {
                for number in -40..40 {
                    let nothing = || Source::Number(0);
                    let (sources, first) = ([nothing(), nothing()], [0; 4]);
                    let row = (20, [step, 0, 0, 1]);
                    let parted = Parted { to: 0, size: 1, test, sources, first, outer: vec![], row };
                    let passes = |i: &usize| match (test, number + *i as i64 * step) {
                        (Test::Below, number) => number <= 0,
                        (Test::Zero, number) => number == 0,
                    };
                    let (from, to) = parted.holds(number, 20);
                    let want: Vec<usize> = (0..20).filter(passes).collect();
                    assert_eq!((from..to).collect::<Vec<_>>(), want, "{test:?} {number} {step}");
                }
            }
        }
    }
}
