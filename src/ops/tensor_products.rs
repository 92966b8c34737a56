//! Products as methods and functions: NumPy's `matmul`, `tensordot`, `outer`, `kron`, `cross` and their like.

use super::axes::{Axes, normalize_axis};
use super::contract::{Label, contract};
use super::dot::{Dot, dot, matmul, promoted, times};
use super::index_expression::Ix;
use super::join::stack;
use super::methods::{fail, methods};
use super::shape::{DimShuffle, Extent, Reshape, ShapeOf};
use crate::error::Result;
use crate::graph::{Variable, source_location};

/// Which axes [`Variable::tensordot`] sums over: a number of them, the last of the first factor and the first
/// of the second; or lists, of each factor's axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensordotAxes {
    /// This number of axes.
    Count(usize),
    /// These of the first factor, and in the same order those of the second.
    Lists(Vec<isize>, Vec<isize>),
}

impl From<usize> for TensordotAxes {
    fn from(count: usize) -> TensordotAxes {
        TensordotAxes::Count(count)
    }
}
impl From<i32> for TensordotAxes {
    /// A negative number becomes one that exceeds every rank, which is an error later.
    fn from(count: i32) -> TensordotAxes {
        TensordotAxes::Count(usize::try_from(count).unwrap_or(usize::MAX))
    }
}
impl<const M: usize, const N: usize> From<([isize; M], [isize; N])> for TensordotAxes {
    fn from((a, b): ([isize; M], [isize; N])) -> TensordotAxes {
        TensordotAxes::Lists(a.to_vec(), b.to_vec())
    }
}
impl From<(&[isize], &[isize])> for TensordotAxes {
    fn from((a, b): (&[isize], &[isize])) -> TensordotAxes {
        TensordotAxes::Lists(a.to_vec(), b.to_vec())
    }
}

impl TensordotAxes {
    /// The axes of each, for tensors of these ranks.
    fn resolve(&self, a: usize, b: usize) -> Result<[Vec<usize>; 2], String> {
        let (left, right) = match self {
            TensordotAxes::Count(n) if *n > a.min(b) => {
                return Err(format!("factors of {a} and {b} axes have not {n} to sum over"));
            }
            TensordotAxes::Count(n) => return Ok([(a - n..a).collect(), (0..*n).collect()]),
            TensordotAxes::Lists(left, right) => (left, right),
        };
        if left.len() != right.len() {
            return Err(format!("{} axes of one factor, {} of the other", left.len(), right.len()));
        }
        let of = |list: &[isize], rank: usize| -> Result<Vec<usize>, String> {
            // For the error if one is named twice.
            list.axes(rank)?;
            list.iter().map(|&axis| normalize_axis(axis, rank)).collect()
        };
        Ok([of(left, a)?, of(right, b)?])
    }
}

/// Summed over these axes of both.
fn over_axes(a: &Variable, b: &Variable, [left, right]: &[Vec<usize>; 2]) -> Result<Variable> {
    let la: Vec<Label> = (0..a.ndim() as Label).collect();
    let mut lb: Vec<Label> = (0..b.ndim()).map(|axis| (a.ndim() + axis) as Label).collect();
    left.iter().zip(right).for_each(|(&l, &r)| lb[r] = la[l]);
    let kept = |labels: &[Label], axes: &[usize]| -> Vec<Label> {
        (0..labels.len()).filter(|axis| !axes.contains(axis)).map(|axis| labels[axis]).collect()
    };
    let out = [kept(&la, left), kept(&lb, right)].concat();
    contract((a, &la), (b, &lb), &out)
}

fn flat(x: &Variable) -> Result<Variable> {
    if x.ndim() == 1 { Ok(x.clone()) } else { Reshape::of(x, vec![Extent::Infer], &[]) }
}

