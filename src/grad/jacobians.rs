//! Derivatives composed of reverse mode: products with the Jacobian from either side, the Jacobian itself,
//! second derivatives.

use super::{Disconnected, Grad};
use crate::error::Result;
use crate::graph::{Variable, source_location};
use crate::op::Batched;
use crate::ops::batching::{batched_by, repeated};
use crate::ops::methods::fail;
use crate::ops::{Ix, arange, full_like, stack, zeros_like};
use std::collections::HashMap;

/// Maximum number of rows of a Jacobian that are computed one by one, each as a gradient of its own.
const ROWS: usize = 4096;

fn list(variables: impl IntoIterator<Item = impl Into<Variable>>) -> Vec<Variable> {
    variables.into_iter().map(Into::into).collect()
}

/// Vector-Jacobian product (the L-operator): the gradient with respect to each of `wrt`, given that of
/// `expression`. Zeros where there is no smooth dependence.
///
/// # Errors
/// If an expression is ill-typed, or `cotangent` has another type than `expression`.
#[track_caller]
pub fn vjp(
    expression: &Variable,
    wrt: impl IntoIterator<Item = impl Into<Variable>>,
    cotangent: &Variable,
) -> Result<Vec<Variable>> {
    Grad::known([(expression, cotangent)]).disconnected(Disconnected::Zero).wrt(wrt)
}

/// Jacobian-vector product (the R-operator): how `expression` changes when each of `wrt` moves along its
/// tangent.
///
/// Reverse mode is linear in its cotangent, so its derivative with respect to the cotangent, in reverse mode
/// again, is forward mode (J. Townsend, "A new trick for calculating Jacobian vector products", 2017). No op
/// needs a rule for it.
///
/// ```
/// use workalike::grad::jvp;
/// use workalike::prelude::*;
/// let (x, v) = (vector::<f64>("x"), vector::<f64>("v"));
/// let along = jvp(&x.exp(), [&x], [&v])?;
/// let f = function([&x, &v]).output(&along).compile()?;
/// assert_eq!(f.call(args![vec![0.0, 0.0], vec![3.0, 5.0]])?[0].to_vec::<f64>()?, [3.0, 5.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If an expression is ill-typed, or a tangent has another type than its Variable.
#[track_caller]
pub fn jvp(
    expression: &Variable,
    wrt: impl IntoIterator<Item = impl Into<Variable>>,
    tangents: impl IntoIterator<Item = impl Into<Variable>>,
) -> Result<Variable> {
    let (wrt, tangents) = (list(wrt), list(tangents));
    let _scope = source_location::enter();
    if wrt.len() != tangents.len() {
        return Err(fail(
            "jvp",
            format!("expected a tangent for each of {} Variables, got {}", wrt.len(), tangents.len()),
        ));
    }
    // The value of the cotangent does not matter: the derivative with respect to it does not contain it.
    let cotangent = zeros_like(expression.checked()?);
    let back = Grad::known([(expression, &cotangent)]).wrt_connected(&wrt)?;
    let pairs = back.into_iter().zip(tangents).filter_map(|(g, t)| g.map(|g| (g, t)));
    Ok(Grad::known(pairs).disconnected(Disconnected::Zero).wrt([&cotangent])?.swap_remove(0))
}

/// The derivatives of each element of `expression`, 0-d or a vector of any length, with respect to each of
/// `wrt`: of shape `(length, shape of the Variable)`.
///
/// The backward pass is computed once for all rows, with one more axis in front, so it takes as much memory
/// as a batch of that many rows. Where an op has no batching rule ([`Op::batch`]), the rows are computed one
/// by one, if the type gives their number.
///
/// [`Op::batch`]: crate::ops::Op::batch
///
/// ```
/// use workalike::prelude::*;
/// let x = vector::<f64>("x");
/// let j = jacobian(&(x.sqr() * x.sum(..)), [&x])?;
/// let f = function([&x]).output(&j[0]).compile()?;
/// assert_eq!(f.call(args![[1.0, 2.0]])?[0].to_vec::<f64>()?, [7.0, 1.0, 4.0, 16.0]);
/// # Ok::<(), workalike::Error>(())
/// ```
///
/// # Errors
/// If an expression is ill-typed or has more axes; if its length is not known, or above 4,096, and an op has
/// no rule for all rows at once.
#[track_caller]
pub fn jacobian(
    expression: &Variable,
    wrt: impl IntoIterator<Item = impl Into<Variable>>,
) -> Result<Vec<Variable>> {
    let (wrt, expression) = (list(wrt), expression.checked()?);
    let _scope = source_location::enter();
    match expression.ty().shape.as_slice() {
        [] => Grad::of(expression).disconnected(Disconnected::Zero).wrt(&wrt),
        &[length] => {
            let rows = all_rows(expression, &wrt);
            match length.filter(|&length| length <= ROWS) {
                Some(length) => rows.or_else(|_| row_by_row(expression, &wrt, length)),
                None => rows,
            }
        }
        _ => Err(fail("jacobian", format!("expected a 0-d expression or a vector, got {}", expression.ty()))),
    }
}

