//! Padding of convolutions. Where types know the extents, the numbers of zeros are the op's; otherwise they
//! are expressions of the extents, and zeros are joined to the input, or cut from the output of a transpose.

use super::Conv;
use crate::error::Result;
use crate::graph::{Operand, Variable};
use crate::ops::array_manipulation::{along, extent};
use crate::ops::convolution::Convolution;
use crate::ops::creation::{full, int_scalar};
use crate::ops::index_expression::range;
use crate::ops::join::concatenate;
use crate::ops::methods::fail;
use crate::ops::windows::{affine_extent, effective_extent};
use crate::value::Value;
use workalike_kernels::Scalar;

/// Zeros before and after the input of a convolution, along each spatial axis.
///
/// [`Padding::Same`] and [`Padding::Full`] follow from the extents of the filters, which their type must know
/// ([`Variable::specify_shape`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Nothing: filters stay within the input.
    #[default]
    Valid,
    /// An output of the input's extent divided by the stride, rounded up, as JAX and TensorFlow pad; of an
    /// odd number of zeros the greater part comes after. Of a transposed convolution: an output of the
    /// input's extent times the stride.
    Same,
    /// All positions at which filters overlap the input: one element less than a filter covers, on both
    /// sides.
    Full,
    /// These numbers before and after, for each axis.
    Explicit(Vec<(usize, usize)>),
}

impl<const N: usize> From<[(usize, usize); N]> for Padding {
    fn from(pairs: [(usize, usize); N]) -> Padding {
        Padding::Explicit(pairs.to_vec())
    }
}
impl From<Vec<(usize, usize)>> for Padding {
    fn from(pairs: Vec<(usize, usize)>) -> Padding {
        Padding::Explicit(pairs)
    }
}

/// The zeros before and after an axis.
pub(super) type Around = [Operand; 2];

/// The number of elements that the filters cover along a spatial axis.
fn covered(name: &str, filters: &Variable, axis: usize, dilation: usize) -> Result<Operand> {
    if let Some(extent) = filters.ty().shape[axis + 2] {
        let covered = effective_extent(extent, dilation).map_err(|message| fail(name, message))?;
        return Ok(Operand::Int(covered as i128));
    }
    let dilation = i64::try_from(dilation);
    let dilation = dilation.map_err(|_| fail(name, "the dilation is longer than any axis".into()))?;
    affine_extent(filters, axis + 2, dilation, 1 - dilation)
}

/// `a - b`, at least 0.
fn excess(name: &str, a: Operand, b: Operand) -> Result<Operand> {
    match (a, b) {
        (Operand::Int(a), Operand::Int(b)) => Ok(Operand::Int(a.saturating_sub(b).max(0))),
        (a, b) => {
            let difference = int_scalar(name, a)?.try_sub(int_scalar(name, b)?)?;
            Ok(Operand::Variable(difference.try_maximum(0i64)?))
        }
    }
}

/// Zeros on both sides, one more of them after if their number is odd.
fn halves(zeros: Operand) -> Result<Around> {
    match zeros {
        Operand::Variable(zeros) => {
            let before = zeros.try_floor_divide(2i64)?;
            Ok([Operand::Variable(before.clone()), Operand::Variable(zeros.try_sub(before)?)])
        }
        Operand::Int(zeros) => Ok([Operand::Int(zeros / 2), Operand::Int(zeros - zeros / 2)]),
        other => Ok([other.clone(), other]),
    }
}

/// The zeros for an output of a convolution of the input's extent divided by the stride, rounded up.
fn same(name: &str, x: &Variable, axis: usize, stride: usize, covered: Operand) -> Result<Around> {
    if stride == 1 {
        return halves(excess(name, covered, Operand::Int(1))?);
    }
    let input = affine_extent(x, axis + 2, 1, 0)?;
    let stride = stride as i128;
    // From the first position of the filters to the last.
    let steps = match excess(name, input.clone(), Operand::Int(1))? {
        Operand::Int(last) => Operand::Int(last / stride * stride),
        last => {
            let stride = int_scalar(name, Operand::Int(stride))?;
            Operand::Variable(int_scalar(name, last)?.try_floor_divide(&stride)?.try_mul(stride)?)
        }
    };
    halves(excess(name, super::sum(name, steps, covered)?, input)?)
}

/// The pairs that were given.
fn explicit(name: &str, pairs: &[(usize, usize)], axes: usize) -> Result<Vec<Around>> {
    if pairs.len() == axes {
        let number = |n: usize| Operand::Int(n as i128);
        return Ok(pairs.iter().map(|&(before, after)| [number(before), number(after)]).collect());
    }
    Err(fail(name, format!("expected pairs of padding for {axes} spatial axes, got {pairs:?}")))
}

/// One element less than the filters cover, on both sides.
fn all_positions(name: &str, filters: &Variable, axis: usize, dilation: usize) -> Result<Around> {
    let more = excess(name, covered(name, filters, axis, dilation)?, Operand::Int(1))?;
    Ok([more.clone(), more])
}