/// The elements along an axis of extent 2 or 3, which is dropped.
fn components(x: &Variable, axis: isize) -> Result<(Vec<Variable>, usize)> {
    let axis = normalize_axis(axis, x.ndim()).map_err(|m| fail("cross", m))?;
    let mut extents = vec![None; x.ndim()];
    let (x, count) = match x.ty().shape[axis] {
        Some(n @ (2 | 3)) => (x.clone(), n),
        None => {
            extents[axis] = Some(3);
            (x.try_specify_shape(extents)?, 3)
        }
        Some(n) => {
            return Err(fail(
                "cross",
                format!("vectors have 2 or 3 elements; axis {axis} of {} has {n}", x.ty()),
            ));
        }
    };
    let mut list = Vec::new();
    for at in 0..count {
        let mut entries = vec![Ix::from(..); axis];
        entries.push(Ix::from(at as i64));
        list.push(x.try_index(entries)?);
    }
    Ok((list, axis))
}

methods! {
    /// NumPy's `matmul`: products of the matrices in the last two axes; the axes before broadcast. A vector
    /// is a row on the left and a column on the right, whose axis of extent 1 goes.
    matmul / try_matmul(x, other: impl Into<Variable>) { matmul(x, &other.into()) }
    /// NumPy's `tensordot`: summed over `2` axes, the last of one and the first of the other, or over `([0,
    /// 2], [1, 0])`.
    tensordot / try_tensordot(x, other: impl Into<Variable>, axes: impl Into<TensordotAxes>) {
        let [a, b] = promoted(x, &other.into())?;
        let axes = axes.into().resolve(a.ndim(), b.ndim()).map_err(|m| fail("tensordot", m))?;
        over_axes(&a, &b, &axes)
    }
    /// Every element of one times every element of the other: a row for each of the first.
    outer / try_outer(x, other: impl Into<Variable>) {
        let [a, b] = promoted(x, &other.into())?;
        times(&DimShuffle::of(&flat(&a)?, vec![Some(0), None])?, &flat(&b)?)
    }
    /// Summed over the last axis of both (NumPy's `inner`).
    inner / try_inner(x, other: impl Into<Variable>) {
        let [a, b] = promoted(x, &other.into())?;
        match [a.ndim(), b.ndim()] {
            [0, _] | [_, 0] => times(&a, &b),
            [left, right] => over_axes(&a, &b, &[vec![left - 1], vec![right - 1]]),
        }
    }
    /// Blocks of the other, each times an element of this one (NumPy's `kron`).
    kron / try_kron(x, other: impl Into<Variable>) {
        let [a, b] = promoted(x, &other.into())?;
        let rank = a.ndim().max(b.ndim());
        let (a, b) = (DimShuffle::pad_left(&a, rank)?, DimShuffle::pad_left(&b, rank)?);
        let split = |first: bool| (0..rank).flat_map(move |axis| [first.then_some(axis), (!first).then_some(axis)]);
        let blocks = times(&DimShuffle::of(&a, split(true).collect())?, &DimShuffle::of(&b, split(false).collect())?)?;
        let (mut extents, mut further) = (Vec::new(), Vec::new());
        for axis in 0..rank {
            extents.push(match (a.ty().shape[axis], b.ty().shape[axis]) {
                (Some(m), Some(n)) => {
                    let product = m.checked_mul(n);
                    Extent::Fixed(product.ok_or_else(|| fail("kron", format!("an extent of {m} times {n}")))?)
                }
                _ => {
                    further.push(ShapeOf::of(&a, axis)?.try_mul(ShapeOf::of(&b, axis)?)?);
                    Extent::Input(further.len() - 1)
                }
            });
        }
        Reshape::of(&blocks, extents, &further)
    }
    /// The sum of products of all elements, of as many.
    vdot / try_vdot(x, other: impl Into<Variable>) {
        let [a, b] = promoted(x, &other.into())?;
        Dot::PLAIN.of(&flat(&a)?, &flat(&b)?)
    }
    /// The products of vectors along an axis; the other axes broadcast.
    vecdot / try_vecdot(x, other: impl Into<Variable>, axis: isize) {
        let [a, b] = promoted(x, &other.into())?;
        let [a_axis, b_axis] = [normalize_axis(axis, a.ndim()), normalize_axis(axis, b.ndim())];
        let (a_axis, b_axis) = (a_axis.map_err(|m| fail("vecdot", m))?, b_axis.map_err(|m| fail("vecdot", m))?);
        let (a, b) = (a.try_moveaxis(a_axis as isize, -1)?, b.try_moveaxis(b_axis as isize, -1)?);
        let rank = a.ndim().max(b.ndim());
        Dot { batch: rank - 1, contracted: 1 }.of(&DimShuffle::pad_left(&a, rank)?, &DimShuffle::pad_left(&b, rank)?)
    }
    /// The cross product of vectors of 2 or 3 elements along an axis: again along it, or, of two of 2
    /// elements, without it. An extent that is not known is taken to be 3, and it is an error at run time if
    /// it is not.
    cross / try_cross(x, other: impl Into<Variable>, axis: isize) {
        let [a, b] = promoted(x, &other.into())?;
        let (a, a_axis) = components(&a, axis)?;
        let (b, b_axis) = components(&b, axis)?;
        let turned = |i: usize, j: usize| times(&a[i], &b[j])?.try_sub(times(&a[j], &b[i])?);
        let last = turned(0, 1)?;
        let negative = |x: Variable| (-&x).checked().cloned();
        let [first, second] = match (a.len(), b.len()) {
            (2, 2) => return Ok(last),
            (2, _) => [times(&a[1], &b[2])?, negative(times(&a[0], &b[2])?)?],
            (_, 2) => [negative(times(&a[2], &b[1])?)?, times(&a[2], &b[0])?],
            _ => [turned(1, 2)?, turned(2, 0)?],
        };
        let axis = if axis < 0 { axis } else { a_axis.max(b_axis) as isize };
        stack([first, second, last], axis).checked().cloned()
    }
}

