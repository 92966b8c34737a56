//! Linear forms: elementwise Nests that vendors' libraries can apply to a result before they store it.

use super::{Index, Inst, Nest, Operand};
use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::{ops, verify};

/// Maximum number of operands in a sum: the result of a library op, the addend, the bias.
const OPERANDS: usize = 3;

/// `alpha * x + beta * added + bias`, or the maximum of that and 0; operands are positions in the Nest.
///
/// `added` has the layout of `x`, and may be the memory that the Nest stores to; `bias` has one element for
/// each channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearForm {
    /// The factor of `x`. A number of the computing type, as `beta` is; neither is 0 nor subnormal.
    pub alpha: f64,
    /// The factor of the addend; 0 without one.
    pub beta: f64,
    /// The addend.
    pub added: Option<usize>,
    /// The bias.
    pub bias: Option<usize>,
    /// Whether negative sums become 0 (ReLU).
    pub relu: bool,
    /// The operand that is stored.
    pub result: usize,
}

/// Extents of a contiguous tensor, collapsed to three: before the channels, the channels, after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Number of channels: columns of a matrix, filters of a convolution.
    pub channels: u64,
    /// Elements of one channel: 1 for a matrix.
    pub plane: u64,
    /// Elements of the tensor.
    pub elements: u64,
}

impl LinearForm {
    /// An elementwise Nest as a form of its operand `x`, a tensor of `dtype` with these channels.
    ///
    /// `None` if the Nest computes something else, or what a library would compute differently: an operand
    /// times zero, which libraries do not read, or one of which more than half cancels.
    pub fn of(nest: &Nest, x: usize, dtype: DType, tensor: Channels) -> Option<LinearForm> {
        let ([phase], true) = (&nest.phases[..], nest.is_map() && nest.grid == nest.axes.len()) else {
            return None;
        };
        let [store] = &phase.stores[..] else { return None };
        let written = nest.operands.iter().filter(|o| o.written).count();
        let whole = tensor.elements > 0 && nest.grid_points() == tensor.elements && written == 1;
        if !whole || store.add || store.when.is_some() || !dtype.is_float() {
            return None;
        }
        let stored = nest.operands.get(store.operand)?;
        if stored.dtype != dtype || tensor.reach(stored, &store.index, &nest.axes)? != Reach::Whole {
            return None;
        }
        let reader = LinearFormMatcher { nest, x, dtype, tensor };
        let dtypes = verify::dtypes(nest, 0).ok()?;
        let mut sums: Vec<Option<LinearSum>> = Vec::with_capacity(dtypes.len());
        for (inst, of) in phase.block.insts.iter().zip(dtypes) {
            // Libraries compute at the type of sums, so values of the Nest that are halves are not rounded.
            let fits = of == dtype || of == dtype.register();
            sums.push(if fits { reader.sum(inst, &sums) } else { None });
        }
        reader.form(sums.get(store.value as usize)?.as_ref()?, store.operand)
    }
}

/// Which element of an operand each point reads, of the patterns that libraries have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The element at the point's row-major position. An operand that could be either is this one.
    Whole,
    /// The element of the point's channel.
    Channel,
}

impl Channels {
    fn reach(&self, operand: &Operand, index: &[Index], axes: &[u64]) -> Option<Reach> {
        let address = operand.affine(index, axes.len())?;
        if address.is_row_major(axes) {
            return Some(Reach::Whole);
        }
        let (mut by_channel, mut position) = (address.offset == 0, 1u64);
        let steps = axes.iter().zip(&address.coefficients).rev();
        for (&extent, &step) in steps.filter(|(extent, _)| **extent != 1) {
            let step = u64::try_from(step).ok()?;
            let past = position.checked_mul(extent)?;
            by_channel &= self.channel_step(position, past) == Some(step);
            position = past;
        }
        by_channel.then_some(Reach::Channel)
    }

    /// Channels from one point to the next along an axis whose points are `position` elements apart and which
    /// ends before element `past`; `None` if that number varies along the axis.
    fn channel_step(&self, position: u64, past: u64) -> Option<u64> {
        let all = self.channels.checked_mul(self.plane)?;
        if self.channels == 1 || past <= self.plane || position >= all {
            return Some(0);
        }
        let along = position >= self.plane && past <= all;
        along.then(|| position.checked_div(self.plane)).flatten()
    }
}

/// A sum of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Number {
    value: f64,
    /// The sum of their absolute values.
    size: f64,
}

impl Number {
    fn of(value: f64) -> Number {
        Number { value, size: value.abs() }
    }

    fn plus(self, other: Number) -> Number {
        Number { value: self.value + other.value, size: self.size + other.size }
    }

    fn times(self, by: f64) -> Number {
        Number { value: self.value * by, size: self.size * by.abs() }
    }

    /// The number as a factor for operands of this dtype. `None` if more than half of its terms cancel: the
    /// Nest rounds the scaled operands before it subtracts, and users may rely on it. `None` also for zero,
    /// by which libraries do not multiply, and for all that is not a normal number of the computing type.
    fn factor(self, dtype: DType) -> Option<f64> {
        let value = Scalar::from_f64(dtype.register(), self.value).to_f64();
        let normal = if dtype == DType::F64 { value.is_normal() } else { (value as f32).is_normal() };
        (normal && 2.0 * value.abs() >= self.size).then_some(value)
    }
}

/// An operand times a number.
#[derive(Clone, Copy, Debug)]
struct LinearTerm {
    operand: usize,
    reach: Reach,
    by: Number,
}