/// The zeros around the input of a convolution, for each spatial axis.
pub(super) fn around_input(
    name: &str,
    options: &Conv,
    x: &Variable,
    filters: &Variable,
    op: &Convolution,
) -> Result<Vec<Around>> {
    let axes = op.stride.iter().zip(&op.dilation).enumerate();
    match &options.padding {
        Padding::Valid => explicit(name, &vec![(0, 0); op.stride.len()], op.stride.len()),
        Padding::Explicit(pairs) => explicit(name, pairs, op.stride.len()),
        Padding::Full => axes.map(|(axis, (_, d))| all_positions(name, filters, axis, *d)).collect(),
        Padding::Same => axes
            .map(|(axis, (stride, d))| same(name, x, axis, *stride, covered(name, filters, axis, *d)?))
            .collect(),
    }
}

/// The zeros around the output of a transposed convolution, as a convolution's input, and the additional
/// elements at its end, for each spatial axis.
pub(super) fn around_output(
    name: &str,
    options: &Conv,
    filters: &Variable,
    op: &Convolution,
) -> Result<(Vec<Around>, Vec<Operand>)> {
    let axes = op.stride.len();
    let given =
        if options.output_padding.is_empty() { vec![0; axes] } else { options.output_padding.clone() };
    if given.len() != axes || given.iter().zip(&op.stride).any(|(more, stride)| more >= stride) {
        let message = format!(
            "expected an output_padding below the stride along each of {axes} spatial axes, got {given:?} with \
             strides {:?}",
            op.stride
        );
        return Err(fail(name, message));
    }
    let longer = given.iter().map(|&more| Operand::Int(more as i128)).collect();
    let of_axes = op.stride.iter().zip(&op.dilation).enumerate();
    match &options.padding {
        Padding::Valid => Ok((explicit(name, &vec![(0, 0); axes], axes)?, longer)),
        Padding::Explicit(pairs) => Ok((explicit(name, pairs, axes)?, longer)),
        Padding::Full => {
            let around = of_axes.map(|(axis, (_, d))| all_positions(name, filters, axis, *d));
            Ok((around.collect::<Result<_>>()?, longer))
        }
        Padding::Same if given.iter().any(|&more| more > 0) => {
            Err(fail(name, "expected no output_padding with Same padding, which says the extents".into()))
        }
        Padding::Same => {
            let of = |(axis, (stride, d)): (usize, (&usize, &usize))| {
                let (stride, covered) = (Operand::Int(*stride as i128), covered(name, filters, axis, *d)?);
                let around = halves(excess(name, covered.clone(), stride.clone())?)?;
                Ok((around, excess(name, stride, covered)?))
            };
            of_axes.map(of).collect::<Result<Vec<_>>>().map(|both| both.into_iter().unzip())
        }
    }
}

/// The op's numbers of an axis, and what is left to be done without it: known numbers are the op's.
pub(super) fn counted(around: Around) -> ((usize, usize), Option<Around>) {
    match around {
        // No array has an axis of so many elements.
        [Operand::Int(before), Operand::Int(after)] => {
            let number = |n: i128| usize::try_from(n).unwrap_or(usize::MAX);
            ((number(before), number(after)), None)
        }
        around => ((0, 0), Some(around)),
    }
}

/// An input with the zeros around it whose number is not known, and the numbers of the others.
pub(super) fn padded(name: &str, x: Variable, around: &[Around]) -> Result<(Variable, Vec<(usize, usize)>)> {
    let (mut x, mut numbers) = (x, Vec::with_capacity(around.len()));
    for (axis, around) in around.iter().enumerate() {
        let (number, left) = counted(around.clone());
        numbers.push(number);
        let Some(around) = left else { continue };
        let [before, after] = around.map(|count| {
            let mut shape = (0..x.ndim()).map(|axis| extent(&x, axis)).collect::<Result<Vec<_>>>()?;
            shape[axis + 2] = int_scalar(name, count)?;
            let zero = Variable::constant(Value::scalar(Scalar::from_f64(x.dtype(), 0.0)));
            full(&shape, zero).checked().cloned()
        });
        x = concatenate([before?, x, after?], axis as isize + 2).checked()?.clone();
    }
    Ok((x, numbers))
}

/// An output without the elements at its ends whose number is not known.
pub(super) fn without(name: &str, y: Variable, cut: Vec<Option<Around>>) -> Result<Variable> {
    let mut y = y;
    for (axis, cut) in cut.into_iter().enumerate() {
        let Some([before, after]) = cut else { continue };
        let (first, last) =
            (int_scalar(name, before)?, extent(&y, axis + 2)?.try_sub(int_scalar(name, after)?)?);
        y = y.try_index(along(axis + 2, range(first, last)))?;
    }
    Ok(y)
}