/// The product of several matrices (the first and the last may be vectors), in the order that costs least
/// where extents are known (NumPy's `linalg.multi_dot`).
#[track_caller]
#[must_use]
pub fn multi_dot(factors: impl IntoIterator<Item = impl Into<Variable>>) -> Variable {
    try_multi_dot(factors).unwrap_or_else(Variable::poison)
}

/// [`multi_dot`], with its error at once.
///
/// # Errors
/// If there are fewer than two factors, or they do not fit.
#[track_caller]
pub fn try_multi_dot(factors: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Variable> {
    let factors: Vec<Variable> = factors.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let count = factors.len();
    if count < 2 {
        return Err(fail("multi_dot", format!("two factors at least are needed, got {count}")));
    }
    for (at, factor) in factors.iter().enumerate() {
        let rank = factor.checked()?.ndim();
        if rank != 2 && !(rank == 1 && (at == 0 || at == count - 1)) {
            let message =
                format!("factor {at} is {}; a matrix is needed, or a vector at either end", factor.ty());
            return Err(fail("multi_dot", message));
        }
    }
    // The extents of the chain: between the factors, 1 at the end of a vector.
    let rows = factors.iter().map(|f| if f.ndim() == 2 { f.ty().shape[0] } else { Some(1) });
    let mut extents: Vec<Option<usize>> = rows.collect();
    let last = &factors[count - 1];
    extents[count - 1] = last.ty().shape[0];
    extents.push(if last.ndim() == 2 { last.ty().shape[1] } else { Some(1) });
    let known: Option<Vec<f64>> = extents.into_iter().map(|e| e.map(|e| e as f64)).collect();
    let Some(extents) = known else {
        let mut product = factors[0].clone();
        for factor in &factors[1..] {
            product = dot(&product, factor)?;
        }
        return Ok(product);
    };
    // For each part of the chain its product, and what it costs; longer ones from shorter ones.
    let mut parts: Vec<Vec<(f64, Variable)>> = vec![factors.into_iter().map(|f| (0.0, f)).collect()];
    for length in 1..count {
        let mut row = Vec::new();
        for start in 0..count - length {
            let cost = |cut: usize| {
                let (left, right) = (&parts[cut][start], &parts[length - cut - 1][start + cut + 1]);
                left.0 + right.0 + extents[start] * extents[start + cut + 1] * extents[start + length + 1]
            };
            let cut = (0..length).rev().min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
            let (left, right) = (&parts[cut][start].1, &parts[length - cut - 1][start + cut + 1].1);
            row.push((cost(cut), dot(left, right)?));
        }
        parts.push(row);
    }
    let whole = parts.pop().and_then(|mut row| row.pop());
    whole.map(|(_, product)| product).ok_or_else(|| fail("multi_dot", "there are no factors".into()))
}