/// A sum of operands times numbers and of a constant.
#[derive(Clone, Debug, Default)]
struct LinearSum {
    terms: Vec<LinearTerm>,
    constant: Number,
    /// Whether negative sums become 0; such a sum is final.
    relu: bool,
}

impl LinearSum {
    /// The value of a constant.
    fn number(&self) -> Option<f64> {
        self.terms.is_empty().then_some(self.constant.value)
    }

    fn times(&self, by: f64) -> Option<LinearSum> {
        let terms = self.terms.iter().map(|t| LinearTerm { by: t.by.times(by), ..*t }).collect();
        (!self.relu).then(|| LinearSum { terms, constant: self.constant.times(by), relu: false })
    }

    /// `self + by * other`; `None` if the sum has too many operands.
    fn plus(&self, other: &LinearSum, by: f64) -> Option<LinearSum> {
        let other = other.times(by)?;
        let mut sum = LinearSum { constant: self.constant.plus(other.constant), ..self.clone() };
        for term in other.terms {
            let same = |t: &&mut LinearTerm| (t.operand, t.reach) == (term.operand, term.reach);
            match sum.terms.iter_mut().find(same) {
                Some(found) => found.by = found.by.plus(term.by),
                None => sum.terms.push(term),
            }
        }
        (!self.relu && sum.terms.len() <= OPERANDS).then_some(sum)
    }

    /// The maximum of two, one of which must be 0; not the negative zero, which ReLU would keep.
    fn or_zero(&self, other: &LinearSum) -> Option<LinearSum> {
        let is_zero = |sum: &LinearSum| sum.number().is_some_and(|number| number.to_bits() == 0);
        match (is_zero(self), is_zero(other)) {
            (false, true) => Some(LinearSum { relu: true, ..self.clone() }),
            (true, false) => Some(LinearSum { relu: true, ..other.clone() }),
            _ => None,
        }
    }
}

/// Reads a Nest as a form of its operand `x`.
struct LinearFormMatcher<'a> {
    nest: &'a Nest,
    x: usize,
    dtype: DType,
    tensor: Channels,
}

impl LinearFormMatcher<'_> {
    /// The sum that an instruction computes, from the sums of earlier instructions.
    fn sum(&self, inst: &Inst, sums: &[Option<LinearSum>]) -> Option<LinearSum> {
        let sum = |value: &u32| sums.get(*value as usize)?.as_ref();
        match inst {
            Inst::Const(number) => {
                Some(LinearSum { constant: Number::of(number.to_f64()), ..LinearSum::default() })
            }
            Inst::Load { operand, index } => {
                let described = self.nest.operands.get(*operand)?;
                let reach = self.tensor.reach(described, index, &self.nest.axes)?;
                let term = LinearTerm { operand: *operand, reach, by: Number::of(1.0) };
                (described.dtype == self.dtype)
                    .then(|| LinearSum { terms: vec![term], ..LinearSum::default() })
            }
            Inst::Cast { value, .. } => sum(value).cloned(),
            Inst::Op { op, args } => match (*op, &args[..]) {
                (ops::ADD, [a, b]) => sum(a)?.plus(sum(b)?, 1.0),
                (ops::SUB, [a, b]) => sum(a)?.plus(sum(b)?, -1.0),
                (ops::NEG, [a]) => sum(a)?.times(-1.0),
                (ops::MAXIMUM, [a, b]) => sum(a)?.or_zero(sum(b)?),
                (ops::MUL, [a, b]) => {
                    let (a, b) = (sum(a)?, sum(b)?);
                    match (a.number(), b.number()) {
                        (_, Some(by)) => a.times(by),
                        (Some(by), None) => b.times(by),
                        (None, None) => None,
                    }
                }
                (ops::DIV, [a, b]) => self.quotient(sum(a)?, sum(b)?.number()?),
                _ => None,
            },
            _ => None,
        }
    }

    fn quotient(&self, a: &LinearSum, divisor: f64) -> Option<LinearSum> {
        let by = 1.0 / divisor;
        // A quotient is correctly rounded, a product by a rounded reciprocal is not. That is accepted for `x`
        // alone, whose sums are inexact anyway.
        let exact = by.is_normal() && divisor.to_bits() << 12 == 0;
        let own = a.constant == Number::default() && a.terms.iter().all(|t| t.operand == self.x);
        if exact || own { a.times(by) } else { None }
    }

    /// A sum that is stored to the operand `result`, as a form.
    fn form(&self, sum: &LinearSum, result: usize) -> Option<LinearForm> {
        if sum.constant != Number::default() {
            return None;
        }
        let (mut alpha, mut beta, mut added, mut bias) = (None, 0.0, None, None);
        for term in &sum.terms {
            match term.reach {
                Reach::Whole if term.operand == self.x => alpha = Some(term.by.factor(self.dtype)?),
                Reach::Whole if added.is_none() => {
                    (added, beta) = (Some(term.operand), term.by.factor(self.dtype)?);
                }
                // Libraries do not scale a bias. The result may not be stored over it.
                Reach::Channel if term.operand != self.x && bias.is_none() => {
                    let plain = term.by == Number::of(1.0) && term.operand != result;
                    bias = Some(plain.then_some(term.operand)?);
                }
                _ => return None,
            }
        }
        Some(LinearForm { alpha: alpha?, beta, added, bias, relu: sum.relu, result })
    }
}
