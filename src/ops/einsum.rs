//! `einsum`: products of any number of tensors, written with a letter for each axis.
//!
//! The string becomes names of axes; axes named twice in one tensor become diagonals. Then two tensors at a
//! time are contracted ([`super::contract`]) until one is left, in the cheapest order if extents are known.

mod order;
mod subscripts;

use super::contract::{Label, arranged, contract, find, summed, without};
use super::creation::arange;
use super::elemwise::cast;
use super::index_expression::Ix;
use super::methods::fail;
use super::shape::{DimShuffle, ShapeOf};
use super::specify_shape::EqualExtents;
use crate::error::Result;
use crate::graph::Variable;
use crate::graph::source_location;
use order::{joined, order};
use std::collections::HashMap;
use subscripts::{name, parse};

/// NumPy's `einsum`: `einsum("bij,bjk->bik", [&a, &b])`. Every string that NumPy takes is valid, with an
/// output or without, with `...` and with letters that occur twice. The result has the dtype that the tensors
/// promote to, and sums are accumulated in it.
#[track_caller]
#[must_use]
pub fn einsum(subscripts: &str, operands: impl IntoIterator<Item = impl Into<Variable>>) -> Variable {
    try_einsum(subscripts, operands).unwrap_or_else(Variable::poison)
}

/// [`einsum`], with its error at once.
///
/// # Errors
/// If the string is malformed, or does not fit the operands.
#[track_caller]
pub fn try_einsum(
    subscripts: &str,
    operands: impl IntoIterator<Item = impl Into<Variable>>,
) -> Result<Variable> {
    let operands: Vec<Variable> = operands.into_iter().map(Into::into).collect();
    let _scope = source_location::enter();
    let mut ranks = Vec::new();
    for operand in &operands {
        ranks.push(operand.checked()?.ndim());
    }
    let Some(dtype) = operands.iter().map(Variable::dtype).reduce(workalike_kernels::DType::promote) else {
        return Err(fail("einsum", "there are no operands".into()));
    };
    let (inputs, output) =
        parse(subscripts, &ranks).map_err(|m| fail("einsum", format!("\"{subscripts}\": {m}")))?;
    let mut list: Vec<(Variable, Vec<Label>)> = Vec::new();
    for (at, (operand, labels)) in operands.iter().zip(inputs).enumerate() {
        even(operand, &labels).map_err(|m| fail("einsum", format!("\"{subscripts}\": operand {at}: {m}")))?;
        list.push(diagonals(cast(operand, dtype)?, labels)?);
    }
    let extents = extents(&list).map_err(|m| fail("einsum", format!("\"{subscripts}\": {m}")))?;
    // An axis of extent 1 broadcasts against the others of its name.
    for (x, labels) in &mut list {
        let ones: Vec<usize> =
            (0..x.ndim()).filter(|&a| x.ty().shape[a] == Some(1) && extents[&labels[a]] != Some(1)).collect();
        (*x, *labels) = without(x, labels, &ones)?;
    }
    for at in 0..list.len() {
        let alone = |l: Label| {
            !output.contains(&l)
                && list.iter().enumerate().all(|(i, (_, other))| i == at || !other.contains(&l))
        };
        let (x, labels) = &list[at];
        list[at] = summed(x, labels, alone)?;
    }
    let names: Vec<Vec<Label>> = list.iter().map(|(_, labels)| labels.clone()).collect();
    for (i, j) in order(names, &output, &extents) {
        let (b, lb) = list.remove(j);
        let (a, la) = &list[i];
        let rest =
            list.iter().enumerate().filter(|(at, _)| *at != i).map(|(_, (_, labels))| labels.as_slice());
        let out = if list.len() == 1 {
            output.clone()
        } else {
            joined(la, &lb, &rest.collect::<Vec<_>>(), &output)
        };
        list[i] = (contract((a, la), (&b, &lb), &out)?, out);
    }
    let (x, labels) = list.swap_remove(0);
    arranged(&x, &labels, &output)
}

fn twice(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|b| find(&labels[..b], labels[b]).map(|a| (a, b)))
}

/// Checks that axes of one name have one extent.
fn even(x: &Variable, labels: &[Label]) -> Result<(), String> {
    for (b, &label) in labels.iter().enumerate() {
        for a in (0..b).filter(|&a| labels[a] == label) {
            if let [Some(m), Some(n)] = [x.ty().shape[a], x.ty().shape[b]]
                && m != n
            {
                return Err(format!("{} has extents {m} and {n}", name(label)));
            }
        }
    }
    Ok(())
}

/// Axes of one name made one, which holds their diagonal.
fn diagonals(mut x: Variable, mut labels: Vec<Label>) -> Result<(Variable, Vec<Label>)> {
    while let Some((a, b)) = twice(&labels) {
        let rest: Vec<usize> = (0..x.ndim()).filter(|&c| c != a && c != b).collect();
        let front = DimShuffle::of(&x, [a, b].into_iter().chain(rest.iter().copied()).map(Some).collect())?;
        let front = EqualExtents::of("einsum", (&front, 1), (&x, a))?;
        let at = [Ix::from(arange(ShapeOf::of(&x, a)?)), Ix::from(arange(ShapeOf::of(&x, b)?))];
        x = front.try_index(at)?;
        labels = std::iter::once(labels[a]).chain(rest.into_iter().map(|c| labels[c])).collect();
    }
    Ok((x, labels))
}

/// The static extent of each name.
fn extents(list: &[(Variable, Vec<Label>)]) -> Result<HashMap<Label, Option<usize>>, String> {
    let mut extents: HashMap<Label, Option<usize>> = HashMap::new();
    for (x, labels) in list {
        for (&label, &extent) in labels.iter().zip(&x.ty().shape) {
            let known = extents.entry(label).or_insert(Some(1));
            match (*known, extent) {
                (_, Some(1)) => {}
                (Some(1), _) | (None, Some(_)) => *known = extent,
                (Some(a), Some(b)) if a != b => {
                    return Err(format!("{} has extents {a} and {b}", name(label)));
                }
                _ => {}
            }
        }
    }
    Ok(extents)
}
