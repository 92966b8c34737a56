//! Axes, lengths and norms of Fourier transforms.

use super::op::{FourierOp, Transform};
use super::pairs;
use crate::error::Result;
use crate::graph::source_location;
use crate::graph::{IntoOperand, Operand, Variable};
use crate::ops::array_manipulation::{along, extent};
use crate::ops::axes::normalize_axis;
use crate::ops::complex::try_view_as_complex;
use crate::ops::creation::{full, int_scalar};
use crate::ops::elemwise::cast;
use crate::ops::index_expression::range;
use crate::ops::join::concatenate;
use crate::ops::methods::{fail, floats};
use crate::ops::shape::{DimShuffle, Extent};
use crate::ops::specify_shape::SpecifyShape;
use crate::value::Value;
use workalike_kernels::DType;

/// What the transforms of `n` elements are multiplied by: NumPy's `norm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// The inverse by `1 / n`.
    #[default]
    Backward,
    /// Both by `1 / sqrt(n)`, so that they keep the sum of squares.
    Ortho,
    /// The forward transform by `1 / n`.
    Forward,
}

/// The axes of a transform, its lengths and its norm: see [`over`].
#[derive(Clone, Debug, Default)]
pub struct Fft {
    /// All of them, if `None`.
    axes: Option<Vec<isize>>,
    lengths: Option<Vec<Operand>>,
    norm: Norm,
}

/// Transforms along these axes.
///
/// ```
/// use workalike::ops::fft::{self, Norm};
/// use workalike::prelude::*;
/// let x = tensor3::<f32>("x"); // images
/// let spectra = fft::over([-2, -1]).norm(Norm::Ortho).rfft(&x);
/// let padded = fft::over([-2, -1]).lengths([64, 64]).rfft(&x);
/// assert_eq!(spectra.ndim(), 3);
/// assert_eq!(padded.ty().shape[1..], [Some(64), Some(33)]);
/// # Ok::<(), workalike::Error>(())
/// ```
#[must_use]
pub fn over(axes: impl IntoIterator<Item = isize>) -> Fft {
    Fft { axes: Some(axes.into_iter().collect()), ..Fft::default() }
}