/// The backward pass for all rows of the unit matrix at once.
fn all_rows(expression: &Variable, wrt: &[Variable]) -> Result<Vec<Variable>> {
    let expression = &Grad::default().stabilized(expression, wrt)?;
    let cotangent = Variable::input("cotangent", expression.ty().clone());
    let back = Grad::known([(expression, &cotangent)]).disconnected(Disconnected::Zero).wrt(wrt)?;
    let count = expression.try_extent(0)?.with_weakness(false);
    let at = arange(&count);
    let unit = at.try_expand_dims(1)?.try_equal(&at)?.try_cast(expression.dtype())?;
    let length = expression.ty().shape[0];
    let unit = if length.is_some() { unit.try_specify_shape([length, length])? } else { unit };
    batched(&back, &cotangent, &unit, &count)
}

/// A gradient for each row.
fn row_by_row(expression: &Variable, wrt: &[Variable], length: usize) -> Result<Vec<Variable>> {
    let mut rows: Vec<Vec<Variable>> = vec![Vec::with_capacity(length); wrt.len()];
    for at in 0..length {
        let row = expression.try_index([(at as i64).into()])?;
        let slopes = Grad::of(&row).disconnected(Disconnected::Zero).wrt(wrt)?;
        rows.iter_mut().zip(slopes).for_each(|(rows, slope)| rows.push(slope));
    }
    let empty = |variable: &Variable| {
        let none = full_like(variable, 0i64).try_expand_dims(0)?;
        none.try_index([Ix::from(0..0)])
    };
    let whole = rows.into_iter().zip(wrt).map(|(rows, variable)| {
        if rows.is_empty() { empty(variable) } else { stack(rows, 0).checked().cloned() }
    });
    whole.collect()
}

/// The second derivatives of `cost`, a 0-d float, by each pair of elements of a vector: a square matrix for
/// each of `wrt`.
///
/// # Errors
/// As [`jacobian`].
#[track_caller]
pub fn hessian(cost: &Variable, wrt: impl IntoIterator<Item = impl Into<Variable>>) -> Result<Vec<Variable>> {
    let (wrt, mut blocks) = (list(wrt), Vec::new());
    let _scope = source_location::enter();
    for variable in wrt {
        let slope = Grad::of(cost).disconnected(Disconnected::Zero).wrt([&variable])?.swap_remove(0);
        blocks.push(jacobian(&slope, [&variable])?.swap_remove(0));
    }
    Ok(blocks)
}

/// Hessian-vector products: how the gradient of `cost` with respect to `wrt` changes when those move along
/// `tangents`. The Hessian is not computed.
///
/// # Errors
/// If an expression is ill-typed, the cost is not a 0-d float, a tangent has another type than its Variable,
/// or there is not one tangent for each Variable.
#[track_caller]
pub fn hvp(
    cost: &Variable,
    wrt: impl IntoIterator<Item = impl Into<Variable>>,
    tangents: impl IntoIterator<Item = impl Into<Variable>>,
) -> Result<Vec<Variable>> {
    let (wrt, tangents) = (list(wrt), list(tangents));
    let _scope = source_location::enter();
    if wrt.len() != tangents.len() {
        return Err(fail(
            "hvp",
            format!("expected a tangent for each of {} Variables, got {}", wrt.len(), tangents.len()),
        ));
    }
    let slopes = Grad::of(cost).disconnected(Disconnected::Zero).wrt(&wrt)?;
    // The Hessian is symmetric: a product from the left is one from the right.
    Grad::known(slopes.into_iter().zip(tangents)).disconnected(Disconnected::Zero).wrt(&wrt)
}

/// `roots` for each of the values of `input` in `batch`, which has one more axis, in front, of extent
/// `count`; so have the results.
///
/// # Errors
/// If an op between has no rule: names it.
fn batched(
    roots: &[Variable],
    input: &Variable,
    batch: &Variable,
    count: &Variable,
) -> Result<Vec<Variable>> {
    let stands = HashMap::from([(input.key(), Batched::each(batch.clone()))]);
    let whole = |root: Batched| match root {
        Batched { variable, batched: true } => Ok(variable),
        Batched { variable, .. } => repeated(&variable, count),
    };
    batched_by(roots, stands, count)?.into_iter().map(whole).collect()
}