/// Declares a transform and its `try_` form.
macro_rules! transforms {
    ($($(#[doc = $doc:literal])* $name:ident / $try_name:ident: $z:ident, $of:expr;)*) => { $(
        $(#[doc = $doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(&self, $z: impl Into<Variable>) -> Variable {
            self.$try_name($z).unwrap_or_else(Variable::poison)
        }

        #[doc = concat!("[`Fft::", stringify!($name), "`], with its error at once.")]
        #[doc = ""]
        #[doc = "# Errors"]
        #[doc = "If the axes, the lengths or the types do not fit."]
        #[track_caller]
        pub fn $try_name(&self, $z: impl Into<Variable>) -> Result<Variable> {
            let $z = $z.into();
            let _scope = source_location::enter();
            $of(self, stringify!($name), &$z)
        }
    )* };
}

impl Fft {
    /// Along all axes.
    pub(super) fn all() -> Fft {
        Fft::default()
    }

    /// What the results are multiplied by; [`Norm::Backward`] otherwise.
    #[must_use]
    pub fn norm(self, norm: Norm) -> Fft {
        Fft { norm, ..self }
    }

    /// The number of elements along each axis, numbers or 0-d integer Variables: longer inputs are cut,
    /// shorter ones filled up with zeros (NumPy's `n` and `s`). Of [`Fft::irfft`] they are the extents of the
    /// result.
    #[must_use]
    pub fn lengths(self, lengths: impl IntoIterator<Item = impl IntoOperand>) -> Fft {
        Fft { lengths: Some(lengths.into_iter().map(IntoOperand::into_operand).collect()), ..self }
    }

    transforms! {
        /// [`fft`](super::fft()) along the axes.
        fft / try_fft: z, |fft: &Fft, op, z| fft.of_complex(op, z, Transform::Forward);
        /// The inverse of [`Fft::fft`].
        ifft / try_ifft: z, |fft: &Fft, op, z| fft.of_complex(op, z, Transform::Inverse);
        /// [`rfft`](super::rfft()) along the last of the axes, then [`fft`](super::fft()) along the others.
        rfft / try_rfft: x, Fft::of_reals;
        /// The inverse of [`Fft::rfft`], to an even number of real numbers along the last of the axes unless
        /// [`Fft::lengths`] says otherwise.
        irfft / try_irfft: z, Fft::to_reals;
    }

    fn of_complex(&self, op: &str, z: &Variable, transform: Transform) -> Result<Variable> {
        let mut z = pairs(op, z)?;
        let axes = self.axes(op, z.ndim() - 1)?;
        for (axis, length) in self.given(op, &axes)?.into_iter().flatten() {
            z = resized(&z, axis, &length)?;
        }
        let points = axes.iter().map(|&axis| extent(&z, axis)).collect::<Result<Vec<_>>>()?;
        let y =
            self.scaled(complex_along(&z, &axes, transform)?, &points, transform == Transform::Forward)?;
        try_view_as_complex(y)
    }

    fn of_reals(&self, op: &str, x: &Variable) -> Result<Variable> {
        if x.checked()?.dtype().is_complex() {
            return Err(fail(op, format!("expected real numbers, got {}; fft is for complex ones", x.ty())));
        }
        let mut x = floats(op, x)?;
        let axes = self.axes(op, x.ndim())?;
        for (axis, length) in self.given(op, &axes)?.into_iter().flatten() {
            x = resized(&x, axis, &length)?;
        }
        let points = axes.iter().map(|&axis| extent(&x, axis)).collect::<Result<Vec<_>>>()?;
        // At most three axes with the real numbers, the last of which is halved.
        let (others, last) = axes.split_at(axes.len().saturating_sub(3));
        let z = moved(&x, last, 0, |x| {
            Variable::apply1(FourierOp { transform: Transform::RealForward, axes: last.len() }, &[x])
        })?;
        let y = self.scaled(complex_along(&z, others, Transform::Forward)?, &points, true)?;
        try_view_as_complex(y)
    }

    fn to_reals(&self, op: &str, z: &Variable) -> Result<Variable> {
        let mut z = pairs(op, z)?;
        let axes = self.axes(op, z.ndim() - 1)?;
        let Some((&last, others)) = axes.split_last() else { return Err(fail(op, "no axes".into())) };
        let mut reals = None;
        for (axis, length) in self.given(op, &axes)?.into_iter().flatten() {
            if axis == last {
                let half = match fixed(&length) {
                    Some(n) => Variable::constant(n / 2 + 1),
                    None => length.try_floor_divide(2i64)?.try_add(1i64)?,
                };
                z = resized(&z, axis, &half)?;
                reals = Some(length);
            } else {
                z = resized(&z, axis, &length)?;
            }
        }
        let reals = match (reals, z.ty().shape[last]) {
            (Some(reals), _) => reals,
            (None, Some(half)) => Variable::constant(2 * (half as i64 - 1)),
            (None, None) => extent(&z, last)?.try_sub(1i64)?.try_mul(2i64)?,
        };
        let z = complex_along(&z, others, Transform::Inverse)?;
        let mut points = others.iter().map(|&axis| extent(&z, axis)).collect::<Result<Vec<_>>>()?;
        let y = moved(&z, &[last], 1, |z| real_inverse(&z, &reals))?;
        points.push(reals);
        self.scaled(y, &points, false)
    }

    /// The axes, counted from the first, of an array of so many.
    fn axes(&self, op: &str, rank: usize) -> Result<Vec<usize>> {
        let Some(axes) = &self.axes else {
            let all: Vec<usize> = (0..rank).collect();
            return if rank > 0 { Ok(all) } else { Err(fail(op, "an array without axes".into())) };
        };
        let list = axes.iter().map(|&axis| normalize_axis(axis, rank)).collect::<Result<Vec<_>, _>>();
        let list = list.map_err(|message| fail(op, message))?;
        let twice = list.iter().enumerate().find(|(at, axis)| list[..*at].contains(axis));
        match (twice, list.is_empty()) {
            (None, false) => Ok(list),
            (Some((_, axis)), _) => Err(fail(op, format!("axis {axis} is given twice"))),
            (None, true) => Err(fail(op, "no axes".into())),
        }
    }

    /// The lengths with their axes, if they are given.
    fn given(&self, op: &str, axes: &[usize]) -> Result<Option<Vec<(usize, Variable)>>> {
        let Some(lengths) = &self.lengths else { return Ok(None) };
        if lengths.len() != axes.len() {
            return Err(fail(op, format!("{} lengths for {} axes", lengths.len(), axes.len())));
        }
        let mut given = Vec::new();
        for (&axis, length) in axes.iter().zip(lengths) {
            let length = int_scalar(op, length.clone())?;
            if let Some(n) = fixed(&length).filter(|n| *n < 1) {
                return Err(fail(op, format!("a length of {n}; lengths are at least 1")));
            }
            given.push((axis, length));
        }
        Ok(Some(given))
    }

    /// The result multiplied as the norm says.
    fn scaled(&self, y: Variable, points: &[Variable], forward: bool) -> Result<Variable> {
        let exponent = match (self.norm, forward) {
            (Norm::Backward, false) | (Norm::Forward, true) => -1.0,
            (Norm::Ortho, _) => -0.5,
            _ => return Ok(y),
        };
        let known = points.iter().map(fixed).collect::<Option<Vec<i64>>>();
        if let Some(known) = known {
            let points: f64 = known.iter().map(|&n| n as f64).product();
            return y.try_mul(points.powf(exponent));
        }
        let mut product = Variable::constant(1.0f64);
        for extent in points {
            product = product.try_mul(cast(extent, DType::F64)?)?;
        }
        y.try_mul(cast(&product.try_pow(exponent)?, y.dtype())?)
    }
}

/// The value of a 0-d integer that is a constant.
fn fixed(n: &Variable) -> Option<i64> {
    let number = n.constant_value().and_then(Value::to_scalar)?;
    i64::try_from(number.to_i128()).ok()
}

/// `then` of the array with these axes last, before so many others that stay last; the axes of its result are
/// put back.
fn moved(
    x: &Variable,
    axes: &[usize],
    behind: usize,
    then: impl FnOnce(Variable) -> Result<Variable>,
) -> Result<Variable> {
    let rank = x.ndim() - behind;
    let others = (0..rank).filter(|axis| !axes.contains(axis));
    let order: Vec<usize> = others.chain(axes.iter().copied()).collect();
    if order.is_sorted() {
        return then(x.clone());
    }
    let to = |order: &[usize], x: &Variable| {
        DimShuffle::of(x, order.iter().copied().chain(rank..x.ndim()).map(Some).collect())
    };
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
    to(&back, &then(to(&order, x)?)?)
}

/// Transforms of complex numbers along axes, three at a time.
fn complex_along(z: &Variable, axes: &[usize], transform: Transform) -> Result<Variable> {
    let mut z = z.clone();
    for axes in axes.rchunks(3) {
        let op = FourierOp { transform, axes: axes.len() };
        z = moved(&z, axes, 1, |z| Variable::apply1(op, &[z]))?;
    }
    Ok(z)
}

/// [`Transform::RealInverse`] to so many real numbers, along the last axis.
fn real_inverse(z: &Variable, points: &Variable) -> Result<Variable> {
    let (length, mut inputs) = match fixed(points).and_then(|n| usize::try_from(n).ok()) {
        Some(n) => (Extent::Fixed(n), vec![]),
        None => (Extent::Input(0), vec![points.clone()]),
    };
    inputs.insert(0, z.clone());
    Variable::apply1(FourierOp { transform: Transform::RealInverse(length), axes: 1 }, &inputs)
}

/// The inverse along the last axes: of complex numbers along all but the last one, and to `points` real
/// numbers along that.
pub(super) fn to_reals(z: &Variable, axes: usize, points: &Variable) -> Result<Variable> {
    let rank = z.ndim() - 1;
    let others: Vec<usize> = (rank - axes..rank - 1).collect();
    real_inverse(&complex_along(z, &others, Transform::Inverse)?, points)
}

/// The array cut, or filled up with zeros, to a length along an axis.
fn resized(x: &Variable, axis: usize, length: &Variable) -> Result<Variable> {
    let to = fixed(length).and_then(|n| usize::try_from(n).ok());
    let cut = |x: &Variable| x.try_index(along(axis, range(0, length)));
    let fill = |by: &Variable| -> Result<Variable> {
        let extents = (0..x.ndim()).map(|at| if at == axis { Ok(by.clone()) } else { extent(x, at) });
        let zeros = cast(&full(extents.collect::<Result<Vec<_>>>()?, 0.0f32), x.dtype())?;
        Ok(concatenate([x, &zeros], axis as isize))
    };
    match (x.ty().shape[axis], to) {
        (Some(from), Some(to)) if from == to => Ok(x.clone()),
        (Some(from), Some(to)) if from > to => cut(x),
        (Some(from), Some(to)) => fill(&Variable::constant((to - from) as i64)),
        (_, None) => cut(&fill(length)?),
        (None, Some(_)) => {
            let mut extents = vec![None; x.ndim()];
            extents[axis] = to;
            Variable::apply1(SpecifyShape { extents }, &[cut(&fill(length)?)?])
        }
    }
}
